//! Reads the command line of `dyno search`.

use std::fmt;
use std::time::Duration;

use anyhow::Result;
use dyno_analysis::search::Searched;
use dyno_core::clock::wall_time;
use dyno_core::plan::{Arrivals, OpenLoop, RecordPlan};
use dyno_core::units;
use dyno_host::Edition;
use dyno_run::{Workload, cores, new_name};
use dyno_stats::search::Goal;

use super::promise::{self, EXAMPLE, Promise};
use crate::commands::planned::PlannedCommand;
use crate::commands::target::named;
use crate::definitions::{OF_SEARCHES, RUN};
use crate::options::{Grammar, Opt, Parsed, Script, find_own, parse};
use crate::settings::{self, usage};
use crate::{fleet_options, run_store};

/// Default settling time of each trial.
const SETTLE: Duration = Duration::from_secs(3);
/// Default number of sessions of an open loop.
const SESSIONS: u32 = 64;
/// An open loop whose rate each trial replaces.
const OPEN_LOOP: OpenLoop = OpenLoop {
    per_second: 1.0,
    arrivals: Arrivals::Poisson,
};
/// The factor that identifies the runs of a search.
pub const FACTOR: &str = dyno_analysis::search::FACTOR;

/// A search.
pub struct Ask {
    /// The promise to keep.
    pub promise: Promise,
    /// The workload, as typed.
    pub workload: String,
    /// A run of the workload, whose load each trial replaces.
    pub base: PlannedCommand,
    /// The options.
    pub parsed: Parsed,
    /// Print nothing while it runs.
    pub quiet: bool,
    /// The required confidence.
    pub goal: Goal,
    /// Number of votes on a load.
    pub votes: u32,
    /// Settling time of each trial.
    pub settle: Duration,
    /// Sessions of an open loop.
    pub sessions: u32,
    /// Minimum sessions of a run: one for each load generator.
    pub fewest: u32,
    /// The first load.
    pub from: Option<f64>,
    /// The factor level that identifies its runs.
    pub name: String,
    /// The database runs inside the load generator, or is missing: late events cannot be blamed on
    /// one of them.
    pub embedded: bool,
    /// A test of this host; it has no target.
    pub of_host: bool,
}

impl fmt::Debug for Ask {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = out.debug_struct("Ask");
        shown
            .field("promise", &self.promise)
            .field("workload", &self.workload);
        shown.field("goal", &self.goal).finish_non_exhaustive()
    }
}

/// The options of `dyno search`, and those of `dyno run` that it rejects.
fn known() -> Vec<Opt> {
    OF_SEARCHES.iter().chain(RUN).copied().collect()
}

impl Ask {
    /// Reads the arguments after the command; `None` if they request help.
    ///
    /// # Errors
    /// Invalid arguments.
    pub fn read(program: &str, args: &[String]) -> Result<Option<Self>> {
        let known = known();
        let (promise, rest) = without_promise(args, &known)?;
        let mut parsed = parse(&rest, &known, Script::Unknown, Grammar::Dyno)?;
        if parsed.has("help") || parsed.has("help-all") {
            return Ok(None);
        }
        let workload = parsed.words.first().ok_or_else(|| {
            usage("dyno search needs a workload; `dyno list` shows some".to_owned())
        })?;
        let promise = match (promise, parsed.words.get(1)) {
            (Some(text), _) => text,
            // Not a value in any case.
            (None, Some(word)) => word.clone(),
            (None, None) => {
                return Err(usage(format!(
                    "dyno search needs a promise, in quotes, e.g. {EXAMPLE}"
                )));
            }
        };
        let promise = promise::parse(&promise).map_err(usage)?;
        refuse(&parsed, &promise)?;
        let work = Workload::find(workload, Edition::Dyno).map_err(|e| usage(e.to_string()))?;
        if work.test().is_none() && named(&parsed).is_none() {
            return Err(usage(
                "dyno search needs a --target URL: all its trials use the same tables",
            ));
        }
        let line = [program.to_owned(), "run".to_owned()].into_iter();
        let line = line.chain(of_runs(&rest)).chain(offered(promise.of));
        let base = PlannedCommand::of(line.collect(), "run")?;
        let name = name(&parsed, workload)?;
        let quiet = parsed.has("quiet");
        parsed.forget_password();
        Self::of(base, parsed, promise, (name, quiet)).map(Some)
    }

