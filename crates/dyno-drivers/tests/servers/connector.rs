//! Connections by URL to real servers.

use std::sync::Arc;

use crate::common::{Blocking, needed};
use dyno_core::Target;
use dyno_core::db::{Connector, DbError};
use dyno_drivers::connector;

fn open(url: &str) -> Arc<dyn Connector> {
    connector(&Target::parse(url).unwrap()).unwrap()
}

fn connect(url: &str) -> Result<Blocking, DbError> {
    Blocking::connect(open(url).connect(0)?)
}

fn refuse(url: &str) -> String {
    connect(url).err().unwrap().to_string()
}

#[test]
fn mysql_urls_lead_to_servers() {
    for (socket, tcp) in [
        ("DYNO_TEST_MARIADB_SOCKET", "DYNO_TEST_MARIADB_TCP"),
        ("DYNO_TEST_MYSQL_SOCKET", "DYNO_TEST_MYSQL_TCP"),
    ] {
        let (socket, tcp) = (needed(socket), needed(tcp));
        let both = open(&format!("mysql://root@{tcp}/mysql?socket={socket}"));
        for sequence in 0..2 {
            let mut connection = Blocking::connect(both.connect(sequence).unwrap()).unwrap();
            assert_eq!(connection.connection.endpoint() as u64, sequence);
            assert_eq!(connection.single("SELECT DATABASE()"), "mysql");
        }
        let mut plain = connect(&format!("mysql://root@{tcp}?sslmode=disable")).unwrap();
        assert_eq!(plain.single("SELECT 1"), "1");
        let error = refuse(&format!("mysql://root@{tcp}/dyno_no_such_db"));
        assert!(error.contains("dyno_no_such_db"), "{error}");
        let error = refuse(&format!("mysql://dyno_nobody:hunter2@{tcp}"));
        assert!(
            error.contains("dyno_nobody") && !error.contains("hunter2"),
            "{error}"
        );
    }
}

#[test]
fn mysql_certificates_are_checked_as_asked() {
    let tcp = needed("DYNO_TEST_MYSQL_TCP");
    let required = connect(&format!("mysql://root@{tcp}?sslmode=require")).unwrap();
    let tls = required.connection.server().tls.clone();
    assert_eq!(tls.as_deref(), Some("TLSv1.3"));
    // The authority is the tests' own, which this host does not know.
    let error = refuse(&format!("mysql://root@{tcp}?sslmode=verify-ca"));
    assert!(error.contains("sslrootcert="), "{error}");
    let ca = needed("DYNO_TEST_TLS_CA");
    connect(&format!("mysql://root@{tcp}?sslrootcert={ca}")).unwrap();
    connect(&format!(
        "mysql://root@{tcp}?sslrootcert={ca}&sslmode=verify-full"
    ))
    .unwrap();
}

#[test]
fn postgres_urls_lead_to_servers() {
    let (socket, tcp) = (needed("DYNO_TEST_PG_SOCKET"), needed("DYNO_TEST_PG_TCP"));
    let both = open(&format!(
        "postgres://postgres@{tcp}/postgres?socket={socket}"
    ));
    for sequence in 0..2 {
        let mut connection = Blocking::connect(both.connect(sequence).unwrap()).unwrap();
        assert_eq!(connection.single("SELECT current_database()"), "postgres");
        assert_eq!(
            connection.single("SELECT current_setting('application_name')"),
            "dyno"
        );
    }
    let error = refuse(&format!("postgres://postgres@{tcp}/dyno_no_such_db"));
    assert!(error.contains("dyno_no_such_db"), "{error}");
}

#[test]
fn names_the_timeout_parameter_when_a_server_never_answers() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    for family in ["mysql", "postgres"] {
        let url = format!("{family}://u@127.0.0.1:{port}/d?connect_timeout=300ms");
        let connector = open(&url);
        let error = dyno_drivers::probe(connector.as_ref(), 300, &|| false).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("within 0.3 s"), "{error}");
        assert!(error.contains("parameter connect_timeout"), "{error}");
        // A limit set elsewhere is not blamed on the parameter.
        let limit = std::time::Duration::from_millis(100);
        let error = dyno_drivers::Control::connect(connector.as_ref(), limit);
        let error = error.err().unwrap().to_string();
        assert!(!error.contains("connect_timeout"), "{error}");
    }
}
