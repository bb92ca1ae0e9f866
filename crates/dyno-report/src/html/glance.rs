//! The most important database counters.

use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, Series};
use dyno_verdict::{counts_new_pages, without_new_pages};
use maud::html;

use super::chart::{Axis, Chart, Look, Time};
use super::page::{Caption, Page, source_note};
use super::run::View;
use super::thin::{Keep, thin};

/// The most points of a line.
const POINTS_MAX: usize = 480;

/// A chart of the counters that the server has.
struct Glance {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    /// Alternative series and their name in the legend. The first existing one is drawn.
    lines: &'static [(&'static [&'static str], &'static str)],
}

const GLANCES: [Glance; 5] = [
    Glance {
        id: "redo",
        title: "Redo log written",
        about: "Bytes of the redo log, or of the write-ahead log.",
        lines: &[(
            &[
                names::DB_STATUS_INNODB_OS_LOG_WRITTEN,
                names::DB_INNODB_OS_LOG_BYTES_WRITTEN,
                names::DB_WAL_BYTES,
            ],
            "redo log",
        )],
    },
    Glance {
        id: "syncs",
        title: "Syncs to disk",
        about: "How often the server synced data or log to disk.",
        lines: &[
            (
                &[
                    names::DB_STATUS_INNODB_DATA_FSYNCS,
                    names::DB_INNODB_OS_DATA_FSYNCS,
                    names::DB_WAL_SYNCS,
                ],
                "all",
            ),
            (
                &[
                    names::DB_STATUS_INNODB_OS_LOG_FSYNCS,
                    names::DB_INNODB_OS_LOG_FSYNCS,
                ],
                "of the log",
            ),
        ],
    },
    Glance {
        id: "row-locks",
        title: "Waits for row locks",
        about: "How often a row was locked by another session; on PostgreSQL, the number of \
                waiting sessions.",
        lines: &[(
            &[
                names::DB_STATUS_INNODB_ROW_LOCK_WAITS,
                names::DB_INNODB_LOCK_ROW_LOCK_WAITS,
                names::DB_BACKENDS_WAITING,
            ],
            "waits",
        )],
    },
    Glance {
        id: "checkpoint-age",
        title: "Checkpoint age",
        about: "Changes in the redo log that are not yet in data files; near its limit the server \
                must write pages before it continues.",
        lines: &[
            (&[names::DB_STATUS_INNODB_CHECKPOINT_AGE], "age"),
            (&[names::DB_STATUS_INNODB_CHECKPOINT_MAX_AGE], "limit"),
        ],
    },
    Glance {
        id: "threads-running",
        title: "Threads running",
        about: "Sessions that are executing statements.",
        lines: &[(
            &[names::DB_STATUS_THREADS_RUNNING, names::DB_BACKENDS_ACTIVE],
            "running",
        )],
    },
];

/// Reads, and those not found in memory.
const READS: [(&str, &str); 3] = [
    (
        names::DB_STATUS_INNODB_BUFFER_POOL_READ_REQUESTS,
        names::DB_STATUS_INNODB_BUFFER_POOL_READS,
    ),
    (
        names::DB_INNODB_BUFFER_POOL_READ_REQUESTS,
        names::DB_INNODB_BUFFER_POOL_READS,
    ),
    (names::DB_DATABASE_BLKS_HIT, names::DB_DATABASE_BLKS_READ),
];

/// Draws them side by side; nothing if the server has none of them.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let charts = page.within(|page| all(page, view));
    page.put(html! { div class="thirds" { (charts) } });
}

