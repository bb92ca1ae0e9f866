//! Logs that were written twice, and logs given to the wrong tool.

use crate::common::{self, log, summary};
use dyno_import::{Imported, Monitor, Options, Tool, import};
use dyno_samples::assert_has;

#[test]
fn logs_in_which_each_line_occurs_twice_are_read_once() {
    let doubled = |text: &str| -> String {
        let lines = text.split_inclusive('\n');
        lines.map(|line| line.repeat(2)).collect()
    };
    for (tool, text) in [
        (Tool::Hammerdb, text!("written-hammerdb.log")),
        (Tool::Sysbench, text!("consistent.out")),
        (Tool::Fio, text!("fio-jobs.json")),
    ] {
        let (once, twice) = (common::one(tool, text), common::read(tool, &doubled(text)));
        assert_has(
            &twice.warnings[0].to_string(),
            "each line of the log occurs twice",
        );
        assert_eq!(twice.runs.len(), 1);
        assert_eq!(twice.runs[0].head.name, once.head.name);
        assert_eq!(
            summary(&twice.runs[0]).rates.events_per_s,
            summary(&once).rates.events_per_s
        );
    }
    let iostat = doubled(text!("stamped-iostat.out"));
    let read = |text: &str| {
        let host = [(Monitor::Iostat, log(text))];
        let logs = [fixture!("stamped.out")];
        import(Tool::Sysbench, &logs, &host, &Options::default()).unwrap()
    };
    let (once, twice) = (read(text!("stamped-iostat.out")), read(&iostat));
    let series = |imported: &Imported| format!("{:?}", imported.runs[0].series);
    assert_eq!(series(&once), series(&twice));
}

#[test]
fn logs_given_to_the_wrong_tool_are_named() {
    let mpstat = "{\"sysstat\": {\"hosts\": [{\"statistics\": [{\"timestamp\": \"16:59:59\", \
                  \"cpu-load\": [{\"cpu\": \"all\", \"usr\": 1.0, \"idle\": 99.0}]}]}]}}\n";
    let sadf = mpstat.replace("\"16:59:59\"", "{\"time\": \"16:59:59\"}");
    let pidstat = "12:00:00  UID  PID  %usr  %system  %CPU  CPU  Command\n\
                   12:00:01  999  1234  80.00  20.00  100.00  1  mariadbd\n";
    let fio = "0, 100, 0, 4096, 0\n1000, 120, 0, 4096, 0\n";
    for tool in Tool::ALL {
        let refused = |text: &str| {
            let error = import(tool, &[log(text)], &[], &Options::default());
            error.unwrap_err().to_string()
        };
        for (text, expected) in [
            (
                mpstat,
                "it looks like a log of mpstat, which is read together with a benchmark's log",
            ),
            (
                sadf.as_str(),
                "it looks like a log of sar, which is read together with a benchmark's log (--sar)",
            ),
            (pidstat, "it looks like a log of pidstat, which is not read"),
            ("{\"Benchmark Type\": \"tpcc\"}\n", ""),
        ] {
            let error = refused(text);
            assert_has(&error, expected);
            assert!(!error.contains("damaged"), "{error}");
        }
        assert_has(&refused(fio), "fio's log of latencies, bandwidths or IOPS");
    }
}

#[test]
fn vmstat_of_other_systems_is_named_and_not_read() {
    for text in [
        " procs     memory       page                    disks     faults         cpu\n \
         r b w     avm     fre  flt  re  pi  po    fr   sr da0   in    sy    cs us sy id\n \
         1 0 0  1450140 105044  2311   1   0   0  2460   37   0   60  1720   810  5  2 93\n",
        " kthr      memory            page            disk          faults      cpu\n \
         r b w   swap  free  re  mf pi po fr de sr s0 s1 s2 s3   in   sy   cs us sy id\n \
         0 0 0 8402900 771100 3  12  0  0  0  0  0  0  0  0  0  540  300  410  2  1 97\n",
    ] {
        let host = [(Monitor::Vmstat, log(text))];
        let read = import(
            Tool::Sysbench,
            &[fixture!("stamped.out")],
            &host,
            &Options::default(),
        );
        assert_has(
            &read.unwrap_err().to_string(),
            "it looks like a vmstat log of a system other than Linux, which is not read",
        );
    }
}

#[test]
fn dates_within_a_report_are_no_figures() {
    let text = text!("consistent.out");
    for label in ["max:", "total time:", "transactions:"] {
        let (before, after) = text.split_once(label).unwrap();
        let torn = format!("{before}{label}   2026-11-25 10:00:00 [Warning] x\n{after}");
        let read = common::read(Tool::Sysbench, &torn);
        let own = summary(&read.runs[0]);
        assert_ne!(own.service.max_ms, Some(2026.0), "{label}");
        assert_ne!(own.measured_s, 2026.0, "{label}");
        assert_eq!(own.rates.events_per_s, 100.0, "{label}");
        assert_has(&common::contradictions(&read), "[Warning] x` is impossible");
    }
}
