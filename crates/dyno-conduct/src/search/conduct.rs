//! Conducts the search: runs the trials that the state machine of [`dyno_stats::search`] requests.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Error, Result};
use dyno_analysis::search::{SearchEnd, SearchPlan, SearchResult, SearchTrial, Searched};
use dyno_core::Clock;
use dyno_core::summary::RunSummary;
use dyno_load::StopSignal;
use dyno_results::Results;
use dyno_run::Notice;
use dyno_stats::search::{Asked, Bound, Judged, Next, Search, SearchError};

use super::ask::Ask;
use super::climb::{self, CEILING_SHARE, Ground};
use super::follower::{Follower, SearchEvent};
use super::trial::{self, Ended, Trials};
use super::warnings::warnings;
use crate::hosts::Hosts;
use crate::stage::Stage;
use crate::usage;

/// Typical number of loads in a search: with seven votes per load, simulated searches need about
/// thirty trials.
const LOADS: usize = 8;
/// Approximate overhead of a trial with its own agents: to start them, compare clocks, and end
/// them.
const AGENTS_BEGIN: Duration = Duration::from_secs(3);

/// Searches until the end, an interrupt or an error; returns the result so far, and the error.
pub fn conduct(
    ask: &Ask,
    hosts: &Hosts,
    stop: &Arc<StopSignal>,
    stage: &mut dyn Stage,
    follower: &mut dyn Follower,
) -> (SearchResult, Option<Error>) {
    let began = Clock.now();
    let trials = Trials {
        ask,
        hosts,
        stop,
        stage: &mut *stage,
        begun: 0,
    };
    let mut under_way = UnderWay::new(trials, &mut *follower);
    let trouble = under_way.go(|trials, load| trials.at(load)).err();
    let mut found = under_way.result();
    found.elapsed_s = Clock.now().saturating_sub(began) as f64 / 1e9;
    if trouble.is_some() {
        found.ending = SearchEnd::Failed;
    }
    if let Err(error) = keep(ask, &found, follower.answer(&found)) {
        let why = format!("cannot store the answer: {error:#}");
        stage.notice(&Notice::Warning(why));
    }
    (found, trouble)
}

/// Stores the answer with the trials.
fn keep(ask: &Ask, found: &SearchResult, answer: String) -> Result<()> {
    let ids: Vec<i64> = found.trials.iter().filter_map(|trial| trial.run).collect();
    if let Some(file) = &ask.base.plan.record.file
        && !ids.is_empty()
    {
        Results::open(file)?.add_facts(&ids, &found.facts(answer))?;
    }
    Ok(())
}

struct UnderWay<'a> {
    ask: &'a Ask,
    trials: Trials<'a>,
    follower: &'a mut dyn Follower,
    ground: Option<Ground>,
    search: Option<Search>,
    /// The trials' runs, in order.
    runs: Vec<RunSummary>,
    /// The promises that each trial broke, except the first percentile's.
    whys: Vec<String>,
    /// Whether the last trial is void because of other processes.
    is_crowded: bool,
    greatest: Option<f64>,
}

impl<'a> UnderWay<'a> {
    fn new(trials: Trials<'a>, follower: &'a mut dyn Follower) -> Self {
        Self {
            ask: trials.ask,
            trials,
            follower,
            ground: None,
            search: None,
            runs: Vec::new(),
            whys: Vec::new(),
            is_crowded: false,
            greatest: None,
        }
    }

