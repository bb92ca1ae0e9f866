//! The current figures of a run as metrics.

use std::collections::BTreeMap;

use dyno_core::interval::{ErrorsByCode, Interval, OperationCounters};
use dyno_core::plan::Drive;
use dyno_core::record::{RunHead, SeriesKey};
use dyno_core::states::{SessionState, SessionStates};

use crate::buckets::Distribution;
use crate::family::{Family, Kind, Label, Sample, Unit};
use crate::names::{EVENT, OPERATION, Observed, RUN, label, of_target, target};
use crate::sums::{Sums, Timed};

/// One of Dyno's own metrics.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name, with dots.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// The unit.
    pub unit: Unit,
    /// Its labels, apart from the run's.
    pub labels: &'static str,
    /// The description.
    pub help: &'static str,
}

macro_rules! metrics {
    ($(
        $constant:ident: $kind:ident $name:literal $unit:ident [$labels:literal] $help:literal,
    )+) => {
        $(pub(crate) const $constant: Metric = Metric {
            name: $name,
            kind: Kind::$kind,
            unit: Unit::$unit,
            labels: $labels,
            help: $help,
        };)+
        /// All metrics except the observed series, which are named after their series.
        pub const CATALOGUE: &[Metric] = &[$($constant),+];
    };
}

metrics! {
    DURATION: Histogram "db.client.operation.duration" Seconds
        ["db_system_name, db_namespace, db_operation_name, server_address, server_port"]
        "Duration of the workload's named operations, or of its events if it names none",
    EVENTS: Counter "dyno.events" None [""]
        "Counted events that finished",
    NOT_DONE: Counter "dyno.events.not_done" None [""]
        "Events that finished without doing their work",
    STATEMENTS: Counter "dyno.statements" None ["kind"]
        "Statements, by whether they read, wrote or did something else",
    ROWS: Counter "dyno.rows" None [""]
        "Rows received and rows changed",
    RECEIVED: Counter "dyno.network.received" Bytes [""]
        "Bytes received from the server",
    SENT: Counter "dyno.network.sent" Bytes [""]
        "Bytes sent to the server",
    ERRORS: Counter "dyno.errors" None ["code, kind"]
        "Errors, ignored or fatal",
    CONNECT_ERRORS: Counter "dyno.connect.errors" None ["code, kind"]
        "Attempts to connect that failed",
    RECONNECTS: Counter "dyno.reconnects" None [""]
        "Connections reopened after a loss",
    RETRIES: Counter "dyno.retries" None [""]
        "Events repeated after an error",
    OPERATIONS: Counter "dyno.operations" None ["operation, outcome"]
        "Operations by outcome",
    SERVICE: Histogram "dyno.service" Seconds ["operation"]
        "Latency from the start to the end",
    RESPONSE: Histogram "dyno.response" Seconds ["operation"]
        "Latency from the scheduled start to the end, in an open loop",
    WAIT: Counter "dyno.wait" Seconds ["operation"]
        "Time that events waited after their scheduled start, in an open loop",
    MEASURED: Counter "dyno.measured" Seconds [""]
        "Measured time",
    OFFERED: Gauge "dyno.offered_rate" PerSecond [""]
        "Offered events per second, in an open loop",
    BACKLOG: Gauge "dyno.backlog" None [""]
        "Events that are due but not started, in an open loop",
    CONCURRENCY: Gauge "dyno.concurrency" None [""]
        "Events in flight, in an open loop",
    SESSIONS: Gauge "dyno.sessions" None ["state"]
        "Sessions by state",
    PHASE: Gauge "dyno.phase" None ["phase"]
        "1 for the current phase of the run, 0 for the others",
    INFO: Gauge "dyno.run.info" None ["workload, target, server, seed, version"]
        "1: labels describe the run",
    DROPPED: Counter "dyno.push.dropped" None [""]
        "Intervals that were not pushed because the receiver did not take them in time",
}

impl Metric {
    pub(crate) fn family(&self, samples: Vec<Sample>) -> Family {
        Family {
            name: self.name.into(),
            help: self.help.into(),
            unit: self.unit,
            kind: self.kind,
            samples,
        }
    }
}

