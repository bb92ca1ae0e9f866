-- sql
-- run: --events=10 --time=0 --threads=2 run
-- The report counts the statements of all functions.
local main = sysbench.sql.driver():connect()
main:query("SELECT 1")
function init() main:query("SELECT 2") main:query("BEGIN") main:query("COMMIT") end
function thread_init()
   con = sysbench.sql.driver():connect()
   for _ = 1, 10 do con:query("SELECT 3") end
end
function event() con:query("SELECT 4") end
function thread_done() for _ = 1, 100 do con:query("SELECT 5") end end
function sysbench.hooks.report_cumulative(stat)
   print(stat.events, stat.reads, stat.writes, stat.other, main:query_row("SELECT 6"))
end
function done() print("done", main:query_row("SELECT 7")) end
