//! Context switches of the server's threads.

use std::collections::HashMap;

use dyno_core::catalogue::names;

use crate::sink::{Mean, SampleBuffer};
use crate::text::{ProcFile, named_numbers, names_in, of_process, whole};

/// With more threads than this, their switches are not worth the cost of reading them.
const THREADS_MAX: usize = 1_024;

/// Context switches of all threads; a process has no counter for them.
pub(super) struct Switches {
    /// Voluntary and involuntary switches of each thread.
    threads: HashMap<i32, (f64, f64)>,
    before_at: Option<u64>,
    voluntary: Mean,
    involuntary: Mean,
}

impl Switches {
    pub(super) fn new() -> Self {
        let mean = |name: &str| Mean::new(name, "count/s", "/proc/PID/task/TID/status");
        Self {
            threads: HashMap::new(),
            before_at: None,
            voluntary: mean(names::SERVER_CONTEXT_SWITCHES_VOLUNTARY),
            involuntary: mean(names::SERVER_CONTEXT_SWITCHES_INVOLUNTARY),
        }
    }

    pub(super) fn sample(
        &mut self,
        recorder: &mut SampleBuffer,
        pids: &[i32],
        buffer: &mut Vec<u8>,
    ) {
        let mut threads = HashMap::new();
        for pid in pids {
            let folder = of_process(*pid, "task");
            for name in names_in(&folder) {
                if threads.len() == THREADS_MAX {
                    self.before_at = None;
                    return;
                }
                let file = ProcFile::open(folder.join(&name).join("status"));
                let switches = file.ok().and_then(|file| switches(file.read(buffer).ok()?));
                if let (Some(tid), Some(switches)) = (whole(name.as_bytes()), switches) {
                    threads.insert(tid as i32, switches);
                }
            }
        }
        let at = recorder.at();
        if let Some(before_at) = self.before_at.replace(at)
            && at > before_at
        {
            let (mut voluntary, mut involuntary) = (0.0, 0.0);
            for (tid, now) in &threads {
                // All switches of a new thread happened since the last sample.
                let before = self.threads.get(tid).copied().unwrap_or_default();
                voluntary += (now.0 - before.0).max(0.0);
                involuntary += (now.1 - before.1).max(0.0);
            }
            let seconds = (at - before_at) as f64 / 1e9;
            self.voluntary.put(recorder, voluntary / seconds);
            self.involuntary.put(recorder, involuntary / seconds);
        }
        self.threads = threads;
    }
}

fn switches(status: &[u8]) -> Option<(f64, f64)> {
    let (mut voluntary, mut involuntary) = (None, None);
    for (name, count) in named_numbers(status) {
        match name {
            b"voluntary_ctxt_switches" => voluntary = Some(count),
            b"nonvoluntary_ctxt_switches" => involuntary = Some(count),
            _ => {}
        }
    }
    voluntary.zip(involuntary)
}
