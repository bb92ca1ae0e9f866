//! The states of a run's sessions: each session is in exactly one at any instant.

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// The state of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It is in an event, or about to begin one.
    Working,
    /// It waits for the start time of its next event: an arrival, its pace, think time, the
    /// ramp-up, its turn within the event limit.
    #[default]
    Waiting,
    /// It is connecting.
    Connecting,
    /// It failed, its worker does not respond, or its connection was closed while it waits for its
    /// next event, which will reconnect.
    Lost,
    /// The script has ended.
    Finished,
}

impl SessionState {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Working,
        Self::Waiting,
        Self::Connecting,
        Self::Lost,
        Self::Finished,
    ];

    /// The name of the state in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Waiting => "waiting",
            Self::Connecting => "connecting",
            Self::Lost => "lost",
            Self::Finished => "finished",
        }
    }
}

/// The number of sessions in each state. The sum is the number of requested sessions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionStates {
    /// See [`SessionState::Working`].
    pub working: u32,
    /// See [`SessionState::Waiting`].
    pub waiting: u32,
    /// See [`SessionState::Connecting`].
    pub connecting: u32,
    /// See [`SessionState::Lost`].
    pub lost: u32,
    /// See [`SessionState::Finished`].
    pub finished: u32,
    /// Working sessions that have completed nothing for long, waiting for an answer or running
    /// their script. Unknown for recorded runs.
    #[serde(skip)]
    pub idle: u32,
}

impl SessionStates {
    /// All `sessions` in one state.
    pub fn all(state: SessionState, sessions: u32) -> Self {
        let mut states = Self::default();
        *states.of_mut(state) = sessions;
        states
    }

    /// Counts one more session.
    #[inline]
    pub fn add(&mut self, state: SessionState) {
        *self.of_mut(state) += 1;
    }

    /// Number of sessions in a state.
    pub fn of(&self, state: SessionState) -> u32 {
        let mut copy = *self;
        *copy.of_mut(state)
    }

    /// All sessions.
    pub fn total(&self) -> u32 {
        self.working + self.waiting + self.connecting + self.lost + self.finished
    }

    /// Sessions whose run goes on: working, waiting or connecting.
    pub fn running(&self) -> u32 {
        self.working + self.waiting + self.connecting
    }

    /// Whether any session is connecting or lost.
    pub fn is_unusual(&self) -> bool {
        self.connecting + self.lost > 0
    }

    /// Adds the sessions of another worker.
    pub fn merge(&mut self, other: &Self) {
        self.working += other.working;
        self.waiting += other.waiting;
        self.connecting += other.connecting;
        self.lost += other.lost;
        self.finished += other.finished;
        self.idle += other.idle;
    }

    fn of_mut(&mut self, state: SessionState) -> &mut u32 {
        match state {
            SessionState::Working => &mut self.working,
            SessionState::Waiting => &mut self.waiting,
            SessionState::Connecting => &mut self.connecting,
            SessionState::Lost => &mut self.lost,
            SessionState::Finished => &mut self.finished,
        }
    }
}

/// The activity of a session that completed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleIn {
    /// Waiting for the answer of a statement.
    Statement,
    /// Connecting.
    Connecting,
    /// Running its script, or waiting for its turn.
    #[default]
    Script,
    /// The session's worker did not respond.
    Worker,
}

/// A time in which a session completed no statement and no event, and did not wait for its next
/// event's start time. Instants are sampled at most once a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleTime {
    /// Start.
    pub from: Nanos,
    /// End.
    pub to: Nanos,
    /// What the session did when it was last seen.
    pub idle_in: IdleIn,
    /// Connection attempts so far; 0 if it was not connecting.
    pub attempts: u32,
}

impl IdleTime {
    /// Length of the idle time, nanoseconds.
    pub fn length_ns(&self) -> Nanos {
        self.to.saturating_sub(self.from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_states() -> impl Strategy<Value = SessionStates> {
        proptest::array::uniform5(0_u32..1_000_000).prop_map(|counts| {
            let mut states = SessionStates::default();
            for (state, count) in SessionState::ALL.into_iter().zip(counts) {
                states.merge(&SessionStates::all(state, count));
            }
            states
        })
    }

    proptest! {
        #[test]
        fn merged_parts_are_the_whole(parts in proptest::collection::vec(any_states(), 0..20)) {
            let mut sum = SessionStates::default();
            for part in &parts {
                sum.merge(part);
            }
            for state in SessionState::ALL {
                let each: u32 = parts.iter().map(|part| part.of(state)).sum();
                prop_assert_eq!(sum.of(state), each);
            }
            let all: u32 = SessionState::ALL.iter().map(|state| sum.of(*state)).sum();
            prop_assert_eq!(sum.total(), all);
            prop_assert_eq!(sum.total(), sum.running() + sum.lost + sum.finished);
        }
    }
}
