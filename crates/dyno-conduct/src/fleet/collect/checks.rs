//! Checks that agents' files match the plan and the record.

use std::collections::BTreeMap;

use anyhow::{Result, anyhow};
use dyno_analysis::summarize;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::interval::Counters;
use dyno_core::record::{RunRecord, RunState};
use dyno_core::summary::{AgentSummary, IntervalSummary, RunSummary};
use dyno_fleet::collect::Beyond;
use dyno_fleet::coordinator::Report;
use dyno_fleet::division::Division;
use dyno_load::RunOutcome;

use super::Collected;
use crate::fleet::outcome::reported_outcome;

/// Totals of all intervals.
pub(super) struct Counted<'a> {
    recorded: &'a [IntervalSummary],
    percentiles: &'a [f64],
    measured: Nanos,
    intervals: u64,
    events: u64,
    /// The first interval that differs from the record.
    other: Option<u64>,
    /// The end of the last one.
    pub(super) ended: Nanos,
}

impl<'a> Counted<'a> {
    pub(super) fn of(base: Option<&'a RunRecord>, measured: Nanos) -> Self {
        Self {
            recorded: base.map_or(&[], |base| &base.intervals),
            percentiles: base.map_or(&[], |base| &base.head.percentiles),
            measured,
            intervals: 0,
            events: 0,
            other: None,
            ended: 0,
        }
    }

    pub(super) fn add(&mut self, merged: &dyno_fleet::merge::Merged) {
        let found = summarize::interval(&merged.interval, self.measured, self.percentiles);
        let own = |one: &IntervalSummary| {
            let latencies = (one.percentiles.clone(), one.max_ms);
            (one.counters, one.errors_seen, latencies)
        };
        let recorded = self.recorded.get(self.intervals as usize);
        self.intervals += 1;
        if recorded.is_some_and(|one| own(one) != own(&found)) {
            self.other.get_or_insert(self.intervals);
        }
        self.events += merged.interval.counters.events;
        self.ended = self.ended.max(merged.interval.end);
    }
}

/// How to record the missing part.
const WHOLE: &str = "`dyno fleet collect FILES --results OTHER.db`, with the agents' files alone, \
                     records all that they hold";

/// The content of the files, for comparison with the record.
pub(super) struct FileContents<'a> {
    pub(super) report: &'a Report,
    pub(super) outcome: &'a RunOutcome,
    pub(super) counted: &'a Counted<'a>,
    /// Data in the files of lost agents that the record lacks.
    pub(super) beyond: &'a [Beyond],
    /// Number of agents with files.
    pub(super) files: usize,
}

/// Compares the files with the record.
pub(super) fn compared(base: &RunRecord, found: &FileContents<'_>) -> Collected {
    let Some(summary) = &base.summary else {
        return Collected::Differs("the record has no summary".to_owned());
    };
    let name = &base.head.name;
    let before = base.fact(names::FLEET_COLLECTED).is_some();
    let failed = found.report.failed.as_ref();
    if let Some(why) = failed.filter(|_| base.state == RunState::Completed) {
        return Collected::Differs(format!("{name}: {why}"));
    }
    let (own, counted) = (&found.outcome.totals.counters, found.counted);
    let different = differences(base, summary, found);
    if different.is_empty() {
        if before {
            return Collected::Same(format!(
                "already collected as run {} ({name}): the files add up to it",
                base.id
            ));
        }
        let more = found.beyond.iter().any(|beyond| beyond.events > 0);
        let advice = if more {
            format!("\n{WHOLE}")
        } else {
            String::new()
        };
        let lost = found.beyond.iter().filter_map(|beyond| {
            let agent = &found.report.agents.get(beyond.agent)?.name;
            Some(format!("\n{}", beyond.describe(agent.as_str())))
        });
        return Collected::Same(format!(
            "{name}: the files of {} agents match the record: {} events, {} intervals{}{advice}",
            found.files,
            own.events,
            counted.intervals,
            lost.collect::<String>()
        ));
    }
    let more = match own.events > summary.totals.events {
        _ if before => format!(
            "; it was collected as run {0}: to use the current files, `dyno rm {0}` and collect \
             again",
            base.id
        ),
        true => format!("; {WHOLE}"),
        false => String::new(),
    };
    Collected::Differs(format!("{name}: {}{more}", different.join("; ")))
}

