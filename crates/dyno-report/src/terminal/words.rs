//! What an event is called.

use dyno_core::summary::RunSummary;

/// What an event is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventWord {
    /// Of a database.
    Transaction,
    /// Of a test of the host.
    Event,
}

impl EventWord {
    /// The word for a run's events.
    pub fn of(run: &RunSummary) -> Self {
        match run.machine {
            Some(_) => Self::Event,
            None => Self::Transaction,
        }
    }

    /// One of them.
    pub fn one(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Event => "event",
        }
    }

    /// Several.
    pub fn many(self) -> &'static str {
        match self {
            Self::Transaction => "transactions",
            Self::Event => "events",
        }
    }

    /// Where there is little room.
    pub fn short(self) -> &'static str {
        match self {
            Self::Transaction => "tx",
            Self::Event => "ev",
        }
    }
}
