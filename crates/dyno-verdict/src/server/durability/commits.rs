//! Whether what was done was committed at all: what the server counted, against what wrote.

use crate::check::Threshold;
use crate::text;
use crate::view::View;

/// From so many on, nobody means most of the work to last.
pub(super) const ROLLED_BACK: Threshold = Threshold {
    name: "rolled back",
    value: 50.0,
    unit: "percent of the transactions",
    why: "workloads roll back a few in a hundred by design; of one that rolls back half of what \
          it does nobody wants to know how fast the rest is",
};
/// Fewer commits than this part of the transactions that write are those of something else.
const COMMITS_MIN: f64 = 0.01;
/// Of transactions that write no more is known than a bound, which may be so much too high.
const SYNCED: f64 = 5.0;

/// What the server's counters say of the work's end.
pub(super) enum Commits {
    /// So much of it was committed, in words.
    Made(String),
    /// It was not, and why that is known.
    Missing(String),
    /// It was, and nobody waited for the log: how that is known.
    Unsynced(String),
    /// Nothing is known, or nothing was written.
    Unknown,
}

pub(super) fn of(view: &View) -> Commits {
    if view.totals().writes == 0 || view.is_shared() || view.imported() {
        return Commits::Unknown;
    }
    if view.embedded() {
        return of_file(view);
    }
    let left_open = view
        .run
        .fact("client.sessions.in_transaction")
        .and_then(shares);
    let Some(events) = view.events_per_s() else {
        return Commits::Unknown;
    };
    let (commits, rollbacks) = match view.postgres() {
        true => ("db.database.xact_commit", "db.database.xact_rollback"),
        false => ("db.status.com_commit", "db.status.com_rollback"),
    };
    let (Some(commits), Some(rollbacks)) = (view.mean(commits), view.mean(rollbacks)) else {
        return Commits::Unknown;
    };
    // There are no more transactions that write than events, nor than statements that do.
    let writing = events.min(view.totals().writes as f64 / view.length_s.max(1.0));
    let few = commits < COMMITS_MIN * writing;
    let autocommit = view.run.setting("autocommit").unwrap_or("ON");
    if autocommit.eq_ignore_ascii_case("OFF") && few {
        return Commits::Missing(format!(
            "autocommit = OFF, and the server counted {} COMMIT per second beside {} transactions \
             that write, so that what they did is taken back when their session ends",
            text::rate(commits),
            text::rate(writing)
        ));
    }
    if let Some((open, sessions)) = left_open.filter(|_| few)
        && open * 2 >= sessions
        && open > 0
    {
        return Commits::Missing(format!(
            "{open} of {sessions} sessions ended within a transaction, and the server counted {} \
             commits per second beside {} transactions that write, so that what they did is taken \
             back when their session ends",
            text::rate(commits),
            text::rate(writing)
        ));
    }
    // One that failed is rolled back too, which the errors tell.
    let failed = view.totals().errors as f64 / view.length_s.max(1.0);
    let rolled_back = (rollbacks - failed).max(0.0);
    let share = 100.0 * rolled_back / (rolled_back + commits).max(f64::MIN_POSITIVE);
    // A transaction may read before the one that writes: both shares must be large.
    let of_events = 100.0 * rolled_back / events;
    if share >= ROLLED_BACK.value && of_events >= ROLLED_BACK.value {
        return Commits::Missing(format!(
            "the server counted {} transactions per second rolled back and {} committed",
            text::rate(rolled_back),
            text::rate(commits)
        ));
    }
    if let Some(why) = unsynced(view, writing.min(commits)) {
        return Commits::Unsynced(why);
    }
    match few {
        true => Commits::Unknown,
        false => Commits::Made(format!("{} commits per second", text::rate(commits))),
    }
}

/// More commits than syncs of the log can have covered, each of one transaction of every session:
/// the sessions have another `synchronous_commit` than the server. Syncs that a method of opening
/// the log implies are not counted.
fn unsynced(view: &View, writing: f64) -> Option<String> {
    let method = view.run.setting("wal_sync_method")?;
    let syncs = view.mean("db.wal.syncs")?;
    let sessions = f64::from(view.drive()?.sessions);
    let untold = method.starts_with("open_") || view.run.setting("fsync") != Some("on");
    (!untold && writing > SYNCED * (syncs + 1.0) * sessions).then(|| {
        format!(
            "{} transactions per second wrote and committed while the log was synced {} times \
             per second, so that the sessions did not wait for it",
            text::rate(writing),
            text::plain(syncs)
        )
    })
}

/// `3 of 4`.
fn shares(text: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.split_once(" of ")?;
    Some((part.parse().ok()?, whole.parse().ok()?))
}

/// An embedded database's files are as they were where nothing was committed.
fn of_file(view: &View) -> Commits {
    match view.run.fact("db.file.changed") {
        Some("no") => Commits::Missing(
            "statements wrote, but neither the database's file nor its log changed".to_owned(),
        ),
        _ => Commits::Unknown,
    }
}
