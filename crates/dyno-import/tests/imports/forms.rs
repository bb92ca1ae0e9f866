//! Unusual versions and forms of fio's output.

// Clippy does not treat test helpers as tests.

use crate::common::{log, one, summary};
use dyno_core::catalogue::names;
use dyno_core::plan::OptionValue;
use dyno_core::record::RunRecord;
use dyno_core::summary::LatencySummary;
use dyno_import::{Options, Tool, import};
use dyno_samples::assert_has;
use serde_json::{Value, json};

fn refused(tool: Tool, text: &str) -> String {
    let error = import(tool, &[log(text)], &[], &Options::default());
    error.unwrap_err().to_string()
}

fn said(run: &RunRecord) -> String {
    summary(run).warnings.join("\n")
}

fn percentile(latency: &LatencySummary, percent: f64) -> Option<f64> {
    let found = latency
        .percentiles
        .iter()
        .find(|own| own.percent == percent);
    found.and_then(|own| own.value_ms)
}

/// Ten seconds with this many I/Os of 4 KiB with a mean of 0.25 ms, without their count.
fn direction(ios: u64) -> Value {
    let busy = |ns: f64| if ios > 0 { ns } else { 0.0 };
    json!({
        "io_bytes": ios * 4096, "bw_bytes": ios * 4096 / 10, "bw": ios * 4 / 10,
        "iops": ios as f64 / 10.0, "runtime": if ios > 0 { 10_000 } else { 0 }, "total_ios": ios,
        "clat_ns": {
            "min": busy(50e3), "max": busy(9e6), "mean": busy(250e3), "stddev": busy(100e3),
            "percentile": if ios > 0 {
                json!({"50.000000": 200_000, "95.000000": 700_000, "99.000000": 1_250_000})
            } else { json!({}) }
        },
        "lat_ns": {"min": busy(60e3), "max": busy(10e6), "mean": busy(260e3), "stddev": busy(1e5)}
    })
}

fn job(name: &str, options: Value, read: Value) -> Value {
    json!({
        "jobname": name, "groupid": 0, "error": 0, "job options": options,
        "read": read, "write": direction(0), "trim": direction(0)
    })
}

fn document(jobs: &[Value]) -> Value {
    json!({
        "fio version": "fio-3.12", "timestamp_ms": 1_795_600_000_500_u64,
        "global options": {"rw": "randread", "iodepth": "2"}, "jobs": jobs
    })
}

#[test]
fn latencies_are_read_without_their_number() {
    let job = job("bank", json!({"bs": "4k"}), direction(30_000));
    let run = one(Tool::Fio, &document(&[job]).to_string());
    let service = &summary(&run).service;
    assert_eq!(
        (service.count, service.mean_ms, service.max_ms),
        (30_000, Some(0.25), Some(9.0))
    );
    assert_eq!(percentile(service, 95.0), Some(0.7));
    assert_eq!(percentile(service, 99.0), Some(1.25));
    assert_eq!(said(&run), "");
    // The bins contain all of them.
    let mut plus = direction(30_000);
    plus["clat_ns"]["bins"] = json!({"200192": 27_011, "700416": 2_988});
    let run = one(
        Tool::Fio,
        &document(&[self::job("b", json!({}), plus)]).to_string(),
    );
    assert_eq!(summary(&run).service.count, 29_999);
}

#[test]
fn fio_as_a_client_of_others() {
    let own = |host: &str, ios| {
        let mut job = job("bank", json!({"bs": "4k", "numjobs": "2"}), direction(ios));
        job["hostname"] = host.into();
        job
    };
    let mut document = document(&[]);
    document.as_object_mut().unwrap().remove("jobs");
    let mut sum = own("h1", 40_000);
    sum["jobname"] = "All clients".into();
    // Each job of one host separately, and those of the other as a group.
    let jobs = [own("h1", 10_000), own("h1", 10_000), own("h2", 20_000), sum];
    document["client_stats"] = json!(jobs);
    let text = format!("hostname=h1, be=0, 64-bit\nhostname=h2, be=0\n{document}\n");
    let run = one(Tool::Fio, &text);
    assert_eq!(summary(&run).totals.events, 40_000);
    assert_eq!(summary(&run).rates.events_per_s, 4000.0);
    assert_eq!(summary(&run).drive.as_ref().unwrap().sessions, 4);
    assert_eq!(run.head.workload.name, "bank");
    assert_eq!(run.fact("import.contradictions"), None);
    // The entry of a job is missing.
    let jobs = document["client_stats"].as_array_mut().unwrap();
    jobs.remove(1);
    let run = one(Tool::Fio, &document.to_string());
    let wrong = run.fact("import.contradictions").unwrap();
    assert_has(
        wrong,
        "made 30000 I/Os, but fio reports 40000 for all clients",
    );
}

