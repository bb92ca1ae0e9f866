//! Times that other programs put before each line, without a name of the program that wrote it.

use crate::civil;

/// The line after `Nov 21 13:07:48 `, as syslog and the default of `ts` print it; it has no year.
pub(crate) fn without_date(line: &str) -> Option<&str> {
    let (date, rest) = match line.split_at_checked(16) {
        Some(parts) => parts,
        // `ts` before an empty line, whose last blank may be missing.
        None => (line, ""),
    };
    let shape = |c: u8| match c {
        b'0'..=b'9' => b'0',
        b'A'..=b'Z' => b'A',
        b'a'..=b'z' => b'a',
        other => other,
    };
    let shape: Vec<u8> = date.trim_end().bytes().map(shape).collect();
    let fits = [&b"Aaa 00 00:00:00"[..], b"Aaa  0 00:00:00"].contains(&&shape[..]);
    fits.then_some(rest)
}

/// The time and the line after `2026-11-21T13:07:48.123456Z 00O `, as a runner of GitLab prints
/// them: the number of a stream, `O` or `E` for output or error, and `+` if the line continues.
pub(crate) fn of_gitlab(line: &str) -> Option<(&str, &str)> {
    let (stamp, rest) = line.split_once(' ')?;
    let (stream, rest) = rest.split_at_checked(3)?;
    let [high, low, kind] = stream.as_bytes() else {
        return None;
    };
    let hex = high.is_ascii_hexdigit() && low.is_ascii_hexdigit();
    let fits = hex && matches!(kind, b'O' | b'E') && is_iso(stamp);
    let rest = rest
        .strip_prefix([' ', '+'])
        .or(Some(rest).filter(|rest| rest.is_empty()));
    Some((stamp, rest.filter(|_| fits)?))
}

/// Whether a word is a time such as `2026-11-21T13:07:48.123456Z`.
pub(crate) fn is_iso(word: &str) -> bool {
    word.len() >= 19
        && word.as_bytes()[10] == b'T'
        && word.as_bytes()[4] == b'-'
        && civil::moment(word).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_a_line() {
        for (line, rest) in [
            ("Nov 21 13:07:48 tps = 5", Some("tps = 5")),
            ("Nov  1 13:07:48 tps = 5", Some("tps = 5")),
            ("Nov 21 13:07:48", Some("")),
            ("Nov 21 13:07 tps = 5", None),
            ("November 13:07:48", None),
            ("", None),
        ] {
            assert_eq!(without_date(line), rest, "{line}");
        }
        let stamp = "2026-11-21T13:07:48.123456Z";
        for (after, rest) in [
            (" 00O tps = 5", Some("tps = 5")),
            (" 01E tps = 5", Some("tps = 5")),
            (" 00O+tps = 5", Some("tps = 5")),
            (" 00O", Some("")),
            (" 00X tps = 5", None),
            (" tps = 5", None),
        ] {
            let line = format!("{stamp}{after}");
            let found = of_gitlab(&line);
            assert_eq!(found, rest.map(|rest| (stamp, rest)), "{line}");
        }
    }
}
