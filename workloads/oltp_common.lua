-- What the OLTP workloads share: the options, the tables, the statements, and the commands
-- prepare, warmup and cleanup. A workload requires this file, says in prepare_statements() which
-- statements it uses, and in event() what one event is: see oltp_read_write.lua.
--
-- Runs under Dyno and under sysbench 1.0 and later, on MySQL, MariaDB and PostgreSQL; under Dyno
-- on SQLite as well. Where the global `dyno` exists, prepare loads its rows in bulk, and the rows
-- of one table through all sessions at once.

sysbench.cmdline.options = {
   tables = {"How many tables: sbtest1, sbtest2, ...", 1},
   table_size = {"Rows per table", 10000},
   auto_inc = {"Let the server number inserted rows", true},
   secondary = {"Index id by a secondary key instead of the primary key", false},
   create_secondary = {"Index column k once the rows are loaded", true},
   create_table_options = {"Text to append to CREATE TABLE", ""},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   pgsql_variant = {"'redshift' for Amazon Redshift: no index on k, no DELETE and INSERT", ""},
   point_selects = {"SELECTs of one row by its id", 10},
   range_selects = {"Whether to run the four kinds of range SELECTs", true},
   range_size = {"Rows that a range SELECT covers", 100},
   simple_ranges = {"SELECTs of a range", 1},
   sum_ranges = {"SELECTs of a sum over a range", 1},
   order_ranges = {"SELECTs of a range in order", 1},
   distinct_ranges = {"SELECTs of a range's different values in order", 1},
   index_updates = {"UPDATEs of an indexed column", 1},
   non_index_updates = {"UPDATEs of a column without index", 1},
   delete_inserts = {"DELETEs of a row, each followed by an INSERT of the same id", 1},
   skip_trx = {"Run each statement on its own, without BEGIN and COMMIT", false},
   reconnect = {"Connect anew after so many events of a session (0: never)", 0},
}

-- Ten groups of eleven digits for column c, five for column pad.
c_value_template = string.rep("###########", 10, "-")
pad_value_template = string.rep("###########", 5, "-")

local INT = {sysbench.sql.type.INT}
local C, PAD = {sysbench.sql.type.CHAR, 120}, {sysbench.sql.type.CHAR, 60}

