//! The records that workers hand over once per interval.
//!
//! # A new counter
//!
//! [`Counters`] is the only list: merging, subtraction, the serialised form, and the columns of the
//! results file, CSV and JSON follow from it. A new counter also touches:
//!
//! - `src/interval/interval.json`: the serialised form that a test compares.
//! - `crates/dyno-load/src/recorder.rs`: where it is counted.
//! - `crates/dyno-results/src/schema`: its column, in the newest file or in one for a new version.
//! - `crates/dyno-results/tests/files/common/mod.rs`: a value that a test stores and reads again.
//! - `crates/dyno-report/src/terminal/sections.rs`, `crates/dyno-report/src/html/headlines.rs`: its
//!   display.
//! - `crates/dyno-verdict/src/errors.rs`: its check, if it has one.
//! - `docs/results.md`, `docs/export.md`, `docs/json.md`, `docs/schema/run.json`: its description.

mod codec;
mod latencies;
mod sparse;

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::clock::Nanos;
use crate::db::ErrorKind;
use crate::session::Counter;
use crate::states::SessionStates;
use crate::sums::sums;

pub use latencies::{Distribution, Latencies, LatenciesOf};
pub use sparse::SparseHistogram;

/// The longest latency in a histogram: one hour. Longer ones are counted as this.
pub const LATENCY_NS_MAX: u64 = 3_600_000_000_000;

/// A percentile is reported only with at least this many samples on either side of it.
pub const SAMPLES_BEYOND_MIN: f64 = 5.0;

/// Whether `count` samples are enough for the percentile. The tolerance allows for `100 - 99.9` not
/// being exactly 0.1 in binary.
pub fn carries(count: u64, percent: f64) -> bool {
    let tail = percent.min(100.0 - percent) / 100.0;
    count as f64 * tail >= SAMPLES_BEYOND_MIN * (1.0 - 1e-9)
}

/// A latency histogram in nanoseconds: 1 ns to one hour, three significant digits, fixed bounds (a
/// resize would distort the measured tail).
pub fn latency_histogram() -> Histogram<u64> {
    #[allow(clippy::expect_used)] // constant bounds, which the crate accepts
    Histogram::new_with_bounds(1, LATENCY_NS_MAX, 3).expect("constant bounds are valid")
}

sums! {
    /// Sums over an interval or a run. A new field needs a column in the table `interval`.
    pub struct Counters {
        /// Events that ended and count.
        events,
        /// Events that ended without their work: given up, skipped for a duplicate key, or with an
        /// unknown commit. Not in `events`, and not in any latency.
        not_done,
        /// Statements with a result set.
        reads,
        /// Reads that found no row.
        reads_empty,
        /// Statements that changed rows.
        writes,
        /// Other statements.
        other,
        /// Errors that the script ignored.
        errors,
        /// Connections re-established after a loss.
        reconnects,
        /// Failed connection attempts. Not among the errors.
        connects_failed,
        /// Events repeated after an ignored error.
        retries,
        /// Rows received and rows changed.
        rows,
        /// Bytes received from the server.
        bytes_in,
        /// Bytes sent to it.
        bytes_out,
    }
}

impl Counters {
    /// Adds `amount` to sysbench's counter.
    pub fn add(&mut self, counter: Counter, amount: u64) {
        let field = match counter {
            Counter::Other => &mut self.other,
            Counter::Read => &mut self.reads,
            Counter::Write => &mut self.writes,
            Counter::Event => &mut self.events,
            Counter::Error => &mut self.errors,
            Counter::Reconnect => &mut self.reconnects,
            Counter::BytesRead => &mut self.bytes_in,
            Counter::BytesWritten => &mut self.bytes_out,
        };
        *field += amount;
    }

    /// Attempts of events: those that ended, done or not, and those that an error repeated or cut
    /// short. `errors` is the number of errors seen. An error that a script caught while its event
    /// went on belongs to that event.
    pub fn attempts(&self, errors: u64) -> u64 {
        let cut_short = errors.saturating_sub(self.errors);
        let ended = self.events.saturating_add(self.not_done);
        match ended.saturating_add(self.retries.max(cut_short)) {
            0 => errors,
            attempts => attempts,
        }
    }

    /// All statements.
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }
}

/// Errors of one code.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct ErrorCount {
    /// Number of errors.
    pub count: u64,
    /// Their kind, from the driver; [`ErrorKind::Other`] in older files without kinds.
    #[serde(default)]
    pub kind: ErrorKind,
    /// The first message.
    pub sample: String,
}

/// Errors by code (errno, else SQLSTATE).
pub type ErrorsByCode = BTreeMap<String, ErrorCount>;

/// At most this many error codes are counted separately, because a server may invent any number of
/// codes.
pub const ERROR_CODES_MAX: usize = 256;

