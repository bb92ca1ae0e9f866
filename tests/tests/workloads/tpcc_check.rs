//! TPC-C-like order entry: each condition detects its own violation, on every server.

use crate::common::{QUIET, TestDatabase, everywhere, fails};

/// 1,666 items, and 50 customers and orders in each district, of which 35 are delivered.
const SMALL: &str = "tpcc --shrink 60";

/// What corrupts a single set of tables, how to repair it, and the conditions that it violates.
const VIOLATIONS: &[(&str, &str, &[&str])] = &[
    (
        "UPDATE warehouse1 SET w_ytd = w_ytd + 1",
        "UPDATE warehouse1 SET w_ytd = w_ytd - 1",
        &["1", "8"],
    ),
    (
        "UPDATE district1 SET d_next_o_id = d_next_o_id + 1 WHERE d_id = 3",
        "UPDATE district1 SET d_next_o_id = d_next_o_id - 1 WHERE d_id = 3",
        &["2"],
    ),
    (
        "UPDATE district1 SET d_ytd = d_ytd + 1 WHERE d_id = 3",
        "UPDATE district1 SET d_ytd = d_ytd - 1 WHERE d_id = 3",
        &["1", "9"],
    ),
    // One in the middle of the open orders, neither the first nor the last.
    (
        "UPDATE new_orders1 SET no_o_id = -9 WHERE no_d_id = 2 AND no_o_id = 46",
        "UPDATE new_orders1 SET no_o_id = 46 WHERE no_o_id = -9",
        &["3", "5"],
    ),
    // An open entry that has no order.
    (
        "INSERT INTO new_orders1 (no_o_id, no_d_id, no_w_id) VALUES (-1, 3, 1)",
        "DELETE FROM new_orders1 WHERE no_o_id = -1",
        &["3", "5"],
    ),
    (
        "UPDATE orders1 SET o_ol_cnt = o_ol_cnt + 1 WHERE o_d_id = 1 AND o_id = 1",
        "UPDATE orders1 SET o_ol_cnt = o_ol_cnt - 1 WHERE o_d_id = 1 AND o_id = 1",
        &["4", "6"],
    ),
    // The sum is right, but the orders are not.
    (
        "UPDATE orders1 SET o_ol_cnt = o_ol_cnt + 3 - 2 * o_id WHERE o_d_id = 1 AND o_id < 3",
        "UPDATE orders1 SET o_ol_cnt = o_ol_cnt - 3 + 2 * o_id WHERE o_d_id = 1 AND o_id < 3",
        &["6"],
    ),
    // A line that has no order.
    (
        "INSERT INTO order_line1 (ol_o_id, ol_d_id, ol_w_id, ol_number, ol_i_id, ol_supply_w_id, \
         ol_quantity, ol_amount, ol_dist_info) VALUES (0, 1, 1, 1, 1, 1, 5, 0, 'x')",
        "DELETE FROM order_line1 WHERE ol_o_id = 0",
        &["4", "6"],
    ),
    (
        "UPDATE order_line1 SET ol_delivery_d = NULL WHERE ol_d_id = 1 AND ol_o_id = 1 AND \
          ol_number = 1",
        "UPDATE order_line1 SET ol_delivery_d = '2026-01-01 00:00:00' WHERE ol_d_id = 1 AND \
          ol_o_id = 1 AND ol_number = 1",
        &["7"],
    ),
    (
        "UPDATE history1 SET h_amount = h_amount + 1 WHERE h_c_id = 5 AND h_d_id = 1",
        "UPDATE history1 SET h_amount = h_amount - 1 WHERE h_c_id = 5 AND h_d_id = 1",
        &["8", "9", "10", "S2"],
    ),
    // Customers with no delivered order, which a sum over no rows could hide.
    (
        "UPDATE customer1 SET c_balance = c_balance + 1 WHERE c_d_id = 1 AND NOT EXISTS \
         (SELECT 1 FROM orders1 WHERE o_carrier_id IS NOT NULL AND o_c_id = c_id AND \
         o_d_id = c_d_id AND o_w_id = c_w_id)",
        "UPDATE customer1 SET c_balance = c_balance - 1 WHERE c_d_id = 1 AND NOT EXISTS \
         (SELECT 1 FROM orders1 WHERE o_carrier_id IS NOT NULL AND o_c_id = c_id AND \
         o_d_id = c_d_id AND o_w_id = c_w_id)",
        &["10", "12"],
    ),
    (
        "UPDATE customer1 SET c_ytd_payment = c_ytd_payment + 1 WHERE c_id = 4 AND c_d_id = 1",
        "UPDATE customer1 SET c_ytd_payment = c_ytd_payment - 1 WHERE c_id = 4 AND c_d_id = 1",
        &["12", "S2"],
    ),
    (
        "UPDATE customer1 SET c_payment_cnt = c_payment_cnt + 1 WHERE c_id = 4 AND c_d_id = 1",
        "UPDATE customer1 SET c_payment_cnt = c_payment_cnt - 1 WHERE c_id = 4 AND c_d_id = 1",
        &["S2"],
    ),
    (
        "UPDATE stock1 SET s_ytd = s_ytd + 1 WHERE s_i_id = 7",
        "UPDATE stock1 SET s_ytd = s_ytd - 1 WHERE s_i_id = 7",
        &["S1"],
    ),
    (
        "UPDATE stock1 SET s_order_cnt = s_order_cnt + 1 WHERE s_i_id = 9",
        "UPDATE stock1 SET s_order_cnt = s_order_cnt - 1 WHERE s_i_id = 9",
        &["S1"],
    ),
    (
        "UPDATE stock1 SET s_remote_cnt = s_remote_cnt + 1 WHERE s_i_id = 8",
        "UPDATE stock1 SET s_remote_cnt = s_remote_cnt - 1 WHERE s_i_id = 8",
        &["S1"],
    ),
    (
        "UPDATE orders1 SET o_all_local = 0 WHERE o_d_id = 1 AND o_id = 2",
        "UPDATE orders1 SET o_all_local = 1 WHERE o_d_id = 1 AND o_id = 2",
        &["S3"],
    ),
    (
        "UPDATE customer1 SET c_delivery_cnt = c_delivery_cnt + 1 WHERE c_id = 4 AND c_d_id = 1",
        "UPDATE customer1 SET c_delivery_cnt = c_delivery_cnt - 1 WHERE c_id = 4 AND c_d_id = 1",
        &["S4"],
    ),
    // Open orders have no amount, so nothing shows whose they are.
    (
        "UPDATE orders1 SET o_c_id = 51 - o_c_id WHERE o_d_id = 1 AND o_id = 48",
        "UPDATE orders1 SET o_c_id = 51 - o_c_id WHERE o_d_id = 1 AND o_id = 48",
        &["S5"],
    ),
    (
        "UPDATE order_line1 SET ol_number = 99 WHERE ol_d_id = 2 AND ol_o_id = 3 AND \
         ol_number = 2",
        "UPDATE order_line1 SET ol_number = 2 WHERE ol_number = 99",
        &["S6"],
    ),
];

