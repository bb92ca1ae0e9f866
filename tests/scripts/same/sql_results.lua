-- sql
-- run: prepare
-- run: cleanup
function prepare()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   print(tostring(drv), tostring(con))
   print(tostring(con:query("CREATE TABLE t1 (id INT PRIMARY KEY, c VARCHAR(300), n INT)")))
   local none = con:query("INSERT INTO t1 VALUES (1, 'a', NULL), (2, NULL, 3)")
   print(none == nil, none and 1, con.sql_errno)
   print(con:query_row("SELECT id, c, n FROM t1 ORDER BY id"))
   print(select("#", con:query_row("SELECT * FROM t1 WHERE id = 99")))
   print(con:query_row("UPDATE t1 SET n = 1"))
   local rows = con:query("SELECT id, c, n FROM t1 ORDER BY id")
   print(rows.nrows, rows.nfields, tostring(rows))
   for _ = 1, rows.nrows do
      local row = rows:fetch_row()
      print(row[1], row[2], row[3])
   end
   print(rows:fetch_row())
   print(con:query_row("SELECT ''"), select("#", con:query_row("SELECT NULL, 1, NULL")))
   con:disconnect()
   con:disconnect()
   print((pcall(con.query, con, "SELECT 1")))
end
function cleanup()
   sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS t1")
end
