//! A stand-in for ProxySQL's admin interface, since ProxySQL is not packaged where these tests run.
//!
//! It is not ProxySQL, and forwards nothing. It implements the part of MySQL's protocol that the
//! interface uses: a greeting and text statements, but no prepared statements and no session
//! settings. SQLite, which ProxySQL's admin interface also uses, answers from the documented tables
//! and columns. The figures are made up, and counters grow whenever `stats_mysql_global` is read.
//! Passwords are not verified; only the user's name counts. Statements that the admin interface
//! refuses are recorded for the tests.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rusqlite::Connection;
use rusqlite::types::ValueRef;

/// The MySQL capabilities it offers: long passwords, a database, protocol 4.1, transactions, secure
/// connections, authentication plugins.
const CAPABILITIES: u32 = 0x1 | 0x8 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
/// Autocommit.
const STATUS: [u8; 2] = [2, 0];
const COM_QUIT: u8 = 1;
const COM_QUERY: u8 = 3;
const COM_PING: u8 = 14;
/// The type of a text column.
const TYPE_VAR_STRING: u8 = 0xfd;

/// The documented tables with their initial rows.
const TABLES: &str = include_str!("proxysql.sql");
/// What each read of the global statistics adds to the counters.
const MOVES: &str = "
    UPDATE stats_mysql_global SET Variable_Value = Variable_Value + 250
        WHERE Variable_Name IN ('Questions', 'ProxySQL_Uptime');
    UPDATE stats_mysql_connection_pool SET Queries = Queries + 120,
        Bytes_data_sent = Bytes_data_sent + 40000, Bytes_data_recv = Bytes_data_recv + 900000
        WHERE status = 'ONLINE';
    UPDATE stats_mysql_query_rules SET hits = hits + 10 * rule_id;
    UPDATE stats_mysql_commands_counters SET Total_cnt = Total_cnt + 110,
        Total_Time_us = Total_Time_us + 55000, cnt_500us = cnt_500us + 90, cnt_5ms = cnt_5ms + 19,
        cnt_1s = cnt_1s + 1 WHERE Command = 'SELECT';";

/// A running stand-in. Its threads end with the process.
#[derive(Debug)]
pub struct ProxySql {
    /// Its port on 127.0.0.1.
    pub port: u16,
    refused: Arc<Mutex<Vec<String>>>,
}

impl ProxySql {
    /// Starts it on this port of 127.0.0.1, or on any free port if it is 0.
    ///
    /// # Panics
    /// The port is taken.
    pub fn start(port: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", port)).expect("a free port");
        let port = listener.local_addr().expect("it is bound").port();
        let refused = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&refused);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let kept = Arc::clone(&kept);
                // A client that disconnects is not an error.
                thread::spawn(move || drop(serve(stream, &kept)));
            }
        });
        Self { port, refused }
    }

    /// The refused statements, in order.
    pub fn refused(&self) -> Vec<String> {
        let refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.clone()
    }
}

fn serve(mut stream: TcpStream, refused: &Mutex<Vec<String>>) -> io::Result<()> {
    let refuse = |what: String| {
        let mut refused = refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.push(what);
    };
    let database = Connection::open_in_memory().expect("memory for a database");
    database.execute_batch(TABLES).expect("documented tables");
    put(&mut stream, 0, &greeting())?;
    let (mut sequence, answer) = packet(&mut stream)?;
    if !user(&answer).is_some_and(|user| user == b"admin" || user == b"stats") {
        let denied = error(1045, "ProxySQL Error: Access denied for user");
        return put(&mut stream, sequence + 1, &denied);
    }
    put(&mut stream, sequence + 1, &ok())?;
    loop {
        let payload;
        (sequence, payload) = packet(&mut stream)?;
        let sql = String::from_utf8_lossy(payload.get(1..).unwrap_or_default()).into_owned();
        match payload.first() {
            None | Some(&COM_QUIT) => return Ok(()),
            Some(&COM_PING) => put(&mut stream, sequence + 1, &ok())?,
            Some(&COM_QUERY) => match rows(&database, &sql) {
                Ok((names, rows)) => result(&mut stream, &names, &rows)?,
                Err(why) => {
                    refuse(sql);
                    let why = format!("ProxySQL Admin Error: {why}");
                    put(&mut stream, sequence + 1, &error(1045, &why))?;
                }
            },
            Some(other) => {
                refuse(format!("command {other}"));
                put(&mut stream, sequence + 1, &error(1047, "Unknown command"))?;
            }
        }
    }
}

type Rows = (Vec<String>, Vec<Vec<Option<String>>>);

