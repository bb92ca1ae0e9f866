-- The common part of the OLTP workloads: the options, the tables, the statements, and the commands
-- prepare, warmup and cleanup. A workload requires this file, lists its statements in
-- prepare_statements() and defines an event in event(): see oltp_read_write.lua.
--
-- Runs under Dyno and under sysbench 1.0 and later, on MySQL, MariaDB and PostgreSQL; under Dyno on
-- SQLite as well.
--
-- Its global functions and variables are those of sysbench's file of this name, and call one
-- another by their global names: a script may replace any of them. docs/oltp-scripts.md lists them.
-- If the global `dyno` exists and neither create_table() nor the functions that generate values are
-- replaced, prepare loads the rows in bulk, and the rows of one table through all sessions at once.

if sysbench.cmdline.command == nil then
   error("Command is required. Supported commands: prepare, warmup, prewarm, run, cleanup, help")
end

-- Dyno's own runs need at least one row: ids would otherwise be 0, which auto_increment replaces.
local function check_sizes(is_own)
   local rows_min = is_own and sysbench.cmdline.command == "run" and 1 or 0
   local function check(name, low, high) -- a script may have other options instead
      if dyno and sysbench.opt[name] ~= nil then dyno.option.whole(name, low, high) end
   end
   check("tables", 1, 1000000)
   check("table_size", rows_min, 2147483647)
end

-- Runs before the sessions start.
function init()
   check_sizes()
   assert(event ~= nil,
      "this file is what the OLTP scripts share: run one of them, or a script that requires it")
end

sysbench.cmdline.options = {
   tables = {"Number of tables: sbtest1, sbtest2, ...", 1},
   table_size = {"Rows per table", 10000},
   auto_inc = {"Let the server number inserted rows", true},
   secondary = {"Index id by a secondary key instead of the primary key", false},
   create_secondary = {"Create the index on column k after loading the rows", true},
   create_table_options = {"Text to append to CREATE TABLE", ""},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
   pgsql_variant = {"'redshift' for Amazon Redshift: no index on k, no DELETE and INSERT", ""},
   point_selects = {"SELECTs of one row by its id", 10},
   range_selects = {"Run the four kinds of range SELECTs", true},
   range_size = {"Rows that a range SELECT covers", 100},
   simple_ranges = {"SELECTs of a range", 1},
   sum_ranges = {"SELECTs of a sum over a range", 1},
   order_ranges = {"SELECTs of a range in order", 1},
   distinct_ranges = {"SELECTs of a range's distinct values in order", 1},
   index_updates = {"UPDATEs of an indexed column", 1},
   non_index_updates = {"UPDATEs of a column without index", 1},
   delete_inserts = {"DELETEs of a row, each followed by an INSERT of the same id", 1},
   skip_trx = {"Run each statement without BEGIN and COMMIT", false},
   reconnect = {"Reconnect after this many events of a session; 0 for never", 0},
}

-- Ten groups of eleven digits for column c, five for column pad.
local c_template = string.rep("###########", 10, "-")
local pad_template = string.rep("###########", 5, "-")

function get_c_value() return sysbench.rand.string(c_template) end
function get_pad_value() return sysbench.rand.string(pad_template) end
local own_c_value, own_pad_value = get_c_value, get_pad_value

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

-- A script may declare other options instead of those above.
local function option(name, otherwise)
   local value = sysbench.opt[name]
   if value == nil then
      return otherwise
   end
   return value
end

-- Fails if the variant is unknown.
local function is_redshift()
   local variant = option("pgsql_variant", "")
   if variant ~= "" and variant ~= "redshift" then
      error("--pgsql_variant must be 'redshift', not '" .. variant .. "'")
   end
   return variant == "redshift"
end

if dyno then dyno.option.check(function() return check_sizes(true), is_redshift() end) end

-- Locals for events: a session has separate globals, and each access is a look-up.
local opt, redshift
local rand = sysbench.rand

-- Also for scripts that define thread_init() themselves.
local function options()
   opt = sysbench.opt
   redshift = is_redshift()
   return opt
end

function thread_init()
   drv = sysbench.sql.driver()
   con = drv:connect()
   stmt, param = {}, {} -- stmt[table].name, param[table].name[place]; stmt.begin, stmt.commit
   for t = 1, options().tables do
      stmt[t], param[t] = {}, {}
   end
   prepare_statements()
end

function thread_done()
   close_statements()
   con:disconnect()
end

function close_statements()
   for key, value in pairs(stmt) do
      if type(value) == "table" and not value.close then
         for name, statement in pairs(value) do
            statement:close()
            value[name] = nil
         end
      else
         value:close()
         stmt[key] = nil
      end
   end
end

-- Called at the end of each event: implements --reconnect.
local reconnect_every
local events_done = 0
function check_reconnect()
   reconnect_every = reconnect_every or option("reconnect", 0)
   if reconnect_every == 0 then
      return
   end
   events_done = events_done + 1
   if events_done % reconnect_every == 0 then
      close_statements()
      con:reconnect()
      prepare_statements()
   end
