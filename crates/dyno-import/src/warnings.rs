//! Warnings about a log.

use std::collections::HashMap;
use std::fmt;

use crate::text;

/// A warning about a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// The log's name.
    pub file: String,
    /// The line, from 1; `None` if it concerns the whole log.
    pub line: Option<usize>,
    /// The message. Secrets are hidden.
    pub text: String,
}

impl Warning {
    pub(crate) fn new(file: &str, line: Option<usize>, text: String) -> Self {
        Self {
            file: file.to_owned(),
            line,
            text,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}: {}", self.file, self.text),
            None => write!(f, "{}: {}", self.file, self.text),
        }
    }
}

/// Keeps one warning of each kind: the first, with the number of lines that have the same problem.
/// Keeps the order.
pub(crate) fn once(all: Vec<Warning>) -> Vec<Warning> {
    let mut kept: Vec<(Warning, usize, Option<usize>)> = Vec::new();
    let mut known: HashMap<(String, String), usize> = HashMap::new();
    for warning in all {
        let key = (warning.file.clone(), kind(&warning.text));
        let first = known.get(&key).map(|at| &mut kept[*at]);
        match first {
            // Different warnings about one line, or about the whole log, are all kept.
            Some((first, more, last)) if warning.line.is_some() && first.line != warning.line => {
                *more += 1;
                *last = warning.line;
            }
            _ => {
                known.entry(key).or_insert(kept.len());
                kept.push((warning, 0, None));
            }
        }
    }
    let counted = kept.into_iter().map(|(mut warning, more, last)| {
        if let Some(last) = last {
            warning.text += &format!(" ({more} more like this, the last in line {last})");
        }
        warning
    });
    counted.collect()
}

/// The part of a warning that others share: its words without numbers and quotations.
fn kind(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(end), c) if c == end => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '`') if !out.ends_with(char::is_alphanumeric) => quote = Some(c),
            (None, c) => out.push(c),
        }
    }
    text::shape(&out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warning_is_given_once_with_a_count() {
        let odd = |line| Warning::new("x", Some(line), format!("an odd line: 'tps {line}'"));
        let other = Warning::new("x", Some(9), "another one".to_owned());
        let whole = Warning::new("x", None, "of 2".to_owned());
        let all = vec![
            odd(3),
            whole.clone(),
            odd(4),
            other.clone(),
            odd(7),
            whole.clone(),
        ];
        let texts: Vec<String> = once(all).iter().map(Warning::to_string).collect();
        assert_eq!(
            texts,
            [
                "x:3: an odd line: 'tps 3' (2 more like this, the last in line 7)",
                "x: of 2",
                "x:9: another one",
                "x: of 2",
            ]
        );
        // The first line represents the whole report.
        let pair = |percent: u32| Warning::new("x", Some(5), format!("the {percent}th is odd"));
        assert_eq!(once(vec![pair(95), pair(99)]).len(), 2);
    }
}
