//! Imports logs of real runs of other tools than sysbench.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::run;
use dyno_tests::server::variable;
use dyno_tests::{Database, Kind};
use serde_json::Value;

use crate::common::{Lab, has};

/// Runs pgbench with its output and its transaction logs in a folder.
fn pgbench(database: &Database, folder: &Path, clients: u32) {
    fs::create_dir_all(folder).unwrap();
    let port = database.server.port.to_string();
    let program = format!("{}/pgbench", variable("DYNO_TEST_PG_BIN"));
    let base = ["-h", "127.0.0.1", "-p", &port, "-U", database.server.user()];
    let call = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        command
            .args(base)
            .args(arguments)
            .arg(&database.name)
            .current_dir(folder);
        run(&mut command, Duration::from_secs(60)).success()
    };
    call(&["-i", "-q"]);
    let clients = clients.to_string();
    let output = call(&["-c", &clients, "-j", "2", "-T", "5", "-P", "1", "-l"]);
    fs::write(folder.join("out.txt"), output.stderr + &output.stdout).unwrap();
}

/// The text that follows a label in pgbench's report.
fn printed(output: &str, label: &str) -> f64 {
    let line = output.lines().find(|line| line.starts_with(label)).unwrap();
    let value = line[label.len()..].trim_start_matches([' ', '=', ':']);
    value.split([' ', '/']).next().unwrap().parse().unwrap()
}

/// The latencies in all files of a folder, in microseconds and ascending order.
fn latencies(folder: &Path) -> Vec<u64> {
    let files = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let logs = files.filter(|path| path.to_string_lossy().contains("pgbench_log."));
    let texts: Vec<String> = logs.map(|path| fs::read_to_string(path).unwrap()).collect();
    assert_eq!(texts.len(), 2, "one for each thread");
    let lines = texts.iter().flat_map(|text| text.lines());
    let latency = |line: &str| line.split(' ').nth(2).unwrap().parse().unwrap();
    let mut all: Vec<u64> = lines.map(latency).collect();
    all.sort_unstable();
    all
}

#[test]
fn pgbench_to_the_last_digit() {
    let lab = Lab::new();
    let database = Database::new(Kind::Postgres);
    for clients in [2, 4] {
        pgbench(&database, &lab.path(&format!("logs/c{clients}")), clients);
    }
    lab.file("logs/c2/notes.txt", "not a log\n");
    let imported = lab
        .dyno("import pgbench logs --pattern 'c{clients}/out.txt'")
        .success();
    has(&imported, &["2 of 2 logs imported into", "2 new runs"]);
    for (number, clients) in [(1, 2), (2, 4)] {
        let folder = lab.path(&format!("logs/c{clients}"));
        let output = fs::read_to_string(folder.join("out.txt")).unwrap();
        let run = lab.json(&format!("show {number} --json"));
        assert_eq!(
            run["rates"]["events_per_s"].as_f64().unwrap(),
            printed(&output, "tps")
        );
        let all = latencies(&folder);
        let processed = printed(&output, "number of transactions actually processed");
        assert_eq!(all.len() as f64, processed);
        assert_eq!(run["totals"]["events"].as_f64().unwrap(), processed);
        assert_eq!(run["drive"]["sessions"], clients);
        let percentiles = run["service"]["percentiles"].as_array().unwrap();
        for (index, percent) in [(0, 50), (1, 95), (2, 99)] {
            let rank = (percent * all.len()).div_ceil(100);
            let ms = all[rank - 1] as f64 / 1e3;
            let percentile = &percentiles[index];
            assert_eq!(percentile["percent"], percent as f64);
            assert_eq!(percentile["value_ms"].as_f64(), Some(ms), "p{percent}");
        }
        // Unknown must not become 0: pgbench does not count statements.
        let gaps = run["not_observed"].as_array().unwrap();
        assert!(
            gaps.iter().any(|gap| gap["what"] == "counters.queries"),
            "{gaps:?}"
        );
        let seconds = run["intervals"].as_array().unwrap().iter();
        let events: u64 = seconds
            .map(|one| one["counters"]["events"].as_u64().unwrap())
            .sum();
        assert_eq!(events as f64, processed);
    }
    let table = lab.dyno("table --rows clients").success();
    has(&table, &["clients", "2", "4"]);
    let part = lab.json("show 1 --from 2s --to 4s --json");
    assert_eq!(part["measured_s"].as_f64(), Some(2.0));
    assert!(
        part["service"]["percentiles"][1]["value_ms"].is_number(),
        "{part}"
    );
    // The same logs cannot be imported twice.
    let again = lab
        .dyno("import pgbench logs --pattern 'c{clients}/out.txt'")
        .success();
    has(&again, &["0 new runs; 2 runs already imported"]);
}

#[test]
fn recognizes_a_files_tool_from_its_text() {
    let lab = Lab::new();
    let fixture = |name: &str| {
        let folder = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../crates/dyno-import/fixtures"
        );
        lab.file(
            name,
            &fs::read_to_string(format!("{folder}/{name}")).unwrap(),
        );
    };
    for name in [
        "fio-jsonplus.json",
        "written-hammerdb.log",
        "stamped.out",
        "sar.txt",
    ] {
        fixture(name);
    }
    let refused = |line: &str, expected: &str| has(&lab.dyno(line).failure(2), &[expected]);
    refused(
        "import fio-jsonplus.json",
        "looks like fio's JSON: dyno import fio fio-jsonplus.json",
    );
    refused(
        "import sar.txt",
        "sar.txt looks like a log of sar, which is not a benchmark",
    );
    refused(
        "import ycsb x",
        "'ycsb' is not one of the tools whose logs can be imported: sysbench",
    );
    let other = lab.dyno("import pgbench stamped.out").failure(1);
    has(&other, &["it looks like a log of sysbench"]);
    let fio = lab
        .dyno("import fio fio-jsonplus.json --sar sar.txt")
        .success();
    has(
        &fio,
        &[
            "109,073 /s 327,328 in all",
            "fsyncs 3,409 per second",
            "16,140 /s",
        ],
    );
    let run = lab.json("show 1 --json");
    assert_eq!(run["machine"]["figures"][0]["name"], "written");
    assert_eq!(run["drive"]["sessions"], 2);
    has(
        &lab.dyno("import hammerdb written-hammerdb.log").success(),
        &[
            "1,683 /s 505,015 in all",
            "new orders (NOPM): 43,912 per minute",
        ],
    );
    let export: Value = lab.json("export 3");
    assert_eq!(export["source"], "hammerdb");
}

#[test]
fn standard_error_by_itself_belongs_to_the_report() {
    let lab = Lab::new();
    let (progress, report) = ("progress.txt", "report.txt");
    lab.file(
        progress,
        "progress: 1.0 s, 10.0 tps, lat 1.0 ms stddev 0.1, 0 failed\n",
    );
    lab.file(
        report,
        "pgbench (15.18)\nnumber of clients: 2\nnumber of transactions actually processed: 10\n\
         tps = 10.5 (without initial connection time)\n",
    );
    lab.dyno(&format!("import pgbench {report} {progress}"))
        .success();
    let run = lab.json("show 1 --json");
    assert_eq!(run["intervals"].as_array().unwrap().len(), 1);
    assert_eq!(run["rates"]["events_per_s"], 10.5);
}
