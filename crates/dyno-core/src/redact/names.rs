//! Classifies names of secrets.

/// The class of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A password: any value is a secret.
    Password,
    /// An API key: a text is a secret, a switch is not (`--key=on`).
    Key,
    /// The file of a key; a key given in its place is still a secret.
    KeyFile,
}

/// Names that look secret but are not: switches, and names of columns and files.
const INNOCENT: [&str; 7] = [
    "allow-cleartext-password",
    "ask-password",
    "ssl",
    "public",
    "primary",
    "secondary",
    "foreign",
];

/// Options that take a key file.
const KEY_FILES: [&str; 2] = ["bus-key", "tls-key"];

/// The class of an option, a parameter or a variable by its name, with or without leading dashes.
pub(super) fn class(name: &str) -> Option<Class> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    if INNOCENT.iter().any(|part| name.contains(part)) {
        return None;
    }
    // `password_env` names a variable and `passfile` a file; neither is a secret.
    let last = name.rsplit(['-', '.']).next().unwrap_or(&name);
    let ends = |ending: &&str| last.ends_with(*ending);
    let passwords = ["password", "passwd", "pass", "pwd", "secret", "token"];
    // Messages quote a misspelt name with its value.
    if passwords.iter().any(ends) || strsim::osa_distance(last, "password") <= 2 {
        return Some(Class::Password);
    }
    if KEY_FILES.contains(&name.trim_start_matches('-')) {
        return Some(Class::KeyFile);
    }
    last.ends_with("key").then_some(Class::Key)
}
