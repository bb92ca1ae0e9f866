//! The database's counters, and the size of its data.

use std::collections::BTreeMap;

use dyno_core::catalogue::names;
use dyno_core::record::{RunRecord, Series};
use dyno_stats::describe;
use dyno_verdict::counts_new_pages;
use maud::{Markup, html};

use super::blocks;
use super::chart::{Chart, Time};
use super::data::{Counter, CounterSet};
use super::figures;
use super::glance;
use super::markup::{Text, slug};
use super::observed::{PLAIN, Plot, plot};
use super::page::{Caption, Page};
use super::run::View;
use super::thin::{Keep, thin};

/// The most points of all counters together: some servers have five hundred.
const POINTS_ALL_MAX: usize = 150_000;

/// Counters drawn initially, if present.
const PICKED: [&str; 6] = [
    names::DB_STATUS_INNODB_ROW_LOCK_WAITS,
    names::DB_STATUS_INNODB_BUFFER_POOL_READS,
    names::DB_STATUS_INNODB_BUFFER_POOL_PAGES_DIRTY,
    names::DB_DATABASE_BLKS_READ,
    names::DB_BACKENDS_WAITING,
    names::DB_WAL_SIZE,
];

/// Writes the sections on counters and on size.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    counters(page, view);
    size(page, view);
}

fn counters(page: &mut Page, view: &View<'_>) {
    page.section(view, "database", "Database counters");
    let all: Vec<&Series> = (view.run.series.iter())
        .filter(|series| series.key.name.starts_with("db."))
        .collect();
    if all.is_empty() {
        page.nothing(&view.why_not("db."));
        page.end_section();
        return;
    }
    glance::write(page, view);
    let moving = |series: &&&Series| series.points.iter().any(|(_, value)| *value != 0.0);
    let moved: Vec<&Series> = all.iter().filter(moving).copied().collect();
    let still: Vec<&str> = all
        .iter()
        .filter(|s| !moving(s))
        .map(|s| s.key.name.as_str())
        .collect();
    let box_id = view.id("counters");
    let caption = Caption {
        id: "picked",
        title: "Counters picked below",
        about: "Click a counter's name below to draw it; at most eight counters and two units.",
        source: "the server's own counters, each by its name; lowest and highest of each part if \
                 there are too many samples to draw",
        size: "",
    };
    let chart = Chart::Time(Time {
        run: view.index,
        ..Time::default()
    });
    let figure = page.within(|page| page.figure(view, &caption, chart));
    add_counters(page, view, &moved);
    page.put(html! {
        details class="panel" {
            summary { "All " (moved.len()) " counters that changed" }
            div class="counters" id=(box_id) data-counters=(view.index)
                data-chart-id=(view.id("picked")) {
                (figure)
                (families(view.run, &box_id, &moved))
            }
        }
        @if !still.is_empty() {
            details class="panel" {
                summary { (still.len()) " counters stayed at zero" }
                p class="mono source" { (Text(still.join(", "))) }
            }
        }
    });
    page.end_section();
}

fn add_counters(page: &mut Page, view: &View<'_>, moved: &[&Series]) {
    let mut set = CounterSet {
        run: view.index,
        series: Vec::new(),
    };
    let points_max = view.points((POINTS_ALL_MAX / moved.len().max(1)).clamp(120, 480));
    for series in moved {
        let thin = thin(&series.points, points_max, Keep::Extremes);
        set.series.push(Counter {
            name: short(&series.key.name).to_owned(),
            unit: series.key.unit.clone(),
            x: page.times(&thin),
            y: thin.values(),
        });
    }
    page.add_counters(set);
}

fn families(run: &RunRecord, box_id: &str, moved: &[&Series]) -> Markup {
    let mut families: BTreeMap<String, Vec<usize>> = BTreeMap::new();
    for (number, series) in moved.iter().enumerate() {
        families
            .entry(family(&series.key.name))
            .or_default()
            .push(number);
    }
    let picked = picked(moved);
    let columns = [
        "counter",
        "over time",
        "#mean",
        "#median",
        "#min",
        "#max",
        "source",
    ];
    html! {
        div class="panel" {
            div class="filter" data-filter=(box_id) {
                label { "Filter " input type="search" placeholder="words of a name"; }
                output {}
            }
            @for (name, members) in &families {
                @let rows = html! {
                    @for number in members {
                        (row(run, *number, moved[*number], picked.contains(number)))
                    }
                };
                details class="family" id={ (box_id) "-" (slug(name)) }
                    open[members.iter().any(|number| picked.contains(number))] {
                    summary { (Text(name)) " " small { (members.len()) } }
                    (blocks::table(&columns, &rows))
                }
            }
            p class="source" {
                "Over the measurement, without the warm-up. Counters are rates; states are values \
                 at each sample."
            }
        }
        "\n"
    }
}

/// The counters drawn initially: known ones, else the first.
fn picked(moved: &[&Series]) -> Vec<usize> {
    let is_known = |number: &usize| PICKED.contains(&moved[*number].key.name.as_str());
    let known: Vec<usize> = (0..moved.len()).filter(is_known).collect();
    if known.is_empty() {
        return (0..moved.len().min(1)).collect();
    }
    known
}

