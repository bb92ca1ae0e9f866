//! Other users of the CPUs.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use super::find::{processes, stat_of};
use crate::helpers;
use crate::host::ticks_per_s;

/// Processes of this host that are known to be the server or related to it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Near {
    /// The only process with the server's name and age, whose children belong to the server.
    pub server: Option<i32>,
    /// The process at the other end of the observer's connection, if it is not a server.
    pub proxy: Option<i32>,
    /// Servers and proxies of the run's other endpoints.
    pub further: Vec<i32>,
}

impl Near {
    /// Whether a process is one of them.
    pub(crate) fn has(&self, pid: i32) -> bool {
        [self.server, self.proxy].contains(&Some(pid)) || self.further.contains(&pid)
    }

    /// Whether a process is a server, whose children belong to it.
    pub(crate) fn serves(&self, pid: i32) -> bool {
        self.server == Some(pid) || self.further.contains(&pid)
    }
}

/// Maximum number of processes named, and the smallest share of a core to be named for.
const NAMED_MAX: usize = 5;
const CORES_MIN: f64 = 0.01;
/// With more processes than this, the others are not identified.
const PROCESSES_MAX: usize = 50_000;

/// If other processes use at least this share of the host's CPUs, they are identified by name.
const LOOKED_AT: f64 = 0.05;
/// Maximum number of ended processes whose names are kept.
const KEPT_MAX: usize = 1_000;

/// Programs that make backups of databases, by their names in `/proc/PID/stat`.
const BACKUPS: [&str; 11] = [
    "innobackupex",
    "mariabackup",
    "mariadb-backup",
    "mariadb-dump",
    "mydumper",
    "mysqldump",
    "mysqlpump",
    "pg_basebackup",
    "pg_dump",
    "pg_dumpall",
    "xtrabackup",
];

/// Processes with a smaller share of the CPU time of all others are not listed.
const SHARE_MIN: f64 = 0.05;

/// The number and start time of a process, which together are unique.
type Key = (i32, u64);

/// CPU time of all processes since a start time.
pub(crate) struct Others {
    at: Nanos,
    /// Ticks at the start.
    ticks: HashMap<Key, f64>,
    /// Names and ticks when last seen, recorded while other processes use much CPU time.
    seen: HashMap<Key, (String, f64)>,
    /// Programs that make backups.
    backups: Vec<Key>,
}

impl Others {
    /// Starts now.
    pub(crate) fn now() -> Self {
        let all = processes().take(PROCESSES_MAX);
        let ticks = all.filter_map(|pid| {
            let stat = stat_of(pid)?;
            Some(((pid, stat.start_ticks), stat.user_ticks + stat.system_ticks))
        });
        Self {
            ticks: ticks.collect(),
            seen: HashMap::new(),
            backups: Vec::new(),
            at: Clock.now(),
        }
    }

    /// Takes the number of cores that other processes used in the last sample. `known` processes do
    /// not count as others.
    pub(crate) fn used(&mut self, cores: f64, cpus: usize, known: &Near) {
        if cores >= LOOKED_AT * cpus.max(1) as f64 {
            self.look(known);
        }
    }

    /// Records who uses CPUs, including processes that end before the run does.
    fn look(&mut self, known: &Near) {
        let mut own = helpers::processes();
        own.push(std::process::id() as i32);
        for pid in processes().take(PROCESSES_MAX) {
            let Some(stat) = stat_of(pid).filter(|_| !own.contains(&pid)) else {
                continue;
            };
            if known.has(pid) || known.serves(stat.parent) {
                continue;
            }
            let key = (pid, stat.start_ticks);
            if BACKUPS.contains(&stat.name.as_str()) && !self.backups.contains(&key) {
                self.backups.push(key);
            }
            let before = self.ticks.get(&key).copied().unwrap_or(0.0);
            let ticks = stat.user_ticks + stat.system_ticks - before;
            let has_room = self.seen.len() < KEPT_MAX || self.seen.contains_key(&key);
            if ticks > 0.0 && has_room {
                self.seen.insert(key, (stat.name, ticks));
            }
        }
    }

    /// The number of running programs that make backups. Programs that never used much CPU time are
    /// not known.
    pub(crate) fn backups(&mut self) -> usize {
        let runs = |(pid, start_ticks): &Key| {
            stat_of(*pid).is_some_and(|stat| stat.start_ticks == *start_ticks && !stat.has_ended())
        };
        self.backups.retain(runs);
        self.backups.len()
    }

