//! Checks that the work was committed: compares the commits that the server counted, or the client
//! for an embedded database, with the writes.

use dyno_core::catalogue::names;

use super::stored::foreign;
use crate::check::thresholds;
use crate::data::are_of_other_engines;
use crate::text;
use crate::view::View;

thresholds! {
    /// From this share on, the work is not meant to last.
    pub(super) ROLLED_BACK = 50.0, "percent of the transactions", "rolled back":
        "workloads roll back a few percent by design";
}
/// Below this share of the writing transactions, commits are not the run's own.
const COMMITS_MIN: f64 = 0.01;
/// The largest share of the writing transactions that others and observers may commit in a run that
/// sends no COMMIT.
const OTHERS_MAX: f64 = 0.1;
/// PostgreSQL reports changed rows when their transaction ends. Below this share of the writing
/// transactions, they belong to others or to earlier transactions.
const ROWS_MIN: f64 = 0.1;
const ROWS: [&str; 3] = [
    names::DB_DATABASE_TUP_INSERTED,
    names::DB_DATABASE_TUP_UPDATED,
    names::DB_DATABASE_TUP_DELETED,
];
const INNODB_ROWS: [&str; 3] = [
    names::DB_STATUS_INNODB_ROWS_INSERTED,
    names::DB_STATUS_INNODB_ROWS_UPDATED,
    names::DB_STATUS_INNODB_ROWS_DELETED,
];
/// The minimum number of samples: counters arrive a second late, so fewer may miss the whole run.
const LOOKS_MIN: usize = 5;
/// Writing transactions are known only as an upper bound, which may be too high by this factor.
const SYNCED: f64 = 5.0;

/// Statements of other clients per second that `server-counters` may not find.
const UNSEEN_MAX: f64 = 50.0;

/// Syncs of the log per second by PostgreSQL's own writer.
const OWN_SYNCS: f64 = 5.0;
/// The least number of other syncs per commit: the two are counted at different moments.
const SYNCED_MIN: f64 = 0.95;

pub(super) enum Commits {
    /// Committed, and how often.
    Committed(Option<String>),
    /// Not committed, and the evidence.
    Missing(Missing),
    /// Committed without waiting for the log, and the evidence.
    Unsynced(String),
    /// Unknown, or no writes.
    Unknown,
}

pub(super) fn of(view: &View) -> Commits {
    if view.is_shared() || view.imported() {
        return Commits::Unknown;
    }
    if view.totals().writes == 0 {
        let why = writing_out_of_sight(view).and_then(|writing| unsynced(view, writing));
        return why.map_or(Commits::Unknown, Commits::Unsynced);
    }
    // Other files attached by statements are unknown. The files of an embedded database are
    // unchanged if nothing was committed.
    if view.embedded() && !attaches(view) && view.run.fact(names::DB_FILE_CHANGED) == Some("no") {
        return Commits::Missing(Missing {
            why: "statements wrote, but neither the database's file nor its log changed".to_owned(),
            left_open: false,
            in_part: false,
        });
    }
    let Some(ends) = Ends::of(view) else {
        return Commits::Unknown;
    };
    let missing = |left_open: bool, in_part: bool| {
        move |why: String| Missing {
            why,
            left_open,
            in_part,
        }
    };
    let in_part = ends.own_commits() > 0.0 && !ends.are_few();
    let missing = (ends.without_autocommit().map(missing(false, false)))
        .or_else(|| ends.left_open().map(missing(true, false)))
        .or_else(|| ends.rolled_back().map(missing(false, in_part)))
        .or_else(|| ends.back_to_savepoint().map(missing(false, in_part)));
    if let Some(missing) = missing {
        return Commits::Missing(missing);
    }
    // Each of them changed a row, unless another server has the table.
    let writing = ends.writing.min(ends.commits);
    let writing = rows_changed(view).map_or(writing, |rows| rows.min(writing));
    if let Some(why) = unsynced(view, writing) {
        return Commits::Unsynced(why);
    }
    match ends.are_few() {
        true => Commits::Unknown,
        false => Commits::Committed(rate(view, ends.commits)),
    }
}

/// The rate of the commits; `None` if the run is so short that those that PostgreSQL counts only
/// after the end are more than a tenth.
fn rate(view: &View, commits: f64) -> Option<String> {
    const COUNTED_LATE_S: f64 = 1.0;
    let is_exact = !view.postgres() || view.length_s >= 10.0 * COUNTED_LATE_S;
    is_exact.then(|| format!("{} commits per second", text::rate(commits)))
}

/// Transactions per second that write by functions or procedures, at most.
fn writing_out_of_sight(view: &View) -> Option<f64> {
    let rows = crate::errors::changes_out_of_sight(view)?;
    let events = view
        .events_per_s()
        .filter(|events| rows >= ROWS_MIN * events)?;
    Some(
        rows.min(events)
            .min(view.mean(names::DB_DATABASE_XACT_COMMIT)?),
    )
}

