//! Masks literals in statements. A process list shows what others sent: names, card numbers,
//! passwords. If the syntax is ambiguous, the rest of the text is masked.

/// Replaces a literal.
const MASK: char = '?';

/// A statement with masked strings and numbers. Text in double quotes is masked as well, because it
/// is a string on MySQL. Comments are removed, because they may contain anything.
pub(crate) fn statement(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    // Whether the preceding text is part of a name, in which digits are not a number.
    let mut in_name = false;
    while let Some(c) = rest.chars().next() {
        let after = &rest[c.len_utf8()..];
        let taken = match c {
            '\'' | '"' => quoted(after, c).map(|end| 1 + end),
            '$' => match dollar_tag(rest) {
                Some(tag) if !in_name => {
                    let body = &rest[tag.len()..];
                    body.find(tag).map(|at| tag.len() + at + tag.len())
                }
                _ => {
                    out.push(c);
                    in_name = true;
                    rest = after;
                    continue;
                }
            },
            '-' if after.starts_with('-') => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                in_name = false;
                continue;
            }
            '#' => {
                rest = rest.find('\n').map_or("", |end| &rest[end..]);
                in_name = false;
                continue;
            }
            '/' if after.starts_with('*') => {
                rest = rest[2..].find("*/").map_or("", |end| &rest[2 + end + 2..]);
                in_name = false;
                continue;
            }
            '`' => {
                let end = after.find('`').map_or(after.len(), |end| end + 1);
                out.push_str(&rest[..=end.min(rest.len() - 1)]);
                rest = &after[end..];
                in_name = false;
                continue;
            }
            c if c.is_ascii_digit() && !in_name => Some(number(rest)),
            c => {
                in_name = c.is_alphanumeric() || c == '_' || c == '@';
                out.push(c);
                rest = after;
                continue;
            }
        };
        // A prefix such as N, X or E belongs to the literal, and reveals nothing of it.
        out.push(MASK);
        in_name = false;
        match taken {
            Some(taken) => rest = &rest[taken..],
            None => return out,
        }
    }
    out
}

/// The length of the rest of a quoted text, including its end. `None` if it has no end, or if
/// servers disagree about the end because of a backslash before a quote.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut at = 0;
    loop {
        let end = at + rest[at..].find(quote)?;
        if rest[..end].ends_with('\\') {
            return None;
        }
        match rest[end + 1..].starts_with(quote) {
            true => at = end + 2,
            false => return Some(end + 1),
        }
    }
}

/// The tag of a dollar-quoted text on PostgreSQL; `None` for a parameter such as `$1`.
fn dollar_tag(rest: &str) -> Option<&str> {
    let end = rest[1..].find('$')? + 2;
    let name = &rest[1..end - 1];
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '_');
    let digit = name.starts_with(|c: char| c.is_ascii_digit());
    (plain && !digit).then(|| &rest[..end])
}

/// The length of a number, including hexadecimal, exponents and signs within them.
fn number(rest: &str) -> usize {
    let mut before = ' ';
    for (at, c) in rest.char_indices() {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !rest.starts_with("0x");
        if !(c.is_ascii_alphanumeric() || c == '.' || c == '_' || sign) {
            return at;
        }
        before = c;
    }
    rest.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::statement;

    #[test]
    fn strings_numbers_and_comments_are_gone() {
        for (sql, shown) in [
            (
                "SELECT c FROM sbtest1 WHERE id=50",
                "SELECT c FROM sbtest1 WHERE id=?",
            ),
            ("SET x = 'it''s', y=-1.5e-3", "SET x = ?, y=-?"),
            (
                "SELECT \"secret\", `a 1` FROM t2",
                "SELECT ?, `a 1` FROM t2",
            ),
            (
                "SELECT $1, $$pw$$, $a$ x $a$ FROM t",
                "SELECT $1, ?, ? FROM t",
            ),
            ("SELECT 1 -- pw\n, 2 /* pw */ # pw", "SELECT ? \n, ?  "),
            ("SELECT 'cut off", "SELECT ?"),
            ("SELECT 'a\\' , 'pw'", "SELECT ?"),
            ("SELECT 0xDEADBEEF + 1", "SELECT ? + ?"),
            ("SELECT * FROM `cut", "SELECT * FROM `cut"),
            ("", ""),
        ] {
            assert_eq!(statement(sql), shown, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics_and_no_literal_remains(
            text in "[ -&*-~'\"$`\\\\é\n]{0,40}", secret in "[a-z]{12}"
        ) {
            statement(&text);
            let shown = statement(&format!("SELECT '{secret}', 2 WHERE {text}"));
            prop_assert!(!shown.contains(&secret) || text.contains(&secret));
        }
    }
}
