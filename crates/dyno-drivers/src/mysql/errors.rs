//! The server's errors, and the client's, which have the numbers of MySQL's client library, so that
//! lists of error numbers keep their meaning.

use dyno_core::db::{DbError, ErrorKind, error_text};

use super::wire::{ERR, Malformed, Reader};
use crate::full::says_full;

/// Cannot connect to the socket file.
pub(super) const CANNOT_CONNECT_SOCKET: i32 = 2002;
/// Cannot connect to the host.
pub(super) const CANNOT_CONNECT_HOST: i32 = 2003;
/// The connection was lost before the request.
pub(super) const GONE_AWAY: i32 = 2006;
/// The connection was lost during a request.
pub(super) const LOST: i32 = 2013;
/// Results of the previous request are unread.
pub(super) const OUT_OF_SYNC: i32 = 2014;
/// The answer is larger than allowed.
pub(super) const TOO_LARGE: i32 = 2020;
/// TLS is not available.
pub(super) const TLS: i32 = 2026;
/// A packet violates the protocol.
pub(super) const MALFORMED_PACKET: i32 = 2027;
/// No such statement.
pub(super) const NO_STATEMENT: i32 = 2030;
/// The number of parameters differs from the number of placeholders.
pub(super) const PARAMETERS: i32 = 2034;
/// An authentication plugin that the driver lacks.
pub(super) const PLUGIN_UNKNOWN: i32 = 2059;
/// An authentication plugin that must not be used here, or that failed.
pub(super) const PLUGIN_REFUSED: i32 = 2061;
/// The server asked for a local file that must not be sent.
pub(super) const LOCAL_FILE_REFUSED: i32 = 2068;

/// The errors that mean that LOAD DATA LOCAL is not available: those of MySQL before 8.0 and
/// MariaDB, of MySQL, and of MariaDB, and "not supported yet" of servers that only speak the
/// protocol.
pub(super) const NO_LOCAL_INFILE: [i32; 4] = [1148, 3948, 4166, 1235];

/// The server's error for bytes that are not text in the character set of a LOAD DATA. MySQL
/// requires text even for binary columns there; an INSERT takes any bytes.
pub(super) const INVALID_TEXT: i32 = 1300;

/// Whether a payload is an ERR packet.
#[inline]
pub(super) fn is_error(payload: &[u8]) -> bool {
    payload.first() == Some(&ERR)
}

/// Reads an ERR packet.
pub(super) fn server_error(payload: &[u8]) -> Result<DbError, Malformed> {
    let mut reader = Reader::new(payload);
    reader.u8()?;
    let code = reader.u16()?;
    // Before the end of the handshake, errors may have no state.
    let (state, message) = match reader.rest() {
        [b'#', rest @ ..] => rest
            .split_at_checked(5)
            .ok_or(Malformed("an error's state is cut short"))?,
        rest => (&b"HY000"[..], rest),
    };
    let (code, message) = (i32::from(code), error_text(message));
    let sqlstate = String::from_utf8_lossy(state).into_owned();
    let kind = kind(code, &sqlstate);
    // A single number covers all errors of the file system.
    let kind_by_words = kind == ErrorKind::Other && says_full(&message);
    let kind = if kind_by_words { ErrorKind::Full } else { kind };
    Ok(DbError {
        code,
        kind_by_words,
        sqlstate,
        ..DbError::new(kind, message)
    })
}

/// The kind of a server's error, from its number or else from the class of its state.
pub(super) fn kind(code: i32, sqlstate: &str) -> ErrorKind {
    match by_number(code) {
        ErrorKind::Other => by_state(sqlstate),
        kind => kind,
    }
}

/// The numbers of MySQL and MariaDB, of group replication and of Galera.
#[rustfmt::skip]
fn by_number(code: i32) -> ErrorKind {
    match code {
        // Record changed, lock wait timeout, deadlock, a temporary error of NDB, table definition
        // changed, XA's timeout and deadlock, waiting aborted; deadlock of user-level locks, a
        // conflict that group replication found, deadlock and timeout of the locking service,
        // NOWAIT.
        1020 | 1205 | 1213 | 1297 | 1412 | 1613 | 1614 | 1689
        | 3058 | 3101 | 3132 | 3133 | 3572 => ErrorKind::Conflict,
        // The key; of an ALTER TABLE; with the key's name; in a foreign key, twice; without both.
        1022 | 1062 | 1569 | 1586 | 1761 | 1762 | 1859 => ErrorKind::Duplicate,
        // NOT NULL, foreign keys, CHECK (MySQL, MariaDB).
        1048 | 1216 | 1217 | 1451 | 1452 | 1557 | 3819 | 4025 => ErrorKind::Constraint,
        // Shutdown, "aborted connection" (twice), errors in reading a packet ("out of order", which
        // MySQL also reports on connections that are being killed), errors and timeouts in reading
        // and writing, MariaDB's "connection was killed", MySQL's "server is not available",
        // "session was killed" and "disconnected because of inactivity".
        1053 | 1152 | 1154..=1161 | 1184 | 1927 | 3168 | 3169 | 4031 => ErrorKind::Lost,
        // Interrupted, MariaDB's max_statement_time, MySQL's max_execution_time.
        1317 | 1969 | 3024 => ErrorKind::Timeout,
        // The disk; the table.
        1021 | 1114 => ErrorKind::Full,
        // The server's limit, threads, the user's limit, a resource limit of the user.
        1040 | 1135 | 1203 | 1226 => ErrorKind::Connections,
        // Database, password, unknown database, a node of a Galera cluster that is not ready, KILL
        // of another's connection; host blocked, host not allowed, anonymous; table, column,
        // privilege; an option of the server such as --read-only; a routine, creating users, no
        // password, a read-only transaction, a password to change, read-only mode, an expired
        // password; offline mode, a table that group replication cannot take, a hook of group
        // replication, a locked account (MySQL, MariaDB), insecure transport.
        1044 | 1045 | 1047 | 1049 | 1095 | 1129..=1132 | 1142 | 1143 | 1227 | 1290
        | 1370 | 1410 | 1698 | 1792 | 1820 | 1836 | 1862 | 3032 | 3098 | 3100 | 3118
        | 3159 | 4151 => ErrorKind::Refused,
        // For DROP; for others.
        1051 | 1146 => ErrorKind::NoTable,
        1050 => ErrorKind::TableExists,
        1243 => ErrorKind::Prepared,
        // LOAD DATA LOCAL three times; not yet; by an option; not as a prepared statement.
        1148 | 1235 | 1289 | 1295 | 3948 | 4166 => ErrorKind::Unsupported,
        _ => ErrorKind::Other,
    }
}

