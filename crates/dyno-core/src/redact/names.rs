//! Which names are those of secrets.

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    /// A password: whatever stands behind it is one.
    Password,
    /// A key of an interface: a text is one, but a switch is none (`--key=on`).
    Key,
    /// The file of a key. The key itself, in its place, is one all the same.
    KeyFile,
}

/// What are no secrets although they are called so: a switch, another, and what names columns and
/// files.
const INNOCENT: [&str; 7] = [
    "allow-cleartext-password",
    "ask-password",
    "ssl",
    "public",
    "primary",
    "secondary",
    "foreign",
];

/// Options that take the file of a key.
const KEY_FILES: [&str; 2] = ["bus-key", "tls-key"];

/// The class of an option, a parameter or a variable by its name, with or without dashes before it.
pub(super) fn class(name: &str) -> Option<Class> {
    let name = name.to_ascii_lowercase().replace('_', "-");
    if INNOCENT.iter().any(|part| name.contains(part)) {
        return None;
    }
    // `password_env` names a variable and `passfile` a file: those are no secrets.
    let last = name.rsplit(['-', '.']).next().unwrap_or(&name);
    let ends = |ending: &&str| last.ends_with(*ending);
    let passwords = ["password", "passwd", "pass", "pwd", "secret", "token"];
    // A name that was misspelt is quoted in a message, with its value.
    if passwords.iter().any(ends) || strsim::osa_distance(last, "password") <= 2 {
        return Some(Class::Password);
    }
    if KEY_FILES.contains(&name.trim_start_matches('-')) {
        return Some(Class::KeyFile);
    }
    last.ends_with("key").then_some(Class::Key)
}
