-- TPC-C-like order entry: the five transactions. Random values are drawn before a transaction
-- begins, so that a retry repeats it.

local tpcc = require("tpcc_common")

local transactions = {}

-- Statements as data: the text, with `{n}` for the set of tables, and the parameters that are not
-- whole numbers. Parameters are passed in order of first use.
templates = {
   -- New-Order.
   customer_and_tax = {"SELECT c_discount, c_last, c_credit, w_tax FROM customer{n}, " ..
      "warehouse{n} WHERE w_id = :w_id AND c_w_id = w_id AND c_d_id = :d_id AND c_id = :c_id"},
   lock_district = {"SELECT d_next_o_id, d_tax FROM district{n} WHERE d_w_id = :w_id AND " ..
      "d_id = :d_id{for_update}"},
   next_order = {"UPDATE district{n} SET d_next_o_id = :next_o_id WHERE d_id = :d_id AND " ..
      "d_w_id = :w_id"},
   insert_order = {"INSERT INTO orders{n} (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, " ..
      "o_all_local) VALUES (:o_id, :d_id, :w_id, :c_id, {now}, :ol_cnt, :all_local)"},
   insert_new_order = {"INSERT INTO new_orders{n} (no_o_id, no_d_id, no_w_id) " ..
      "VALUES (:o_id, :d_id, :w_id)"},
   item = {"SELECT {cents i_price}, i_name, i_data FROM item{n} WHERE i_id = :i_id"},
   update_stock = {"UPDATE stock{n} SET s_quantity = :quantity, s_ytd = s_ytd + :ordered, " ..
      "s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + :remote " ..
      "WHERE s_i_id = :i_id AND s_w_id = :w_id"},
   insert_line = {"INSERT INTO order_line{n} (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, " ..
      "ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (:o_id, :d_id, :w_id, " ..
      ":number, :i_id, :supply_w_id, :quantity, {cents :amount}, :dist_info)",
      dist_info = "text"},
   -- Payment.
   pay_warehouse = {"UPDATE warehouse{n} SET w_ytd = w_ytd + {cents :amount} WHERE w_id = :w_id"},
   warehouse = {"SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name " ..
      "FROM warehouse{n} WHERE w_id = :w_id"},
   pay_district = {"UPDATE district{n} SET d_ytd = d_ytd + {cents :amount} " ..
      "WHERE d_w_id = :w_id AND d_id = :d_id"},
   district = {"SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name " ..
      "FROM district{n} WHERE d_w_id = :w_id AND d_id = :d_id"},
   customers_by_name = {"SELECT c_id FROM customer{n} WHERE c_w_id = :w_id AND c_d_id = :d_id " ..
      "AND c_last = :last ORDER BY c_first", last = "text"},
   lock_customer = {"SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, " ..
      "c_zip, c_phone, c_credit, {cents c_credit_lim}, c_discount, {cents c_balance}, " ..
      "{cents c_ytd_payment}, c_since FROM customer{n} WHERE c_w_id = :w_id AND " ..
      "c_d_id = :d_id AND c_id = :c_id{for_update}"},
   customer_data = {"SELECT c_data FROM customer{n} WHERE c_w_id = :w_id AND c_d_id = :d_id AND " ..
      "c_id = :c_id"},
   pay_customer = {"UPDATE customer{n} SET c_balance = {cents :balance}, " ..
      "c_ytd_payment = {cents :ytd_payment}, c_payment_cnt = c_payment_cnt + 1 " ..
      "WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id"},
   pay_bad_customer = {"UPDATE customer{n} SET c_balance = {cents :balance}, " ..
      "c_ytd_payment = {cents :ytd_payment}, c_payment_cnt = c_payment_cnt + 1, " ..
      "c_data = :data WHERE c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id", data = "text"},
   insert_history = {"INSERT INTO history{n} (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, " ..
      "h_date, h_amount, h_data) VALUES (:c_d_id, :c_w_id, :c_id, :d_id, :w_id, {now}, " ..
      "{cents :amount}, :data)", data = "text"},
   -- Order-Status.
   customer_balance = {"SELECT {cents c_balance}, c_first, c_middle FROM customer{n} WHERE " ..
      "c_w_id = :w_id AND c_d_id = :d_id AND c_id = :c_id"},
   last_order = {"SELECT o_id, o_carrier_id, o_entry_d FROM orders{n} WHERE o_w_id = :w_id AND " ..
      "o_d_id = :d_id AND o_c_id = :c_id ORDER BY o_id DESC{first_row}"},
   order_lines = {"SELECT ol_i_id, ol_supply_w_id, ol_quantity, {cents ol_amount}, " ..
      "ol_delivery_d FROM order_line{n} WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND " ..
      "ol_o_id = :o_id"},
   -- Delivery.
   oldest_order = {"SELECT no_o_id FROM new_orders{n} WHERE no_d_id = :d_id AND " ..
      "no_w_id = :w_id ORDER BY no_o_id{first_row}{for_update}"},
   delete_new_order = {"DELETE FROM new_orders{n} WHERE no_o_id = :o_id AND no_d_id = :d_id AND " ..
      "no_w_id = :w_id"},
   customer_of_order = {"SELECT o_c_id FROM orders{n} WHERE o_id = :o_id AND o_d_id = :d_id AND " ..
      "o_w_id = :w_id"},
   set_carrier = {"UPDATE orders{n} SET o_carrier_id = :carrier_id WHERE o_id = :o_id AND " ..
      "o_d_id = :d_id AND o_w_id = :w_id"},
   deliver_lines = {"UPDATE order_line{n} SET ol_delivery_d = {now} WHERE ol_o_id = :o_id AND " ..
      "ol_d_id = :d_id AND ol_w_id = :w_id"},
   sum_of_order = {"SELECT {cents SUM(ol_amount)} FROM order_line{n} WHERE ol_o_id = :o_id AND " ..
      "ol_d_id = :d_id AND ol_w_id = :w_id"},
   credit_customer = {"UPDATE customer{n} SET c_balance = c_balance + {cents :amount}, " ..
      "c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = :c_id AND c_d_id = :d_id AND " ..
      "c_w_id = :w_id"},
   -- Stock-Level.
   next_order_id = {"SELECT d_next_o_id FROM district{n} WHERE d_w_id = :w_id AND d_id = :d_id"},
   low_stock = {"SELECT COUNT(DISTINCT s_i_id) FROM order_line{n}, stock{n} WHERE " ..
      "ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id < :next_o_id AND ol_o_id >= :first_o_id " ..
      "AND s_w_id = :w_id AND s_i_id = ol_i_id AND s_quantity < :threshold"},
}
-- One per district, whose text for orders it reads.
for d = 1, 10 do
   templates["lock_stock_" .. d] = {("SELECT s_quantity, s_data, s_dist_%02d FROM stock{n} " ..
      "WHERE s_i_id = :i_id AND s_w_id = :w_id{for_update}"):format(d)}
