//! Hides settings that may contain a secret.

/// Replaces a secret.
const HIDDEN: &str = "(hidden)";

/// Endings of the names of secrets.
const ENDINGS: [&str; 6] = ["password", "passwd", "pwd", "_token", ".token", "_auth"];
/// Parts that only names of secrets contain.
const PARTS: [&str; 7] = [
    "secret",
    "passphrase",
    "conninfo",
    "credential",
    "access_key",
    "api_key",
    "private_key_data",
];
/// Words that precede a secret in a value, followed by an equals sign or a colon.
const WORDS: [&str; 6] = ["password", "passwd", "pwd", "secret", "token", "key_id"];

/// The value of a setting, or a note that it is hidden.
pub(super) fn shown(name: &str, value: &str) -> String {
    let switch = ["on", "off", "yes", "no"];
    let is_switch = switch.iter().any(|word| value.eq_ignore_ascii_case(word));
    if !value.is_empty() && !is_switch && (is_secret_name(name) || holds_secret(value)) {
        return HIDDEN.to_owned();
    }
    value.to_owned()
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Extensions and applications have names with a dot; the servers' own keys are file paths.
    let custom_key = name.contains('.') && name.ends_with("key");
    custom_key
        || ENDINGS.iter().any(|ending| name.ends_with(ending))
        || PARTS.iter().any(|part| name.contains(part))
}

fn holds_secret(value: &str) -> bool {
    let value = value.to_ascii_lowercase();
    let assigned = |word: &&str| {
        value.match_indices(*word).any(|(at, _)| {
            let rest = value[at + word.len()..].trim_start();
            let Some(rest) = rest.strip_prefix(['=', ':']) else {
                return false;
            };
            // An empty option in a list of options is not a secret.
            !matches!(rest.trim_start().chars().next(), None | Some(';' | ','))
        })
    };
    let words = WORDS.iter().any(assigned);
    words || value.contains("identified by") || has_user_info(&value)
}

/// Whether a URL contains a user with a password: `scheme://user:password@host`.
fn has_user_info(value: &str) -> bool {
    value.match_indices("://").any(|(at, _)| {
        let authority = value[at + 3..].split(['/', '?', '#', ' ']).next();
        let user_info = authority.and_then(|authority| authority.rsplit_once('@'));
        user_info.is_some_and(|(user, _)| user.contains(':'))
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden() {
        for (name, value) in [
            ("report_password", "x"),
            ("wsrep_sst_auth", "user:x"),
            ("primary_conninfo", "host=a password=x"),
            ("ssl_passphrase_command", "echo x"),
            ("app.jwt_secret", "x"),
            ("app.encryption_key", "x"),
            (
                "wsrep_provider_options",
                "a = 1; socket.ssl_password = x; b = 2",
            ),
            ("archive_command", "curl https://u:x@host/%f"),
            ("archive_command", "PGPASSWORD=x psql"),
            ("init_connect", "CREATE USER a IDENTIFIED BY 'x'"),
        ] {
            assert_eq!(shown(name, value), HIDDEN, "{name}={value}");
        }
    }

    #[test]
    fn text_that_only_looks_like_a_secret_is_shown() {
        for (name, value) in [
            ("old_passwords", "OFF"),
            ("disconnect_on_expired_password", "OFF"),
            ("ssl_passphrase_command_supports_reload", "off"),
            ("password_encryption", "scram-sha-256"),
            ("default_password_lifetime", "0"),
            ("caching_sha2_password_private_key_path", "private_key.pem"),
            ("ssl_key", "/etc/server.key"),
            ("key_buffer_size", "134217728"),
            ("report_password", ""),
            ("wsrep_provider_options", "socket.ssl_password = ; b = 2"),
            ("optimizer_switch", "mrr=on,use_index_extensions=on"),
        ] {
            assert_eq!(shown(name, value), value, "{name}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics(name in ".{0,20}", value in ".{0,80}") {
            let _ = shown(&name, &value);
        }
    }
}
