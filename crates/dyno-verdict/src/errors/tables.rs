//! Checks, by the server's counters, that statements access tables.

#[cfg(test)]
mod tests;

use dyno_core::catalogue::names;

use super::counters::did_work_elsewhere;
use crate::server::foreign_tables;
use crate::text;
use crate::view::View;

pub(super) const ADVICE: &str = "Look at the statements: those with only literals, functions \
                                 and variables measure the connection and the parser, not the \
                                 tables.";

/// MySQL's and MariaDB's counters of index and table accesses: at least one for each statement that
/// reads rows, by a key or all of them. Cached answers are checked separately.
const LOOKS: [&str; 4] = [
    names::DB_STATUS_HANDLER_READ_FIRST,
    names::DB_STATUS_HANDLER_READ_KEY,
    names::DB_STATUS_HANDLER_READ_LAST,
    names::DB_STATUS_QCACHE_HITS,
];

/// Each table of a statement counts once. A full-text search, a count inside InnoDB and a sequence
/// value cause no index access that the counters above see, but they open their tables.
const OPENED: [&str; 2] = [
    names::DB_STATUS_TABLE_OPEN_CACHE_HITS,
    names::DB_STATUS_TABLE_OPEN_CACHE_MISSES,
];
/// Servers without a counter of opened tables count page requests.
const PAGES: [&str; 3] = [
    names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS,
    names::DB_STATUS_KEY_READ_REQUESTS,
    names::DB_STATUS_ARIA_PAGECACHE_READ_REQUESTS,
];

/// Rows per second that observers read from tables created by the server for them.
pub(crate) const OBSERVERS_ROWS: f64 = 5_000.0;

/// PostgreSQL's page requests. TABLESAMPLE, look-ups by `ctid` and `nextval` do not count as scans.
const BLOCKS: [&str; 2] = [names::DB_DATABASE_BLKS_HIT, names::DB_DATABASE_BLKS_READ];
/// Pages that a scan or a row change requests in addition to one per row: the levels of one or
/// several indexes.
const BLOCKS_EACH: f64 = 8.0;
/// Sessions report at most once a second, and the last sample may be another second old: counts of
/// up to this many seconds may be missing.
const LATE_S: f64 = 2.0;

/// The mean without the first samples, which may include earlier reads of observers.
fn settled(view: &View, name: &str) -> Option<f64> {
    let points = view.points(name).into_iter();
    let within = points.filter(|(at_s, _)| *at_s > LATE_S && *at_s <= view.length_s);
    let values: Vec<f64> = within.map(|(_, value)| value).collect();
    dyno_stats::mean(&values).or_else(|| view.mean(name))
}

/// The statements that access no table, if they are this percentage of those that read or
/// change rows.
pub(super) fn untouched(view: &View, percent: f64) -> Option<String> {
    let endpoints = view.summary().map_or(0, |summary| summary.endpoints.len());
    if view.imported() || view.embedded() || view.is_shared() || endpoints > 1 {
        return None;
    }
    // Another server accessed the tables, or a cache answered.
    if did_work_elsewhere(view) || !foreign_tables(view).is_empty() {
        return None;
    }
    let series = match view.postgres() {
        true => names::DB_DATABASE_XACT_COMMIT,
        false => names::DB_STATUS_QUESTIONS,
    };
    let totals = view.totals();
    let (_, statements) = view.rates_while(series)?;
    let part = |count: u64| statements * count as f64 / totals.queries().max(1) as f64;
    let (reads, writes) = (part(totals.reads), part(totals.writes));
    let looks = match view.postgres() {
        true => {
            let reported_s = Some(view.length_s - LATE_S).filter(|reported_s| *reported_s > 0.0);
            let late = view.length_s / reported_s?;
            let scans = view.mean(names::DB_TABLES_SCANS)? * late;
            let blocks: Option<f64> = BLOCKS.iter().map(|name| settled(view, name)).sum();
            let blocks = blocks? * late;
            let explained =
                (scans + writes) * BLOCKS_EACH + view.mean(names::DB_DATABASE_TUP_FETCHED)? * late;
            scans.max(blocks - explained)
        }
        false => {
            // Engines without indexes only count rows.
            view.mean(names::DB_STATUS_HANDLER_READ_RND_NEXT)
                .filter(|rows| *rows < reads + OBSERVERS_ROWS)?;
            let opened = view.mean_sum(&OPENED).map(|opened| opened - writes);
            let seen = opened.or_else(|| view.mean_sum(&PAGES))?;
            view.mean_sum(&LOOKS)?.max(seen)
        }
    };
    let share = (reads - looks) / (reads + writes).max(f64::MIN_POSITIVE) * 100.0;
    (share >= percent).then(|| {
        format!(
            "{} % of the statements touch no table: the server accessed tables and indexes {} \
             times per second for {} reads",
            text::plain(share),
            text::rate(looks),
            text::rate(reads)
        )
    })
}
