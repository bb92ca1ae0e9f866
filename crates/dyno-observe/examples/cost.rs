//! Measures the CPU cost of observing a target: `cost URL SECONDS`.
#![allow(clippy::print_stdout)]

use std::time::Duration;

use dyno_observe::{Config, ObserveError, Observers};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "give a target's URL and how many seconds it is to be observed";
    let target = dyno_core::Target::parse(&arguments.next().ok_or(usage)?)?;
    let connector = dyno_drivers::connector(&target)?;
    let seconds: u64 = arguments.next().ok_or(usage)?.parse()?;
    let config = Config {
        target: Some(target),
        connector: Some(connector),
        ..Config::default()
    };
    // Starting and ending have a fixed cost, measured by a run of zero seconds.
    let ends = observe(config.clone(), 0)?;
    let whole = observe(config, seconds)?;
    let per_s = (whole - ends) / seconds.max(1) as f64;
    println!("start and end {:.1} ms of CPU time", ends * 1e3);
    println!(
        "each second   {:.2} ms, {:.2} % of a core",
        per_s * 1e3,
        per_s * 1e2
    );
    Ok(())
}

/// CPU time of the observers, in seconds.
fn observe(config: Config, seconds: u64) -> Result<f64, ObserveError> {
    let (observers, observations) = Observers::start(config)?;
    let consumer = std::thread::spawn(move || observations.iter().count());
    // Long enough to connect.
    std::thread::sleep(Duration::from_millis(500) + Duration::from_secs(seconds));
    let cost = observers.stop().unwrap_or_default();
    // The consumer only counts, and cannot panic.
    let _ = consumer.join();
    Ok(cost.cpu_s)
}
