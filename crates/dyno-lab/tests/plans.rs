//! The order, cost and identity of trials.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;

use dyno_lab::{Change, Changes, Experiment, Hashes, Planned, Role, Trial, Trials, identify};
use proptest::prelude::*;

fn file(starts: usize, clients: usize, design: &str) -> String {
    let levels = |n: usize| (0..n).map(|i| i.to_string()).collect::<Vec<_>>().join(", ");
    format!(
        "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\nwarmup = '1s'\ntime = '9s'\n\
         [[factor]]\nname = 'memory'\napplies = 'start'\nsetting = 'm'\nlevels = [{}]\n\
         [[factor]]\nname = 'range_size'\napplies = 'client'\nlevels = [{}]\n[design]\n{design}\n",
        levels(starts),
        levels(clients)
    )
}

fn read(text: &str) -> Experiment {
    Experiment::parse("x.toml", text, None).unwrap()
}

fn planned(experiment: &Experiment, hashes: &Hashes) -> Vec<Planned> {
    let Trials { cells, trials, .. } = experiment.trials();
    let of = |trial: &Trial| identify(experiment, &cells[trial.cell], trial, hashes);
    trials.iter().map(of).collect()
}

fn order(trials: &Trials) -> Vec<usize> {
    trials.trials.iter().map(|trial| trial.cell).collect()
}

proptest! {
    #[test]
    fn blocks_hold_each_cell_once_with_the_fewest_restarts(
        starts in 1usize..6, clients in 1usize..6, blocks in 1u32..6, seed in 0u32..1000,
    ) {
        let design = format!("repeats = {blocks}\nseed = {seed}");
        let trials = read(&file(starts, clients, &design)).trials();
        prop_assert_eq!(&trials, &read(&file(starts, clients, &design)).trials());
        for block in 0..blocks as usize {
            let of_block = trials.trials.iter().filter(|trial| trial.block == block);
            let mut cells: Vec<usize> = of_block.map(|trial| trial.cell).collect();
            cells.sort_unstable();
            prop_assert_eq!(cells, (0..starts * clients).collect::<Vec<_>>());
        }
        // One start per level in each block, or one fewer if consecutive blocks share a level.
        let (most, blocks) = (starts * blocks as usize, blocks as usize);
        prop_assert!(trials.cost.starts <= most && trials.cost.starts + blocks > most);
        prop_assert_eq!(trials.cost.restores, 1);
        prop_assert_eq!(trials.cost.time.as_secs(), 10 * trials.cost.trials as u64);
    }

    #[test]
    fn identities_are_distinct(
        starts in 1usize..5, clients in 1usize..5, blocks in 1u32..4, aa in 0u32..4,
    ) {
        let design = format!("repeats = {blocks}\naa = {aa}");
        let planned = planned(&read(&file(starts, clients, &design)), &Hashes::default());
        let distinct: BTreeSet<_> = planned.iter().map(|trial| &trial.identity).collect();
        prop_assert_eq!(distinct.len(), planned.len());
        prop_assert_eq!(planned.len(), starts * clients * blocks as usize + aa as usize);
    }
}

#[test]
fn the_order_of_a_seed_never_changes() {
    insta::assert_snapshot!(format!(
        "{:?}",
        order(&read(&file(3, 3, "repeats = 2\nseed = 7")).trials())
    ));
}

#[test]
fn pairs_are_mirrored() {
    let trials = read(&file(2, 2, "repeats = 4\npair = 'range_size'")).trials();
    for memory in ["0", "1"] {
        let of_memory = trials
            .trials
            .iter()
            .map(|trial| &trials.cells[trial.cell].levels);
        let of_memory = of_memory.filter(|levels| levels["memory"] == memory);
        let range_size: String = of_memory
            .map(|levels| levels["range_size"].as_str())
            .collect();
        assert_eq!(range_size, "01101001");
    }
}

#[test]
fn ladders_go_up_and_down_in_turn() {
    let trials = read(&file(2, 3, "repeats = 2\nnest = ['memory']")).trials();
    let levels = trials
        .trials
        .iter()
        .map(|trial| &trials.cells[trial.cell].levels);
    let range_size: String = levels.map(|levels| levels["range_size"].as_str()).collect();
    assert_eq!(range_size, "012210210012");
}

