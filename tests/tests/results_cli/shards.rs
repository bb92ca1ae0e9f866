//! One run that is shared by several load generators.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::clock::wall_time;

use crate::common::Lab;

/// Prints the session, the number of sessions, a random number, and a unique number.
const SCRIPT: &str = "\
function event()
  io.stderr:write(string.format('did %d %d %d %d\\n', sysbench.tid, sysbench.opt.threads,
    sysbench.rand.uniform(1, 1000000000), sysbench.rand.unique()))
end
";

/// The printed lines, split into words.
fn printed_lines(text: &str) -> Vec<Vec<String>> {
    let lines = text.lines().filter_map(|line| line.strip_prefix("did "));
    let words = |line: &str| line.split(' ').map(str::to_owned).collect();
    lines.map(words).collect()
}

#[test]
fn the_parts_are_the_whole() {
    let lab = Lab::new();
    let script = lab.file("who.lua", SCRIPT);
    let line =
        format!("run {script} -c 7 --events 100 -t 60s --warmup 0 --seed 5 --calibrate never");
    let whole = printed_lines(&lab.dyno(&line).success().stderr);
    assert_eq!(whole.len(), 100);
    let parts: Vec<Vec<Vec<String>>> = (1..=3)
        .map(|part| {
            printed_lines(
                &lab.dyno(&format!("{line} --shard {part}/3"))
                    .success()
                    .stderr,
            )
        })
        .collect();
    assert_eq!([34, 33, 33], [0, 1, 2].map(|part: usize| parts[part].len()));
    // How far each session gets is random, but its first draw is not.
    let mut first = BTreeMap::new();
    for row in &whole {
        first.entry(row[0].clone()).or_insert(row[2].clone());
    }
    let mut unique = BTreeSet::new();
    for (part, rows) in parts.iter().enumerate() {
        let mut seen = BTreeSet::new();
        for row in rows {
            let session: usize = row[0].parse().unwrap();
            assert_eq!((session % 3, row[1].as_str()), (part, "7"));
            assert!(unique.insert(row[3].clone()), "twice: {}", row[3]);
            if seen.insert(session) {
                assert_eq!(first.get(&row[0]).unwrap_or(&row[2]), &row[2]);
            }
        }
    }
    let run = lab.json("show 2 --json");
    assert_eq!(run["drive"]["sessions"], 3);
    assert_eq!(run["drive"]["shard"]["of"], 3);
}

#[test]
fn a_run_begins_at_the_requested_instant() {
    let lab = Lab::new();
    let script = lab.file("nothing.lua", "function event() end");
    let line = format!("run {script} -t 1s --warmup 1s --calibrate never --quiet");
    let at = wall_time().as_secs_f64().ceil() + 3.0;
    lab.dyno(&format!("{line} --begin-at {at}")).success();
    let started: f64 = lab.sql("SELECT started_unix_s FROM run")[0][0]
        .parse()
        .unwrap();
    assert!((started - at - 1.0).abs() < 0.05, "{started} for {at}");
    let late = lab.dyno(&format!("{line} --begin-at 2020-01-01T00:00:00Z"));
    assert_eq!(late.status.code(), Some(2));
    assert!(late.stderr.contains("give a later instant"), "{late:?}");
    let unlike = lab.dyno(&format!("{line} --shard 1/2"));
    assert_eq!(unlike.status.code(), Some(2));
    assert!(unlike.stderr.contains("--seed"), "{unlike:?}");
    let elsewhere = lab.dyno("prepare oltp_read_only --shard 1/2 --seed 3");
    assert!(
        elsewhere.stderr.contains("is an option of dyno run"),
        "{elsewhere:?}"
    );
}
