//! Authentication by each plugin, in the clear and over a UNIX socket.

use dyno_core::Secret;
use dyno_core::db::{DbError, ErrorKind};
use dyno_drivers::Disclosure;

use super::{Blocking, MysqlOptions, Server, by_socket, by_tcp, options, root};

const PASSWORD: &str = "pass 'wörd'";

fn with_password(user: &str, password: &str) -> MysqlOptions {
    MysqlOptions {
        password: Some(Secret::new(password.to_owned())),
        ..options(user)
    }
}

/// Creates a user again, so that the server has no cached hash for it.
pub(super) fn user(server: Server, name: &str, identified: &str) -> Blocking {
    let mut connection = root(server, name);
    let name = format!("dyno_drivers_{name}");
    for host in ["localhost", "127.0.0.1"] {
        connection
            .query(format!("DROP USER IF EXISTS {name}@{host}"))
            .unwrap();
        connection
            .query(format!("CREATE USER {name}@{host} IDENTIFIED {identified}"))
            .unwrap();
    }
    connection
}

fn whoami(connection: Result<Blocking, DbError>) -> String {
    connection.unwrap().single("SELECT CURRENT_USER()")
}

/// The right password is accepted over TCP.
fn accepted_by_tcp(server: Server, name: &str) {
    let who = whoami(by_tcp(server, with_password(name, PASSWORD)));
    assert_eq!(who, format!("{name}@127.0.0.1"));
}

fn accepted_by_socket(server: Server, name: &str) {
    let who = whoami(by_socket(server, with_password(name, PASSWORD)));
    assert_eq!(who, format!("{name}@localhost"));
}

fn denied(connection: Result<Blocking, DbError>) {
    let Err(error) = connection else {
        panic!("a wrong password was accepted");
    };
    assert_eq!(
        (error.code, error.kind),
        (1045, ErrorKind::Refused),
        "{error}"
    );
    assert!(!error.to_string().contains("wrong password"));
}

fn quoted() -> String {
    format!("'{}'", PASSWORD.replace('\'', "''"))
}

#[test]
fn native_password() {
    let server = Server::MariaDb;
    user(server, "native", &format!("BY {}", quoted()));
    let name = "dyno_drivers_native";
    accepted_by_tcp(server, name);
    accepted_by_socket(server, name);
    denied(by_tcp(server, with_password(name, "wrong password")));
    denied(by_tcp(server, options(name)));
}

#[test]
fn ed25519() {
    let server = Server::MariaDb;
    let mut connection = root(server, "ed25519");
    // It may be installed already.
    let _ = connection.query("INSTALL SONAME 'auth_ed25519'");
    user(
        server,
        "ed25519",
        &format!("VIA ed25519 USING PASSWORD({})", quoted()),
    );
    let name = "dyno_drivers_ed25519";
    accepted_by_tcp(server, name);
    denied(by_tcp(server, with_password(name, "wrong password")));
    denied(by_tcp(server, options(name)));
}

/// The full exchange with the server's RSA key, then the fast one with the cached hash.
#[test]
fn caching_sha2_in_the_clear() {
    let server = Server::MySql;
    let name = "dyno_drivers_sha2";
    let mut first = user(
        server,
        "sha2",
        &format!("WITH caching_sha2_password BY {}", quoted()),
    );
    accepted_by_tcp(server, name);
    accepted_by_tcp(server, name);
    first.query("FLUSH PRIVILEGES").unwrap();
    denied(by_tcp(server, with_password(name, "wrong password")));
    accepted_by_tcp(server, name);
    denied(by_tcp(server, with_password(name, "wrong password")));
    denied(by_tcp(server, options(name)));
}

/// Nobody can listen in on a UNIX socket: the full exchange sends the password in the clear.
#[test]
fn caching_sha2_by_socket() {
    let server = Server::MySql;
    let name = "dyno_drivers_sha2_socket";
    user(
        server,
        "sha2_socket",
        &format!("WITH caching_sha2_password BY {}", quoted()),
    );
    accepted_by_socket(server, name);
    accepted_by_socket(server, name);
    denied(by_socket(server, with_password(name, "wrong password")));
}

/// A server that may not learn the password still gets it if the user configured its key: it is
/// then encrypted immediately.
#[test]
fn a_named_key_replaces_trust() {
    let server = Server::MySql;
    for (plugin, name) in [
        ("caching_sha2_password", "pinned"),
        ("sha256_password", "pinned256"),
    ] {
        let identified = format!("WITH {plugin} BY {}", quoted());
        let mut connection = user(server, name, &identified);
        let key = connection.single(
            "SELECT VARIABLE_VALUE FROM performance_schema.global_status \
             WHERE VARIABLE_NAME = 'Caching_sha2_password_rsa_public_key'",
        );
        let name = format!("dyno_drivers_{name}");
        let far = |password: &str| MysqlOptions {
            disclosure: Disclosure::default(),
            ..with_password(&name, password)
        };
        let error = by_tcp(server, far(PASSWORD)).err().unwrap();
        assert_eq!(error.code, 2061, "{error}");
        let named = |password: &str| MysqlOptions {
            server_public_key: Some(key.as_bytes().into()),
            ..far(password)
        };
        denied(by_tcp(server, named("wrong password")));
        let tcp = format!("{name}@127.0.0.1");
        assert_eq!(whoami(by_tcp(server, named(PASSWORD))), tcp);
    }
}

#[test]
fn sha256() {
    let server = Server::MySql;
    let name = "dyno_drivers_sha256";
    user(
        server,
        "sha256",
        &format!("WITH sha256_password BY {}", quoted()),
    );
    accepted_by_tcp(server, name);
    accepted_by_socket(server, name);
    denied(by_tcp(server, with_password(name, "wrong password")));
}

#[test]
fn empty_passwords() {
    for (server, name, identified) in [
        (Server::MariaDb, "empty", "BY ''"),
        (Server::MySql, "empty", "WITH caching_sha2_password BY ''"),
        (Server::MySql, "empty256", "WITH sha256_password BY ''"),
    ] {
        user(server, name, identified);
        let name = format!("dyno_drivers_{name}");
        let tcp = format!("{name}@127.0.0.1");
        assert_eq!(whoami(by_tcp(server, options(&name))), tcp);
        denied(by_tcp(server, with_password(&name, "wrong password")));
    }
}

#[test]
fn sends_attributes_and_databases() {
    let server = Server::MySql;
    root(server, "attributes");
    let mut connection = by_socket(
        server,
        MysqlOptions {
            database: "dyno_drivers_attributes".to_owned(),
            ..options("root")
        },
    )
    .unwrap();
    assert_eq!(
        connection.single("SELECT DATABASE()"),
        "dyno_drivers_attributes"
    );
    let sql = "SELECT ATTR_VALUE FROM performance_schema.session_account_connect_attrs \
        WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = CONNECTION_ID()";
    assert_eq!(connection.single(sql), "dyno");
    let unknown = MysqlOptions {
        database: "dyno_drivers_none".to_owned(),
        ..options("root")
    };
    for server in super::servers() {
        let Err(error) = by_socket(server, unknown.clone()) else {
            panic!("connected to a database that is not there");
        };
        assert_eq!(error.code, 1049);
    }
}
