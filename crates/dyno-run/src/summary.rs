//! Turns the outcome of a run into its summary.

mod limits;
mod usage;
mod warnings;

use dyno_analysis::summarize::{self, SessionTotal};
use dyno_core::clock::Nanos;
use dyno_core::db::ServerInfo;
use dyno_core::plan::{Drive, RandPlan, Role};
use dyno_core::redact;
use dyno_core::states::SessionStates;
use dyno_core::summary::{
    ClientCost, EndpointSummary, IntervalSummary, LatencyLimit, OpenLoopSummary, OperationSummary,
    PhaseOf, RoleSummary, RunSummary, SCHEMA_VERSION, StatementSummary, TargetSummary,
    WorkloadSummary,
};
use dyno_load::{ProcessUse, RunOutcome, ShapeFigures, TimeRange};

pub(crate) use self::usage::StartReadings;
pub(crate) use self::warnings::after_findings;
use self::warnings::{in_turns, warnings};
use crate::job::Ready;
use crate::request::RunRequest;

/// The identity of a run, for its summary.
pub(crate) struct Subject<'a> {
    pub workload: WorkloadSummary,
    pub target: TargetSummary,
    /// The drive of the whole run.
    pub drive: &'a Drive,
    pub rand: RandPlan,
    /// The names of its operations.
    pub operations: &'a [String],
    pub percentiles: &'a [f64],
    pub phase: Option<PhaseOf>,
    /// When the measurement began, in seconds since the Unix epoch.
    pub started_unix_s: Option<f64>,
}

/// Builds a summary.
pub(crate) fn summarise(
    ready: &Ready,
    outcome: &RunOutcome,
    start: &StartReadings,
    request: &RunRequest,
    intervals: Vec<IntervalSummary>,
) -> RunSummary {
    let subject = Subject {
        workload: WorkloadSummary {
            name: request.plan.workload.clone(),
            command: "run".to_owned(),
            options: request.options.clone(),
            changed: request.changed.clone(),
        },
        target: target(ready, &request.server),
        drive: &ready.job.drive,
        rand: ready.job.rand.clone(),
        operations: &ready.description.declared.operations,
        percentiles: &request.plan.record.percentiles,
        phase: request.phase.clone(),
        started_unix_s: Some(start.unix_s),
    };
    let client = client_cost(outcome, start.own_use());
    let mut summary = figures(subject, outcome, client, intervals);
    summary.endpoints = endpoints(ready, outcome);
    summary.machine = crate::workload::machine(ready, outcome, summary.measured_s);
    let frozen_ns: Nanos = outcome.pauses.frozen.iter().map(TimeRange::length_ns).sum();
    summary.limits = limits::limits(&summary, start, frozen_ns as f64 / 1e9);
    summary.warnings = warnings(&summary, &ready.job.drive.own(), outcome);
    summary
        .warnings
        .extend(ready.duet.as_ref().and_then(in_turns));
    summary
}

/// The summary of a load that others have made, from its outcome alone.
pub(crate) fn summarise_others(
    subject: Subject<'_>,
    outcome: &RunOutcome,
    intervals: Vec<IntervalSummary>,
) -> RunSummary {
    let drive = subject.drive.own();
    let client = client_cost(outcome, ProcessUse::default());
    let mut summary = figures(subject, outcome, client, intervals);
    summary.warnings = warnings(&summary, &drive, outcome);
    summary
}

/// The figures of the load.
fn figures(
    subject: Subject<'_>,
    outcome: &RunOutcome,
    client: ClientCost,
    intervals: Vec<IntervalSummary>,
) -> RunSummary {
    let measured_s = (outcome.measured_end.saturating_sub(outcome.measured_start)) as f64 / 1e9;
    let latencies = &outcome.totals.latencies;
    let percentiles = subject.percentiles;
    let drive = subject.drive.own();
    let open = drive.open_loop;
    let rates = summarize::rates(&outcome.in_window(), measured_s);
    RunSummary {
        schema_version: SCHEMA_VERSION,
        tool: concat!("dyno ", env!("CARGO_PKG_VERSION")).to_owned(),
        started_unix_s: subject.started_unix_s,
        end: outcome.end.clone(),
        measured_s,
        elapsed_s: outcome.elapsed_ns as f64 / 1e9,
        totals: outcome.totals.counters,
        rates,
        service: summarize::service(latencies, percentiles),
        response: open.map(|_| summarize::response(latencies, percentiles)),
        open_loop: open.map(|open| OpenLoopSummary {
            offered_per_s: open.per_second,
            achieved_per_s: rates.events_per_s,
            backlog: Some(outcome.backlog),
            backlog_max: Some(outcome.backlog_max),
            pacing_lag: (outcome.pacing_lag.as_ref())
                .map(|lag| summarize::service(lag, percentiles)),
        }),
        events_in_grace: Some(outcome.events_in_grace()),
        events_unfinished: Some(outcome.unfinished),
        errors: outcome.totals.errors.clone(),
        connect_errors: outcome.totals.connect_errors.clone(),
        states: Some(states(outcome)),
        fairness: Some(summarize::fairness(&sessions(outcome, subject.drive))),
        client: Some(client),
        operations: operations(&subject, outcome, measured_s),
        statements: statements(outcome, measured_s, percentiles),
        roles: roles(&drive, outcome, measured_s),
        agents: outcome.agents.clone(),
        agent_findings: outcome.agent_findings.clone(),
        latency_limit: latency_limit(subject.drive, outcome),
        drive: Some(drive),
        workload: subject.workload,
        target: subject.target,
        rand: Some(subject.rand),
        phase: subject.phase,
        intervals,
        ..RunSummary::default()
    }
}

