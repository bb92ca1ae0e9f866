//! Database errors, and the error kinds common to all drivers.

use std::fmt;

use crate::redact;

/// Defines the kinds: the name in scripts, options and files, a short description, and the nouns
/// for one and several errors.
macro_rules! kinds {
    ($(
        $(#[$about:meta])*
        $kind:ident = $name:literal, $short:literal, $one:literal, $many:literal;
    )*) => {
        /// The kind of an error. Only the driver knows the codes of its database, so it sets the
        /// kind. Dyno and scripts decide by the kind alone.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[derive(serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ErrorKind {
            $($(#[$about])* $kind,)*
        }

        impl ErrorKind {
            /// All kinds.
            pub const ALL: [Self; 17] = [$(Self::$kind,)*];

            /// The name of the kind in scripts, options and files.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }

            /// A short description of the kind.
            pub const fn short(self) -> &'static str {
                match self {
                    $(Self::$kind => $short,)*
                }
            }

            /// The noun for `count` errors of this kind.
            pub const fn noun(self, count: u64) -> &'static str {
                let (one, many) = match self {
                    $(Self::$kind => ($one, $many),)*
                };
                if count == 1 { one } else { many }
            }
        }
    };
}

kinds! {
    /// A conflict with other sessions: a deadlock, a serialisation failure, a lock timeout. The
    /// same transaction may succeed if it is retried.
    Conflict = "conflict", "conflict", "conflict", "conflicts";
    /// A duplicate key.
    Duplicate = "duplicate", "duplicate key", "duplicate key", "duplicate keys";
    /// Another constraint is violated: a foreign key, NOT NULL, CHECK.
    Constraint = "constraint", "violated constraint", "violated constraint", "violated constraints";
    /// The connection failed or was lost.
    Lost = "lost", "lost connection", "lost connection", "lost connections";
    /// The statement timed out, or was cancelled.
    Timeout = "timeout", "timeout",
        "timeout or cancelled statement", "timeouts or cancelled statements";
    /// No space left: a disk or a table is full, or a file reached its limit.
    Full = "full", "no room left", "full disk or table", "full disks or tables";
    /// The server has reached its connection limit.
    Connections = "connections", "too many connections",
        "refused connection", "refused connections";
    /// The server refuses this session: it has no access or privilege, the server is read-only, or
    /// the node of a cluster accepts no statements.
    Refused = "refused", "refused", "refusal", "refusals";
    /// The table does not exist.
    NoTable = "no_table", "missing table", "missing table", "missing tables";
    /// A table or an index with this name already exists.
    TableExists = "table_exists", "table already exists", "existing table", "existing tables";
    /// The server's connection does not know the session's prepared statement, because a proxy
    /// assigns each transaction to another server connection.
    Prepared = "prepared", "prepared statement lost",
        "lost prepared statement", "lost prepared statements";
    /// The statement is wrong: a syntax error, an unknown name, an invalid value.
    Statement = "statement", "bad statement", "bad statement", "bad statements";
    /// The server or the driver does not support the request.
    Unsupported = "unsupported", "not supported", "unsupported request", "unsupported requests";
    /// An invalid request by the caller (a closed connection, an unknown statement).
    Misuse = "misuse", "misuse", "misuse of a connection", "misuses of a connection";
    /// The peer violated the protocol.
    Protocol = "protocol", "protocol violated", "protocol violation", "protocol violations";
    /// The answer was larger than the target's limit.
    TooLarge = "too_large", "answer too large", "oversized answer", "oversized answers";
    /// Any other error.
    #[default]
    Other = "other", "other", "other error", "other errors";
}