#[test]
fn directions_of_fio_together() {
    let mut mixed = job("bank", json!({"bs": "4k,8k"}), direction(0));
    mixed["mixed"] = direction(30_000);
    let run = one(Tool::Fio, &document(&[mixed.clone()]).to_string());
    assert_eq!(summary(&run).totals.events, 30_000);
    assert_eq!(percentile(&summary(&run).service, 99.0), Some(1.25));
    assert_eq!(summary(&run).operations[0].name, "mixed");
    // With `both` the sum is printed, too.
    mixed["read"] = direction(20_000);
    mixed["write"] = direction(10_000);
    let run = one(Tool::Fio, &document(&[mixed]).to_string());
    assert_eq!(summary(&run).totals.events, 30_000);
    let names = summary(&run).operations.iter().map(|own| own.name.as_str());
    assert_eq!(names.collect::<Vec<_>>(), ["read", "write"]);
}

#[test]
fn rates_of_fio_are_those_of_the_whole_run() {
    let of = |runtime: u64, iops: f64, bw_bytes: u64| {
        let mut writes = job("log", json!({"bs": "4k"}), direction(0));
        writes["write"] = direction(10_000);
        writes["write"]["runtime"] = runtime.into();
        writes["write"]["iops"] = iops.into();
        writes["write"]["bw_bytes"] = bw_bytes.into();
        writes["write"]["bw"] = (bw_bytes / 1024).into();
        let reads = job("bank", json!({"bs": "4k"}), direction(20_000));
        one(Tool::Fio, &document(&[reads, writes]).to_string())
    };
    let rates = |run: &RunRecord| {
        let summary = summary(run);
        let mut all = vec![summary.measured_s, summary.rates.events_per_s];
        all.extend(summary.operations.iter().map(|own| own.done_per_s));
        let figures = &summary.machine.as_ref().unwrap().figures;
        all.extend(figures.iter().map(|own| own.value));
        all
    };
    // Half as long as the reads, and twice as fast as over the whole run.
    let short = of(5_000, 2000.0, 8_192_000);
    let (read, written) = (7.8125, 3.906_25);
    let expected = [10.0, 3000.0, 2000.0, 1000.0, read, written, 2000.0, 1000.0];
    assert_eq!(rates(&short), expected);
    assert_has(&said(&short), "ran for different times, 5.000 to 10.000 s");
    assert_eq!(short.fact("import.contradictions"), None);
    // The jobs' last I/Os do not end at the same time.
    let even = of(9_950, 1005.0, 4_116_582);
    assert_eq!(rates(&even)[..4], [10.0, 3005.0, 2000.0, 1005.0]);
    assert_eq!(said(&even), "");
}

/// The reason why fio's figures are refused, and the number of sessions.
fn judged(jobs: &[Value]) -> (Option<String>, Option<u32>) {
    let run = one(Tool::Fio, &document(jobs).to_string());
    let contradictions = run.fact("import.contradictions").map(str::to_owned);
    let drive = run.head.drive.as_ref();
    (contradictions, drive.map(|drive| drive.sessions))
}

#[test]
fn options_of_differing_fio_jobs_are_omitted() {
    let options = |bs: &str| json!({"bs": bs, "numjobs": "3"});
    // Half of the I/Os were of 64 KiB.
    let unlike = job("bank", options("64k"), direction(30_000));
    assert_eq!(judged(std::slice::from_ref(&unlike)), (None, None));
    let run = one(Tool::Fio, &document(&[unlike]).to_string());
    assert_has(&said(&run), "the group's jobs differ");
    let run_options = &run.head.workload.options;
    assert!(
        run_options
            .iter()
            .all(|(name, _)| name != "bs" && name != "numjobs")
    );
    let depth = ("iodepth".to_owned(), OptionValue::Number(2.0));
    assert!(run_options.contains(&depth));
    assert!(!summary(&run).machine.as_ref().unwrap().about[0].contains("64k"));
    let gap = |gap: &dyno_core::record::NotObserved| gap.what == "drive";
    assert!(run.not_observed.iter().any(gap));
    // For jobs of one block size, their number follows from the I/Os in flight.
    let alike = |ios| job("bank", options("4k"), direction(ios));
    assert_eq!(judged(&[alike(230_000)]), (None, Some(3)));
    assert_eq!(judged(&[alike(300_000)]), (None, None));
    // Jobs listed separately match their options.
    let apart = |bs: &str, ios| job("bank", json!({"bs": bs}), direction(ios));
    assert_eq!(
        judged(&[apart("4k", 70_000), apart("4k", 70_000)]),
        (None, Some(2))
    );
    let (wrong, _) = judged(&[apart("4k", 70_000), apart("64k", 70_000)]);
    assert!(wrong.unwrap().contains("but a block has 65536"));
    let (wrong, _) = judged(&[apart("4k", 70_000), apart("4k", 100_000)]);
    assert!(wrong.unwrap().contains("imply 2.5 I/Os in flight"));
}

