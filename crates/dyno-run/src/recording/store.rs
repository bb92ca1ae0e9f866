//! Where records go: to a results file, or to memory if the user wants no file.

mod parts;

use std::collections::HashMap;
use std::path::Path;

use dyno_core::cpu_profile::CpuProfile;
use dyno_core::interval::{Latencies, OperationInterval};
use dyno_core::record::{
    Event, Fact, NotObserved, Operation, RunHead, RunRecord, RunState, Series, SeriesKey,
    SeriesKind, SessionShare, Setting, Span,
};
use dyno_core::summary::RunSummary;
use dyno_results::{BackgroundWriter, Feed, Results, ResultsError, Scope, SeriesId};

use crate::error::{Context as _, Result, RunError};
use crate::sink::{IntervalReport, Notice, Sink, Sinks};

/// The operation that every script has.
pub(super) const EVENT: &str = "event";
/// The consequence of a results file that cannot be used.
const NOT_BEGUN: &str = "the run did not start because it cannot be recorded; choose another file \
                         with --results FILE, or keep no record with --results none";

/// Maximum number of points of a series in memory: two hours of seconds. In a longer run, points
/// are merged in pairs.
const POINTS_MAX: usize = 7_200;

/// Checks that the run could be recorded in the file, which is created if it is missing.
///
/// # Errors
/// It is not a results file, or cannot be written to.
pub fn try_file(path: &Path) -> Result<()> {
    Results::open(path).context(NOT_BEGUN).map(drop)
}

/// The error of a run that cannot start. It mentions the results file if that is the cause.
pub(crate) fn not_begun(error: RunError) -> RunError {
    match error.is_of_results() {
        true => RunError::While {
            doing: NOT_BEGUN.to_owned(),
            error: Box::new(error),
        },
        false => error,
    }
}

/// The record of a run in progress.
pub(super) enum Store {
    /// In a results file.
    File {
        recorder: BackgroundWriter,
        feed: Feed,
        head: Box<RunHead>,
        series: HashMap<u32, SeriesId>,
    },
    /// In memory, only for the verdict of this run.
    Memory {
        record: Box<RunRecord>,
        /// For each series number, its index in the record.
        series: HashMap<u32, usize>,
    },
}

/// A finished run as recorded.
pub(super) struct StoredRun {
    /// The record. It is complete unless something was lost.
    pub record: RunRecord,
    /// What was lost on the way to the file.
    pub lost: Option<String>,
    /// Why the file lacks the end of the run, if it does.
    pub unfinished: Option<ResultsError>,
}

impl Store {
    /// Starts to record, either to the file or in memory.
    ///
    /// # Errors
    /// It is not a results file, or cannot be written to.
    pub(super) fn new(path: Option<&Path>, head: &RunHead, sinks: &Sinks) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Memory {
                record: Box::new(RunRecord::new(head.clone())),
                series: HashMap::new(),
            });
        };
        let recorder = BackgroundWriter::start(path, head)?;
        let sinks = sinks.clone();
        let recorder =
            recorder.on_wait(move |path| sinks.notice(&Notice::ResultsBusy(path.to_owned())));
        let feed = recorder.feed();
        Ok(Self::File {
            recorder,
            feed,
            head: Box::new(head.clone()),
            series: HashMap::new(),
        })
    }

    /// The run has ended. The record that is returned was read back from its file, so that the
    /// verdict is based on what others will see. If the end could not be written to the file, the
    /// record is completed from memory.
    pub(super) fn finish(
        self,
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> StoredRun {
        let complete = |mut record: RunRecord| {
            record.state = state;
            record.intervals.clone_from(&summary.intervals);
            record.summary = Some(summary.clone());
            record.sessions = sessions.to_vec();
            for (name, total) in totals {
                let total = Some(whole(total, summary.elapsed_s));
                let mut known = record.operations.iter_mut();
                match known.find(|operation| operation.name == *name) {
                    Some(operation) => operation.total = total,
                    None => record.operations.push(Operation {
                        name: (*name).to_owned(),
                        spans: Vec::new(),
                        total,
                    }),
                }
            }
            for series in &mut record.series {
                series.points.sort_by(|a, b| a.0.total_cmp(&b.0));
            }
            record
        };
        match self {
            Self::File { recorder, head, .. } => {
                let (path, id) = (recorder.path().to_owned(), recorder.run_id());
                let load = || Results::open_read(&path)?.load(id, &Scope::whole());
                let ended = recorder.finish(summary, state, totals, sessions);
                match ended.and_then(|receipt| Ok((receipt, load()?))) {
                    Ok((receipt, record)) => StoredRun {
                        record,
                        lost: receipt.warning(),
                        unfinished: None,
                    },
                    Err(error) => StoredRun {
                        record: complete(load().unwrap_or_else(|_| RunRecord::new(*head))),
                        lost: Some(error.to_string()),
                        unfinished: Some(error),
                    },
                }
            }
            Self::Memory { record, .. } => StoredRun {
                record: complete(*record),
                lost: None,
                unfinished: None,
            },
        }
    }

    /// The run ended in this state and has no result.
    pub(super) fn abandon(self, state: RunState, why: &str) {
        if let Self::File { recorder, .. } = self {
            // Report the error that ended the run, not this one.
            let _ = recorder.abandon(state, why);
        }
    }
}

