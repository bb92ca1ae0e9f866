//! An experiment's definition: reads its file, plans its trials, and looks up the names in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use dyno_conduct::lab::server::{is_of_host, kind_key};
use dyno_conduct::lab::{checks, figures, line};
use dyno_core::db::Family;
use dyno_core::factors::parse_factor;
use dyno_core::redact;
use dyno_lab::{Cell, Experiment, Hashes, Measured, Planned, Role, Trials, identify};
use dyno_results::{ExperimentHead, Results, StoredExperiment, TrialRow};
use dyno_server::{Home, Kind};

use super::{slips, status, vary};
use crate::commands::planned::PlannedCommand;
use crate::options::Parsed;
use crate::settings::usage;

/// A longer file is not an experiment.
const FILE_MAX: u64 = 1_000_000;

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
    /// Reads the experiment from a file, or from a workload and factors on the command line.
    ///
    /// # Errors
    /// The file is not an experiment, or cannot run here; lists every mistake.
    pub fn of(parsed: &Parsed, words: &[String]) -> Result<Self> {
        let scale = parsed.value("scale");
        let (file, text, base) = match parsed.has("vary") {
            true => (
                String::new(),
                vary::file(parsed, words)?,
                PathBuf::from("."),
            ),
            false => read(words)?,
        };
        Self::made(parsed.value("name"), (file, text, base), scale)
    }

    /// An experiment from the results file: by the options, or the latest.
    ///
    /// # Errors
    /// It does not exist, or cannot run here.
    pub fn of_stored(parsed: &Parsed, results: &Results) -> Result<Self> {
        let head = status::stored(parsed, &[], results)?.head;
        let base = Path::new(&head.file).parent().map(Path::to_owned);
        let base = base.filter(|folder| !folder.as_os_str().is_empty());
        let base = base.unwrap_or_else(|| PathBuf::from("."));
        let read = (head.file, head.definition, base);
        Self::made(Some(&head.name), read, head.scale.as_deref())
    }

    fn made(
        named: Option<&str>,
        (file, text, base): (String, String, PathBuf),
        scale: Option<&str>,
    ) -> Result<Self> {
        let shown = if file.is_empty() { "--vary" } else { &file };
        let experiment = Experiment::parse(shown, &text, scale).map_err(|mut wrong| {
            for problem in &mut wrong.problems {
                // The options have no lines.
                problem.at = problem.at.filter(|_| !file.is_empty());
            }
            usage(wrong.to_string())
        })?;
        checks::hide_passwords(&experiment);
        let head = ExperimentHead {
            name: match named {
                Some(name) => name.to_owned(),
                None => name(&file, scale, &experiment),
            },
            file,
            scale: scale.map(str::to_owned),
            question: redact::text(&experiment.question),
            cite: redact::text(experiment.cite.as_deref().unwrap_or_default()),
            definition: redact::text(&text),
        };
        let mut lab = Self {
            trials: experiment.trials(),
            experiment,
            head,
            base,
            planned: Vec::new(),
            kinds: BTreeMap::new(),
            hashes: Hashes::default(),
        };
        lab.look_up()?;
        lab.plan(None);
        Ok(lab)
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
        let rows = self.rows();
        let identities: Vec<&str> = rows.iter().map(|row| row.identity.as_str()).collect();
        let states = results.trial_states(&identities)?;
        figures::done(results, &rows, &states)
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
    fn look_up(&mut self) -> Result<()> {
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
                    if let Err(error) = self.try_lines(cell, kind.as_ref()) {
                        add(format!("{error:#}"));
                    }
                }
            }
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let shown = match self.head.file.is_empty() {
            true => "--vary",
            false => &self.head.file,
        };
        let lines: Vec<String> = wrong
            .iter()
            .map(
                |what| match self.place_of(what).filter(|_| shown != "--vary") {
                    Some((line, column)) => format!("{shown}:{line}:{column}: {what}"),
                    None => format!("{shown}: {what}"),
                },
            )
            .collect();
        Err(usage(lines.join("\n")))
    }

    /// Checks that the user whom servers run as can reach their folder, and that it has space.
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

    /// The position in the file of the word that a message quotes or begins with.
    fn place_of(&self, what: &str) -> Option<(usize, usize)> {
        let quoted = what.split('\'').skip(1).step_by(2);
        let dashed = what
            .split([' ', ':', ',', ';', '?'])
            .filter_map(|word| word.strip_prefix("--"));
        for word in quoted.chain(dashed).chain(what.split(' ').take(1)) {
            let word = word.split('=').next().unwrap_or(word);
            let plain = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if word.len() < 3 {
                continue;
            }
            for (number, text) in self.head.definition.lines().enumerate() {
                let mut places = text.match_indices(word);
                let whole = places.find(|(at, _)| {
                    let before = text[..*at].chars().next_back();
                    let after = text[at + word.len()..].chars().next();
                    !before.is_some_and(plain) && !after.is_some_and(plain)
                });
                if let Some((at, _)) = whole {
                    return Some((number + 1, text[..at].chars().count() + 1));
                }
            }
        }
        None
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

    /// Makes the plans of a cell's command lines.
    fn try_lines(&mut self, cell: &Cell, kind: Option<&Kind>) -> Result<()> {
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
                let command = line[1].clone();
                let plan = PlannedCommand::of(line, &command)?.command.plan;
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

fn read(words: &[String]) -> Result<(String, String, PathBuf)> {
    let [file] = words else {
        return Err(usage(
            "dyno lab needs one experiment file, e.g. experiments/binlog-cost.toml; without a \
             file: dyno lab --vary sync_binlog=0,1 oltp_write_only",
        ));
    };
    let path = Path::new(file);
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file() || found.len() > FILE_MAX) {
        return Err(usage(format!(
            "{file}: an experiment must be a text file of at most 1 MB"
        )));
    }
    let text =
        std::fs::read_to_string(path).map_err(|why| usage(format!("cannot read {file}: {why}")))?;
    let base = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    let base = base.map_or_else(|| PathBuf::from("."), Path::to_owned);
    Ok((file.clone(), text, base))
}

/// An experiment's name: its file's, and the scale.
fn name(file: &str, scale: Option<&str>, experiment: &Experiment) -> String {
    let stem = match Path::new(file).file_stem() {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => {
            let factors: Vec<&str> = experiment
                .factors
                .iter()
                .map(|factor| factor.name.get_ref().as_str())
                .collect();
            let workload = experiment.load.workload.as_deref().unwrap_or_default();
            format!("{}-{workload}", factors.join("-"))
        }
    };
    match scale {
        None => stem,
        Some(scale) => format!("{stem}-{scale}"),
    }
}
