//! Servers that ask for what they must not get, and servers that stop in the middle.

use dyno_core::db::{DbError, ErrorKind, OutcomeKind, Submitted};
use dyno_core::target::TlsMode;

use super::MysqlOptions;
use super::canned::{
    CAPABILITIES, Client, END, ERROR, OK, column, greeting, load, options, packets,
};
use super::wire::capability;
use crate::channel::{Next, Protocol};
use crate::disclosure::Disclosure;

const NATIVE: &str = "mysql_native_password";

fn error(client: &Client) -> &DbError {
    client.protocol.outcome().error.as_ref().unwrap()
}

/// The answer to the first query of a load.
fn settings() -> Vec<u8> {
    let [limit, mode] = [column(8), column(253)];
    packets(1, &[&[2], &limit, &mode, b"\x0816777216\0", END])
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[test]
fn the_password_never_leaves_in_the_clear() {
    for plugin in [
        "mysql_clear_password",
        NATIVE,
        "caching_sha2_password",
        "sha256_password",
    ] {
        let mut client = Client::new(options());
        client.feed(&packets(0, &[&greeting(CAPABILITIES, plugin)]));
        assert!(
            !client.output.is_empty() && !contains(&client.output, b"secret"),
            "{plugin}"
        );
        let switch = [&b"\xFEmysql_clear_password\0"[..], &[7; 20]].concat();
        assert_eq!(client.feed(&packets(2, &[&switch])), Next::Finished);
        assert_eq!(error(&client).code, 2061);
        assert!(!contains(&client.output, b"secret"), "{plugin}");
    }
}

/// An unknown server, a local one, one that TLS has verified, and one that the user permits to read
/// the password.
fn peers() -> [Disclosure; 4] {
    let none = Disclosure::default();
    let (local, verified, allowed) = (true, true, true);
    [
        none,
        Disclosure { local, ..none },
        Disclosure { verified, ..none },
        Disclosure { allowed, ..none },
    ]
}

/// Sends `says` to a client with these options after its first answer, with TLS or without. Returns
/// the client with its output, and how it continues.
fn asked(options: &MysqlOptions, plugin: &str, tls: bool, says: &[u8]) -> (Client, Next) {
    let (flags, mode) = match tls {
        true => (CAPABILITIES | capability::SSL, TlsMode::Require),
        false => (CAPABILITIES, TlsMode::Disable),
    };
    let mut client = Client::new(MysqlOptions {
        tls: mode,
        ..options.clone()
    });
    let next = client.feed(&packets(0, &[&greeting(flags, plugin)]));
    if tls {
        assert_eq!(next, Next::StartTls);
        let Client {
            protocol, output, ..
        } = &mut client;
        protocol.tls_established("TLSv1.3", None, output);
    }
    assert!(!contains(&client.output, b"secret"), "{plugin}");
    client.output.clear();
    let next = client.feed(&packets(2 + u8::from(tls), &[says]));
    (client, next)
}

fn switch(plugin: &str) -> Vec<u8> {
    [b"\xFE", plugin.as_bytes(), b"\0", &[7; 20]].concat()
}

#[test]
fn the_password_goes_only_to_trusted_servers() {
    let ways: [(&str, Vec<u8>); 4] = [
        (NATIVE, switch("mysql_clear_password")),
        (NATIVE, switch("sha256_password")),
        ("sha256_password", switch("sha256_password")),
        ("caching_sha2_password", b"\x01\x04".to_vec()),
    ];
    for (plugin, says) in ways {
        for (index, disclosure) in peers().into_iter().enumerate() {
            for tls in [false, true] {
                let options = MysqlOptions {
                    disclosure,
                    ..options()
                };
                let (mut client, next) = asked(&options, plugin, tls, &says);
                let permitted = disclosure.is_permitted(tls);
                assert_eq!(permitted, index % 2 == 1 || (index == 2 && tls));
                if !permitted {
                    assert_eq!((next, client.output.len()), (Next::Finished, 0), "{plugin}");
                    let error = error(&client);
                    assert_eq!((error.code, error.kind), (2061, ErrorKind::Unsupported));
                    for part in ["sslrootcert", "allow_cleartext_password=1", "was not sent"] {
                        assert!(error.message.contains(part), "{error}");
                    }
                    continue;
                }
                assert_eq!(next, Next::Input);
                let clear = tls || says.ends_with(&switch("mysql_clear_password"));
                assert_eq!(contains(&client.output, b"secret\0"), clear, "{plugin}");
                if !clear {
                    // The client asks for the key, and refuses one that is invalid.
                    assert_eq!(client.output.len(), 5);
                    assert_eq!(client.feed(&packets(4, &[b"\x01no key"])), Next::Finished);
                    assert_eq!(error(&client).kind, ErrorKind::Unsupported);
                    assert!(!contains(&client.output, b"secret"));
                }
            }
        }
    }
}

/// If the client accepted a key that it did not ask for, that would be another way to get the
/// password.
#[test]
fn a_key_that_was_not_asked_for_is_refused() {
    for (plugin, disclosure) in [
        ("caching_sha2_password", Disclosure::default()),
        ("caching_sha2_password", peers()[1]),
        ("sha256_password", peers()[1]),
    ] {
        let options = MysqlOptions {
            disclosure,
            ..options()
        };
        let key = [b"\x01", KEY].concat();
        let (client, next) = asked(&options, plugin, false, &key);
        assert_eq!((next, client.output.len()), (Next::Finished, 0), "{plugin}");
        assert_eq!(error(&client).kind, ErrorKind::Protocol);
    }
}

/// Only the owner of the key that the user has configured can decrypt the password.
#[test]
fn a_key_that_the_user_names_is_used_and_no_other() {
    let options = MysqlOptions {
        server_public_key: Some(KEY.into()),
        ..options()
    };
    for (plugin, says) in [
        ("caching_sha2_password", b"\x01\x04".to_vec()),
        ("sha256_password", switch("sha256_password")),
    ] {
        let (mut client, next) = asked(&options, plugin, false, &says);
        assert_eq!(next, Next::Input);
        // A header, and as many bytes as the modulus of the key has.
        assert_eq!(client.output.len(), 4 + 128, "{plugin}");
        // The server's own key comes too late.
        let theirs = [b"\x01", KEY].concat();
        client.output.clear();
        assert_eq!(client.feed(&packets(4, &[&theirs])), Next::Finished);
        assert_eq!(client.output.len(), 0);
        // With TLS, the server accepts the password in clear text, and the key proves nothing.
        let (client, next) = asked(&options, plugin, true, &says);
        assert_eq!((next, client.output.len()), (Next::Finished, 0), "{plugin}");
    }
}

/// An account without a password has nothing to disclose.
#[test]
fn an_empty_password_may_be_sent_in_the_clear() {
    let options = MysqlOptions {
        password: None,
        ..options()
    };
    for says in [switch("mysql_clear_password"), switch("sha256_password")] {
        let (_, next) = asked(&options, NATIVE, false, &says);
        assert_eq!(next, Next::Input);
    }
}

/// An RSA key of 1024 bits that was created for this test.
const KEY: &[u8] = b"-----BEGIN PUBLIC KEY-----\n\
    MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDkIu3/uvxVHee7iNC6oytwfQ3g\n\
    gC2tVNVUOPaHcj8aa5v4dzpJBGGnE8Log4NpJfFbPh/6grQKcEbSvr1ogslkD+45\n\
    iPGaglH05DJn9ZKz1wTGLVqU6U3qbquLy2GKLTDRyv57a3cA8NTPYLtQ3H4PrLhj\n\
    cqp67a/HqfGlm6rZOwIDAQAB\n\
    -----END PUBLIC KEY-----\n";

#[test]
fn refuses_if_required_tls_is_not_available() {
    let connect = |tls| {
        let mut client = Client::new(MysqlOptions { tls, ..options() });
        let next = client.feed(&packets(0, &[&greeting(CAPABILITIES, NATIVE)]));
        (client, next)
    };
    for tls in [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let (client, next) = connect(tls);
        assert_eq!((next, client.output.len()), (Next::Finished, 0));
        assert_eq!(
            (error(&client).code, error(&client).kind),
            (2026, ErrorKind::Unsupported)
        );
        assert!(error(&client).message.contains("does not offer"));
    }
    for tls in [TlsMode::Disable, TlsMode::Allow, TlsMode::Prefer] {
        let (client, next) = connect(tls);
        assert_eq!((next, client.output[3]), (Next::Input, 1));
    }
}

#[test]
fn bytes_before_tls_are_not_read_as_encrypted() {
    let mut client = Client::new(MysqlOptions {
        tls: TlsMode::Require,
        ..options()
    });
    let tls = CAPABILITIES | capability::SSL;
    let mut input = packets(0, &[&greeting(tls, NATIVE)]);
    input.extend(packets(3, &[OK]));
    assert_eq!(client.feed(&input), Next::Finished);
    assert_eq!(error(&client).kind, ErrorKind::Protocol);
}

#[test]
fn authentication_that_does_not_end_is_ended() {
    let mut client = Client::new(options());
    client.feed(&packets(0, &[&greeting(CAPABILITIES, NATIVE)]));
    let switch = [&b"\xFEmysql_native_password\0"[..], &[7; 20], &[0]].concat();
    let mut rounds = 0;
    while client.feed(&packets(2 + 2 * rounds, &[&switch])) == Next::Input {
        rounds += 1;
        assert!(rounds < 100);
    }
    assert_eq!(error(&client).kind, ErrorKind::Protocol);
}

/// A client that has begun to load three rows.
fn loading() -> Client {
    let mut client = Client::ready(CAPABILITIES);
    let submitted = client.protocol.bulk_load(load(3), &mut client.output);
    assert_eq!(submitted, Submitted::Pending);
    client
}

#[test]
fn only_the_announced_rows_are_sent() {
    for name in ["/etc/passwd", "dyno-rows2", ""] {
        let mut client = loading();
        let limit = settings();
        client.output.clear();
        assert_eq!(client.feed(&limit), Next::Input);
        assert!(contains(
            &client.output,
            b"LOAD DATA LOCAL INFILE 'dyno-rows'"
        ));
        client.output.clear();
        let request = [&[0xFB], name.as_bytes()].concat();
        assert_eq!(client.feed(&packets(1, &[&request])), Next::Input);
        assert_eq!(client.output, packets(2, &[&[]]));
        client.protocol.produce(&mut client.output);
        assert_eq!(client.output.len(), 4);
        assert_eq!(client.feed(&packets(3, &[OK])), Next::Finished);
        assert_eq!(error(&client).code, 2068);
    }
}

#[test]
fn a_load_executes_its_statements_in_order() {
    let mut client = loading();
    client.feed(&settings());
    client.output.clear();
    client.feed(&packets(1, &[b"\xFBdyno-rows"]));
    client.protocol.produce(&mut client.output);
    client.protocol.produce(&mut client.output);
    assert_eq!(client.output, packets(2, &[b"1\n2\n3\n", b""]));
    client.output.clear();
    client.protocol.produce(&mut client.output);
    assert!(client.output.is_empty());
    assert_eq!(
        client.feed(&packets(4, &[&[0, 3, 0, 2, 0, 0, 0]])),
        Next::Finished
    );
    let outcome = client.protocol.outcome();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3));
}