/// The phase of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Phase {
    /// Connecting sessions, or earlier.
    #[default]
    Starting,
    /// The load runs but is not measured yet.
    WarmUp,
    /// The load is measured.
    Measurement,
    /// The run is over.
    Ended,
}

impl Phase {
    const ALL: [Self; 4] = [Self::Starting, Self::WarmUp, Self::Measurement, Self::Ended];

    fn word(self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::WarmUp => "warm-up",
            Self::Measurement => "measurement",
            Self::Ended => "ended",
        }
    }
}

/// The period that counters and histograms cover.
#[derive(Clone, Copy, Debug)]
pub enum Over {
    /// All intervals so far.
    Run,
    /// The period since the previous interval: the last interval, or empty when the run begins or
    /// ends.
    Last,
}

/// The state of a run in progress.
#[derive(Clone, Debug, Default)]
pub struct Figures {
    run: String,
    info: Vec<Label>,
    target: Vec<Label>,
    drive: Option<Drive>,
    operations: Vec<String>,
    /// When the measurement begins, in seconds since 1970.
    started_unix_s: Option<f64>,
    ended: bool,
    total: Sums,
    last: Sums,
    /// Batches that the pusher had dropped when the run began.
    dropped_before: Option<u64>,
    /// Number of changes: ended intervals, and the end of the run.
    changes: u64,
    states: SessionStates,
    backlog: u64,
    concurrency: u32,
    series: BTreeMap<u32, (Observed, Option<f64>)>,
}

impl Figures {
    /// The figures of a new run.
    pub fn new(head: &RunHead) -> Self {
        let seed = head.drive.as_ref().map(|drive| drive.seed);
        let server = [head.target.product.as_str(), head.target.version.as_str()].join(" ");
        let info = vec![
            label("workload", head.workload.name.clone()),
            label("target", target(head)),
            label("server", server.trim()),
            label(
                "seed",
                seed.map_or_else(String::new, |seed| seed.to_string()),
            ),
            label("version", head.tool.clone()),
        ];
        Self {
            run: head.name.clone(),
            info,
            target: of_target(head),
            drive: head.drive.clone(),
            ..Self::default()
        }
    }

    /// The run's name; empty before it has one.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Sets the beginning of the measurement, in seconds since 1970; it may be in the future.
    pub fn start(&mut self, unix_s: f64) {
        self.started_unix_s = Some(unix_s);
    }

    /// The beginning of the measurement, in seconds since 1970; it may be in the future.
    pub fn started_unix_s(&self) -> Option<f64> {
        self.started_unix_s
    }

    /// Records an interval.
    pub fn interval(&mut self, interval: &Interval, operations: &[String]) {
        if self.operations.is_empty() {
            self.operations = operations.to_vec();
        }
        // Report the batches that were dropped meanwhile with this interval.
        let dropped = self.last.dropped;
        self.last = Sums::of(interval);
        self.total.add(&self.last);
        self.last.dropped = dropped;
        self.changes += 1;
        self.states = interval.states;
        self.backlog = interval.backlog;
        self.concurrency = interval.concurrency;
    }

    /// Registers a series under this number.
    pub fn series(&mut self, number: u32, key: &SeriesKey) {
        self.series.insert(number, (Observed::new(key), None));
    }

    /// Records the latest value of a series.
    pub fn sample(&mut self, number: u32, value: f64) {
        if let Some((observed, last)) = self.series.get_mut(&number) {
            *last = Some(value * observed.factor);
        }
    }

    /// Sets how many batches were dropped since the pusher started, including those of earlier
    /// runs.
    pub fn dropped(&mut self, all: u64) {
        let before = *self.dropped_before.get_or_insert(all);
        let own = all.saturating_sub(before);
        self.last.dropped += own.saturating_sub(self.total.dropped);
        self.total.dropped = own;
    }

