//! Each session's work since the last check, for runs with roles.

use dyno_core::clock::Nanos;
use dyno_core::interval::SessionCount;

use crate::session::Session;

#[derive(Debug)]
pub(crate) struct Tally {
    /// Measured events at the last check, by session.
    seen: Vec<u64>,
    at: Nanos,
}

impl Tally {
    /// Counting begins at `at`.
    pub(crate) fn new(sessions: usize, at: Nanos) -> Self {
        Self {
            seen: vec![0; sessions],
            at,
        }
    }

    pub(crate) fn begin(&mut self, now: Nanos) {
        self.at = now;
    }

    /// Appends the work since the last call.
    pub(crate) fn take(&mut self, sessions: &[Session], now: Nanos, out: &mut Vec<SessionCount>) {
        let span_ns = now.saturating_sub(self.at);
        self.at = now;
        for (session, seen) in sessions.iter().zip(&mut self.seen) {
            out.push(SessionCount {
                session: session.tid,
                events: session.events - *seen,
                span_ns,
            });
            *seen = session.events;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_each_count_once() {
        let mut sessions = [Session::new(1), Session::new(3)];
        let mut tally = Tally::new(2, 0);
        tally.begin(100);
        sessions[0].events = 5;
        let mut out = Vec::new();
        tally.take(&sessions, 200, &mut out);
        sessions[0].events = 7;
        sessions[1].events = 1;
        tally.take(&sessions, 500, &mut out);
        let counts: Vec<_> = (out.iter())
            .map(|count| (count.session, count.events, count.span_ns))
            .collect();
        assert_eq!(counts, [(1, 5, 100), (3, 0, 100), (1, 2, 300), (3, 1, 300)]);
    }
}
