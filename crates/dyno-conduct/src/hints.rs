//! Hints for failed runs.

mod typed;

use std::path::Path;

use anyhow::{Error, Result, anyhow};
use dyno_core::Target;
use dyno_core::db::{DbError, ErrorKind, Family};
use dyno_run::{Clash, Ready, RunError};
use dyno_script::Description;

use crate::usage;

/// The database in suggested statements, as in the guide.
const DATABASE: &str = "bench";

/// Rejects a target without a database, which a built-in workload needs for its tables.
/// PostgreSQL always has one: by default that of the user's name.
///
/// # Errors
/// The target names none.
pub(crate) fn refuse_without_database(ready: &Ready, workload: &str) -> Result<()> {
    let Some(target) = &ready.job.target else {
        return Ok(());
    };
    let has_tables = ready.job.work.is_builtin() && is_prepared(&ready.description);
    if target.family != Family::Mysql || !target.database.is_empty() || !has_tables {
        return Ok(());
    }
    Err(usage(format!(
        "{target} names no database, and {workload} needs one for its tables: add it to the URL \
         (mysql://USER@HOST/{DATABASE}). To create it: {}",
        creation(&target.user, DATABASE)
    )))
}

/// Why a command that only uses tables does not start: the SQLite file with them does not exist.
pub(crate) fn of_missing_file(file: &Path, target: &Target, workload: &str) -> Error {
    anyhow!(
        "there is no file {}: run `dyno prepare {workload} --target '{target}'` with the same \
         options first",
        file.display()
    )
}

/// What to try if the target's database does not exist, or the user has no rights on it.
pub(crate) fn of_connect(error: &DbError, target: &Target) -> Option<String> {
    let (user, database) = (&target.user, &target.database);
    let statements = match (target.family, error.code, error.sqlstate.as_str()) {
        (Family::Mysql, 1044 | 1049, _) => creation(user, database),
        (Family::Postgres, _, "3D000") => format!("CREATE DATABASE {database} OWNER {user};"),
        _ => return None,
    };
    Some(format!("as an administrator: {statements}"))
}

/// The statements that create a database and give a user its rights.
fn creation(user: &str, database: &str) -> String {
    let user = if user.is_empty() { DATABASE } else { user };
    format!(
        "CREATE DATABASE IF NOT EXISTS {database}; GRANT ALL ON {database}.* TO '{user}'@'HOST';"
    )
}

/// Adds a hint to the error, if one is known.
pub(crate) fn with_hint(error: Error, ready: &Ready, workload: &str) -> Error {
    // Errors of the results file already name the path and a remedy, and are not about tables.
    let run = error.downcast_ref::<RunError>();
    if run.is_some_and(RunError::is_of_results) {
        return error;
    }
    match kind(&error, ready) {
        Some(kind) => match advice(kind, ready, workload) {
            Some(advice) => error.context(advice),
            None => error,
        },
        None => error,
    }
}

fn kind(error: &Error, ready: &Ready) -> Option<ErrorKind> {
    let run = error.downcast_ref::<RunError>();
    run.and_then(RunError::database_kind)
        .or_else(|| ready.kind_behind(&format!("{error:#}")))
}

/// Whether an embedded database could not use its file or disk, as opposed to a wrong option or
/// statement.
pub(crate) fn is_of_files(error: &Error, ready: &Ready) -> bool {
    kind(error, ready).is_some_and(is_kind_of_files)
}

/// SQLite's errors that do not come from statements and tables: it cannot open (`SQLITE_CANTOPEN`),
/// read or write (`SQLITE_IOERR`, `SQLITE_READONLY`) a file, or extend it.
fn is_kind_of_files(kind: ErrorKind) -> bool {
    use ErrorKind::{Full, Lost, Other, Refused};
    matches!(kind, Full | Lost | Other | Refused)
}

/// A hint for a failure with this message.
pub fn hint(why: &str, ready: &Ready, workload: &str) -> Option<String> {
    advice(ready.kind_behind(why)?, ready, workload)
}

/// Adds the command that creates the missing files of a test of the host.
pub(crate) fn of_host(error: RunError, workload: &str) -> Error {
    let needs_prepare = error.needs_prepare();
    let error = Error::from(error);
    match needs_prepare {
        true => error.context(format!(
            "the test's files are missing: `dyno prepare {workload}` with the same options creates \
             them"
        )),
        false => error,
    }
}

