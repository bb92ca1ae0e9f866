//! Hides secrets in text from users, logs or servers, before it is shown, stored or passed to
//! scripts.

use std::ops::Range;

use crate::plan::OptionValue;

mod argument;
mod known;
mod names;
mod programs;
mod scan;
mod shell;
#[cfg(test)]
mod tests;
mod value;

pub use known::{cut_at, known, learn};
use names::{Class, class};
use programs::{Place, Program};
pub use shell::words;

/// The replacement for a secret.
pub const HIDDEN: &str = "***";

/// A command line without its secrets, for scripts and records, whose output may end up anywhere.
pub fn argv(args: &[String]) -> Vec<String> {
    let hidden = in_argv(args);
    let shown = args.iter().zip(&hidden).map(|(arg, spans)| {
        let arg = replaced(arg, spans);
        known(&arg).unwrap_or(arg)
    });
    shown.collect()
}

/// The byte ranges of the secrets in each argument of a command line.
pub fn in_argv(args: &[String]) -> Vec<Vec<Range<usize>>> {
    let mut line = CommandLine::default();
    args.iter().map(|arg| line.next(arg)).collect()
}

/// The state after the words of a command line so far, which classifies the next one.
#[derive(Default)]
struct CommandLine {
    program: Option<&'static Program>,
    /// The class of the previous option.
    class: Option<Class>,
    /// Whether the previous option is the program's, and a secret follows.
    follows: bool,
}

impl CommandLine {
    /// The secrets in the next word.
    fn next(&mut self, arg: &str) -> Vec<Range<usize>> {
        let (class_before, follows) = (self.class.take(), std::mem::take(&mut self.follows));
        let whole = 0..arg.len();
        if !scan::is_flag(arg) {
            if class_before.is_some_and(|class| is_secret(class, arg)) {
                return one(whole);
            }
            let program = self.program.filter(|_| follows);
            if let Some(secret) = program.and_then(|program| program.secret(arg)) {
                return one(secret);
            }
        }
        self.program = programs::named(arg).or(self.program);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if arg.starts_with('-') && arg.chars().all(is_name) {
            self.class = class(arg);
        }
        let place = self.program.and_then(|program| program.place(arg));
        self.follows = place == Some(Place::Next);
        if let Some(Place::Here(from)) = place
            && let Some(secret) = self
                .program
                .and_then(|program| program.secret(&arg[from..]))
        {
            return shifted(one(secret), from);
        }
        match self.class {
            Some(_) => Vec::new(),
            None => argument::spans(arg),
        }
    }
}

/// The value of a setting, an option or a fact without its secrets.
pub fn setting(name: &str, value: &str) -> String {
    let shown = without_secrets_by_form(name, value);
    known(&shown).unwrap_or(shown)
}

/// Whether a value is or contains a secret, by its name or form. Secrets known to this process may
/// have any form.
pub fn has_form_of_secret(name: &str, value: &str) -> bool {
    without_secrets_by_form(name, value) != value
}

fn without_secrets_by_form(name: &str, value: &str) -> String {
    if class(name).is_some_and(|class| is_secret(class, value)) {
        return HIDDEN.to_owned();
    }
    scanned(replaced(value, &argument::spans(value)))
}

/// A script's options for display: values of options with secret names are hidden.
pub fn options(options: &[(String, OptionValue)]) -> Vec<(String, OptionValue)> {
    let is_strong = |name: &str| matches!(class(name), Some(Class::Password | Class::Credential));
    let hide = |name: &str, value: &OptionValue| match value {
        OptionValue::Text(text) => OptionValue::Text(setting(name, text)),
        OptionValue::List(_) | OptionValue::Number(_) if is_strong(name) => {
            OptionValue::Text(HIDDEN.to_owned())
        }
        OptionValue::List(values) => {
            OptionValue::List(values.iter().map(|value| setting("", value)).collect())
        }
        other => other.clone(),
    };
    let shown = |(name, value): &(String, OptionValue)| (name.clone(), hide(name, value));
    options.iter().map(shown).collect()
}

/// A message that may quote user input or server text, with passwords of URLs, values of secret
/// names, and secrets known to this process hidden.
pub fn text(message: &str) -> String {
    let shown = scanned(message.to_owned());
    known(&shown).unwrap_or(shown)
}

/// A text without the secrets that its form shows.
fn scanned(mut text: String) -> String {
    /// Maximum number of passes: hiding one secret may turn the text next to it into the value of a
    /// name.
    const PASSES_MAX: usize = 4;
    for _ in 0..PASSES_MAX {
        let next = replaced(&text, &scan::prose(&text));
        if next == text {
            break;
        }
        text = next;
    }
    text
}

/// Whether a value with a name of that class is a secret. Switches and empty values are not.
fn is_secret(class: Class, value: &str) -> bool {
    const SWITCHES: [&str; 8] = ["0", "1", "on", "off", "true", "false", "yes", "no"];
    /// Methods of authentication.
    const METHODS: [&str; 8] = [
        "basic",
        "ident",
        "md5",
        "none",
        "peer",
        "reject",
        "scram-sha-256",
        "trust",
    ];
    /// File name extensions of keys.
    const FILES: [&str; 3] = [".nk", ".pem", ".key"];
    if value.is_empty() || is_hidden(value) {
        return false;
    }
    let among = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(value));
    // A sentence may continue after it.
    let name = value.trim_end_matches([',', ';', ')', '`', '\'']);
    let is_file = || name == "FILE" || FILES.iter().any(|end| name.ends_with(end));
    match class {
        Class::Password => true,
        Class::Credential | Class::Key => !among(&SWITCHES) && !is_file(),
        Class::Login => !among(&SWITCHES) && !among(&METHODS),
        Class::KeyFile => is_seed(value) || value.contains("PRIVATE KEY"),
    }
}

/// Whether a value is already hidden, alone or before other text.
fn is_hidden(value: &str) -> bool {
    let before = value
        .strip_prefix(HIDDEN)
        .is_some_and(|rest| rest.starts_with([';', ' ']));
    before || value == "(hidden)" || value.chars().all(|c| c == '*')
}

/// Whether a value is the seed of a NATS key.
fn is_seed(value: &str) -> bool {
    const CHARS_MIN: usize = 40;
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    value.starts_with('S') && value.len() >= CHARS_MIN && value.chars().all(plain)
}

/// Sorted ranges, overlapping ones merged.
fn ordered(mut spans: Vec<Range<usize>>) -> Vec<Range<usize>> {
    spans.retain(|span| !span.is_empty());
    spans.sort_by_key(|span| span.start);
    let mut out: Vec<Range<usize>> = Vec::with_capacity(spans.len());
    for span in spans {
        match out.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => out.push(span),
        }
    }
    out
}

fn one(span: Range<usize>) -> Vec<Range<usize>> {
    std::iter::once(span).collect()
}

fn shifted(spans: Vec<Range<usize>>, by: usize) -> Vec<Range<usize>> {
    let shift = |span: Range<usize>| span.start + by..span.end + by;
    spans.into_iter().map(shift).collect()
}

/// The text with these sorted ranges hidden.
fn replaced(text: &str, spans: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    for span in spans.iter().filter(|span| !span.is_empty()) {
        if span.start < done {
            continue;
        }
        out.push_str(&text[done..span.start]);
        out.push_str(HIDDEN);
        done = span.end;
    }
    out.push_str(&text[done..]);
    out
}
