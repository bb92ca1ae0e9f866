//! Trials that run in pairs, as the sides of duets.

use std::sync::Arc;

use anyhow::{Context as _, Result, bail};
use dyno_core::duet::{DuetMode, DuetSummary};
use dyno_core::units::{human_size, parse_size};
use dyno_lab::file::Applies;
use dyno_lab::{Cell, Change, Effective, Experiment};
use dyno_results::Step;
use dyno_server::Settings;

use super::conduct::Running;
use super::server::settings;
use super::site::Site;
use super::{Caller, Lab, LabEvent, line};
use crate::Command;
use crate::duet::{DuetRequest, side};

/// The settings with which servers reserve most of their memory.
const BUFFERS: [&str; 5] = [
    "aria_pagecache_buffer_size",
    "innodb_buffer_pool_size",
    "key_buffer_size",
    "rocksdb_block_cache_size",
    "shared_buffers",
];

impl<'a, C: Caller> Running<'a, C> {
    /// Prepares and measures both trials of a duet, A first.
    pub(super) fn measure_duet(
        &mut self,
        sides: [usize; 2],
        change: Change,
        label: &str,
    ) -> Result<DuetSummary> {
        let lab = self.lab;
        let cells = sides.map(|trial| lab.cell(trial));
        let identities = sides.map(|trial| lab.planned[trial].identity.to_string());
        let (has_one, switches) = (lab.experiment.has_one_server(), switches(&lab.experiment));
        let a = match switches {
            // The duet itself changes these settings at each switch.
            true => self.site.make_ready(&without_online(cells[0]), change)?,
            false => self.site.make_ready(cells[0], change)?,
        };
        let b = match has_one {
            true => a.clone(),
            false => self.make_second_ready(cells[1], change)?,
        };
        self.report_unread();
        let [of_a, of_b] = identities;
        let planned = [self.side(cells[0], a, of_a)?, self.side(cells[1], b, of_b)?];
        let request = DuetRequest {
            labels: labels(&lab.experiment, cells),
            mode: mode(&planned[0].0),
            slice: None,
            // Never reached: the duet lasts as long as both trials would.
            precision: 0.0,
            margin: None,
            settings: match switches {
                true => [online(cells[0])?, online(cells[1])?],
                false => Default::default(),
            },
        };
        let pace = self.pace;
        self.caller.event(LabEvent::Measuring { label, pace });
        let stop = Arc::clone(&self.site.stop);
        let executed = self.caller.duet(planned, &request, &stop)?;
        let died = |site: &mut Site<'a, C>| site.has_died();
        if died(&mut self.site) || self.other.as_mut().is_some_and(died) {
            bail!("a server ended while it was loaded");
        }
        for (cell, run) in cells.into_iter().zip(&executed.runs) {
            self.same_data(cell, std::slice::from_ref(run))?;
        }
        match executed.outcome.is_complete() {
            true => Ok(executed.summary),
            false => Err(self.caller.incomplete(executed.outcome)),
        }
    }

    /// Prepares the server of side B, which runs together with that of side A.
    fn make_second_ready(&mut self, cell: &Cell, change: Change) -> Result<Option<String>> {
        let mut site = match self.other.take() {
            Some(site) => site,
            None => {
                let stop = Arc::clone(&self.site.stop);
                let mut site = Site::new(self.lab, stop, self.caller, &self.site.results)?;
                site.tables.clone_from(&self.site.tables);
                site.is_second = true;
                site
            }
        };
        let target = site.make_ready(cell, change);
        let steps = std::mem::take(&mut site.done).into_iter();
        self.site.done.extend(steps.map(|step| match step {
            Step::Text(text) => Step::Text(format!("side B: {text}")),
            other => other,
        }));
        self.other = Some(site);
        target
    }

    /// The command of a side. Sides take turns, so a duet lasts twice as long as a trial.
    fn side(
        &self,
        cell: &Cell,
        target: Option<String>,
        identity: String,
    ) -> Result<(Command, C::Options)> {
        let line = line::run(
            cell,
            target.as_deref(),
            self.results_file()?,
            &self.lab.base,
        );
        let mut line = line.context("the trial has no workload")?;
        let alone = self.caller.plan(line.clone())?.0.plan.drive;
        let time = alone.time.context("a duet needs `time`")?;
        for (name, once) in [("warmup", alone.warmup), ("time", time)] {
            // The last value counts.
            let twice = once.saturating_mul(2).as_secs_f64();
            line.extend([format!("--{name}"), format!("{twice}s")]);
        }
        let (mut command, options) = self.caller.plan(line)?;
        command.plan.record.trial = Some(identity);
        command.plan.record.varied = self.lab.experiment.varied();
        Ok((command, options))
    }
}

/// How the sides of this command share the time: arrivals of an open loop do not wait for a turn.
fn mode(command: &Command) -> DuetMode {
    match command.plan.drive.open_loop {
        Some(_) => DuetMode::Simultaneous,
        None => DuetMode::Alternating,
    }
}

/// Rejects a command that cannot be a side of a duet.
///
/// # Errors
/// The reason.
pub(super) fn refuse(command: &Command) -> Result<()> {
    side::refuse(command, mode(command)).context("a trial cannot be a side of a duet")
}

