//! Statements and their answers.

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{Param, ParamKind, Submitted};

use super::*;

#[test]
fn each_result_of_a_text_is_given_in_turn() {
    let mut talk = Talk::ready();
    let answer = [
        description(2),
        row(&[Some("1"), None]),
        row(&[Some(""), Some("b")]),
        complete("SELECT 2"),
        message(b'N', b"SNOTICE\0\0"),
        complete("UPDATE 7"),
        message(b'I', b""),
        ready(b'I'),
    ]
    .concat();
    assert_eq!(talk.query("a;b;c", &answer), Next::Finished);
    assert_eq!(talk.sent, message(b'Q', b"a;b;c\0"));
    let outcome = talk.outcome();
    assert_eq!(
        (outcome.kind, outcome.rows, outcome.columns),
        (OutcomeKind::Rows, 2, 2)
    );
    assert!(outcome.more);
    let text = |text: &str| Some(text.as_bytes().to_vec());
    assert_eq!(
        talk.rows(),
        [vec![text("1"), None], vec![text(""), text("b")]]
    );
    assert_eq!(talk.protocol.next_result(&mut Vec::new()), Submitted::Ready);
    let outcome = talk.outcome();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 7));
    assert!(outcome.more && talk.rows().is_empty());
    let _ = talk.protocol.next_result(&mut Vec::new());
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
    assert!(!talk.outcome().more);
    let _ = talk.protocol.next_result(&mut Vec::new());
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
}

#[test]
fn rows_that_were_not_read_are_passed_over() {
    let mut talk = Talk::ready();
    let one = |value| [description(1), row(&[Some(value)]), complete("SELECT 1")].concat();
    let answer = [one("a"), one("b"), one("c"), ready(b'I')].concat();
    talk.query("…", &answer);
    let _ = talk.protocol.next_result(&mut Vec::new());
    assert_eq!(talk.rows(), [[Some(b"b".to_vec())]]);
    let _ = talk.protocol.next_result(&mut Vec::new());
    talk.protocol.free_result();
    assert!(talk.rows().is_empty());
}

#[test]
fn an_error_rolls_back_the_earlier_statements_of_its_text() {
    let mut talk = Talk::ready();
    let answer = [
        complete("INSERT 0 1"),
        description(1),
        row(&[Some("1")]),
        error("ERROR", "22012", "division by zero"),
        ready(b'E'),
    ]
    .concat();
    assert_eq!(talk.query("a;b;c", &answer), Next::Finished);
    assert_eq!(talk.error().sqlstate, "22012");
    assert!(!talk.outcome().more && talk.rows().is_empty());
    assert!(talk.protocol.transaction_failed());
    talk.query("ROLLBACK", &[complete("ROLLBACK"), ready(b'I')].concat());
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
    assert!(!talk.protocol.transaction_failed());
}

#[test]
fn preparing_names_types_and_executing_sends_them() {
    let mut talk = Talk::ready();
    let kinds = [ParamKind::Int, ParamKind::Bytes, ParamKind::Double];
    let _ = talk.protocol.prepare(b"a ? ? ?", &kinds, &mut talk.sent);
    let parse = b"d1\0a $1 $2 $3\0\0\x03\0\0\0\x14\0\0\x04\x13\0\0\x02\xbd";
    let sync = message(b'S', b"");
    let expected = [message(b'P', parse), message(b'D', b"Sd1\0"), sync.clone()].concat();
    assert_eq!(talk.sent, expected);
    assert_eq!(talk.hear(&preparation(3, Some(2))), Next::Finished);
    let outcome = talk.outcome();
    assert_eq!((outcome.kind, outcome.columns), (OutcomeKind::Prepared, 2));
    let id = outcome.statement;

    let (int, bytes) = (Param::int(-2), Param::bytes(b"xyz"));
    let mut double = Param::new(ParamKind::Double, 0);
    talk.sent.clear();
    let _ = talk
        .protocol
        .execute(id, &[&int, &bytes, &double], &mut talk.sent);
    let tail = [message(b'E', b"\0\0\0\0\0"), sync].concat();
    let bind = b"\0d1\0\0\x03\0\x01\0\0\0\x01\0\x03\
        \0\0\0\x08\xff\xff\xff\xff\xff\xff\xff\xfe\0\0\0\x03xyz\xff\xff\xff\xff\0\0";
    assert_eq!(talk.sent, [message(b'B', bind), tail.clone()].concat());
    let answer = [
        message(b'2', b""),
        row(&[Some("1"), Some("2")]),
        complete("SELECT 1"),
        ready(b'T'),
    ]
    .concat();
    assert_eq!(talk.hear(&answer), Next::Finished);
    assert_eq!(
        (talk.outcome().kind, talk.outcome().rows),
        (OutcomeKind::Rows, 1)
    );

    // A parameter of a kind other than declared is sent as text.
    (double.double, double.is_null) = (0.5, 0);
    talk.sent.clear();
    let _ = talk
        .protocol
        .execute(id, &[&double, &int, &double], &mut talk.sent);
    let bind = b"\0d1\0\0\x03\0\0\0\0\0\x01\0\x03\
        \0\0\0\x030.5\0\0\0\x02-2\0\0\0\x08\x3f\xe0\0\0\0\0\0\0\0\0";
    assert_eq!(talk.sent, [message(b'B', bind), tail].concat());
}

