-- TPC-C-like order entry: the initial rows (clause 4.3 of the specification). Each part of a
-- warehouse has separate streams, so that the rows do not depend on who loads them.

local tpcc = require("tpcc_common")
local dataset = require("tpcc_dataset")

local load = {}

local now, pad, reference, count_rows

-- A text of random characters; in the reference profile one repeated letter.
local function noise(rows, stream, shortest, longest)
   if reference then
      local letter = string.char(stream:uniform(97, 122))
      rows:text(letter:rep(stream:uniform(shortest, longest)))
   else
      rows:random(stream, shortest, longest, pad)
   end
end

local function zip(stream)
   return stream:pattern("####11111")
end

local function address(rows, stream)
   noise(rows, stream, 10, 20)
   noise(rows, stream, 10, 20)
   noise(rows, stream, 10, 20)
   rows:text(stream:pattern("@@")):text(zip(stream))
end

-- A tenth of them contain a word somewhere; in the reference profile none.
local function data_text(rows, stream)
   if reference or not stream:chance(10) then
      noise(rows, stream, 26, 50)
      return
   end
   local text = stream:text(26, 50, pad)
   local place = stream:uniform(1, #text - 7)
   rows:text(text:sub(1, place - 1) .. "ORIGINAL" .. text:sub(place + 8))
end

-- Up to `highest` ten thousandths; in the reference profile two decimals of them.
local function share(rows, stream, highest)
   local value = stream:uniform(0, highest)
   if reference then
      value = math.floor(value / 100 + 0.5) * 100
   end
   rows:text(("0.%04d"):format(value))
end

-- The columns of a table, and its index among the tables.
local function columns_of(name)
   for place, definition in ipairs(tpcc.tables) do
      if definition[1] == name then
         local columns = {}
         -- The word before each type.
         for column in definition[2]:gsub("{history_key}", ""):gmatch("([%w_]+) {") do
            columns[#columns + 1] = column
         end
         return columns, place
      end
   end
end

local function loader(con, name, set)
   local columns, place = columns_of(name)
   local rows = dyno.loader(con, name .. set, columns)
   rows.set, rows.place = set, place
   return rows
end

local function finish(rows)
   count_rows(rows.set, rows.place, rows:finish())
end

function load.items(con, set, sizes)
   local stream = dyno.stream("tpcc", "item", set)
   local rows = loader(con, "item", set)
   for i = 1, sizes.items do
      rows:int(i):int(stream:uniform(1, 10000))
      noise(rows, stream, 14, 24)
      rows:cents(stream:uniform(100, 10000))
      data_text(rows, stream)
      rows:row()
   end
   finish(rows)
end

local function warehouse(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "warehouse", set, w)
   local rows = loader(con, "warehouse", set)
   rows:int(w)
   noise(rows, stream, 6, 10)
   address(rows, stream)
   share(rows, stream, 2000)
   -- The sum of its districts.
   rows:cents(10 * 1000 * sizes.customers):row()
   finish(rows)
end

local function districts(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "district", set, w)
   local rows = loader(con, "district", set)
   for d = 1, 10 do
      rows:int(d):int(w)
      noise(rows, stream, 6, 10)
      address(rows, stream)
      share(rows, stream, 2000)
      -- The sum of its customers' payments: 10 each.
      rows:cents(1000 * sizes.customers):int(sizes.customers + 1):row()
   end
   finish(rows)
end

local function customers(con, set, w, d, sizes)
   local stream = dyno.stream("tpcc", "customer", set, w, d)
   local rows = loader(con, "customer", set)
   for c = 1, sizes.customers do
      local constant = reference and stream:uniform(0, 255) or dataset.C_LOAD
      local name = c <= 1000 and c - 1 or stream:nurand(255, 0, 999, constant)
      rows:int(c):int(d):int(w)
      noise(rows, stream, 8, 16)
      rows:text("OE"):text(tpcc.last_name(name))
      address(rows, stream)
      rows:text(stream:pattern("################")):text(now)
      rows:text(stream:chance(10) and "BC" or "GC"):cents(5000000)
      share(rows, stream, 5000)
      rows:cents(-1000):cents(1000):int(1):int(0)
      noise(rows, stream, 300, 500)
      rows:row()
   end
   finish(rows)
end

local function history(con, set, w, d, sizes)
   local stream = dyno.stream("tpcc", "history", set, w, d)
   local rows = loader(con, "history", set)
   for c = 1, sizes.customers do
      rows:int(c):int(d):int(w):int(d):int(w):text(now):cents(1000)
      noise(rows, stream, 12, 24)
      rows:row()
   end
   finish(rows)
end

-- A tenth of a warehouse's stock.
local function stock(con, set, w, part, sizes)
   local stream = dyno.stream("tpcc", "stock", set, w, part)
   local rows = loader(con, "stock", set)
   local from = math.floor(sizes.items * (part - 1) / 10) + 1
   for i = from, math.floor(sizes.items * part / 10) do
      rows:int(i):int(w):int(stream:uniform(10, 100))
      for _ = 1, 10 do
         noise(rows, stream, 24, 24)
      end
      rows:int(0):int(0):int(0)
      data_text(rows, stream)
      rows:row()
   end
   finish(rows)
end

-- The orders of a district with their numbers of lines: the same in every call.
local function each_order(set, w, d, sizes, act)
   local stream = dyno.stream("tpcc", "orders", set, w, d)
   local customer_of = {}
   for c = 1, sizes.customers do
      customer_of[c] = c
   end
   -- The reference has one order of the customers for all districts of a warehouse.
   local shuffler = reference and dyno.stream("tpcc", "customers of orders", set, w) or stream
   shuffler:shuffle(customer_of)
   for o = 1, sizes.customers do
      act(o, customer_of[o], stream:uniform(5, 15), stream:uniform(1, 10))
   end
end

local function orders(con, set, w, d, sizes)
   local rows = loader(con, "orders", set)
   each_order(set, w, d, sizes, function(o, customer, lines, carrier)
      rows:int(o):int(d):int(w):int(customer):text(now)
      if o <= sizes.delivered then
         rows:int(carrier)
      else
         rows:null()
      end
      rows:int(lines):int(1):row()
   end)
   finish(rows)
   rows = loader(con, "new_orders", set)
   for o = sizes.delivered + 1, sizes.customers do
      rows:int(o):int(d):int(w):row()
   end
   finish(rows)
end

local function order_lines(con, set, w, d, sizes)
   local stream = dyno.stream("tpcc", "order_line", set, w, d)
   local rows = loader(con, "order_line", set)
   each_order(set, w, d, sizes, function(o, _, lines)
      local delivered = o <= sizes.delivered
      for number = 1, lines do
         rows:int(o):int(d):int(w):int(number):int(stream:uniform(1, sizes.items)):int(w)
         if delivered then
            rows:text(now):int(5):cents(0)
         else
            rows:null():int(5):cents(stream:uniform(1, 999999))
         end
         noise(rows, stream, 24, 24)
         rows:row()
      end
   end)
   finish(rows)
end

-- A warehouse is loaded in parts, from each first to each last; parts on one line are concurrent.
load.PARTS = {
   {1, 1},
   {2, 11},
   {12, 21},
}

-- The rows of a part of a warehouse: the warehouse with its districts, a tenth of its stock, or the
-- rows of a district.
function load.part(con, set, w, part, sizes)
   now = os.date("!%Y-%m-%d %H:%M:%S")
   if part == 1 then
      warehouse(con, set, w, sizes)
      districts(con, set, w, sizes)
   elseif part <= 11 then
      stock(con, set, w, part - 1, sizes)
   else
      local d = part - 11
      customers(con, set, w, d, sizes)
      history(con, set, w, d, sizes)
      orders(con, set, w, d, sizes)
      order_lines(con, set, w, d, sizes)
   end
end

-- The number of rows, with ten lines per order on average.
function load.row_count(sizes)
   local open = sizes.customers - sizes.delivered
   local each = 1 + 10 + sizes.items + 10 * (3 * sizes.customers + open + 10 * sizes.customers)
   return sizes.sets * (sizes.items + sizes.warehouses * each)
end

function load.begin(opt, sizes)
   count_rows = dataset.counter(sizes)
   pad, reference = opt.data_compressibility, opt.profile == "reference"
   now = os.date("!%Y-%m-%d %H:%M:%S")
end

return load
