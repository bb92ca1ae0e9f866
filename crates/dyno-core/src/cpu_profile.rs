//! CPU profiles: stacks of a process sampled during the measurement.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde::{Deserialize, Serialize};

/// Suffix of kernel frames, the same as other tools for folded stacks use.
pub const OF_KERNEL: &str = "_[k]";
/// Suffix of inlined frames.
pub const INLINED: &str = "_[i]";

/// A profiled process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ProfiledProcess {
    /// The server's processes.
    Server,
    /// Dyno itself, without the sampling program.
    Client,
}

impl ProfiledProcess {
    /// Both, in display order.
    pub const ALL: [Self; 2] = [Self::Server, Self::Client];

    /// The process's name in records and exports.
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
    /// The profiled process.
    pub process: ProfiledProcess,
    /// Requested samples per second of CPU time.
    pub frequency_hz: u32,
    /// Number of samples.
    pub samples: u64,
    /// Samples lost because they came faster than they could be written.
    pub lost: u64,
    /// The part of the measurement that is not covered, as a sentence; `None` if all is covered.
    pub cut: Option<String>,
    /// The stacks of the samples.
    pub stacks: Stacks,
}

/// Sampled stacks with their counts. A stack is the thread's name, then its functions from the
/// outermost to the running one, separated by semicolons.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stacks(BTreeMap<String, u64>);

/// A function's share of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionShare {
    /// The function's name.
    pub name: String,
    /// Samples in which the function itself was running.
    pub own: u64,
    /// Samples in which the function or its callees were running.
    pub total: u64,
}

impl CpuProfile {
    /// All functions, sorted by `own`, largest first.
    pub fn functions(&self) -> Vec<FunctionShare> {
        let mut shares: HashMap<&str, (u64, u64)> = HashMap::new();
        let mut seen = HashSet::new();
        for (stack, count) in self.stacks.iter() {
            // The first is the thread's name.
            let frames = || stack.split(';').skip(1);
            if let Some(last) = frames().last() {
                shares.entry(last).or_default().0 += count;
            }
            // A recursive function counts once.
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

    /// Number of distinct stacks.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there is no stack.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this stack was seen.
    pub fn holds(&self, stack: &str) -> bool {
        self.0.contains_key(stack)
    }

    /// Each stack with its count, sorted by text.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(stack, count)| (stack.as_str(), *count))
    }

    /// One stack per line, followed by its count: the folded format that other tools read.
    pub fn folded(&self) -> String {
        let lines = self
            .iter()
            .map(|(stack, count)| format!("{stack} {count}\n"));
        lines.collect()
    }

    /// Parses the output of [`Stacks::folded`]. Skips invalid lines.
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

/// A frame's name without its suffixes, and whether it is a kernel frame.
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
        let counts: Vec<(&str, u64, u64)> = functions
            .iter()
            .map(|one| (one.name.as_str(), one.own, one.total))
            .collect();
        assert_eq!(
            counts,
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
