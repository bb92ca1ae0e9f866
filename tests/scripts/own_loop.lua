-- A custom event loop with sysbench's C functions, as published TPC-C scripts use them.
ffi.cdef [[
bool sb_more_events(int);
void sb_event_start(int);
void sb_event_stop(int);
void sb_counter_inc(int, sb_counter_type);
int usleep(unsigned int);
]]

function thread_init()
  connection = sysbench.sql.driver():connect()
end

function event()
end

function thread_run(tid)
  while ffi.C.sb_more_events(tid) do
    ffi.C.sb_event_start(tid)
    ffi.C.usleep(1000)
    ffi.C.sb_counter_inc(tid, ffi.C.SB_CNT_ERROR)
    ffi.C.sb_event_stop(tid)
  end
end