fn differences(base: &RunRecord, summary: &RunSummary, found: &FileContents<'_>) -> Vec<String> {
    let (outcome, counted) = (found.outcome, found.counted);
    let recorded: u64 = base.intervals.iter().map(|one| one.counters.events).sum();
    let mut different = Vec::new();
    let mut look = |what: &str, kept: u64, found: u64| {
        if kept != found {
            different.push(format!(
                "{what}: {kept} in the record, {found} in the files"
            ));
        }
    };
    let kept = by_name(&summary.totals);
    let own = by_name(&outcome.totals.counters);
    for (name, kept) in &kept {
        look(name, *kept, own.get(name).copied().unwrap_or_default());
    }
    look("intervals", base.intervals.len() as u64, counted.intervals);
    look("events within intervals", recorded, counted.events);
    different.extend(agents(&summary.agents, &outcome.agents));
    if let Some(number) = counted.other.filter(|_| different.is_empty()) {
        different.push(format!(
            "interval {number} has other counts or latencies in the files"
        ));
    }
    different
}

/// The first agent whose part or totals differ in the files.
fn agents(recorded: &[AgentSummary], found: &[AgentSummary]) -> Option<String> {
    let own = |one: &AgentSummary| (one.name.clone(), one.sessions, one.events, one.errors);
    let mut pairs = recorded.iter().zip(found).zip(1..);
    let other = pairs.find(|((kept, found), _)| own(kept) != own(found));
    let ((kept, found), number) = other?;
    Some(format!(
        "load generator {number}: {} with {} sessions, {} events, {} errors in the record, {} with \
         {}, {}, {} in the files",
        kept.name,
        kept.sessions,
        kept.events,
        kept.errors,
        found.name,
        found.sessions,
        found.events,
        found.errors
    ))
}

/// Checks that each agent ran the sessions of its part of the plan.
///
/// # Errors
/// They differ, or an agent's report cannot be read.
pub(super) fn own_sessions(report: &Report, sessions: u32) -> Result<()> {
    for (agent, number) in report.agents.iter().zip(1..) {
        let Some(reported) = reported_outcome(agent)? else {
            continue;
        };
        let load = &reported.load;
        let own: Vec<u32> = load.sessions.iter().map(|session| session.tid).collect();
        // An agent that did not end in time may not have reported its sessions.
        let whole = !load.workers.iter().any(|worker| worker.stuck);
        part_has(&report.division, number, sessions, (&own, whole))
            .map_err(|why| anyhow!("the file of {}: {why}", agent.name))?;
    }
    Ok(())
}

/// Checks that these sessions belong to a part; with `whole`, that they are all of it.
fn part_has(
    division: &Division,
    number: u32,
    sessions: u32,
    (own, whole): (&[u32], bool),
) -> Result<(), String> {
    let of = division.agents();
    if let Some(tid) = own
        .iter()
        .find(|tid| !division.has(number, u64::from(**tid)))
    {
        return Err(format!(
            "it has session {tid}, which part {number} of {of} of the plan does not have"
        ));
    }
    let planned = division.count(number, sessions.into());
    match own.len() as u64 == planned {
        false if whole || own.len() as u64 > planned => Err(format!(
            "it has {} sessions, and part {number} of {of} of the plan has {planned} of {sessions}",
            own.len()
        )),
        _ => Ok(()),
    }
}

fn by_name(counters: &Counters) -> BTreeMap<String, u64> {
    let value = serde_json::to_value(counters).unwrap_or_default();
    let fields = value.as_object().into_iter().flatten();
    let number =
        |(name, value): (&String, &serde_json::Value)| Some((name.clone(), value.as_u64()?));
    fields.filter_map(number).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_match_the_agents_share() {
        let two = Division::equal(2).unwrap();
        let has = |division: &Division, number, own: &[u32]| {
            part_has(division, number, 4, (own, true)).err()
        };
        assert_eq!(has(&two, 1, &[0, 2]), None);
        assert_eq!(has(&two, 2, &[1, 3]), None);
        // Swapped share numbers.
        let swapped = has(&two, 2, &[0, 2]).unwrap();
        assert!(
            swapped.contains("session 0, which part 2 of 2"),
            "{swapped}"
        );
        // One of two that claims to be alone.
        let alone = Division::equal(1).unwrap();
        let half = has(&alone, 1, &[0, 2]).unwrap();
        assert_eq!(
            half,
            "it has 2 sessions, and part 1 of 1 of the plan has 4 of 4"
        );
        assert_eq!(part_has(&two, 1, 4, (&[0], false)), Ok(()));
    }

    #[test]
    fn agents_that_changed_places_are_named() {
        let agent = |name: &str, events| AgentSummary {
            events,
            ..summary(name)
        };
        let kept = [agent("a", 5), agent("b", 6)];
        assert_eq!(agents(&kept, &kept), None);
        let swapped = [agent("b", 6), agent("a", 5)];
        let difference = agents(&kept, &swapped).unwrap();
        assert!(
            difference.starts_with("load generator 1: a with"),
            "{difference}"
        );
    }

    fn summary(name: &str) -> AgentSummary {
        AgentSummary {
            name: name.to_owned(),
            ..AgentSummary::default()
        }
    }
}
