//! Properties of every search, whatever the outcomes of its trials are.

use std::time::Duration;

use dyno_stats::search::{
    Asked, Bound, Class, Confirm, Ending, Goal, Loads, Next, Outcome, Purpose, Search,
    SearchSummary, Start, Trial,
};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

#[derive(Clone, Debug)]
struct Case {
    goal: Goal,
    loads: Loads,
    start: Start,
}

impl Case {
    fn search(&self) -> Search {
        Search::new(self.goal.clone(), self.loads, &self.start).unwrap()
    }

    /// An upper bound for a search with long trials: loads until there are bounds on both sides,
    /// bisections, confirmations and candidates, each with all of its votes, and each vote void
    /// once.
    fn trials_bound(&self) -> usize {
        let octaves = (self.loads.max / self.loads.min).log2().ceil() as usize + 2;
        // Between two loads an octave apart. Whole numbers and quarters of widths can only end
        // sooner.
        let widths = (2f64.ln() / self.goal.width.ln_1p()).log2().ceil() as usize + 3;
        let wide = (octaves as f64).log2().ceil() as usize;
        let confirm = self.goal.confirm.as_ref();
        let confirms = confirm.map_or(0, |confirm| (confirm.broken_max + 1) * confirm.trials);
        let loads = octaves + widths + wide + self.start.candidates.len();
        let whole = self.goal.duration_sum.as_secs_f64();
        let votes = (whole / self.goal.trial_duration.as_secs_f64()).ceil() as usize;
        2 * (loads * votes + confirms)
    }
}

fn case() -> impl Strategy<Value = Case> {
    let goal = (
        select(vec![0.0, 0.001, 0.01, 0.05]),
        select(vec![0.0, 0.2, 0.5, 0.7]),
        1u32..10,
        select(vec![0.01, 0.02, 0.1]),
        proptest::option::of((1usize..20, 1usize..5)),
    )
        .prop_map(|(loss_ratio, exceed_ratio, votes, width, confirm)| {
            let trial_duration = Duration::from_secs(10);
            Goal {
                exceed_ratio,
                duration_sum: trial_duration * votes,
                trial_duration,
                width: f64::max(width, loss_ratio),
                confirm: confirm.map(|(trials, broken_max)| Confirm { trials, broken_max }),
                ..Goal::new(loss_ratio)
            }
        });
    let loads = prop_oneof![
        (1.0..1e4, 1.1..1e4).prop_map(|(min, factor)| Loads::rates(min, min * factor)),
        (1u32..50, 1u32..2_000).prop_map(|(min, more)| Loads::whole(min, min + more)),
    ];
    let start = vec(1.0..1e6, 0..4).prop_map(|candidates| Start { candidates });
    (goal, loads, start).prop_map(|(goal, loads, start)| Case { goal, loads, start })
}

/// The outcomes of a search's trials, repeated cyclically.
fn fates() -> impl Strategy<Value = Vec<Fate>> {
    let fate = prop_oneof![
        6 => (0.0..0.1).prop_map(Fate::Lost),
        6 => Just(Fate::Lost(0.0)),
        6 => Just(Fate::Lost(1.0)),
        2 => Just(Fate::Broken),
        1 => Just(Fate::Void),
    ];
    vec(fate, 1..60)
}

#[derive(Clone, Copy, Debug)]
enum Fate {
    Lost(f64),
    Broken,
    Void,
}

impl Fate {
    fn outcome(self, asked: &Asked) -> Outcome {
        let (loss_ratio, kept) = match self {
            Self::Lost(share) => (share, true),
            Self::Broken => (0.0, false),
            Self::Void => {
                return Outcome::Void {
                    why: "the client had no time".to_owned(),
                };
            }
        };
        Outcome::Measured {
            loss_ratio,
            duration: asked.duration,
            kept,
        }
    }
}

/// Runs a whole search, and passes each of its states to a function.
fn run(
    case: &Case,
    mut outcome: impl FnMut(&Asked) -> Outcome,
    mut look: impl FnMut(&Search),
) -> SearchSummary {
    let mut search = case.search();
    loop {
        look(&search);
        match search.next() {
            Next::Trial(asked) => search.observe(asked.ended(outcome(&asked))).unwrap(),
            Next::Done(found) => return *found,
        }
    }
}

fn by(fates: &[Fate]) -> impl FnMut(&Asked) -> Outcome {
    let mut fates = fates.iter().cycle();
    move |asked| fates.next().unwrap().outcome(asked)
}

fn recorded(found: &SearchSummary) -> Vec<Trial> {
    let trials = found.trials.iter();
    trials.map(|judged| judged.trial.clone()).collect()
}

