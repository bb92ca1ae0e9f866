//! The pages that PostgreSQL read.
//!
//! Before version 16, `blks_read` also counts the pages that a table or an index grows by, which
//! nothing reads. Neither a view nor a function counts them, but the size of the database shows
//! them.

use dyno_core::catalogue::names;
use dyno_core::counters::{self, Also, Server};
use dyno_core::record::{RunRecord, Series};

/// Sessions report their counts up to a second late, so growth is compared over at least this time.
const WINDOW_S: f64 = 5.0;
/// PostgreSQL's `block_size`, unless its settings say otherwise.
const PAGE_BYTES: f64 = 8192.0;

/// Whether the server of a run counts new pages in this series.
pub fn counts_new_pages(run: &RunRecord, series: &str) -> bool {
    let version = counters::version(&run.head.target.version);
    version.is_some_and(|version| {
        counters::includes(series, Server::Postgres, version, Also::NewBlocks)
    })
}

/// The series of pages read without new pages; `None` if the recorded series needs no correction,
/// or the size is unknown.
pub fn without_new_pages(run: &RunRecord) -> Option<Series> {
    let read = run.series(names::DB_DATABASE_BLKS_READ)?;
    if !counts_new_pages(run, &read.key.name) {
        return None;
    }
    let sizes = &run.series(names::DB_DATABASE_SIZE)?.points;
    let page_bytes = run.setting("block_size");
    let page_bytes = page_bytes.and_then(|size| size.parse().ok());
    let windows = windows(sizes, &read.points, page_bytes.unwrap_or(PAGE_BYTES));
    let last = windows.last()?.1;
    let mut own = read.clone();
    for (at_s, value) in &mut own.points {
        let window = windows.iter().find(|(to_s, _)| *at_s <= *to_s);
        *value *= window.map_or(last, |(_, share)| *share);
    }
    Some(own)
}

/// The ends of windows, and the share of the counted pages in each that were read.
fn windows(sizes: &[(f64, f64)], read: &[(f64, f64)], page_bytes: f64) -> Vec<(f64, f64)> {
    let mut windows = Vec::new();
    let Some((mut from, rest)) = sizes.split_first().map(|(first, rest)| (*first, rest)) else {
        return windows;
    };
    for (index, to) in rest.iter().enumerate() {
        let left_s = rest.last().map_or(0.0, |last| last.0 - to.0);
        let is_last = index + 1 == rest.len();
        if !is_last && (to.0 - from.0 < WINDOW_S || left_s < WINDOW_S) {
            continue;
        }
        let counted = counted(read, from.0, to.0);
        let new = ((to.1 - from.1) / page_bytes).max(0.0);
        let share = if counted > new {
            (counted - new) / counted
        } else {
            0.0
        };
        windows.push((to.0, share));
        from = *to;
    }
    windows
}

/// The count in a time, from rates that each cover the time since the one before.
fn counted(read: &[(f64, f64)], from_s: f64, to_s: f64) -> f64 {
    let pairs = read.windows(2).filter_map(|pair| match pair {
        [(before_s, _), (at_s, rate)] => {
            let overlap_s = at_s.min(to_s) - before_s.max(from_s);
            (overlap_s > 0.0 && rate.is_finite()).then_some(overlap_s * rate)
        }
        _ => None,
    });
    pairs.sum()
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome;
    use dyno_core::record::SeriesKind;
    use dyno_samples::{Product, noisy, values};

    use super::*;

    /// Measured with a load that updates and inserts: the table grows until 16 s, and from 20 s on
    /// 40 pages a second are read.
    fn growing(version: &str) -> RunRecord {
        let mut run = dyno_samples::closed(&noisy(30, 1000.0, 0.04, 1), Product::Postgres);
        run.series.retain(|one| !one.key.name.starts_with("db."));
        run.head.target.version = version.to_owned();
        let noise = |at: usize| [25.0, -25.0, 5.0, -5.0][at % 4];
        let new = |at: usize| {
            if at <= 16 {
                220.0 - 4.0 * at as f64
            } else {
                0.0
            }
        };
        let rate = |at: usize| match at {
            0..=16 => new(at) + noise(at),
            20.. => 40.0,
            _ => 0.0,
        };
        let read: Vec<(f64, f64)> = (0..=30).map(|at| (at as f64, rate(at))).collect();
        let size = |at: usize| 1e7 + PAGE_BYTES * (1..=at).map(new).sum::<f64>();
        let sizes = (0..=30).step_by(3).map(|at| (at as f64, size(at)));
        let sizes: Vec<(f64, f64)> = sizes.collect();
        let name = names::DB_DATABASE_BLKS_READ;
        let read = values::series(name, "count/s", SeriesKind::Rate, &read);
        let name = names::DB_DATABASE_SIZE;
        let sizes = values::series(name, "bytes", SeriesKind::Gauge, &sizes);
        run.series.extend([read, sizes]);
        run
    }

    #[test]
    fn new_pages_are_not_read() {
        let own = without_new_pages(&growing("15.18 (Debian)")).unwrap();
        let mean = |from: usize, to: usize| {
            let part = &own.points[from..to];
            part.iter().map(|(_, value)| value).sum::<f64>() / part.len() as f64
        };
        assert!(mean(1, 16) < 10.0, "{:?}", own.points);
        assert!((mean(22, 31) - 40.0).abs() < 5.0, "{:?}", own.points);
    }

    #[test]
    fn later_versions_count_only_what_is_read() {
        assert!(without_new_pages(&growing("16.2")).is_none());
        let mut unknown = growing("15.18");
        unknown
            .series
            .retain(|one| one.key.name != names::DB_DATABASE_SIZE);
        assert!(without_new_pages(&unknown).is_none());
        assert!(without_new_pages(&dyno_samples::good()).is_none());
        let counts = |version, name| counts_new_pages(&growing(version), name);
        assert!(counts("15.18", names::DB_DATABASE_BLKS_READ));
        assert!(!counts("16.2", names::DB_DATABASE_BLKS_READ));
        assert!(!counts("15.18", names::DB_DATABASE_BLKS_HIT));
    }

    #[test]
    fn caches_of_a_growing_table_are_warm() {
        let outcome = |version| {
            let mut run = growing(version);
            let read = run.series.iter_mut();
            let read = read.filter(|one| one.key.name == names::DB_DATABASE_BLKS_READ);
            let points = read.flat_map(|one| &mut one.points);
            let later = points.filter(|(at_s, _)| *at_s > 16.0);
            later.for_each(|(_, value)| *value = 0.0);
            dyno_samples::series(&mut run, names::DB_DATABASE_BLKS_HIT, &[120_000.0; 30]);
            crate::tests::judged(&run, "cold-or-warm").outcome
        };
        assert_eq!(outcome("15.18"), Outcome::Pass);
        assert_eq!(outcome("16.2"), Outcome::Doubt);
    }
}
