//! Secrets known to this process, hidden wherever they appear.

use std::sync::{PoisonError, RwLock};

use super::HIDDEN;
use crate::Secret;

/// Shorter secrets would match in any text.
const CHARS_MIN: usize = 4;

/// From this length on, a secret is hidden within words too.
const CHARS_LONG: usize = 8;

/// Common words of messages. As passwords they protect nothing, and hiding them would make messages
/// unreadable.
const COMMON: [&str; 13] = [
    "dyno",
    "maria",
    "mariadb",
    "mysql",
    "null",
    "password",
    "pgsql",
    "postgres",
    "postgresql",
    "root",
    "sbtest",
    "sysbench",
    "test",
];

static KNOWN: RwLock<Vec<Secret>> = RwLock::new(Vec::new());

/// Hides the secret from now on in everything shown and stored, unless it is very short, a common
/// word, or one of `shown`, such as the user's name.
pub fn learn(secret: &Secret, shown: &[&str]) {
    let text = secret.expose();
    let same = |word: &&str| word.eq_ignore_ascii_case(text);
    if text.chars().count() < CHARS_MIN || shown.iter().any(same) || COMMON.iter().any(same) {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    if !known.contains(secret) {
        known.push(secret.clone());
        // The longest first: one may be a part of another.
        known.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
    }
}

/// The text without known secrets; `None` if it contains none.
pub fn known(text: &str) -> Option<String> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut out: Option<String> = None;
    for secret in known.iter() {
        let from = out.as_deref().unwrap_or(text);
        out = without(from, secret.expose()).or(out);
    }
    out
}

/// Where to cut a text that is too long: at this byte, or before a known secret that crosses it,
/// whose remaining beginning could not be recognised.
pub fn cut_at(text: &[u8], at: usize) -> usize {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let cuts = known.iter().filter_map(|secret| {
        let secret = secret.expose().as_bytes();
        let first = at.saturating_sub(ENCODED_BYTES * secret.len());
        let across = |start: &usize| {
            matched(&text[*start..], secret).is_some_and(|length| start + length > at)
        };
        (first..at).find(across)
    });
    cuts.min().unwrap_or(at)
}

/// Bytes in the percent-encoding of one byte.
const ENCODED_BYTES: usize = 3;

/// The length of the secret at the start of a text, literal or with any of its bytes
/// percent-encoded.
fn matched(text: &[u8], secret: &[u8]) -> Option<usize> {
    if text.starts_with(secret) {
        return Some(secret.len());
    }
    let mut at = 0;
    for byte in secret {
        let rest = text.get(at..)?;
        at += match decoded(rest) {
            Some(decoded) if decoded == *byte => ENCODED_BYTES,
            _ if rest.first() == Some(byte) => 1,
            _ => return None,
        };
    }
    Some(at)
}

/// The byte that a percent-encoded text begins with.
fn decoded(text: &[u8]) -> Option<u8> {
    let [b'%', high, low, ..] = text else {
        return None;
    };
    let digit = |of: &u8| char::from(*of).to_digit(16);
    u8::try_from(16 * digit(high)? + digit(low)?).ok()
}

/// The text without this word.
fn without(text: &str, secret: &str) -> Option<String> {
    let long = secret.chars().count() >= CHARS_LONG;
    let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
    let mut out = String::new();
    let (mut done, mut at) = (0, 0);
    while at < text.len() {
        let Some(length) = matched(&text.as_bytes()[at..], secret.as_bytes()) else {
            at += 1;
            continue;
        };
        // Both are at character boundaries: a secret is whole characters, and its encoding is
        // ASCII.
        let end = at + length;
        let apart =
            !is_part(text[..at].chars().next_back()) && !is_part(text[end..].chars().next());
        // An encoded match cannot be an ordinary word.
        if long || apart || length > secret.len() {
            out.push_str(&text[done..at]);
            out.push_str(HIDDEN);
            done = end;
        }
        at = end;
    }
    (done > 0).then(|| out + &text[done..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cut_leaves_the_beginning_of_a_secret() {
        let secret = "Str4ddles-it";
        super::learn(&Secret::new(secret.to_owned()), &[]);
        let text = format!("before {secret} after");
        for at in 0..text.len() {
            let cut = cut_at(text.as_bytes(), at);
            let within = (8..7 + secret.len()).contains(&at);
            assert_eq!(cut, if within { 7 } else { at }, "{at}");
        }
        let encoded = "before %53tr4ddles%2dit after";
        for at in 0..encoded.len() {
            let cut = cut_at(encoded.as_bytes(), at);
            assert_eq!(cut, if (8..23).contains(&at) { 7 } else { at }, "{at}");
        }
    }

    #[test]
    fn secrets_are_hidden_and_common_words_are_not() {
        let learn = |text: &str| super::learn(&Secret::new(text.to_owned()), &["me", "shop-db"]);
        for text in [
            "Kn0wn-l0ng-one",
            "Kn0w",
            "abc",
            "root",
            "shop-db",
            "Kn0wn-l0ng",
            "p@ss/w:rd!",
            "50%41-öl",
        ] {
            learn(text);
        }
        for (input, shown) in [
            ("using xKn0wn-l0ng-oney", Some("using x***y")),
            ("'Kn0w' or Kn0wledge", Some("'***' or Kn0wledge")),
            ("xKn0wn-l0ng", Some("x***")),
            ("root of shop-db abc", None),
            ("p%40ss%2Fw%3Ard!", Some("***")),
            ("(p%40ss%2fw%3ard%21)", Some("(***)")),
            ("xp@%73s/w%3Ard!y", Some("x***y")),
            ("p%40ss%2", None),
            ("a 50%2541-%C3%b6l, 50%41-öl", Some("a ***, ***")),
        ] {
            assert_eq!(known(input).as_deref(), shown, "{input}");
        }
    }
}
