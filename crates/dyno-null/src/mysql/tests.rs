//! Tests the protocol with requests that arrive in pieces.

use super::*;

fn logged_in(capabilities: u32) -> (Session, Replies) {
    let (mut session, replies) = (Session::new(), Replies::new());
    let login = packet(1, &capabilities.to_le_bytes());
    let mut out = Vec::new();
    let fed = session.feed(&replies, &login, &mut out);
    assert_eq!((fed.consumed, fed.close), (login.len(), false));
    assert_eq!(out[3..5], [2, 0]);
    (session, replies)
}

fn ask(session: &mut Session, replies: &Replies, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let request = packet(0, payload);
    let (head, tail) = request.split_at(request.len() / 2);
    let fed = session.feed(replies, head, &mut out);
    assert_eq!(fed.consumed, 0, "half a request is no request");
    let whole = [head, tail].concat();
    assert_eq!(
        session.feed(replies, &whole, &mut out).consumed,
        whole.len()
    );
    out
}

fn packets(mut bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    while let Some((header, rest)) = bytes.split_at_checked(4) {
        let length = usize::from(header[0]) | usize::from(header[1]) << 8;
        assert_eq!(usize::from(header[3]), found.len() + 1, "sequence");
        found.push(&rest[..length]);
        bytes = &rest[length..];
    }
    found
}

#[test]
fn a_prepared_select_gives_one_row_with_and_without_eof() {
    for (capabilities, count) in [(0, 5), (CLIENT_DEPRECATE_EOF, 4)] {
        let (mut session, replies) = logged_in(capabilities);
        let prepared = ask(&mut session, &replies, b"\x16SELECT c FROM t WHERE id=?");
        let prepared = packets(&prepared);
        assert_eq!(prepared[0][5..9], [1, 0, 1, 0], "columns and parameters");
        let mut execute = vec![0x17];
        execute.extend_from_slice(&prepared[0][1..5]);
        let rows = ask(&mut session, &replies, &execute);
        let rows = packets(&rows);
        assert_eq!(rows.len(), count);
        assert_eq!(&rows[count - 2][3..], CELL);
        assert_eq!(rows[count - 1][0], 0xfe);
    }
}

#[test]
fn a_file_is_drained_across_reads_and_its_rows_counted() {
    let (mut session, replies) = logged_in(0);
    ask(
        &mut session,
        &replies,
        b"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE t",
    );
    let mut file = packet(2, b"1,2\n3,4\n");
    file.extend_from_slice(&packet(3, b"5,6\n"));
    file.extend_from_slice(&packet(4, b""));
    let (mut out, mut at) = (Vec::new(), 0);
    for end in 1..=file.len() {
        at += session.feed(&replies, &file[at..end], &mut out).consumed;
    }
    assert_eq!(at, file.len());
    assert_eq!(out, packet(5, &ok_payload(0, 3)));
    let insert = ask(
        &mut session,
        &replies,
        b"\x16INSERT INTO t VALUES (?,?),(?,?)",
    );
    let mut execute = vec![0x17];
    execute.extend_from_slice(&packets(&insert)[0][1..5]);
    assert_eq!(ask(&mut session, &replies, &execute)[5], 2, "affected rows");
    let count = ask(&mut session, &replies, b"\x03SELECT count(*) FROM t");
    assert_eq!(packets(&count)[3], b"\x015");
    ask(&mut session, &replies, b"\x03DROP TABLE t");
    let count = ask(&mut session, &replies, b"\x03SELECT count(*) FROM t");
    assert_eq!(packets(&count)[3], b"\x011");
}
