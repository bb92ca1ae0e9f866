//! Properties of the credential parsers that hold for any file.

use dyno_core::target::Endpoint;

use super::{my_cnf, pgpass};

/// Any option file parses, and lines of other sections change nothing.
pub(crate) fn option_file(text: &str) {
    let alone = my_cnf::parse(text);
    let behind = my_cnf::parse(&format!(
        "{text}\n[mysqld]\nuser=other\npassword=other\nport=1\n"
    ));
    assert_eq!(alone.user, behind.user);
    assert_eq!(alone.port, behind.port);
    let [alone, behind] = [alone.password, behind.password]
        .map(|password| password.map(|password| password.expose().to_owned()));
    assert!(alone == behind, "another section's password counts");
}

/// Any password file parses, and a matching line wins when it comes first.
pub(crate) fn password_file(text: &str) {
    let endpoint = Endpoint::Tcp("h".to_owned(), 1);
    let _ = pgpass::find(text, &endpoint, "d", "u");
    let first = pgpass::find(&format!("h:1:d:u:mine\n{text}"), &endpoint, "d", "u");
    assert!(first.is_some_and(|password| password.expose() == "mine"));
}
