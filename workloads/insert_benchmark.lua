-- The Insert Benchmark: each client's table is a queue that grows at its head and shrinks at its
-- tail, under secondary indexes, while queries read it. docs/workloads/insert-benchmark.md.

local bench = require("insert_benchmark_common")
local rest = require("insert_benchmark_rest")

local inserting = dyno.operation("insert")
local deleting = dyno.operation("delete")
local querying = dyno.operation("query", {read_only = true})
-- How long it takes to find the first row: long where deleted rows were not purged.
local probing_first = dyno.operation("min_key_first", {read_only = true})
local probing = dyno.operation("min_key", {read_only = true})
local indexing = dyno.operation("create_indexes")
local rows_changed = dyno.sum("rows")

-- How far an insert may be ahead of its delete, in statements.
local AHEAD_MAX = 8
-- How long a session waits before it looks again, seconds.
local PATIENCE = 0.002
-- After so many queries the highest key is read anew.
local HIGH_EVERY = 100
local LETTERS = ("a"):rep(4000)

templates = {
   min_key = {"SELECT MIN(transactionid) FROM pi{n}", ""},
   max_key = {"SELECT MAX(transactionid) FROM pi{n}", ""},
   delete = {{
      mysql = "DELETE FROM pi{n} WHERE transactionid >= ? ORDER BY transactionid LIMIT ?",
      any = "DELETE FROM pi{n} WHERE transactionid IN (SELECT transactionid FROM pi{n} " ..
         "WHERE transactionid >= ? ORDER BY transactionid LIMIT ?)"}, "ii"},
   points = {"SELECT transactionid, productid, data FROM pi{n} WHERE transactionid IN " ..
      "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", "iiiiiiiiii"},
}
template_words = {n = 1}

local function range(name, index, columns, condition)
   local head = "SELECT " .. columns .. " FROM pi{n}"
   local tail = " WHERE " .. condition .. " ORDER BY " .. columns .. " LIMIT 10"
   templates[name] = {{mysql = head .. " FORCE INDEX (" .. index .. ")" .. tail,
                       any = head .. tail}, "i"}
end

range("marketsegment_2026", "marketsegment", "productid, customerid, price", "productid >= ?")
range("registersegment_2026", "registersegment", "cashregisterid, customerid, price",
   "cashregisterid > ?")
range("pdc_2026", "pdc", "price, dateandtime, customerid", "price >= ?")
range("marketsegment_2023", "marketsegment", "price, customerid", "price >= ?")
range("registersegment_2023", "registersegment", "cashregisterid, price, customerid",
   "cashregisterid > ?")
range("pdc_2023", "pdc", "price, dateandtime, customerid", "price >= ?")

local con, opt, step, client, statements, random
local inserted, deleted, low
local made, probes, high, queries

local function statement(name)
   local found = statements[name]
   if not found then
      local template = templates[name]
      found = dyno.statement(con, template[1], template[2], {n = client})
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
      "VALUES %s"):format(client, table.concat(rows, ","))
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
   local left = step.rows and step.rows - made or step.batch
   if left <= 0 then
      while deletes() and lead() > 0 do
         dyno.think(PATIENCE)
      end
      dyno.finish()
   end
   insert(math.min(left, step.batch))
end

-- Deletes ----------------------------------------------------------------------------------------

local function find_low()
   local found = tonumber((statement("min_key"):row()))
   if found and found < low:get(client) then
      error(("the lowest key of pi%d went back from %d to %d"):format(client, low:get(client),
         found), 0)
   elseif found then
      low:set(found, client)
   end
end

local gone

local function delete_rows(rows)
   gone = statement("delete"):change(low:get(client), rows)
   rows_changed:add(-gone)
end

local function delete(rows)
   if not deleting:run(con, delete_rows, rows) then
      return
   end
   deleted:add(gone, client)
   low:set(low:get(client) + gone, client)
   if gone < rows then
      local before = low:get(client)
      probing:run(con, find_low)
      if gone == 0 and low:get(client) == before then
         error(("pi%d lacks rows that were inserted"):format(client), 0)
      end
   end
end

-- An event of a client's deleter.
local function delete_event()
   if probes == 0 then
      probing_first:run(con, find_low)
   elseif opt.min_key_every > 0 and probes % opt.min_key_every == 0 then
      probing:run(con, find_low)
   end
   while lead() <= 0 do
      dyno.think(PATIENCE)
   end
   probes = probes + 1
   delete(math.min(lead(), step.batch))
end

-- Queries ----------------------------------------------------------------------------------------

local KINDS = {"marketsegment_", "registersegment_", "pdc_"}
local HIGHEST = {
   ["2026"] = {9999, 999, 499},
   ["2023"] = {1004, 999, 1004},
}

local function query_range()
   local kind = random:uniform(1, 3)
   statement(KINDS[kind] .. opt.variant):rows(random:uniform(0, HIGHEST[opt.variant][kind]))
end

local function query_points()
   local from, to = low:get(client), high
   local function id()
      return random:uniform(from, math.max(from, to - 1))
   end
   statement("points"):rows(id(), id(), id(), id(), id(), id(), id(), id(), id(), id())
