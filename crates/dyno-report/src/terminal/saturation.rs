//! Increasing numbers of sessions side by side.

use dyno_core::finding::Verdict;

use super::look::{Ink, Look};
use super::page::Page;
use crate::document::{Table, Value};
use crate::number::{latency, plain, rate};
use crate::saturation::{Saturation, Step};

/// A line for each step and the saturation point, an empty line first and a line end last.
pub fn saturation(found: &Saturation, look: &Look) -> String {
    let knee_step = found.knee.and_then(|place| found.steps.get(place));
    let ink = |step: &Step| match knee_step {
        Some(knee) if std::ptr::eq(knee, step) => Ink::Strong,
        _ => Ink::Plain,
    };
    let times = |ratio: Option<f64>| ratio.map(|ratio| Value::Text(two_digits(ratio)));
    let table = Table::of(&found.steps)
        .figure("sessions", 0, |step| (ink(step), step.sessions.to_string()))
        .figure(found.event.per_s(), 0, |step| {
            (ink(step), Value::Rate(step.events_per_s))
        })
        .figure("gain", 0, |step| times(step.throughput_ratio))
        .figure("mean", 0, |step| {
            let mean = step.mean_ms.map_or(Value::Missing, Value::Ms);
            (ink(step), mean)
        })
        .figure("slower", 0, |step| times(step.latency_ratio))
        .figure("p99", 0, |step| step.p99_ms.map(Value::Ms))
        .word("verdict", 0, |step| step.verdict)
        .figure("run", 0, |step| {
            let run = step.run.map(|run| run.to_string());
            (Ink::Faint, run.map_or(Value::Missing, Value::Text))
        })
        .source("");
    let mut page = Page::new(*look);
    page.row("knee", Ink::Strong, &knee(found));
    if let Some(text) = against(&found.steps) {
        page.row("", Ink::Warning, &text);
    }
    if found.in_one_run {
        page.row(
            "",
            Ink::Faint,
            "The steps are parts of one run: caches, statistics and data are as the step before \
             left them.",
        );
    }
    if !found.sequence.is_empty() {
        let text = format!("as the sequence {}", found.sequence);
        page.row("recorded", Ink::Plain, &text);
    }
    format!("\n{}\n{}", table.finish(look), page.finish())
}

fn knee(found: &Saturation) -> String {
    let (steps, unit) = (&found.steps, found.event.per_s());
    let Some((place, at)) = found
        .knee
        .and_then(|place| Some((place, steps.get(place)?)))
    else {
        return "unknown: it takes two steps with finished events".to_owned();
    };
    // A step without a mean has no power.
    let mean_ms = at.mean_ms.unwrap_or(f64::NAN);
    let head = format!(
        "{}: {} {unit} at {} on average",
        sessions(at.sessions),
        rate(at.events_per_s),
        latency(mean_ms)
    );
    let next = steps.get(place + 1);
    match next.and_then(|next| Some((next, next.mean_ms?))) {
        None => format!(
            "not reached: throughput still grows more than latency up to {head}. A longer \
             --ladder would find it."
        ),
        Some((next, next_ms)) => format!(
            "{head}, the most throughput for its latency. {} reach {} times the throughput at {} \
             times the latency.",
            sessions(next.sessions),
            two_digits(next.events_per_s / at.events_per_s),
            two_digits(next_ms / mean_ms),
        ),
    }
}

/// Doubts about the steps on which the saturation point is based.
fn against(steps: &[Step]) -> Option<String> {
    let of = |verdict| {
        steps
            .iter()
            .filter(|step| step.verdict == Some(verdict))
            .count()
    };
    let parts: Vec<String> = [Verdict::Doubtful, Verdict::Refused]
        .into_iter()
        .filter(|verdict| of(*verdict) > 0)
        .map(|verdict| match of(verdict) {
            1 => format!("1 is {}", verdict.word()),
            count => format!("{count} are {}", verdict.word()),
        })
        .collect();
    let doubted = steps
        .iter()
        .filter(|step| step.verdict > Some(Verdict::Valid));
    let mut runs: Vec<i64> = doubted.filter_map(|step| step.run).collect();
    runs.dedup();
    let run = match runs.as_slice() {
        [run] => run.to_string(),
        _ => "RUN".to_owned(),
    };
    (!parts.is_empty()).then(|| {
        format!(
            "Of the {} steps, {}; dyno show {run} says why.",
            steps.len(),
            parts.join(" and ")
        )
    })
}

fn sessions(count: u32) -> String {
    match count {
        1 => "1 session".to_owned(),
        count => format!("{count} sessions"),
    }
}

/// Two digits, the precision of two equal runs.
fn two_digits(ratio: f64) -> String {
    match ratio {
        ratio if ratio.is_finite() && ratio < 99.5 => format!("{ratio:.2}"),
        ratio => plain(ratio.round()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::saturation::tests::ladder;
    use dyno_core::summary::RunSummary;

    fn page_of(workers: u32, sessions: &[u32]) -> String {
        saturation(
            &Saturation::of(&ladder(workers, sessions)),
            &Look::default(),
        )
    }

    #[test]
    fn a_ladder_with_its_knee() {
        insta::assert_snapshot!(page_of(4, &[1, 2, 4, 8, 16]));
    }

    #[test]
    fn doubtful_steps_are_counted_next_to_the_knee() {
        let words = "Of the 3 steps, 1 is doubtful and 1 is refused; dyno show RUN says why.";
        let mut runs = ladder(64, &[1, 2, 4]);
        let text = |runs: &[RunSummary]| saturation(&Saturation::of(runs), &Look::default());
        runs.iter_mut()
            .for_each(|run| run.verdict = Some(Verdict::Valid));
        assert!(!text(&runs).contains("Of the"));
        runs[1].verdict = Some(Verdict::Doubtful);
        assert!(text(&runs).contains("1 is doubtful; dyno show 12 says"));
        runs[2].verdict = Some(Verdict::Refused);
        runs[2].recorded.as_mut().unwrap().id = 13;
        let page = text(&runs)
            .split_whitespace()
            .collect::<Vec<&str>>()
            .join(" ");
        assert!(page.contains(words), "{page}");
    }

    #[test]
    fn reports_an_unreached_or_unknown_knee() {
        assert!(page_of(64, &[1, 2, 4]).contains("not reached"));
        assert!(page_of(64, &[1]).contains("unknown"));
    }
}
