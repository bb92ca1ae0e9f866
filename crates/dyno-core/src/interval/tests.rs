use proptest::prelude::*;

use super::*;
use crate::states::{SessionState, SessionStates};

#[test]
fn codes_beyond_the_bound_are_counted_together() {
    let mut errors = ErrorsByCode::new();
    for code in 0..10 * ERROR_CODES_MAX {
        let message = || format!("error {code}");
        count_error(&mut errors, &code.to_string(), ErrorKind::Full, 2, message);
    }
    assert_eq!(errors.len(), ERROR_CODES_MAX + 1);
    assert_eq!(errors["0"].kind, ErrorKind::Full);
    assert_eq!(errors[OTHER_CODES].kind, ErrorKind::Other);
    let all: u64 = errors.values().map(|error| error.count).sum();
    assert_eq!(all, 20 * ERROR_CODES_MAX as u64);
    let mut sum = ErrorsByCode::new();
    merge_errors(&mut sum, &errors);
    merge_errors(&mut sum, &errors);
    assert!(sum.len() <= ERROR_CODES_MAX + 1);
    assert_eq!(sum.values().map(|error| error.count).sum::<u64>(), 2 * all);
}

fn part(events: &[(u64, u8, u8)], session: u32) -> Interval {
    let mut part = Interval {
        index: 3,
        start: 3_000,
        end: 4_000,
        start_unix_ns: 1_700_000_000_000_000_000,
        endpoints: vec![0; 2],
        sessions: vec![SessionCount {
            session,
            events: events.len() as u64,
            span_ns: 1_000,
        }],
        states: SessionStates::all(SessionState::Working, 1),
        backlog: events.len() as u64 / 2,
        concurrency: 1,
        ..Interval::default()
    };
    for &(ns, kind, code) in events {
        record(&mut part, ns, kind, code);
    }
    part
}

