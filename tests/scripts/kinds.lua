-- Meets errors of several kinds, each once. The run must ignore all of them.
local con, other, family

-- Limits the other session's lock waits to a moment.
local PATIENCE = {
   mysql = "SET innodb_lock_wait_timeout = 1",
   postgres = "SET lock_timeout = '1ms'",
   sqlite = "PRAGMA busy_timeout = 1",
}

function thread_init()
   con, other = sysbench.sql.driver():connect(), sysbench.sql.driver():connect()
   family = dyno.family(con)
   other:query(PATIENCE[family])
end

local function meets(kind, connection, sql)
   local ok, err = pcall(connection.query, connection, sql)
   assert(not ok, sql)
   assert(err.kind == kind, ("%s: %s, not %s: %s"):format(sql, err.kind, kind, err.sql_errmsg))
   assert(not err.lost)
end

function event()
   con:query("CREATE TABLE kinds (id int PRIMARY KEY, n int UNIQUE)")
   con:query("INSERT INTO kinds VALUES (1, 1)")
   meets("duplicate", con, "INSERT INTO kinds VALUES (1, 2)")
   meets("duplicate", con, "INSERT INTO kinds VALUES (2, 1)")
   meets("table_exists", con, "CREATE TABLE kinds (id int)")
   meets("no_table", con, "SELECT * FROM nowhere")
   meets("statement", con, "SELEC 1")
   meets("statement", con, "SELECT nothing FROM kinds")
   -- In SQLite, a reader cannot write after another session has; the others wait for the row.
   other:query("BEGIN")
   other:query("SELECT * FROM kinds")
   con:query("BEGIN")
   con:query("UPDATE kinds SET n = 2")
   if family == "sqlite" then
      con:query("COMMIT")
   end
   meets("conflict", other, "UPDATE kinds SET n = 3")
   if family == "mysql" then
      -- A lock wait timeout leaves the transaction open, and the table in use.
      other:query("ROLLBACK")
   end
   if family ~= "sqlite" then
      con:query("COMMIT")
   end
   con:query("DROP TABLE kinds")
end
