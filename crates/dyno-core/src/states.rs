//! What the sessions of a run are doing: each is in exactly one state at any instant.

use serde::{Deserialize, Serialize};

use crate::clock::Nanos;

/// What a session is doing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// It is in an event, or about to begin one.
    Working,
    /// It waits for the time of its next event: an arrival, its pace, time to think, the ramp-up,
    /// its turn within the limit of events.
    #[default]
    Waiting,
    /// It has no connection and makes one.
    Connecting,
    /// It failed, its worker does not respond, or its connection was closed while it waits for the
    /// time of its next event, which makes another.
    Lost,
    /// It has ended its run by itself.
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

    /// As it is called in reports.
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

/// How many sessions are in each state. They add up to the sessions asked for.
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
    /// Of those that work: how many have completed nothing for long, while they wait for an answer
    /// or run their script. Not known of recorded runs.
    #[serde(skip)]
    pub idle: u32,
}

impl SessionStates {
    /// So many sessions, all in one state.
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

    /// How many are in a state.
    pub fn of(&self, state: SessionState) -> u32 {
        let mut copy = *self;
        *copy.of_mut(state)
    }

    /// All sessions.
    pub fn total(&self) -> u32 {
        self.working + self.waiting + self.connecting + self.lost + self.finished
    }

    /// Those whose run goes on: they work, wait or connect.
    pub fn running(&self) -> u32 {
        self.working + self.waiting + self.connecting
    }

    /// Whether a session is neither at work nor waiting for its time, and did not end by itself.
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

/// What a session was at while it completed nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IdleIn {
    /// It waited for the answer of a statement.
    Statement,
    /// It was making a connection.
    Connecting,
    /// It ran its script, or waited for its turn to.
    #[default]
    Script,
    /// Its worker did not respond.
    Worker,
}

/// A time in which a session completed no statement and no event, and did not wait for the time
/// of its next event. Instants as seen once a second, at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdleTime {
    /// Since when.
    pub from: Nanos,
    /// Until when.
    pub to: Nanos,
    /// What it was at, when it was seen last.
    pub idle_in: IdleIn,
    /// Attempts to connect that it had begun then; 0 where it was not connecting.
    pub attempts: u32,
}

impl IdleTime {
    /// Its length.
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
