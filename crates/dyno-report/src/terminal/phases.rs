//! The phases of a sequence beside each other.

use dyno_core::finding::Verdict;
use dyno_core::summary::RunSummary;

use super::look::{Ink, Look, columns};
use super::page::Page;
use crate::number::{latency, length, percent, rate};

/// The width of a column of figures.
const WIDTH: usize = 11;
/// An achieved share of a role's asked rate below which it is pointed at.
const ACHIEVED: f64 = 0.95;

/// A line for each phase, an empty line first and a line end last.
pub fn phases(runs: &[RunSummary], look: &Look) -> String {
    let mut page = Page::new(*look);
    page.blank();
    let right = |text: &str| {
        let pad = WIDTH.saturating_sub(columns(text));
        format!("{}{text}", " ".repeat(pad))
    };
    let head: String = ["length", "rate", "p99", "max"].map(right).concat();
    page.line("phases", Ink::Strong, &[(Ink::Faint, &head)]);
    for run in runs {
        let name = run.phase.as_ref().map_or("", |phase| phase.name.as_str());
        let unit = run
            .phase
            .as_ref()
            .map_or("events", |phase| phase.unit.as_str());
        let per_s =
            (run.phase.as_ref()).map_or(run.rates.events_per_s, |p| p.rate(run.rates.events_per_s));
        let latencies = run.response.as_ref().unwrap_or(&run.service);
        let p99 = latencies.percentiles.iter().find(|p| p.percent == 99.0);
        let p99 = p99.and_then(|p| p.value_ms);
        let figures = [
            length(run.measured_s),
            rate(per_s),
            p99.map_or_else(|| "–".to_owned(), latency),
            latency(latencies.max_ms),
        ];
        let figures: String = figures.iter().map(|text| right(text)).collect();
        let (ink, verdict) = match run.verdict {
            Some(Verdict::Refused) => (Ink::Error, "✘"),
            Some(Verdict::Doubtful) => (Ink::Warning, "?"),
            Some(Verdict::Valid) => (Ink::Good, "✔"),
            None => (Ink::Faint, "–"),
        };
        let tail = format!("  {verdict} {unit}/s");
        let label = format!("  {name}");
        page.line(&label, Ink::Plain, &[(Ink::Plain, &figures), (ink, &tail)]);
        let late = run.roles.iter().filter_map(|role| {
            let share = role.achieved_share().filter(|share| *share < ACHIEVED)?;
            Some(format!(
                "{} {} of what was asked",
                role.name,
                percent(share)
            ))
        });
        let late: Vec<String> = late.collect();
        if !late.is_empty() {
            page.row("", Ink::Warning, &late.join(", "));
        }
    }
    if let Some(phase) = runs.first().and_then(|run| run.phase.as_ref()) {
        page.row("sequence", Ink::Plain, &phase.sequence);
    }
    page.finish()
}
