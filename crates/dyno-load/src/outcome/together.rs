//! Merges the outcomes of several load generators.

use std::collections::HashMap;

use dyno_core::clock::Nanos;
use dyno_core::interval::{Counters, Interval, OperationCounters, merge_roles};
use dyno_core::summary::RunEnd;

use super::{Counted, LoadError, RunOutcome, SessionTotals};
use crate::outages;
use crate::silences::{Pauses, TimeRange, both};
use crate::statements::{Ended, ShapeFigures, StatementFacts};

impl RunOutcome {
    /// Converts instants to another clock, which reads `to` when this one reads `from`. 0 means no
    /// instant and stays.
    #[must_use]
    pub fn moved(mut self, from: Nanos, to: Nanos) -> Self {
        let convert = |at: &mut Nanos| {
            if *at != 0 {
                *at = at.saturating_sub(from).saturating_add(to);
            }
        };
        let range = |range: &mut TimeRange| {
            convert(&mut range.from);
            convert(&mut range.to);
        };
        convert(&mut self.totals.start);
        convert(&mut self.totals.end);
        convert(&mut self.measured_start);
        convert(&mut self.measured_end);
        for session in &mut self.sessions {
            session.finished.iter_mut().for_each(convert);
            convert(&mut session.active);
            convert(&mut session.idle.from);
            convert(&mut session.idle.to);
        }
        for outage in &mut self.outages {
            convert(&mut outage.from);
            outage.until.iter_mut().for_each(convert);
        }
        self.pauses.silences.iter_mut().for_each(range);
        self.pauses.frozen.iter_mut().for_each(range);
        let starved = self.pauses.starved.iter_mut().flatten();
        starved.for_each(range);
        self
    }

    /// Merges the outcomes of several load generators of one run, given by name and on one clock,
    /// as if one had run all sessions and workers. Values that cannot be known of the whole are
    /// derived from the parts: a statement counts as different in each of them; the longest backlog
    /// is that of one part, or of all at the end.
    ///
    /// # Errors
    /// `parts` is empty.
    pub fn together(parts: Vec<(String, Self)>) -> Result<Self, LoadError> {
        let several = parts.len() > 1;
        let mut parts = parts.into_iter().map(|(name, mut part)| {
            if several {
                part.name_failures(&name);
            }
            part
        });
        let none = || LoadError::Start("there is no load generator".to_owned());
        let mut whole = parts.next().ok_or_else(none)?;
        for part in parts {
            whole.add(part);
        }
        whole.outages = outages::merged(std::mem::take(&mut whole.outages));
        whole.sessions.sort_by_key(|session| session.tid);
        let took = |one: &ShapeFigures| one.latencies.service_ns_sum;
        whole.shapes.sort_by_key(|one| std::cmp::Reverse(took(one)));
        Ok(whole)
    }

    /// An outcome with only the times of the measurement.
    pub fn blank(measured_start: Nanos, measured_end: Nanos) -> Self {
        Self {
            totals: Interval {
                start: measured_start,
                end: measured_end,
                ..Interval::default()
            },
            in_grace: Counters::default(),
            operations_in_grace: Vec::new(),
            roles_in_grace: Vec::new(),
            sessions: Vec::new(),
            measured_start,
            measured_end,
            elapsed_ns: measured_end.saturating_sub(measured_start),
            unfinished: 0,
            outages: Vec::new(),
            pauses: Pauses::default(),
            mentions: None,
            statements: StatementFacts::default(),
            shapes: Vec::new(),
            warmup: Counters::default(),
            before: Counters::default(),
            after: Counters::default(),
            pacing_lag: None,
            backlog: 0,
            backlog_max: 0,
            processes: Vec::new(),
            counted: Counted::default(),
            agents: Vec::new(),
            agent_findings: Vec::new(),
            workers: Vec::new(),
            failures: Vec::new(),
            end: RunEnd::Completed,
        }
    }

    /// Clears the figures of the grace period, if the totals exclude it.
    pub fn forget_grace(&mut self) {
        self.in_grace = Counters::default();
        self.operations_in_grace.clear();
        self.roles_in_grace.clear();
    }

