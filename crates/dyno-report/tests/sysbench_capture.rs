//! A run of sysbench 1.0.20 (oltp_read_write on MariaDB, two threads, three seconds, a checkpoint
//! at the second), rebuilt from its numbers: every label, blank and column must be identical.

use dyno_core::summary::Fairness;
use dyno_report::sysbench::*;

const CAPTURED: &str = include_str!("sysbench-1.0.20.txt");

#[test]
fn a_captured_run_is_rebuilt_to_the_letter() {
    let mut text = start(&Startup {
        banner: "sysbench 1.0.20 (using system LuaJIT 2.1.0-beta3)",
        threads: 2,
        report_interval_s: 1,
        checkpoints_s: &[2],
        ..Startup::default()
    });
    text += &stage(StartupStep::Initializing);
    text += &stage(StartupStep::Started);
    text += &sql_line(&interval(1.0, [732, 10_360, 2939, 1472], 6, 0.004_25), 95);
    text += &checkpoint(2.0001);
    text += &cumulative(
        Stat {
            time_interval: 2.001_547,
            time_total: 2.0001,
            latency_pct: 0.004_03,
            latency_min: 0.000_87,
            latency_avg: 0.002_74,
            latency_max: 0.007_61,
            latency_sum: 3.992_19,
            ..counts([1456, 20_532, 5837, 2923], 9)
        },
        [728.0, 13.0, 1.9961, 0.0],
    );
    text += &sql_line(&interval(2.0, [722, 10_145, 2891, 1447], 3, 0.0), 95);
    text += &sql_line(&interval(3.0, [702, 9878, 2816, 1408], 4, 0.003_82), 95);
    text += &cumulative(
        Stat {
            time_interval: 1.003_929_5,
            time_total: 3.0042,
            latency_pct: 0.003_82,
            latency_min: 0.000_95,
            latency_avg: 0.002_85,
            latency_max: 0.007_21,
            latency_sum: 2.008_08,
            ..counts([704, 9890, 2821, 1410], 4)
        },
        [352.0, 10.0, 1.0040, 0.0],
    );
    // The counts behind the printed rates of intermediate lines are unknown, so only their shape is
    // compared.
    for (ours, theirs) in text.lines().zip(CAPTURED.lines()) {
        if theirs.contains("thds:") {
            assert_eq!(shape(ours), shape(theirs));
        } else {
            assert_eq!(ours, theirs);
        }
    }
    assert_eq!(text.lines().count(), CAPTURED.lines().count());
}

fn cumulative(stat: Stat, spread: [f64; 4]) -> String {
    let fairness = Fairness {
        events_mean: spread[0],
        events_stddev: spread[1],
        time_mean_s: spread[2],
        time_stddev_s: spread[3],
        ..Fairness::default()
    };
    sql_block(&stat) + &general_block(&stat, Some(&fairness), 95, Edition::Release)
}

fn interval(at_s: f64, events_and_queries: [u64; 4], errors: u64, latency_pct: f64) -> Stat {
    Stat {
        threads_running: 2,
        time_interval: 1.0,
        time_total: at_s,
        latency_pct,
        ..counts(events_and_queries, errors)
    }
}

fn counts([events, reads, writes, other]: [u64; 4], errors: u64) -> Stat {
    Stat {
        events,
        reads,
        writes,
        other,
        errors,
        ..Stat::default()
    }
}

/// The line with every number replaced by its number of decimals.
fn shape(line: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(from) = rest.find(|c: char| c.is_ascii_digit()) {
        out.push_str(&rest[..from]);
        let number = &rest[from..];
        let to = number
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(number.len());
        let decimals = number[..to].split_once('.').map_or(0, |(_, d)| d.len());
        out.push_str(&format!("<{decimals}>"));
        rest = &number[to..];
    }
    out + rest
}
