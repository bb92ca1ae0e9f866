//! Decides by its name whether a value is a secret: the only table of such names.

/// The class of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A password: any value is a secret.
    Password,
    /// An API key: a text is a secret, a switch is not (`--api-key=on`).
    Credential,
    /// Any other key, such as `--key=…`. Sentences and SQL use such names for anything, so only the
    /// value of an option, a parameter or a setting is a secret.
    Key,
    /// The file of a key; a key given in its place is still a secret.
    KeyFile,
    /// A user with a password, such as `wsrep_sst_auth=user:password`, or a method.
    Login,
}

/// Words that mark a secret anywhere in a name: `PGPASSWORD`, `client_secret`, `ssl_key_password`.
const ANYWHERE: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "passwort",
    "pwd",
    "secret",
    "credential",
    "credentials",
    "authorization",
];

/// Words that mark a secret at the end of a name: `http_pass`, but not `pass_count`.
const AT_END: [&str; 5] = ["pass", "token", "passcode", "passin", "passout"];

/// Words with the same endings that do not mark a secret.
const OTHER_WORDS: [&str; 12] = [
    "bypass",
    "compass",
    "encompass",
    "overpass",
    "surpass",
    "trespass",
    "underpass",
    "monkey",
    "turkey",
    "donkey",
    "hotkey",
    "sortkey",
];

/// Words after such a word, in names of something other than the secret: `password_env` names a
/// variable, `password_lifetime` is a number.
const ABOUT: [&str; 48] = [
    "algorithm",
    "attempts",
    "change",
    "changed",
    "characters",
    "check",
    "checks",
    "count",
    "dir",
    "encryption",
    "env",
    "errors",
    "expiration",
    "expire",
    "expired",
    "expires",
    "failure",
    "failures",
    "file",
    "files",
    "format",
    "generate",
    "history",
    "hashing",
    "interval",
    "length",
    "lifetime",
    "lock",
    "max",
    "method",
    "min",
    "mode",
    "name",
    "path",
    "plugin",
    "policy",
    "prompt",
    "proxy",
    "ref",
    "require",
    "required",
    "reuse",
    "rounds",
    "rotation",
    "stdin",
    "supports",
    "timeout",
    "validation",
];

/// Names of switches, plug-ins and methods.
const INNOCENT: [&str; 15] = [
    "allow-cleartext-password",
    "ask-password",
    "caching-sha2-password",
    "ed25519-password",
    "expired-password",
    "mysql-clear-password",
    "mysql-native-password",
    "mysql-old-password",
    "no-password",
    "old-passwords",
    "require-password",
    "session-authorization",
    "sha256-password",
    "skip-password",
    "validate-password",
];

/// Words before `key` in names of credentials.
const CREDENTIALS: [&str; 20] = [
    "access",
    "account",
    "aes",
    "api",
    "app",
    "auth",
    "decryption",
    "deploy",
    "encrypt",
    "encryption",
    "hmac",
    "jwt",
    "license",
    "master",
    "private",
    "s3",
    "service",
    "shared",
    "signing",
    "storage",
];

/// Words before `key` in names about the keys of tables.
const OF_TABLES: [&str; 37] = [
    "by",
    "cache",
    "cluster",
    "clustering",
    "composite",
    "conflict",
    "dist",
    "distribution",
    "duplicate",
    "first",
    "foreign",
    "group",
    "hash",
    "history",
    "hot",
    "index",
    "join",
    "last",
    "lock",
    "lookup",
    "max",
    "min",
    "next",
    "order",
    "partition",
    "primary",
    "public",
    "random",
    "range",
    "read",
    "routing",
    "row",
    "secondary",
    "shard",
    "sort",
    "sorting",
    "unique",
];

/// Words before `key` in names of key files.
const OF_FILES: [&str; 3] = ["bus", "ssl", "tls"];

/// The class of an option, a parameter or a variable by its name, with or without leading dashes.
pub(super) fn class(name: &str) -> Option<Class> {
    let words = words(name);
    let whole = words.join("-");
    let innocent = |one: &&str| {
        let before = whole.strip_suffix(*one);
        before.is_some_and(|before| before.is_empty() || before.ends_with('-'))
    };
    if INNOCENT.iter().any(innocent) {
        return None;
    }
    let (last, before) = words.split_last()?;
    if is_password(&words) {
        return Some(Class::Password);
    }
    if OTHER_WORDS.contains(&last.as_str()) {
        return None;
    }
    // Messages quote a misspelt name with its value.
    let misspelt = strsim::osa_distance(last, "password") <= 2;
    if misspelt || AT_END.iter().any(|word| last.ends_with(*word)) {
        return Some(Class::Password);
    }
    if last == "auth" && !before.is_empty() || last == "masterauth" {
        return Some(Class::Login);
    }
    key(last, before)
}

/// Whether the name contains a word of [`ANYWHERE`], and no word of [`ABOUT`] after it.
fn is_password(words: &[String]) -> bool {
    let of_secret = |word: &String| ANYWHERE.iter().any(|one| word.ends_with(*one));
    let found = words.iter().rposition(of_secret);
    found.is_some_and(|at| {
        let mut after = words[at + 1..].iter();
        !after.any(|word| ABOUT.contains(&word.as_str()))
    })
}

