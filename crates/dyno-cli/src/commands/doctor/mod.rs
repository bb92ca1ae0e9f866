//! `dyno doctor`: check whether this host and this server are fit for measurements.

mod noise;

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use dyno_core::Target;
use dyno_core::catalogue::names;
use dyno_core::db::Connector;
use dyno_core::finding::{Finding, Outcome, Verdict, verdict};
use dyno_core::record::{Fact, NotObserved, Setting};
use dyno_observe::{Config, Observation, Observers};
use dyno_report::terminal::findings;
use dyno_verdict::fitness::{self, Known};
use serde::Serialize;

use super::target::target;
use crate::definitions::DOCTOR;
use crate::options::{Grammar, Script, help, parse};
use crate::{STATUS_DONE, STATUS_REFUSED, console, settings};
use dyno_run::Hidden;

/// Default duration of the noise probe.
const LISTEN: Duration = Duration::from_secs(3);

#[derive(Serialize)]
struct Fitness<'a> {
    verdict: Verdict,
    findings: &'a [Finding],
    facts: &'a [Fact],
    settings: &'a [Setting],
    not_observed: &'a [NotObserved],
}

/// Checks the host and, with a target, the server.
///
/// # Errors
/// The target cannot be reached.
pub(super) fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, DOCTOR, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno doctor [--target URL]\n\n\
             Check this host, and with --target a server, for conditions that distort \
             measurements, and suggest fixes.\n\
             {}",
            help(DOCTOR, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    if let Some(word) = parsed.words.first() {
        return Err(settings::usage(format!(
            "unexpected argument '{word}'; name a server with --target URL"
        )));
    }
    let time = settings::duration(&parsed, "time", LISTEN)?;
    let swept = dyno_run::scratch::sweep(&std::env::temp_dir());
    if swept.folders > 0 {
        console::note(&swept.text());
    }
    let server = match super::target::named(&parsed) {
        None => None,
        Some(_) => {
            let (target, _) = target(&parsed, "doctor")?;
            if let Some(file) = target.missing_file() {
                bail!(
                    "cannot use the target {target}: there is no file {}",
                    file.display()
                );
            }
            let connector = dyno_drivers::connector(&target)?;
            dyno_drivers::probe(connector.as_ref(), target.connect_timeout_ms, &|| false)
                .with_context(|| format!("cannot use the target {target}"))?;
            Some((target, connector))
        }
    };
    let seen = Observed::look(server.clone(), time)?;
    let known = Known {
        facts: &seen.facts,
        settings: &seen.settings,
        not_observed: &seen.not_observed,
    };
    let mut all = fitness::host(&known);
    all.push(fitness::noise(&seen.noise));
    if server.is_some() {
        all.extend(fitness::server(&known));
    }
    let verdict = verdict(&all);
    let fitness = Fitness {
        verdict,
        findings: &all,
        facts: &seen.facts,
        settings: &seen.settings,
        not_observed: &seen.not_observed,
    };
    if parsed.has("json") {
        console::json(&(serde_json::to_string_pretty(&fitness)? + "\n"));
    } else {
        let look = console::look(&parsed);
        let title = title(&seen, &all, server.as_ref());
        console::page(&look, |look| findings(&title, &all, look));
    }
    let refused = verdict == Verdict::Refused && parsed.has("gate");
    Ok(if refused { STATUS_REFUSED } else { STATUS_DONE })
}

fn title(
    seen: &Observed,
    all: &[Finding],
    server: Option<&(Target, Arc<dyn Connector>)>,
) -> String {
    let fact = |name: &str| {
        let fact = seen.facts.iter().find(|fact| fact.name == name);
        fact.map_or("?", |fact| fact.value.as_str())
    };
    let against = |outcome| {
        all.iter()
            .filter(|finding| finding.outcome == outcome)
            .count()
    };
    let (doubts, refusals) = (against(Outcome::Doubt), against(Outcome::Refuse));
    let fit = match (doubts, refusals) {
        (0, 0) => "fit to be measured".to_owned(),
        (doubts, refusals) => match doubts + refusals {
            1 => "1 problem to fix before figures are compared".to_owned(),
            problems => format!("{problems} problems to fix before figures are compared"),
        },
    };
    let on = server.map_or_else(String::new, |(target, _)| {
        format!(", and {}", target.label())
    });
    format!(
        "{}: {} × {}, Linux {}{on}: {fit}",
        fact(names::HOST_NAME),
        fact(names::HOST_CPU_THREADS),
        fact(names::HOST_CPU_MODEL),
        fact(names::HOST_KERNEL),
    )
}

#[derive(Default)]
struct Observed {
    facts: Vec<Fact>,
    settings: Vec<Setting>,
    not_observed: Vec<NotObserved>,
    noise: fitness::Noise,
}

impl Observed {
    fn look(server: Option<(Target, Arc<dyn Connector>)>, time: Duration) -> Result<Self> {
        let (target, connector) = server.unzip();
        let config = Config {
            target,
            connector,
            ..Config::default()
        };
        let (observers, observations) = Observers::start(config)?;
        // The other thread drains the queue while this one listens.
        let taker = std::thread::Builder::new()
            .name("dyno-observed".to_owned())
            .spawn(move || {
                let mut seen = Self::default();
                for observation in observations {
                    seen.take(observation);
                }
                seen
            })
            .context("cannot start the observer thread")?;
        let noise = noise::listen(time);
        observers.stop();
        let mut seen = taker.join().unwrap_or_default();
        seen.noise = noise;
        Ok(seen)
    }

    fn take(&mut self, mut observation: Observation) {
        Hidden::default().clean(&mut observation);
        match observation {
            Observation::Fact(fact) => {
                self.facts.retain(|known| known.name != fact.name);
                self.facts.push(fact);
            }
            Observation::Setting {
                name,
                value,
                at_end: false,
            } => self.settings.push(Setting {
                name,
                start: Some(value),
                end: None,
            }),
            Observation::NotObserved(gap) => self.not_observed.push(gap),
            _ => {}
        }
    }
}
