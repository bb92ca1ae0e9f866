//! Times in which reconnecting failed.

use dyno_core::clock::Nanos;
use serde::{Deserialize, Serialize};

/// Maximum number of outages that a worker keeps; later ones extend the last.
const OUTAGES_MAX: usize = 64;

/// A time in which sessions lost their connections and could not make new ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// When the first attempt to connect failed.
    pub from: Nanos,
    /// When one succeeded again; `None` if none did.
    pub until: Option<Nanos>,
    /// Failed attempts since then, including those after the first success.
    pub attempts: u64,
}

/// The outages that a worker has seen.
#[derive(Debug, Default)]
pub(crate) struct Outages(Vec<Outage>);

impl Outages {
    #[cold]
    pub(crate) fn failed(&mut self, now: Nanos) {
        let full = self.0.len() >= OUTAGES_MAX;
        match self.0.last_mut() {
            Some(last) if last.until.is_none() || full => last.attempts += 1,
            _ => self.0.push(Outage {
                from: now,
                until: None,
                attempts: 1,
            }),
        }
    }

    #[cold]
    pub(crate) fn succeeded(&mut self, now: Nanos) {
        if let Some(last) = self.0.last_mut() {
            last.until.get_or_insert(now);
        }
    }

    pub(crate) fn take(&mut self) -> Vec<Outage> {
        std::mem::take(&mut self.0)
    }
}

/// The server's outages: overlapping ones of all workers are merged. An outage ends at the first
/// success of any session.
pub(crate) fn merged(mut all: Vec<Outage>) -> Vec<Outage> {
    all.sort_by_key(|outage| outage.from);
    let mut merged: Vec<Outage> = Vec::new();
    let mut reach = 0;
    for outage in all {
        let end = outage.until.unwrap_or(Nanos::MAX);
        match merged.last_mut() {
            Some(last) if outage.from <= reach => {
                last.until = [last.until, outage.until].into_iter().flatten().min();
                last.attempts += outage.attempts;
                reach = reach.max(end);
            }
            _ => {
                merged.push(outage);
                reach = end;
            }
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outage(from: Nanos, until: Option<Nanos>, attempts: u64) -> Outage {
        Outage {
            from,
            until,
            attempts,
        }
    }

    #[test]
    fn an_outage_ends_with_the_first_success_and_workers_report_the_same_one() {
        let mut one = Outages::default();
        for at in [10, 20, 40] {
            one.failed(at);
        }
        one.succeeded(50);
        one.succeeded(60);
        one.failed(500);
        let mut other = Outages::default();
        other.failed(12);
        other.succeeded(70);
        let all = [one.take(), other.take()].concat();
        let expected = [outage(10, Some(50), 4), outage(500, None, 1)];
        assert_eq!(merged(all), expected);
    }

    #[test]
    fn their_number_is_bounded() {
        let mut outages = Outages::default();
        for at in 0..1000 {
            outages.failed(2 * at);
            outages.succeeded(2 * at + 1);
        }
        let all = outages.take();
        assert_eq!(all.len(), OUTAGES_MAX);
        assert_eq!(all.iter().map(|outage| outage.attempts).sum::<u64>(), 1000);
    }
}
