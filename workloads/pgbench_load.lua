-- pgbench's tables: creating and loading them, and checking that they match a run's options. See
-- pgbench_common.lua.

local bank = {TELLERS = 10, ACCOUNTS = 100000} -- for each branch

-- In order of creation: children last.
local tables = {
   {"pgbench_branches", "bid {int} NOT NULL, bbalance {int}, filler {chars}(88)", "bid"},
   {"pgbench_tellers",
    "tid {int} NOT NULL, bid {int}, tbalance {int}, filler {chars}(84)", "tid"},
   {"pgbench_accounts",
    "aid {aid} NOT NULL, bid {int}, abalance {int}, filler {chars}(84)", "aid"},
   {"pgbench_history", "{history_key}tid {int}, bid {int}, aid {aid}, delta {int}, " ..
                       "mtime {time}, filler {chars}(22)"},
}

local references = {
   {"pgbench_tellers", "bid", "pgbench_branches"},
   {"pgbench_accounts", "bid", "pgbench_branches"},
   {"pgbench_history", "bid", "pgbench_branches"},
   {"pgbench_history", "tid", "pgbench_tellers"},
   {"pgbench_history", "aid", "pgbench_accounts"},
}

-- Options ---------------------------------------------------------------------------------------

function bank.scale()
   return dyno.option.whole("scale", 1, 200000)
end

-- The number of partitions of the accounts, or 0.
local function partitions(family)
   local count = dyno.option.whole("partitions", 0, 1000)
   dyno.option.one_of("partition_method", {"range", "hash"})
   if count > 0 and family == "sqlite" then
      error("--partitions: SQLite has none", 0)
   elseif count > 0 and family == "mysql" and sysbench.opt.foreign_keys then
      error("--partitions and --foreign-keys exclude each other on MySQL and MariaDB", 0)
   end
   return count
end

local function fillfactor()
   return dyno.option.whole("fillfactor", 10, 100)
end

-- Refuses wrong values of the options above.
function bank.check_options()
   bank.scale()
   partitions()
   fillfactor()
end

local function words(con)
   local opt, family = sysbench.opt, dyno.family(con)
   local own = {
      -- 20,000 branches have more accounts than 32 bits can number.
      aid = bank.scale() >= 20000 and "{key}" or "{int}",
      history_key = "",
      suffix = opt.create_table_options,
   }
   if opt.history_pk then
      own.history_key = ({
         mysql = "history_id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, ",
         postgres = "history_id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, ",
         sqlite = "history_id INTEGER PRIMARY KEY, ",
      })[family]
   end
   if family == "mysql" then
      own.suffix = "ENGINE=" .. opt.mysql_storage_engine .. " " .. own.suffix
   end
   return own
end

-- Tables ----------------------------------------------------------------------------------------

-- The upper bounds of range partitions, as texts.
local function range_ends(count)
   local each, ends = math.ceil(bank.scale() * bank.ACCOUNTS / count), {}
   for part = 1, count - 1 do
      ends[part] = ("%.0f"):format(part * each + 1)
   end
   ends[count] = "MAXVALUE"
   return ends
end

-- The text appended to the accounts' CREATE TABLE.
local function partitioned(family, count)
   local method = sysbench.opt.partition_method:upper()
   local clause = (" PARTITION BY %s (aid)"):format(method)
   if family == "postgres" then
      return clause
   elseif method == "HASH" then
      return clause .. " PARTITIONS " .. count
   end
   local parts = {}
   for part, last in ipairs(range_ends(count)) do
      parts[part] = ("PARTITION p%d VALUES LESS THAN %s"):format(part,
         last == "MAXVALUE" and last or "(" .. last .. ")")
   end
   return ("%s (%s)"):format(clause, table.concat(parts, ", "))
end

-- PostgreSQL's partitions are tables.
local function create_partitions(con, count, unlogged, with)
   local ends = range_ends(count)
   for part = 1, count do
      local values = ("WITH (MODULUS %d, REMAINDER %d)"):format(count, part - 1)
      if sysbench.opt.partition_method == "range" then
         values = ("FROM (%s) TO (%s)"):format(ends[part - 1] or "MINVALUE", ends[part])
      end
      con:query(("CREATE %sTABLE pgbench_accounts_%d PARTITION OF pgbench_accounts FOR VALUES %s%s")
         :format(unlogged, part, values, with))
   end
end

