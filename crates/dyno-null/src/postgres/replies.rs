//! Answers, some of them constant and others put together from parts.

use crate::sql::{CELL, Loaded, NARROW};

/// The type that parameters are declared with.
pub(super) const OID_INT4: u32 = 23;
const OID_BPCHAR: u32 = 1042;
/// Rows of fewer columns than this are built once.
const ROWS_READY: u16 = 33;
const PARAMETERS: &[(&str, &str)] = &[
    ("server_version", "15.0"),
    ("server_encoding", "UTF8"),
    ("client_encoding", "UTF8"),
    ("application_name", ""),
    ("is_superuser", "on"),
    ("session_authorization", "postgres"),
    ("DateStyle", "ISO, MDY"),
    ("IntervalStyle", "postgres"),
    ("TimeZone", "UTC"),
    ("integer_datetimes", "on"),
    ("standard_conforming_strings", "on"),
    ("in_hot_standby", "off"),
    ("default_transaction_read_only", "off"),
];

/// Constant answers.
pub(crate) struct Replies {
    /// AuthenticationOk, the parameters, and ReadyForQuery.
    pub login: Vec<u8>,
    /// Descriptions of rows by their number of columns. The first is that of the wide row.
    descriptions: Vec<Vec<u8>>,
    /// A row and CommandComplete, with the same index as `descriptions`.
    rows: Vec<Vec<u8>>,
    /// CopyInResponse.
    pub copy_in: Vec<u8>,
    /// The rows loaded by all connections.
    pub loaded: Loaded,
}

impl Replies {
    pub(crate) fn new() -> Replies {
        Replies {
            login: login(),
            descriptions: (0..ROWS_READY).map(row_description).collect(),
            rows: (0..ROWS_READY).map(selected).collect(),
            copy_in: message(b'G', &[0, 0, 0]),
            loaded: Loaded::default(),
        }
    }
}

impl Replies {
    /// Appends the description of a row with this many narrow columns.
    pub(crate) fn describe(&self, columns: u16, out: &mut Vec<u8>) {
        match self.descriptions.get(usize::from(columns)) {
            Some(ready) => out.extend_from_slice(ready),
            None => out.extend_from_slice(&row_description(columns)),
        }
    }

    /// Appends a row with this many narrow columns, and CommandComplete.
    #[inline]
    pub(crate) fn select(&self, columns: u16, out: &mut Vec<u8>) {
        match self.rows.get(usize::from(columns)) {
            Some(ready) => out.extend_from_slice(ready),
            None => out.extend_from_slice(&selected(columns)),
        }
    }
}

/// A row with this many narrow columns, or the wide row for 0, and CommandComplete.
fn selected(columns: u16) -> Vec<u8> {
    let mut row = match columns {
        0 => data_row(CELL),
        _ => {
            let mut body = columns.to_be_bytes().to_vec();
            for _ in 0..columns {
                body.extend_from_slice(&(NARROW.len() as u32).to_be_bytes());
                body.extend_from_slice(NARROW);
            }
            message(b'D', &body)
        }
    };
    complete("SELECT 1", &mut row);
    row
}

fn login() -> Vec<u8> {
    let mut bytes = message(b'R', &[0; 4]);
    for (name, value) in PARAMETERS {
        bytes.extend_from_slice(&message(b'S', format!("{name}\0{value}\0").as_bytes()));
    }
    bytes.extend_from_slice(&message(b'K', &[0, 0, 0, 1, 0, 0, 0, 1]));
    bytes.extend_from_slice(&[b'Z', 0, 0, 0, 5, b'I']);
    bytes
}

fn row_description(columns: u16) -> Vec<u8> {
    let mut body = columns.max(1).to_be_bytes().to_vec();
    for _ in 0..columns.max(1) {
        body.extend_from_slice(b"c\0");
        body.extend_from_slice(&[0; 6]);
        body.extend_from_slice(&OID_BPCHAR.to_be_bytes());
        // Variable width; CHAR(120) including the four bytes of its length; text format.
        body.extend_from_slice(&(-1i16).to_be_bytes());
        body.extend_from_slice(&124i32.to_be_bytes());
        body.extend_from_slice(&[0, 0]);
    }
    message(b'T', &body)
}

pub(super) fn data_row(cell: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 1];
    body.extend_from_slice(&(cell.len() as u32).to_be_bytes());
    body.extend_from_slice(cell);
    message(b'D', &body)
}

/// Appends CommandComplete.
pub(super) fn complete(tag: &str, out: &mut Vec<u8>) {
    out.push(b'C');
    out.extend_from_slice(&(tag.len() as u32 + 5).to_be_bytes());
    out.extend_from_slice(tag.as_bytes());
    out.push(0);
}

pub(super) fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}