impl ErrorKind {
    /// The kind with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// Whether an error of this kind always ends the connection.
    const fn ends_connection(self) -> bool {
        matches!(self, Self::Lost | Self::Protocol | Self::TooLarge)
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How many bytes of a server's text an error keeps at most.
pub const ERROR_TEXT_BYTES_MAX: usize = 4096;

/// The text of a server for an error. Replaces invalid UTF-8. Cuts a text that is too long at the
/// end of a character, never within a secret, and marks it as cut.
pub fn error_text(text: &[u8]) -> String {
    let Some(head) = text.get(..ERROR_TEXT_BYTES_MAX) else {
        return String::from_utf8_lossy(text).into_owned();
    };
    if text.len() == ERROR_TEXT_BYTES_MAX {
        return String::from_utf8_lossy(text).into_owned();
    }
    let head = &head[..redact::cut_at(text, ERROR_TEXT_BYTES_MAX)];
    // A character has at most four bytes: drop the first bytes of one that was cut.
    let cut = (1..4)
        .filter_map(|back| head.len().checked_sub(back))
        .find(|at| head[*at] & 0xC0 != 0x80)
        .filter(|at| std::str::from_utf8(&head[*at..]).is_err_and(|e| e.error_len().is_none()));
    let head = &head[..cut.unwrap_or(head.len())];
    let more = text.len() - head.len();
    format!("{} [{more} more bytes cut]", String::from_utf8_lossy(head))
}

/// An error of a database operation. Never contains a secret.
#[derive(Clone, Debug)]
pub struct DbError {
    /// The kind of the error.
    pub kind: ErrorKind,
    /// Whether the kind was derived from the server's message, because the code is ambiguous.
    pub kind_by_words: bool,
    /// Whether the connection ended with this error.
    pub ends_connection: bool,
    /// MySQL's errno or SQLite's extended result code; 0 for PostgreSQL.
    pub code: i32,
    /// The five-character SQLSTATE. `HY000` if the server gave none, and empty for misuse.
    pub sqlstate: String,
    /// The server's message, if it has sent one.
    pub message: String,
}

impl DbError {
    /// The error of a pipeline on a database that takes one statement at a time.
    pub fn no_pipelines() -> Self {
        let message = "only PostgreSQL supports pipelines: this database executes one statement at \
                       a time";
        Self::new(ErrorKind::Unsupported, message)
    }

    /// An invalid request by the caller.
    pub fn misuse(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Misuse, message)
    }

    /// An error without a server's code.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        let sqlstate = match kind {
            ErrorKind::Lost => "08006",
            ErrorKind::Protocol => "08P01",
            ErrorKind::Unsupported => "0A000",
            ErrorKind::Misuse => "",
            ErrorKind::TooLarge => "54000",
            _ => "HY000",
        };
        Self {
            kind,
            kind_by_words: false,
            ends_connection: kind.ends_connection(),
            code: 0,
            sqlstate: sqlstate.to_owned(),
            message: message.into(),
        }
    }

    /// The same error as one that ended the connection. The kind `Other` becomes `Lost`.
    #[must_use]
    pub fn at_the_end(mut self) -> Self {
        self.ends_connection = true;
        if self.kind == ErrorKind::Other {
            self.kind = ErrorKind::Lost;
        }
        self
    }

    /// Whether the connection has ended and a new one may succeed. False for protocol errors and
    /// answers that are too large.
    pub fn lost_connection(&self) -> bool {
        self.ends_connection && !matches!(self.kind, ErrorKind::Protocol | ErrorKind::TooLarge)
    }

    /// The key under which errors are counted: the errno or else the SQLSTATE, and the kind as well
    /// if the code does not identify it.
    pub fn key(&self) -> String {
        let key = match self.code {
            0 if self.sqlstate.is_empty() => return self.kind.name().to_owned(),
            0 => self.sqlstate.clone(),
            code => code.to_string(),
        };
        match self.kind_by_words {
            true => format!("{key} {}", self.kind),
            false => key,
        }
    }
}

impl fmt::Display for DbError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.sqlstate.as_str()) {
            (0, "") => write!(f, "{}", self.message),
            (0, state) => write!(f, "{} (SQLSTATE {state})", self.message),
            (code, state) => write!(f, "{} (error {code}, SQLSTATE {state})", self.message),
        }
    }
}

impl std::error::Error for DbError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_are_the_same_everywhere() {
        for kind in ErrorKind::ALL {
            let json = format!("\"{}\"", kind.name());
            assert_eq!(serde_json::to_string(&kind).unwrap(), json);
            assert_eq!(ErrorKind::of_name(kind.name()), Some(kind));
        }
        assert_eq!(ErrorKind::of_name("deadlock"), None);
    }

    #[test]
    fn errors_of_one_code_and_several_kinds_are_counted_apart() {
        let mut error = DbError::new(ErrorKind::Statement, "near SELEC: syntax error");
        assert_eq!(error.key(), "HY000");
        error.code = 1;
        assert_eq!(error.key(), "1");
        (error.kind, error.kind_by_words) = (ErrorKind::NoTable, true);
        assert_eq!(error.key(), "1 no_table");
        assert_eq!(DbError::new(ErrorKind::Misuse, "no").key(), "misuse");
    }

    #[test]
    fn an_error_that_ends_a_connection_keeps_its_kind() {
        let end = |kind| DbError::new(kind, "no").at_the_end();
        assert_eq!(end(ErrorKind::Other).kind, ErrorKind::Lost);
        for kind in [ErrorKind::Full, ErrorKind::Lost, ErrorKind::Refused] {
            assert_eq!(end(kind).kind, kind);
            assert!(end(kind).lost_connection());
        }
        for kind in [ErrorKind::Protocol, ErrorKind::TooLarge] {
            let error = DbError::new(kind, "no");
            assert!(error.ends_connection && !error.lost_connection());
        }
        assert!(!DbError::new(ErrorKind::Conflict, "no").ends_connection);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        let max = ERROR_TEXT_BYTES_MAX;
        for text in ["x".repeat(max), "ä".repeat(max / 2)] {
            assert_eq!(error_text(text.as_bytes()), text);
        }
        for (character, before) in [("x", 0), ("ä", 1), ("€", 2), ("😀", 3), ("😀", 1)] {
            let text = "x".repeat(before) + &character.repeat(max + 1);
            let cut = error_text(text.as_bytes());
            let (kept, mark) = cut.rsplit_once(" [").unwrap();
            assert!(text.starts_with(kept) && kept.len() > max - 4, "{kept:?}");
            assert_eq!(mark, format!("{} more bytes cut]", text.len() - kept.len()));
        }
        // A secret that is cut must be removed entirely, because its beginning alone would not be
        // found later.
        let secret = "l0ng-Secret-4711";
        redact::learn(&crate::Secret::new(secret.to_owned()), &[]);
        let cut =
            error_text(format!("{}{secret}{}", "x".repeat(max - 3), "y".repeat(99)).as_bytes());
        assert!(!cut.contains("l0n") && cut.starts_with("xxx"), "{cut}");
        // Invalid UTF-8 must not make the text shorter.
        let cut = error_text(&vec![0x80; max + 5]);
        assert!(cut.ends_with("[5 more bytes cut]"), "{cut}");
    }
}
