//! The progress of an experiment in words: a line for each trial, and the time left.

use anyhow::Result;
use dyno_conduct::lab::{Lab, LabEvent, Pace};
use dyno_core::duet::DuetSummary;
use dyno_core::finding::Verdict;
use dyno_core::summary::RunSummary;
use dyno_core::text::{number_of, shell_word};
use dyno_core::units::{human_number, human_seconds, human_size};
use dyno_report::terminal::duet_answer;
use dyno_results::{Results, TrialState, Tried};

use crate::console;

/// Prints an event as a line, or replaces the line of progress with it.
pub(super) fn show(event: LabEvent<'_>) {
    let progress = match event {
        LabEvent::Begun { name, pace } => return console::note(&begun(name, pace)),
        LabEvent::Preparing { label, pace, again } => {
            if again {
                console::note(&format!("once more: {label}"));
            }
            under_way(label, "preparing", pace)
        }
        LabEvent::CreatingData(kind) => {
            format!("creating the data directory of {}", kind.title())
        }
        LabEvent::CopyingData => "copying the data to another file system".to_owned(),
        LabEvent::KeepingCopy => "keeping a copy of the data".to_owned(),
        LabEvent::Loaded { bytes, took } => {
            let (size, took_s) = (human_size(bytes), took.as_secs_f64());
            return console::note(&format!("data loaded and kept: {size}, {took_s:.1} s"));
        }
        LabEvent::Starting(kind) => format!("starting {}", kind.title()),
        LabEvent::WaitingForQuiet(left) => format!("waiting until the server is quiet: {left}"),
        LabEvent::Settling(time) => format!("settling for {:.0} s", time.as_secs_f64()),
        LabEvent::NotReadBack(step) => return console::note(&step.to_string()),
        LabEvent::Searching(promise) => format!("searching: {promise}"),
        LabEvent::Measuring { label, pace } => under_way(label, "measuring", pace),
        LabEvent::Measured { label, runs, pace } => {
            return console::note(&measured(label, runs, pace));
        }
        LabEvent::Compared { label, duet, pace } => {
            return console::note(&compared(label, duet, pace));
        }
        LabEvent::Failed { label, why } => {
            return console::note(&format!("failed: {label}: {why}"));
        }
        LabEvent::Spent { spent_s } => {
            let spent = human_seconds(spent_s);
            let why = format!("the budget does not allow another block: {spent} spent");
            return console::note(&why);
        }
    };
    console::progress(&progress);
}

fn begun(name: &str, pace: Pace) -> String {
    let all = number_of(pace.all, "trial");
    let how = match pace.done {
        0 => format!("{name}: {all}"),
        done => format!("{name}: {done} of {all} done before"),
    };
    format!("{how}, {}", left(pace))
}

fn under_way(label: &str, doing: &str, pace: Pace) -> String {
    let (next, all) = (pace.done + 1, pace.all);
    format!("[{next}/{all}] {label}: {doing} ({})", left(pace))
}

fn measured(label: &str, runs: &[RunSummary], pace: Pace) -> String {
    let verdict = runs.iter().filter_map(|run| run.verdict).max();
    let verdict = verdict.map_or("not judged", Verdict::word);
    let figures = match runs {
        [run] => rate_and_p99(run.rates.events_per_s, run.latency().percentile_ms(99.0)),
        runs => format!("{} phases", runs.len()),
    };
    format!("[{}/{}] {label}: {figures}, {verdict}", pace.done, pace.all)
}

fn compared(label: &str, duet: &DuetSummary, pace: Pace) -> String {
    format!(
        "[{}/{}] {label}: {}, {}",
        pace.done,
        pace.all,
        duet_answer(duet),
        duet.verdict.word()
    )
}

fn left(pace: Pace) -> String {
    format!("about {} left", human_seconds(pace.left_s()))
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

/// Prints how many trials are done, and how to run the rest.
pub(super) fn stopped(lab: &Lab, done: usize, options: &str) {
    console::progress("");
    let (all, name) = (number_of(lab.planned.len(), "trial"), name(lab, options));
    console::note(&format!(
        "{done} of {all} done; the rest: dyno lab resume{name}"
    ));
}

/// All trials are done. As for any command, `--quiet` hides the progress, not the result.
///
/// # Errors
/// The results file cannot be read.
pub(super) fn all_done(
    lab: &Lab,
    results: &Results,
    (freed, quiet): (u64, bool),
    options: &str,
) -> Result<()> {
    console::progress("");
    let states = lab.states(results)?;
    let count = |wanted: Verdict| {
        let is = |state: &&TrialState| match state.tried {
            Tried::Done { verdict, .. } => verdict == Some(wanted),
            _ => false,
        };
        states.values().filter(is).count()
    };
    console::note(&format!(
        "{}: all {} done in {}: {} valid, {} doubtful, {} refused",
        lab.head.name,
        number_of(lab.planned.len(), "trial"),
        human_seconds(Pace::of(lab, &states).took_s),
        count(Verdict::Valid),
        count(Verdict::Doubtful),
        count(Verdict::Refused)
    ));
    if freed > 0 && !quiet {
        console::note(&format!(
            "servers and images were removed, {} freed",
            human_size(freed)
        ));
    }
    console::note(&format!(
        "the answer: dyno lab report{}",
        name(lab, options)
    ));
    Ok(())
}

/// The experiment's name on a command line.
fn name(lab: &Lab, options: &str) -> String {
    match lab.head.file.as_str() {
        "" => options.to_owned(),
        file => format!(" {}{options}", shell_word(file)),
    }
}
