-- run: --events=9 --time=0 run
ffi.cdef [[
   bool sb_more_events(int); void sb_event_start(int); void sb_event_stop(int);
]]
function event() end
function thread_run(tid)
   local n = 0
   while ffi.C.sb_more_events(tid) do
      ffi.C.sb_event_start(tid)
      n = n + 1
      ffi.C.sb_event_stop(tid)
   end
   print("counted", n)
end