    /// Searches until the end or an interrupt; `at` runs a trial at a load.
    fn go(
        &mut self,
        mut at: impl FnMut(&mut Trials<'a>, f64) -> Result<Option<Ended>>,
    ) -> Result<()> {
        self.begin();
        let terms = &self.ask.terms;
        let Some(ground) = climb::ground(terms, &mut self.trials, self.follower)? else {
            return Ok(());
        };
        self.follower.event(SearchEvent::Ground {
            steps: &ground.steps,
            warnings: &ground.warnings,
        });
        let new = Search::new(terms.goal.clone(), ground.loads, &ground.start);
        let mut search = new.map_err(refused)?;
        self.ground = Some(ground);
        while let Next::Trial(asked) = search.next() {
            self.search = Some(search.clone());
            if self.trials.is_stopped() {
                break;
            }
            self.follower.event(SearchEvent::Trial {
                number: self.runs.len() + 1,
                asked,
                of: terms.promise.of,
            });
            let Some(ended) = at(&mut self.trials, asked.load)? else {
                break;
            };
            self.take(&mut search, asked, ended)?;
            self.search = Some(search.clone());
            self.judged();
        }
        Ok(())
    }

    fn take(&mut self, search: &mut Search, asked: Asked, ended: Ended) -> Result<()> {
        let Ended {
            run,
            outcome,
            is_crowded,
            why,
        } = ended;
        search.observe(asked.ended(outcome))?;
        if self.ask.terms.promise.of == Searched::Rate
            && self.greatest.is_none()
            && let Some(ceiling) = trial::ceiling(&run)
        {
            *search = self.bounded(search, CEILING_SHARE * ceiling)?;
        }
        self.whys.push(why);
        self.is_crowded = is_crowded;
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
        let goal = self.ask.terms.goal.clone();
        Ok(Search::replay(goal, ground.loads, &ground.start, trials)?)
    }

    fn plan(&self) -> SearchPlan {
        let Ask {
            base, name, terms, ..
        } = self.ask;
        let goal = &terms.goal;
        let server = self.runs.first().map_or_else(String::new, |run| {
            let target = &run.target;
            format!("{} {}", target.product, target.version)
                .trim()
                .to_owned()
        });
        SearchPlan {
            name: name.clone(),
            workload: base.plan.workload.clone(),
            server,
            promise: terms.promise.to_string(),
            searched: terms.promise.of,
            sessions: (terms.promise.of == Searched::Rate).then_some(terms.sessions),
            loss_ratio: goal.loss_ratio,
            width: goal.width,
            votes: terms.votes,
            confirming: goal.confirm.as_ref().map_or(0, |confirm| confirm.trials),
            trial_s: goal.trial_duration.as_secs_f64(),
            settle_s: terms.settle.as_secs_f64(),
            greatest: self.greatest,
        }
    }

    fn trial(&self, number: usize, judged: &Judged) -> SearchTrial {
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
        let found = found.unwrap_or_default();
        let judged = found.trials.iter().enumerate();
        let trials = judged
            .map(|(at, judged)| self.trial(at + 1, judged))
            .collect();
        let mut result = SearchResult::of(plan, &found, trials);
        if result.ending == SearchEnd::Refused
            && let Some(last) = result.trials.last()
        {
            result.why.clone_from(&last.why);
            if self.is_crowded {
                result.ending = SearchEnd::Crowded;
            }
        }
        let ground = self.ground.as_ref();
        result.warnings = warnings(&self.ask.terms, ground, &self.runs, &result);
        if let Some(ground) = self.ground {
            result.climb = ground.steps;
        }
        result
    }

    /// Announces the search, with an estimate of its trials.
    fn begin(&mut self) {
        let terms = &self.ask.terms;
        let goal = &terms.goal;
        let confirming = goal.confirm.as_ref().map_or(0, |confirm| confirm.trials);
        let begins = match self.trials.hosts.fleet {
            Some(_) => AGENTS_BEGIN,
            None => Duration::ZERO,
        };
        self.follower.event(SearchEvent::Begun {
            ask: self.ask,
            // Half of the votes plus one decide most loads.
            trials: LOADS * (terms.votes as usize / 2 + 1) + confirming,
            each: goal.trial_duration + terms.settle + begins,
        });
    }

    /// Announces the last trial, with the bounds after it.
    fn judged(&mut self) {
        let Some(found) = self.search.as_ref().map(Search::so_far) else {
            return;
        };
        let Some(judged) = found.trials.last() else {
            return;
        };
        let trial = self.trial(found.trials.len(), judged);
        let plan = self.plan();
        let load = |bound: Option<Bound>| bound.map(|bound| bound.load);
        self.follower.event(SearchEvent::Judged {
            trial: &trial,
            plan: &plan,
            bounds: (load(found.lower), load(found.upper)),
        });
    }
}

/// The error for options that request loads outside the range.
fn refused(error: SearchError) -> Error {
    usage(error.to_string())
}

#[cfg(test)]
mod tests {
    use dyno_analysis::search::Judgement::{self, Breaks, Keeps, Void};
    use dyno_core::finding::{Cause, Finding, Outcome as Found};
    use dyno_core::plan::RecordPlan;
    use dyno_core::summary::LatencyLimit;
    use dyno_host::Edition;
    use dyno_run::{Job, Loaded, Measured, Ready, Sinks, Workload};
    use dyno_samples::values;

    use super::*;
    use crate::command::Command;
    use crate::plans::{self, Shaping};
    use crate::search::{SearchSettings, promise};

    /// Follows nothing.
    struct Quiet;

    impl Stage for Quiet {
        fn open(&mut self) -> Result<()> {
            Ok(())
        }

        fn notice(&mut self, _: &Notice) {}

        fn command(&mut self, _: &mut Ready, _: &str) -> Result<()> {
            Ok(())
        }

