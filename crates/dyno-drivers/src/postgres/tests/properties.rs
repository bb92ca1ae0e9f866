//! Properties that hold for any input, in any pieces.

use dyno_core::bulk::BulkLoad;
use dyno_core::db::{Param, ParamKind, Submitted};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

use super::*;

/// A request of the caller.
#[derive(Clone, Copy, Debug)]
enum Ask {
    Query,
    Prepare,
    Execute,
    Close,
    Load,
}

/// A conversation: requests and the server's answers.
type Conversation = Vec<(Ask, Vec<u8>)>;

/// Its results, for comparison.
type Trace = Vec<String>;

struct NoRows;

impl dyno_core::bulk::RowSource for NoRows {
    fn fill(&mut self, _: &mut Vec<u8>, _: dyno_core::bulk::BulkFormat, _: usize) -> u64 {
        0
    }

    fn rewind(&mut self) {}
}

fn ask(talk: &mut Talk, ask: Ask) -> Submitted {
    let param = Param::new(ParamKind::Int, 0);
    let Talk { protocol, sent, .. } = talk;
    match ask {
        Ask::Query => protocol.query(b"SELECT 1", sent),
        Ask::Prepare => protocol.prepare(b"SELECT ?", &[ParamKind::Int], sent),
        Ask::Execute => protocol.execute(1, &[&param], sent),
        Ask::Close => protocol.close_statement(0, sent),
        Ask::Load => {
            let load = BulkLoad {
                table: "t".to_owned(),
                columns: Vec::new(),
                rows: Box::new(NoRows),
            };
            protocol.bulk_load(load, sent)
        }
    }
}

fn describe(talk: &mut Talk, trace: &mut Trace) {
    loop {
        let rows = talk.rows();
        trace.push(format!("{:?} {rows:?}", talk.outcome()));
        if !talk.outcome().more {
            return;
        }
        assert_eq!(talk.protocol.next_result(&mut talk.sent), Submitted::Ready);
    }
}

/// Runs a conversation, its bytes cut into pieces of these lengths in turn.
fn hold(mut talk: Talk, conversation: &Conversation, pieces: &[usize]) -> Trace {
    let mut trace = Trace::new();
    let mut pieces = pieces.iter().copied().cycle();
    for (asked, answer) in conversation {
        if ask(&mut talk, *asked) == Submitted::Ready {
            trace.push(format!("{:?}", talk.outcome()));
            continue;
        }
        let mut rest = &answer[..];
        let mut next = talk.hear(b"");
        while next == Next::Input && !rest.is_empty() {
            let piece = pieces.next().unwrap_or(1).clamp(1, rest.len());
            next = talk.hear(&rest[..piece]);
            rest = &rest[piece..];
            // How much was sent before the server spoke again depends on time.
            talk.protocol.produce(&mut Vec::new());
        }
        // Leftover bytes stay for the next operation, as in a socket.
        talk.partial.extend_from_slice(rest);
        match next {
            Next::Finished => describe(&mut talk, &mut trace),
            Next::Input => {
                trace.push("pending".to_owned());
                return trace;
            }
            Next::StartTls => panic!("TLS in the middle of a session"),
        }
    }
    trace.push(format!("{:?}", talk.sent));
    trace
}

fn text() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-zé\n]{0,12}")
}

fn rows() -> impl Strategy<Value = Vec<u8>> {
    (0..4_usize).prop_flat_map(|columns| {
        vec(vec(text(), columns), 0..4).prop_map(move |rows| {
            let mut bytes = description(columns as u16);
            for fields in &rows {
                let fields: Vec<_> = fields.iter().map(Option::as_deref).collect();
                bytes.extend(row(&fields));
            }
            bytes.extend(complete("SELECT 1"));
            bytes
        })
    })
}

fn failure() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => Just(error("ERROR", "40001", "could not serialize")),
        1 => Just(error("FATAL", "57P01", "terminating connection")),
    ]
}

fn aside() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        4 => Just(Vec::new()),
        1 => Just(message(b'N', b"SNOTICE\0Mhello\0\0")),
        1 => Just(message(b'S', b"TimeZone\0UTC\0")),
        1 => Just(message(b'A', b"\0\0\0\x01a\0b\0")),
    ]
}

fn result() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        3 => rows(),
        2 => "(INSERT 0|UPDATE|DELETE|BEGIN) [0-9]{1,20}".prop_map(|tag| complete(&tag)),
        1 => Just(message(b'I', b"")),
        1 => failure(),
        1 => Just([message(b'H', b"\0\0\0"), message(b'd', b"x"), complete("COPY 1")].concat()),
        1 => Just([message(b'G', b"\0\0\0"), error("ERROR", "57014", "no")].concat()),
    ]
}

