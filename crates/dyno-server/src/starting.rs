//! Starting a server, and checking it once it answers.

use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use crate::error::{Result, failed, usage};
use crate::kind::Kind;
use crate::kinds::bootstrap::{excerpt, last_lines};
use crate::server::{Server, claim_port};
use crate::settings::{ReadBack, Settings, read_back};
use crate::supervisor::{self, Lifeline, SupervisorCommand};

/// The variable with libraries that a program loads first.
const PRELOAD: &str = "LD_PRELOAD";
/// Lines of a server's log shown in an error.
const LOG_LINES: usize = 12;
/// Polling interval for a starting server.
const READY_POLL: Duration = Duration::from_millis(50);

/// Parameters of a start.
#[derive(Clone, Debug)]
pub struct Start<'a> {
    /// How Dyno starts itself to run the server.
    pub supervisor: &'a SupervisorCommand,
    /// Timeout until it answers.
    pub limit: Duration,
    /// Prevent the server from filling its cache at start, unless one of the user's settings
    /// enables that. Pages of its files in the page cache are separate: see
    /// [`Server::forget_pages`].
    pub cold: bool,
}

/// A server that answers.
#[derive(Debug)]
pub struct Started {
    /// Keeps the server alive.
    pub lifeline: Lifeline,
    /// Time until it answered.
    pub ready_in: Duration,
    /// Settings without a reported value.
    pub unseen: Vec<String>,
    /// Actions for a cold start, in words.
    pub cold: Vec<String>,
}

impl Server {
    /// Starts it, waits until it answers, and reads its settings back. If it does not answer, or
    /// its settings differ from the requested ones, it is stopped again.
    ///
    /// # Errors
    /// It does not start, with the last lines of its log; or it changed or ignored a setting.
    pub fn start(&mut self, how: &Start<'_>) -> Result<Started> {
        if let Some(running) = self.running()? {
            return usage(format!(
                "server '{}' is already running (pid {})",
                self.folder.name(),
                running.server.pid
            ));
        }
        if !self.record.is_made {
            return failed(format!(
                "creating server '{0}' was interrupted; remove it with `dyno server down {0}`",
                self.folder.name()
            ));
        }
        let port = self.record.port;
        if claim_port(port).is_err() {
            return failed(format!(
                "port {port} of server '{}' is taken",
                self.folder.name()
            ));
        }
        crate::snapshot::must_be_whole(&self.folder)?;
        let log_begins = std::fs::metadata(self.folder.log()).map_or(0, |data| data.len());
        let (settings, cold) = self.settings_of(how);
        // A server that was killed with its supervisor leaves its groups.
        crate::limits::forget(&self.folder)?;
        let mut launch =
            self.with_settings(&settings, |contract, context| contract.launch(context))?;
        let more = self.record.environment.iter();
        launch
            .environment
            .extend(more.map(|(name, value)| (name.clone(), value.clone())));
        launch.groups = self.record.limits.make(&self.folder)?.paths;
        let begun = Clock.now();
        let lifeline = match supervisor::start(&self.folder, &launch, how.supervisor) {
            Ok(lifeline) => lifeline,
            Err(error) => {
                let _ = self.stop();
                return Err(error);
            }
        };
        let ready = self.finish_start(begun, how.limit, log_begins);
        match ready {
            Ok((ready_in, unseen)) => Ok(Started {
                lifeline,
                ready_in,
                unseen,
                cold,
            }),
            Err(error) => {
                drop(lifeline);
                let _ = self.stop();
                Err(error)
            }
        }
    }

    /// The settings of this start, and the actions for a cold one.
    fn settings_of(&self, how: &Start<'_>) -> (Settings, Vec<String>) {
        let settings = &self.record.settings;
        match (how.cold, self.record.kind.installation()) {
            (true, Some(installation)) => crate::warm::cold(&installation, settings, &self.folder),
            (true, None) => {
                let unknown = "it is not known whether the server fills its cache itself";
                (settings.clone(), vec![unknown.to_owned()])
            }
            (false, _) => (settings.clone(), Vec::new()),
        }
    }