#[test]
fn a_load_without_autocommit_is_committed() {
    for (autocommit, commits) in [(b"0", true), (b"1", false)] {
        let mut client = loading();
        let row = [&b"\x0816777216\0\x01"[..], &autocommit[..]].concat();
        let columns = [column(8), column(253), column(8)];
        let [limit, mode, auto] = &columns;
        client.feed(&packets(1, &[&[3], limit, mode, auto, &row, END]));
        client.feed(&packets(1, &[b"\xFBdyno-rows"]));
        client.protocol.produce(&mut client.output);
        client.protocol.produce(&mut client.output);
        client.output.clear();
        let next = client.feed(&packets(4, &[&[0, 3, 0, 2, 0, 0, 0]]));
        assert_eq!(contains(&client.output, b"COMMIT"), commits);
        if commits {
            assert_eq!(next, Next::Input);
            assert_eq!(client.feed(&packets(1, &[OK])), Next::Finished);
        }
        let outcome = client.protocol.outcome();
        assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3));
    }
}

/// If an answer comes in the middle of the rows, it is unknown what happened to those already sent.
#[test]
fn an_answer_in_the_middle_of_a_load_ends_the_connection() {
    for (answer, kind) in [(ERROR, ErrorKind::Statement), (OK, ErrorKind::Protocol)] {
        let mut client = loading();
        client.feed(&settings());
        client.feed(&packets(1, &[b"\xFBdyno-rows"]));
        assert_eq!(client.feed(&packets(2, &[answer])), Next::Finished);
        assert_eq!(error(&client).kind, kind);
        assert!(error(&client).ends_connection);
    }
}