fn exchange() -> impl Strategy<Value = (Ask, Vec<u8>)> {
    let query = vec((aside(), result()), 1..4).prop_map(|parts| {
        parts
            .into_iter()
            .flat_map(|(a, b)| [a, b].concat())
            .collect()
    });
    let execute = vec(text(), 0..5).prop_map(|values| {
        let mut bytes = message(b'2', b"");
        for value in &values {
            bytes.extend(row(&[value.as_deref()]));
        }
        bytes.extend(complete("SELECT 5"));
        bytes
    });
    let load = Just([message(b'G', b"\0\0\0"), complete("COPY 5")].concat());
    prop_oneof![
        query.prop_map(|bytes: Vec<u8>| (Ask::Query, bytes)),
        execute.prop_map(|bytes| (Ask::Execute, bytes)),
        failure().prop_map(|bytes| (Ask::Execute, bytes)),
        Just((Ask::Prepare, preparation(1, Some(3))[..].to_vec())),
        Just((Ask::Close, message(b'3', b""))),
        load.prop_map(|bytes| (Ask::Load, bytes)),
    ]
}

fn conversation() -> impl Strategy<Value = Conversation> {
    let end = (prop::sample::select(b"ITE".to_vec()), aside());
    vec((exchange(), end), 1..6).prop_map(|exchanges| {
        let mut conversation = Conversation::new();
        for ((asked, mut bytes), (status, aside)) in exchanges {
            if !matches!(asked, Ask::Prepare) {
                bytes.extend(ready(status));
            }
            bytes.extend(aside);
            conversation.push((asked, bytes));
        }
        conversation
    })
}

proptest! {
    #[test]
    fn pieces_make_no_difference(
        conversation in conversation(),
        pieces in vec(1..40_usize, 1..20),
    ) {
        let whole = hold(Talk::prepared(), &conversation, &[usize::MAX]);
        prop_assert!(!whole.iter().any(|line| line.contains("class: Protocol")), "{whole:?}");
        prop_assert_eq!(&whole, &hold(Talk::prepared(), &conversation, &pieces));
        prop_assert_eq!(&whole, &hold(Talk::prepared(), &conversation, &[1]));
    }

    #[test]
    fn damage_is_survived_and_pieces_still_make_no_difference(
        mut conversation in conversation(),
        damage in vec((any::<Index>(), any::<Index>(), any::<u8>(), 0..3_u8), 1..5),
        pieces in vec(1..40_usize, 1..20),
    ) {
        for (exchange, place, byte, how) in damage {
            let count = conversation.len();
            let bytes = &mut conversation[exchange.index(count)].1;
            if bytes.is_empty() {
                continue;
            }
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                _ => drop(bytes.remove(place)),
            }
        }
        let whole = hold(Talk::prepared(), &conversation, &[usize::MAX]);
        prop_assert_eq!(&whole, &hold(Talk::prepared(), &conversation, &pieces));
    }

    #[test]
    fn noise_is_survived(noise in vec(any::<u8>(), 0..200), tag in any::<u8>()) {
        for asked in [Ask::Query, Ask::Prepare, Ask::Execute, Ask::Close, Ask::Load] {
            for bytes in [noise.clone(), message(tag, &noise)] {
                hold(Talk::prepared(), &vec![(asked, bytes)], &[usize::MAX]);
            }
        }
    }

    #[test]
    fn a_noisy_greeting_is_survived(
        noise in vec(any::<u8>(), 0..100),
        request in 0..14_u32,
        tag in any::<u8>(),
        place in any::<Index>(),
    ) {
        let mut damaged = greeting();
        let place = place.index(damaged.len());
        damaged[place] = tag;
        for bytes in [noise.clone(), message(tag, &noise), auth(request, &noise), damaged] {
            for mode in [TlsMode::Disable, TlsMode::Prefer] {
                let mut talk = Talk::new(&options(mode));
                for byte in &bytes {
                    if talk.hear(&[*byte]) != Next::Input {
                        break;
                    }
                }
                let mut talk = Talk::new(&options(mode));
                talk.hear(&bytes);
            }
        }
    }

    #[test]
    fn a_long_message_that_does_not_come_costs_nothing(length in 4..u32::MAX) {
        let mut talk = Talk::ready();
        let _ = ask(&mut talk, Ask::Query);
        let next = talk.hear(&[&b"D"[..], &length.to_be_bytes()].concat());
        let possible = length as usize - 4 <= 1 << 30;
        prop_assert_eq!(next == Next::Input, possible && length > 4);
    }
}