/// Whether the run wrote, by its own count or the server's.
pub(super) fn writes(view: &View) -> bool {
    view.totals().writes > 0 || crate::errors::changes_out_of_sight(view).is_some()
}

/// Whether statements attached another file to an embedded database.
pub(super) fn attaches(view: &View) -> bool {
    view.run.fact(names::CLIENT_STATEMENTS_ATTACHES) == Some("yes")
}

/// Whether the log was synced for nearly every commit, so that no session can have run without
/// syncs for long. One sync may serve several sessions, so fewer syncs prove nothing.
pub(super) fn synced_each(view: &View) -> Option<String> {
    let syncs = countable_syncs(view)?;
    // A commit without changed rows has nothing to lose.
    let commits = rows_changed(view)?.min(view.mean(names::DB_DATABASE_XACT_COMMIT)?);
    let all = view.totals().writes > 0 && syncs - OWN_SYNCS >= SYNCED_MIN * commits;
    all.then(|| {
        format!(
            "the log was synced {} times per second for {} commits with changed rows",
            text::rate(syncs),
            text::rate(commits)
        )
    })
}

/// Whether the run changed nothing, by its own count and the server's.
pub(super) fn changed_nothing(view: &View) -> bool {
    let none = || match view.embedded() {
        true if attaches(view) => None,
        true => view
            .run
            .fact(names::DB_FILE_CHANGED)
            .map(|changed| changed == "no"),
        false => {
            let rows = rows_changed(view).zip(view.events_per_s());
            rows.map(|(rows, events)| rows < COMMITS_MIN * events)
        }
    };
    view.totals().writes == 0 && !view.is_shared() && !view.imported() && none() == Some(true)
}

/// Whether the run committed nothing that a crash could lose: neither its own statements nor, by
/// the server's count, procedures and functions changed rows.
pub(super) fn committed_nothing(view: &View) -> bool {
    if changed_nothing(view) {
        return true;
    }
    if view.totals().writes > 0 || view.is_shared() || view.imported() || view.postgres() {
        return false;
    }
    match view.embedded() {
        // Something else may have changed the file, such as a checkpoint.
        true => !attaches(view) && only_begins_and_ends(view),
        // InnoDB does not count the rows of other engines.
        false if are_of_other_engines(view) => only_begins_and_ends(view),
        false => {
            let rows = view.mean_sum(&INNODB_ROWS).zip(view.events_per_s());
            rows.is_some_and(|(rows, events)| rows < COMMITS_MIN * events)
        }
    }
}

/// Whether all statements without a result began or ended a transaction, except a few at the ends
/// of the measurement.
fn only_begins_and_ends(view: &View) -> bool {
    let facts = [
        names::CLIENT_STATEMENTS_COMMITS,
        names::CLIENT_STATEMENTS_ROLLBACKS,
    ];
    let counts = facts.into_iter().map(|fact| view.run.fact(fact));
    let ends: u64 = counts.filter_map(|count| count?.parse::<u64>().ok()).sum();
    let sessions = view.drive().map_or(1, |drive| u64::from(drive.sessions));
    view.totals().other <= 2 * (ends + sessions)
}

pub(super) struct Missing {
    pub(super) why: String,
    /// Whether sessions ended within a transaction.
    pub(super) left_open: bool,
    /// Whether the run also committed work.
    pub(super) in_part: bool,
}

/// The ends of transactions per second, by their counter.
struct Ends<'a> {
    view: &'a View<'a>,
    who: &'static str,
    commits: f64,
    rollbacks: f64,
    to_savepoint: f64,
    events: f64,
    /// Writing transactions are at most the events and the writing statements.
    writing: f64,
}

