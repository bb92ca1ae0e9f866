//! TLS. The servers' certificate is for 127.0.0.1, by the authority in `DYNO_TEST_TLS_CA`.

use dyno_core::Target;
use dyno_core::db::{DbError, ErrorKind};
use dyno_drivers::connector;

use super::auth::user;
use super::{Blocking, Server, root, servers};
use crate::common::needed;

fn by_url(url: &str) -> Result<Blocking, DbError> {
    let target = Target::parse(url).unwrap();
    Blocking::connect(connector(&target)?.connect(0)?)
}

fn url(server: Server, rest: &str) -> String {
    format!("mysql://dyno_drivers_{rest}").replace("SERVER", &server.tcp())
}

fn refused(connection: Result<Blocking, DbError>) -> DbError {
    match connection {
        Ok(_) => panic!("connected"),
        Err(error) => error,
    }
}

fn cipher(connection: &mut Blocking) -> Option<String> {
    connection.select("SHOW SESSION STATUS LIKE 'Ssl_version'")[0][1].clone()
}

#[test]
fn connections_are_encrypted_as_asked() {
    let ca = needed("DYNO_TEST_TLS_CA");
    for server in servers() {
        user(server, "tls", "BY 'tls'");
        for (mode, encrypted) in [
            ("sslmode=disable".to_owned(), false),
            ("sslmode=prefer".to_owned(), true),
            ("sslmode=require".to_owned(), true),
            (format!("sslmode=verify-ca&sslrootcert={ca}"), true),
            (format!("sslmode=verify-full&sslrootcert={ca}"), true),
        ] {
            let url = url(server, &format!("tls:tls@SERVER/?{mode}"));
            // The first exchange is the full one: under TLS it sends the password.
            for _ in 0..2 {
                let mut connection = by_url(&url).unwrap();
                let tls = connection.connection.server().tls.clone();
                assert_eq!(tls.is_some(), encrypted, "{mode}");
                assert_eq!(cipher(&mut connection), Some(tls.unwrap_or_default()));
                let long = connection.single("SELECT REPEAT('x', 300000)");
                assert_eq!(long.len(), 300_000);
                let statement = connection.prepare("SELECT 1, 'x'", &[]).unwrap();
                assert_eq!(connection.execute(statement, &[]).unwrap().rows, 1);
            }
            let mut connection = root(server, "tls_flush");
            connection.query("FLUSH PRIVILEGES").unwrap();
        }
        let error = refused(by_url(&url(server, "tls:wrong@SERVER/?sslmode=require")));
        assert_eq!((error.code, error.kind), (1045, ErrorKind::Refused));
    }
}

/// The system's authorities did not sign it.
#[test]
fn certificates_that_cannot_be_trusted_are_refused() {
    for server in servers() {
        for mode in ["verify-ca", "verify-full"] {
            let url = url(server, &format!("trust:tls@SERVER/?sslmode={mode}"));
            let error = refused(by_url(&url));
            assert_eq!(
                (error.code, error.kind),
                (2026, ErrorKind::Protocol),
                "{error}"
            );
            assert!(error.message.contains("certificate"), "{error}");
        }
    }
}

#[test]
fn users_who_must_use_tls() {
    let mut connection = user(
        Server::MySql,
        "tls_must",
        "WITH caching_sha2_password BY 'tls'",
    );
    connection
        .query("ALTER USER dyno_drivers_tls_must@127.0.0.1 REQUIRE SSL")
        .unwrap();
    by_url(&url(Server::MySql, "tls_must:tls@SERVER/")).unwrap();
    let error = refused(by_url(&url(
        Server::MySql,
        "tls_must:tls@SERVER/?sslmode=disable",
    )));
    assert_eq!(error.code, 1045);
    // The server does not say why; an error with optional TLS explains it.
    let error = refused(by_url(&url(
        Server::MySql,
        "tls_must:tls@SERVER/?sslmode=allow",
    )));
    assert_eq!(error.code, 1045);
    assert!(error.message.contains("prefer"), "{error}");
}

/// Bulk loads take another path through the channel when it is encrypted.
#[test]
fn rows_are_loaded_under_tls() {
    let mut connection = user(
        Server::MySql,
        "tls_load",
        "WITH caching_sha2_password BY 'tls'",
    );
    connection
        .query("GRANT ALL ON dyno_drivers_tls_load.* TO dyno_drivers_tls_load@127.0.0.1")
        .unwrap();
    connection
        .query("CREATE TABLE t (id BIGINT PRIMARY KEY, text VARCHAR(50))")
        .unwrap();
    let _setting = super::load::with_local_infile(&mut connection, true);
    let mut encrypted = by_url(&url(
        Server::MySql,
        "tls_load:tls@SERVER/dyno_drivers_tls_load?sslmode=require",
    ))
    .unwrap();
    let outcome = encrypted.bulk_load(super::load::load(0, 20_000)).unwrap();
    assert_eq!(outcome.affected, 20_000);
    super::load::check(&mut encrypted, 0, 20_000);
}
