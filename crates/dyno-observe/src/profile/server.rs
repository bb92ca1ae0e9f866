//! The server's processes, as reported by the observers.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dyno_core::catalogue::names;
use dyno_core::db::Family;

use crate::Observation;
use crate::process::children;

/// The server's process according to the observers, updated during a run.
pub struct KnownServer {
    /// The kind of server; `None` without a server outside of this process.
    family: Option<Family>,
    state: Mutex<State>,
}

#[derive(Clone)]
enum State {
    Nothing,
    /// The server is the last of these; the others are from before it was restarted.
    Processes(Vec<i32>),
    NotKnown(String),
}

impl KnownServer {
    /// For a target of this kind, if any.
    pub fn of(family: Option<Family>) -> Self {
        Self {
            family: family.filter(|family| *family != Family::Sqlite),
            state: Mutex::new(State::Nothing),
        }
    }

    /// The process will stay unknown, for this reason.
    pub fn unknown(self, why: &str) -> Self {
        *self.state() = State::NotKnown(why.to_owned());
        self
    }

    /// Takes in an observation.
    pub fn hear(&self, observation: &Observation) {
        match observation {
            Observation::Fact(fact) if fact.name == names::SERVER_PID => {
                let mut state = self.state();
                match (fact.value.parse(), &mut *state) {
                    (Ok(pid), State::Processes(pids)) => pids.push(pid),
                    (Ok(pid), _) => *state = State::Processes(vec![pid]),
                    (Err(_), _) => {}
                }
            }
            Observation::NotObserved(gap) if gap.what == names::SERVER_CPU => {
                let mut state = self.state();
                // A known process may still be unreadable.
                if !matches!(*state, State::Processes(_)) {
                    *state = State::NotKnown(gap.why.clone());
                }
            }
            _ => {}
        }
    }

    /// Whether the server runs in separate processes.
    pub(super) fn is_expected(&self) -> bool {
        self.family.is_some()
    }

    /// The server's process, preceded by those from before restarts; or why it is unknown; `None`
    /// if nothing was reported yet.
    pub(super) fn pids(&self) -> Option<Result<Vec<i32>, String>> {
        let state = self.state().clone();
        match state {
            State::Nothing => None,
            State::NotKnown(why) => Some(Err(why)),
            State::Processes(pids) => Some(Ok(pids)),
        }
    }

    /// Those and their current children.
    pub(super) fn family(&self) -> Option<Result<Vec<i32>, String>> {
        let pids = match self.pids()? {
            Ok(pids) => pids,
            Err(why) => return Some(Err(why)),
        };
        // Those from before restarts are gone.
        let mut all: Vec<i32> = pids.last().copied().into_iter().collect();
        if self.family == Some(Family::Postgres) {
            // Without them its existing sessions would be missed.
            let own = all
                .iter()
                .flat_map(|pid| children(*pid).unwrap_or_default());
            let own: Vec<i32> = own.collect();
            all.extend(own);
        }
        Some(Ok(all))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::record::{Fact, NotObserved};

    use super::*;

    #[test]
    fn observers_identify_the_server_for_the_profiler() {
        let known = KnownServer::of(Some(Family::Postgres));
        assert!(known.is_expected() && known.pids().is_none());
        let gap = NotObserved {
            what: "server.cpu".to_owned(),
            why: "it runs on another host".to_owned(),
        };
        known.hear(&Observation::NotObserved(gap));
        assert_eq!(
            known.pids(),
            Some(Err("it runs on another host".to_owned()))
        );
        let own = std::process::id().cast_signed();
        known.hear(&Observation::Fact(Fact::new(
            "server.pid",
            own.to_string(),
            "SO_PEERCRED",
        )));
        let pids = known.pids().unwrap().unwrap();
        assert_eq!(pids.first(), Some(&own));
        assert!(!KnownServer::of(Some(Family::Sqlite)).is_expected());
        assert!(!KnownServer::of(None).is_expected());
        let off = KnownServer::of(Some(Family::Mysql)).unknown("--observe off");
        assert!(matches!(off.pids(), Some(Err(_))));
    }
}
