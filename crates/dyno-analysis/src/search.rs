//! A search for the highest load that keeps a promise such as `p99 < 10 ms`: its parameters, trials
//! and result.

use dyno_core::record::{Fact, RunRecord};
use dyno_stats::Bounds;
use dyno_stats::search::{self as stats, Class, Outcome, Purpose, SearchSummary};
use serde::Serialize;

/// What a search varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Searched {
    /// Events per second of an open loop.
    Rate,
    /// Sessions of a closed loop.
    Sessions,
}

/// Why a search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchEnd {
    /// The bounds are close enough, and the lower one is confirmed.
    Found,
    /// The greatest allowed load kept the promise.
    Ceiling,
    /// The least load broke it.
    Floor,
    /// No load was confirmed.
    Unconfirmed,
    /// The load generator, not the server, was the limit.
    Refused,
    /// Other processes on the host took the load generator's CPU time.
    Crowded,
    /// The trials that were allowed did not decide it.
    Exhausted,
    /// The user ended it.
    Interrupted,
    /// A run failed.
    Failed,
}

impl From<stats::Ending> for SearchEnd {
    fn from(ending: stats::Ending) -> Self {
        match ending {
            stats::Ending::Bounded => Self::Found,
            stats::Ending::Ceiling => Self::Ceiling,
            stats::Ending::Floor => Self::Floor,
            stats::Ending::Unconfirmed => Self::Unconfirmed,
            stats::Ending::Refused => Self::Refused,
            stats::Ending::Exhausted => Self::Exhausted,
        }
    }
}

/// A range of loads.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Range {
    /// The smaller.
    pub low: f64,
    /// The greater.
    pub high: f64,
}

impl From<Bounds> for Range {
    fn from(bounds: Bounds) -> Self {
        Self {
            low: bounds.low,
            high: bounds.high,
        }
    }
}

/// What was decided about a load, or about a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    /// It kept the promise.
    Keeps,
    /// It broke the promise.
    Breaks,
    /// A load with too few trials for a decision.
    Undecided,
    /// A trial that says nothing about the server.
    Void,
}

/// A load and its votes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadVotes {
    /// Events per second, or sessions.
    pub load: f64,
    /// Its final judgement.
    pub judged: Judgement,
    /// Votes that the promise was kept.
    pub good: usize,
    /// Votes that the promise was broken.
    pub bad: usize,
    /// Confirming trials that kept it.
    pub confirmed: usize,
    /// Confirming trials that broke it.
    pub broken: usize,
    /// Events per second answered correctly and in time; only if rates are searched.
    pub goodput_per_s: Option<f64>,
}

/// A trial, which is a recorded run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchTrial {
    /// The number of the trial, from 1.
    pub number: usize,
    /// The run's number in the results file; `None` if it is not recorded.
    pub run: Option<i64>,
    /// Offered events per second, or sessions.
    pub load: f64,
    /// Whether it is a confirming trial.
    pub confirms: bool,
    /// Its judgement.
    pub judged: Judgement,
    /// The share of the events that were not answered correctly in time; `None` if it is void.
    pub late_share: Option<f64>,
    /// Events that ended, per second.
    pub events_per_s: f64,
    /// Why it is void, or what it broke apart from the promise of the first percentile. May be
    /// empty.
    pub why: String,
}

/// A closed-loop run before the search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClimbStep {
    /// Sessions.
    pub sessions: u32,
    /// The run's number in the results file.
    pub run: Option<i64>,
    /// Events per second.
    pub events_per_s: f64,
    /// The share of events that exceeded the promised latency.
    pub late_share: f64,
}

/// The parameters of a search: the promise, and how reliable the answer must be.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchPlan {
    /// The level of the factor `search` of its runs.
    pub name: String,
    /// The workload.
    pub workload: String,
    /// The server, as it reports itself; may be empty.
    pub server: String,
    /// For display, e.g. `p99 < 10 ms`.
    pub promise: String,
    /// What is varied.
    pub searched: Searched,
    /// Sessions that share the open loop's events; `None` in a closed loop.
    pub sessions: Option<u32>,
    /// The share of events that may be late.
    pub loss_ratio: f64,
    /// The largest gap between the bounds, as a share of the lower one.
    pub width: f64,
    /// Votes per load.
    pub votes: u32,
    /// Number of confirming trials.
    pub confirming: usize,
    /// The measured time of a trial, in seconds.
    pub trial_s: f64,
    /// The warm-up of a trial, in seconds.
    pub settle_s: f64,
    /// The greatest allowed load, if the load generator's ceiling is known.
    pub greatest: Option<f64>,
}

/// A finished search.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SearchResult {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Its parameters.
    #[serde(flatten)]
    pub plan: SearchPlan,
    /// Why it ended.
    pub ending: SearchEnd,
    /// Details in words. May be empty.
    pub why: String,
    /// The highest load that keeps the promise.
    pub lower: Option<f64>,
    /// The smallest load that breaks the promise.
    pub upper: Option<f64>,
    /// The lower bound from the votes alone, before it was confirmed or refuted.
    pub voted: Option<f64>,
    /// The plausible range of the limit.
    pub plausible: Option<Range>,
    /// Events per second answered correctly and in time at `lower`.
    pub goodput_per_s: Option<f64>,
    /// Whether confirming trials confirmed `lower`.
    pub confirmed: bool,
    /// All tried loads, ascending.
    pub loads: Vec<LoadVotes>,
    /// All trials, in time order.
    pub trials: Vec<SearchTrial>,
    /// The closed-loop runs that gave the starting point.
    pub climb: Vec<ClimbStep>,
    /// Warnings about the result, in whole sentences.
    pub warnings: Vec<String>,
    /// How long the search took, in seconds.
    pub elapsed_s: f64,
}

