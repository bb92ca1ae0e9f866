//! Check 7: how evenly the work was distributed over sessions, workers and endpoints.

use dyno_core::finding::Outcome;
use dyno_core::record::SessionShare;
use dyno_stats::jain;

use crate::check::{Check, CheckResult, advice, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const FAIRNESS: Check = Check {
    number: 7,
    name: "fairness",
    title: "Events per session, worker and endpoint",
    rule: "Doubt if Jain's index over sessions or workers is below {0}, a session did nothing \
           while the others did {1} events each, or an endpoint got less than {2} % of its fair \
           share.",
    thresholds: &[JAIN_MIN, EVENTS_FEW, ENDPOINT_SHARE],
    make: fairness,
};

thresholds! {
    JAIN_MIN = 0.9, "ratio", "Jain's index":
        "one idle session in ten, or a spread of a third of the mean (Jain, Chiu and Hawe, \"A \
         Quantitative Measure of Fairness\")";
    EVENTS_FEW = 20.0, "count", "events per session":
        "with fewer, chance brings the index below its bound";
    ENDPOINT_SHARE = 50.0, "percent", "endpoint's part of its fair share":
        "sessions are spread evenly over endpoints";
}

fn fairness_advice(view: &View, uneven_workers: bool, weak_endpoint: bool) -> String {
    let one_writes = view.embedded() && view.totals().writes > 0;
    advice(&[
        (
            one_writes,
            "SQLite lets one session write at a time, in no fair order: measure writes with one \
             session.",
        ),
        (
            !one_writes && !uneven_workers && !weak_endpoint,
            "Look for a lock that one session holds, or a script that treats sessions differently.",
        ),
        (
            !one_writes && uneven_workers,
            "Look at client-cpu: a worker may get less CPU, or a session's script may block it.",
        ),
        (
            weak_endpoint,
            "Look at that endpoint: the node may be slower, or accept no connections.",
        ),
    ])
}

fn fairness(view: &View) -> CheckResult {
    let Some(spread) = Spread::of(view) else {
        return Missing::Fairness.or(view, "How the work was spread over sessions is not known.");
    };
    if spread.sessions < 2 {
        return CheckResult::not_checked("There was only one session.");
    }
    if spread.mean < EVENTS_FEW.value {
        return CheckResult::not_checked(format!(
            "{} events per session are too few to distinguish unfairness from chance; {} are \
             needed.",
            text::plain(spread.mean),
            text::plain(EVENTS_FEW.value)
        ));
    }
    let workers = worker_index(view);
    let endpoint = weakest_endpoint(view);
    let uneven_workers = workers.is_some_and(|index| index < JAIN_MIN.value);
    let weak = endpoint
        .as_ref()
        .is_some_and(|(_, share)| *share < ENDPOINT_SHARE.value);
    let mut faults = Vec::new();
    if spread.index < JAIN_MIN.value {
        faults.push("sessions were served unevenly".to_owned());
    }
    if spread.fewest == Some(0) {
        faults.push("at least one session did nothing".to_owned());
    }
    if uneven_workers {
        faults.push("one worker's sessions got more than another's".to_owned());
    }
    if let Some((name, share)) = endpoint.as_ref().filter(|_| weak) {
        let share = text::plain(*share);
        faults.push(format!("{name} got {share} % of its fair share"));
    }
    let facts = spread.facts();
    let (outcome, evidence) = match faults.is_empty() {
        true => (Outcome::Pass, facts),
        false => (
            Outcome::Doubt,
            format!("{} {facts}", text::sentence(&text::list(&faults))),
        ),
    };
    CheckResult::of(
        outcome,
        evidence,
        &fairness_advice(view, uneven_workers, weak),
    )
    .with("Jain's index over sessions", spread.index, "ratio")
    .with_some("Jain's index over workers", workers, "ratio")
    .with_some(
        "fewest events of a session",
        spread.fewest.map(|count| count as f64),
        "count",
    )
    .with_some(
        "most events of a session",
        spread.most.map(|count| count as f64),
        "count",
    )
    .with_some(
        "weakest endpoint",
        endpoint.map(|(_, share)| share),
        "percent of its fair share",
    )
}

struct Spread {
    sessions: usize,
    mean: f64,
    /// `None` if a log only has mean and deviation.
    fewest: Option<u64>,
    most: Option<u64>,
    deviation: f64,
    index: f64,
}

impl Spread {
    fn facts(&self) -> String {
        format!(
            "{} sessions did {}; Jain's index is {}.",
            self.sessions,
            self.did(),
            text::plain(self.index)
        )
    }

    fn did(&self) -> String {
        match (self.fewest, self.most) {
            (Some(fewest), Some(most)) => format!(
                "{} to {} events, {} on average",
                text::count(fewest),
                text::count(most),
                text::plain(self.mean)
            ),
            _ => format!(
                "{} events on average, with a standard deviation of {}; the fewest and the most \
                 are not known",
                text::plain(self.mean),
                text::plain(self.deviation)
            ),
        }
    }

    fn of(view: &View) -> Option<Self> {
        let peers = peers(view);
        if !peers.is_empty() {
            let events: Vec<f64> = peers.iter().map(|s| s.events as f64).collect();
            return Some(Self {
                sessions: events.len(),
                mean: events.iter().sum::<f64>() / events.len() as f64,
                fewest: peers.iter().map(|s| s.events).min(),
                most: peers.iter().map(|s| s.events).max(),
                deviation: 0.0,
                index: jain(&events)?,
            });
        }
        // A log has only mean and standard deviation, which determine the index.
        let fairness = view.summary()?.fairness?;
        if fairness.events_mean.is_nan() || fairness.events_mean <= 0.0 {
            return None;
        }
        let variation = fairness.events_stddev / fairness.events_mean;
        Some(Self {
            sessions: view.drive().map_or(1, |drive| drive.sessions) as usize,
            mean: fairness.events_mean,
            fewest: fairness.events_min,
            most: fairness.events_max,
            deviation: fairness.events_stddev,
            index: 1.0 / (1.0 + variation * variation),
        })
    }
}

/// The sessions that do the same work: all, or, with roles, those of the largest foreground role.
fn peers<'a>(view: &View<'a>) -> Vec<&'a SessionShare> {
    let sessions = view.run.sessions.iter();
    let roles = view.drive().map_or(&[][..], |drive| &drive.roles);
    let mut first = 0;
    let mut largest: Option<(u32, u32)> = None;
    for role in roles {
        let larger = largest.is_none_or(|(_, most)| role.sessions > most);
        if !role.background && larger {
            largest = Some((first, role.sessions));
        }
        first += role.sessions;
    }
    match largest {
        Some((first, count)) => sessions
            .filter(|session| (first..first + count).contains(&session.session))
            .collect(),
        None => sessions.collect(),
    }
}

