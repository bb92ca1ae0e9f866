//! Reconstructs a run from the files that agents keep on their own hosts: if the coordinator or its
//! bus failed, or to verify what they reported.

mod file;
mod order;

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::clock::Nanos;
use dyno_core::finding::Outcome;
use dyno_core::interval::{Interval, SparseInterval};
use dyno_core::text::number_of;

use crate::agent::sha256;
use crate::coordinator::{AgentReport, Report, Total, differences, judge_record, same_events};
use crate::division::Division;
use crate::finding::{Finding, Kind};
use crate::merge::{Axis, Merged, Merger, Rejected, Sums, fits};
use crate::message::{Body, Joiner, Record};
use crate::names::AgentName;

use order::Order;

pub use file::{AgentFile, EXTENSION, FILE_BYTES_MAX, FileError, FileHead, FileWriter, file_name};

/// All agents' files of one run.
#[derive(Debug)]
pub struct Collection {
    division: Division,
    /// By the agents' numbers, from 0.
    files: Vec<Option<Source>>,
    mixed: bool,
}

/// Data of a lost agent that the run's record lacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beyond {
    /// The agent's number, from 0.
    pub agent: usize,
    /// Number of its intervals in the record.
    pub intervals: u64,
    /// Number of events in its other intervals, which only its file has.
    pub events: u64,
}

/// A partly read file.
#[derive(Debug)]
struct Source {
    file: AgentFile,
    order: Order,
    /// For a lost agent: its number of events in the record, and what the file has in addition.
    lost: Option<(u64, Beyond)>,
    joiner: Joiner,
    totals: Joiner,
    /// The next interval.
    next: u64,
    total: Option<Total>,
    /// Its totals.
    reported: Option<Box<SparseInterval>>,
    pieces: BTreeMap<u32, String>,
    late_ns: Option<i64>,
    /// When the run began on the agent's civil clock, in nanoseconds since 1970.
    began_unix_ns: Option<u64>,
    ended: bool,
    /// The inconsistency found in it.
    strange: Option<String>,
}

impl Collection {
    /// Combines these files.
    ///
    /// # Errors
    /// There are no files, or they belong to different runs.
    pub fn new(files: Vec<AgentFile>) -> Result<Self, FileError> {
        let wrong = |file: &AgentFile, why: String| FileError::Wrong {
            path: file.path().to_owned(),
            why,
        };
        let mut files = files.into_iter().peekable();
        let first = files.peek().map(|file| file.head().clone());
        let Some(first) = first else {
            return Err(FileError::Wrong {
                path: std::path::PathBuf::new(),
                why: "there is no agent's file".to_owned(),
            });
        };
        let count = first.assignment.share.of as usize;
        let mut all: Vec<Option<Source>> = (0..count).map(|_| None).collect();
        let mut division = None;
        let mut names = BTreeSet::new();
        for file in files {
            let head = file.head();
            let share = &head.assignment.share;
            same_run(&first, head).map_err(|why| wrong(&file, why))?;
            if !names.insert(head.agent.clone()) {
                let why = format!("there are two files of agent {}", head.agent);
                return Err(wrong(&file, why));
            }
            division = division.or_else(|| Division::of(share));
            let index = share.number as usize - 1;
            let Some(place) = all.get_mut(index) else {
                return Err(wrong(&file, format!("there is no part {}", share.number)));
            };
            if place.is_some() {
                let why = format!("there are two files of part {}", share.number);
                return Err(wrong(&file, why));
            }
            *place = Some(Source {
                file,
                order: Order::default(),
                lost: None,
                joiner: Joiner::default(),
                totals: Joiner::default(),
                next: 0,
                total: None,
                reported: None,
                pieces: BTreeMap::new(),
                late_ns: None,
                began_unix_ns: None,
                ended: false,
                strange: None,
            });
        }
        let division = division.ok_or_else(|| FileError::Wrong {
            path: std::path::PathBuf::new(),
            why: "the agents' parts do not add up to a whole run".to_owned(),
        })?;
        Ok(Self {
            division,
            files: all,
            mixed: false,
        })
    }