/// The version of the JSON format.
pub const SCHEMA_VERSION: u32 = 1;

impl SearchResult {
    /// Combines the result of a search with the data of its trials. Both lists have the same order.
    pub fn of(plan: SearchPlan, found: &SearchSummary, trials: Vec<SearchTrial>) -> Self {
        let lower = found.lower.map(|bound| bound.load);
        let goodput_per_s = match plan.searched {
            Searched::Rate => found.goodput,
            Searched::Sessions => lower.and_then(|load| median_rate(&trials, load)),
        };
        Self {
            schema_version: SCHEMA_VERSION,
            ending: found.ending.map_or(SearchEnd::Interrupted, SearchEnd::from),
            why: String::new(),
            lower,
            upper: found.upper.map(|bound| bound.load),
            voted: found.voted.0.map(|bound| bound.load),
            plausible: found.plausible.map(Range::from),
            goodput_per_s,
            confirmed: found.confirmed,
            loads: (found.loads.iter())
                .map(|tried| LoadVotes::of(tried, plan.searched))
                .collect(),
            plan,
            trials,
            climb: Vec::new(),
            warnings: Vec::new(),
            elapsed_s: 0.0,
        }
    }

    /// The facts that its runs record, beginning with the answer in words.
    pub fn facts(&self, answer: String) -> Vec<Fact> {
        let mut facts = Vec::new();
        let mut put = |name: &str, value: String| {
            facts.push(Fact::new(name, value, "dyno search"));
        };
        put(ANSWER, answer);
        put("search.promise", self.plan.promise.clone());
        put("search.ending", word(&self.ending));
        put("search.confirmed", self.confirmed.to_string());
        for (bound, load) in [("lower", self.lower), ("upper", self.upper)] {
            let Some(load) = load else { continue };
            put(&format!("search.{bound}"), load.to_string());
            let Some(votes) = self.votes(load) else {
                continue;
            };
            let of = |kept: usize, broken: usize| format!("{kept} of {}", kept + broken);
            put(&format!("search.{bound}.votes"), of(votes.good, votes.bad));
            if votes.confirmed + votes.broken > 0 {
                let further = of(votes.confirmed, votes.broken);
                put(&format!("search.{bound}.confirming"), further);
            }
        }
        facts
    }

    /// The votes on a load.
    pub fn votes(&self, load: f64) -> Option<&LoadVotes> {
        self.loads.iter().find(|own| own.load == load)
    }
}

/// The name of the fact that contains a search's answer.
pub const ANSWER: &str = "search.answer";

/// The answer of the search to which all of these runs belong, if there is one.
pub fn answer_of(runs: &[RunRecord]) -> Option<&str> {
    let of = |run: &'_ RunRecord| -> Option<usize> {
        run.facts.iter().position(|fact| fact.name == ANSWER)
    };
    let first = runs.first()?;
    let answer = first.facts.get(of(first)?)?.value.as_str();
    let name = first.head.factors.get(FACTOR)?;
    let same = |run: &RunRecord| run.head.factors.get(FACTOR) == Some(name);
    runs.iter().all(same).then_some(answer)
}

/// The name of the factor that contains a search's name.
pub const FACTOR: &str = "search";

/// A value as JSON writes it.
fn word(value: &impl Serialize) -> String {
    let json = serde_json::to_value(value).unwrap_or_default();
    json.as_str().unwrap_or_default().to_owned()
}

/// The median rate of the trials at a load that kept the promise.
fn median_rate(trials: &[SearchTrial], load: f64) -> Option<f64> {
    let kept = trials
        .iter()
        .filter(|trial| trial.load == load && trial.judged == Judgement::Keeps);
    dyno_stats::median(&kept.map(|trial| trial.events_per_s).collect::<Vec<_>>())
}

impl LoadVotes {
    fn of(tried: &stats::Tried, searched: Searched) -> Self {
        Self {
            load: tried.load,
            judged: match tried.class {
                Class::Lower => Judgement::Keeps,
                Class::Upper => Judgement::Breaks,
                Class::Undecided => Judgement::Undecided,
            },
            good: tried.good,
            bad: tried.bad,
            confirmed: tried.confirmed,
            broken: tried.broken,
            // The value is 0 if there are too few measurements.
            goodput_per_s: tried
                .goodput
                .filter(|goodput| searched == Searched::Rate && *goodput > 0.0),
        }
    }
}

impl SearchTrial {
    /// The trial with this number, as the search judged it.
    pub fn of(number: usize, judged: &stats::Judged) -> Self {
        let (late_share, why) = match &judged.trial.outcome {
            Outcome::Measured { loss_ratio, .. } => (Some(*loss_ratio), String::new()),
            Outcome::Void { why } => (None, why.clone()),
        };
        Self {
            number,
            run: None,
            load: judged.load,
            confirms: judged.trial.purpose == Purpose::Confirm,
            judged: match judged.good {
                Some(true) => Judgement::Keeps,
                Some(false) => Judgement::Breaks,
                None => Judgement::Void,
            },
            late_share,
            events_per_s: 0.0,
            why,
        }
    }
}