end

-- Whether the connection is lost, as reported by Dyno. sysbench does not report it: there, these
-- are MySQL's errors of a lost connection, and PostgreSQL's classes 08 (connection) and 57P (shut
-- down by the operator).
local lost = {[2006] = true, [2011] = true, [2013] = true, [2055] = true}
local function is_lost(err)
   if dyno then
      return err.lost
   end
   local state = err.sql_state or ""
   return lost[err.sql_errno] or state:sub(1, 2) == "08" or state:sub(1, 3) == "57P"
end

-- The server loses prepared statements with the connection.
function sysbench.hooks.before_restart_event(err)
   if is_lost(err) then
      close_statements()
      prepare_statements()
   end
end

-- Statements to prepare, for prepare_statements().
-- BEGIN and COMMIT. On SQLite a transaction that writes must say so first: a later write could
-- conflict with another writer when waiting no longer helps. `read_only` promises not to write.
function prepare_begin(read_only)
   local immediate = drv:name() == "sqlite" and not read_only
   stmt.begin = con:prepare(immediate and "BEGIN IMMEDIATE" or "BEGIN")
end

function prepare_commit() stmt.commit = con:prepare("COMMIT") end

function prepare_for_each_table(name)
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

function prepare_delete_inserts()
   if not is_redshift() then
      prepare_for_each_table("deletes")
      prepare_for_each_table("inserts")
   end
end

-- Statements to execute, for event(). Each group uses one table for all of its statements.
function begin() stmt.begin:execute() end
function commit() stmt.commit:execute() end
local function table_num() return rand.uniform(1, opt.tables) end
local function row_id() return rand.default(1, opt.table_size) end

function execute_point_selects()
   local opt = opt or options()
   local t = table_num()
   local statement, id = stmt[t].point_selects, param[t].point_selects[1]
   for _ = 1, opt.point_selects do
      id:set(row_id())
      statement:execute()
   end
end

local function execute_ranges(name)
   local opt = opt or options()
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

function execute_index_updates()
   local opt = opt or options()
   local t = table_num()
   local statement, id = stmt[t].index_updates, param[t].index_updates[1]
   for _ = 1, opt.index_updates do
      id:set(row_id())
      statement:execute()
   end
end

function execute_non_index_updates()
   local opt = opt or options()
   local t = table_num()
   local statement, values = stmt[t].non_index_updates, param[t].non_index_updates
   for _ = 1, opt.non_index_updates do
      values[1]:set_rand_str(c_template)
      values[2]:set(row_id())
      statement:execute()
   end
end

function execute_delete_inserts()
   local opt = opt or options()
   if redshift then
      return
   end
   local t = table_num()
   local of_table, values = stmt[t], param[t]
   local row = values.inserts
   for _ = 1, opt.delete_inserts do
      local id = row_id()
      values.deletes[1]:set(id)
      row[1]:set(id)
      row[2]:set(row_id()) -- k is in the same range as the ids.
      row[3]:set_rand_str(c_template)
      row[4]:set_rand_str(pad_template)
      of_table.deletes:execute()
      of_table.inserts:execute()
   end
end

-- The command prepare. This session's tables: every n-th one.
local function own_tables()
   check_sizes()
   local t = sysbench.tid + 1 - sysbench.opt.threads
   return function()
      t = t + sysbench.opt.threads
      return t <= sysbench.opt.tables and t or nil
   end
end

local function id_definition(drv)
   local numbered = {
      mysql = "INTEGER NOT NULL AUTO_INCREMENT",
      pgsql = is_redshift() and "INTEGER IDENTITY(1,1)" or "SERIAL",
   }
   -- SQLite numbers an INTEGER primary key itself when no id is given.
   return sysbench.opt.auto_inc and numbered[drv:name()] or "INTEGER NOT NULL"
end

local function create_empty_table(drv, con, t)
   local driver = drv:name()
   local key, engine = ",\n  PRIMARY KEY (id)", ""
   if sysbench.opt.secondary then
      -- Only MySQL declares other indexes here; elsewhere add_indexes() creates them.
      key = driver == "mysql" and ",\n  KEY xid (id)" or ""
   end
   if driver == "mysql" then
      engine = "/*! ENGINE = " .. option("mysql_storage_engine", "innodb") .. " */"
   end
   print(string.format("Creating table 'sbtest%d'...", t))
   con:query(string.format([[
CREATE TABLE sbtest%d(
  id %s,
  k INTEGER DEFAULT '0' NOT NULL,
  c CHAR(120) DEFAULT '' NOT NULL,
  pad CHAR(60) DEFAULT '' NOT NULL%s
) %s %s]], t, id_definition(drv), key, engine, option("create_table_options", "")))
end