    fn name_failures(&mut self, name: &str) {
        for (_, why) in &mut self.failures {
            *why = format!("{name}: {why}");
        }
        if let RunEnd::Failed(why) = &mut self.end {
            *why = format!("{name}: {why}");
        }
    }

    fn add(&mut self, mut other: Self) {
        self.totals.merge_sums(&other.totals);
        self.totals.start = self.totals.start.min(other.totals.start);
        self.totals.end = self.totals.end.max(other.totals.end);
        self.totals.backlog += other.totals.backlog;
        self.in_grace.merge(&other.in_grace);
        merge_operations(&mut self.operations_in_grace, &other.operations_in_grace);
        merge_roles(&mut self.roles_in_grace, &other.roles_in_grace);
        let workers = self.workers.len() as u32;
        let moved = |session: SessionTotals| SessionTotals {
            worker: session.worker + workers,
            ..session
        };
        self.sessions.extend(other.sessions.into_iter().map(moved));
        self.measured_start = self.measured_start.min(other.measured_start);
        self.measured_end = self.measured_end.max(other.measured_end);
        self.elapsed_ns = self.elapsed_ns.max(other.elapsed_ns);
        self.unfinished += other.unfinished;
        self.outages.append(&mut other.outages);
        self.pauses.add(other.pauses);
        self.mentions = match (self.mentions.take(), other.mentions) {
            (Some(own), Some(others)) => Some(&own | &others),
            _ => None,
        };
        self.statements.add(other.statements);
        add_shapes(&mut self.shapes, other.shapes);
        let outside: [(&mut Counters, &Counters); 3] = [
            (&mut self.warmup, &other.warmup),
            (&mut self.before, &other.before),
            (&mut self.after, &other.after),
        ];
        for (own, others) in outside {
            own.merge(others);
        }
        match (&mut self.pacing_lag, other.pacing_lag) {
            (Some(own), Some(others)) => own.merge(&others),
            (own @ None, others) => *own = others,
            (Some(_), None) => {}
        }
        self.backlog += other.backlog;
        self.backlog_max = self.backlog_max.max(other.backlog_max).max(self.backlog);
        self.counted.add(other.counted);
        self.processes.append(&mut other.processes);
        self.workers.append(&mut other.workers);
        self.failures.append(&mut other.failures);
        let own = std::mem::replace(&mut self.end, RunEnd::Completed);
        self.end = match (own, other.end) {
            (RunEnd::Failed(why), _) | (_, RunEnd::Failed(why)) => RunEnd::Failed(why),
            (RunEnd::Interrupted, _) | (_, RunEnd::Interrupted) => RunEnd::Interrupted,
            _ => RunEnd::Completed,
        };
    }
}

impl Pauses {
    /// The target is silent if all generators see a silence; one frozen generator is enough for a
    /// pause of the load.
    fn add(&mut self, mut other: Self) {
        self.silences = both(&self.silences, &other.silences);
        self.starved = (self.starved.take().zip(other.starved.take())).map(|(mut all, own)| {
            all.extend(own);
            all.sort_by_key(|range| range.from);
            all
        });
        let mut frozen = std::mem::take(&mut self.frozen);
        frozen.append(&mut other.frozen);
        frozen.sort_by_key(|range| range.from);
        for range in frozen {
            match self.frozen.last_mut() {
                Some(last) if range.from <= last.to => last.to = last.to.max(range.to),
                _ => self.frozen.push(range),
            }
        }
    }
}