    /// The largest users since then other than this process and `known`, as text.
    pub(crate) fn top(&mut self, known: &Near) -> Named {
        self.look(known);
        // A server may have been recorded before it was known.
        self.seen.retain(|key, _| !known.has(key.0));
        let seconds = Clock.now().saturating_sub(self.at) as f64 / 1e9;
        let cores = |ticks: f64| ticks / ticks_per_s() / seconds;
        let used = self.seen.iter();
        named(
            used.map(|(key, (name, ticks))| (cores(*ticks), key.0, name.clone()))
                .collect(),
        )
    }
}

/// The processes that used most.
pub(crate) struct Named {
    /// Each process with its number and cores, if it used a noticeable share.
    pub(crate) words: String,
    /// The total of the largest, including those without such a share.
    pub(crate) cores: f64,
}

pub(super) fn named(mut used: Vec<(f64, i32, String)>) -> Named {
    used.retain(|(cores, ..)| *cores >= CORES_MIN && cores.is_finite());
    used.sort_by(|a, b| b.0.total_cmp(&a.0));
    let all: f64 = used.iter().map(|(cores, ..)| cores).sum();
    used.truncate(NAMED_MAX);
    let cores = used.iter().map(|(cores, ..)| cores).sum();
    if used.is_empty() {
        let words = format!("none used {CORES_MIN} of a core");
        return Named { words, cores };
    }
    let shares = used.iter().filter(|(cores, ..)| *cores >= SHARE_MIN * all);
    let noticeable = shares.count().max(1);
    let shown = used.iter().take(noticeable).map(|(cores, pid, name)| {
        let name: String = name.chars().filter(|c| !c.is_control()).collect();
        format!("{name} ({pid}) {cores:.2} cores")
    });
    let words = shown.collect::<Vec<_>>().join(", ");
    Named { words, cores }
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
        let all = named(all);
        assert_eq!(all.words, "cc1 (3) 1.50 cores, cron (1) 0.10 cores");
        assert!((all.cores - 1.6).abs() < 1e-9);
        assert_eq!(named(Vec::new()).words, "none used 0.01 of a core");
        assert!(!Others::now().ticks.is_empty());
    }

    #[test]
    fn processes_with_a_small_share_are_not_named() {
        let used = |cores, pid| (cores, pid, "rustc".to_owned());
        let all = named(vec![used(0.02, 2), used(1.2, 1), used(0.07, 3)]);
        assert_eq!(all.words, "rustc (1) 1.20 cores, rustc (3) 0.07 cores");
        assert!((all.cores - 1.29).abs() < 1e-9, "{}", all.cores);
        // The largest is named, whatever its share.
        let many = named((0..40).map(|pid| used(0.03, pid)).collect());
        assert_eq!(many.words, "rustc (0) 0.03 cores");
        assert!((many.cores - 0.15).abs() < 1e-9, "{}", many.cores);
    }

    #[test]
    fn a_backup_is_recognised_by_the_name_of_its_process() {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("mariadb-dump");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let mut others = Others::now();
        let mut backup = std::process::Command::new(&program)
            .args(["-c", "read line"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = backup.id() as i32;
        let key = |others: &Others| others.backups.iter().any(|key| key.0 == pid);
        others.look(&Near::default());
        let (is_known, running) = (key(&others), others.backups());
        backup.kill().unwrap();
        // A zombie has ended.
        let until = Clock.now() + 20_000_000_000;
        while others.backups() == running && Clock.now() < until {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        let is_gone = !key(&others);
        backup.wait().unwrap();
        assert!(is_known && running >= 1 && is_gone, "{running}");
    }

    #[test]
    fn names_processes_that_have_ended() {
        let mut others = Others::now();
        let mut busy = std::process::Command::new("sh")
            .args(["-c", "while :; do :; done"])
            .spawn()
            .unwrap();
        let pid = busy.id() as i32;
        let used = |others: &Others| others.seen.keys().any(|key| key.0 == pid);
        let until = Clock.now() + 20_000_000_000;
        while !used(&others) && Clock.now() < until {
            std::thread::sleep(std::time::Duration::from_millis(50));
            others.look(&Near::default());
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        let known = others.seen.iter().find(|(key, _)| key.0 == pid).unwrap();
        assert_eq!(known.1.0, "sh");
        others.look(&Near::default());
        assert!(used(&others));
    }
}
