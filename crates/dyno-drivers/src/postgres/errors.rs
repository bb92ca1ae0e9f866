//! What ErrorResponse says.

use dyno_core::db::{DbError, ErrorClass};

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
    let class = if fatal {
        ErrorClass::Lost
    } else {
        ErrorClass::Server
    };
    let mut words = String::from_utf8_lossy(message.unwrap_or(b"(no message)")).into_owned();
    for (label, text) in [("detail", detail), ("hint", hint)] {
        if let Some(text) = text {
            words.push_str(&format!("; {label}: {}", String::from_utf8_lossy(text)));
        }
    }
    let mut error = DbError::new(class, words);
    if let Some(state) = state {
        error.sqlstate = String::from_utf8_lossy(state).into_owned();
    }
    Ok(Report { error, fatal })
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
    fn a_report_without_an_end_is_malformed() {
        for body in [&b""[..], b"SERROR", b"SERROR\0", b"SERROR\0Mtext\0"] {
            assert!(parse(body).is_err(), "{body:?}");
        }
    }
}
