//! Experiments from the file to the report.

use std::path::PathBuf;

use super::common::{Lab, has, runs_by_trial, status, write};

/// The folder of the experiments that come with Dyno.
pub(crate) fn experiments() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../experiments")
}

/// Runs one of them with `--scale trial`, and returns its report.
pub(crate) fn at_trial_scale(name: &str, trials: usize) -> String {
    let lab = Lab::new();
    let file = experiments().join(format!("{name}.toml"));
    let file = file.display();
    let output = lab.dyno(&format!("lab run {file} --scale trial")).success();
    has(&output, &[&format!("all {trials} trials done")]);
    let runs = runs_by_trial(&lab);
    assert_eq!(
        (runs.len(), runs.values().sum::<usize>()),
        (trials, trials),
        "{runs:?}"
    );
    lab.wait_for_nobody();
    let again = format!("lab resume {file} --scale trial -q");
    has(
        &lab.dyno(&again).success(),
        &[&format!("all {trials} trials done"), "the answer: dyno lab"],
    );
    lab.wait_for_nobody();
    lab.dyno(&format!("lab report {file} --scale trial"))
        .success()
        .stdout
}

#[test]
fn doublewrite_and_binlog_run_whole() {
    let report = at_trial_scale("doublewrite-and-binlog", 4);
    for expected in [
        "doublewrite=on",
        "binlog=on",
        "the binary log costs",
        "Resources per event",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn ways_to_a_server_run_whole() {
    let report = at_trial_scale("socket-and-tcp", 6);
    for expected in ["path=tcp", "path=tls", "socket"] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn three_servers_run_whole() {
    let report = at_trial_scale("mysql-and-postgresql", 6);
    for part in ["engine=postgresql", "engine=mariadb", "mysql"] {
        assert!(report.contains(part), "{part}: {report}");
    }
}

#[test]
fn every_experiment_can_be_planned_or_reports_what_is_missing() {
    let lab = Lab::new();
    let mut planned = 0;
    for file in experiments().read_dir().unwrap() {
        let file = file.unwrap().path();
        // Some experiments have a script in the same folder.
        if file.extension().is_none_or(|extension| extension != "toml") {
            continue;
        }
        let plan = lab.dyno(&format!("lab plan {} --scale laptop", file.display()));
        match plan.status.success() {
            true => planned += 1,
            // The tools for some file systems may be missing.
            false => assert!(
                plan.stderr.contains("mkfs.") || plan.stderr.contains("package haproxy"),
                "{}: {}",
                file.display(),
                plan.stderr
            ),
        }
    }
    assert!(planned >= 14, "{planned}");
    assert!(!lab.servers().exists());
}

#[test]
fn an_experiment_on_a_real_server_answers_its_question() {
    let lab = Lab::new();
    write(
        &lab,
        "flush.toml",
        "experiment = 1\nquestion = 'What does a sync per commit cost?'\n[server]\n\
         kind = 'mariadb'\n[server.set]\ninnodb_buffer_pool_size = '64M'\n\
         [data]\nworkload = 'oltp_write_only'\noptions = { tables = 1, table_size = 1000 }\n\
         [load]\nworkload = 'oltp_write_only'\nsessions = 4\nwarmup = '0.2s'\ntime = '1s'\n\
         [[factor]]\nname = 'flush'\napplies = 'start'\n\
         setting = 'innodb_flush_log_at_trx_commit'\nlevels = [0, 1]\n\
         [[factor]]\nname = 'pad'\napplies = 'online'\nsetting = 'max_connect_errors'\n\
         verify = 'SELECT @@GLOBAL.max_connect_errors'\nlevels = [100, 200]\n\
         [design]\nrepeats = 3\nbaseline = { flush = 0 }\n[reset]\ndata = 'restore'\n\
         [[claim]]\ntext = 'a sync is not free'\n\
         check = { ratio = 'rate', of = { flush = 1 }, below = 50 }\n",
    );
    let plan = lab.dyno("lab plan flush.toml").success();
    has(
        &plan,
        &[
            "4 cells in 3 blocks, 12 trials",
            "1 image of data, 12 restores, 12 starts",
            "mariadb 10.11",
        ],
    );
    assert!(!lab.path("dyno.db").exists() && !lab.servers().exists());
    let output = lab.dyno("lab run flush.toml").success();
    has(&output, &["[12/12]", "all 12 trials done"]);
    let state = status(&lab, "");
    let before = state["trials"][0]["done_before"].to_string();
    assert!(before.contains("data restored"), "{before}");
    assert!(
        before.contains("SELECT @@GLOBAL.max_connect_errors gives"),
        "{before}"
    );
    let output = lab.dyno("lab report --csv tables").success();
    has(
        &output,
        &[
            "What does a sync per commit cost?",
            "12 of 12 trials done",
            "a sync is not free",
            "agrees",
            "Effects on the rate",
            "flush=1",
        ],
    );
    let page = std::fs::read_to_string(lab.path("flush.html")).unwrap();
    assert!(page.contains("What does a sync per commit cost?") && page.contains("agrees"));
    assert!(lab.path("tables").read_dir().unwrap().count() >= 3);
    lab.wait_for_nobody();
}

#[test]
fn refuses_a_trial_if_the_server_clamps_a_setting() {
    let lab = Lab::new();
    write(
        &lab,
        "clamped.toml",
        "experiment = 1\nquestion = '?'\n[server]\nkind = 'mariadb'\n\
         [data]\nworkload = 'oltp_read_only'\noptions = { tables = 1, table_size = 100 }\n\
         [load]\nworkload = 'oltp_read_only'\ntime = '0.5s'\nwarmup = '0s'\n\
         [[factor]]\nname = 'cache'\napplies = 'start'\nsetting = 'table_open_cache'\n\
         levels = [1, 400]\n",
    );
    let output = lab.dyno("lab run clamped.toml").failure(1);
    has(
        &output,
        &["failed: cache=1", "the server has 10", "1 of 2 trials done"],
    );
    let state = status(&lab, "clamped.toml");
    assert_eq!(
        (state["done"].as_u64(), state["failed"].as_u64()),
        (Some(1), Some(1)),
        "{state}"
    );
}

#[test]
fn limits_and_file_systems_are_levels() {
    let lab = Lab::new();
    write(
        &lab,
        "size.toml",
        "experiment = 1\nquestion = 'What do CPUs give?'\n[server]\nkind = 'postgresql'\n\
         [data]\nworkload = 'oltp_point_select'\noptions = { tables = 1, table_size = 1000 }\n\
         [load]\nworkload = 'oltp_point_select'\nsessions = 4\nwarmup = '0.5s'\ntime = '3s'\n\
         [[factor]]\nname = 'size'\napplies = 'start'\nlevels = [\
         { name = 'small', host = { cpus = 0.1 } }, { name = 'large', host = { cpus = 1.0 } }]\n\
         [[factor]]\nname = 'fs'\napplies = 'place'\nsize = '400M'\nlevels = [\
         { name = 'ext4', fs = 'ext4', mount = 'noatime' }, { name = 'plain' }]\n\
         [reset]\ndata = 'restore'\npage_cache = 'drop'\n\
         settle = { until = 'quiet', at_most = '3s' }\n\
         [[claim]]\ntext = 'a tenth of the CPU gives less than half'\n\
         check = { ratio = 'rate', of = { size = 'small' }, to = { size = 'large' }, \
         below = 0.5 }\n",
    );
    let run = lab.dyno("lab run size.toml").success();
    // One image is loaded, and the other place gets a copy of it.
    assert_eq!(
        run.stderr.matches("data loaded and kept").count(),
        1,
        "{}",
        run.stderr
    );
    let state = status(&lab, "");
    let before = state["trials"].to_string();
    for done in ["cpu.", "page cache", "quiet after"] {
        assert!(before.contains(done), "{done}: {before}");
    }
    has(&lab.dyno("lab report").success(), &["a tenth of the CPU"]);
    let report = lab.dyno("lab report --json").success().stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let effects = report["effects"].as_array().unwrap();
    let size = effects
        .iter()
        .find(|effect| effect["level"] == "size=large")
        .unwrap();
    assert!(size["ratio"].as_f64().unwrap() > 1.5, "{size}");
    lab.wait_for_nobody();
    assert!(
        lab.servers()
            .read_dir()
            .is_ok_and(|mut left| left.next().is_none())
    );
}
