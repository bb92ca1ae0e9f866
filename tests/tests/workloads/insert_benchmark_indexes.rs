//! The Insert Benchmark with fewer indexes, other numbers of rows, and a rate of queries.

use dyno_tests::Kind;
use serde_json::Value;

use crate::common::{QUIET, TestDatabase, everywhere, on, outcome, refused, sqlite};

const SMALL: &str = "-c 2 --rows 3000 --write-rows 1000 --settle 0";

fn prepared(place: &TestDatabase) {
    place
        .dyno(&format!("prepare insert_benchmark {SMALL}"))
        .success();
}

fn steps(place: &TestDatabase, line: &str) -> Vec<Value> {
    let result = place.result(&format!("insert_benchmark {SMALL} {line}"));
    result.as_array().unwrap().clone()
}

fn number(run: &Value, path: &str) -> f64 {
    let found = run.pointer(path).and_then(Value::as_f64);
    found.unwrap_or_else(|| panic!("no {path} in {run:#}"))
}

/// The secondary indexes of the first table, without its name in front.
fn indexes(place: &TestDatabase) -> Vec<String> {
    let known = ["marketsegment", "registersegment", "pdc"];
    let there = |name: &&&str| {
        let sql = match (place, place.family()) {
            (TestDatabase::Server(database), "mysql") => format!(
                "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE \
                 table_schema = '{}' AND table_name = 'pi1' AND index_name = '{name}'",
                database.name
            ),
            (_, "postgres") => {
                format!("SELECT COUNT(*) FROM pg_indexes WHERE indexname = 'pi1_{name}'")
            }
            _ => format!("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'pi1_{name}'"),
        };
        place.query_one(&sql) == "1"
    };
    known
        .iter()
        .filter(there)
        .map(|name| (*name).to_owned())
        .collect()
}

#[test]
fn queries_use_the_existing_indexes() {
    let all = ["marketsegment", "registersegment", "pdc"];
    for place in everywhere() {
        for wanted in 1..3 {
            let name = format!("{}, {wanted}", place.name());
            prepared(&place);
            let count = format!("--num-secondary-indexes {wanted}");
            let runs = steps(
                &place,
                &format!("--steps i0,x,i1,qr100,qp100 -t 1s {count}"),
            );
            assert_eq!(indexes(&place), all[..wanted], "{name}");
            for run in &runs {
                assert_eq!(run["end"]["how"], "completed", "{name}");
                assert_eq!(outcome(run, "consistency"), "pass", "{name}");
            }
            let checked = place.dyno(&format!("check insert_benchmark {SMALL} {count}"));
            let checked = checked.success();
            let lines = checked.stdout.lines().filter(|line| line.starts_with("ok"));
            assert_eq!(lines.count(), 2 * (2 + wanted), "{name}: {checked:?}");
            // `check` detects another number of indexes, and so does a step before it queries.
            let other = format!("--num-secondary-indexes {}", 3 - wanted);
            let checked = place.dyno(&format!("check insert_benchmark {SMALL} {other}"));
            assert_eq!(checked.status.code(), Some(1), "{name}: {checked:?}");
            let failed = format!(
                "FAILED  pi1: secondary indexes: {wanted}, expected {}",
                3 - wanted
            );
            assert!(checked.stdout.contains(&failed), "{name}: {checked:?}");
            let why = match wanted {
                1 => "pi1 has no index registersegment: create it with the step x",
                _ => "pi1 has the index registersegment, but should not with",
            };
            let step = format!("--step qr100 -t 1s {other} {QUIET}");
            refused(&place, &format!("run insert_benchmark {SMALL} {step}"), why);
            if wanted == 2 {
                let step = format!("--step qp100 -t 1s {other} {QUIET}");
                refused(&place, &format!("run insert_benchmark {SMALL} {step}"), why);
            }
            place.dyno("cleanup insert_benchmark").success();
        }
    }
}

