-- The Insert Benchmark: the work between its steps and after them. See insert_benchmark.lua.

local bench = require("insert_benchmark_common")

local rest = {}

-- In this order, and in reverse to restore: the low mark cannot be above the high one.
local FLUSH = {
   {"innodb_max_dirty_pages_pct_lwm", 1},
   {"innodb_max_dirty_pages_pct", 1},
   {"innodb_idle_flush_pct", 100},
}

-- The table with the previous values, in case the run is killed before it restores them.
local KEPT = "insert_benchmark_rest"

-- The session that owns this rest, while its settings are in effect.
local owner

local function reason(err)
   return tostring(type(err) == "table" and err.sql_errmsg or err)
end

-- Makes InnoDB flush, after storing the previous settings. Returns the settings' names.
local function set_and_keep(con)
   local names = {}
   owner = bench.number(con, "SELECT CONNECTION_ID()")
   -- Shows others that a rest is running.
   con:query(("INSERT INTO %s (session, name, old_value) VALUES (%d, '', '')"):format(KEPT, owner))
   con:query("COMMIT")
   for _, setting in ipairs(FLUSH) do
      local name, value = setting[1], setting[2]
      -- MariaDB has no innodb_idle_flush_pct.
      local known, old = pcall(bench.number, con, "SELECT @@GLOBAL.%s", name)
      -- Another run may have changed it already, and will restore it.
      if known and old and old ~= value then
         con:query(("INSERT INTO %s (session, name, old_value) VALUES (%d, '%s', '%s')"):format(
            KEPT, owner, name, old))
         con:query("COMMIT")
         con:query(("SET GLOBAL %s = %d"):format(name, value))
         names[#names + 1] = name
      end
   end
   return names
end

-- Restores the stored settings, of all sessions or of one, if they still have the values set by a
-- rest. Returns the restored settings.
local function put_back(con, session)
   local whose = session and (" WHERE session = %d"):format(session) or ""
   local result = con:query("SELECT name, old_value FROM " .. KEPT .. whose)
   local old, restored = {}, {}
   for _ = 1, result.nrows do
      local row = result:fetch_row()
      old[row[1]] = row[2]
   end
   for number = #FLUSH, 1, -1 do
      local name, value = FLUSH[number][1], FLUSH[number][2]
      if old[name] and bench.number(con, "SELECT @@GLOBAL.%s", name) == value then
         con:query(("SET GLOBAL %s = %s"):format(name, old[name]))
         restored[#restored + 1] = ("%s = %s"):format(name, old[name])
      end
   end
   con:query("DELETE FROM " .. KEPT .. whose)
   con:query("COMMIT")
   if bench.number(con, "SELECT COUNT(*) FROM " .. KEPT) == 0 then
      con:query("DROP TABLE " .. KEPT)
   end
   table.sort(restored)
   return table.concat(restored, ", ")
end

-- Makes InnoDB flush. Returns a description, or nil and the reason of a failure.
local function flush(con)
   local made, why = pcall(con.query, con, ("CREATE TABLE IF NOT EXISTS %s (session BIGINT " ..
      "NOT NULL, name VARCHAR(64) NOT NULL, old_value VARCHAR(64) NOT NULL, " ..
      "PRIMARY KEY (session, name))"):format(KEPT))
   if not made then
      return nil, reason(why)
   end
   local set, names = pcall(set_and_keep, con)
   if not set or #names == 0 then
      pcall(put_back, con, owner)
      owner = nil
      if not set then
         return nil, reason(names)
      end
      return "InnoDB was set to flush dirty pages already"
   end
   table.sort(names)
   return ("InnoDB flushed dirty pages (%s)"):format(table.concat(names, ", "))
end

-- Restores the settings at the end of the rest, and after an interruption or a failure.
function rest.unsettle()
   if not owner then
      return
   end
   local con = sysbench.sql.driver():connect()
   put_back(con, owner)
   con:disconnect()
   owner = nil
end

-- The first column of an answer as numbers, each mapped to true.
local function set_of(con, sql)
   local result, set = con:query(sql), {}
   for _ = 1, result.nrows do
      set[tonumber(result:fetch_row()[1])] = true
   end
   return set
end

-- Whether a session that owns a rest still exists. The session of a killed process disappears
-- shortly; a new one registers shortly.
local function is_kept(con)
   local keepers
   for _ = 1, 10 do
      keepers = set_of(con, "SELECT session FROM " .. KEPT)
      local there, found = set_of(con, "SHOW PROCESSLIST"), next(keepers) == nil
      for session in pairs(keepers) do
         found = found or there[session]
      end
      if not found then
         return false
      end
      dyno.sleep(0.1)
   end
   return next(keepers) ~= nil
end

-- Restores the settings left behind by a killed rest.
function rest.recover()
   if dyno.canned or sysbench.sql.driver():name() ~= "mysql" then
      return
   end
   local con = sysbench.sql.driver():connect()
   local kept = bench.number(con, "SELECT COUNT(*) FROM information_schema.tables WHERE " ..
      "table_schema = DATABASE() AND table_name = '%s'", KEPT) > 0
   if kept and is_kept(con) then
      print("note: InnoDB flushes for a rest of another run, which will restore its settings")
   elseif kept then
      local done, result = pcall(put_back, con)
      if not done then
         print(("warning: a killed rest left InnoDB flushing, and its settings cannot be " ..
            "restored: %s. The table %s has the previous values."):format(reason(result), KEPT))
      elseif result ~= "" then
         print("note: restored the settings that a killed rest had changed: " .. result)
      end
   end
   con:disconnect()
end

local CLEAN = {
   mysql = "ANALYZE TABLE pi{n}",
   postgres = "VACUUM (ANALYZE, INDEX_CLEANUP ON) pi{n}",
   sqlite = "ANALYZE pi{n}",
}

-- Deletes all binary logs, if the user asked for it.
local function reset_binlog(con)
   -- Only MySQL since 8.2 accepts the new statement, and since 8.4 it accepts no other.
   if not pcall(con.query, con, "RESET BINARY LOGS AND GTIDS") then
      con:query("RESET MASTER")
   end
end

-- Maintenance other than statistics for the server's family; returns a description.
local function clean_up(con, did)
   local opt, family = sysbench.opt, dyno.family(con)
   if family == "postgres" then
      -- Requires a privilege.
      local done = pcall(con.query, con, "CHECKPOINT")
      did[#did + 1] = done and "checkpoint" or "no checkpoint: the privilege is missing"
   elseif family == "sqlite" then
      con:query("PRAGMA wal_checkpoint(TRUNCATE)")
      did[#did + 1] = "checkpoint"
   end
   if opt.settle_reset_binlog then
      reset_binlog(con)
      did[#did + 1] = "binary logs deleted"
   end
   local innodb = opt.mysql_storage_engine:lower() == "innodb"
   if family == "mysql" and innodb and opt.settle_flush ~= "off" and bench.settle_seconds() > 0 then
      local flushed, why = flush(con)
      if flushed then
         did[#did + 1] = flushed
      elseif opt.settle_flush == "on" then
         error("--settle-flush=on: InnoDB's flushing cannot be set: " .. why, 0)
      else
         print("note: InnoDB does not flush more during the rest: the privilege is missing: " ..
            why)
         did[#did + 1] = "no flushing: the privilege is missing"
      end
   end
end

-- Cleans a table, and every `step`th after it.
local function clean_tables(from, step)
   local con = sysbench.sql.driver():connect()
   for number = from, bench.tables(), step do
      con:query(dyno.render(con, CLEAN[dyno.family(con)], {n = number}))
   end
   con:disconnect()
end

-- When cleaning the tables began, in ms; 0 if it did not.
local function began()
   return dyno.shared("rest_began")
end

-- Statistics, and on PostgreSQL vacuuming: in as many sessions as tables. In SQLite sessions would
-- only wait for each other.
function rest.statistics(session)
   local writers = sysbench.sql.driver():name() == "sqlite" and 1 or bench.tables()
   if session == 0 then
      began():set(math.floor(dyno.now() * 1000))
   end
   if session < writers then
      clean_tables(session + 1, writers)
   end
end

-- Refreshes statistics (unless done before), removes garbage and flushes dirty pages, so that
-- queries do not pay for earlier writes. Returns a description of the work.
function rest.settle()
   rest.recover()
   local started, tables = began():get() / 1000, bench.tables()
   local beside = started > 0 and tables > 1
   if started == 0 then
      started = dyno.now()
      clean_tables(1, 1)
   end
   local con = sysbench.sql.driver():connect()
   local family = dyno.family(con)
   local did = {family == "postgres" and "vacuum, statistics" or "statistics"}
   if beside and family ~= "sqlite" then
      did[1] = ("%s (%d tables in parallel)"):format(did[1], tables)
   end
   clean_up(con, did)
   dyno.sleep(math.max(0, bench.settle_seconds() - (dyno.now() - started)))
   rest.unsettle()
   -- It shows others that the rest is still running.
   con:disconnect()
   return table.concat(did, "; ")
end

-- The number of rows in a table, independent of its secondary indexes.
local function count_rows(con, number)
   local family = dyno.family(con)
   if family ~= "postgres" then
      local hint = family == "mysql" and "FORCE INDEX (PRIMARY)" or "NOT INDEXED"
      return bench.number(con, "SELECT COUNT(*) FROM pi%d %s", number, hint)
   end
   con:query("SET enable_indexonlyscan = off")
   local rows = bench.number(con, "SELECT COUNT(*) FROM pi%d", number)
   con:query("SET enable_indexonlyscan = on")
   return rows
end

-- The number of rows in an index.
local function count_by(con, client, index)
   local name = bench.index_name(con, client, index[1])
   local column, others = index[2]:match("^(%w+)(.*)$")
   local family = dyno.family(con)
   if family == "mysql" then
      return bench.number(con, "SELECT COUNT(*) FROM pi%d FORCE INDEX (%s) WHERE %s >= 0", client,
         name, column)
   elseif family == "sqlite" then
      return bench.number(con, "SELECT COUNT(*) FROM pi%d INDEXED BY %s WHERE %s >= 0", client,
         name, column)
   end
   con:query("SET enable_seqscan = off")
   con:query("SET enable_bitmapscan = off")
   -- All columns of the index, to exclude another with the same first column.
   local rows = bench.number(con, "SELECT COUNT(*) FROM pi%d WHERE %s >= 0%s", client, column,
      (others:gsub(",%s*(%w+)", " AND %1 IS NOT NULL")))
   con:query("SET enable_seqscan = on")
   con:query("SET enable_bitmapscan = on")
   return rows
end

-- Each table must have its loaded rows within one percent; indexes must have as many rows as their
-- table. Fails otherwise.
function rest.check()
   bench.check_options()
   rest.recover()
   local opt, conditions = sysbench.opt, dyno.conditions()
   local con = sysbench.sql.driver():connect()
   local loaded, added = bench.table_rows(), bench.index_rows()
   -- Statements that were running when a run was interrupted.
   local slack = math.max(loaded * 0.01, 450 * opt.threads / bench.tables())
   for client = 1, bench.tables() do
      local rows = count_rows(con, client)
      local low, high = loaded - slack, loaded + slack + added
      if not opt.deletes then
         high = math.huge
      end
      conditions:hold(rows >= low and rows <= high,
         ("pi%d has %d rows, loaded with %d"):format(client, rows, loaded))
      local found = 0
      for _, index in ipairs(bench.all_indexes()) do
         if bench.has_index(con, client, index) then
            local held = count_by(con, client, index)
            conditions:hold(held == rows,
               ("pi%d: index %s holds %d of %d rows"):format(client, index[1], held, rows))
            found = found + 1
         end
      end
      -- There are no indexes before the step x.
      if found > 0 then
         conditions:equal(("pi%d: secondary indexes"):format(client), found,
            opt.num_secondary_indexes)
      end
   end
   con:disconnect()
   conditions:finish()
end

return rest
