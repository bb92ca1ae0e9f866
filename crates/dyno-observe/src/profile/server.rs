//! The server's processes, as far as the observers have told which they are.

use std::sync::{Mutex, MutexGuard, PoisonError};

use dyno_core::db::Family;

use crate::Observation;
use crate::process::children;

/// The fact that says which process the server is.
const PID: &str = "server.pid";
/// What is told as not observed where that is not known.
const GAP: &str = "server.cpu";

/// What observers have told of the server's process; heard from them while a run goes on.
pub struct KnownServer {
    /// Of which kind it is; `None` where there is no server beside this process.
    family: Option<Family>,
    state: Mutex<State>,
}

#[derive(Clone)]
enum State {
    Nothing,
    /// It is the last of these; the others were it before it was restarted.
    Processes(Vec<i32>),
    NotKnown(String),
}

impl KnownServer {
    /// Of a target of this kind, if there is one.
    pub fn of(family: Option<Family>) -> Self {
        Self {
            family: family.filter(|family| *family != Family::Sqlite),
            state: Mutex::new(State::Nothing),
        }
    }

    /// It will not be told, because of this.
    pub fn unknown(self, why: &str) -> Self {
        *self.state() = State::NotKnown(why.to_owned());
        self
    }

    /// Hears what observers say.
    pub fn hear(&self, observation: &Observation) {
        match observation {
            Observation::Fact(fact) if fact.name == PID => {
                let mut state = self.state();
                match (fact.value.parse(), &mut *state) {
                    (Ok(pid), State::Processes(pids)) => pids.push(pid),
                    (Ok(pid), _) => *state = State::Processes(vec![pid]),
                    (Err(_), _) => {}
                }
            }
            Observation::NotObserved(gap) if gap.what == GAP => {
                let mut state = self.state();
                // One that is known may still be one that cannot be read.
                if !matches!(*state, State::Processes(_)) {
                    *state = State::NotKnown(gap.why.clone());
                }
            }
            _ => {}
        }
    }

    /// Whether there is a server that has processes of its own.
    pub(super) fn is_expected(&self) -> bool {
        self.family.is_some()
    }

    /// Its process, and those that it was before; or why it is not known; `None` as long as nothing
    /// was told.
    pub(super) fn pids(&self) -> Option<Result<Vec<i32>, String>> {
        let state = self.state().clone();
        match state {
            State::Nothing => None,
            State::NotKnown(why) => Some(Err(why)),
            State::Processes(pids) => Some(Ok(pids)),
        }
    }

    /// Those and their children now.
    pub(super) fn family(&self) -> Option<Result<Vec<i32>, String>> {
        let pids = match self.pids()? {
            Ok(pids) => pids,
            Err(why) => return Some(Err(why)),
        };
        // Those that it was before are gone.
        let mut all: Vec<i32> = pids.last().copied().into_iter().collect();
        if self.family == Some(Family::Postgres) {
            // Without them its sessions that are there already would be missed.
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
    fn what_observers_say_of_the_server_is_heard() {
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
        known.hear(&Observation::Fact(Fact {
            name: "server.pid".to_owned(),
            value: own.to_string(),
            source: "SO_PEERCRED".to_owned(),
        }));
        let pids = known.pids().unwrap().unwrap();
        assert_eq!(pids.first(), Some(&own));
        assert!(!KnownServer::of(Some(Family::Sqlite)).is_expected());
        assert!(!KnownServer::of(None).is_expected());
        let off = KnownServer::of(Some(Family::Mysql)).unknown("--observe off");
        assert!(matches!(off.pids(), Some(Err(_))));
    }
}
