function thread_init()
   local drv = sysbench.sql.driver()
   print("caught", (pcall(drv.connect, drv)))
end
function event() end
