//! The trials of an experiment, their order, and their cost.

use std::time::Duration;

use dyno_core::rand::Stream;
use dyno_stats::stopping::{BLOCKS_MIN, Rule, look};

use crate::file::{Applies, Experiment, Order, ResetData, Settle};
use crate::levels::{Cell, Effective};

/// The change required between two successive trials, cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Change {
    /// New connections.
    Reconnect,
    /// Statements on the running server.
    Online,
    /// A restart.
    Start,
    /// A restore of the data, and a start.
    Restore,
}

/// The purpose of a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The regular trial of its cell in this block.
    Repeat,
    /// A repeated baseline, to measure the host's own noise.
    Aa,
    /// The baseline in the middle or at the end of a block.
    Bracket,
    /// Another trial of the best cell: its first figures are biased, because they made it the best.
    Confirm,
}

impl Role {
    /// As printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Repeat => "repeat",
            Self::Aa => "a/a",
            Self::Bracket => "bracket",
            Self::Confirm => "confirm",
        }
    }
}

/// A trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trial {
    /// Its cell, as an index.
    pub cell: usize,
    /// Its block, from 0.
    pub block: usize,
    /// The number of earlier trials of its cell in its role.
    pub repeat: usize,
    /// Its purpose.
    pub role: Role,
    /// The change required after the previous trial.
    pub change: Change,
}

/// All trials of an experiment.
#[derive(Clone, Debug, PartialEq)]
pub struct Trials {
    /// The cells.
    pub cells: Vec<Cell>,
    /// The trials in order.
    pub trials: Vec<Trial>,
    /// Their cost.
    pub cost: Cost,
    /// Whether the trials of a block run consecutively; if not, those of a cell do.
    pub is_blocked: bool,
}

/// The cost of trials.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of trials.
    pub trials: usize,
    /// Data loads: one image per combination of levels that need other data.
    pub loads: usize,
    /// Restores of an image.
    pub restores: usize,
    /// Starts, including those after a restore.
    pub starts: usize,
    /// Changes of a running server.
    pub online: usize,
    /// Trials that only need new connections.
    pub reconnects: usize,
    /// Total time of warm-up, measuring and settling; an upper limit if settling waits for
    /// the server.
    pub time: Duration,
}

impl Experiment {
    /// The trials of the initial number of blocks.
    pub fn trials(&self) -> Trials {
        self.trials_of(self.blocks())
    }

    /// The same trials, plus one more of this cell at the end.
    pub fn confirmed(&self, mut planned: Trials, cell: usize) -> Trials {
        let before = planned.trials.last();
        let block = before.map_or(0, |trial| trial.block);
        let before = before.map(|trial| &planned.cells[trial.cell]);
        let change = self.change(before, &planned.cells[cell]);
        planned.trials.push(Trial {
            change,
            ..trial(cell, block, 0, Role::Confirm)
        });
        planned.cost = self.cost(&planned.cells, &planned.trials);
        planned
    }

    /// The initial number of blocks: the file's repeats, or, with a target precision, the number
    /// before the precision is first checked.
    pub fn blocks(&self) -> usize {
        let repeats = self.design.repeats.as_ref();
        let repeats = repeats.map(|repeats| *repeats.get_ref() as usize);
        let usual = match self.precision() {
            Some(_) => BLOCKS_MIN.min(self.blocks_max()),
            None => 1,
        };
        repeats.unwrap_or(usual)
    }

    /// The target precision of ratios: 0.01 is 1 %. `None` if the number of repeats is fixed.
    pub fn precision(&self) -> Option<f64> {
        let text = self.design.precision.as_ref()?.to_string();
        let value = match text.trim().strip_suffix('%') {
            Some(percent) => percent.trim().parse::<f64>().ok()? / 100.0,
            None => text.trim().parse().ok()?,
        };
        Some(value).filter(|value| *value > 0.0)
    }

    /// The largest number of blocks.
    pub fn blocks_max(&self) -> usize {
        self.design
            .max_blocks
            .map_or(BLOCKS_MAX, |most| most as usize)
    }

