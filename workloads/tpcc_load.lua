-- TPC-C-like order entry: the rows that the tables begin with (clause 4.3 of the specification).
-- Each warehouse is made from streams of its own, so that the rows are the same whoever loads them.

local tpcc = require("tpcc_common")

local load = {}

local now, pad

local function zip(stream)
   return stream:pattern("####11111")
end

local function address(rows, stream)
   rows:random(stream, 10, 20, pad):random(stream, 10, 20, pad):random(stream, 10, 20, pad)
   rows:text(stream:pattern("@@")):text(zip(stream))
end

-- A tenth of them hold a word somewhere.
local function data_text(rows, stream)
   if not stream:chance(10) then
      rows:random(stream, 26, 50, pad)
      return
   end
   local text = stream:text(26, 50, pad)
   local place = stream:uniform(1, #text - 7)
   rows:text(text:sub(1, place - 1) .. "ORIGINAL" .. text:sub(place + 8))
end

local function tax(rows, stream, highest)
   rows:text(("0.%04d"):format(stream:uniform(0, highest)))
end

local function columns_of(name)
   for _, definition in ipairs(tpcc.tables) do
      if definition[1] == name then
         local columns = {}
         -- What stands before each type.
         for column in definition[2]:gsub("{history_key}", ""):gmatch("([%w_]+) {") do
            columns[#columns + 1] = column
         end
         return columns
      end
   end
end

local function loader(con, name, set)
   return dyno.loader(con, name .. set, columns_of(name))
end

function load.items(con, set, sizes)
   local stream = dyno.stream("tpcc", "item", set)
   local rows = loader(con, "item", set)
   for i = 1, sizes.items do
      rows:int(i):int(stream:uniform(1, 10000)):random(stream, 14, 24, pad)
      rows:cents(stream:uniform(100, 10000))
      data_text(rows, stream)
      rows:row()
   end
   rows:finish()
end

local function warehouse(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "warehouse", set, w)
   local rows = loader(con, "warehouse", set)
   rows:int(w):random(stream, 6, 10, pad)
   address(rows, stream)
   tax(rows, stream, 2000)
   -- As much as its districts took.
   rows:cents(10 * 1000 * sizes.customers):row()
   rows:finish()
end

local function district_rows(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "district", set, w)
   local rows = loader(con, "district", set)
   for d = 1, 10 do
      rows:int(d):int(w):random(stream, 6, 10, pad)
      address(rows, stream)
      tax(rows, stream, 2000)
      -- As much as its customers paid: 10 each.
      rows:cents(1000 * sizes.customers):int(sizes.customers + 1):row()
   end
   rows:finish()
end

local function customers(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "customer", set, w)
   local rows = loader(con, "customer", set)
   for d = 1, 10 do
      for c = 1, sizes.customers do
         local name = c <= 1000 and c - 1 or stream:nurand(255, 0, 999, tpcc.C_LOAD)
         rows:int(c):int(d):int(w):random(stream, 8, 16, pad):text("OE"):text(tpcc.last_name(name))
         address(rows, stream)
         rows:text(stream:pattern("################")):text(now)
         rows:text(stream:chance(10) and "BC" or "GC"):cents(5000000)
         tax(rows, stream, 5000)
         rows:cents(-1000):cents(1000):int(1):int(0):random(stream, 300, 500, pad):row()
      end
   end
   rows:finish()
end

local function history(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "history", set, w)
   local rows = loader(con, "history", set)
   for d = 1, 10 do
      for c = 1, sizes.customers do
         rows:int(c):int(d):int(w):int(d):int(w):text(now):cents(1000)
         rows:random(stream, 12, 24, pad):row()
      end
   end
   rows:finish()
end

local function stock(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "stock", set, w)
   local rows = loader(con, "stock", set)
   for i = 1, sizes.items do
      rows:int(i):int(w):int(stream:uniform(10, 100))
      for _ = 1, 10 do
         rows:random(stream, 24, 24, pad)
      end
      rows:int(0):int(0):int(0)
      data_text(rows, stream)
      rows:row()
   end
   rows:finish()
end

-- The orders of a warehouse with how many lines each has: the same whenever it is asked.
local function each_order(set, w, sizes, act)
   local stream = dyno.stream("tpcc", "orders", set, w)
   for d = 1, 10 do
      local customer_of = {}
      for c = 1, sizes.customers do
         customer_of[c] = c
      end
      stream:shuffle(customer_of)
      for o = 1, sizes.customers do
         act(d, o, customer_of[o], stream:uniform(5, 15), stream:uniform(1, 10))
      end
   end
end

local function orders(con, set, w, sizes)
   local rows = loader(con, "orders", set)
   each_order(set, w, sizes, function(d, o, customer, lines, carrier)
      rows:int(o):int(d):int(w):int(customer):text(now)
      if o <= sizes.delivered then
         rows:int(carrier)
      else
         rows:null()
      end
      rows:int(lines):int(1):row()
   end)
   rows:finish()
   rows = loader(con, "new_orders", set)
   for d = 1, 10 do
      for o = sizes.delivered + 1, sizes.customers do
         rows:int(o):int(d):int(w):row()
      end
   end
   rows:finish()
end

local function order_lines(con, set, w, sizes)
   local stream = dyno.stream("tpcc", "order_line", set, w)
   local rows = loader(con, "order_line", set)
   each_order(set, w, sizes, function(d, o, _, lines)
      local delivered = o <= sizes.delivered
      for number = 1, lines do
         rows:int(o):int(d):int(w):int(number):int(stream:uniform(1, sizes.items)):int(w)
         if delivered then
            rows:text(now):int(5):cents(0)
         else
            rows:null():int(5):cents(stream:uniform(1, 999999))
         end
         rows:random(stream, 24, 24, pad):row()
      end
   end)
   rows:finish()
end

-- All rows of a warehouse. Parents come before children.
function load.warehouse(con, set, w, sizes)
   now = os.date("!%Y-%m-%d %H:%M:%S")
   warehouse(con, set, w, sizes)
   district_rows(con, set, w, sizes)
   customers(con, set, w, sizes)
   history(con, set, w, sizes)
   orders(con, set, w, sizes)
   stock(con, set, w, sizes)
   order_lines(con, set, w, sizes)
end

-- How many rows there are, with ten lines to an order on average.
function load.row_count(sizes)
   local open = sizes.customers - sizes.delivered
   local each = 1 + 10 + sizes.items + 10 * (3 * sizes.customers + open + 10 * sizes.customers)
   return sizes.sets * (sizes.items + sizes.warehouses * each)
end

function load.begin(compressibility)
   pad = compressibility
   now = os.date("!%Y-%m-%d %H:%M:%S")
end

return load
