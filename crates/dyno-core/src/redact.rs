//! Hides secrets in text from users, logs or servers, before it is shown, stored or passed to
//! scripts.

use std::ops::Range;

use crate::plan::OptionValue;

mod known;
mod names;
mod scan;
#[cfg(test)]
mod tests;

pub use known::{cut_at, known, learn};
use names::{Class, class};

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
    let mut value_follows = None;
    let mut all = Vec::with_capacity(args.len());
    for arg in args {
        let whole = 0..arg.len();
        let spans = match (value_follows.take(), arg.split_once('=')) {
            (Some(class), _) if !arg.starts_with("--") && is_secret(class, arg) => one(whole),
            (_, Some((name, value))) if name.starts_with('-') => {
                let from = name.len() + 1;
                match class(name) {
                    Some(class) if is_secret(class, value) => one(from..arg.len()),
                    _ => shifted(scan::argument(value), from),
                }
            }
            (_, None) if arg.starts_with("--") => {
                value_follows = class(arg);
                Vec::new()
            }
            _ => scan::argument(arg),
        };
        all.push(spans);
    }
    all
}

/// A script's options for display: values of options with secret names are hidden.
pub fn options(options: &[(String, OptionValue)]) -> Vec<(String, OptionValue)> {
    let hide = |name: &str, value: &OptionValue| match (value, class(name)) {
        (OptionValue::Text(text), Some(class)) if is_secret(class, text) => {
            OptionValue::Text(HIDDEN.to_owned())
        }
        (OptionValue::Text(value), _) => OptionValue::Text(text(value)),
        (OptionValue::List(_) | OptionValue::Number(_), Some(Class::Password)) => {
            OptionValue::Text(HIDDEN.to_owned())
        }
        (OptionValue::List(values), _) => {
            OptionValue::List(values.iter().map(|value| text(value)).collect())
        }
        (other, _) => other.clone(),
    };
    let shown = |(name, value): &(String, OptionValue)| (name.clone(), hide(name, value));
    options.iter().map(shown).collect()
}

/// A message that may quote user input or server text, with passwords of URLs, values of secret
/// names, and secrets known to this process hidden.
pub fn text(message: &str) -> String {
    /// Maximum number of passes: hiding one secret may turn the text next to it into the value of a
    /// name.
    const PASSES_MAX: usize = 4;
    let mut out = replaced(message, &scan::prose(message));
    for _ in 1..PASSES_MAX {
        let next = replaced(&out, &scan::prose(&out));
        if next == out {
            break;
        }
        out = next;
    }
    known(&out).unwrap_or(out)
}

/// Whether a value with a name of that class is a secret. Switches and empty values are not.
fn is_secret(class: Class, value: &str) -> bool {
    const SWITCHES: [&str; 8] = ["0", "1", "on", "off", "true", "false", "yes", "no"];
    /// File name extensions of keys.
    const FILES: [&str; 3] = [".nk", ".pem", ".key"];
    let is_switch = || SWITCHES.contains(&value.to_lowercase().as_str());
    // A sentence may continue after it.
    let name = value.trim_end_matches([',', ';', ')', '`', '\'']);
    let is_file = || name == "FILE" || FILES.iter().any(|end| name.ends_with(end));
    match class {
        Class::Password => !value.is_empty(),
        Class::Key => !value.is_empty() && !is_switch() && !is_file(),
        Class::KeyFile => is_seed(value) || value.contains("PRIVATE KEY"),
    }
}

/// Whether a value is the seed of a NATS key.
fn is_seed(value: &str) -> bool {
    const CHARS_MIN: usize = 40;
    let plain = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit();
    value.starts_with('S') && value.len() >= CHARS_MIN && value.chars().all(plain)
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
