//! Reports whose figures cannot all be true.

// Helpers of tests are not tests in clippy's eyes.
#![allow(clippy::unwrap_used)]

use dyno_import::{Log, Options, sysbench};

#[test]
fn figures_of_one_report_that_cannot_all_be_true_are_a_fact() {
    let fact = |text: &str| {
        let log = Log { name: "log", text };
        let mut imported = sysbench(&[log], None, None, &Options::default()).unwrap();
        let run = imported.runs.remove(0);
        run.fact("import.contradictions").map(str::to_owned)
    };
    let log = include_str!("../fixtures/consistent.out");
    assert_eq!(fact(log), None);
    for (true_text, changed, told) in [
        (
            "(100.00 per",
            "(200.00 per",
            "6000 transactions at 200.00 per second take 30.0 s",
        ),
        ("  40.00", "  4.00", "but the report says 4.00 ms"),
        (
            "60.0000s",
            "30.0000s",
            "says 30.0 s, but its counts and rates imply 60.0 s",
        ),
        ("   120000\n", "   130000\n", "but the total says 130000"),
        (
            "  60.00\n",
            "  9999.00\n",
            "the 95th percentile of the latencies, 9999.00 ms, is above the maximum, 90.00 ms",
        ),
        (
            "  10.00\n",
            "  50.00\n",
            "the minimum of the latencies, 50.00 ms, is above the mean, 40.00 ms",
        ),
        (
            "1500.0000/10.00",
            "3.0000/10.00",
            "4 threads with 3.0 events each make 12, but the report says 6000",
        ),
        (
            "(2000.00 per sec.)\n",
            "(2000.00 per sec.)\n    ignored errors: 0 (50000.00 per sec.)\n",
            "0 ignored errors in 60.0 s are 0.00 per second, but the report says 50000.00",
        ),
    ] {
        let text = log.replacen(true_text, changed, 1);
        let found = fact(&text).unwrap_or_else(|| panic!("{changed}: nothing"));
        assert!(found.contains(told), "{changed}: {found}");
    }
    // Without the sum of latencies the threads' times tell.
    let old = log.replacen("  40.00", "  4.00", 1);
    let old = old.replacen(
        "         sum:                               240000.00\n",
        "",
        1,
    );
    let found = fact(&old).unwrap();
    assert!(found.contains("make a mean of 40.00 ms"), "{found}");
}
