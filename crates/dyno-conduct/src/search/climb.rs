//! Finds the start of a search: a closed loop with increasing numbers of sessions, a few seconds
//! each.

use std::time::Duration;

use anyhow::Result;
use dyno_analysis::search::{ClimbStep, Searched};
use dyno_stats::search::{Loads, Start};

use super::ask::Terms;
use super::follower::{Follower, SearchEvent};
use super::trial::{Trials, loss_ratio};

/// Maximum measurement of a step, and maximum warm-up.
const STEP: Duration = Duration::from_secs(3);
/// The climb ends after two steps in a row that each gain less than this fraction over all earlier
/// ones.
const GAIN: f64 = 0.1;
/// Sessions of the last step of a search for sessions.
const SESSIONS_MAX: u32 = 1024;
/// Maximum number of sessions: more would mainly test the handling of threads and connections.
const SESSIONS_MOST: u32 = 16_384;
/// Limit of the offered rate per second.
const RATE_MAX: f64 = 1e7;
/// The lowest rate, relative to the start of the search.
const LEAST: f64 = 0.01;
/// Highest offered fraction of the load generator's ceiling: beyond it, the generator's own queue
/// adds latency.
pub(super) const CEILING_SHARE: f64 = 0.7;

/// The first load of a search, and its range of loads.
#[derive(Debug)]
pub(super) struct Ground {
    pub start: Start,
    pub loads: Loads,
    pub steps: Vec<ClimbStep>,
    pub warnings: Vec<String>,
}

/// Finds the start of the search, or takes the user's; `None` if the user ended it.
///
/// # Errors
/// A run failed.
pub(super) fn ground(
    terms: &Terms,
    trials: &mut Trials<'_>,
    follower: &mut dyn Follower,
) -> Result<Option<Ground>> {
    let mut steps = Vec::new();
    if terms.from.is_none() {
        let mut sessions = terms.fewest;
        loop {
            follower.event(SearchEvent::ClosedLoop { sessions });
            let time = STEP.min(terms.goal.trial_duration);
            let Some(run) = trials.climb(sessions, time)? else {
                return Ok(None);
            };
            let own = terms.promise.latencies.first();
            steps.push(ClimbStep {
                sessions,
                run: run.recorded.as_ref().map(|kept| kept.id),
                events_per_s: run.rates.events_per_s,
                // One limit is enough for the start.
                late_share: own.map_or(0.0, |own| loss_ratio(&run, None, own)),
            });
            if is_last(terms, &steps) {
                break;
            }
            sessions = match terms.promise.of {
                Searched::Rate => (2 * sessions).min(terms.sessions),
                Searched::Sessions => 2 * sessions,
            };
        }
    }
    Ok(Some(from(terms, steps)))
}

/// Whether further steps would add no information.
fn is_last(terms: &Terms, steps: &[ClimbStep]) -> bool {
    let Some((last, before)) = steps.split_last() else {
        return false;
    };
    let gains = gains(steps) || gains(before);
    let breaks = last.late_share > terms.goal.loss_ratio;
    match terms.promise.of {
        Searched::Rate => !gains || breaks || last.sessions >= terms.sessions,
        Searched::Sessions => breaks || last.sessions >= SESSIONS_MAX,
    }
}

/// Whether the last step's throughput clearly exceeds that of all earlier steps.
fn gains(steps: &[ClimbStep]) -> bool {
    steps.split_last().is_some_and(|(last, before)| {
        let rates = before.iter().map(|step| step.events_per_s);
        last.events_per_s > rates.fold(0.0, f64::max) * (1.0 + GAIN)
    })
}

