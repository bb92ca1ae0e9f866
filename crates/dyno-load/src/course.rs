//! A load that changes over time: due times of arrivals, and the number of active sessions.

use dyno_core::clock::Nanos;
use dyno_core::plan::{LoadPart, LoadSchedule, LoadShape};

/// Steps of the search for an instant within a sine: each at least halves the rest.
const STEPS_MAX: u32 = 64;
/// Precision of an instant, in seconds.
const EXACT_S: f64 = 1e-10;

/// A rate over time, and its inverse: the n-th arrival is due when the integral of the rate is n.
/// This turns arrivals at the rate 1 into those of any rate, equally spaced or not (a time change:
/// Çinlar, "Introduction to Stochastic Processes").
#[derive(Debug)]
pub(crate) struct Course {
    pieces: Vec<Piece>,
}

#[derive(Debug)]
struct Piece {
    from_s: f64,
    /// Arrivals due before the piece.
    before: f64,
    part: LoadPart,
}

impl Course {
    /// The course of a schedule after a warm-up at its first level.
    pub(crate) fn new(schedule: &LoadSchedule, warmup_s: f64) -> Self {
        let first = schedule.first();
        let warmup = LoadPart {
            shape: LoadShape::Constant,
            from: first,
            to: first,
            seconds: warmup_s,
            period_s: None,
        };
        let mut pieces = Vec::with_capacity(schedule.parts.len() + 1);
        let (mut from_s, mut before) = (0.0, 0.0);
        for part in std::iter::once(&warmup).chain(&schedule.parts) {
            if part.seconds > 0.0 {
                pieces.push(Piece {
                    from_s,
                    before,
                    part: *part,
                });
                from_s += part.seconds;
                before += part.integral(part.seconds);
            }
        }
        Self { pieces }
    }

    /// When arrival `count` is due, in seconds from the beginning; infinite if never. The last
    /// level continues after the end.
    pub(crate) fn instant_s(&self, count: f64) -> f64 {
        // The last of several pieces without an arrival between them.
        let after = self.pieces.partition_point(|piece| piece.before <= count);
        let Some(piece) = self.pieces.get(after.saturating_sub(1)) else {
            return f64::INFINITY;
        };
        piece.from_s + within(&piece.part, count - piece.before)
    }

    /// The number of arrivals due by then, with a fraction.
    pub(crate) fn count_by(&self, at_s: f64) -> f64 {
        let after = self.pieces.partition_point(|piece| piece.from_s <= at_s);
        let Some(piece) = self.pieces.get(after.saturating_sub(1)) else {
            return 0.0;
        };
        let (part, into_s) = (&piece.part, (at_s - piece.from_s).max(0.0));
        let own_s = into_s.min(part.seconds);
        piece.before + part.integral(own_s) + part.level(part.seconds) * (into_s - own_s)
    }
}

/// The seconds into the part when `count` of its arrivals are due.
fn within(part: &LoadPart, count: f64) -> f64 {
    let all = part.integral(part.seconds);
    if count >= all {
        // 0/0 is NaN: without a rate nothing is due.
        return match count > all {
            true => part.seconds + (count - all) / part.level(part.seconds),
            false => part.seconds,
        };
    }
    match part.shape {
        LoadShape::Constant => count / part.from,
        LoadShape::Ramp => {
            let slope = (part.to - part.from) / part.seconds;
            let root = (part.from * part.from + 2.0 * slope * count)
                .max(0.0)
                .sqrt();
            match part.from + root {
                0.0 => 0.0,
                sum => 2.0 * count / sum,
            }
        }
        LoadShape::Sine => searched(part, count),
    }
}

