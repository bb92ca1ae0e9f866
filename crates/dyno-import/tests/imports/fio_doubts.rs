//! Figures of fio's JSON that cannot all be true are left out.

use crate::common::{contradictions, read};
use dyno_core::record::RunRecord;
use dyno_core::summary::{LatencySummary, OperationSummary};
use dyno_import::{Imported, Options, Tool, import};
use dyno_samples::assert_has;
use serde_json::{Value, json};

fn latency(count: u64) -> Value {
    json!({
        "min": 50_000, "max": 9_000_000, "mean": 250_000.0, "stddev": 100_000.0, "N": count,
        "percentile": {"50.000000": 200_000, "95.000000": 700_000, "99.000000": 1_250_000}
    })
}

/// Ten seconds of these I/Os of 4 KiB.
fn direction(ios: u64) -> Value {
    json!({
        "io_bytes": ios * 4096, "io_kbytes": ios * 4, "bw_bytes": ios * 4096 / 10,
        "bw": ios * 4 / 10, "iops": ios as f64 / 10.0, "runtime": 10_000, "total_ios": ios,
        "iops_min": 10, "iops_max": 20,
        "clat_ns": latency(ios), "lat_ns": {"min": 60e3, "max": 10e6, "mean": 260e3, "stddev": 1e5}
    })
}

/// A job that reads, writes half as much, and syncs.
fn job(options: Value) -> Value {
    json!({
        "jobname": "bank", "job options": options,
        "read": direction(20_000), "write": direction(10_000),
        "sync": {"total_ios": 400, "lat_ns": latency(400)}
    })
}

fn document(jobs: &[Value]) -> String {
    let options = json!({"rw": "randrw", "bs": "4k"});
    json!({"fio version": "fio-3.39", "global options": options, "jobs": jobs}).to_string()
}

fn changed(change: impl Fn(&mut Value)) -> Imported {
    let mut job = job(json!({}));
    change(&mut job);
    read(Tool::Fio, &document(&[job]))
}

fn only(imported: &Imported) -> &RunRecord {
    assert_eq!(imported.runs.len(), 1, "{:?}", imported.warnings);
    &imported.runs[0]
}

fn operation<'a>(run: &'a RunRecord, name: &str) -> Option<&'a OperationSummary> {
    let mut all = run.summary.as_ref()?.operations.iter();
    all.find(|own| own.name == name)
}

/// The figures of reads, of all I/Os, and of syncs.
fn counts(run: &RunRecord) -> [u64; 3] {
    let of = |latency: &LatencySummary| latency.count;
    let named = |name: &str| operation(run, name).map_or(0, |own| of(&own.service));
    let all = run.summary.as_ref().map_or(0, |own| of(&own.service));
    [named("read"), all, named("sync")]
}

#[test]
fn consistent_figures_are_all_imported() {
    let imported = changed(|_| {});
    assert_eq!(imported.warnings, []);
    assert_eq!(counts(only(&imported)), [20_000, 30_000, 400]);
}

#[test]
fn latencies_that_cannot_be_true_are_left_out() {
    for (path, value, expected) in [
        ("/read/clat_ns/mean", 9.5e6, "is above the maximum"),
        ("/read/clat_ns/mean", 1e6, "latencies allow a mean of"),
        ("/read/clat_ns/N", 15e3, "15000 latencies of 20000 I/Os"),
        ("/read/clat_ns/max", 6e5, "is above the maximum"),
        ("/read/lat_ns/mean", 1e5, "is below a mean clat"),
        ("/read/lat_ns/min", 4e4, "is below a minimum clat"),
        ("/read/lat_ns/max", 8e6, "is below a maximum clat"),
    ] {
        let imported = changed(|job| {
            let own = job.pointer_mut(path).unwrap();
            *own = match path.ends_with("/N") {
                true => (value as u64).into(),
                false => value.into(),
            };
        });
        let run = only(&imported);
        assert_has(&contradictions(&imported), expected);
        assert_has(&imported.warnings[0].text, "these latencies are left out");
        // The latencies of writes alone are not those of all I/Os.
        assert_eq!(counts(run), [0, 0, 400], "{expected}");
        assert_eq!(operation(run, "write").unwrap().service.count, 10_000);
        assert!(run.not_observed.iter().any(|gap| gap.what == "service"));
        assert_eq!(run.summary.as_ref().unwrap().rates.events_per_s, 3000.0);
    }
    let imported = changed(|job| job["sync"]["lat_ns"]["mean"] = 1e11.into());
    assert_has(&contradictions(&imported), "bank, sync: the mean of");
    assert_eq!(counts(only(&imported)), [20_000, 30_000, 0]);
    assert_eq!(operation(only(&imported), "sync").unwrap().totals.done, 400);
}

