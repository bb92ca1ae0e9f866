//! Pipelines: statements sent together, and their answers.

use dyno_core::db::{Param, PipedResult, Submitted};

use super::*;

const INSERTED: PipedResult = PipedResult {
    has_rows: false,
    rows: 0,
    affected: 1,
};
const SELECTED: PipedResult = PipedResult {
    has_rows: true,
    rows: 1,
    affected: 0,
};

/// A pipeline of an INSERT, a SELECT, and a text SELECT, after it was sent.
fn sent() -> Talk {
    let mut talk = Talk::prepared();
    talk.protocol.start_pipeline().unwrap();
    let [one, two] = [Param::int(1), Param::int(2)];
    for (statement, params) in [(0, &[&one, &two][..]), (1, &[&one])] {
        let submitted = talk.protocol.execute(statement, params, &mut talk.sent);
        assert_eq!(submitted, Submitted::Ready);
        assert_eq!(talk.outcome().kind, OutcomeKind::Piped);
    }
    let submitted = talk.protocol.query(b"SELECT 7", &mut talk.sent);
    assert_eq!(submitted, Submitted::Ready);
    assert!(talk.sent.is_empty(), "it waits");
    let submitted = talk.protocol.end_pipeline(&mut talk.sent);
    assert_eq!(submitted, Submitted::Pending);
    talk
}

fn tags(mut bytes: &[u8]) -> String {
    let mut tags = String::new();
    while let [tag, a, b, c, d, ..] = *bytes {
        tags.push(tag as char);
        bytes = &bytes[1 + u32::from_be_bytes([a, b, c, d]) as usize..];
    }
    tags
}

fn answer() -> Vec<u8> {
    [
        message(b'2', []),
        complete("INSERT 0 1"),
        message(b'2', []),
        row(&[Some("a")]),
        complete("SELECT 1"),
        message(b'1', []),
        message(b'2', []),
        description(1),
        row(&[Some("7")]),
        complete("SELECT 1"),
        ready(b'I'),
    ]
    .concat()
}

fn piped(talk: &Talk) -> Vec<PipedResult> {
    (0..)
        .map_while(|index| talk.protocol.piped(index))
        .collect()
}

#[test]
fn statements_wait_and_go_out_behind_one_sync() {
    let talk = sent();
    assert_eq!(tags(&talk.sent), "BEBEPBDES");
}

#[test]
fn answers_may_be_cut_anywhere() {
    let answer = answer();
    for first in 0..answer.len() {
        let mut talk = sent();
        assert_eq!(talk.hear(&answer[..first]), Next::Input, "{first}");
        assert_eq!(talk.hear(&answer[first..]), Next::Finished, "{first}");
        assert_eq!(piped(&talk), [INSERTED, SELECTED, SELECTED]);
        assert_eq!(
            (talk.outcome().kind, talk.outcome().affected),
            (OutcomeKind::Done, 1)
        );
        for value in ["a", "7"] {
            assert!(talk.outcome().more);
            let _ = talk.protocol.next_result(&mut Vec::new());
            assert_eq!(talk.rows(), [[Some(value.as_bytes().to_vec())]]);
        }
        assert!(!talk.outcome().more);
    }
    let mut talk = sent();
    let (last, before) = answer.split_last().unwrap();
    for byte in before {
        assert_eq!(talk.hear(&[*byte]), Next::Input);
    }
    assert_eq!(talk.hear(&[*last]), Next::Finished);
    assert_eq!(piped(&talk).len(), 3);
}

#[test]
fn an_error_ends_the_statements_after_it_and_none_before() {
    let mut talk = sent();
    let answer = [
        message(b'2', []),
        complete("INSERT 0 1"),
        message(b'2', []),
        row(&[Some("a")]),
        error("ERROR", "22012", "division by zero"),
        ready(b'E'),
    ]
    .concat();
    assert_eq!(talk.hear(&answer), Next::Finished);
    assert_eq!(talk.error().sqlstate, "22012");
    assert_eq!(piped(&talk), [INSERTED]);
    assert!(!talk.outcome().more && talk.protocol.transaction_failed());
    talk.query("ROLLBACK", &[complete("ROLLBACK"), ready(b'I')].concat());
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
    // And another pipeline.
    talk.protocol.start_pipeline().unwrap();
    let _ = talk.protocol.end_pipeline(&mut talk.sent);
    assert_eq!(talk.hear(&ready(b'I')), Next::Finished);
    assert_eq!(
        (talk.outcome().kind, piped(&talk).len()),
        (OutcomeKind::Done, 0)
    );
}