fn operations(
    subject: &Subject<'_>,
    outcome: &RunOutcome,
    measured_s: f64,
) -> Vec<OperationSummary> {
    let open = subject.drive.open_loop.is_some();
    let percentiles = subject.percentiles;
    (subject.operations.iter())
        .enumerate()
        .map(|(number, name)| {
            let in_window = outcome.operation_in_window(number);
            let sums = outcome.totals.operations.get(number);
            summarize::operation(name, sums, &in_window, measured_s, (open, percentiles))
        })
        .collect()
}

fn statements(outcome: &RunOutcome, measured_s: f64, percentiles: &[f64]) -> Vec<StatementSummary> {
    // The statements of events that were given up are in no event's time.
    let shapes = outcome
        .shapes
        .iter()
        .map(|one| one.latencies.service_ns_sum);
    let events_ns = outcome.totals.latencies.service_ns_sum.max(shapes.sum()) as f64;
    let summary = |one: &ShapeFigures| {
        let count = one.latencies.service.len() as f64;
        StatementSummary {
            shape: redact::text(&one.shape),
            per_s: count / measured_s.max(f64::MIN_POSITIVE),
            rows_mean: one.rows as f64 / count.max(1.0),
            errors: one.errors,
            time_share: one.latencies.service_ns_sum as f64 / events_ns.max(1.0),
            latency: summarize::service(&one.latencies, percentiles),
        }
    };
    outcome.shapes.iter().map(summary).collect()
}

fn roles(drive: &Drive, outcome: &RunOutcome, measured_s: f64) -> Vec<RoleSummary> {
    let mut first = 0;
    let summary = |(number, role): (usize, &Role)| {
        let tids = first..first + role.sessions;
        first = tids.end;
        let own = || (outcome.sessions.iter()).filter(|session| tids.contains(&session.tid));
        let finished = || own().map(|session| session.finished);
        let all = finished().all(|finished| finished.is_some());
        let since = |at: Nanos| at.saturating_sub(outcome.measured_start) as f64 / 1e9;
        let sums = outcome.totals.roles.get(number).copied();
        let sums = sums.unwrap_or_default();
        RoleSummary {
            name: role.name.clone(),
            sessions: role.sessions,
            background: role.background,
            unit: role.unit.clone(),
            per_event: role.per_event,
            asked_per_s: role.asked_per_s(),
            events: sums.events,
            events_per_s: outcome.role_events_in_window(number) as f64
                / measured_s.max(f64::MIN_POSITIVE),
            not_done: sums.not_done,
            skipped: sums.skipped,
            events_min: own().map(|session| session.events).min().unwrap_or(0),
            events_max: own().map(|session| session.events).max().unwrap_or(0),
            finished_first_s: finished().flatten().min().filter(|_| all).map(since),
            finished_last_s: finished().flatten().max().filter(|_| all).map(since),
        }
    };
    drive.roles.iter().enumerate().map(summary).collect()
}

fn latency_limit(drive: &Drive, outcome: &RunOutcome) -> Option<LatencyLimit> {
    let limit = drive.latency_limit?;
    let latencies = &outcome.totals.latencies;
    let histogram = match drive.open_loop {
        Some(_) => &latencies.response,
        None => &latencies.service,
    };
    let limit_ns = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
    let within = histogram.count_between(0, limit_ns);
    Some(LatencyLimit {
        limit_ms: limit.as_secs_f64() * 1e3,
        above: histogram.len().saturating_sub(within),
        skipped: (outcome.totals.roles.iter().enumerate())
            .filter(|(number, _)| drive.roles.get(*number).is_none_or(|role| !role.background))
            .map(|(_, role)| role.skipped)
            .sum(),
    })
}

