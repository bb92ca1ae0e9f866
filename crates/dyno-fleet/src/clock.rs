//! Estimates the offset and the drift between the monotonic clocks of two hosts, with bounds. It
//! reads no clock itself: it gets timestamps and returns a [`Relation`].
//!
//! A probe and its echo carry four timestamps (Cristian, "Probabilistic clock synchronization",
//! 1989; RFC 5905, section 8). No matter how the delay divides between the two directions, the true
//! offset is within half of the round trip. The fastest exchange of each burst counts, and a
//! straight line through several bursts gives the drift.

use dyno_core::clock::Nanos;

/// The drift of a clock that is assumed before it is measured, as a share: the largest correction
/// in RFC 5905 (`MAXFREQ`).
pub const DRIFT_MAX: f64 = 500e-6;

/// How much a measured drift may change over time: the tolerance of RFC 5905 (`PHI`).
pub const WANDER: f64 = 15e-6;

/// Maximum number of bursts: two hours with one burst every ten seconds. After that, every second
/// one is dropped.
const BURSTS_MAX: usize = 720;

/// A probe and its echo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// Our clock when the probe was sent.
    pub sent: Nanos,
    /// Their clock when the probe arrived.
    pub received: Nanos,
    /// Their clock when the echo was sent.
    pub answered: Nanos,
    /// Our clock when the echo arrived.
    pub returned: Nanos,
}

/// The offset measured by one exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reading {
    /// Our clock in the middle of the exchange.
    pub at: Nanos,
    /// Theirs minus ours, in nanoseconds.
    pub offset_ns: i64,
    /// The round-trip time in nanoseconds, without the time spent at the peer. The true offset is
    /// within half of it.
    pub delay_ns: u64,
}

impl Exchange {
    /// The reading. `None` if the timestamps contradict each other, as those of a hostile peer may.
    pub fn reading(self) -> Option<Reading> {
        let round = self.returned.checked_sub(self.sent)?;
        let held = self.answered.checked_sub(self.received)?;
        let delay_ns = round.checked_sub(held)?;
        let there = i128::from(self.received) - i128::from(self.sent);
        let back = i128::from(self.answered) - i128::from(self.returned);
        Some(Reading {
            at: self.sent + round / 2,
            offset_ns: i64::try_from((there + back).div_euclid(2)).ok()?,
            delay_ns,
        })
    }
}

/// Collects exchanges in bursts.
#[derive(Clone, Debug, Default)]
pub struct Estimator {
    /// The fastest exchange of each completed burst, in order.
    bursts: Vec<Reading>,
    /// The fastest exchange of the current burst.
    quickest: Option<Reading>,
}

impl Estimator {
    /// Adds an exchange to the current burst; returns whether it was consistent.
    pub fn take(&mut self, exchange: Exchange) -> bool {
        let Some(reading) = exchange.reading() else {
            return false;
        };
        let quicker = |quickest: &Reading| reading.delay_ns < quickest.delay_ns;
        if self.quickest.as_ref().is_none_or(quicker) {
            self.quickest = Some(reading);
        }
        true
    }