impl Sink for Store {
    fn started(&mut self, unix_s: f64) {
        if let Self::File { feed, .. } = self {
            feed.started(unix_s);
        }
    }

    fn interval(&mut self, report: IntervalReport<'_>) {
        match self {
            Self::File { feed, .. } => {
                let interval = report.interval;
                let operations =
                    with_event(report.operations, &interval.latencies, &interval.operations);
                feed.interval(report.summary, &operations);
            }
            Self::Memory { record, .. } => {
                let interval = report.interval;
                let operations =
                    with_event(report.operations, &interval.latencies, &interval.operations);
                parts::add(record, report.summary, &operations);
                record.intervals.push(report.summary.clone());
            }
        }
    }

    fn series(&mut self, number: u32, key: &SeriesKey, kind: SeriesKind) {
        match self {
            Self::File { feed, series, .. } => {
                series.insert(number, feed.series(key, kind));
            }
            Self::Memory { record, series } => {
                series.insert(number, record.series.len());
                record.series.push(Series {
                    key: key.clone(),
                    kind,
                    points: Vec::new(),
                });
            }
        }
    }

    fn samples(&mut self, at_s: f64, values: &[(u32, f64)]) {
        match self {
            Self::File { feed, series, .. } => {
                let known = |(number, value): &(u32, f64)| Some((*series.get(number)?, *value));
                let values: Vec<_> = values.iter().filter_map(known).collect();
                feed.sample(at_s, &values);
            }
            Self::Memory { record, series } => {
                for (number, value) in values {
                    let place = series.get(number);
                    let Some(series) = place.and_then(|place| record.series.get_mut(*place)) else {
                        continue;
                    };
                    series.points.push((at_s, *value));
                    if series.points.len() >= POINTS_MAX {
                        halve(&mut series.points);
                    }
                }
            }
        }
    }

    fn points(&mut self, number: u32, points: &[(f64, f64)]) {
        match self {
            Self::File { feed, series, .. } => {
                if let Some(id) = series.get(&number) {
                    feed.points(*id, points.to_vec());
                }
            }
            Self::Memory { record, series } => {
                let place = series.get(&number);
                if let Some(series) = place.and_then(|place| record.series.get_mut(*place)) {
                    series.points.extend_from_slice(points);
                }
            }
        }
    }

    fn facts(&mut self, facts: &[Fact]) {
        match self {
            Self::File { feed, .. } => feed.facts(facts.to_vec()),
            Self::Memory { record, .. } => {
                for fact in facts {
                    record.facts.retain(|known| known.name != fact.name);
                    record.facts.push(fact.clone());
                }
            }
        }
    }

