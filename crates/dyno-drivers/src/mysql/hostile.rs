//! Servers that want what they must not have, and servers that break off.

use dyno_core::db::{DbError, ErrorClass, OutcomeKind, Submitted};
use dyno_core::target::TlsMode;

use super::canned::{
    CAPABILITIES, Client, END, ERROR, OK, column, greeting, load, options, packets,
};
use super::wire::capability;
use crate::channel::{Next, Protocol};

const NATIVE: &str = "mysql_native_password";

fn error(client: &Client) -> &DbError {
    client.protocol.outcome().error.as_ref().unwrap()
}

/// The answer to what a load asks first.
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
    // The full exchange asks for the key, and refuses one that is none.
    let mut client = Client::new(options());
    client.feed(&packets(
        0,
        &[&greeting(CAPABILITIES, "caching_sha2_password")],
    ));
    client.output.clear();
    assert_eq!(client.feed(&packets(2, &[b"\x01\x04"])), Next::Input);
    assert_eq!(client.output, packets(3, &[&[2]]));
    assert_eq!(client.feed(&packets(4, &[b"\x01no key"])), Next::Finished);
    assert_eq!(error(&client).class, ErrorClass::Unsupported);
    assert!(!contains(&client.output, b"secret"));
}

#[test]
fn under_tls_the_password_may_be_sent() {
    let tls = CAPABILITIES | capability::SSL;
    let mut client = Client::new(super::MysqlOptions {
        tls: TlsMode::Require,
        ..options()
    });
    let greeting = packets(0, &[&greeting(tls, "caching_sha2_password")]);
    assert_eq!(client.feed(&greeting), Next::StartTls);
    // Only the request for TLS goes out in the clear: nothing of the user.
    assert_eq!((client.output.len(), client.output[3]), (36, 1));
    client.output.clear();
    let Client {
        protocol, output, ..
    } = &mut client;
    protocol.tls_established("TLSv1.3", None, output);
    assert_eq!(client.output[3], 2);
    assert!(contains(&client.output, b"user\0"));
    client.output.clear();
    assert_eq!(client.feed(&packets(3, &[b"\x01\x04"])), Next::Input);
    assert_eq!(client.output, packets(4, &[b"secret\0"]));
    assert_eq!(client.feed(&packets(5, &[OK])), Next::Finished);
    assert_eq!(client.protocol.server().tls.as_deref(), Some("TLSv1.3"));
    // The same for the plugin that sends nothing else.
    let mut client = Client::new(super::MysqlOptions {
        tls: TlsMode::Require,
        ..options()
    });
    assert_eq!(client.feed(&greeting), Next::StartTls);
    let Client {
        protocol, output, ..
    } = &mut client;
    protocol.tls_established("TLSv1.3", None, output);
    client.output.clear();
    let switch = b"\xFEmysql_clear_password\0";
    assert_eq!(client.feed(&packets(3, &[switch])), Next::Input);
    assert_eq!(client.output, packets(4, &[b"secret\0"]));
}

#[test]
fn tls_that_is_not_to_be_had_is_refused() {
    let connect = |tls| {
        let mut client = Client::new(super::MysqlOptions { tls, ..options() });
        let next = client.feed(&packets(0, &[&greeting(CAPABILITIES, NATIVE)]));
        (client, next)
    };
    for tls in [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull] {
        let (client, next) = connect(tls);
        assert_eq!((next, client.output.len()), (Next::Finished, 0));
        assert_eq!(
            (error(&client).code, error(&client).class),
            (2026, ErrorClass::Unsupported)
        );
        assert!(error(&client).message.contains("does not offer"));
    }
    for tls in [TlsMode::Disable, TlsMode::Allow, TlsMode::Prefer] {
        let (client, next) = connect(tls);
        assert_eq!((next, client.output[3]), (Next::Input, 1));
    }
}