fn rows(database: &Connection, sql: &str) -> rusqlite::Result<Rows> {
    if sql.eq_ignore_ascii_case("select @@version_comment limit 1") {
        let name = "(ProxySQL Admin Module)".to_owned();
        return Ok((vec!["@@version_comment".to_owned()], vec![vec![Some(name)]]));
    }
    if sql.contains("stats_mysql_global") {
        database.execute_batch(MOVES)?;
    }
    let mut statement = database.prepare(sql)?;
    let names: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let read = statement.query_map([], |row| {
        let field = |index| {
            Ok(match row.get_ref(index)? {
                ValueRef::Null => None,
                ValueRef::Integer(value) => Some(value.to_string()),
                ValueRef::Real(value) => Some(value.to_string()),
                ValueRef::Text(text) | ValueRef::Blob(text) => {
                    Some(String::from_utf8_lossy(text).into_owned())
                }
            })
        };
        (0..names.len())
            .map(field)
            .collect::<rusqlite::Result<Vec<_>>>()
    })?;
    let rows = read.collect::<rusqlite::Result<Vec<_>>>()?;
    Ok((names, rows))
}

/// The first packet: protocol 10, the version that ProxySQL reports, and a challenge.
fn greeting() -> Vec<u8> {
    let [low, low2, high, high2] = CAPABILITIES.to_le_bytes();
    let mut payload = vec![10];
    payload.extend_from_slice(b"8.0.11\0");
    payload.extend_from_slice(&7_u32.to_le_bytes());
    payload.extend_from_slice(b"12345678\0");
    payload.extend_from_slice(&[low, low2, 33]);
    payload.extend_from_slice(&STATUS);
    payload.extend_from_slice(&[high, high2, 21]);
    payload.extend_from_slice(&[0; 10]);
    payload.extend_from_slice(b"abcdefghijkl\0");
    payload.extend_from_slice(b"mysql_native_password\0");
    payload
}

/// The user name in the client's answer to the greeting.
fn user(answer: &[u8]) -> Option<&[u8]> {
    let rest = answer.get(32..)?;
    let end = rest.iter().position(|byte| *byte == 0)?;
    rest.get(..end)
}

fn ok() -> Vec<u8> {
    let mut payload = vec![0, 0, 0];
    payload.extend_from_slice(&STATUS);
    payload.extend_from_slice(&[0, 0]);
    payload
}

fn error(code: u16, message: &str) -> Vec<u8> {
    let mut payload = vec![0xff];
    payload.extend_from_slice(&code.to_le_bytes());
    payload.extend_from_slice(b"#28000");
    payload.extend_from_slice(message.as_bytes());
    payload
}

/// A text result set for clients without CLIENT_DEPRECATE_EOF.
fn result(
    stream: &mut TcpStream,
    names: &[String],
    rows: &[Vec<Option<String>>],
) -> io::Result<()> {
    let end = [0xfe, 0, 0, STATUS[0], STATUS[1]];
    let mut packets = vec![vec![names.len() as u8]];
    for name in names {
        let mut column = Vec::new();
        for text in ["def", "", "", "", name, ""] {
            text_to(&mut column, text);
        }
        column.extend_from_slice(&[12, 33, 0, 0, 4, 0, 0, TYPE_VAR_STRING, 0, 0, 0, 0, 0]);
        packets.push(column);
    }
    packets.push(end.to_vec());
    for row in rows {
        let mut packet = Vec::new();
        for field in row {
            match field {
                Some(text) => text_to(&mut packet, text),
                None => packet.push(0xfb),
            }
        }
        packets.push(packet);
    }
    packets.push(end.to_vec());
    for (number, packet) in packets.iter().enumerate() {
        put(stream, (number as u8).wrapping_add(1), packet)?;
    }
    Ok(())
}

/// Appends a length-encoded string.
fn text_to(packet: &mut Vec<u8>, text: &str) {
    match text.len() {
        len @ 0..=250 => packet.push(len as u8),
        len => {
            packet.push(0xfc);
            packet.extend_from_slice(&(len as u16).to_le_bytes());
        }
    }
    packet.extend_from_slice(text.as_bytes());
}

fn packet(stream: &mut TcpStream) -> io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let len = u32::from_le_bytes([header[0], header[1], header[2], 0]);
    let mut payload = vec![0; len as usize];
    stream.read_exact(&mut payload)?;
    Ok((header[3], payload))
}

fn put(stream: &mut TcpStream, sequence: u8, payload: &[u8]) -> io::Result<()> {
    let len = (payload.len() as u32).to_le_bytes();
    stream.write_all(&[len[0], len[1], len[2], sequence])?;
    stream.write_all(payload)
}
