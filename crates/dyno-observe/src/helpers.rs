//! Processes that make a run's load, or profile it, besides this one. What they use is the
//! client's, and their sessions are the run's own.

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
    /// These processes, by their numbers, and so many sessions from other hosts.
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

/// The processes.
pub(crate) fn processes() -> Vec<i32> {
    known().processes.clone()
}

/// How many sessions there are from other hosts.
pub(crate) fn sessions() -> u32 {
    known().sessions
}

fn known() -> MutexGuard<'static, Known> {
    HELPERS.lock().unwrap_or_else(PoisonError::into_inner)
}
