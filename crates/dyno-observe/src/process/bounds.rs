//! The limits of the server's process: its control group, and its network if separate from this
//! process's.

use dyno_core::catalogue::names;

use crate::host::{Cgroup, Network};
use crate::sink::SampleBuffer;
use crate::text::{ProcFile, of_process};

pub(super) struct Bounds {
    cgroup: Option<Cgroup>,
    network: Option<Namespace>,
}

/// The network of another namespace, such as a container's.
struct Namespace {
    network: Network,
    dev: ProcFile,
    snmp: ProcFile,
}

impl Bounds {
    pub(super) fn of(pid: i32) -> Self {
        Self {
            cgroup: Cgroup::of(&pid.to_string(), names::SERVER_CGROUP),
            network: Namespace::of(pid),
        }
    }

    pub(super) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        if let Some(cgroup) = &mut self.cgroup {
            cgroup.sample(recorder, buffer);
        }
        if let Some(there) = &mut self.network {
            if let Ok(text) = there.dev.read(buffer) {
                there.network.dev(recorder, text);
            }
            if let Ok(text) = there.snmp.read(buffer) {
                there.network.snmp(recorder, text);
            }
        }
    }
}

impl Namespace {
    /// `None` if it is this process's own, or unknown.
    fn of(pid: i32) -> Option<Self> {
        let own = std::fs::read_link("/proc/self/ns/net").ok()?;
        let theirs = std::fs::read_link(of_process(pid, "ns/net")).ok()?;
        if own == theirs {
            return None;
        }
        Some(Self {
            network: Network::new("server"),
            dev: ProcFile::find(of_process(pid, "net/dev"))?,
            snmp: ProcFile::find(of_process(pid, "net/snmp"))?,
        })
    }
}
