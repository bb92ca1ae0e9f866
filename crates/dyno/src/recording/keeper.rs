//! Where what is recorded goes: a results file, or memory where the user wants no file.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use dyno_core::interval::Latencies;
use dyno_core::record::{
    Event, Fact, NotObserved, Operation, RunHead, RunRecord, RunState, Series, SeriesKey,
    SeriesKind, SessionShare, Setting, Span,
};
use dyno_core::summary::{IntervalSummary, RunSummary};
use dyno_results::{Feed, Recorder, Results, ResultsError, Scope, SeriesId};

use crate::console;

/// The operation that every script has.
pub const EVENT: &str = "event";
/// What a results file that cannot be used means for the run.
const NOT_BEGUN: &str = "the run could not be kept, so it was not begun; --results FILE names \
                         another file, --results none keeps no record";

/// How many points of a series are kept in memory: two hours of seconds. A longer run's are put
/// together two by two.
const POINTS_MAX: usize = 7_200;

/// Whether a run could be recorded in the file, which is made if it is not there.
///
/// # Errors
/// A file that is no results file, or cannot be written to.
pub fn try_file(path: &Path) -> Result<()> {
    Results::open(path).context(NOT_BEGUN).map(drop)
}

/// Takes records from several threads.
pub enum Keeper {
    /// Into a results file.
    File(Recorder, Feed, Box<RunHead>),
    /// For the verdict of this run alone.
    Memory(Box<Mutex<RunRecord>>),
}

/// Names a series of a keeper.
#[derive(Clone, Copy)]
pub enum Handle {
    File(SeriesId),
    Memory(usize),
}

/// A run that has ended, as it was recorded.
pub struct Kept {
    /// The record; whole, unless something was lost.
    pub record: RunRecord,
    /// What of it was lost on the way to the file.
    pub lost: Option<String>,
    /// Why the file does not hold the run's end, if it does not.
    pub unfinished: Option<ResultsError>,
}

impl Keeper {
    /// Begins to record into the file, or in memory.
    ///
    /// # Errors
    /// A file that is no results file, or cannot be written to.
    pub fn new(path: Option<&Path>, head: &RunHead) -> Result<Self> {
        let Some(path) = path else {
            return Ok(Self::Memory(Box::new(Mutex::new(empty(head)))));
        };
        let recorder = Recorder::start(path, head).context(NOT_BEGUN)?;
        let recorder = recorder.on_wait(|path| {
            let path = path.display();
            console::note(&format!(
                "Waiting for {path} to take the end of the run: another process may have locked it."
            ));
        });
        let feed = recorder.feed();
        Ok(Self::File(recorder, feed, Box::new(head.clone())))
    }

    /// The measurement begins, seconds since the Unix epoch.
    pub fn started(&self, unix_s: f64) {
        if let Self::File(_, feed, _) = self {
            feed.started(unix_s);
        }
    }

    /// An interval, with the latencies of each operation, [`EVENT`] first.
    pub fn interval(&self, summary: &IntervalSummary, operations: &[(&str, &Latencies)]) {
        match self {
            Self::File(_, feed, _) => feed.interval(summary, operations),
            Self::Memory(memory) => lock(memory).intervals.push(summary.clone()),
        }
    }

    /// A new series.
    pub fn series(&self, key: SeriesKey, kind: SeriesKind) -> Handle {
        match self {
            Self::File(_, feed, _) => Handle::File(feed.series(&key, kind)),
            Self::Memory(memory) => {
                let mut record = lock(memory);
                let points = Vec::new();
                record.series.push(Series { key, kind, points });
                Handle::Memory(record.series.len() - 1)
            }
        }
    }

    /// Values of one moment.
    pub fn samples(&self, at_s: f64, values: &[(Handle, f64)]) {
        match self {
            Self::File(_, feed, _) => {
                let values: Vec<_> = values
                    .iter()
                    .filter_map(|(handle, value)| match handle {
                        Handle::File(id) => Some((*id, *value)),
                        Handle::Memory(_) => None,
                    })
                    .collect();
                feed.sample(at_s, &values);
            }
            Self::Memory(memory) => {
                let mut record = lock(memory);
                for (handle, value) in values {
                    if let Handle::Memory(index) = handle
                        && let Some(series) = record.series.get_mut(*index)
                    {
                        series.points.push((at_s, *value));
                        if series.points.len() >= POINTS_MAX {
                            halve(&mut series.points);
                        }
                    }
                }
            }
        }
    }

