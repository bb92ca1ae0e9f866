//! Merges the outcomes of the agents' loads.

use anyhow::{Result, anyhow};
use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;
use dyno_core::summary::{AgentClock, AgentFinding, AgentSummary, RunEnd};
use dyno_fleet::coordinator::{AgentReport, Report};
use dyno_fleet::division::Division;
use dyno_fleet::message::{short, unpack};
use dyno_fleet::names::AgentName;
use dyno_load::{ProcessUse, RunOutcome, TimeRange};

use super::sink::AgentOutcome;

/// Agents report times as if their load had begun at this time, not at 0, which means no time.
pub(super) const SENT_AT: Nanos = 1 << 40;

/// Facts about a run that the agents' reports lack.
pub(super) struct Known<'a> {
    /// The division of the load.
    pub division: &'a Division,
    /// The sessions of the run.
    pub sessions: u32,
    /// When the load began, by the coordinator's clock.
    pub start: Nanos,
    /// When the measurement began.
    pub measured: Nanos,
    /// The end of the last interval received; 0 without any.
    pub ended: Nanos,
    /// The user ended the run.
    pub interrupted: bool,
    /// The coordinator's own machine, which it observes itself.
    pub machine: &'a str,
}

/// An agent process's resource use, and its work after the measurement.
#[derive(Clone, Copy)]
struct Used {
    process: Option<ProcessUse>,
    in_grace: u64,
    host_cpu_percent: Option<f64>,
    frozen_ns: Nanos,
}

/// Merges all loads.
///
/// # Errors
/// An agent's report cannot be read.
pub(super) fn together(report: &Report, known: &Known<'_>) -> Result<RunOutcome> {
    let mut parts = Vec::new();
    let mut used: Vec<Option<Used>> = Vec::new();
    let mut found = Vec::new();
    for agent in &report.agents {
        let Some(reported) = reported_outcome(agent)? else {
            used.push(None);
            continue;
        };
        let part = reported.load;
        used.push(Some(Used {
            process: part.processes.first().copied(),
            in_grace: part.in_grace.events,
            host_cpu_percent: reported.host_cpu_percent,
            frozen_ns: part.pauses.frozen.iter().map(TimeRange::length_ns).sum(),
        }));
        let hello = agent.hello.as_ref();
        if hello.is_none_or(|hello| hello.machine != known.machine) {
            found.extend(
                reported
                    .findings
                    .into_iter()
                    .map(|one| of_host(one, &agent.name)),
            );
        }
        parts.push((agent.name.to_string(), part.moved(SENT_AT, known.start)));
    }
    let whole = parts.len() == report.agents.len();
    let mut outcome = match parts.is_empty() {
        true => RunOutcome::blank(known.measured, known.ended.max(known.measured)),
        false => RunOutcome::together(parts)?,
    };
    if !whole {
        // For a lost agent there are only its live reports, without its grace period.
        let (start, end) = (outcome.measured_start, outcome.measured_end);
        outcome.totals = report.total.clone();
        (outcome.totals.start, outcome.totals.end) = (start, end);
        outcome.forget_grace();
        outcome.counted.incomplete = true;
        used.iter_mut().flatten().for_each(|used| used.in_grace = 0);
    }
    if let Some(why) = &report.failed {
        outcome.end = match known.interrupted {
            true => RunEnd::Interrupted,
            false => RunEnd::Failed(why.clone()),
        };
    }
    let measured_ns = outcome.measured_end.saturating_sub(outcome.measured_start);
    let measured_s = measured_ns as f64 / 1e9;
    let agents = report.agents.iter().zip(used).zip(1..);
    outcome.agents = agents
        .map(|((agent, used), number)| summary(agent, used, number, measured_s, known))
        .collect();
    outcome.agent_findings = findings(report, known.interrupted);
    outcome.agent_findings.extend(found);
    Ok(outcome)
}

