//! The coordinator: conducts a run on agents, from their start to their results.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Result, anyhow};
use dyno_core::catalogue::names;
use dyno_core::clock::Clock;
use dyno_core::plan::{Arrivals, Calibrate, Division, Drive, Plan};
use dyno_core::record::Fact;
use dyno_fleet::bus::nats::{NatsBus, NatsConfig, Role};
use dyno_fleet::coordinator::{
    Calibration as Calibrates, Coordinator, FleetConfig, Limits, Report,
};
use dyno_fleet::finding::{Finding, Kind};
use dyno_fleet::message::PROTOCOL;
use dyno_fleet::names::{AgentName, RunId};
use dyno_fleet::pump::{StopRequest, coordinate, unix_ns};
use dyno_fleet::server::Server;
use dyno_load::{Progress, StopLevel};
use dyno_observe::Helpers;
use dyno_run::calibration::{self, Calibration};
use dyno_run::{LoadEnd, Notice, Ready, RunError, Sinks};

use super::agent::{LaunchConfig, build, machine};
use super::bundle::Bundle;
use super::launch::Launched;
use super::outcome::{Known, together};
use super::specs::{AgentLocation, Fleet};
use super::watcher::{Signals, Watcher};
use crate::usage;

/// Timeout for agents to become ready, in addition to the connection timeout.
const READY: Duration = Duration::from_secs(30);
/// An agent without contact ends its load at most this long after `--orphan`.
const NOTICED: Duration = Duration::from_secs(1);
/// The message to agents when the user ends a run.
const STOPPED: &str = "the user stopped the run";

