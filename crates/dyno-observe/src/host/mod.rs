//! The host: the kernel's counters.

mod cgroup;
mod cpu;
mod disks;
mod facts;
mod files;
mod filesystem;
mod frequency;
mod kernel_log;
mod memory;
mod network;
mod pressure;
mod steps;
#[cfg(test)]
pub(crate) mod testing;

use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;
use dyno_core::record::EventKind;

use crate::sink::SampleBuffer;
use crate::text::ProcFile;
use cpu::Cpu;
use disks::Disks;
use files::OpenFiles;
use filesystem::FileSystem;
use frequency::Frequency;
use kernel_log::KernelLog;
use memory::Memory;
use pressure::Pressure;
use steps::Steps;

pub(crate) use cgroup::Cgroup;
pub(crate) use cpu::{CpuShares, ticks_per_s};
pub use facts::{host_facts, host_gaps};
pub(crate) use filesystem::device_of;
pub(crate) use network::Network;

/// The number of samples between reads of frequencies and disk space.
const SLOW: u64 = 5;

/// Read in every sample.
pub(crate) struct Host {
    files: Files,
    cpu: Cpu,
    memory: Memory,
    pressure: Option<Pressure>,
    disks: Disks,
    network: Network,
    cgroup: Option<Cgroup>,
    frequency: Option<Frequency>,
    filesystem: Option<FileSystem>,
    open_files: OpenFiles,
    steps: Steps,
    kernel_log: Option<KernelLog>,
    bad_sum_reported: bool,
    samples: u64,
}

/// Files that this kernel or sandbox does not show are `None`.
struct Files {
    stat: Option<ProcFile>,
    loadavg: Option<ProcFile>,
    meminfo: Option<ProcFile>,
    vmstat: Option<ProcFile>,
    diskstats: Option<ProcFile>,
    dev: Option<ProcFile>,
    snmp: Option<ProcFile>,
    netstat: Option<ProcFile>,
}

impl Host {
    /// `place`: its file system and device are observed until the location of the data is known.
    pub(crate) fn new(place: Option<PathBuf>) -> Self {
        let find = |path| ProcFile::find(path);
        let wanted: Vec<String> = place.as_deref().and_then(device_of).into_iter().collect();
        Self {
            files: Files {
                stat: find("/proc/stat"),
                loadavg: find("/proc/loadavg"),
                meminfo: find("/proc/meminfo"),
                vmstat: find("/proc/vmstat"),
                diskstats: find("/proc/diskstats"),
                dev: find("/proc/net/dev"),
                snmp: find("/proc/net/snmp"),
                netstat: find("/proc/net/netstat"),
            },
            cpu: Cpu::new(),
            memory: Memory::new(),
            pressure: Pressure::find(),
            disks: Disks::new(wanted),
            network: Network::new("host"),
            cgroup: Cgroup::of("self", names::HOST_CGROUP),
            frequency: Frequency::find(facts::cpus_configured()),
            filesystem: place.as_deref().and_then(FileSystem::of),
            open_files: OpenFiles::find(),
            steps: Steps::new(),
            kernel_log: KernelLog::open(),
            bad_sum_reported: false,
            samples: 0,
        }
    }

    /// The data's location is now known.
    pub(crate) fn watch_data(&mut self, data: &Path) {
        if let Some(device) = device_of(data) {
            self.disks.watch(device);
        }
        if let Some(found) = FileSystem::of(data) {
            self.filesystem = Some(found);
            // In the next sample, not only when it is due.
            self.samples = 0;
        }
    }

    /// Reads everything and returns the CPU usage since the previous sample.
    pub(crate) fn sample(
        &mut self,
        recorder: &mut SampleBuffer,
        at: Nanos,
        buffer: &mut Vec<u8>,
    ) -> Option<CpuShares> {
        let files = &self.files;
        let shares = read(&files.stat, buffer).and_then(|text| self.cpu.stat(recorder, at, text));
        if let Some(text) = read(&files.loadavg, buffer) {
            self.cpu.load(recorder, text);
        }
        if let Some(text) = read(&files.meminfo, buffer) {
            self.memory.meminfo(recorder, text);
        }
        if let Some(text) = read(&files.vmstat, buffer) {
            self.memory.vmstat(recorder, text);
        }
        if let Some(text) = read(&files.diskstats, buffer) {
            self.disks.sample(recorder, at, text);
        }
        if let Some(text) = read(&files.dev, buffer) {
            self.network.dev(recorder, text);
        }
        if let Some(text) = read(&files.snmp, buffer) {
            self.network.snmp(recorder, text);
        }
        if let Some(text) = read(&files.netstat, buffer) {
            self.network.netstat(recorder, text);
        }
        if let Some(pressure) = &mut self.pressure {
            pressure.sample(recorder, buffer);
        }
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.sample(recorder, buffer);
        }
        if self.samples.is_multiple_of(SLOW) {
            if let Some(frequency) = &mut self.frequency {
                frequency.sample(recorder, buffer);
            }
            if let Some(filesystem) = &mut self.filesystem {
                filesystem.sample(recorder);
            }
        }
        self.open_files.sample(recorder, buffer);
        self.steps.sample(recorder);
        if let Some(log) = &mut self.kernel_log {
            log.sample(recorder.sink(), at);
        }
        self.samples += 1;
        self.check_sum(recorder, at, shares);
        shares
    }

    /// Reports, once, when the kernel's accounting of CPU time does not match the elapsed time:
    /// nothing failed, but the shares are off by that difference.
    fn check_sum(&mut self, recorder: &SampleBuffer, at: Nanos, shares: Option<CpuShares>) {
        let Some(sum) = shares.and_then(|shares| shares.bad_sum) else {
            return;
        };
        if std::mem::replace(&mut self.bad_sum_reported, true) {
            return;
        }
        let text = format!(
            "the states of the host's CPUs add up to {sum:.1} % of the elapsed time, as when a \
             hypervisor takes time away; see host.cpu.accounted for each sample"
        );
        recorder.sink().event(at, None, EventKind::Note, text);
    }
}

fn read<'a>(file: &Option<ProcFile>, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    file.as_ref()?.read(buffer).ok()
}