    /// Ends the current burst; returns whether it had an exchange.
    pub fn end_burst(&mut self) -> bool {
        let Some(reading) = self.quickest.take() else {
            return false;
        };
        if self.bursts.len() >= BURSTS_MAX {
            let mut number = 0;
            self.bursts.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.bursts.push(reading);
        true
    }

    /// The relation of the clocks according to the completed bursts. `None` before the first.
    pub fn relation(&self) -> Option<Relation> {
        let (first, last) = (self.bursts.first()?, self.bursts.last()?);
        let count = self.bursts.len() as f64;
        let slowest = self.bursts.iter().map(|burst| burst.delay_ns).max()?;
        // Compute relative to the first one, so that doubles are exact to the nanosecond.
        let points: Vec<(f64, f64)> = self
            .bursts
            .iter()
            .map(|burst| {
                let elapsed = burst.at.saturating_sub(first.at) as f64;
                let gained = i128::from(burst.offset_ns) - i128::from(first.offset_ns);
                (elapsed, gained as f64)
            })
            .collect();
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / count;
        let (mid_t, mid_offset) = (mean(|point| point.0), mean(|point| point.1));
        let spread: f64 = points.iter().map(|(t, _)| (t - mid_t).powi(2)).sum();
        let common: f64 = points
            .iter()
            .map(|(t, offset)| (t - mid_t) * (offset - mid_offset))
            .sum();
        let span = last.at.saturating_sub(first.at) as f64;
        // If the delays alone could explain a slope that is steeper than that of any clock, the
        // slope is unknown.
        let known = slowest as f64 <= span * DRIFT_MAX && spread > 0.0;
        let drift = if known { common / spread } else { 0.0 };
        // Without a slope, use the last burst, which includes the drift since the first.
        let (t, offset) = match known {
            true => (mid_t, mid_offset),
            false => *points.last()?,
        };
        let residual = points
            .iter()
            .map(|(at, gained)| (gained - offset - drift * (at - t)).abs())
            .fold(0.0, f64::max);
        let delay = if known { slowest } else { last.delay_ns };
        let base = first.offset_ns.checked_add(offset.round() as i64)?;
        Some(Relation {
            at: first.at + t as u64,
            offset_ns: base,
            drift,
            residual_ns: if known { residual as u64 } else { 0 },
            delay_ns: delay,
            last: last.at,
            known,
        })
    }

    /// The longest delay among the bursts' fastest exchanges; 0 before the first.
    pub fn delay_ns_max(&self) -> u64 {
        let delays = self.bursts.iter().map(|burst| burst.delay_ns);
        delays.max().unwrap_or_default()
    }
}

/// The relation of another host's clock to ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Relation {
    /// The time on our clock for which the offset is valid.
    pub at: Nanos,
    /// Theirs minus ours at that time, in nanoseconds.
    pub offset_ns: i64,
    /// How much faster their clock is, as a share: 1e-6 is a microsecond per second.
    pub drift: f64,
    /// The largest distance of a burst from the line, in nanoseconds.
    pub residual_ns: u64,
    /// The delay of the exchanges, in nanoseconds.
    pub delay_ns: u64,
    /// The last burst, by our clock.
    last: Nanos,
    /// Whether the drift was measured.
    known: bool,
}

impl Relation {
    /// Theirs minus ours at a time on our clock, in nanoseconds.
    pub fn offset_at(&self, ours: Nanos) -> i64 {
        let since = i128::from(ours) - i128::from(self.at);
        let gained = (since as f64 * self.drift).round() as i64;
        self.offset_ns.saturating_add(gained)
    }

    /// Converts a time on our clock to theirs.
    pub fn theirs(&self, ours: Nanos) -> Nanos {
        ours.saturating_add_signed(self.offset_at(ours))
    }

    /// Converts a time on their clock to ours.
    pub fn ours(&self, theirs: Nanos) -> Nanos {
        let at = i128::from(self.at);
        let since = i128::from(theirs) - at - i128::from(self.offset_ns);
        let ours = at + (since as f64 / (1.0 + self.drift)).round() as i128;
        Nanos::try_from(ours.max(0)).unwrap_or(Nanos::MAX)
    }

    /// The error bound of the offset at a time on our clock, in nanoseconds.
    pub fn bound_at(&self, ours: Nanos) -> u64 {
        let wander = if self.known { WANDER } else { DRIFT_MAX };
        let since = ours.abs_diff(self.last) as f64;
        (self.delay_ns / 2)
            .saturating_add(self.residual_ns)
            .saturating_add((since * wander) as u64)
            .saturating_add(1)
    }