impl<'a> Ends<'a> {
    fn of(view: &'a View<'a>) -> Option<Self> {
        let mean = |name: &str| view.mean(name);
        // Failed statements are rolled back too; the errors report them.
        let failed = per_s(view, view.totals().errors);
        let to_savepoint =
            || client(view, names::CLIENT_STATEMENTS_ROLLBACKS_TO_SAVEPOINT).unwrap_or(0.0);
        let (who, commits, rollbacks, to_savepoint) = match () {
            () if view.embedded() => (
                "client",
                client(view, names::CLIENT_STATEMENTS_COMMITS)?,
                client(view, names::CLIENT_STATEMENTS_ROLLBACKS)?,
                to_savepoint(),
            ),
            () if view.postgres() => (
                "server",
                // Each log-in commits a transaction that only reads.
                (mean(names::DB_DATABASE_XACT_COMMIT)?
                    - mean(names::DB_DATABASE_SESSIONS).unwrap_or(0.0))
                .max(0.0),
                mean(names::DB_DATABASE_XACT_ROLLBACK)?,
                to_savepoint(),
            ),
            () => {
                let xa = |name: &str| mean(name).unwrap_or(0.0);
                let commits = mean(names::DB_STATUS_COM_COMMIT)?;
                let rollbacks = mean(names::DB_STATUS_COM_ROLLBACK)?;
                // BEGIN commits an open transaction, and the end of a connection rolls it back.
                let begun = mean(names::DB_STATUS_COM_BEGIN).unwrap_or(0.0);
                let open = (begun - commits - rollbacks - failed).max(0.0);
                let dropped = open.min(mean(names::DB_STATUS_CONNECTIONS).unwrap_or(0.0));
                let (implicit, rollbacks) = (open - dropped, rollbacks + dropped);
                (
                    "server",
                    commits + implicit + xa(names::DB_STATUS_COM_XA_COMMIT),
                    rollbacks + xa(names::DB_STATUS_COM_XA_ROLLBACK),
                    mean(names::DB_STATUS_COM_ROLLBACK_TO_SAVEPOINT).unwrap_or_else(to_savepoint),
                )
            }
        };
        let events = view.events_per_s()?;
        Some(Self {
            view,
            who,
            commits,
            rollbacks: (rollbacks - failed).max(0.0),
            to_savepoint: (to_savepoint - failed).max(0.0),
            events,
            writing: events.min(per_s(view, view.totals().writes)),
        })
    }

    /// Whether the run sent a COMMIT for each session, or more: even one for hundreds of events
    /// commits all of them.
    fn are_batches(&self) -> bool {
        let own = self.view.run.fact(names::CLIENT_STATEMENTS_COMMITS);
        let own = own.and_then(|count| count.parse::<u64>().ok());
        let sessions = self.view.drive().map(|drive| u64::from(drive.sessions));
        own.zip(sessions)
            .is_some_and(|(own, sessions)| own >= sessions.max(1))
    }

    /// Whether the commits are not the run's: observers and others make some.
    fn are_few(&self) -> bool {
        let below = |commits: f64, part: f64| commits < part * self.writing;
        let own = client(self.view, names::CLIENT_STATEMENTS_COMMITS);
        let are_few = below(self.commits, COMMITS_MIN)
            || below(self.commits, OTHERS_MAX) && own.is_some_and(|own| below(own, COMMITS_MIN));
        are_few && !self.are_batches()
    }

    /// The value that all sessions had; `None` if they changed it.
    fn autocommit(&self) -> Option<&'a str> {
        const NAME: &str = "autocommit";
        let mut own = self
            .view
            .set_by_sessions()
            .filter(|(name, _)| *name == NAME);
        match (own.next(), own.next()) {
            (None, _) => self.view.setting(NAME),
            (Some((_, value)), None) if value != super::DEFAULT => Some(value),
            _ => None,
        }
    }

    fn without_autocommit(&self) -> Option<String> {
        let autocommit = self.autocommit()?;
        (super::off(autocommit) && self.are_few()).then(|| {
            format!(
                "autocommit = OFF, and the {} counted {} COMMIT per second for {} writing \
                 transactions, so their work is rolled back when their session ends",
                self.who,
                text::rate(self.commits),
                text::rate(self.writing)
            )
        })
    }

    fn left_open(&self) -> Option<String> {
        let fact = self.view.run.fact(names::CLIENT_SESSIONS_IN_TRANSACTION)?;
        let (open, sessions) = shares(fact)?;
        if open == 0 || open * 2 < sessions {
            return None;
        }
        // Rows of foreign tables are counted elsewhere.
        let rows = rows_changed(self.view)
            .filter(|rows| *rows < ROWS_MIN * self.writing && foreign(self.view).is_empty());
        let rows = match (rows, self.are_few()) {
            (None, false) => return None,
            (None, true) => String::new(),
            (Some(rows), _) => format!(" and {} changed rows", text::rate(rows)),
        };
        Some(format!(
            "{open} of {sessions} sessions ended within a transaction, and the {} counted {} \
             commits{rows} per second for {} writing transactions, so their work is rolled back \
             when their session ends",
            self.who,
            text::rate(self.commits),
            text::rate(self.writing)
        ))
    }

    /// The run's own part of what the server counted, and who counted it; `None` if it may be the
    /// work of other clients. The client counts statements by their first words, so it does not
    /// see the ends within procedures, or of connections.
    fn own(&self, counted: f64, fact: &str) -> Option<(&'static str, f64)> {
        let view = self.view;
        let others = crate::errors::has_other_clients(view);
        // `server-counters` would have found more rollbacks of other clients.
        let may_be_others = |own: f64| {
            counted - own <= UNSEEN_MAX
                && only_begins_and_ends(view)
                && view.totals().reconnects == 0
        };
        match client(view, fact) {
            Some(own) if own < counted && (others || may_be_others(own)) => Some(("client", own)),
            None if others && !view.embedded() => None,
            _ => Some((self.who, counted)),
        }
    }

    /// The server's commits without those of other clients. PostgreSQL counts each statement as
    /// one.
    fn own_commits(&self) -> f64 {
        let is_apart = !self.view.postgres() && crate::errors::has_other_clients(self.view);
        let own = client(self.view, names::CLIENT_STATEMENTS_COMMITS);
        own.filter(|_| is_apart)
            .map_or(self.commits, |own| own.min(self.commits))
    }

    fn rolled_back(&self) -> Option<String> {
        let (who, rollbacks) = self.own(self.rollbacks, names::CLIENT_STATEMENTS_ROLLBACKS)?;
        let commits = self.own_commits();
        let ended = (rollbacks + commits).max(f64::MIN_POSITIVE);
        // An event may have another transaction, which only reads, so the share of the events must
        // be large, too.
        let least = rollbacks / ended.max(self.events);
        (100.0 * least >= ROLLED_BACK.value).then(|| {
            format!(
                "the {who} counted {} rollbacks and {} commits per second",
                text::rate(rollbacks),
                text::rate(commits)
            )
        })
    }

    /// A commit does not keep work that was rolled back to a savepoint.
    fn back_to_savepoint(&self) -> Option<String> {
        let fact = names::CLIENT_STATEMENTS_ROLLBACKS_TO_SAVEPOINT;
        let (who, to_savepoint) = self.own(self.to_savepoint, fact)?;
        let commits = self.own_commits();
        let least = to_savepoint / commits.max(self.writing);
        (100.0 * least >= ROLLED_BACK.value).then(|| {
            format!(
                "the {who} counted {} ROLLBACK TO SAVEPOINT per second, which discard the work \
                 since the savepoint, and {} commits",
                text::rate(to_savepoint),
                text::rate(commits)
            )
        })
    }
}

