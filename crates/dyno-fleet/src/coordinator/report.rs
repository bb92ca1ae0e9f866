//! The report of a run: completeness, and how similar the agents were.

use dyno_core::finding::Outcome;
use dyno_core::interval::{ErrorsByCode, Interval};

use super::Coordinator;
use super::member::{Member, Total};
use crate::clock::Relation;
use crate::division::{Division, is_evenly_spaced};
use crate::finding::{Finding, Kind};
use crate::merge::Sums;
use crate::message::{Ceiling, End, Hello};
use crate::names::AgentName;

/// Clocks with a larger error bound are a doubt.
const BOUND_NS_DOUBT: u64 = 5_000_000;
/// A drift that deviates from a straight line by more is a doubt.
const RESIDUAL_NS_DOUBT: u64 = 1_000_000;
/// Wall clocks that differ by more are a doubt, because people compare times with the server's
/// log.
const CIVIL_NS_DOUBT: u64 = 1_000_000_000;
/// A start that is later than this is reported.
const LATE_NS_DOUBT: i64 = 10_000_000;
/// Agents are equal if the events of each deviate from its share by at most this fraction.
const EVENTS_UNEQUAL: f64 = 0.1;
/// Their 99th percentiles must also be within this factor of the median agent's.
const P99_UNEQUAL: f64 = 1.5;
/// Ignore smaller differences: waking a thread may take this long on one host and not on another.
const P99_DIFFERENCE_NS: u64 = 1_000_000;
/// With fewer events, agents differ by chance.
const EVENTS_MIN: u64 = 10_000;

/// The report of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// Why it failed; `None` if it is complete, or degraded according to its findings.
    pub failed: Option<String>,
    /// Everything wrong or unusual.
    pub findings: Vec<Finding>,
    /// The agents, in order.
    pub agents: Vec<AgentReport>,
    /// The division of the run.
    pub division: Division,
    /// The sum of all recorded intervals, without values that apply to an instant.
    pub total: Interval,
}

/// The report of an agent.
#[derive(Clone, Debug)]
pub struct AgentReport {
    /// Its name.
    pub name: AgentName,
    /// Its hello message; `None` if it never joined.
    pub hello: Option<Hello>,
    /// Its share of the run.
    pub fraction: f64,
    /// Its calibration; `None` without one.
    pub ceiling: Option<Ceiling>,
    /// Its sums in the record.
    pub sums: Sums,
    /// Sums that arrived after it was lost, which are not in the record.
    pub apart: Sums,
    /// Number of its intervals, as reported at its end.
    pub intervals: Option<u64>,
    /// The outcome of its load, for [`unpack`](crate::message::unpack); `None` if it did not report
    /// one, or was lost.
    pub outcome: Option<Vec<String>>,
    /// How its load ended; `None` if it did not report that.
    pub end: Option<End>,
    /// Whether it was lost.
    pub lost: bool,
    /// How long after the common start its load began by its own clock, in nanoseconds.
    pub late_ns: Option<i64>,
    /// The relation of its monotonic clock to the coordinator's.
    pub clock: Option<Relation>,
    /// By how much its civil clock is ahead of the coordinator's, and the error bound, in
    /// nanoseconds.
    pub civil_ahead_ns: Option<(i64, u64)>,
    /// Its median service time, in nanoseconds.
    pub p50_ns: Option<u64>,
    /// Its 99th percentile of service times, in nanoseconds.
    pub p99_ns: Option<u64>,
}

impl Coordinator {
    pub(super) fn report(&mut self) -> Report {
        if self.merger.is_some() {
            self.judge_records();
            self.judge_clocks();
            self.judge_equality();
        }
        if self.failed.is_none() {
            let worst = self
                .findings
                .iter()
                .find(|finding| finding.outcome == Outcome::Refuse);
            self.failed = worst.map(|finding| finding.evidence.clone());
        }
        let members = self.members.iter().enumerate();
        Report {
            failed: self.failed.clone(),
            findings: self.findings.clone(),
            division: self.config.division.clone(),
            agents: members
                .map(|(index, member)| self.agent(index, member))
                .collect(),
            total: self
                .merger
                .as_ref()
                .map(|m| m.total().clone())
                .unwrap_or_default(),
        }
    }

