//! The parts of a URL, and percent-encoding. Messages here never quote what may be part of a
//! password.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use super::TargetError;

/// `scheme://userinfo@authority/path?query`, still encoded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    pub(super) user: Option<&'a str>,
    pub(super) password: Option<&'a str>,
    /// `host[:port]`, between commas.
    pub(super) hosts: Vec<&'a str>,
    pub(super) path: &'a str,
    pub(super) query: &'a str,
}

/// Splits what follows `scheme://`.
pub(super) fn split(rest: &str) -> Result<Parts<'_>, TargetError> {
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    // A raw '@' after the authority means that the password contains a raw '/' or '?'. Guessing
    // further would put parts of it into messages as host or port.
    if tail.contains('@') {
        return Err(TargetError(
            "there is an @ after the first / or ?; if the password contains such characters, write \
             them percent-encoded: @ as %40, / as %2F, ? as %3F, # as %23, % as %25 (in \
             parameters, too)"
                .to_owned(),
        ));
    }
    let (tail, query) = tail.split_once('?').unwrap_or((tail, ""));
    let path = tail.strip_prefix('/').unwrap_or(tail);
    let (userinfo, hosts) = match authority.rsplit_once('@') {
        Some((userinfo, hosts)) => (Some(userinfo), hosts),
        None => (None, authority),
    };
    let (user, password) = match userinfo.map(|info| info.split_once(':').ok_or(info)) {
        None => (None, None),
        Some(Ok((user, password))) => (Some(user), Some(password)),
        Some(Err(user)) => (Some(user), None),
    };
    let hosts = if hosts.is_empty() {
        Vec::new()
    } else {
        hosts.split(',').collect()
    };
    Ok(Parts {
        user: user.filter(|user| !user.is_empty()),
        password,
        hosts,
        path,
        query,
    })
}

/// Splits `host`, `host:port`, `[::1]:port`. The host is still encoded.
pub(super) fn split_host(text: &str) -> Result<(&str, Option<&str>), TargetError> {
    let Some(rest) = text.strip_prefix('[') else {
        if text.matches(':').count() > 1 {
            return Err(TargetError(
                "a host has several colons; write an IPv6 address in brackets: [::1]:3306"
                    .to_owned(),
            ));
        }
        return Ok(match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        });
    };
    let Some((address, after)) = rest.split_once(']') else {
        return Err(TargetError("a [ has no matching ]".to_owned()));
    };
    if address.parse::<std::net::Ipv6Addr>().is_err() {
        return Err(TargetError(
            "the text in brackets is not an IPv6 address; write for example [::1]:3306".to_owned(),
        ));
    }
    match (after, after.strip_prefix(':')) {
        ("", _) => Ok((address, None)),
        (_, Some(port)) => Ok((address, Some(port))),
        _ => Err(TargetError(
            "after ] only a colon and a port may follow".to_owned(),
        )),
    }
}

/// Decodes `%XX`. `what` names the part in messages.
pub(super) fn decode(text: &str, what: &str) -> Result<String, TargetError> {
    let is_code = |after: &str| {
        let digits = after.get(..2);
        digits.is_some_and(|two| two.bytes().all(|byte| byte.is_ascii_hexdigit()))
    };
    if !text.split('%').skip(1).all(is_code) {
        return Err(TargetError(format!(
            "the {what} contains a % without two hexadecimal digits after it; write %25 for a \
             percent sign"
        )));
    }
    let decoded = percent_decode_str(text).decode_utf8();
    let decoded = decoded.map_err(|_| TargetError(format!("the {what} is not UTF-8")))?;
    match decoded.contains('\0') {
        true => Err(TargetError(format!("the {what} contains a zero byte"))),
        false => Ok(decoded.into_owned()),
    }
}

/// What is encoded in a part of a URL.
const PART: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// What is encoded in a path or a parameter's value.
const PATH: &AsciiSet = &PART.remove(b'/');

/// Encodes a part of a URL.
pub(super) fn encode(text: &str) -> String {
    utf8_percent_encode(text, PART).to_string()
}

/// Encodes a path or a parameter's value.
pub(super) fn encode_path(text: &str) -> String {
    utf8_percent_encode(text, PATH).to_string()
}
