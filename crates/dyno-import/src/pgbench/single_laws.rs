//! Checks a log of single transactions for contradictions.

use std::collections::BTreeMap;

use super::output::Output;
use super::single::columns;
use super::sum_laws;
use super::transactions::{Columns, End, Transaction, is_numbered};

/// Up to version 13 a transaction's end is read from the clock a little later than its latency, so
/// transactions of a client may overlap by a share of their time, and by microseconds in all.
const OVERLAP: (f64, f64) = (0.05, 100_000.0);

/// Why a log cannot be true, or be of the report's run.
pub(super) fn contradiction(log: &[Transaction], output: &Output) -> Option<String> {
    twice(log)
        .or_else(|| overlap(&log.iter().collect::<Vec<_>>(), output))
        .or_else(|| deviation(log, output))
}

/// Checks the report's deviation, unless a transaction was not measured.
fn deviation(log: &[Transaction], output: &Output) -> Option<String> {
    let done = log.iter().filter(|one| one.end == End::Done);
    let us: Vec<f64> = done.map(|one| one.latency_us as f64).collect();
    let squares: f64 = us.iter().map(|us| us * us).sum();
    let is_timed = us.iter().all(|us| *us > 0.0);
    let of_report = || sum_laws::deviation(us.len() as u64, us.iter().sum(), squares, output);
    is_timed.then(of_report).flatten()
}

/// Checks that no client has two transactions with the same number.
fn twice(all: &[Transaction]) -> Option<String> {
    if is_numbered(all) {
        return None;
    }
    let done = all.iter().filter(|one| one.end == End::Done);
    let mut numbers: Vec<(u32, u64)> = done.map(|one| (one.client, one.number)).collect();
    numbers.sort_unstable();
    let pair = numbers.windows(2).find(|pair| pair[0] == pair[1])?;
    let (client, number) = pair[0];
    Some(format!(
        "client {client} has two transactions with the number {number}, as if the log covered \
         several runs"
    ))
}

/// A client executes one transaction after the other, so together they take no longer than from the
/// start of its first one to the end of its last one.
fn overlap(all: &[&Transaction], output: &Output) -> Option<String> {
    let columns = columns(all, output, &mut Vec::new());
    // The latency may include a lag: the log does not distinguish it from a number of tries.
    if columns == Columns::default() && all.iter().any(|one| one.columns() > 0) {
        return None;
    }
    let mut clients: BTreeMap<u32, (u64, u64, u64)> = BTreeMap::new();
    for one in all.iter().filter(|one| one.end == End::Done) {
        let own_us = one.service_us(columns);
        let began_us = one.ended_us.saturating_sub(own_us);
        let client = clients.entry(one.client).or_insert((u64::MAX, 0, 0));
        client.0 = client.0.min(began_us);
        client.1 = client.1.max(one.ended_us);
        client.2 = client.2.saturating_add(own_us);
    }
    clients
        .into_iter()
        .find_map(|(client, (from_us, to_us, busy_us))| {
            let span_us = to_us.saturating_sub(from_us) as f64;
            let (share, us) = OVERLAP;
            let busy_us = busy_us as f64;
            (busy_us > span_us * (1.0 + share) + us).then(|| {
                format!(
                    "the transactions of client {client} take {:.1} s in {:.1} s, but a client has \
                 only one at a time",
                    busy_us / 1e6,
                    span_us / 1e6
                )
            })
        })
}
