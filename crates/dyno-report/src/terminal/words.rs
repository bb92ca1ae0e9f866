//! The word for an event.

use dyno_core::summary::RunSummary;

/// The word for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventWord {
    /// Of a database.
    Transaction,
    /// Of a host test.
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

    /// The singular.
    pub fn one(self) -> &'static str {
        match self {
            Self::Transaction => "transaction",
            Self::Event => "event",
        }
    }

    /// The plural.
    pub fn many(self) -> &'static str {
        match self {
            Self::Transaction => "transactions",
            Self::Event => "events",
        }
    }

    /// The short form.
    pub fn short(self) -> &'static str {
        match self {
            Self::Transaction => "tx",
            Self::Event => "ev",
        }
    }
}
