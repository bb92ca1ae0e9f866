//! The transactions that operations end.

use dyno_core::db::Param;

use super::*;

/// The certain and the possible ones of the last operation. The next starts from zero, as in a
/// channel.
fn ended(talk: &mut Talk) -> (u32, u32) {
    let ended = std::mem::take(&mut talk.protocol.outcome_mut().transactions);
    (ended.certain, ended.possible)
}

#[test]
fn texts_end_the_transactions_that_their_tags_and_the_status_show() {
    let cases: &[(&[&str], u8, (u32, u32))] = &[
        (&["SELECT 1"], b'I', (1, 0)),
        (&["DELETE 1"], b'I', (1, 0)),
        (&["BEGIN"], b'T', (0, 0)),
        (&["INSERT 0 1"], b'T', (0, 0)),
        (&["COMMIT"], b'I', (1, 0)),
        (&["ROLLBACK"], b'I', (1, 0)),
        // COMMIT AND CHAIN.
        (&["COMMIT"], b'T', (1, 0)),
        // To a savepoint, or AND CHAIN.
        (&["ROLLBACK"], b'T', (0, 1)),
        (&["PREPARE TRANSACTION"], b'I', (0, 0)),
        (&["COMMIT PREPARED"], b'I', (2, 0)),
        (&["ROLLBACK PREPARED"], b'I', (2, 0)),
        (&["CALL"], b'I', (1, 1)),
        (&["DO"], b'I', (1, 1)),
        (&["INSERT 0 1", "SELECT 1"], b'I', (1, 0)),
        (&["BEGIN", "UPDATE 1", "COMMIT"], b'I', (1, 0)),
        (&["UPDATE 1", "COMMIT", "SELECT 1"], b'I', (2, 0)),
        (&["COMMIT", "BEGIN"], b'T', (1, 0)),
        (&["BEGIN", "SAVEPOINT", "ROLLBACK", "COMMIT"], b'I', (1, 1)),
    ];
    for (tags, status, expected) in cases {
        let mut talk = Talk::ready();
        assert_eq!(ended(&mut talk), (0, 2), "the log-in");
        let mut answer: Vec<u8> = tags.iter().flat_map(|tag| complete(tag)).collect();
        answer.extend(ready(*status));
        assert_eq!(talk.query("…", &answer), Next::Finished);
        assert_eq!(ended(&mut talk), *expected, "{tags:?}");
    }
}

#[test]
fn a_block_in_a_transaction_commits_nothing() {
    let mut talk = Talk::ready();
    talk.query("BEGIN", &[complete("BEGIN"), ready(b'T')].concat());
    let _ = ended(&mut talk);
    talk.query("DO …", &[complete("DO"), ready(b'T')].concat());
    assert_eq!(ended(&mut talk), (0, 0));
}

#[test]
fn errors_and_requests_without_a_tag_end_transactions() {
    let mut talk = Talk::ready();
    let _ = ended(&mut talk);
    talk.query("", &[message(b'I', b""), ready(b'I')].concat());
    assert_eq!(ended(&mut talk), (1, 0), "an empty text");
    let _ = talk.protocol.prepare(b"?", &[], &mut talk.sent);
    assert_eq!(talk.hear(&preparation(1, None)), Next::Finished);
    assert_eq!(ended(&mut talk), (1, 0), "a prepare");
    let _ = talk.protocol.close_statement(0, &mut talk.sent);
    talk.hear(&[message(b'3', b""), ready(b'I')].concat());
    assert_eq!(ended(&mut talk), (0, 0), "a close");
    for (status, expected) in [(b'I', (1, 0)), (b'E', (0, 0))] {
        let failure = error("ERROR", "22012", "division by zero");
        talk.query("a", &[failure, ready(status)].concat());
        assert_eq!(ended(&mut talk), expected, "{}", status as char);
    }
    // The failed transaction counts once, when it ends.
    talk.query("COMMIT", &[complete("ROLLBACK"), ready(b'I')].concat());
    assert_eq!(ended(&mut talk), (1, 0));
}

#[test]
fn an_execution_ends_the_same_in_one_piece_and_in_two() {
    let param = Param::int(1);
    for (tag, status, expected) in [
        ("INSERT 0 1", b'I', (1, 0)),
        ("INSERT 0 1", b'T', (0, 0)),
        ("DELETE 3", b'I', (1, 0)),
        ("COMMIT", b'I', (1, 0)),
        ("ROLLBACK", b'I', (1, 0)),
    ] {
        let answer = [message(b'2', b""), complete(tag), ready(status)].concat();
        for cut in [0, 7] {
            let mut talk = Talk::prepared();
            let _ = ended(&mut talk);
            let _ = talk.protocol.execute(0, &[&param, &param], &mut talk.sent);
            talk.hear(&answer[..cut]);
            assert_eq!(talk.hear(&answer[cut..]), Next::Finished, "{tag}");
            assert_eq!(ended(&mut talk), expected, "{tag}");
        }
    }
}

#[test]
fn a_pipeline_is_one_transaction_unless_it_ends_some_itself() {
    let cases: &[(&[&str], (u32, u32))] = &[
        (&[], (0, 0)),
        (&["INSERT 0 1", "INSERT 0 1"], (1, 0)),
        (&["BEGIN", "UPDATE 1", "COMMIT"], (1, 0)),
        (&["BEGIN", "UPDATE 1", "COMMIT", "SELECT 1"], (2, 0)),
    ];
    for (tags, expected) in cases {
        let mut talk = Talk::ready();
        let _ = ended(&mut talk);
        talk.protocol.start_pipeline().unwrap();
        let mut answer = Vec::new();
        for tag in *tags {
            let _ = talk.protocol.query(b"a", &mut talk.sent);
            let parts = [message(b'1', []), message(b'2', []), message(b'n', [])];
            answer.extend(parts.concat());
            answer.extend(complete(tag));
        }
        answer.extend(ready(b'I'));
        let _ = talk.protocol.end_pipeline(&mut talk.sent);
        assert_eq!(talk.hear(&answer), Next::Finished);
        assert_eq!(ended(&mut talk), *expected, "{tags:?}");
    }
}
