-- sql
-- run: prepare
-- run: --events=2 --time=0 run
local function shown(name, ...)
   print(name, select("#", ...), type((...)) == "nil" and "nil" or "value")
end
function prepare()
   shown("connect", db_connect())
   shown("create", db_query("CREATE TABLE old (id INT, c CHAR(20))"))
   shown("init", db_bulk_insert_init("INSERT INTO old VALUES"))
   shown("next", db_bulk_insert_next("(1, 'a')"))
   shown("done", db_bulk_insert_done())
   shown("select", db_query("SELECT * FROM old"))
   local statement, values = db_prepare("SELECT * FROM old WHERE id = ? AND c = ?"), {1, "a"}
   shown("bind", db_bind_param(statement, values))
   local rows = db_execute(statement)
   shown("store", db_store_results(rows))
   shown("free", db_free_results(rows))
   shown("close", db_close(statement))
   shown("drop", db_query("DROP TABLE old"))
   print(mysql_table_engine, myisam_max_rows, thread_id)
   print(DB_ERROR_NONE, DB_ERROR_RESTART_TRANSACTION, DB_ERROR_FAILED)
   local largest = 0
   for _ = 1, 10000 do largest = math.max(largest, sb_rnd()) end
   print(largest > 2 ^ 31, largest < 2 ^ 32)
   local within = true
   for _ = 1, 100 do
      local value = sb_rand_uniq(1000, 1500000000)
      within = within and value >= 1000 and value <= 1500000000
   end
   print(within)
   shown("disconnect", db_disconnect())
end
function event() print(db_query("SELECT 1")) end