/// The lines about conditions that failed.
fn conditions(names: &[&str]) -> Vec<String> {
    let line = |name: &&str| format!("set 1, condition {name},");
    names.iter().map(line).collect()
}

fn fails_in(place: &TestDatabase, lines: &[String]) {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    fails(place, SMALL, &lines);
}

#[test]
fn each_condition_detects_its_corruption_on_every_server() {
    for place in everywhere() {
        let prepare = format!("prepare {SMALL} --use_fk=off");
        place.dyno(&prepare).success();
        // 5 new orders and 5 deliveries in each district, on average.
        place
            .dyno(&format!("run {SMALL} -c 1 --seed 3 --events 115 {QUIET}"))
            .success();
        place.dyno(&format!("check {SMALL}")).success();
        for (spoil, mend, names) in VIOLATIONS {
            place.execute(spoil);
            fails_in(&place, &conditions(names));
            place.execute(mend);
        }
        place.dyno(&format!("check {SMALL}")).success();
        // Remove rows from one table after another.
        let mut lines = Vec::new();
        for (table, key) in [
            ("item", "i_id = 1666"),
            ("customer", "c_id = 50 AND c_d_id = 10 AND c_w_id = 1"),
            ("stock", "s_i_id = 1 AND s_w_id = 1"),
        ] {
            place.execute(&format!("DELETE FROM {table}1 WHERE {key}"));
            lines.push(format!("set 1, rows of {table}"));
            let output = place.dyno(&format!("check {SMALL}"));
            for line in &lines {
                let line = format!("FAILED  {line}");
                assert!(
                    output.stdout.contains(&line),
                    "{}: {output:?}",
                    place.name()
                );
            }
        }
    }
}

#[test]
fn reports_the_condition_of_the_load_before_the_first_delivery() {
    for place in everywhere() {
        place
            .dyno(&format!("prepare {SMALL} --use_fk=off"))
            .success();
        place.execute("DELETE FROM new_orders1 WHERE no_d_id = 1 AND no_o_id = 36");
        fails_in(&place, &conditions(&["5", "11"]));
    }
}
