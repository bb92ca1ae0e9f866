//! The arrivals of an open loop: when each event is due, independent of free sessions.

use std::sync::Arc;

use dyno_core::clock::Nanos;
use dyno_core::plan::{Arrivals, OpenLoop, Portion};
use dyno_core::rand::Stream;

use crate::course::Course;

/// Maximum arrivals per second: far more than sessions can serve, few enough to draw and count.
pub const RATE_MAX: f64 = 10_000_000.0;

/// Arrivals use streams that no session has: the run's is the first, those of roles follow it
/// downwards.
const ARRIVAL_STREAM: u64 = u64::MAX;

/// The beginning, the start of measuring and the end of arrivals.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Span {
    pub(crate) begin: Nanos,
    /// Earlier arrivals belong to the warm-up.
    pub(crate) measured: Nanos,
    /// No arrival at or after it.
    pub(crate) end: Option<Nanos>,
    /// At most this many measured arrivals.
    pub(crate) limit: Option<u64>,
}

/// Arrivals in order, as absolute instants: each is the previous one plus a gap, independent of the
/// clock. A clone gives the same instants again.
#[derive(Clone, Debug)]
pub(crate) struct Generator {
    span: Span,
    kind: Arrivals,
    gap_ns: f64,
    /// A rate that changes: gaps are drawn at the rate 1, and this maps their sum to an instant.
    course: Option<Arc<Course>>,
    /// The sum of those gaps.
    drawn: f64,
    stream: Stream,
    /// The number of arrivals before `upcoming`.
    index: u64,
    /// The offset of `upcoming` from the beginning. A double is exact to the nanosecond for a
    /// hundred days.
    offset_ns: f64,
    measured: u64,
    upcoming: Option<Nanos>,
    /// Arrivals of other load generators are skipped.
    portion: Option<Portion>,
}

impl Generator {
    /// The arrivals of this loop, determined by `seed` and `number`; number 0 is the run's.
    pub(crate) fn new(open: OpenLoop, seed: (u64, u64), span: Span) -> Self {
        Self::along(open, seed, span, None)
    }

    /// The arrivals of this loop with a rate that changes.
    pub(crate) fn along(
        open: OpenLoop,
        (seed, number): (u64, u64),
        span: Span,
        course: Option<Course>,
    ) -> Self {
        let mut generator = Self {
            span,
            kind: open.arrivals,
            gap_ns: match course {
                Some(_) => 1.0,
                None => 1e9 / open.per_second,
            },
            course: course.map(Arc::new),
            drawn: 0.0,
            stream: Stream::new(seed, ARRIVAL_STREAM - number),
            index: 0,
            offset_ns: 0.0,
            measured: 0,
            upcoming: None,
            portion: None,
        };
        generator.offset_ns = match open.arrivals {
            Arrivals::Poisson => generator.after_exponential_gap(),
            Arrivals::Constant => generator.equally_spaced(0),
        };
        generator.settle();
        generator
    }

    /// Restricts them to this load generator's portion.
    pub(crate) fn of(mut self, portion: Option<Portion>) -> Self {
        self.portion = portion;
        self
    }

    /// Takes the next arrival; `None` if there are no more.
    #[inline]
    pub(crate) fn claim(&mut self) -> Option<Nanos> {
        while self
            .portion
            .as_ref()
            .is_some_and(|own| !own.has(self.index))
        {
            self.next()?;
        }
        self.next()
    }

    #[inline]
    fn next(&mut self) -> Option<Nanos> {
        let arrival = self.upcoming?;
        self.index += 1;
        self.offset_ns = match self.kind {
            // From the index, so that the rounding of a fractional gap does not add up.
            Arrivals::Constant => self.equally_spaced(self.index),
            Arrivals::Poisson => self.after_exponential_gap(),
        };
        self.measured += u64::from(arrival >= self.span.measured);
        self.settle();
        Some(arrival)
    }

    /// Whether the next arrival is due by then.
    pub(crate) fn comes_by(&self, at: Nanos) -> bool {
        self.upcoming.is_some_and(|upcoming| upcoming <= at)
    }