    /// Whether the drift was measured. If not, there was too little time for that.
    pub fn has_drift(&self) -> bool {
        self.known
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn four_stamps_give_offset_and_delay() {
        // 30 µs to get there, 50 µs to get back, and 10 µs in between. Their clock is 1 s ahead.
        let exchange = Exchange {
            sent: 5_000_000,
            received: 1_005_030_000,
            answered: 1_005_040_000,
            returned: 5_090_000,
        };
        let reading = exchange.reading().unwrap();
        assert_eq!(reading.offset_ns, 999_990_000);
        assert_eq!(reading.delay_ns, 80_000);
        assert_eq!(reading.at, 5_045_000);
        // Their clock may also be behind.
        let exchange = Exchange {
            sent: 2 * SECOND,
            received: SECOND + 20_000,
            answered: SECOND + 20_000,
            returned: 2 * SECOND + 40_000,
        };
        assert_eq!(exchange.reading().unwrap().offset_ns, -1_000_000_000);
        // An echo cannot precede its probe, nor be held for longer than the whole exchange.
        for (sent, received, answered, returned) in [
            (5, 0, 0, 4),
            (0, 9, 8, 10),
            (0, 0, 11, 10),
            (u64::MAX, 0, 0, 0),
        ] {
            let exchange = Exchange {
                sent,
                received,
                answered,
                returned,
            };
            assert_eq!(exchange.reading(), None);
        }
    }

    /// An exchange at `at` if their clock shows `offset + at * (1 + drift)`.
    fn exchange(at: u64, offset: i64, drift: f64, there: u64, back: u64) -> Exchange {
        let theirs = |ours: u64| {
            let gained = (ours as f64 * drift).round() as i64;
            ours.checked_add_signed(offset + gained).unwrap()
        };
        Exchange {
            sent: at,
            received: theirs(at + there),
            answered: theirs(at + there),
            returned: at + there + back,
        }
    }

    #[test]
    fn the_quickest_of_a_burst_counts() {
        let mut estimator = Estimator::default();
        assert_eq!(estimator.relation(), None);
        assert!(!estimator.end_burst());
        for there in [900_000, 40_000, 500_000] {
            assert!(estimator.take(exchange(SECOND, 77_000_000, 0.0, there, 20_000)));
        }
        assert!(estimator.end_burst());
        let relation = estimator.relation().unwrap();
        assert_eq!(relation.delay_ns, 60_000);
        assert_eq!(relation.offset_ns, 77_010_000);
        assert!(!relation.has_drift());
        assert_eq!(estimator.delay_ns_max(), 60_000);
    }

    #[test]
    fn drift_is_the_slope_of_the_bursts() {
        let mut estimator = Estimator::default();
        for burst in 1..=12 {
            let at = burst * 10 * SECOND;
            // The fastest exchange is symmetric, so the line is exact.
            estimator.take(exchange(at, -(SECOND as i64), 11e-6, 30_000, 30_000));
            estimator.take(exchange(at, -(SECOND as i64), 11e-6, 70_000, 30_000));
            estimator.end_burst();
        }
        let relation = estimator.relation().unwrap();
        assert!((relation.drift - 11e-6).abs() < 1e-9, "{relation:?}");
        assert!(relation.residual_ns < 10, "{relation:?}");
        // A minute later, the estimate is still good.
        let at = 180 * SECOND;
        let truth = -(SECOND as i64) + (at as f64 * 11e-6) as i64;
        assert!((relation.offset_at(at) - truth).abs() < 100, "{relation:?}");
        assert!(relation.bound_at(at) > relation.bound_at(120 * SECOND));
    }

    #[test]
    fn old_bursts_are_thinned_out() {
        let mut estimator = Estimator::default();
        for burst in 0..5_000 {
            estimator.take(exchange(burst * SECOND, 5, 0.0, 10, 10));
            estimator.end_burst();
        }
        assert!(estimator.bursts.len() <= BURSTS_MAX);
        assert_eq!(estimator.relation().unwrap().offset_ns, 5);
    }

    proptest! {
        #[test]
        fn the_true_offset_is_within_the_bound(
            offset in -3_600_000_000_000_i64..3_600_000_000_000,
            drift in -200e-6..200e-6,
            delays in prop::collection::vec((1_000_u64..5_000_000, 1_000_u64..5_000_000), 1..8),
            later in 0_u64..10,
        ) {
            let begin = 4_000 * SECOND;
            let mut estimator = Estimator::default();
            for (number, (there, back)) in delays.iter().enumerate() {
                let at = begin + number as u64 * 10 * SECOND;
                prop_assert!(estimator.take(exchange(at, offset, drift, *there, *back)));
                estimator.end_burst();
            }
            let relation = estimator.relation().unwrap();
            let at = begin + (delays.len() as u64 - 1) * 10 * SECOND + later * SECOND;
            let truth = offset + (at as f64 * drift).round() as i64;
            // With few bursts, the delays limit how precisely the slope is known.
            let slope = match relation.has_drift() {
                true => (relation.drift - drift).abs() * later as f64 * 1e9,
                false => 0.0,
            };
            let error = relation.offset_at(at).abs_diff(truth) as f64;
            prop_assert!(error <= relation.bound_at(at) as f64 + slope + 2.0, "{relation:?}");
            let back = relation.ours(relation.theirs(at));
            prop_assert!(back.abs_diff(at) <= 2, "{at} {back}");
        }

        #[test]
        fn stamps_of_any_kind_do_no_harm(stamps: [[u64; 4]; 5]) {
            let mut estimator = Estimator::default();
            for [sent, received, answered, returned] in stamps {
                estimator.take(Exchange { sent, received, answered, returned });
                estimator.end_burst();
            }
            if let Some(relation) = estimator.relation() {
                relation.ours(relation.theirs(stamps[0][0]));
                relation.bound_at(stamps[0][1]);
            }
        }
    }
}
