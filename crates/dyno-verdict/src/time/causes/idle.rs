//! Sessions that did nothing while the others worked.

use dyno_analysis::stalls::Span;
use dyno_core::finding::Cause;
use dyno_core::record::{IdleSpan, SessionShare};

use super::{Moved, covered};
use crate::generator::sessions::story;
use crate::text;
use crate::view::View;

/// Advice in place of a longer warm-up or run.
pub(in crate::time) const ADVICE: &str = "Look at what those sessions waited for: a held lock, a \
                                          hanging statement, a connection dropped by the network.";

/// The idle sessions, if there are enough of them to explain the lower rate.
pub(super) fn idle_sessions(view: &View, slower: &[Span]) -> Option<Moved> {
    let [span] = slower else {
        return None;
    };
    let rate = |is_slower: bool| {
        let bins = view.bins.iter();
        let own = bins.filter(|bin| covered(slower, bin.at_s) == is_slower);
        let rates: Vec<f64> = own.map(|bin| bin.events_per_s()).collect();
        dyno_stats::mean(&rates).filter(|rate| *rate > 0.0)
    };
    let missing = 1.0 - rate(true)? / rate(false)?;
    let idle = during(view, *span);
    let share = idle.len() as f64 / view.run.sessions.len() as f64;
    (missing > 0.0 && share * 2.0 >= missing)
        .then(|| describe(&idle))
        .flatten()
}

/// The sessions that were idle during most of a time, and not during most of the rest; none if all
/// were.
pub(in crate::time) fn during<'a>(
    view: &View<'a>,
    span: Span,
) -> Vec<(&'a SessionShare, IdleSpan)> {
    let sessions = &view.run.sessions;
    let rest_s = view.length_s - span.length_s();
    let own = |session: &'a SessionShare| {
        let idle = session.idle?;
        let both_s = idle.to_s.min(span.to_s) - idle.from_s.max(span.from_s);
        let outside_s = idle.length_s() - both_s;
        let most = both_s > 0.0 && both_s * 2.0 >= span.length_s();
        (most && outside_s * 2.0 < rest_s).then_some((session, idle))
    };
    let idle: Vec<_> = sessions.iter().filter_map(own).collect();
    match idle.len() < sessions.len() {
        true => idle,
        false => Vec::new(),
    }
}

pub(in crate::time) fn describe(idle: &[(&SessionShare, IdleSpan)]) -> Option<Moved> {
    let (session, span) = idle.first()?;
    let first = story(session, span);
    let words = match idle.len() {
        1 => first,
        count => format!(
            "{} did nothing; for example, {first}",
            text::counted(count as u64, "session")
        ),
    };
    Some(Moved {
        cause: Cause::IdleSessions,
        words,
    })
}
