//! Texts and bytes that are almost valid.

use dyno_core::rand::Stream;

/// Tokens that replace parts of an input.
const TOKENS: [&str; 40] = [
    "0",
    "-1",
    "1e308",
    "99999999999999999999",
    "18446744073709551615",
    "-9223372036854775808",
    "nan",
    "inf",
    "0x10",
    "1.5",
    "",
    " ",
    "\n",
    "\t",
    "'",
    "\"",
    "\\",
    "%00",
    "%",
    "%zz",
    "é",
    "\u{202e}",
    "\u{1b}[31m",
    "\u{9b}2J",
    "--",
    "=",
    "==",
    "/",
    "//",
    "?",
    "&",
    "@",
    ":",
    ",",
    ";",
    "$(id)",
    "{}",
    "[]",
    "nil",
    "1s1s",
];

/// One of the tokens, or noise.
pub(super) fn token(draws: &mut Stream) -> String {
    match draws.below(8) {
        0 => "9".repeat(1 + draws.below(400) as usize),
        1 => TOKENS[draws.below(40) as usize].repeat(1 + draws.below(60) as usize),
        _ => TOKENS[draws.below(40) as usize].to_owned(),
    }
}

/// Changes some parts of a text.
pub(super) fn text(text: &str, draws: &mut Stream) -> String {
    let mut characters: Vec<char> = text.chars().collect();
    for _ in 0..=draws.below(4) {
        let length = characters.len() as u64;
        let at = draws.below(length + 1) as usize;
        let end = (at + draws.below(12) as usize).min(characters.len());
        match draws.below(5) {
            0 => drop(characters.splice(at..end, token(draws).chars())),
            1 => drop(characters.drain(at..end)),
            2 => {
                let copy = characters[at..end].to_vec();
                drop(characters.splice(at..at, copy));
            }
            3 => drop(characters.splice(at..at, token(draws).chars())),
            _ => characters.truncate(at),
        }
    }
    characters.into_iter().collect()
}

/// Changes some lines and fields of a text, so that most of it is still valid.
pub(super) fn lines(text: &str, draws: &mut Stream) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..=draws.below(4) {
        if lines.is_empty() {
            break;
        }
        let at = draws.below(lines.len() as u64) as usize;
        let other = draws.below(lines.len() as u64) as usize;
        match draws.below(6) {
            0 => drop(lines.remove(at)),
            1 => lines.swap(at, other),
            2 => lines.insert(at, lines[other].clone()),
            3 => lines.truncate(at + 1),
            _ => {
                let words: Vec<String> = lines[at].split(' ').map(str::to_owned).collect();
                let chosen = draws.below(words.len() as u64) as usize;
                let changed = words.iter().enumerate().map(|(index, word)| {
                    if index == chosen {
                        token(draws)
                    } else {
                        word.clone()
                    }
                });
                lines[at] = changed.collect::<Vec<_>>().join(" ");
            }
        }
    }
    lines.join("\n")
}

/// Changes, removes or truncates some bytes.
pub(super) fn bytes(bytes: &[u8], draws: &mut Stream) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    if bytes.is_empty() {
        return bytes;
    }
    if draws.below(3) == 0 {
        bytes.truncate(draws.below(bytes.len() as u64) as usize);
        return bytes;
    }
    for _ in 0..=draws.below(40) {
        let at = draws.below(bytes.len() as u64) as usize;
        match draws.below(3) {
            0 => bytes[at] = draws.next_u64() as u8,
            1 => bytes[at] ^= 1 << draws.below(8),
            _ => {
                let end = (at + draws.below(4096) as usize).min(bytes.len());
                bytes[at..end].fill(draws.next_u64() as u8);
            }
        }
    }
    bytes
}
