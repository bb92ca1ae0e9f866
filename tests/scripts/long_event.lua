ffi.cdef("int usleep(unsigned);")
function event() ffi.C.usleep(2500000) end
