//! Latencies over time: unchanged in the first hour, and later merged into steps of ten seconds.

use crate::codec::{Measured, SpanRow};

/// Up to this time, every interval has its own latencies and samples. In seconds from the start of
/// the measurement.
pub const FINE_S: f64 = 3600.0;

/// Later data is merged into steps of this many seconds.
const COARSE_S: f64 = 10.0;

/// The step of ten seconds that contains an instant, counted from the end of the first hour. The
/// end of a step belongs to it. `None` within the first hour.
pub(crate) fn step(at_s: f64) -> Option<i64> {
    (at_s > FINE_S).then(|| ((at_s - FINE_S) / COARSE_S).ceil() as i64)
}

/// The time of a step's end.
pub(crate) fn step_end_s(step: i64) -> f64 {
    FINE_S + step as f64 * COARSE_S
}

/// A row of `span` with its key.
#[derive(Debug)]
pub(crate) struct NumberedSpan {
    pub(crate) number: u32,
    pub(crate) operation: u32,
    pub(crate) row: SpanRow,
}

/// The spans of all operations of a run.
#[derive(Debug, Default)]
pub(crate) struct Spans {
    next_number: u32,
    /// By the number of the operation.
    open: Vec<Option<OpenSpan>>,
}

#[derive(Debug)]
struct OpenSpan {
    number: u32,
    step: i64,
    from_s: f64,
    to_s: f64,
    measured: Measured,
    /// Whether it has changed since it was last written.
    changed: bool,
}

impl Spans {
    /// Adds the latencies of an operation, and returns the rows that are final.
    pub(crate) fn add(
        &mut self,
        operation: u32,
        from_s: f64,
        to_s: f64,
        measured: Measured,
    ) -> Vec<NumberedSpan> {
        let index = operation as usize;
        if self.open.len() <= index {
            self.open.resize_with(index + 1, || None);
        }
        // Use the middle, so that an interval that ends slightly after a step still belongs to it.
        let step = step(f64::midpoint(from_s, to_s));
        if let (Some(open), Some(step)) = (&mut self.open[index], step)
            && open.step == step
        {
            open.to_s = to_s;
            open.measured.merge(&measured);
            open.changed = true;
            return Vec::new();
        }
        let mut closed = Vec::new();
        if let Some(open) = self.open[index].take() {
            closed.push(open.numbered(operation));
        }
        let number = self.next_number;
        self.next_number += 1;
        match step {
            None => closed.push(NumberedSpan {
                number,
                operation,
                row: measured.row(from_s, to_s),
            }),
            Some(step) => {
                self.open[index] = Some(OpenSpan {
                    number,
                    step,
                    from_s,
                    to_s,
                    measured,
                    changed: true,
                });
            }
        }
        closed
    }

    /// The unfinished spans that changed since they were last written.
    pub(crate) fn growing(&self) -> Vec<NumberedSpan> {
        let open = self.open.iter().enumerate();
        open.filter_map(|(operation, span)| {
            let span = span.as_ref().filter(|span| span.changed)?;
            Some(span.numbered(operation as u32))
        })
        .collect()
    }

    /// Marks the unfinished spans as written.
    pub(crate) fn written(&mut self) {
        for open in self.open.iter_mut().flatten() {
            open.changed = false;
        }
    }
}

impl OpenSpan {
    fn numbered(&self, operation: u32) -> NumberedSpan {
        NumberedSpan {
            number: self.number,
            operation,
            row: self.measured.row(self.from_s, self.to_s),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(count: u64) -> Measured {
        Measured {
            count,
            ..Measured::default()
        }
    }

    #[test]
    fn ten_seconds_become_one_span_after_the_first_hour() {
        let mut spans = Spans::default();
        assert_eq!(spans.add(0, 3599.0, 3600.0, measured(1)).len(), 1);
        for second in 0..10 {
            let from = 3600.003 + f64::from(second);
            assert!(spans.add(0, from, from + 1.0, measured(2)).is_empty());
        }
        assert_eq!(spans.growing().len(), 1);
        spans.written();
        assert!(spans.growing().is_empty());
        let closed = spans.add(0, 3610.003, 3611.0, measured(4));
        let [closed] = closed.as_slice() else {
            panic!("{closed:?}")
        };
        assert_eq!((closed.number, closed.row.count), (1, 20));
        assert_eq!((closed.row.from_s, closed.row.to_s), (3600.003, 3610.003));
        let growing = spans.growing();
        assert_eq!((growing[0].number, growing[0].row.count), (2, 4));
    }

    #[test]
    fn an_interval_longer_than_a_step_keeps_its_own_span() {
        let mut spans = Spans::default();
        assert!(spans.add(0, 3600.0, 3660.0, measured(1)).is_empty());
        assert_eq!(spans.add(0, 3660.0, 3720.0, measured(1)).len(), 1);
    }

    #[test]
    fn operations_do_not_mix() {
        let mut spans = Spans::default();
        for (operation, count) in [(1, 5), (0, 7)] {
            assert!(
                spans
                    .add(operation, 4000.0, 4001.0, measured(count))
                    .is_empty()
            );
        }
        let counts: Vec<_> = spans
            .growing()
            .iter()
            .map(|s| (s.operation, s.row.count))
            .collect();
        assert_eq!(counts, [(0, 7), (1, 5)]);
    }
}