    /// The search for the load of an experiment's trial.
    ///
    /// # Errors
    /// An invalid promise, or a trial that cannot be searched.
    pub fn of_trial(
        trial: &PlannedCommand,
        promise: &str,
        (name, quiet): (&str, bool),
    ) -> Result<Self> {
        let promise = promise::parse(promise).map_err(usage)?;
        let mut parsed = trial.parsed.clone();
        let mut drive = trial.command.drive().clone();
        match promise.of {
            Searched::Rate => drive.open_loop = drive.open_loop.or(Some(OPEN_LOOP)),
            Searched::Sessions => parsed.own.retain(|(name, _)| *name != "sessions"),
        }
        let record = RecordPlan {
            statements: false,
            explain: Vec::new(),
            cpu_profile: false,
            ..trial.command.plan.record.clone()
        };
        let base = trial.under(drive, record)?;
        Self::of(base, parsed, promise, (name.to_owned(), quiet))
    }

    fn of(
        base: PlannedCommand,
        parsed: Parsed,
        promise: Promise,
        (name, quiet): (String, bool),
    ) -> Result<Self> {
        let workload = base.command.plan.workload.clone();
        if !base.command.plan.phases.is_empty() {
            return Err(usage(format!(
                "{workload} has phases, each a separate run: dyno search cannot run it"
            )));
        }
        let (goal, votes) = goal(&parsed, &promise)?;
        let fleet = fleet_options::fleet(&parsed)?;
        let fewest = fleet.map_or(Ok(1), |fleet| fleet.fewest_sessions())?;
        let target = base.command.loaded.job.target.as_ref();
        let embedded = target.is_none_or(|target| target.family.is_embedded());
        Ok(Self {
            settle: settings::duration(&parsed, "warmup", SETTLE)?,
            sessions: sessions(&parsed, embedded, fewest)?,
            fewest,
            from: from(&parsed, promise.of)?,
            name,
            workload,
            of_host: target.is_none(),
            base,
            promise,
            goal,
            votes,
            embedded,
            parsed,
            quiet,
        })
    }
}

/// The options that make a run an open loop, if the search varies its rate.
fn offered(of: Searched) -> Vec<String> {
    let mut own = vec!["--quiet".to_owned()];
    if of == Searched::Rate {
        own.push(format!("--rate={}/s", OPEN_LOOP.per_second));
    }
    own
}

/// Separates the promise from the other arguments. An option's value is never a promise.
fn without_promise(args: &[String], known: &[Opt]) -> Result<(Option<String>, Vec<String>)> {
    let mut found: Vec<usize> = Vec::new();
    let mut is_value = false;
    for (at, arg) in args.iter().enumerate() {
        let option = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'));
        if !std::mem::take(&mut is_value) && option.is_none() && promise::is_meant(arg) {
            found.push(at);
        }
        let opt = option.and_then(|name| find_own(known, name));
        is_value = opt.is_some_and(|opt| opt.value.is_some() && !opt.bare);
    }
    // The value of a workload's own option may look like a promise.
    if found.len() > 1 {
        found.retain(|at| promise::parse(&args[*at]).is_ok());
    }
    if let [one, other, ..] = found.as_slice() {
        return Err(usage(format!(
            "'{}' and '{}' are two promises; join them with 'and'",
            args[*one], args[*other]
        )));
    }
    let rest = args.iter().enumerate();
    let rest = rest.filter(|(at, _)| !found.contains(at));
    Ok((
        found.first().map(|at| args[*at].clone()),
        rest.map(|(_, arg)| arg.clone()).collect(),
    ))
}

/// The arguments without those of a search, and those for its output.
fn of_runs(args: &[String]) -> Vec<String> {
    const SHOWN: [&str; 3] = ["json", "quiet", "verbose"];
    let shown = RUN.iter().filter(|opt| SHOWN.contains(&opt.name));
    let own: Vec<Opt> = OF_SEARCHES.iter().chain(shown).copied().collect();
    let mut kept = Vec::new();
    let mut rest = args.iter();
    while let Some(arg) = rest.next() {
        let option = arg.strip_prefix("--").or_else(|| arg.strip_prefix('-'));
        let (name, inline) = match option.map(|option| option.split_once('=')) {
            Some(Some((name, _))) => (name, true),
            Some(None) => (option.unwrap_or_default(), false),
            None => ("", false),
        };
        match find_own(&own, name) {
            Some(opt) if opt.value.is_some() && !opt.bare && !inline => {
                rest.next();
            }
            Some(_) => {}
            None => kept.push(arg.clone()),
        }
    }
    kept
}

