//! Searches for the highest load of a server with noisy trials.

#![allow(clippy::unwrap_used)] // helper functions are test code too

use dyno_stats::search::{Ending, Goal, SearchSummary, Start};

use crate::simulate::Source;
use crate::simulate::servers::{self, CLOSED_LOOP, KNEE, NOISY, Server, goal, near};

fn searches(count: usize, server: Server, goal: &Goal) -> Vec<SearchSummary> {
    let mut source = Source::new(41);
    let start = Start::from_knee(CLOSED_LOOP);
    (0..count)
        .map(|_| server.search(&mut source, goal.clone(), &start))
        .collect()
}

/// Mean and standard deviation of the lower bound, relative to the limit.
fn spread(found: &[SearchSummary]) -> (f64, f64) {
    let of = |found: &SearchSummary| found.voted.0.unwrap().load / KNEE;
    let shares: Vec<f64> = found.iter().map(of).collect();
    let described = dyno_stats::describe(&shares).unwrap();
    (described.mean, described.sd)
}

#[test]
fn searches_keep_the_promise() {
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

/// This is why there are seven votes: a plain bisection has only one.
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

/// The mean number of trials, without and with those that confirm.
#[test]
fn a_search_takes_some_forty_trials() {
    for (goal, at_most) in [(goal(7, 0.02), 36.0), (Goal::new(0.01), 45.0)] {
        let found = searches(1_000, NOISY, &goal);
        let trials: usize = found.iter().map(|found| found.trials.len()).sum();
        let mean = trials as f64 / found.len() as f64;
        assert!((at_most - 11.0..at_most).contains(&mean), "{mean}");
    }
}

/// Eight of ten further trials tolerate noise and spikes. A thousand searches are all confirmed,
/// six in ten of them a width or more below the load that was voted.
#[test]
fn a_confirmation_bears_noise_and_spikes() {
    let even = Server {
        spikes: 0.0,
        ..NOISY
    };
    let confirmed =
        |found: &&SearchSummary| found.confirmed && found.ending == Some(Ending::Bounded);
    let moved = |found: &&SearchSummary| found.lower != found.voted.0;
    let load = |bound: Option<dyno_stats::search::Bound>| bound.unwrap().load;
    for server in [even, NOISY] {
        let found = searches(1_000, server, &Goal::new(0.01));
        assert_eq!(found.iter().filter(confirmed).count(), 1_000);
        let moved = found.iter().filter(moved).count();
        assert!((480..760).contains(&moved), "{server:?}: {moved}");
        // The answer may move down, but never up.
        let lowered = |found: &SearchSummary| load(found.lower) <= load(found.voted.0);
        assert!(found.iter().all(lowered));
        let shares = found.iter().map(|found| load(found.lower) / KNEE);
        let described = dyno_stats::describe(&shares.collect::<Vec<_>>()).unwrap();
        assert!((0.98..0.995).contains(&described.mean), "{described:?}");
        assert!(described.sd < 0.01, "{described:?}");
    }
}

/// About half of the loads that are refuted are near the limit: a load 5 % above it is never
/// confirmed.
#[test]
fn a_load_above_the_limit_is_not_confirmed() {
    let mut source = Source::new(43);
    let confirmations = |source: &mut Source, share: f64| {
        let goal = Goal::new(0.01);
        let trials = goal.confirm.as_ref().unwrap().trials;
        let keeps = |source: &mut Source| NOISY.loss_ratio(source, share * KNEE) <= goal.loss_ratio;
        let kept = |source: &mut Source| (0..trials).filter(|_| keeps(source)).count();
        (0..1_000)
            .filter(|_| 5 * (trials - kept(source)) <= trials)
            .count()
    };
    assert!(confirmations(&mut source, 0.97) > 950);
    assert!(confirmations(&mut source, 1.03) < 20);
}
