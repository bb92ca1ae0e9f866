-- Several connections in one session, each with a separate result; connecting again.
sysbench.cmdline.commands = { show = { function()
  local driver = sysbench.sql.driver()
  local me = driver:name() == "pgsql" and "SELECT pg_backend_pid()" or "SELECT connection_id()"
  local first, second = driver:connect(), driver:connect()
  assert(first:query_row(me) ~= second:query_row(me))
  local a, b = first:query("SELECT 1 UNION ALL SELECT 2"), second:query("SELECT 3")
  print(a:fetch_row()[1], b:fetch_row()[1], a:fetch_row()[1], b:fetch_row())
  local before = first:query_row(me)
  local again = first:reconnect()
  print("reconnected", again, first:query_row(me) ~= before, first:query_row("SELECT 4"))
  second:disconnect()
  print("closed", (pcall(second.query, second, "SELECT 1")))
end } }