fn all(page: &mut Page, view: &View<'_>) {
    hits(page, view);
    for glance in &GLANCES {
        let found = glance.lines.iter().filter_map(|(names, legend)| {
            let series = names.iter().find_map(|name| known(view.run, name))?;
            Some((series, *legend))
        });
        let found: Vec<(&Series, &str)> = found.collect();
        if let Some((first, _)) = found.first() {
            let unit = first.key.unit.clone();
            let lines: Vec<(Vec<(f64, f64)>, &str)> = found
                .iter()
                .map(|(series, legend)| (series.points.clone(), *legend))
                .collect();
            let names: Vec<&str> = found.iter().map(|(s, _)| s.key.name.as_str()).collect();
            draw(
                page,
                view,
                glance,
                Axis::new("", &unit),
                &lines,
                &names.join(", "),
            );
        }
    }
}

fn known<'a>(run: &'a RunRecord, name: &str) -> Option<&'a Series> {
    run.series(name).filter(|series| !series.points.is_empty())
}

/// The share of reads served from memory.
fn hits(page: &mut Page, view: &View<'_>) {
    let Some(hits) = Hits::of(view.run) else {
        return;
    };
    let glance = Glance {
        id: "hit-ratio",
        title: "Buffer pool hit ratio",
        about: hits.about,
        lines: &[],
    };
    let mut axis = Axis::new("", "percent");
    axis.max = Some(100.0);
    draw(
        page,
        view,
        &glance,
        axis,
        &[(hits.percent, "hits")],
        &hits.source,
    );
}

struct Hits {
    /// In percent, by time.
    percent: Vec<(f64, f64)>,
    about: &'static str,
    source: String,
}

impl Hits {
    /// `None` if the server counts no reads, or if the misses are unknown.
    fn of(run: &RunRecord) -> Option<Self> {
        let (asked, missed_name) = READS
            .iter()
            .find_map(|(asked, missed)| Some((known(run, asked)?, *missed)))?;
        let asked_name = asked.key.name.as_str();
        let corrected = without_new_pages(run).filter(|read| read.key.name == missed_name);
        let missed = corrected.as_ref().or_else(|| run.series(missed_name));
        // A counter that never moved has no series: there were no misses.
        let zero = || run.fact(names::OBSERVER_ALWAYS_ZERO);
        if missed.is_none() && !zero().is_some_and(|names| names.contains(missed_name)) {
            return None;
        }
        let includes = missed.is_some() && counts_new_pages(run, missed_name);
        let (about, without) = match (includes, corrected.is_some()) {
            (true, false) => (
                "Share of page reads served from memory. Misses include new pages before version \
                 16.",
                "",
            ),
            (true, true) => (SHARE, " without new pages"),
            (false, _) => (SHARE, ""),
        };
        // PostgreSQL counts hits and misses, InnoDB all and misses.
        let apart = asked_name.ends_with("_hit");
        Some(Self {
            percent: ratio(asked, missed, apart),
            about,
            source: format!("{missed_name}{without} against {asked_name}"),
        })
    }
}

const SHARE: &str = "Share of page reads served from memory.";

/// Hits in percent at each sample with reads.
fn ratio(asked: &Series, missed: Option<&Series>, apart: bool) -> Vec<(f64, f64)> {
    let mut misses = missed
        .map_or(&[][..], |series| &series.points)
        .iter()
        .peekable();
    let mut points = Vec::new();
    for (at_s, asked) in &asked.points {
        while misses
            .next_if(|(miss_s, _)| *miss_s < at_s - 1e-3)
            .is_some()
        {}
        let missed = match misses.peek() {
            Some((miss_s, missed)) if (miss_s - at_s).abs() <= 1e-3 => *missed,
            _ if missed.is_none() => 0.0,
            _ => f64::NAN,
        };
        let all = if apart { asked + missed } else { *asked };
        let share = if all > 0.0 {
            (1.0 - missed / all).clamp(0.0, 1.0) * 100.0
        } else {
            f64::NAN
        };
        points.push((*at_s, share));
    }
    points
}

