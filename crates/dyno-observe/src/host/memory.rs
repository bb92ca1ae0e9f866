//! Memory of the whole host, its swapping and its page faults.

use dyno_core::catalogue::names;

use crate::sink::{Gauge, Rate, SampleBuffer};
use crate::text::named_numbers;

const MEMINFO: &str = "/proc/meminfo";
const VMSTAT: &str = "/proc/vmstat";

/// Our names, and the kernel's.
const SIZES: [(&str, &[u8]); 12] = [
    (names::HOST_MEMORY_TOTAL, b"MemTotal"),
    (names::HOST_MEMORY_FREE, b"MemFree"),
    (names::HOST_MEMORY_AVAILABLE, b"MemAvailable"),
    (names::HOST_MEMORY_CACHED, b"Cached"),
    (names::HOST_MEMORY_BUFFERS, b"Buffers"),
    (names::HOST_MEMORY_DIRTY, b"Dirty"),
    (names::HOST_MEMORY_WRITEBACK, b"Writeback"),
    (names::HOST_MEMORY_ANON, b"AnonPages"),
    (names::HOST_MEMORY_SLAB_RECLAIMABLE, b"SReclaimable"),
    (names::HOST_MEMORY_SLAB_UNRECLAIMABLE, b"SUnreclaim"),
    (names::HOST_MEMORY_SWAP_TOTAL, b"SwapTotal"),
    (names::HOST_MEMORY_SWAP_FREE, b"SwapFree"),
];

pub(crate) struct Memory {
    sizes: [Gauge; SIZES.len()],
    swap_in: Rate,
    swap_out: Rate,
    major_faults: Rate,
    oom_kills: Gauge,
}

impl Memory {
    pub(crate) fn new() -> Self {
        // SAFETY: a call without pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as f64;
        let swap = |name: &str| Rate::scaled(name, "bytes/s", VMSTAT, page);
        Self {
            sizes: SIZES.map(|(name, _)| Gauge::new(name, "bytes", MEMINFO)),
            swap_in: swap(names::HOST_SWAP_IN),
            swap_out: swap(names::HOST_SWAP_OUT),
            major_faults: Rate::new(names::HOST_PAGE_FAULTS_MAJOR, "count/s", VMSTAT),
            oom_kills: Gauge::new(names::HOST_OOM_KILLS, "count", VMSTAT),
        }
    }

    pub(crate) fn meminfo(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        for (name, value) in named_numbers(text) {
            let known = SIZES.iter().position(|(_, theirs)| *theirs == name);
            if let Some(index) = known {
                self.sizes[index].put(recorder, value);
            }
        }
    }

    pub(crate) fn vmstat(&mut self, recorder: &mut SampleBuffer, text: &[u8]) {
        for (name, value) in named_numbers(text) {
            match name {
                b"pswpin" => drop(self.swap_in.put(recorder, value)),
                b"pswpout" => drop(self.swap_out.put(recorder, value)),
                b"pgmajfault" => drop(self.major_faults.put(recorder, value)),
                b"oom_kill" => self.oom_kills.put(recorder, value),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::testing::{recorder, values};

    #[test]
    fn the_recorded_files_are_understood() {
        let (mut recorder, seen) = recorder();
        let mut memory = Memory::new();
        for at in [1_000_000_000, 2_000_000_000] {
            recorder.begin(at);
            memory.meminfo(&mut recorder, include_bytes!("recorded/meminfo-6.18.out"));
            memory.vmstat(&mut recorder, include_bytes!("recorded/vmstat-6.18.out"));
            recorder.finish();
        }
        let values = values(&seen);
        let total = 24_682_416.0 * 1024.0;
        assert_eq!(values["host.memory.total"], [total, total]);
        assert_eq!(values["host.memory.swap_total"], [0.0, 0.0]);
        for name in ["host.swap.in", "host.swap.out", "host.page_faults.major"] {
            assert_eq!(values[name], [0.0], "{name}");
        }
        assert_eq!(values["host.oom_kills"], [0.0, 0.0]);
        assert_eq!(values.len(), SIZES.len() + 4);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in proptest::collection::vec(any::<u8>(), 0..300)) {
            let (mut recorder, _seen) = recorder();
            let mut memory = Memory::new();
            recorder.begin(1);
            memory.meminfo(&mut recorder, &text);
            memory.vmstat(&mut recorder, &text);
        }
    }
}
