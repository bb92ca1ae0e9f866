//! Conducts the search: runs the trials that the state machine of [`dyno_stats::search`] requests.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use dyno_analysis::search::{SearchEnd, SearchPlan, SearchResult, SearchTrial, Searched};
use dyno_core::Clock;
use dyno_core::finding::Outcome as Found;
use dyno_core::summary::RunSummary;
use dyno_core::text::shell_word;
use dyno_core::units::human_seconds;
use dyno_load::StopSignal;
use dyno_report::terminal::{Look, search_answer, search_trial};
use dyno_results::Results;
use dyno_stats::search::{Asked, Next, Purpose, Search, SearchError};

use super::ask::{Ask, FACTOR};
use super::climb::{self, CEILING_SHARE, Ground};
use super::trial::{self, Ended, OFFERED, Trials};
use crate::console;
use crate::settings::usage;

/// Typical number of loads in a search: with seven votes per load, simulated searches need about
/// thirty trials.
const LOADS: usize = 8;
/// Approximate overhead of a trial with its own agents: to start them, compare clocks, and end
/// them.
const AGENTS_BEGIN: Duration = Duration::from_secs(3);
/// With fewer late events than this, whether a trial just keeps the promise is chance.
const LATE_FEW: f64 = 5.0;

/// Searches until the end, an interrupt or an error; returns the result so far, and the error.
pub fn conduct(ask: &Ask, stop: Arc<StopSignal>) -> (SearchResult, Option<Error>) {
    let began = Clock.now();
    let mut under_way = UnderWay::new(ask, Trials::new(ask, stop));
    let trouble = under_way.go().err();
    let mut found = under_way.result();
    found.elapsed_s = Clock.now().saturating_sub(began) as f64 / 1e9;
    if trouble.is_some() {
        found.ending = SearchEnd::Failed;
    }
    if let Err(error) = keep(ask, &found) {
        console::note(&format!("warning: cannot store the answer: {error:#}"));
    }
    (found, trouble)
}

/// Stores the answer with the trials.
fn keep(ask: &Ask, found: &SearchResult) -> Result<()> {
    let ids: Vec<i64> = found.trials.iter().filter_map(|trial| trial.run).collect();
    match crate::run_store::file(&ask.parsed) {
        Some(file) if !ids.is_empty() => {
            Results::open(&file)?.add_facts(&ids, &found.facts(search_answer(found)))?;
            Ok(())
        }
        _ => Ok(()),
    }
}

struct UnderWay<'a> {
    ask: &'a Ask,
    trials: Trials<'a>,
    ground: Option<Ground>,
    search: Option<Search>,
    /// The trials' runs, in order.
    runs: Vec<RunSummary>,
    /// The promises that each trial broke, except the first percentile's.
    whys: Vec<String>,
    greatest: Option<f64>,
    look: Look,
}

impl<'a> UnderWay<'a> {
    fn new(ask: &'a Ask, trials: Trials<'a>) -> Self {
        Self {
            ask,
            trials,
            ground: None,
            search: None,
            runs: Vec::new(),
            whys: Vec::new(),
            greatest: None,
            look: console::live_look(ask.parsed.has("no-color")),
        }
    }

    fn go(&mut self) -> Result<()> {
        self.tell_plan();
        let show = |text: &str| self.progress(text);
        let ground = climb::ground(self.ask, &self.trials, show)?;
        let Some(ground) = ground else {
            return Ok(());
        };
        self.tell_ground(&ground);
        let new = Search::new(self.ask.goal.clone(), ground.loads, &ground.start);
        let mut search = new.map_err(refused)?;
        self.ground = Some(ground);
        while let Next::Trial(asked) = search.next() {
            self.search = Some(search.clone());
            if self.trials.is_stopped() {
                break;
            }
            let number = self.runs.len() + 1;
            let load = trial::shown(asked.load);
            let of = match (self.ask.promise.of, asked.purpose) {
                (Searched::Rate, Purpose::Vote) => "/s",
                (Searched::Rate, Purpose::Confirm) => "/s, to confirm",
                (Searched::Sessions, _) => " sessions",
            };
            self.progress(&format!("#{number}  {load}{of} …"));
            let Some(ended) = self.trials.at(asked.load)? else {
                break;
            };
            self.take(&mut search, asked, ended)?;
            self.search = Some(search.clone());
            self.tell_trial();
        }
        console::progress("");
        Ok(())
    }

    fn take(&mut self, search: &mut Search, asked: Asked, ended: Ended) -> Result<()> {
        let Ended { run, outcome, why } = ended;
        search.observe(asked.ended(outcome))?;
        if self.ask.promise.of == Searched::Rate
            && self.greatest.is_none()
            && let Some(ceiling) = trial::ceiling(&run)
        {
            *search = self.bounded(search, CEILING_SHARE * ceiling)?;
        }
        self.whys.push(why);
        // The intervals are no longer needed, and there may be many trials.
        self.runs.push(RunSummary {
            intervals: Vec::new(),
            ..run
        });
        Ok(())
    }

