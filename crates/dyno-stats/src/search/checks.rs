use super::*;

/// A server that loses nothing up to the limit, and beyond it everything in excess.
fn server(limit: f64, asked: &Asked) -> Outcome {
    measured(asked, 1.0 - (limit / asked.load).min(1.0))
}

fn measured(asked: &Asked, loss_ratio: f64) -> Outcome {
    Outcome::Measured {
        loss_ratio,
        duration: asked.duration,
        kept: true,
    }
}

fn void() -> Outcome {
    Outcome::Void {
        why: "an agent was lost".to_owned(),
    }
}

fn new(start: Start) -> Search {
    Search::new(Goal::new(0.01), Loads::rates(10.0, 100_000.0), &start).unwrap()
}

fn next_trial(search: &Search) -> Asked {
    match search.next() {
        Next::Trial(asked) => asked,
        Next::Done(found) => panic!("the search has ended: {found:?}"),
    }
}

fn finish(search: &mut Search, mut outcome: impl FnMut(&Asked) -> Outcome) -> SearchSummary {
    loop {
        match search.next() {
            Next::Trial(asked) => search.observe(asked.ended(outcome(&asked))).unwrap(),
            Next::Done(found) => return *found,
        }
    }
}

/// The loads in the order of their first trial, rounded, and the number of trials at each.
fn course(found: &SearchSummary) -> Vec<(f64, usize)> {
    let mut course: Vec<(f64, usize)> = Vec::new();
    for trial in &found.trials {
        let load = trial.load.round();
        match course.last_mut() {
            Some((last, count)) if *last == load => *count += 1,
            _ => course.push((load, 1)),
        }
    }
    course
}

#[test]
fn finds_and_confirms_the_limit_of_a_server() {
    let mut search = new(Start::from_knee(1_000.0));
    let found = finish(&mut search, |asked| server(950.0, asked));
    assert_eq!(found.ending, Some(Ending::Bounded));
    let (lower, upper) = (found.lower.unwrap(), found.upper.unwrap());
    // 1 % of the offered load may be lost.
    assert!(lower.load <= 950.0 / 0.99 && upper.load > 950.0 / 0.99);
    assert!(upper.load / lower.load <= 1.02 + 1e-9);
    assert_eq!(found.voted, (found.lower, found.upper));
    assert!(found.confirmed);
    // Eight of ten are four of five, whatever the other two trials say.
    assert_eq!(found.trials_for(Purpose::Confirm), 8);
    let goodput = found.goodput.unwrap();
    assert!((goodput - lower.load.min(950.0)).abs() < 1e-6, "{goodput}");
    let plausible = found.plausible.unwrap();
    assert!((plausible.low * 1.02 / lower.load - 1.0).abs() < 1e-9);
    assert!((plausible.high / 1.02 / upper.load - 1.0).abs() < 1e-9);
}

/// Four equal votes decide. Smaller candidates come first, and candidates that cannot be a bound
/// are skipped.
#[test]
fn candidates_come_first_and_bisection_follows() {
    let mut search = new(Start::from_knee(1_000.0));
    let found = finish(&mut search, |asked| server(700.0, asked));
    let course = course(&found);
    assert!((course[0].0 - 500.0).abs() < 3.0 && course[0].1 == 4);
    assert!((course[1].0 - 900.0).abs() < 5.0 && course[1].1 == 4);
    let mut candidates = Start::from_knee(1_000.0).candidates;
    candidates.reverse();
    let reversed = finish(&mut new(Start { candidates }), |asked| server(700.0, asked));
    assert_eq!(found, reversed);
    let middle = (course[0].0 * course[1].0).sqrt();
    assert!((course[2].0 - middle).abs() < 4.0, "{course:?}");
    assert!(course.iter().all(|&(load, _)| load < 910.0));
    assert_eq!(found.trials.len(), 4 * found.loads.len() + 8);
}

