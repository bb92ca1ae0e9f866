//! Sources of answers: a server, a proxy, a results file.

use crate::profile::Profile;

/// A result set, as text. Columns are found by name, because versions of a server have different
/// columns in different orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The rows, each with one field per name; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The index of a column, ignoring case.
    pub fn column(&self, name: &str) -> Option<usize> {
        let is = |known: &String| known.eq_ignore_ascii_case(name);
        self.names.iter().position(is)
    }

    /// A field by index; `None` for NULL or a missing field.
    pub fn field(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The question is refused, but others may be answered: a missing privilege.
    #[error("{0}")]
    Refused(String),
    /// The question is unknown to this version: a missing table or command.
    #[error("{0}")]
    Unknown(String),
    /// The connection was lost or timed out.
    #[error("{0}")]
    Lost(String),
}

impl Trouble {
    /// Whether the connection was lost.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

/// A watched source. A separate thread queries it, so it may block.
pub trait Source: Send {
    /// Connects, or reconnects, and returns the profile.
    ///
    /// # Errors
    /// There is no connection.
    fn open(&mut self) -> Result<Profile, Trouble>;

    /// Asks in the source's language: SQL, a command, a topic.
    ///
    /// # Errors
    /// A refusal, or a lost connection; after the latter it is opened again.
    fn ask(&mut self, question: &str) -> Result<Answer, Trouble>;
}
