//! Help for a terminal: lines that are longer than it is wide go on below their text, not at its
//! edge.

/// Columns that a text has at least beside its options; a narrower terminal gets it as it is.
const TEXT_MIN: usize = 24;

/// The text with no line of more than so many columns, where blanks allow it. What goes on stands
/// below the last column of its line, as far as two blanks and more tell columns.
pub fn fold(text: &str, width: usize) -> String {
    let mut folded = String::new();
    let mut column = 0;
    for line in text.split_inclusive('\n') {
        let line = line.trim_end_matches('\n');
        column = match last_column(line) {
            Some(own) => own,
            // A head that leaves but one blank before the column of those above.
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

/// Where the text begins that follows the last two blanks of a line, in columns; `None` where there
/// are none but those that it begins with.
fn last_column(line: &str) -> Option<usize> {
    let begins = line.len() - line.trim_start().len();
    let blanks = line.rfind("  ").filter(|place| *place > begins)?;
    Some(line[..blanks].chars().count() + 2)
}

/// Whether a word begins at the column.
fn stands_at(line: &str, column: usize) -> bool {
    let mut before = line.chars().skip(column.saturating_sub(1));
    column > 0 && before.next() == Some(' ') && before.next().is_some_and(|c| c != ' ')
}

/// As much of a line as fits, up to a blank after so many columns, and the rest. A word that does
/// not fit at all stays whole.
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
    fn what_goes_on_stands_below_its_text() {
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
