//! The extended point select of PostgreSQL's protocol.

use std::io::{self, Write};
use std::os::unix::net::UnixStream;

use crate::link::{read_until, refused};

const STATEMENT: &[u8] = b"s\0SELECT c FROM sbtest1 WHERE id=$1\0\0\x01\0\0\0\x17";
/// Bind one binary int4 to statement `s`, results as text; Execute; Sync. The id is at [`ID_AT`].
const REQUEST: &[u8] = b"B\0\0\0\x17\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\0\0\0\0\0\0\
E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
const ID_AT: usize = 18;

/// A connection with its prepared statement.
pub(crate) struct Session;

impl crate::Protocol for Session {
    fn open(mut stream: &UnixStream) -> io::Result<Session> {
        let mut startup = vec![0, 3, 0, 0];
        startup.extend_from_slice(b"user\0postgres\0database\0sbtest\0\0");
        let length = startup.len() as u32 + 4;
        stream.write_all(&[length.to_be_bytes().as_slice(), &startup].concat())?;
        read_until(stream, Self::is_whole)?;
        let mut prepare = message(b'P', STATEMENT);
        prepare.extend_from_slice(&message(b'S', b""));
        stream.write_all(&prepare)?;
        read_until(stream, Self::is_whole)?;
        Ok(Session)
    }

    #[inline]
    fn request(&mut self, id: u32, out: &mut [u8; 64]) -> usize {
        out[..REQUEST.len()].copy_from_slice(REQUEST);
        out[ID_AT..ID_AT + 4].copy_from_slice(&id.to_be_bytes());
        REQUEST.len()
    }

    #[inline]
    fn is_whole(answer: &[u8]) -> io::Result<bool> {
        let mut at = 0;
        loop {
            let Some(&[tag, l0, l1, l2, l3]) = answer.get(at..).and_then(<[u8]>::first_chunk)
            else {
                return Ok(false);
            };
            let end = at + 1 + u32::from_be_bytes([l0, l1, l2, l3]) as usize;
            if end > answer.len() {
                return Ok(false);
            }
            match tag {
                b'E' => return Err(refused("point select", &answer[at..])),
                b'Z' if end == answer.len() => return Ok(true),
                b'Z' => return Err(refused("point select", &answer[end..])),
                _ => at = end,
            }
        }
    }
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = vec![tag];
    bytes.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(body);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Protocol;

    #[test]
    fn the_request_is_three_messages_with_the_id_in_the_first() {
        let mut out = [0; 64];
        let length = Session.request(0x01020304, &mut out);
        let mut bind = b"\0s\0\0\x01\0\x01\0\x01\0\0\0\x04\x01\x02\x03\x04\0\0".to_vec();
        bind = message(b'B', &bind);
        bind.extend_from_slice(&message(b'E', b"\0\0\0\0\0"));
        bind.extend_from_slice(&message(b'S', b""));
        assert_eq!(out[..length], bind);
    }

    #[test]
    fn an_answer_is_whole_when_the_server_is_ready() {
        let mut answer = message(b'2', b"");
        answer.extend_from_slice(&message(b'D', b"\0\x01\0\0\0\x01x"));
        answer.extend_from_slice(&message(b'C', b"SELECT 1\0"));
        answer.extend_from_slice(&message(b'Z', b"I"));
        for end in 0..answer.len() {
            assert!(!Session::is_whole(&answer[..end]).unwrap(), "{end} bytes");
        }
        assert!(Session::is_whole(&answer).unwrap());
        answer.push(b'Z');
        assert!(Session::is_whole(&answer).is_err());
        assert!(Session::is_whole(&message(b'E', b"SERROR\0\0")).is_err());
    }
}