fn refuse(parsed: &Parsed, promise: &Promise) -> Result<()> {
    for opt in RUN.iter().filter(|opt| parsed.has(opt.name)) {
        if let Some(why) = opt.not_of_searches {
            let name = opt.name;
            return Err(usage(format!("--{name} does not apply to a search: {why}")));
        }
    }
    if promise.of == Searched::Sessions {
        for (name, why) in [
            (
                "sessions",
                "the search varies it; --from sets the load to start at",
            ),
            ("arrivals", "a closed loop has none"),
        ] {
            if parsed.has(name) {
                return Err(usage(format!(
                    "--{name} does not apply to 'max sessions': {why}"
                )));
            }
        }
    }
    if promise.latencies.len() > 1 && run_store::file(parsed).is_none() {
        return Err(usage(
            "several percentiles are counted from the record of each trial: name a --results file",
        ));
    }
    Ok(())
}

/// The required confidence and the number of votes.
fn goal(parsed: &Parsed, promise: &Promise) -> Result<(Goal, u32)> {
    let loss_ratio = promise
        .latencies
        .first()
        .map_or(0.01, |own| own.loss_ratio());
    let usual = match parsed.has("thorough") {
        true => Goal::thorough(loss_ratio),
        false => Goal::new(loss_ratio),
    };
    let time = settings::duration(parsed, "time", usual.trial_duration)?;
    if time.is_zero() {
        return Err(usage("--time, the length of each trial, must be above 0"));
    }
    let votes = settings::count(parsed, "votes", 7)?;
    let votes = u32::try_from(votes)
        .ok()
        .filter(|votes| (1..=1001).contains(votes));
    let votes = votes.ok_or_else(|| usage("--votes must be between 1 and 1001"))?;
    let width = match parsed.value("width") {
        None => usual.width,
        Some(text) => width(text, loss_ratio)?,
    };
    let goal = Goal {
        trial_duration: time,
        duration_sum: time * votes,
        width,
        ..usual
    };
    Ok((goal, votes))
}

/// A fraction of a load.
fn width(text: &str, loss_ratio: f64) -> Result<f64> {
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
    let share =
        share.ok_or_else(|| usage(format!("--width: '{text}' is not a share such as 1%")))?;
    match share < loss_ratio {
        true => Err(usage(format!(
            "--width: {} % is too narrow for a promise that allows {} % of the events to be late; \
             give at least that much",
            share * 100.0,
            loss_ratio * 100.0
        ))),
        false => Ok(share),
    }
}

fn sessions(parsed: &Parsed, embedded: bool, fewest: u32) -> Result<u32> {
    let usual = if embedded { cores() } else { SESSIONS }.max(fewest);
    let sessions = settings::count(parsed, "sessions", usual.into())?;
    let possible = u32::try_from(sessions).ok();
    possible
        .filter(|sessions| (1..=dyno_load::SESSIONS_MAX).contains(sessions))
        .filter(|sessions| *sessions >= fewest)
        .ok_or_else(|| usage(format!("--sessions: {sessions} is out of range")))
}

fn from(parsed: &Parsed, of: Searched) -> Result<Option<f64>> {
    let Some(text) = parsed.value("from") else {
        return Ok(None);
    };
    let load = match of {
        Searched::Rate => units::parse_rate(text).map_err(|error| error.to_string()),
        Searched::Sessions => units::parse_count(text)
            .map(|count| count as f64)
            .map_err(|error| error.to_string()),
    };
    let load = load.map_err(|error| usage(format!("--from: {error}")))?;
    match load > 0.0 {
        true => Ok(Some(load)),
        false => Err(usage("--from must be above 0")),
    }
}

/// The user's name for the search, or a unique one.
fn name(parsed: &Parsed, workload: &str) -> Result<String> {
    let factors = crate::record_options::factors(parsed)?;
    if factors.contains_key(super::trial::OFFERED) {
        return Err(usage(format!(
            "--factor: the search itself sets {}",
            super::trial::OFFERED
        )));
    }
    let given = factors.get(FACTOR).cloned();
    Ok(given.unwrap_or_else(|| new_name(workload, wall_time().as_secs_f64()).replace(',', "-")))
}

#[cfg(test)]
mod tests;
