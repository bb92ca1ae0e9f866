function event()
  local connection = sysbench.sql.driver():connect()
  local name = sysbench.sql.driver():name()
  connection:query(name == "pgsql" and "SELECT pg_sleep(60)" or "SELECT sleep(60)")
end