fn row(run: &RunRecord, number: usize, series: &Series, pressed: bool) -> Markup {
    let name = &series.key.name;
    let measured: Vec<f64> = (series.points.iter())
        .filter(|(at_s, value)| *at_s > 0.0 && value.is_finite())
        .map(|(_, value)| *value)
        .collect();
    let described = describe(&measured);
    let figures = [
        described.map(|d| d.mean),
        described.map(|d| d.median),
        described.map(|d| d.min),
        described.map(|d| d.max),
    ];
    let pressed = if pressed { "true" } else { "false" };
    html! {
        tr {
            td {
                button type="button" class="pick" data-series=(number) aria-pressed=(pressed) {
                    (Text(short(name)))
                }
            }
            td class="spark" data-series=(number) {}
            @for value in figures {
                td class="n" { (Text(figures::maybe(value, &series.key.unit))) }
            }
            td class="why" { (Text(source(run, series))) }
        }
    }
}

/// The source of a counter, and what it includes without its name saying so.
fn source(run: &RunRecord, series: &Series) -> String {
    let source = &series.key.source;
    match counts_new_pages(run, &series.key.name) {
        true => format!("{source}; includes new pages before version 16"),
        false => source.clone(),
    }
}

/// A counter's name without the common prefix.
fn short(name: &str) -> &str {
    let name = name.strip_prefix("db.").unwrap_or(name);
    name.strip_prefix("status.").unwrap_or(name)
}

/// The family of a counter: `com`, `innodb_buffer_pool`, `wal`.
fn family(name: &str) -> String {
    let (status, name) = (name.starts_with("db.status."), short(name));
    if !status {
        let family = name.split_once('.').map_or("server", |(family, _)| family);
        return family.to_owned();
    }
    let mut parts = name.split('_');
    let first = parts.next().unwrap_or(name);
    let second = parts.next().unwrap_or_default();
    let third = parts.next();
    match (first, second, third) {
        ("innodb", "buffer", Some(_)) => "innodb_buffer_pool".to_owned(),
        ("innodb" | "performance" | "table" | "aria" | "rocksdb", second, Some(_)) => {
            format!("{first}_{second}")
        }
        _ => first.to_owned(),
    }
}

/// Bytes on disk by class.
fn size(page: &mut Page, view: &View<'_>) {
    page.section(view, "size", "Size of the data");
    let files = Plot {
        id: "data-size",
        title: "Allocated bytes by class",
        about: "Disk space of the files in the data directory, every ten seconds.",
        axis: "allocated",
        lines: &[
            (names::DATA_DATA, "data", 0),
            (names::DATA_SYSTEM, "system tablespace", 2),
            (names::DATA_REDO, "redo log, WAL", 1),
            (names::DATA_BINLOG, "binary log", 3),
            (names::DATA_UNDO, "undo", 5),
            (names::DATA_TEMP, "temporary", 4),
            (names::DATA_OTHER, "other", 6),
        ],
        stacked: true,
        ..PLAIN
    };
    if plot(page, view, &files) {
        page.put(growth(view));
    }
    page.end_section();
}

fn growth(view: &View<'_>) -> Markup {
    let Some(total) = view.run.series(names::DATA_TOTAL) else {
        return Markup::default();
    };
    let (Some(first), Some(last)) = (total.points.first(), total.points.last()) else {
        return Markup::default();
    };
    let most = total
        .points
        .iter()
        .map(|(_, bytes)| *bytes)
        .fold(0.0, f64::max);
    let ratio = (first.1 > 0.0).then(|| most / first.1);
    let events: u64 = view
        .run
        .intervals
        .iter()
        .map(|interval| interval.counters.events)
        .sum();
    let per_million = (events > 0).then(|| (last.1 - first.1) / events as f64 * 1e6);
    let sizes = [first.1, last.1, most].map(|size| figures::value(size, "bytes"));
    html! {
        div class="panel" {
            dl class="facts" {
                dt { "First, last, largest" }
                dd { (sizes.join(", ")) }
                dt { "Largest / first" }
                dd { (figures::maybe(ratio, "ratio")) }
                dt { "Growth per million events" }
                dd { (figures::maybe(per_million, "bytes")) }
            }
            p class="source" {
                "Source: data.total, events of all intervals, including the warm-up."
            }
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::catalogue::names;
    use dyno_samples::Product;

    use super::{family, source};

    #[test]
    fn a_counter_of_new_pages_says_so() {
        let noted = |version: &str, name: &str| {
            let mut run = dyno_samples::closed(&[1000.0; 20], Product::Postgres);
            run.head.target.version = version.to_owned();
            let series = run.series(name).unwrap();
            source(&run, series).contains("includes new pages before version 16")
        };
        assert!(noted("15.18", names::DB_DATABASE_BLKS_READ));
        assert!(!noted("15.18", names::DB_DATABASE_BLKS_HIT));
        assert!(!noted("16.2", names::DB_DATABASE_BLKS_READ));
    }

    #[test]
    fn families_stay_together() {
        assert_eq!(family("db.status.com_select"), "com");
        assert_eq!(
            family("db.status.innodb_buffer_pool_reads"),
            "innodb_buffer_pool"
        );
        assert_eq!(family("db.status.innodb_row_lock_waits"), "innodb_row");
        assert_eq!(family("db.wal.bytes"), "wal");
        assert_eq!(family("db.up"), "server");
    }
}
