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

    /// The word for the events of all these runs: a transaction is also an event.
    pub fn of_all(mut words: impl Iterator<Item = Self>) -> Self {
        match words.any(|word| word == Self::Event) {
            true => Self::Event,
            false => Self::Transaction,
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

    /// The short form of the singular.
    pub fn short(self) -> &'static str {
        match self {
            Self::Transaction => "tx",
            Self::Event => "event",
        }
    }

    /// The unit of their rate, the same wherever it is printed.
    pub fn per_s(self) -> &'static str {
        match self {
            Self::Transaction => "tx/s",
            Self::Event => "events/s",
        }
    }
}