/// An agent's reported outcome; `None` without a report.
///
/// # Errors
/// It cannot be read.
pub(super) fn reported_outcome(agent: &AgentReport) -> Result<Option<AgentOutcome>> {
    let Some(pieces) = &agent.outcome else {
        return Ok(None);
    };
    let unreadable = |why: String| anyhow!("agent {}: {why}", agent.name);
    let json = unpack(pieces.iter().map(String::as_str));
    let json = json.map_err(|error| unreadable(error.to_string()))?;
    let outcome = serde_json::from_slice(&json);
    outcome
        .map(Some)
        .map_err(|error| unreadable(error.to_string()))
}

/// The names of a run's operations, from the first agent that reported an outcome.
///
/// # Errors
/// An agent's report cannot be read.
pub(super) fn operations(report: &Report) -> Result<Vec<String>> {
    for agent in &report.agents {
        if let Some(reported) = reported_outcome(agent)? {
            return Ok(reported.operations);
        }
    }
    Ok(Vec::new())
}

/// A finding about an agent's host, with the agent's name.
fn of_host(mut finding: AgentFinding, name: &AgentName) -> AgentFinding {
    finding.evidence = format!("On {name}'s host: {}", short(&finding.evidence));
    finding.kind = short(&finding.kind);
    finding.agent = Some(name.to_string());
    finding
}

fn summary(
    agent: &AgentReport,
    used: Option<Used>,
    number: u32,
    measured_s: f64,
    known: &Known<'_>,
) -> AgentSummary {
    let ms = |ns: f64| ns / 1e6;
    let clock = agent.clock.map(|clock| AgentClock {
        bound_ms: ms((clock.delay_ns / 2 + clock.residual_ns) as f64),
        drift_ppm: clock.has_drift().then_some(clock.drift * 1e6),
        civil_ahead_ms: agent.civil_ahead_ns.map(|(ahead, _)| ms(ahead as f64)),
    });
    let hello = agent.hello.as_ref();
    AgentSummary {
        name: agent.name.to_string(),
        host: hello.map_or_else(String::new, |hello| hello.host.clone()),
        fraction: agent.fraction,
        sessions: known.division.count(number, known.sessions.into()) as u32,
        events: agent.sums.counters.events + used.map_or(0, |used| used.in_grace),
        events_per_s: match measured_s > 0.0 {
            true => agent.sums.counters.events as f64 / measured_s,
            false => 0.0,
        },
        errors: agent.sums.errors,
        p50_ms: agent.p50_ns.map(|ns| ms(ns as f64)),
        p99_ms: agent.p99_ns.map(|ns| ms(ns as f64)),
        cpu_cores: used
            .filter(|_| measured_s > 0.0)
            .and_then(|used| used.process)
            .map(|process| (process.user_s + process.system_s) / measured_s),
        host_cpu_percent: used.and_then(|used| used.host_cpu_percent),
        frozen_s: used.map_or(0.0, |used| used.frozen_ns as f64 / 1e9),
        late_ms: agent.late_ns.map(|ns| ms(ns as f64)),
        clock,
        lost: agent.lost,
    }
}

fn findings(report: &Report, interrupted: bool) -> Vec<AgentFinding> {
    let finding = |found: &dyno_fleet::finding::Finding| AgentFinding {
        kind: found.kind.to_string(),
        outcome: found.outcome,
        agent: found.agent.as_ref().map(ToString::to_string),
        evidence: found.evidence.clone(),
    };
    let mut findings: Vec<AgentFinding> = report.findings.iter().map(finding).collect();
    let refused = |one: &AgentFinding| one.outcome == Outcome::Refuse;
    if let Some(why) = &report.failed
        && !interrupted
        && !findings.iter().any(refused)
    {
        findings.push(AgentFinding {
            kind: "run-failed".to_owned(),
            outcome: Outcome::Refuse,
            agent: None,
            evidence: why.clone(),
        });
    }
    findings
}
