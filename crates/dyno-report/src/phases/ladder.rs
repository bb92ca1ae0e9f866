//! A ladder of increasing numbers of active tables.

use dyno_core::catalogue::names;
use dyno_core::plan::{OptionValue, PhasePlan};
use dyno_core::record::RunRecord;

use super::metrics::{GB, Phase};
use super::{Cell, Mark, Sequence, Table};

const MIB: f64 = 1_048_576.0;
/// A step with fewer touches per table is cold.
const WARM: f64 = 3.0;

const COLUMNS: [&str; 14] = [
    "configuration",
    "active tables",
    "cache limit",
    "trx/s",
    "p5",
    "p95",
    "p99 ms",
    "opens/trx",
    "miss ratio",
    "% opening",
    "RSS GB",
    "fds",
    "session MiB",
    "touches",
];

/// The number of tables that the phase touches, if it is a step of a ladder: a phase that sets the
/// option `active`.
pub fn step(phase: &PhasePlan) -> Option<f64> {
    let active = phase.options.iter().find(|(name, _)| name == "active");
    match active {
        Some((_, OptionValue::Number(active))) if *active > 0.0 => Some(*active),
        _ => None,
    }
}

/// The step of a recorded phase.
fn step_of(run: &RunRecord) -> Option<f64> {
    step(run.head.plan.as_ref()?.phases.first()?)
}

/// The steps of all sequences below each other; `None` without steps.
pub fn ladder(sequences: &[Sequence]) -> Option<Table> {
    let (mut rows, mut breaks) = (Vec::new(), Vec::new());
    for sequence in sequences {
        if sequence.begins_group && !rows.is_empty() {
            breaks.push(rows.len());
        }
        for run in &sequence.runs {
            let phase = Phase { run };
            let cells = step_of(run).map(|active| cells(&phase, active));
            rows.extend(cells.map(|cells| (sequence.label.clone(), cells)));
        }
    }
    (!rows.is_empty()).then(|| Table {
        title: "Active tables".to_owned(),
        about: "trx/s is the median of the whole intervals; p5 and p95 are their quantiles. In \
                brackets: cold steps, which touched each table fewer than 3 times, warm-up \
                included, so that they measure first opens. The cache limit is table_open_cache, \
                on MariaDB of each instance. % opening: sessions in the state Opening tables. \
                session MiB: private memory of a PostgreSQL session at the end."
            .to_owned(),
        columns: COLUMNS.map(str::to_owned).to_vec(),
        rows,
        breaks,
    })
}

fn cells(phase: &Phase<'_>, active: f64) -> Vec<Cell> {
    let run = phase.run;
    let mut rates: Vec<f64> = phase
        .whole_intervals()
        .map(|interval| interval.events_per_s())
        .collect();
    rates.sort_by(f64::total_cmp);
    let quantile = |share: f64| {
        let place = (rates.len() as f64 * share).ceil() as usize;
        rates.get(place.max(1) - 1).copied()
    };
    let summary = run.summary.as_ref();
    let p99 = summary.and_then(|summary| summary.service.percentile_ms(99.0));
    let events_per_s = summary.map(|summary| summary.rates.events_per_s);
    let sessions = run
        .head
        .drive
        .as_ref()
        .map(|drive| f64::from(drive.sessions));
    let misses = mean(phase, names::DB_STATUS_TABLE_OPEN_CACHE_MISSES);
    let looks = mean(phase, names::DB_STATUS_TABLE_OPEN_CACHE_HITS)
        .zip(misses)
        .map(|(hits, misses)| hits + misses);
    let opening = mean(phase, names::DB_SESSIONS_OPENING_TABLES);
    let touches = touches(run).map(|touches| touches / active);
    let mut median = Cell::number(quantile(0.5));
    if median.value.is_some() && touches.is_some_and(|touches| touches < WARM) {
        median.mark = Mark::Missed;
    }
    let limit = run
        .setting("table_open_cache")
        .and_then(|text| text.parse().ok());
    vec![
        Cell::whole(Some(active)),
        Cell::whole(limit),
        median,
        Cell::number(quantile(0.05)),
        Cell::number(quantile(0.95)),
        Cell::number(p99),
        Cell::number(per(
            mean(phase, names::DB_STATUS_OPENED_TABLES),
            events_per_s,
        )),
        Cell::number(per(misses, looks)),
        Cell::number(per(opening.map(|count| count * 100.0), sessions)),
        Cell::number(phase.last(names::SERVER_MEMORY_RSS).map(|bytes| bytes / GB)),
        Cell::whole(phase.last(names::SERVER_DESCRIPTORS)),
        Cell::number(
            phase
                .last(names::SERVER_MEMORY_SESSION_MEAN)
                .map(|bytes| bytes / MIB),
        ),
        Cell::number(touches),
    ]
}

fn per(value: Option<f64>, of: Option<f64>) -> Option<f64> {
    Some(value? / of.filter(|of| *of > 0.0)?)
}

/// A series' mean over the measurement; 0 if it was always 0.
fn mean(phase: &Phase<'_>, series: &str) -> Option<f64> {
    let zeros = || phase.run.fact(names::OBSERVER_ALWAYS_ZERO);
    let is_zero = || zeros().is_some_and(|names| names.split(' ').any(|name| name == series));
    phase.mean(series).or_else(|| is_zero().then_some(0.0))
}

/// The number of touches of tables, including the warm-up, which is assumed to have the same rate
/// per event as the measurement.
fn touches(run: &RunRecord) -> Option<f64> {
    let summary = run.summary.as_ref()?;
    let touched = summary
        .operations
        .iter()
        .filter(|own| own.name.contains("touch"));
    let done: u64 = touched.map(|own| own.totals.done).sum();
    let warmup = run.intervals.iter().filter(|interval| interval.at_s <= 0.0);
    let before: u64 = warmup.map(|interval| interval.counters.events).sum();
    let events = summary.totals.events.max(1) as f64;
    Some(done as f64 * (1.0 + before as f64 / events))
}
