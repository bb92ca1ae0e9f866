-- TPC-C-like order entry: a sixth transaction, which is not part of TPC-C. It deletes an old order
-- with its lines and subtracts it from stock and balance, so that every condition still holds.

local PURGED = {
   -- A delivered order that the load did not create; never the last one.
   old_order = {"SELECT o_id, o_c_id FROM orders{n} WHERE o_w_id = :w_id AND o_d_id = :d_id AND " ..
      "o_id > :loaded AND o_carrier_id IS NOT NULL AND o_id < (SELECT MIN(no_o_id) " ..
      "FROM new_orders{n} WHERE no_w_id = :w_id AND no_d_id = :d_id) " ..
      "ORDER BY o_id{first_row}{for_update}"},
   lines_of_order = {"SELECT ol_i_id, ol_supply_w_id, ol_quantity, {cents ol_amount} " ..
      "FROM order_line{n} WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND ol_o_id = :o_id " ..
      "ORDER BY ol_supply_w_id, ol_i_id"},
   delete_lines = {"DELETE FROM order_line{n} WHERE ol_w_id = :w_id AND ol_d_id = :d_id AND " ..
      "ol_o_id = :o_id"},
   delete_order = {"DELETE FROM orders{n} WHERE o_w_id = :w_id AND o_d_id = :d_id AND " ..
      "o_id = :o_id"},
   uncount_stock = {"UPDATE stock{n} SET s_ytd = s_ytd - :ordered, " ..
      "s_order_cnt = s_order_cnt - 1, s_remote_cnt = s_remote_cnt - :remote " ..
      "WHERE s_i_id = :i_id AND s_w_id = :w_id"},
   uncredit_customer = {"UPDATE customer{n} SET c_balance = c_balance - {cents :amount}, " ..
      "c_delivery_cnt = c_delivery_cnt - 1 WHERE c_id = :c_id AND c_d_id = :d_id AND " ..
      "c_w_id = :w_id"},
}
for name, template in pairs(PURGED) do
   templates["purge_" .. name] = template
end

return function(transactions, sizes, sums)
   local random = dyno.random

   function transactions.inputs.purge(w)
      return {w = w, d = random:uniform(1, 10)}
   end

   -- Deletes the order with its lines, and its effects on stock and balance.
   function transactions.bodies.purge(s, purge)
      local w, d = purge.w, purge.d
      -- In the same lock order as new orders.
      s.lock_district:row(w, d)
      local order, c = s.purge_old_order:row(w, d, sizes.customers)
      order, c = tonumber(order), tonumber(c)
      if not order then
         return
      end
      local amount = 0
      for _, line in ipairs(s.purge_lines_of_order:rows(w, d, order)) do
         local item, supply = tonumber(line[1]), tonumber(line[2])
         s.purge_uncount_stock:execute(tonumber(line[3]), supply == w and 0 or 1, item, supply)
         amount = amount + tonumber(line[4])
      end
      s.purge_uncredit_customer:execute(amount, c, d, w)
      s.purge_delete_lines:execute(w, d, order)
      s.purge_delete_order:execute(w, d, order)
      sums.order_rows:add(-1)
   end
end