        fn begin(&mut self, _: &Ready) -> Sinks {
            Sinks::default()
        }

        fn end(&mut self, _: Option<&Measured>) {}
    }

    impl Follower for Quiet {
        fn event(&mut self, _: SearchEvent<'_>) {}

        fn answer(&self, _: &SearchResult) -> String {
            String::new()
        }
    }

    fn base() -> Command {
        let job = Job::of(Workload::find("cpu", Edition::Dyno).unwrap());
        let mut loaded = Loaded::new(job).unwrap();
        let shaping = Shaping {
            command: "run".to_owned(),
            workload: "cpu".to_owned(),
            temporary: false,
            ladder: Vec::new(),
            agents: Default::default(),
            warmup: false,
            given: None,
            unchanged: true,
        };
        let (record, sinks) = (RecordPlan::default(), Sinks::default());
        let plan = plans::make(&shaping, &mut loaded, &[], record, &sinks).unwrap();
        Command {
            plan,
            name: "run".to_owned(),
            loaded,
            own: Vec::new(),
            shaping,
            temporary: None,
        }
    }

    /// The trials of a script, each with its late events of 1,000 and its findings.
    fn searched(script: &[(u64, &[Finding])]) -> SearchResult {
        let settings = SearchSettings {
            from: Some(100.0),
            votes: Some(1),
            ..SearchSettings::default()
        };
        let promise = promise::parse("p99 < 10ms").unwrap();
        let (hosts, stop) = (Hosts::default(), StopSignal::new());
        let mut ask = Ask::new(base(), &hosts, promise, "mine".to_owned(), &settings).unwrap();
        // As with a server.
        ask.is_embedded = false;
        let (mut stage, mut follower) = (Quiet, Quiet);
        let trials = Trials {
            ask: &ask,
            hosts: &hosts,
            stop: &stop,
            stage: &mut stage,
            begun: 0,
        };
        let mut under_way = UnderWay::new(trials, &mut follower);
        let mut script = script.iter();
        let scripted = |trials: &mut Trials<'_>, _: f64| {
            let (late, findings) = script.next().expect("a trial that is not in the script");
            let mut run = RunSummary {
                findings: findings.to_vec(),
                latency_limit: Some(LatencyLimit {
                    limit_ms: 10.0,
                    above: *late,
                    skipped: 0,
                }),
                ..RunSummary::default()
            };
            run.totals.events = 1000;
            trials.judged(run).map(Some)
        };
        under_way.go(scripted).unwrap();
        under_way.result()
    }

    #[test]
    fn two_trials_in_a_row_without_cpu_time_end_a_search() {
        let finding = |check: &str| values::finding(check, 1, Found::Doubt, "Evidence.");
        let starved = Finding {
            causes: vec![Cause::StarvedWorker],
            ..finding("client-cpu")
        };
        let alone: &[Finding] = std::slice::from_ref(&starved);
        let crowded: &[Finding] = &[starved.clone(), finding("other-load")];
        let judged = |found: &SearchResult| -> Vec<Judgement> {
            found.trials.iter().map(|trial| trial.judged).collect()
        };
        // A single void trial is repeated at the same load.
        let found = searched(&[
            (0, &[]),
            (500, crowded),
            (500, &[]),
            (500, crowded),
            (500, crowded),
        ]);
        assert_eq!(judged(&found), [Keeps, Void, Breaks, Void, Void]);
        let loads: Vec<f64> = found.trials.iter().map(|trial| trial.load).collect();
        assert_eq!(loads[1], loads[2]);
        assert_eq!(found.ending, SearchEnd::Crowded);
        assert!(
            found.why.starts_with("other-load: Evidence."),
            "{}",
            found.why
        );
        let warning = &found.warnings[0];
        let words = "Two trials in a row are void: other-load: Evidence.";
        assert!(warning.starts_with(words), "{warning}");
        // The last trial decides.
        for (last, ending, check) in [
            (crowded, SearchEnd::Crowded, "other-load"),
            (alone, SearchEnd::Refused, "client-cpu"),
        ] {
            let first = if last.len() == 1 { crowded } else { alone };
            let found = searched(&[(500, first), (500, last)]);
            assert_eq!(judged(&found), [Void, Void]);
            assert_eq!(found.ending, ending);
            assert!(found.why.starts_with(check), "{}", found.why);
        }
        // A trial that keeps the promise counts, whatever else ran.
        let found = searched(&[(0, crowded), (500, crowded), (500, crowded)]);
        assert_eq!(judged(&found), [Keeps, Void, Void]);
    }
}
