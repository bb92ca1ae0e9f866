//! The description of a workload's tables is stored with them and recorded with each run; and wrong
//! data fail the load.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use dyno_tests::Output;
use dyno_tests::command::{dyno_path, run};

use crate::common::{QUIET, everywhere, fact, sqlite};

const FINGERPRINT: &str = "workload.dataset.fingerprint";

/// 1,000 items, and 30 customers and orders in each district.
const SMALL: &str = "tpcc --shrink 100 --scale 2";

/// A fact as a whole number.
fn number(result: &serde_json::Value, name: &str) -> i64 {
    let value = fact(result, name).unwrap_or_else(|| panic!("no {name} in {}", result["facts"]));
    value.parse().unwrap()
}

#[test]
fn a_run_reports_its_rows_and_constants() {
    let mut fingerprints = BTreeSet::new();
    for place in everywhere() {
        let name = place.name();
        let printed = place.dyno(&format!("prepare {SMALL} --seed 3 -c 3"));
        let printed = printed.success().stderr;
        assert!(
            printed.contains("27 conditions verified "),
            "{name}: {printed}"
        );
        for seed in 1..=4 {
            let line = format!("{SMALL} --seed {seed} --trx_level RC -c 2 --events 23");
            let result = place.result(&line);
            fingerprints.insert(fact(&result, FINGERPRINT).unwrap().to_owned());
            assert_eq!(number(&result, "workload.dataset.seed"), 3, "{name}");
            assert_eq!(fact(&result, "workload.mix"), Some("deck"), "{name}");
            let level = match place.family() {
                "sqlite" => "SERIALIZABLE",
                _ => "READ COMMITTED",
            };
            assert_eq!(fact(&result, "workload.isolation"), Some(level), "{name}");
            let loaded = number(&result, "workload.nurand.c_255_load");
            let apart = (number(&result, "run.workload.nurand.c_255") - loaded).abs();
            assert!(
                (65..=119).contains(&apart) && apart != 96 && apart != 112,
                "{apart}"
            );
            for (constant, most) in [("c_1023", 1023), ("c_8191", 8191)] {
                let drawn = number(&result, &format!("run.workload.nurand.{constant}"));
                assert!((0..=most).contains(&drawn), "{name}: {drawn}");
            }
        }
        // If the load draws another constant, the constant of the run changes, and stays within its
        // range.
        for loaded in [0, 127, 200, 255] {
            place.execute(&format!(
                "UPDATE tpcc_dataset SET value = '{loaded}' WHERE name = 'dataset.c_255'"
            ));
            let result = place.result(&format!("{SMALL} --seed 1 --events 23"));
            assert_eq!(number(&result, "workload.nurand.c_255_load"), loaded);
            let drawn = number(&result, "run.workload.nurand.c_255");
            let apart = (drawn - loaded).abs();
            assert!((65..=119).contains(&apart), "{name}: {drawn} to {loaded}");
            assert!((0..=255).contains(&drawn), "{name}: {drawn} to {loaded}");
        }
        place.dyno(&format!("cleanup {SMALL}")).success();
    }
    // The rows are the same on every database.
    assert_eq!(fingerprints.len(), 1, "{fingerprints:?}");
}

#[test]
fn other_rows_have_another_fingerprint_and_the_same_rows_the_same() {
    let fingerprint = |prepare: &str, run: &str| {
        let place = sqlite();
        place.dyno(&format!("prepare {prepare}")).success();
        let result = place.result(&format!("{run} -c 1 --events 23"));
        fact(&result, FINGERPRINT).unwrap().to_owned()
    };
    let tpcc = |options: &str, scale: &str| {
        let line = format!("tpcc --shrink 100 --scale {scale}");
        fingerprint(&format!("{line} {options}"), &line)
    };
    let mut all = BTreeSet::from([tpcc("--seed 3", "1")]);
    assert_eq!(all.len(), 1);
    // The number of loading sessions and the keys make no difference to the rows.
    for same in ["--seed 3 -c 4", "--seed 3 --use_fk=off --verify=off"] {
        assert!(!all.insert(tpcc(same, "1")), "{same}");
    }
    for (other, scale) in [
        ("--seed 4", "1"),
        ("--seed 3", "2"),
        ("--seed 3 --data_compressibility 0.5", "1"),
    ] {
        assert!(all.insert(tpcc(other, scale)), "{other} {scale}");
    }
    let linkbench =
        |prepare: &str| fingerprint(&format!("linkbench {prepare}"), "linkbench --maxid 2001");
    for (other, is_new) in [
        ("--maxid 2001 --seed 3", true),
        ("--maxid 2001 --seed 3 -c 2", false),
        ("--maxid 2001 --seed 4", true),
        ("--maxid 2001 --seed 3 --node_bytes 64", true),
    ] {
        assert_eq!(all.insert(linkbench(other)), is_new, "{other}");
    }
    for (scale, is_new) in [("1", true), ("1", false), ("2", true)] {
        let line = format!("select_only --scale {scale}");
        assert_eq!(all.insert(fingerprint(&line, &line)), is_new, "{scale}");
    }
}

