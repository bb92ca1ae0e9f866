//! Sums kept for each agent, without distributions.

use dyno_core::interval::{
    Counters, Distribution, ErrorsByCode, Interval, IntervalOf, Latencies, LatenciesOf,
    OperationInterval, OperationIntervalOf, RoleCounters,
};
use serde::{Deserialize, Serialize};

/// The figures of one agent, small enough to keep for each agent and interval.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sums {
    /// All counters.
    pub counters: Counters,
    /// Number of latencies of events.
    pub latencies: u64,
    /// Their sum, in nanoseconds.
    pub service_ns_sum: u64,
    /// The sum of the response times, in nanoseconds.
    pub response_ns_sum: u64,
    /// The longest service time, in nanoseconds.
    pub service_ns_max: u64,
    /// The longest response time, in nanoseconds.
    pub response_ns_max: u64,
    /// Number of arrivals due but not begun, at the end.
    pub backlog: u64,
    /// Number of running sessions, at the end.
    pub running: u32,
    /// Errors of all codes.
    pub errors: u64,
}

impl Sums {
    /// The sums of one interval.
    pub fn of<H: Distribution>(interval: &IntervalOf<H>) -> Self {
        let latencies = &interval.latencies;
        let errors = interval.errors.values().map(|error| error.count);
        Self {
            counters: interval.counters,
            latencies: latencies.service.samples(),
            service_ns_sum: latencies.service_ns_sum,
            response_ns_sum: latencies.response_ns_sum,
            service_ns_max: latencies.service_ns_max,
            response_ns_max: latencies.response_ns_max,
            backlog: interval.backlog,
            running: interval.states.running(),
            errors: errors.fold(0, u64::saturating_add),
        }
    }

    /// Adds those of a later interval; values that apply to an instant come from the later one.
    pub fn add(&mut self, later: &Self) {
        let counts = self.counters.values_mut().into_iter();
        for (sum, count) in counts.zip(later.counters.values()) {
            *sum = sum.saturating_add(count);
        }
        let sums = [
            (&mut self.latencies, later.latencies),
            (&mut self.service_ns_sum, later.service_ns_sum),
            (&mut self.response_ns_sum, later.response_ns_sum),
            (&mut self.errors, later.errors),
        ];
        for (sum, count) in sums {
            *sum = sum.saturating_add(count);
        }
        self.service_ns_max = self.service_ns_max.max(later.service_ns_max);
        self.response_ns_max = self.response_ns_max.max(later.response_ns_max);
        self.backlog = later.backlog;
        self.running = later.running;
    }

    /// Whether these are sums of the same events, ignoring values that apply to an instant.
    pub fn agrees_with(&self, other: &Self) -> bool {
        let at_no_instant = |sums: &Self| Self {
            backlog: 0,
            running: 0,
            ..sums.clone()
        };
        at_no_instant(self) == at_no_instant(other)
    }
}

/// Whether an untrusted interval can be added without overflow.
pub(crate) fn fits<H: Distribution>(sum: &Interval, other: &IntervalOf<H>) -> bool {
    counters(&sum.counters.values(), &other.counters.values())
        && latencies(&sum.latencies, &other.latencies)
        && errors(&sum.errors, &other.errors)
        && errors(&sum.connect_errors, &other.connect_errors)
        && pairs(&sum.endpoints, &other.endpoints, |a, b| both(*a, *b))
        && pairs(&sum.operations, &other.operations, operation)
        && pairs(&sum.roles, &other.roles, |a: &RoleCounters, b| {
            counters(&a.values(), &b.values())
        })
        && both(sum.backlog, other.backlog)
        && sum.concurrency.checked_add(other.concurrency).is_some()
        && sessions(sum) + sessions(other) <= u64::from(u32::MAX)
}

fn both(a: u64, b: u64) -> bool {
    a.checked_add(b).is_some()
}

fn counters(a: &[u64], b: &[u64]) -> bool {
    a.iter().zip(b).all(|(a, b)| both(*a, *b))
}

/// Whether elements at the same position fit, and elements beyond the shorter list fit alone.
fn pairs<A: Default, B>(a: &[A], b: &[B], fit: impl Fn(&A, &B) -> bool) -> bool {
    let (common, rest) = b.split_at(a.len().min(b.len()));
    let alone = || {
        let empty = A::default();
        rest.iter().all(|b| fit(&empty, b))
    };
    a.iter().zip(common).all(|(a, b)| fit(a, b)) && (rest.is_empty() || alone())
}

fn operation<H: Distribution>(a: &OperationInterval, b: &OperationIntervalOf<H>) -> bool {
    let first_tries = match (&a.first_tries, &b.first_tries) {
        (Some(a), Some(b)) => latencies(a, b),
        (None, Some(b)) => within(b),
        _ => true,
    };
    counters(&a.counters.values(), &b.counters.values())
        && latencies(&a.latencies, &b.latencies)
        && first_tries
}

fn latencies<H: Distribution>(a: &Latencies, b: &LatenciesOf<H>) -> bool {
    within(b)
        && both(a.service_ns_sum, b.service_ns_sum)
        && both(a.response_ns_sum, b.response_ns_sum)
        && both(a.clipped, b.clipped)
        && both(a.service.len(), b.service.samples())
        && both(a.response.len(), b.response.samples())
}

/// Whether the sum of a histogram's counts fits: its reader caps a count that does not.
fn within<H: Distribution>(latencies: &LatenciesOf<H>) -> bool {
    let counted = |histogram: &H| histogram.samples() < u64::MAX / 2;
    counted(&latencies.service) && counted(&latencies.response)
}

fn errors(a: &ErrorsByCode, b: &ErrorsByCode) -> bool {
    let sum = |errors: &ErrorsByCode| {
        let mut counts = errors.values().map(|error| error.count);
        counts.try_fold(0, u64::checked_add)
    };
    // Check all codes, because codes beyond a limit are counted as one.
    matches!((sum(a), sum(b)), (Some(a), Some(b)) if both(a, b))
}

fn sessions<H>(interval: &IntervalOf<H>) -> u64 {
    let states = &interval.states;
    [
        states.working,
        states.waiting,
        states.connecting,
        states.lost,
        states.finished,
    ]
    .into_iter()
    .map(u64::from)
    .sum()
}
