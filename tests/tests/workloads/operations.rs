//! Named operations on every server. Work that is given up does not count as a transaction, and
//! duplicate keys count as the script declares.

use dyno_tests::command::flat;
use serde_json::Value;

use crate::common::{QUIET, TestDatabase, everywhere, outcome, sqlite};

fn script(name: &str) -> String {
    format!("{}/scripts/{name}.lua", env!("CARGO_MANIFEST_DIR"))
}

fn totals(result: &Value) -> &Value {
    &result["operations"][0]["totals"]
}

#[test]
fn abandoned_work_is_not_a_transaction_on_any_server() {
    for place in everywhere() {
        let name = place.name();
        let result = place.result(&format!("{} -c 1 --events 30", script("given_up")));
        assert_eq!(result["totals"]["events"], 20, "{name}");
        assert_eq!(result["totals"]["not_done"], 10, "{name}");
        assert_eq!(result["service"]["count"], 20, "{name}");
        let work = totals(&result);
        assert_eq!(work["done"], 20, "{name}");
        assert_eq!(work["given_up"], 10, "{name}");
        assert_eq!(work["retries"], 20, "{name}");
        assert_eq!(result["operations"][0]["service"]["count"], 20, "{name}");
        assert_eq!(outcome(&result, "errors"), "refuse", "{name}");
        // If the script catches an error that a retry cannot fix, the work is given up at once.
        let line = format!("{} -c 1 --events 30 --catches=on", script("given_up"));
        let result = place.result(&line);
        assert_eq!(result["totals"]["events"], 20, "{name}");
        assert_eq!(result["totals"]["not_done"], 10, "{name}");
        let work = totals(&result);
        assert_eq!(
            (&work["given_up"], &work["retries"]),
            (&10.into(), &0.into())
        );
    }
}

#[test]
fn every_report_of_a_run_counts_abandoned_work() {
    let place = sqlite();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("runs.db");
    let kept = QUIET.replace("--results none", &format!("--results {}", file.display()));
    let line = format!("run {} -c 1 --events 30 {kept}", script("given_up"));
    let printed = flat(&place.dyno(&line).success().stdout);
    assert!(printed.contains("not done 10 transactions"), "{printed}");
    assert!(
        printed.contains("10 events ended without their work"),
        "{printed}"
    );
    let of = |words: &str| {
        let mut command = std::process::Command::new(dyno_tests::command::dyno_path());
        command.args(words.split_whitespace());
        command.args(["--results", &file.display().to_string()]);
        let output = dyno_tests::command::run(&mut command, std::time::Duration::from_secs(60));
        output.success().stdout
    };
    assert!(flat(&of("show last")).contains("not done 10 transactions"));
    let rows = of("export last --format csv");
    let mut lines = rows.lines().map(|line| line.split(','));
    let place = lines.next().unwrap().position(|name| name == "not_done");
    let counts = lines.map(|mut fields| fields.nth(place.unwrap()).unwrap().parse::<u64>());
    assert_eq!(counts.map(Result::unwrap).sum::<u64>(), 10);
    let page = folder.path().join("page.html");
    of(&format!("report last -o {}", page.display()));
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("10 events not done"));
    let results = rusqlite::Connection::open(&file).unwrap();
    let sum = "SELECT SUM(not_done) FROM interval";
    let sum: i64 = results.query_row(sum, [], |row| row.get(0)).unwrap();
    assert_eq!(sum, 10);
}

#[test]
fn a_run_without_completed_work_reports_why() {
    let place = sqlite();
    place.execute("CREATE TABLE twice (id INTEGER PRIMARY KEY); INSERT INTO twice VALUES (1)");
    let line = format!("{} -c 1 --events 2 --policy ignore", script("duplicates"));
    let output = place.dyno(&format!("run {line} {QUIET}"));
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let why = "2 events ended without their work being done (100 %)";
    assert!(flat(&output.stdout).contains(why), "{output:?}");
}

#[test]
fn duplicate_keys_follow_the_declared_policy_on_every_server() {
    for place in everywhere() {
        let name = place.name();
        let run = |place: &TestDatabase, policy: &str| {
            place
                .dyno(&format!("prepare {}", script("duplicates")))
                .success();
            let line = format!(
                "{} -c 1 --events 20 --policy {policy}",
                script("duplicates")
            );
            let output = place.dyno(&format!("run {line} {QUIET} --json"));
            place.execute("DROP TABLE twice");
            output
        };
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap();

        let ignored = read(&run(&place, "ignore").success().stdout);
        let work = totals(&ignored);
        assert_eq!(work["done"], 10, "{name}: {work}");
        assert_eq!(work["duplicates"], 10, "{name}: {work}");
        assert_eq!(work["retries"], 0, "{name}: {work}");
        assert_eq!(ignored["totals"]["events"], 10, "{name}");
        assert_eq!(ignored["totals"]["not_done"], 10, "{name}");
        assert_eq!(outcome(&ignored, "consistency"), "pass", "{name}");

        let retried = read(&run(&place, "retry").success().stdout);
        let work = totals(&retried);
        assert_eq!(work["done"], 20, "{name}: {work}");
        assert_eq!(work["duplicates"], 0, "{name}: {work}");
        assert_eq!(work["retries"], 19, "{name}: {work}");
        assert_eq!(outcome(&retried, "consistency"), "pass", "{name}");

        let failed = run(&place, "fail");
        assert_eq!(failed.status.code(), Some(1), "{name}: {failed:?}");
        let failed = read(&failed.stdout);
        assert_eq!(totals(&failed)["given_up"], 1, "{name}");
        assert_eq!(failed["end"]["how"], "failed", "{name}");
        assert_eq!(outcome(&failed, "consistency"), "pass", "{name}");
    }
}
