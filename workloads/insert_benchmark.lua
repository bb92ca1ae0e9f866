-- The Insert Benchmark: each client's table is a queue that grows at its head and shrinks at its
-- tail, under secondary indexes, while queries read it. docs/workloads/insert-benchmark.md.

local bench = require("insert_benchmark_common")
local rest = require("insert_benchmark_rest")
local plans = require("insert_benchmark_plans")

local inserting = dyno.operation("insert")
local deleting = dyno.operation("delete")
local querying = dyno.operation("query", {read_only = true})
-- The time to find the first row: long if deleted rows were not purged.
local probing_first = dyno.operation("min_key_first", {read_only = true})
local probing = dyno.operation("min_key", {read_only = true})
local indexing = dyno.operation("create_indexes")
-- The first and last reads of a transaction that is kept open.
local holding = dyno.operation("htap", {read_only = true})
local rows_changed = dyno.sum("rows")
-- Deletes must find as many rows as requested.
local rows_lacking = dyno.sum("lacking")

-- The most statements that inserts may be ahead of deletes.
local AHEAD_MAX = 8
-- How long a session waits before it checks again, in seconds.
local PATIENCE = 0.002
-- The highest key is read again after this number of queries.
local HIGH_EVERY = 100
local LETTERS = ("a"):rep(4000)

templates = {
   min_key = {"SELECT MIN(transactionid) FROM pi{n}"},
   max_key = {"SELECT MAX(transactionid) FROM pi{n}"},
   delete = {{
      mysql = "DELETE FROM pi{n} WHERE transactionid >= :first ORDER BY transactionid LIMIT :rows",
      any = "DELETE FROM pi{n} WHERE transactionid IN (SELECT transactionid FROM pi{n} " ..
         "WHERE transactionid >= :first ORDER BY transactionid LIMIT :rows)"}},
   delete_range = {"DELETE FROM pi{n} WHERE transactionid >= :first AND transactionid < :through"},
   -- With the number of keys per query.
   points = {"SELECT transactionid, productid, data FROM pi{n} WHERE transactionid IN ({keys})"},
}
template_words = {n = 1, limit = 10, keys = bench.marks(10)}

local function range(name, index, columns, condition)
   local head = "SELECT " .. columns .. " FROM pi{n}"
   local tail = " WHERE " .. condition .. " ORDER BY " .. columns .. " LIMIT {limit}"
   templates[name] = {{mysql = head .. " FORCE INDEX (" .. index .. ")" .. tail,
                       any = head .. tail}}
end

range("marketsegment_2026", "marketsegment", "productid, customerid, price", "productid >= :from")
range("registersegment_2026", "registersegment", "cashregisterid, customerid, price",
   "cashregisterid > :from")
range("pdc_2026", "pdc", "price, dateandtime, customerid", "price >= :from")
range("marketsegment_2023", "marketsegment", "price, customerid", "price >= :from")
range("registersegment_2023", "registersegment", "cashregisterid, price, customerid",
   "cashregisterid > :from")
range("pdc_2023", "pdc", "price, dateandtime, customerid", "price >= :from")

local con, opt, step, client, own, shared, statements, random
local inserted, deleted, low, through
local made, probes, high, queries
-- The range queries that the indexes support, by name; and the function that queries by keys.
local ranges, ask

local function statement(name)
   local found = statements[name]
   if not found then
      local template = templates[name]
      found = dyno.statement(con, template[1], template, bench.words(own))
      statements[name] = found
   end
   return found
end

-- Inserts ----------------------------------------------------------------------------------------

local function row(date)
   local customer = random:uniform(0, 99999)
   local price
   if opt.variant == "2023" then
      price = ("%.2f"):format((random:real() * 500 + customer) / 100)
   else
      price = random:uniform(0, 499)
   end
   local length = random:uniform(opt.data_min, opt.data_max)
   local noise = math.floor(length * 0.75 * opt.random_pct / 100)
   local text = noise > 0 and random:text(noise, noise) or ""
   return ("(%s,%d,%d,%d,%s,'%s%s')"):format(date, random:uniform(0, 999), customer,
      random:uniform(0, 9999), price, text, LETTERS:sub(1, length - noise))