#[test]
fn a_search_expands_by_two_until_it_is_bounded() {
    let up = finish(&mut new(Start::from_knee(1_000.0)), |asked| {
        server(4_000.0, asked)
    });
    let loads: Vec<f64> = course(&up).iter().map(|&(load, _)| load).collect();
    for (found, expected) in loads.iter().zip([500.0, 900.0, 1_100.0, 2_200.0, 4_400.0]) {
        assert!((found / expected - 1.0).abs() < 0.02, "{loads:?}");
    }
    let down = finish(&mut new(Start::from_knee(1_000.0)), |asked| {
        server(150.0, asked)
    });
    let loads: Vec<f64> = course(&down).iter().map(|&(load, _)| load).collect();
    for (found, expected) in loads.iter().zip([500.0, 250.0, 125.0]) {
        assert!((found / expected - 1.0).abs() < 0.02, "{loads:?}");
    }
}

#[test]
fn separates_a_ceiling_from_a_limit() {
    let found = finish(&mut new(Start::default()), |asked| measured(asked, 0.0));
    assert_eq!(found.ending, Some(Ending::Ceiling));
    assert!(found.lower.unwrap().load > 99_500.0 && found.confirmed);
    assert_eq!(
        (found.upper, found.interval(), found.plausible),
        (None, None, None)
    );
}

#[test]
fn a_promise_may_be_broken_at_the_least_load() {
    let found = finish(&mut new(Start::default()), |asked| measured(asked, 0.5));
    assert_eq!(found.ending, Some(Ending::Floor));
    assert!(found.upper.unwrap().load < 10.05);
    assert_eq!(
        (found.lower, found.goodput, found.confirmed),
        (None, None, false)
    );
}

#[test]
fn a_least_load_that_only_the_votes_accept_is_unconfirmed() {
    let (goal, loads) = (Goal::new(0.01), Loads::whole(4, 64));
    let mut search = Search::new(goal, loads, &Start::default()).unwrap();
    let found = finish(&mut search, |asked| {
        let kept = asked.load < 4.5 && asked.purpose == Purpose::Vote;
        measured(asked, if kept { 0.0 } else { 0.5 })
    });
    assert_eq!(found.ending, Some(Ending::Unconfirmed));
    assert_eq!((found.lower, found.confirmed), (None, false));
    assert!(found.loads[0].good > found.loads[0].bad && found.loads[0].broken > 0);
}

#[test]
fn a_second_promise_counts() {
    let found = finish(&mut new(Start::default()), |asked| Outcome::Measured {
        loss_ratio: 0.0,
        duration: asked.duration,
        kept: asked.load < 2_000.0,
    });
    assert!(found.interval().unwrap().contains(2_000.0));
}

#[test]
fn a_void_trial_is_repeated_once() {
    let mut search = new(Start::default());
    let first = next_trial(&search);
    search.observe(first.ended(void())).unwrap();
    assert_eq!(next_trial(&search), first);
    let mut again = search.clone();
    search.observe(first.ended(measured(&first, 0.0))).unwrap();
    let second = next_trial(&search);
    search.observe(second.ended(void())).unwrap();
    assert_eq!(next_trial(&search), second);
    assert_eq!(search.so_far().void(), 2);

    again.observe(first.ended(void())).unwrap();
    let Next::Done(found) = again.next() else {
        panic!("it goes on");
    };
    assert_eq!(found.ending, Some(Ending::Refused));
    assert_eq!((found.void(), found.loads.len()), (2, 0));
}

#[test]
fn a_void_confirmation_is_repeated() {
    let mut search = new(Start::from_knee(1_000.0));
    let mut voids = 0;
    let found = finish(&mut search, |asked| {
        if asked.purpose == Purpose::Confirm && voids == 0 {
            voids += 1;
            return void();
        }
        server(950.0, asked)
    });
    assert!(found.confirmed);
    assert_eq!(found.trials_for(Purpose::Confirm), 9);
}