/// Newton's method, with bisection whenever a step would leave the known bracket.
fn searched(part: &LoadPart, count: f64) -> f64 {
    let (mut low, mut high) = (0.0, part.seconds);
    let mut at_s = part.seconds * count / part.integral(part.seconds);
    for _ in 0..STEPS_MAX {
        let off = part.integral(at_s) - count;
        match off > 0.0 {
            true => high = at_s,
            false => low = at_s,
        }
        let step = off / part.level(at_s);
        let newton = at_s - step;
        let next = match newton > low && newton < high {
            true => newton,
            false => f64::midpoint(low, high),
        };
        if (next - at_s).abs() < EXACT_S {
            return next;
        }
        at_s = next;
    }
    at_s
}

/// The number of active sessions over time.
#[derive(Debug)]
pub(crate) struct Levels {
    /// The changes in order, each with its instant. The first holds from the beginning.
    changes: Vec<(Nanos, u32)>,
}

impl Levels {
    /// The levels of a schedule; the measurement begins at `measured`.
    pub(crate) fn new(schedule: &LoadSchedule, measured: Nanos) -> Self {
        let mut changes = vec![(0, schedule.first().round() as u32)];
        for placed in schedule.placed() {
            let mut add = |at_s: f64, level: u32| {
                let at = measured.saturating_add(((placed.from_s + at_s) * 1e9) as Nanos);
                if changes.last().is_none_or(|last| last.1 != level) {
                    changes.push((at, level));
                }
            };
            match placed.part.shape {
                LoadShape::Constant => add(0.0, placed.part.from as u32),
                LoadShape::Ramp => climb(&placed.part, (0.0, placed.part.seconds), &mut add),
                LoadShape::Sine => swing(&placed.part, &mut add),
            }
        }
        Self { changes }
    }

    /// When this session becomes active again, at an instant; `None` if it is active. The largest
    /// instant if it never will be.
    pub(crate) fn parked_until(&self, tid: u32, at: Nanos) -> Option<Nanos> {
        let after = self.changes.partition_point(|change| change.0 <= at);
        let (passed, coming) = self.changes.split_at(after);
        if passed.last().is_some_and(|change| change.1 > tid) {
            return None;
        }
        let next = coming.iter().find(|change| change.1 > tid);
        Some(next.map_or(Nanos::MAX, |change| change.0))
    }
}

/// Each level between for the same time.
fn climb(part: &LoadPart, (from_s, to_s): (f64, f64), add: &mut impl FnMut(f64, u32)) {
    let (from, to) = (part.from as i64, part.to as i64);
    let steps = (to - from).abs() + 1;
    for step in 0..steps {
        let at_s = from_s + (to_s - from_s) * step as f64 / steps as f64;
        add(at_s, (from + step * (to - from).signum()) as u32);
    }
}