#[test]
fn deviations_and_percentiles_are_left_out_alone() {
    let imported = changed(|job| job["read"]["clat_ns"]["stddev"] = 9e6.into());
    assert_has(
        &contradictions(&imported),
        "mean and extremes allow at most",
    );
    let read = &operation(only(&imported), "read").unwrap().service;
    assert_eq!(
        (read.count, read.stddev_ms, read.percentiles.len()),
        (20_000, None, 4)
    );
    let imported = changed(|job| {
        job["read"]["clat_ns"]["percentile"]["50.000000"] = 800_000.into();
    });
    assert_has(
        &contradictions(&imported),
        "the 50th percentile of the latencies, 800000 ns, is above the 95th",
    );
    let read = &operation(only(&imported), "read").unwrap().service;
    assert_eq!(
        (read.count, read.stddev_ms, read.percentiles.len()),
        (20_000, Some(0.1), 0)
    );
}

#[test]
fn rates_are_left_out_unless_others_confirm_count_and_time() {
    let imported = changed(|job| job["read"]["iops"] = 20_000.0.into());
    assert_has(&contradictions(&imported), "but the log says 20000");
    assert_has(
        &imported.warnings[0].text,
        "the rate is that of count and time",
    );
    let rates = only(&imported).summary.as_ref().unwrap().rates;
    assert_eq!(rates.events_per_s, 3000.0);
    // Nothing shows which of them is true.
    for (name, value) in [("total_ios", 200_000), ("runtime", 100_000)] {
        let imported = changed(|job| job["read"][name] = value.into());
        assert!(only(&imported).summary.is_none(), "{name}");
        assert!(only(&imported).intervals.is_empty(), "{name}");
        let warnings = imported.warnings.iter();
        let texts: Vec<&str> = warnings.map(|own| own.text.as_str()).collect();
        assert_has(&texts.join("; "), "the run's counts and rates are left out");
    }
}

#[test]
fn bandwidths_and_syncs_are_left_out_alone() {
    let imported = changed(|job| job["read"]["bw_bytes"] = 81_920_000.into());
    assert_has(
        &contradictions(&imported),
        "bw_bytes is 81920000 bytes per second",
    );
    let machine = only(&imported).summary.as_ref().unwrap().machine.as_ref();
    let names = |figures: &[dyno_core::summary::MachineFigure]| -> Vec<String> {
        figures.iter().map(|own| own.name.clone()).collect()
    };
    let expected = ["written", "reads", "writes", "fsyncs"];
    assert_eq!(names(&machine.unwrap().figures), expected);
    let imported = changed(|job| job["sync"]["total_ios"] = 5000.into());
    assert_has(&contradictions(&imported), "400 latencies of 5000 syncs");
    assert!(operation(only(&imported), "sync").is_none());
    assert_eq!(counts(only(&imported)), [20_000, 30_000, 0]);
    for (name, value, expected) in [
        ("io_kbytes", 800_000, "but io_kbytes 800000 KiB"),
        ("iops_max", 5, "iops_min, 10, is above iops_max, 5"),
    ] {
        let imported = changed(|job| job["read"][name] = value.into());
        assert_has(&contradictions(&imported), expected);
        assert_eq!(counts(only(&imported)), [20_000, 30_000, 400]);
    }
}