impl StatementFacts {
    fn add(&mut self, other: Self) {
        self.looked_at += other.looked_at;
        self.different += other.different;
        self.by_text += other.by_text;
        self.drawn += other.drawn;
        self.attaches |= other.attaches;
        let Ended {
            without_effect,
            commits,
            rollbacks,
            rollbacks_to_savepoint,
            transactions,
            transactions_possible,
        } = other.ended;
        self.ended.without_effect += without_effect;
        self.ended.commits += commits;
        self.ended.rollbacks += rollbacks;
        self.ended.rollbacks_to_savepoint += rollbacks_to_savepoint;
        self.ended.transactions += transactions;
        self.ended.transactions_possible += transactions_possible;
        self.temporary.extend(other.temporary);
        self.temporary.sort();
        self.temporary.dedup();
        self.only_temporary &= other.only_temporary;
        for (name, values) in other.settings {
            match self.settings.iter_mut().find(|(own, _)| *own == name) {
                Some((_, own)) => {
                    own.extend(values);
                    own.sort();
                    own.dedup();
                }
                None => self.settings.push((name, values)),
            }
        }
    }
}

fn merge_operations(own: &mut Vec<OperationCounters>, others: &[OperationCounters]) {
    if own.len() < others.len() {
        own.resize(others.len(), OperationCounters::default());
    }
    for (own, other) in own.iter_mut().zip(others) {
        own.merge(other);
    }
}

