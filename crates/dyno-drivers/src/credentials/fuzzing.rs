//! What must hold of any file of credentials.

use dyno_core::target::Endpoint;

use super::{my_cnf, pgpass};

/// An option file of any content is read, and lines of other sections change nothing.
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

/// A password file of any content is read, and a line that fits decides when it comes first.
pub(crate) fn password_file(text: &str) {
    let endpoint = Endpoint::Tcp("h".to_owned(), 1);
    let _ = pgpass::find(text, &endpoint, "d", "u");
    let first = pgpass::find(&format!("h:1:d:u:mine\n{text}"), &endpoint, "d", "u");
    assert!(first.is_some_and(|password| password.expose() == "mine"));
}
