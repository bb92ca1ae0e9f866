//! Records a run in progress, and judges it at the end.

mod agents;
mod collected;
mod context;
mod created_tables;
mod events;
mod head;
mod hidden;
mod observing;
mod preflight;
mod profiling;
mod rows;
mod sessions;
pub(crate) mod store;
mod tables;
mod there;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use dyno_core::catalogue::names;
use dyno_core::clock::{Clock, Nanos, wall_time};
use dyno_core::finding::{Finding, Outcome, verdict};
use dyno_core::interval::Interval;
use dyno_core::plan::{Calibrate, RecordPlan};
use dyno_core::record::{Fact, IdleSpan, RunRecord, RunState, SessionShare};
use dyno_core::redact;
use dyno_core::states::IdleTime;
use dyno_core::summary::{IntervalSummary, Recorded, RunEnd, RunSummary};
use dyno_load::{AgentInterval, RunOutcome, StopLevel};
use dyno_observe::{Config, Cost, KnownServer, Observers};
use dyno_results::Results;
use dyno_verdict::{Context, Keeping};

pub use collected::CollectedRun;
pub use created_tables::{Clash, clash};
pub use head::name as new_name;
pub use hidden::Hidden;
pub(crate) use observing::End;
pub use observing::RemoteObserver;
pub use store::try_file;
pub use there::{TablesThere, tables_there};

use crate::calibration::{self, Calibration};
use crate::error::{Context as _, OrFailed as _, Result, RunError};
use crate::job::Ready;
use crate::request::RunRequest;
use crate::sink::{IntervalReport, Notice, Sink, Sinks};
use profiling::Profiling;
use store::{Store, with_event};
use tables::ObservedTables;

/// Where records go: to the store, and to the other sinks.
struct Outputs {
    store: Mutex<Store>,
    sinks: Sinks,
}

impl Outputs {
    /// Calls the store first, and then the other sinks.
    fn each(&self, mut take: impl FnMut(&mut dyn Sink)) {
        take(&mut *self.store.lock().unwrap_or_else(PoisonError::into_inner));
        self.sinks.each(take);
    }
}

/// A run that is being recorded and observed.
pub struct Recording {
    wanted: RecordPlan,
    outputs: Arc<Outputs>,
    origin: observing::Origin,
    observers: Option<(Observers, JoinHandle<ObservedTables>)>,
    remote_observer: Option<(End, JoinHandle<ObservedTables>)>,
    context: Context,
    /// The names of the script's operations.
    operations: Vec<String>,
    /// The events of each session over time.
    sessions: sessions::Sessions,
    /// The figures of each load generator over time, if there are several.
    agents: agents::Agents,
    password: Option<dyno_core::Secret>,
    hidden: Arc<Hidden>,
    profiling: Profiling,
}

impl Recording {
    /// Opens the record and starts the observers. Looks up how many rows the tables have.
    ///
    /// # Errors
    /// Tables are missing, the run would be refused, or the results file cannot be used.
    pub fn start(ready: &Ready, request: &RunRequest, sinks: Sinks) -> Result<Self> {
        let mut wanted = request.plan.record.clone();
        for waiver in &mut wanted.waivers {
            waiver.reason = redact::text(&waiver.reason);
        }
        let row_counts = rows_of(ready, request)?;
        let head = head::head(&ready.job, request);
        let store = Store::new(wanted.file.as_deref(), &head, &sinks)?;
        sinks.each(|sink| sink.head(&head));
        let outputs = Arc::new(Outputs {
            store: Mutex::new(store),
            sinks,
        });
        let of_duet = ready.duet.iter().map(head::duet);
        of_duet.for_each(|own| outputs.each(|sink| sink.facts(&own)));
        let origin = Arc::new(AtomicU64::new(0));
        let hidden = Arc::<Hidden>::default();
        let profiling = Profiling::of(&wanted, &ready.job);
        let observers = if wanted.observe {
            let shared = (Arc::clone(&hidden), profiling.server());
            let observers = observe(&wanted, ready, &outputs, &origin, shared);
            observers
                .inspect_err(|error| outputs.sinks.warn(error.chain()))
                .ok()
        } else {
            None
        };
        let context = Context {
            claim: wanted.claim,
            requested_settings: wanted.expected.clone(),
            row_counts,
            ..Context::default()
        };
        let sessions = sessions::Sessions::new(&outputs, &ready.job.drive.roles);
        let target = ready.job.target.as_ref();
        Ok(Self {
            wanted,
            outputs,
            origin,
            observers,
            remote_observer: None,
            context,
            operations: ready.description.declared.operations.clone(),
            sessions,
            agents: agents::Agents::default(),
            password: target.and_then(|target| target.password.clone()),
            hidden,
            profiling,
        })
    }

