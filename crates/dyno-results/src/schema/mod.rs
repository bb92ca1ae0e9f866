//! The schema of the results file, its version, and migrations.

use dyno_core::clock;
use rusqlite::{Connection, Transaction, TransactionBehavior};

use crate::error::Problem;

/// `PRAGMA application_id` of every results file: `Dyno` in ASCII.
pub const APPLICATION_ID: i32 = i32::from_be_bytes(*b"Dyno");

/// The oldest version that this program reads, which is that of the first release. Files of earlier
/// builds are refused.
pub(crate) const FIRST: i32 = 13;

/// The newest version of the schema, which this program writes.
pub const SCHEMA_VERSION: i32 = newest(MIGRATIONS);

/// The steps. The first creates version [`FIRST`] in an empty file, and each of the others leads to
/// the next version. Never change a step that was published, because it has created files.
pub(crate) const MIGRATIONS: &[Migration] = &[concat!(
    include_str!("tables.sql"),
    include_str!("views.sql")
)];

/// The version that these steps lead to.
pub(crate) const fn newest(migrations: &[Migration]) -> i32 {
    FIRST - 1 + migrations.len() as i32
}

/// The SQL of one step.
pub(crate) type Migration = &'static str;

/// The kind of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It has no content.
    Empty,
    /// A results file of this version.
    Ours(i32),
    /// A database of another application, with this application id.
    Foreign(i32),
}

/// The kind of database that this connection is to.
pub(crate) fn kind(connection: &Connection) -> rusqlite::Result<Kind> {
    let number = |sql| connection.query_row(sql, [], |row| row.get::<_, i32>(0));
    // Read them in this order. Another process may be creating the file, and commits content and id
    // at once. In the opposite order, the content could appear without the id.
    let objects = number("SELECT count(*) FROM sqlite_schema")?;
    let application_id = number("PRAGMA application_id")?;
    if application_id == APPLICATION_ID {
        return Ok(Kind::Ours(number("PRAGMA user_version")?));
    }
    Ok(if application_id == 0 && objects == 0 {
        Kind::Empty
    } else {
        Kind::Foreign(application_id)
    })
}

/// Upgrades a database to the newest of `migrations` in one transaction.
pub(crate) fn migrate(
    connection: &mut Connection,
    migrations: &[Migration],
) -> rusqlite::Result<Result<(), Problem>> {
    // Another process may be migrating as well, so read the version with the write lock held.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let known = newest(migrations);
    let version = match kind(&transaction)? {
        Kind::Empty => FIRST - 1,
        Kind::Ours(version) if version > known => {
            return Ok(Err(Problem::Newer { version, known }));
        }
        Kind::Ours(version) if version < FIRST => {
            return Ok(Err(Problem::BeforeFirst { version }));
        }
        Kind::Ours(version) => version,
        Kind::Foreign(id) => return Ok(Err(Problem::Foreign(id))),
    };
    for (step, number) in migrations
        .iter()
        .zip(FIRST..)
        .filter(|(_, to)| *to > version)
    {
        apply(&transaction, number, step)?;
    }
    transaction.commit()?;
    Ok(Ok(()))
}

fn apply(transaction: &Transaction<'_>, version: i32, step: &str) -> rusqlite::Result<()> {
    transaction.execute_batch(step)?;
    transaction.execute(
        "INSERT INTO schema_history (version, applied_unix_s, tool) VALUES (?1, ?2, ?3)",
        (
            version,
            clock::wall_time().as_secs_f64(),
            concat!("dyno ", env!("CARGO_PKG_VERSION")),
        ),
    )?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.pragma_update(None, "user_version", version)
}

#[cfg(test)]
mod tests;
