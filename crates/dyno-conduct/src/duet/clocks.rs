//! The CPU time of both servers at each boundary between slices.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::{Nanos, ProcessClock};
use dyno_core::record::Fact;
use dyno_load::Duet;
use dyno_run::Sink;

/// How often the children of a server's process are listed.
const CHILDREN_NS: Nanos = 1_000_000_000;
/// A reading later than one part in this many of a slice is dropped.
const LATE: Nanos = 10;
/// The longest sleep, so that the loop notices the end.
const NAP: Duration = Duration::from_millis(100);

/// The process of a side's server on this host; 0 until an observer has found it.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerPid(Arc<AtomicI32>);

impl ServerPid {
    pub(super) fn get(&self) -> Option<i32> {
        Some(self.0.load(Ordering::Relaxed)).filter(|pid| *pid > 0)
    }
}

impl Sink for ServerPid {
    fn facts(&mut self, facts: &[Fact]) {
        let of_server = facts.iter().find(|fact| fact.name == names::SERVER_PID);
        if let Some(pid) = of_server.and_then(|fact| fact.value.parse().ok()) {
            self.0.store(pid, Ordering::Relaxed);
        }
    }
}

/// The CPU time of a server: its process and the children that serve its sessions.
struct Server {
    pid: i32,
    /// Each process with the time at its last reading.
    processes: BTreeMap<i32, (ProcessClock, Nanos)>,
    used_ns: Nanos,
    children_at: Nanos,
}

impl Server {
    fn of(pid: i32) -> Self {
        Self {
            pid,
            processes: BTreeMap::new(),
            used_ns: 0,
            children_at: 0,
        }
    }

    /// The CPU time used since the first reading. What a process used before it became known, and
    /// after the last reading before its end, is missing.
    fn read(&mut self, now: Nanos) -> Nanos {
        if now >= self.children_at {
            self.children_at = now + CHILDREN_NS;
            for pid in std::iter::once(self.pid).chain(children(self.pid)) {
                if let Some(clock) = ProcessClock::of(pid)
                    && let Some(used) = clock.read()
                {
                    self.processes.entry(pid).or_insert((clock, used));
                }
            }
        }
        let used_ns = &mut self.used_ns;
        self.processes.retain(|_, (clock, last)| {
            let Some(used) = clock.read() else {
                return false;
            };
            *used_ns += used.saturating_sub(*last);
            *last = used;
            true
        });
        *used_ns
    }
}

/// The children of a process; none if the kernel does not list them.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The CPU times of both servers, by the slice that begins with the reading.
#[derive(Debug, Default)]
pub(super) struct Readings(Mutex<BTreeMap<u64, [Option<Nanos>; 2]>>);

impl Readings {
    /// The CPU time of a side's server in a slice; `None` if a reading at one of its ends is
    /// missing.
    pub(super) fn used_ns(&self, side: usize, slice: u64) -> Option<Nanos> {
        let readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |slice| readings.get(&slice).and_then(|both| both[side]);
        Some(at(slice + 1)?.saturating_sub(at(slice)?))
    }

    /// Reads the clocks at each boundary until `over` is set.
    pub(super) fn fill(&self, duet: &Duet, pids: &[ServerPid; 2], over: &AtomicBool) {
        let length_ns = duet.slices().length_ns.max(1);
        let mut servers: [Option<Server>; 2] = [None, None];
        let mut next = 0;
        while !over.load(Ordering::Relaxed) {
            let Some(begin) = duet.begin() else {
                std::thread::sleep(NAP);
                continue;
            };
            let boundary = begin + next * length_ns;
            let now = Clock.now();
            if now < boundary {
                std::thread::sleep(Duration::from_nanos(boundary - now).min(NAP));
                continue;
            }
            next = (now - begin) / length_ns + 1;
            if now - boundary > length_ns / LATE {
                continue;
            }
            let read = [0, 1].map(|side: usize| {
                if servers[side].is_none() {
                    servers[side] = pids[side].get().map(Server::of);
                }
                servers[side].as_mut().map(|server| server.read(now))
            });
            let mut readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            readings.insert((boundary - begin) / length_ns, read);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_uses_cpu_time() {
        let pid = std::process::id() as i32;
        let mut server = Server::of(pid);
        let first_ns = server.read(1);
        assert!(first_ns < 10_000_000, "{first_ns}");
        let until = dyno_core::clock::process_cpu() + 20_000_000;
        let mut work = 0u64;
        while dyno_core::clock::process_cpu() < until {
            work = std::hint::black_box(work + 1);
        }
        assert!(server.read(2) >= 15_000_000);
        assert!(children(pid).iter().all(|child| *child > 0));
    }

    #[test]
    fn a_slice_needs_readings_at_both_ends() {
        let readings = Readings::default();
        {
            let mut all = readings.0.lock().unwrap();
            all.insert(3, [Some(10), None]);
            all.insert(4, [Some(25), Some(7)]);
            all.insert(6, [Some(40), Some(8)]);
        }
        assert_eq!(readings.used_ns(0, 3), Some(15));
        assert_eq!(readings.used_ns(1, 3), None);
        assert_eq!(readings.used_ns(0, 4), None);
        assert_eq!(readings.used_ns(0, 5), None);
    }
}