#[test]
fn one_seed_makes_the_same_rows_for_a_comparison_of_servers() {
    let line = "oltp_fair --tables 2 --table_size 400";
    let fingerprints = |seed: u32| {
        let mut fingerprints = BTreeSet::new();
        for place in everywhere() {
            let name = place.name();
            place
                .dyno(&format!("prepare {line} --seed {seed} -c 2"))
                .success();
            let result = place.result(&format!("{line} -c 2 --events 20"));
            assert_eq!(
                number(&result, "workload.dataset.table_size"),
                400,
                "{name}"
            );
            fingerprints.insert(fact(&result, FINGERPRINT).unwrap().to_owned());
            // Somebody's copies, which are kept.
            for copy in ["fair3", "fair01"] {
                place.execute(&format!("CREATE TABLE {copy} AS SELECT * FROM fair1"));
            }
            place.dyno("cleanup oltp_fair").success();
            for copy in ["fair3", "fair01"] {
                place.execute(&format!("DROP TABLE {copy}"));
            }
            place.dyno(&format!("prepare {line}")).success();
        }
        fingerprints
    };
    let (three, four) = (fingerprints(3), fingerprints(4));
    assert_eq!((three.len(), four.len()), (1, 1), "{three:?} {four:?}");
    assert_ne!(three, four);
}

#[test]
fn linkbench_reports_its_dataset_on_every_server() {
    let line = "linkbench --maxid 2001";
    let mut fingerprints = BTreeSet::new();
    for place in everywhere() {
        let name = place.name();
        place
            .dyno(&format!("prepare {line} --seed 3 -c 2"))
            .success();
        let result = place.result(&format!("{line} -c 2 --events 50"));
        fingerprints.insert(fact(&result, FINGERPRINT).unwrap().to_owned());
        let partitions = if place.family() == "mysql" { "16" } else { "0" };
        let partitions_fact = fact(&result, "workload.tables.partitions");
        assert_eq!(partitions_fact, Some(partitions), "{name}");
        place.dyno(&format!("cleanup {line}")).success();
        // What remains of it does not get in the way of the next load.
        place.dyno(&format!("prepare {line} --seed 4")).success();
    }
    assert_eq!(fingerprints.len(), 1, "{fingerprints:?}");
}

#[test]
fn does_not_report_a_description_of_other_rows() {
    for (workload, options) in [("tpcc", "--shrink 100"), ("select_only", "")] {
        let place = sqlite();
        let line = format!("{workload} {options}");
        place.dyno(&format!("prepare {line}")).success();
        let events = "--events 20";
        let result = place.result(&format!("{line} {events}"));
        assert_eq!(fact(&result, FINGERPRINT).map(str::len), Some(16));
        // Recreate the tables as another user would.
        let table = workload.replace("select_only", "pgbench");
        place.execute(&format!(
            "UPDATE {table}_dataset SET value = '77' WHERE name = 'dataset.scale'"
        ));
        let result = place.result(&format!("{line} {events}"));
        let fingerprint = fact(&result, FINGERPRINT).unwrap();
        assert!(
            fingerprint.contains("is of others, with scale 77"),
            "{fingerprint}"
        );
        assert_eq!(fact(&result, "workload.dataset.seed"), None);
    }
}

/// Runs Dyno in a folder that also gets the results file.
fn dyno_in(folder: &Path, words: &str) -> Output {
    let mut command = std::process::Command::new(dyno_path());
    command.args(words.split_whitespace()).current_dir(folder);
    command.env_remove("DYNO_TARGET");
    run(&mut command, Duration::from_secs(60))
}

