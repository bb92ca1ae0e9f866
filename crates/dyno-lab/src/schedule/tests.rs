//! Experiments on simulated servers, killed at any moment.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::Trial;
use crate::levels::Cell;

fn read(design: &str, reset: &str) -> Experiment {
    let text = format!(
        "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\ntime = '9s'\n{reset}\n\
         [[factor]]\nname = 'engine'\napplies = 'load'\nlevels = ['a', 'b']\n\
         [[factor]]\nname = 'memory'\napplies = 'start'\nsetting = 'm'\nlevels = [1, 2, 3]\n\
         [[factor]]\nname = 'watch'\napplies = 'online'\nsetting = 'w'\nlevels = [0, 1]\n\
         [[factor]]\nname = 'sessions'\napplies = 'client'\nlevels = [1, 8]\n[design]\n{design}\n"
    );
    Experiment::parse("x.toml", &text, None).unwrap()
}

/// A server that keeps its state until it fails.
#[derive(Default)]
struct Server {
    image: Option<String>,
    memory: Option<String>,
    watch: Option<String>,
    is_used: bool,
}

impl Server {
    fn make_ready(&mut self, cell: &Cell, change: Change) {
        let level = |name: &str| Some(cell.levels[name].clone());
        if change >= Change::Restore {
            self.image = level("engine");
            self.is_used = false;
        }
        if change >= Change::Start {
            self.memory = level("memory");
        }
        if change >= Change::Online {
            self.watch = level("watch");
        }
    }

    fn is_as_in(&self, cell: &Cell) -> bool {
        let level = |name: &str| Some(&cell.levels[name]);
        (
            self.image.as_ref(),
            self.memory.as_ref(),
            self.watch.as_ref(),
        ) == (level("engine"), level("memory"), level("watch"))
    }
}

/// The state on disk, which survives a process.
#[derive(Default)]
struct File {
    attempts: BTreeMap<usize, usize>,
    finished: BTreeMap<usize, usize>,
}

impl File {
    fn progress(&self, trials: &Trials) -> Vec<Progress> {
        let of = |index: usize| match (self.finished.get(&index), self.attempts.get(&index)) {
            (Some(_), _) => Progress::Done,
            (None, Some(_)) => Progress::Attempted,
            (None, None) => Progress::Open,
        };
        (0..trials.trials.len()).map(of).collect()
    }
}

struct Killed;

/// One process, which may be killed before, during and after each trial.
fn process(
    experiment: &Experiment,
    trials: &Trials,
    file: &mut File,
    fails: &BTreeSet<usize>,
    instants: &mut usize,
) -> Result<Vec<usize>, Killed> {
    let instant = |count: &mut usize| {
        *count = count.checked_sub(1).ok_or(Killed)?;
        Ok::<(), Killed>(())
    };
    let mut order = Vec::new();
    let mut server = Server::default();
    let mut schedule = Schedule::new(experiment, trials, &file.progress(trials));
    while let Some(next) = schedule.next() {
        let cell = &trials.cells[trials.trials[next.trial].cell];
        instant(instants)?;
        let attempts = file.attempts.entry(next.trial).or_default();
        *attempts += 1;
        let first = *attempts == 1;
        assert_eq!(next.out_of_order, !first, "{next:?}");
        instant(instants)?;
        server.make_ready(cell, next.change);
        assert!(server.is_as_in(cell), "{next:?}");
        if experiment.reset.data.is_some() {
            assert!(!std::mem::replace(&mut server.is_used, true), "{next:?}");
        }
        instant(instants)?;
        if first && fails.contains(&next.trial) {
            server = Server::default();
            schedule.ended(Outcome::Failed);
            continue;
        }
        *file.finished.entry(next.trial).or_default() += 1;
        order.push(next.trial);
        instant(instants)?;
        schedule.ended(Outcome::Done);
    }
    Ok(order)
}

proptest! {
    #[test]
    fn killed_at_any_instants_and_resumed_each_trial_is_done_once(
        kills in prop::collection::vec(0usize..150, 0..20),
        fails in prop::collection::btree_set(0usize..96, 0..8),
        blocks in 1u32..5,
        restores in any::<bool>(),
        order in prop::sample::select(vec!["random", "blocks", "listed"]),
    ) {
        let reset = if restores { "[reset]\ndata = 'restore'" } else { "" };
        let design = format!("repeats = {blocks}\norder = '{order}'\nseed = 7");
        let experiment = read(&design, reset);
        let trials = experiment.trials();
        let mut file = File::default();
        for mut instants in kills {
            let _ = process(&experiment, &trials, &mut file, &fails, &mut instants);
        }
        let mut enough = usize::MAX;
        prop_assert!(process(&experiment, &trials, &mut file, &fails, &mut enough).is_ok());
        let expected: BTreeMap<usize, usize> =
            (0..trials.trials.len()).map(|index| (index, 1)).collect();
        prop_assert_eq!(file.finished, expected);
    }

    #[test]
    fn undisturbed_trials_follow_the_plan_and_its_estimate(
        blocks in 1u32..5, restores in any::<bool>(),
    ) {
        let reset = if restores { "[reset]\ndata = 'restore'" } else { "" };
        let experiment = read(&format!("repeats = {blocks}"), reset);
        let trials = experiment.trials();
        let mut schedule = Schedule::new(&experiment, &trials, &[]);
        let mut index = 0;
        while let Some(next) = schedule.next() {
            prop_assert_eq!((next.trial, next.out_of_order), (index, false));
            prop_assert_eq!(next.change, trials.trials[index].change);
            schedule.ended(Outcome::Done);
            index += 1;
        }
        prop_assert_eq!((index, schedule.left()), (trials.trials.len(), 0));
    }

    #[test]
    fn a_failed_trial_is_repeated_once_at_the_end_of_its_block(
        bad in 0usize..48, blocks in 1u32..3,
    ) {
        let experiment = read(&format!("repeats = {blocks}"), "");
        let trials = experiment.trials();
        let of_block = |index: usize| trials.trials[index].block;
        let bad = bad % trials.trials.len();
        let mut schedule = Schedule::new(&experiment, &trials, &[]);
        let mut order: Vec<usize> = Vec::new();
        while let Some(next) = schedule.next() {
            order.push(next.trial);
            let fails = next.trial == bad;
            schedule.ended(if fails { Outcome::Failed } else { Outcome::Done });
        }
        let mut expected: Vec<usize> = (0..trials.trials.len()).collect();
        let last = expected.iter().rposition(|index| of_block(*index) == of_block(bad)).unwrap();
        expected.insert(last + 1, bad);
        prop_assert_eq!(order, expected);
    }
}

#[test]
fn distinguishes_trials_from_those_before_resuming() {
    let experiment = read("repeats = 1", "");
    let trials = experiment.trials();
    let mut progress = vec![Progress::Done; trials.trials.len()];
    progress[3] = Progress::Attempted;
    progress[5] = Progress::Open;
    let mut schedule = Schedule::new(&experiment, &trials, &progress);
    assert_eq!(schedule.left(), 2);
    let next = schedule.next().unwrap();
    // The state of the server is unknown, whatever trial came before it in the plan.
    assert_eq!((next.trial, next.change), (5, Change::Restore));
    schedule.ended(Outcome::Done);
    assert_eq!(schedule.ahead().collect::<Vec<_>>(), [3]);
    assert!(schedule.next().unwrap().out_of_order);
    let _: &Trial = &trials.trials[3];
}