/// What the sessions were doing at the end of the measurement.
fn states(outcome: &RunOutcome) -> SessionStates {
    let mut states = SessionStates::default();
    for session in &outcome.sessions {
        states.add(session.state);
    }
    states
}

/// A message about sessions that had no connection at the end. `None` if all were connected.
pub fn disconnected(outcome: &RunOutcome) -> Option<String> {
    let (count, all) = (outcome.disconnected(), outcome.sessions.len());
    let errors = outcome.totals.connect_errors.values();
    let why = errors.max_by_key(|error| error.count);
    let why = why.map_or_else(String::new, |error| format!(": {}", error.sample));
    let sessions = if all == 1 { "session" } else { "sessions" };
    (count > 0).then(|| {
        format!("{count} of {all} {sessions} had lost a connection when the run ended{why}")
    })
}

/// The sessions in the foreground.
fn sessions(outcome: &RunOutcome, drive: &Drive) -> Vec<SessionTotal> {
    let total = |session: &dyno_load::SessionTotals| SessionTotal {
        events: session.events,
        busy_ns: session.busy_ns,
    };
    let mut first = 0;
    let background: Vec<_> = (drive.roles.iter())
        .map(|role| {
            first += role.sessions;
            (first, role.background)
        })
        .collect();
    let counts = |tid: u32| {
        let role = background.iter().find(|(end, _)| tid < *end);
        role.is_none_or(|(_, background)| !background)
    };
    let sessions = outcome.sessions.iter();
    sessions
        .filter(|session| counts(session.tid))
        .map(total)
        .collect()
}

fn target(ready: &Ready, server: &ServerInfo) -> TargetSummary {
    if !ready.driver_used() {
        // The script never used a database.
        return TargetSummary::default();
    }
    let url = ready
        .job
        .target
        .as_ref()
        .map_or_else(String::new, dyno_core::Target::label);
    let server = server.clone();
    TargetSummary {
        url,
        family: ready.job.target.as_ref().map(|target| target.family),
        product: server.product,
        version: server.version,
        tls: server.tls,
    }
}

fn endpoints(ready: &Ready, outcome: &RunOutcome) -> Vec<EndpointSummary> {
    let names = ready
        .connector
        .as_ref()
        .map(|c| c.endpoints())
        .unwrap_or_default();
    names
        .into_iter()
        .zip(
            outcome
                .totals
                .endpoints
                .iter()
                .copied()
                .chain(std::iter::repeat(0)),
        )
        .map(|(name, queries)| EndpointSummary { name, queries })
        .collect()
}

fn client_cost(outcome: &RunOutcome, own: ProcessUse) -> ClientCost {
    let counters = outcome.totals.counters;
    let cpu_us: f64 = outcome
        .workers
        .iter()
        .map(|worker| worker.cpu_ns as f64 / 1e3)
        .sum();
    // A load generator that was lost has events, but its CPU time is unknown.
    let known = !outcome.counted.incomplete;
    let per = |count: u64| {
        if count > 0 && known {
            cpu_us / count as f64
        } else {
            0.0
        }
    };
    let queries = counters.queries();
    // If others have made the load, this process has only watched.
    let processes = match outcome.processes.is_empty() {
        true => std::slice::from_ref(&own),
        false => &outcome.processes,
    };
    ClientCost {
        user_s: processes.iter().map(|one| one.user_s).sum(),
        system_s: processes.iter().map(|one| one.system_s).sum(),
        us_per_event: per(counters.events),
        us_per_query: (queries > 0 && known).then(|| per(queries)),
        spin_s: (outcome.workers.iter().map(|worker| worker.spin_ns)).sum::<Nanos>() as f64 / 1e9,
        worker_busy: outcome.workers.iter().map(|worker| worker.busy).collect(),
        stall_max_ms: worker_stall_ns(outcome).max(frozen_ns(outcome)) as f64 / 1e6,
        worker_away: outcome.workers.iter().map(|worker| worker.away).collect(),
        rss_max_bytes: processes.iter().map(|one| one.rss_max_bytes).sum(),
    }
}

/// The longest time for which a worker did not serve its sockets.
fn worker_stall_ns(outcome: &RunOutcome) -> Nanos {
    let stalls = outcome.workers.iter().map(|worker| worker.stall_ns_max);
    stalls.max().unwrap_or(0)
}

/// The longest time for which the process was frozen.
fn frozen_ns(outcome: &RunOutcome) -> Nanos {
    let frozen = outcome.pauses.frozen.iter();
    frozen.map(TimeRange::length_ns).max().unwrap_or(0)
}
