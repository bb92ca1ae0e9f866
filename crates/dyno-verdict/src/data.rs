//! Checks 16 to 22: the data and the caches in front of it.

mod cache;
mod growth;
mod keys;
mod misses;
mod query_cache;
mod schema;
mod statistics;

#[cfg(test)]
mod tests;

pub(crate) use cache::are_of_other_engines;
pub(crate) use misses::missed;
pub(crate) use schema::changed as changed_tables;

use dyno_core::catalogue::names;

use crate::check::{Check, CheckResult};
use crate::context::RowCount;
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(crate) const CHECKS: &[Check] = &[
    cache::CACHE,
    query_cache::QUERY_CACHE,
    cache::COLD_OR_WARM,
    keys::KEYS,
    misses::MISSES,
    growth::GROWTH,
    statistics::STATISTICS,
    schema::SCHEMA,
    Check {
        number: 22,
        name: "row-counts",
        title: "Rows of the workload's tables",
        rule: "Refusal if a table has fewer rows than the options say; the run does not start \
               unless forced. In tables of more than a million rows, 64 ids are looked up instead, \
               and less than 80 % is too few.",
        thresholds: &[],
        make: row_counts,
    },
];

/// The series with the size of the data, the most exact first.
const SIZES: [&str; 4] = [
    names::DB_DATABASE_SIZE,
    names::DATA_DATA,
    names::DB_FILE_SIZE,
    names::DATA_TOTAL,
];

/// The same if InnoDB keeps the tables in its system tablespace.
const SIZES_OF_SYSTEM: [&str; 3] = [
    names::DB_DATABASE_SIZE,
    names::DATA_SYSTEM,
    names::DATA_TOTAL,
];

/// The series that may have the size of the data, most exact first.
pub(super) fn sizes(view: &View) -> &'static [&'static str] {
    match view.run.setting("innodb_file_per_table") {
        Some("OFF" | "0") => &SIZES_OF_SYSTEM,
        _ => &SIZES,
    }
}

/// What a series of `sizes` counts.
pub(super) fn counted_by(series: &str) -> &'static str {
    match series {
        names::DB_DATABASE_SIZE => "the database",
        names::DATA_DATA => "the files of all tables and indexes",
        names::DATA_SYSTEM => "InnoDB's system tablespace",
        names::DB_FILE_SIZE => "the database's file",
        _ => "all files in the data directory",
    }
}

/// The object that the size of the data refers to.
pub(super) fn whose_size(view: &View) -> &'static str {
    let mut all = sizes(view).iter();
    match all.find(|name| view.mean(name).is_some()) {
        Some(&names::DB_DATABASE_SIZE) => "the database",
        Some(&names::DB_FILE_SIZE) => "the database's file",
        _ => "the server's data directory, all schemas in it,",
    }
}

/// The tables with fewer rows than expected, as text.
pub fn too_few(counts: &[RowCount]) -> Vec<String> {
    let differs = |count: &RowCount| {
        let found = count.found.filter(|found| *found < count.expected)?;
        Some(format!(
            "{} has {}{} instead of {}",
            count.table,
            if count.probed { "about " } else { "" },
            text::counted(found, "row"),
            text::count(count.expected)
        ))
    };
    counts.iter().filter_map(differs).collect()
}

fn row_counts(view: &View) -> CheckResult {
    let counts = &view.context.row_counts;
    if counts.is_empty() && view.imported() {
        return Missing::Rows.result();
    }
    if counts.is_empty() {
        return CheckResult::not_checked(
            "The rows of the workload's tables were not counted: the tables belong to another \
             workload or have more than a million rows, counting would warm caches that are \
             claimed to be cold, or there was no time.",
        );
    }
    let known = counts.iter().filter(|count| count.found.is_some()).count();
    if known == 0 {
        return CheckResult::not_checked("The rows of the workload's tables could not be counted.");
    }
    let wrong = too_few(counts);
    let more = |count: &&RowCount| count.found.is_some_and(|found| found > count.expected);
    let result = match wrong.is_empty() {
        true => CheckResult::pass(match counts.iter().find(more) {
            None => format!(
                "{known} of {} {} counted, and {} the loaded rows.",
                text::number_of(counts.len(), "table"),
                text::verb(known, "was", "were"),
                text::verb(known, "contains", "contain")
            ),
            Some(larger) => format!(
                "{known} of {} {} counted; {} has {}, of which the run's options use {}.",
                text::number_of(counts.len(), "table"),
                text::verb(known, "was", "were"),
                larger.table,
                text::counted(larger.found.unwrap_or_default(), "row"),
                text::count(larger.expected)
            ),
        }),
        false => CheckResult::refuse(
            format!("{}.", text::few(&wrong, 4)),
            "Load the tables again with the run's options.",
        ),
    };
    result.with("tables counted", known as f64, "count").with(
        "tables that differ",
        wrong.len() as f64,
        "count",
    )
}
