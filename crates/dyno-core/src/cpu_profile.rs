//! Where the CPU time of a process went: its stacks, as they were sampled during the measurement.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// What the name of a frame of the kernel ends with, as other tools on folded stacks have it.
pub const OF_KERNEL: &str = "_[k]";
/// What the name of an inlined frame ends with.
pub const INLINED: &str = "_[i]";

/// Whose CPU time it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfiledProcess {
    /// The server's processes.
    Server,
    /// Dyno's own, without the program that samples.
    Client,
}

impl ProfiledProcess {
    /// Both, in the order in which they are shown.
    pub const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// Its word in records and exports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// The sampled stacks of a process, or of a server's processes together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuProfile {
    /// Whose they are.
    pub process: ProfiledProcess,
    /// How many samples each second of CPU time was to give.
    pub frequency_hz: u32,
    /// How many there are.
    pub samples: u64,
    /// How many were lost because they came faster than they could be written.
    pub lost: u64,
    /// What of the measurement it does not cover, as a sentence; `None` where it covers all.
    pub cut: Option<String>,
    /// How many samples had a stack.
    pub stacks: Stacks,
}

/// Sampled stacks with how often each was seen. A stack is the thread's name and then its
/// functions from the outermost to the one at work, with semicolons between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks(BTreeMap<String, u64>);

/// A function's share of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionShare {
    /// Its name.
    pub name: String,
    /// Samples in which it was at work itself.
    pub own: u64,
    /// Samples in which it or what it called was at work.
    pub total: u64,
}

impl CpuProfile {
    /// All functions, those with the most samples of their own first.
    pub fn functions(&self) -> Vec<FunctionShare> {
        let mut shares: HashMap<&str, (u64, u64)> = HashMap::new();
        let mut seen = HashSet::new();
        for (stack, count) in self.stacks.iter() {
            // The first is the thread's name.
            let frames = || stack.split(';').skip(1);
            if let Some(last) = frames().last() {
                shares.entry(last).or_default().0 += count;
            }
            // One that calls itself counts once.
            seen.clear();
            for frame in frames().filter(|frame| seen.insert(*frame)) {
                shares.entry(frame).or_default().1 += count;
            }
        }
        let mut all: Vec<FunctionShare> = shares
            .into_iter()
            .map(|(name, (own, total))| FunctionShare {
                name: name.to_owned(),
                own,
                total,
            })
            .collect();
        all.sort_by(|a, b| (b.own, b.total, &a.name).cmp(&(a.own, a.total, &b.name)));
        all
    }
}

impl Stacks {
    /// Counts a stack.
    pub fn add(&mut self, stack: &str, count: u64) {
        match self.0.get_mut(stack) {
            Some(known) => *known = known.saturating_add(count),
            None => {
                self.0.insert(stack.to_owned(), count);
            }
        }
    }

    /// How many different ones there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this one is among them.
    pub fn holds(&self, stack: &str) -> bool {
        self.0.contains_key(stack)
    }

    /// Each with its count, in the order of their texts.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(stack, count)| (stack.as_str(), *count))
    }

    /// One a line with its count behind it: folded stacks, which other tools read.
    pub fn folded(&self) -> String {
        let lines = self
            .iter()
            .map(|(stack, count)| format!("{stack} {count}\n"));
        lines.collect()
    }

    /// What [`Stacks::folded`] has written. Lines that are none are passed over.
    pub fn of_folded(text: &str) -> Self {
        let mut stacks = Self::default();
        for line in text.lines() {
            if let Some((stack, count)) = line.rsplit_once(' ')
                && let Ok(count) = count.parse()
            {
                stacks.add(stack, count);
            }
        }
        stacks
    }
}

/// A frame's name without what marks its kind, and whether it is the kernel's.
pub fn plain_frame(frame: &str) -> (&str, bool) {
    match frame.strip_suffix(OF_KERNEL) {
        Some(name) => (name, true),
        None => (frame.strip_suffix(INLINED).unwrap_or(frame), false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile() -> CpuProfile {
        let mut stacks = Stacks::default();
        stacks.add("worker 1;main;parse", 6);
        stacks.add("worker 1;main;parse", 1);
        stacks.add("worker 1;main;walk;walk;walk", 2);
        stacks.add("worker 2;main;send;tcp_sendmsg_[k]", 1);
        CpuProfile {
            process: ProfiledProcess::Server,
            frequency_hz: 99,
            samples: 10,
            lost: 0,
            cut: None,
            stacks,
        }
    }

    #[test]
    fn functions_have_their_own_and_their_total_samples() {
        let functions = profile().functions();
        let told: Vec<(&str, u64, u64)> = functions
            .iter()
            .map(|one| (one.name.as_str(), one.own, one.total))
            .collect();
        assert_eq!(
            told,
            [
                ("parse", 7, 7),
                ("walk", 2, 2),
                ("tcp_sendmsg_[k]", 1, 1),
                ("main", 0, 10),
                ("send", 0, 1),
            ]
        );
        assert_eq!(plain_frame("tcp_sendmsg_[k]"), ("tcp_sendmsg", true));
        assert_eq!(plain_frame("push_[i]"), ("push", false));
    }

    #[test]
    fn folded_stacks_read_back() {
        let stacks = profile().stacks;
        let text = stacks.folded();
        assert!(text.starts_with("worker 1;main;parse 7\n"), "{text}");
        assert_eq!(Stacks::of_folded(&text), stacks);
        assert!(Stacks::of_folded("no count\n\nx y\n").is_empty());
    }
}