/// The nearest whole level of the sine.
fn swing(part: &LoadPart, add: &mut impl FnMut(f64, u32)) {
    let period_s = part.period_s.unwrap_or(part.seconds);
    let span = part.to - part.from;
    // Where the rising sine is half way between two levels; by symmetry also where it falls.
    let levels = span.abs() as u32;
    let crossing = |step: u32| {
        let share = (f64::from(step) + 0.5) / f64::from(levels.max(1));
        (1.0 - 2.0 * share).acos() / std::f64::consts::TAU * period_s
    };
    let level = |step: u32| (part.from + span.signum() * f64::from(step)) as u32;
    let mut start_s = 0.0;
    add(0.0, level(0));
    while start_s < part.seconds {
        let up = (0..levels).map(|step| (crossing(step), level(step + 1)));
        let down = (0..levels).rev();
        let down = down.map(|step| (period_s - crossing(step), level(step)));
        for (at_s, level) in up.chain(down) {
            if start_s + at_s < part.seconds {
                add(start_s + at_s, level);
            }
        }
        start_s += period_s;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::plan::Scheduled;
    use proptest::prelude::*;

    fn schedule(of: Scheduled, text: &str) -> LoadSchedule {
        LoadSchedule::parse(text, of, None).unwrap()
    }

    #[test]
    fn instants_and_counts_are_each_others_inverse() {
        let texts = [
            "100/s for 3s, 0/s for 2s, 50/s for 1s",
            "0/s..1000/s over 5s, 1000/s..0/s over 5s",
            "sine 0/s..500/s every 2s for 7s, sine 80/s..20/s every 3s for 3s",
        ];
        for text in texts {
            let schedule = schedule(Scheduled::Rate, text);
            let course = Course::new(&schedule, 1.5);
            let all = course.count_by(1.5 + schedule.seconds());
            let expected = schedule.first() * 1.5 + schedule.mean() * schedule.seconds();
            assert!((all - expected).abs() < 1e-6, "{text}: {all} {expected}");
            let mut before_s = 0.0;
            for index in 0..all.floor() as u32 {
                let at_s = course.instant_s(f64::from(index));
                assert!(at_s >= before_s && at_s.is_finite(), "{text}: {index}");
                before_s = at_s;
                // Where the rate is nearly 0, neighbouring instants can hardly be distinguished.
                let off = course.count_by(at_s) - f64::from(index);
                assert!(off.abs() < 1e-4, "{text}: {index} at {at_s} is {off} off");
            }
        }
        let paused = Course::new(&schedule(Scheduled::Rate, "10/s for 1s, 0/s for 4s"), 0.0);
        assert_eq!(paused.instant_s(11.0), f64::INFINITY);
        let pause = Course::new(
            &schedule(Scheduled::Rate, "10/s for 1s, 0/s for 4s, 1/s for 9s"),
            0.0,
        );
        assert_eq!((pause.instant_s(9.0), pause.instant_s(10.0)), (0.9, 5.0));
    }

    proptest! {
        #[test]
        fn sessions_take_part_below_the_level(
            parts in proptest::collection::vec((0u32..9, 0u32..9, 1u32..5, 0u8..3), 1..5),
            tid in 0u32..9,
            at_ms in 0u64..20_000,
        ) {
            let text: Vec<String> = parts.iter().map(|(from, to, seconds, shape)| match shape {
                0 => format!("{from} for {seconds}s"),
                1 => format!("{from}..{to} over {seconds}s"),
                _ => format!("sine {from}..{to} every 700ms for {seconds}s"),
            }).collect();
            let Ok(schedule) = LoadSchedule::parse(&text.join(", "), Scheduled::Sessions, None)
            else {
                return Ok(());
            };
            let measured = 1_000_000_000;
            let levels = Levels::new(&schedule, measured);
            let at = at_ms * 1_000_000 + 1;
            let until = levels.parked_until(tid, at);
            // Against the schedule's level, which is within one of the whole number.
            let at_s = at as f64 / 1e9 - 1.0;
            let level = schedule.level(at_s);
            if at_s < schedule.seconds() {
                if f64::from(tid) + 1.0 > level + 1.0 {
                    prop_assert!(until.is_some(), "{} {level} {tid} {at_s}", text.join(", "));
                }
                if f64::from(tid) + 1.0 < level - 1.0 {
                    prop_assert!(until.is_none(), "{} {level} {tid} {at_s}", text.join(", "));
                }
            }
            if let Some(until) = until.filter(|until| *until < Nanos::MAX) {
                prop_assert!(until > at);
                prop_assert_eq!(levels.parked_until(tid, until), None);
            }
        }
    }

    #[test]
    fn every_level_of_a_ramp_lasts_as_long() {
        let levels = Levels::new(&schedule(Scheduled::Sessions, "1..4 over 4s, 2 for 1s"), 0);
        let s = |seconds: u64| seconds * 1_000_000_000;
        assert_eq!(
            levels.changes,
            [(0, 1), (s(1), 2), (s(2), 3), (s(3), 4), (s(4), 2)]
        );
        let sine = schedule(Scheduled::Sessions, "sine 1..3 every 6s for 6s");
        let at: Vec<(u64, u32)> = (Levels::new(&sine, 0).changes.iter())
            .map(|(at, level)| (at / 1_000_000, *level))
            .collect();
        assert_eq!(at, [(0, 1), (1000, 2), (2000, 3), (4000, 2), (5000, 1)]);
    }
}