    /// Number of arrivals taken since the state `mark`.
    pub(crate) fn drawn_since(&self, mark: &Self) -> u64 {
        self.index - mark.index
    }

    /// Whether the arrivals ended at the events limit, not at the deadline.
    pub(crate) fn used_up(&self) -> bool {
        self.span.limit.is_some_and(|limit| self.measured >= limit)
    }

    /// Takes all arrivals due at `now`; returns the number of arrivals since the beginning.
    pub(crate) fn due_by(&mut self, now: Nanos) -> u64 {
        match self.kind {
            Arrivals::Constant => self.pass(now),
            // Their instants are known only by drawing them.
            Arrivals::Poisson => {
                while self.upcoming.is_some_and(|arrival| arrival <= now) {
                    self.next();
                }
            }
        }
        let own = self.portion.as_ref();
        own.map_or(self.index, |own| own.count(self.index))
    }

    /// Takes all equally spaced arrivals due at `now`, in constant time.
    fn pass(&mut self, now: Nanos) {
        if self.upcoming.is_none_or(|arrival| arrival > now) {
            return;
        }
        let after = now.saturating_add(1);
        let due = self.equal_gaps_before(self.span.end.map_or(after, |end| after.min(end)));
        let warmup = self.equal_gaps_before(self.span.measured);
        let most = self.span.limit.map(|limit| warmup.saturating_add(limit));
        self.index = most.map_or(due, |most| due.min(most));
        self.offset_ns = self.equally_spaced(self.index);
        self.measured = self.index.saturating_sub(warmup);
        self.settle();
    }

    /// The number of equally spaced arrivals before `at`, without an end or a limit.
    fn equal_gaps_before(&self, at: Nanos) -> u64 {
        let span_ns = at.saturating_sub(self.span.begin);
        let is_due = |index: u64| (self.equally_spaced(index) as u64) < span_ns;
        // The division may be off by the rounding of doubles.
        let mut count = match &self.course {
            Some(course) => course.count_by(span_ns as f64 / 1e9) as u64,
            None => (span_ns as f64 / self.gap_ns) as u64,
        };
        while count > 0 && !is_due(count - 1) {
            count -= 1;
        }
        while is_due(count) {
            count += 1;
        }
        count
    }

    /// The offset of an equally spaced arrival.
    #[inline]
    fn equally_spaced(&self, index: u64) -> f64 {
        match &self.course {
            Some(course) => course.instant_s(index as f64) * 1e9,
            None => index as f64 * self.gap_ns,
        }
    }

    /// The offset after another exponential gap, drawn by inversion; `1 - u` is in (0, 1], so the
    /// logarithm is finite.
    #[inline]
    fn after_exponential_gap(&mut self) -> f64 {
        let gap = -(1.0 - self.stream.next_f64()).ln() * self.gap_ns;
        match &self.course {
            Some(course) => {
                self.drawn += gap;
                course.instant_s(self.drawn) * 1e9
            }
            None => self.offset_ns + gap,
        }
    }