/// One event, with everything that may accompany it.
fn record(part: &mut Interval, ns: u64, kind: u8, code: u8) {
    part.counters.events += 1;
    part.counters.rows += u64::from(code);
    part.latencies.record_service(ns);
    part.endpoints[usize::from(code % 2)] += 1;
    if kind.is_multiple_of(2) {
        part.latencies.record_response(ns.saturating_mul(2));
    }
    if kind.is_multiple_of(3) {
        let message = || format!("error {code}");
        let kind = ErrorKind::Conflict;
        count_error(&mut part.errors, &code.to_string(), kind, 1, message);
    }
    let operation = usize::from(kind % 4);
    if operation > 0 {
        if part.operations.len() < operation {
            part.operations.resize_with(operation, Default::default);
        }
        let operation = &mut part.operations[operation - 1];
        operation.counters.done += 1;
        operation.latencies.record_service(ns);
        if code.is_multiple_of(5) {
            operation
                .first_tries
                .get_or_insert_default()
                .record_service(ns / 2);
        }
    }
    if kind.is_multiple_of(5) {
        merge_roles(&mut part.roles, &[RoleCounters::default(); 2]);
        part.roles[usize::from(code % 2)].events += 1;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn parts_are_the_whole_in_any_order_and_serialised_or_not(
        events in prop::collection::vec((0..2 * LATENCY_NS_MAX, any::<u8>(), any::<u8>()), 0..200),
        parts in 1_usize..6,
        order in any::<prop::sample::Index>(),
    ) {
        let share = |number: usize| -> Vec<_> {
            events.iter().copied().skip(number).step_by(parts).collect()
        };
        let parts: Vec<Interval> =
            (0..parts).map(|number| part(&share(number), number as u32)).collect();
        let mut whole = part(&events, 0);
        whole.sessions = parts.iter().flat_map(|part| part.sessions.clone()).collect();
        whole.states = SessionStates::all(SessionState::Working, parts.len() as u32);
        whole.backlog = parts.iter().map(|part| part.backlog).sum();
        whole.concurrency = parts.len() as u32;
        let first = order.index(parts.len());
        let mut sum = Interval::default();
        for part in parts[first..].iter().chain(&parts[..first]).rev() {
            let bytes = serde_json::to_vec(part).unwrap();
            let read: Interval = serde_json::from_slice(&bytes).unwrap();
            prop_assert_eq!(&read, part);
            prop_assert_eq!(serde_json::to_vec(&read).unwrap(), bytes);
            sum.merge(&read);
        }
        prop_assert_eq!(&sum, &whole);
        let text = serde_json::to_string(&sum).unwrap();
        prop_assert_eq!(text, serde_json::to_string(&whole).unwrap());
    }

    #[test]
    fn codes_beyond_the_bound_are_the_same_ones_in_any_order(
        codes in prop::collection::vec(0_u16..600, 0..1200),
        cut in any::<prop::sample::Index>(),
    ) {
        let counted = |codes: &[u16]| {
            let mut errors = ErrorsByCode::new();
            for code in codes {
                let code = format!("{code:03}");
                count_error(&mut errors, &code, ErrorKind::Other, 1, String::new);
            }
            errors
        };
        let counts = |errors: &ErrorsByCode| -> Vec<(String, u64)> {
            errors.iter().map(|(code, error)| (code.clone(), error.count)).collect()
        };
        let whole = counted(&codes);
        let (one, other) = codes.split_at(cut.index(codes.len() + 1));
        let (one, other) = (counted(one), counted(other));
        for (mut sum, more) in [(one.clone(), &other), (other.clone(), &one)] {
            merge_errors(&mut sum, more);
            prop_assert_eq!(counts(&sum), counts(&whole));
        }
    }
}

/// Old files must stay readable.
#[test]
fn the_serialised_form_stays() {
    let text = include_str!("interval.json");
    let original = part(&[(1_000, 6, 4), (2_000_000, 7, 5), (3_500, 15, 10)], 2);
    let read: Interval = serde_json::from_str(text).unwrap();
    assert_eq!(read, original);
    // From before there were kinds.
    let older = text.replace("\"kind\": \"conflict\",", "");
    let read: Interval = serde_json::from_str(&older).unwrap();
    assert_eq!(read.errors["4"].kind, ErrorKind::Other);
}

#[test]
fn refuses_invalid_intervals() {
    let good = serde_json::to_value(part(&[(1_000, 6, 4)], 2)).unwrap();
    let with = |pointer: &str, value: serde_json::Value| {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        serde_json::from_value::<Interval>(bad)
            .unwrap_err()
            .to_string()
    };
    let histogram = |text: &str| with("/latencies/service", text.into());
    assert!(histogram("?").contains("base64"), "{}", histogram("?"));
    assert!(
        histogram("AAAA").contains("histogram"),
        "{}",
        histogram("AAAA")
    );
    assert!(with("/counters", "x".into()).contains("invalid type"));
    let mut unknown = good.clone();
    unknown["surprise"] = 1.into();
    let unknown = serde_json::from_value::<Interval>(unknown).unwrap_err();
    assert!(unknown.to_string().contains("surprise"), "{unknown}");
    assert_eq!(
        serde_json::from_str::<Interval>("{}").unwrap(),
        Interval::default()
    );
}

#[test]
fn a_hostile_histogram_takes_no_memory() {
    use std::io::Write as _;

    use base64::Engine as _;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;

    let read = |plain: &[u8]| {
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(plain).unwrap();
        let deflated = encoder.finish().unwrap();
        let mut bytes = vec![0x1c, 0x84, 0x93, 0x14];
        bytes.extend((deflated.len() as u32).to_be_bytes());
        bytes.extend(deflated);
        let text = base64::engine::general_purpose::STANDARD.encode(bytes);
        let mut interval = serde_json::to_value(Interval::default()).unwrap();
        interval["latencies"]["service"] = text.into();
        serde_json::from_value::<Interval>(interval)
    };
    let plain = |counts: u32, digits: u32, high: u64, tail: &[u8]| {
        let mut plain = vec![0x1c, 0x84, 0x93, 0x13];
        plain.extend(counts.to_be_bytes());
        plain.extend([0; 4]);
        plain.extend(digits.to_be_bytes());
        plain.extend(1_u64.to_be_bytes());
        plain.extend(high.to_be_bytes());
        plain.extend(1.0_f64.to_be_bytes());
        plain.extend(tail);
        plain
    };
    // A valid histogram: one count of 1 at the first place.
    let good = read(&plain(1, 3, LATENCY_NS_MAX, &[2])).unwrap();
    assert_eq!(good.latencies.service.len(), 1);
    for (bad, why) in [
        (plain(u32::MAX, 3, LATENCY_NS_MAX, &[2]), "truncated"),
        (plain(1, 5, u64::MAX, &[2]), "5 digits"),
        (
            plain(1, 3, LATENCY_NS_MAX, &vec![0; 50 << 20]),
            "more than 589824 bytes",
        ),
        (vec![1, 2], "truncated"),
    ] {
        let error = read(&bad).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    // Its own bounds are wider, but its values are within those of latencies.
    let wide = read(&plain(1, 2, u64::MAX / 2, &[2])).unwrap();
    assert_eq!(wide.latencies.service.high(), LATENCY_NS_MAX);
}