    /// Adds what is observed on the server's host.
    ///
    /// # Errors
    /// The system does not start a thread.
    pub fn watch(&mut self, observer: RemoteObserver) -> Result<()> {
        let forwarder = observing::forward(
            observer.observations,
            Arc::clone(&self.outputs),
            Arc::clone(&self.origin),
            Arc::clone(&self.hidden),
            // Its process ids belong to another host.
            Arc::new(KnownServer::of(None)),
            None,
        );
        let forwarder = forwarder.context("cannot start the thread that collects observations")?;
        self.remote_observer = Some((observer.end, forwarder));
        Ok(())
    }

    /// Looks up the calibration or makes one. This comes after `init()`, because a run whose tables
    /// are missing should not have to wait for a calibration.
    pub fn calibrate(&mut self, ready: &Ready) {
        let made = calibrated(&self.wanted, ready, &self.outputs.sinks);
        self.context.calibration = made.map(|made| context::of(&made));
    }

    /// Stores the calibration of the load generators.
    pub fn calibrated(&mut self, made: &Calibration) {
        self.context.calibration = Some(context::of(made));
    }

    /// Sets the instant at which the measurement begins, which may be in the future.
    pub fn begins(&mut self, measured: Nanos) {
        let ahead_s = (measured as f64 - Clock.now() as f64) / 1e9;
        let unix_s = wall_time().as_secs_f64() + ahead_s;
        self.outputs.each(|sink| sink.started(unix_s));
        self.origin.store(measured.max(1), Ordering::Release);
        self.profiling.begins(measured, &self.outputs);
    }

    /// The load has ended, so sampling stops.
    pub fn load_ended(&self) {
        self.profiling.load_ended();
    }

    /// An interval has ended.
    pub fn interval(&self, interval: &Interval, summary: &IntervalSummary) {
        let report = IntervalReport {
            interval,
            summary,
            operations: &self.operations,
        };
        self.outputs.each(|sink| sink.interval(report));
        let sessions = &self.sessions;
        sessions.interval(&self.outputs, summary.at_s, interval);
    }

    /// Records what each load generator did in the interval before.
    pub fn agents(&mut self, agents: &[AgentInterval], summary: &IntervalSummary) {
        let when = (summary.at_s, summary.length_s);
        self.agents.interval(&self.outputs, when, agents);
    }

    /// Records facts from the script.
    pub fn facts(&self, facts: &[Fact]) {
        self.outputs.each(|sink| sink.facts(facts));
    }

    /// The run ended with this error and has no result.
    pub fn abandon(mut self, ready: &Ready, error: &RunError) {
        self.still();
        self.profiling.abandon();
        if let Some(outputs) = Arc::into_inner(self.outputs) {
            let store = outputs.store.into_inner();
            let store = store.unwrap_or_else(PoisonError::into_inner);
            let is_stopped = ready.stop.level() != StopLevel::None;
            let state = match is_stopped || error.is_interruption() {
                true => RunState::Interrupted,
                false => RunState::Failed,
            };
            store.abandon(state, &redact::text(&error.chain()));
        }
    }