    /// Restarts the search with a limit, at least the highest load tried. Loads keep their numbers
    /// under any limit.
    fn bounded(&mut self, search: &Search, most: f64) -> Result<Search> {
        let seen = search.so_far();
        let tried = seen.trials.iter().map(|judged| judged.load);
        // Rounding must not exclude a load that was tried.
        let most = tried.map(|load| load * (1.0 + 1e-9)).fold(most, f64::max);
        let Some(ground) = &mut self.ground else {
            return Ok(search.clone());
        };
        ground.loads.max = most.min(ground.loads.max).max(ground.loads.min * 2.0);
        self.greatest = Some(ground.loads.max);
        let trials = seen.trials.into_iter().map(|judged| judged.trial);
        let goal = self.ask.goal.clone();
        Ok(Search::replay(goal, ground.loads, &ground.start, trials)?)
    }

    fn plan(&self) -> SearchPlan {
        let ask = self.ask;
        let server = self.runs.first().map_or_else(String::new, |run| {
            let target = &run.target;
            format!("{} {}", target.product, target.version)
                .trim()
                .to_owned()
        });
        SearchPlan {
            name: ask.name.clone(),
            workload: ask.workload.clone(),
            server,
            promise: ask.promise.to_string(),
            searched: ask.promise.of,
            sessions: (ask.promise.of == Searched::Rate).then_some(ask.sessions),
            loss_ratio: ask.goal.loss_ratio,
            width: ask.goal.width,
            votes: ask.votes,
            confirming: ask
                .goal
                .confirm
                .as_ref()
                .map_or(0, |confirm| confirm.trials),
            trial_s: ask.goal.trial_duration.as_secs_f64(),
            settle_s: ask.settle.as_secs_f64(),
            greatest: self.greatest,
        }
    }

    fn trial(&self, number: usize, judged: &dyno_stats::search::Judged) -> SearchTrial {
        let run = self.runs.get(number - 1);
        let mut own = SearchTrial::of(number, judged);
        own.run = run.and_then(|run| Some(run.recorded.as_ref()?.id));
        own.events_per_s = run.map_or(0.0, |run| run.rates.events_per_s);
        if let Some(why) = self.whys.get(number - 1).filter(|_| own.why.is_empty()) {
            own.why.clone_from(why);
        }
        own
    }

    fn result(self) -> SearchResult {
        let plan = self.plan();
        let found = self.search.as_ref().map(Search::so_far);
        let found = found.unwrap_or_else(nothing);
        let judged = found.trials.iter().enumerate();
        let trials = judged
            .map(|(at, judged)| self.trial(at + 1, judged))
            .collect();
        let mut result = SearchResult::of(plan, &found, trials);
        if result.ending == SearchEnd::Refused
            && let Some(last) = result.trials.last()
        {
            result.why.clone_from(&last.why);
        }
        result.warnings = warnings(&self, &result);
        if let Some(ground) = self.ground {
            result.climb = ground.steps;
        }
        result
    }

    fn progress(&self, text: &str) {
        if !self.ask.quiet {
            console::progress(text);
        }
    }

    /// Prints the plan, with a time estimate.
    fn tell_plan(&self) {
        if self.ask.quiet {
            return;
        }
        let (goal, votes) = (&self.ask.goal, self.ask.votes as usize);
        let confirming = goal.confirm.as_ref().map_or(0, |confirm| confirm.trials);
        // Half of the votes and one settle most loads.
        let trials = LOADS * (votes / 2 + 1) + confirming;
        let begins = match self.ask.parsed.has("agents") {
            true => AGENTS_BEGIN,
            false => Duration::ZERO,
        };
        let each = goal.trial_duration + self.ask.settle + begins;
        let what = match self.ask.promise.of {
            Searched::Rate => "rate",
            Searched::Sessions => "number of sessions",
        };
        let by = match self.ask.parsed.value("agents") {
            Some(agents) => format!(" with the load generators {agents}"),
            None => String::new(),
        };
        console::note(&format!(
            "Searching for the highest {what} that keeps {}{by}: about {trials} trials of {}, {} \
             in total.",
            self.ask.promise,
            human_seconds(each.as_secs_f64()),
            human_seconds(each.as_secs_f64() * trials as f64)
        ));
    }

    fn tell_ground(&self, ground: &Ground) {
        let (Some(first), Some(last)) = (ground.steps.first(), ground.steps.last()) else {
            return;
        };
        if self.ask.quiet {
            return;
        }
        let rates = ground.steps.iter().map(|step| step.events_per_s);
        console::note(&format!(
            "Closed loop, sessions from {} to {}: up to {}/s.",
            first.sessions,
            last.sessions,
            trial::shown(rates.fold(0.0, f64::max).round())
        ));
        for warning in &ground.warnings {
            console::note(warning);
        }
    }

