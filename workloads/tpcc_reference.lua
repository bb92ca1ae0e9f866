-- TPC-C-like order entry as in sysbench-tpcc, with the faults that its published figures depend on:
-- no remote warehouses, lost skew, uncounted stock and payments, the wrong order read, amounts in
-- whole units. Never compare it with figures of the standard profile.

local tpcc = require("tpcc_common")

templates.reference_update_stock = {"UPDATE stock{n} SET s_quantity = :quantity WHERE " ..
   "s_i_id = :i_id AND s_w_id = :w_id"}
templates.reference_count_names = {"SELECT COUNT(c_id) FROM customer{n} WHERE " ..
   "c_w_id = :w_id AND c_d_id = :d_id AND c_last = :last", last = "text"}
templates.reference_pay = {"UPDATE customer{n} SET c_balance = {cents :balance}, " ..
   "c_ytd_payment = {cents :ytd_payment} " ..
   "WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id"}
templates.reference_pay_bad = {"UPDATE customer{n} SET c_balance = {cents :balance}, " ..
   "c_ytd_payment = {cents :ytd_payment}, c_data = :data " ..
   "WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id", data = "text"}
templates.reference_orders = {"SELECT o_id, o_carrier_id, o_entry_d FROM orders{n} WHERE " ..
   "o_w_id = :w_id AND o_d_id = :d_id AND o_c_id = :c_id ORDER BY o_id DESC"}

local inputs, bodies = {}, {}
local opt, sizes, sums, random

-- The constant is drawn at every call, so that no key stays hotter than others.
local function nurand(a, low, high)
   return random:nurand(a, low, high, random:uniform(0, a))
end

local function customer_choice()
   if random:chance(opt.byname_pct) then
      return nil, tpcc.last_name(nurand(255, 0, math.min(999, sizes.customers - 1)))
   end
   return nurand(1023, 1, sizes.customers), nil
end

function inputs.new_order(w)
   local order = {w = w, d = random:uniform(1, 10), c = nurand(1023, 1, sizes.customers),
                  lines = {}, local_ = 1}
   local count = random:uniform(5, 15)
   for i = 1, count do
      -- Marked as remote, but supplied by the home warehouse.
      if random:chance(opt.remote_lines_pct) then
         order.local_ = 0
      end
      order.lines[i] = {item = nurand(8191, 1, sizes.items), quantity = random:uniform(1, 10)}
   end
   if random:chance(opt.rollback_pct) then
      order.lines[count - 1].item = sizes.items + 1
   end
   return order
end

function bodies.new_order(s, order)
   local w, d, count = order.w, order.d, #order.lines
   local discount, _, _, w_tax = s.customer_and_tax:row(w, d, order.c)
   local number, d_tax = s.lock_district:row(w, d)
   number = tonumber(number)
   local factor = (1 + tonumber(w_tax) + tonumber(d_tax)) * (1 - tonumber(discount))
   s.next_order:execute(number + 1, d, w)
   s.insert_order:execute(number, d, w, order.c, count, order.local_)
   s.insert_new_order:execute(number, d, w)
   local lock_stock = s["lock_stock_" .. d]
   for i = 1, count do
      local line = order.lines[i]
      local price = s.item:row(line.item)
      if not price then
         return dyno.ROLLBACK
      end
      local quantity, _, info = lock_stock:row(line.item, w)
      local left = tonumber(quantity) - line.quantity
      s.reference_update_stock:execute(left > 0 and left or left + 91, line.item, w)
      -- Includes taxes and discount, and truncates cents.
      local amount = math.floor(line.quantity * tonumber(price) / 100 * factor) * 100
      s.insert_line:execute(number, d, w, i, line.item, w, line.quantity, amount, info)
   end
   sums.ordered:add(1)
   sums.order_rows:add(1)
end

-- The one after the middle.
local function find_customer(s, w, d, number, name)
   if number then
      return number
   end
   local found = tonumber((s.reference_count_names:row(w, d, name)))
   local rows = s.customers_by_name:rows(w, d, name)
   local place = found > 1 and math.ceil(found / 2) + 1 or 1
   return rows[place] and tonumber(rows[place][1])
end

function inputs.payment(w)
   local pay = {w = w, d = random:uniform(1, 10), amount = random:uniform(1, 5000) * 100}
   pay.c_d = random:chance(opt.remote_payment_pct) and random:uniform(1, 10) or pay.d
   pay.c, pay.name = customer_choice()
   return pay
end

function bodies.payment(s, pay)
   local w, d, amount = pay.w, pay.d, pay.amount
   s.pay_warehouse:execute(amount, w)
   local _, _, _, _, _, w_name = s.warehouse:row(w)
   s.pay_district:execute(amount, w, d)
   local _, _, _, _, _, d_name = s.district:row(w, d)
   local c = find_customer(s, w, pay.c_d, pay.c, pay.name)
   if not c then
      return dyno.ROLLBACK
   end
   local _, _, _, _, _, _, _, _, _, credit, _, _, balance, ytd =
      s.lock_customer:row(w, pay.c_d, c)
   balance, ytd = tonumber(balance) - amount, tonumber(ytd) + amount
   if credit == "BC" then
      local data = s.customer_data:row(w, pay.c_d, c)
      data = ("%d %d %d %d %d %d %s"):format(c, pay.c_d, w, d, w, amount / 100, data)
      s.reference_pay_bad:execute(balance, ytd, data:sub(1, 500), w, pay.c_d, c)
   else
      s.reference_pay:execute(balance, ytd, w, pay.c_d, c)
   end
   s.insert_history:execute(pay.c_d, w, c, d, w, amount,
      w_name:sub(1, 10) .. "    " .. d_name:sub(1, 10))
   sums.paid:add(amount)
end

function inputs.order_status(w)
   local asked = {w = w, d = random:uniform(1, 10)}
   asked.c, asked.name = customer_choice()
   return asked
end

function bodies.order_status(s, asked)
   local w, d = asked.w, asked.d
   local c = find_customer(s, w, d, asked.c, asked.name)
   if not c then
      return dyno.ROLLBACK
   end
   s.customer_balance:row(w, d, c)
   -- Fetches all orders, and then the lines of the order with the district's number.
   s.reference_orders:rows(w, d, c)
   s.order_lines:rows(w, d, d)
end

-- Replaces the standard's functions for a session.
return function(transactions, options, its_sizes, its_sums)
   opt, sizes, sums, random = options, its_sizes, its_sums, dyno.random
   for kind, input in pairs(inputs) do
      transactions.inputs[kind], transactions.bodies[kind] = input, bodies[kind]
   end
end