    /// The run has ended. Completes the record, judges it, and adds the verdict to the summary.
    ///
    /// # Errors
    /// The record could not be completed, or the verdict could not be stored. The summary is judged
    /// in any case.
    pub fn finish(mut self, summary: &mut RunSummary, outcome: &RunOutcome) -> Result<()> {
        let (cost, tables) = self.still();
        if let Some(cost) = cost {
            self.record_cost(&cost, summary.measured_s);
        }
        self.record_export_cost(summary.measured_s);
        self.profiling.finish(outcome, &self.outputs);
        let mut known = tables.used(outcome.mentions.as_ref());
        known.push(tables::left_open(&outcome.sessions));
        self.hidden.clean_summary(summary);
        self.record_context();
        known.extend_from_slice(&summary.facts);
        known.extend(context::statements(outcome));
        let outputs = &self.outputs;
        outputs.each(|sink| sink.facts(&known));
        for event in events::of(outcome) {
            outputs.each(|sink| sink.event(&event));
        }
        let outputs =
            Arc::into_inner(self.outputs).or_failed("the record is still being written")?;
        let store = outputs.store.into_inner();
        let store = store.unwrap_or_else(PoisonError::into_inner);
        let state = state_of(&summary.end);
        let shares = shares(outcome);
        let totals = &outcome.totals;
        let operations = with_event(&self.operations, &totals.latencies, &totals.operations);
        let kept = store.finish(summary, state, &operations, &shares);
        let mut record = kept.record;
        if kept.lost.is_some() {
            // The verdict also uses facts that a full disk kept out of the file.
            known.retain(|fact| record.facts.iter().all(|kept| kept.name != fact.name));
            record.facts.append(&mut known);
        }
        self.context.keeping = match (&self.wanted.file, kept.lost) {
            (None, _) => None,
            (Some(_), None) => Some(Keeping::Whole),
            (Some(_), Some(lost)) => Some(Keeping::Lost(lost)),
        };
        let hidden = self.hidden.places();
        self.context.secret_scan = context::scan(&record, self.password.as_ref(), hidden);
        judge(&mut record, &self.context, &self.wanted, summary)?;
        if let Some(error) = kept.unfinished {
            return Err(error.into());
        }
        if let Some(file) = &self.wanted.file {
            summary.recorded = Some(Recorded {
                file: file.display().to_string(),
                id: record.id,
                name: record.head.name.clone(),
            });
            let mut results = Results::open(file)?;
            let verdict = verdict(&summary.findings);
            results.judge(record.id, &summary.findings, verdict, &self.wanted.waivers)?;
            results.set_summary(record.id, summary)?;
        }
        outputs.sinks.each(|sink| sink.end(summary));
        Ok(())
    }

    /// Stops the observers. Returns their cost and the tables that they observed.
    fn still(&mut self) -> (Option<Cost>, ObservedTables) {
        // Stop the local ones first, because the remote one may take a while.
        let own = self.observers.take().map(|(observers, forwarder)| {
            let cost = observers.stop();
            // A forwarder that has panicked has already handed over what it could.
            (cost, forwarder.join().unwrap_or_default())
        });
        if let Some((end, forwarder)) = self.remote_observer.take() {
            end();
            let _ = forwarder.join();
        }
        own.unwrap_or_default()
    }

    /// Records the cost of the observers as facts, in addition to the series.
    fn record_cost(&self, cost: &Cost, measured_s: f64) {
        let source = "the observers themselves";
        let facts = [
            (names::OBSERVER_CPU_S, format!("{:.4}", cost.cpu_s)),
            (names::OBSERVER_SAMPLES, cost.samples.to_string()),
            (
                names::OBSERVER_LATE_MS_MAX,
                format!("{:.3}", cost.late_ms_max),
            ),
            (names::OBSERVER_MISSED, cost.missed.to_string()),
            (names::OBSERVER_MEASURED_S, format!("{measured_s:.3}")),
        ];
        let facts = facts.map(|(name, value)| Fact::new(name, value, source));
        self.outputs.each(|sink| sink.facts(&facts));
    }

    /// Records the cost of live exporters, if there are any.
    fn record_export_cost(&self, measured_s: f64) {
        let cpu_s = self.outputs.sinks.cpu_s();
        if cpu_s > 0.0 && measured_s > 0.0 {
            let source = "CLOCK_THREAD_CPUTIME_ID";
            let fact = |name, value: f64| Fact::new(name, format!("{value:.4}"), source);
            let facts = [
                fact(names::OBSERVER_EXPORT_CPU_S, cpu_s),
                fact(names::OBSERVER_EXPORT_CORES, cpu_s / measured_s),
            ];
            self.outputs.each(|sink| sink.facts(&facts));
        }
    }

    /// Records the verdict's other inputs as facts, so that it can be repeated.
    fn record_context(&self) {
        let facts = context::facts(&self.context);
        self.outputs.each(|sink| sink.facts(&facts));
    }
}

/// The number of rows of the tables, unless what is known so far refuses the run. If this is only
/// part of a run, others check it.
fn rows_of(ready: &Ready, request: &RunRequest) -> Result<Vec<dyno_verdict::RowCount>> {
    if ready.gate.is_some() {
        return Ok(Vec::new());
    }
    let wanted = &request.plan.record;
    let counted = match rows::count(ready, request, wanted.claim) {
        Err(error) if !wanted.force => return Err(error),
        counted => counted.unwrap_or_default(),
    };
    preflight::check(ready, wanted, &counted)?;
    Ok(counted)
}