-- The statements: the text for a table, then the types of the parameters.
local statements = {
   point_selects = {"SELECT c FROM sbtest%d WHERE id=?", INT},
   simple_ranges = {"SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ?", INT, INT},
   sum_ranges = {"SELECT SUM(k) FROM sbtest%d WHERE id BETWEEN ? AND ?", INT, INT},
   order_ranges = {"SELECT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
   distinct_ranges = {
      "SELECT DISTINCT c FROM sbtest%d WHERE id BETWEEN ? AND ? ORDER BY c", INT, INT},
   index_updates = {"UPDATE sbtest%d SET k=k+1 WHERE id=?", INT},
   non_index_updates = {"UPDATE sbtest%d SET c=? WHERE id=?", C, INT},
   deletes = {"DELETE FROM sbtest%d WHERE id=?", INT},
   inserts = {"INSERT INTO sbtest%d (id, k, c, pad) VALUES (?, ?, ?, ?)", INT, INT, C, PAD},
}

local range_kinds = {"simple_ranges", "sum_ranges", "order_ranges", "distinct_ranges"}

-- Raises where the variant is none.
local function is_redshift()
   local variant = sysbench.opt.pgsql_variant
   if variant ~= "" and variant ~= "redshift" then
      error("--pgsql_variant knows 'redshift' only, not '" .. variant .. "'")
   end
   return variant == "redshift"
end

-- What events use lies in locals: a session has globals of its own, and each costs a look-up.
local opt
local rand = sysbench.rand

function thread_init()
   opt = sysbench.opt
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt, param = {}, {} -- stmt[table].name, param[table].name[place]
   events_done = 0
   is_redshift()
   prepare_statements()
end

function thread_done()
   close_statements()
   con:disconnect()
end

function close_statements()
   for _, of_table in ipairs(stmt) do
      for _, statement in pairs(of_table) do
         statement:close()
      end
   end
   if stmt.begin then stmt.begin:close() end
   if stmt.commit then stmt.commit:close() end
   stmt, param = {}, {}
end

-- Call at the end of event(): does what --reconnect asks for.
function check_reconnect()
   local every = opt.reconnect
   if every == 0 then
      return
   end
   events_done = events_done + 1
   if events_done % every == 0 then
      close_statements()
      con:reconnect()
      prepare_statements()
   end
end

-- The server loses prepared statements with the connection. These are MySQL's errors of a lost
-- connection and PostgreSQL's classes 08 (connection) and 57P (shut down by the operator).
local lost = {[2006] = true, [2011] = true, [2013] = true, [2055] = true}

function sysbench.hooks.before_restart_event(err)
   local state = err.sql_state or ""
   if lost[err.sql_errno] or state:sub(1, 2) == "08" or state:sub(1, 3) == "57P" then
      close_statements()
      prepare_statements()
   end
end

-- Statements to prepare, for prepare_statements().
-- BEGIN and COMMIT. On SQLite a transaction that writes must say so first, or it may find another
-- writer in its way when it is too late to wait; `read_only` promises that this one does not.
function prepare_begin(read_only)
   local immediate = drv:name() == "sqlite" and not read_only
   stmt.begin = con:prepare(immediate and "BEGIN IMMEDIATE" or "BEGIN")
   prepare_commit()
end

function prepare_commit()
   stmt.commit = stmt.commit or con:prepare("COMMIT")
end

function prepare_for_each_table(name)
   opt = sysbench.opt -- Here too, for scripts with a thread_init() of their own.
   local definition = statements[name]
   for t = 1, sysbench.opt.tables do
      stmt[t], param[t] = stmt[t] or {}, param[t] or {}
      local statement = con:prepare(definition[1]:format(t))
      local params = {}
      for i = 2, #definition do
         params[i - 1] = statement:bind_create(unpack(definition[i]))
      end
      statement:bind_param(unpack(params))
      stmt[t][name], param[t][name] = statement, params
   end
end

function prepare_point_selects() prepare_for_each_table("point_selects") end
function prepare_simple_ranges() prepare_for_each_table("simple_ranges") end
function prepare_sum_ranges() prepare_for_each_table("sum_ranges") end
function prepare_order_ranges() prepare_for_each_table("order_ranges") end
function prepare_distinct_ranges() prepare_for_each_table("distinct_ranges") end
function prepare_index_updates() prepare_for_each_table("index_updates") end
function prepare_non_index_updates() prepare_for_each_table("non_index_updates") end

function prepare_deletes() prepare_for_each_table("deletes") end
function prepare_delete_inserts()
   if is_redshift() then
      return
   end
   prepare_for_each_table("deletes")
   prepare_for_each_table("inserts")
end

function prepare_range_selects()
   for _, name in ipairs(range_kinds) do
      prepare_for_each_table(name)
   end
end

-- Statements to execute, for event(). Each group takes one table for all of its statements.
function begin() stmt.begin:execute() end
function commit() stmt.commit:execute() end
local function table_num() return rand.uniform(1, opt.tables) end
local function row_id() return rand.default(1, opt.table_size) end
get_table_num, get_id = table_num, row_id -- For scripts that require this one.

-- The first and the last of this session's share of the ids. No share is empty: where sessions
-- outnumber ids, some have one in common.
function own_part_of_ids()
   local size, threads = opt.table_size, opt.threads
   local first = math.floor(size * sysbench.tid / threads) + 1
   local last = math.floor(size * (sysbench.tid + 1) / threads)
   return first, math.max(first, last)
end

function execute_point_selects()
   local t = table_num()
   local statement, id = stmt[t].point_selects, param[t].point_selects[1]
   for _ = 1, opt.point_selects do
      id:set(row_id())
      statement:execute()
   end
end

local function execute_ranges(name)
   local t = table_num()
   local statement, bounds = stmt[t][name], param[t][name]
   for _ = 1, opt[name] do
      local id = row_id()
      bounds[1]:set(id)
      bounds[2]:set(id + opt.range_size - 1)
      statement:execute()
   end
end

function execute_simple_ranges() execute_ranges("simple_ranges") end
function execute_sum_ranges() execute_ranges("sum_ranges") end
function execute_order_ranges() execute_ranges("order_ranges") end
function execute_distinct_ranges() execute_ranges("distinct_ranges") end

function execute_range_selects()
   for _, name in ipairs(range_kinds) do
      execute_ranges(name)
   end
end

function execute_index_updates()
   local t = table_num()
   local statement, id = stmt[t].index_updates, param[t].index_updates[1]
   for _ = 1, opt.index_updates do
      id:set(row_id())
      statement:execute()
   end
end

function execute_non_index_updates()
   local t = table_num()
   local statement, values = stmt[t].non_index_updates, param[t].non_index_updates
   for _ = 1, opt.non_index_updates do
      values[1]:set_rand_str(c_value_template)
      values[2]:set(row_id())
      statement:execute()
   end
end

function execute_deletes()
   local t = table_num()
   param[t].deletes[1]:set(row_id())
   stmt[t].deletes:execute()
end

function execute_delete_inserts()
   if is_redshift() then
      return
   end
   local t = table_num()
   local of_table, values = stmt[t], param[t]
   local row = values.inserts
   for _ = 1, opt.delete_inserts do
      local id = row_id()
      values.deletes[1]:set(id)
      row[1]:set(id)
      row[2]:set(row_id()) -- k lies in the same range as the ids.
      row[3]:set_rand_str(c_value_template)
      row[4]:set_rand_str(pad_value_template)
      of_table.deletes:execute()
      of_table.inserts:execute()
   end
end

-- The command prepare.

-- A workload that fills its tables itself may define starts_empty().
local function rows_per_table()
   if starts_empty and starts_empty() then
      return 0
   end
   return sysbench.opt.table_size
end

-- The tables that this session looks after: every so-many-th.
local function own_tables()
   local t = sysbench.tid + 1 - sysbench.opt.threads
   return function()
      t = t + sysbench.opt.threads
      return t <= sysbench.opt.tables and t or nil
   end
end

local function id_definition(driver)
   local numbered = {
      mysql = "INTEGER NOT NULL AUTO_INCREMENT",
      pgsql = is_redshift() and "INTEGER IDENTITY(1,1)" or "SERIAL",
   }
   -- SQLite numbers an INTEGER primary key by itself when no id is given.
   return sysbench.opt.auto_inc and numbered[driver] or "INTEGER NOT NULL"
end

local function create_empty_table(drv, con, t)
   local opt = sysbench.opt
   local driver = drv:name()
   local key, engine = ",\n  PRIMARY KEY (id)", ""
   if opt.secondary then
      -- Only MySQL declares other indexes here; add_indexes() makes it elsewhere.
      key = driver == "mysql" and ",\n  KEY xid (id)" or ""
   end
   if driver == "mysql" then
      engine = "/*! ENGINE = " .. opt.mysql_storage_engine .. " */"
   end
   print(string.format("Creating table 'sbtest%d'...", t))
   con:query(string.format([[
CREATE TABLE sbtest%d(
  id %s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL%s
) %s %s]], t, id_definition(driver), key, engine, opt.create_table_options))
end

-- Rows by statements, for where there is no loader. The server numbers them if it is to.
local function insert_rows(con, t, rows)
   local with_id = not sysbench.opt.auto_inc
   con:bulk_insert_init(string.format("INSERT INTO sbtest%d(%sk, c, pad) VALUES",
      t, with_id and "id, " or ""))
   for id = 1, rows do
      con:bulk_insert_next(string.format("(%s%d, '%s', '%s')",
         with_id and id .. ", " or "",
         sysbench.rand.default(1, sysbench.opt.table_size),
         sysbench.rand.string(c_value_template),
         sysbench.rand.string(pad_value_template)))
   end
   con:bulk_insert_done()
end

-- Rows by Dyno's loader. A row depends on the seed, its table and its id alone, so the tables are
-- the same whoever loads which part; hence the ids are written and not left to the server, whose
-- numbering depends on who comes first (Redshift's identity columns leave no choice).
local function load_rows(drv, con, t, first, rows, by_inserts)
   local columns = {"id", "k", "c", "pad"}
   local generate = {
      {"sequence"},
      {"random", 1, sysbench.opt.table_size},
      {"pattern", c_value_template},
      {"pattern", pad_value_template},
   }
   if drv:name() == "pgsql" and is_redshift() and sysbench.opt.auto_inc then
      table.remove(columns, 1)
      table.remove(generate, 1)
   end
   dyno.bulk_load(con, {
      table = "sbtest" .. t,
      table_number = t,
      columns = columns,
      from = first,
      rows = rows,
      generate = generate,
      by_inserts = by_inserts,
   })
end

local function add_indexes(drv, con, t, rows)
   local opt = sysbench.opt
   local driver = drv:name()
   if opt.secondary and driver ~= "mysql" then
      con:query(string.format("CREATE INDEX xid_%d ON sbtest%d(id)", t, t))
   end
   if opt.create_secondary and not is_redshift() then
      print(string.format("Creating a secondary index on 'sbtest%d'...", t))
      con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", t, t))
   end
   if dyno and driver == "pgsql" and opt.auto_inc and not is_redshift() and rows > 0 then
      -- Where the ids were written, the next must follow the last.
      con:query(string.format(
         "SELECT setval(pg_get_serial_sequence('sbtest%d', 'id'), %d)", t, rows))
   end
end

local function check_rows(con, t, rows)
   local found = tonumber((con:query_row("SELECT COUNT(*) FROM sbtest" .. t)))
   if found ~= rows then
      error(string.format("Table sbtest%d holds %s rows instead of %d: run cleanup, then prepare",
         t, tostring(found), rows))
   end
end

-- One table from beginning to end, by this session alone and without Dyno's loader.
function create_table(drv, con, t)
   local rows = rows_per_table()
   create_empty_table(drv, con, t)
   if rows > 0 then
      print(string.format("Inserting %d records into 'sbtest%d'", rows, t))
      insert_rows(con, t, rows)
   end
   add_indexes(drv, con, t, rows)
   check_rows(con, t, rows)
end

-- How many rows a session loads at a time: enough parts for all sessions to be busy to the end,
-- but few, and of whole blocks of 1,000 rows, which the generator makes from the start.
local function rows_per_part(rows)
   local even = rows * sysbench.opt.tables / sysbench.opt.threads / 4
   return math.min(math.max(math.ceil(even / 1000), 1), 100) * 1000
end

-- With innodb_autoinc_lock_mode below 2, MariaDB's default, LOAD DATA locks a table that has
-- AUTO_INCREMENT: sessions take a table each, or share it by INSERTs, which do not.
local function loads_lock_tables(drv, con)
   if drv:name() ~= "mysql" or not sysbench.opt.auto_inc then
      return false
   end
   local _, mode = con:query_row("SHOW VARIABLES LIKE 'innodb_autoinc_lock_mode'")
   return mode ~= nil and mode ~= "2"
end

-- All tables by all sessions. The parts are dealt out in turn, the first of every table, then the
-- second of every table, so that sessions meet in one table as seldom as can be.
local function create_tables_together(drv, con)
   local rows, opt = rows_per_table(), sysbench.opt
   if sysbench.tid == 0 then
      dyno.load_total(rows * opt.tables)
   end
   for t in own_tables() do
      create_empty_table(drv, con, t)
   end
   dyno.barrier()
   local part = rows_per_part(rows)
   local locked = loads_lock_tables(drv, con)
   local by_inserts = locked and opt.threads > opt.tables
   for n = 0, opt.tables * math.ceil(rows / part) - 1 do
      local t, first = n % opt.tables + 1, math.floor(n / opt.tables) * part + 1
      if ((locked and not by_inserts) and t - 1 or n) % opt.threads == sysbench.tid then
         if first == 1 then
            print(string.format("Inserting %d records into 'sbtest%d'", rows, t))
         end
         local count = math.min(part, rows - first + 1)
         load_rows(drv, con, t, first, count, by_inserts)
         dyno.progress(count)
      end
   end
   dyno.barrier()
   for t in own_tables() do
      add_indexes(drv, con, t, rows)
      check_rows(con, t, rows)
   end
end

function cmd_prepare()
   is_redshift()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   if dyno then
      create_tables_together(drv, con)
   else
      for t in own_tables() do
         create_table(drv, con, t)
      end
   end
   con:disconnect()
end

-- The commands warmup (sysbench 1.0 calls it prewarm) and cleanup.

-- Fresh statistics, then every row and the index on k once through the caches.
local warmup_statements = {
   mysql = {
      "ANALYZE TABLE sbtest%d",
      "SELECT AVG(id) FROM (SELECT * FROM sbtest%d FORCE KEY (KEY_OF_ID) LIMIT %d) t",
      "SELECT COUNT(*) FROM (SELECT * FROM sbtest%d WHERE k LIKE '%%0%%' LIMIT %d) t",
   },
   others = {
      "ANALYZE sbtest%d",
      "SELECT AVG(id) FROM (SELECT * FROM sbtest%d LIMIT %d) t",
      "SELECT COUNT(*) FROM (SELECT * FROM sbtest%d WHERE CAST(k AS TEXT) LIKE '%%0%%' LIMIT %d) t",
   },
}

function cmd_warmup()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   if drv:name() == "mysql" then
      -- The subqueries' temporary tables must fit in memory.
      con:query("SET tmp_table_size=2*1024*1024*1024")
      con:query("SET max_heap_table_size=2*1024*1024*1024")
   end
   for t in own_tables() do
      print(string.format("Preloading table sbtest%d", t))
      for _, text in ipairs(warmup_statements[drv:name()] or warmup_statements.others) do
         text = text:gsub("KEY_OF_ID", sysbench.opt.secondary and "xid" or "PRIMARY")
         con:query(text:format(t, sysbench.opt.table_size))
      end
   end
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for t = 1, sysbench.opt.tables do
      print(string.format("Dropping table 'sbtest%d'...", t))
      con:query("DROP TABLE IF EXISTS sbtest" .. t)
   end
   con:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
   warmup = {cmd_warmup, sysbench.cmdline.PARALLEL_COMMAND},
   prewarm = {cmd_warmup, sysbench.cmdline.PARALLEL_COMMAND},
}
