-- sql
-- run: --events=4 --time=0 run
-- run: --events=4 --time=0 --db-ps-mode=disable run
local n = 0
function thread_init() con = sysbench.sql.driver():connect() end
function event()
   n = n + 1
   con:query("SELECT 1")
   if n == 3 then print((pcall(con.query, con, "SELECT * FROM absent"))) end
end