/// Events per session of each worker, and their evenness.
fn worker_index(view: &View) -> Option<f64> {
    let mut workers: Vec<(u32, f64, f64)> = Vec::new();
    for session in peers(view) {
        match workers
            .iter_mut()
            .find(|(worker, ..)| *worker == session.worker)
        {
            Some((_, events, sessions)) => {
                *events += session.events as f64;
                *sessions += 1.0;
            }
            None => workers.push((session.worker, session.events as f64, 1.0)),
        }
    }
    let means: Vec<f64> = workers.iter().map(|(_, events, n)| events / n).collect();
    if means.len() > 1 { jain(&means) } else { None }
}

/// The endpoint with the smallest part of its fair share, in percent of that. With few sessions per
/// endpoint the shares are uneven by construction.
fn weakest_endpoint(view: &View) -> Option<(String, f64)> {
    let endpoints = &view.summary()?.endpoints;
    let sessions = view.drive()?.sessions as usize;
    let total: u64 = endpoints.iter().map(|endpoint| endpoint.queries).sum();
    if endpoints.len() < 2 || sessions < 2 * endpoints.len() || total == 0 {
        return None;
    }
    let fair = total as f64 / endpoints.len() as f64;
    let weakest = endpoints.iter().min_by_key(|endpoint| endpoint.queries)?;
    Some((weakest.name.clone(), weakest.queries as f64 / fair * 100.0))
}
