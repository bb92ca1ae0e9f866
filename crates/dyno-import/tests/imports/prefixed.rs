//! Logs whose lines have prefixes of other programs, read as without them.

use crate::common::{one, read, summary};
use dyno_core::record::RunRecord;
use dyno_import::Tool;
use dyno_samples::assert_has;

const LOGS: [(Tool, &str); 4] = [
    (Tool::Sysbench, text!("consistent.out")),
    (Tool::Sysbench, text!("fileio.out")),
    (Tool::Pgbench, text!("pgbench-rate.out")),
    (Tool::Hammerdb, text!("written-hammerdb.log")),
];

fn each(text: &str, prefixed: impl Fn(usize, &str) -> String) -> String {
    let lines = text.lines().enumerate();
    lines
        .map(|(index, line)| prefixed(index, line) + "\n")
        .collect()
}

/// A record, a minute after the one before it, of Docker's driver `json-file`.
fn record(index: usize, line: &str) -> String {
    let line = serde_json::to_string(&format!("{line}\n")).unwrap();
    let time = format!("2026-11-29T09:{index:02}:01.5Z");
    format!("{{\"log\":{line},\"stream\":\"stdout\",\"time\":\"{time}\"}}")
}

/// HammerDB's counts depend on the times of its lines, which the prefixes change.
fn figures(tool: Tool, run: &RunRecord) -> String {
    let own = summary(run);
    let totals = (tool != Tool::Hammerdb).then_some(&own.totals);
    format!("{:?} {totals:?} {:?}", own.rates, own.service)
}

#[test]
fn prefixes_do_not_change_the_figures_of_any_tool() {
    type Prefixed = fn(usize, &str) -> String;
    let kinds: [Prefixed; 9] = [
        |_, line| format!("Nov 29 09:30:01 {line}"),
        |_, line| format!("09:30:01 {line}"),
        |index, line| format!("[{:5}.250] {line}", index / 10),
        |index, line| format!("{:6}\t{line}", index + 1),
        |index, line| format!("2026-11-29T09:{index:02}:01.123456Z 00O {line}"),
        |_, line| format!("\u{1b}[33mweb_1  |\u{1b}[0m {line}"),
        |_, line| format!("Nov 29 09:30:01.123456 host bench[47]: {line}"),
        |index, line| {
            format!(
                "{}.000001 host bench[47]: {line}",
                1_795_944_448 + 60 * index
            )
        },
        record,
    ];
    for (tool, text) in LOGS {
        let plain = one(tool, text);
        for prefixed in kinds {
            let text = each(text, prefixed);
            let run = one(tool, &text);
            assert_eq!(figures(tool, &run), figures(tool, &plain), "{text}");
            assert_eq!(run.intervals.len(), plain.intervals.len(), "{text}");
        }
    }
}

#[test]
fn a_damaged_record_is_reported() {
    let text = each(text!("consistent.out"), record);
    let cut = &text[..text.trim_end().rfind('\n').unwrap() + 40];
    let imported = read(Tool::Sysbench, cut);
    let warnings: Vec<String> = imported.warnings.iter().map(ToString::to_string).collect();
    let lines = cut.lines().count();
    let expected = format!("log:{lines}: a truncated or damaged record of a log driver is skipped");
    assert_has(&warnings.join("\n"), &expected);
}
