//! Progress of a running experiment: a line for each trial, and the time left.

use anyhow::Result;
use dyno_conduct::lab::{Lab, took_s};
use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::finding::Verdict;
use dyno_core::summary::RunSummary;
use dyno_core::text::{number_of, shell_word};
use dyno_core::units::{human_number, human_seconds, human_size};

use dyno_results::{Results, TrialState, Tried};

use crate::console;

/// The progress report.
pub(super) struct Announcer<'a> {
    lab: &'a Lab,
    /// Options for suggested commands.
    options: String,
    quiet: bool,
    /// Number of finished trials, including those of earlier processes.
    done: usize,
    begun: Nanos,
    /// Total time of the finished trials, including those of earlier processes, in seconds.
    took_s: f64,
    current: Nanos,
    interrupted: bool,
}

impl<'a> Announcer<'a> {
    /// Starts after this number of finished trials, which took `took_s` seconds in all.
    pub(super) fn new(
        lab: &'a Lab,
        (done, took_s): (usize, f64),
        quiet: bool,
        options: String,
    ) -> Self {
        Self {
            lab,
            options,
            quiet,
            done,
            begun: Clock.now(),
            took_s,
            current: Clock.now(),
            interrupted: false,
        }
    }

    /// Number of trials left.
    pub(super) fn left(&self) -> usize {
        self.lab.planned.len().saturating_sub(self.done)
    }

    /// Whether the user ended it.
    pub(super) fn is_interrupted(&self) -> bool {
        self.interrupted
    }

    /// The experiment starts or resumes.
    pub(super) fn begin(&self) {
        let name = &self.lab.head.name;
        let (all, done) = (self.lab.planned.len(), self.done);
        let how = match done {
            0 => format!("{name}: {}", number_of(all, "trial")),
            done => format!("{name}: {done} of {} done before", number_of(all, "trial")),
        };
        self.note(&format!("{how}, {}", left(self.remaining())));
    }

    /// The next trial is being prepared.
    pub(super) fn next(&mut self, trial: usize, again: bool) {
        self.current = Clock.now();
        if again {
            self.note(&format!("once more: {}", self.lab.planned[trial].label));
        }
        self.draw(trial, "preparing");
    }

    /// The trial is being measured.
    pub(super) fn measuring(&self, trial: usize) {
        self.draw(trial, "measuring");
    }

    fn draw(&self, trial: usize, doing: &str) {
        if !self.quiet {
            let label = &self.lab.planned[trial].label;
            let (next, all) = (self.done + 1, self.lab.planned.len());
            let left = left(self.remaining());
            console::progress(&format!("[{next}/{all}] {label}: {doing} ({left})"));
        }
    }

    /// The trial is done.
    pub(super) fn measured(&mut self, trial: usize, runs: &[RunSummary]) {
        let took = Clock.now().saturating_sub(self.current) as f64 / 1e9;
        self.done += 1;
        self.took_s += took;
        let verdict = runs.iter().filter_map(|run| run.verdict).max();
        let label = &self.lab.planned[trial].label;
        let verdict = verdict.map_or("not judged", Verdict::word);
        let figures = match runs {
            [run] => figures(run),
            runs => format!("{} phases", runs.len()),
        };
        let (done, all) = (self.done, self.lab.planned.len());
        self.note(&format!("[{done}/{all}] {label}: {figures}, {verdict}"));
    }

    /// The trial failed.
    pub(super) fn failed(&mut self, trial: usize, error: &anyhow::Error) {
        let label = &self.lab.planned[trial].label;
        // Even with `--quiet`: this is why there is no result.
        console::note(&format!("failed: {label}: {error:#}"));
    }

    /// The user ended the experiment.
    pub(super) fn interrupted(&mut self) {
        self.interrupted = true;
    }

    /// The budget does not cover another block.
    pub(super) fn spent(&self, spent_s: f64) {
        self.note(&format!(
            "the budget does not allow another block: {} spent",
            human_seconds(spent_s)
        ));
    }

    /// How long this process has run, in seconds.
    pub(super) fn here_s(&self) -> f64 {
        Clock.now().saturating_sub(self.begun) as f64 / 1e9
    }

    /// Estimated time of all trials, from the plan and the trials so far, in seconds.
    pub(super) fn estimate_s(&self) -> f64 {
        self.each_s() * self.lab.planned.len() as f64
    }

    /// The experiment's name on a command line.
    fn file(&self) -> String {
        match self.lab.head.file.as_str() {
            "" => self.options.clone(),
            file => format!(" {}{}", shell_word(file), self.options),
        }
    }

    /// It ended before all trials were done.
    pub(super) fn stopped(&self) {
        console::progress("");
        let (done, all) = (self.done, self.lab.planned.len());
        let how = format!("dyno lab resume{}", self.file());
        console::note(&format!(
            "{done} of {} done; the rest: {how}",
            number_of(all, "trial")
        ));
    }

    /// All trials are done. As for any command, `--quiet` hides the progress, not the result.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub(super) fn end(&self, results: &Results, freed: u64) -> Result<()> {
        console::progress("");
        let states = self.lab.states(results)?;
        let count = |wanted: Verdict| {
            let is = |state: &&TrialState| match state.tried {
                Tried::Done { verdict, .. } => verdict == Some(wanted),
                _ => false,
            };
            states.values().filter(is).count()
        };
        console::note(&format!(
            "{}: all {} done in {}: {} valid, {} doubtful, {} refused",
            self.lab.head.name,
            number_of(self.lab.planned.len(), "trial"),
            human_seconds(took_s(&states)),
            count(Verdict::Valid),
            count(Verdict::Doubtful),
            count(Verdict::Refused)
        ));
        if freed > 0 {
            self.note(&format!(
                "servers and images are removed, {} freed",
                human_size(freed)
            ));
        }
        console::note(&format!("the answer: dyno lab report{}", self.file()));
        Ok(())
    }

    /// The time left, in seconds.
    fn remaining(&self) -> f64 {
        self.left() as f64 * self.each_s()
    }

    /// A trial's expected time, in seconds: the mean of the finished ones, as `dyno lab status` has
    /// it, or the plan's.
    fn each_s(&self) -> f64 {
        match self.done {
            done if done > 0 && self.took_s > 0.0 => self.took_s / done as f64,
            _ => {
                let all = self.lab.planned.len().max(1);
                self.lab.trials.cost.time.as_secs_f64() / all as f64
            }
        }
    }

    fn note(&self, line: &str) {
        if !self.quiet {
            console::note(line);
        }
    }
}

/// A run's figures in brief.
fn figures(run: &RunSummary) -> String {
    rate_and_p99(run.rates.events_per_s, run.latency().percentile_ms(99.0))
}

/// A rate per second and a latency in milliseconds in brief.
pub(super) fn rate_and_p99(rate: f64, p99_ms: Option<f64>) -> String {
    let decimals = if rate < 100.0 { 2 } else { 0 };
    let rate = format!("{}/s", human_number(rate, decimals));
    match p99_ms {
        Some(ms) => format!("{rate}, p99 {}", dyno_report::latency(ms)),
        None => rate,
    }
}

fn left(seconds: f64) -> String {
    format!("about {} left", human_seconds(seconds))
}