#[test]
fn answers_out_of_order_are_refused() {
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(client.feed(&packets(2, &[OK])), Next::Finished);
    assert_eq!(
        (error(&client).code, error(&client).kind),
        (2027, ErrorKind::Protocol)
    );
    // A server that shuts down may send its error at any time, however.
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(client.feed(&packets(0, &[ERROR])), Next::Finished);
    assert_eq!(
        (error(&client).code, error(&client).kind),
        (1064, ErrorKind::Statement)
    );
}

#[test]
fn failures_have_the_numbers_that_clients_give_them() {
    let fail = |client: &mut Client| {
        let error = DbError::new(ErrorKind::Lost, "gone");
        client.protocol.fail(error);
        let error = client.protocol.outcome().error.as_ref().unwrap();
        assert_eq!(error.sqlstate, "HY000");
        (error.code, error.kind)
    };
    for (unix_socket, code) in [(false, 2003), (true, 2002)] {
        let mut client = Client::new(options());
        let options = std::sync::Arc::new(MysqlOptions {
            unix_socket,
            ..options()
        });
        client.protocol = super::Mysql::new(&options);
        assert_eq!(fail(&mut client), (code, ErrorKind::Lost));
    }
    assert_eq!(fail(&mut Client::new(options())), (2013, ErrorKind::Lost));
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(fail(&mut client), (2013, ErrorKind::Lost));
    assert_eq!(
        fail(&mut Client::ready(CAPABILITIES)),
        (2006, ErrorKind::Lost)
    );
}