/// The class of a name that ends in `key`.
fn key(last: &str, before: &[String]) -> Option<Class> {
    // An access key has an identifier, which an S3 client calls `access_key_id`.
    let (last, before) = match (last, before.split_last()) {
        ("id", Some((key, before))) if key == "key" => (key.as_str(), before),
        _ => (last, before),
    };
    let own = last.strip_suffix("key")?;
    let is = |table: &[&str]| {
        let mut words = before.iter().map(String::as_str).chain([own]);
        words.any(|word| table.contains(&word))
    };
    if is(&OF_FILES) {
        return Some(Class::KeyFile);
    }
    if is(&CREDENTIALS) {
        return Some(Class::Credential);
    }
    (!is(&OF_TABLES)).then_some(Class::Key)
}

/// The words of a name in lower case, without a number at its end: `dbPassword_2` has `db` and
/// `password`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut before = ' ';
    for c in name.chars() {
        let starts = before.is_ascii_lowercase() && c.is_ascii_uppercase();
        if !c.is_alphanumeric() || starts {
            words.push(String::new());
        }
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
        before = c;
    }
    words.retain(|word| !word.is_empty());
    while words.len() > 1 && words.last().is_some_and(|word| is_number(word)) {
        words.pop();
    }
    if let Some(last) = words.last_mut() {
        let end = last.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        if end > 0 {
            last.truncate(end);
        }
    }
    words
}

fn is_number(word: &str) -> bool {
    word.chars().all(|c| c.is_ascii_digit())
}

/// Names of secrets, for tests.
#[cfg(test)]
pub(super) const SECRET: [&str; 48] = [
    "password",
    "PASSWORD",
    "PGPASSWORD",
    "MYSQL_PWD",
    "MYSQL_ROOT_PASSWORD",
    "mysql-password",
    "mysql_password",
    "mysql-passwd",
    "pgsql-password",
    "primary_db_password",
    "report-password",
    "ssl_passphrase",
    "sslpassword",
    "socket.ssl_key_password",
    "socket.ssl_key_pwd",
    "authentication_ldap_simple_bind_root_pwd",
    "dbPassword",
    "password2",
    "password_1",
    "password_hash",
    "pass",
    "http_pass",
    "maria_pass",
    "requirepass",
    "secret",
    "clientSecret",
    "client-secret",
    "keyring_vault_secret",
    "SECRET_KEY_BASE",
    "s3_secret_key",
    "AWS_SECRET_ACCESS_KEY",
    "token",
    "api_token",
    "auth-token",
    "http_swift_auth_token",
    "public_api_token",
    "hashicorp_key_management_token",
    "AWS_SESSION_TOKEN",
    "credentials",
    "http_s3_key",
    "api_key",
    "apiKey",
    "X-Api-Key",
    "s3-access-key",
    "AWS_ACCESS_KEY_ID",
    "encryption_key",
    "private_key",
    "mysql-pasword",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_recognised() {
        for name in SECRET {
            for name in [name.to_owned(), format!("--{name}")] {
                let found = class(&name);
                let always = matches!(found, Some(Class::Password | Class::Credential));
                assert!(always, "{name}: {found:?}");
            }
        }
        for name in ["key", "--key", "file_key_management_filekey", "shop_key"] {
            assert_eq!(class(name), Some(Class::Key), "{name}");
        }
        for name in ["wsrep_sst_auth", "masterauth", "http-auth"] {
            assert_eq!(class(name), Some(Class::Login), "{name}");
        }
    }

    #[test]
    fn names_of_key_files_are_recognised() {
        for name in ["ssl_key", "sslkey", "tls-key", "admin_ssl_key", "--bus-key"] {
            assert_eq!(class(name), Some(Class::KeyFile), "{name}");
        }
    }

    #[test]
    fn other_names_are_not_names_of_secrets() {
        for name in [
            "",
            "threads",
            "key_buffer_size",
            "primary_key",
            "foreign-key",
            "sort_key",
            "sortkey",
            "handler_read_key",
            "server_public_key",
            "PGPASSFILE",
            "passfile",
            "password_env",
            "password-file",
            "MYSQL_ROOT_PASSWORD_FILE",
            "password-stdin",
            "password_lifetime",
            "default_password_lifetime",
            "password_encryption",
            "old_passwords",
            "max_password_errors",
            "strict_password_validation",
            "validate_password.length",
            "validate_password.changed_characters_percentage",
            "session_authorization",
            "sha256_password_proxy_users",
            "simple_password_check_digits",
            "disconnect_on_expired_password",
            "caching_sha2_password",
            "caching_sha2_password_private_key_path",
            "ask-password",
            "--allow_cleartext_password",
            "ssl_passphrase_command_supports_reload",
            "aws_key_management_key_spec",
            "bypass",
            "auth",
            "authentication_policy",
            "tokens",
            "keyring",
            "defaults-extra-file",
            "secretName",
        ] {
            assert_eq!(class(name), None, "{name}");
        }
    }
}