    /// Makes differing programs a doubt instead of a refusal, because the run allowed them.
    pub fn allow_mixed_versions(&mut self) {
        self.mixed = true;
    }

    /// Declares the agent with this number, from 0, as lost when the record had this number of its
    /// events: later data in its file is counted separately.
    pub fn was_lost(&mut self, agent: usize, events: u64) {
        if let Some(Some(source)) = self.files.get_mut(agent) {
            let beyond = Beyond {
                agent,
                ..Beyond::default()
            };
            source.lost = Some((events, beyond));
        }
    }

    /// The head of the first file: all except the agent's name and part is the same in each.
    pub fn head(&self) -> Option<&FileHead> {
        let mut files = self.files.iter().flatten();
        files.next().map(|source| source.file.head())
    }

    /// The division of the run.
    pub fn division(&self) -> &Division {
        &self.division
    }

    /// Number of agents with a file.
    pub fn agents(&self) -> usize {
        self.files.iter().flatten().count()
    }

    /// Adds up all files. `on_interval` receives the intervals in order. Returns the report of the
    /// run, the additional data of lost agents, and when it began in an agent's civil time, in
    /// nanoseconds since 1970, if there is an interval.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn merge(
        mut self,
        axis: Axis,
        mut on_interval: impl FnMut(Merged),
    ) -> Result<(Report, Vec<Beyond>, Option<u64>), FileError> {
        let mut merger = Merger::new(self.files.len(), axis);
        for (index, _) in self.missing() {
            merger.lose(index);
        }
        // Proceed interval by interval, to keep at most one of each file in memory.
        let mut upto = 0;
        while self.files.iter().flatten().any(|source| !source.ended) {
            for (index, source) in self.files.iter_mut().enumerate() {
                if let Some(source) = source {
                    source.read((upto, axis), &mut merger, index)?;
                }
            }
            merger.due(0).into_iter().for_each(&mut on_interval);
            upto += 1;
        }
        let sources = self.files.iter().flatten();
        let began = sources.filter_map(|source| source.began_unix_ns).min();
        let sources = self.files.iter().flatten();
        let beyond = sources.filter_map(|source| Some(source.lost?.1)).collect();
        Ok((self.report(&merger), beyond, began))
    }

    fn missing(&self) -> Vec<(usize, String)> {
        let none = self.files.iter().enumerate();
        let none = none.filter(|(_, source)| source.is_none());
        let of = self.files.len();
        none.map(|(index, _)| (index, format!("{} of {of}", index + 1)))
            .collect()
    }

    /// Findings about programs that differ from the first agent's.
    fn skew(&self) -> Vec<Finding> {
        let outcome = match self.mixed {
            true => Outcome::Doubt,
            false => Outcome::Refuse,
        };
        let heads = self.files.iter().flatten().map(|source| source.file.head());
        let first = self.head();
        let other = |(first, head): (&FileHead, &FileHead)| {
            let differs = differences(&first.hello.build, &head.hello.build);
            let evidence = format!(
                "{} runs a different build of Dyno than {}: {}",
                head.agent,
                first.agent,
                differs.join("; ")
            );
            (!differs.is_empty())
                .then(|| Finding::of(Kind::VersionSkew, outcome, &head.agent, evidence))
        };
        heads.filter_map(|head| other((first?, head))).collect()
    }

    fn report(self, merger: &Merger) -> Report {
        let mut findings: Vec<Finding> = self
            .missing()
            .into_iter()
            .map(|(_, which)| {
                let evidence = format!("the file of load generator {which} is missing");
                Finding::of_run(Kind::AgentMissing, Outcome::Refuse, evidence)
            })
            .collect();
        findings.extend(self.skew());
        if self.agents() > 1 {
            let evidence = "the agents' files do not record their clock offsets: clocks were \
                            aligned at the start but not checked afterwards";
            let outcome = Outcome::Doubt;
            findings.push(Finding::of_run(Kind::Clocks, outcome, evidence.to_owned()));
        }
        let mut agents = Vec::new();
        let division = &self.division;
        let mut reported = Interval::default();
        let cut = self.files.iter().flatten().any(|one| one.lost.is_some());
        for (index, source) in self.files.into_iter().enumerate() {
            match source {
                Some(mut source) => {
                    let own = source.reported.take().filter(|own| fits(&reported, own));
                    own.into_iter().for_each(|own| reported.merge_sums(&own));
                    findings.extend(source.findings(merger, index));
                    agents.push(source.report(merger, index, division));
                }
                None => agents.extend(missing(index, division)),
            }
        }
        let refused = |one: &&Finding| one.outcome == Outcome::Refuse;
        let whole = !cut && !findings.iter().any(|one| refused(&one));
        if whole && !same_events(merger.total(), &reported) {
            let evidence = "the agents' intervals do not add up to their totals".to_owned();
            findings.push(Finding::of_run(
                Kind::TotalsDiffer,
                Outcome::Refuse,
                evidence,
            ));
        }
        let worst = findings.iter().find(refused);
        Report {
            failed: worst.map(|finding| finding.evidence.clone()),
            agents,
            total: merger.total().clone(),
            division: self.division,
            findings,
        }
    }
}

