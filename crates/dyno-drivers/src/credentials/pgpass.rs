//! Password files of libpq ("The Password File" in PostgreSQL's manual).

use std::borrow::Cow;

use dyno_core::Secret;
use dyno_core::target::Endpoint;

/// The directory that libpq, as built by Debian, equates with the local host.
const DEFAULT_SOCKET_DIR: &str = "/var/run/postgresql";

/// The password on the first matching line.
pub(super) fn find(text: &str, endpoint: &Endpoint, database: &str, user: &str) -> Option<Secret> {
    let (host, port) = names(endpoint);
    let wanted = [host.as_ref(), port.as_ref(), database, user];
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .find_map(|line| password_if_fits(line, &wanted))
}

/// Host and port as the file writes them.
fn names(endpoint: &Endpoint) -> (Cow<'_, str>, Cow<'_, str>) {
    match endpoint {
        Endpoint::Tcp(host, port) => (host.into(), port.to_string().into()),
        Endpoint::Unix(path) => {
            let directory = path.parent().unwrap_or(path).to_string_lossy();
            let host = match directory.as_ref() {
                DEFAULT_SOCKET_DIR => "localhost".into(),
                _ => directory,
            };
            let port = path.extension().unwrap_or_default().to_string_lossy();
            (host, port)
        }
    }
}

fn password_if_fits(line: &str, wanted: &[&str; 4]) -> Option<Secret> {
    let mut rest = line;
    for wanted in wanted {
        let (field, is_wildcard, after) = field(rest)?;
        if !is_wildcard && field != *wanted {
            return None;
        }
        rest = after;
    }
    // The password is the last field; it may contain unescaped colons.
    let password = unescape(rest.strip_suffix('\r').unwrap_or(rest));
    (!password.is_empty()).then(|| Secret::new(password))
}

/// Splits off a field: its text, whether it is `*`, and the rest after the colon.
fn field(text: &str) -> Option<(String, bool, &str)> {
    let mut escaped = false;
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ':' => {
                let raw = &text[..index];
                return Some((unescape(raw), raw == "*", &text[index + 1..]));
            }
            _ => {}
        }
    }
    None
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.extend(chars.next()),
            c => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_line_that_fits_counts() {
        let text = "# h:1:db:me:comment\nh:1:db:you:1\nh:2:*:*:2\nlocalhost:*:*:me:3\n\
                    /tmp/pg:7:*:me:4\n\
                    *:*:d\\:b\\\\:m\\*:p\\:w:x\\\\\nbroken\n*:*:*:nopw:\n*:*:*:*:9";
        let find = |endpoint: &Endpoint, database, user| {
            find(text, endpoint, database, user).map(|password| password.expose().to_owned())
        };
        let tcp = |host: &str, port| Endpoint::Tcp(host.to_owned(), port);
        let unix = |path: &str| Endpoint::Unix(PathBuf::from(path));
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(find(&tcp("h", 1), "db", "you"), some("1"));
        assert_eq!(find(&tcp("h", 1), "db", "me"), some("9"));
        assert_eq!(find(&tcp("h", 2), "x", "y"), some("2"));
        assert_eq!(
            find(&unix("/var/run/postgresql/.s.PGSQL.5432"), "x", "me"),
            some("3")
        );
        assert_eq!(find(&unix("/tmp/pg/.s.PGSQL.7"), "x", "me"), some("4"));
        assert_eq!(find(&tcp("z", 1), "d:b\\", "m*"), some("p:w:x\\"));
        assert_eq!(find(&tcp("z", 1), "d:b\\", "mx"), some("9"));
        assert_eq!(find(&tcp("z", 1), "x", "nopw"), some("9"));
    }

    proptest! {
        #[test]
        fn escaped_fields_are_found(
            fields in prop::array::uniform4("[^\n\r\0*]{1,8}"),
            password in "[^\n\r\0]{1,8}",
            other in "[a-z]{9}",
        ) {
            let escape = |text: &String| text.replace('\\', "\\\\").replace(':', "\\:");
            prop_assume!(!fields[0].starts_with('#'));
            let port: u16 = 77;
            let line = [&fields[0], &"77".to_owned(), &fields[2], &fields[3], &password]
                .map(escape)
                .join(":");
            let endpoint = Endpoint::Tcp(fields[0].clone(), port);
            let found = find(&line, &endpoint, &fields[2], &fields[3]);
            prop_assert_eq!(found.as_ref().map(Secret::expose), Some(password.as_str()));
            prop_assert_eq!(find(&line, &endpoint, &fields[2], &other), None);
        }

        #[test]
        fn no_text_panics(text in "\\PC{0,40}") {
            let _ = find(&text, &Endpoint::Tcp("h".to_owned(), 1), "d", "u");
        }
    }
}
