//! Tables that statements use without naming them: behind a view, a rule, a trigger or a stored
//! function, and those of other schemas.

use std::collections::BTreeMap;

use dyno_core::catalogue::names;
use dyno_core::db::DbError;
use dyno_core::tables::ranges;

use super::Asking;
use crate::sink::Sink;

/// Maximum number of tables of other schemas read, and of schemas named.
pub(super) const ELSEWHERE_MAX: usize = 300;

/// Reports the tables used by statements that name this view or table.
pub(super) fn report_uses(sink: &Sink, name: &str, used: &[String], source: &str) {
    if !used.is_empty() {
        let what = names::DB_TABLES_USES_EACH.of(name);
        sink.fact(&what, ranges(used), source);
    }
}

/// Reports the tables used by statements that call a stored function or procedure: those mentioned
/// in its text. The query returns names and texts.
pub(super) fn routines(
    asking: &mut Asking<'_>,
    query: &str,
    tables: &[String],
    source: &str,
) -> Result<(), DbError> {
    for row in asking.rows_or_gap(names::DB_TABLES_USES, query, "")? {
        if let [Some(name), Some(text)] = row.as_slice() {
            let used = mentioned(text, tables.iter());
            report_uses(asking.sink, name, &used, source);
        }
    }
    Ok(())
}

/// Reports tables of other schemas with their engine or persistence, and the schemas with too many
/// tables to read, or that took too long.
pub(super) fn report_elsewhere(
    sink: &Sink,
    kinds: BTreeMap<String, Vec<String>>,
    unread: &[String],
    source: &str,
) {
    for (kind, tables) in kinds {
        let what = names::DB_TABLES_ELSEWHERE_EACH.of(kind);
        sink.fact(&what, ranges(&tables), source);
    }
    if !unread.is_empty() {
        sink.fact(names::DB_TABLES_ELSEWHERE_UNREAD, ranges(unread), source);
    }
}

/// A token of a statement.
enum Token<'a> {
    Word(&'a str),
    Quoted(String),
    Sign(char),
}

/// The tables that a view reads, from the definition by MySQL or MariaDB, in which all names are
/// quoted. The schema is omitted if it is `own`.
pub(super) fn of_view(definition: &str, own: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut tokens = tokens(definition).into_iter().peekable();
    let mut is_next = false;
    while let Some(token) = tokens.next() {
        is_next = match token {
            Token::Word(word) => {
                word.eq_ignore_ascii_case("from") || word.to_ascii_lowercase().ends_with("join")
            }
            Token::Sign('(') => is_next,
            Token::Quoted(first) if is_next => {
                let dot = tokens.next_if(|token| matches!(token, Token::Sign('.')));
                found.push(match dot.and_then(|_| tokens.next()) {
                    Some(Token::Quoted(name)) if first == own => name,
                    Some(Token::Quoted(name)) => format!("{first}.{name}"),
                    _ => first,
                });
                false
            }
            _ => false,
        };
    }
    found.sort();
    found.dedup();
    found
}

/// The names that a text mentions.
pub(super) fn mentioned<'a>(text: &str, names: impl Iterator<Item = &'a String>) -> Vec<String> {
    let tokens = tokens(text);
    let is_there = |name: &&String| {
        tokens.iter().any(|token| match token {
            Token::Word(word) => word.eq_ignore_ascii_case(name),
            Token::Quoted(quoted) => quoted.eq_ignore_ascii_case(name),
            Token::Sign(_) => false,
        })
    };
    names.filter(is_there).cloned().collect()
}

fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '\'' | '`' | '"' => quoted_length(rest, first),
            _ if in_name(first) => rest.find(|c| !in_name(c)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (part, after) = rest.split_at(length);
        rest = after;
        match first {
            '`' | '"' => {
                let inner = part.strip_prefix(first).unwrap_or(part);
                let inner = inner.strip_suffix(first).unwrap_or(inner);
                let twice = format!("{first}{first}");
                found.push(Token::Quoted(inner.replace(&twice, &twice[1..])));
            }
            _ if in_name(first) => found.push(Token::Word(part)),
            _ if first.is_whitespace() => {}
            _ => found.push(Token::Sign(first)),
        }
    }
    found
}

/// The length of the quoted part at the start of a text.
fn quoted_length(text: &str, mark: char) -> usize {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && mark == '\'' {
            chars.next();
        } else if c == mark && chars.next_if(|(_, next)| *next == mark).is_none() {
            return at + mark.len_utf8();
        }
    }
    text.len()
}

fn in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '$')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_behind_a_view_are_known() {
        for (definition, expected) in [
            (
                "VIEW `v` AS select `b`.`mm`.`id` AS `id` from `b`.`mm`",
                &["b.mm"][..],
            ),
            (
                "VIEW `w` AS select `t`.`id` AS `id` from (`t` join `u` `x` on((`t`.`id` = \
                 `x`.`id`))) where (`t`.`c` = 'it\\'s from `no`')",
                &["t", "u"],
            ),
            (
                "VIEW `z` AS select 1 AS `1` from ((`own`.`t` straight_join `b`.`m``1`) left join \
                 (select `u`.`id` AS `id` from `own`.`u` union select 2) `d` on(1))",
                &["b.m`1", "t", "u"],
            ),
            ("VIEW `one` AS select 1 AS `from`", &[]),
            ("`open", &[]),
        ] {
            assert_eq!(of_view(definition, "own"), expected, "{definition}");
        }
    }

    #[test]
    fn names_in_a_text_are_found() {
        let names = ["Log", "t", "it's", "x"].map(str::to_owned);
        let text = "BEGIN INSERT INTO log VALUES (NEW.id, 'x'); UPDATE \"T\" SET n = 1; END";
        assert_eq!(mentioned(text, names.iter()), ["Log", "t"]);
        assert!(mentioned("'open", names.iter()).is_empty());
    }
}
