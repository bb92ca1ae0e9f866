//! Logs as their programs wrote them.

use std::borrow::Cow;

use crate::{Log, Warning, doubled, wrapped};

/// A log as its program wrote it.
pub(crate) struct Whole<'a> {
    pub(crate) name: Cow<'a, str>,
    text: Cow<'a, str>,
    /// Whether each line occurred twice.
    is_doubled: bool,
}

impl Whole<'_> {
    pub(crate) fn log(&self) -> Log<'_> {
        Log::new(&self.name, &self.text)
    }

    /// The warning about doubled lines.
    pub(crate) fn doubled(&self) -> Option<Warning> {
        let text = "each line of the log occurs twice; each is read once";
        self.is_doubled
            .then(|| Warning::new(&self.name, None, text.to_owned()))
    }
}

/// The log without the prefixes of its lines: one log per program that wrote to it. If each line
/// occurs twice and `once` allows it for the text, each is read once.
pub(crate) fn unwrapped<'a>(log: &Log<'a>, once: impl Fn(&str) -> bool) -> Vec<Whole<'a>> {
    let is_doubled = doubled::is_doubled(log.text) && once(log.text);
    let text = doubled::once(log.text, is_doubled);
    let Some(parts) = wrapped::unwrapped(&text) else {
        return vec![Whole {
            name: log.name.into(),
            text,
            is_doubled,
        }];
    };
    let named = |part: wrapped::Part| Whole {
        name: match part.source.is_empty() {
            true => log.name.into(),
            false => format!("{} ({})", log.name, part.source).into(),
        },
        text: part.text.into(),
        is_doubled,
    };
    parts.into_iter().map(named).collect()
}
