//! What a machine that loses its power may leave of a results file: the file as it is, and a log
//! beside it of which some of the last writes never reached the disk, in whatever order.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use dyno_core::rand::Stream;
use rusqlite::Connection;

/// Cuts tried on each file.
const CUTS: u64 = 4;

/// Tries several cuts on copies. What is left must be a sound file, whose run has all intervals up
/// to some instant.
///
/// # Errors
/// It is not.
pub(super) fn check(folder: &Path, seed: u64) -> Result<()> {
    let log = folder.join("dyno.db-wal");
    let whole = fs::read(&log).unwrap_or_default();
    if whole.is_empty() {
        return Ok(());
    }
    let mut draws = Stream::new(seed, 11);
    for _ in 0..CUTS {
        let at = draws.below(whole.len() as u64) as usize;
        let mut cut = whole.clone();
        match draws.below(2) {
            // Its end is missing.
            0 => cut.truncate(at),
            // A page in the middle is missing, while later ones are there.
            _ => {
                let end = (at + 4096).min(cut.len());
                cut[at..end].fill(0);
            }
        }
        let copy = folder.join("cut.db");
        fs::copy(folder.join("dyno.db"), &copy)?;
        fs::write(folder.join("cut.db-wal"), &cut)?;
        let sound = look(&copy);
        sound.with_context(|| format!("with its log cut at byte {at} of {}", whole.len()))?;
        for name in ["cut.db", "cut.db-wal", "cut.db-shm"] {
            // The last connection has removed what belongs to the log.
            let _ = fs::remove_file(folder.join(name));
        }
    }
    Ok(())
}

fn look(path: &Path) -> Result<()> {
    let file = Connection::open(path)?;
    let sound: String = file.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
    if sound != "ok" {
        bail!("it is damaged: {sound}");
    }
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'interval'";
    let tables: i64 = file.query_row(sql, [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(());
    }
    let sql = "SELECT count(*), coalesce(max(number) + 1, 0) FROM interval";
    let (count, next): (i64, i64) =
        file.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if count != next {
        bail!("of {next} intervals {count} are there");
    }
    Ok(())
}
