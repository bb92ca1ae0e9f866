-- The common part of pgbench's built-in workloads, for MySQL, MariaDB, PostgreSQL and SQLite: the
-- four tables, the three transactions, the mix, the ledger and the check. A workload requires this
-- file and sets the default of --mix: see tpcb.lua.
--
-- TPC-B-like, not TPC-B: no home branches, and every number is drawn independently.

sysbench.cmdline.options = {
   scale = {"Branches, each with 10 tellers and 100,000 accounts, about 15 MB", 1},
   mix = {"Transactions by weight: tpcb@2,simple_update@1,select_only@7", "tpcb@1"},
   keys = {"Distribution of the accounts: uniform, gaussian, exponential or zipfian", "uniform"},
   keys_parameter = {"Parameter of the distribution: for gaussian (2 or more) and exponential, " ..
                     "larger is narrower; for zipfian, the exponent", 2.5},
   foreign_keys = {"Add the five foreign keys", false},
   history_pk = {"Give history a primary key, as clusters require", false},
   fillfactor = {"PostgreSQL only: fill factor of the tables in percent", 100},
   unlogged = {"PostgreSQL only: create unlogged tables", false},
   partitions = {"Partitions of the accounts by aid, not on SQLite; 0 for none", 0},
   partition_method = {"Partition by range or by hash", "range"},
   reconnect = {"Use a new connection for each transaction", false},
   max_retries = {"Retries of a transaction after a deadlock", 10},
   create_table_options = {"Text to append to CREATE TABLE", ""},
   mysql_storage_engine = {"Storage engine on MySQL and MariaDB", "innodb"},
}

local bank = require("pgbench_load")
local TELLERS, ACCOUNTS = bank.TELLERS, bank.ACCOUNTS

-- Statements as data ----------------------------------------------------------------------------

-- By name.
templates = {
   update_account = {"UPDATE pgbench_accounts SET abalance = abalance + :delta " ..
                     "WHERE aid = :aid"},
   select_account = {"SELECT abalance FROM pgbench_accounts WHERE aid = :aid"},
   update_teller = {"UPDATE pgbench_tellers SET tbalance = tbalance + :delta " ..
                    "WHERE tid = :tid"},
   update_branch = {"UPDATE pgbench_branches SET bbalance = bbalance + :delta " ..
                    "WHERE bid = :bid"},
   insert_history = {"INSERT INTO pgbench_history (tid, bid, aid, delta, mtime) " ..
                     "VALUES (:tid, :bid, :aid, :delta, {now})"},
}

-- The check -------------------------------------------------------------------------------------

-- The sums over the tables, as whole numbers; those of the large tables only with `whole`.
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
   -- One snapshot for all of them, since others may write.
   con:query(dyno.render(con, "{snapshot}"))
   local found, s = read_sums(con, true), bank.scale()
   con:query("COMMIT")
   con:disconnect()
   local conditions = dyno.conditions()
   conditions:equal("branches", found.branches, s)
   conditions:equal("tellers", found.tellers, s * TELLERS)
   conditions:equal("accounts", found.accounts, s * ACCOUNTS)
   conditions:equal("the sum of the accounts against history's", found.account_sum,
      found.history_sum)
   conditions:equal("the sum of the tellers against the branches'", found.teller_sum,
      found.branch_sum)
   conditions:finish()
end

