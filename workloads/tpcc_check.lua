-- TPC-C-like order entry: the consistency conditions of clause 3.3.2, and six more for faults that
-- those miss. Each query counts faults; 0 is correct.

local check = {}

-- The amounts of a customer's delivered lines, and the customer's payments.
local DELIVERED = "LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, SUM(ol_amount) amount " ..
   "FROM orders{n} JOIN order_line{n} ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND " ..
   "ol_o_id = o_id " ..
   "WHERE ol_delivery_d IS NOT NULL GROUP BY o_w_id, o_d_id, o_c_id) a " ..
   "ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
local PAID = "LEFT JOIN (SELECT h_c_w_id, h_c_d_id, h_c_id, SUM(h_amount) paid, COUNT(*) times " ..
   "FROM history{n} GROUP BY h_c_w_id, h_c_d_id, h_c_id) p " ..
   "ON h_c_w_id = c_w_id AND h_c_d_id = c_d_id AND h_c_id = c_id"

-- Name, condition, query.
check.conditions = {
   {"1", "W_YTD is the sum of D_YTD",
    "SELECT COUNT(*) FROM warehouse{n} LEFT JOIN (SELECT d_w_id, SUM(d_ytd) s FROM district{n} " ..
    "GROUP BY d_w_id) x ON d_w_id = w_id WHERE s IS NULL OR w_ytd <> s"},
   {"2", "D_NEXT_O_ID - 1 is the last order and the last open order",
    "SELECT COUNT(*) FROM district{n} LEFT JOIN (SELECT o_w_id, o_d_id, MAX(o_id) mo " ..
    "FROM orders{n} GROUP BY o_w_id, o_d_id) o ON o_w_id = d_w_id AND o_d_id = d_id " ..
    "LEFT JOIN (SELECT no_w_id, no_d_id, MAX(no_o_id) mn FROM new_orders{n} " ..
    "GROUP BY no_w_id, no_d_id) n ON no_w_id = d_w_id AND no_d_id = d_id " ..
    "WHERE mo IS NULL OR d_next_o_id - 1 <> mo OR (mn IS NOT NULL AND mn <> mo)"},
   {"3", "open orders are without gaps",
    "SELECT COUNT(*) FROM (SELECT no_w_id, no_d_id FROM new_orders{n} GROUP BY no_w_id, no_d_id " ..
    "HAVING MAX(no_o_id) - MIN(no_o_id) + 1 <> COUNT(*)) x"},
   {"4", "the sum of O_OL_CNT is the number of lines",
    "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, SUM(o_ol_cnt) s FROM orders{n} " ..
    "GROUP BY o_w_id, o_d_id) o LEFT JOIN (SELECT ol_w_id, ol_d_id, COUNT(*) c " ..
    "FROM order_line{n} GROUP BY ol_w_id, ol_d_id) l ON ol_w_id = o_w_id AND ol_d_id = o_d_id " ..
    "WHERE c IS NULL OR s <> c"},
   {"5", "orders without carrier are the open ones",
    "SELECT (SELECT COUNT(*) FROM orders{n} LEFT JOIN new_orders{n} ON no_w_id = o_w_id AND " ..
    "no_d_id = o_d_id AND no_o_id = o_id WHERE (o_carrier_id IS NULL AND no_o_id IS NULL) OR " ..
    "(o_carrier_id IS NOT NULL AND no_o_id IS NOT NULL)) + (SELECT COUNT(*) FROM new_orders{n} " ..
    "LEFT JOIN orders{n} ON no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id " ..
    "WHERE o_id IS NULL)"},
   {"6", "O_OL_CNT is the number of an order's lines",
    "SELECT (SELECT COUNT(*) FROM orders{n} LEFT JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, " ..
    "COUNT(*) c FROM order_line{n} GROUP BY ol_w_id, ol_d_id, ol_o_id) l ON ol_w_id = o_w_id " ..
    "AND ol_d_id = o_d_id AND ol_o_id = o_id WHERE c IS NULL OR c <> o_ol_cnt) + " ..
    "(SELECT COUNT(*) FROM order_line{n} LEFT JOIN orders{n} ON ol_w_id = o_w_id AND " ..
    "ol_d_id = o_d_id AND ol_o_id = o_id WHERE o_id IS NULL)"},
   {"7", "lines are delivered with their order",
    "SELECT COUNT(*) FROM order_line{n} JOIN orders{n} ON ol_w_id = o_w_id AND ol_d_id = o_d_id " ..
    "AND ol_o_id = o_id WHERE (ol_delivery_d IS NULL AND o_carrier_id IS NOT NULL) OR " ..
    "(ol_delivery_d IS NOT NULL AND o_carrier_id IS NULL)"},
   {"8", "W_YTD is the sum of H_AMOUNT",
    "SELECT COUNT(*) FROM warehouse{n} LEFT JOIN (SELECT h_w_id, SUM(h_amount) s " ..
    "FROM history{n} GROUP BY h_w_id) h ON h_w_id = w_id WHERE w_ytd <> COALESCE(s, 0)"},
   {"9", "D_YTD is the sum of H_AMOUNT",
    "SELECT COUNT(*) FROM district{n} LEFT JOIN (SELECT h_w_id, h_d_id, SUM(h_amount) s " ..
    "FROM history{n} GROUP BY h_w_id, h_d_id) h ON h_w_id = d_w_id AND h_d_id = d_id " ..
    "WHERE d_ytd <> COALESCE(s, 0)"},
   {"10", "C_BALANCE is what was delivered without what was paid",
    "SELECT COUNT(*) FROM customer{n} " .. DELIVERED .. " " .. PAID ..
    " WHERE c_balance <> COALESCE(amount, 0) - COALESCE(paid, 0)"},
   {"11", "after the load, all orders but the first ones are open",
    "SELECT COUNT(*) FROM (SELECT o_w_id, o_d_id, COUNT(*) c FROM orders{n} " ..
    "GROUP BY o_w_id, o_d_id) o LEFT JOIN (SELECT no_w_id, no_d_id, COUNT(*) c " ..
    "FROM new_orders{n} GROUP BY no_w_id, no_d_id) n ON no_w_id = o_w_id AND no_d_id = o_d_id " ..
    "WHERE NOT EXISTS (SELECT 1 FROM orders{n} d WHERE d.o_id > {delivered} AND " ..
    "d.o_carrier_id IS NOT NULL) AND o.c - COALESCE(n.c, 0) <> {delivered}"},
   {"12", "C_BALANCE + C_YTD_PAYMENT is what was delivered",
    "SELECT COUNT(*) FROM customer{n} " .. DELIVERED ..
    " WHERE c_balance + c_ytd_payment <> COALESCE(amount, 0)"},
   {"S1", "the stock counted what was ordered of it",
    "SELECT COUNT(*) FROM stock{n} LEFT JOIN (SELECT ol_supply_w_id, ol_i_id, " ..
    "SUM(ol_quantity) q, COUNT(*) c, SUM(CASE WHEN ol_w_id <> ol_supply_w_id THEN 1 ELSE 0 END) " ..
    "r FROM order_line{n} WHERE ol_o_id > {loaded} GROUP BY ol_supply_w_id, ol_i_id) l " ..
    "ON ol_supply_w_id = s_w_id AND ol_i_id = s_i_id WHERE s_ytd <> COALESCE(q, 0) OR " ..
    "s_order_cnt <> COALESCE(c, 0) OR s_remote_cnt <> COALESCE(r, 0)"},
   {"S2", "customers counted what they paid",
    "SELECT COUNT(*) FROM customer{n} " .. PAID ..
    " WHERE c_payment_cnt <> COALESCE(times, 0) OR c_ytd_payment <> COALESCE(paid, 0)"},
   {"S3", "O_ALL_LOCAL tells whether all lines are of the order's warehouse",
    "SELECT COUNT(*) FROM orders{n} JOIN (SELECT ol_w_id, ol_d_id, ol_o_id, MIN(CASE WHEN " ..
    "ol_supply_w_id = ol_w_id THEN 1 ELSE 0 END) l FROM order_line{n} GROUP BY ol_w_id, " ..
    "ol_d_id, ol_o_id) x ON ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id " ..
    "WHERE o_all_local <> l"},
   -- The load delivered the first orders without counting them.
   {"S4", "customers counted their deliveries",
    "SELECT COUNT(*) FROM customer{n} LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, COUNT(*) c " ..
    "FROM orders{n} WHERE o_carrier_id IS NOT NULL AND o_id > {delivered} " ..
    "GROUP BY o_w_id, o_d_id, o_c_id) o ON o_w_id = c_w_id AND o_d_id = c_d_id AND " ..
    "o_c_id = c_id WHERE c_delivery_cnt <> COALESCE(c, 0)"},
   {"S5", "each customer has one of the orders that were loaded",
    "SELECT COUNT(*) FROM customer{n} LEFT JOIN (SELECT o_w_id, o_d_id, o_c_id, COUNT(*) c " ..
    "FROM orders{n} WHERE o_id <= {loaded} GROUP BY o_w_id, o_d_id, o_c_id) o " ..
    "ON o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id WHERE COALESCE(c, 0) <> 1"},
   {"S6", "the lines of an order are numbered without gaps",
    "SELECT COUNT(*) FROM (SELECT ol_w_id, ol_d_id, ol_o_id FROM order_line{n} " ..
    "GROUP BY ol_w_id, ol_d_id, ol_o_id HAVING MIN(ol_number) <> 1 OR " ..
    "MAX(ol_number) <> COUNT(*)) x"},
}

