//! Removes comments from statements.

use std::borrow::Cow;

/// The text without comments and with single spaces, which is the form in which statements are
/// compared. Keeps MySQL's executed comments (`/*! */`) and hints (`/*+ */`).
pub(super) fn stripped(sql: &[u8]) -> Cow<'_, [u8]> {
    let plain = |pair: &[u8]| !matches!(pair, b"--" | b"/*" | b"  ");
    let spaces = sql.iter().any(|byte| matches!(byte, b'\t' | b'\r' | b'\n'));
    if !spaces && sql.windows(2).all(plain) {
        return Cow::Borrowed(sql);
    }
    let mut kept = Vec::with_capacity(sql.len());
    let mut rest = sql;
    while let Some(&first) = rest.first() {
        let length = match first {
            b'\'' | b'"' | b'`' => quoted(rest),
            _ if comment(rest).is_some() || first.is_ascii_whitespace() => {
                if kept.last().is_some_and(|last| *last != b' ') {
                    kept.push(b' ');
                }
                rest = &rest[comment(rest).unwrap_or(1)..];
                continue;
            }
            _ => 1,
        };
        kept.extend_from_slice(&rest[..length]);
        rest = &rest[length..];
    }
    if kept.last() == Some(&b' ') {
        kept.pop();
    }
    Cow::Owned(kept)
}

/// The position after a leading comment; `None` without one.
pub(super) fn comment(text: &[u8]) -> Option<usize> {
    if text.starts_with(b"--") {
        // In MySQL, `--` needs a space after it: `5--3` is a sum.
        let is_comment = text.get(2).is_none_or(u8::is_ascii_whitespace);
        let end = text.iter().position(|byte| *byte == b'\n');
        return is_comment.then(|| end.unwrap_or(text.len()));
    }
    if !text.starts_with(b"/*") || matches!(text.get(2), Some(b'!' | b'+')) {
        return None;
    }
    let inner = &text[2..];
    let end = inner.windows(2).position(|pair| pair == b"*/");
    Some(end.map_or(text.len(), |end| end + 4))
}

/// The length of a quoted text, including quotes.
fn quoted(text: &[u8]) -> usize {
    let quote = text[0];
    let mut place = 1;
    while let Some(&byte) = text.get(place) {
        place += if byte == b'\\' { 2 } else { 1 };
        if byte == quote {
            break;
        }
    }
    place.min(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_spaces_are_left_out() {
        for (sql, expected) in [
            ("SELECT 1", "SELECT 1"),
            ("SELECT /* 7 */ 1", "SELECT 1"),
            ("/* 7 */ SELECT\n\t1 -- seven\n+ 2  ", "SELECT 1 + 2"),
            ("SELECT 5--3", "SELECT 5--3"),
            (
                "SELECT '/* 7 */  x', \"-- 8\"",
                "SELECT '/* 7 */  x', \"-- 8\"",
            ),
            ("SELECT 'it\\'s /* 7 */' /* 8", "SELECT 'it\\'s /* 7 */'"),
            (
                "SELECT /*+ MAX(1) */ 1  /*! FOR UPDATE */",
                "SELECT /*+ MAX(1) */ 1 /*! FOR UPDATE */",
            ),
            ("/*", ""),
            ("--", ""),
            ("'", "'"),
            ("'\\", "'\\"),
        ] {
            let found = stripped(sql.as_bytes());
            assert_eq!(String::from_utf8_lossy(&found), expected, "{sql}");
        }
    }
}
