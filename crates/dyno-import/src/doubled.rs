//! Logs in which each line occurs twice, as when output was copied to a log that already had it.

use std::borrow::Cow;

/// With fewer pairs of equal lines, the program itself may have printed them.
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

/// The text, with one of both lines if it is doubled.
pub(crate) fn once(text: &str, is_doubled: bool) -> Cow<'_, str> {
    match is_doubled {
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

    fn read(text: &str) -> Cow<'_, str> {
        once(text, is_doubled(text))
    }

    fn doubled(text: &str) -> String {
        let lines = text.split_inclusive('\n');
        lines.map(|line| line.repeat(2)).collect()
    }

    #[test]
    fn each_line_is_read_once() {
        let text = "a 1\n\nb 2\nc 3\nc 3\n";
        let twice = doubled(text);
        assert_eq!(read(&twice), text);
        assert_eq!(read(&twice[..twice.len() - 3]), text);
        // A log with some equal lines, logs that are empty or too short, and one that differs at
        // its end.
        for other in [
            text,
            "\n\n\n\n\n\n\n\n",
            "a\na\nb\nb\n",
            "",
            "a\na\nb\nb\nc\nc\nd\ne\n",
        ] {
            assert_eq!(read(other), other);
        }
    }
}