#[test]
fn a_promise_that_six_of_ten_trials_keep_is_not_confirmed() {
    for (bad, lowered) in [(2, false), (3, true), (4, true)] {
        let mut search = new(Start::from_knee(1_000.0));
        let mut broken = bad;
        let found = finish(&mut search, |asked| {
            if asked.purpose == Purpose::Confirm && broken > 0 {
                broken -= 1;
                return measured(asked, 0.02);
            }
            server(950.0, asked)
        });
        assert!(found.confirmed);
        assert_eq!(found.lower != found.voted.0, lowered, "{bad}");
        let trials = match bad {
            2 => 10,
            // The third trial of the first load refutes it. The remaining ones break the next load.
            bad => 3 + (bad - 3) + 8,
        };
        assert_eq!(found.trials_for(Purpose::Confirm), trials);
    }
}

#[test]
fn a_broken_confirmation_steps_down_by_a_width() {
    let mut search = new(Start::from_knee(1_000.0));
    let mut broken = 6;
    let found = finish(&mut search, |asked| {
        if asked.purpose == Purpose::Confirm && broken > 0 {
            broken -= 1;
            return measured(asked, 0.02);
        }
        server(950.0, asked)
    });
    assert_eq!(found.ending, Some(Ending::Bounded));
    let (voted, lower) = (found.voted.0.unwrap(), found.lower.unwrap());
    assert!((voted.load / lower.load - 1.02f64.powi(2)).abs() < 1e-9);
    assert!(found.confirmed);
    assert_eq!(found.trials_for(Purpose::Confirm), 3 + 3 + 8);
    let width = found.interval().unwrap();
    assert!((width.high / width.low - 1.02).abs() < 1e-9);
    assert!(found.plausible.unwrap().contains(960.0));
    // Eight confirming trials of 10 s each are enough.
    assert!(
        found
            .goodput
            .is_some_and(|goodput| goodput > 0.98 * lower.load)
    );
}

/// A step down must not skip a lower bound that the votes have found.
#[test]
fn a_step_down_stops_at_the_next_lower_bound() {
    let mut search = new(Start::default());
    let bound = search.grid.nearest(1_000.0);
    let vote = |step: i64, loss_ratio| Trial {
        step: GridStep(bound.0 + step),
        purpose: Purpose::Vote,
        outcome: Outcome::Measured {
            loss_ratio,
            duration: Duration::from_secs(70),
            kept: true,
        },
    };
    for trial in [vote(-1, 0.0), vote(0, 0.0), vote(2, 1.0)] {
        search.observe(trial).unwrap();
    }
    let first = next_trial(&search);
    assert_eq!((first.step, first.purpose), (bound, Purpose::Confirm));
    assert_eq!(first.duration, Duration::from_secs(10));
    for _ in 0..3 {
        let again = next_trial(&search);
        assert_eq!(again, first);
        search.observe(again.ended(measured(&again, 0.5))).unwrap();
    }
    let second = next_trial(&search);
    assert_eq!(
        (second.step.0, second.purpose),
        (bound.0 - 1, Purpose::Confirm)
    );
}

#[test]
fn repeated_failed_confirmations_end_a_search() {
    let mut search = new(Start::from_knee(1_000.0));
    let found = finish(&mut search, |asked| match asked.purpose {
        Purpose::Confirm => measured(asked, 0.02),
        Purpose::Vote => server(950.0, asked),
    });
    assert_eq!(found.ending, Some(Ending::Unconfirmed));
    assert_eq!(found.trials_for(Purpose::Confirm), 5 * 3);
    assert!(!found.confirmed);
}

#[test]
fn sessions_are_searched_in_whole_numbers() {
    let mut search = Search::new(Goal::new(0.01), Loads::whole(1, 512), &Start::default()).unwrap();
    let found = finish(&mut search, |asked| {
        assert_eq!(asked.load.fract(), 0.0);
        measured(asked, f64::from(u8::from(asked.load > 23.0)))
    });
    let interval = found.interval().unwrap();
    assert_eq!((interval.low, interval.high), (23.0, 24.0));
}

