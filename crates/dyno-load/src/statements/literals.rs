//! Statement shapes, which are statements without their values.

use super::comments::stripped;

/// Maximum length of a shape, bytes.
const LENGTH_MAX: usize = 1_024;

/// How a server's SQL writes values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Literals {
    /// In single quotes, which are doubled inside, or between dollar signs. Names are in double
    /// quotes.
    #[default]
    Standard,
    /// In single or double quotes with escapes, as in MySQL and MariaDB.
    Mysql,
}

/// A statement without its values: `?` for each of them and for parameters, `?, …` for several in
/// a row, and `N` for the number at the end of a name.
pub fn shape(sql: &[u8], literals: Literals) -> String {
    let squashed = (literals == Literals::Standard)
        .then(|| with_rest_of_list(sql))
        .flatten();
    let bare = stripped(squashed.as_deref().unwrap_or(sql));
    let bare = bare
        .trim_ascii()
        .strip_suffix(b";")
        .unwrap_or(bare.trim_ascii());
    let text = String::from_utf8_lossy(bare);
    let mut out = String::with_capacity(text.len().min(LENGTH_MAX));
    let mut rest = text.as_ref();
    while let Some(first) = rest.chars().next() {
        if out.len() >= LENGTH_MAX {
            break;
        }
        let length = if let Some(length) = literal(rest, &out, literals) {
            value(&mut out);
            length
        } else if first == ')' {
            close(&mut out);
            1
        } else if first.is_alphabetic() || first == '_' {
            let length = word(rest);
            name(&rest[..length], &mut out);
            length
        } else {
            out.push(first);
            first.len_utf8()
        };
        rest = &rest[length..];
    }
    if out.len() > LENGTH_MAX || !rest.is_empty() {
        out.truncate(out.floor_char_boundary(LENGTH_MAX));
        out.push('…');
    }
    out
}

/// From version 18 on, PostgreSQL writes a list of constants as `($1 /*, ... */)`. Returns the same
/// with a second value in place of the comment. `None` if there is no comment.
fn with_rest_of_list(sql: &[u8]) -> Option<Vec<u8>> {
    const REST: &[u8] = b"/*, ... */";
    let mut rest = sql;
    let mut out = Vec::new();
    while let Some(at) = rest.windows(REST.len()).position(|window| window == REST) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(b", ?");
        rest = &rest[at + REST.len()..];
    }
    (!out.is_empty()).then(|| {
        out.extend_from_slice(rest);
        out
    })
}

/// A normal form in which the shapes of a run and the digests of a server can be compared. `None`
/// if too much may have been cut off.
pub fn comparable(text: &str, literals: Literals) -> Option<String> {
    // MySQL's default limit on tokens cuts off some texts of a kilobyte.
    const CUT_FROM: usize = 900;
    if text.len() >= CUT_FROM || text.ends_with("...") {
        return None;
    }
    let bare = shape(text.as_bytes(), literals).to_lowercase();
    let bare: String = bare
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '`')
        .collect();
    if literals != Literals::Mysql {
        return Some(bare);
    }
    // How MySQL writes executions of prepared statements, DISTINCT, lists, and several rows.
    let bare = match text.starts_with("EXECUTE ") {
        true => bare.strip_prefix("execute").unwrap_or(&bare),
        false => &bare,
    };
    let bare = bare.replace("distinctrow", "distinct");
    let bare = bare.replace("(...)", "(?,…)");
    Some(bare.replace("),…", ")"))
}

/// The length of the value at the start of the text. `None` if it is not a value.
fn literal(text: &str, before: &str, literals: Literals) -> Option<usize> {
    let mysql = literals == Literals::Mysql;
    let digit = |at: usize| text[at..].starts_with(|c: char| c.is_ascii_digit());
    let length = match text.chars().next()? {
        '?' => 1,
        '\'' => quoted(text, '\'', mysql),
        '"' if mysql => quoted(text, '"', true),
        'E' | 'e' if !mysql && text[1..].starts_with('\'') => 1 + quoted(&text[1..], '\'', true),
        '$' if !mysql && digit(1) => 1 + word(&text[1..]),
        '$' if !mysql => dollars(text)?,
        '0'..='9' => number(text),
        '.' if digit(1) && !before.ends_with(|c: char| c.is_alphanumeric()) => number(text),
        // A sign that cannot be an operator between two values.
        '-' | '+' if digit(1) && begins_value(before) => 1 + number(&text[1..]),
        _ => return None,
    };
    Some(length)
}

