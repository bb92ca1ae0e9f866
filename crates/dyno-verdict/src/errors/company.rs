//! Finds other users of the server without its statement counters: a long statement hardly changes
//! them, and they allow a wide range if the record does not count PostgreSQL's transactions.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;
use dyno_core::finding::Cause;

use super::counters::OTHER_CLIENTS;
use crate::check::{CheckResult, thresholds};
use crate::text;
use crate::view::View;

thresholds! {
    pub(super) ACTIVE = 0.5, "sessions on average", "active sessions of other clients":
        "monitoring takes milliseconds per second; more is a load";
    pub(super) SHORT = 3.0, "count", "connections that are not the run's":
        "the session list misses short sessions; an observer that reconnects makes one connection";
    pub(super) SHORT_RATE = 0.2, "per second", "rate of connections that are not the run's":
        "exporters and health checks connect every 10 to 15 s, and take milliseconds";
}

/// A script that connects makes at least one connection per this many events; fewer connections
/// belong to others.
const OWN_SHARE: f64 = 0.001;
/// Samples of the session list needed to judge how busy others were; one fewer if all of them show
/// others at work.
const LOOKS_MIN: usize = 3;

/// Connections of the whole server, or else of the run's database.
const CONNECTIONS: [&str; 3] = [
    names::DB_STATUS_CONNECTIONS,
    names::DB_SERVER_SESSIONS,
    names::DB_DATABASE_SESSIONS,
];

/// Other active users, with the evidence of the statement counters.
pub(super) fn at_work(view: &View, counted: &str) -> Option<CheckResult> {
    // Each agent of this run sees the sessions of the others as foreign.
    if view.is_shared() {
        return None;
    }
    others(view, counted)
        .or_else(|| vacuum(view, counted))
        .or_else(|| short(view, counted))
        .or_else(|| hidden(view, counted))
}

/// Other sessions whose activity the server does not show.
fn hidden(view: &View, counted: &str) -> Option<CheckResult> {
    let why = view.run.not_observed(names::DB_OTHER_SESSIONS_ACTIVE)?;
    let most = view
        .largest(names::DB_OTHER_SESSIONS)
        .filter(|most| *most > 0.0)?;
    let whose = view.run.fact(names::SERVER_OTHER_SESSIONS)?;
    let result = CheckResult::not_checked(format!(
        "Other sessions were connected, at most {whose}: {why}. {counted}"
    ));
    Some(result.with("other sessions, most", most, "count"))
}

/// The mean number of active sessions and the number of samples, if that is too many.
fn busy(view: &View, series: &str) -> Option<(f64, usize)> {
    let samples = view.points(series);
    let inside = samples
        .iter()
        .filter(|(at_s, _)| (0.0..=view.length_s).contains(at_s));
    let counts: Vec<f64> = inside.map(|(_, count)| *count).collect();
    let active = dyno_stats::mean(&counts).filter(|active| *active >= ACTIVE.value)?;
    let each = counts.len() + 1 == LOOKS_MIN && counts.iter().all(|count| *count >= 1.0);
    (each || counts.len() >= LOOKS_MIN).then_some((active, counts.len()))
}

fn others(view: &View, counted: &str) -> Option<CheckResult> {
    let (active, samples) = busy(view, names::DB_OTHER_SESSIONS_ACTIVE)?;
    let whose = view.run.fact(names::SERVER_OTHER_SESSIONS);
    let whose = whose.map_or_else(String::new, |whose| format!(", at most {whose}"));
    let result = CheckResult::doubt(
        format!(
            "Sessions of other users were active: {} on average over {samples} samples{whose}. \
             {counted}",
            text::plain(active)
        ),
        OTHER_CLIENTS,
    );
    let result = result.naming([Cause::OtherClients]);
    Some(result.with("other sessions at work, mean", active, "count"))
}

/// PostgreSQL's autovacuum cleans up after loading and changes.
fn vacuum(view: &View, counted: &str) -> Option<CheckResult> {
    let (active, samples) = busy(view, names::DB_BACKENDS_AUTOVACUUM)?;
    let result = CheckResult::doubt(
        format!(
            "{} of the server's autovacuum workers were at work on average over {samples} samples. \
             {counted}",
            text::plain(active)
        ),
        "Vacuum and analyse the tables after loading (VACUUM ANALYZE), or measure for several \
         rounds of autovacuum.",
    );
    Some(result.with("autovacuum workers, mean", active, "count"))
}

/// The number of connections by a counter, and the seconds of the measurement. The first value may
/// include earlier connections of the run.
fn new_connections(view: &View, name: &str) -> Option<(f64, f64)> {
    let points = view.points(name);
    let first = points.first()?.0;
    let pairs = points.windows(2);
    let counted = pairs.map(|pair| pair[1].1 * (pair[1].0 - pair[0].0)).sum();
    Some((counted, points.last()?.0 - first))
}

/// Sessions that end before the next look at the list; the connection counter shows them.
fn short(view: &View, counted: &str) -> Option<CheckResult> {
    // A connection pool opens and closes connections on its own schedule.
    if view.run.fact(names::SERVER_PROXY).is_some() {
        return None;
    }
    let (connections, covered_s) = CONNECTIONS
        .iter()
        .find_map(|name| new_connections(view, name))?;
    let totals = view.totals();
    let own = totals.reconnects + totals.connects_failed;
    let others = connections - own as f64;
    let events = totals.events as f64 * covered_s / view.length_s;
    let are_few = others < SHORT.value || others < SHORT_RATE.value * covered_s;
    if are_few || others >= events * OWN_SHARE {
        return None;
    }
    // MariaDB counts each job of its event scheduler as a connection.
    let scheduler = view.setting("event_scheduler");
    let jobs = match scheduler.is_some_and(|on| on.eq_ignore_ascii_case("on")) {
        true => ", or jobs of its event scheduler",
        false => "",
    };
    let result = CheckResult::doubt(
        format!(
            "The server counted {} connections in {} that the run did not make, from sessions too \
             short to be listed{jobs}. {counted}",
            text::count(others.round() as u64),
            text::seconds(covered_s)
        ),
        "End the sessions of other clients, turn off the server's own jobs (event_scheduler), or \
         use a dedicated server.",
    );
    let result = result.naming([Cause::OtherClients]);
    Some(result.with("connections of others", others, "count"))
}
