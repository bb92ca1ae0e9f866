//! Option files of MySQL and MariaDB ("Using Option Files" in MySQL's manual).

use dyno_core::Secret;

/// The settings of `[client]`; the last of several lines counts.
#[derive(Default)]
pub(super) struct Client {
    pub(super) user: Option<String>,
    pub(super) password: Option<Secret>,
    pub(super) host: Option<String>,
    pub(super) port: Option<String>,
    pub(super) socket: Option<String>,
    /// The file includes others.
    pub(super) includes: bool,
}

pub(super) fn parse(text: &str) -> Client {
    let mut client = Client::default();
    let mut in_client = false;
    for line in text.lines().map(str::trim) {
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        if line.starts_with('!') {
            client.includes = true;
        } else if let Some(section) = line.strip_prefix('[') {
            let end = section.find(']').unwrap_or(section.len());
            in_client = &section[..end] == "client";
        } else if in_client {
            option(&mut client, line);
        }
    }
    client
}

fn option(client: &mut Client, line: &str) {
    // A name without a value (`password`) asks for a prompt, which is not done here.
    let Some((name, value)) = line.split_once('=') else {
        return;
    };
    let value = unquote(value.trim());
    match name.trim().replace('_', "-").as_str() {
        "user" => client.user = Some(value),
        "password" => client.password = Some(Secret::new(value)),
        "host" => client.host = Some(value),
        "port" => client.port = Some(value),
        "socket" => client.socket = Some(value),
        _ => {}
    }
}

/// Removes quotes, escapes and a trailing comment.
fn unquote(text: &str) -> String {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let body = &text[quote.map_or(0, char::len_utf8)..];
    let mut value = String::with_capacity(body.len());
    let mut chars = body.chars();
    while let Some(c) = chars.next() {
        match c {
            c if Some(c) == quote => return value,
            // Inside quotes it is text.
            '#' if quote.is_none() => return value.trim_end().to_owned(),
            '\\' => match chars.next() {
                Some('b') => value.push('\u{8}'),
                Some('t') => value.push('\t'),
                Some('n') => value.push('\n'),
                Some('r') => value.push('\r'),
                Some('s') => value.push(' '),
                Some(other @ ('\\' | '"' | '\'')) => value.push(other),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            },
            c => value.push(c),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_as_the_clients_read_them() {
        for (text, value) in [
            ("plain", "plain"),
            ("a b # comment", "a b"),
            ("\"a # b\" # comment", "a # b"),
            ("'it\\'s'", "it's"),
            (r"a\tb\s\\\n", "a\tb \\\n"),
            (r"C:\dir", r"C:\dir"),
            ("\"open", "open"),
            ("", ""),
            ("\\", "\\"),
        ] {
            assert_eq!(unquote(text), value, "{text}");
        }
    }

    #[test]
    fn only_the_section_client_counts() {
        let client = parse(
            "user=outside\n# user=comment\n[mysqld]\nport=1\n[client]\n user = me \npassword\n\
             port=3307\n;x\n[mysql]\nuser=other\n[client]\npassword=\"p#w\"\n",
        );
        assert_eq!(client.user.as_deref(), Some("me"));
        assert_eq!(client.port.as_deref(), Some("3307"));
        assert_eq!(client.password.unwrap().expose(), "p#w");
        assert!(client.host.is_none() && client.socket.is_none() && !client.includes);
        assert!(parse("!includedir /etc/mysql").includes);
    }
}
