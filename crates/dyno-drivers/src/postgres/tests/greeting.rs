//! Connecting: TLS modes and authentication.

use super::*;
use crate::disclosure::Disclosure;

const TLS_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

fn startup() -> Vec<u8> {
    let body = b"\0\x03\0\0user\0anna\0database\0shop\0application_name\0test\0\
        client_encoding\0UTF8\0\0";
    [&(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// After the startup message.
fn started() -> Talk {
    started_at(Disclosure::default())
}

/// After the startup message, with this knowledge about the server.
fn started_at(disclosure: Disclosure) -> Talk {
    let mut talk = Talk::new(&PostgresOptions {
        disclosure,
        ..options(TlsMode::Disable)
    });
    assert_eq!(talk.sent, startup());
    talk.sent.clear();
    talk
}

/// After the startup message, on a connection with TLS.
fn protected(end_point: Option<Vec<u8>>) -> Talk {
    let mut talk = Talk::new(&options(TlsMode::Require));
    assert_eq!(talk.hear(b"S"), Next::StartTls);
    talk.sent.clear();
    talk.protocol
        .tls_established("TLSv1.3", end_point, &mut talk.sent);
    assert_eq!(talk.sent, startup());
    talk.sent.clear();
    talk
}

#[test]
fn a_trusted_user_gets_in() {
    let mut talk = started();
    assert_eq!(talk.hear(&greeting()), Next::Finished);
    assert_eq!(talk.outcome().kind, OutcomeKind::Connected);
    assert_eq!(talk.protocol.server().product, "PostgreSQL");
    assert_eq!(talk.protocol.server().version, "16.3 (made up)");
    assert_eq!(talk.protocol.server().tls, None);
}

#[test]
fn the_mode_decides_whether_tls_is_requested() {
    for mode in [TlsMode::Disable, TlsMode::Allow] {
        assert_eq!(Talk::new(&options(mode)).sent, startup());
    }
    let strict = [TlsMode::Require, TlsMode::VerifyCa, TlsMode::VerifyFull];
    for mode in [TlsMode::Prefer].iter().chain(&strict) {
        let mut talk = Talk::new(&options(*mode));
        assert_eq!(talk.sent, TLS_REQUEST);
        assert_eq!(talk.hear(b"S"), Next::StartTls);
    }
    for mode in strict {
        let mut talk = Talk::new(&options(mode));
        assert_eq!(talk.hear(b"N"), Next::Finished);
        assert_eq!(talk.error().kind, ErrorKind::Lost);
        assert!(talk.error().message.contains("TLS"));
    }
    let socket = PostgresOptions {
        unix_socket: true,
        ..options(TlsMode::VerifyFull)
    };
    assert_eq!(Talk::new(&socket).sent, startup());
}

#[test]
fn prefer_continues_in_the_clear_if_the_server_has_no_tls() {
    let mut talk = Talk::new(&options(TlsMode::Prefer));
    talk.sent.clear();
    assert_eq!(talk.hear(b"N"), Next::Input);
    assert_eq!(talk.sent, startup());
    assert_eq!(talk.hear(&greeting()), Next::Finished);
    assert_eq!(talk.outcome().kind, OutcomeKind::Connected);
}

#[test]
fn bytes_stuffed_before_tls_are_refused() {
    let mut talk = Talk::new(&options(TlsMode::Prefer));
    let stuffed = [b"S".to_vec(), auth(0, b"")].concat();
    talk.assert_malformed(&stuffed);
    let mut talk = Talk::new(&options(TlsMode::Prefer));
    talk.assert_malformed(b"X");
    let mut talk = Talk::new(&options(TlsMode::Prefer));
    assert_eq!(talk.hear(b"E"), Next::Finished);
    assert_eq!(talk.error().kind, ErrorKind::Lost);
}

#[test]
fn passwords_are_given_as_asked() {
    let nearby = Disclosure {
        local: true,
        ..Disclosure::default()
    };
    let mut talk = started_at(nearby);
    assert_eq!(talk.hear(&auth(3, b"")), Next::Input);
    assert_eq!(talk.sent, message(b'p', b"secret\0"));
    assert_eq!(talk.hear(&greeting()), Next::Finished);
    assert_eq!(talk.outcome().kind, OutcomeKind::Connected);

    let mut talk = started();
    assert_eq!(talk.hear(&auth(5, b"salt")), Next::Input);
    // echo -n "$(echo -n secretanna | md5sum | cut -c-32)salt" | md5sum
    let expected = message(b'p', b"md5f2871a3fd1753476439ec81baf6908be\0");
    assert_eq!(talk.sent, expected);
}

#[test]
fn the_plain_password_goes_only_to_trusted_servers() {
    let none = Disclosure::default();
    let verified = Disclosure {
        verified: true,
        ..none
    };
    let allowed = Disclosure {
        allowed: true,
        ..none
    };
    for (disclosure, tls, permitted) in [
        (none, false, false),
        (none, true, false),
        (verified, false, false),
        (verified, true, true),
        (allowed, false, true),
        (allowed, true, true),
    ] {
        // With `prefer`, the default, a request under TLS is not answered without TLS.
        let mut talk = Talk::new(&PostgresOptions {
            disclosure,
            ..options(TlsMode::Prefer)
        });
        if tls {
            assert_eq!(talk.hear(b"S"), Next::StartTls);
            let sent = &mut talk.sent;
            talk.protocol.tls_established("TLSv1.3", None, sent);
        } else {
            talk.hear(b"N");
        }
        talk.sent.clear();
        if permitted {
            assert_eq!(talk.hear(&auth(3, b"")), Next::Input);
            assert_eq!(talk.sent, message(b'p', b"secret\0"));
            continue;
        }
        assert_eq!(talk.hear(&auth(3, b"")), Next::Finished);
        assert_eq!(talk.sent.len(), 0);
        for part in ["sslrootcert", "allow_cleartext_password=1", "was not sent"] {
            assert!(talk.error().message.contains(part), "{}", talk.error());
        }
        assert!(!talk.protocol.retry());
    }
}

#[test]
fn a_challenge_does_not_keep_the_client_computing() {
    for (rounds, next) in [("4096", Next::Input), ("2147483647", Next::Finished)] {
        let mut talk = started();
        assert_eq!(talk.hear(&auth(10, b"SCRAM-SHA-256\0\0")), Next::Input);
        let sent = String::from_utf8_lossy(&talk.sent).into_owned();
        let nonce = sent.rsplit("r=").next().unwrap();
        let challenge = format!("r={nonce}more,s=c2FsdA==,i={rounds}");
        assert_eq!(talk.hear(&auth(11, challenge.as_bytes())), next);
    }
}

#[test]
fn a_password_that_was_not_given_is_asked_for_by_name() {
    let mechanisms = b"SCRAM-SHA-256\0\0";
    for request in [auth(3, b""), auth(5, b"salt"), auth(10, mechanisms)] {
        let mut talk = Talk::new(&PostgresOptions {
            password: None,
            ..options(TlsMode::Disable)
        });
        assert_eq!(talk.hear(&request), Next::Finished);
        assert_eq!(talk.error().kind, ErrorKind::Refused);
        assert!(talk.error().ends_connection);
        assert!(talk.error().message.contains("user \"anna\""));
    }
}

#[test]
fn reports_a_refusal_in_the_servers_words() {
    let mut talk = started();
    talk.hear(&auth(5, b"salt"));
    let refusal = error("FATAL", "28P01", "password authentication failed");
    assert_eq!(talk.hear(&refusal), Next::Finished);
    let error = talk.error();
    assert_eq!(
        (error.kind, error.sqlstate.as_str()),
        (ErrorKind::Refused, "28P01")
    );
    assert!(error.message.ends_with("password authentication failed"));
    assert!(error.message.contains("\"shop\"") && !error.message.contains("secret"));

    let mut talk = started();
    assert_eq!(talk.hear(b"Eno more proc"), Next::Input);
    assert_eq!(talk.hear(b"esses\n\0"), Next::Finished);
    assert!(talk.error().message.ends_with("no more processes"));

    let mut talk = started();
    assert_eq!(talk.hear(&auth(7, b"")), Next::Finished);
    assert!(talk.error().message.contains("GSSAPI"));
}

#[test]
fn channel_binding_is_used_where_it_can_be() {
    let begun = |talk: &Talk| String::from_utf8_lossy(&talk.sent).into_owned();
    let both = b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0";
    let mut talk = protected(Some(vec![1; 32]));
    talk.hear(&auth(10, both));
    assert!(begun(&talk).contains("SCRAM-SHA-256-PLUS\0"));
    assert!(begun(&talk).contains("p=tls-server-end-point,,n=,r="));
    assert_eq!(talk.protocol.server().tls.as_deref(), Some("TLSv1.3"));

    // We support binding, but the server does not offer it: say so.
    let mut talk = protected(Some(vec![1; 32]));
    talk.hear(&auth(10, b"SCRAM-SHA-256\0\0"));
    assert!(begun(&talk).contains("SCRAM-SHA-256\0\0\0\0"));
    assert!(begun(&talk).contains("y,,n=,r="));

    // The certificate has no hash to bind to.
    let mut talk = protected(None);
    talk.hear(&auth(10, both));
    assert!(begun(&talk).contains("n,,n=,r="));

    let mut talk = started();
    talk.hear(&auth(10, both));
    assert!(talk.error().message.contains("without TLS"));
    let mut talk = started();
    talk.hear(&auth(10, b"OAUTHBEARER\0\0"));
    assert!(talk.error().message.contains("SASL"));
}

#[test]
fn a_server_that_does_not_prove_itself_is_refused() {
    let mechanisms = auth(10, b"SCRAM-SHA-256\0\0");
    // The server accepts half-way, without a proof.
    let mut talk = started();
    assert_eq!(talk.hear(&mechanisms), Next::Input);
    talk.assert_malformed(&auth(0, b""));
    // A nonce that does not continue ours; endless work.
    for challenge in ["r=other,s=c2FsdA==,i=4096", "nonsense", ""] {
        let mut talk = started();
        talk.hear(&mechanisms);
        assert_eq!(talk.hear(&auth(11, challenge.as_bytes())), Next::Finished);
        assert_eq!(talk.error().kind, ErrorKind::Refused);
        assert!(talk.error().ends_connection);
    }
    for (iterations, accepted) in [(4096, true), (2_000_000_000, false)] {
        let mut talk = started();
        talk.hear(&mechanisms);
        let sent = String::from_utf8_lossy(&talk.sent).into_owned();
        let nonce = sent.split("r=").nth(1).unwrap();
        let challenge = format!("r={nonce}more,s=c2FsdA==,i={iterations}");
        let next = talk.hear(&auth(11, challenge.as_bytes()));
        assert_eq!(next == Next::Input, accepted);
        if accepted {
            assert_eq!(talk.hear(&auth(12, b"v=AAAA")), Next::Finished);
            assert!(talk.error().message.contains("could not prove"));
        }
    }
}

#[test]
fn unexpected_messages_in_a_greeting_are_malformed() {
    let again = [auth(0, b""), auth(0, b"")].concat();
    let long = [&b"R"[..], &0x0010_0000_u32.to_be_bytes()].concat();
    for bytes in [
        &ready(b'I'),
        &message(b'S', b"server_version\x0016\0"),
        &message(b'D', b""),
        &again,
        &auth(11, b"r=x"),
        &auth(12, b"v=x"),
        &auth(5, b"abc"),
        &auth(99, b""),
        &message(b'R', b"\0"),
        &long,
        &b"HTTP/1.1 400 Bad Request".to_vec(),
        &b"R\0\0\0\x03".to_vec(),
    ] {
        started().assert_malformed(bytes);
    }
}

#[test]
fn names_that_cannot_be_sent_are_refused() {
    let options = PostgresOptions {
        database: "a\0b".to_owned(),
        ..options(TlsMode::Disable)
    };
    let error = Postgres::new(&options).err().unwrap();
    assert_eq!(error.kind, ErrorKind::Misuse);
}

/// The first message of a protocol.
fn greet(talk: &mut Talk) -> Vec<u8> {
    talk.sent.clear();
    talk.partial.clear();
    talk.protocol.connected(&mut talk.sent);
    talk.sent.clone()
}

#[test]
fn allow_tries_tls_if_the_server_refuses_plaintext() {
    let mut talk = Talk::new(&options(TlsMode::Allow));
    talk.hear(&error("FATAL", "28000", "no entry, no encryption"));
    assert_eq!(talk.error().kind, ErrorKind::Refused);
    assert!(talk.error().ends_connection);
    assert!(talk.protocol.retry());
    assert_eq!(greet(&mut talk), TLS_REQUEST);
    assert_eq!(talk.hear(b"N"), Next::Finished);
    // The error includes both attempts, and there is no third.
    assert!(talk.error().message.contains("does not offer TLS"));
    assert!(talk.error().message.contains("no entry, no encryption"));
    assert!(!talk.protocol.retry());
}

#[test]
fn prefer_falls_back_to_no_tls_if_the_server_refuses_it_or_it_fails() {
    let refused = |talk: &mut Talk| {
        talk.protocol
            .tls_established("TLSv1.3", None, &mut talk.sent);
        talk.hear(&error("FATAL", "28000", "no entry, encryption"));
    };
    let failed = |talk: &mut Talk| {
        let failure = DbError::new(ErrorKind::Protocol, "TLS failed");
        talk.protocol.fail(failure);
    };
    for fail in [refused as fn(&mut Talk), failed] {
        let mut talk = Talk::new(&options(TlsMode::Prefer));
        assert_eq!(talk.hear(b"S"), Next::StartTls);
        fail(&mut talk);
        assert!(talk.protocol.retry());
        assert_eq!(greet(&mut talk), startup());
        assert_eq!(talk.hear(&greeting()), Next::Finished);
        assert_eq!(talk.outcome().kind, OutcomeKind::Connected);
        assert_eq!(talk.protocol.server().tls, None);
    }
}

#[test]
fn nothing_else_is_tried_twice() {
    let refusal = error("FATAL", "28P01", "no");
    let clear = |mode| {
        let mut talk = Talk::new(&options(mode));
        if mode == TlsMode::Prefer {
            talk.hear(b"N");
        }
        talk.hear(&refusal);
        talk
    };
    let mut strict = protected(None);
    strict.hear(&refusal);
    // We refused the server, not the server us.
    let mut ours = Talk::new(&options(TlsMode::Allow));
    ours.hear(&auth(7, b""));
    let mut later = Talk::ready();
    later.query("SELECT 1", &refusal);
    for mut talk in [
        clear(TlsMode::Disable),
        clear(TlsMode::Prefer),
        strict,
        ours,
        later,
    ] {
        assert_eq!(talk.error().kind, ErrorKind::Refused);
        assert!(talk.error().ends_connection);
        assert!(!talk.protocol.retry());
    }
}
