-- What pgbench's built-in workloads share, in a form that runs on MySQL, MariaDB, PostgreSQL and
-- SQLite: the four tables, the three transactions, the mix, the ledger and the check. A workload
-- requires this file and sets the default of --mix: see tpcb.lua.
--
-- TPC-B-like, not TPC-B: no home branches, and every number is drawn independently.

sysbench.cmdline.options = {
   scale = {"Branches: 10 tellers and 100,000 accounts each, about 15 MB", 1},
   mix = {"Transactions by weight: tpcb@2,simple_update@1,select_only@7", "tpcb@1"},
   keys = {"How accounts are drawn: uniform, gaussian, exponential or zipfian", "uniform"},
   keys_parameter = {"Shape: gaussian (2 or more) and exponential, larger is narrower; " ..
                     "zipfian, the exponent", 2.5},
   foreign_keys = {"Add the five foreign keys", false},
   history_pk = {"Give history a primary key, as clusters demand", false},
   fillfactor = {"How full PostgreSQL packs the pages of its tables, percent", 100},
   unlogged = {"Whether PostgreSQL leaves the tables out of its log", false},
   create_table_options = {"Text to append to CREATE TABLE", ""},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
}

local ACCOUNTS, TELLERS = 100000, 10 -- for each branch

-- Statements as data ----------------------------------------------------------------------------

-- By name: the text, then a letter for each parameter.
templates = {
   update_account = {"UPDATE pgbench_accounts SET abalance = abalance + ? WHERE aid = ?", "ii"},
   select_account = {"SELECT abalance FROM pgbench_accounts WHERE aid = ?", "i"},
   update_teller = {"UPDATE pgbench_tellers SET tbalance = tbalance + ? WHERE tid = ?", "ii"},
   update_branch = {"UPDATE pgbench_branches SET bbalance = bbalance + ? WHERE bid = ?", "ii"},
   insert_history = {"INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) " ..
                     "VALUES (?, ?, ?, ?, {now})", "iiii"},
}

-- In the order they are made: children last.
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

local function scale()
   local value = sysbench.opt.scale
   if value < 1 or value ~= math.floor(value) or value > 200000 then
      error("--scale must be a whole number from 1 to 200000, not " .. value, 0)
   end
   return value
end

