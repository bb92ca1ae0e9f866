//! Experiments whose trials run as duets.

use dyno_core::units::human_number;
use serde_json::Value;

use super::common::{Lab, has, runs_by_trial, write};

#[test]
fn servers_of_both_levels_run_at_the_same_time() {
    let lab = Lab::new();
    write(
        &lab,
        "sync.toml",
        "experiment = 1\nquestion = 'What does a durable commit cost?'\n\
         [server]\nkind = 'postgresql'\n\
         [data]\nworkload = 'oltp_update_non_index'\noptions = { tables = 1, table_size = 500 }\n\
         [load]\nworkload = 'oltp_update_non_index'\nsessions = 2\nwarmup = '0.5s'\ntime = '22s'\n\
         [[factor]]\nname = 'sync'\napplies = 'start'\nsetting = 'synchronous_commit'\n\
         levels = ['on', 'off']\n[design]\nduet = 'sync'\n",
    );
    has(
        &lab.dyno("lab plan sync.toml").success(),
        &["both levels of sync run as a duet, in turns"],
    );
    let run = lab.dyno("lab run sync.toml").success();
    has(&run, &["[2/2] sync=on, repeat 1 against sync=off: B is"]);
    let runs = runs_by_trial(&lab);
    assert_eq!(runs.len(), 2, "{runs:?}");
    let report = lab.dyno("lab report sync.toml --json").success().stdout;
    let report: Value = serde_json::from_str(&report).unwrap();
    let effect = &report["effects"][0];
    assert_eq!(effect["level"], "sync=off", "{report:#}");
    assert_eq!(effect["interval"], "from within single trials");
    let number = |name: &str| effect[name].as_f64().unwrap();
    assert!(number("low") > 1.0, "{effect}");
    // The figures of a side are those of the slices in which it worked.
    let rate = |trial: usize| {
        let figures = &report["trials"][trial]["figures"][""];
        figures["rate"].as_f64().unwrap()
    };
    let ratio = rate(1) / rate(0);
    assert!((ratio / number("ratio") - 1.0).abs() < 1e-9, "{report:#}");
    // The same in the table and the status, and only the runs include the time that they waited.
    let shown = human_number(rate(0), 0);
    has(
        &lab.dyno("lab report sync.toml").success(),
        &[&format!("on {shown} "), "its rate is about half"],
    );
    has(
        &lab.dyno("lab status sync.toml").success(),
        &[&format!("on done {shown}/s, p99 ")],
    );
    for line in ["table --rows sync", "compare 1 2"] {
        has(
            &lab.dyno(line).success(),
            &["waited while the other side worked"],
        );
    }
    // A run says which part of the time it had.
    let shown = lab.dyno("show 1").success();
    has(
        &shown,
        &["This is side A of a duet", "A and B are the runs"],
    );
    lab.wait_for_nobody();
    has(&lab.dyno("server list").success(), &["no servers"]);
}
