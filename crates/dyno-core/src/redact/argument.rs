//! Locates secrets in an argument, or in the value of an option or a setting. Unlike in free text,
//! the end is known, and a secret is hidden up to it.

use std::ops::Range;

use super::names::{Class, class};
use super::scan::prose;
use super::value::is_quote;
use super::{is_secret, one, ordered, shifted};

/// How many names may precede a value: `--set=options=password=x`.
const NAMES_MAX: usize = 4;

/// The secrets in an argument, whose quotes the shell has removed.
pub(super) fn spans(arg: &str) -> Vec<Range<usize>> {
    let mut from = 0;
    for _ in 0..NAMES_MAX {
        let rest = &arg[from..];
        let whole = connection(rest)
            .or_else(|| url(rest))
            .or_else(|| list(rest));
        if let Some(spans) = whole {
            return shifted(spans, from);
        }
        let Some((name, value)) = rest.split_once('=').filter(|(name, _)| is_name(name)) else {
            break;
        };
        from += name.len() + 1;
        if of_secret(name).is_some_and(|class| is_secret(class, value)) {
            return shifted(one(inside_quotes(value)), from);
        }
    }
    prose(arg)
}

/// The class of a name. SQL has names such as `l_orderkey`, so [`Class::Key`] needs an option.
fn of_secret(name: &str) -> Option<Class> {
    class(name).filter(|class| *class != Class::Key || name.starts_with('-'))
}

fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "-_.:@/[]+%".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// The value without the quotes that enclose it.
fn inside_quotes(value: &str) -> Range<usize> {
    let quote = value.chars().next().filter(|c| is_quote(*c));
    let enclosed = quote.is_some_and(|quote| {
        let inside = value[1..].strip_suffix(quote);
        inside.is_some_and(|inside| !inside.contains(quote))
    });
    if enclosed {
        1..value.len() - 1
    } else {
        0..value.len()
    }
}

/// The secrets in a URL: the password, up to the last `@`, and parameters.
fn url(arg: &str) -> Option<Vec<Range<usize>>> {
    let is_scheme = |text: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-.:".contains(c);
        !text.is_empty() && text.chars().all(plain)
    };
    let from = arg.find("://").filter(|at| is_scheme(&arg[..*at]))? + 3;
    let rest = &arg[from..];
    let mut spans = Vec::new();
    if let (Some(colon), Some(at)) = (rest.find(':'), rest.rfind('@'))
        && colon < at
    {
        spans.push(from + colon + 1..from + at);
    }
    let query = rest.find('?').map_or(rest.len(), |at| at + 1);
    let mut start = from + query;
    for parameter in rest[query..].split('&') {
        if let Some((name, value)) = parameter.split_once('=')
            && class(name).is_some_and(|class| is_secret(class, value))
        {
            spans.push(start + name.len() + 1..start + parameter.len());
        }
        start += parameter.len() + 1;
    }
    spans.extend(prose(arg));
    Some(ordered(spans))
}

/// The secrets in a list such as `wsrep_provider_options`: `a.b = 1; c.d = 2`. A list that begins
/// with a secret may be a password with semicolons, unless all names have a dot.
fn list(arg: &str) -> Option<Vec<Range<usize>>> {
    // A URL's password may have semicolons.
    let has_login = arg.contains("://") && arg.contains('@');
    if !arg.contains(';') || arg.starts_with('-') || has_login {
        return None;
    }
    let mut spans = Vec::new();
    let mut start = 0;
    let (mut first_is_secret, mut all_have_dots) = (false, true);
    for part in parts(arg) {
        let from = start;
        start += part.len() + 1;
        if part.trim().is_empty() {
            continue;
        }
        let (name, value) = part
            .split_once('=')
            .filter(|(name, _)| is_name(name.trim()))?;
        all_have_dots &= name.contains('.');
        let blanks = value.len() - value.trim_start().len();
        let value_at = from + name.len() + 1 + blanks;
        let value = value.trim();
        // The semicolon is within a quotation.
        if value.matches(is_quote).count() % 2 == 1 {
            return None;
        }
        let class = of_secret(name.trim());
        let is_hidden = class.is_some_and(|class| is_secret(class, value));
        // Without a value before the semicolon, the password may begin with it.
        first_is_secret |= from == 0 && (is_hidden || class.is_some() && value.is_empty());
        if is_hidden {
            spans.push(value_at..value_at + value.len());
        } else {
            spans.extend(shifted(prose(value), value_at));
        }
    }
    (!first_is_secret || all_have_dots).then_some(spans)
}

/// The parts of a list, between semicolons without a backslash.
fn parts(list: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    list.split(move |c| {
        let ends = c == ';' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    })
}

/// Parameters of PostgreSQL's connection strings, except secrets.
const PARAMETERS: [&str; 17] = [
    "application_name",
    "channel_binding",
    "client_encoding",
    "connect_timeout",
    "dbname",
    "gssencmode",
    "host",
    "hostaddr",
    "options",
    "passfile",
    "port",
    "service",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslrootcert",
    "user",
];

/// The secrets in a connection string, by libpq's grammar: `host=db password = 'x y'`. `None` if
/// the text is not one.
fn connection(arg: &str) -> Option<Vec<Range<usize>>> {
    let mut spans = Vec::new();
    let mut rest = arg.trim_start();
    while !rest.is_empty() {
        let (name, value) = rest.split_once('=')?;
        let secret = matches!(name.trim_end(), "password" | "sslpassword");
        if !secret && !PARAMETERS.contains(&name.trim_end()) {
            return None;
        }
        let value = value.trim_start();
        let length = connection_value(value)?;
        let from = arg.len() - value.len();
        let inside = inside_quotes(&value[..length]);
        match secret && is_secret(Class::Password, &value[inside.clone()]) {
            true => spans.push(from + inside.start..from + inside.end),
            false => spans.extend(shifted(prose(&value[..length]), from)),
        }
        rest = value[length..].trim_start();
    }
    (!arg.is_empty()).then_some(spans)
}

/// The length of a value; `None` if a quotation has no end, or text follows it.
fn connection_value(text: &str) -> Option<usize> {
    let quoted = text.starts_with('\'');
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(usize::from(quoted)) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if quoted => {
                let after = text[at + 1..].chars().next();
                return after.is_none_or(char::is_whitespace).then_some(at + 1);
            }
            c if !quoted && c.is_whitespace() => return Some(at),
            _ => {}
        }
    }
    (!quoted).then_some(text.len())
}