#[test]
fn true_output_of_failing_or_verifying_jobs_contradicts_nothing() {
    for options in [
        json!({"continue_on_error": "io"}),
        json!({"verify": "crc32c"}),
    ] {
        let mut job = job(options);
        job["read"]["clat_ns"]["N"] = 12_000.into();
        let imported = read(Tool::Fio, &document(&[job]));
        assert_eq!(contradictions(&imported), "");
    }
    // I/Os in flight at the end, and short ones.
    let imported = changed(|job| {
        job["read"]["short_ios"] = 5000.into();
        job["read"]["clat_ns"]["N"] = 15_000.into();
        job["write"]["clat_ns"]["N"] = 9990.into();
    });
    assert_eq!(contradictions(&imported), "");
}

#[test]
fn missing_figures_are_computed_or_left_out() {
    let without = |names: &[&str]| {
        changed(|job| {
            for direction in ["read", "write"] {
                let own = job[direction].as_object_mut().unwrap();
                names.iter().for_each(|name| drop(own.remove(*name)));
            }
        })
    };
    for name in ["iops", "runtime"] {
        let imported = without(&[name]);
        let summary = only(&imported).summary.as_ref().unwrap();
        assert_eq!(summary.rates.events_per_s, 3000.0, "{name}");
        assert_eq!(summary.measured_s, 10.0, "{name}");
        assert_has(&imported.warnings[0].text, "the log does not print the");
        assert_eq!(contradictions(&imported), "");
    }
    for name in ["mean", "max"] {
        let imported = changed(|job| job["read"]["clat_ns"][name] = Value::Null);
        assert_eq!(contradictions(&imported), "");
        assert_has(
            &imported.warnings[0].text,
            "bank, read: the latencies have no m",
        );
        assert_eq!(counts(only(&imported)), [0, 0, 400]);
    }
    let imported = changed(|job| job["read"]["total_ios"] = Value::Null);
    assert_eq!(counts(only(&imported)), [20_000, 30_000, 400]);
}

#[test]
fn values_of_another_type_are_not_damage() {
    let mut odd = job(json!({}));
    odd["read"]["iops"] = "abc".into();
    let text = document(&[odd]);
    let log = dyno_import::Log::new("log", &text);
    let error = import(Tool::Fio, &[log], &[], &Options::default());
    let error = error.unwrap_err().to_string();
    assert_has(&error, "line 1 has a value that fio never prints");
    assert!(!error.contains("damaged"), "{error}");
}

#[test]
fn a_document_without_its_end_is_called_cut_off() {
    let text = document(&[job(json!({}))]);
    let log = dyno_import::Log::new("log", &text[..text.len() / 2]);
    let error = import(Tool::Fio, &[log], &[], &Options::default());
    let error = error.unwrap_err().to_string();
    assert_has(
        &error,
        "the file ends within its JSON, in line 1, so nothing can be read from it",
    );
    assert!(!error.contains("EOF"), "{error}");
}

#[test]
fn jobs_with_other_options_are_named_as_such() {
    let about = |one: Value, other: Value| -> String {
        let imported = read(Tool::Fio, &document(&[job(one), job(other)]));
        let summary = only(&imported).summary.as_ref().unwrap();
        summary.machine.as_ref().unwrap().about.join(" ")
    };
    let same = about(json!({"rw": "randread"}), json!({"rw": "randread"}));
    assert_eq!(same, "An event is one I/O of fio: randread, 4k.");
    let differ = about(json!({"rw": "randread"}), json!({"rw": "randwrite"}));
    assert_eq!(differ, "An event is one I/O of fio, from different jobs.");
}

