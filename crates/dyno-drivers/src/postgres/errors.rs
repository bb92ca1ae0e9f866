//! What ErrorResponse says.

use dyno_core::db::{DbError, ErrorClass, error_text};

use super::wire::{Malformed, Reader};

/// An error as the server reported it.
pub(super) struct Report {
    pub(super) error: DbError,
    /// FATAL or PANIC: the server closes the connection behind it.
    pub(super) fatal: bool,
}

/// Reads the body of an ErrorResponse: fields, each one byte of type and a text, up to a NUL.
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
            // Servers since 9.6 send the severity untranslated too.
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
    let fatal = fatal || state.is_some_and(ends_connection);
    let class = if fatal {
        ErrorClass::Lost
    } else {
        ErrorClass::Server
    };
    let mut words = error_text(message.unwrap_or(b"(no message)"));
    for (label, text) in [("detail", detail), ("hint", hint)] {
        if let Some(text) = text {
            words.push_str(&format!("; {label}: {}", error_text(text)));
        }
    }
    let mut error = DbError::new(class, error_text(words.as_bytes()));
    if let Some(state) = state {
        error.sqlstate = String::from_utf8_lossy(&state[..state.len().min(5)]).into_owned();
    }
    Ok(Report { error, fatal })
}

/// The SQLSTATEs of a connection's end: class 08, and the server's shutdown, crash, start,
/// dropped database and idle timeout.
fn ends_connection(state: &[u8]) -> bool {
    state.starts_with(b"08") || state.starts_with(b"57P0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_keeps_state_message_detail_and_hint() {
        let body = b"SFEHLER\0VERROR\0C23505\0Mduplicate key\0DKey (id)=(1) exists.\0Hlook\0\0";
        let report = parse(body).unwrap();
        assert!(!report.fatal);
        assert_eq!(report.error.class, ErrorClass::Server);
        assert_eq!(report.error.sqlstate, "23505");
        assert_eq!(
            report.error.message,
            "duplicate key; detail: Key (id)=(1) exists.; hint: look"
        );
    }

    #[test]
    fn fatal_is_told_by_the_untranslated_severity_first() {
        let terminated = parse(b"SFATAL\0VFATAL\0C57P01\0Mterminating\0\0").unwrap();
        assert!(terminated.fatal);
        assert_eq!(terminated.error.class, ErrorClass::Lost);
        assert_eq!(terminated.error.sqlstate, "57P01");
        assert!(parse(b"SPANIC\0Mold server\0\0").unwrap().fatal);
        assert!(!parse(b"SFATAL\0VERROR\0Mx\0\0").unwrap().fatal);
    }

    #[test]
    fn states_of_a_connections_end_are_told_from_others() {
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