#[test]
fn too_many_or_too_few_answers_break_the_protocol() {
    for (answer, wrong) in [
        (answer().repeat(1)[..answer().len() - 6].to_vec(), false),
        (
            [message(b'2', []), complete("INSERT 0 1"), ready(b'I')].concat(),
            true,
        ),
        (
            [&answer()[..answer().len() - 6], &message(b'2', [])[..]].concat(),
            true,
        ),
        ([message(b'2', []), row(&[Some("a")])].concat(), true),
    ] {
        let mut talk = sent();
        let next = talk.hear(&answer);
        match wrong {
            true => assert_eq!(talk.error().kind, ErrorKind::Protocol, "{answer:?}"),
            false => assert_eq!(next, Next::Input),
        }
    }
}

#[test]
fn copy_ends_the_connection() {
    for tag in [b'G', b'H'] {
        let mut talk = sent();
        let answer = [message(b'2', []), message(tag, [0, 0, 0])].concat();
        assert_eq!(talk.hear(&answer), Next::Finished);
        assert_eq!(talk.error().kind, ErrorKind::Unsupported);
        let _ = talk.protocol.query(b"SELECT 1", &mut talk.sent);
        assert_eq!(talk.error().kind, ErrorKind::Lost);
    }
}

#[test]
fn only_executions_wait() {
    let mut talk = Talk::prepared();
    talk.protocol.start_pipeline().unwrap();
    assert_eq!(
        talk.protocol.start_pipeline().unwrap_err().kind,
        ErrorKind::Misuse
    );
    let submitted = talk.protocol.prepare(b"SELECT 1", &[], &mut talk.sent);
    assert_eq!(
        (submitted, talk.error().kind),
        (Submitted::Ready, ErrorKind::Misuse)
    );
    assert!(talk.sent.is_empty());
    talk.protocol.drop_pipeline();
    let submitted = talk.protocol.end_pipeline(&mut talk.sent);
    assert_eq!(
        (submitted, talk.error().kind),
        (Submitted::Ready, ErrorKind::Misuse)
    );
    talk.query("SELECT 1", &[complete("SELECT 1"), ready(b'I')].concat());
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
    // A lost connection loses its pipeline.
    talk.protocol.start_pipeline().unwrap();
    talk.protocol
        .fail(DbError::new(ErrorKind::Lost, "it broke"));
    let _ = talk.protocol.end_pipeline(&mut talk.sent);
    assert_eq!(talk.outcome().kind, OutcomeKind::Failed);
}

#[test]
fn a_pipeline_that_is_ended_twice_has_its_results_once() {
    let mut talk = sent();
    assert_eq!(talk.hear(&answer()), Next::Finished);
    assert_eq!(piped(&talk).len(), 3);
    talk.sent.clear();
    let submitted = talk.protocol.end_pipeline(&mut talk.sent);
    assert_eq!(submitted, Submitted::Ready);
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
    assert!(piped(&talk).is_empty() && talk.sent.is_empty());
}

#[test]
fn column_names_are_kept_on_request() {
    let mut talk = Talk::ready();
    let one = [description(1), row(&[Some("1")]), complete("SELECT 1")].concat();
    let answer = [complete("UPDATE 1"), one.clone(), ready(b'I')].concat();
    talk.query("a;b", &answer);
    assert!(talk.protocol.names().is_empty());
    talk.protocol.keep_names();
    talk.query("a;b", &answer);
    assert_eq!(talk.protocol.names(), [vec![], vec!["name".to_owned()]]);
    talk.query("b", &[one, ready(b'I')].concat());
    assert_eq!(talk.protocol.names(), [vec!["name".to_owned()]]);
}