end
template_words = {n = 1}

local opt, sizes, constants, random, paid, ordered, order_rows

-- Prepares a session. `c` are the constants of the non-uniform draws.
function transactions.begin(options, its_sizes, c, sums)
   opt, sizes, constants, random = options, its_sizes, c, dyno.random
   paid, ordered, order_rows = sums.paid, sums.ordered, sums.order_rows
end

-- The statements of a set on a connection, created at first use.
function transactions.statements(con, set)
   return setmetatable({}, {
      __index = function(statements, name)
         local template = templates[name]
         local statement = dyno.statement(con, template[1], template, {n = set})
         statements[name] = statement
         return statement
      end,
   })
end

local function customer_number()
   local number = random:nurand(1023, 1, sizes.customers, constants.customer)
   return number
end

local function other_warehouse(w)
   if sizes.warehouses == 1 then
      return w
   end
   local other = random:uniform(1, sizes.warehouses - 1)
   return other < w and other or other + 1
end

-- A customer by number or last name, among those that the load created.
local function customer_choice()
   if random:chance(opt.byname_pct) then
      local names = math.min(999, sizes.customers - 1)
      return nil, tpcc.last_name(random:nurand(255, 0, names, constants.name))
   end
   return customer_number(), nil
end

local inputs, bodies = {}, {}
transactions.inputs, transactions.bodies = inputs, bodies

function inputs.new_order(w)
   local order = {w = w, d = random:uniform(1, 10), c = customer_number(), lines = {}, local_ = 1}
   local count = random:uniform(5, 15)
   for i = 1, count do
      local supply = w
      if sizes.warehouses > 1 and random:chance(opt.remote_lines_pct) then
         supply = other_warehouse(w)
         order.local_ = 0
      end
      order.lines[i] = {item = random:nurand(8191, 1, sizes.items, constants.item),
                        supply = supply, quantity = random:uniform(1, 10), number = i}
   end
   if random:chance(opt.rollback_pct) then
      order.lines[count].item = sizes.items + 1
      order.unknown = true
   end
   -- In the same order for all, to avoid deadlocks between orders.
   table.sort(order.lines, function(a, b)
      if a.supply ~= b.supply then
         return a.supply < b.supply
      elseif a.item ~= b.item then
         return a.item < b.item
      end
      return a.number < b.number
   end)
   return order