    /// Values of one series at several instants, in order.
    pub fn points(&self, handle: Handle, points: Vec<(f64, f64)>) {
        match (self, handle) {
            (Self::File(_, feed, _), Handle::File(id)) => feed.points(id, points),
            (Self::Memory(memory), Handle::Memory(index)) => {
                if let Some(series) = lock(memory).series.get_mut(index) {
                    series.points.extend(points);
                }
            }
            // A handle of another keeper.
            _ => {}
        }
    }

    /// Facts. One of the same name replaces an earlier one.
    pub fn facts(&self, facts: Vec<Fact>) {
        match self {
            Self::File(_, feed, _) => feed.facts(facts),
            Self::Memory(memory) => {
                let mut record = lock(memory);
                for fact in facts {
                    record.facts.retain(|known| known.name != fact.name);
                    record.facts.push(fact);
                }
            }
        }
    }

    /// Settings of the server, by name.
    pub fn settings(&self, values: Vec<(String, String)>, at_end: bool) {
        match self {
            Self::File(_, feed, _) => feed.settings(values, at_end),
            Self::Memory(memory) => {
                let mut record = lock(memory);
                for (name, value) in values {
                    set(&mut record.settings, name, value, at_end);
                }
            }
        }
    }

    /// What happened.
    pub fn event(&self, event: Event) {
        match self {
            Self::File(_, feed, _) => feed.event(event),
            Self::Memory(memory) => lock(memory).events.push(event),
        }
    }

    /// What could not be observed.
    pub fn not_observed(&self, gap: NotObserved) {
        match self {
            Self::File(_, feed, _) => feed.not_observed(gap),
            Self::Memory(memory) => lock(memory).not_observed.push(gap),
        }
    }

    /// The run has ended. What comes back was read from where it was kept, so that the verdict is
    /// of what others will see. Where the file did not take the end, it is what the file has of
    /// the run, completed by what is known here.
    pub fn finish(
        self,
        summary: &RunSummary,
        state: RunState,
        totals: &[(&str, &Latencies)],
        sessions: &[SessionShare],
    ) -> Kept {
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
            Self::File(recorder, _, head) => {
                let (path, id) = (recorder.path().to_owned(), recorder.run_id());
                let load = || Results::open_read(&path)?.load(id, &Scope::whole());
                let ended = recorder.finish(summary, state, totals, sessions);
                match ended.and_then(|receipt| Ok((receipt, load()?))) {
                    Ok((receipt, record)) => Kept {
                        record,
                        lost: receipt.warning(),
                        unfinished: None,
                    },
                    Err(error) => Kept {
                        record: complete(load().unwrap_or_else(|_| empty(&head))),
                        lost: Some(error.to_string()),
                        unfinished: Some(error),
                    },
                }
            }
            Self::Memory(memory) => {
                let record = memory.into_inner().unwrap_or_else(PoisonError::into_inner);
                Kept {
                    record: complete(record),
                    lost: None,
                    unfinished: None,
                }
            }
        }
    }

    /// The run ended before there was anything to sum up.
    pub fn abandon(self, why: &str) {
        if let Self::File(recorder, ..) = self {
            // The error that ended the run is the one to tell.
            let _ = recorder.abandon(why);
        }
    }
}

fn lock(memory: &Mutex<RunRecord>) -> MutexGuard<'_, RunRecord> {
    memory.lock().unwrap_or_else(PoisonError::into_inner)
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

fn empty(head: &RunHead) -> RunRecord {
    RunRecord {
        id: 0,
        state: RunState::Running,
        head: head.clone(),
        summary: None,
        intervals: Vec::new(),
        operations: Vec::new(),
        series: Vec::new(),
        not_observed: Vec::new(),
        facts: Vec::new(),
        settings: Vec::new(),
        events: Vec::new(),
        sessions: Vec::new(),
        findings: Vec::new(),
        verdict: None,
    }
}

/// Makes one point of two: their mean over the times that they cover.
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