fn observe(
    wanted: &RecordPlan,
    ready: &Ready,
    outputs: &Arc<Outputs>,
    origin: &observing::Origin,
    (hidden, server): (Arc<Hidden>, Arc<KnownServer>),
) -> Result<(Observers, JoinHandle<ObservedTables>)> {
    let folder = wanted.file.as_deref().and_then(std::path::Path::parent);
    let folder = folder.map(|folder| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    });
    // If this is only part of a run's load, it only observes its own host.
    let whole = ready.gate.is_none();
    let config = Config {
        target: ready.job.target.clone().filter(|_| whole),
        connector: ready.connector.clone().filter(|_| whole),
        period: Duration::from_secs(1),
        results_directory: folder,
        begins: Arc::clone(origin),
        ..Config::default()
    };
    let (observers, observations) = Observers::start(config)?;
    let forwarder = observing::forward(
        observations,
        Arc::clone(outputs),
        Arc::clone(origin),
        hidden,
        server,
        Some(ready),
    )
    .context("cannot start the thread that collects observations")?;
    Ok((observers, forwarder))
}

fn calibrated(wanted: &RecordPlan, ready: &Ready, sinks: &Sinks) -> Option<Calibration> {
    let job = &ready.job;
    if wanted.calibrate == Calibrate::Never || calibration::obstacle(job.target.as_ref()).is_some()
    {
        return None;
    }
    if wanted.calibrate == Calibrate::Auto {
        if let Some(cached) = calibration::cached(job, &job.options) {
            return Some(cached);
        }
        // Running a user's script once more may have side effects.
        if !job.work.is_builtin() {
            return None;
        }
    }
    sinks.notice(&Notice::Calibrating(calibration::LENGTH));
    match calibration::make(job, &job.options, &ready.stop, sinks) {
        Ok(made) => Some(made),
        Err(error) => {
            let error = redact::text(&error.chain());
            sinks.warn(format!("no calibration: {error}"));
            None
        }
    }
}

/// Adds the findings, waivers, costs and the verdict to the summary.
fn judge(
    record: &mut RunRecord,
    context: &Context,
    wanted: &RecordPlan,
    summary: &mut RunSummary,
) -> Result<()> {
    let (mut findings, parts) = dyno_verdict::judge_with_parts(record, context);
    summary.parts = parts;
    dyno_verdict::waive(&mut findings, &wanted.waivers)?;
    for waiver in &wanted.waivers {
        for part in &mut summary.parts {
            part.waive(&waiver.check);
        }
    }
    let findings = sorted(findings);
    summary.verdict = Some(verdict(&findings));
    summary.findings = findings;
    crate::summary::after_findings(summary, record);
    summary.costs = dyno_verdict::costs(record);
    summary.limits.extend(dyno_verdict::limits(record));
    summary.server_host = dyno_verdict::server_host(record);
    let host = summary.server_host.as_ref();
    let limit = host.and_then(|host| dyno_verdict::server_host_limit(record, host));
    summary.limits.extend(limit);
    summary.tables = dyno_core::tables::groups(&record.facts);
    summary.not_observed = record.not_observed.clone();
    summary.note.clone_from(&record.head.note);
    summary.factors.clone_from(&record.head.factors);
    Ok(())
}

/// The findings, worst first and then by number.
pub fn sorted(mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_key(|finding| {
        let rank = match finding.outcome {
            Outcome::Refuse => 0,
            Outcome::Doubt => 1,
            Outcome::Pass => 2,
            Outcome::NotChecked => 3,
        };
        (rank, finding.number)
    });
    findings
}

/// How the run ended, as the state of a record.
fn state_of(end: &RunEnd) -> RunState {
    match end {
        RunEnd::Completed => RunState::Completed,
        RunEnd::Interrupted => RunState::Interrupted,
        RunEnd::Failed(_) => RunState::Failed,
    }
}

fn shares(outcome: &RunOutcome) -> Vec<SessionShare> {
    let at_s = |at: Nanos| at.saturating_sub(outcome.measured_start) as f64 / 1e9;
    let idle = |idle: &IdleTime| {
        (idle.length_ns() > 0).then(|| IdleSpan {
            from_s: at_s(idle.from),
            to_s: at_s(idle.to),
            idle_in: idle.idle_in,
            attempts: idle.attempts,
        })
    };
    let share = |session: &dyno_load::SessionTotals| SessionShare {
        session: session.tid,
        worker: session.worker,
        events: session.events,
        busy_s: session.busy_ns as f64 / 1e9,
        state: Some(session.state),
        idle: idle(&session.idle),
    };
    outcome.sessions.iter().map(share).collect()
}
