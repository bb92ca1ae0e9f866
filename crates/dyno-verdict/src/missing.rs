//! Why a check does not apply to an imported log.

use crate::check::CheckResult;
use crate::view::View;

/// What a log does not say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Missing {
    Attempts,
    Background,
    Build,
    CacheMisses,
    Ceiling,
    Cluster,
    Connection,
    Distribution,
    Driven,
    Fairness,
    Found,
    GeneratorCpu,
    Generators,
    InFlight,
    Keys,
    Lag,
    Latencies,
    Ledger,
    Length,
    ObserverCost,
    Observers,
    OfferedRate,
    QueryCache,
    Rates,
    Replication,
    RequestedSettings,
    Restart,
    Roles,
    Rows,
    Server,
    Sessions,
    StatementLog,
    Tables,
    Whole,
}

impl Missing {
    /// The result of a check that needs it.
    pub(crate) fn result(self) -> CheckResult {
        CheckResult::not_checked(self.sentence())
    }

    /// This result for an imported log, and another reason for other runs.
    pub(crate) fn or(self, view: &View, reason: impl Into<String>) -> CheckResult {
        match view.imported() {
            true => self.result(),
            false => CheckResult::not_checked(reason),
        }
    }

    pub(crate) fn sentence(self) -> String {
        format!("The log does not say {}.", self.what())
    }

    fn what(self) -> &'static str {
        match self {
            Self::Attempts => "how many events were attempted",
            Self::Background => "what the server did in the background",
            Self::Build => "what kind of build the server was",
            Self::CacheMisses => "how often the server's cache missed over time",
            Self::Ceiling => "how much its load generator could have done at most",
            Self::Cluster => "whether the server paused writes as a node of a cluster",
            Self::Connection => "how the client connected",
            Self::Distribution => "how latencies are distributed",
            Self::Driven => "how the run was driven",
            Self::Fairness => "how the work was spread over sessions",
            Self::Found => "what statements found",
            Self::GeneratorCpu => "how long its load generator waited for a CPU",
            Self::Generators => "whether several load generators began together",
            Self::InFlight => "what was in flight or dropped",
            Self::Keys => "which keys were drawn",
            Self::Lag => "how late events began although a session was free",
            Self::Latencies => "how long events took",
            Self::Ledger => "what the server acknowledged to each session",
            Self::Length => "how long the run was",
            Self::ObserverCost => "what observing the run cost",
            Self::Observers => "whether an observer of the run failed",
            Self::OfferedRate => "what rate was offered",
            Self::QueryCache => "what answered the reads",
            Self::Rates => "how the rate changed over time",
            Self::Replication => "whether the server was a replica or had one",
            Self::RequestedSettings => "which settings were requested",
            Self::Restart => "whether a server restarted",
            Self::Roles => "whether each role of the workload kept its rate",
            Self::Rows => "how many rows the tables really had",
            Self::Server => "which server was used, if any",
            Self::Sessions => "what each session did over time",
            Self::StatementLog => "which statements the server logged",
            Self::Tables => "how the tables were defined",
            Self::Whole => "what the figures of the whole run are",
        }
    }
}

#[cfg(test)]
mod tests;
