//! A run with a load that changed over time: each part is judged like a separate run.

use dyno_analysis::window::{self, Window};
use dyno_core::finding::{Finding, Outcome, Stall, verdict};
use dyno_core::plan::{PlacedPart, Scheduled};
use dyno_core::record::{Operation, RunRecord, Series};
use dyno_core::summary::{Against, LatencySummary, PartSummary, RunSummary};

use crate::context::Context;
use crate::view::View;
use crate::{registry, root_causes, text};

/// Checks that assume a constant load: run on each part, and the worst result counts for the run.
const OF_PARTS: [&str; 10] = [
    "generator-ceiling",
    "offered-rate",
    "arrivals",
    "samples",
    "warm-up",
    "steady-state",
    "whole-cycles",
    "stalls",
    "latency-modes",
    "length",
];

/// Checks that do not apply if the level changes within a part.
const OF_A_LEVEL: [&str; 6] = [
    "arrivals",
    "warm-up",
    "steady-state",
    "whole-cycles",
    "latency-modes",
    "length",
];

/// Checks that compare sessions, which a schedule of the sessions makes unequal.
const OF_SESSIONS: [&str; 2] = ["fairness", "idle-sessions"];

/// If the lowest level is below this share of the highest, seconds with few events are intended,
/// not stalls.
const LOW: f64 = 0.25;

/// Why a check does not apply to a changing load.
const CHANGES: &str = "The load changes all the time, as requested.";

struct Judged {
    placed: PlacedPart,
    findings: Vec<Finding>,
}

/// The judged parts of a run's schedule, merged into the findings of the whole run. Empty without a
/// schedule.
pub(crate) fn judge(
    run: &RunRecord,
    context: &Context,
    findings: &mut [Finding],
) -> Vec<PartSummary> {
    let Some(drive) = run.head.drive.as_ref() else {
        return Vec::new();
    };
    let Some(schedule) = &drive.schedule else {
        return Vec::new();
    };
    let placed = schedule.placed();
    if let [only] = &placed[..]
        && !only.part.is_constant()
    {
        // A level that changes all the time makes one part of the whole.
        withdraw(only, findings);
        unequal(schedule.of, findings);
        let summaries = run.summary.iter();
        return summaries
            .map(|whole| summary(only.clone(), whole, findings))
            .collect();
    }
    let mut parts = Vec::new();
    let mut judged = Vec::new();
    let mut bare = run.clone();
    bare.series.clear();
    bare.operations.clear();
    bare.sessions.clear();
    for placed in placed {
        let window = Window {
            from_s: Some(placed.from_s),
            to_s: Some(placed.to_s),
        };
        // A part without an interval is still listed.
        let Ok(part) = window::cut(around(run, &bare, &placed), window) else {
            parts.push(without_figures(placed));
            continue;
        };
        let view = View::new(&part, context);
        let mut own: Vec<Finding> = registry::checks()
            .iter()
            .map(|check| check.judge(&view))
            .collect();
        root_causes::apply(&view, &mut own);
        own.retain(|finding| OF_PARTS.contains(&finding.check.as_str()));
        withdraw(&placed, &mut own);
        if let Some(of_part) = &part.summary {
            parts.push(summary(placed.clone(), of_part, &own));
        }
        judged.push(Judged {
            placed,
            findings: own,
        });
    }
    for finding in findings.iter_mut() {
        if OF_PARTS.contains(&finding.check.as_str()) {
            put_together(finding, &judged);
        }
    }
    unequal(schedule.of, findings);
    parts
}

/// Withdraws checks of sessions that took part for different times.
fn unequal(of: Scheduled, findings: &mut [Finding]) {
    let compared = |finding: &&mut Finding| OF_SESSIONS.contains(&finding.check.as_str());
    if of == Scheduled::Sessions {
        for finding in findings.iter_mut().filter(compared) {
            not_checked(finding, "Sessions ran for different times, as scheduled.");
        }
    }
}

/// The data of a run that a part needs, so that hundreds of parts do not each copy a long run.
fn around(run: &RunRecord, bare: &RunRecord, placed: &PlacedPart) -> RunRecord {
    /// A rate's value covers the time before it, and observers have periods of seconds.
    const ROOM_S: f64 = 15.0;
    let near =
        |from_s: f64, to_s: f64| to_s >= placed.from_s - ROOM_S && from_s <= placed.to_s + ROOM_S;
    let series = run.series.iter().map(|series| Series {
        key: series.key.clone(),
        kind: series.kind,
        points: (series.points.iter())
            .copied()
            .filter(|(at_s, _)| near(*at_s, *at_s))
            .collect(),
    });
    let operations = run.operations.iter().map(|operation| Operation {
        name: operation.name.clone(),
        spans: (operation.spans.iter())
            .filter(|span| near(span.from_s, span.to_s))
            .cloned()
            .collect(),
        total: None,
    });
    RunRecord {
        series: series.collect(),
        operations: operations.collect(),
        ..bare.clone()
    }
}