#[test]
fn the_steady_state_that_fio_looked_for() {
    let with = |attained: u32| {
        let mut job = job("bank", json!({}), direction(30_000));
        job["steadystate"] = json!({
            "ss": "bw_slope:2.5%", "duration": 9, "attained": attained, "criterion": "17.25%"
        });
        one(Tool::Fio, &document(&[job]).to_string())
    };
    let run = with(0);
    let fact = run.fact(names::IMPORT_UNSTEADY).unwrap();
    assert_has(fact, "bw_slope:2.5%: its criterion was 17.25%");
    assert_has(&said(&run), "did not reach");
    assert_eq!(with(1).fact(names::IMPORT_UNSTEADY), None);
}

#[test]
fn percentiles_of_fio_with_the_submission() {
    let mut own = direction(30_000);
    own["lat_ns"]["percentile"] = json!({"50.000000": 210_000, "99.000000": 1_500_000});
    own["clat_ns"].as_object_mut().unwrap().remove("percentile");
    let run = one(
        Tool::Fio,
        &document(&[job("bank", json!({}), own)]).to_string(),
    );
    let service = &summary(&run).service;
    assert_eq!(
        (percentile(service, 99.0), service.mean_ms),
        (Some(1.5), Some(0.26))
    );
    assert_has(&said(&run), "including submission");
}

#[test]
fn the_first_fio_with_json() {
    let own = |ios: u64| {
        json!({
            "io_bytes": ios * 4, "bw": ios * 4 / 10, "iops": ios / 10,
            "runtime": if ios > 0 { 10_000 } else { 0 },
            "clat": {"min": 50, "max": 9000, "mean": 250.25, "stddev": 10.5,
                     "percentile": {"50.000000": 200, "99.000000": 1250, "0.00": 0}},
            "lat": {"min": 50, "max": 9000, "mean": 250.5, "stddev": 10.5}
        })
    };
    let text = json!({"fio version": "fio-2.1.4", "jobs": [
        {"jobname": "old", "groupid": 0, "error": 0, "read": own(30_000), "write": own(0)}
    ]});
    let run = one(Tool::Fio, &text.to_string());
    let found = summary(&run);
    assert_eq!(
        (found.totals.events, found.rates.events_per_s),
        (30_000, 3000.0)
    );
    assert_eq!(
        (found.service.mean_ms, found.service.count),
        (Some(0.250_25), 30_000)
    );
    assert_eq!(percentile(&found.service, 99.0), Some(1.25));
    assert_has(&said(&run), "does not print the number of I/Os");
    assert_eq!(run.fact("import.contradictions"), None);
}

#[test]
fn forms_that_are_not_read_are_named() {
    let terse = "3;fio-3.33;bank;0;0;120000;12000;3000;10000;0;0;0.0;0.0;50;9000;250.0;100.0\n";
    let normal = "bank: (g=0): rw=randread, bs=(R) 4096B-4096B, ioengine=psync, iodepth=1\n\
        fio-3.33\nStarting 1 process\n\n\
        bank: (groupid=0, jobs=1): err= 0: pid=7: Wed Nov 25 10:00:00 2026\n\
        \x20 read: IOPS=3000, BW=11.7MiB/s (12.3MB/s)(117MiB/10000msec)\n";
    let tproch = "Vuser 1:RUNNING\nVuser 1:Executing Query 5 (1 of 22)\n\
        Vuser 1:query 5 completed in 1.25 seconds\nVuser 1:FINISHED SUCCESS\n";
    for (tool, text, expected) in [
        (
            Tool::Fio,
            terse,
            "this is fio's terse output, which Dyno does not read",
        ),
        (
            Tool::Fio,
            normal,
            "this is fio's normal output, which Dyno does not read",
        ),
        (
            Tool::Hammerdb,
            tproch,
            "this is a log of HammerDB's TPROC-H, which Dyno does not read",
        ),
        (Tool::Hammerdb, terse, "it looks like fio's terse output"),
        (
            Tool::Fio,
            "{\"a\": 1}",
            "it contains no fio JSON with an I/O",
        ),
    ] {
        let error = refused(tool, text);
        assert_has(&error, expected);
    }
}
