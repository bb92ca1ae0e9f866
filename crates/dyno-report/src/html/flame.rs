//! A profile as the tree that the page's script draws.

use std::collections::BTreeMap;

use dyno_core::cpu_profile::{CpuProfile, plain_frame};
use serde::Serialize;

/// The smallest share of the samples for a frame to be drawn.
const SHARE_MIN: f64 = 0.001;
/// The most frames drawn, by samples.
const FRAMES_MAX: usize = 4_000;
/// Deeper frames count as part of the frame at this depth.
const DEPTH_MAX: usize = 200;

#[derive(Serialize)]
pub(super) struct Flame {
    samples: u64,
    /// The distinct names of frames.
    names: Vec<String>,
    /// For each name: a kernel function (1), an unknown name (2) or neither (0).
    kinds: Vec<u8>,
    /// Depth, index of the name and samples of each frame, followed by its callees.
    frames: Vec<u64>,
    /// Number of frames left out.
    #[serde(skip)]
    pub(super) left_out: usize,
    /// Frames with fewer samples than this are left out.
    #[serde(skip)]
    pub(super) least: u64,
}

/// A frame with its callees, by indices of names and of frames.
struct Frame<'a> {
    name: &'a str,
    samples: u64,
    calls: BTreeMap<&'a str, usize>,
}

impl Flame {
    pub(super) fn of(profile: &CpuProfile) -> Self {
        let tree = tree(profile);
        let samples: u64 = tree.first().map_or(0, |root| root.samples);
        let mut counts: Vec<u64> = tree.iter().skip(1).map(|frame| frame.samples).collect();
        counts.sort_unstable_by(|a, b| b.cmp(a));
        // The first one beyond the limit, and all of the same size, are left out.
        let too_many = counts.get(FRAMES_MAX).map_or(0, |count| count + 1);
        let least = ((samples as f64 * SHARE_MIN).ceil() as u64).max(too_many);
        let mut flame = Self {
            samples,
            names: Vec::new(),
            kinds: Vec::new(),
            frames: Vec::new(),
            left_out: counts.iter().filter(|count| **count < least).count(),
            least,
        };
        flame.write(&tree);
        flame
    }

    /// Writes the frames, callers before callees.
    fn write(&mut self, tree: &[Frame<'_>]) {
        let mut known: BTreeMap<&str, u64> = BTreeMap::new();
        let calls = |at: usize, depth: u64| {
            let calls = tree[at].calls.values().rev();
            calls.map(move |called| (*called, depth))
        };
        let mut todo: Vec<(usize, u64)> = match tree.is_empty() {
            true => Vec::new(),
            false => calls(0, 0).collect(),
        };
        while let Some((at, depth)) = todo.pop() {
            let frame = &tree[at];
            if frame.samples < self.least {
                continue;
            }
            let number = *known.entry(frame.name).or_insert_with(|| {
                let (name, is_kernel) = plain_frame(frame.name);
                let is_unknown = depth > 0 && name.starts_with('[');
                self.names.push(name.to_owned());
                self.kinds.push(match (is_kernel, is_unknown) {
                    (true, _) => 1,
                    (false, true) => 2,
                    (false, false) => 0,
                });
                self.names.len() as u64 - 1
            });
            self.frames.extend([depth, number, frame.samples]);
            todo.extend(calls(at, depth + 1));
        }
    }
}

/// All frames; the first is the root of all threads.
fn tree(profile: &CpuProfile) -> Vec<Frame<'_>> {
    let mut tree = vec![Frame {
        name: "",
        samples: 0,
        calls: BTreeMap::new(),
    }];
    for (stack, count) in profile.stacks.iter() {
        let mut at = 0;
        tree[at].samples += count;
        for name in stack.split(';').take(DEPTH_MAX) {
            at = match tree[at].calls.get(name) {
                Some(known) => *known,
                None => {
                    let new = tree.len();
                    tree[at].calls.insert(name, new);
                    tree.push(Frame {
                        name,
                        samples: 0,
                        calls: BTreeMap::new(),
                    });
                    new
                }
            };
            tree[at].samples += count;
        }
    }
    tree
}

#[cfg(test)]
mod tests {
    use dyno_core::cpu_profile::ProfiledProcess;
    use dyno_samples::values;

    use super::*;

    fn profile(folded: &str) -> CpuProfile {
        values::profile(ProfiledProcess::Server, folded)
    }

    #[test]
    fn callers_come_before_callees() {
        let flame = Flame::of(&profile(
            "a;main;read;copy_[k] 4\na;main;write 5\nb;[libc.so] 1\n",
        ));
        assert_eq!(
            flame.names,
            ["a", "main", "read", "copy", "write", "b", "[libc.so]"]
        );
        assert_eq!(flame.kinds, [0, 0, 0, 1, 0, 0, 2]);
        let frames = [
            [0, 0, 9],
            [1, 1, 9],
            [2, 2, 4],
            [3, 3, 4],
            [2, 4, 5],
            [0, 5, 1],
            [1, 6, 1],
        ];
        assert_eq!(flame.frames, frames.concat());
        assert_eq!((flame.samples, flame.left_out), (10, 0));
    }

    #[test]
    fn small_frames_are_left_out_and_counted() {
        let mut text = "a;main;large 99000\n".to_owned();
        for number in 0..50 {
            text += &format!("a;main;small{number} 20\n");
        }
        let flame = Flame::of(&profile(&text));
        assert_eq!(
            (flame.names.len(), flame.left_out, flame.least),
            (3, 50, 100)
        );
        // Frames that are all large enough are limited, too.
        let many: String = (0..20)
            .flat_map(|outer| (0..400).map(move |inner| format!("a;f{outer};g{inner};h 1\n")))
            .collect();
        let flame = Flame::of(&profile(&many));
        assert!(
            flame.frames.len() / 3 <= FRAMES_MAX,
            "{}",
            flame.frames.len()
        );
        let none = Flame::of(&profile(""));
        assert_eq!((none.samples, none.frames.len()), (0, 0));
    }

    #[test]
    fn a_stack_of_any_depth_is_drawn_to_a_bound() {
        let deep = format!("a{} 3\n", ";f".repeat(200_000));
        assert_eq!(Flame::of(&profile(&deep)).frames.len() / 3, DEPTH_MAX);
    }
}
