//! The OLTP transaction for comparisons: every server does the same work, and none of it is lost.

use std::time::Duration;

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{LOUD, QUIET, done, everywhere, fails, on, outcome, refused, sqlite, totals};

/// So few rows that sessions collide.
const SMALL: &str = "--tables 2 --table_size 200";

#[test]
fn sums_are_correct_when_sessions_collide_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        place.dyno(&format!("prepare oltp_fair {SMALL}")).success();
        place.dyno(&format!("check oltp_fair {SMALL}")).success();
        for how in ["", "--isolation repeatable_read"] {
            let line = format!("oltp_fair {SMALL} {how} -c 8 -t 2s --mix read_write@2,read_only@1");
            let result = place.result(&line);
            let entries = result["ledger"].as_array().unwrap();
            assert_eq!(entries.len(), 3, "{name}");
            for entry in entries {
                assert_eq!(entry["found"], entry["expected_low"], "{name}: {entry}");
                assert_eq!(entry["found"], entry["expected_high"], "{name}: {entry}");
            }
            assert_eq!(outcome(&result, "consistency"), "pass", "{name}");
            let written = done(&result, "read_write");
            assert!(
                written > 0 && done(&result, "read_only") > 0,
                "{name}: {result}"
            );
            // Events that ended after the grace count in the ledger, but not in the figures.
            let increments = entries
                .iter()
                .find(|entry| entry["sum"] == "increments")
                .unwrap();
            assert!(increments["found"].as_u64().unwrap() >= written, "{name}");
            place.dyno(&format!("check oltp_fair {SMALL}")).success();
        }
        place.dyno(&format!("cleanup oltp_fair {SMALL}")).success();
        // There may be nothing to clean up.
        place.dyno(&format!("cleanup oltp_fair {SMALL}")).success();
    }
}

#[test]
fn every_server_gets_the_same_statements() {
    for place in everywhere() {
        let name = place.name();
        place.dyno(&format!("prepare oltp_fair {SMALL}")).success();
        // A single session meets no conflicts, so nothing is retried.
        for (line, [reads, writes, other]) in [
            ("", [14, 4, 2]),
            ("--mix read_only", [14, 0, 2]),
            ("--mix read_only --read_only_trx=off", [14, 0, 0]),
            ("--keys zipfian", [14, 4, 2]),
            ("--keys gaussian", [14, 4, 2]),
        ] {
            let result = place.result(&format!("oltp_fair {SMALL} -c 1 --events 50 {line}"));
            let totals = &result["totals"];
            assert_eq!(totals["events"], 50, "{name} {line}");
            assert_eq!(totals["reads"], 50 * reads, "{name} {line}");
            assert_eq!(totals["writes"], 50 * writes, "{name} {line}");
            assert_eq!(totals["other"], 50 * other, "{name} {line}");
            assert_eq!(outcome(&result, "consistency"), "pass", "{name} {line}");
        }
    }
}

#[test]
fn a_row_replaced_meanwhile_is_counted_separately_and_retried() {
    let place = on(Kind::Postgres);
    let tiny = "--tables 1 --table_size 200 --keys zipfian --zipf_exponent 4";
    place.dyno(&format!("prepare oltp_fair {tiny}")).success();
    // READ COMMITTED on PostgreSQL does not find a row that another session has replaced meanwhile.
    let result = place.result(&format!("oltp_fair {tiny} -c 8 --events 3000"));
    let written = totals(&result, "read_write");
    assert!(written["rolled_back"].as_u64().unwrap() > 0, "{written}");
    assert_eq!(written["done"], 3000, "{written}");
    assert_eq!(outcome(&result, "consistency"), "pass");
    // REPEATABLE READ fails instead, and the transaction is retried.
    let line = format!("oltp_fair {tiny} -c 8 --events 400 --isolation repeatable_read");
    let result = place.result(&line);
    let written = totals(&result, "read_write");
    assert_eq!(written["rolled_back"], 0, "{written}");
    assert!(written["retries"].as_u64().unwrap() > 0, "{written}");
    assert_eq!(outcome(&result, "consistency"), "pass");
}

#[test]
fn corrupted_data_fails_its_condition() {
    for place in everywhere() {
        place.dyno(&format!("prepare oltp_fair {SMALL}")).success();
        let spoil = |spoil: &str, mend: &str, conditions: &[&str]| {
            place.execute(spoil);
            fails(&place, &format!("oltp_fair {SMALL}"), conditions);
            place.execute(mend);
            place.dyno(&format!("check oltp_fair {SMALL}")).success();
        };
        let text = |length| "7".repeat(length);
        let row = |id: u32| {
            let (c, pad) = (text(119), text(59));
            format!("INSERT INTO fair2 (id, k, c, pad) VALUES ({id}, 5, '{c}', '{pad}')")
        };
        spoil("DELETE FROM fair2 WHERE id = 7", &row(7), &["rows"]);
        spoil(
            &row(201),
            "DELETE FROM fair2 WHERE id = 201",
            &["rows", "ids"],
        );
        spoil(
            "UPDATE fair1 SET k = 201 WHERE id = 8",
            "UPDATE fair1 SET k = 200 WHERE id = 8",
            &["values of k"],
        );
        spoil(
            "UPDATE fair1 SET k = 0 WHERE id = 9",
            "UPDATE fair1 SET k = 1 WHERE id = 9",
            &["values of k"],
        );
        spoil(
            "UPDATE fair1 SET c = 'short' WHERE id = 9",
            &format!("UPDATE fair1 SET c = '{}' WHERE id = 9", text(119)),
            &["texts"],
        );
    }
}

