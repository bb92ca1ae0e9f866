//! Figures of sysbench's tests of the host that break a law.

use crate::common::summary;
use crate::sysbench_laws::{broken, log};
use dyno_samples::assert_has;

#[test]
fn requests_of_a_file_test_are_its_events() {
    let log = text!("fileio.out");
    let log = log
        .replace("14370.35", "24370.35")
        .replace("224.54", "380.79");
    let run = broken(
        &log,
        "21555.53 reads + 24370.35 writes + 1438.7 syncs = 47364.58, but the log",
    );
    for name in ["reads_per_s", "fsyncs_per_s", "written_mib_per_s"] {
        assert_eq!(run.fact(&format!("import.fileio.{name}")), None, "{name}");
    }
    assert_has(
        run.fact("import.contradictions").unwrap(),
        "the intervals contain about 676 MiB written, but 380.79 MiB/s in the report are 1146",
    );
}

/// A file test of sysbench 0.4: 4,500 requests of 16 KiB in 50 s.
const OLD_FILES: &str = "\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2

16 files, 8Mb each
Block size 16Kb
Doing random r/w test
Threads started!
Done.

Operations performed:  3000 Read, 1500 Write, 720 Other = 5220 Total
Read 46.875Mb  Written 23.438Mb  Total transferred 70.312Mb  (1.4062Mb/sec)
   90.00 Requests/sec executed

Test execution summary:
    total time:                          50.0020s
    total number of events:              4500
    total time taken by event execution: 81.0000
    per-request statistics:
         min:                                  0.02ms
         avg:                                 18.00ms
         max:                                310.00ms

Threads fairness:
    events (avg/stddev):           2250.0000/5.00
    execution time (avg/stddev):   40.5000/0.10
";

#[test]
fn old_file_tests_obey_their_laws() {
    let (imported, warnings) = log(OLD_FILES);
    let run = &imported.runs[0];
    assert_eq!(warnings, "");
    assert_eq!(run.fact("import.fileio.read_mib_per_s"), Some("0.937"));
    assert_eq!(run.fact("import.fileio.written_mib_per_s"), Some("0.469"));
    for (figure, by, expected, left_out) in [
        (
            "90.00 Requests",
            "117.00 Requests",
            "4500 events in 50.0 s are 90.00 per second, but the log says 117.00; it is left out",
            "requests_per_s",
        ),
        (
            "3000 Read",
            "3900 Read",
            "3900 reads + 1500 writes + 720 others = 6120, but the log says 5220 operations",
            "reads",
        ),
        (
            "3000 Read",
            "3900 Read",
            "3900 reads + 1500 writes = 5400, but the log says 4500 events",
            "writes",
        ),
        (
            "46.875Mb",
            "60.938Mb",
            "60.938 MiB read + 23.438 MiB written = 84.376, but the log says 70.312 MiB",
            "written_mib_per_s",
        ),
        (
            "46.875Mb",
            "60.938Mb",
            "3000 reads of 16.00 KiB make 46.88 MiB, but the report says 60.94",
            "read_mib_per_s",
        ),
    ] {
        let run = broken(&OLD_FILES.replace(figure, by), expected);
        assert_eq!(
            run.fact(&format!("import.fileio.{left_out}")),
            None,
            "{expected}"
        );
    }
    let rate = OLD_FILES.replace("(1.4062Mb", "(1.8281Mb");
    broken(
        &rate,
        "70.312 MiB in 50.0 s are 1.41 per second, but the log says 1.83",
    );
}

/// A memory test of sysbench 0.4: 2,048,000 operations of 2 KiB in 40 s.
const OLD_MEMORY: &str = "\
sysbench 0.4.12:  multi-threaded system evaluation benchmark

Running the test with following options:
Number of threads: 2

Doing memory operations speed test
Memory block size: 2K
Memory transfer size: 4000M
Threads started!
Done.

Operations performed: 2048000 (51200.00 ops/sec)

4000.00 MB transferred (100.00 MB/sec)

Test execution summary:
    total time:                          40.0000s
    total number of events:              2048000
    total time taken by event execution: 61.0000
    per-request statistics:
         min:                                  0.00ms
         avg:                                  0.03ms
         max:                                 14.00ms

Threads fairness:
    events (avg/stddev):           1024000.0000/90.00
    execution time (avg/stddev):   30.5000/0.10
";

#[test]
fn old_memory_tests_obey_their_laws() {
    let (imported, warnings) = log(OLD_MEMORY);
    assert_eq!(warnings, "");
    assert_eq!(summary(&imported.runs[0]).rates.events_per_s, 51_200.0);
    for (figure, by, expected) in [
        (
            "(51200.00",
            "(66560.00",
            "its counts and rates imply 30.8 s",
        ),
        (
            "2048000 (",
            "1433600 (",
            "1433600 operations, but 2048000 events",
        ),
        (
            "(100.00 MB",
            "(70.00 MB",
            "4000 MiB in 40.0 s are 100.00 per second, but the log says 70.00",
        ),
        (
            "(100.00 MB",
            "(70.00 MB",
            "51200.00 operations of 2.00 KiB per second make 100.00 MiB/s",
        ),
        (
            "4000.00 MB",
            "5200.00 MB",
            "2048000 operations of 2.00 KiB make 4000.00 MiB",
        ),
    ] {
        broken(&OLD_MEMORY.replace(figure, by), expected);
    }
    // Also if the size of a block is unknown.
    let sizeless = OLD_MEMORY.replace("Memory block size: 2K\n", "");
    let run = broken(
        &sizeless.replace("(100.00 MB", "(70.00 MB"),
        "4000 MiB in 40.0 s",
    );
    assert_eq!(run.fact("import.memory.mb_per_s"), None);
}
