//! What trials run on: servers of Dyno's own with images of their data, a server that runs
//! already, or the host alone.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::Clock;
use dyno_core::units::human_size;
use dyno_lab::file::{ResetData, Settle};
use dyno_lab::{Cell, Change, Effective};
use dyno_load::{StopLevel, StopSignal};
use dyno_server::{Held, Home, Lifeline, Online, Server, Start};
use sha2::{Digest as _, Sha256};

use super::definition::{self, Lab, is_of_host};
use super::line;
use crate::commands::run::{self, Within};
use crate::commands::server::keeper;
use crate::output::Kept;
use crate::{STATUS_DONE, console};

/// So long may a server take until it answers.
const START_LIMIT: Duration = Duration::from_secs(300);
/// The copy of the data that trials begin with.
const IMAGE: &str = "image";
/// Of a server's name, what tells the experiment.
const NAME_CHARS: usize = 24;

/// A server that runs for trials. It ends when this is dropped.
struct Up {
    image: String,
    url: String,
    target: String,
    lifeline: Lifeline,
    _held: Held,
    undo: Vec<String>,
}

/// What trials run on.
pub struct Site<'a> {
    lab: &'a Lab,
    home: Home,
    stop: Arc<StopSignal>,
    up: Option<Up>,
    /// Images that were made or found whole.
    images: BTreeMap<String, Server>,
    /// Undoes what was changed on a server that is not Dyno's own.
    undo: Vec<String>,
    /// The data of a server that runs already are made.
    is_loaded: BTreeSet<String>,
    /// What was done before the trial, in words.
    done: Vec<String>,
    /// Nothing is said.
    quiet: bool,
}

impl<'a> Site<'a> {
    /// Nothing runs yet.
    ///
    /// # Errors
    /// The folder of servers is not this user's own.
    pub fn new(lab: &'a Lab, stop: Arc<StopSignal>, quiet: bool) -> Result<Self> {
        Ok(Self {
            lab,
            home: Home::of_user()?,
            stop,
            up: None,
            images: BTreeMap::new(),
            undo: Vec::new(),
            is_loaded: BTreeSet::new(),
            done: Vec::new(),
            quiet,
        })
    }

