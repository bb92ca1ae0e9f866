//! An experiment's definition: plans its trials, and looks up the names in it.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Result, anyhow};
use dyno_core::db::Family;
use dyno_core::factors::parse_factor;
use dyno_core::redact;
use dyno_lab::{
    Cell, Changes, Experiment, Hashes, Identity, Measured, Planned, Progress, Role, Trials,
    identify,
};
use dyno_results::{ExperimentHead, Results, StoredExperiment, TrialRow, TrialState, Tried};
use dyno_server::{Home, Kind};

use super::server::{is_of_host, kind_key};
use super::{Caller, checks, duets, figures, line, slips};

/// An experiment with everything it needs.
pub struct Lab {
    /// The experiment.
    pub experiment: Experiment,
    /// Its row in the results file.
    pub head: ExperimentHead,
    /// The folder of its file.
    pub base: PathBuf,
    /// Its trials.
    pub trials: Trials,
    /// The content of each trial.
    pub planned: Vec<Planned>,
    /// The servers that it starts, by their names in the file.
    pub kinds: BTreeMap<String, Kind>,
    hashes: Hashes,
}

impl Lab {
    /// An experiment whose names are not looked up and whose trials are not planned.
    pub fn new(experiment: Experiment, head: ExperimentHead, base: PathBuf) -> Self {
        Self {
            trials: experiment.trials(),
            experiment,
            head,
            base,
            planned: Vec::new(),
            kinds: BTreeMap::new(),
            hashes: Hashes::default(),
        }
    }

    /// Plans the trials of this number of blocks; by default the file's.
    pub fn plan(&mut self, blocks: Option<usize>) {
        self.trials = match blocks {
            None => self.experiment.trials(),
            Some(blocks) => self.experiment.trials_of(blocks),
        };
        self.identify();
    }

    fn identify(&mut self) {
        let cells = &self.trials.cells;
        let of = |trial: &dyno_lab::Trial| {
            identify(&self.experiment, &cells[trial.cell], trial, &self.hashes)
        };
        self.planned = self.trials.trials.iter().map(of).collect();
    }

    /// Plans the best cell once more, last.
    fn confirm(&mut self, cell: usize) {
        let planned = self.trials.clone();
        self.trials = self.experiment.confirmed(planned, cell);
        self.identify();
    }