    fn agent(&self, index: usize, member: &Member) -> AgentReport {
        let merger = self.merger.as_ref();
        let total = member.total.as_ref();
        AgentReport {
            name: member.name.clone(),
            hello: member.hello.as_deref().cloned(),
            fraction: self.config.division.fraction(index as u32 + 1),
            ceiling: member.pulse.ceiling.clone(),
            sums: merger.map(|merger| merger.sums(index)).unwrap_or_default(),
            apart: merger.map(|merger| merger.apart(index)).unwrap_or_default(),
            intervals: total.map(|total| total.intervals),
            outcome: (member.has_reported() && !member.lost && !member.pieces.is_empty())
                .then(|| member.pieces.values().cloned().collect()),
            end: total.map(|total| total.end),
            lost: member.lost,
            late_ns: late(member),
            clock: member.relation,
            civil_ahead_ns: member.civil.map(|(ahead, delay)| (ahead, delay / 2)),
            p50_ns: total.and_then(|total| total.p50_ns),
            p99_ns: total.and_then(|total| total.p99_ns),
        }
    }

    /// Checks that each agent's intervals are complete and add up to its totals, and all of them to
    /// the record.
    fn judge_records(&mut self) {
        for index in 0..self.members.len() {
            let member = &self.members[index];
            if member.lost || !member.has_begun() {
                continue;
            }
            let sums = self.merger.as_ref().map(|merger| merger.sums(index));
            let sums = sums.unwrap_or_default();
            let total = member.total.as_ref();
            if let Some((kind, evidence)) = judge_record(&member.name, total, &member.holes, &sums)
            {
                self.find_of(kind, Outcome::Refuse, index, evidence);
            }
        }
        let whole = self
            .members
            .iter()
            .all(|member| !member.lost && member.total.is_some());
        let same = self
            .merger
            .as_ref()
            .is_some_and(|m| same_events(m.total(), &self.totals_reported));
        if whole && !same && !self.findings.iter().any(|f| f.outcome == Outcome::Refuse) {
            let evidence =
                "the record does not equal the sum of the agents' final reports".to_owned();
            self.find(Finding::of_run(
                Kind::TotalsDiffer,
                Outcome::Refuse,
                evidence,
            ));
        }
    }

    fn judge_clocks(&mut self) {
        let at = self.start;
        let mut worst = 0;
        for index in 0..self.members.len() {
            let member = &self.members[index];
            let name = &member.name;
            let Some(clock) = member.relation else {
                continue;
            };
            let bound = clock.delay_ns / 2 + clock.residual_ns;
            let mut found = Vec::new();
            worst = worst.max(bound);
            // The bound at the start determined when it began.
            let bound = bound.max(member.start_bound_ns);
            if bound > BOUND_NS_DOUBT || clock.residual_ns > RESIDUAL_NS_DOUBT {
                let evidence = format!(
                    "the clock of {name} is {:.3} ms from the coordinator's, known to {:.3} ms, \
                     and drifts by {:.1} ppm",
                    clock.offset_at(at) as f64 / 1e6,
                    bound as f64 / 1e6,
                    clock.drift * 1e6
                );
                found.push((Kind::Clocks, evidence));
            }
            if let Some((ahead, _)) = member.civil.filter(|c| c.0.unsigned_abs() > CIVIL_NS_DOUBT) {
                let seconds = ahead as f64 / 1e9;
                let evidence = format!(
                    "the civil clock of {name} is {seconds:.3} s ahead of the coordinator's: this \
                     affects log times but not intervals"
                );
                found.push((Kind::CivilClocks, evidence));
            }
            if let Some(late) = late(member).filter(|late| *late > LATE_NS_DOUBT) {
                let evidence = format!("{name} started {:.3} ms late", late as f64 / 1e6);
                found.push((Kind::StartLate, evidence));
            }
            for (kind, evidence) in found {
                self.find_of(kind, Outcome::Doubt, index, evidence);
            }
        }
        if let Some(rate) = self
            .config
            .constant_rate
            .filter(|rate| !is_evenly_spaced(*rate, worst))
        {
            let evidence = format!(
                "at {rate} arrivals/s over all agents the gaps are {:.3} ms, and clocks are known \
                 to {:.3} ms: arrivals are evenly spaced on each agent only",
                1e3 / rate,
                worst as f64 / 1e6
            );
            self.find(Finding::of_run(
                Kind::UnevenArrivals,
                Outcome::Doubt,
                evidence,
            ));
        }
    }