#[test]
fn reports_misuse_and_sends_nothing() {
    let mut talk = Talk::prepared();
    let param = Param::new(ParamKind::Int, 0);
    for (statement, params) in [(0, &[&param][..]), (1, &[]), (2, &[]), (u32::MAX, &[])] {
        let submitted = talk.protocol.execute(statement, params, &mut talk.sent);
        assert_eq!(submitted, Submitted::Ready);
        assert_eq!(talk.error().kind, ErrorKind::Misuse);
    }
    let _ = talk.protocol.query(b"SELECT '\0'", &mut talk.sent);
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
    let _ = talk
        .protocol
        .prepare(b"?", &[ParamKind::Int; 2], &mut talk.sent);
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
    let _ = talk.protocol.close_statement(7, &mut talk.sent);
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
    assert!(talk.sent.is_empty());
    let _ = talk.protocol.query(b"SELECT 1", &mut talk.sent);
    let sent = talk.sent.len();
    let _ = talk.protocol.query(b"SELECT 1", &mut talk.sent);
    assert_eq!(talk.error().kind, ErrorKind::Misuse);
    assert_eq!(talk.sent.len(), sent);
}

#[test]
fn an_error_behind_the_completion_of_an_execution_overrides_it() {
    let mut talk = Talk::prepared();
    let param = Param::new(ParamKind::Int, 0);
    let _ = talk.protocol.execute(0, &[&param, &param], &mut talk.sent);
    // A deferred constraint is checked at the commit, that is, at Sync.
    let answer = [
        message(b'2', b""),
        complete("INSERT 0 1"),
        error("ERROR", "23503", "violates foreign key constraint"),
        ready(b'I'),
    ]
    .concat();
    assert_eq!(talk.hear(&answer), Next::Finished);
    assert_eq!(talk.error().sqlstate, "23503");
    assert!(!talk.outcome().more);
}

#[test]
fn a_closing_message_of_the_server_is_in_the_error() {
    let farewell = error("FATAL", "57P01", "terminating connection");
    let mut talk = Talk::prepared();
    assert_eq!(talk.query("SELECT 1", &farewell), Next::Finished);
    let lost = talk.error();
    assert_eq!(
        (lost.kind, lost.sqlstate.as_str()),
        (ErrorKind::Lost, "57P01")
    );
    assert_eq!(lost.message, "terminating connection");
    let _ = talk.protocol.query(b"SELECT 1", &mut talk.sent);
    assert_eq!(talk.error().kind, ErrorKind::Lost);

    // An error and then silence: both are reported.
    let mut talk = Talk::ready();
    assert_eq!(
        talk.query("x", &error("ERROR", "XX000", "oops")),
        Next::Input
    );
    talk.protocol
        .fail(DbError::new(ErrorKind::Lost, "lost the connection"));
    assert!(talk.error().message.contains("lost the connection"));
    assert!(talk.error().message.contains("oops"));
}

#[test]
fn messages_between_operations_are_absorbed_by_the_next() {
    let mut talk = Talk::ready();
    let answer = [
        complete("BEGIN"),
        ready(b'T'),
        message(b'N', b"SNOTICE\0\0"),
        message(b'A', b"\0\0\0\x01channel\0\0"),
    ]
    .concat();
    assert_eq!(talk.query("BEGIN", &answer), Next::Finished);
    assert_eq!(talk.query("x", b""), Next::Input);
    let answer = [
        message(b'S', b"TimeZone\0UTC\0"),
        complete("SET"),
        ready(b'T'),
    ]
    .concat();
    assert_eq!(talk.hear(&answer), Next::Finished);
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
}