end

local function insert_text(count)
   local now = os.time()
   local date = dyno.family(con) == "sqlite" and tostring(now)
      or os.date("!'%Y-%m-%d %H:%M:%S'", now)
   local rows = {}
   for i = 1, count do
      rows[i] = row(date)
   end
   return ("INSERT INTO pi%d (dateandtime, cashregisterid, customerid, productid, price, data) " ..
      "VALUES %s"):format(own, table.concat(rows, ","))
end

local text, count

local function insert_rows()
   con:query(text)
   rows_changed:add(count)
end

local function insert(rows)
   text, count = insert_text(rows), rows
   if inserting:run(con, insert_rows) then
      inserted:add(rows, client)
      made = made + rows
   end
end

local function deletes()
   return opt.deletes and (step.kind == "write" or step.kind == "query")
end

local function lead()
   return inserted:get(client) - deleted:get(client)
end

-- An event of a client's inserter.
local function insert_event()
   while deletes() and lead() > AHEAD_MAX * step.batch do
      dyno.think(PATIENCE)
   end
   -- A calibration runs until it is stopped.
   local left = step.rows and not dyno.canned and step.rows - made or step.batch
   if left <= 0 then
      while deletes() and lead() > 0 do
         dyno.think(PATIENCE)
      end
      dyno.finish()
   end
   insert(math.min(left, step.batch))
end

-- Deletes ----------------------------------------------------------------------------------------

-- The lowest key, from which deletes continue.
local function find_low()
   local found = tonumber((statement("min_key"):row()))
   if not found then
      return
   elseif not shared and found < low:get(own) and not dyno.canned then
      error(("the lowest key of pi%d went back from %d to %d"):format(own, low:get(own), found), 0)
   end
   low:set(found, own)
end

-- The same during another session's delete, which reports its position.
local function look_for_low()
   local found = tonumber((statement("min_key"):row()))
   if found and low:get(own) == 0 then
      low:set(found, own)
   end
end

local gone

-- The server of a calibration has no rows.
local function acknowledged(changed, wanted)
   return dyno.canned and wanted or changed
end

local function delete_lowest(rows)
   gone = acknowledged(statement("delete"):change(low:get(own), rows), rows)
   rows_changed:add(-gone)
   rows_lacking:add(rows - gone)
end

-- In a shared table each session takes its own keys, so that no two delete the same rows. Some keys
-- may have no row.
local function delete_claimed(rows, from)
   gone = acknowledged(statement("delete_range"):change(from, from + rows), rows)
   rows_changed:add(-gone)
end

local function claim(rows)
   return shared and low:add(rows, own) - rows or nil
end

local function delete(rows)
   if not deleting:run(con, shared and delete_claimed or delete_lowest, rows, claim(rows)) then
      return
   end
   deleted:add(gone, client)
   if shared then
      -- A gap: keys taken by other sessions' inserts, or never used.
      if gone == 0 then
         probing:run(con, find_low)
      end
      return
   end
   low:set(low:get(own) + gone, own)
   if gone < rows then
      local before = low:get(own)
      probing:run(con, find_low)
      if gone == 0 and low:get(own) == before then
         error(("pi%d lacks rows that were inserted"):format(own), 0)
      end
   end
end

-- An event of a client's deleter.
local function delete_event()
   local every = bench.min_key_every()
   if probes == 0 then
      probing_first:run(con, shared and look_for_low or find_low)
   elseif every > 0 and probes % every == 0 then
      probing:run(con, shared and look_for_low or find_low)
   end
   while lead() <= 0 do
      dyno.think(PATIENCE)
   end
   probes = probes + 1
   delete(math.min(lead(), step.batch))
end

-- Queries ----------------------------------------------------------------------------------------

local HIGHEST = {
   ["2026"] = {9999, 999, 499},
   ["2023"] = {1004, 999, 1004},
}