/// Both trials of a duet, in words.
pub(super) fn label(lab: &Lab, sides: [usize; 2]) -> String {
    let cells = sides.map(|trial| lab.cell(trial));
    let [_, b] = labels(&lab.experiment, cells);
    format!("{} against {b}", lab.planned[sides[0]].label)
}

/// Whether a duet changes settings of one server at each switch.
fn switches(experiment: &Experiment) -> bool {
    let factor = experiment.duet();
    factor.is_some_and(|factor| factor.applies == Applies::Online)
}

/// What differs between the sides.
fn labels(experiment: &Experiment, cells: [&Cell; 2]) -> [String; 2] {
    let name = experiment.pair().unwrap_or_default();
    cells.map(|cell| {
        let level = cell.levels.get(name).map_or("", String::as_str);
        format!("{name}={level}")
    })
}

fn without_online(cell: &Cell) -> Cell {
    let mut cell = cell.clone();
    cell.effective.online.clear();
    cell
}

fn online(cell: &Cell) -> Result<Settings> {
    settings(&Default::default(), &cell.effective.online)
}

/// Why the trials of an experiment cannot run as duets here.
pub(super) fn unsupported(experiment: &Experiment) -> Vec<String> {
    let Some(factor) = experiment.duet() else {
        return Vec::new();
    };
    let name = factor.name.get_ref();
    let trials = experiment.trials();
    let mut wrong = Vec::new();
    let mut add = |problem: String| {
        if !wrong.contains(&problem) {
            wrong.push(problem);
        }
    };
    for trial in 0..trials.trials.len() {
        let Some(sides) = experiment.sides(&trials, trial) else {
            add(format!(
                "a duet of '{name}' needs both of its levels, but some cells have only one"
            ));
            continue;
        };
        let cells = sides.map(|side| &trials.cells[trials.trials[side].cell].effective);
        if let Some(problem) = not_together(cells, experiment) {
            add(format!("a duet of '{name}': {problem}"));
        }
    }
    wrong
}

/// Why these two trials cannot run as a duet.
fn not_together([a, b]: [&Effective; 2], experiment: &Experiment) -> Option<String> {
    let has_one = experiment.has_one_server();
    if !a.commands.is_empty() || !b.commands.is_empty() {
        return Some("`commands` need single trials".to_owned());
    }
    if switches(experiment) && a.load.rate.is_some() {
        return Some(
            "with `rate` both sides work at the same time, but a server has one value of a \
             setting at a time"
                .to_owned(),
        );
    }
    if switches(experiment) && (a.sql != b.sql || a.server.url.is_some() && !a.sql.is_empty()) {
        return Some(
            "statements (`sql`) are not repeated at each switch; use `setting` or `set`".to_owned(),
        );
    }
    if has_one {
        return None;
    }
    if a.server.url.is_some() && a.server.url == b.server.url {
        return Some(format!(
            "each level needs its own server, because the levels apply at {}; `url` names only \
             one",
            experiment.duet()?.applies.word()
        ));
    }
    let need = buffers(a)?.saturating_add(buffers(b)?);
    let has = memory()?;
    (need > has).then(|| {
        format!(
            "the servers of both levels run at the same time and reserve {} of memory, but this \
             host has {}",
            human_size(need),
            human_size(has)
        )
    })
}

/// The memory that a trial's server reserves, in bytes; `None` for a running server.
fn buffers(effective: &Effective) -> Option<u64> {
    let server = &effective.server;
    if server.url.is_some() {
        return None;
    }
    let own = BUFFERS.iter().filter_map(|name| server.set.get(*name));
    let sizes = own.filter_map(|value| parse_size(&value.to_string()).ok());
    Some(sizes.fold(0, u64::saturating_add))
}

/// The memory of this host, in bytes.
fn memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kib: u64 = line.trim().split(' ').next()?.parse().ok()?;
    Some(kib * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(server: &str, factor: &str, more: &str) -> Vec<String> {
        let text = format!(
            "experiment = 1\nquestion = '?'\n[server]\n{server}\n[load]\nworkload = 'tpcc'\n\
             {more}\n[[factor]]\nname = 'f'\n{factor}\n[design]\nduet = 'f'\n"
        );
        unsupported(&Experiment::parse("x.toml", &text, None).unwrap())
    }

    #[test]
    fn levels_that_cannot_run_together_are_found_before_the_first_trial() {
        let running = "url = 'mysql://h/d'";
        let own = "kind = 'mariadb'";
        let online = "applies = 'online'\nsetting = 'sync_binlog'\nlevels = [0, 1]";
        let start = "applies = 'start'\nsetting = 'innodb_buffer_pool_size'\n\
                     levels = ['1G', '900T']";
        let sessions = "applies = 'client'\nlevels = [1, 2]";
        for (server, factor, more, expected) in [
            (running, online, "", ""),
            (
                running,
                online,
                "rate = 50",
                "one value of a setting at a time",
            ),
            (running, start, "", "each level needs its own server"),
            (own, start, "", "reserve 900 TiB of memory"),
            (own, sessions, "rate = 50", ""),
        ] {
            let found = problems(server, factor, more).join("; ");
            let matches = match expected {
                "" => found.is_empty(),
                expected => found.contains(expected),
            };
            assert!(matches, "{server} {factor} {more}: {found}");
        }
    }
}
