-- Several results of one request.
sysbench.cmdline.commands = { show = { function()
  local connection = sysbench.sql.driver():connect()
  connection:query("DROP PROCEDURE IF EXISTS several")
  connection:query("CREATE PROCEDURE several() BEGIN SELECT 1; SELECT 2 UNION SELECT 3; END")
  local result = connection:query("CALL several()")
  print("first", result.nrows, result:fetch_row()[1])
  while connection:more_results() do
    result = connection:next_result()
    print("next", result ~= nil and result.nrows, result ~= nil and result:fetch_row()[1])
  end
  result = connection:query("SELECT 8; SELECT 9")
  print(result:fetch_row()[1], connection:more_results())
  print(connection:next_result():fetch_row()[1], connection:more_results())
  local statement = connection:prepare("CALL several()")
  result = statement:execute()
  print("prepared", result.nrows)
  while connection:more_results() do
    statement:next_result()
  end
  print("after", connection:query_row("SELECT 4"))
  connection:query("DROP PROCEDURE several")
end } }
