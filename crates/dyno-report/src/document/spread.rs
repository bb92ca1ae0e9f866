//! The spread of the work over sessions and endpoints.

use dyno_core::plan::Drive;
use dyno_core::summary::{EndpointSummary, Fairness, RunSummary};

use super::{Block, Table, Value};
use crate::number::{length, rate, thousands};
use crate::terminal::{EventWord, Ink};

/// The spread over sessions, if it is known, and over endpoints, for a page.
pub(crate) fn spread(run: &RunSummary) -> Vec<Block> {
    let mut blocks = Vec::new();
    if let Some(fairness) = &run.fairness {
        let time = format!(
            "{} per session on average, standard deviation {}",
            length(fairness.time_mean_s),
            length(fairness.time_stddev_s)
        );
        blocks.push(events(run, fairness));
        blocks.push(Block::row("time in events", Ink::Plain, time));
    }
    blocks.push(Block::Table(endpoints(run)));
    blocks
}

/// The spread over sessions if it is uneven.
pub(crate) fn uneven(run: &RunSummary) -> Option<Block> {
    let fairness = run.fairness.as_ref()?;
    is_uneven(run, fairness).then(|| events(run, fairness))
}

fn events(run: &RunSummary, fairness: &Fairness) -> Block {
    // Other tools print only the mean and the deviation.
    let ends = fairness.events_min.zip(fairness.events_max);
    let ends = ends.map_or_else(String::new, |(min, max)| {
        format!("{} to {} ", thousands(min), thousands(max))
    });
    let (ink, lead) = match is_uneven(run, fairness) {
        true => (Ink::Warning, "uneven: "),
        false => (Ink::Plain, ""),
    };
    let text = format!(
        "{lead}{ends}{} per session, {} on average, standard deviation {}",
        EventWord::of(run).many(),
        rate(fairness.events_mean),
        rate(fairness.events_stddev),
    );
    Block::row("fairness", ink, text)
}

fn is_uneven(run: &RunSummary, fairness: &Fairness) -> bool {
    // With a session schedule, sessions are active for different times.
    let alike = |drive: &Drive| drive.sessions > 1 && drive.session_schedule().is_none();
    // The same limit as the check of fairness: Jain's index below 0.9 is a deviation of a third.
    run.drive.as_ref().is_some_and(alike)
        && fairness.events_mean >= 30.0
        && (fairness.events_stddev > fairness.events_mean / 3.0
            || fairness.events_min == Some(0) && fairness.events_max > Some(0))
}

/// A row for each endpoint.
pub(crate) fn endpoints(run: &RunSummary) -> Table {
    let all: u64 = run.endpoints.iter().map(|endpoint| endpoint.queries).sum();
    let share = |one: &EndpointSummary| Value::Share(one.queries as f64 / all.max(1) as f64);
    Table::of(&run.endpoints)
        .text("endpoint", 0, |one| one.name.clone())
        .figure("queries", 0, |one| Value::Count(one.queries))
        .figure("share", 0, share)
        .source("summary.")
}
