-- run: --events=4 --time=0 run
local n = 0
function event()
   n = n + 1
   if n == 2 then error({errcode = sysbench.error.RESTART_EVENT, mine = 5}) end
   print("event", n)
end
function sysbench.hooks.before_restart_event(err)
   print("again", type(err), err.errcode, err.mine)
end
