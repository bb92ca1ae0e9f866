//! Logs in which each line occurs twice, as when output was copied to a log that already had it.

use std::borrow::Cow;

use crate::{Log, Warning};

/// A log of fewer pairs of lines may be one that repeats itself.
const PAIRS_MIN: usize = 3;

/// Whether each line occurs twice in sequence. The end may be cut off.
pub(crate) fn is_doubled(text: &str) -> bool {
    let (mut pairs, mut words) = (0, 0);
    let mut lines = text.split_inclusive('\n');
    while let Some(line) = lines.next() {
        match lines.next() {
            Some(same) if same == line => {
                pairs += 1;
                words += usize::from(!line.trim().is_empty());
            }
            Some(cut) if cut.ends_with('\n') || !line.starts_with(cut) => return false,
            Some(_) | None => break,
        }
    }
    pairs >= PAIRS_MIN && words >= PAIRS_MIN
}

/// Warnings about logs that are doubled.
pub(crate) fn warnings<'a>(logs: impl Iterator<Item = &'a Log<'a>>) -> Vec<Warning> {
    let text = "each line occurs twice; one of both is read";
    let doubled = logs.filter(|log| is_doubled(log.text));
    doubled
        .map(|log| Warning::new(log.name, None, text.to_owned()))
        .collect()
}

/// The text with one of both.
pub(crate) fn once(text: &str) -> Cow<'_, str> {
    match is_doubled(text) {
        true => text
            .split_inclusive('\n')
            .step_by(2)
            .collect::<String>()
            .into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn doubled(text: &str) -> String {
        let lines = text.split_inclusive('\n');
        lines.map(|line| line.repeat(2)).collect()
    }

    #[test]
    fn each_line_is_read_once() {
        let text = "a 1\n\nb 2\nc 3\nc 3\n";
        assert_eq!(once(&doubled(text)), text);
        assert_eq!(once(&doubled(text)[..doubled(text).len() - 3]), text);
        // A log with equal lines, one of nothing else, and a short one.
        for other in [
            text,
            "\n\n\n\n\n\n\n\n",
            "a\na\nb\nb\n",
            "",
            "a\na\nb\nb\nc\nc\nd\ne\n",
        ] {
            assert!(!is_doubled(other), "{other}");
            assert_eq!(once(other), other);
        }
    }
}