#[test]
fn bytes_before_tls_are_not_taken_for_bytes_under_it() {
    let mut client = Client::new(super::MysqlOptions {
        tls: TlsMode::Require,
        ..options()
    });
    let tls = CAPABILITIES | capability::SSL;
    let mut input = packets(0, &[&greeting(tls, NATIVE)]);
    input.extend(packets(3, &[OK]));
    assert_eq!(client.feed(&input), Next::Finished);
    assert_eq!(error(&client).class, ErrorClass::Protocol);
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
    assert_eq!(error(&client).class, ErrorClass::Protocol);
}

#[test]
fn only_the_announced_rows_are_sent() {
    for name in ["/etc/passwd", "dyno-rows2", ""] {
        let mut client = Client::ready(CAPABILITIES);
        let Client {
            protocol, output, ..
        } = &mut client;
        assert_eq!(protocol.bulk_load(load(3), output), Submitted::Pending);
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
fn a_load_goes_through_its_statements() {
    let mut client = Client::ready(CAPABILITIES);
    let Client {
        protocol, output, ..
    } = &mut client;
    let _ = protocol.bulk_load(load(3), output);
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

/// An answer in the middle of the rows leaves it open what the server makes of those under way.
#[test]
fn an_answer_in_the_middle_of_a_load_ends_the_connection() {
    for (answer, class) in [(ERROR, ErrorClass::Lost), (OK, ErrorClass::Protocol)] {
        let mut client = Client::ready(CAPABILITIES);
        let Client {
            protocol, output, ..
        } = &mut client;
        let _ = protocol.bulk_load(load(3), output);
        client.feed(&settings());
        client.feed(&packets(1, &[b"\xFBdyno-rows"]));
        assert_eq!(client.feed(&packets(2, &[answer])), Next::Finished);
        assert_eq!(error(&client).class, class);
    }
}

#[test]
fn answers_out_of_order_are_refused() {
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(client.feed(&packets(2, &[OK])), Next::Finished);
    assert_eq!(
        (error(&client).code, error(&client).class),
        (2027, ErrorClass::Protocol)
    );
    // But a server that shuts down says so out of turn.
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(client.feed(&packets(0, &[ERROR])), Next::Finished);
    assert_eq!(
        (error(&client).code, error(&client).class),
        (1064, ErrorClass::Server)
    );
}

#[test]
fn rows_that_cannot_be_read_are_an_error_when_they_are_fetched() {
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    let answer = packets(1, &[&[1], &column(8), b"\x09short", END]);
    assert_eq!(client.feed(&answer), Next::Finished);
    assert_eq!(client.protocol.outcome().kind, OutcomeKind::Rows);
    assert!(!client.protocol.next_row(&mut dyno_core::db::Row::default()));
    assert_eq!(error(&client).class, ErrorClass::Protocol);
    let again = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!((again, error(&client).code), (Submitted::Ready, 2006));
}

#[test]
fn failures_have_the_numbers_that_clients_give_them() {
    let fail = |client: &mut Client| {
        let error = DbError::new(ErrorClass::Lost, "gone");
        client.protocol.fail(error);
        let error = client.protocol.outcome().error.as_ref().unwrap();
        assert_eq!(error.sqlstate, "HY000");
        (error.code, error.class)
    };
    for (unix_socket, code) in [(false, 2003), (true, 2002)] {
        let mut client = Client::new(options());
        let options = std::sync::Arc::new(super::MysqlOptions {
            unix_socket,
            ..options()
        });
        client.protocol = super::Mysql::new(&options);
        assert_eq!(fail(&mut client), (code, ErrorClass::Lost));
    }
    assert_eq!(fail(&mut Client::new(options())), (2013, ErrorClass::Lost));
    let mut client = Client::ready(CAPABILITIES);
    let _ = client.protocol.query(b"SELECT", &mut client.output);
    assert_eq!(fail(&mut client), (2013, ErrorClass::Lost));
    assert_eq!(
        fail(&mut Client::ready(CAPABILITIES)),
        (2006, ErrorClass::Lost)
    );
}