/// Statements of the measurement by the client's count of their first words, per second.
fn client(view: &View, fact: &str) -> Option<f64> {
    Some(per_s(view, view.run.fact(fact)?.parse().ok()?))
}

fn per_s(view: &View, count: u64) -> f64 {
    count as f64 / view.length_s.max(1.0)
}

/// Changed rows per second by PostgreSQL's counters. Sessions report their last ones after the
/// measurement.
fn rows_changed(view: &View) -> Option<f64> {
    let means = ROWS.map(|name| {
        let points = view.points(name).into_iter();
        let within = points.filter(|(at_s, _)| *at_s <= view.length_s);
        let values: Vec<f64> = within.map(|(_, value)| value).collect();
        dyno_stats::mean(&values).filter(|_| values.len() >= LOOKS_MIN)
    });
    means.into_iter().sum()
}

/// Evidence that the sessions have another `synchronous_commit` than the server: more commits than
/// the syncs of the log can have covered, even if each sync covered one transaction of every
/// session. Syncs implied by the method of opening the log are not counted.
fn unsynced(view: &View, writing: f64) -> Option<String> {
    if let Some(why) = without_log(view) {
        return Some(why);
    }
    let syncs = countable_syncs(view)?;
    let sessions = f64::from(view.drive()?.sessions);
    (writing > SYNCED * (syncs + 1.0) * sessions).then(|| {
        format!(
            "{} transactions per second wrote and committed while the log was synced {} times per \
             second, so the sessions did not wait for it",
            text::rate(writing),
            text::plain(syncs)
        )
    })
}

/// PostgreSQL's syncs of the log per second, if it counts all of them.
fn countable_syncs(view: &View) -> Option<f64> {
    let method = view.setting("wal_sync_method")?;
    let counts = !method.starts_with("open_") && view.setting("fsync") == Some("on");
    view.mean(names::DB_WAL_SYNCS).filter(|_| counts)
}

/// MyRocks wrote fewer bytes to its log than the changed rows have: sessions disabled the log for
/// themselves.
fn without_log(view: &View) -> Option<String> {
    let rows = view.mean_sum(&[
        names::DB_ROCKSDB_ROWS_INSERTED,
        names::DB_ROCKSDB_ROWS_UPDATED,
        names::DB_ROCKSDB_ROWS_DELETED,
    ])?;
    let bytes = view.mean(names::DB_ROCKSDB_WAL_BYTES)?;
    (rows >= 1.0 && bytes < rows).then(|| {
        format!(
            "MyRocks changed {} rows per second and wrote {} bytes to its log",
            text::rate(rows),
            text::rate(bytes)
        )
    })
}

/// `3 of 4`.
fn shares(text: &str) -> Option<(u64, u64)> {
    let (part, whole) = text.split_once(" of ")?;
    Some((part.parse().ok()?, whole.parse().ok()?))
}
