//! The messages of a hostile server.

use std::io::{self, Write};

use dyno_core::rand::Stream;
use dyno_null::Speaks;

/// The size at which an endless answer ends: far more than a client should accept.
const ENDLESS: usize = 1 << 30;
/// The length of an oversized text.
const HUGE_TEXT: usize = 100 << 20;
/// MySQL's longest packet.
const PACKET_MAX: usize = 0xff_ffff;
/// A title, a cursor movement, a C1 introducer, reversed text, a bell, and a separate line.
const ESCAPES: &str = "\u{1b}]0;owned\u{7}\u{1b}[2J\u{9b}31m\u{202e}drowssap\u{2066}\r\u{8}\u{7f}x";

/// A hostile message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Payload {
    Silence,
    Close,
    Garbage,
    EndlessGarbage,
    EndlessZeros,
    EndlessRows,
    EndlessResults,
    EndlessNotices,
    HugeLength,
    HugeError,
    Escapes,
    AskForFile,
    Partial,
    TooManyColumns,
}

impl Payload {
    const ALL: [Self; 14] = [
        Self::Silence,
        Self::Close,
        Self::Garbage,
        Self::EndlessGarbage,
        Self::EndlessZeros,
        Self::EndlessRows,
        Self::EndlessResults,
        Self::EndlessNotices,
        Self::HugeLength,
        Self::HugeError,
        Self::Escapes,
        Self::AskForFile,
        Self::Partial,
        Self::TooManyColumns,
    ];

    pub(super) fn draw(draws: &mut Stream) -> Self {
        Self::ALL[draws.below(Self::ALL.len() as u64) as usize]
    }

    /// Sends the message. The client may close the connection early.
    pub(super) fn send(self, to: &mut impl Write, speaks: Speaks, seed: u64) -> io::Result<()> {
        let mut draws = Stream::new(seed, 7);
        let mysql = speaks == Speaks::Mysql;
        match self {
            Self::Silence | Self::Close => Ok(()),
            Self::Garbage => to.write_all(&noise(&mut draws, 300)),
            Self::EndlessGarbage => repeat(to, &noise(&mut draws, 65_536), ENDLESS),
            Self::EndlessZeros => repeat(to, &[0; 65_536], ENDLESS),
            Self::EndlessRows if mysql => mysql_rows(to),
            Self::EndlessRows => {
                to.write_all(&message(
                    b'T',
                    b"\0\x01c\0\0\0\0\0\0\0\0\0\0\x19\xff\xff\xff\xff\xff\xff\0\0",
                ))?;
                let mut row = b"\0\x01\0\0\x03\xe8".to_vec();
                row.resize(6 + 1000, b'x');
                repeat(to, &message(b'D', &row).repeat(64), ENDLESS)
            }
            // "More results follow", endlessly.
            Self::EndlessResults if mysql => {
                let many: Vec<u8> = (1..=255)
                    .flat_map(|number| packet(number, b"\0\0\0\x0a\0\0\0"))
                    .collect();
                repeat(to, &many, ENDLESS)
            }
            Self::EndlessResults => repeat(to, &message(b'C', b"SELECT 1\0").repeat(64), ENDLESS),
            Self::EndlessNotices if mysql => repeat(
                to,
                &packet(1, b"\xfemysql_native_password\x0012345678901234567890\0"),
                ENDLESS,
            ),
            Self::EndlessNotices => {
                let notice = message(b'N', b"SNOTICE\0C00000\0Mhello\0\0");
                let status = message(b'S', b"application_name\0x\0");
                repeat(to, &[notice, status].concat().repeat(64), ENDLESS)
            }
            Self::HugeLength if mysql => {
                to.write_all(b"\xff\xff\xff\x01")?;
                repeat(to, &[b'x'; 65_536], ENDLESS)
            }
            Self::HugeLength => {
                to.write_all(b"D\x7f\xff\xff\xff")?;
                repeat(to, &[b'x'; 65_536], ENDLESS)
            }
            Self::HugeError => huge_error(to, mysql),
            Self::Escapes => to.write_all(&error(mysql, ESCAPES)),
            Self::AskForFile if mysql => to.write_all(&packet(1, b"\xfb/etc/passwd")),
            Self::AskForFile => to.write_all(&message(b'G', b"\0\0\x01\0\0")),
            Self::Partial => {
                let whole = error(mysql, "half of this");
                to.write_all(&whole[..draws.below(whole.len() as u64) as usize])
            }
            Self::TooManyColumns if mysql => {
                to.write_all(&packet(1, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f"))
            }
            Self::TooManyColumns => to.write_all(&message(b'T', b"\xff\xff")),
        }
    }

    /// Whether the connection stays open afterwards.
    pub(super) fn stays(self, seed: u64) -> bool {
        match self {
            Self::Silence => true,
            Self::Close => false,
            _ => seed.is_multiple_of(2),
        }
    }
}

fn noise(draws: &mut Stream, length: usize) -> Vec<u8> {
    (0..length).map(|_| draws.next_u64() as u8).collect()
}

fn repeat(to: &mut impl Write, bytes: &[u8], total: usize) -> io::Result<()> {
    for _ in 0..=total / bytes.len() {
        to.write_all(bytes)?;
    }
    Ok(())
}

/// A MySQL packet.
fn packet(number: u8, body: &[u8]) -> Vec<u8> {
    let length = (body.len() as u32).to_le_bytes();
    let mut packet = vec![length[0], length[1], length[2], number];
    packet.extend(body);
    packet
}

/// A PostgreSQL message.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let mut message = vec![kind];
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    message
}

fn mysql_rows(to: &mut impl Write) -> io::Result<()> {
    to.write_all(&packet(1, b"\x01"))?;
    let column = b"\x03def\0\0\0\x01c\0\x0c\x21\0\0\x01\0\0\xfd\0\0\0\0\0";
    to.write_all(&packet(2, column))?;
    to.write_all(&packet(3, b"\xfe\0\0\x02\0"))?;
    let mut row = b"\xfc\xe8\x03".to_vec();
    row.resize(3 + 1000, b'x');
    let rows: Vec<u8> = (0..=255u8)
        .flat_map(|number| packet(number.wrapping_add(4), &row))
        .collect();
    repeat(to, &rows, ENDLESS)
}

fn error(mysql: bool, text: &str) -> Vec<u8> {
    match mysql {
        true => packet(1, &[b"\xff\x15\x04#28000", text.as_bytes()].concat()),
        false => {
            let fields = [b"SERROR\0VERROR\0C42000\0M", text.as_bytes(), b"\0\0"].concat();
            [message(b'E', &fields), message(b'Z', b"I")].concat()
        }
    }
}

fn huge_error(to: &mut impl Write, mysql: bool) -> io::Result<()> {
    if !mysql {
        to.write_all(b"E")?;
        to.write_all(&(HUGE_TEXT as u32).to_be_bytes())?;
        to.write_all(b"SERROR\0C42000\0M")?;
        return repeat(to, &[b'e'; 65_536], HUGE_TEXT);
    }
    let mut first = b"\xff\x15\x04#28000".to_vec();
    first.resize(PACKET_MAX, b'e');
    to.write_all(&packet(1, &first))?;
    for number in 2..=(HUGE_TEXT / PACKET_MAX) as u8 {
        to.write_all(&packet(number, &vec![b'e'; PACKET_MAX]))?;
    }
    to.write_all(&packet(9, b"end"))
}
