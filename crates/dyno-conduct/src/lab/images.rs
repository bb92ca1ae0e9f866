//! Images: the initial data of trials, one server each.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_core::text::hex;
use dyno_lab::file::LoadedBy;
use dyno_lab::{Cell, Effective};
use dyno_load::StopLevel;
use dyno_server::Server;
use sha2::{Digest as _, Sha256};

use super::caller::{Caller, LabEvent};
use super::site::{IMAGE, Site, since};
use super::{host, line, server};

/// Timeout, in seconds, for the end of a server whose process was killed.
const ENDS_WITHIN_S: f64 = 60.0;
/// Length of the experiment's part of a server name.
const NAME_CHARS: usize = 20;

impl<C: Caller> Site<'_, C> {
    /// The common prefix of the names of servers with a cell's data.
    fn data_name(&self, cell: &Cell) -> Result<String> {
        let image = self.lab.experiment.image_of(cell);
        let kind = self.kind(cell)?;
        let of = serde_json::json!({
            "results": self.results.display().to_string(),
            "kind": kind.title(),
            "program": self.lab.program(cell),
            "set": image.server.set,
            "plugins": image.server.plugins,
            "data": image.data,
            "clients": image.load.clients,
            "script": self.lab.script(image.data.workload.as_deref()),
        });
        let hash = hex(&Sha256::digest(of.to_string())[..4]);
        let plain = |c: char| match c.to_ascii_lowercase() {
            c if c.is_ascii_alphanumeric() || c == '-' || c == '_' => c,
            _ => '-',
        };
        let name: String = self
            .lab
            .head
            .name
            .chars()
            .map(plain)
            .take(NAME_CHARS)
            .collect();
        Ok(format!("lab-{name}-{hash}"))
    }

    /// The name of the server that has a cell's data on the cell's file system.
    pub(super) fn image_name(&self, cell: &Cell) -> Result<String> {
        let mut name = self.data_name(cell)?;
        if host::place(&cell.effective.place)?.is_some() {
            let place = serde_json::json!(cell.effective.place).to_string();
            name += &format!("-{}", hex(&Sha256::digest(place)[..2]));
        }
        if self.is_second {
            name += "-b";
        }
        Ok(name)
    }

    /// The names of all images of the experiment.
    pub(super) fn image_names(&self) -> Result<BTreeSet<String>> {
        let cells = self.lab.trials.cells.iter();
        let own =
            cells.filter(|cell| cell.effective.server.url.is_none() && !server::is_of_host(cell));
        let with_sources = own.flat_map(|cell| match cell.effective.data.by {
            Some(LoadedBy::Copy) => vec![cell.clone(), plain(cell)],
            _ => vec![cell.clone()],
        });
        with_sources.map(|cell| self.image_name(&cell)).collect()
    }

    /// A server with an image of the same data on another file system.
    pub(super) fn sibling(&self, of_data: &str, name: &str) -> Option<Server> {
        let is_one = |other: &str| {
            let rest = other.strip_prefix(of_data);
            other != name && rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
        };
        let there = self.home.folders().unwrap_or_default();
        there
            .iter()
            .filter(|folder| is_one(folder.name()))
            .filter_map(|folder| Server::open(&self.home, folder.name()).ok())
            .find(|server| server.find_snapshot(IMAGE).is_ok())
    }

    /// The server to copy the image from for a new place; `None` if the workload loads it.
    fn source(&mut self, cell: &Cell, name: &str) -> Result<Option<Server>> {
        match self.lab.experiment.image_of(cell).data.by {
            Some(LoadedBy::Sql) => Ok(None),
            Some(LoadedBy::Copy) => {
                let there = plain(cell);
                let from = self.image_name(&there)?;
                match from == name {
                    true => Ok(None),
                    false => self.image(&from, &there).map(Some),
                }
            }
            None => Ok(self.sibling(&self.data_name(cell)?, name)),
        }
    }

    pub(super) fn kind(&self, cell: &Cell) -> Result<&dyno_server::Kind> {
        let key = server::kind_key(&cell.effective.server);
        let found = self.lab.kinds.get(&key);
        found.ok_or_else(|| anyhow!("the server of this trial is unknown"))
    }

    /// The server with the image of a cell's data; creates the image if it is missing.
    pub(super) fn image(&mut self, name: &str, cell: &Cell) -> Result<Server> {
        if let Ok(server) = Server::open(&self.home, name) {
            // A killed process may still be about to end.
            let begun = Clock.now();
            while server.running()?.is_some() {
                if since(begun) > ENDS_WITHIN_S {
                    bail!(
                        "the server {name} of this experiment is already running; stop it with \
                         `dyno server down {name}`"
                    );
                }
                std::thread::sleep(Duration::from_millis(100));
            }
            if server.find_snapshot(IMAGE).is_ok() {
                return Ok(server);
            }
            // The load was interrupted.
            server.remove()?;
        }
        let made = self.lab.experiment.image_of(cell);
        let kind = self.kind(cell)?.clone();
        let settings = server::settings(&made.server, &made.server.set)?;
        self.caller.event(LabEvent::CreatingData(&kind));
        let place = host::place(&cell.effective.place)?;
        let sibling = self.source(cell, name)?;
        let mut server = Server::make_on(&self.home, name, kind, settings, None, place.as_ref())?;
        let filled = match &sibling {
            Some(from) => {
                self.caller.event(LabEvent::CopyingData);
                server
                    .adopt_snapshot(from, IMAGE)
                    .map(drop)
                    .map_err(Into::into)
            }
            None => self.fill(&mut server, &made, name),
        };
        // Steps that create the image are not steps of the trial.
        self.done.clear();
        match filled {
            Ok(()) => Ok(server),
            Err(error) => {
                self.down();
                self.images.remove(name);
                let _ = server.remove();
                Err(error)
            }
        }
    }

    /// Loads the data of a new server and keeps a copy.
    pub(super) fn fill(&mut self, server: &mut Server, made: &Effective, name: &str) -> Result<()> {
        let held = server.hold()?;
        self.begin(server, made, held, name)?;
        let begun = Clock.now();
        let target = format!("server:{name}");
        if let Some(line) = line::prepare(made, Some(&target), &self.lab.base) {
            self.prepare(line).context("cannot load the data")?;
        }
        self.down();
        self.caller.event(LabEvent::KeepingCopy);
        let kept = server.snapshot(IMAGE, &|_, _| {})?;
        self.caller.event(LabEvent::Loaded {
            bytes: kept.copied.map_or(0, |copied| copied.bytes),
            took: Clock.since(begun),
        });
        Ok(())
    }

    /// Executes a command line to its end.
    pub(super) fn execute(&self, line: Vec<String>) -> Result<()> {
        let (command, options) = self.caller.plan(line)?;
        let executed = self.caller.execute(command, options, &self.stop)?;
        self.caller.results(executed, &self.stop).map(drop)
    }

    /// Runs `dyno prepare …`.
    pub(super) fn prepare(&mut self, line: Vec<String>) -> Result<()> {
        self.execute(line)?;
        match self.stop.level() {
            StopLevel::None => Ok(()),
            StopLevel::End | StopLevel::Abandon => bail!("interrupted"),
        }
    }

    /// Creates the files of a test of the host.
    pub(super) fn load_host(&mut self, cell: &Cell) -> Result<()> {
        let Some(line) = line::prepare(&cell.effective, None, &self.lab.base) else {
            return Ok(());
        };
        let key = line.join(" ");
        if self.is_loaded.contains(&key) {
            return Ok(());
        }
        self.prepare(line)?;
        self.is_loaded.insert(key);
        Ok(())
    }
}

/// The same cell on the servers' default file system.
fn plain(cell: &Cell) -> Cell {
    let mut there = cell.clone();
    there.effective.place.clear();
    there
}
