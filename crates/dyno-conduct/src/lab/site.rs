//! Where trials run: on servers that Dyno starts from images of their data, on a running server, or
//! only on the host.

mod load;
mod setup;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_lab::file::{PageCache, Settle};
use dyno_lab::{Cell, Change, Effective};
use dyno_load::{StopLevel, StopSignal};
use dyno_results::Step;
use dyno_server::{Held, Home, Lifeline, Online, Proxy, Reset, Server, Start, drop_page_cache};

use self::setup::has_plugins;
use super::caller::{Caller, LabEvent};
use super::server::{is_of_host, settings};
use super::there::Mode;
use super::{Lab, checks, host, line};
use crate::kept;

/// Timeout for a server's first answer.
const START_LIMIT: Duration = Duration::from_secs(300);
/// The setting that loads plugins; their presence is checked separately.
const PLUGINS: &str = "plugin_load_add";
/// The copy of the data that trials begin with.
pub(super) const IMAGE: &str = "image";

/// A server that runs for trials. It ends when this is dropped.
struct Up {
    image: String,
    url: String,
    target: String,
    lifeline: Lifeline,
    proxy: Option<Proxy>,
    _held: Held,
    undo: Vec<String>,
}

/// Where trials run.
pub(super) struct Site<'a, C> {
    pub(super) lab: &'a Lab,
    pub(super) home: Home,
    pub(super) stop: Arc<StopSignal>,
    up: Option<Up>,
    /// Images that were created or found complete.
    pub(super) images: BTreeMap<String, Server>,
    /// Statements that undo changes on a server that Dyno did not start.
    undo: Vec<String>,
    /// The URL of that server.
    changed: String,
    /// What Dyno may do to the tables of running servers, by URL.
    pub(super) tables: BTreeMap<String, Mode>,
    /// Data of the host or of a running server that this process loaded.
    pub(super) is_loaded: BTreeSet<String>,
    /// Steps of the current trial.
    pub(super) done: Vec<Step>,
    pub(super) caller: &'a C,
    /// The results file: other files' experiments have their own servers.
    pub(super) results: PathBuf,
    /// It serves side B of duets, whose servers run together with those of side A.
    pub(super) is_second: bool,
}

impl<'a, C: Caller> Site<'a, C> {
    /// A site without a running server.
    ///
    /// # Errors
    /// The folder of servers does not belong to this user.
    pub(super) fn new(
        lab: &'a Lab,
        stop: Arc<StopSignal>,
        caller: &'a C,
        results: &Path,
    ) -> Result<Self> {
        Ok(Self {
            lab,
            home: Home::of_user()?,
            stop,
            up: None,
            images: BTreeMap::new(),
            undo: Vec::new(),
            changed: String::new(),
            tables: BTreeMap::new(),
            is_loaded: BTreeSet::new(),
            done: Vec::new(),
            caller,
            results: results
                .canonicalize()
                .unwrap_or_else(|_| results.to_owned()),
            is_second: false,
        })
    }

    /// Prepares server and data for a trial, and returns the target. A test of the host has none.
    ///
    /// # Errors
    /// The server does not start or has another setting, or the data cannot be created or restored.
    pub(super) fn make_ready(&mut self, cell: &Cell, change: Change) -> Result<Option<String>> {
        self.done.clear();
        if is_of_host(cell) {
            self.load_host(cell)?;
            self.forget_of_host(cell);
            self.settle(cell)?;
            return Ok(None);
        }
        if let Some(url) = &cell.effective.server.url {
            self.make_ready_at(url, cell, change)?;
            return Ok(Some(url.clone()));
        }
        let running = self.up.as_ref().map(|up| up.image.clone());
        let image = self.image_name(cell)?;
        let is_other = running.as_ref() != Some(&image);
        if change >= Change::Start || is_other {
            self.down();
            self.start(&image, cell, change >= Change::Restore || is_other)?;
        } else if change >= Change::Online {
            self.undo()?;
        }
        if change >= Change::Online || is_other {
            self.change_online(cell)?;
        }
        if change > Change::Reconnect || is_other {
            self.settle(cell)?;
        }
        let up = self.up.as_ref().ok_or_else(|| anyhow!("no server is up"))?;
        let by_tcp = || -> Result<String> {
            let server = self.images.get(&up.image);
            let server = server.ok_or_else(|| anyhow!("no server is up"))?;
            Ok(server.url(true)?)
        };
        Ok(Some(match cell.effective.path.as_deref() {
            Some("tcp" | "direct") => with_mode(&by_tcp()?, "disable"),
            Some("proxy") => with_mode(&self.by_proxy(&by_tcp()?)?, "disable"),
            Some("tls") => with_mode(&by_tcp()?, "require"),
            _ => up.target.clone(),
        }))
    }

    /// Undoes changes on a server that Dyno did not start; [`Site::down`] handles the others.
    ///
    /// # Errors
    /// The server refuses.
    pub(super) fn leave(&mut self) -> Result<()> {
        match self.up.is_some() {
            // Its data are restored before it runs again.
            true => Ok(()),
            false => self.undo(),
        }
    }

