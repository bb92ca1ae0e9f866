//! Who answers questions: a server, a proxy, a results file.

use crate::profile::Profile;

/// A result set, as text. Columns are found by their names, so that another version of a server
/// may have more of them, fewer, or another order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The names of the columns.
    pub names: Vec<String>,
    /// The rows, each with as many fields as there are names; `None` is NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

impl Answer {
    /// The place of a column; case does not matter.
    pub fn column(&self, name: &str) -> Option<usize> {
        let is = |known: &String| known.eq_ignore_ascii_case(name);
        self.names.iter().position(is)
    }

    /// A field by its place; `None` for NULL and where there is none.
    pub fn field(&self, row: usize, column: usize) -> Option<&str> {
        self.rows.get(row)?.get(column)?.as_deref()
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Trouble {
    /// The question is refused, and others may be answered: a missing privilege.
    #[error("{0}")]
    Refused(String),
    /// The question is not understood, as by another version: a missing table or command.
    #[error("{0}")]
    Unknown(String),
    /// The connection is gone, or nothing came in time.
    #[error("{0}")]
    Lost(String),
}

impl Trouble {
    /// Whether the connection is gone.
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost(_))
    }
}

/// Something that is watched. It is asked from a thread of its own, and may block that.
pub trait Source: Send {
    /// Connects, or connects again, and tells what there is to ask.
    ///
    /// # Errors
    /// There is no connection.
    fn open(&mut self) -> Result<Profile, Trouble>;

    /// Asks in the source's own language: SQL, a command, a topic.
    ///
    /// # Errors
    /// A refusal, or a lost connection; after that it is opened again.
    fn ask(&mut self, question: &str) -> Result<Answer, Trouble>;
}