    fn settle(&mut self) {
        let arrival = self.span.begin.saturating_add(self.offset_ns as u64);
        let past_end = self.span.end.is_some_and(|end| arrival >= end);
        let past_limit = arrival >= self.span.measured && self.used_up();
        self.upcoming = (!past_end && !past_limit).then_some(arrival);
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::plan::Shard;

    use super::*;

    fn generator(per_second: f64, arrivals: Arrivals, span: Span) -> Generator {
        let open = OpenLoop::new(per_second, arrivals);
        Generator::new(open, (42, 0), span)
    }

    #[test]
    fn a_schedule_has_its_arrivals_in_each_part() {
        use dyno_core::plan::{LoadSchedule, Scheduled};
        let text = "100/s for 4s, 0/s..1000/s over 4s, sine 50/s..450/s every 2s for 4s";
        let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
        let s = |seconds: u64| seconds * 1_000_000_000;
        let span = Span {
            begin: s(3),
            measured: s(5),
            end: Some(s(17)),
            limit: None,
        };
        for arrivals in [Arrivals::Constant, Arrivals::Poisson] {
            let open = OpenLoop::new(schedule.mean(), arrivals);
            let course = Course::new(&schedule, 2.0);
            let mut taken = Generator::along(open, (7, 0), span, Some(course));
            let mut counted = taken.clone();
            let all: Vec<Nanos> = std::iter::from_fn(|| taken.claim()).collect();
            assert!(all.is_sorted());
            let warmup = (s(3), 2, 200.0);
            let parts = [
                warmup,
                (s(5), 4, 400.0),
                (s(9), 4, 2000.0),
                (s(13), 4, 1000.0),
            ];
            for (from, seconds, expected) in parts {
                let own = from..from + s(seconds);
                let count = all.iter().filter(|at| own.contains(at)).count() as f64;
                let room = match arrivals {
                    Arrivals::Constant => 1.0,
                    Arrivals::Poisson => 4.0 * f64::sqrt(expected),
                };
                assert!(
                    (count - expected).abs() <= room,
                    "{arrivals:?} {from}: {count}"
                );
            }
            for now in [s(4), s(8), s(10), s(15), u64::MAX] {
                let due = all.iter().filter(|at| **at <= now).count() as u64;
                assert_eq!(counted.due_by(now), due, "{arrivals:?} {now}");
            }
        }
    }

    fn endless(begin: Nanos) -> Span {
        Span {
            begin,
            measured: begin,
            end: None,
            limit: None,
        }
    }

    #[test]
    fn constant_arrivals_do_not_drift_with_a_fractional_gap() {
        let begin = 123_456_789;
        let mut arrivals = generator(3.0, Arrivals::Constant, endless(begin));
        for index in 0..3_000_000u64 {
            let exact = (u128::from(index) * 1_000_000_000 / 3) as u64;
            let arrival = arrivals.claim().unwrap();
            assert!(arrival.abs_diff(begin + exact) <= 1, "arrival {index}");
        }
    }

    #[test]
    fn shards_have_all_arrivals_and_none_twice() {
        for law in [Arrivals::Constant, Arrivals::Poisson] {
            for limit in [None, Some(500)] {
                let span = Span {
                    begin: 7,
                    measured: 200_000_007,
                    end: Some(2_000_000_007),
                    limit,
                };
                let mut whole = generator(777.7, law, span);
                let mut shards: Vec<Generator> = (1..=3)
                    .map(|number| whole.clone().of(Portion::of(&Shard::equal(number, 3))))
                    .collect();
                let mut counted = shards.clone();
                let all: Vec<Nanos> = std::iter::from_fn(|| whole.claim()).collect();
                for now in [0, 7, 777_777_777, u64::MAX] {
                    let due: u64 = counted.iter_mut().map(|shard| shard.due_by(now)).sum();
                    let expected = all.iter().filter(|arrival| **arrival <= now).count();
                    assert_eq!(due, expected as u64, "{law:?} {limit:?} {now}");
                }
                let mut together: Vec<Nanos> = shards
                    .iter_mut()
                    .flat_map(|shard| std::iter::from_fn(|| shard.claim()).collect::<Vec<_>>())
                    .collect();
                together.sort_unstable();
                assert_eq!(together, all, "{law:?} {limit:?}");
                assert!(
                    shards
                        .iter()
                        .all(|shard| shard.used_up() == limit.is_some())
                );
            }
        }
    }

    #[test]
    fn rates_below_one_per_second_have_their_gaps() {
        let mut arrivals = generator(0.25, Arrivals::Constant, endless(0));
        let gaps = [0, 4, 8, 12].map(|seconds| Some(seconds * 1_000_000_000));
        assert_eq!([(); 4].map(|()| arrivals.claim()), gaps);
    }

    #[test]
    fn poisson_gaps_are_exponential() {
        let n = 20_000;
        let mut arrivals = generator(1000.0, Arrivals::Poisson, endless(5));
        let mut previous = 5;
        let mut gaps: Vec<f64> = (0..n)
            .map(|_| {
                let arrival = arrivals.claim().unwrap();
                let gap = arrival - previous;
                previous = arrival;
                gap as f64 / 1e6
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / f64::from(n);
        // The mean's standard error is 1/sqrt(n) = 0.0071; four of them.
        assert!((mean - 1.0).abs() < 0.0283, "mean gap {mean} ms");
        gaps.sort_by(f64::total_cmp);
        let distance = gaps
            .iter()
            .enumerate()
            .map(|(i, gap)| {
                let expected = 1.0 - (-gap).exp();
                let below = i as f64 / f64::from(n);
                (expected - below)
                    .abs()
                    .max((expected - below - 1.0 / f64::from(n)).abs())
            })
            .fold(0.0, f64::max);
        // Kolmogorov-Smirnov, 99.9 % point: 1.95 / sqrt(n).
        assert!(distance < 1.95 / f64::from(n).sqrt(), "distance {distance}");
    }

    #[test]
    fn a_clone_counts_the_originals_arrivals() {
        let mut arrivals = generator(1000.0, Arrivals::Poisson, endless(0));
        let mut counter = arrivals.clone();
        let taken: Vec<Nanos> = (0..5000).filter_map(|_| arrivals.claim()).collect();
        for now in [0, 1_000_000, 777_777_777, 777_777_777, 3_000_000_000] {
            let due = taken.iter().filter(|arrival| **arrival <= now).count();
            assert_eq!(counter.due_by(now), due as u64, "at {now}");
        }
    }

    #[test]
    fn arrivals_at_equal_gaps_are_counted_without_taking_each() {
        let whole = Span {
            begin: 1_000,
            measured: 1_000_000_777,
            end: Some(3_000_000_000),
            limit: None,
        };
        let limits = [None, Some(0), Some(1), Some(777), Some(u64::MAX)];
        for limit in limits {
            let span = Span { limit, ..whole };
            for per_second in [0.4, 3.0, 777.7, 12_345.6] {
                let mut taken = generator(per_second, Arrivals::Constant, span);
                let mut counted = taken.clone();
                let all: Vec<Nanos> = std::iter::from_fn(|| taken.claim()).collect();
                for now in [
                    0,
                    1_000,
                    999_999_999,
                    1_000_000_777,
                    2_000_000_000,
                    u64::MAX,
                ] {
                    let due = all.iter().filter(|arrival| **arrival <= now).count();
                    assert_eq!(
                        counted.due_by(now),
                        due as u64,
                        "{per_second} {limit:?} {now}"
                    );
                    let next = all.iter().find(|arrival| **arrival > now);
                    assert_eq!(
                        counted.clone().claim(),
                        next.copied(),
                        "{per_second} {limit:?}"
                    );
                }
                assert_eq!(counted.used_up(), taken.used_up());
            }
        }
        // Too many to be counted one by one.
        let mut arrivals = generator(RATE_MAX, Arrivals::Constant, endless(0));
        let hundred_years_ns = 3_153_600_000_000_000_000;
        let due = arrivals.due_by(hundred_years_ns) as f64;
        assert!((due / (hundred_years_ns as f64 * RATE_MAX / 1e9) - 1.0).abs() < 1e-9);
    }

    #[test]
    fn the_end_and_the_limit_hold_and_warm_up_does_not_use_the_limit() {
        let span = Span {
            begin: 0,
            measured: 1_000_000_000,
            end: Some(3_000_000_000),
            limit: Some(15),
        };
        let mut arrivals = generator(10.0, Arrivals::Constant, span);
        let all: Vec<Nanos> = std::iter::from_fn(|| arrivals.claim()).collect();
        assert_eq!(all.len(), 10 + 15);
        assert_eq!(arrivals.due_by(u64::MAX), 25);
        let unlimited = Span {
            limit: None,
            ..span
        };
        let mut arrivals = generator(10.0, Arrivals::Constant, unlimited);
        assert_eq!(std::iter::from_fn(|| arrivals.claim()).count(), 30);
    }
}