    /// Records the end of the run.
    pub fn end(&mut self) {
        self.ended = true;
        self.last = Sums {
            dropped: self.last.dropped,
            ..Sums::default()
        };
        (self.states, self.backlog, self.concurrency) = Default::default();
        self.changes += 1;
    }

    /// Number of changes so far: ended intervals, and the end of the run.
    pub fn changes(&self) -> u64 {
        self.changes
    }

    /// Whether the run is over.
    pub fn is_over(&self) -> bool {
        self.ended
    }

    /// The phase at this time.
    pub fn phase(&self, now_unix_s: f64) -> Phase {
        match self.started_unix_s {
            _ if self.ended => Phase::Ended,
            None => Phase::Starting,
            Some(begin) if now_unix_s < begin => Phase::WarmUp,
            Some(_) => Phase::Measurement,
        }
    }

    /// All metrics: counters and histograms over this period, the rest as of now. Empty before a
    /// run begins.
    pub fn families(&mut self, over: Over, now_unix_s: f64) -> Vec<Family> {
        if self.run.is_empty() {
            return Vec::new();
        }
        let mut families = match over {
            Over::Run => self.of_sums(&self.total),
            Over::Last => {
                let families = self.of_sums(&self.last);
                self.last.dropped = 0;
                families
            }
        };
        families.extend(self.of_now(now_unix_s));
        families.extend(self.observed());
        let run = label(RUN, self.run.clone());
        for sample in families.iter_mut().flat_map(|family| &mut family.samples) {
            sample.labels.insert(0, run.clone());
        }
        families.retain(|family| !family.samples.is_empty());
        families
    }

    fn of_sums(&self, sums: &Sums) -> Vec<Family> {
        let counters = &sums.counters;
        let one = |metric: Metric, count: u64| {
            metric.family(vec![Sample::number(Vec::new(), count as f64)])
        };
        let kinds = [
            ("read", counters.reads),
            ("write", counters.writes),
            ("other", counters.other),
        ];
        let statements =
            kinds.map(|(kind, count)| Sample::number(vec![label("kind", kind)], count as f64));
        let mut families = vec![
            one(EVENTS, counters.events),
            one(NOT_DONE, counters.not_done),
            STATEMENTS.family(statements.into()),
            one(ROWS, counters.rows),
            one(RECEIVED, counters.bytes_in),
            one(SENT, counters.bytes_out),
            ERRORS.family(errors(&sums.errors)),
            CONNECT_ERRORS.family(errors(&sums.connect_errors)),
            one(RECONNECTS, counters.reconnects),
            one(RETRIES, counters.retries),
            MEASURED.family(vec![Sample::number(Vec::new(), sums.measured_s)]),
        ];
        if self.total.dropped > 0 {
            families.push(one(DROPPED, sums.dropped));
        }
        families.extend(self.of_operations(sums));
        families
    }

    fn of_operations(&self, sums: &Sums) -> Vec<Family> {
        let named = || self.operations.iter().zip(&sums.operations);
        let all: Vec<(&str, &Timed)> = std::iter::once((EVENT, &sums.events))
            .chain(named().map(|(name, (_, timed))| (name.as_str(), timed)))
            .collect();
        let each = |metric: Metric, of: fn(&Timed) -> &Distribution| {
            let sample = |(name, timed): &(&str, &Timed)| {
                Sample::latencies(vec![label(OPERATION, *name)], of(timed).clone())
            };
            metric.family(all.iter().map(sample).collect())
        };
        let mut families = vec![each(SERVICE, |timed| &timed.service)];
        if self.is_open() {
            families.push(each(RESPONSE, |timed| &timed.response));
            let labels = vec![label(OPERATION, EVENT)];
            let wait = Sample::number(labels, sums.events.waited_s());
            families.push(WAIT.family(vec![wait]));
        }
        let outcomes = named().flat_map(|(name, (counters, _))| outcomes(name, counters));
        families.push(OPERATIONS.family(outcomes.collect()));
        if !self.target.is_empty() {
            // Leave `event` out if there are operations. Otherwise the sum over operations would
            // count events twice.
            let events = usize::from(all.len() > 1);
            let duration = all.iter().skip(events).map(|(name, timed)| {
                let mut labels = self.target.clone();
                labels.push(label("db.operation.name", *name));
                Sample::latencies(labels, timed.service.clone())
            });
            families.push(DURATION.family(duration.collect()));
        }
        families
    }

