//! Secrets that this process holds: wherever their text comes up, it is hidden, whoever said it.

use std::sync::{PoisonError, RwLock};

use super::HIDDEN;
use crate::Secret;

/// Shorter secrets are found in any text.
const CHARS_MIN: usize = 4;

/// From here on a secret is hidden within words too.
const CHARS_LONG: usize = 8;

/// Words that stand in every other message. Whoever has one of them for a password has none, and
/// his messages are to stay readable.
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

/// Has the secret hidden from now on in all that is shown and kept. Not if it is very short, a word
/// that everybody uses, or one of those that are shown anyway, such as the user's name.
pub fn learn(secret: &Secret, shown: &[&str]) {
    let text = secret.expose();
    let same = |word: &&str| word.eq_ignore_ascii_case(text);
    if text.chars().count() < CHARS_MIN || shown.iter().any(same) || COMMON.iter().any(same) {
        return;
    }
    let mut known = KNOWN.write().unwrap_or_else(PoisonError::into_inner);
    // Itself first: it is in memory once, and most have no other form.
    for form in [secret.clone()].into_iter().chain(in_urls(text)) {
        if !known.contains(&form) {
            known.push(form);
        }
    }
    // The longest first: one may be a part of another.
    known.sort_by_key(|secret| std::cmp::Reverse(secret.expose().len()));
}

/// The forms that a text has in URLs: all that must be percent-encoded, and all but letters and
/// digits, in capitals or not.
fn in_urls(text: &str) -> [Secret; 4] {
    let encoded = |kept: &str, capital: bool| {
        let mut out = String::with_capacity(3 * text.len());
        for byte in text.bytes() {
            let keeps = byte.is_ascii_alphanumeric() || kept.as_bytes().contains(&byte);
            match (keeps, capital) {
                (true, _) => out.push(byte.into()),
                (false, true) => out.push_str(&format!("%{byte:02X}")),
                (false, false) => out.push_str(&format!("%{byte:02x}")),
            }
        }
        Secret::new(out)
    };
    [
        encoded("-._~!$&'()*+,;=", true),
        encoded("-._~!$&'()*+,;=", false),
        encoded("-._~", true),
        encoded("-._~", false),
    ]
}

/// The text without the secrets that are known; `None` if none is in it.
pub fn known(text: &str) -> Option<String> {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let mut out: Option<String> = None;
    for secret in known.iter() {
        let from = out.as_deref().unwrap_or(text);
        out = without(from, secret.expose()).or(out);
    }
    out
}

/// Where to cut a text that is too long: at this byte, or before a known secret lying across it,
/// whose beginning would be left and not be found.
pub fn cut_at(text: &[u8], at: usize) -> usize {
    let known = KNOWN.read().unwrap_or_else(PoisonError::into_inner);
    let cuts = known.iter().filter_map(|secret| {
        let secret = secret.expose().as_bytes();
        let first = at.saturating_sub(secret.len().saturating_sub(1));
        (first..at).find(|start| text[*start..].starts_with(secret))
    });
    cuts.min().unwrap_or(at)
}

/// The text without this word.
fn without(text: &str, secret: &str) -> Option<String> {
    let within = secret.chars().count() >= CHARS_LONG;
    let mut out = String::new();
    let mut done = 0;
    for (at, _) in text.match_indices(secret) {
        let end = at + secret.len();
        let is_part = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let apart =
            !is_part(text[..at].chars().next_back()) && !is_part(text[end..].chars().next());
        if within || apart {
            out.push_str(&text[done..at]);
            out.push_str(HIDDEN);
            done = end;
        }
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
        ] {
            learn(text);
        }
        for (said, shown) in [
            ("using xKn0wn-l0ng-oney", Some("using x***y")),
            ("'Kn0w' or Kn0wledge", Some("'***' or Kn0wledge")),
            ("xKn0wn-l0ng", Some("x***")),
            ("root of shop-db abc", None),
            ("p%40ss%2Fw%3Ard!", Some("***")),
            ("(p%40ss%2fw%3ard%21)", Some("(***)")),
        ] {
            assert_eq!(known(said).as_deref(), shown, "{said}");
        }
    }
}