/// A document of `--status-interval` after this many seconds.
fn status(seconds: u64, options: &Value) -> Value {
    let ios = 1000 * seconds;
    let mut read = direction(ios);
    read["runtime"] = (seconds * 1000).into();
    (read["iops"], read["bw"]) = (1000.0.into(), 4000.into());
    read["bw_bytes"] = 4_096_000.into();
    json!({
        "fio version": "fio-3.39", "timestamp_ms": 1_795_600_000_000 + seconds * 1000,
        "global options": options, "jobs": [{"jobname": "bank", "read": read}]
    })
}

#[test]
fn a_log_without_its_last_document_is_incomplete() {
    let timed = json!({"time_based": "", "runtime": "4s"});
    let log = |seconds: &[u64], options: &Value| -> String {
        let all = seconds
            .iter()
            .map(|own| format!("{:#}\n", status(*own, options)));
        all.collect()
    };
    let lacks = |text: &str| {
        let imported = read(Tool::Fio, text);
        let run = only(&imported);
        let what = run.fact("import.cut_off").map(str::to_owned);
        let warnings = &run.summary.as_ref().unwrap().warnings;
        assert_eq!(warnings.is_empty(), what.is_none(), "{warnings:?}");
        what
    };
    let whole = log(&[1, 2, 3, 4], &timed);
    assert_eq!(lacks(&whole), None);
    let killed = log(&[1, 2], &timed);
    let expected = "bank should run for 4 s, but its last document covers 2 s";
    assert_eq!(lacks(&killed).as_deref(), Some(expected));
    // It ended on another condition.
    let counted = json!({"time_based": "", "runtime": "4", "number_ios": "2000"});
    assert_eq!(lacks(&log(&[1, 2], &counted)), None);
    assert_eq!(lacks(&log(&[1, 2], &json!({"runtime": "4"}))), None);
    for options in [&timed, &json!({"rw": "read"})] {
        let text = log(&[1, 2, 3, 4], options);
        let cut = &text[..text.rfind("clat_ns").unwrap()];
        let expected = "it ends within a document of fio";
        assert_eq!(lacks(cut).as_deref(), Some(expected));
    }
}

#[test]
fn a_document_that_occurs_twice_is_one_run_without_intervals() {
    let text = status(4, &json!({"rw": "read"})).to_string();
    let imported = read(Tool::Fio, &format!("{text}\n{text}\n"));
    assert!(only(&imported).intervals.is_empty());
    assert_has(&imported.warnings[0].text, "the same run twice");
}

#[test]
fn statistics_that_the_log_lacks_are_unknown() {
    let read_of = |path: &str, value: Value| {
        let imported = changed(|job| *job.pointer_mut(path).unwrap() = value.clone());
        assert_eq!(contradictions(&imported), "", "{path}");
        operation(only(&imported), "read").unwrap().service.clone()
    };
    let own = read_of("/read/clat_ns/min", Value::Null);
    assert_eq!((own.min_ms, own.max_ms), (None, Some(9.0)));
    assert_eq!(read_of("/read/clat_ns/stddev", Value::Null).stddev_ms, None);
    for name in ["mean", "max"] {
        assert_eq!(
            read_of(&format!("/read/clat_ns/{name}"), Value::Null).count,
            0
        );
    }
    let own = read_of("/read/clat_ns/percentile/95.000000", Value::Null);
    let known = own.percentiles.iter().map(|own| own.value_ms.is_some());
    assert_eq!(known.collect::<Vec<_>>(), [true, false, true, false]);
    let text = document(&[job(json!({}))]).replace("\"iops_max\":20", "\"iops_max\":-nan");
    assert_eq!(counts(only(&read(Tool::Fio, &text))), [20_000, 30_000, 400]);
}

#[test]
fn a_document_in_other_json_or_behind_other_text_is_read() {
    let text = document(&[job(json!({}))]);
    for text in [
        format!("{{\"runs\": [{{\"result\": {text}}}]}}"),
        format!("INFO result: {text}\n"),
    ] {
        assert_eq!(counts(only(&read(Tool::Fio, &text))), [20_000, 30_000, 400]);
    }
}
