-- credit_customer
UPDATE customer1 SET c_balance = c_balance + (? / 100.0), c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?;
-- customer_and_tax
SELECT c_discount, c_last, c_credit, w_tax FROM customer1, warehouse1 WHERE w_id = ? AND c_w_id = w_id AND c_d_id = ? AND c_id = ?;
-- customer_balance
SELECT CAST(c_balance * 100 AS BIGINT), c_first, c_middle FROM customer1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- customer_data
SELECT c_data FROM customer1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- customer_of_order
SELECT o_c_id FROM orders1 WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?;
-- customers_by_name
SELECT c_id FROM customer1 WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? ORDER BY c_first;
-- delete_new_order
DELETE FROM new_orders1 WHERE no_o_id = ? AND no_d_id = ? AND no_w_id = ?;
-- deliver_lines
UPDATE order_line1 SET ol_delivery_d = CURRENT_TIMESTAMP WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?;
-- district
SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district1 WHERE d_w_id = ? AND d_id = ?;
-- insert_history
INSERT INTO history1 (h_c_d_id, h_c_w_id, h_c_id, h_d_id, h_w_id, h_date, h_amount, h_data) VALUES (?, ?, ?, ?, ?, CURRENT_TIMESTAMP, (? / 100.0), ?);
-- insert_line
INSERT INTO order_line1 (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_dist_info) VALUES (?, ?, ?, ?, ?, ?, ?, (? / 100.0), ?);
-- insert_new_order
INSERT INTO new_orders1 (no_o_id, no_d_id, no_w_id) VALUES (?, ?, ?);
-- insert_order
INSERT INTO orders1 (o_id, o_d_id, o_w_id, o_c_id, o_entry_d, o_ol_cnt, o_all_local) VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP, ?, ?);
-- item
SELECT CAST(i_price * 100 AS BIGINT), i_name, i_data FROM item1 WHERE i_id = ?;
-- last_order
SELECT o_id, o_carrier_id, o_entry_d FROM orders1 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1;
-- lock_customer
SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_credit, CAST(c_credit_lim * 100 AS BIGINT), c_discount, CAST(c_balance * 100 AS BIGINT), CAST(c_ytd_payment * 100 AS BIGINT), c_since FROM customer1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR UPDATE;
-- lock_district
SELECT d_next_o_id, d_tax FROM district1 WHERE d_w_id = ? AND d_id = ? FOR UPDATE;
-- lock_stock_1
SELECT s_quantity, s_data, s_dist_01 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_10
SELECT s_quantity, s_data, s_dist_10 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_2
SELECT s_quantity, s_data, s_dist_02 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_3
SELECT s_quantity, s_data, s_dist_03 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_4
SELECT s_quantity, s_data, s_dist_04 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_5
SELECT s_quantity, s_data, s_dist_05 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_6
SELECT s_quantity, s_data, s_dist_06 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_7
SELECT s_quantity, s_data, s_dist_07 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_8
SELECT s_quantity, s_data, s_dist_08 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- lock_stock_9
SELECT s_quantity, s_data, s_dist_09 FROM stock1 WHERE s_i_id = ? AND s_w_id = ? FOR UPDATE;
-- low_stock
SELECT COUNT(DISTINCT s_i_id) FROM order_line1, stock1 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id < ? AND ol_o_id >= ? AND s_w_id = ? AND s_i_id = ol_i_id AND s_quantity < ?;
-- next_order
UPDATE district1 SET d_next_o_id = ? WHERE d_id = ? AND d_w_id = ?;
-- next_order_id
SELECT d_next_o_id FROM district1 WHERE d_w_id = ? AND d_id = ?;
-- oldest_order
SELECT no_o_id FROM new_orders1 WHERE no_d_id = ? AND no_w_id = ? ORDER BY no_o_id LIMIT 1 FOR UPDATE;
-- order_lines
SELECT ol_i_id, ol_supply_w_id, ol_quantity, CAST(ol_amount * 100 AS BIGINT), ol_delivery_d FROM order_line1 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?;
-- pay_bad_customer
UPDATE customer1 SET c_balance = (? / 100.0), c_ytd_payment = (? / 100.0), c_payment_cnt = c_payment_cnt + 1, c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- pay_customer
UPDATE customer1 SET c_balance = (? / 100.0), c_ytd_payment = (? / 100.0), c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- pay_district
UPDATE district1 SET d_ytd = d_ytd + (? / 100.0) WHERE d_w_id = ? AND d_id = ?;
-- pay_warehouse
UPDATE warehouse1 SET w_ytd = w_ytd + (? / 100.0) WHERE w_id = ?;
-- purge_delete_lines
DELETE FROM order_line1 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?;
-- purge_delete_order
DELETE FROM orders1 WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?;
-- purge_lines_of_order
SELECT ol_i_id, ol_supply_w_id, ol_quantity, CAST(ol_amount * 100 AS BIGINT) FROM order_line1 WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_supply_w_id, ol_i_id;
-- purge_old_order
SELECT o_id, o_c_id FROM orders1 WHERE o_w_id = ? AND o_d_id = ? AND o_id > ? AND o_carrier_id IS NOT NULL AND o_id < (SELECT MIN(no_o_id) FROM new_orders1 WHERE no_w_id = ? AND no_d_id = ?) ORDER BY o_id LIMIT 1 FOR UPDATE;
-- purge_uncount_stock
UPDATE stock1 SET s_ytd = s_ytd - ?, s_order_cnt = s_order_cnt - 1, s_remote_cnt = s_remote_cnt - ? WHERE s_i_id = ? AND s_w_id = ?;
-- purge_uncredit_customer
UPDATE customer1 SET c_balance = c_balance - (? / 100.0), c_delivery_cnt = c_delivery_cnt - 1 WHERE c_id = ? AND c_d_id = ? AND c_w_id = ?;
-- reference_count_names
SELECT COUNT(c_id) FROM customer1 WHERE c_w_id = ? AND c_d_id = ? AND c_last = ?;
-- reference_orders
SELECT o_id, o_carrier_id, o_entry_d FROM orders1 WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC;
-- reference_pay
UPDATE customer1 SET c_balance = (? / 100.0), c_ytd_payment = (? / 100.0) WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- reference_pay_bad
UPDATE customer1 SET c_balance = (? / 100.0), c_ytd_payment = (? / 100.0), c_data = ? WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?;
-- reference_update_stock
UPDATE stock1 SET s_quantity = ? WHERE s_i_id = ? AND s_w_id = ?;
-- set_carrier
UPDATE orders1 SET o_carrier_id = ? WHERE o_id = ? AND o_d_id = ? AND o_w_id = ?;
-- sum_of_order
SELECT CAST(SUM(ol_amount) * 100 AS BIGINT) FROM order_line1 WHERE ol_o_id = ? AND ol_d_id = ? AND ol_w_id = ?;
-- update_stock
UPDATE stock1 SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, s_remote_cnt = s_remote_cnt + ? WHERE s_i_id = ? AND s_w_id = ?;
-- warehouse
SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name FROM warehouse1 WHERE w_id = ?;
