//! The output before the first event.

use std::fmt::Write;

/// The parameters of the output at the start.
#[derive(Clone, Debug, Default)]
pub struct Startup<'a> {
    /// The first line, e.g. `sysbench 1.1.0-dyno (using bundled LuaJIT 2.1)`.
    pub banner: &'a str,
    /// Sessions.
    pub threads: u32,
    /// Seconds of warm-up; 0 for none.
    pub warmup_s: u64,
    /// Events per second; 0 for a closed loop.
    pub rate: f64,
    /// Seconds between intermediate reports; 0 for none.
    pub report_interval_s: u64,
    /// Seconds at which a cumulative report is due.
    pub checkpoints_s: &'a [u32],
    /// `--debug`.
    pub debug: bool,
    /// `--validate`.
    pub validate: bool,
    /// The seed, if one was given.
    pub seed: Option<u64>,
    /// `--forced-shutdown`: seconds from the start until the run is killed.
    pub forced_shutdown_s: Option<u64>,
}

/// The text from the banner up to the test's own output (`init`, or the mode of a built-in test).
pub fn start(about: &Startup<'_>) -> String {
    let mut out = format!("{}\n\n", about.banner);
    out.push_str("Running the test with following options:\n");
    let _ = writeln!(out, "Number of threads: {}", about.threads);
    if about.warmup_s > 0 {
        let _ = writeln!(out, "Warmup time: {}s", about.warmup_s);
    }
    if about.rate > 0.0 {
        let _ = writeln!(out, "Target transaction rate: {}/sec", about.rate);
    }
    if about.report_interval_s > 0 {
        let seconds = about.report_interval_s;
        let _ = writeln!(out, "Report intermediate results every {seconds} second(s)");
    }
    if !about.checkpoints_s.is_empty() {
        let points: Vec<String> = about.checkpoints_s.iter().map(u32::to_string).collect();
        let _ = writeln!(out, "Report checkpoint(s) at {} seconds", points.join(", "));
    }
    if about.debug {
        out.push_str("Debug mode enabled.\n\n");
    }
    if about.validate {
        out.push_str("Validation checks: on.\n\n");
    }
    match about.seed {
        Some(seed) => {
            let _ = writeln!(
                out,
                "Initializing random number generator from seed ({seed}).\n"
            );
        }
        None => out.push_str("Initializing random number generator from current time\n\n"),
    }
    if let Some(seconds) = about.forced_shutdown_s {
        let _ = writeln!(out, "Forcing shutdown in {seconds} seconds");
    }
    out.push('\n');
    out
}

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StartupStep {
    /// Sessions connect and initialise.
    Initializing,
    /// All sessions have started.
    Started,
    /// The warm-up begins; its length in seconds.
    WarmingUp(u64),
}

/// The line of a stage, with the blank line after it.
pub fn stage(stage: StartupStep) -> String {
    match stage {
        StartupStep::Initializing => "Initializing worker threads...\n\n".into(),
        StartupStep::Started => "Threads started!\n\n".into(),
        StartupStep::WarmingUp(seconds) => format!("Warming up for {seconds} seconds...\n\n"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_start() {
        let text = start(&Startup {
            banner: "sysbench X",
            threads: 3,
            ..Startup::default()
        });
        assert_eq!(
            text + &stage(StartupStep::Initializing) + &stage(StartupStep::Started),
            "sysbench X\n\
             \n\
             Running the test with following options:\n\
             Number of threads: 3\n\
             Initializing random number generator from current time\n\
             \n\
             \n\
             Initializing worker threads...\n\
             \n\
             Threads started!\n\
             \n"
        );
    }

    #[test]
    fn the_longest_start() {
        let text = start(&Startup {
            banner: "sysbench X",
            threads: 2,
            warmup_s: 5,
            rate: 50.0,
            report_interval_s: 1,
            checkpoints_s: &[10, 20],
            debug: true,
            validate: true,
            seed: Some(7),
            forced_shutdown_s: Some(3),
        });
        assert_eq!(
            text + &stage(StartupStep::WarmingUp(5)),
            "sysbench X\n\
             \n\
             Running the test with following options:\n\
             Number of threads: 2\n\
             Warmup time: 5s\n\
             Target transaction rate: 50/sec\n\
             Report intermediate results every 1 second(s)\n\
             Report checkpoint(s) at 10, 20 seconds\n\
             Debug mode enabled.\n\
             \n\
             Validation checks: on.\n\
             \n\
             Initializing random number generator from seed (7).\n\
             \n\
             Forcing shutdown in 3 seconds\n\
             \n\
             Warming up for 5 seconds...\n\
             \n"
        );
    }

    #[test]
    fn a_fractional_rate_is_printed() {
        let text = start(&Startup {
            rate: 0.5,
            ..Startup::default()
        });
        assert!(
            text.contains("\nTarget transaction rate: 0.5/sec\n"),
            "{text}"
        );
    }
}
