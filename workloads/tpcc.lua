-- TPC-C-like order entry: nine tables, five transactions, deadlock retries, and a check. It is not
-- TPC-C, and its figures are not TPC-C results: docs/workloads/tpcc.md explains why.

local tpcc = require("tpcc_common")
local load = require("tpcc_load")
local transactions = require("tpcc_transactions")
local reference_profile = require("tpcc_reference")
local purge = require("tpcc_purge")
local checks = require("tpcc_check")
local dataset = require("tpcc_dataset")

local KINDS = {"new_order", "payment", "order_status", "delivery", "stock_level", "purge"}
local READ_ONLY = {order_status = true, stock_level = true}
local CARDS = {{"new_order", 10}, {"payment", 10}, {"order_status", 1}, {"delivery", 1},
               {"stock_level", 1}}
-- One of 24, with purging.
local PURGING = {{"purge", 1}, unpack(CARDS)}
-- Keying times, and mean think times, in seconds (clause 5.2.5.7).
local KEYING = {new_order = 18, payment = 3, order_status = 2, delivery = 2, stock_level = 2,
                purge = 0}
local THINKING = {new_order = 12, payment = 12, order_status = 10, delivery = 5, stock_level = 5,
                  purge = 1}

local operations = {}
for _, kind in ipairs(KINDS) do
   operations[kind] = dyno.operation(kind, {read_only = READ_ONLY[kind]})
end
local sums = {paid = dyno.sum("payments_in_cents"), ordered = dyno.sum("new_orders"),
              order_rows = dyno.sum("order_rows")}

local function prepare(tid)
   local sizes, sessions = tpcc.sizes(), sysbench.opt.threads
   local con = sysbench.sql.driver():connect()
   load.begin(sysbench.opt, sizes)
   local steps = dyno.steps()
   if tid == 0 then
      dyno.load_total(load.row_count(sizes))
      for set = 1, sizes.sets do
         tpcc.create(con, set)
      end
      steps:ended("tables")
   end
   dyno.barrier()
   for set = 1, sizes.sets do
      if (set - 1) % sessions == tid then
         load.items(con, set, sizes)
      end
   end
   dyno.barrier()
   local part = 0
   for _, parts in ipairs(load.PARTS) do
      for set = 1, sizes.sets do
         for w = 1, sizes.warehouses do
            for p = parts[1], parts[2] do
               if part % sessions == tid then
                  load.part(con, set, w, p, sizes)
               end
               part = part + 1
            end
         end
      end
      -- Others' rows refer to these.
      dyno.barrier()
   end
   steps:ended("rows", dataset.loaded(sizes))
   for set = 1, sizes.sets do
      if (set - 1) % sessions == tid then
         tpcc.constrain(con, set)
      end
   end
   dyno.barrier()
   if tid == 0 then
      steps:ended("keys")
      tpcc.settle(con, sizes.sets)
      steps:ended("statistics")
      local verified = dataset.verify(con, sizes)
      if verified then
         steps:ended(("%d conditions verified"):format(verified))
      else
         steps:note("not verified; use --verify=on")
      end
      dataset.keep(con, sizes)
      steps:tell()
   end
   con:disconnect()
end

local function check()
   local sizes = tpcc.sizes()
   local con = sysbench.sql.driver():connect()
   tpcc.must_be_there(con, sizes)
   local conditions = dyno.conditions()
   for set = 1, sizes.sets do
      checks.set(con, set, sizes, sysbench.opt.profile, conditions)
   end
   con:disconnect()
   conditions:finish()
end

sysbench.cmdline.commands = {
   prepare = {prepare, sysbench.cmdline.PARALLEL_COMMAND},
   check = {check},
}

function dyno.callbacks.tables_made()
   local made = {dyno.dataset.made("tpcc")}
   for set = 1, tpcc.sizes().sets do
      tpcc.add_made(made, set)
   end
   return made
end

function cleanup()
   local con = sysbench.sql.driver():connect()
   for set = 1, tpcc.sizes().sets do
      tpcc.drop(con, set)
   end
   dyno.dataset.forget(con, "tpcc")
   con:disconnect()
end

-- Up to this number of warehouses the ledger always reads history and orders, about 4 MB of each.
local READ_WHOLE_MAX = 10

