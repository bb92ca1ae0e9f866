//! Other processes that generate a run's load, or profile it. Their resource usage counts as the
//! client's, and their sessions as the run's.

use std::sync::{Mutex, MutexGuard, PoisonError};

static HELPERS: Mutex<Known> = Mutex::new(Known {
    processes: Vec::new(),
    sessions: 0,
});

struct Known {
    processes: Vec<i32>,
    sessions: u32,
}

/// Processes of this host, and sessions from other hosts, that belong to the run until this is
/// dropped.
#[derive(Debug)]
pub struct Helpers {
    processes: Vec<i32>,
    sessions: u32,
}

impl Helpers {
    /// Registers the processes with these numbers, and this number of sessions from other hosts.
    pub fn new(processes: Vec<i32>, sessions: u32) -> Self {
        let mut known = known();
        known.processes.extend_from_slice(&processes);
        known.sessions += sessions;
        Self {
            processes,
            sessions,
        }
    }
}

impl Drop for Helpers {
    fn drop(&mut self) {
        let mut known = known();
        known.processes.retain(|pid| !self.processes.contains(pid));
        known.sessions = known.sessions.saturating_sub(self.sessions);
    }
}

pub(crate) fn processes() -> Vec<i32> {
    known().processes.clone()
}

/// The number of sessions from other hosts.
pub(crate) fn sessions() -> u32 {
    known().sessions
}

fn known() -> MutexGuard<'static, Known> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}
