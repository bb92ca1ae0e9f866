//! Measures the cost of reporting a day: 86,400 intervals, ten operations, and the number of spans
//! that the results file returns for a long run.
//!
//!     cargo run --release -p dyno-report --example day_long_report [FILE.html]

#![allow(clippy::print_stdout, clippy::unwrap_used)] // a tool for developers, not for users

use std::fs;

use dyno_report::html::{ReportInput, report};
use dyno_samples::full as samples;

/// Spans per operation, as `dyno_results::read::Scope::whole` returns them: 6,000 in all.
const SPANS: u32 = 600;

fn main() {
    let seconds = 86_400;
    let day = samples::run(samples::Shape {
        seconds,
        warmup: 600,
        span: seconds / SPANS,
        operations: 9,
        counters: 150,
        ..samples::USUAL
    });
    let costs = [samples::costs()];
    let (held_kb, cpu_ns) = (resident_max_kb(), cpu_ns());
    let page = report(&ReportInput {
        runs: std::slice::from_ref(&day),
        costs: &costs,
        sides: &[],
        compared: &[],
        pivot: None,
        experiment: None,
        generated_unix_s: 1_795_266_134.0,
        title: "",
    });
    let cpu_s = (self::cpu_ns() - cpu_ns) as f64 / 1e9;
    let peak_kb = resident_max_kb();
    println!("CPU {cpu_s:.2} s");
    println!("page {:.2} MB", page.len() as f64 / 1e6);
    println!("resident at most: record {} MB", held_kb / 1000);
    println!("resident at most: record and report {} MB", peak_kb / 1000);
    if let Some(file) = std::env::args().nth(1) {
        fs::write(file, page).unwrap();
    }
}

/// Peak resident memory.
fn resident_max_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.unwrap()
        .trim()
        .trim_end_matches(" kB")
        .parse()
        .unwrap()
}

/// CPU time of the only thread.
fn cpu_ns() -> u64 {
    let text = fs::read_to_string("/proc/self/schedstat").unwrap();
    text.split_whitespace().next().unwrap().parse().unwrap()
}
