//! Finds out whether a database already has a workload's tables, before anything is touched.

use std::time::Duration;

use dyno_core::db::{ErrorKind, Family};
use dyno_drivers::control::Control;

use super::created_tables::{self, Standing};
use super::rows;
use crate::error::Result;
use crate::job::Ready;
use crate::request::RunRequest;

/// Give up on a server that takes longer than this to list its tables.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Workloads whose `init()` only reads, and fails if the tables do not fit.
const INIT_LOOKS: &[&str] = &["tpcc", "tpcb", "simple_update", "select_only", "linkbench"];
/// If there are more than this many times the expected rows, it is another data set.
const MORE: f64 = 1.1;

/// The state of a workload's tables.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TablesThere {
    /// There are none of the workload's tables.
    None,
    /// The tables are as the options describe them.
    Fit,
    /// There are tables, but it is unknown whether they are the workload's.
    Unknown,
    /// The tables have other sizes, or only some exist. Says why they do not fit.
    Misfit(String),
    /// A table with one of the names is not the workload's. Says which and why.
    Foreign(String),
}

/// Looks at the tables of a workload. Changes nothing.
///
/// # Errors
/// The database does not answer.
pub fn tables_there(ready: &mut Ready, request: &RunRequest) -> Result<TablesThere> {
    let names = names(ready)?;
    if names.is_empty() {
        return Ok(TablesThere::None);
    }
    match created_tables::standing(ready)? {
        Some(Standing::Foreign(why)) => return Ok(TablesThere::Foreign(why)),
        Some(Standing::Absent) => return Ok(TablesThere::None),
        Some(Standing::Partial(there, missing)) => {
            return Ok(TablesThere::Misfit(format!(
                "{there} exists and {missing} does not"
            )));
        }
        Some(Standing::Whole) | None => {}
    }
    if rows::knows(ready, request) {
        return Ok(sbtest(ready, request, &names));
    }
    let init_looks = ready.job.work.is_builtin() && INIT_LOOKS.contains(&rows::bare(request));
    if !init_looks {
        return Ok(TablesThere::Unknown);
    }
    Ok(match ready.call("init") {
        Ok(()) => TablesThere::Fit,
        Err(error) => {
            let why = error.chain();
            match error.database_kind().or_else(|| ready.kind_behind(&why)) {
                Some(ErrorKind::NoTable) => TablesThere::None,
                _ => TablesThere::Misfit(why),
            }
        }
    })
}

/// Whether the tables sbtest1, sbtest2, … have the number of rows in the options.
fn sbtest(ready: &Ready, request: &RunRequest, names: &[String]) -> TablesThere {
    let is_own = |name: &&String| {
        let number = name.strip_prefix("sbtest").map(str::parse::<u64>);
        matches!(number, Some(Ok(number)) if (1..=rows::tables(ready)).contains(&number))
    };
    if !names.iter().any(|name| is_own(&name)) {
        return TablesThere::None;
    }
    let counts = match rows::count(ready, request, None) {
        Ok(counts) => counts,
        Err(error) => return TablesThere::Misfit(error.chain()),
    };
    let differs =
        |expected: u64, found: u64| found < expected || found as f64 > expected as f64 * MORE;
    let first = counts.iter().find_map(|own| {
        Some((
            own,
            own.found.filter(|found| differs(own.expected, *found))?,
        ))
    });
    match first {
        Some((own, found)) => TablesThere::Misfit(format!(
            "{} has {}{found} rows, not {}",
            own.table,
            if own.probed { "about " } else { "" },
            own.expected
        )),
        None => TablesThere::Fit,
    }
}

/// The names of all tables of the target's database.
fn names(ready: &Ready) -> Result<Vec<String>> {
    let Some(connector) = &ready.connector else {
        return Ok(Vec::new());
    };
    let sql = match connector.family() {
        Family::Mysql => {
            "SELECT table_name FROM information_schema.tables WHERE table_schema = DATABASE()"
        }
        Family::Postgres => {
            "SELECT relname::text FROM pg_class WHERE relkind IN ('r', 'p') AND relnamespace IN \
             (SELECT oid FROM pg_namespace WHERE nspname = ANY (current_schemas(false)))"
        }
        _ => "SELECT name FROM sqlite_master WHERE type = 'table'",
    };
    let mut control = Control::connect(connector.as_ref(), TIMEOUT)?;
    let found = control.query(sql, TIMEOUT);
    control.close();
    Ok(found?
        .into_iter()
        .filter_map(|row| row.into_iter().next().flatten())
        .collect())
}