-- The columns with the keys that must exist from the beginning: SQLite declares keys only in CREATE
-- TABLE; MySQL stores its rows in key order.
local function with_keys(family, name, columns, key)
   if key and family ~= "postgres" then
      columns = columns .. ", PRIMARY KEY (" .. key .. ")"
   end
   for _, reference in ipairs(sysbench.opt.foreign_keys and family == "sqlite" and references
      or {}) do
      if reference[1] == name then
         columns = ("%s, FOREIGN KEY (%s) REFERENCES %s (%s)"):format(columns, reference[2],
            reference[3], reference[2])
      end
   end
   return columns
end

local function create(con)
   local opt, family, own = sysbench.opt, dyno.family(con), words(con)
   local parts = partitions(family)
   local unlogged = family == "postgres" and opt.unlogged and "UNLOGGED " or ""
   for _, definition in ipairs(tables) do
      local name, columns, key = unpack(definition)
      local with, of_parts = "", ""
      if family == "postgres" and key and fillfactor() ~= 100 then
         with = (" WITH (fillfactor=%d)"):format(fillfactor())
      end
      if parts > 0 and name == "pgbench_accounts" then
         of_parts = partitioned(family, parts)
      end
      local has_parts = of_parts ~= "" and family == "postgres"
      con:query(dyno.render(con, ("CREATE %sTABLE %s (%s)%s {suffix}%s"):format(
         has_parts and "" or unlogged, name, with_keys(family, name, columns, key),
         has_parts and "" or with, of_parts), own))
      if has_parts then
         create_partitions(con, parts, unlogged, with)
      end
   end
end

