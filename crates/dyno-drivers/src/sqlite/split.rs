//! Text between statements.

/// `sql` without leading white space, comments and semicolons.
pub(super) fn skip_blank(mut sql: &[u8]) -> &[u8] {
    loop {
        let start = sql
            .iter()
            .position(|byte| !byte.is_ascii_whitespace() && *byte != b';')
            .unwrap_or(sql.len());
        sql = &sql[start..];
        let end = if sql.starts_with(b"--") {
            sql.iter().position(|byte| *byte == b'\n')
        } else if sql.starts_with(b"/*") {
            // SQLite too takes an unclosed comment as extending to the end.
            sql.windows(2)
                .skip(2)
                .position(|pair| pair == b"*/")
                .map(|position| position + 4)
        } else {
            return sql;
        };
        sql = &sql[end.unwrap_or(sql.len())..];
    }
}

#[cfg(test)]
mod tests {
    use super::skip_blank;

    #[test]
    fn comments_and_white_space_are_nothing() {
        for (sql, rest) in [
            ("", ""),
            (" ;\n\t; ", ""),
            ("-- a\n-- b", ""),
            ("/* a */ /**/ SELECT", "SELECT"),
            ("/* open", ""),
            ("/*/ x */y", "y"),
            ("- 1", "- 1"),
            ("; SELECT 1; ", "SELECT 1; "),
        ] {
            assert_eq!(skip_blank(sql.as_bytes()), rest.as_bytes(), "{sql}");
        }
    }
}