    /// The main figure without a search: the rate, or the response time for open loops, which have
    /// a requested rate.
    pub fn subject(&self) -> &'static str {
        let is_open = |cell: &Cell| cell.effective.load.rate.is_some();
        let cells = self.cells();
        match !cells.is_empty() && cells.iter().all(is_open) {
            true => "p99",
            false => "rate",
        }
    }

    /// Whether ratios are precise enough after these trials, or the largest number of blocks
    /// is reached.
    pub fn is_precise(&self, trials: &[crate::Measured]) -> bool {
        let Some(precision) = self.precision() else {
            return true;
        };
        let rule = Rule {
            precision,
            ..Rule::up_to(self.blocks_max())
        };
        let all = crate::analysis::block_logs(self, trials, self.subject());
        let stops = |logs: &Vec<f64>| look(logs, &rule).is_none_or(|look| look.stop.is_some());
        all.iter().all(stops)
    }

    /// The trials of this many blocks. In random order, adding blocks leaves the earlier ones
    /// unchanged, except for the baseline trials that are spread over blocks.
    pub fn trials_of(&self, blocks: usize) -> Trials {
        let cells = self.cells();
        let order = self.design.order;
        let mut trials = Vec::new();
        if order == Order::Blocks {
            for cell in self.arranged(&cells, 0) {
                trials.extend((0..blocks).map(|block| trial(cell, block, block, Role::Repeat)));
            }
        } else {
            for block in 0..blocks {
                let mut of_block: Vec<Trial> = self
                    .arranged(&cells, block)
                    .into_iter()
                    .map(|cell| trial(cell, block, block, Role::Repeat))
                    .collect();
                self.bracket(&cells, block, &mut of_block);
                trials.extend(of_block);
            }
        }
        self.add_aa(&cells, blocks, &mut trials);
        for index in 0..trials.len() {
            let before = index
                .checked_sub(1)
                .map(|before| &cells[trials[before].cell]);
            trials[index].change = self.change(before, &cells[trials[index].cell]);
        }
        let cost = self.cost(&cells, &trials);
        Trials {
            cells,
            trials,
            cost,
            is_blocked: order != Order::Blocks,
        }
    }

    /// Groups of factors that change together, slowest first, and the number of groups whose order
    /// is random. The others step through their levels upwards and then downwards.
    fn tiers(&self) -> (Vec<Vec<&str>>, usize) {
        let pair = self.pair();
        let nest: Vec<&str> = self
            .design
            .nest
            .iter()
            .map(|n| n.get_ref().as_str())
            .collect();
        let mut tiers: Vec<Vec<&str>> = nest.iter().map(|name| vec![*name]).collect();
        // A new image and a new place both need a restore.
        let restore = [Applies::Load, Applies::Place];
        let (start, online, client) = ([Applies::Start], [Applies::Online], [Applies::Client]);
        for tier in [&restore[..], &start, &online, &client] {
            let crossed = self.crossed().into_iter();
            let names = crossed.filter(|factor| tier.contains(&factor.applies));
            let names = names.map(|factor| factor.name.get_ref().as_str());
            let names: Vec<&str> = names
                .filter(|name| Some(*name) != pair && !nest.contains(name))
                .collect();
            if !names.is_empty() {
                tiers.push(names);
            }
        }
        let permuted = if nest.is_empty() {
            tiers.len()
        } else {
            nest.len()
        };
        tiers.extend(pair.map(|pair| vec![pair]));
        (tiers, permuted)
    }

    fn arranged(&self, cells: &[Cell], block: usize) -> Vec<usize> {
        let all: Vec<usize> = (0..cells.len()).collect();
        if self.design.order == Order::Listed {
            return all;
        }
        // Every other block reverses the one before, so that a drift between blocks affects all
        // cells equally; ladders and pairs already alternate.
        let alternates = !self.design.nest.is_empty() || self.pair().is_some();
        let mirrors = block % 2 == 1 && !alternates && self.design.order == Order::Random;
        if mirrors {
            let mut before = self.arranged(cells, block - 1);
            before.reverse();
            return before;
        }
        let (tiers, permuted) = self.tiers();
        let mut arrange = Arrange {
            cells,
            permuted,
            paired: self.pair().is_some(),
            block,
            stream: Stream::new(self.design.seed, block as u64),
            ladders: 0,
            out: Vec::new(),
        };
        arrange.all(all, &tiers, 0, false);
        arrange.out
    }

    fn bracket(&self, cells: &[Cell], block: usize, trials: &mut Vec<Trial>) {
        let is_base = |trial: &Trial| cells[trial.cell].is_of(&self.design.baseline);
        let Some(at) = trials
            .iter()
            .position(is_base)
            .filter(|_| self.design.bracket)
        else {
            return;
        };
        let base = trials.remove(at);
        let extra = |nth| trial(base.cell, block, 2 * block + nth, Role::Bracket);
        let middle = trials.len().div_ceil(2);
        trials.insert(middle, extra(0));
        trials.push(extra(1));
        trials.insert(0, base);
    }

    /// Adds each repeated baseline directly after a trial of the same cell, where it costs least.
    fn add_aa(&self, cells: &[Cell], blocks: usize, trials: &mut Vec<Trial>) {
        let is_base = |cell: &usize| cells[*cell].is_of(&self.design.baseline);
        let mut base: Vec<usize> = (0..cells.len()).filter(is_base).collect();
        if base.is_empty() || blocks == 0 {
            return;
        }
        shuffle(&mut base, &mut Stream::new(self.design.seed, u64::MAX));
        for nth in 0..self.design.aa as usize {
            let (cell, block) = (base[nth % base.len()], nth % blocks);
            let there = trials
                .iter()
                .position(|t| t.cell == cell && t.block == block);
            if let Some(there) = there {
                trials.insert(there + 1, trial(cell, block, nth, Role::Aa));
            }
        }
    }

    /// The change required before a trial of `next` after one of `before`; `None` if the state of
    /// the server and its data is unknown.
    pub fn change(&self, before: Option<&Cell>, next: &Cell) -> Change {
        let Some(before) = before else {
            return Change::Restore;
        };
        let differs = |name: &str| before.levels.get(name) != next.levels.get(name);
        let mut change = Change::Reconnect;
        for factor in self.crossed() {
            if differs(factor.name.get_ref()) {
                change = change.max(match factor.applies {
                    Applies::Client => Change::Reconnect,
                    Applies::Online if before.effective.undo.iter().any(|u| u == RESTART) => {
                        Change::Start
                    }
                    Applies::Online => Change::Online,
                    Applies::Start => Change::Start,
                    Applies::Place | Applies::Load => Change::Restore,
                });
            }
        }
        let resets = matches!(self.reset.data, Some(ResetData::Restore | ResetData::Empty));
        let nest = &self.design.nest;
        let begins = nest.is_empty() || nest.iter().any(|name| differs(name.get_ref()));
        if resets && begins {
            Change::Restore
        } else {
            change
        }
    }

    fn cost(&self, cells: &[Cell], trials: &[Trial]) -> Cost {
        let mut cost = Cost {
            trials: trials.len(),
            ..Cost::default()
        };
        let settle = match &self.reset.settle {
            None => Duration::ZERO,
            Some(Settle::Time(time)) => time.value(),
            Some(Settle::Until { at_most, .. }) => at_most.value(),
        };
        for trial in trials {
            match trial.change {
                Change::Reconnect => cost.reconnects += 1,
                Change::Online => cost.online += 1,
                Change::Start => cost.starts += 1,
                Change::Restore => {
                    cost.restores += 1;
                    cost.starts += 1;
                }
            }
            cost.time = cost.time.saturating_add(cells[trial.cell].effective.time());
            cost.time = cost.time.saturating_add(settle);
        }
        if !self.data.none && self.reset.data != Some(ResetData::Empty) {
            let of_load = |cell: &Cell| -> Vec<String> {
                let factors = self.crossed().into_iter();
                let factors = factors.filter(|factor| factor.applies == Applies::Load);
                factors
                    .filter_map(|factor| cell.levels.get(factor.name.get_ref()).cloned())
                    .collect()
            };
            let mut images: Vec<_> = cells.iter().map(of_load).collect();
            images.sort();
            images.dedup();
            cost.loads = images.len();
        }
        cost
    }
}

