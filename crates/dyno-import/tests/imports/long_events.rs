//! Logs of sessions in step, whose events take longer than an interval.

// Clippy does not treat test helpers as tests.

use crate::common::one;
use dyno_import::Tool;

/// Three busy intervals and an idle one in turn, without a report, with this latency.
fn waves(tool: Tool, busy_ms: f64) -> String {
    let line = |second: u32| {
        let (tps, ms) = match second % 4 {
            1 => (0.0, 0.0),
            _ => (64.0, busy_ms),
        };
        match tool {
            Tool::Pgbench => {
                format!("progress: {second}.0 s, {tps:.1} tps, lat {ms:.3} ms stddev 0.000\n")
            }
            _ => format!(
                "[ {second}s ] thds: 64 tps: {tps:.2} qps: {tps:.2} (r/w/o: {tps:.2}/0.00/0.00) \
                 lat (ms,95%): {ms:.2} err/s: 0.00 reconn/s: 0.00\n"
            ),
        }
    };
    (1..=30).map(line).collect()
}

/// The same with sysbench's report.
fn whole(min_ms: f64, busy_ms: f64, max_ms: f64) -> String {
    let lines = waves(Tool::Sysbench, busy_ms);
    format!(
        "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)\n\n\
         Running the test with following options:\nNumber of threads: 64\n\n\
         Threads started!\n\n{lines}SQL statistics:\n    \
         queries performed:\n        \
         read:                            1408\n        \
         write:                           0\n        \
         other:                           0\n        \
         total:                           1408\n    \
         transactions:                        1408   (46.93 per sec.)\n    \
         queries:                             1408   (46.93 per sec.)\n\n\
         General statistics:\n    \
         total time:                          30.0000s\n    \
         total number of events:              1408\n\n\
         Latency (ms):\n         \
         min:                                  {min_ms:.2}\n         \
         avg:                                 1363.64\n         \
         max:                                 {max_ms:.2}\n         \
         95th percentile:                     {busy_ms:.2}\n         \
         sum:                              1920000.00\n\n\
         Threads fairness:\n    \
         events (avg/stddev):           22.0000/0.00\n    \
         execution time (avg/stddev):   30.0000/0.00\n"
    )
}

fn stalls(tool: Tool, log: &str) -> usize {
    let run = one(tool, log);
    assert_eq!(run.fact("import.contradictions"), None);
    dyno_analysis::stalls::of_run(&run).unwrap().stalls.len()
}

#[test]
fn long_events_are_not_stalls_in_a_truncated_log() {
    for tool in [Tool::Sysbench, Tool::Pgbench] {
        let stalls = |busy_ms: f64| stalls(tool, &waves(tool, busy_ms));
        assert_eq!((stalls(1304.21), stalls(104.21)), (0, 8));
    }
}

#[test]
fn a_few_short_events_among_long_ones_leave_no_stalls() {
    let stalls = |min_ms, busy_ms, max_ms| stalls(Tool::Sysbench, &whole(min_ms, busy_ms, max_ms));
    assert_eq!(stalls(1210.0, 1401.61, 1500.0), 0);
    assert_eq!(stalls(210.0, 1401.61, 1500.0), 0);
    // Most events are short: all sessions together should end some of them in each second.
    assert_eq!(stalls(210.0, 3982.86, 9000.0), 8);
}