#[test]
fn listed_and_blocks_keep_their_order() {
    let listed = read(&file(2, 2, "repeats = 2\norder = 'listed'")).trials();
    assert_eq!(order(&listed), [0, 1, 2, 3, 0, 1, 2, 3]);
    let together = order(&read(&file(2, 2, "repeats = 3\norder = 'blocks'")).trials());
    assert!(
        together
            .chunks(3)
            .all(|cell| cell.iter().all(|c| *c == cell[0]))
    );
    let some = "list = [{ memory = 1, range_size = 0 }, { memory = 0 }]\norder = 'listed'";
    let some = read(&file(2, 2, some)).trials();
    let first: Vec<&str> = some
        .cells
        .iter()
        .map(|cell| &*cell.levels["memory"])
        .collect();
    assert_eq!(first, ["1", "0", "0"]);
}

#[test]
fn the_baseline_brackets_blocks_and_is_compared_with_itself() {
    let design = "repeats = 2\nbracket = true\naa = 2\nbaseline = { memory = 0, range_size = 0 }";
    let trials = read(&file(2, 2, design)).trials();
    for block in 0..2 {
        let of_block = trials.trials.iter().filter(|trial| trial.block == block);
        let of_block: Vec<_> = of_block.collect();
        let roles = |role| of_block.iter().filter(|trial| trial.role == role).count();
        assert_eq!(
            (roles(Role::Repeat), roles(Role::Bracket), roles(Role::Aa)),
            (4, 2, 1)
        );
        assert_eq!((of_block[0].cell, of_block[6].cell), (0, 0));
        assert_eq!(of_block[1].role, Role::Aa);
        assert_eq!(of_block[1].change, Change::Reconnect);
    }
}

#[test]
fn resets_restore_before_each_trial_but_not_within_a_nest() {
    let reset = "\n[reset]\ndata = 'restore'\nsettle = '5s'";
    let each = read(&file(2, 3, reset)).trials().cost;
    assert_eq!(
        (each.restores, each.starts, each.time.as_secs()),
        (6, 6, 90)
    );
    let nested = read(&file(2, 3, &format!("nest = ['memory']{reset}")))
        .trials()
        .cost;
    assert_eq!(
        (nested.restores, nested.reconnects, nested.loads),
        (2, 4, 1)
    );
}

#[test]
fn identities_do_not_depend_on_the_files_layout() {
    let one = file(2, 2, "repeats = 2\nseed = 1");
    let other = one.replace(
        "warmup = '1s'\ntime = '9s'",
        "time  = \"9s\" # long\nwarmup = '1s'",
    );
    let other = other.replace("seed = 1", "seed = 2");
    let of = |text: &str, hashes: &Hashes| planned(&read(text), hashes);
    let none = Hashes::default();
    assert_eq!(
        Changes::between(&of(&one, &none), &of(&other, &none)),
        Changes::default()
    );

    let longer = one
        .replace("'9s'", "'8s'")
        .replace("repeats = 2", "repeats = 1");
    let changes = Changes::between(&of(&one, &none), &of(&longer, &none)).to_string();
    assert!(
        changes.contains("gone: memory=0 range_size=0, repeat 2\n"),
        "{changes}"
    );
    assert!(
        changes.contains("changed in 4 trials: load.time: \"9s\" -> \"8s\"\n"),
        "{changes}"
    );

    let script = Hashes {
        scripts: [("tpcc".to_owned(), "abc".to_owned())].into(),
        ..Hashes::default()
    };
    let changes = Changes::between(&of(&one, &none), &of(&one, &script)).to_string();
    assert_eq!(changes, "changed in 8 trials: script: not set -> \"abc\"\n");
}

#[test]
fn a_thousand_trials_are_planned_at_once() {
    #[expect(clippy::disallowed_methods, reason = "the time of the planning itself")]
    let begun = std::time::Instant::now();
    let experiment = read(&file(10, 20, "repeats = 5"));
    assert_eq!(planned(&experiment, &Hashes::default()).len(), 1000);
    assert!(begun.elapsed().as_millis() < 1000, "{:?}", begun.elapsed());
}