    fn settings(&mut self, values: &[(String, String)], at_end: bool) {
        match self {
            Self::File { feed, .. } => feed.settings(values.to_vec(), at_end),
            Self::Memory { record, .. } => {
                for (name, value) in values {
                    set(&mut record.settings, name.clone(), value.clone(), at_end);
                }
            }
        }
    }

    fn event(&mut self, event: &Event) {
        match self {
            Self::File { feed, .. } => feed.event(event.clone()),
            Self::Memory { record, .. } => record.events.push(event.clone()),
        }
    }

    fn not_observed(&mut self, gap: &NotObserved) {
        match self {
            Self::File { feed, .. } => feed.not_observed(gap.clone()),
            Self::Memory { record, .. } => record.not_observed.push(gap.clone()),
        }
    }

    fn profile(&mut self, profile: &CpuProfile) {
        match self {
            Self::File { feed, .. } => feed.profile(profile.clone()),
            Self::Memory { record, .. } => record.profiles.push(profile.clone()),
        }
    }
}

/// The latencies of events and of the script's operations, by name.
pub(super) fn with_event<'a>(
    names: &'a [String],
    event: &'a Latencies,
    operations: &'a [OperationInterval],
) -> Vec<(&'a str, &'a Latencies)> {
    let named = names.iter().zip(operations);
    let named = named.map(|(name, operation)| (name.as_str(), &operation.latencies));
    std::iter::once((EVENT, event)).chain(named).collect()
}

fn set(settings: &mut Vec<Setting>, name: String, value: String, at_end: bool) {
    let known = settings.iter_mut().find(|setting| setting.name == name);
    let setting = match known {
        Some(setting) => setting,
        None => {
            settings.push(Setting {
                name,
                start: None,
                end: None,
            });
            let Some(last) = settings.last_mut() else {
                return;
            };
            last
        }
    };
    if at_end {
        setting.end = Some(value);
    } else {
        setting.start = Some(value);
    }
}

fn whole(total: &Latencies, elapsed_s: f64) -> Span {
    let count = total.service.len();
    Span {
        from_s: 0.0,
        to_s: elapsed_s,
        count,
        service_ns_sum: total.service_ns_sum,
        service_ns_min: if count == 0 { 0 } else { total.service_ns_min },
        service_ns_max: total.service_ns_max,
        service: total.service.clone(),
        response: total.response.clone(),
    }
}

/// Merges points in pairs. The new point is their mean, weighted by the times that they cover.
fn halve(points: &mut Vec<(f64, f64)>) {
    let mut before = None;
    let mut kept = 0;
    for first in (0..points.len()).step_by(2) {
        let (one, two) = (points[first], points.get(first + 1).copied());
        points[kept] = two.map_or(one, |two| {
            let last = two.0 - one.0;
            let length = before.map_or(last, |before| one.0 - before);
            let both = length + last;
            match both > 0.0 {
                true => (two.0, (one.1 * length + two.1 * last) / both),
                false => two,
            }
        });
        before = Some(points[kept].0);
        kept += 1;
    }
    points.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_in_memory_are_bounded_and_keep_their_mean() {
        let mut points = Vec::new();
        let mut sum = 0.0;
        for second in 1..=100_000_u32 {
            let value = f64::from(second % 97);
            sum += value;
            points.push((f64::from(second), value));
            if points.len() >= POINTS_MAX {
                halve(&mut points);
            }
        }
        assert!(points.len() < POINTS_MAX);
        let mut before = 0.0;
        let mut integral = 0.0;
        for (at, value) in &points {
            assert!(*at > before);
            integral += value * (at - before);
            before = *at;
        }
        assert!(
            (integral - sum).abs() < sum * 1e-3,
            "{integral} instead of {sum}"
        );
        let mut odd = vec![(1.0, 2.0), (2.0, 4.0), (3.0, 9.0)];
        halve(&mut odd);
        assert_eq!(odd, [(2.0, 3.0), (3.0, 9.0)]);
    }
}