    fn tell_trial(&self) {
        if self.ask.quiet {
            return;
        }
        let Some(found) = self.search.as_ref().map(Search::so_far) else {
            return;
        };
        let Some(judged) = found.trials.last() else {
            return;
        };
        let trial = self.trial(found.trials.len(), judged);
        let plan = self.plan();
        let load = |bound: Option<dyno_stats::search::Bound>| bound.map(|bound| bound.load);
        let bounds = (load(found.lower), load(found.upper));
        console::line(&self.look, |look| search_trial(&trial, &plan, bounds, look));
    }
}

/// The result of a search that did not begin.
fn nothing() -> dyno_stats::search::SearchSummary {
    dyno_stats::search::SearchSummary {
        ending: None,
        lower: None,
        upper: None,
        voted: (None, None),
        plausible: None,
        goodput: None,
        confirmed: false,
        loads: Vec::new(),
        trials: Vec::new(),
    }
}

/// The error for options that request loads outside the range.
fn refused(error: SearchError) -> Error {
    usage(error.to_string())
}

fn warnings(of: &UnderWay<'_>, result: &SearchResult) -> Vec<String> {
    let mut all = Vec::new();
    if result.ending == SearchEnd::Refused {
        all.push(format!("Two trials in a row are void: {}", result.why));
    }
    if let Some(ground) = &of.ground {
        all.extend(ground.warnings.iter().cloned());
    }
    let (goal, trial_s) = (&of.ask.goal, result.plan.trial_s);
    let longest_s = of.ask.promise.longest().as_secs_f64();
    if longest_s >= trial_s {
        all.push(format!(
            "The promise allows {longest_s} s, and a trial lasts {trial_s} s: events that still \
             wait when a trial ends count as late. Try a longer --time."
        ));
    }
    let at = result.lower.or(result.upper);
    let rate = match result.plan.searched {
        Searched::Rate => at,
        Searched::Sessions => result.goodput_per_s,
    };
    if let Some(rate) = rate.filter(|rate| rate * trial_s * goal.loss_ratio < LATE_FEW) {
        all.push(format!(
            "A trial has about {:.0} events, of which {:.1} may be late, so chance decides. Try a \
             longer --time.",
            rate * trial_s,
            rate * trial_s * goal.loss_ratio
        ));
    }
    all.extend(cycles(&of.runs, trial_s));
    all.extend(checkpoints(of));
    all.extend(trial::waived(&of.runs));
    all.extend(trial::refusals(&of.runs));
    all
}

/// Periodic server work that affected only some trials.
fn cycles(runs: &[RunSummary], trial_s: f64) -> Option<String> {
    let made = |run: &&RunSummary| {
        let mut findings = run.findings.iter();
        let own = findings.find(|own| own.check == "whole-cycles");
        own.is_some_and(|own| matches!(own.outcome, Found::Pass | Found::Doubt))
    };
    let met = runs.iter().filter(made).count();
    let first = runs.iter().find(made)?;
    let own = first
        .findings
        .iter()
        .find(|own| own.check == "whole-cycles")?;
    (met < runs.len()).then(|| {
        format!(
            "The server's background work fell into {met} of {} trials of {trial_s} s but not into \
             the others. In one of them: {} A longer --time includes it in each.",
            runs.len(),
            own.evidence
        )
    })
}

/// A checkpoint interval longer than a trial.
fn checkpoints(of: &UnderWay<'_>) -> Option<String> {
    let last = of.runs.last()?;
    let is_postgres = last.target.family == Some(dyno_core::db::Family::Postgres);
    if !is_postgres || last.recorded.is_none() {
        return None;
    }
    let record = of.trials.record(last).ok()?;
    let every = record.setting("checkpoint_timeout")?.to_owned();
    let seconds: f64 = match every.parse() {
        Ok(seconds) => seconds,
        Err(_) => dyno_core::units::parse_duration(&every.replace("min", "m"))
            .ok()?
            .as_secs_f64(),
    };
    (seconds > of.ask.goal.trial_duration.as_secs_f64()).then(|| {
        format!(
            "PostgreSQL makes a checkpoint every {every} (checkpoint_timeout), longer than a \
             trial: the votes do not cover the limit during a checkpoint."
        )
    })
}

/// Prints the commands that show the runs.
pub fn tell_more(ask: &Ask, found: &SearchResult) {
    let Some(file) = crate::run_store::file(&ask.parsed) else {
        return;
    };
    let results = match file.to_str() {
        Some(dyno_core::record::RESULTS_FILE) | None => String::new(),
        Some(file) => format!(" --results {}", shell_word(file)),
    };
    let own = shell_word(&format!("{FACTOR}={}", found.plan.name));
    let figure = ask
        .promise
        .latencies
        .first()
        .map_or(99.0, |own| own.percentile);
    // The percentiles that comparisons use.
    let figure = [99.0, 95.0, 50.0]
        .into_iter()
        .find(|known| figure >= *known)
        .unwrap_or(50.0);
    console::note(&format!(
        "\nIts runs:  dyno table --rows {OFFERED} --figure p{figure} --where {own}{results}\n\
         As a page: dyno report --rows {OFFERED} --where {own} -o search.html{results}"
    ));
}
