//! An example of a shape with its values, which a server can explain.

use dyno_core::db::{Param, ParamValue};
use dyno_core::text::{hex, sql_string};

use super::comments::comment;
use super::literals::{Literals, dollars, quoted};

/// Longer texts are not kept, because inserts of thousands of rows have no interesting plan.
pub(super) const TEXT_MAX: usize = 16_384;

/// The text of a statement, if it is not too long.
pub(super) fn of_text(sql: &[u8]) -> Option<Box<str>> {
    let text = (sql.len() <= TEXT_MAX).then(|| std::str::from_utf8(sql).ok())?;
    text.map(Into::into)
}

/// Whether a text is certainly a single statement, no matter how the server reads quotes and
/// escapes. Text after a semicolon would be executed instead of explained. A semicolon next to what
/// may be a comment or a dollar quote, which servers read differently, counts as a separator.
pub fn is_single(sql: &str) -> bool {
    const UNSURE: [&str; 4] = ["#", "--", "/*", "$"];
    let bare = sql.trim_end().trim_end_matches(';');
    let splits = |escapes: bool| {
        let mut rest = bare;
        while let Some(first) = rest.chars().next() {
            let length = match first {
                ';' => return true,
                '\'' | '"' => quoted(rest, first, escapes),
                '`' => quoted(rest, first, false),
                _ => first.len_utf8(),
            };
            rest = &rest[length..];
        }
        false
    };
    let is_unsure = || UNSURE.iter().any(|mark| bare.contains(mark));
    !bare.contains(';') || !(is_unsure() || splits(true) || splits(false))
}

/// A prepared statement with values in place of its parameters. `None` if they do not match, or if
/// the text becomes too long.
pub(super) fn filled(sql: &str, params: &[&Param], literals: Literals) -> Option<Box<str>> {
    let is_mysql = literals == Literals::Mysql;
    let numbered = !is_mysql && sql.contains("$1");
    let mut out = String::with_capacity(sql.len() + 16 * params.len());
    let mut used = 0;
    let mut rest = sql;
    while let Some(first) = rest.chars().next() {
        let number = rest[first.len_utf8()..]
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len() - first.len_utf8());
        let length = match first {
            '\'' | '"' => quoted(rest, first, is_mysql),
            '`' => quoted(rest, first, false),
            '$' if numbered && number > 0 => {
                let index: usize = rest[1..=number].parse().ok()?;
                put(
                    params.get(index.checked_sub(1)?)?.value(),
                    literals,
                    &mut out,
                );
                rest = &rest[1 + number..];
                continue;
            }
            '$' if !is_mysql => dollars(rest).unwrap_or(1),
            '?' if !numbered => {
                put(params.get(used)?.value(), literals, &mut out);
                used += 1;
                rest = &rest[1..];
                continue;
            }
            _ => comment(rest.as_bytes()).unwrap_or(first.len_utf8()),
        };
        out.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    (out.len() <= TEXT_MAX).then(|| out.into())
}

fn put(value: ParamValue<'_>, literals: Literals, out: &mut String) {
    match value {
        ParamValue::Null => out.push_str("NULL"),
        ParamValue::Int(value) => *out += &value.to_string(),
        ParamValue::Double(value) => *out += &format!("{value:e}"),
        ParamValue::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => {
                let text = sql_string(text);
                *out += &match literals {
                    Literals::Mysql => text.replace('\\', "\\\\"),
                    Literals::Standard => text,
                };
            }
            Err(_) => {
                let hex = hex(bytes);
                match literals {
                    Literals::Mysql => *out += &format!("X'{hex}'"),
                    Literals::Standard => *out += &format!("'\\x{hex}'"),
                }
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::db::ParamKind;

    use super::*;

    #[test]
    fn several_statements_are_not_taken_for_one() {
        for sql in [
            "SELECT 1; DROP TABLE t",
            "SELECT 'a'; DROP TABLE t -- '",
            "SELECT '\\'; DROP TABLE t -- '",
            "SELECT /*! 1; DROP TABLE t */",
            "SELECT $$ a $$; DROP TABLE t",
            "SELECT 'it''s' ; SELECT 2;",
            "SELECT 1 # '\n; DROP TABLE t -- '",
            "SELECT 1 --'\n; DROP TABLE t --'",
            "SELECT 1 /* /* */ ' */; DROP TABLE t -- '",
        ] {
            assert!(!is_single(sql), "{sql}");
        }
        for sql in [
            "SELECT 1;",
            "SELECT 'a;b', \"c;d\" FROM `e;f`",
            "SELECT 1 ; ;;",
        ] {
            let trailing = sql.ends_with(";;");
            assert_eq!(is_single(sql), !trailing, "{sql}");
        }
    }

    #[test]
    fn values_replace_only_parameters() {
        let (seven, words) = (Param::int(7), Param::bytes(b"it's \\ so"));
        let null = Param::new(ParamKind::Int, 0);
        let all = [&seven, &words, &null];
        let mysql = "SELECT '?', \"?\" /* ? */ FROM `?` WHERE a = ? AND b = ? AND c <=> ?";
        assert_eq!(
            filled(mysql, &all, Literals::Mysql).as_deref(),
            Some(
                "SELECT '?', \"?\" /* ? */ FROM `?` WHERE a = 7 AND b = 'it''s \\\\ so' AND c <=> \
                 NULL"
            )
        );
        let postgres = "SELECT $$ $1 $$, '$2' FROM t WHERE b = $2 AND a = $1 AND j ? 'k'";
        assert_eq!(
            filled(postgres, &all, Literals::Standard).as_deref(),
            Some("SELECT $$ $1 $$, '$2' FROM t WHERE b = 'it''s \\ so' AND a = 7 AND j ? 'k'")
        );
        // There are fewer values than parameters.
        assert_eq!(filled("SELECT ?, ?", &all[..1], Literals::Mysql), None);
        assert_eq!(filled("SELECT $1, $9", &all, Literals::Standard), None);
        assert_eq!(of_text(&vec![b'x'; TEXT_MAX + 1]), None);
    }
}
