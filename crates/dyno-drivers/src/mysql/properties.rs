//! Properties that hold for anything that a server sends, no matter how the network divides it.

use dyno_core::db::{ErrorKind, OutcomeKind, Row};
use proptest::collection::vec;
use proptest::prelude::*;

use super::canned::{CAPABILITIES, Client, Request, conversation, options};
use super::rows::ResultSet;
use super::wire::capability;
use crate::channel::Protocol;

const KINDS: [u32; 2] = [CAPABILITIES, CAPABILITIES & !capability::DEPRECATE_EOF];

fn perform_all(answers: &[(Request, Vec<u8>)], pieces: &[usize]) -> Vec<String> {
    let mut client = Client::new(options());
    let mut seen = Vec::new();
    for (operation, answer) in answers {
        seen.push(client.perform(operation, answer, pieces));
    }
    seen
}

#[test]
fn conversations_have_the_expected_outcome_with_both_row_endings() {
    let [new, old] = KINDS.map(|kind| perform_all(&conversation(kind), &[usize::MAX]));
    assert_eq!(new, old);
    let kinds = "Connected Done Rows Failed Prepared Rows Rows Failed Rows Rows Done";
    for (seen, kind) in new.iter().zip(kinds.split(' ')) {
        assert!(
            seen.starts_with(&format!("Ready Outcome {{ kind: {kind},")),
            "{seen}"
        );
    }
    let text = String::from_utf8_lossy(b"7abc2024-02-29 00:00:00").into_owned();
    let row = format!("{:?}", text.as_bytes());
    // Text, binary, and the first of two results must show the same row.
    for index in [2, 5, 6, 8] {
        assert!(new[index].contains(&row), "{}", new[index]);
    }
    assert!(new[2].contains("[None, None, None]") && new[6].contains("[None, None, None]"));
}

proptest! {
    #[test]
    fn however_the_stream_is_cut_the_outcome_is_the_same(
        kind in 0..2_usize,
        pieces in vec(1..40_usize, 1..20),
    ) {
        let answers = conversation(KINDS[kind]);
        prop_assert_eq!(perform_all(&answers, &pieces), perform_all(&answers, &[usize::MAX]));
    }

    #[test]
    fn no_bytes_make_it_panic(
        answers in vec(vec(any::<u8>(), 0..300), 1..4),
        operation in 0..6_usize,
        pieces in vec(1..60_usize, 1..5),
    ) {
        let operation = OPERATIONS[operation];
        let mut client = Client::ready(CAPABILITIES);
        for answer in &answers {
            client.perform(&operation, answer, &pieces);
        }
        let mut client = Client::new(options());
        client.perform(&Request::Connect, &answers[0], &pieces);
    }

    /// Well-framed packets with arbitrary payloads.
    #[test]
    fn no_payloads_make_it_panic(
        payloads in vec(vec(any::<u8>(), 0..40), 1..8),
        first in prop::sample::select(vec![0_u8, 1, 2, 3, 0xFB, 0xFE, 0xFF]),
        operation in 0..6_usize,
    ) {
        let mut payloads = payloads;
        payloads[0].insert(0, first);
        let payloads: Vec<_> = payloads.iter().map(|payload| &payload[..]).collect();
        let answer = super::canned::packets(1, &payloads);
        for kind in KINDS {
            let mut client = Client::ready(kind);
            client.perform(&OPERATIONS[operation], &answer, &[usize::MAX]);
        }
    }

    /// A valid conversation with bytes changed, removed or inserted.
    #[test]
    fn no_mutation_makes_it_panic_or_break_the_contract(
        kind in 0..2_usize,
        turn in any::<prop::sample::Index>(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>(), 0..3_u8), 1..4),
        pieces in vec(1..60_usize, 1..5),
    ) {
        let mut answers = conversation(KINDS[kind]);
        let turn = turn.index(answers.len());
        for (place, byte, change) in changes {
            let answer = &mut answers[turn].1;
            if answer.is_empty() {
                continue;
            }
            let place = place.index(answer.len());
            match change {
                0 => answer[place] = byte,
                1 => answer.insert(place, byte),
                _ => { answer.remove(place); }
            }
        }
        let mut client = Client::new(options());
        let mut broken = false;
        for (operation, answer) in &answers {
            let seen = client.perform(operation, answer, &pieces);
            if seen.starts_with("Pending") {
                continue;
            }
            let outcome = client.protocol.outcome();
            // An outcome has an error if, and only if, it failed.
            prop_assert_eq!(outcome.kind == OutcomeKind::Failed, outcome.error.is_some());
            let error = outcome.error.as_ref();
            // A broken connection stays broken.
            prop_assert!(!broken || error.is_some_and(|error| error.code == 2006));
            broken |= error.is_some_and(|error| error.kind == ErrorKind::Protocol);
        }
    }

    /// A row that was accepted on arrival can be read later, and has as many fields as there are
    /// columns.
    #[test]
    fn no_rows_make_it_panic(
        bytes in vec(prop_oneof![any::<u8>(), 0..9_u8], 0..60),
        kind in any::<u8>(),
        flags in any::<u8>(),
        decimals in any::<u8>(),
        columns in 1..5_u32,
    ) {
        let mut definition = super::canned::column(kind);
        let len = definition.len();
        definition[len - 3] = decimals;
        definition[len - 5] = flags;
        for binary in [false, true] {
            let mut result = ResultSet::default();
            result.begin(columns, binary);
            for _ in 0..columns {
                prop_assert!(!binary || result.define(&definition).is_ok());
            }
            let head: &[u8] = if binary { &[0, 0] } else { &[] };
            let bytes = [head, &bytes].concat();
            // Most byte strings are not rows, so also take the longest prefix that is one.
            let longest = (0..=bytes.len()).rev().find(|len| result.check(&bytes[..*len]).is_ok());
            for len in longest.into_iter().chain([bytes.len()]) {
                let mut result = result_with(&result, &bytes[..len]);
                let mut row = Row::default();
                let read = result.next_row(&mut row);
                prop_assert!(longest != Some(len) || (read && row.ends.len() == columns as usize));
            }
        }
    }
}

/// A result with the same columns and one row.
fn result_with(empty: &ResultSet, row: &[u8]) -> ResultSet {
    let mut result = empty.clone();
    result.keep(&super::canned::packets(0, &[row]));
    result.count_row();
    result
}

const OPERATIONS: [Request; 6] = [
    Request::Query,
    Request::Prepare,
    Request::Execute,
    Request::NextResult,
    Request::Load,
    Request::Connect,
];
