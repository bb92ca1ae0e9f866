//! Searches for the highest load of a server whose trials differ.

#![allow(clippy::unwrap_used)] // all of this is test, the functions beside the tests too

use dyno_stats::search::{Ending, Found, Goal, Start};

use crate::simulate::Source;
use crate::simulate::servers::{self, CLOSED_LOOP, KNEE, NOISY, Server, goal, near};

fn searches(count: usize, server: Server, goal: &Goal) -> Vec<Found> {
    let mut source = Source::new(41);
    let start = Start::from_knee(CLOSED_LOOP);
    (0..count)
        .map(|_| server.search(&mut source, goal.clone(), &start))
        .collect()
}

/// The lower bound in limits: mean and standard deviation.
fn spread(found: &[Found]) -> (f64, f64) {
    let of = |found: &Found| found.voted.0.unwrap().load / KNEE;
    let shares: Vec<f64> = found.iter().map(of).collect();
    let described = dyno_stats::describe(&shares).unwrap();
    (described.mean, described.sd)
}

#[test]
fn searches_keep_what_is_promised() {
    for case in servers::cases() {
        case.hold(1_000);
    }
}

#[test]
fn a_hundred_searches_are_within_two_percent() {
    let found = searches(100, NOISY, &Goal::new(0.01));
    let within = found.iter().filter(|found| near(found)).count();
    assert!(within >= 95, "{within} of 100");
}

/// Why there are seven votes: one alone is what a plain bisection does.
#[test]
fn votes_take_the_chance_out_of_a_search() {
    let (mean, deviation) = spread(&searches(1_000, NOISY, &goal(1, 0.01)));
    assert!(mean < 0.99 && deviation > 0.03, "{mean} {deviation}");
    let mut before = deviation;
    for (votes, at_most) in [(3, 0.025), (7, 0.008), (21, 0.005_f64)] {
        let (mean, deviation) = spread(&searches(1_000, NOISY, &goal(votes, 0.01)));
        assert!((0.985..1.0).contains(&mean), "{votes} votes: {mean}");
        assert!(
            deviation < at_most.min(before),
            "{votes} votes: {deviation}"
        );
        before = deviation;
    }
}

/// Trials in the mean, confirming ones among them: what a search costs.
#[test]
fn a_search_takes_some_thirty_trials() {
    let found = searches(1_000, NOISY, &goal(7, 0.02));
    let trials: usize = found.iter().map(|found| found.trials.len()).sum();
    let mean = trials as f64 / found.len() as f64;
    assert!((25.0..36.0).contains(&mean), "{mean}");
}

/// Noise that grows less with the length of a trial leaves what was voted as it is. Spikes that
/// seven votes bear do break a trial ten times as long, and the answer gives way.
#[test]
fn a_confirmation_bears_noise_but_no_spikes() {
    let even = Server {
        spikes: 0.0,
        ..NOISY
    };
    let confirmed = |found: &&Found| found.confirmed && found.ending == Some(Ending::Bounded);
    let moved = |found: &&Found| found.lower != found.voted.0;
    let found = searches(500, even, &Goal::new(0.01));
    assert_eq!(found.iter().filter(confirmed).count(), 500);
    assert!(found.iter().filter(moved).count() < 125);
    let found = searches(500, NOISY, &Goal::new(0.01));
    assert!(found.iter().filter(confirmed).count() > 450);
    assert!(found.iter().filter(moved).count() > 200);
    // Down, never up.
    let load = |bound: Option<dyno_stats::search::Bound>| bound.map(|bound| bound.load);
    assert!(
        found
            .iter()
            .all(|found| load(found.lower) <= load(found.voted.0))
    );
}