    /// Checks that the agents' loads were similar, relative to their shares.
    fn judge_equality(&mut self) {
        let merger = self.merger.as_ref();
        let events = |index| merger.map_or(0, |merger| merger.sums(index).counters.events);
        let whole: Vec<usize> = (0..self.members.len())
            .filter(|index| self.members[*index].total.is_some())
            .collect();
        let all: u64 = whole.iter().map(|index| events(*index)).sum();
        if whole.len() < 2 || all < EVENTS_MIN {
            return;
        }
        let fraction = |index: usize| self.config.division.fraction(index as u32 + 1);
        let shares: f64 = whole.iter().map(|index| fraction(*index)).sum();
        let mut p99s: Vec<u64> = whole
            .iter()
            .filter_map(|index| self.members[*index].total.as_ref()?.p99_ns)
            .collect();
        p99s.sort_unstable();
        let median = p99s.get(p99s.len() / 2).copied();
        let mut found = Vec::new();
        for index in whole {
            let name = &self.members[index].name;
            let asked = all as f64 * fraction(index) / shares;
            let share = events(index) as f64 / asked;
            if (share - 1.0).abs() > EVENTS_UNEQUAL {
                let percent = share * 100.0;
                found.push((
                    index,
                    format!("{name} did {percent:.0} % of its share of events"),
                ));
            }
            let p99 = self.members[index]
                .total
                .as_ref()
                .and_then(|total| total.p99_ns);
            if let (Some(p99), Some(median)) = (p99, median)
                && p99.abs_diff(median) >= P99_DIFFERENCE_NS
                && (p99 as f64 > median as f64 * P99_UNEQUAL
                    || (p99 as f64) < median as f64 / P99_UNEQUAL)
            {
                let (p99, median) = (p99 as f64 / 1e6, median as f64 / 1e6);
                let text = format!("{name} has a p99 of {p99:.3} ms, the median agent {median:.3}");
                found.push((index, text));
            }
        }
        for (index, evidence) in found {
            self.find_of(Kind::UnequalAgents, Outcome::Doubt, index, evidence);
        }
    }
}

/// Checks that an agent's intervals are complete and add up to its totals; returns what is wrong,
/// if anything.
pub(crate) fn judge_record(
    name: &AgentName,
    total: Option<&Total>,
    holes: &[u64],
    sums: &Sums,
) -> Option<(Kind, String)> {
    let Some(total) = total else {
        let text = format!("the totals of {name} never arrived");
        return Some((Kind::IntervalsMissing, text));
    };
    if !holes.is_empty() {
        let holes: Vec<String> = holes.iter().map(u64::to_string).collect();
        let text = format!("intervals of {name} never arrived: {}", holes.join(", "));
        return Some((Kind::IntervalsMissing, text));
    }
    (!sums.agrees_with(&total.sums)).then(|| {
        let text = format!("the intervals of {name} do not add up to its totals");
        (Kind::TotalsDiffer, text)
    })
}

/// How late its load began, from its totals or its pulses.
fn late(member: &Member) -> Option<i64> {
    member.late_ns.or(member.pulse.late_ns)
}

/// Whether two sums contain the same events. Error texts are not compared: each code keeps the text
/// that arrived first.
pub(crate) fn same_events(a: &Interval, b: &Interval) -> bool {
    let bare = |errors: &ErrorsByCode| {
        let mut errors = errors.clone();
        errors.values_mut().for_each(|error| error.sample.clear());
        errors
    };
    let comparable = |interval: &Interval| Interval {
        index: 0,
        errors: bare(&interval.errors),
        connect_errors: bare(&interval.connect_errors),
        ..interval.clone()
    };
    comparable(a) == comparable(b)
}