end

function bodies.new_order(s, order)
   local w, d, count = order.w, order.d, #order.lines
   s.customer_and_tax:row(w, d, order.c)
   local number = tonumber((s.lock_district:row(w, d)))
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
      local quantity, _, info = lock_stock:row(line.item, line.supply)
      local left = tonumber(quantity) - line.quantity
      s.update_stock:execute(left >= 10 and left or left + 91, line.quantity,
         line.supply == w and 0 or 1, line.item, line.supply)
      s.insert_line:execute(number, d, w, line.number, line.item, line.supply, line.quantity,
         line.quantity * tonumber(price), info)
   end
   ordered:add(1)
   order_rows:add(1)
end

function inputs.payment(w)
   local pay = {w = w, d = random:uniform(1, 10), amount = random:uniform(100, 500000)}
   pay.c_w, pay.c_d = w, pay.d
   if sizes.warehouses > 1 and random:chance(opt.remote_payment_pct) then
      pay.c_w, pay.c_d = other_warehouse(w), random:uniform(1, 10)
   end
   pay.c, pay.name = customer_choice()
   return pay
end

-- The customer's number, or the middle one with the name; nil if the name is unknown.
local function find_customer(s, w, d, number, name)
   if number then
      return number
   end
   local rows = s.customers_by_name:rows(w, d, name)
   local middle = rows[math.ceil(#rows / 2)]
   return middle and tonumber(middle[1])
end

function bodies.payment(s, pay)
   local w, d, amount = pay.w, pay.d, pay.amount
   s.pay_warehouse:execute(amount, w)
   local _, _, _, _, _, w_name = s.warehouse:row(w)
   s.pay_district:execute(amount, w, d)
   local _, _, _, _, _, d_name = s.district:row(w, d)
   local c = find_customer(s, pay.c_w, pay.c_d, pay.c, pay.name)
   if not c then
      return dyno.ROLLBACK
   end
   local _, _, _, _, _, _, _, _, _, credit, _, _, balance, ytd =
      s.lock_customer:row(pay.c_w, pay.c_d, c)
   balance, ytd = tonumber(balance) - amount, tonumber(ytd) + amount
   if credit == "BC" then
      local data = s.customer_data:row(pay.c_w, pay.c_d, c)
      data = ("%d %d %d %d %d %.2f %s"):format(c, pay.c_d, pay.c_w, d, w, amount / 100, data)
      s.pay_bad_customer:execute(balance, ytd, data:sub(1, 500), pay.c_w, pay.c_d, c)
   else
      s.pay_customer:execute(balance, ytd, pay.c_w, pay.c_d, c)
   end
   s.insert_history:execute(pay.c_d, pay.c_w, c, d, w, amount,
      w_name:sub(1, 10) .. "    " .. d_name:sub(1, 10))
   paid:add(amount)
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
   local order = s.last_order:row(w, d, c)
   if order then
      s.order_lines:rows(w, d, tonumber(order))
   end
end

function inputs.delivery(w)
   return {w = w, carrier = random:uniform(1, 10)}
end

function bodies.delivery(s, delivery)
   local w = delivery.w
   delivery.skipped = 0
   for d = 1, 10 do
      local order = tonumber((s.oldest_order:row(d, w)))
      -- A district without an open order is skipped.
      if not order then
         delivery.skipped = delivery.skipped + 1
      else
         s.delete_new_order:execute(order, d, w)
         local c = tonumber((s.customer_of_order:row(order, d, w)))
         s.set_carrier:execute(delivery.carrier, order, d, w)
         s.deliver_lines:execute(order, d, w)
         local amount = tonumber((s.sum_of_order:row(order, d, w)))
         s.credit_customer:execute(amount, c, d, w)
      end
   end
end

function inputs.stock_level(w)
   return {w = w, d = random:uniform(1, 10), threshold = random:uniform(10, 20)}
end

function bodies.stock_level(s, level)
   local w, d = level.w, level.d
   local following = tonumber((s.next_order_id:row(w, d)))
   s.low_stock:row(w, d, following, following - 20, level.threshold)
end

return transactions