-- The conditions that the reference profile violates on purpose, and why.
local REFERENCE_BREAKS = {
   S1 = "the reference does not count what is ordered",
   S2 = "the reference does not count payments",
   S3 = "the reference marks orders as remote whose lines are not",
}

-- The expected number of rows of a table: a query for the number of missing or surplus rows.
local function counts(sizes)
   return {
      {"rows of item", "item", sizes.items},
      {"rows of warehouse", "warehouse", sizes.warehouses},
      {"rows of district", "district", 10 * sizes.warehouses},
      {"rows of customer", "customer", 10 * sizes.warehouses * sizes.customers},
      {"rows of stock", "stock", sizes.warehouses * sizes.items},
   }
end

-- The growing tables, whose size is known only right after the load.
local GROWING = {"history", "orders", "new_orders", "order_line"}

-- Checks a set in one snapshot; right after the load also `loaded`, the numbers of loaded rows of
-- the growing tables, by name.
function check.set(con, set, sizes, profile, conditions, loaded)
   con:query(dyno.render(con, "{snapshot}"))
   local words = {n = set, delivered = sizes.delivered, loaded = sizes.customers}
   local function hold(good, text)
      conditions:hold(good, ("set %d, %s"):format(set, text))
   end
   local expected = counts(sizes)
   for _, name in ipairs(loaded and GROWING or {}) do
      expected[#expected + 1] = {"rows of " .. name, name, loaded[name]}
   end
   for _, count in ipairs(expected) do
      local found = tonumber((con:query_row(("SELECT COUNT(*) FROM %s%d"):format(count[2], set))))
      hold(found == count[3], ("%s: %d, expected %d"):format(count[1], found, count[3]))
   end
   for _, condition in ipairs(check.conditions) do
      local found = tonumber((con:query_row(dyno.render(con, condition[3], words))))
      local spared = profile == "reference" and REFERENCE_BREAKS[condition[1]]
      if spared and found > 0 then
         print(("known   set %d, condition %s, %s: %d violations, for %s"):format(set,
            condition[1], condition[2], found, spared))
      else
         hold(found == 0, ("condition %s, %s: %d violations"):format(condition[1], condition[2],
            found))
      end
   end
   con:query("COMMIT")
end

return check
