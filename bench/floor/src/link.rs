//! Exchanges messages blockingly, to log in and to prepare.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;

/// Reads until `is_whole` accepts the bytes, and returns them.
pub(crate) fn read_until(
    mut stream: &UnixStream,
    is_whole: impl Fn(&[u8]) -> io::Result<bool>,
) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let count = stream.read(&mut buffer)?;
        if count == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        bytes.extend_from_slice(&buffer[..count]);
        if is_whole(&bytes)? {
            return Ok(bytes);
        }
    }
}

/// The error for an unexpected answer, or for one in which the server reports an error.
pub(crate) fn refused(doing: &str, answer: &[u8]) -> io::Error {
    let text = String::from_utf8_lossy(answer).replace(|symbol: char| symbol.is_control(), " ");
    io::Error::other(format!("{doing}: the server answered `{}`", text.trim()))
}
