//! Secrets in text that a user typed or a log holds, before it is shown, kept or handed to scripts.

use crate::plan::OptionValue;

/// What stands where a secret was.
const HIDDEN: &str = "***";

/// A command line without its secrets, for scripts: what they print may end up anywhere.
pub fn argv(args: &[String]) -> Vec<String> {
    args.iter()
        .map(|arg| match arg.split_once('=') {
            Some((name, value)) if names_secret(name) && !value.is_empty() => {
                format!("{name}={HIDDEN}")
            }
            _ => text(arg),
        })
        .collect()
}

/// A script's options as they may be shown: those named after a secret are hidden.
pub fn options(options: &[(String, OptionValue)]) -> Vec<(String, OptionValue)> {
    let shown = |value: &OptionValue| match value {
        OptionValue::Text(value) => OptionValue::Text(text(value)),
        OptionValue::List(values) => OptionValue::List(values.iter().map(|v| text(v)).collect()),
        other => other.clone(),
    };
    options
        .iter()
        .map(|(name, value)| match value {
            OptionValue::Text(text) if text.is_empty() => (name.clone(), value.clone()),
            _ if names_secret(name) => (name.clone(), OptionValue::Text(HIDDEN.to_owned())),
            _ => (name.clone(), shown(value)),
        })
        .collect()
}

/// A message that may quote what the user typed: passwords of URLs and values behind
/// `password=` are hidden.
pub fn text(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut word = String::new();
    for c in message.chars() {
        if c.is_whitespace() || matches!(c, '\'' | '"' | '`') {
            out.push_str(&hide(&std::mem::take(&mut word)));
            out.push(c);
        } else {
            word.push(c);
        }
    }
    out.push_str(&hide(&word));
    out
}

fn names_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // A switch, not a password.
    if name.ends_with("allow-cleartext-password") || name.ends_with("allow_cleartext_password") {
        return false;
    }
    // `password_env` names a variable and `passfile` a file: those are no secrets.
    let last = name.rsplit(['-', '_']).next().unwrap_or(&name);
    let ends = |ending: &&str| last.ends_with(*ending);
    ["password", "passwd", "pass", "pwd", "secret", "token"]
        .iter()
        .any(ends)
        // A name that was misspelt is quoted in a message, with its value.
        || strsim::osa_distance(last, "password") <= 2
}

/// One word without blanks and quotes.
fn hide(word: &str) -> String {
    let hidden = match word.split_once("://") {
        None => word.to_owned(),
        Some((scheme, rest)) => {
            let user_end = rest.rfind('@');
            match (rest.find(':'), user_end) {
                // Up to the last @: a password that was not encoded may hold others.
                (Some(colon), Some(at)) if colon < at => {
                    format!("{scheme}://{}:{HIDDEN}{}", &rest[..colon], &rest[at..])
                }
                _ => word.to_owned(),
            }
        }
    };
    let mut out = String::with_capacity(hidden.len());
    let mut rest = hidden.as_str();
    while let Some(equals) = rest.find('=') {
        let (name, value) = (&rest[..equals], &rest[equals + 1..]);
        let end = value.find('&').unwrap_or(value.len());
        out.push_str(name);
        out.push('=');
        let own_name = name.rsplit(['?', '&']).next().unwrap_or(name);
        let secret = names_secret(own_name) && end > 0;
        out.push_str(if secret { HIDDEN } else { &value[..end] });
        rest = &value[end..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_disappear_and_nothing_else_does() {
        for (typed, shown) in [
            (
                "mysql://u:pw@h:1/db?sslmode=require",
                "mysql://u:***@h:1/db?sslmode=require",
            ),
            ("mysql://u:p@w/x@h", "mysql://u:***@h"),
            ("mysql://u@h:3306/db", "mysql://u@h:3306/db"),
            (
                "postgres://h/?user=a&password=b&port=1",
                "postgres://h/?user=a&password=***&port=1",
            ),
            (
                "'mysql://u:pw@h' is one word",
                "'mysql://u:***@h' is one word",
            ),
            ("--mysql-password=x y", "--mysql-password=*** y"),
            ("--mysql-pasword=x", "--mysql-pasword=***"),
            ("--passwrod=x", "--passwrod=***"),
            ("--password_env=NAME", "--password_env=NAME"),
            ("a=1&b=2", "a=1&b=2"),
            ("naïve — text", "naïve — text"),
        ] {
            assert_eq!(text(typed), shown);
        }
        let args = [
            "--mysql-password=two words",
            "--pgsql_password=",
            "--time=3",
        ];
        let args: Vec<String> = args.map(str::to_owned).into();
        assert_eq!(
            argv(&args),
            ["--mysql-password=***", "--pgsql_password=", "--time=3"]
        );
        let typed = [
            ("my_password".to_owned(), OptionValue::Text("x".to_owned())),
            ("tables".to_owned(), OptionValue::Number(3.0)),
        ];
        let shown = options(&typed);
        assert_eq!(shown[0].1, OptionValue::Text("***".to_owned()));
        assert_eq!(shown[1], typed[1]);
    }
}