#[test]
fn a_copy_begun_by_a_statement_is_ended() {
    let mut talk = Talk::prepared();
    assert_eq!(
        talk.query("COPY t FROM STDIN", &message(b'G', b"\0\0\0")),
        Next::Input
    );
    assert!(talk.sent.ends_with(&message(b'f', b"no data\0")));
    let refused = [error("ERROR", "57014", "COPY failed"), ready(b'I')].concat();
    assert_eq!(talk.hear(&refused), Next::Finished);
    assert_eq!(talk.error().kind, ErrorKind::Unsupported);

    let param = Param::new(ParamKind::Int, 0);
    let _ = talk.protocol.execute(1, &[&param], &mut talk.sent);
    talk.sent.clear();
    let begun = [message(b'2', b""), message(b'G', b"\0\0\0")].concat();
    assert_eq!(talk.hear(&begun), Next::Input);
    let expected = [message(b'f', b"no data\0"), message(b'S', b"")].concat();
    assert_eq!(talk.sent, expected);
    assert_eq!(talk.hear(&refused), Next::Finished);
    assert_eq!(talk.error().kind, ErrorKind::Unsupported);

    let out = [
        message(b'H', b"\0\0\0"),
        message(b'd', b"1\n"),
        message(b'c', b""),
        complete("COPY 1"),
        ready(b'I'),
    ]
    .concat();
    assert_eq!(talk.query("COPY t TO STDOUT", &out), Next::Finished);
    assert!(talk.error().message.contains("COPY TO STDOUT"));
    assert_eq!(
        talk.query("x", &[complete("SET"), ready(b'I')].concat()),
        Next::Finished
    );
    assert_eq!(talk.outcome().kind, OutcomeKind::Done);
}

/// Rows from `0` up to a number, one per line.
struct Lines(u64, u64);

impl RowSource for Lines {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, max_bytes: usize) -> u64 {
        assert_eq!(format, BulkFormat::TabText);
        let (start, first) = (out.len(), self.0);
        while self.0 < self.1 && (self.0 == first || out.len() - start < max_bytes) {
            out.extend_from_slice(format!("{:0>99}\n", self.0).as_bytes());
            self.0 += 1;
        }
        self.0 - first
    }

    fn rewind(&mut self) {
        self.0 = 0;
    }
}

fn lines(count: u64) -> BulkLoad {
    BulkLoad {
        table: "t".to_owned(),
        columns: vec!["a".to_owned(), "\"B\"".to_owned()],
        rows: Box::new(Lines(0, count)),
    }
}

#[test]
fn a_load_sends_all_its_rows() {
    let mut talk = Talk::ready();
    let _ = talk.protocol.bulk_load(lines(3000), &mut talk.sent);
    assert_eq!(talk.sent, message(b'Q', b"COPY t (a, \"B\") FROM STDIN\0"));
    talk.sent.clear();
    talk.protocol.produce(&mut talk.sent);
    assert!(talk.sent.is_empty(), "the server has not agreed yet");
    assert_eq!(talk.hear(&message(b'G', b"\0\0\0")), Next::Input);
    let mut chunks = Vec::new();
    loop {
        let start = talk.sent.len();
        talk.protocol.produce(&mut talk.sent);
        if talk.sent.len() == start {
            break;
        }
        chunks.push(talk.sent[start..].to_vec());
    }
    assert_eq!(chunks.pop().unwrap(), message(b'c', b""));
    let rows = chunks
        .iter()
        .map(|chunk| (chunk.len() - 5) / 100)
        .sum::<usize>();
    assert_eq!((rows, chunks.len()), (3000, 3));
    for chunk in chunks {
        assert_eq!(chunk, message(b'd', &chunk[5..]));
    }
    assert_eq!(
        talk.hear(&[complete("COPY 3000"), ready(b'I')].concat()),
        Next::Finished
    );
    let outcome = talk.outcome();
    assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3000));
}

