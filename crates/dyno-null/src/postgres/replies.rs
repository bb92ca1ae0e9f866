//! Answers: those that are the same every time, and the parts of others.

use crate::sql::{CELL, Loaded, NARROW};

/// The type that parameters are said to have.
pub const OID_INT4: u32 = 23;
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

/// Answers that are the same every time.
pub struct Replies {
    /// Authentication passed, parameters, ready.
    pub login: Vec<u8>,
    /// Columns of text, by their number; the first has the wide one.
    descriptions: Vec<Vec<u8>>,
    /// A row and its command's end, in the same way.
    rows: Vec<Vec<u8>>,
    /// Rows may come.
    pub copy_in: Vec<u8>,
    /// What was loaded, by all connections.
    pub loaded: Loaded,
}

impl Replies {
    /// Builds them.
    pub fn new() -> Replies {
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
    /// What a row of so many narrow columns is said to be.
    pub fn describe(&self, columns: u16, out: &mut Vec<u8>) {
        match self.descriptions.get(usize::from(columns)) {
            Some(ready) => out.extend_from_slice(ready),
            None => out.extend_from_slice(&row_description(columns)),
        }
    }

    /// A row of so many narrow columns and its command's end.
    #[inline]
    pub fn select(&self, columns: u16, out: &mut Vec<u8>) {
        match self.rows.get(usize::from(columns)) {
            Some(ready) => out.extend_from_slice(ready),
            None => out.extend_from_slice(&selected(columns)),
        }
    }
}

/// A row of so many narrow columns, or of the wide one where there is none, and the end.
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
        // Variable width, CHAR(120) with its four bytes of length, text format.
        body.extend_from_slice(&(-1i16).to_be_bytes());
        body.extend_from_slice(&124i32.to_be_bytes());
        body.extend_from_slice(&[0, 0]);
    }
    message(b'T', &body)
}

/// A row of one column.
pub fn data_row(cell: &[u8]) -> Vec<u8> {
    let mut body = vec![0, 1];
    body.extend_from_slice(&(cell.len() as u32).to_be_bytes());
    body.extend_from_slice(cell);
    message(b'D', &body)
}

/// A command's end, appended.
pub fn complete(tag: &str, out: &mut Vec<u8>) {
    out.push(b'C');
    out.extend_from_slice(&(tag.len() as u32 + 5).to_be_bytes());
    out.extend_from_slice(tag.as_bytes());
    out.push(0);
}

/// A message.
pub fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}
