-- The smallest query: the cost of everything other than the load weighs most here.

function thread_init()
   con = sysbench.sql.driver():connect()
end

function event()
   con:query("SELECT 1")
end

function thread_done()
   con:disconnect()
end
