-- A report function that does not return.
local ffi = require("ffi")
ffi.cdef("int usleep(unsigned int);")

function event()
  ffi.C.usleep(1000)
end

function sysbench.hooks.report_intermediate()
  while true do end
end