-- The results of payments and new orders, over all sets: in the warehouses and districts, and in
-- history and orders, which are as large as the load made them, and grow.
local function read_ledger(whole)
   local con, sizes = sysbench.sql.driver():connect(), tpcc.sizes()
   local found = {}
   for set = 1, sizes.sets do
      local function add(name, query)
         local value = con:query_row(dyno.render(con, query, {n = set}))
         found[name] = (found[name] or 0) + (tonumber(value) or 0)
      end
      add("W_YTD", "SELECT {cents SUM(w_ytd)} FROM warehouse{n}")
      add("D_YTD", "SELECT {cents SUM(d_ytd)} FROM district{n}")
      add("D_NEXT_O_ID", "SELECT SUM(d_next_o_id) FROM district{n}")
      if whole then
         add("H_AMOUNT", "SELECT {cents SUM(h_amount)} FROM history{n}")
         add("rows", "SELECT COUNT(*) FROM orders{n}")
      end
   end
   con:disconnect()
   return {
      payments_in_cents = {W_YTD = found.W_YTD, D_YTD = found.D_YTD, H_AMOUNT = found.H_AMOUNT},
      new_orders = {D_NEXT_O_ID = found.D_NEXT_O_ID},
      order_rows = whole and {["rows of orders"] = found.rows} or nil,
   }
end

function dyno.callbacks.ledger()
   local sizes = tpcc.sizes()
   return read_ledger(sizes.sets * sizes.warehouses <= READ_WHOLE_MAX)
end

function dyno.callbacks.full_ledger()
   return read_ledger(true)
end

-- The values of the options, checked together.
local function sizes_checked()
   local opt, checked = sysbench.opt, tpcc.sizes()
   if opt.profile == "reference" and opt.home_binding ~= "none" then
      error("--profile reference has no home warehouses: leave --home-binding out", 0)
   end
   return checked
end

dyno.option.check(sizes_checked)

function init()
   local own, expected = sysbench.sql.driver():connect(), sizes_checked()
   tpcc.must_fit(own, expected)
   dataset.report(own, expected)
   own:disconnect()
end

-- The counts of TPC-C, though this is not TPC-C: no tpmC.
function dyno.callbacks.figures()
   local orders = dyno.measured().operations.new_order
   dyno.figure("new orders committed", orders.per_second * 60, "per minute (not tpmC)")
end

-- Districts in which deliveries looked for an open order, and those without one.
local deliveries = dyno.shared("deliveries", 2, "sum")
local ASKED, SKIPPED = 1, 2

function done()
   local asked, skipped = deliveries:get(ASKED), deliveries:get(SKIPPED)
   if skipped > 0 then
      print(("tpcc: in %.0f of %.0f districts (%.1f %%) there was no open order to deliver, " ..
         "the warm-up included"):format(skipped, asked, skipped / asked * 100))
   end
end

local con, sizes, statements, next_kind, home, thinks, thought_before, reference

-- The session's isolation level; the server loses it with the connection.
local function set_level()
   local level, family = dataset.isolation(con), dyno.family(con)
   if family == "mysql" then
      con:query("SET SESSION TRANSACTION ISOLATION LEVEL " .. level)
   elseif family == "postgres" then
      con:query("SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL " .. level)
   end
end

function sysbench.hooks.before_restart_event(err)
   if err.lost then
      set_level()
   end
end

function thread_init(tid)
   local opt = sysbench.opt
   sizes = tpcc.sizes()
   con = sysbench.sql.driver():connect()
   set_level()
   transactions.begin(opt, sizes, dataset.constants(), sums)
   if opt.profile == "reference" then
      reference_profile(transactions, opt, sizes, sums)
   elseif opt.purge then
      purge(transactions, sizes, sums)
   end
   statements = {}
   for set = 1, sizes.sets do
      statements[set] = transactions.statements(con, set)
   end
   reference = opt.profile == "reference"
   for _, kind in ipairs(KINDS) do
      -- The reference draws a new transaction after a deadlock.
      operations[kind].tries = reference and 1 or opt.max_retries + 1
   end
   local cards = opt.purge and PURGING or CARDS
   next_kind = dataset.deals() and dyno.deck(cards) or dyno.choice(cards)
   home = opt.home_binding == "client" and tid % sizes.warehouses + 1
   thinks = opt.think_keying == "standard"
   thought_before = 0
end

function thread_done()
   con:disconnect()
end

local function transact()
   local random = dyno.random
   local kind = next_kind(random)
   local set = sizes.sets == 1 and 1 or random:uniform(1, sizes.sets)
   local input = transactions.inputs[kind](home or random:uniform(1, sizes.warehouses))
   if thinks then
      dyno.think(thought_before + KEYING[kind])
      thought_before = math.min(random:exponential(THINKING[kind]), 10 * THINKING[kind])
   end
   local body = transactions.bodies[kind]
   local done = operations[kind]:transaction(con, body, statements[set], input)
   if done and kind == "delivery" then
      deliveries:add(10, ASKED)
      deliveries:add(input.skipped, SKIPPED)
   end
   return done
end

function event()
   local done = transact()
   -- As in the reference: another transaction within the same event.
   while reference and done == nil do
      dyno.repeat_event()
      done = transact()
   end
end