-- The tables that prepare creates, with their columns.
function bank.tables_made()
   local made = {dyno.dataset.made("pgbench")}
   for _, definition in ipairs(tables) do
      local columns = definition[2]:gsub("{history_key}", "history_id?, ")
      made[#made + 1] = {definition[1], dyno.column_names(columns)}
   end
   return made
end

local function constrain(con)
   local family = dyno.family(con)
   if family == "postgres" then
      for _, definition in ipairs(tables) do
         if definition[3] then
            con:query(("ALTER TABLE %s ADD PRIMARY KEY (%s)"):format(definition[1], definition[3]))
         end
      end
   end
   if sysbench.opt.foreign_keys and family ~= "sqlite" then
      local added = {}
      for number, reference in ipairs(references) do
         local child, column, parent = unpack(reference)
         added[number] = {child, column, parent, column}
      end
      require("foreign_keys").add(con, added)
   end
end

local blanks = {"const", (" "):rep(84)}

-- The contents of each table: columns, rows per branch, and the function that generates a row.
local loads = {
   {"pgbench_branches", 1, {"bid", "bbalance", "filler"}, {{"sequence"}, {"const", "0"}, {"null"}}},
   {"pgbench_tellers", bank.TELLERS, {"tid", "bid", "tbalance", "filler"},
    {{"sequence"}, {"group", bank.TELLERS}, {"const", "0"}, {"null"}}},
   {"pgbench_accounts", bank.ACCOUNTS, {"aid", "bid", "abalance", "filler"},
    {{"sequence"}, {"group", bank.ACCOUNTS}, {"const", "0"}, blanks}},
}

-- Rows per load, small enough to show progress.
local PART = 50000

local function load_rows(con, tid, sessions)
   for number, load in ipairs(loads) do
      local rows = load[2] * bank.scale()
      local part = 0
      for from = 1, rows, PART do
         if part % sessions == tid then
            dyno.progress(dyno.bulk_load(con, {
               table = load[1],
               table_number = number,
               columns = load[3],
               generate = load[4],
               from = from,
               rows = math.min(PART, rows - from + 1),
            }))
         end
         part = part + 1
      end
      -- SQLite checks foreign keys immediately: parents first.
      dyno.barrier()
   end
end

local function settle(con)
   local family = dyno.family(con)
   for _, definition in ipairs(tables) do
      if family == "postgres" then
         con:query("VACUUM ANALYZE " .. definition[1])
      elseif family == "mysql" then
         con:query("ANALYZE TABLE " .. definition[1])
      end
   end
   if family == "sqlite" then
      con:query("ANALYZE")
   end
end

-- The version of the row generator, which draws no random numbers.
local GENERATOR = 1

-- Stores a description of the loaded data.
local function keep(con)
   local opt, family, scale = sysbench.opt, dyno.family(con), bank.scale()
   local beside = {{"foreign_keys", opt.foreign_keys}, {"history_key", opt.history_pk},
                   {"partitions", opt.partitions}}
   if family == "mysql" then
      beside[#beside + 1] = {"engine", opt.mysql_storage_engine}
   elseif family == "postgres" then
      beside[#beside + 1] = {"fillfactor", opt.fillfactor}
      beside[#beside + 1] = {"unlogged", opt.unlogged}
   end
   dyno.dataset.keep(con, "pgbench", {{"generator", GENERATOR}, {"scale", scale},
      {"rows", ("branches %.0f, tellers %.0f, accounts %.0f"):format(scale, scale * bank.TELLERS,
         scale * bank.ACCOUNTS)}}, beside)
end

function bank.prepare(tid)
   local con = sysbench.sql.driver():connect()
   local steps, sessions = dyno.steps(), sysbench.opt.threads
   local rows = bank.scale() * (1 + bank.TELLERS + bank.ACCOUNTS)
   if tid == 0 then
      dyno.load_total(rows)
      create(con)
      steps:ended("tables")
   end
   dyno.barrier()
   load_rows(con, tid, sessions)
   if tid == 0 then
      steps:ended("rows", rows)
      constrain(con)
      steps:ended("keys")
      settle(con)
      steps:ended("statistics")
      keep(con)
      steps:tell()
   end
   con:disconnect()
end

local UNFINISHED = "the tables are not completely loaded: dyno cleanup tpcb, then dyno prepare tpcb"

-- Fails unless the tables exist, have the requested scale, and are completely loaded.
function bank.must_fit(con)
   local wanted = bank.scale()
   local found = tonumber((con:query_row("SELECT MAX(bid) FROM pgbench_branches"))) or 0
   if found == 0 then
      error(UNFINISHED, 0)
   elseif found ~= wanted then
      error(("the tables have %d branches instead of %d: give the --scale that they were " ..
         "prepared with"):format(found, wanted), 0)
   end
   -- PostgreSQL gets its keys after all rows.
   if dyno.family(con) == "postgres" and con:query_row("SELECT COUNT(*) FROM pg_index WHERE " ..
      "indrelid = 'pgbench_accounts'::regclass AND indisprimary") == "0" then
      error(UNFINISHED, 0)
   end
   -- Each session loads its parts in order: if it was stopped, one of the last ones is missing.
   local parts, ends = wanted * bank.ACCOUNTS / PART, {}
   for part = math.max(1, parts - 999), parts do
      ends[#ends + 1] = ("%.0f"):format(part * PART)
   end
   local there = con:query_row(("SELECT COUNT(*) FROM pgbench_accounts WHERE aid IN (%s)"):format(
      table.concat(ends, ", ")))
   if tonumber(there) ~= #ends then
      error(UNFINISHED, 0)
   end
end

-- The number of transactions in the history, without reading it: from its last number, or from the
-- server's statistics. Nil if they are not available.
local AGE = {
   mysql = "SELECT table_rows FROM information_schema.tables WHERE table_schema = DATABASE() " ..
      "AND table_name = 'pgbench_history'",
   postgres = "SELECT n_live_tup FROM pg_stat_user_tables WHERE " ..
      "relid = 'pgbench_history'::regclass",
   sqlite = "SELECT COALESCE(MAX(rowid), 0) FROM pgbench_history",
}

-- Reports the tables' properties and age, from cheap sources.
function bank.report(con)
   dyno.dataset.tell(con, "pgbench", {scale = sysbench.opt.scale})
   if not dyno.canned then
      -- Otherwise MySQL answers from statistics up to a day old.
      local kept = "information_schema_stats_expiry"
      if dyno.family(con) == "mysql" and con:query_row("SHOW VARIABLES LIKE '" .. kept .. "'") then
         con:query("SET SESSION " .. kept .. " = 0")
      end
      local rows = con:query_row(AGE[dyno.family(con)])
      dyno.fact("age", ("about %s transactions"):format(rows or "an unknown number of"), true)
   end
end

function bank.cleanup()
   local con = sysbench.sql.driver():connect()
   for number = #tables, 1, -1 do
      con:query("DROP TABLE IF EXISTS " .. tables[number][1])
   end
   dyno.dataset.forget(con, "pgbench")
   con:disconnect()
end

return bank
