//! Secrets in program options whose names do not suggest one, such as `curl -u user:password`.

use std::ops::Range;

use super::scan::is_flag;
use super::value::{self, Around, is_quote};

/// Options with secrets.
pub(super) struct Program {
    /// The programs; `*` matches any ending.
    names: &'static [&'static str],
    flags: &'static [&'static str],
    form: Form,
}

/// The form of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// In the word of the option only: `-px`.
    Attached,
    /// In the word of the option, or in the next one: `-p x`.
    Either,
    /// After a user's name: `-u user:x`.
    Login,
}

static PROGRAMS: [Program; 8] = [
    Program {
        names: &[
            "mysql*",
            "mariadb*",
            "mariabackup",
            "xtrabackup",
            "innobackupex",
        ],
        flags: &["-p"],
        form: Form::Attached,
    },
    Program {
        names: &[
            "sshpass", "mongo*", "cqlsh", "mydumper", "myloader", "pt-*", "login",
        ],
        flags: &["-p"],
        form: Form::Either,
    },
    Program {
        names: &["redis-*", "valkey-*", "memtier_benchmark"],
        flags: &["-a"],
        form: Form::Either,
    },
    Program {
        names: &["sqlcmd", "bcp", "osql", "zip"],
        flags: &["-P"],
        form: Form::Either,
    },
    Program {
        names: &["ldap*"],
        flags: &["-w"],
        form: Form::Either,
    },
    Program {
        names: &["openssl"],
        flags: &["-k", "-K"],
        form: Form::Either,
    },
    Program {
        names: &["curl"],
        flags: &["-u", "--user", "-U", "--proxy-user"],
        form: Form::Login,
    },
    Program {
        names: &["http", "https", "xh", "lftp", "smbclient"],
        flags: &["-a", "--auth", "-u", "-U", "--user"],
        form: Form::Login,
    },
];

/// The place of a secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// From this byte of the word on.
    Here(usize),
    /// In the next word.
    Next,
}

/// The program of this name, without its folders.
pub(super) fn named(name: &str) -> Option<&'static Program> {
    if name.starts_with('-') || name.contains("://") {
        return None;
    }
    let name = name.rsplit('/').next().unwrap_or(name);
    let is = |pattern: &&str| match pattern.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => name == *pattern,
    };
    PROGRAMS.iter().find(|program| program.names.iter().any(is))
}

impl Program {
    /// The secret's place, if the word is an option with one.
    pub(super) fn place(&self, word: &str) -> Option<Place> {
        self.flags.iter().find_map(|flag| self.place_of(flag, word))
    }

    fn place_of(&self, flag: &str, word: &str) -> Option<Place> {
        let next = (self.form != Form::Attached).then_some(Place::Next);
        let is_long = flag.starts_with("--");
        match word.strip_prefix(flag) {
            Some("") => next,
            Some(rest) if is_long => rest.starts_with('=').then_some(Place::Here(flag.len() + 1)),
            Some(_) => Some(Place::Here(flag.len())),
            // Several options in one word: `-su`.
            None => {
                let letters = word.strip_prefix('-')?;
                let several = letters.chars().all(|c| c.is_ascii_alphabetic());
                let last = letters.ends_with(&flag[1..]);
                next.filter(|_| several && last && !is_long)
            }
        }
    }

    /// The secret in a text that an option introduces.
    pub(super) fn secret(&self, text: &str) -> Option<Range<usize>> {
        if self.form != Form::Login {
            return Some(0..text.len());
        }
        let at = text.find([':', ',', '%'])?;
        // With quotes, hide the whole text: the start of the password would depend on them.
        let plain = !text[..at].contains(['\'', '"', '`', '\\', '$']);
        Some(if plain {
            at + 1..text.len()
        } else {
            0..text.len()
        })
    }
}

/// The secrets on the rest of a line after a program's name, up to the name of another program.
pub(super) fn in_text(text: &str, name: Range<usize>, quote: Option<char>) -> Vec<Range<usize>> {
    let blank = |c: char| matches!(c, ' ' | '\t');
    let Some(program) = named(&text[name.clone()]).filter(|_| text[name.end..].starts_with(blank))
    else {
        return Vec::new();
    };
    let around = Around {
        quote,
        ..Around::default()
    };
    let mut spans = Vec::new();
    let mut at = name.end;
    let mut follows = false;
    loop {
        let start = text.len() - text[at..].trim_start_matches(blank).len();
        if start == at && quote.is_some_and(|quote| text[at..].starts_with(quote)) {
            return spans;
        }
        at = value::end(text, start, around);
        let raw = &text[start..at];
        let span = value::span(text, start, around);
        let word = text[span.clone()].trim_start_matches(is_quote);
        let start = span.end - word.len();
        let ends = raw.is_empty() || raw.starts_with(['|', ';', '&', '#']);
        if ends || (named(word).is_some() && !follows) {
            return spans;
        }
        let place = match follows && !is_flag(raw) {
            true => Some(Place::Here(0)),
            false => program.place(word),
        };
        follows = place == Some(Place::Next);
        if let Some(Place::Here(from)) = place
            && let Some(secret) = program.secret(&word[from..])
            && !super::is_hidden(&word[from..][secret.clone()])
        {
            let from = start + from;
            spans.push(from + secret.start..from + secret.end);
        }
    }
}