#[test]
fn without_indexes_rows_are_read_by_key() {
    for place in everywhere() {
        let name = place.name();
        prepared(&place);
        let runs = steps(&place, "--num-secondary-indexes 0 -t 1s");
        let names: Vec<&str> = (runs.iter())
            .map(|run| run["phase"]["name"].as_str().unwrap())
            .collect();
        let expected = ["l.i0", "l.i1", "l.i2", "qp100.L1", "qp500.L2", "qp1000.L3"];
        assert_eq!(names, expected, "{name}");
        for run in &runs {
            assert_eq!(outcome(run, "consistency"), "pass", "{name}");
        }
        assert_eq!(indexes(&place), Vec::<String>::new(), "{name}");
        let none = "--num-secondary-indexes 0";
        place
            .dyno(&format!("check insert_benchmark {SMALL} {none}"))
            .success();
        for step in ["qr100", "x", "q100"] {
            let line = format!("run insert_benchmark {SMALL} {none} --steps i1,{step} {QUIET}");
            refused(&place, &line, &format!("the step {step} needs indexes"));
        }
        place.dyno("cleanup insert_benchmark").success();
    }
    let line = format!("run insert_benchmark --num-secondary-indexes 4 {QUIET}");
    refused(&sqlite(), &line, "must be a whole number from 0 to 3");
}

#[test]
fn queries_return_the_requested_number_of_rows() {
    for place in everywhere() {
        let name = place.name();
        prepared(&place);
        steps(&place, "--steps i0,x");
        for (step, rows) in [
            ("qr100", 1),
            ("qr100", 40),
            ("qp100", 1),
            // PostgreSQL reads the whole table for this many rows, because it is so small.
            ("qp100 --check-plans=off", 100),
        ] {
            let runs = steps(
                &place,
                &format!("--steps {step} -t 1s --rows-per-query {rows}"),
            );
            let run = &runs[0];
            let of_role = |role: usize| number(run, &format!("/roles/{role}/events"));
            assert_eq!(run["roles"][2]["name"], "querier", "{name}: {run:#}");
            // The total also contains the background's batches of 50 rows, and one row for each of
            // its searches of the lowest and the highest key. The last batches may be incomplete.
            let queries = of_role(2);
            let background = 50.0 * (of_role(0) + of_role(1));
            let found = number(run, "/totals/rows");
            // Some queries start near the end of an index, some keys are drawn twice, and
            // PostgreSQL's sessions leave gaps between the keys.
            let low = f64::from(rows) * 0.3 * queries;
            let high = f64::from(rows) * 1.05 * queries + background + 110.0;
            assert!(
                queries > 20.0 && (low..high).contains(&found),
                "{name} {step} {rows}: {found} rows of {queries} queries and {background} of others"
            );
        }
        place.dyno("cleanup insert_benchmark").success();
    }
    for rows in ["0", "101", "1.5"] {
        let line = format!("run insert_benchmark --rows-per-query {rows} {QUIET}");
        refused(
            &sqlite(),
            &line,
            "--rows-per-query must be a whole number from 1 to 100",
        );
    }
}

#[test]
fn a_rate_counts_queries() {
    for place in [sqlite(), on(Kind::Mysql), on(Kind::Postgres)] {
        let name = place.name();
        prepared(&place);
        let rate = "--rate 40/s --arrivals constant";
        let runs = steps(&place, &format!("--steps i0,x,i1,qr100,qp100 -t 2s {rate}"));
        for run in &runs[..3] {
            assert!(run["drive"]["open_loop"].is_null(), "{name}: {run:#}");
            assert!(run["open_loop"].is_null(), "{name}: {run:#}");
        }
        for run in &runs[3..] {
            let asked = number(run, "/drive/open_loop/per_second");
            assert!((asked - 40.0).abs() < 1e-9, "{name}: {asked}");
            assert_eq!(run["drive"]["open_loop"]["arrivals"], "constant", "{name}");
            // No more queries than these arrive.
            let queries = number(run, "/totals/events");
            assert!(queries > 0.0 && queries <= 81.0, "{name}: {queries}");
            assert!(number(run, "/response/max_ms") > 0.0, "{name}");
            // The background has its own rate.
            assert!(
                (number(run, "/roles/0/asked_per_s") - 4.0).abs() < 1e-9,
                "{name}"
            );
        }
        let run = format!("run insert_benchmark {SMALL} {rate} {QUIET}");
        refused(
            &place,
            &format!("{run} --steps i0,x"),
            "no step has queries",
        );
        refused(
            &place,
            &format!("{run} --step i1"),
            "the step i1 has no queries",
        );
        let plan = place
            .dyno(&format!("{run} --steps i1,qr100 --plan"))
            .success();
        let plan: Value = serde_json::from_str(&plan.stdout).unwrap();
        assert!(plan["phases"][0]["open_loop"].is_null(), "{plan:#}");
        let asked = number(&plan, "/phases/1/open_loop/per_second");
        assert!((asked - 40.0).abs() < 1e-9, "{plan:#}");
    }
}
