//! The memory of PostgreSQL's sessions, which are processes with private caches.

use std::collections::HashMap;

use dyno_core::catalogue::names;

use crate::sink::{Gauge, SampleBuffer};
use crate::text::of_process;

/// The beginnings of titles of processes that serve no client.
const OTHERS: [&str; 16] = [
    "archiver",
    "autovacuum",
    "background",
    "bgworker",
    "checkpointer",
    "io worker",
    "logger",
    "logical replication",
    "parallel worker",
    "slotsync worker",
    "startup",
    "stats collector",
    "walreceiver",
    "walsender",
    "walsummarizer",
    "walwriter",
];

/// The private memory of the sessions' processes.
pub(crate) struct Backends {
    /// Whether a process serves a client, once its title shows it.
    known: HashMap<i32, bool>,
    /// The observer's own backend.
    own: Option<i32>,
    sum: f64,
    count: f64,
    largest: f64,
    mean: Gauge,
    max: Gauge,
}

impl Backends {
    pub(crate) fn new(own: Option<i32>) -> Self {
        let gauge = |name: &str| Gauge::new(name, "bytes", "/proc/PID/statm of the sessions");
        Self {
            known: HashMap::new(),
            own,
            sum: 0.0,
            count: 0.0,
            largest: 0.0,
            mean: gauge(names::SERVER_MEMORY_SESSION_MEAN),
            max: gauge(names::SERVER_MEMORY_SESSION_MAX),
        }
    }

    /// Adds a process with its private bytes, if it serves a client.
    pub(crate) fn add(&mut self, pid: i32, bytes: f64) {
        if Some(pid) == self.own {
            return;
        }
        let serves = match self.known.get(&pid) {
            Some(serves) => *serves,
            None => {
                let title = std::fs::read(of_process(pid, "cmdline")).unwrap_or_default();
                // A new process still has its parent's title.
                let Some(serves) = serves_client(&String::from_utf8_lossy(&title)) else {
                    return;
                };
                self.known.insert(pid, serves);
                serves
            }
        };
        if serves {
            self.sum += bytes;
            self.count += 1.0;
            self.largest = self.largest.max(bytes);
        }
    }

    /// Reports the sums, and forgets processes that are gone.
    pub(crate) fn report(&mut self, recorder: &mut SampleBuffer, pids: &[i32]) {
        self.known.retain(|pid, _| pids.contains(pid));
        if self.count > 0.0 {
            self.mean.put(recorder, self.sum / self.count);
            self.max.put(recorder, self.largest);
        }
        (self.sum, self.count, self.largest) = (0.0, 0.0, 0.0);
    }
}

/// Whether a process with this title serves a client; `None` if it still has its parent's title.
fn serves_client(title: &str) -> Option<bool> {
    let rest = title.strip_prefix("postgres: ")?;
    // A whole word: a user may be called `logger_app`.
    let ends = |rest: &str| rest.is_empty() || rest.starts_with([' ', ':', '\0']);
    let other = |text: &str| {
        let mut rests = OTHERS.iter().filter_map(|name| text.strip_prefix(name));
        rests.any(ends)
    };
    // The cluster's name may come first.
    let named = rest.split_once(": ").is_some_and(|(_, rest)| other(rest));
    Some(!other(rest) && !named)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn titles_identify_who_serves_clients() {
        for title in [
            "postgres: bench test [local] idle\0",
            "postgres: main: bench test 10.0.0.1(50532) INSERT",
            "postgres: logger_app test 10.0.0.1(50532) idle",
        ] {
            assert_eq!(serves_client(title), Some(true), "{title}");
        }
        for title in [
            "postgres: logger",
            "postgres: bgworker: counts things",
            "postgres: checkpointer ",
            "postgres: main: background writer ",
            "postgres: walwriter ",
            "postgres: parallel worker for PID 12 ",
            "postgres: autovacuum worker bench",
        ] {
            assert_eq!(serves_client(title), Some(false), "{title}");
        }
        assert_eq!(serves_client("/usr/bin/postgres\0-D\0/data"), None);
    }
}