/// Whether the next token cannot be the second operand of a sum.
fn begins_value(before: &str) -> bool {
    before.trim_end().ends_with(['(', ',', '=', '<', '>'])
}

fn name(word: &str, out: &mut String) {
    let bare = word.trim_end_matches(|c: char| c.is_ascii_digit());
    out.push_str(bare);
    if bare.len() < word.len() {
        out.push('N');
    }
}

fn word(text: &str) -> usize {
    let ends = |c: char| !(c.is_alphanumeric() || c == '_' || c == '$');
    text.find(ends).unwrap_or(text.len())
}

fn number(text: &str) -> usize {
    let mut before = ' ';
    let ends = |c: char| {
        let exponent = matches!(c, '-' | '+') && matches!(before, 'e' | 'E');
        before = c;
        !(c.is_ascii_alphanumeric() || c == '.' || exponent)
    };
    text.find(ends).unwrap_or(text.len())
}

/// The length of a quoted text, with doubled or escaped quotes within.
pub(super) fn quoted(text: &str, quote: char, escapes: bool) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && escapes {
            chars.next();
        } else if c == quote {
            match chars.peek().is_some_and(|(_, next)| *next == quote) {
                true => chars.next(),
                false => return at + 1,
            };
        }
    }
    text.len()
}

/// The length of a text between two equal `$tag$`.
pub(super) fn dollars(text: &str) -> Option<usize> {
    let tag = &text[..2 + text[1..].find('$')?];
    let plain = tag[1..tag.len() - 1]
        .chars()
        .all(|c| c.is_alphanumeric() || c == '_');
    if !plain {
        return None;
    }
    let end = text[tag.len()..].find(tag);
    Some(end.map_or(text.len(), |end| end + 2 * tag.len()))
}

/// Writes a value. Several in a row become one.
fn value(out: &mut String) {
    let before = out.trim_end().strip_suffix(',').map(str::trim_end);
    match before {
        Some(list) if list.ends_with('?') => {
            out.truncate(list.len());
            out.push_str(", …");
        }
        Some(list) if list.ends_with('…') => out.truncate(list.len()),
        _ => out.push('?'),
    }
}

