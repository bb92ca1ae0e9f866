//! The binary point select of MySQL's protocol.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use crate::link::{read_until, refused};

/// Long password, protocol 4.1, transactions, secure connection, plugins, no EOF packets.
const CAPABILITIES: u32 = 1 | 1 << 9 | 1 << 13 | 1 << 15 | 1 << 19 | 1 << 24;
const STATEMENT: &[u8] = b"\x16SELECT c FROM sbtest1 WHERE id=?";
const TYPE_LONG: u8 = 3;

/// A connection with its prepared statement.
pub(crate) struct Session {
    statement: [u8; 4],
    /// Whether the parameter types were sent, which only the first execution does.
    typed: bool,
}

impl crate::Protocol for Session {
    fn open(mut stream: &UnixStream) -> io::Result<Session> {
        read_until(stream, |bytes| Ok(packets_in(bytes) == Some(1)))?;
        let mut login = CAPABILITIES.to_le_bytes().to_vec();
        login.extend_from_slice(&(1u32 << 24).to_le_bytes());
        login.push(45);
        login.extend_from_slice(&[0; 23]);
        login.extend_from_slice(b"root\0\0mysql_native_password\0");
        stream.write_all(&packet(1, &login))?;
        let answer = read_until(stream, |bytes| Ok(packets_in(bytes) == Some(1)))?;
        if answer.get(4) != Some(&0) {
            return Err(refused("login", &answer));
        }
        stream.write_all(&packet(0, b"\x03USE sbtest"))?;
        let answer = read_until(stream, |bytes| Ok(packets_in(bytes) == Some(1)))?;
        if answer.get(4) != Some(&0) {
            return Err(refused("USE sbtest", &answer));
        }
        stream.write_all(&packet(0, STATEMENT))?;
        // The answer describes the statement, its parameter and its column.
        let answer = read_until(stream, |bytes| match bytes.get(4) {
            Some(0xff) => Err(refused("prepare", bytes)),
            _ => Ok(packets_in(bytes) == Some(3)),
        })?;
        Ok(Session {
            statement: [answer[5], answer[6], answer[7], answer[8]],
            typed: false,
        })
    }

    #[inline]
    fn request(&mut self, id: u32, out: &mut [u8; 64]) -> usize {
        let [id0, id1, id2, id3] = id.to_le_bytes();
        let [s0, s1, s2, s3] = self.statement;
        // Command, statement, no cursor, one iteration, null bitmap, whether types follow.
        let head = [0x17, s0, s1, s2, s3, 0, 1, 0, 0, 0, 0];
        out[4..15].copy_from_slice(&head);
        let length = if self.typed {
            out[15..20].copy_from_slice(&[0, id0, id1, id2, id3]);
            16
        } else {
            self.typed = true;
            out[15..22].copy_from_slice(&[1, TYPE_LONG, 0, id0, id1, id2, id3]);
            18
        };
        out[..4].copy_from_slice(&[length as u8, 0, 0, 0]);
        length + 4
    }

    #[inline]
    fn is_whole(answer: &[u8]) -> io::Result<bool> {
        let (mut at, mut packets) = (0, 0);
        loop {
            let Some(header) = answer.get(at..at + 5) else {
                return Ok(false);
            };
            let length = length_of(header);
            let end = at + 4 + length;
            if end > answer.len() {
                return Ok(false);
            }
            match header[4] {
                0xff => return Err(refused("execute", &answer[at..])),
                // The column count and the column come first, then the rows.
                0xfe if packets >= 2 && length < 0xff_ffff => {
                    return match end == answer.len() {
                        true => Ok(true),
                        false => Err(refused("execute", &answer[end..])),
                    };
                }
                _ => {}
            }
            packets += 1;
            at = end;
        }
    }
}

/// The number of whole packets; `None` if the last one is incomplete.
fn packets_in(mut bytes: &[u8]) -> Option<usize> {
    let mut count = 0;
    while !bytes.is_empty() {
        let header = bytes.get(..4)?;
        bytes = bytes.get(4 + length_of(header)..)?;
        count += 1;
    }
    Some(count)
}

#[inline]
fn length_of(header: &[u8]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = (payload.len() as u32).to_le_bytes()[..3].to_vec();
    bytes.push(sequence);
    bytes.extend_from_slice(payload);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    #[test]
    fn an_answer_is_whole_when_its_last_packet_came() {
        let parts = [
            b"\x01".as_slice(),
            b"\x03def\x00",
            b"\x00\x00\x01x",
            b"\xfe\0\0\x02\0\0\0",
        ];
        let mut answer = Vec::new();
        for (index, part) in parts.iter().enumerate() {
            answer.extend_from_slice(&packet(index as u8 + 1, part));
        }
        for end in 0..answer.len() {
            assert!(!Session::is_whole(&answer[..end]).unwrap(), "{end} bytes");
        }
        assert!(Session::is_whole(&answer).unwrap());
        answer.push(0);
        assert!(Session::is_whole(&answer).is_err());
        assert!(Session::is_whole(&packet(1, b"\xff\x10\x04#HY000no")).is_err());
    }

    #[test]
    fn types_are_sent_once() {
        let mut session = Session {
            statement: [7, 0, 0, 0],
            typed: false,
        };
        let mut out = [0; 64];
        assert_eq!(session.request(0x01020304, &mut out), 22);
        assert_eq!(out[18..22], [4, 3, 2, 1]);
        assert_eq!(session.request(5, &mut out), 20);
        assert_eq!(
            out[..20],
            *b"\x10\0\0\0\x17\x07\0\0\0\0\x01\0\0\0\0\0\x05\0\0\0"
        );
    }
}