/// The code under which errors beyond [`ERROR_CODES_MAX`] are counted.
const OTHER_CODES: &str = "other";

/// Counts `count` errors of a code, with a message for the first one. Beyond the limit the codes
/// that sort first are kept, so that merging gives the same sums in any order.
pub fn count_error(
    errors: &mut ErrorsByCode,
    code: &str,
    kind: ErrorKind,
    count: u64,
    sample: impl FnOnce() -> String,
) {
    if let Some(sum) = errors.get_mut(code) {
        sum.count += count;
        sum.kind = sum.kind.min(kind);
        return;
    }
    let mut code = code;
    if code != OTHER_CODES && separate(errors) >= ERROR_CODES_MAX {
        let last = errors.keys().rfind(|code| *code != OTHER_CODES);
        match last.filter(|last| code < last.as_str()).cloned() {
            Some(last) => {
                if let Some(evicted) = errors.remove(&last) {
                    let (count, sample) = (evicted.count, evicted.sample);
                    add_error(errors, OTHER_CODES, ErrorKind::Other, count, || sample);
                }
            }
            None => code = OTHER_CODES,
        }
    }
    let kind = match code {
        OTHER_CODES => ErrorKind::Other,
        _ => kind,
    };
    add_error(errors, code, kind, count, sample);
}

fn add_error(
    errors: &mut ErrorsByCode,
    code: &str,
    kind: ErrorKind,
    count: u64,
    sample: impl FnOnce() -> String,
) {
    let sum = errors.entry(code.to_owned()).or_insert_with(|| ErrorCount {
        count: 0,
        kind,
        sample: sample(),
    });
    sum.count += count;
}

/// Number of codes counted separately.
fn separate(errors: &ErrorsByCode) -> usize {
    errors.len() - usize::from(errors.contains_key(OTHER_CODES))
}

/// Adds `other`'s errors to `errors`, keeping the first sample of each code.
pub fn merge_errors(errors: &mut ErrorsByCode, other: &ErrorsByCode) {
    for (code, error) in other {
        count_error(errors, code, error.kind, error.count, || {
            error.sample.clone()
        });
    }
}

sums! {
    /// How the work of one operation ended.
    pub struct OperationCounters {
        /// Ended as the script wanted.
        done,
        /// Rolled back by design of the workload, not an error.
        rolled_back,
        /// Given up after the allowed number of tries, or after an error that a retry does not fix.
        given_up,
        /// The connection was lost during the commit, so the result is unknown.
        unknown,
        /// Ended by a duplicate key that the script skips.
        duplicates,
        /// Tries after the first.
        retries,
        /// Done or rolled back after more than one try.
        retried,
    }
}

/// One operation in an interval.
pub type OperationInterval = OperationIntervalOf<Histogram<u64>>;

/// One operation in an interval, generic over the histogram type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, bound = "H: Distribution")]
pub struct OperationIntervalOf<H> {
    /// Sums.
    pub counters: OperationCounters,
    /// Latency of operations done or rolled back: start of the first try to the end, in
    /// nanoseconds. If the operation is the event's first, the response time includes the event's
    /// wait.
    pub latencies: LatenciesOf<H>,
    /// The duration of the first try, for operations that took several. Absent until there is one;
    /// most operations have none.
    pub first_tries: Option<Box<LatenciesOf<H>>>,
}

impl<H: Distribution> Default for OperationIntervalOf<H> {
    fn default() -> Self {
        Self {
            counters: OperationCounters::default(),
            latencies: LatenciesOf::default(),
            first_tries: None,
        }
    }
}

impl OperationInterval {
    /// Adds another's records.
    pub fn merge<H: Distribution>(&mut self, other: &OperationIntervalOf<H>) {
        self.counters.merge(&other.counters);
        self.latencies.merge(&other.latencies);
        let first_tries = other.first_tries.as_ref();
        if let Some(first_tries) = first_tries.filter(|own| own.service.samples() > 0) {
            self.first_tries.get_or_insert_default().merge(first_tries);
        }
    }
}

sums! {
    /// The work of the sessions of one role.
    pub struct RoleCounters {
        /// Events that ended and count.
        events,
        /// Events that ended without their work; not in `events`.
        not_done,
        /// Arrivals dropped because they could not start in time.
        skipped,
    }
}

/// Adds the sums of `other` to `roles`, which grows as needed.
pub fn merge_roles(roles: &mut Vec<RoleCounters>, other: &[RoleCounters]) {
    if roles.len() < other.len() {
        roles.resize(other.len(), RoleCounters::default());
    }
    for (sum, role) in roles.iter_mut().zip(other) {
        sum.merge(role);
    }
}

/// With roles and more sessions than this, intervals do not record each session's events.
pub const SESSIONS_COUNTED_MAX: u32 = 128;