    /// Whether the server ended during its load.
    pub(super) fn has_died(&mut self) -> bool {
        self.up.as_mut().is_some_and(Up::is_over)
    }

    /// Stops the running server. Its data are restored before it runs again.
    pub(super) fn down(&mut self) {
        self.up = None;
    }

    /// Removes this experiment's servers and their images. Returns the number of freed bytes.
    ///
    /// # Errors
    /// A server cannot be removed.
    pub(super) fn remove_images(&self) -> Result<u64> {
        let mut freed = 0;
        for name in self.image_names()? {
            if let Ok(server) = Server::open(&self.home, &name) {
                freed += server.remove()?;
            }
        }
        Ok(freed)
    }

    fn start(&mut self, name: &str, cell: &Cell, restores: bool) -> Result<()> {
        let mut server = match self.images.get(name) {
            Some(server) => server.clone(),
            None => self.image(name, cell)?,
        };
        let held = server.hold()?;
        if restores {
            let begun = Clock.now();
            let put_back = server.restore(IMAGE, &*self.caller.restoring());
            put_back.context("cannot restore the data")?;
            self.note_done(&format!("data restored in {:.1} s", since(begun)));
        }
        self.begin(&mut server, &cell.effective, held, name)
    }

    pub(super) fn begin(
        &mut self,
        server: &mut Server,
        effective: &Effective,
        held: Held,
        name: &str,
    ) -> Result<()> {
        let set = self.with_files(server, effective)?;
        server.put_settings(settings(&effective.server, &set)?)?;
        let environment = effective.server.environment.iter();
        server.put_environment(
            environment
                .map(|(name, value)| (name.clone(), value.to_string()))
                .collect(),
        )?;
        server.put_limits(host::limits(&effective.host)?)?;
        let is_cold = effective.reset.page_cache == Some(PageCache::Drop);
        let mut reset = Reset::default();
        if effective.reset.trim {
            reset.and(server.trim());
        }
        if is_cold {
            reset.and(server.forget_pages());
        }
        self.note_reset(reset);
        self.caller.event(LabEvent::Starting(server.kind()));
        let command = self.caller.supervisor()?;
        let started = server.start(&Start {
            supervisor: &command,
            limit: START_LIMIT,
            cold: is_cold,
        })?;
        let steps = started.cold.iter().cloned().chain(server.limits_seen()?);
        self.done.extend(steps.map(Step::Text));
        self.note_done(&format!(
            "server started in {:.1} s",
            started.ready_in.as_secs_f64()
        ));
        has_plugins(server, effective)?;
        for setting in started.unseen.iter().filter(|name| *name != PLUGINS) {
            self.done.push(Step::NotReadBack {
                not_read_back: setting.clone(),
            });
        }
        let proxy = match checks::proxy(&effective.server) {
            Some(options) => Some(Proxy::start(server, &options?)?),
            None => None,
        };
        self.images.insert(name.to_owned(), server.clone());
        self.up = Some(Up {
            image: name.to_owned(),
            url: server.url(false)?,
            target: format!("server:{name}"),
            lifeline: started.lifeline,
            proxy,
            _held: held,
            undo: Vec::new(),
        });
        Ok(())
    }

    /// Prepares a running server. Reloads data that must be restored only if Dyno loaded them
    /// itself or the user allows it.
    fn make_ready_at(&mut self, url: &str, cell: &Cell, change: Change) -> Result<()> {
        self.undo()?;
        if let Some(undone) = kept::undo(&self.results, url)? {
            self.note_done(&format!("undid the changes of an earlier trial: {undone}"));
        }
        let image = self.lab.experiment.image_of(cell);
        let prepare = line::prepare(&image, Some(url), &self.lab.base);
        if let Some(line) = prepare.filter(|_| change >= Change::Restore) {
            self.load_at(url, line)?;
        }
        self.forget_of_host(cell);
        self.change_online(cell)?;
        self.settle(cell)
    }

    /// Restores the host's state where Dyno starts no server, as far as possible.
    fn forget_of_host(&mut self, cell: &Cell) {
        let reset = &cell.effective.reset;
        if reset.page_cache == Some(PageCache::Drop) {
            match drop_page_cache() {
                Ok(()) => self.note_done("the host's page cache was dropped"),
                Err(why) => self.note_done(&format!("not reset: {why}")),
            }
        }
        if reset.trim {
            self.note_done("not trimmed: the location of the data is unknown");
        }
    }

    pub(super) fn note_reset(&mut self, reset: Reset) {
        let not_done = reset.not_done.into_iter();
        let not_done = not_done.map(|why| format!("not reset: {why}"));
        self.done
            .extend(reset.done.into_iter().chain(not_done).map(Step::Text));
    }

