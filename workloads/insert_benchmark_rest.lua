-- The Insert Benchmark: what is done between its steps and afterwards. See insert_benchmark.lua.

local bench = require("insert_benchmark_common")

local rest = {}

local FLUSH = {innodb_max_dirty_pages_pct_lwm = 1, innodb_max_dirty_pages_pct = 1,
               innodb_idle_flush_pct = 100}

-- Sets what makes InnoDB flush; answers a function that restores what was.
local function flush(con)
   local before = {}
   for name, value in pairs(FLUSH) do
      -- MariaDB has no innodb_idle_flush_pct.
      local known, old = pcall(bench.number, con, "SELECT @@GLOBAL.%s", name)
      if known and old then
         local set, err = pcall(con.query, con, ("SET GLOBAL %s = %d"):format(name, value))
         if not set then
            print(("warning: cannot set %s, so the server rests without flushing: %s"):format(name,
               tostring(err.sql_errmsg or err)))
         else
            before[name] = old
         end
      end
   end
   return function()
      for name, value in pairs(before) do
         con:query(("SET GLOBAL %s = %s"):format(name, value))
      end
   end
end

-- Statistics, garbage, dirty pages: so that queries do not pay for the writes before them.
function rest.settle()
   local opt, started = sysbench.opt, dyno.now()
   local con = sysbench.sql.driver():connect()
   local family, restore = dyno.family(con), nil
   for client = 1, opt.threads do
      local words = {n = client}
      local clean = {mysql = "ANALYZE TABLE pi{n}",
                     postgres = "VACUUM (ANALYZE, INDEX_CLEANUP ON) pi{n}",
                     sqlite = "ANALYZE pi{n}"}
      con:query(dyno.render(con, clean, words))
   end
   if family == "postgres" then
      -- Only a superuser may.
      pcall(con.query, con, "CHECKPOINT")
   elseif family == "mysql" and opt.settle_flush then
      restore = flush(con)
   elseif family == "sqlite" then
      con:query("PRAGMA wal_checkpoint(TRUNCATE)")
   end
   dyno.sleep(math.max(0, bench.settle_seconds() - (dyno.now() - started)))
   if restore then
      restore()
   end
   con:disconnect()
end

local function say(ok, text)
   print((ok and "ok      " or "FAILED  ") .. text)
   return ok and 0 or 1
end

-- How many rows an index holds.
local function count_by(con, client, index)
   local name = bench.index_name(con, client, index[1])
   local column = index[2]:match("^%w+")
   local family = dyno.family(con)
   if family == "mysql" then
      return bench.number(con, "SELECT COUNT(*) FROM pi%d FORCE INDEX (%s) WHERE %s >= 0", client,
         name, column)
   elseif family == "sqlite" then
      return bench.number(con, "SELECT COUNT(*) FROM pi%d INDEXED BY %s WHERE %s >= 0", client,
         name, column)
   end
   return bench.number(con, "SELECT COUNT(%s) FROM pi%d WHERE %s >= 0", column, client, column)
end

local function has_index(con, client, index)
   local name = bench.index_name(con, client, index[1])
   local family = dyno.family(con)
   if family == "mysql" then
      return bench.number(con, "SELECT COUNT(*) FROM information_schema.statistics WHERE " ..
         "table_schema = DATABASE() AND table_name = 'pi%d' AND index_name = '%s'", client,
         name) > 0
   elseif family == "postgres" then
      return bench.number(con, "SELECT COUNT(*) FROM pg_class WHERE relkind = 'i' AND " ..
         "oid = to_regclass('%s')", name) > 0
   end
   return bench.number(con, "SELECT COUNT(*) FROM sqlite_schema WHERE name = '%s'", name) > 0
end

-- Rows of each table within a hundredth of what was loaded; indexes that hold as many rows as
-- their table. Raises if anything is wrong.
function rest.check()
   bench.check_options()
   local opt, failed, made = sysbench.opt, 0, 0
   local con = sysbench.sql.driver():connect()
   if dyno.family(con) == "postgres" then
      con:query("SET enable_seqscan = off")
      con:query("SET enable_bitmapscan = off")
   end
   for client = 1, opt.threads do
      local rows = bench.number(con, "SELECT COUNT(*) FROM pi%d", client)
      -- What each step may leave behind: statements under way.
      local slack = math.max(opt.rows * 0.01, 1000)
      local low, high = opt.rows - slack, opt.rows + slack + 100
      if not opt.deletes then
         high = math.huge
      end
      failed = failed + say(rows >= low and rows <= high,
         ("pi%d has %d rows, loaded with %d"):format(client, rows, opt.rows))
      made = made + 1
      for _, index in ipairs(bench.indexes()) do
         if has_index(con, client, index) then
            local held = count_by(con, client, index)
            failed = failed + say(held == rows,
               ("pi%d: index %s holds %d of %d rows"):format(client, index[1], held, rows))
            made = made + 1
         end
      end
   end
   con:disconnect()
   if failed > 0 then
      error(("%d of %d conditions failed"):format(failed, made), 0)
   end
end

return rest