local function words(con)
   local opt, family = sysbench.opt, dyno.family(con)
   local own = {
      -- 20,000 branches have more accounts than 32 bits count.
      aid = scale() >= 20000 and "{key}" or "{int}",
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

local function create(con)
   local opt, family, own = sysbench.opt, dyno.family(con), words(con)
   for _, definition in ipairs(tables) do
      local name, columns, key = unpack(definition)
      local unlogged, with = "", ""
      if family == "postgres" then
         unlogged = opt.unlogged and "UNLOGGED " or ""
         if key and opt.fillfactor ~= 100 then
            with = (" WITH (fillfactor=%d)"):format(opt.fillfactor)
         end
      end
      -- SQLite knows keys only when it makes a table; MySQL keeps its rows in the key's order.
      if key and family ~= "postgres" then
         columns = columns .. ", PRIMARY KEY (" .. key .. ")"
      end
      if opt.foreign_keys and family == "sqlite" then
         for _, reference in ipairs(references) do
            if reference[1] == name then
               columns = ("%s, FOREIGN KEY (%s) REFERENCES %s (%s)"):format(columns, reference[2],
                  reference[3], reference[2])
            end
         end
      end
      con:query(dyno.render(con, ("CREATE %sTABLE %s (%s)%s {suffix}"):format(unlogged, name,
         columns, with), own))
   end
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
      for _, reference in ipairs(references) do
         con:query(("ALTER TABLE %s ADD FOREIGN KEY (%s) REFERENCES %s (%s)"):format(reference[1],
            reference[2], reference[3], reference[2]))
      end
   end
end

local blanks = {"const", (" "):rep(84)}

-- What each table is loaded with: columns, rows for each branch, and how a row comes about.
local loads = {
   {"pgbench_branches", 1, {"bid", "bbalance", "filler"}, {{"sequence"}, {"const", "0"}, {"null"}}},
   {"pgbench_tellers", TELLERS, {"tid", "bid", "tbalance", "filler"},
    {{"sequence"}, {"group", TELLERS}, {"const", "0"}, {"null"}}},
   {"pgbench_accounts", ACCOUNTS, {"aid", "bid", "abalance", "filler"},
    {{"sequence"}, {"group", ACCOUNTS}, {"const", "0"}, blanks}},
}

-- Rows of one load at a time, so that progress is seen.
local PART = 50000

local function load_rows(con, tid, sessions)
   for number, load in ipairs(loads) do
      local rows = load[2] * scale()
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
      -- Foreign keys of SQLite are checked at once: parents first.
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

local function prepare(tid)
   local con = sysbench.sql.driver():connect()
   local sessions = sysbench.opt.threads
   if tid == 0 then
      dyno.load_total(scale() * (1 + TELLERS + ACCOUNTS))
      create(con)
   end
   dyno.barrier()
   load_rows(con, tid, sessions)
   if tid == 0 then
      constrain(con)
      settle(con)
   end
   con:disconnect()
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for number = #tables, 1, -1 do
      con:query("DROP TABLE IF EXISTS " .. tables[number][1])
   end
   con:disconnect()
end

-- The check -------------------------------------------------------------------------------------

-- The sums over the tables, as whole numbers; of the large ones only if the `whole` is wanted.
local function read_sums(con, whole)
   local found = {}
   local function read(rows, sum, column, name)
      local count, total = con:query_row(("SELECT COUNT(*), COALESCE(SUM(%s), 0) FROM %s"):format(
         column, name))
      found[rows], found[sum] = tonumber(count), tonumber(total)
   end
   read("tellers", "teller_sum", "tbalance", "pgbench_tellers")
   read("branches", "branch_sum", "bbalance", "pgbench_branches")
   if whole then
      read("accounts", "account_sum", "abalance", "pgbench_accounts")
      read("history", "history_sum", "delta", "pgbench_history")
   end
   return found
end

local function check()
   local con = sysbench.sql.driver():connect()
   -- One moment for all of them, though others may write.
   con:query(dyno.render(con, {
      mysql = "START TRANSACTION WITH CONSISTENT SNAPSHOT",
      postgres = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      sqlite = "BEGIN",
   }))
   local found, s = read_sums(con, true), scale()
   con:query("COMMIT")
   local conditions = {
      {"branches", found.branches, s},
      {"tellers", found.tellers, s * TELLERS},
      {"accounts", found.accounts, s * ACCOUNTS},
      {"the sum of the accounts against history's", found.account_sum, found.history_sum},
      {"the sum of the tellers against the branches'", found.teller_sum, found.branch_sum},
   }
   local failed = 0
   for _, condition in ipairs(conditions) do
      local good = condition[2] == condition[3]
      failed = failed + (good and 0 or 1)
      local word = good and "ok    " or "FAILED"
      print(("%s  %s: %.0f, expected %.0f"):format(word, unpack(condition)))
   end
   if failed > 0 then
      error(("%d of %d conditions failed"):format(failed, #conditions), 0)
   end
end

sysbench.cmdline.commands = {
   prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}

-- The transactions ------------------------------------------------------------------------------

local operations = {
   tpcb = dyno.operation("tpcb"),
   simple_update = dyno.operation("simple_update"),
   select_only = dyno.operation("select_only", {read_only = true}),
}

-- The deltas of the transactions that were committed: those of all, those that tellers and branches
-- took part in; and how many there were.
local money, tellers_money = dyno.sum("money"), dyno.sum("tellers_money")
local transactions, unchanged = dyno.sum("transactions"), dyno.sum("unchanged")

-- Up to so many branches the ledger reads accounts and history in any case.
local READ_WHOLE_MAX = 20

local function read_ledger(whole)
   local con = sysbench.sql.driver():connect()
   local found = read_sums(con, whole)
   con:disconnect()
   return {
      money = whole and {accounts = found.account_sum, history = found.history_sum} or nil,
      tellers_money = {tellers = found.teller_sum, branches = found.branch_sum},
      transactions = whole and {history_rows = found.history} or nil,
      unchanged = {account_rows = found.accounts, teller_rows = found.tellers,
                   branch_rows = found.branches},
   }
end

function ledger()
   return read_ledger(scale() <= READ_WHOLE_MAX)
end

function full_ledger()
   return read_ledger(true)
end

local con, statements, random, next_kind, single, draw_account
-- Whether the tables are of the scale that is asked for.
function init()
   local wanted, con = scale(), sysbench.sql.driver():connect()
   local found = tonumber((con:query_row("SELECT MAX(bid) FROM pgbench_branches"))) or 0
   con:disconnect()
   if found ~= wanted then
      error(("the tables have %d branches and not %d: give the --scale that they were prepared " ..
         "with"):format(found, wanted), 0)
   end
end

local branches, tellers, accounts

local function parse_mix(text)
   local cards, kinds = {}, 0
   for entry in text:gmatch("[^,]+") do
      local name, weight = entry:match("^%s*([%w_]+)@?([%d.]*)%s*$")
      if not name or not operations[name] then
         error("--mix: '" .. entry .. "' is none of tpcb, simple_update, select_only with @weight",
            0)
      end
      weight = weight == "" and 1 or tonumber(weight)
      if not weight then
         error("--mix: '" .. entry .. "' has no weight", 0)
      end
      if weight > 0 then
         cards[#cards + 1] = {name, weight}
         kinds = kinds + 1
      end
   end
   if kinds == 0 then
      error("--mix names no transaction", 0)
   end
   return cards
end

local function account_draw(opt)
   local kind, parameter = opt.keys, opt.keys_parameter
   if kind == "uniform" then
      return function() return random:uniform(1, accounts) end
   elseif kind == "gaussian" and parameter >= 2 then
      return function() return random:gaussian(1, accounts, parameter) end
   elseif kind == "exponential" and parameter > 0 then
      -- Cut off at the end of the range, where so little is left that it is drawn again.
      return function()
         local place
         repeat
            place = random:exponential(1 / parameter)
         until place < 1
         return 1 + math.floor(place * accounts)
      end
   elseif kind == "zipfian" and parameter > 0 then
      local law = dyno.zipf(accounts, parameter)
      return function() return random:zipf(law) end
   end
   error(("--keys=%s with --keys_parameter=%s is no distribution: uniform, gaussian (2 or " ..
          "more), exponential (above 0), zipfian (above 0)"):format(kind, parameter), 0)
end

function thread_init(tid)
   local opt = sysbench.opt
   branches = scale()
   tellers, accounts = branches * TELLERS, branches * ACCOUNTS
   random = dyno.random
   local cards = parse_mix(opt.mix)
   single = #cards == 1 and cards[1][1]
   next_kind = dyno.choice(cards)
   draw_account = account_draw(opt)
   if tid == 0 and opt.threads > branches and opt.mix:find("tpcb") then
      print(("warning: more sessions (%d) than branches (%d): they wait for each other's branch " ..
             "rows, and that is what is measured"):format(opt.threads, branches))
   end
   con = sysbench.sql.driver():connect()
   statements = {}
   for name, template in pairs(templates) do
      statements[name] = dyno.statement(con, template[1], template[2])
   end
end

function thread_done()
   con:disconnect()
end

local function tpcb(aid, tid, bid, delta)
   statements.update_account:execute(delta, aid)
   statements.select_account:row(aid)
   statements.update_teller:execute(delta, tid)
   statements.update_branch:execute(delta, bid)
   statements.insert_history:execute(tid, bid, aid, delta)
   money:add(delta)
   tellers_money:add(delta)
   transactions:add(1)
end

local function simple_update(aid, tid, bid, delta)
   statements.update_account:execute(delta, aid)
   statements.select_account:row(aid)
   statements.insert_history:execute(tid, bid, aid, delta)
   money:add(delta)
   transactions:add(1)
end

local function select_only(aid)
   statements.select_account:row(aid)
end

function event()
   if single == "select_only" then
      -- The event is the statement: nothing to repeat, and no latencies but the event's.
      return select_only(draw_account())
   end
   local kind = single or next_kind(random)
   local aid = draw_account()
   if kind == "select_only" then
      operations.select_only:run(con, select_only, aid)
      return
   end
   local tid, bid = random:uniform(1, tellers), random:uniform(1, branches)
   local delta = random:uniform(-5000, 5000)
   if kind == "tpcb" then
      operations.tpcb:transaction(con, tpcb, aid, tid, bid, delta)
   else
      operations.simple_update:transaction(con, simple_update, aid, tid, bid, delta)
   end
end