fn from(terms: &Terms, steps: Vec<ClimbStep>) -> Ground {
    let breaks = |step: &&ClimbStep| step.late_share > terms.goal.loss_ratio;
    let mut warnings = Vec::new();
    if let Some(first) = steps.first().filter(breaks) {
        let who = match first.sessions {
            1 => "one session".to_owned(),
            few => format!("{few} sessions"),
        };
        warnings.push(match first.events_per_s > 0.0 {
            true => format!(
                "With {who} in a closed loop, {:.1} % of the events were late.",
                first.late_share * 100.0
            ),
            // No latency was measured.
            false => format!("With {who} in a closed loop, no event finished."),
        });
    }
    let (start, loads) = match terms.promise.of {
        Searched::Rate => {
            let rates = steps.iter().map(|step| step.events_per_s);
            // If no event ended, start at the minimum.
            let rate = terms.from.unwrap_or(rates.fold(0.0, f64::max)).max(1.0);
            let loads = Loads::rates(rate * LEAST, RATE_MAX);
            (Start::from_knee(rate.min(RATE_MAX)), loads)
        }
        Searched::Sessions => {
            let candidates = match terms.from {
                Some(from) => vec![from],
                None => {
                    let broke = steps.iter().find(breaks);
                    let kept = steps.iter().take_while(|step| !breaks(step)).last();
                    let found = [kept, broke].into_iter().flatten();
                    found.map(|step| f64::from(step.sessions)).collect()
                }
            };
            (
                Start { candidates },
                Loads::whole(terms.fewest, SESSIONS_MOST),
            )
        }
    };
    Ground {
        start,
        loads,
        steps,
        warnings,
    }
}

#[cfg(test)]
mod tests {
    use super::super::ask::SearchSettings;
    use super::super::promise;
    use super::*;

    fn terms(promise: &str) -> Terms {
        let promise = promise::parse(promise).unwrap();
        Terms::new(promise, &SearchSettings::default(), 1, 64).unwrap()
    }

    /// Steps of 1, 2, 4 … sessions, from rates and fractions of late events.
    fn steps(of: &[(f64, f64)]) -> Vec<ClimbStep> {
        let step = |(at, &(events_per_s, late_share)): (usize, &(f64, f64))| ClimbStep {
            sessions: 1 << at,
            run: None,
            events_per_s,
            late_share,
        };
        of.iter().enumerate().map(step).collect()
    }

    #[test]
    fn the_climb_ends_where_more_sessions_gain_nothing_or_break_the_promise() {
        let rate = terms("p99 < 10ms");
        let last = |terms: &Terms, of: &[(f64, f64)]| is_last(terms, &steps(of));
        assert!(last(&rate, &[(0.0, 0.0)]));
        assert!(!last(&rate, &[(100.0, 0.0), (190.0, 0.0)]));
        // One step without a gain can be chance.
        assert!(!last(&rate, &[(100.0, 0.0), (190.0, 0.0), (195.0, 0.0)]));
        assert!(last(
            &rate,
            &[(100.0, 0.0), (190.0, 0.0), (195.0, 0.0), (200.0, 0.0)]
        ));
        assert!(last(&rate, &[(100.0, 0.0), (190.0, 0.02)]));
        let sessions = terms("max sessions with p99 < 10ms");
        assert!(!last(
            &sessions,
            &[(100.0, 0.0), (100.0, 0.0), (100.0, 0.0)]
        ));
        assert!(last(&sessions, &[(100.0, 0.0), (100.0, 0.02)]));
    }

    #[test]
    fn a_search_begins_where_the_climb_ended() {
        let ground = from(&terms("p99 < 10ms"), steps(&[(100.0, 0.0), (400.0, 0.3)]));
        assert_eq!(ground.start, Start::from_knee(400.0));
        assert_eq!((ground.loads.min, ground.loads.max), (4.0, RATE_MAX));
        assert!(ground.warnings.is_empty());
        let sessions = terms("max sessions with p99 < 10ms");
        let ground = from(&sessions, steps(&[(1.0, 0.0), (1.0, 0.0), (1.0, 0.3)]));
        assert_eq!(ground.start.candidates, [2.0, 4.0]);
        let ground = from(&sessions, steps(&[(1.0, 0.5)]));
        assert_eq!(ground.start.candidates, [1.0]);
        assert!(ground.warnings[0].contains("50.0 % of the events were late"));
        let ground = from(&sessions, steps(&[(0.0, 1.0)]));
        let expected = "With one session in a closed loop, no event finished.";
        assert_eq!(ground.warnings, [expected]);
    }
}