/// The work of one session in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionCount {
    /// The session's number.
    pub session: u32,
    /// Events of the session that ended and count.
    pub events: u64,
    /// The time they took, in nanoseconds: since its worker counted last.
    pub span_ns: Nanos,
}

/// The records of one worker, or of all together, in one interval.
///
/// Parts [merge](Self::merge) exactly, in any order. The serialised form is stable: a missing field
/// has its default, an unknown field is an error; histograms are HdrHistogram's V2 format,
/// deflated, in base64.
pub type Interval = IntervalOf<Histogram<u64>>;

/// An interval that is only sent or added, with compact histograms.
pub type SparseInterval = IntervalOf<SparseHistogram>;

/// An interval, generic over the histogram type.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "H: Distribution")]
pub struct IntervalOf<H> {
    /// Number of the interval from 0, counted from the start of the measurement.
    pub index: u64,
    /// Start of the interval.
    pub start: Nanos,
    /// Start by wall clock, in nanoseconds since 1970, to align intervals of several hosts.
    /// Derived from one reading of both clocks at the run's start, so a step of the wall clock does
    /// not move it; 0 if unknown.
    pub start_unix_ns: u64,
    /// End of the interval.
    pub end: Nanos,
    /// Sums.
    pub counters: Counters,
    /// Latencies of events.
    pub latencies: LatenciesOf<H>,
    /// Errors, ignored or not.
    pub errors: ErrorsByCode,
    /// Errors of failed connection attempts; not among the errors.
    pub connect_errors: ErrorsByCode,
    /// Statements per endpoint of the target.
    pub endpoints: Vec<u64>,
    /// The script's operations, in the order it declares them.
    pub operations: Vec<OperationIntervalOf<H>>,
    /// The roles, in their order; one entry if all sessions play the same role.
    pub roles: Vec<RoleCounters>,
    /// Each session's events, by worker; empty without roles or with too many sessions.
    pub sessions: Vec<SessionCount>,
    /// The states of the sessions at its end. Sessions of an unresponsive worker count as lost.
    pub states: SessionStates,
    /// Open loop: arrivals due but not started, at its end.
    pub backlog: u64,
    /// Open loop: events in progress at its end.
    pub concurrency: u32,
}

impl<H: Distribution> Default for IntervalOf<H> {
    fn default() -> Self {
        Self {
            index: 0,
            start: 0,
            start_unix_ns: 0,
            end: 0,
            counters: Counters::default(),
            latencies: LatenciesOf::default(),
            errors: ErrorsByCode::default(),
            connect_errors: ErrorsByCode::default(),
            endpoints: Vec::new(),
            operations: Vec::new(),
            roles: Vec::new(),
            sessions: Vec::new(),
            states: SessionStates::default(),
            backlog: 0,
            concurrency: 0,
        }
    }
}

impl Interval {
    /// Merges the records of another worker or agent for the same interval. Sums, distributions and
    /// states add up; one sample of each error code stays.
    pub fn merge<H: Distribution>(&mut self, other: &IntervalOf<H>) {
        self.merge_sums(other);
        self.sessions.extend_from_slice(&other.sessions);
        self.sessions.sort_unstable();
        self.states.merge(&other.states);
        self.backlog += other.backlog;
        self.concurrency += other.concurrency;
        let blank = self.end == 0;
        self.index = self.index.max(other.index);
        if other.end > 0 {
            self.start = if blank {
                other.start
            } else {
                self.start.min(other.start)
            };
            self.end = self.end.max(other.end);
        }
        let known = [self.start_unix_ns, other.start_unix_ns];
        let first = known.into_iter().filter(|unix_ns| *unix_ns > 0).min();
        self.start_unix_ns = first.unwrap_or_default();
    }

    /// Adds another's sums and distributions; leaves instantaneous values: bounds, states, backlog,
    /// concurrency, each session's share.
    pub fn merge_sums<H: Distribution>(&mut self, other: &IntervalOf<H>) {
        self.counters.merge(&other.counters);
        self.latencies.merge(&other.latencies);
        merge_errors(&mut self.errors, &other.errors);
        merge_errors(&mut self.connect_errors, &other.connect_errors);
        if self.endpoints.len() < other.endpoints.len() {
            self.endpoints.resize(other.endpoints.len(), 0);
        }
        for (sum, count) in self.endpoints.iter_mut().zip(&other.endpoints) {
            *sum += count;
        }
        if self.operations.len() < other.operations.len() {
            self.operations
                .resize_with(other.operations.len(), Default::default);
        }
        for (sum, operation) in self.operations.iter_mut().zip(&other.operations) {
            sum.merge(operation);
        }
        merge_roles(&mut self.roles, &other.roles);
    }
}

#[cfg(test)]
mod tests;