/// Withdraws checks of a changing level.
fn withdraw(placed: &PlacedPart, findings: &mut [Finding]) {
    let part = &placed.part;
    if part.max() <= 0.0 {
        for finding in findings {
            not_checked(finding, "No work was scheduled.");
        }
        return;
    }
    if part.is_constant() {
        return;
    }
    let low = part.from.min(part.to) < LOW * part.max();
    for finding in findings {
        let check = finding.check.as_str();
        if OF_A_LEVEL.contains(&check) || low && check == "stalls" {
            not_checked(finding, CHANGES);
        }
    }
}

fn not_checked(finding: &mut Finding, why: &str) {
    finding.outcome = Outcome::NotChecked;
    finding.evidence = why.to_owned();
    finding.numbers.clear();
    finding.stalls = None;
    finding.advice.clear();
}

/// The finding of the whole run: the worst of its parts, with its part.
fn put_together(finding: &mut Finding, judged: &[Judged]) {
    let own = |judged: &Judged| {
        let mut all = judged.findings.iter();
        all.find(|own| own.check == finding.check).cloned()
    };
    let checked: Vec<(&Judged, Finding)> = judged
        .iter()
        .filter_map(|judged| Some((judged, own(judged)?)))
        .filter(|(_, own)| own.outcome != Outcome::NotChecked)
        .collect();
    // The first of equally bad ones.
    let worst = checked.iter().rev().max_by_key(|(_, own)| own.outcome);
    let Some((part, worst)) = worst else {
        let why = judged.first().and_then(own).map(|own| own.evidence);
        not_checked(finding, why.as_deref().unwrap_or(CHANGES));
        return;
    };
    let alike = checked
        .iter()
        .filter(|(_, own)| own.outcome == worst.outcome);
    let alike = alike.count();
    finding.clone_from(worst);
    let place = format!(
        "{} ({} to {} s)",
        part.placed.label,
        text::plain(part.placed.from_s),
        text::plain(part.placed.to_s)
    );
    let prefix = match worst.outcome {
        Outcome::Pass if judged.len() == 1 => format!("In part {place}: "),
        Outcome::Pass if alike == judged.len() => {
            format!("In each of the {alike} parts; the first one: ")
        }
        Outcome::Pass => format!("In {alike} of the {} parts; one of them: ", judged.len()),
        _ if alike > 1 => format!(
            "In {alike} of the {} parts, first in {place}: ",
            judged.len()
        ),
        _ => format!("In part {place}: "),
    };
    finding.evidence = prefix + &worst.evidence;
    finding.stalls = stalls(&checked);
}

/// The stalls of all parts, in the time of the run.
fn stalls(checked: &[(&Judged, Finding)]) -> Option<Vec<Stall>> {
    let known = checked
        .iter()
        .filter_map(|(judged, own)| Some((judged.placed.from_s, own.stalls.as_ref()?)));
    let later = |(by_s, stalls): (f64, &Vec<Stall>)| {
        let moved = |stall: &Stall| Stall {
            from_s: stall.from_s + by_s,
            to_s: stall.to_s + by_s,
            ..*stall
        };
        stalls.iter().map(moved).collect::<Vec<_>>()
    };
    known.map(later).reduce(|all, own| [all, own].concat())
}

fn summary(placed: PlacedPart, own: &RunSummary, findings: &[Finding]) -> PartSummary {
    let against = findings.iter().filter(|finding| {
        matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse) && finding.waived.is_none()
    });
    let drive = own.drive.as_ref();
    PartSummary {
        offered_per_s: drive.and_then(|drive| Some(drive.open_loop?.per_second)),
        sessions: drive.map_or(0, |drive| drive.sessions),
        totals: own.totals,
        rates: own.rates,
        latency: own.response.clone().unwrap_or(own.service.clone()),
        // A pause is not judged.
        verdict: (placed.part.max() > 0.0).then(|| verdict(findings)),
        against: against
            .map(|finding| Against {
                check: finding.check.clone(),
                outcome: finding.outcome,
                evidence: finding.evidence.clone(),
            })
            .collect(),
        ..without_figures(placed)
    }
}

fn without_figures(placed: PlacedPart) -> PartSummary {
    PartSummary {
        label: placed.label,
        from_s: placed.from_s,
        to_s: placed.to_s,
        offered_per_s: None,
        sessions: 0,
        totals: Default::default(),
        rates: Default::default(),
        latency: LatencySummary::default(),
        verdict: None,
        against: Vec::new(),
    }
}
