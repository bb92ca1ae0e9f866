-- More rows than fit into one statement.
sysbench.cmdline.commands = { show = { function()
  local connection = sysbench.sql.driver():connect()
  connection:query("DROP TABLE IF EXISTS bulk")
  connection:query("CREATE TABLE bulk(id INT PRIMARY KEY, c VARCHAR(100))")
  connection:bulk_insert_init("INSERT INTO bulk (id, c) VALUES")
  for id = 1, 12000 do
    connection:bulk_insert_next("(" .. id .. ", '" .. ("y"):rep(80) .. "')")
  end
  connection:bulk_insert_done()
  print(connection:query_row("SELECT COUNT(*), SUM(id) FROM bulk"))
  connection:query("DROP TABLE bulk")
end } }