impl Beyond {
    /// Describes it for an agent of this name.
    pub fn describe(&self, name: &str) -> String {
        format!(
            "agent {name} was lost after {}; its file has {} more",
            number_of(self.intervals, "interval"),
            number_of(self.events, "event")
        )
    }
}

/// Checks that a file belongs to the same run and division as the first one, and to the plan that
/// it names.
fn same_run(first: &FileHead, head: &FileHead) -> Result<(), String> {
    let (own, first_own) = (&head.assignment, &first.assignment);
    if head.run != first.run {
        return Err(format!(
            "it belongs to run {}, others to {}",
            head.run, first.run
        ));
    }
    if sha256(&own.plan) != own.plan_sha256 {
        return Err("its plan does not match its SHA-256".to_owned());
    }
    let (of, first_of) = (own.share.of, first_own.share.of);
    if of != first_of {
        return Err(format!(
            "its run has {of} load generators, that of others {first_of}"
        ));
    }
    if own.plan_sha256 != first_own.plan_sha256 || own.share.weights != first_own.share.weights {
        return Err("its plan differs from that of the others of its run".to_owned());
    }
    Ok(())
}

impl Source {
    /// Reads up to the interval with this number, or to the end.
    fn read(
        &mut self,
        (upto, axis): (u64, Axis),
        merger: &mut Merger,
        index: usize,
    ) -> Result<(), FileError> {
        while !self.ended && self.next <= upto {
            let Some(message) = self.file.next_message()? else {
                self.ended = true;
                match &self.total {
                    Some(total) if self.lost.is_none() => merger.ends(index, total.intervals),
                    // Its later data is unknown.
                    _ => merger.lose(index),
                }
                return Ok(());
            };
            let placed = self.order.take(&message, axis);
            placed.map_err(|why| FileError::Wrong {
                path: self.file.path().to_owned(),
                why,
            })?;
            match message.body {
                Body::Record(record) => self.record(*record, axis.end(upto), merger, index),
                Body::Outcome(piece) => {
                    self.pieces.entry(piece.number).or_insert(piece.text);
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn record(&mut self, record: Record, now: Nanos, merger: &mut Merger, index: usize) {
        let joiner = match record.end {
            None => &mut self.joiner,
            Some(_) => &mut self.totals,
        };
        let added = match joiner.take(record) {
            Ok(None) => return,
            Ok(Some(whole)) => match whole.end {
                None => {
                    let own = &whole.interval;
                    let next = own.index.saturating_add(1);
                    let began = own.start_unix_ns.checked_sub(own.start);
                    if self.is_beyond(own, merger.sums(index).counters.events) {
                        self.next = next;
                        merger.lose(index);
                        return;
                    }
                    // An interval far ahead of the others is rejected.
                    let added = merger.add(index, whole.interval, now);
                    if added.is_ok() {
                        self.next = next;
                        self.began_unix_ns = self.began_unix_ns.or(began.filter(|ns| *ns > 0));
                    }
                    added
                }
                Some(end) => {
                    self.total = Some(Total::of(&whole, end));
                    self.late_ns = whole.late_ns;
                    self.reported = Some(Box::new(whole.interval));
                    Ok(())
                }
            },
            Err(why) => Err(Rejected::Malformed(why)),
        };
        if let Err(Rejected::Malformed(why)) = added {
            self.strange.get_or_insert(why);
        }
    }

    /// Whether the record lacks an interval because its agent was lost.
    fn is_beyond(&mut self, interval: &SparseInterval, recorded: u64) -> bool {
        let Some((events, beyond)) = &mut self.lost else {
            return false;
        };
        let own = interval.counters.events;
        if beyond.events == 0 && recorded < *events {
            beyond.intervals += 1;
            return false;
        }
        beyond.events = beyond.events.saturating_add(own);
        true
    }

    fn findings(&self, merger: &Merger, index: usize) -> Vec<Finding> {
        let name = &self.file.head().agent;
        let mut found = Vec::new();
        let mut find = |kind, outcome, evidence| {
            found.push(Finding::of(kind, outcome, name, evidence));
        };
        if let Some(why) = &self.strange {
            let evidence = format!("the file of {name}: {why}");
            find(Kind::Malformed, Outcome::Refuse, evidence);
        }
        if let Some((_, beyond)) = &self.lost {
            let evidence = beyond.describe(name.as_str());
            find(Kind::AgentLost, Outcome::Doubt, evidence);
            return found;
        }
        let holes = merger.holes(index);
        match &self.total {
            None => {
                let evidence = format!(
                    "the file of {name} ends before its load did: later measurements are missing"
                );
                find(Kind::AgentLost, Outcome::Refuse, evidence);
            }
            Some(total) => {
                let sums = merger.sums(index);
                if let Some((kind, evidence)) = judge_record(name, Some(total), &holes, &sums) {
                    find(kind, Outcome::Refuse, evidence);
                }
                if let Some(how) = total.end.early() {
                    let evidence = format!("the load of {name} ended early: {how}");
                    find(Kind::AgentEndedEarly, Outcome::Refuse, evidence);
                }
            }
        }
        found
    }

    fn report(self, merger: &Merger, index: usize, division: &Division) -> AgentReport {
        let head = self.file.head();
        let total = self.total.as_ref();
        let whole = total.is_some_and(|total| self.pieces.len() == total.pieces as usize);
        AgentReport {
            name: head.agent.clone(),
            hello: Some(head.hello.clone()),
            fraction: division.fraction(index as u32 + 1),
            ceiling: None,
            sums: merger.sums(index),
            apart: merger.apart(index),
            intervals: total.map(|total| total.intervals),
            outcome: (whole && self.lost.is_none() && !self.pieces.is_empty())
                .then(|| self.pieces.values().cloned().collect()),
            end: total.map(|total| total.end),
            lost: total.is_none() || self.lost.is_some(),
            late_ns: self.late_ns,
            clock: None,
            civil_ahead_ns: None,
            p50_ns: total.and_then(|total| total.p50_ns),
            p99_ns: total.and_then(|total| total.p99_ns),
        }
    }
}

/// The report of an agent without a file.
fn missing(index: usize, division: &Division) -> Option<AgentReport> {
    let number = index as u32 + 1;
    Some(AgentReport {
        name: AgentName::new(format!("agent-{number}")).ok()?,
        hello: None,
        fraction: division.fraction(number),
        ceiling: None,
        sums: Sums::default(),
        apart: Sums::default(),
        intervals: None,
        outcome: None,
        end: None,
        lost: true,
        late_ns: None,
        clock: None,
        civil_ahead_ns: None,
        p50_ns: None,
        p99_ns: None,
    })
}

#[cfg(test)]
mod edits_tests;
#[cfg(test)]
mod tests;
