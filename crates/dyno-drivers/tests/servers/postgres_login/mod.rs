//! Logging in to PostgreSQL: every authentication method, with and without TLS, on a server that
//! the tests start.

mod private;

use crate::common::Blocking;
use dyno_core::Target;
use dyno_core::db::{DbError, ErrorKind};
use dyno_drivers::connector;
use private::PrivateServer;

/// Who may log in, and how. Where a password is required it is `pass word/ü`.
const ACCESS: &str = "
local   all all trust
host    all postgres 127.0.0.1/32 trust
host    all plain    127.0.0.1/32 password
host    all digest   127.0.0.1/32 md5
host    all scram    127.0.0.1/32 scram-sha-256
hostssl all secret   127.0.0.1/32 scram-sha-256
hostnossl all bare   127.0.0.1/32 scram-sha-256
hostssl all certain  127.0.0.1/32 cert
";

/// The password, encoded for URLs.
const PASSWORD: &str = "pass%20word%2F%C3%BC";

fn server() -> std::sync::Arc<PrivateServer> {
    private::shared(ACCESS, |admin| {
        for user in ["plain", "digest", "scram", "secret", "bare", "certain"] {
            let method = if user == "digest" {
                "md5"
            } else {
                "scram-sha-256"
            };
            let sql = format!(
                "SET password_encryption = '{method}'; \
                 CREATE ROLE {user} LOGIN PASSWORD 'pass word/ü'"
            );
            admin.query(sql).unwrap();
        }
    })
}

fn log_in(url: &str) -> Result<Blocking, DbError> {
    Blocking::connect(connector(&Target::parse(url).unwrap())?.connect(0)?)
}

fn url(server: &PrivateServer, user: &str, mode: &str) -> String {
    let port = server.port;
    format!("postgres://{user}:{PASSWORD}@127.0.0.1:{port}/postgres?sslmode={mode}")
}

/// Logs in and returns whether both sides see TLS on the connection.
fn protection(url: &str) -> Result<bool, DbError> {
    let mut connection = log_in(url)?;
    let tls = connection.connection.server().tls.is_some();
    let sql = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()";
    assert_eq!(connection.single(sql), if tls { "t" } else { "f" });
    Ok(tls)
}

#[test]
fn every_method_lets_the_right_password_in_and_no_other() {
    let server = server();
    for user in ["plain", "digest", "scram"] {
        for (mode, tls) in [("disable", false), ("require", true)] {
            let right = url(&server, user, mode);
            assert_eq!(protection(&right).unwrap(), tls, "{user} {mode}");
            let error = log_in(&right.replace(PASSWORD, "hunter2")).err().unwrap();
            assert_eq!(error.kind, ErrorKind::Refused, "{error}");
            assert_eq!(error.sqlstate, "28P01", "{error}");
            assert!(
                error.message.contains("password authentication failed"),
                "{error}"
            );
            assert!(!format!("{error:?}").contains("hunter2"));
            let none = right.replace(&format!(":{PASSWORD}@"), "@");
            let error = log_in(&none).err().unwrap();
            assert!(error.message.contains("asks for a password"), "{error}");
        }
    }
}

#[test]
fn tls_modes_match_libpq() {
    let server = server();
    // For each user: the results of `disable` and `require`, and of the modes in between.
    for (user, clear, tls, allow, prefer) in [
        ("scram", true, true, false, true),
        ("secret", false, true, true, true),
        ("bare", true, false, false, false),
    ] {
        let outcome = |mode| protection(&url(&server, user, mode));
        assert_eq!(outcome("disable").ok(), clear.then_some(false), "{user}");
        assert_eq!(outcome("require").ok(), tls.then_some(true), "{user}");
        assert_eq!(outcome("allow").unwrap(), allow, "{user}");
        assert_eq!(outcome("prefer").unwrap(), prefer, "{user}");
    }
    let error = log_in(&url(&server, "nobody", "prefer")).err().unwrap();
    assert_eq!(error.sqlstate, "28000", "{error}");
    assert!(error.message.contains("no pg_hba.conf entry"), "{error}");
    // The error includes both attempts.
    assert!(error.message.contains("no encryption"), "{error}");
    assert!(error.message.contains("SSL encryption"), "{error}");
}

#[test]
fn certificates_are_checked_as_asked() {
    let server = server();
    let ca = server.file("ca.pem");
    let verified = |mode: &str| format!("{}&sslrootcert={ca}", url(&server, "scram", mode));
    assert!(protection(&verified("verify-ca")).unwrap());
    assert!(protection(&verified("verify-full")).unwrap());
    // The certificate is for 127.0.0.1 only.
    let by_name = verified("verify-full").replace("@127.0.0.1", "@localhost");
    assert_eq!(log_in(&by_name).err().unwrap().kind, ErrorKind::Protocol);
    assert!(protection(&by_name.replace("verify-full", "verify-ca")).unwrap());
    let unknown = url(&server, "scram", "verify-ca");
    assert_eq!(log_in(&unknown).err().unwrap().kind, ErrorKind::Protocol);
    // The client authenticates with its certificate.
    let certain = url(&server, "certain", "require");
    let error = log_in(&certain).err().unwrap();
    assert!(error.message.contains("certificate"), "{error}");
    let (cert, key) = (server.file("client.pem"), server.file("client.key"));
    assert!(protection(&format!("{certain}&sslcert={cert}&sslkey={key}")).unwrap());
}

#[test]
fn channel_binding_holds_for_certificates_of_several_kinds() {
    // The server would refuse a wrong hash of the certificate.
    for kind in ["rsa-sha384", "ecdsa-sha512", "ed25519"] {
        let server = PrivateServer::start(ACCESS, kind);
        let mut admin = server.admin();
        admin
            .query("CREATE ROLE scram LOGIN PASSWORD 'pass word/ü'")
            .unwrap();
        assert!(
            protection(&url(&server, "scram", "require")).unwrap(),
            "{kind}"
        );
    }
}
