-- The Insert Benchmark: what is done between its steps and afterwards. See insert_benchmark.lua.

local bench = require("insert_benchmark_common")

local rest = {}

-- In this order, and back in the other one: the low mark cannot be above the high one.
local FLUSH = {
   {"innodb_max_dirty_pages_pct_lwm", 1},
   {"innodb_max_dirty_pages_pct", 1},
   {"innodb_idle_flush_pct", 100},
}

-- What was set before the rest, by name.
local before = {}

-- Sets what makes InnoDB flush. Answers how that is told, or nil and why it cannot be.
local function flush(con)
   local names, why = {}, nil
   for _, setting in ipairs(FLUSH) do
      local name, value = setting[1], setting[2]
      -- MariaDB has no innodb_idle_flush_pct.
      local known, old = pcall(bench.number, con, "SELECT @@GLOBAL.%s", name)
      -- Another run may have set it already, and will set it back.
      if known and old and old ~= value then
         local set, err = pcall(con.query, con, ("SET GLOBAL %s = %d"):format(name, value))
         if set then
            before[name] = old
            names[#names + 1] = name
         else
            why = tostring(type(err) == "table" and err.sql_errmsg or err)
         end
      end
   end
   if why then
      return nil, why
   end
   table.sort(names)
   return ("InnoDB flushed dirty pages (%s)"):format(table.concat(names, ", "))
end

-- Sets back what the rest set: at its end, and when it was interrupted or failed.
function rest.unsettle()
   if not next(before) then
      return
   end
   local con = sysbench.sql.driver():connect()
   for number = #FLUSH, 1, -1 do
      local name = FLUSH[number][1]
      if before[name] then
         con:query(("SET GLOBAL %s = %s"):format(name, before[name]))
         before[name] = nil
      end
   end
   con:disconnect()
end

local CLEAN = {
   mysql = "ANALYZE TABLE pi{n}",
   postgres = "VACUUM (ANALYZE, INDEX_CLEANUP ON) pi{n}",
   sqlite = "ANALYZE pi{n}",
}

-- Deletes all binary logs, as the user asked for.
local function reset_binlog(con)
   -- Only MySQL from 8.2 on knows the new words, and from 8.4 on it knows no others.
   if not pcall(con.query, con, "RESET BINARY LOGS AND GTIDS") then
      con:query("RESET MASTER")
   end
end

-- What the server's family needs besides statistics; answers how that is told.
local function clean_up(con, did)
   local opt, family = sysbench.opt, dyno.family(con)
   if family == "postgres" then
      -- Only some may.
      local done = pcall(con.query, con, "CHECKPOINT")
      did[#did + 1] = done and "checkpoint" or "no checkpoint, for want of the privilege"
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
      local told, why = flush(con)
      if told then
         did[#did + 1] = told
      elseif opt.settle_flush == "on" then
         error("--settle_flush=on: InnoDB's flushing cannot be set: " .. why, 0)
      else
         print("note: InnoDB is not told to flush while it rests, for want of the privilege: " ..
            why)
         did[#did + 1] = "no flushing, for want of the privilege"
      end
   end
end

-- Statistics, garbage, dirty pages: so that queries do not pay for the writes before them. Answers
-- what was done.
function rest.settle()
   local started = dyno.now()
   local con = sysbench.sql.driver():connect()
   local family = dyno.family(con)
   for number = 1, bench.tables() do
      con:query(dyno.render(con, CLEAN[family], {n = number}))
   end
   local did = {family == "postgres" and "vacuum, statistics" or "statistics"}
   clean_up(con, did)
   con:disconnect()
   dyno.sleep(math.max(0, bench.settle_seconds() - (dyno.now() - started)))
   rest.unsettle()
   return table.concat(did, "; ")
end

-- How many rows a table holds, whatever its secondary indexes say.
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

-- How many rows an index holds.
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
   -- All columns of the index, lest another that begins with the same one be read.
   local rows = bench.number(con, "SELECT COUNT(*) FROM pi%d WHERE %s >= 0%s", client, column,
      (others:gsub(",%s*(%w+)", " AND %1 IS NOT NULL")))
   con:query("SET enable_seqscan = on")
   con:query("SET enable_bitmapscan = on")
   return rows
end

local function has_index(con, client, index)
   local name = bench.index_name(con, client, index[1])
   local family = dyno.family(con)
   if family == "mysql" then
      return bench.number(con, "SELECT COUNT(*) FROM information_schema.statistics WHERE " ..
         "table_schema = DATABASE() AND table_name = 'pi%d' AND index_name = '%s'", client,
         name) > 0
   elseif family == "postgres" then
      return bench.number(con, "SELECT COUNT(*) FROM pg_class WHERE relkind IN ('i', 'I') " ..
         "AND oid = to_regclass('%s')", name) > 0
   end
   return bench.number(con, "SELECT COUNT(*) FROM sqlite_schema WHERE name = '%s'", name) > 0
end

-- Rows of each table within a hundredth of what was loaded; indexes that hold as many rows as
-- their table. Raises if anything is wrong.
function rest.check()
   bench.check_options()
   local opt, conditions = sysbench.opt, dyno.conditions()
   local con = sysbench.sql.driver():connect()
   local loaded, added = bench.table_rows(), bench.index_rows()
   -- Statements under way when a run was broken off.
   local slack = math.max(loaded * 0.01, 450 * opt.threads / bench.tables())
   for client = 1, bench.tables() do
      local rows = count_rows(con, client)
      local low, high = loaded - slack, loaded + slack + added
      if not opt.deletes then
         high = math.huge
      end
      conditions:hold(rows >= low and rows <= high,
         ("pi%d has %d rows, loaded with %d"):format(client, rows, loaded))
      for _, index in ipairs(bench.indexes()) do
         if has_index(con, client, index) then
            local held = count_by(con, client, index)
            conditions:hold(held == rows,
               ("pi%d: index %s holds %d of %d rows"):format(client, index[1], held, rows))
         end
      end
   end
   con:disconnect()
   conditions:finish()
end

return rest
