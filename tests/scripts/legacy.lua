-- In sysbench 0.5 style: globals for options, one implicit connection, bound tables.
function prepare()
  db_connect()
  db_query("CREATE TABLE legacy (id INT PRIMARY KEY, k INT, c VARCHAR(60))")
  db_bulk_insert_init("INSERT INTO legacy VALUES")
  for i = 1, oltp_table_size do
    db_bulk_insert_next("(" .. i .. "," .. sb_rand(1, 100) .. ",'" .. sb_rand_str("##-@@") .. "')")
  end
  db_bulk_insert_done()
  db_disconnect()
  return 0
end

function cleanup()
  db_query("DROP TABLE legacy")
end

function thread_init()
  db_connect()
  assert(mysql_table_engine == "innodb" and thread_id == 0 and test:match("legacy.lua$"))
  point = db_prepare("SELECT c FROM legacy WHERE id = ?")
  point_values = { 1 }
  db_bind_param(point, point_values)
  update = db_prepare("UPDATE legacy SET c = ?, k = k + 1 WHERE id = ?")
  update_values = { "x", 1 }
  db_bind_param(update, update_values)
end

function event()
  local size = tonumber(oltp_table_size)
  db_query("BEGIN")
  point_values[1] = sb_rand_uniform(1, size)
  local result = db_execute(point)
  db_store_results(result)
  db_free_results(result)
  update_values[1] = sb_rand_str("@@@@@")
  update_values[2] = sb_rand_uniform(1, size)
  db_execute(update)
  db_query("COMMIT")
end

function thread_done()
  db_close(point)
  db_close(update)
  db_disconnect()
end