/// The default limit of blocks.
const BLOCKS_MAX: usize = 30;
const RESTART: &str = "server.restart";

fn trial(cell: usize, block: usize, repeat: usize, role: Role) -> Trial {
    Trial {
        cell,
        block,
        repeat,
        role,
        change: Change::Restore,
    }
}

struct Arrange<'a> {
    cells: &'a [Cell],
    permuted: usize,
    paired: bool,
    block: usize,
    stream: Stream,
    ladders: usize,
    out: Vec<usize>,
}

impl Arrange<'_> {
    fn all(&mut self, cells: Vec<usize>, tiers: &[Vec<&str>], depth: usize, down: bool) {
        let Some((tier, rest)) = tiers.split_first() else {
            self.out.extend(cells);
            return;
        };
        let mut down = down;
        if depth == self.permuted {
            // Ladders alternate between up and down; the next block begins in the other direction.
            down = (self.ladders + self.block) % 2 == 1;
            self.ladders += 1;
        }
        let mut groups: Vec<Vec<usize>> = Vec::new();
        let mut keys: std::collections::HashMap<Vec<&str>, usize> = Default::default();
        for cell in cells {
            let levels = &self.cells[cell].levels;
            let key = tier
                .iter()
                .filter_map(|name| levels.get(*name))
                .map(String::as_str);
            let next = groups.len();
            let at = *keys.entry(key.collect()).or_insert(next);
            if at == next {
                groups.push(Vec::new());
            }
            groups[at].push(cell);
        }
        if self.paired && rest.is_empty() {
            // Thue-Morse: AB BA BA AB, which cancels any drift up to quadratic.
            if self.block.count_ones() % 2 == 1 {
                groups.reverse();
            }
        } else if depth < self.permuted {
            shuffle(&mut groups, &mut self.stream);
        } else if down {
            groups.reverse();
        }
        for group in groups {
            self.all(group, rest, depth + 1, down);
        }
    }
}

/// The Fisher-Yates shuffle.
fn shuffle<T>(list: &mut [T], stream: &mut Stream) {
    for last in (1..list.len()).rev() {
        let other = stream.below(last as u64 + 1) as usize;
        list.swap(last, other);
    }
}

/// Approximate number of runs of a search: four votes on each of eight loads, ten confirmations,
/// and the run at the resulting load.
const SEARCH_RUNS: u32 = 43;

impl Effective {
    /// The duration of a trial's load, including warm-ups, according to the file.
    pub fn time(&self) -> Duration {
        let times = [&self.load.warmup, &self.load.time].into_iter().flatten();
        let run: Duration = times.map(|time| time.value()).sum();
        match self.search {
            Some(_) => run.saturating_mul(SEARCH_RUNS),
            None => run,
        }
    }
}
