//! One measured run: records, observes and judges it.

use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result};
use dyno_conduct::fleet::{self, Fleet, ServerAgent};
use dyno_conduct::hints::{hint, with_hint};
use dyno_core::db::Family;
use dyno_core::finding::Verdict;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_core::threshold::Threshold;
use dyno_report::junit::of_run;
use dyno_report::terminal::{EventWord, Look};
use dyno_run::{Ready, RunRequest, Sink, Sinks};

use crate::junit::JUnit;
use crate::live::{Live, LiveSink};
use crate::metrics::Exports;
use crate::options::Parsed;
use crate::settings::usage;
use crate::{
    STATUS_DONE, STATUS_FAILED, STATUS_INTERRUPTED, STATUS_LIMIT, STATUS_REFUSED, console,
    fleet_options, notices,
};

/// A run's output.
pub struct Screen {
    /// Print only the result.
    pub quiet: bool,
    /// The format of live output.
    pub live: Look,
    /// The exporters of live metrics.
    pub exports: Exports,
    /// The file of `--junit`.
    pub junit: Option<JUnit>,
    /// The agents that generate the load; `None` for this process alone.
    pub fleet: Option<Fleet>,
    /// The agent that observes the server from the server's host.
    pub server_agent: Option<ServerAgent>,
}

impl Screen {
    /// Reads the options.
    ///
    /// # Errors
    /// Metrics cannot be exported as requested, or agents are invalid.
    pub fn of(parsed: &Parsed, ready: &Ready, is_temporary: bool) -> Result<Self> {
        let this = Self {
            fleet: fleet_options::fleet(parsed)?,
            server_agent: fleet_options::server_agent(parsed)?,
            quiet: parsed.has("quiet"),
            live: console::live_look(parsed.has("no-color")),
            junit: JUnit::of(parsed)?,
            exports: Exports::start(parsed)?,
        };
        this.fits(ready, is_temporary)?;
        Ok(this)
    }

    /// Checks that agents can generate the load, and that the server can be observed.
    fn fits(&self, ready: &Ready, is_temporary: bool) -> Result<()> {
        let family = ready.job.target.as_ref().map(|target| target.family);
        if self.server_agent.is_some() && family.is_none_or(Family::is_embedded) {
            return Err(usage("--server-agent: there is no server to observe"));
        }
        let why = match self.fleet {
            None => return Ok(()),
            _ if ready.plan().is_some() => {
                format!("{} tests the host that it runs on", ready.job.work.path())
            }
            _ if is_temporary => {
                "give a --target that the agents can reach, not a temporary database".to_owned()
            }
            _ => return Ok(()),
        };
        Err(usage(format!("--agents: {why}")))
    }
}

/// A finished run.
pub struct Measured {
    /// Its summary.
    pub summary: RunSummary,
    /// An error after the measurement; the summary is still valid.
    trouble: Option<Error>,
    /// A message about sessions that had no connection when the run ended.
    disconnected: Option<String>,
    gate: bool,
}

impl Measured {
    /// The exit status, after the summary has been shown.
    ///
    /// # Errors
    /// The error after the measurement.
    pub fn end(self, ready: &Ready, request: &RunRequest) -> Result<u8> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let summary = &self.summary;
        if let RunEnd::Failed(why) = &summary.end
            && let Some(hint) = hint(why, ready, &request.plan.workload)
        {
            console::note(&hint);
        }
        // Events that ended after the measurement are not results.
        let measured = summary
            .totals
            .events
            .saturating_sub(summary.events_in_grace);
        let worthless = matches!(summary.end, RunEnd::Failed(_)) || measured == 0;
        if let Some(disconnected) = &self.disconnected {
            console::note(&format!("error: {disconnected}"));
        }
        Ok(if summary.end == RunEnd::Interrupted {
            STATUS_INTERRUPTED
        } else if worthless || self.disconnected.is_some() {
            STATUS_FAILED
        } else if self.gate && summary.verdict == Some(Verdict::Refused) {
            STATUS_REFUSED
        } else if summary.thresholds.iter().any(|held| held.failed) {
            STATUS_LIMIT
        } else {
            STATUS_DONE
        })
    }
}

/// Runs the workload.
///
/// # Errors
/// The run has no result.
pub fn measure(ready: &mut Ready, request: &RunRequest, screen: &Screen) -> Result<Measured> {
    let gate = request.plan.record.gate;
    screen.exports.next_run(&ready.stop);
    check_subjects(ready, &request.plan.record.fail_if)?;
    let event = match ready.plan() {
        Some(_) => EventWord::Event,
        None => EventWord::Transaction,
    };
    let live = (!screen.quiet).then(|| Live::start(screen.live, event, &ready.job.drive));
    let live = Arc::new(Mutex::new(live.flatten()));
    let notices = match &screen.fleet {
        None => notices::Terminal::new(screen.quiet),
        Some(_) => notices::Terminal::of_agents(screen.quiet),
    };
    let mut sinks: Vec<Box<dyn Sink>> = vec![Box::new(notices)];
    sinks.push(Box::new(LiveSink(Arc::clone(&live))));
    sinks.extend(screen.exports.sink());
    if let (Some(agent), Some(target)) = (&screen.server_agent, &ready.job.target) {
        ready.remote_observer = Some(agent.start(target)?);
    }
    let sinks = Sinks::new(sinks);
    let measured = match &screen.fleet {
        None => dyno_run::measure(ready, request, &sinks),
        Some(fleet) => dyno_run::measure_load(ready, request, &sinks, &mut |ready, observer| {
            fleet::run_on_agents(fleet, &request.plan, &sinks, ready, observer)
        }),
    };
    let live = live.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(live) = live {
        live.finish();
    }
    match measured {
        Ok(measured) => {
            let summary = held(measured.summary, &request.plan.record.fail_if);
            if let Some(junit) = &screen.junit {
                let mut suite = of_run(&summary);
                let trouble = measured.trouble.as_ref().map(ToString::to_string);
                suite.errors([trouble, measured.disconnected.clone()]);
                junit.add(suite);
            }
            Ok(Measured {
                summary,
                trouble: measured.trouble.map(Into::into),
                disconnected: measured.disconnected,
                gate,
            })
        }
        Err(error) => Err(with_hint(error.into(), ready, &request.plan.workload)),
    }
}

/// Rejects conditions on unknown operations or roles now instead of after the run.
fn check_subjects(ready: &Ready, conditions: &[String]) -> Result<()> {
    let names = ready.names();
    for text in conditions {
        let one: Result<Threshold, _> = text.parse();
        if let Some(why) = one
            .ok()
            .and_then(|one| one.without_subject(names.iter().map(String::as_str)))
        {
            return Err(usage(format!("--fail-if '{text}': {why}")));
        }
    }
    Ok(())
}

/// Adds the outcomes of the `--fail-if` conditions to the summary.
pub fn held(mut summary: RunSummary, conditions: &[String]) -> RunSummary {
    let conditions = conditions.iter().filter_map(|text| text.parse().ok());
    let held = conditions.map(|one: Threshold| one.judge(&summary));
    summary.thresholds = held.collect();
    summary
}