    fn of_now(&self, now_unix_s: f64) -> Vec<Family> {
        let one =
            |metric: Metric, value: f64| metric.family(vec![Sample::number(Vec::new(), value)]);
        let now = self.phase(now_unix_s);
        let phases = Phase::ALL.map(|phase| {
            let is = f64::from(u8::from(phase == now));
            Sample::number(vec![label("phase", phase.word())], is)
        });
        let states = SessionState::ALL.map(|state| {
            let sessions = f64::from(self.states.of(state));
            Sample::number(vec![label("state", state.word())], sessions)
        });
        let mut families = vec![
            PHASE.family(phases.into()),
            SESSIONS.family(states.into()),
            INFO.family(vec![Sample::number(self.info.clone(), 1.0)]),
        ];
        if self.is_open() {
            families.push(one(BACKLOG, self.backlog as f64));
            families.push(one(CONCURRENCY, f64::from(self.concurrency)));
        }
        let at_s = self.started_unix_s.filter(|_| now == Phase::Measurement);
        if let Some(rate) = at_s.and_then(|begin| self.offered_at(now_unix_s - begin)) {
            families.push(one(OFFERED, rate));
        }
        families
    }

    /// The offered load in events per second, this many seconds after the measurement's beginning.
    pub(crate) fn offered_at(&self, at_s: f64) -> Option<f64> {
        let drive = self.drive.as_ref()?;
        match drive.rate_schedule() {
            Some(schedule) => Some(schedule.level(at_s)),
            None => drive.open_loop.as_ref().map(|open| open.per_second),
        }
    }

    /// Labels that describe the run.
    pub(crate) fn info(&self) -> Vec<Label> {
        self.info.clone()
    }

    /// Labels that describe the target; empty for a run without one.
    pub(crate) fn target(&self) -> Vec<Label> {
        self.target.clone()
    }

    pub(crate) fn is_open(&self) -> bool {
        let drive = self.drive.as_ref();
        drive.is_some_and(|drive| drive.open_loop.is_some())
    }

    /// The observed series, grouped by name.
    fn observed(&self) -> Vec<Family> {
        let mut families: BTreeMap<(&str, &'static str), Family> = BTreeMap::new();
        for (observed, value) in self.series.values() {
            let Some(value) = value else { continue };
            let family = families
                .entry((observed.name.as_str(), observed.unit.word()))
                .or_insert_with(|| observed.family());
            family
                .samples
                .push(Sample::number(observed.labels.clone(), *value));
        }
        families.into_values().collect()
    }
}

impl Observed {
    pub(crate) fn family(&self) -> Family {
        let series = self.name.strip_prefix("dyno.").unwrap_or(&self.name);
        Family {
            name: self.name.clone().into(),
            help: format!("Observed: {series}").into(),
            unit: self.unit,
            kind: Kind::Gauge,
            samples: Vec::new(),
        }
    }
}

fn errors(errors: &ErrorsByCode) -> Vec<Sample> {
    let sample = |(code, error): (&String, &dyno_core::interval::ErrorCount)| {
        let labels = vec![
            label("code", code.clone()),
            label("kind", error.kind.name()),
        ];
        Sample::number(labels, error.count as f64)
    };
    errors.iter().map(sample).collect()
}

fn outcomes(name: &str, counters: &OperationCounters) -> [Sample; 5] {
    let outcomes = [
        ("done", counters.done),
        ("rolled_back", counters.rolled_back),
        ("given_up", counters.given_up),
        ("unknown", counters.unknown),
        ("duplicate", counters.duplicates),
    ];
    outcomes.map(|(outcome, count)| {
        let labels = vec![label(OPERATION, name), label("outcome", outcome)];
        Sample::number(labels, count as f64)
    })
}
