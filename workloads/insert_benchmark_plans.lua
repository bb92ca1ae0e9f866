-- The Insert Benchmark: checks of its queries' plans, and the snapshot of a transaction that is
-- kept open. See insert_benchmark.lua.

local bench = require("insert_benchmark_common")

local plans = {}

-- Begins a transaction whose snapshot is taken at its first read.
function plans.snapshot(con)
   local begin = {mysql = "START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY",
                  postgres = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", sqlite = "BEGIN"}
   return begin[dyno.family(con)]
end

-- Makes the session's transactions keep snapshots; fails if readers would block writers.
function plans.must_keep_snapshots(con)
   local family = dyno.family(con)
   if family == "mysql" then
      con:query("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
   elseif family == "sqlite" then
      local mode = con:query_row("PRAGMA journal_mode")
      if mode ~= "wal" then
         error(("--htap-transaction-seconds: with SQLite's journal_mode %s a reader keeps all " ..
            "writers out; leave it at wal"):format(mode), 0)
      end
   end
end

-- All fields of all rows.
local function answer(con, sql)
   local result, fields, lines = con:query(sql), {}, {}
   for _ = 1, result.nrows do
      local row, line = result:fetch_row(), {}
      for column = 1, result.nfields do
         fields[#fields + 1] = row[column] or ""
         line[#line + 1] = row[column] or "NULL"
      end
      lines[#lines + 1] = table.concat(line, " | ")
   end
   return fields, table.concat(lines, "\n")
end

local function has(fields, wanted)
   for _, field in ipairs(fields) do
      -- MySQL puts several remarks into one field.
      for part in (field .. ";"):gmatch("%s*(.-);") do
         if part == wanted then
            return true
         end
      end
   end
   return false
end

-- Whether a plan reads its rows from the secondary index only, in its order.
local index_only = {
   mysql = function(fields)
      return has(fields, "Using index") and not has(fields, "Using filesort")
   end,
   postgres = function(_, text)
      return text:find("Index Only Scan", 1, true) and not text:find("Seq Scan", 1, true)
         and not text:find("Index Scan", 1, true) and not text:find("Bitmap", 1, true)
         and not text:find("Sort  (", 1, true)
   end,
   sqlite = function(_, text)
      return text:find("USING COVERING INDEX", 1, true) and not text:find("TEMP B-TREE", 1, true)
   end,
}

-- Whether it finds its rows by the primary key.
local by_key = {
   mysql = function(fields)
      return has(fields, "PRIMARY")
   end,
   postgres = function(_, text)
      return text:find("_pkey", 1, true) and not text:find("Seq Scan", 1, true)
   end,
   sqlite = function(_, text)
      return text:find("USING INTEGER PRIMARY KEY", 1, true)
   end,
}

local ADVICE = "The step would measure something else. Are the indexes there (step x)? " ..
   "Statistics, on PostgreSQL VACUUM, are made by the rest before the first query step. Tables " ..
   "and partitions of about a thousand rows and less may be read as a whole. " ..
   "--check-plans=off measures all the same."

local function refuse(name, wanted, text)
   error(("the plan of the query %s is not %s:\n%s\n%s"):format(name, wanted, text, ADVICE), 0)
end

-- Fails if a table has unexpected indexes, or lacks one that a step's queries need.
local function check_indexes(con, step, number)
   local wanted = sysbench.opt.num_secondary_indexes
   for place, index in ipairs(bench.all_indexes()) do
      local found = bench.has_index(con, number, index)
      if found and place > wanted then
         error(("pi%d has the index %s, but should not with --num-secondary-indexes=%d: the " ..
            "result would name a wrong number of indexes. --check-plans=off measures anyway.")
            :format(number, index[1], wanted), 0)
      elseif not found and place <= wanted and not step.points then
         error(("pi%d has no index %s: create it with the step x, or give the number of indexes " ..
            "as --num-secondary-indexes"):format(number, index[1]), 0)
      end
   end
end

-- Fails unless the queries of a step use their intended indexes.
function plans.check(con, step, templates, number)
   check_indexes(con, step, number)
   local family = dyno.family(con)
   -- MySQL's default format differs between versions.
   local explain = ({mysql = "EXPLAIN FORMAT=TRADITIONAL ", postgres = "EXPLAIN ",
                     sqlite = "EXPLAIN QUERY PLAN "})[family]
   local function plan(name, value)
      local sql = dyno.render(con, templates[name][1], bench.words(number))
      return answer(con, explain .. sql:gsub(":[%a_][%w_]*", value))
   end
   if step.points then
      local low = bench.number(con, "SELECT MIN(transactionid) FROM pi%d", number) or 1
      local fields, text = plan("points", function()
         low = low + 1
         return tostring(low)
      end)
      if not by_key[family](fields, text) then
         refuse("points", "by the primary key", text)
      end
      return
   end
   for _, index in ipairs(bench.indexes()) do
      local name = index[1] .. "_" .. sysbench.opt.variant
      local fields, text = plan(name, "400")
      if not index_only[family](fields, text) then
         refuse(index[1], "index-only", text)
      end
   end
end

return plans
