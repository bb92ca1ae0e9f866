//! Wraps help to the width of a terminal, and indents continued lines to the column of their text.

/// Minimum width of the text column. If less is left, continued lines are not indented.
const TEXT_MIN: usize = 24;

/// Wraps the text at blanks to at most this many columns. Continued lines are indented to the last
/// column of their line. Two or more blanks separate columns.
pub(crate) fn fold(text: &str, width: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    for line in text.split_inclusive('\n') {
        let line = line.trim_end_matches('\n');
        column = match last_column(line) {
            Some(own) => own,
            // If the head is long, a single blank may separate it from the column of the lines
            // above.
            None if stands_at(line, column) => column,
            None => 0,
        };
        let indent = if column + TEXT_MIN > width { 0 } else { column };
        let mut left = line;
        let mut first = true;
        while !left.is_empty() || first {
            let start = if first { 0 } else { indent };
            let after = if first { indent } else { 0 };
            let (head, rest) = broken(left, width.saturating_sub(start), after);
            folded.extend(std::iter::repeat_n(' ', start));
            folded.push_str(head);
            folded.push('\n');
            left = rest;
            first = false;
        }
    }
    if !text.ends_with('\n') {
        folded.pop();
    }
    folded
}

/// The position of the text that follows the last two blanks of a line. `None` if the line has no
/// two blanks apart from its indent.
fn last_column(line: &str) -> Option<usize> {
    let begins = line.len() - line.trim_start().len();
    let blanks = line.rfind("  ").filter(|place| *place > begins)?;
    Some(line[..blanks].chars().count() + 2)
}

/// Whether a word begins at this position.
fn stands_at(line: &str, column: usize) -> bool {
    let mut before = line.chars().skip(column.saturating_sub(1));
    column > 0 && before.next() == Some(' ') && before.next().is_some_and(|c| c != ' ')
}

/// Splits a line at a blank after column `after`: the part that fits, and the rest. A word that is
/// too long stays whole.
fn broken(line: &str, width: usize, after: usize) -> (&str, &str) {
    if line.chars().count() <= width {
        return (line, "");
    }
    let mut at = None;
    for (column, (place, c)) in line.char_indices().enumerate() {
        if column > width && at.is_some() {
            break;
        }
        if c == ' ' && column > after {
            at = Some(place);
        }
    }
    match at {
        Some(at) => (line[..at].trim_end(), line[at..].trim_start()),
        None => (line, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn continued_lines_are_indented_below_their_text() {
        let text = "Usage: dyno run WORKLOAD [--target URL] [options] [the workload's options]\n\
                    \n\
                    Load:\n  -c, --sessions N           simulated users, each with a connection \
                    of its own\n      --a-very-long-option=N of an engine that stores tables \
                    and rows\n  -q                         quiet\n";
        let expected = "Usage: dyno run WORKLOAD [--target URL] [options] [the\n\
                        workload's options]\n\
                        \n\
                        Load:\n  -c, --sessions N           simulated users, each with a\n\
                        \x20                            connection of its own\n      \
                        --a-very-long-option=N of an engine that stores tables\n\
                        \x20                            and rows\n  \
                        -q                         quiet\n";
        assert_eq!(fold(text, 60), expected);
        assert_eq!(fold(text, 200), text);
    }

    #[test]
    fn words_without_blanks_and_narrow_terminals_lose_nothing() {
        let without = |text: &str| text.replace([' ', '\n'], "");
        let text = "  --an-option=WITHOUT_ANY_BLANK  and what it does, told in a few more words\n\
                    one_word_that_is_longer_than_the_terminal_is_wide_at_any_rate";
        for width in [1, 10, 30, 41, 60] {
            assert_eq!(without(&fold(text, width)), without(text), "{width}");
        }
    }
}
