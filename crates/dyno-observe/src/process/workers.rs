//! The threads that drive the load.

use dyno_core::catalogue::{Family, names};

use super::PidStat;
use crate::host::ticks_per_s;
use crate::sink::{Mean, Rate, SampleBuffer};
use crate::text::{ProcFile, named_numbers, names_in, number, small, whole, words};

const TASKS: &str = "/proc/self/task";

/// The worker threads, found by name.
pub(crate) struct Workers {
    threads: Vec<Thread>,
    waits: Mean,
}

struct Thread {
    worker: u32,
    tid: i32,
    stat: ProcFile,
    /// Nanoseconds on a CPU and waiting for one; `None` without the kernel's schedstats.
    schedstat: Option<ProcFile>,
    status: Option<ProcFile>,
    cpu: Rate,
    run_queue_wait: Rate,
    involuntary: Rate,
    /// The CPU that it last ran on.
    last_cpu: Option<u64>,
    gone: bool,
}

impl Workers {
    pub(crate) fn new() -> Self {
        let source = "/proc/self/task/TID/schedstat of the workers";
        Self {
            threads: Vec::new(),
            waits: Mean::new(names::CLIENT_RUN_QUEUE_WAIT, "cores", source),
        }
    }

    /// Finds threads called `dyno-` and a number, the names of workers.
    pub(crate) fn find() -> Vec<(u32, i32)> {
        let mut found = Vec::new();
        for name in names_in(TASKS) {
            let Some(tid) = whole(name.as_bytes()) else {
                continue;
            };
            let comm = small(format!("{TASKS}/{name}/comm")).unwrap_or_default();
            if let Some(worker) = worker_of(&comm) {
                found.push((worker, tid as i32));
            }
        }
        found
    }

    /// Adds these threads. Those that are already watched stay as they are.
    pub(crate) fn watch(&mut self, workers: &[(u32, i32)]) {
        for (worker, tid) in workers {
            if self.threads.iter().any(|thread| thread.tid == *tid) {
                continue;
            }
            if let Some(thread) = Thread::open(*worker, *tid) {
                // A worker's number belongs to one thread at a time.
                self.threads.retain(|other| other.worker != *worker);
                self.threads.push(thread);
            }
        }
    }

    pub(crate) fn tids(&self) -> Vec<i32> {
        self.threads.iter().map(|thread| thread.tid).collect()
    }

    pub(crate) fn len(&self) -> usize {
        self.threads.len()
    }

    /// The CPUs that they last ran on.
    pub(crate) fn cpus(&self) -> Vec<usize> {
        let cpus = self.threads.iter().filter_map(|thread| thread.last_cpu);
        cpus.map(|cpu| cpu as usize).collect()
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        let mut waits = None;
        for thread in &mut self.threads {
            if let Some(wait) = thread.sample(recorder, buffer) {
                *waits.get_or_insert(0.0) += wait;
            }
        }
        if let Some(waits) = waits {
            self.waits.put(recorder, waits);
        }
        self.threads.retain(|thread| !thread.gone);
    }
}

/// Parses `dyno-7` as worker 7. The observers' own threads have no number.
fn worker_of(comm: &str) -> Option<u32> {
    let number = comm.strip_prefix("dyno-")?;
    whole(number.as_bytes())?.try_into().ok()
}

impl Thread {
    fn open(worker: u32, tid: i32) -> Option<Self> {
        let file = |name: &str| format!("{TASKS}/{tid}/{name}");
        let full = |series: Family| series.of(worker);
        let schedstat = ProcFile::find(file("schedstat"));
        let (source, scale) = match schedstat {
            Some(_) => ("/proc/self/task/TID/schedstat", 1e-9),
            None => ("/proc/self/task/TID/stat", 1.0 / ticks_per_s()),
        };
        Some(Self {
            worker,
            tid,
            stat: ProcFile::open(file("stat")).ok()?,
            schedstat,
            status: ProcFile::find(file("status")),
            cpu: Rate::scaled(&full(names::CLIENT_WORKER_CPU), "cores", source, scale),
            run_queue_wait: Rate::scaled(
                &full(names::CLIENT_WORKER_RUN_QUEUE_WAIT),
                "cores",
                source,
                scale,
            ),
            involuntary: Rate::new(
                &full(names::CLIENT_WORKER_INVOLUNTARY_SWITCHES),
                "count/s",
                "/proc/self/task/TID/status",
            ),
            last_cpu: None,
            gone: false,
        })
    }

    /// Returns how long it waited for a CPU, in seconds per second.
    fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) -> Option<f64> {
        let stat = self.stat.read(buffer).ok().and_then(PidStat::parse);
        let Some(stat) = stat else {
            self.gone = true;
            return None;
        };
        self.last_cpu = stat.cpu;
        let times = self
            .schedstat
            .as_ref()
            .and_then(|file| file.read(buffer).ok());
        let wait = match times.and_then(schedstat) {
            Some((ran, waited)) => {
                self.cpu.put(recorder, ran);
                self.run_queue_wait.put(recorder, waited)
            }
            None => {
                self.cpu.put(recorder, stat.user_ticks + stat.system_ticks);
                None
            }
        };
        if let Some(text) = self.status.as_ref().and_then(|file| file.read(buffer).ok()) {
            let mut named = named_numbers(text);
            let found = named.find(|(name, _)| *name == b"nonvoluntary_ctxt_switches");
            self.involuntary
                .put_some(recorder, found.map(|(_, count)| count));
        }
        wait
    }
}

/// The nanoseconds that a thread ran, and those that it waited for a CPU.
fn schedstat(text: &[u8]) -> Option<(f64, f64)> {
    let mut words = words(text);
    let ran = words.next().and_then(number)?;
    Some((ran, words.next().and_then(number)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_are_known_by_their_names() {
        assert_eq!(worker_of("dyno-0"), Some(0));
        assert_eq!(worker_of("dyno-12"), Some(12));
        for other in ["dyno-observe", "dyno-", "dyno", "dyno-1x", "x-1"] {
            assert_eq!(worker_of(other), None, "{other}");
        }
        assert_eq!(
            schedstat(b"1341189 69093 1\n"),
            Some((1_341_189.0, 69_093.0))
        );
        assert_eq!(schedstat(b"1341189\n"), None);
    }
}
