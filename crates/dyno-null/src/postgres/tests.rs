//! Tests the protocol with requests that arrive in pieces.

use super::*;

fn logged_in() -> (Session, Replies) {
    let (mut session, replies) = (Session::new(), Replies::new());
    let mut out = Vec::new();
    let startup = [0, 0, 0, 9, 0, 3, 0, 0, 0];
    for end in 0..startup.len() {
        assert_eq!(
            session.feed(&replies, &startup[..end], &mut out).consumed,
            0
        );
    }
    assert_eq!(session.feed(&replies, &startup, &mut out).consumed, 9);
    assert_eq!(out, replies.login);
    (session, replies)
}

fn tags(mut bytes: &[u8]) -> String {
    let mut tags = String::new();
    while let Some((head, rest)) = bytes.split_first_chunk::<5>() {
        let [tag, length @ ..] = *head;
        tags.push(char::from(tag));
        bytes = &rest[u32::from_be_bytes(length) as usize - 4..];
    }
    tags
}

fn ask(session: &mut Session, replies: &Replies, request: &[u8]) -> String {
    let mut out = Vec::new();
    let fed = session.feed(replies, request, &mut out);
    assert_eq!((fed.consumed, fed.close), (request.len(), false));
    tags(&out)
}

#[test]
fn a_prepared_select_gives_one_row() {
    let (mut session, replies) = logged_in();
    let mut request = message(b'P', b"s1\0SELECT c FROM t WHERE id=$1\0\0\0");
    request.extend_from_slice(&message(b'D', b"Ss1\0"));
    request.extend_from_slice(&message(b'S', b""));
    assert_eq!(ask(&mut session, &replies, &request), "1tTZ");
    let mut request = message(b'B', b"\0s1\0\0\0\0\x01\0\0\0\x0242\0\0");
    request.extend_from_slice(&message(b'E', b"\0\0\0\0\0"));
    request.extend_from_slice(&message(b'S', b""));
    assert_eq!(ask(&mut session, &replies, &request), "2DCZ");
}

#[test]
fn skips_everything_up_to_sync_after_an_error() {
    let (mut session, replies) = logged_in();
    let mut request = message(b'B', b"\0none\0\0\0\0\0\0\0");
    request.extend_from_slice(&message(b'E', b"\0\0\0\0\0"));
    request.extend_from_slice(&message(b'S', b""));
    assert_eq!(ask(&mut session, &replies, &request), "EZ");
    assert_eq!(
        ask(&mut session, &replies, &message(b'Q', b"SELECT 1\0")),
        "TDCZ"
    );
}

#[test]
fn copied_rows_are_counted_across_reads() {
    let (mut session, replies) = logged_in();
    let copy = message(b'Q', b"COPY t FROM STDIN\0");
    assert_eq!(ask(&mut session, &replies, &copy), "G");
    let mut data = message(b'd', b"1\t2\n3\t4\n");
    data.extend_from_slice(&message(b'd', b""));
    data.extend_from_slice(&message(b'c', b""));
    let (mut out, mut at) = (Vec::new(), 0);
    for end in 1..=data.len() {
        at += session.feed(&replies, &data[at..end], &mut out).consumed;
    }
    let mut expected = message(b'C', b"COPY 2\0");
    expected.extend_from_slice(&[b'Z', 0, 0, 0, 5, b'I']);
    assert_eq!((at, out), (data.len(), expected));
    let insert = message(b'Q', b"INSERT INTO t VALUES (1),(2)\0");
    assert_eq!(ask(&mut session, &replies, &insert), "CZ");
    assert_eq!(replies.loaded.count(), 4);
    let mut out = Vec::new();
    session.feed(
        &replies,
        &message(b'Q', b"SELECT count(*) FROM t\0"),
        &mut out,
    );
    assert!(out.windows(7).any(|window| window == b"\0\x01\0\0\0\x014"));
    assert_eq!(
        ask(&mut session, &replies, &message(b'Q', b"DROP TABLE t\0")),
        "CZ"
    );
    assert_eq!(replies.loaded.count(), 1);
}

#[test]
fn a_transaction_shows_in_the_status() {
    let (mut session, replies) = logged_in();
    let mut out = Vec::new();
    session.feed(&replies, &message(b'Q', b"BEGIN\0"), &mut out);
    assert_eq!(out.last(), Some(&b'T'));
    session.feed(&replies, &message(b'Q', b"COMMIT\0"), &mut out);
    assert_eq!(out.last(), Some(&b'I'));
}
