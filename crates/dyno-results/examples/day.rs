//! Measures what it costs to record a day: `day write FILE` records one, with a transaction per
//! simulated second, and `day read FILE` loads it.

#![allow(clippy::unwrap_used, clippy::print_stdout)] // a measurement for developers

#[allow(dead_code)] // it uses a part of this
#[path = "../tests/files/common/mod.rs"]
mod common;

use std::path::Path;

use common::day::{Day, SECONDS};
use common::{head, latencies, summary};
use dyno_core::clock;
use dyno_core::record::RunState;
use dyno_results::{Filter, Results, Scope};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let path = args.get(1).map_or("day.db", String::as_str);
    match args.first().map(String::as_str) {
        Some("write") => write(Path::new(path)),
        Some("read") => read(Path::new(path)),
        _ => println!("usage: day write FILE | day read FILE"),
    }
}

fn write(path: &Path) {
    // Do not measure the first run, because the number 1 takes less space than any other.
    drop(Results::open(path).unwrap().begin(&head("before")).unwrap());
    let mut writer = Results::open(path).unwrap().begin(&head("day")).unwrap();
    let mut day = Day::begin(&mut writer, 1);
    let mut spent = 0;
    for number in 1..=SECONDS {
        let records = day.second(number);
        let before = clock::thread_cpu();
        for record in records {
            writer.write(record).unwrap();
        }
        spent += clock::thread_cpu() - before;
    }
    let whole = latencies(100_000, 4);
    writer
        .finish(&summary(), RunState::Completed, &[("event", &whole)], &[])
        .unwrap();
    drop(writer);
    let megabytes = std::fs::metadata(path).unwrap().len() as f64 / 1e6;
    let per_interval_us = spent as f64 / f64::from(SECONDS) / 1e3;
    println!("{megabytes:.1} MB, {per_interval_us:.0} us of CPU per interval");
}

fn read(path: &Path) {
    let results = Results::open_read(path).unwrap();
    timed("list", || results.runs(&Filter::default()).unwrap().len());
    timed("summary", || {
        results.load(2, &Scope::summary()).unwrap().intervals.len()
    });
    timed("whole", || {
        let run = results.load(2, &Scope::whole()).unwrap();
        let spans: usize = run
            .operations
            .iter()
            .map(|operation| operation.spans.len())
            .sum();
        let points: usize = run.series.iter().map(|series| series.points.len()).sum();
        println!(
            "  {spans} spans, {points} points, {} intervals",
            run.intervals.len()
        );
        println!("  resident {} MB", resident_mb("VmRSS:"));
        spans
    });
    println!("largest resident {} MB", resident_mb("VmHWM:"));
    timed("each span", || {
        let mut count = 0;
        results.spans(2, |_, _| count += 1).unwrap();
        count
    });
}

fn timed(what: &str, work: impl FnOnce() -> usize) {
    let before = clock::process_cpu();
    let count = work();
    let ms = (clock::process_cpu() - before) as f64 / 1e6;
    println!("{what}: {count} in {ms:.0} ms of CPU");
}

fn resident_mb(field: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix(field))
        .unwrap();
    let kilobytes: u64 = line.split_whitespace().next().unwrap().parse().unwrap();
    kilobytes / 1000
}