#[test]
fn a_load_stops_when_the_server_fails() {
    let mut talk = Talk::ready();
    let _ = talk.protocol.bulk_load(lines(1_000_000), &mut talk.sent);
    talk.hear(&message(b'G', b"\0\0\0"));
    talk.protocol.produce(&mut talk.sent);
    talk.sent.clear();
    assert_eq!(
        talk.hear(&error("ERROR", "23505", "duplicate key")),
        Next::Input
    );
    talk.protocol.produce(&mut talk.sent);
    assert!(talk.sent.is_empty());
    assert_eq!(talk.hear(&ready(b'I')), Next::Finished);
    assert_eq!(talk.error().sqlstate, "23505");
}

#[test]
fn unexpected_messages_in_an_answer_are_malformed() {
    let short = [description(2), row(&[None])].concat();
    let twice = [description(1), description(1)].concat();
    for answer in [
        &ready(b'I'),
        &[complete("SET"), ready(b'?')].concat(),
        &message(b'Z', b""),
        &row(&[Some("1")]),
        &[description(1), message(b'D', b"\0\x01\0\0\0\x05abc")].concat(),
        &[description(1), message(b'D', b"\0\x01\xff\xff\xff\xfe")].concat(),
        &[description(1), message(b'D', b"\0\x01\xff\xff\xff\xff!")].concat(),
        &message(b'T', b"\xff\xff"),
        &message(b'2', b""),
        &message(b'C', b"SET"),
        &message(b'd', b""),
        &message(b'R', b"\0\0\0\0"),
        &b"Z\x7f\xff\xff\xff".to_vec(),
        &b"Z\0\0\0\0".to_vec(),
        &short,
        &[description(1), row(&[None, None])].concat(),
        &twice,
    ] {
        let mut talk = Talk::ready();
        let _ = talk.protocol.query(b"SELECT 1", &mut talk.sent);
        talk.assert_malformed(answer);
    }
}

#[test]
fn rows_of_an_execution_have_the_columns_of_its_preparation() {
    let param = Param::new(ParamKind::Int, 0);
    for (statement, fields) in [(1, &[][..]), (1, &[Some("1"), None]), (0, &[Some("1")])] {
        let params = if statement == 0 {
            &[&param, &param][..]
        } else {
            &[&param]
        };
        let answer = [
            message(b'2', b""),
            row(fields),
            complete("SELECT 1"),
            ready(b'I'),
        ];
        let mut talk = Talk::prepared();
        let _ = talk.protocol.execute(statement, params, &mut talk.sent);
        talk.assert_malformed(&answer.concat());
    }
}

#[test]
fn numbers_are_sent_by_a_template_unless_one_is_null_or_something_else() {
    let mut talk = Talk::ready();
    let kinds = [ParamKind::Int, ParamKind::Double];
    let _ = talk.protocol.prepare(b"? ?", &kinds, &mut talk.sent);
    assert_eq!(talk.hear(&preparation(2, None)), Next::Finished);
    let id = talk.outcome().statement;
    let (int, mut double) = (Param::int(258), Param::double(-0.5));
    let int_field = b"\0\0\0\x08\0\0\0\0\0\0\x01\x02";
    let double_field = b"\0\0\0\x08\xbf\xe0\0\0\0\0\0\0";
    let null = b"\xff\xff\xff\xff";
    let binary = b"\0\x02\0\x01\0\x01\0\x02";
    let done = [message(b'2', b""), complete("UPDATE 3"), ready(b'I')].concat();
    let mut sent = |int: &Param, double: &Param, formats: &[u8], fields: [&[u8]; 2]| {
        talk.sent.clear();
        let _ = talk.protocol.execute(id, &[int, double], &mut talk.sent);
        let bind = [b"\0d1\0", formats, fields[0], fields[1], b"\0\0"].concat();
        let tail = [message(b'E', b"\0\0\0\0\0"), message(b'S', b"")].concat();
        assert_eq!(talk.sent, [message(b'B', bind), tail].concat());
        assert_eq!(talk.hear(&done), Next::Finished);
        let outcome = talk.outcome();
        assert_eq!((outcome.kind, outcome.affected), (OutcomeKind::Done, 3));
    };
    sent(&int, &double, binary, [int_field, double_field]);
    double.is_null = 1;
    sent(&int, &double, binary, [int_field, null]);
    double.is_null = 0;
    sent(&int, &double, binary, [int_field, double_field]);
    let text = b"\0\x02\0\x01\0\0\0\x02";
    sent(&int, &int, text, [int_field, b"\0\0\0\x03258"]);
}
