//! A worker's timers: at most one per session.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dyno_core::clock::Nanos;

/// Due instants in order. Cancelled timers are not removed: the caller that takes one out checks
/// whether its session still waits for that instant.
#[derive(Debug, Default)]
pub(crate) struct Timers(BinaryHeap<Reverse<(Nanos, u32)>>);

impl Timers {
    /// Reserves memory for each session and one cancelled timer each.
    pub(crate) fn new(sessions: usize) -> Self {
        Self(BinaryHeap::with_capacity(2 * sessions))
    }

    #[inline]
    pub(crate) fn arm(&mut self, due: Nanos, session: usize) {
        self.0.push(Reverse((due, session as u32)));
    }

    /// The earliest instant, if any.
    #[inline]
    pub(crate) fn next(&self) -> Option<Nanos> {
        self.0.peek().map(|Reverse((due, _))| *due)
    }

    /// Takes out the earliest timer if it is due.
    #[inline]
    pub(crate) fn due(&mut self, now: Nanos) -> Option<(Nanos, usize)> {
        if self.next()? > now {
            return None;
        }
        self.0
            .pop()
            .map(|Reverse((due, session))| (due, session as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_come_out_in_order_and_only_when_due() {
        let mut timers = Timers::default();
        for (due, session) in [(30, 3), (10, 1), (20, 2), (10, 0)] {
            timers.arm(due, session);
        }
        assert_eq!(timers.next(), Some(10));
        assert_eq!(timers.due(9), None);
        assert_eq!(timers.due(20), Some((10, 0)));
        assert_eq!(timers.due(20), Some((10, 1)));
        assert_eq!(timers.due(20), Some((20, 2)));
        assert_eq!(timers.due(29), None);
        assert_eq!(timers.next(), Some(30));
    }
}
