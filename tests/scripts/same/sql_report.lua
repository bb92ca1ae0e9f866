-- sql
-- run: --events=10 --time=0 run
local main = sysbench.sql.driver():connect()
function init() for _ = 1, 3 do main:query("SELECT 1") end end
function thread_init()
   con = sysbench.sql.driver():connect()
   con:query("CREATE TABLE t2 (id INT)")
end
function event() con:query("INSERT INTO t2 VALUES (1)") end
function thread_done() con:query("DROP TABLE t2") con:disconnect() con:disconnect() end