    /// Plans another trial of the best cell, if the file asks for it and the plan lacks it. Returns
    /// whether it added one.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn rerun_best(&mut self, results: &Results) -> Result<bool> {
        let is_planned = self
            .trials
            .trials
            .iter()
            .any(|trial| trial.role == Role::Confirm);
        if !self.experiment.design.rerun_best || is_planned || self.trials.cells.len() < 2 {
            return Ok(false);
        }
        let best = figures::best(&self.experiment, &self.done(results)?);
        let cells = &self.trials.cells;
        let best = best.and_then(|best| cells.iter().position(|cell| cell.levels == best.levels));
        if let Some(cell) = best {
            self.confirm(cell);
        }
        Ok(best.is_some())
    }

    /// Number of planned blocks.
    pub fn blocks(&self) -> usize {
        let blocks = self.trials.trials.iter().map(|trial| trial.block + 1);
        blocks.max().unwrap_or(0)
    }

    /// If blocks continue until ratios are precise, plans as many as the last time.
    pub fn plan_as_before(&mut self, before: Option<&StoredExperiment>) {
        let rows = before.map_or(&[][..], |stored| &stored.trials);
        let blocks = rows.iter().map(|row| row.block + 1).max().unwrap_or(0);
        if self.experiment.precision().is_some() && blocks > self.blocks() {
            self.plan(Some(blocks));
        }
        let again = rows.iter().find(|row| row.role == Role::Confirm.word());
        let cells = &self.trials.cells;
        let again = again.and_then(|row| cells.iter().position(|cell| cell.levels == row.levels));
        if let Some(cell) = again.filter(|_| self.experiment.design.rerun_best) {
            self.confirm(cell);
        }
    }

    /// Whether the ratios are precise enough, or the limit of blocks is reached.
    ///
    /// # Errors
    /// The runs cannot be read.
    pub fn is_precise(&self, results: &Results) -> Result<bool> {
        if self.experiment.precision().is_none() {
            return Ok(true);
        }
        let done = self.done(results)?;
        let measured: Vec<Measured> = done.into_iter().map(|done| done.measured).collect();
        Ok(self.experiment.is_precise(&measured))
    }

    fn done(&self, results: &Results) -> Result<Vec<figures::Done>> {
        figures::done(results, &self.rows(), &self.states(results)?)
    }

    /// The changes of the planned trials since they were stored; `None` if they are the same.
    pub fn changes(&self, stored: &StoredExperiment) -> Option<Changes> {
        let planned = |row: &TrialRow| Planned {
            identity: Identity::of_text(&row.identity),
            made_of: row.made_of.clone(),
            label: row.label.clone(),
        };
        let old: Vec<Planned> = stored.trials.iter().map(planned).collect();
        let new: Vec<Planned> = self.rows().iter().map(planned).collect();
        let identities = |of: &[Planned]| -> Vec<Identity> {
            of.iter().map(|one| one.identity.clone()).collect()
        };
        (identities(&old) != identities(&new)).then(|| Changes::between(&old, &new))
    }

    /// The states of the planned trials, by identity.
    ///
    /// # Errors
    /// The results file cannot be read.
    pub fn states(&self, results: &Results) -> Result<BTreeMap<String, TrialState>> {
        let planned = self.planned.iter();
        let identities: Vec<String> = planned.map(|one| one.identity.to_string()).collect();
        let identities: Vec<&str> = identities.iter().map(String::as_str).collect();
        Ok(results.trial_states(&identities)?)
    }

    /// The progress of each planned trial.
    pub(super) fn progress(&self, states: &BTreeMap<String, TrialState>) -> Vec<Progress> {
        let of = |planned: &Planned| {
            let state = states.get(&planned.identity.to_string());
            match state.map(|state| &state.tried) {
                Some(Tried::Done { .. }) => Progress::Done,
                None | Some(Tried::Not) => Progress::Open,
                Some(_) => Progress::Attempted,
            }
        };
        let alone: Vec<Progress> = self.planned.iter().map(of).collect();
        let of_duet = |trial: usize| {
            let sides = self.experiment.sides(&self.trials, trial);
            let mut sides = sides.into_iter().flatten();
            let is_half = sides.any(|side| alone[side] != Progress::Done);
            match alone[trial] {
                Progress::Done if is_half => Progress::Attempted,
                own => own,
            }
        };
        (0..alone.len()).map(of_duet).collect()
    }

    /// The cell of a trial.
    pub fn cell(&self, trial: usize) -> &Cell {
        &self.trials.cells[self.trials.trials[trial].cell]
    }

    /// The hash of the program of a cell's server.
    pub fn program(&self, cell: &Cell) -> Option<&str> {
        let kind = cell.effective.server.kind.as_ref()?;
        self.hashes.servers.get(kind).map(String::as_str)
    }

    /// The hash of a workload's script.
    pub fn script(&self, workload: Option<&str>) -> Option<&str> {
        self.hashes.scripts.get(workload?).map(String::as_str)
    }

    /// The trials as rows of the results file.
    pub fn rows(&self) -> Vec<TrialRow> {
        let trials = self.planned.iter().zip(&self.trials.trials);
        trials
            .map(|(planned, trial)| TrialRow {
                identity: planned.identity.to_string(),
                label: planned.label.clone(),
                levels: self.trials.cells[trial.cell].levels.clone(),
                block: trial.block,
                repeat: trial.repeat,
                role: trial.role.word().to_owned(),
                made_of: serde_json::from_str(&redact::text(&planned.made_of.to_string()))
                    .unwrap_or_default(),
            })
            .collect()
    }

    /// Finds servers and workloads, and checks each cell against them, before anything runs.
    /// Returns all mistakes. Call it before planning the trials.
    ///
    /// # Errors
    /// The folder of servers does not belong to this user.
    pub fn look_up<C: Caller>(&mut self, caller: &C) -> Result<Vec<String>> {
        let home = Home::of_user().map_err(|error| anyhow!("{error}"))?;
        let mut wrong: Vec<String> = checks::unsupported(&self.experiment);
        if let Err(why) = self.may_serve(&home) {
            wrong.push(why.to_string());
        }
        wrong.extend(slips::slips(&self.experiment, &self.base));
        let mut add = |problem: String| {
            if !wrong.contains(&problem) {
                wrong.push(problem);
            }
        };
        let each_level = checks::of_each_level(&self.trials.cells);
        for problem in checks::unknown_online(&each_level) {
            add(problem);
        }
        for cell in &each_level {
            for (name, level) in &cell.levels {
                if let Err(why) = parse_factor(&format!("{name}={level}")) {
                    add(format!("the factor '{name}': {why}"));
                }
            }
            match self.server_of(cell) {
                Err(error) => add(error.to_string()),
                Ok(kind) => {
                    if let Some(name) = checks::of_data(&self.experiment, cell, kind.as_ref()) {
                        add(format!(
                            "{name} belongs to the data directory: its factor needs applies = \
                             \"load\""
                        ));
                    }
                    if let Err(error) = checks::check_settings(cell, kind.as_ref(), &home) {
                        add(error.to_string());
                    }
                    if let Err(error) = checks::check_host(cell, kind.as_ref(), &home) {
                        add(error.to_string());
                    }
                    if let Err(error) = self.try_lines(cell, kind.as_ref(), caller) {
                        add(format!("{error:#}"));
                    }
                }
            }
        }
        Ok(wrong)
    }

    /// Checks that the servers' user can enter their folder, and that there is space.
    fn may_serve(&self, home: &Home) -> Result<()> {
        let starts = |cell: &Cell| cell.effective.server.url.is_none() && !is_of_host(cell);
        match self.trials.cells.iter().any(starts) {
            true => {
                home.can_be_entered()?;
                home.has_room().map_err(Into::into)
            }
            false => Ok(()),
        }
    }

    /// The kind of a cell's server; `None` for a running one.
    fn server_of(&mut self, cell: &Cell) -> Result<Option<Kind>> {
        let server = &cell.effective.server;
        if server.url.is_some() || is_of_host(cell) {
            return Ok(None);
        }
        let Some(kind) = &server.kind else {
            return Err(anyhow!(
                "no server is named: [server] needs kind = \"mariadb\" (mysql, postgresql, a \
                 version, a folder of executables), or url = \"…\" of one that runs"
            ));
        };
        let key = kind_key(server);
        if let Some(found) = self.kinds.get(&key) {
            return Ok(Some(found.clone()));
        }
        let basedir = server.basedir.as_deref().map(|path| self.base.join(path));
        let found = Kind::find(kind, basedir.as_deref())
            .map_err(|error| anyhow!("the server '{kind}': {error}"))?;
        if let Some(hash) = found.fingerprint()? {
            self.hashes.servers.insert(kind.clone(), hash);
        }
        self.kinds.insert(key, found.clone());
        Ok(Some(found))
    }

    /// Plans a cell's command lines, which shows mistakes in them.
    fn try_lines<C: Caller>(&mut self, cell: &Cell, kind: Option<&Kind>, caller: &C) -> Result<()> {
        let effective = &cell.effective;
        let target = match (&effective.server.url, kind.and_then(Kind::family)) {
            _ if is_of_host(cell) => None,
            (Some(url), _) => Some(url.as_str()),
            (None, Some(Family::Postgres)) => Some("postgres://127.0.0.1:9/x"),
            (None, _) => Some("mysql://127.0.0.1:9/x"),
        };
        let run = line::run(cell, target, "none", &self.base);
        let prepare = line::prepare(effective, target, &self.base);
        for (name, line) in [
            (&effective.load.workload, run),
            (&effective.data.workload, prepare),
        ] {
            if let (Some(name), Some(line)) = (name, line) {
                let command = caller.plan(line)?.0;
                if self.experiment.duet().is_some() && command.name == "run" {
                    duets::refuse(&command)?;
                }
                let plan = command.plan;
                let mut hash = plan.script_sha256;
                for (file, own) in &plan.modules {
                    hash += &format!(" {file} {own}");
                }
                self.hashes.scripts.insert(name.clone(), hash);
            }
        }
        Ok(())
    }
}
