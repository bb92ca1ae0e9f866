//! Simulated servers: the share of late events by load.

#![allow(clippy::unwrap_used)] // helper functions are test code too

use std::time::Duration;

use dyno_stats::search::{Asked, Goal, Loads, Next, Outcome, Search, SearchSummary, Start};

use super::Source;
use super::cases::{Asked as Share, Case};

/// The load at which p99 is just as long as the promise allows.
pub(crate) const KNEE: f64 = 9_080.0;
/// The server never answers more events per second than this.
const CAPACITY: f64 = 10_000.0;

/// How much trials at the same load vary.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Server {
    /// How much p99 varies from trial to trial, on a logarithmic scale.
    pub noise: f64,
    /// The share of trials in which a disturbance makes p99 two to six times as long.
    pub spikes: f64,
}

/// The noise for which the number of votes was chosen.
pub(crate) const NOISY: Server = Server {
    noise: 0.1,
    spikes: 0.07,
};

impl Server {
    /// The loss ratio of a trial at a load. Times are exponential, and their mean grows as in a
    /// queue with one server.
    pub(crate) fn loss_ratio(self, source: &mut Source, load: f64) -> f64 {
        if load >= CAPACITY {
            return (1.0 - CAPACITY / load).max(0.5);
        }
        let mut p99 = (CAPACITY - KNEE) / (CAPACITY - load) * (self.noise * source.normal()).exp();
        if source.uniform() < self.spikes {
            p99 *= 2.0 + 4.0 * source.uniform();
        }
        0.01f64.powf(1.0 / p99)
    }

    pub(crate) fn measure(self, source: &mut Source, asked: &Asked) -> Outcome {
        Outcome::Measured {
            loss_ratio: self.loss_ratio(source, asked.load),
            duration: asked.duration,
            kept: true,
        }
    }

    pub(crate) fn search(self, source: &mut Source, goal: Goal, start: &Start) -> SearchSummary {
        let loads = Loads::rates(100.0, 100_000.0);
        let mut search = Search::new(goal, loads, start).unwrap();
        loop {
            match search.next() {
                Next::Trial(asked) => {
                    let outcome = self.measure(source, &asked);
                    search.observe(asked.ended(outcome)).unwrap();
                }
                Next::Done(found) => return *found,
            }
        }
    }
}

/// The saturation point of a closed loop, a little below what the server can do.
pub(crate) const CLOSED_LOOP: f64 = 9_900.0;

/// Whether the lower bound of the votes is within 2 % of the limit.
pub(crate) fn near(found: &SearchSummary) -> bool {
    let lower = found.voted.0;
    lower.is_some_and(|bound| (bound.load / KNEE - 1.0).abs() <= 0.02)
}

/// What searches with the defaults promise.
pub(crate) fn cases() -> Vec<Case> {
    let starts = [
        ("from a closed loop's knee", Start::from_knee(CLOSED_LOOP)),
        ("from the middle of the loads", Start::default()),
    ];
    let noises = [
        ("p99 varies by 10 %, 7 % of spikes", NOISY),
        (
            "p99 varies by 20 %",
            Server {
                noise: 0.2,
                spikes: 0.0,
            },
        ),
    ];
    let mut cases = Vec::new();
    for (from, start) in starts {
        for (of, server) in noises {
            let again = start.clone();
            let plausible = move |source: &mut Source| {
                let found = server.search(source, goal(7, 0.02), &again);
                found.plausible.is_some_and(|own| own.contains(KNEE))
            };
            let asked = Share::AtLeast(0.95);
            let text = format!("{of}, {from}: the plausible ends hold the limit");
            cases.push(Case::new("searching a limit", text, asked, plausible));
        }
        for confirmed in [false, true] {
            let start = start.clone();
            let goal = move || match confirmed {
                false => goal(7, 0.02),
                true => Goal::new(0.01),
            };
            let within = move |source: &mut Source| near(&NOISY.search(source, goal(), &start));
            let with = if confirmed { "with" } else { "without" };
            let text = format!(
                "{}, {from}, {with} a confirmation: voted within 2 % of the limit",
                noises[0].0
            );
            let asked = Share::AtLeast(0.95);
            cases.push(Case::new("searching a limit", text, asked, within));
        }
    }
    cases
}

/// A goal of p99 with this many votes and this width, without confirmation.
pub(crate) fn goal(votes: u32, width: f64) -> Goal {
    Goal {
        width,
        duration_sum: Duration::from_secs(10) * votes,
        confirm: None,
        ..Goal::new(0.01)
    }
}
