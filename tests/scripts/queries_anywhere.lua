-- Each state has separate connections, and each function may use them.
local con = sysbench.sql.driver():connect()
print("top", con:query_row("SELECT 1"))
ffi.cdef("int usleep(unsigned);")
function event() con:query("SELECT 2") ffi.C.usleep(100000) end
function sysbench.hooks.report_intermediate(stat)
   print("line", con:query_row("SELECT 3"), sysbench.tid)
end
function sysbench.hooks.report_cumulative(stat)
   print("end", con:query_row("SELECT 4"), sysbench.tid)
end
function done() print("done", con:query_row("SELECT 5")) end