    fn finish_start(
        &mut self,
        begun: Nanos,
        limit: Duration,
        log_begins: u64,
    ) -> Result<(Duration, Vec<String>)> {
        self.wait_ready(begun, limit, log_begins)?;
        self.must_be_preloaded()?;
        let ready_in = Clock.since(begun);
        if !self.record.is_welcomed {
            self.with(|contract, context| contract.welcome(context))?;
            self.record.is_welcomed = true;
            self.save()?;
        }
        let back = self.read_back()?;
        if !back.mismatches.is_empty() {
            let lines = back.mismatches.iter().map(|mismatch| {
                format!(
                    "\n  {}: asked for {}, the server has {}",
                    mismatch.name, mismatch.asked, mismatch.has
                )
            });
            return failed(format!(
                "server '{}' changed or ignored settings:{}\nAsk for values it accepts",
                self.folder.name(),
                lines.collect::<String>()
            ));
        }
        Ok((ready_in, back.unseen))
    }

    /// The dynamic linker only warns about a missing library, and the server would run without it.
    fn must_be_preloaded(&self) -> Result<()> {
        let (Some(libraries), Some(running)) =
            (self.record.environment.get(PRELOAD), self.running()?)
        else {
            return Ok(());
        };
        let maps = format!("/proc/{}/maps", running.server.pid);
        let maps = std::fs::read_to_string(&maps).unwrap_or_default();
        let mut names = libraries
            .split([':', ' '])
            .filter_map(|library| library.rsplit('/').next())
            .filter(|name| !name.is_empty());
        match names.find(|name| !maps.contains(*name)) {
            None => Ok(()),
            Some(name) => failed(format!(
                "server '{}' has not loaded {name}, which {PRELOAD} requests: is it installed?",
                self.folder.name()
            )),
        }
    }

    fn wait_ready(&self, begun: Nanos, limit: Duration, log_begins: u64) -> Result<()> {
        loop {
            let why = match self.with_result(|contract, context| contract.ready(context)) {
                Ok(()) => return Ok(()),
                Err(why) => why,
            };
            let name = self.folder.name();
            if let Some(ended) = self.ended()? {
                return failed(format!(
                    "server '{name}' did not start: {}. From its log:\n{}",
                    ended.how,
                    self.log_since(log_begins)
                ));
            }
            if Clock.since(begun) >= limit {
                return failed(format!(
                    "server '{name}' did not answer within {} s ({why}). From its \
                     log:\n{}",
                    limit.as_secs(),
                    self.log_since(log_begins)
                ));
            }
            std::thread::sleep(READY_POLL);
        }
    }

    /// The last lines of the server's log after position `begins`.
    fn log_since(&self, begins: u64) -> String {
        let path = self.folder.log();
        let text = std::fs::read(&path).unwrap_or_default();
        let new = usize::try_from(begins)
            .ok()
            .and_then(|begins| text.get(begins..));
        let new = String::from_utf8_lossy(new.unwrap_or_default()).into_owned();
        match new.trim().is_empty() {
            true => last_lines(&path, LOG_LINES),
            false => excerpt(&new, LOG_LINES),
        }
    }

    /// Reads the settings of the running server back.
    ///
    /// # Errors
    /// It does not answer.
    pub fn read_back(&self) -> Result<ReadBack> {
        let asked = match &self.record.kind {
            Kind::Programs { .. } => self.record.settings.clone(),
            Kind::Executables(_) if self.record.settings.is_empty() => {
                return Ok(ReadBack::default());
            }
            Kind::Executables(_) => self.record.settings.clone(),
        };
        let reported = self.with(|contract, context| contract.settings(context))?;
        Ok(match reported {
            Some(reported) => read_back(&asked, &reported),
            None => ReadBack {
                unseen: asked.iter().map(|(name, _)| name.to_owned()).collect(),
                ..ReadBack::default()
            },
        })
    }
}
