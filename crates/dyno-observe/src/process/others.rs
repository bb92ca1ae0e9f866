//! Who else used the CPUs.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use super::find::{processes, stat_of};
use crate::host::ticks_per_s;

/// So many are named, and none that used less than this of a core.
const NAMED_MAX: usize = 5;
const CORES_MIN: f64 = 0.01;
/// Beyond so many processes the others are not looked at.
const PROCESSES_MAX: usize = 50_000;

/// CPU time of all processes at one moment.
pub(crate) struct Others {
    at: Nanos,
    /// Ticks by number and start, which together belong to one process.
    ticks: HashMap<(i32, u64), f64>,
}

impl Others {
    /// As they stand now.
    pub(crate) fn now() -> Self {
        let all = processes().take(PROCESSES_MAX);
        let ticks = all.filter_map(|pid| {
            let stat = stat_of(pid)?;
            Some(((pid, stat.start_ticks), stat.user_ticks + stat.system_ticks))
        });
        Self {
            ticks: ticks.collect(),
            at: Clock.now(),
        }
    }

    /// The largest since then that are neither this process nor the server's, in words.
    pub(crate) fn top(&self, server: Option<i32>) -> String {
        let seconds = Clock.now().saturating_sub(self.at) as f64 / 1e9;
        let mut used = Vec::new();
        let own = std::process::id() as i32;
        for pid in processes().take(PROCESSES_MAX) {
            let Some(stat) = stat_of(pid).filter(|_| pid != own) else {
                continue;
            };
            if Some(pid) == server || Some(stat.parent) == server {
                continue;
            }
            let before = self.ticks.get(&(pid, stat.start_ticks)).copied();
            let ticks = stat.user_ticks + stat.system_ticks - before.unwrap_or(0.0);
            used.push((ticks / ticks_per_s() / seconds, pid, stat.name));
        }
        named(used)
    }
}

fn named(mut used: Vec<(f64, i32, String)>) -> String {
    used.retain(|(cores, ..)| *cores >= CORES_MIN && cores.is_finite());
    used.sort_by(|a, b| b.0.total_cmp(&a.0));
    used.truncate(NAMED_MAX);
    if used.is_empty() {
        return format!("none used {CORES_MIN} of a core");
    }
    let told = used.iter().map(|(cores, pid, name)| {
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        format!("{name} ({pid}) {cores:.2} cores")
    });
    told.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_come_first() {
        let used = |cores, pid, name: &str| (cores, pid, name.to_owned());
        let all = vec![
            used(0.1, 1, "cron"),
            used(0.001, 2, "init"),
            used(1.5, 3, "cc\n1"),
        ];
        assert_eq!(named(all), "cc1 (3) 1.50 cores, cron (1) 0.10 cores");
        assert_eq!(named(Vec::new()), "none used 0.01 of a core");
        assert!(!Others::now().ticks.is_empty());
    }
}