sysbench.cmdline.commands = {
   prepare = {bank.prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}
cleanup = bank.cleanup
dyno.callbacks.tables_made = bank.tables_made

-- The transactions ------------------------------------------------------------------------------

local operations = {
   tpcb = dyno.operation("tpcb"),
   simple_update = dyno.operation("simple_update"),
   select_only = dyno.operation("select_only", {read_only = true}),
}

-- The deltas of committed transactions: of all, of those with tellers and branches; and the number
-- of transactions.
local money, tellers_money = dyno.sum("money"), dyno.sum("tellers_money")
local transactions, unchanged = dyno.sum("transactions"), dyno.sum("unchanged")

-- Up to this number of branches the ledger always reads accounts and history.
local READ_WHOLE_MAX = 20

-- Whether the age of the tables was reported.
local age_told

local function read_ledger(whole)
   local con = sysbench.sql.driver():connect()
   local found = read_sums(con, whole)
   con:disconnect()
   if found.history and not age_told then
      age_told = true
      print(("the tables begin with %.0f transactions in their history"):format(found.history))
      dyno.fact("age", ("%.0f transactions"):format(found.history), true)
   end
   return {
      money = whole and {accounts = found.account_sum, history = found.history_sum} or nil,
      tellers_money = {tellers = found.teller_sum, branches = found.branch_sum},
      transactions = whole and {history_rows = found.history} or nil,
      unchanged = {account_rows = found.accounts, teller_rows = found.tellers,
                   branch_rows = found.branches},
   }
end

function dyno.callbacks.ledger()
   return read_ledger(bank.scale() <= READ_WHOLE_MAX)
end

function dyno.callbacks.full_ledger()
   return read_ledger(true)
end

-- The names of the transactions in --mix.
local KINDS = {"tpcb", "simple_update", "select_only"}

-- The distribution of accounts, with a parameter that it can have.
local function keys()
   local kind = dyno.option.one_of("keys", {"uniform", "gaussian", "exponential", "zipfian"})
   local parameter = sysbench.opt.keys_parameter
   local fits = kind == "gaussian" and parameter >= 2 or kind ~= "gaussian" and parameter > 0
   if kind ~= "uniform" and not fits then
      error(("--keys-parameter must be %s for --keys %s, not %g"):format(
         kind == "gaussian" and "2 or more" or "above 0", kind, parameter), 0)
   end
   return kind
end

local function check_options()
   dyno.option.weights("mix", KINDS)
   dyno.option.whole("max_retries", 0, 1000)
   keys()
end

dyno.option.check(bank.check_options)
dyno.option.check(check_options)

function init()
   check_options()
   local con = sysbench.sql.driver():connect()
   bank.must_fit(con)
   bank.report(con)
   con:disconnect()
end

local con, statements, random, next_kind, single, draw_account
local branches, tellers, accounts

local function account_draw(opt)
   local kind, parameter = keys(), opt.keys_parameter
   if kind == "gaussian" then
      return function() return random:gaussian(1, accounts, parameter) end
   elseif kind == "exponential" then
      -- Draws outside of the range are repeated, which is rare.
      return function()
         local place
         repeat
            place = random:exponential(1 / parameter)
         until place < 1
         return 1 + math.floor(place * accounts)
      end
   elseif kind == "zipfian" then
      local law = dyno.zipf(accounts, parameter)
      return function() return random:zipf(law) end
   end
   return function() return random:uniform(1, accounts) end
end

function thread_init(tid)
   local opt = sysbench.opt
   branches = bank.scale()
   tellers, accounts = branches * TELLERS, branches * ACCOUNTS
   random = dyno.random
   local cards = dyno.option.weights("mix", KINDS)
   single = #cards == 1 and cards[1][1]
   next_kind = dyno.choice(cards)
   draw_account = account_draw(opt)
   for _, operation in pairs(operations) do
      operation.tries = opt.max_retries + 1
   end
   if tid == 0 and opt.threads > branches and opt.mix:find("tpcb") then
      dyno.warning(("More sessions (%d) than branches (%d): they wait for each other's branch " ..
         "rows, and the run measures these waits."):format(opt.threads, branches))
   end
   con = sysbench.sql.driver():connect()
   statements = {}
   for name, template in pairs(templates) do
      statements[name] = dyno.statement(con, template[1], template)
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

-- Whether the connection was used, so that the next transaction gets a new one.
local used

function event()
   if sysbench.opt.reconnect then
      if used then
         con:reconnect()
      end
      used = true
   end
   if single == "select_only" then
      -- The event is the statement: no retries, and no latencies other than the event's.
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