fn by_state(sqlstate: &str) -> ErrorKind {
    match sqlstate.as_bytes() {
        [b'2', b'3', ..] => ErrorKind::Constraint,
        [b'4', b'0', ..] => ErrorKind::Conflict,
        [b'2', b'8', ..] => ErrorKind::Refused,
        [b'2', b'1' | b'2', ..] | [b'3', b'D', ..] | [b'4', b'2', ..] => ErrorKind::Statement,
        [b'0', b'A', ..] => ErrorKind::Unsupported,
        _ => ErrorKind::Other,
    }
}

/// An error raised by the client.
pub(super) fn client_error(kind: ErrorKind, code: i32, message: impl Into<String>) -> DbError {
    DbError {
        code,
        sqlstate: "HY000".to_owned(),
        ..DbError::new(kind, message)
    }
}

/// The error for a violation of the protocol by the server.
pub(super) fn malformed(what: Malformed) -> DbError {
    let message = format!("the server broke the MySQL protocol: {}", what.0);
    client_error(ErrorKind::Protocol, MALFORMED_PACKET, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error_of(code: u16, state: &str, message: &str) -> DbError {
        let head = [&[ERR][..], &code.to_le_bytes()].concat();
        let packet = [&head[..], b"#", state.as_bytes(), message.as_bytes()].concat();
        server_error(&packet).unwrap()
    }

    /// Numbers, SQL states and kinds, as in MySQL 8.4, MariaDB 10.11 and their manuals.
    #[test]
    fn each_number_has_its_kind() {
        use ErrorKind::*;
        #[rustfmt::skip]
        let table = [
            (Conflict, &[(1213, "40001"), (1205, "HY000"), (1020, "HY000")][..]),
            (Conflict, &[(3101, "40000"), (3572, "HY000"), (1614, "XA102")]),
            (Conflict, &[(1689, "HY000"), (3058, "HY000"), (1402, "40000")]),
            (Duplicate, &[(1062, "23000"), (1586, "23000"), (1022, "23000")]),
            (Constraint, &[(1452, "23000"), (1048, "23000"), (3819, "HY000")]),
            (Constraint, &[(4025, "23000"), (1216, "23000"), (1263, "23000")]),
            (Lost, &[(1053, "08S01"), (1156, "08S01"), (1160, "08S01")]),
            (Lost, &[(1927, "70100"), (4031, "HY000"), (3169, "HY000")]),
            (Timeout, &[(1317, "70100"), (1969, "70100"), (3024, "HY000")]),
            (Full, &[(1114, "HY000"), (1021, "HY000")]),
            (Connections, &[(1040, "08004"), (1203, "42000"), (1226, "42000")]),
            (Refused, &[(1045, "28000"), (1049, "42000"), (1142, "42000")]),
            (Refused, &[(1047, "08S01"), (1290, "HY000"), (1836, "HY000")]),
            (Refused, &[(3100, "HY000"), (3118, "HY000"), (1251, "28000")]),
            (NoTable, &[(1146, "42S02"), (1051, "42S02")]),
            (TableExists, &[(1050, "42S01")]),
            (Prepared, &[(1243, "HY000")]),
            (Statement, &[(1064, "42000"), (1046, "3D000"), (1406, "22001")]),
            (Unsupported, &[(1235, "42000"), (1295, "HY000"), (1336, "0A000")]),
            (Other, &[(1105, "HY000"), (1644, "45000"), (1030, "HY000")]),
        ];
        for (kind, codes) in table {
            for (code, state) in codes {
                let error = error_of(*code, state, "so it is");
                assert_eq!(error.kind, kind, "{code}");
                assert_eq!(error.ends_connection, kind == Lost, "{code}");
            }
        }
        let said = "Got error 28 - 'No space left on device' from storage engine";
        assert_eq!(error_of(1030, "HY000", said).kind, Full);
        assert_eq!(error_of(1213, "40001", said).kind, Conflict);
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