/// Why a command that creates or drops tables stops before it starts.
pub(crate) fn of_clash(clash: Clash, command: &str, ready: &Ready, workload: &str) -> Error {
    let did = match command {
        "prepare" => "created",
        _ => "dropped",
    };
    match clash {
        Clash::Exist(names) => {
            let exist = match names.as_slice() {
                [one] => format!("{one} already exists"),
                [first, ..] => format!("{first} already exists, and {} more", names.len() - 1),
                [] => String::new(),
            };
            let error = anyhow!("{exist}; nothing was {did}");
            match advice(ErrorKind::TableExists, ready, workload) {
                Some(advice) => error.context(advice),
                None => error,
            }
        }
        Clash::Foreign(why) => anyhow!(
            "{why}. Nothing was {did}: rename it or drop it yourself, or name another database in \
             --target"
        ),
    }
}

/// A missing table usually means that the workload was not prepared; an existing one, that it was.
fn advice(kind: ErrorKind, ready: &Ready, workload: &str) -> Option<String> {
    match kind {
        ErrorKind::Connections => {
            let sessions = ready.job.drive.sessions;
            Some(format!(
                "the server does not accept {sessions} sessions in addition to Dyno's observer \
                 connection: raise its max_connections or the user's limit, use fewer --sessions, \
                 or use --observe off"
            ))
        }
        ErrorKind::Full => Some(format!(
            "no space is left for the tables: free some, drop the loaded tables with {}, or load \
             less",
            typed::command("cleanup", workload, ready)
        )),
        ErrorKind::NoTable if is_prepared(&ready.description) => Some(format!(
            "the workload's tables are missing: try {} first",
            typed::command("prepare", workload, ready)
        )),
        ErrorKind::TableExists => Some(format!(
            "the workload's tables already exist: {} drops them",
            typed::command("cleanup", workload, ready)
        )),
        ErrorKind::Prepared => {
            let option = match ready.job.sysbench {
                true => "--db-ps-mode=disable",
                false => "--ps-mode disable",
            };
            Some(format!(
                "a proxy gives each transaction a different server connection (pgbouncer with \
                 pool_mode = transaction), which lacks the session's prepared statements: {option} \
                 sends statements as text"
            ))
        }
        _ => None,
    }
}

/// Whether `prepare` creates tables for the workload.
pub(crate) fn is_prepared(description: &Description) -> bool {
    let prepares = |name: &str| name == "prepare";
    description.commands.iter().any(|(name, _)| prepares(name))
        || description.functions.iter().any(|name| prepares(name))
}

#[cfg(test)]
mod tests {
    use dyno_host::NotReady;

    use super::*;

    #[test]
    fn says_how_to_create_a_missing_database() {
        let hint = |url: &str, code: i32, sqlstate: &str| {
            let error = DbError {
                code,
                sqlstate: sqlstate.to_owned(),
                ..DbError::new(ErrorKind::Refused, "refused")
            };
            of_connect(&error, &Target::parse(url).unwrap()).unwrap_or_default()
        };
        assert_eq!(
            hint("mysql://me@db/shop", 1049, "42000"),
            "as an administrator: CREATE DATABASE IF NOT EXISTS shop; GRANT ALL ON shop.* TO \
             'me'@'HOST';"
        );
        assert_eq!(
            hint("postgres://me@db/shop", 0, "3D000"),
            "as an administrator: CREATE DATABASE shop OWNER me;"
        );
        assert_eq!(hint("mysql://me@db/shop", 1045, "28000"), "");
    }

    #[test]
    fn names_a_missing_file_and_the_command_that_creates_it() {
        let target = Target::parse("sqlite:/nowhere/none.db").unwrap();
        let file = target.missing_file().unwrap();
        assert_eq!(
            of_missing_file(file, &target, "tpcc").to_string(),
            "there is no file /nowhere/none.db: run `dyno prepare tpcc --target \
             'sqlite:/nowhere/none.db'` with the same options first"
        );
        let here = Target::parse("sqlite:/proc/self/maps").unwrap();
        assert_eq!(here.missing_file(), None);
        let memory = Target {
            file: ":memory:".into(),
            ..here
        };
        assert_eq!(memory.missing_file(), None);
        let server = Target::parse("mysql://me@db/shop").unwrap();
        assert_eq!(server.missing_file(), None);
    }

    #[test]
    fn only_missing_files_ask_for_prepare() {
        let hinted = |needs_prepare| {
            let why = "prepare yourself".to_owned();
            let error = RunError::NotReady(NotReady { why, needs_prepare });
            format!("{:#}", of_host(error, "fileio"))
        };
        assert_eq!(hinted(false), "prepare yourself");
        assert!(hinted(true).starts_with("the test's files are missing: `dyno prepare fileio`"));
    }
}
