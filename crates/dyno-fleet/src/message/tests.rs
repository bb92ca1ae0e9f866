use dyno_core::interval::{Interval, OperationInterval};
use dyno_core::rand::Stream;
use proptest::prelude::*;

use super::*;

pub(crate) fn message(body: Body) -> Message {
    Message {
        v: PROTOCOL,
        run: RunId::new("r1").unwrap(),
        agent: AgentName::new("gen1").unwrap(),
        instance: 7,
        body,
    }
}

/// A record with this number of operations and values per operation.
fn record(operations: usize, values: usize) -> Record {
    let mut stream = Stream::new(5, 0);
    let mut operation = OperationInterval::default();
    for _ in 0..values {
        let ns = 1 << stream.below(36);
        operation.latencies.record_service(ns + stream.below(ns));
    }
    Record {
        seq: 3,
        part: 0,
        parts: 1,
        end: None,
        attempt: 1,
        pieces: 0,
        late_ns: None,
        interval: (&Interval {
            index: 3,
            latencies: operation.latencies.clone(),
            operations: vec![operation; operations],
            ..Interval::default()
        })
            .into(),
    }
}

fn bodies() -> Vec<Body> {
    let probe = Probe { burst: 1, sent: 5 };
    let hello = Hello {
        protocols: vec![PROTOCOL],
        ..Hello::default()
    };
    let assignment = Assignment {
        plan: "{}".to_owned(),
        plan_sha256: String::new(),
        share: Shard {
            number: 1,
            of: 2,
            weights: vec![1, 3],
        },
        orphan_ns: 10,
    };
    let order = |task| Body::Order(Box::new(Order { serial: 4, task }));
    vec![
        Body::Hello(Box::new(hello)),
        Body::Pulse(Pulse {
            late_ns: Some(-5),
            ceiling: Some(Ceiling {
                per_s: Some(1000.5),
                ..Ceiling::default()
            }),
            ..Pulse::default()
        }),
        Body::Probe(probe),
        Body::Echo(Echo {
            probe,
            received: 1,
            sent: 2,
            unix_ns: 3,
        }),
        Body::Record(Box::new(record(2, 100))),
        Body::Record(Box::new(Record {
            end: Some(End::Completed),
            ..record(0, 0)
        })),
        Body::Outcome(Piece {
            attempt: 1,
            number: 0,
            text: "e30".to_owned(),
        }),
        order(Task::Wait),
        order(Task::Prepare(assignment)),
        order(Task::Arm {
            attempt: 1,
            start: 9,
        }),
        order(Task::Stop {
            why: "x".to_owned(),
        }),
        order(Task::Leave),
    ]
}

#[test]
fn a_message_reads_back_where_it_belongs() {
    for body in bodies() {
        let message = message(body);
        let bytes = message.encode().unwrap();
        let json = message.json().unwrap();
        assert!(json.starts_with(format!("{{\"v\":{PROTOCOL},").as_bytes()));
        let subject = message.subject();
        for bytes in [&bytes, &json] {
            assert_eq!(Message::decode(&subject, bytes).unwrap(), message);
        }
        // An agent cannot write under another's name, or on a wrong channel.
        let other = Subject {
            agent: AgentName::new("gen2").unwrap(),
            ..subject.clone()
        };
        assert!(matches!(
            Message::decode(&other, &bytes),
            Err(MessageError::Malformed { .. })
        ));
        let channel = match subject.channel {
            Channel::Intervals => Channel::End,
            _ => Channel::Intervals,
        };
        assert!(Message::decode(&Subject { channel, ..subject }, &bytes).is_err());
    }
}

#[test]
fn reports_another_protocol_before_reading_anything_else() {
    let subject = message(Body::Pulse(Pulse::default())).subject();
    let theirs = PROTOCOL + 1;
    let rest = r#""run":"r1","news":[1,2,3],"body":{"greeting":{"a":1}}}"#;
    let text = format!("{{\"v\":{theirs},{rest}");
    let error = Message::decode(&subject, text.as_bytes()).unwrap_err();
    assert_eq!(
        error,
        MessageError::Protocol {
            subject: subject.to_string(),
            theirs
        }
    );
    assert!(error.to_string().contains("run the same Dyno everywhere"));
}

