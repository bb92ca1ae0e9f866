//! Parsing ErrorResponse.

use dyno_core::db::{DbError, ErrorKind, error_text};

use super::wire::{Malformed, Reader};
use crate::full::says_full;

/// An error reported by the server.
pub(super) struct Report {
    pub(super) error: DbError,
    /// FATAL or PANIC: the server closes the connection afterwards.
    pub(super) fatal: bool,
}

/// Parses the body of an ErrorResponse: fields of a type byte and a text, up to a NUL.
pub(super) fn parse(body: &[u8]) -> Result<Report, Malformed> {
    let mut reader = Reader(body);
    let (mut severity, mut local_severity) = (None, None);
    let (mut state, mut message, mut detail, mut hint) = (None, None, None, None);
    loop {
        let field = reader.u8()?;
        if field == 0 {
            break;
        }
        let text = reader.text()?;
        match field {
            // Servers since 9.6 also send the severity untranslated.
            b'V' => severity = Some(text),
            b'S' => local_severity = Some(text),
            b'C' => state = Some(text),
            b'M' => message = Some(text),
            b'D' => detail = Some(text),
            b'H' => hint = Some(text),
            _ => {}
        }
    }
    let severity = severity.or(local_severity).unwrap_or_default();
    let fatal = matches!(severity, b"FATAL" | b"PANIC");
    let mut words = error_text(message.unwrap_or(b"(no message)"));
    let kind = kind(state.unwrap_or_default());
    // One SQLSTATE covers all errors of the file system.
    let kind_by_words = kind == ErrorKind::Other && says_full(&words);
    let kind = match kind {
        _ if kind_by_words => ErrorKind::Full,
        ErrorKind::Other if fatal => ErrorKind::Lost,
        kind => kind,
    };
    for (label, text) in [("detail", detail), ("hint", hint)] {
        if let Some(text) = text {
            words.push_str(&format!("; {label}: {}", error_text(text)));
        }
    }
    let mut error = DbError::new(kind, error_text(words.as_bytes()));
    error.kind_by_words = kind_by_words;
    error.ends_connection |= fatal;
    let fatal = error.ends_connection;
    if let Some(state) = state {
        error.sqlstate = String::from_utf8_lossy(&state[..state.len().min(5)]).into_owned();
    }
    Ok(Report { error, fatal })
}

/// Adds the error that aborted the transaction to one that only says that it is aborted.
pub(super) fn name_first(error: &mut DbError, first: Option<&DbError>) {
    const ABORTED: &str = "25P02";
    if let Some(first) = first.filter(|_| error.sqlstate == ABORTED) {
        let (own, state) = (&error.message, &first.sqlstate);
        let words = format!("{own}; first error: {state}: {}", first.message);
        error.message = error_text(words.as_bytes());
    }
}