fn add_shapes(own: &mut Vec<ShapeFigures>, others: Vec<ShapeFigures>) {
    let places: HashMap<Box<str>, usize> = (own.iter().enumerate())
        .map(|(place, one)| (one.shape.clone(), place))
        .collect();
    for other in others {
        match places.get(&other.shape) {
            Some(place) => own[*place].merge(other),
            None => own.push(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use dyno_core::interval::Latencies;
    use dyno_core::states::{IdleIn, IdleTime, SessionState};

    use super::*;
    use crate::outages::Outage;
    use crate::outcome::{ProcessUse, WorkerReport};

    const SECOND: Nanos = 1_000_000_000;

    fn shape(shape: &str, ns: u64) -> ShapeFigures {
        let mut latencies = Latencies::default();
        latencies.record_service(ns);
        ShapeFigures {
            shape: shape.into(),
            rows: 1,
            latencies,
            ..ShapeFigures::default()
        }
    }

    /// The outcome of a generator with these sessions and two workers, on a clock that showed `at`
    /// at the start.
    fn outcome(at: Nanos, tids: [u32; 2], events: u64) -> RunOutcome {
        let mut totals = Interval::default();
        totals.counters.events = events;
        for event in 0..events {
            totals.latencies.record_service(1_000 + event);
        }
        (totals.start, totals.end) = (at, at + 10 * SECOND);
        let session = |(worker, tid): (usize, u32)| SessionTotals {
            tid,
            worker: worker as u32,
            events: events / 2,
            finished: Some(at + 9 * SECOND),
            state: SessionState::Finished,
            idle: IdleTime {
                from: at + SECOND,
                to: at + 2 * SECOND,
                idle_in: IdleIn::default(),
                attempts: 0,
            },
            ..SessionTotals::default()
        };
        RunOutcome {
            totals,
            sessions: tids.into_iter().enumerate().map(session).collect(),
            unfinished: 1,
            outages: vec![Outage {
                from: at + 3 * SECOND,
                until: Some(at + 4 * SECOND),
                attempts: 2,
            }],
            pauses: Pauses {
                silences: vec![TimeRange {
                    from: at + 3 * SECOND,
                    to: at + (4 + u64::from(tids[0])) * SECOND,
                }],
                frozen: vec![TimeRange {
                    from: at + u64::from(tids[0]) * SECOND,
                    to: at + (1 + u64::from(tids[0])) * SECOND,
                }],
                starved: Some(Vec::new()),
            },
            mentions: Some(BTreeSet::from([
                format!("t{}", tids[0]).into(),
                "all".into(),
            ])),
            shapes: vec![
                shape("SELECT 1", 500),
                shape(&format!("SELECT a{}", tids[0]), 900 + u64::from(tids[0])),
            ],
            statements: StatementFacts {
                ended: Ended {
                    transactions: events,
                    transactions_possible: 1,
                    ..Ended::default()
                },
                ..StatementFacts::default()
            },
            backlog: 3,
            backlog_max: 4,
            processes: vec![ProcessUse::default()],
            workers: vec![WorkerReport::default(); 2],
            ..RunOutcome::blank(at, at + 10 * SECOND)
        }
    }

    fn both_at(first: Nanos, second: Nanos) -> RunOutcome {
        let one = outcome(first, [0, 2], 100).moved(first, 50 * SECOND);
        let other = outcome(second, [1, 3], 60).moved(second, 50 * SECOND);
        let parts = vec![("gen1".to_owned(), one), ("gen2".to_owned(), other)];
        RunOutcome::together(parts).unwrap()
    }

    #[test]
    fn outcomes_merge_regardless_of_their_clocks() {
        let whole = both_at(7 * SECOND, 4_000 * SECOND);
        assert_eq!(whole.totals.counters.events, 160);
        assert_eq!(whole.totals.latencies.service.len(), 160);
        let ended = whole.statements.ended;
        assert_eq!((ended.transactions, ended.transactions_possible), (160, 2));
        assert_eq!(
            (whole.measured_start, whole.measured_end),
            (50 * SECOND, 60 * SECOND)
        );
        assert_eq!(
            (whole.totals.start, whole.totals.end),
            (50 * SECOND, 60 * SECOND)
        );
        let sessions = whole.sessions.iter();
        let places: Vec<(u32, u32)> = sessions.map(|own| (own.tid, own.worker)).collect();
        assert_eq!(places, [(0, 0), (1, 2), (2, 1), (3, 3)]);
        assert!(
            whole
                .sessions
                .iter()
                .all(|own| own.finished == Some(59 * SECOND))
        );
        // Sessions never seen active remain so.
        assert!(whole.sessions.iter().all(|own| own.active == 0));
        let outage = Outage {
            from: 53 * SECOND,
            until: Some(54 * SECOND),
            attempts: 4,
        };
        assert_eq!(whole.outages, [outage]);
        let range = |from: u64, to: u64| TimeRange {
            from: (50 + from) * SECOND,
            to: (50 + to) * SECOND,
        };
        assert_eq!(whole.pauses.silences, [range(3, 4)]);
        assert_eq!(whole.pauses.frozen, [range(0, 2)]);
        let mentions: Vec<Box<str>> = whole.mentions.unwrap().into_iter().collect();
        assert_eq!(mentions, ["all".into(), "t0".into(), "t1".into()]);
        let shapes = whole.shapes.iter();
        let shapes: Vec<(&str, u64)> = shapes.map(|one| (&*one.shape, one.rows)).collect();
        // Sorted by total time.
        assert_eq!(
            shapes,
            [("SELECT 1", 2), ("SELECT a1", 1), ("SELECT a0", 1)]
        );
        assert_eq!(
            (whole.unfinished, whole.backlog, whole.backlog_max),
            (2, 6, 6)
        );
        assert_eq!((whole.workers.len(), whole.processes.len()), (4, 2));
        assert_eq!(whole.end, RunEnd::Completed);
    }

    #[test]
    fn a_failure_names_its_agent() {
        let mut failed = outcome(0, [1, 3], 4);
        failed.failures = vec![(Some(3), "no table".to_owned())];
        failed.end = RunEnd::Failed("session 3: no table".to_owned());
        let mut interrupted = outcome(0, [0, 2], 4);
        interrupted.end = RunEnd::Interrupted;
        let parts = vec![
            ("gen1".to_owned(), interrupted),
            ("gen2".to_owned(), failed),
        ];
        let whole = RunOutcome::together(parts).unwrap();
        let why = "gen2: session 3: no table".to_owned();
        assert_eq!(whole.end, RunEnd::Failed(why));
        assert_eq!(whole.failures, [(Some(3), "gen2: no table".to_owned())]);
        assert!(RunOutcome::together(Vec::new()).is_err());
    }

    #[test]
    fn an_outcome_survives_serialisation() {
        let one = outcome(5 * SECOND, [0, 2], 50);
        let text = serde_json::to_string(&one).unwrap();
        let read: RunOutcome = serde_json::from_str(&text).unwrap();
        assert_eq!(read.totals, one.totals);
        assert_eq!(read.sessions, one.sessions);
        assert_eq!(read.shapes[0].latencies, one.shapes[0].latencies);
        assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