-- Inserts rows by statements. The server numbers them if configured.
local function insert_rows(con, t, rows)
   local with_id = not sysbench.opt.auto_inc
   con:bulk_insert_init(string.format("INSERT INTO sbtest%d(%sk, c, pad) VALUES",
      t, with_id and "id, " or ""))
   for id = 1, rows do
      local k = sysbench.rand.default(1, rows)
      local c, pad = get_c_value(), get_pad_value()
      con:bulk_insert_next(with_id and string.format("(%d, %d, '%s', '%s')", id, k, c, pad)
         or string.format("(%d, '%s', '%s')", k, c, pad))
   end
   con:bulk_insert_done()
end

local function add_indexes(drv, con, t)
   if sysbench.opt.secondary and drv:name() ~= "mysql" then
      con:query(string.format("CREATE INDEX xid_%d ON sbtest%d(id)", t, t))
   end
   if sysbench.opt.create_secondary and not is_redshift() then
      print(string.format("Creating a secondary index on 'sbtest%d'...", t))
      con:query(string.format("CREATE INDEX k_%d ON sbtest%d(k)", t, t))
   end
end

local function check_rows(con, t, rows)
   local found = tonumber((con:query_row("SELECT COUNT(*) FROM sbtest" .. t)))
   if found ~= rows then
      error(string.format("Table sbtest%d holds %s rows instead of %d: run cleanup, then prepare",
         t, tostring(found), rows))
   end
end

-- Dyno's loader generates the values itself, so it is only used with this file's functions.
local function bulk_loader(drv)
   if dyno and get_c_value == own_c_value and get_pad_value == own_pad_value then
      return require("oltp_load").new {
         drv = drv,
         number_by_server = drv:name() == "pgsql" and is_redshift() and sysbench.opt.auto_inc,
         templates = {c_template, pad_template},
      }
   end
end

-- One table from beginning to end, by this session alone.
function create_table(drv, con, t)
   local rows, loader = sysbench.opt.table_size, bulk_loader(drv)
   create_empty_table(drv, con, t)
   if rows > 0 then
      print(string.format("Inserting %d records into 'sbtest%d'", rows, t))
      if loader then
         loader:load_table(con, t)
      else
         insert_rows(con, t, rows)
      end
   end
   add_indexes(drv, con, t)
   check_rows(con, t, rows)
end
local own_create_table = create_table

-- Whether all sessions are running this: not if a script calls cmd_prepare() in the main state.
local function all_are_here()
   local cmdline = sysbench.cmdline
   return sysbench.opt.threads == 1 or cmdline.command_parallel(cmdline.command)
end

-- All tables by all sessions.
local function create_tables_together(drv, con, loader)
   for t in own_tables() do
      create_empty_table(drv, con, t)
   end
   loader:load_together(con)
   for t in own_tables() do
      add_indexes(drv, con, t)
      check_rows(con, t, sysbench.opt.table_size)
   end
end

function cmd_prepare()
   local drv = sysbench.sql.driver()
   local con = drv:connect()
   local loader = bulk_loader(drv)
   if loader and create_table == own_create_table and all_are_here() then
      create_tables_together(drv, con, loader)
   else
      for t in own_tables() do
         create_table(drv, con, t)
      end
   end
   con:disconnect()
end

-- The commands warmup (sysbench 1.0 calls it prewarm) and cleanup.

-- Fresh statistics, then reads every row and the index on k once into the caches.
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
cmd_prewarm = cmd_warmup

function cleanup()
   local con = sysbench.sql.driver():connect()
   for t = 1, sysbench.opt.tables do
      print(string.format("Dropping table 'sbtest%d'...", t))
      con:query("DROP TABLE IF EXISTS sbtest" .. t)
   end
   con:disconnect()
end

local own_prepare, own_cleanup = cmd_prepare, cleanup
-- Scripts that create or drop other tables list nothing here.
function tables_made()
   local are_own = create_table == own_create_table and cmd_prepare == own_prepare
   local made = are_own and cleanup == own_cleanup and {}
   for t = 1, made and sysbench.opt.tables or 0 do
      made[t] = {"sbtest" .. t, "id k c pad"}
   end
   return made
end
sysbench.cmdline.commands = {
   prepare = {cmd_prepare, sysbench.cmdline.PARALLEL_COMMAND},
   warmup = {cmd_warmup, sysbench.cmdline.PARALLEL_COMMAND},
   prewarm = {cmd_prewarm, sysbench.cmdline.PARALLEL_COMMAND},
}

-- For scripts with a shorter way if nothing of this file is replaced.
local own = {}
for _, name in ipairs {"init", "thread_init", "thread_done", "close_statements", "check_reconnect",
   "prepare_for_each_table", "prepare_point_selects", "execute_point_selects"} do
   own[name] = _G[name]
end
local own_hook = sysbench.hooks.before_restart_event

local function is_unchanged()
   for name, value in pairs(own) do
      if _G[name] ~= value then
         return false
      end
   end
   return sysbench.hooks.before_restart_event == own_hook
end

return {is_unchanged = is_unchanged}