fn draw(
    page: &mut Page,
    view: &View<'_>,
    glance: &Glance,
    axis: Axis,
    lines: &[(Vec<(f64, f64)>, &str)],
    source: &str,
) {
    let mut note = source.to_owned();
    let mut drawn = Vec::new();
    for (colour, (points, legend)) in lines.iter().enumerate() {
        let points = thin(points, view.points(POINTS_MAX), Keep::Extremes);
        note = source_note(source, &points, Keep::Extremes);
        // The second is a limit, or a part of the first.
        drawn.push(page.line(legend, 0, &points, Look::Line, [0, 6][colour.min(1)]));
    }
    let caption = Caption {
        id: glance.id,
        title: glance.title,
        about: glance.about,
        source: &note,
        size: "short",
    };
    let time = Time {
        run: view.index,
        axes: vec![axis],
        lines: drawn,
        slider: false,
    };
    page.figure(view, &caption, Chart::Time(time));
}

#[cfg(test)]
mod tests {
    use dyno_core::record::SeriesKind;
    use dyno_samples::{Product, values};

    use super::*;

    fn series(points: &[(f64, f64)]) -> Series {
        values::series("db.x", "count/s", SeriesKind::Rate, points)
    }

    #[test]
    fn hit_ratios_are_shares_of_requests() {
        let asked = series(&[(1.0, 100.0), (2.0, 200.0), (3.0, 0.0), (4.0, 50.0)]);
        let missed = series(&[(1.0, 10.0), (2.0, 0.0), (3.0, 0.0)]);
        let found = ratio(&asked, Some(&missed), false);
        assert_eq!(&found[..2], [(1.0, 90.0), (2.0, 100.0)]);
        // Without reads, or without a count of misses, there is no ratio.
        assert!(found[2].1.is_nan() && found[3].1.is_nan());
        let apart = ratio(&asked, Some(&missed), true);
        assert!((apart[0].1 - 100.0 * 100.0 / 110.0).abs() < 1e-9);
        assert_eq!(ratio(&asked, None, false)[0], (1.0, 100.0));
    }

    /// Each second 100 pages are found and 100 counted as read, of which 80 are new.
    fn growing(version: &str, size: bool) -> RunRecord {
        let mut run = dyno_samples::closed(&[1000.0; 20], Product::Postgres);
        run.series.retain(|one| !one.key.name.starts_with("db."));
        run.head.target.version = version.to_owned();
        let all = |of: fn(f64) -> f64| -> Vec<(f64, f64)> {
            (0..=20)
                .map(|at| (f64::from(at), of(f64::from(at))))
                .collect()
        };
        for name in [names::DB_DATABASE_BLKS_HIT, names::DB_DATABASE_BLKS_READ] {
            let counted = all(|_| 100.0);
            let counted = values::series(name, "count/s", SeriesKind::Rate, &counted);
            run.series.push(counted);
        }
        if size {
            let sizes = all(|at| 1e7 + 80.0 * 8192.0 * at);
            let name = names::DB_DATABASE_SIZE;
            let sizes = values::series(name, "bytes", SeriesKind::Gauge, &sizes);
            run.series.push(sizes);
        }
        run
    }

    #[test]
    fn new_pages_are_not_misses() {
        let hits = |version, size| Hits::of(&growing(version, size)).unwrap();
        let corrected = hits("15.18 (Debian)", true);
        let (_, percent) = corrected.percent[10];
        assert!((percent - 100.0 * 100.0 / 120.0).abs() < 0.1, "{percent}");
        assert!(corrected.source.contains("blks_read without new pages"));
        assert_eq!(corrected.about, SHARE);
        let unknown = hits("15.18 (Debian)", false);
        assert_eq!(unknown.percent[10].1, 50.0);
        assert!(
            unknown
                .about
                .ends_with("include new pages before version 16.")
        );
        let later = hits("16.2", true);
        assert_eq!((later.percent[10].1, later.about), (50.0, SHARE));
        assert!(!later.source.contains("new pages"), "{}", later.source);
    }
}