end

-- An event of one of a client's sessions that query.
local function query_event()
   if step.points and queries % HIGH_EVERY == 0 then
      high = tonumber((statement("max_key"):row())) or 1
   end
   queries = queries + 1
   querying:run(con, step.points and query_points or query_range)
end

-- Indexes ----------------------------------------------------------------------------------------

-- A client's only event of the step: a few rows, then its indexes.
local function index_event()
   if made > 0 then
      dyno.finish()
   end
   insert(math.ceil(step.rows / opt.threads))
   indexing:run(con, function()
      bench.index(con, client)
   end)
end

-- The run ----------------------------------------------------------------------------------------

function roles()
   opt = sysbench.opt
   bench.check_options()
   -- The steps are phases, each of which asks for its own roles.
   if opt.step == "" then
      return nil
   end
   step = bench.step(opt.step)
   local clients = opt.threads
   local deleter = {name = "deleter", sessions = deletes() and clients or 0, event = delete_event,
                    background = true, unit = "rows", per_event = step.batch}
   if step.kind == "query" then
      return {
         {name = "inserter", sessions = clients, event = insert_event, background = true,
          unit = "rows", per_event = step.batch, rate_per_session = step.rate / step.batch,
          skip_after = 1},
         deleter,
         {name = "querier", sessions = clients * opt.query_threads, event = query_event},
      }
   end
   local event = step.kind == "index" and index_event or insert_event
   return {{name = "inserter", sessions = clients, event = event, unit = "rows",
            per_event = step.kind == "index" and opt.rows or step.batch}, deleter}
end

function phases()
   opt = sysbench.opt
   bench.check_options()
   if opt.events > 0 then
      error("--events: the steps that write have as many as --rows and --write_rows make, and " ..
         "the others last as long as --time says", 0)
   end
   if opt.step ~= "" then
      return nil
   end
   local list, queried = {}, 0
   for _, name in ipairs(bench.steps()) do
      local its = bench.step(name)
      local phase = {name = "l." .. name, options = {step = name}, unit = "rows",
                     per_event = its.batch, warmup = its.kind ~= "query" and 0 or nil}
      if its.kind == "index" then
         phase.per_event = opt.rows
      elseif its.kind == "query" then
         if opt.time == 0 then
            error("--time: the steps that query need a time", 0)
         end
         queried = queried + 1
         phase.name = ("%s.L%d"):format(name, queried)
         phase.unit, phase.per_event = "queries", 1
         -- No warm-up unless the user wants one: the first look for the lowest key is a result.
         phase.time = opt.time
         if queried == 1 then
            phase.before = "settle"
            phase.options.settled = bench.settle_seconds()
         end
      end
      list[#list + 1] = phase
   end
   return list
end

function thread_init()
   opt = sysbench.opt
   step = bench.step(opt.step)
   client = dyno.role().member % opt.threads + 1
   inserted, deleted = dyno.shared("inserted", opt.threads), dyno.shared("deleted", opt.threads)
   low = dyno.shared("low", opt.threads)
   made, probes, queries = 0, 0, 0
   statements, random = {}, dyno.random
   con = sysbench.sql.driver():connect()
   if step.kind == "load" and bench.number(con, "SELECT COUNT(*) FROM (SELECT 1 FROM pi%d " ..
      "LIMIT 1) t", client) > 0 then
      error(("the table pi%d is not empty: run cleanup and prepare before the step i0")
         :format(client), 0)
   elseif step.points or step.kind == "query" then
      if low:get(client) == 0 then
         low:set(tonumber((statement("min_key"):row())) or 0, client)
      end
   end
end

-- Deletes what its client inserted last, so that tables keep their size from step to step.
local function drain()
   while lead() > 0 do
      local taken = statement("delete"):change(low:get(client), math.min(lead(), step.batch))
      rows_changed:add(-taken)
      if taken == 0 then
         return
      end
      deleted:add(taken, client)
   end
end

function thread_done()
   if dyno.role().name == "deleter" then
      drain()
   end
   con:disconnect()
end

local function prepare()
   bench.check_options()
   bench.steps()
   local own = sysbench.sql.driver():connect()
   for number = 1, sysbench.opt.threads do
      bench.create(own, number)
   end
   own:disconnect()
end

function cleanup()
   local own = sysbench.sql.driver():connect()
   local number = 1
   -- However many clients there were.
   while number <= sysbench.opt.threads
      or pcall(own.query, own, ("SELECT 1 FROM pi%d WHERE 1 = 0"):format(number)) do
      own:query(("DROP TABLE IF EXISTS pi%d"):format(number))
      number = number + 1
   end
   own:disconnect()
end

sysbench.cmdline.commands = {
   prepare = {prepare},
   check = {rest.check},
   settle = {rest.settle},
}

function ledger()
   local own = sysbench.sql.driver():connect()
   local rows = 0
   for number = 1, sysbench.opt.threads do
      rows = rows + bench.number(own, "SELECT COUNT(*) FROM pi%d", number)
   end
   own:disconnect()
   return {rows = {["rows of all tables"] = rows}}
end
