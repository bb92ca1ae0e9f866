//! The work of both servers at each boundary between slices: CPU time, and bytes written.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use dyno_analysis::duet::ServerWork;
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

/// The work of a server: its process and its children, which serve sessions or write pages back.
struct Server {
    pid: i32,
    /// Each process with its last reading.
    processes: BTreeMap<i32, (ProcessClock, ServerWork)>,
    work: ServerWork,
    children_at: Nanos,
}

impl Server {
    fn of(pid: i32) -> Self {
        Self {
            pid,
            processes: BTreeMap::new(),
            work: ServerWork {
                cpu_ns: 0,
                written_bytes: Some(0),
            },
            children_at: 0,
        }
    }

    /// The work since the first reading. It excludes a process's work before Dyno found the process
    /// and after the last reading before it ended.
    fn read(&mut self, now: Nanos) -> ServerWork {
        if now >= self.children_at {
            self.children_at = now + CHILDREN_NS;
            for pid in std::iter::once(self.pid).chain(children(self.pid)) {
                if let Some(clock) = ProcessClock::of(pid)
                    && let Some(first) = read(pid, &clock)
                {
                    self.processes.entry(pid).or_insert((clock, first));
                }
            }
        }
        let work = &mut self.work;
        self.processes.retain(|pid, (clock, last)| {
            let Some(current) = read(*pid, clock) else {
                return false;
            };
            *work = work.and(current.since(*last));
            *last = current;
            true
        });
        *work
    }
}

/// What a process did; `None` if it has ended.
fn read(pid: i32, clock: &ProcessClock) -> Option<ServerWork> {
    Some(ServerWork {
        cpu_ns: clock.read()?,
        written_bytes: written(pid),
    })
}

/// The bytes that a process made the kernel write to disk; `None` if Dyno may not read it.
fn written(pid: i32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/io")).ok()?;
    let mut lines = text.lines();
    let bytes = lines.find_map(|line| line.strip_prefix("write_bytes:"))?;
    bytes.trim().parse().ok()
}

/// The children of a process; none if the kernel does not list them.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let numbers = text.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}

/// The work of both servers up to the start of each slice.
#[derive(Debug, Default)]
pub(super) struct Readings(Mutex<BTreeMap<u64, [Option<ServerWork>; 2]>>);

impl Readings {
    /// The work of a side's server in a slice; `None` if a reading at one of its ends is missing.
    pub(super) fn work(&self, side: usize, slice: u64) -> Option<ServerWork> {
        let readings = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |slice| readings.get(&slice).and_then(|both| both[side]);
        Some(at(slice + 1)?.since(at(slice)?))
    }

    /// Reads both at each boundary until `over` is set.
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
        let first = server.read(1);
        assert!(first.cpu_ns < 10_000_000, "{first:?}");
        let until = dyno_core::clock::process_cpu() + 20_000_000;
        let mut work = 0u64;
        while dyno_core::clock::process_cpu() < until {
            work = std::hint::black_box(work + 1);
        }
        assert!(server.read(2).cpu_ns >= 15_000_000);
        assert!(children(pid).iter().all(|child| *child > 0));
    }

    #[test]
    fn a_process_may_read_its_own_writes() {
        assert!(written(std::process::id() as i32).is_some());
        assert_eq!(written(i32::MAX), None);
    }

    #[test]
    fn a_slice_needs_readings_at_both_ends() {
        let work = |cpu_ns, written| {
            Some(ServerWork {
                cpu_ns,
                written_bytes: Some(written),
            })
        };
        let readings = Readings::default();
        {
            let mut all = readings.0.lock().unwrap();
            all.insert(3, [work(10, 100), None]);
            all.insert(4, [work(25, 140), work(7, 0)]);
            all.insert(6, [work(40, 140), work(8, 0)]);
        }
        assert_eq!(readings.work(0, 3), work(15, 40));
        assert_eq!(readings.work(1, 3), None);
        assert_eq!(readings.work(0, 4), None);
        assert_eq!(readings.work(0, 5), None);
    }
}
