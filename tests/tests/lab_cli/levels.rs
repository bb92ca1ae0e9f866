//! Levels, tables and plots of an experiment, on real servers.

use super::common::{Lab, has, status, write};
use super::whole::at_trial_scale;

#[test]
fn an_index_on_an_expression_changes_the_servers_plan() {
    let report = at_trial_scale("functional-index", 10);
    for expected in [
        "plan differs between levels for",
        "Plans of statements",
        "Bitmap Heap Scan produ",
        "variant=index on month",
        "variant=index on colum",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn files_and_columns_are_encrypted_by_a_key_in_a_file_of_the_server() {
    let report = at_trial_scale("encryption", 4);
    for expected in ["files=encrypted", "column=aes", "TLS on connections"] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn loads_a_server_through_a_proxy() {
    // Without HAProxy, the error comes before anything is started.
    let has_proxy = ["/usr/sbin/haproxy", "/usr/local/sbin/haproxy"]
        .iter()
        .any(|path| std::path::Path::new(path).exists());
    if !has_proxy {
        let lab = Lab::new();
        let file = super::whole::experiments().join("proxy-and-price.toml");
        let output = lab
            .dyno(&format!("lab run {} --scale trial", file.display()))
            .failure(2);
        has(&output, &["install the package haproxy"]);
        assert!(!lab.servers().exists());
        return;
    }
    let report = at_trial_scale("proxy-and-price", 4);
    for expected in [
        "path=proxy",
        "Cost of a month, $",
        "650.00",
        "Scaling over size",
        "Ratios within pairs of path",
    ] {
        assert!(report.contains(expected), "{expected}: {report}");
    }
}

#[test]
fn checks_that_a_server_has_preloaded_its_libraries() {
    let lab = Lab::new();
    write(
        &lab,
        "preload.toml",
        "experiment = 1\nquestion = '?'\n[server]\nkind = 'mariadb'\n\
         environment = { LD_PRELOAD = 'libmissing.so.7' }\n\
         [data]\nworkload = 'oltp_point_select'\noptions = { tables = 1, table_size = 100 }\n\
         [load]\nworkload = 'oltp_point_select'\ntime = '0.5s'\nwarmup = '0s'\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1]\n",
    );
    let output = lab.dyno("lab run preload.toml").failure(1);
    has(
        &output,
        &["has not loaded libmissing.so.7, which LD_PRELOAD"],
    );
}

/// A cheap experiment on SQLite.
const SMALL: &str = "experiment = 1
question = 'How do sessions scale?'
[server]
url = 'sqlite:small.db'
[data]
workload = 'oltp_point_select'
options = { tables = 1, table_size = 1000 }
[load]
workload = 'oltp_point_select'
warmup = '0s'
time = '2s'
[[factor]]
name = 'size'
applies = 'client'
levels = [{ name = 'a', price = 'small' }, { name = 'b', price = 'large' }]
[[factor]]
name = 'sessions'
applies = 'client'
levels = [1, 2, 3, 4]
[design]
repeats = 1
";

#[test]
fn the_report_has_plots_prices_and_scaling_laws() {
    let lab = Lab::new();
    let more = "[price]\ndate = 2026-01-01\nsmall = { on_demand = 0.1 }\n\
         large = { on_demand = 0.2, gb = 100, per_gb_month = 0.1 }\n\
         [[table]]\nkind = 'cost'\n[[table]]\nkind = 'scaling'\nover = 'sessions'\n\
         [[plot]]\nkind = 'jitter'\nx = 'sessions'\ncolour = 'size'\n\
         [[plot]]\nkind = 'box'\nfigure = 'p50'\nx = 'sessions'\n\
         [[plot]]\nkind = 'time'\nline = 'size'\npanel = 'sessions'\n\
         [[plot]]\nkind = 'ladder'\nline = 'size'\npanels = ['rate', 'ratio']\n\
         [[plot]]\nkind = 'time'\nseries = 'data.nothing'\n";
    write(&lab, "small.toml", &(SMALL.to_owned() + more));
    lab.dyno("lab run small.toml").success();
    let output = lab.dyno("lab report small.toml").success();
    has(
        &output,
        &[
            "Cost of a month, $",
            "Prices of 2026-01-01",
            "73.00",
            "Universal Scalability Law of size a: contention",
            "no trial has a series 'data.nothing'",
        ],
    );
    // Each effect has an answer within a margin.
    let effects = |options: &str| -> (serde_json::Value, Vec<serde_json::Value>) {
        let line = format!("lab report small.toml {options} --json");
        let text = lab.dyno(&line).success().stdout;
        let report: serde_json::Value = serde_json::from_str(&text).unwrap();
        let effects = report["effects"].as_array().unwrap().clone();
        (report, effects)
    };
    let (report, tested) = effects("--equivalent 2%");
    let answers = report["answer"].as_array().unwrap();
    assert!(!tested.is_empty(), "{report:#}");
    for effect in tested {
        assert!(effect.get("equivalence").is_some(), "{effect}");
        let level = format!("{}: ", effect["level"].as_str().unwrap());
        let mut answers = answers.iter().filter_map(serde_json::Value::as_str);
        let answer = answers.find(|answer| answer.starts_with(&level)).unwrap();
        let words = ["the same within 2 %", "different", "undecided"];
        let begins = |word: &&str| answer.starts_with(&format!("{level}{word}"));
        assert!(words.iter().any(begins), "{answer}");
    }
    let (_, plain) = effects("");
    assert!(
        plain
            .iter()
            .all(|effect| effect.get("equivalence").is_none())
    );
    let wrong = lab.dyno("lab report small.toml --equivalent two");
    has(&wrong.failure(2), &["is not a percentage above 0"]);
    // Another price does not change the trials.
    let dearer = (SMALL.to_owned() + more).replace("on_demand = 0.1", "on_demand = 0.3");
    write(&lab, "small.toml", &dearer);
    has(&lab.dyno("lab report small.toml").success(), &["219.00"]);
    let page = std::fs::read_to_string(lab.path("small.html")).unwrap();
    // Seconds, box plots, four panels over time, and two plots of ladders.
    for number in 1..=8 {
        assert!(
            page.contains(&format!("data-chart=\"plot-{number}\"")),
            "{number}"
        );
    }
    assert!(!page.contains("data-chart=\"plot-9\""));
}

#[test]
fn reports_impossible_plots_prices_and_searches() {
    let lab = Lab::new();
    for (more, expected) in [
        (
            "[[plot]]\nkind = 'jitter'\nx = 'sesions'\n",
            "'sesions' is not a factor",
        ),
        (
            "[[plot]]\nkind = 'ladder'\nfigure = 'median_rat'\n",
            "'median_rate'",
        ),
        ("[[plot]]\nkind = 'jiter'\n", "did you mean 'jitter'?"),
        ("[observe]\ndata_size = '1s'\n", "unknown key 'data_size'"),
        ("", "[price] has no 'small'"),
    ] {
        let price = match expected.contains("[price]") {
            true => "",
            false => {
                "[price]\ndate = 2026-01-01\nsmall = { monthly = 1 }\nlarge = { monthly = 2 }\n"
            }
        };
        write(&lab, "x.toml", &format!("{SMALL}{price}{more}"));
        has(&lab.dyno("lab plan x.toml").failure(2), &[expected]);
    }
    for (search, expected) in [
        ("max sessions with p99 < 10ms", "so it cannot be a factor"),
        ("max rate with p99 < 10", "write e.g."),
        ("p99 < 10ms", "no search; expected for example"),
    ] {
        let text = SMALL.replace("[server]", &format!("search = '{search}'\n[server]"));
        let text = text
            .replace(", price = 'small'", "")
            .replace(", price = 'large'", "");
        write(&lab, "x.toml", &text);
        has(
            &lab.dyno("lab plan x.toml").failure(2),
            &["x.toml:", expected],
        );
    }
}

#[test]
fn a_search_at_each_level_finds_the_limit_of_a_server_with_little_cpu() {
    let lab = Lab::new();
    let text = "experiment = 1\nquestion = 'Which rate does each share of a CPU carry?'\n\
         search = 'max rate with p75 < 400ms'\n[server]\nkind = 'mariadb'\n\
         [data]\nworkload = 'oltp_read_only'\noptions = { tables = 1, table_size = 1000 }\n\
         [load]\nworkload = 'oltp_read_only'\nwarmup = '0.1s'\ntime = '0.5s'\n\
         [[factor]]\nname = 'cpus'\napplies = 'start'\nlevels = [\
         { name = 'tenth', host = { cpus = 0.1 } }, { name = 'third', host = { cpus = 0.3 } }]\n\
         [design]\nrepeats = 1\n";
    write(&lab, "limit.toml", text);
    lab.dyno("lab run limit.toml --quiet").success();
    let state = status(&lab, "limit.toml");
    let found: Vec<String> = state["trials"]
        .as_array()
        .unwrap()
        .iter()
        .map(|trial| trial["done_before"].to_string())
        .collect();
    assert!(
        found
            .iter()
            .all(|found| found.contains("/s keeps p75 < 400 ms")),
        "{found:?}"
    );
    let report = lab.dyno("lab report limit.toml --json").success().stdout;
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let offered = |level: &str| -> f64 {
        let mut trials = report["trials"].as_array().unwrap().iter();
        let own = trials
            .find(|trial| trial["levels"]["cpus"] == level)
            .unwrap();
        // The figures that a limit needs are recorded with the run, whatever runs record by
        // default.
        assert!(own["figures"][""]["p75"].is_number(), "{own}");
        own["figures"][""]["offered"].as_f64().unwrap()
    };
    // With three times the CPU, the server handles about three times the load on any machine.
    let ratio = offered("third") / offered("tenth");
    assert!((1.8..5.0).contains(&ratio), "{ratio}: {report:#}");
    has(
        &lab.dyno("lab report limit.toml").success(),
        &[
            "The max rate with p75 < 400ms",
            "rate that keeps the promise",
        ],
    );
}

#[test]
fn trials_of_several_phases_have_a_row_for_each() {
    let lab = Lab::new();
    write(
        &lab,
        "steps.toml",
        "experiment = 1\nquestion = 'What do indexes cost?'\n[server]\nurl = 'sqlite:s.db'\n\
         [data]\nworkload = 'insert_benchmark'\noptions = { variant = '2023', rows = 2000, \
         write_rows = 2000, steps = 'i0,x,i1', settle = '0' }\n\
         [load]\nworkload = 'insert_benchmark'\nclients = 1\ntime = '1s'\n\
         [[factor]]\nname = 'table'\napplies = 'client'\nlevels = [{ name = 'first' }, \
         { name = 'second' }]\n[design]\nrepeats = 1\n[reset]\ndata = 'restore'\n\
         [[table]]\nkind = 'phases'\n",
    );
    lab.dyno("lab run steps.toml").success();
    let output = lab.dyno("lab report steps.toml").success();
    has(
        &output,
        &["Phases: rate", "first", "second", "l.i0", "l.i1", "1.00"],
    );
}

#[test]
fn reports_output_of_the_server_and_commands_during_the_load() {
    let lab = Lab::new();
    write(
        &lab,
        "slow.toml",
        "experiment = 1\nquestion = 'What does the slow log cost?'\n[server]\nkind = 'mariadb'\n\
         [data]\nworkload = 'oltp_point_select'\noptions = { tables = 1, table_size = 100 }\n\
         [load]\nworkload = 'oltp_point_select'\nwarmup = '0.2s'\ntime = '1s'\n\
         [[factor]]\nname = 'watch'\napplies = 'online'\nlevels = [\
         { name = 'nothing' }, \
         { name = 'slow log', set = { long_query_time = 0, slow_query_log = true }, output = \
         { file = '@@slow_query_log_file', count = \"grep -c '^# Query_time' {file}\" } }, \
         { name = 'clock', command = \"sh -c 'while :; do date; sleep 0.01; done > {out}/times'\", \
         output = { file = '{out}/times' } }]\n\
         [design]\nrepeats = 1\n[[table]]\nkind = 'captured'\n",
    );
    lab.dyno("lab run slow.toml").success();
    let state = status(&lab, "slow.toml")["trials"].to_string();
    let captured: Vec<&str> = state.split("captured: ").skip(1).collect();
    assert_eq!(captured.len(), 2, "{state}");
    let report = lab.dyno("lab report slow.toml --csv t").success();
    has(&report, &["Captured during the load", "slow log", "clock"]);
    let csv = std::fs::read_to_string(lab.path("t/01-captured-during-the-load.csv")).unwrap();
    let slow = csv
        .lines()
        .find(|line| line.starts_with("slow log"))
        .unwrap();
    let cells: Vec<f64> = slow
        .split(',')
        .skip(1)
        .map(|cell| cell.parse().unwrap())
        .collect();
    // Nearly all statements that were executed are in its log.
    assert!(cells[1] > 0.0 && cells[2] > 100.0, "{slow}");
    assert!((90.0..101.0).contains(&cells[3]), "{slow}");
    lab.wait_for_nobody();
    // A command that does not run during the whole load makes its trial fail.
    let text = std::fs::read_to_string(lab.path("slow.toml")).unwrap();
    let text = text.replace(
        "sh -c 'while :; do date; sleep 0.01; done > {out}/times'",
        "false",
    );
    write(&lab, "short.toml", &text);
    let output = lab.dyno("lab run short.toml").failure(1);
    has(&output, &["the command 'false' ended immediately"]);
}
