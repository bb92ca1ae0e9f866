//! The sections of a run as values. The terminal, the page and Markdown render them.

mod agents;
mod comparison;
mod costs;
mod duet;
mod equivalence;
mod errors;
mod facts;
mod findings;
mod generator;
mod history;
mod latency;
mod load;
mod machine;
mod operations;
mod parts;
mod pivot;
mod profiles;
mod remarks;
mod server_host;
mod spread;
mod statements;
mod table;

pub(crate) use agents::agents;
pub(crate) use comparison::{basis, digits, headed, interval, is_there, metrics, remark, times};
pub use costs::others;
pub(crate) use costs::{costs, included, other_work, shared_costs, with};
pub use duet::duet_answer;
pub(crate) use duet::{duet_figures, duet_judged, duet_notes, duet_of, duet_of_both, duet_sides};
pub use equivalence::equivalence_words;
pub(crate) use equivalence::{equivalence_rule, equivalence_short, equivalence_word};
pub(crate) use errors::{
    by_code, cut_off, error_codes, errors, interruptions, message, unfinished,
};
pub(crate) use facts::{facts, tables};
pub(crate) use findings::{against, counts_as, explained, mark, marked, outcome, verdict_words};
pub(crate) use generator::{client, open_loop};
pub(crate) use history::percent;
pub use history::{FigureHistory, History, HistoryChange, HistoryRun, history_differences};
pub(crate) use latency::latencies;
pub(crate) use load::{has_workers, load, phase, sessions};
pub(crate) use machine::{machine, machine_figures};
pub(crate) use operations::{figures, operations, roles, work};
pub(crate) use parts::parts;
pub use pivot::Pivot;
pub(crate) use profiles::{functions, profile_gaps, samples};
pub(crate) use remarks::{ended, remarks, thresholds};
pub(crate) use server_host::server_host;
pub(crate) use spread::{endpoints, spread, uneven};
pub(crate) use statements::{
    digests, elsewhere, executions, median_and_tail, of_server, plans, statements,
};
pub(crate) use table::{Align, Cell, Head, PAGE, Table, Value, ink};

use crate::terminal::Ink;

/// A part of a section.
pub(crate) enum Block {
    /// A text after its label, whose colour is `ink`. It may have several lines.
    Row {
        label: String,
        ink: Ink,
        body: String,
    },
    Table(Table),
}

impl Block {
    pub(crate) fn row(label: &str, ink: Ink, body: impl Into<String>) -> Self {
        Self::Row {
            label: label.to_owned(),
            ink,
            body: body.into(),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        match self {
            Self::Row { body, .. } => body.is_empty(),
            Self::Table(table) => table.rows.is_empty(),
        }
    }
}
