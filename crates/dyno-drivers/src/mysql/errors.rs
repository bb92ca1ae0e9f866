//! Errors: the server's own, and those that the client raises under the numbers that MySQL's
//! client library uses for them, so that lists of error numbers mean what they mean elsewhere.

use dyno_core::db::{DbError, ErrorClass, error_text};

use super::wire::{ERR, Malformed, Reader};

/// The socket file cannot be connected to.
pub const CANNOT_CONNECT_SOCKET: i32 = 2002;
/// The host cannot be connected to.
pub const CANNOT_CONNECT_HOST: i32 = 2003;
/// The connection was gone before the request.
pub const GONE_AWAY: i32 = 2006;
/// The connection was lost during a request.
pub const LOST: i32 = 2013;
/// Results of the previous request are unread.
pub const OUT_OF_SYNC: i32 = 2014;
/// The answer is larger than allowed.
pub const TOO_LARGE: i32 = 2020;
/// TLS is not to be had.
pub const TLS: i32 = 2026;
/// What came is not of the protocol.
pub const MALFORMED_PACKET: i32 = 2027;
/// No such statement.
pub const NO_STATEMENT: i32 = 2030;
/// Not as many parameters as placeholders.
pub const PARAMETERS: i32 = 2034;
/// An authentication plugin that the driver lacks.
pub const PLUGIN_UNKNOWN: i32 = 2059;
/// An authentication plugin that must not be used here, or that failed.
pub const PLUGIN_REFUSED: i32 = 2061;
/// A local file that must not be sent.
pub const LOCAL_FILE_REFUSED: i32 = 2068;

/// The server's errors that say that LOAD DATA LOCAL is not to be had: MySQL before 8.0 (and
/// MariaDB), MySQL, MariaDB, and "not supported yet" of servers that only speak the protocol.
pub const NO_LOCAL_INFILE: [i32; 4] = [1148, 3948, 4166, 1235];

/// The server's errors that end the connection: shutdown, "aborted connection" (twice), what it
/// cannot read of a packet ("out of order", which MySQL says of connections that are being killed
/// too), errors and timeouts of its reading and writing, MariaDB's "connection was killed", MySQL's
/// "session was killed" and "disconnected because of inactivity".
const ENDS: [i32; 14] = [
    1053, 1152, 1154, 1155, 1156, 1157, 1158, 1159, 1160, 1161, 1184, 1927, 3169, 4031,
];

/// The server's error for a statement that its protocol of prepared statements does not know.
pub const NOT_PREPARABLE: i32 = 1295;

/// The server's error for bytes that are not text in the character set of a LOAD DATA. MySQL wants
/// text even for binary columns there; an INSERT takes any bytes.
pub const INVALID_TEXT: i32 = 1300;

/// Whether a payload is an ERR packet.
#[inline]
pub fn is_error(payload: &[u8]) -> bool {
    payload.first() == Some(&ERR)
}

/// Reads an ERR packet.
pub fn server_error(payload: &[u8]) -> Result<DbError, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    let code = reader.u16()?;
    // Before the handshake is over, errors may come without a state.
    let (state, message) = match reader.rest() {
        [b'#', rest @ ..] => rest
            .split_at_checked(5)
            .ok_or(Malformed("an error's state is cut short"))?,
        rest => (&b"HY000"[..], rest),
    };
    let code = i32::from(code);
    let class = match ENDS.contains(&code) {
        true => ErrorClass::Lost,
        false => ErrorClass::Server,
    };
    Ok(DbError {
        class,
        code,
        sqlstate: String::from_utf8_lossy(state).into_owned(),
        message: error_text(message),
    })
}

/// An error that the client raises.
pub fn client_error(class: ErrorClass, code: i32, message: impl Into<String>) -> DbError {
    DbError {
        class,
        code,
        sqlstate: "HY000".to_owned(),
        message: message.into(),
    }
}

/// The peer does not keep to the protocol.
pub fn malformed(what: Malformed) -> DbError {
    let message = format!(
        "the server sent what the MySQL protocol does not allow: {}",
        what.0
    );
    client_error(ErrorClass::Protocol, MALFORMED_PACKET, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_that_end_the_connection_are_told_from_others() {
        for (code, class) in [
            (1053_u16, ErrorClass::Lost),
            (1317, ErrorClass::Server),
            (1156, ErrorClass::Lost),
            (1927, ErrorClass::Lost),
            (4031, ErrorClass::Lost),
        ] {
            let packet = [&[ERR][..], &code.to_le_bytes(), b"#08S01so it is"].concat();
            assert_eq!(server_error(&packet).unwrap().class, class, "{code}");
        }
    }

    #[test]
    fn long_texts_are_cut() {
        let packet = [&b"\xFF\x10\x04#08004"[..], &vec![b'x'; 1_000_000]].concat();
        let error = server_error(&packet).unwrap();
        assert!(error.message.len() < 5000 && error.message.ends_with("bytes cut]"));
    }

    #[test]
    fn error_packets_with_and_without_a_state() {
        let error = server_error(b"\xFF\x15\x04#28000Access denied").unwrap();
        assert_eq!((error.code, error.sqlstate.as_str()), (1045, "28000"));
        assert_eq!(error.message, "Access denied");
        let error = server_error(b"\xFF\x10\x04Too many connections").unwrap();
        assert_eq!((error.code, error.sqlstate.as_str()), (1040, "HY000"));
        assert!(server_error(b"\xFF\x10").is_err());
        assert!(server_error(b"\xFF\x10\x04#28").is_err());
    }
}
