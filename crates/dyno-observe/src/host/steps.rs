//! Steps of the civil clock against the monotonic one.

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::{Nanos, wall_time};
use dyno_core::record::EventKind;

use crate::sink::{Gauge, SampleBuffer};

/// The smallest step reported as an event: a slewed clock gains at most half of this in a second.
const STEP_MS_MIN: f64 = 1.0;
/// The largest distance between the readings of two clocks, and the number of attempts.
const APART_NS_MAX: Nanos = 100_000;
const ATTEMPTS: u32 = 5;

pub(crate) struct Steps {
    first_ns: Option<i128>,
    last_ms: f64,
    step: Gauge,
}

impl Steps {
    pub(crate) fn new() -> Self {
        Self {
            first_ns: None,
            last_ms: 0.0,
            step: Gauge::new(
                names::HOST_CLOCK_STEP,
                "ms",
                "CLOCK_REALTIME, CLOCK_MONOTONIC",
            ),
        }
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer) {
        // A thread descheduled between the two readings would see a step.
        for _ in 0..ATTEMPTS {
            let before = Clock.now();
            let wall_ns = wall_time().as_nanos() as i128;
            let after = Clock.now();
            if after - before < APART_NS_MAX {
                return self.compare(recorder, before + (after - before) / 2, wall_ns);
            }
        }
    }

    fn compare(&mut self, recorder: &mut SampleBuffer, now: Nanos, wall_ns: i128) {
        let offset = wall_ns - i128::from(now);
        let first = *self.first_ns.get_or_insert(offset);
        let ms = (offset - first) as f64 / 1e6;
        let step = ms - self.last_ms;
        self.last_ms = ms;
        self.step.put(recorder, ms);
        if step.abs() > STEP_MS_MIN {
            let text = format!("the host's wall clock was moved by {step:+.1} ms");
            recorder.sink().event(now, None, EventKind::Note, text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;
    use crate::host::testing::recorder;

    #[test]
    fn reports_a_step_once() {
        let (mut recorder, seen) = recorder();
        let mut steps = Steps::new();
        for (now, wall) in [
            (0, 1_000),
            (1_000_000_000, 1_000_100_000),
            (2_000_000_000, 5),
        ] {
            recorder.begin(now);
            steps.compare(&mut recorder, now, wall);
            recorder.finish();
        }
        let all: Vec<Observation> = seen.try_iter().collect();
        let events = all
            .iter()
            .filter(|o| matches!(o, Observation::Event { .. }));
        assert_eq!(events.count(), 1);
        assert!(all.iter().any(
            |o| matches!(o, Observation::Event { at: 2_000_000_000, text, .. }
            if text.contains("-2000.1 ms"))
        ));
    }
}