#[test]
fn refuses_messages_that_are_too_large() {
    let small = message(Body::Record(Box::new(record(
        OPERATIONS_PER_PART_MAX + 1,
        0,
    ))));
    let bytes = small.encode().unwrap();
    let error = Message::decode(&small.subject(), &bytes).unwrap_err();
    assert!(
        matches!(
            error,
            MessageError::TooLarge {
                what: "operations",
                ..
            }
        ),
        "{error}"
    );
    // A few bytes that inflate to many.
    let spaces = " ".repeat(MESSAGE_BYTES_MAX);
    let many = wire::deflate(format!("{{{spaces}}}").as_bytes()).unwrap();
    assert!(many.len() < 10_000);
    for body in [
        Body::Record(Box::new(record(0, 0))),
        Body::Pulse(Pulse::default()),
    ] {
        let error = Message::decode(&message(body).subject(), &many).unwrap_err();
        assert!(
            matches!(error, MessageError::TooLarge { what: "bytes", .. }),
            "{error}"
        );
    }
    let pulse = message(Body::Pulse(Pulse {
        why: "x".repeat(5000),
        ..Pulse::default()
    }));
    let error = Message::decode(&pulse.subject(), &pulse.encode().unwrap()).unwrap_err();
    assert!(
        matches!(error, MessageError::TooLarge { what: "bytes", .. }),
        "{error}"
    );
    let pulse = message(Body::Pulse(Pulse {
        why: "x".repeat(2000),
        ..Pulse::default()
    }));
    let error = Message::decode(&pulse.subject(), &pulse.encode().unwrap()).unwrap_err();
    assert!(
        error.to_string().contains("a text of 2000 bytes"),
        "{error}"
    );
}

#[test]
fn a_large_record_is_divided_and_joined() {
    for (operations, values) in [(0, 10), (3, 1000), (300, 0), (400, 3000)] {
        let whole = record(operations, values);
        let parts = split(whole.clone()).unwrap();
        assert_eq!(parts.len() > 1, operations >= 300, "{operations}");
        let mut joiner = Joiner::default();
        let mut joined = None;
        for part in parts.iter().rev().chain(&parts) {
            let message = message(Body::Record(Box::new(part.clone())));
            let bytes = message.encode().unwrap();
            assert!(bytes.len() <= PART_BYTES_MAX + 1024, "{}", bytes.len());
            assert_eq!(
                Message::decode(&message.subject(), &bytes).unwrap(),
                message
            );
            if joined.is_none() {
                joined = joiner.take(part.clone()).unwrap();
            }
        }
        assert_eq!(joined, Some(whole));
        assert_eq!(joiner.incomplete().count(), 0);
    }
}

#[test]
fn parts_that_do_not_fit_are_refused() {
    let mut joiner = Joiner::default();
    let part = |seq, part, parts| Record {
        seq,
        part,
        parts,
        ..record(1, 1)
    };
    assert_eq!(joiner.take(part(0, 0, 3)), Ok(None));
    assert!(joiner.take(part(0, 1, 2)).is_err());
    assert!(joiner.take(part(0, 7, 3)).is_err());
    assert_eq!(joiner.incomplete().collect::<Vec<_>>(), [0]);
    let refused = (1..100).find_map(|seq| joiner.take(part(seq, 0, 2)).err());
    assert_eq!(
        refused.as_deref(),
        Some("more than 16 records are incomplete")
    );
}

#[test]
fn a_text_is_cut_between_characters() {
    assert_eq!(short("as it is"), "as it is");
    let long = "ü".repeat(TEXT_BYTES_MAX);
    assert_eq!(short(&format!("a{long}")).len(), TEXT_BYTES_MAX - 1);
}

proptest! {
    #[test]
    fn any_bytes_are_refused_or_read(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let subject = message(Body::Pulse(Pulse::default())).subject();
        prop_assert!(Message::decode(&subject, &bytes).is_err());
    }

    #[test]
    fn a_message_with_another_byte_is_refused_or_another(
        number in 0_usize..11,
        at: prop::sample::Index,
        byte: u8,
        as_json: bool,
    ) {
        let message = message(bodies().swap_remove(number));
        let mut bytes = match as_json {
            true => message.json().unwrap(),
            false => message.encode().unwrap(),
        };
        let at = at.index(bytes.len());
        bytes[at] = byte;
        let channel = message.subject().channel;
        let number = Channel::ALL.iter().position(|own| *own == channel).unwrap();
        bytes.insert(0, number as u8);
        crate::fuzzing::message(&bytes);
    }

    #[test]
    fn subjects_of_any_text_do_no_harm(text in ".{0,80}") {
        if let Some(subject) = Subject::parse(&text) {
            prop_assert_eq!(subject.to_string(), text);
        }
    }
}