#[test]
fn the_ledger_reports_another_writer() {
    for (spoil, sums) in [
        ("UPDATE fair1 SET k = k + 1 WHERE id = 7", "sum_of_k"),
        ("DELETE FROM fair1 WHERE id = 77", "rows"),
    ] {
        let place = on(Kind::Mariadb);
        let options = "--tables 1 --mix read_only";
        place
            .dyno(&format!("prepare oltp_fair {options}"))
            .success();
        let line = format!("run oltp_fair {options} -c 2 -t 4s --gate --json {LOUD}");
        let mut running = place.start(&line);
        running.measuring();
        place.execute(spoil);
        let output = running.finish(Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(outcome(&result, "consistency"), "refuse");
        let findings = result["findings"].as_array().unwrap();
        let found = findings.iter().find(|f| f["check"] == "consistency");
        let evidence = found.unwrap()["evidence"].as_str().unwrap();
        assert!(evidence.contains(sums), "{evidence}");
    }
}

#[test]
fn the_isolation_level_is_as_requested() {
    // Whether two selects of one transaction see a commit between them depends on the isolation
    // level.
    for (level, sees) in [("read_committed", true), ("repeatable_read", false)] {
        for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres] {
            let place = on(kind);
            place.dyno(&format!("prepare oltp_fair {SMALL}")).success();
            let script = tempfile::Builder::new().suffix(".lua").tempfile().unwrap();
            std::fs::write(script.path(), PROBE).unwrap();
            let path = script.path().display();
            let output = place.dyno(&format!(
                "run {path} {SMALL} --isolation {level} -c 1 --events 1 {QUIET}"
            ));
            let output = output.success();
            let expected = format!("seen: {sees}");
            assert!(
                output.stderr.contains(&expected),
                "{kind} {level}: {output:?}"
            );
        }
    }
}

/// The workload with an event that reads the same row twice.
const PROBE: &str = r#"
require("oltp_fair")
local own
sysbench.sql.driver = (function(driver)
   return function()
      local known = driver()
      return setmetatable({connect = function(self)
         own = known:connect()
         return own
      end}, {__index = known})
   end
end)(sysbench.sql.driver)
function event()
   local session, other = own, sysbench.sql.driver():connect()
   session:query("BEGIN")
   local before = session:query_row("SELECT k FROM fair1 WHERE id = 1")
   other:query("UPDATE fair1 SET k = k + 1 WHERE id = 1")
   local after = session:query_row("SELECT k FROM fair1 WHERE id = 1")
   session:query("COMMIT")
   print("seen: " .. tostring(before ~= after))
end
"#;

#[test]
fn reports_bad_input_and_changes_nothing() {
    let place = sqlite();
    for (option, why) in [
        ("--tables 0", "--tables must be a whole number from 1"),
        ("--tables 1.5", "--tables must be a whole number from 1"),
        (
            "--table_size 198",
            "--table_size must be a whole number from 200",
        ),
        ("--table_size 201", "--table_size must be even"),
    ] {
        refused(&place, &format!("prepare oltp_fair {option}"), why);
    }
    refused(
        &place,
        &format!("run oltp_fair {QUIET} -t 1s"),
        "prepare oltp_fair",
    );
    place.dyno(&format!("prepare oltp_fair {SMALL}")).success();
    for (option, why) in [
        ("--mix none", "must be read_write or read_only"),
        ("--mix read_write@x", "must be read_write or read_only"),
        ("--mix read_write@0", "leaves nothing to do"),
        ("--keys odd", "--keys must be uniform, zipfian or"),
        (
            "--keys gaussian --gaussian_parameter 1",
            "--gaussian_parameter must be 2",
        ),
        (
            "--keys zipfian --zipf_exponent 0",
            "--zipf_exponent must be above 0",
        ),
        ("--isolation dirty", "--isolation must be read_committed or"),
        ("--table_size 400", "ids up to 200, not 400"),
        ("--tables 3", "there are 2 tables instead of 3"),
    ] {
        refused(
            &place,
            &format!("run oltp_fair {SMALL} {QUIET} --events 5 {option}"),
            why,
        );
    }
    let larger = "check oltp_fair --tables 2 --table_size 400";
    refused(&place, larger, "conditions failed");
    place.dyno(&format!("check oltp_fair {SMALL}")).success();
    // A missing row must be reported at once.
    place.execute(
        "DELETE FROM fair1; DELETE FROM fair2; INSERT INTO fair1 VALUES (200, 1, '', ''); \
                   INSERT INTO fair2 VALUES (200, 1, '', '')",
    );
    let output = place.dyno(&format!("run oltp_fair {SMALL} {QUIET} --events 5"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let expected = "a transaction changed nothing";
    assert!(output.stdout.contains(expected), "{output:?}");
}
