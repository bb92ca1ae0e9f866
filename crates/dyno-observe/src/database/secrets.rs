//! Hides settings that may contain a secret.

use dyno_core::redact;

/// Replaces a secret.
const HIDDEN: &str = "(hidden)";

/// The value of a setting, or a note that it is hidden.
pub(super) fn shown(name: &str, value: &str) -> String {
    let shown = match redact::has_form_of_secret(name, value) {
        true => HIDDEN,
        false => value,
    };
    shown.to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn secrets_are_hidden() {
        for (name, value) in [
            ("report_password", "x"),
            ("report_password", "on"),
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