#[test]
fn reports_that_results_come_from_other_rows() {
    let folder = tempfile::tempdir().unwrap();
    let kept = QUIET.replace("--results none", "--results runs.db");
    for (number, seed) in [3, 3, 4].iter().enumerate() {
        let target = format!("--target sqlite:{number}.db");
        let line = format!("tpcc --shrink 100 --seed {seed} {target}");
        dyno_in(folder.path(), &format!("prepare {line}")).success();
        dyno_in(folder.path(), &format!("run {line} --events 115 {kept}")).success();
    }
    let compare = |one: &str, other: &str| {
        let line = format!("compare {one} {other} --results runs.db");
        dyno_in(folder.path(), &line).success().stdout
    };
    assert!(
        !compare("1", "2").contains("dataset"),
        "{}",
        compare("1", "2")
    );
    let printed = compare("1", "3");
    assert!(
        printed.contains("workload.dataset.fingerprint"),
        "{printed}"
    );
    assert!(printed.contains("new orders committed"), "{printed}");
    let shown = dyno_in(folder.path(), "show 3 --results runs.db")
        .success()
        .stdout;
    for part in [
        "dataset       fingerprint ",
        "nurand        c 255 load 123; c 255 ",
        "mix deck;",
        "figures       new orders committed: ",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let json = dyno_in(folder.path(), "show 3 --results runs.db --json")
        .success()
        .stdout;
    let result: serde_json::Value = serde_json::from_str(&json).unwrap();
    let figure = &result["figures"][0];
    let orders = &result["operations"][0];
    let per_minute = orders["done_per_s"].as_f64().unwrap() * 60.0;
    assert_eq!(orders["name"], "new_order");
    assert_eq!(figure["name"], "new orders committed");
    assert!(
        (figure["value"].as_f64().unwrap() / per_minute - 1.0).abs() < 1e-9,
        "{figure}"
    );
    dyno_in(folder.path(), "report 3 --results runs.db -o page.html").success();
    let page = std::fs::read_to_string(folder.path().join("page.html")).unwrap();
    assert!(page.contains("<th scope=\"row\">new orders committed</th>"));
    assert!(page.contains("workload.dataset.fingerprint"));
}

/// A folder with a copy of the workload that loads a wrong row.
fn with_wrong_row(from: &str, to: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let workloads = Path::new(env!("CARGO_MANIFEST_DIR")).join("../workloads");
    let text = std::fs::read_to_string(workloads.join("tpcc_load.lua")).unwrap();
    assert!(text.contains(from));
    std::fs::write(folder.path().join("tpcc_load.lua"), text.replace(from, to)).unwrap();
    folder
}

#[test]
fn a_wrong_load_fails_on_every_server() {
    let wrong_balance = with_wrong_row(
        "rows:cents(-1000):cents(1000)",
        "rows:cents(-1000):cents(1001)",
    );
    let too_few = with_wrong_row(
        "for o = sizes.delivered + 1, sizes.customers",
        "for o = sizes.delivered + 2, sizes.customers",
    );
    for place in everywhere() {
        let name = place.name();
        let prepare = |folder: &Path, options: &str| {
            let line = format!(
                "prepare tpcc --shrink 100 -q {options} --target {}",
                place.url()
            );
            let output = dyno_in(folder, &line);
            place.dyno("cleanup tpcc").success();
            output
        };
        for (folder, conditions) in [
            (&wrong_balance, &["condition 12,", "condition S2,"][..]),
            (&too_few, &["condition 5,", "condition 11,"]),
        ] {
            let output = prepare(folder.path(), "");
            assert_eq!(output.status.code(), Some(1), "{name}: {output:?}");
            let failed = format!("{} of 27 conditions failed", conditions.len());
            let why = format!("the load is wrong: {failed} (see above)");
            assert!(output.stderr.contains(&why), "{name}: {output:?}");
            for condition in conditions {
                let line = format!("FAILED  set 1, {condition}");
                assert!(output.stderr.contains(&line), "{name}: {output:?}");
            }
            prepare(folder.path(), "--verify=off").success();
        }
    }
}

#[test]
fn loads_are_verified_by_default() {
    // Too many rows to verify in 11 warehouses of full size, but not in those of a hundredth.
    for (options, verified) in [
        ("--shrink 100 --scale 11", true),
        ("--shrink 100 --verify=off", false),
        ("--shrink 100 --tables 2 --verify=on", true),
    ] {
        let place = sqlite();
        let printed = place
            .dyno(&format!("prepare tpcc {options}"))
            .success()
            .stderr;
        assert_eq!(
            printed.contains(" conditions verified "),
            verified,
            "{printed}"
        );
        assert_eq!(
            printed.contains("not verified; use --verify=on"),
            !verified,
            "{printed}"
        );
        assert!(printed.contains("statistics "), "{printed}");
    }
    let place = sqlite();
    let output = place.dyno("prepare tpcc --verify=perhaps");
    assert!(
        output.stderr.contains("--verify must be auto, on or off"),
        "{output:?}"
    );
}