proptest! {
    #[test]
    fn a_search_ends(case in case(), fates in fates()) {
        let found = run(&case, by(&fates), |_| ());
        prop_assert!(found.trials.len() <= case.trials_bound(), "{}", found.trials.len());
        prop_assert!(found.ending != Some(Ending::Exhausted));
    }

    #[test]
    fn bounds_are_ordered_and_within_the_loads(case in case(), fates in fates()) {
        let found = run(&case, by(&fates), |search| {
            let found = search.so_far();
            let ends = |bounds: (Option<Bound>, Option<Bound>)| {
                bounds.0.zip(bounds.1).is_none_or(|(low, high)| low.load < high.load)
            };
            assert!(ends((found.lower, found.upper)) && ends(found.voted));
        });
        let room = 1e-6;
        for tried in &found.loads {
            prop_assert!(tried.load >= case.loads.min * (1.0 - room));
            prop_assert!(tried.load <= case.loads.max * (1.0 + room));
            prop_assert!(tried.goodput.is_none_or(|goodput| goodput <= tried.load));
        }
        if let (Some(inner), Some(outer)) = (found.interval(), found.plausible) {
            prop_assert!(outer.low < inner.low && inner.high < outer.high);
        }
        let votes: usize = found.loads.iter().map(|tried| tried.good + tried.bad).sum();
        prop_assert_eq!(votes + found.void() + found.loads.iter()
            .map(|tried| tried.confirmed + tried.broken).sum::<usize>(), found.trials.len());
    }

    #[test]
    fn the_ending_matches_the_bounds(case in case(), fates in fates()) {
        let found = run(&case, by(&fates), |_| ());
        let sides = (found.lower.is_some(), found.upper.is_some());
        match found.ending.unwrap() {
            Ending::Bounded => {
                prop_assert_eq!(sides, (true, true));
                prop_assert_eq!(found.confirmed, case.goal.confirm.is_some());
                let (low, high) = (found.lower.unwrap().load, found.upper.unwrap().load);
                let near = high <= low * (1.0 + case.goal.width) * (1.0 + 1e-9);
                prop_assert!(near || high - low <= 1.0, "{} {}", low, high);
            }
            Ending::Ceiling => prop_assert_eq!(sides, (true, false)),
            Ending::Floor => prop_assert_eq!(sides, (false, true)),
            Ending::Unconfirmed => prop_assert!(sides.1 && !found.confirmed),
            Ending::Refused => prop_assert!(found.void() >= 2),
            Ending::Exhausted => prop_assert!(false, "long trials decide"),
        }
        // A lower bound also meets the loss ratio in the goodput that is reported for it.
        for tried in &found.loads {
            if tried.voted == Class::Lower && tried.broken == 0 {
                let kept = (1.0 - case.goal.loss_ratio) * tried.load;
                prop_assert!(tried.goodput.unwrap() >= kept * (1.0 - 1e-9));
            }
        }
    }

    /// After any trial, replaying the recorded trials gives the same search.
    #[test]
    fn a_replayed_search_continues_where_it_stopped(
        case in case(),
        fates in fates(),
        cut in any::<Index>(),
    ) {
        let mut states = Vec::new();
        let found = run(&case, by(&fates), |search| states.push(search.clone()));
        let trials = recorded(&found);
        let cut = cut.index(states.len());
        let Case { goal, loads, start } = case;
        let replayed = Search::replay(goal, loads, &start, trials[..cut].iter().cloned()).unwrap();
        prop_assert_eq!(&replayed, &states[cut]);
        prop_assert_eq!(replayed.next(), states[cut].next());
    }

    /// The order of measured trials does not matter, at one load or at several.
    #[test]
    fn the_order_of_trials_does_not_matter(
        case in case(),
        fates in fates(),
        cut in any::<Index>(),
        keys in vec(any::<u64>(), 64),
    ) {
        let mut states = Vec::new();
        let found = run(&case, by(&fates), |search| states.push(search.clone()));
        let cut = cut.index(states.len());
        let mut trials = recorded(&found);
        trials.truncate(cut);
        trials.retain(|trial| matches!(trial.outcome, Outcome::Measured { .. }));
        let keyed = keys.into_iter().cycle().zip(trials.clone());
        let mut shuffled: Vec<(u64, Trial)> = keyed.collect();
        shuffled.sort_by_key(|(key, _)| *key);
        let replay = |trials: Vec<Trial>| {
            Search::replay(case.goal.clone(), case.loads, &case.start, trials).unwrap()
        };
        let (one, other) = (
            replay(trials),
            replay(shuffled.into_iter().map(|(_, trial)| trial).collect()),
        );
        let (mut found, mut same) = (one.so_far(), other.so_far());
        found.trials.clear();
        same.trials.clear();
        prop_assert_eq!(found, same);
        if let (Next::Trial(one), Next::Trial(other)) = (one.next(), other.next()) {
            prop_assert_eq!(one, other);
        }
    }

    /// The limit of a server without noise is between the bounds, or outside the range of loads.
    #[test]
    fn a_limit_is_between_the_bounds(case in case(), at in 0.0..1.0) {
        let Loads { min, max, .. } = case.loads;
        let limit = 0.5 * min * (4.0 * max / min).powf(at);
        let found = run(&case, |asked| {
            Fate::Lost(f64::from(u8::from(asked.load > limit))).outcome(asked)
        }, |_| ());
        prop_assert!(found.lower.is_none_or(|bound| bound.load <= limit));
        prop_assert!(found.upper.is_none_or(|bound| limit < bound.load));
        let expected = match (found.lower, found.upper) {
            (Some(_), Some(_)) => Ending::Bounded,
            (Some(_), None) => Ending::Ceiling,
            _ => Ending::Floor,
        };
        prop_assert_eq!(found.ending, Some(expected));
        let trials = case.goal.confirm.as_ref().map_or(0, |confirm| {
            confirm.trials - confirm.trials / 5
        });
        prop_assert!(found.trials_for(Purpose::Confirm) <= trials);
    }
}