local function query_range()
   local index = random:uniform(1, #ranges)
   statement(ranges[index]):rows(random:uniform(0, HIGHEST[opt.variant][index]))
end

local function query_points()
   local from, to = low:get(own), high
   ask(statement("points"), function()
      return random:uniform(from, math.max(from, to - 1))
   end)
end

-- An event of one of a client's querying sessions.
local function query_event()
   if step.points and queries % HIGH_EVERY == 0 then
      high = tonumber((statement("max_key"):row())) or 1
   end
   queries = queries + 1
   querying:run(con, step.points and query_points or query_range)
end

-- A transaction that is kept open -----------------------------------------------------------------

local seen

local function look()
   seen = statement("min_key"):row()
end

-- Deleted rows cannot be purged while a transaction may still read them.
local function hold_event()
   con:query(plans.snapshot(con))
   holding:run(con, look)
   local first = seen
   dyno.think(opt.htap_transaction_seconds)
   holding:run(con, look)
   con:query("COMMIT")
   if seen ~= first and not dyno.canned then
      error(("a transaction first saw %s as the lowest key, and then %s: it is no snapshot"):format(
         tostring(first), tostring(seen)), 0)
   end
end

-- Indexes ----------------------------------------------------------------------------------------

local indexed

-- A table's only event of the step: a few rows, then its indexes.
local function index_event()
   if indexed and not dyno.canned then
      dyno.finish()
   end
   local left = bench.index_rows()
   while left > 0 do
      insert(math.min(left, step.batch))
      left = left - step.batch
   end
   indexing:run(con, function()
      bench.index(con, own)
   end)
   indexed = true
end

-- The run ----------------------------------------------------------------------------------------

function dyno.callbacks.roles()
   opt = sysbench.opt
   bench.check_options()
   -- The steps are phases, which ask for their roles.
   if opt.step == "" then
      return nil
   end
   step = bench.step(opt.step)
   if opt.rate > 0 and step.kind ~= "query" then
      error(("--rate sets the rate of queries, but the step %s has no queries"):format(opt.step), 0)
   end
   local clients = opt.threads
   local busy = step.kind == "write" or step.kind == "query"
   local deleter = {name = "deleter", sessions = deletes() and clients or 0, event = delete_event,
                    background = true, unit = "rows", per_event = step.batch}
   local reader = {name = "htap", event = hold_event, background = true,
                   sessions = busy and opt.htap_transaction_seconds > 0 and clients or 0}
   if step.kind == "query" then
      return {
         {name = "inserter", sessions = clients, event = insert_event, background = true,
          unit = "rows", per_event = step.batch, rate_per_session = step.rate / step.batch,
          skip_after = 1},
         deleter,
         {name = "querier", sessions = clients * opt.query_threads, event = query_event},
         reader,
      }
   elseif step.kind == "index" then
      return {{name = "inserter", sessions = bench.tables(), event = index_event, unit = "rows",
               per_event = bench.table_rows() + bench.index_rows()}}
   end
   return {{name = "inserter", sessions = clients, event = insert_event, unit = "rows",
            per_event = step.batch}, deleter, reader}
end

function dyno.callbacks.phases()
   opt = sysbench.opt
   bench.check_options()
   if opt.events > 0 then
      error("--events does not apply: --rows and --write-rows set the length of write steps, " ..
         "and --time that of query steps", 0)
   end
   if opt.step ~= "" then
      return nil
   end
   local list, queried = {}, 0
   for _, name in ipairs(bench.steps()) do
      local its = bench.step(name)
      local phase = {name = "l." .. name, options = {step = name}, unit = "rows",
                     per_event = its.batch}
      if its.kind ~= "query" then
         -- Writing steps run without a rate: --rate is for queries.
         phase.warmup, phase.rate = 0, 0
         if its.kind == "index" then
            phase.per_event = bench.table_rows() + bench.index_rows()
         end
      else
         if opt.time == 0 then
            error("--time: query steps need a time", 0)
         end
         queried = queried + 1
         phase.name = ("%s.L%d"):format(name, queried)
         phase.unit, phase.per_event = "queries", 1
         -- No warm-up by default: the first search for the lowest key is a result.
         phase.time = opt.time
         if queried == 1 then
            phase.before, phase.undo = {"statistics", "settle"}, "unsettle"
         end
      end
      list[#list + 1] = phase
   end
   if opt.rate > 0 and queried == 0 then
      error("--rate sets the rate of queries, but no step has queries", 0)
   end
   return list
end

function init()
   rest.recover()
end

-- Checks before the load starts.
local function look_around()
   local role = dyno.role()
   if dyno.canned then
      return
   elseif step.kind == "load" and bench.number(con, "SELECT COUNT(*) FROM (SELECT 1 FROM pi%d " ..
      "LIMIT 1) t", own) > 0 then
      error(("the table pi%d is not empty: run cleanup and prepare before the step i0"):format(own),
         0)
   elseif step.kind == "query" and low:get(own) == 0 then
      low:set(tonumber((statement("min_key"):row())) or 0, own)
   end
   if role.name == "querier" and role.member == 0 and opt.check_plans then
      plans.check(con, step, templates, own)
   elseif role.name == "htap" then
      plans.must_keep_snapshots(con)
   end
end

function thread_init()
   opt = sysbench.opt
   step = bench.step(opt.step)
   client = dyno.role().member % opt.threads + 1
   own, shared = bench.table_of(client), opt.tables == "shared"
   inserted, deleted = dyno.shared("inserted", opt.threads), dyno.shared("deleted", opt.threads)
   low, through = dyno.shared("low", opt.threads), dyno.shared("through", opt.threads)
   made, probes, queries = 0, 0, 0
   statements, random = {}, dyno.random
   ranges, ask = {}, bench.by_keys(opt.rows_per_query)
   for number, index in ipairs(bench.indexes()) do
      ranges[number] = index[1] .. "_" .. opt.variant
   end
   con = sysbench.sql.driver():connect()
   look_around()
end

-- Waits for the client's last insert, which may still be running.
local function await_inserter()
   local patience = dyno.now() + 1
   while through:get(client) == 0 and dyno.now() < patience do
      dyno.sleep(PATIENCE)
   end
end

-- Deletes the client's last inserts, so that tables keep their size from step to step.
local function drain()
   local vain = 0
   while lead() > 0 and vain < 2 do
      local rows = math.min(lead(), step.batch)
      if shared then
         delete_claimed(rows, claim(rows))
      else
         delete_lowest(rows)
         low:set(low:get(own) + gone, own)
      end
      deleted:add(gone, client)
      vain = gone > 0 and 0 or vain + 1
      if gone == 0 then
         find_low()
      end
   end
end

function thread_done()
   local role = dyno.role().name
   if role == "inserter" then
      through:set(1, client)
   elseif role == "deleter" then
      await_inserter()
      drain()
   end
   con:disconnect()
end

local function prepare()
   bench.check_options()
   bench.steps()
   rest.recover()
   local con = sysbench.sql.driver():connect()
   for number = 1, bench.tables() do
      bench.create(con, number)
      -- Only now: if pi1 exists already, this fails above and keeps the existing record.
      if number == 1 then
         dyno.dataset.keep(con, bench.RECORD, {{"tables", bench.tables()}})
      end
   end
   con:disconnect()
end

-- Exactly the tables that prepare created, for any number of clients.
function cleanup()
   rest.recover()
   local con = sysbench.sql.driver():connect()
   for number = 1, bench.kept_tables(con) do
      con:query(("DROP TABLE IF EXISTS pi%d"):format(number))
   end
   dyno.dataset.forget(con, bench.RECORD)
   con:disconnect()
end

dyno.callbacks.tables_made = bench.tables_made

sysbench.cmdline.commands = {
   prepare = {prepare},
   check = {rest.check},
   statistics = {rest.statistics, sysbench.cmdline.PARALLEL_COMMAND},
   settle = {rest.settle},
   unsettle = {rest.unsettle},
}

function dyno.callbacks.ledger()
   local con = sysbench.sql.driver():connect()
   local rows = 0
   for number = 1, bench.tables() do
      rows = rows + bench.number(con, "SELECT COUNT(*) FROM pi%d", number)
   end
   con:disconnect()
   return {rows = {["rows of all tables"] = rows}, ["lacking"] = 0}
end