/// Trials that are too short never make a load a lower bound, but the search must end all the same.
#[test]
fn short_trials_do_not_prolong_a_search_forever() {
    let goal = Goal {
        trials_max: 30,
        ..Goal::new(0.01)
    };
    let mut search = Search::new(goal, Loads::rates(10.0, 1e5), &Start::default()).unwrap();
    let found = finish(&mut search, |asked| Outcome::Measured {
        loss_ratio: 0.0,
        duration: asked.duration / 2,
        kept: true,
    });
    assert_eq!(found.ending, Some(Ending::Exhausted));
    assert_eq!(found.trials.len(), 30);
    assert!(found.trials.iter().all(|judged| !judged.long));
}

#[test]
fn no_duration_is_too_long() {
    let mut search = new(Start::default());
    for _ in 0..2 {
        let first = next_trial(&search);
        let outcome = Outcome::Measured {
            loss_ratio: 0.0,
            duration: Duration::MAX,
            kept: true,
        };
        let trial = Trial {
            step: search.grid.max,
            ..first.ended(outcome)
        };
        search.observe(trial).unwrap();
    }
    assert!(
        search
            .so_far()
            .goodput
            .is_some_and(|goodput| goodput > 99_000.0)
    );
}

/// If a greater load keeps the promise by luck, it must not become the answer, which is below the
/// smallest load that broke the promise.
#[test]
fn a_lucky_load_above_a_broken_one_is_not_a_bound() {
    let mut search = new(Start::default());
    let at = |load: f64, loss_ratio| Trial {
        step: search.grid.nearest(load),
        purpose: Purpose::Vote,
        outcome: Outcome::Measured {
            loss_ratio,
            duration: Duration::from_secs(70),
            kept: true,
        },
    };
    let trials = [at(500.0, 0.0), at(1_000.0, 1.0), at(1_500.0, 0.0)];
    for trial in trials {
        search.observe(trial).unwrap();
    }
    let found = search.so_far();
    assert_eq!(found.ending, None);
    assert!((found.lower.unwrap().load - 500.0).abs() < 3.0);
    assert!((found.upper.unwrap().load - 1_000.0).abs() < 3.0);
}

#[test]
fn refuses_invalid_goals_and_trials() {
    let refused =
        |goal: Goal| Search::new(goal, Loads::rates(1.0, 10.0), &Start::default()).unwrap_err();
    let goal = || Goal::new(0.01);
    assert_eq!(refused(Goal::new(1.0)), SearchError::LossRatio(1.0));
    let exceed_ratio = 1.0;
    assert_eq!(
        refused(Goal {
            exceed_ratio,
            ..goal()
        }),
        SearchError::ExceedRatio(1.0)
    );
    assert_eq!(
        refused(Goal {
            width: 0.0,
            ..goal()
        }),
        SearchError::Width(0.0)
    );
    let narrow = refused(Goal {
        width: 0.005,
        ..goal()
    });
    assert!(
        narrow
            .to_string()
            .contains("ask for a width of 0.01 or more"),
        "{narrow}"
    );
    let trial_duration = Duration::from_secs(80);
    assert!(matches!(
        refused(Goal {
            trial_duration,
            ..goal()
        }),
        SearchError::Duration { .. }
    ));
    let none = Start {
        candidates: vec![f64::NAN],
    };
    let found = Search::new(goal(), Loads::rates(1.0, 10.0), &none);
    assert!(matches!(found, Err(SearchError::Candidate(_))));

    let mut search = new(Start::default());
    let before = search.clone();
    let first = next_trial(&search);
    let lost = search.observe(first.ended(measured(&first, 1.5)));
    assert_eq!(lost, Err(SearchError::Lost(1.5)));
    let step = GridStep(search.grid.max.0 + 1);
    let beyond = search.observe(Trial {
        step,
        ..first.ended(void())
    });
    assert_eq!(beyond, Err(SearchError::Beyond(step.0)));
    assert_eq!(search, before);
}

#[test]
fn defaults_are_seven_votes() {
    let (quick, thorough) = (Goal::new(0.01), Goal::thorough(0.001));
    assert_eq!(quick.duration_sum, Duration::from_secs(70));
    assert_eq!(thorough.duration_sum, Duration::from_secs(420));
    assert_eq!(
        (quick.width, thorough.width, Goal::new(0.05).width),
        (0.02, 0.01, 0.05)
    );
}
