-- sql
-- run: --events=4 --time=0 run
function thread_init()
   a, b = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
end
function event()
   local first, second = a:query("SELECT 1 UNION SELECT 2 ORDER BY 1"), b:query("SELECT 3")
   print(first:fetch_row()[1], second:fetch_row()[1], first:fetch_row()[1], first.nrows)
end
function thread_done() a:disconnect() end