    /// Applies the cell's changes to the running server.
    fn change_online(&mut self, cell: &Cell) -> Result<()> {
        let effective = &cell.effective;
        let asks = self
            .lab
            .experiment
            .factors
            .iter()
            .any(|factor| factor.verify.is_some());
        if effective.online.is_empty() && effective.sql.is_empty() && !asks {
            return Ok(());
        }
        let url = match (&self.up, &effective.server.url) {
            (Some(up), _) => up.url.clone(),
            (None, Some(url)) => url.clone(),
            (None, None) => return Ok(()),
        };
        let mut online = Online::connect(&url)?;
        let set = settings(&Default::default(), &effective.online)?;
        let own = effective.undo.iter();
        let own = own.filter(|undo| *undo != "server.restart");
        let own: Vec<String> = own.cloned().collect();
        // The data of Dyno's own servers are restored.
        if self.up.is_none() {
            let undo = [online.undoing(&set)?, own.clone()].concat();
            kept::keep(&self.results, &url, undo)?;
        }
        let undo = online.set(&set)?;
        // Note this at once, because the rest may fail. If a restart undoes it, the next level
        // restarts the server.
        self.note_undo(&url, undo);
        self.note_undo(&url, own);
        for sql in &effective.sql {
            online.run(sql)?;
        }
        // Applies to sessions that connect from now on.
        let mut online = Online::connect(&url)?;
        for factor in &self.lab.experiment.factors {
            if let Some(sql) = &factor.verify {
                let answer = online.value(sql)?.unwrap_or_else(|| "NULL".to_owned());
                self.note_done(&format!("{}: {sql} gives {answer}", factor.name.get_ref()));
            }
        }
        Ok(())
    }

    /// Adds statements that undo changes on the server at a URL.
    fn note_undo(&mut self, url: &str, undo: Vec<String>) {
        match &mut self.up {
            Some(up) => up.undo.extend(undo),
            None => {
                url.clone_into(&mut self.changed);
                self.undo.extend(undo);
            }
        }
    }

    fn undo(&mut self) -> Result<()> {
        let (url, undo) = match &mut self.up {
            Some(up) => (&up.url, &mut up.undo),
            None => (&self.changed, &mut self.undo),
        };
        if undo.is_empty() {
            return Ok(());
        }
        // If the server does not answer now, the statements remain for later.
        let mut online = Online::connect(url)?;
        online.undo(std::mem::take(undo))?;
        match self.up.is_some() {
            true => Ok(()),
            false => kept::forget(&self.results, &self.changed),
        }
    }

    fn settle(&mut self, cell: &Cell) -> Result<()> {
        let url = match (&self.up, &cell.effective.server.url) {
            (Some(up), _) => Some(up.url.clone()),
            (None, url) => url.clone(),
        };
        match (&cell.effective.reset.settle, url) {
            (None, _) => Ok(()),
            (Some(Settle::Until { at_most, .. }), Some(url)) => {
                self.settle_until_quiet(&url, at_most.value())
            }
            // Without a server there is no background work to wait for.
            (Some(Settle::Until { at_most: time, .. } | Settle::Time(time)), _) => {
                self.wait(time.value())
            }
        }
    }

    fn settle_until_quiet(&mut self, url: &str, at_most: Duration) -> Result<()> {
        let url = dyno_server::url_of(url)?;
        let settled = dyno_server::settle(&url, at_most, &mut |left| {
            self.caller.event(LabEvent::WaitingForQuiet(left));
        })?;
        let waited = settled.waited.as_secs_f64();
        match settled.quiet {
            true => self.note_done(&format!("quiet after {waited:.1} s")),
            false => self.note_done(&format!(
                "not quiet after {waited:.1} s: {}",
                settled.left.join(", ")
            )),
        }
        Ok(())
    }

    fn wait(&mut self, time: Duration) -> Result<()> {
        self.caller.event(LabEvent::Settling(time));
        let begun = Clock.now();
        while since(begun) < time.as_secs_f64() {
            if self.stop.level() != StopLevel::None {
                bail!("interrupted");
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        self.note_done(&format!("settled for {:.1} s", since(begun)));
        Ok(())
    }

    fn note_done(&mut self, what: &str) {
        self.done.push(Step::Text(what.to_owned()));
    }
}

impl Up {
    /// Whether the server has ended by itself.
    fn is_over(&mut self) -> bool {
        let proxy = self.proxy.as_mut();
        self.lifeline.is_over() || proxy.is_some_and(Proxy::has_ended)
    }
}

/// A URL with the encryption mode.
fn with_mode(url: &str, mode: &str) -> String {
    let more = if url.contains('?') { '&' } else { '?' };
    format!("{url}{more}sslmode={mode}")
}

pub(super) fn since(begun: u64) -> f64 {
    Clock.since(begun).as_secs_f64()
}

/// The statements that undo what a killed process changed on a server; the next trial there runs
/// them first.
///
/// # Errors
/// The file with the statements cannot be read.
pub(super) fn left_to_undo(results: &Path, url: &str) -> Result<Vec<String>> {
    let path = results.canonicalize();
    let left = kept::left(path.as_deref().unwrap_or(results), url)?;
    Ok(left.unwrap_or_default())
}