    /// Makes server and data ready for a trial; what the load's target is then. A test of the host
    /// has none.
    ///
    /// # Errors
    /// A server that does not start or has another setting, data that cannot be made or put back.
    pub fn make_ready(&mut self, cell: &Cell, change: Change) -> Result<Option<String>> {
        self.done.clear();
        if is_of_host(cell) {
            self.load_host(cell)?;
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
        let up = self.up.as_ref().ok_or_else(|| anyhow!("no server runs"))?;
        Ok(Some(up.target.clone()))
    }

    /// What was done before the trial.
    pub fn done(&self) -> &[String] {
        &self.done
    }

    /// Ends the server that runs, whose data are put back before it runs again.
    pub fn down(&mut self) {
        if let Some(up) = self.up.take() {
            drop(up);
        }
    }

    /// All trials are done: undoes changes, and removes servers with their images unless they are
    /// to stay. Returns how many bytes were freed.
    pub fn finish(mut self, keep: bool) -> Result<u64> {
        self.undo()?;
        self.down();
        let mut freed = 0;
        if !keep {
            for server in std::mem::take(&mut self.images).into_values() {
                freed += server.remove()?;
            }
        }
        Ok(freed)
    }

    fn say(&self, what: &str) {
        if !self.quiet {
            console::progress(what);
        }
    }

    /// The name of the server that holds the data of a cell.
    fn image_name(&self, cell: &Cell) -> Result<String> {
        let made = self.lab.experiment.image_of(cell);
        let kind = self.kind(cell)?;
        let of = serde_json::json!({
            "kind": kind.title(),
            "program": self.lab.program(cell),
            "set": made.server.set,
            "plugins": made.server.plugins,
            "data": made.data,
            "script": self.lab.script(made.data.workload.as_deref()),
        });
        let hash = Sha256::digest(of.to_string().as_bytes());
        let hash: String = hash
            .iter()
            .take(4)
            .map(|byte| format!("{byte:02x}"))
            .collect();
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

    fn kind(&self, cell: &Cell) -> Result<&dyno_server::Kind> {
        let key = definition::kind_key(&cell.effective.server);
        let found = self.lab.kinds.get(&key);
        found.ok_or_else(|| anyhow!("the server of this trial is not known"))
    }

    fn start(&mut self, name: &str, cell: &Cell, restores: bool) -> Result<()> {
        let mut server = match self.images.get(name) {
            Some(server) => server.clone(),
            None => self.image(name, cell)?,
        };
        let held = server.hold()?;
        if restores {
            let begun = Clock.now();
            let progress = |bytes, total| {
                let (bytes, total) = (human_size(bytes), human_size(total));
                console::progress(&format!("putting the data back: {bytes} of {total}"));
            };
            let quiet = |_, _| {};
            let put_back = match self.quiet {
                true => server.restore(IMAGE, &quiet),
                false => server.restore(IMAGE, &progress),
            };
            put_back.context("the data cannot be put back")?;
            self.note_done(&format!("data restored in {:.1} s", since(begun)));
        }
        self.begin(&mut server, &cell.effective, held, name)
    }

    fn begin(
        &mut self,
        server: &mut Server,
        effective: &Effective,
        held: Held,
        name: &str,
    ) -> Result<()> {
        server.put_settings(definition::settings(
            &effective.server,
            &effective.server.set,
        )?)?;
        self.say(&format!("starting {}", server.kind().title()));
        let command = keeper()?;
        let started = server.start(&Start {
            keeper: &command,
            limit: START_LIMIT,
        })?;
        self.note_done(&format!(
            "server started in {:.1} s",
            started.ready_in.as_secs_f64()
        ));
        for setting in &started.unseen {
            self.note_done(&format!("not read back: the server shows no {setting}"));
        }
        self.images.insert(name.to_owned(), server.clone());
        self.up = Some(Up {
            image: name.to_owned(),
            url: server.url(false)?,
            target: format!("server:{name}"),
            lifeline: started.lifeline,
            _held: held,
            undo: Vec::new(),
        });
        Ok(())
    }

    /// The server with the image of a cell's data, which is made where there is none.
    fn image(&mut self, name: &str, cell: &Cell) -> Result<Server> {
        if let Ok(server) = Server::open(&self.home, name) {
            if server.running()?.is_some() {
                bail!(
                    "the server {name} of this experiment runs already; `dyno server down {name}` \
                       ends it"
                );
            }
            if server.find_snapshot(IMAGE).is_ok() {
                return Ok(server);
            }
            // Loading it was interrupted.
            server.remove()?;
        }
        let made = self.lab.experiment.image_of(cell);
        let kind = self.kind(cell)?.clone();
        let settings = definition::settings(&made.server, &made.server.set)?;
        self.say(&format!("making the data directory of {}", kind.title()));
        let mut server = Server::make(&self.home, name, kind, settings, None)?;
        match self.fill(&mut server, &made, name) {
            Ok(()) => Ok(server),
            Err(error) => {
                self.down();
                let _ = server.remove();
                Err(error)
            }
        }
    }

    /// Loads the data of a new server and keeps a copy of them.
    fn fill(&mut self, server: &mut Server, made: &Effective, name: &str) -> Result<()> {
        let held = server.hold()?;
        self.begin(server, made, held, name)?;
        let begun = Clock.now();
        let target = format!("server:{name}");
        if let Some(line) = line::prepare(&made.data, Some(&target), &self.lab.base) {
            self.prepare(line).context("the data cannot be loaded")?;
        }
        self.down();
        self.say("keeping a copy of the data");
        let kept = server.snapshot(IMAGE, &|_, _| {})?;
        let size = kept.copied.map_or(0, |copied| copied.bytes);
        self.note(&format!(
            "data loaded and kept: {}, {:.1} s",
            human_size(size),
            since(begun)
        ));
        Ok(())
    }

    /// Runs `dyno prepare …`.
    fn prepare(&mut self, line: Vec<String>) -> Result<()> {
        let within = Within {
            trial: None,
            stop: Arc::clone(&self.stop),
            kept: Kept::default(),
            plans_only: false,
        };
        let line = match self.quiet {
            true => [line, vec!["--quiet".to_owned()]].concat(),
            false => line,
        };
        let status = run::run(line, "prepare", Some(&within))?;
        if self.stop.level() != StopLevel::None {
            bail!("interrupted");
        }
        match status == STATUS_DONE {
            true => Ok(()),
            false => bail!("dyno prepare ended with status {status}"),
        }
    }

    /// The files of a test of the host.
    fn load_host(&mut self, cell: &Cell) -> Result<()> {
        let data = &cell.effective.data;
        let Some(line) = line::prepare(data, None, &self.lab.base) else {
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

    /// A server that runs already: its data are made anew where they are to be put back.
    fn make_ready_at(&mut self, url: &str, cell: &Cell, change: Change) -> Result<()> {
        self.undo()?;
        let made = self.lab.experiment.image_of(cell);
        let prepare = line::prepare(&made.data, Some(url), &self.lab.base);
        if let Some(line) = prepare.filter(|_| change >= Change::Restore) {
            let begun = Clock.now();
            let mut cleanup = line.clone();
            "cleanup".clone_into(&mut cleanup[1]);
            // Of what is not there nothing can be dropped.
            let _ = self.command(cleanup, "cleanup");
            self.prepare(line).context("the data cannot be loaded")?;
            self.note_done(&format!("data loaded anew in {:.1} s", since(begun)));
            let resets = self.lab.experiment.reset.data;
            if matches!(resets, Some(ResetData::Restore | ResetData::Empty)) {
                self.note_done(
                    "not put back: files, caches and logs of a server that Dyno did not start",
                );
            }
        }
        self.change_online(cell)?;
        self.settle(cell)
    }

    fn command(&self, line: Vec<String>, command: &str) -> Result<u8> {
        let within = Within {
            trial: None,
            stop: Arc::clone(&self.stop),
            kept: Kept::default(),
            plans_only: false,
        };
        run::run(
            [line, vec!["--quiet".to_owned()]].concat(),
            command,
            Some(&within),
        )
    }

    /// Changes the running server as the cell says.
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
        let set = definition::settings(&Default::default(), &effective.online)?;
        let mut undo = online.set(&set)?;
        for sql in &effective.sql {
            online.run(sql)?;
        }
        // Another level's restart undoes the rest.
        undo.extend(
            effective
                .undo
                .iter()
                .filter(|undo| *undo != "server.restart")
                .cloned(),
        );
        for factor in &self.lab.experiment.factors {
            if let Some(sql) = &factor.verify {
                let answer = online.value(sql)?.unwrap_or_else(|| "NULL".to_owned());
                self.note_done(&format!("{}: {sql} gives {answer}", factor.name.get_ref()));
            }
        }
        match &mut self.up {
            Some(up) => up.undo = undo,
            None => self.undo = undo,
        }
        Ok(())
    }

    /// Undoes what was changed on the running server.
    fn undo(&mut self) -> Result<()> {
        let (url, undo) = match &mut self.up {
            Some(up) => (up.url.clone(), std::mem::take(&mut up.undo)),
            None => {
                let first = self.lab.trials.cells.first();
                let url = first.and_then(|cell| cell.effective.server.url.clone());
                (url.unwrap_or_default(), std::mem::take(&mut self.undo))
            }
        };
        if undo.is_empty() {
            return Ok(());
        }
        let mut online = Online::connect(&url)?;
        for sql in undo {
            online.run(&sql)?;
        }
        Ok(())
    }

    /// Waits as the experiment says.
    fn settle(&mut self, cell: &Cell) -> Result<()> {
        let time = match &cell.effective.reset.settle {
            None => return Ok(()),
            Some(Settle::Time(time)) => time.value(),
            Some(Settle::Until { at_most, .. }) => at_most.value(),
        };
        self.say(&format!("settling for {:.0} s", time.as_secs_f64()));
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
        self.done.push(what.to_owned());
    }

    fn note(&self, what: &str) {
        if !self.quiet {
            console::note(what);
        }
    }
}

impl Up {
    /// Whether the server has ended by itself.
    fn is_over(&mut self) -> bool {
        self.lifeline.is_over()
    }
}

impl Site<'_> {
    /// Whether the server ended while it was loaded.
    pub fn has_died(&mut self) -> bool {
        self.up.as_mut().is_some_and(Up::is_over)
    }
}

fn since(begun: u64) -> f64 {
    Clock.now().saturating_sub(begun) as f64 / 1e9
}