/// Runs the load on agents, and merges their measurements.
///
/// # Errors
/// The run has no result. The agents have been stopped.
pub(crate) fn run_on_agents(
    fleet: &Fleet,
    plan: &Plan,
    notices: &Sinks,
    ready: &Ready,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<LoadEnd, RunError> {
    conduct(fleet, plan, notices, ready, observer).map_err(|error| {
        let run = error.downcast::<RunError>();
        run.unwrap_or_else(|error| RunError::Failed(format!("{error:#}")))
    })
}

fn conduct(
    fleet: &Fleet,
    plan: &Plan,
    notices: &Sinks,
    ready: &Ready,
    observer: &mut dyn FnMut(Progress<'_>),
) -> Result<LoadEnd> {
    let drive = &ready.job.drive;
    let division = fleet.division_of(drive)?;
    let bundle = Bundle::of(ready, plan)?;
    let run = RunId::new(format!("r{:x}", unix_ns()))?;
    let (machine, signals) = (machine(), Signals::default());
    observer(Progress::Facts(&facts(fleet, &run)));
    let (mut bus, agents, server) = start(fleet, &run, ready, (&signals.waited_for, notices))?;
    let _helpers = helpers(&agents, server.as_ref());
    let (agents, server) = (RefCell::new(agents), RefCell::new(server));
    let calibration = calibration_of(fleet, ready, plan);
    let config = config(fleet, drive, (&division, calibration), run, bundle);
    let measured_after = config.warmup_ns;
    let mut coordinator = Coordinator::new(config, Clock.now(), unix_ns())?;
    let (who, what) = ((fleet, machine.as_str()), (drive, plan.target.as_ref()));
    let mut watcher = Watcher::new(who, what, (notices, observer), measured_after, &signals);
    let stop = || {
        let revived = revived(&server, notices).map(StopRequest::Graceful);
        let wrong = || signals.wrong.borrow().clone().map(StopRequest::Graceful);
        let reason = || reason(ready, &signals, &agents);
        revived.or_else(wrong).or_else(reason)
    };
    let on_event = |event| watcher.take(event);
    let coordinated = coordinate(&mut coordinator, &mut bus, on_event, stop);
    signals.waited_for.store(false, Ordering::Relaxed);
    let (begun, start, ended) = (watcher.begun(), watcher.start, watcher.ended);
    let report = watcher.report.take();
    let at_once = ready.stop.level() == StopLevel::Abandon || coordinated.is_err();
    let patience = at_once.then_some(Duration::ZERO);
    Launched::end_all(&mut agents.borrow_mut(), patience);
    // Leftovers of killed agents on this host.
    dyno_run::scratch::sweep(&std::env::temp_dir());
    drop(bus); // Before its server, so that the last messages arrive.
    coordinated?;
    let report = report.ok_or_else(|| anyhow!("the agents' run ended without a report"))?;
    let interrupted = ready.stop.level() != StopLevel::None;
    if let Some(wrong) = signals.wrong.take() {
        return Err(usage(wrong));
    }
    if !begun {
        return Err(not_begun(fleet, &report, interrupted, &agents.borrow()));
    }
    report_output(&agents.borrow(), notices);
    warn_of_uncalibrated(&report, notices);
    let known = Known {
        division: &report.division,
        sessions: drive.sessions,
        start,
        measured: start + measured_after,
        ended,
        interrupted,
        machine: &machine,
    };
    Ok(LoadEnd {
        calibration: ceiling(&report),
        outcome: together(&report, &known)?,
    })
}

/// Reports the end of the agents' standard error, e.g. scripts' output.
fn report_output(agents: &[Launched], notices: &Sinks) {
    for agent in agents {
        let said = agent.said();
        if !said.is_empty() {
            let step = format!("agent {} said: {said}", agent.name);
            notices.notice(&Notice::Step(step));
        }
    }
}

/// Reports the agents that could not be calibrated, and why.
fn warn_of_uncalibrated(report: &Report, notices: &Sinks) {
    for agent in &report.agents {
        if let Some(ceiling) = agent.ceiling.as_ref().filter(|own| own.per_s.is_none()) {
            let warning = format!("no calibration of {}: {}", agent.name, ceiling.why);
            notices.notice(&Notice::AgentsWarning(warning));
        }
    }
}

/// The ceiling of all agents together: limited by the one that reaches its own first, given its
/// share; `None` if one did not report it.
fn ceiling(report: &Report) -> Option<Calibration> {
    let mut whole = Calibration {
        events_per_s_max: f64::INFINITY,
        cpu_us_per_event: 0.0,
        events_per_s: 0.0,
        stall_ms_max: 0.0,
        p999_ms: 0.0,
        sessions: 0,
        workers: 0,
        transport: "each agent's own".to_owned(),
        made_unix_s: f64::INFINITY,
    };
    for agent in &report.agents {
        let own = agent.ceiling.as_ref()?;
        let per_s = own.per_s.filter(|_| agent.fraction > 0.0)?;
        whole.events_per_s_max = whole.events_per_s_max.min(per_s / agent.fraction);
        whole.cpu_us_per_event += own.cpu_us_per_event * agent.fraction;
        whole.stall_ms_max = whole.stall_ms_max.max(own.stall_ms_max);
        whole.p999_ms = whole.p999_ms.max(own.p999_ms);
        whole.sessions += own.sessions;
        whole.workers += own.workers;
        whole.made_unix_s = whole.made_unix_s.min(own.made_unix_s);
    }
    (!report.agents.is_empty()).then_some(whole)
}

/// Whether agents calibrate, and why.
fn calibration_of(fleet: &Fleet, ready: &Ready, plan: &Plan) -> Calibrates {
    let job = &ready.job;
    let possible = calibration::obstacle(job.target.as_ref()).is_none();
    // A user's script may not be safe to run twice.
    let wanted = match plan.record.calibrate {
        Calibrate::Never => false,
        Calibrate::Auto => job.work.is_builtin(),
        Calibrate::Always => true,
    };
    match (fleet.by_capacity, possible && wanted) {
        (true, _) => Calibrates::Shares,
        (false, true) => Calibrates::Compared,
        (false, false) => Calibrates::None,
    }
}

/// The run's load generators as facts: enough to collect the run from the agents' files.
fn facts(fleet: &Fleet, run: &RunId) -> Vec<Fact> {
    let source = "--agents";
    let agents = fleet.specs.iter().map(|spec| {
        let place = match &spec.place {
            AgentLocation::Local => "local".to_owned(),
            AgentLocation::Ssh(host) => format!("ssh:{host}"),
            AgentLocation::Joins => "joins".to_owned(),
        };
        Fact::new(names::FLEET_AGENT_EACH.of(&spec.name), place, source)
    });
    let run = Fact::new(names::FLEET_RUN, run.to_string(), source);
    let by_ssh = |spec: &super::specs::Spec| matches!(spec.place, AgentLocation::Ssh(_));
    let command = fleet.specs.iter().any(by_ssh);
    let command = command.then(|| Fact::new(names::FLEET_COMMAND, fleet.program.clone(), source));
    std::iter::once(run).chain(command).chain(agents).collect()
}

/// Starts the bus and the agents. With an external bus, calls the agents, and reports that the run
/// waits for them.
fn start(
    fleet: &Fleet,
    run: &RunId,
    ready: &Ready,
    (waited_for, notices): (&Arc<AtomicBool>, &Sinks),
) -> Result<(NatsBus, Vec<Launched>, Option<Server>)> {
    if fleet.bus.is_some() {
        let bus = NatsBus::connect(own_end(fleet, None, run)?)?;
        bus.call(&fleet.names(), waited_for)?;
        notices.notice(&Notice::AwaitingAgents {
            run: run.to_string(),
            names: fleet.names().iter().map(ToString::to_string).collect(),
        });
        return Ok((bus, Vec::new(), None));
    }
    let server = Server::start(fleet.nats.as_deref(), run, &fleet.names())?;
    let bus = NatsBus::connect(own_end(fleet, Some(&server), run)?)?;
    let agents = launched(fleet, &server, run, ready)?;
    Ok((bus, agents, Some(server)))
}

/// The processes of the load generators, for the observers.
fn helpers(agents: &[Launched], server: Option<&Server>) -> Helpers {
    let processes = agents.iter().map(Launched::process_id);
    let server = server.and_then(Server::process_id);
    Helpers::new(processes.chain(server).collect(), 0)
}

/// The coordinator's connection to the bus.
fn own_end(fleet: &Fleet, server: Option<&Server>, run: &RunId) -> Result<NatsConfig> {
    if let Some(bus) = &fleet.bus {
        return Ok(bus.config(run.clone(), Role::Coordinator));
    }
    let server = server.ok_or_else(|| anyhow!("there is no bus"))?;
    Ok(NatsConfig {
        address: server.address().to_string(),
        key: server.coordinator_key().clone(),
        run: run.clone(),
        role: Role::Coordinator,
        authority: None,
    })
}

fn not_begun(
    fleet: &Fleet,
    report: &Report,
    interrupted: bool,
    agents: &[Launched],
) -> anyhow::Error {
    if interrupted {
        return RunError::from(dyno_load::LoadError::Interrupted).into();
    }
    let why = report.failed.clone().unwrap_or_default();
    let missing = report.agents.iter().filter(|agent| agent.hello.is_none());
    let missing: Vec<String> = missing.map(|agent| agent.name.to_string()).collect();
    // If the run failed first, agents may still be on their way.
    let is_missing = |finding: &Finding| finding.kind == Kind::AgentMissing;
    let bus = fleet.bus.as_ref();
    let start_by = bus.filter(|_| report.findings.iter().any(is_missing));
    let start_by = start_by.map(|bus| bus.start_by(&missing));
    let advice = agents.iter().find_map(Launched::advice).or(start_by);
    let advice = advice.map_or_else(String::new, |advice| format!("; {advice}"));
    anyhow!("the agents did not start: {why}{advice}")
}

/// The agents' processes.
fn launched(fleet: &Fleet, server: &Server, run: &RunId, ready: &Ready) -> Result<Vec<Launched>> {
    let password = ready.job.target.as_ref();
    let password = password.and_then(|target| target.password.as_ref());
    let local = fleet.local() as u32;
    let start = |spec: &super::specs::Spec| {
        let key = server.agent_key(&spec.name);
        let key = key.ok_or_else(|| anyhow!("agent {} has no key", spec.name))?;
        let config = LaunchConfig {
            v: PROTOCOL,
            bus: server.address().to_string(),
            run: run.clone(),
            name: spec.name.clone(),
            key: key.expose().to_owned(),
            password: password.map(|password| password.expose().to_owned()),
            sharing: match spec.place {
                AgentLocation::Local => local,
                AgentLocation::Ssh(_) | AgentLocation::Joins => 1,
            },
            observes: spec.place != AgentLocation::Local,
        };
        Launched::start(fleet, spec, config)
    };
    fleet.specs.iter().map(start).collect()
}

fn config(
    fleet: &Fleet,
    drive: &Drive,
    (division, calibration): (&Division, Calibrates),
    run: RunId,
    plan: String,
) -> FleetConfig {
    let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
    let warmup_ns = ns(drive.ramp_up + drive.warmup);
    let open = drive.open_loop;
    let constant = open.filter(|open| open.arrivals == Arrivals::Constant);
    let limits = Limits::default();
    FleetConfig {
        run,
        plan,
        agents: fleet.names(),
        division: division.clone(),
        calibration,
        build: build(fleet.commit),
        allow_mixed_versions: fleet.mixed,
        on_loss: fleet.on_loss,
        warmup_ns,
        interval_ns: ns(drive.interval),
        length_ns: drive
            .time
            .map(|time| warmup_ns.saturating_add(ns(time + drive.grace))),
        constant_rate: constant.map(|open| open.per_second),
        limits: Limits {
            ready_ns: limits.ready_ns.max(ns(drive.init_timeout + READY)),
            // By then, a lost agent has ended its load.
            lost_ns: ns(fleet.orphan + NOTICED),
            orphan_ns: ns(fleet.orphan),
            ..limits
        },
    }
}

/// Restarts the NATS server if it has ended; no data are lost. Returns the error if that fails.
fn revived(server: &RefCell<Option<Server>>, notices: &Sinks) -> Option<String> {
    match server.borrow_mut().as_mut()?.revive() {
        Ok(None) => None,
        Ok(Some(how)) => {
            notices.warn(format!("nats-server ended ({how}) and was restarted"));
            None
        }
        Err(error) => Some(error.to_string()),
    }
}

/// The reason to end the run early, if there is one.
fn reason(
    ready: &Ready,
    signals: &Signals,
    agents: &RefCell<Vec<Launched>>,
) -> Option<StopRequest> {
    match ready.stop.level() {
        StopLevel::None => {}
        StopLevel::End => return Some(StopRequest::Graceful(STOPPED.to_owned())),
        StopLevel::Abandon => {
            Launched::end_all(&mut agents.borrow_mut(), Some(Duration::ZERO));
            return Some(StopRequest::Immediate(STOPPED.to_owned()));
        }
    }
    // A lost agent must not load the server when it wakes up.
    for name in signals.lost.borrow_mut().drain(..) {
        let mut agents = agents.borrow_mut();
        agents
            .iter_mut()
            .filter(|agent| agent.name == name)
            .for_each(Launched::kill);
    }
    let mut agents = agents.borrow_mut();
    agents.iter_mut().for_each(Launched::try_again);
    if signals.leaving.get() {
        return None;
    }
    let ended = agents.iter_mut().filter(|agent| !agent.comes_again());
    let mut ended = ended.filter_map(|agent| Some((agent.ended()?, &agent.name)));
    if !signals.begun.get() {
        let first = ended.next();
        return first
            .map(|(how, name)| StopRequest::Graceful(format!("agent {name} has ended ({how})")));
    }
    let mut gone = signals.gone.borrow_mut();
    let (how, name) = ended.find(|(_, name)| !gone.contains(name))?;
    gone.push(name.clone());
    let why = format!("its process has ended ({how})");
    Some(StopRequest::Lost(AgentName::new(name).ok()?, why))
}