/// The kind of a SQLSTATE (appendix A of PostgreSQL's manual), else of its class.
fn kind(state: &[u8]) -> ErrorKind {
    match state {
        b"23505" => ErrorKind::Duplicate,
        b"55P03" => ErrorKind::Conflict,
        b"40002" => ErrorKind::Constraint,
        // It is unknown whether the statement completed.
        b"40003" => ErrorKind::Other,
        b"57014" => ErrorKind::Timeout,
        // Timeouts that end the session: idle in a transaction, of the transaction.
        b"25P03" | b"25P04" => ErrorKind::Lost,
        b"53100" => ErrorKind::Full,
        b"53300" => ErrorKind::Connections,
        // Read-only, no such database, no such role, no privilege.
        b"25006" | b"3D000" | b"0P000" | b"42501" => ErrorKind::Refused,
        b"42P01" => ErrorKind::NoTable,
        b"42P07" => ErrorKind::TableExists,
        // A statement of this name already exists; no statement of this name exists.
        b"42P05" | b"26000" => ErrorKind::Prepared,
        // Shutdown, crash, start, dropped database, idle timeout.
        [b'5', b'7', b'P', b'0', ..] | [b'0', b'8', ..] => ErrorKind::Lost,
        [b'4', b'0', ..] => ErrorKind::Conflict,
        [b'2', b'3', ..] => ErrorKind::Constraint,
        [b'2', b'8', ..] => ErrorKind::Refused,
        [b'0', b'A', ..] => ErrorKind::Unsupported,
        // Cardinality, data, names of statements, cursors and schemas, syntax and access rules.
        [b'2', b'1' | b'2' | b'6', ..] | [b'3', b'4' | b'F', ..] | [b'4', b'2', ..] => {
            ErrorKind::Statement
        }
        _ => ErrorKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_keeps_state_message_detail_and_hint() {
        let body = b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (id)=(1) exists.\0Hlook\0\0";
        let report = parse(body).unwrap();
        assert!(!report.fatal);
        assert_eq!(report.error.kind, ErrorKind::Duplicate);
        assert_eq!(report.error.sqlstate, "23505");
        assert_eq!(
            report.error.message,
            "duplicate key; detail: Key (id)=(1) exists.; hint: look"
        );
    }

    #[test]
    fn recognizes_fatal_errors_by_the_untranslated_severity_first() {
        let terminated = parse(b"SFATAL\0VFATAL\0C57P01\0Mterminating\0\0").unwrap();
        assert!(terminated.fatal);
        assert_eq!(terminated.error.kind, ErrorKind::Lost);
        assert_eq!(terminated.error.sqlstate, "57P01");
        assert!(parse(b"SPANIC\0Mold server\0\0").unwrap().fatal);
        assert!(!parse(b"SFATAL\0VERROR\0Mx\0\0").unwrap().fatal);
    }

    #[test]
    fn distinguishes_states_that_end_a_connection() {
        for (state, fatal) in [
            ("08006", true),
            ("57P01", true),
            ("57P05", true),
            ("57014", false),
            ("40P01", false),
        ] {
            let body = format!("SERROR\0VERROR\0C{state}\0Mx\0\0");
            assert_eq!(parse(body.as_bytes()).unwrap().fatal, fatal, "{state}");
        }
    }

    #[test]
    fn an_aborted_transaction_names_its_first_error() {
        let of = |state: &str, text: &str| {
            let body = format!("SERROR\0C{state}\0M{text}\0\0");
            parse(body.as_bytes()).unwrap().error
        };
        let first = of("57014", "canceling statement due to statement timeout");
        let mut aborted = of("25P02", "current transaction is aborted");
        name_first(&mut aborted, None);
        assert_eq!(aborted.message, "current transaction is aborted");
        name_first(&mut aborted, Some(&first));
        let words = "current transaction is aborted; first error: 57014: canceling statement due \
                     to statement timeout";
        assert_eq!(aborted.message, words);
        assert_eq!(
            (aborted.kind, &*aborted.sqlstate),
            (ErrorKind::Other, "25P02")
        );
        let mut other = of("42601", "syntax error");
        name_first(&mut other, Some(&first));
        assert_eq!(other.message, "syntax error");
    }

    #[test]
    fn each_state_has_its_kind() {
        use ErrorKind::*;
        for (kind, states) in [
            (Conflict, &["40001", "40P01", "55P03", "40000"][..]),
            (Duplicate, &["23505"]),
            (Constraint, &["23502", "23503", "23514", "23P01", "40002"]),
            (
                Lost,
                &["08006", "57P01", "57P02", "57P03", "57P05", "25P03"],
            ),
            (Timeout, &["57014"]),
            (Full, &["53100"]),
            (Connections, &["53300"]),
            (Refused, &["28P01", "28000", "3D000", "42501", "25006"]),
            (NoTable, &["42P01"]),
            (TableExists, &["42P07"]),
            (Prepared, &["42P05", "26000"]),
            (Statement, &["42601", "42703", "22012", "21000", "3F000"]),
            (Unsupported, &["0A000"]),
            (
                Other,
                &["25P02", "53200", "XX000", "P0001", "40003", "0", ""],
            ),
        ] {
            for state in states {
                let of = |severity: &str, text: &str| {
                    let body = format!("S{severity}\0V{severity}\0C{state}\0M{text}\0\0");
                    parse(body.as_bytes()).unwrap().error
                };
                let error = of("ERROR", "x");
                assert_eq!(error.kind, kind, "{state}");
                assert_eq!(error.ends_connection, kind == Lost, "{state}");
                // A message before the close still gives the reason.
                let fatal = of("FATAL", "x");
                assert!(fatal.ends_connection, "{state}");
                let why = if kind == Other { Lost } else { kind };
                assert_eq!(fatal.kind, why, "{state}");
            }
        }
        let said = b"SERROR\0VERROR\0CXX000\0Mcould not extend file: File too large\0\0";
        assert_eq!(parse(said).unwrap().error.kind, Full);
    }

    #[test]
    fn long_texts_are_cut() {
        let long = "x".repeat(1_000_000);
        let body = format!("SERROR\0C42000{long}\0M{long}\0D{long}\0H{long}\0\0");
        let error = parse(body.as_bytes()).unwrap().error;
        assert!(error.message.len() < 5000 && error.message.ends_with("bytes cut]"));
        assert_eq!(error.sqlstate, "42000");
    }

    #[test]
    fn a_report_without_an_end_is_malformed() {
        for body in [&b""[..], b"SERROR", b"SERROR\0", b"SERROR\0Mtext\0"] {
            assert!(parse(body).is_err(), "{body:?}");
        }
    }
}
