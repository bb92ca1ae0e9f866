//! Logs as their programs wrote them.

use std::borrow::Cow;

use crate::{Log, Warning, doubled, wrapped};

/// A log as its program wrote it.
pub(crate) struct Whole<'a> {
    pub(crate) name: Cow<'a, str>,
    text: Cow<'a, str>,
    /// Whether each line occurred twice.
    is_doubled: bool,
    /// The first line with a damaged record of a log driver.
    damaged: Option<usize>,
}

impl Whole<'_> {
    pub(crate) fn log(&self) -> Log<'_> {
        Log::new(&self.name, &self.text)
    }

    /// Warnings about doubled lines and damaged records.
    pub(crate) fn said(&self) -> Vec<Warning> {
        let warning = |line, text: &str| Warning::new(&self.name, line, text.to_owned());
        let doubled = "each line of the log occurs twice; each is read once";
        let doubled = self.is_doubled.then(|| warning(None, doubled));
        let damaged = "a truncated or damaged record of a log driver is skipped";
        let damaged = self.damaged.map(|line| warning(Some(line), damaged));
        doubled.into_iter().chain(damaged).collect()
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
            damaged: None,
        }];
    };
    let named = |part: wrapped::Part| Whole {
        name: match part.source.is_empty() {
            true => log.name.into(),
            false => format!("{} ({})", log.name, part.source).into(),
        },
        text: part.text.into(),
        is_doubled,
        damaged: part.damaged,
    };
    parts.into_iter().map(named).collect()
}
