//! Shows the runs of a command, and exports their figures.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Result;
use dyno_conduct::{Hosts, Stage};
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;
use dyno_report::junit::of_run;
use dyno_report::terminal::{EventWord, Look};
use dyno_run::{Measured, Notice, Ready, Sink, Sinks};

use crate::commands::host;
use crate::junit::{self, JUnit};
use crate::live::{Live, LiveSink};
use crate::metrics::Exports;
use crate::notices::Terminal;
use crate::options::Parsed;
use crate::{console, loading};

/// Takes the summary of each run when it ends.
pub(crate) type Shows<'a> = dyn FnMut(&RunSummary) + 'a;

/// The output of a command's runs.
pub(crate) struct Screen<'a> {
    parsed: Parsed,
    /// Print only the results.
    quiet: bool,
    /// The load comes from agents.
    has_agents: bool,
    /// The format of live output.
    look: Look,
    live: Arc<Mutex<Option<Live>>>,
    shows: &'a mut Shows<'a>,
    /// The exporters of live metrics; `None` before the first run.
    pub exports: Option<Exports>,
    /// The file of `--junit`; `None` before the first run.
    pub junit: Option<JUnit>,
}

impl<'a> Screen<'a> {
    /// The output for these options.
    pub(crate) fn new(parsed: Parsed, hosts: &Hosts, shows: &'a mut Shows<'a>) -> Self {
        Self {
            quiet: parsed.has("quiet"),
            has_agents: hosts.fleet.is_some(),
            look: console::live_look(parsed.has("no-color")),
            live: Arc::default(),
            shows,
            exports: None,
            junit: None,
            parsed,
        }
    }

    fn terminal(&self) -> Terminal {
        match self.has_agents {
            false => Terminal::new(self.quiet),
            true => Terminal::of_agents(self.quiet),
        }
    }
}

impl Stage for Screen<'_> {
    fn open(&mut self) -> Result<()> {
        self.junit = JUnit::of(&self.parsed)?;
        self.exports = Some(Exports::start(&self.parsed)?);
        Ok(())
    }

    fn notice(&mut self, notice: &Notice) {
        self.terminal().notice(notice);
    }

    fn progress(&mut self, line: &str) {
        if !self.quiet {
            console::progress(line);
        }
    }

    fn command(&mut self, ready: &mut Ready, name: &str) -> Result<()> {
        match ready.plan() {
            Some(plan) => host::command(plan, name, &ready.stop, self.quiet),
            None => loading::with_progress(ready, name, self.quiet),
        }
    }

    fn begin(&mut self, ready: &Ready) -> Sinks {
        if let Some(exports) = &self.exports {
            exports.next_run(&ready.stop);
        }
        let event = match ready.plan() {
            Some(_) => EventWord::Event,
            None => EventWord::Transaction,
        };
        let live = (!self.quiet).then(|| Live::start(self.look, event, &ready.job.drive));
        self.live = Arc::new(Mutex::new(live.flatten()));
        let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(self.terminal())];
        sinks.push(Box::new(LiveSink(Arc::clone(&self.live))));
        sinks.extend(self.exports.as_ref().and_then(Exports::sink));
        Sinks::new(sinks)
    }

    fn end(&mut self, measured: Option<&Measured>) {
        let live = self.live.lock();
        let live = live.unwrap_or_else(PoisonError::into_inner).take();
        if let Some(live) = live {
            live.finish();
        }
        let Some(measured) = measured else {
            return;
        };
        if let Some(junit) = &self.junit {
            let mut suite = of_run(&measured.summary);
            let trouble = measured.trouble.as_ref().map(ToString::to_string);
            suite.errors([trouble, measured.disconnected.clone()]);
            junit.add(suite);
        }
        (self.shows)(&measured.summary);
    }

    fn close(&mut self, stop: &StopSignal) -> Result<()> {
        if let Some(mut exports) = self.exports.take() {
            exports.finish(stop);
        }
        junit::finish(Ok(()), self.junit.take())
    }
}
