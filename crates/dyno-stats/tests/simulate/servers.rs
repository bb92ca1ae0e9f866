//! Servers that are asked for a load: what share of its events is late.

use std::time::Duration;

use dyno_stats::search::{Asked, Found, Goal, Loads, Next, Outcome, Purpose, Search, Start};

use super::Source;

/// The load at which p99 is as long as the promise allows.
pub const KNEE: f64 = 9_080.0;
/// More events than this per second are never answered.
const CAPACITY: f64 = 10_000.0;

/// How trials at one load differ.
#[derive(Clone, Copy, Debug)]
pub struct Server {
    /// p99 varies from trial to trial by this, on the scale of logarithms.
    pub noise: f64,
    /// So many trials are hit by something that makes p99 two to six times as long.
    pub spikes: f64,
}

/// The noise that the number of votes was chosen for.
pub const NOISY: Server = Server {
    noise: 0.1,
    spikes: 0.07,
};

impl Server {
    /// The loss ratio of a trial at a load: times are exponential, about a mean that grows as in
    /// a queue of one server.
    fn loss_ratio(self, source: &mut Source, load: f64) -> f64 {
        if load >= CAPACITY {
            return (1.0 - CAPACITY / load).max(0.5);
        }
        let mut p99 = (CAPACITY - KNEE) / (CAPACITY - load) * (self.noise * source.normal()).exp();
        if source.uniform() < self.spikes {
            p99 *= 2.0 + 4.0 * source.uniform();
        }
        0.01f64.powf(1.0 / p99)
    }

    /// A trial. The confirming one is as long as ten others, and loses what they lose together.
    pub fn measure(self, source: &mut Source, asked: &Asked) -> Outcome {
        let parts = match asked.purpose {
            Purpose::Vote => 1,
            Purpose::Confirm => 10,
        };
        let lost: f64 = (0..parts)
            .map(|_| self.loss_ratio(source, asked.load))
            .sum();
        Outcome::Measured {
            loss_ratio: lost / f64::from(parts),
            duration: asked.duration,
            kept: true,
        }
    }

    /// A whole search.
    pub fn search(self, source: &mut Source, goal: Goal, start: &Start) -> Found {
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

/// A goal of p99 with so many votes and this width.
pub fn goal(votes: u32, width: f64) -> Goal {
    Goal {
        width,
        duration_sum: Duration::from_secs(10) * votes,
        confirm: None,
        ..Goal::new(0.01)
    }
}
