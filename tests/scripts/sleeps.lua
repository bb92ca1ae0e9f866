ffi.cdef "int usleep(unsigned int);"

function event()
  ffi.C.usleep(50000)
end