/// Closes a list. Several equal lists in a row become one.
fn close(out: &mut String) {
    out.push(')');
    let Some(start) = out.rfind('(') else { return };
    let group = &out[start..];
    if !group.chars().all(|c| "(?, …)".contains(c)) {
        return;
    }
    let Some(before) = out[..start].trim_end().strip_suffix(',') else {
        return;
    };
    let before = before.trim_end();
    if before.ends_with(group) {
        out.truncate(before.len());
        out.push_str(", …");
    } else if before.ends_with("), …") {
        out.truncate(before.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_that_differ_in_their_values_are_of_one_shape() {
        for (sql, expected) in [
            (
                "SELECT c FROM sbtest12 WHERE id=1203",
                "SELECT c FROM sbtestN WHERE id=?",
            ),
            (
                "SELECT c FROM sbtest1  WHERE id=$1;",
                "SELECT c FROM sbtestN WHERE id=?",
            ),
            ("/* x */ SELECT 'it''s', \"a\", 1.5e3", "SELECT ?, \"a\", ?"),
            (
                "INSERT INTO t (a,b) VALUES (1,'x'), (2,'y'),(3,'z')",
                "INSERT INTO t (a,b) VALUES (?, …), …",
            ),
            (
                "SELECT * FROM t WHERE id IN (1,2,3)",
                "SELECT * FROM t WHERE id IN (?, …)",
            ),
            (
                "SELECT * FROM t WHERE id IN (?)",
                "SELECT * FROM t WHERE id IN (?)",
            ),
            (
                "SELECT a1b, x$1 FROM \u{e9}t2",
                "SELECT a1b, x$N FROM \u{e9}tN",
            ),
            ("COMMIT", "COMMIT"),
            ("SELECT 'open", "SELECT ?"),
            ("", ""),
        ] {
            assert_eq!(shape(sql.as_bytes(), Literals::Standard), expected, "{sql}");
        }
        let long = format!("SELECT {}", "a, ".repeat(2_000));
        assert!(shape(long.as_bytes(), Literals::Mysql).len() <= LENGTH_MAX + 8);
        let word = "a".repeat(5_000);
        assert!(shape(word.as_bytes(), Literals::Mysql).len() <= LENGTH_MAX + 8);
    }

    #[test]
    fn no_value_is_left_however_it_is_written() {
        for (sql, literals, expected) in [
            (
                r#"SELECT "it's", 'a\'b', "x""y""#,
                Literals::Mysql,
                "SELECT ?, …",
            ),
            (
                r#"SELECT "a" FROM "T" WHERE b='c:\'"#,
                Literals::Standard,
                "SELECT \"a\" FROM \"T\" WHERE b=?",
            ),
            ("SELECT 'a\\', 'secret'", Literals::Standard, "SELECT ?, …"),
            (
                "SELECT E'a\\'b', $$x'y$$, $t$a$$b$t$ z",
                Literals::Standard,
                "SELECT ?, … z",
            ),
            (
                "WHERE a = -5 AND b < +1e-5 AND c - 5 > .5",
                Literals::Standard,
                "WHERE a = ? AND b < ? AND c - ? > ?",
            ),
            (
                "UPDATE t SET c='a\\'b', k=k+1",
                Literals::Mysql,
                "UPDATE t SET c=?, k=k+?",
            ),
            ("IN (-1, 2, -3.5E+7)", Literals::Mysql, "IN (?, …)"),
            (
                "SELECT $1, $2, t1.c",
                Literals::Standard,
                "SELECT ?, …, tN.c",
            ),
            ("SELECT 0xFF, $", Literals::Standard, "SELECT ?, $"),
        ] {
            assert_eq!(shape(sql.as_bytes(), literals), expected, "{sql}");
        }
    }

    #[test]
    fn shapes_and_digests_of_a_statement_are_the_same_text() {
        use Literals::{Mysql, Standard};
        for (shape, digest, literals) in [
            (
                "SELECT DISTINCT c FROM sbtestN WHERE id BETWEEN ? AND ? ORDER BY c",
                "SELECT DISTINCTROW `c` FROM `sbtest12` WHERE `id` BETWEEN ? AND ? ORDER BY `c`",
                Mysql,
            ),
            (
                "INSERT INTO t (a, b) VALUES (?, …), …",
                "INSERT INTO `t` ( `a` , `b` ) VALUES (...) /* , ... */",
                Mysql,
            ),
            ("SELECT a.c", "EXECUTE SELECT `a` . `c` ", Mysql),
            (
                "SELECT c FROM tN WHERE id=?",
                "SELECT c FROM t1 WHERE id=$1",
                Standard,
            ),
            (
                "SELECT c FROM tN WHERE id IN (?, …) AND k IN (?, …)",
                "SELECT c FROM t1 WHERE id IN ($1 /*, ... */) AND k IN ($2 /*, ... */)",
                Standard,
            ),
            (
                "SELECT c FROM tN WHERE id IN (?)",
                "SELECT c FROM t1 WHERE id IN ($1)",
                Standard,
            ),
        ] {
            let one = comparable(shape, literals).unwrap();
            assert_eq!(comparable(digest, literals), Some(one), "{digest}");
        }
        assert_ne!(comparable("SELECT a", Mysql), comparable("SELECT b", Mysql));
        assert_eq!(comparable("SELECT a , ...", Mysql), None);
    }

    proptest::proptest! {
        #[test]
        fn any_text_has_a_shape(sql: Vec<u8>, text in ".*", mysql: bool) {
            let literals = if mysql { Literals::Mysql } else { Literals::Standard };
            shape(&sql, literals);
            proptest::prop_assert!(shape(text.as_bytes(), literals).len() <= LENGTH_MAX + 3);
        }
    }
}
