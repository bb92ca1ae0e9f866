//! SQLite: sizes and tables. There is no server with other counters.

use super::server::{Asking, one};
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};
use crate::source::Trouble;

/// Larger files are not read page by page, which the sizes of tables require.
const PAGES_MAX: u64 = 50_000;

/// The profile of this file.
///
/// # Errors
/// The file is not readable.
pub(crate) fn profile(asking: Asking<'_>, title: String) -> Result<Profile, Trouble> {
    let pages = one(asking, "PRAGMA page_count")?;
    let pages: u64 = pages.and_then(|text| text.parse().ok()).unwrap_or(0);
    let sizes = match pages <= PAGES_MAX {
        true => Ok(()),
        false => Err(format!(
            "table sizes require reading the whole file, which Dyno does only up to {PAGES_MAX} \
             pages"
        )),
    };
    Ok(Profile {
        title,
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Absent("SQLite has none"),
        line: FIGURES,
        abilities: vec![("sizes", sizes)],
        schema: String::new(),
        remarks: &[],
        notes: vec![
            "SQLite is a library inside each program: sessions, statements and I/O are not visible \
             from outside"
                .to_owned(),
        ],
    })
}

const VALUES: &[Values] = &[
    Values::columns(Ask::plain(
        "SELECT page_count * page_size AS file_size, freelist_count * page_size AS free, \
             page_size, journal_mode FROM pragma_page_count, pragma_page_size, \
             pragma_freelist_count, pragma_journal_mode",
    )),
    Values::columns(Ask::plain(
        "SELECT count(*) FILTER (WHERE type = 'table') AS tables, \
             count(*) FILTER (WHERE type = 'index') AS indexes FROM sqlite_schema",
    )),
];

const FIGURES: &[Figure] = &[
    Figure::bytes("file", "file_size"),
    Figure::bytes("free pages", "free"),
    Figure::bytes("page", "page_size"),
    Figure::text("journal", "journal_mode"),
    Figure::count("tables", "tables"),
    Figure::count("indexes", "indexes"),
];

const SCREENS: &[Screen] = &[Screen {
    title: "Tables",
    figures: FIGURES,
    heat: false,
    tables: &[Table {
        title: "Tables and indexes",
        asks: &[
            Ask::needing(
                "sizes",
                "SELECT coalesce(s.type, 'table') AS type, d.name, coalesce(s.tbl_name, d.name) \
                 AS tbl_name, d.pgsize AS size, d.unused, d.ncell AS cells FROM dbstat d \
                 LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE \
                 ORDER BY size DESC LIMIT 200",
            ),
            Ask::plain("SELECT type, name, tbl_name FROM sqlite_schema LIMIT 200"),
        ],
        columns: &[
            Figure::text("name", "name"),
            Figure::text("type", "type"),
            Figure::text("of table", "tbl_name"),
            Figure::bytes("size", "size"),
            Figure::bytes("unused", "unused"),
            Figure::count("cells", "cells"),
        ],
        key: &["name"],
        sort: 3,
        empty: "no tables",
    }],
}];
