//! The effect of a power cut on a results file: the file is intact, but some of the last writes to
//! its log never reached the disk, whatever their order.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use dyno_core::rand::Stream;
use rusqlite::Connection;

/// How many cuts to try on each file.
const CUTS: u64 = 4;

/// Tries several cuts on copies of a results file. Each copy must still be a sound file whose run
/// has all intervals up to some point.
///
/// # Errors
/// A copy is damaged.
pub(super) fn check(folder: &Path, seed: u64) -> Result<()> {
    let log = folder.join("dyno.db-wal");
    let whole = fs::read(&log).unwrap_or_default();
    if whole.is_empty() {
        return Ok(());
    }
    let synced = synced(&whole, &fs::read(folder.join("dyno.db"))?);
    let room = (whole.len() - synced) as u64;
    if room == 0 {
        return Ok(());
    }
    let mut draws = Stream::new(seed, 11);
    for _ in 0..CUTS {
        let at = synced + draws.below(room) as usize;
        let mut cut = whole.clone();
        match draws.below(2) {
            // The end of the log is missing.
            0 => cut.truncate(at),
            // A page in the middle is missing, but later ones are there.
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
            // The last connection has already removed the log files.
            let _ = fs::remove_file(folder.join(name));
        }
    }
    Ok(())
}

/// The length of the log that was certainly on disk. SQLite syncs the log before it copies pages
/// into the file, so the log is on disk at least up to the last page that is the same in both.
fn synced(log: &[u8], file: &[u8]) -> usize {
    const HEAD: usize = 32;
    const FRAME_HEAD: usize = 24;
    let number = |at: usize| {
        let bytes = log.get(at..at + 4).and_then(|four| four.try_into().ok());
        bytes.map_or(0, u32::from_be_bytes) as usize
    };
    let page = number(8);
    if page == 0 {
        return 0;
    }
    let mut synced = 0;
    let mut at = HEAD;
    // Frames of an earlier cycle of the log have different salts.
    while let Some(frame) = log.get(at..at + FRAME_HEAD + page)
        && frame.get(8..16) == log.get(16..24)
    {
        let begin = number(at).saturating_sub(1) * page;
        at += FRAME_HEAD + page;
        if file.get(begin..begin + page) == frame.get(FRAME_HEAD..) {
            synced = at;
        }
    }
    synced
}

/// Opens an SQLite file, which must be intact.
pub(super) fn sound(path: &Path) -> Result<Connection> {
    let file = Connection::open(path)?;
    let sound: String = file
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .context("it cannot be checked")?;
    if sound != "ok" {
        bail!("it is damaged: {sound}");
    }
    Ok(file)
}

fn look(path: &Path) -> Result<()> {
    let file = sound(path)?;
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'interval'";
    let tables: i64 = file.query_row(sql, [], |row| row.get(0))?;
    if tables == 0 {
        return Ok(());
    }
    let sql = "SELECT count(*), coalesce(max(number) + 1, 0) FROM interval";
    let (count, next): (i64, i64) =
        file.query_row(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if count != next {
        bail!("only {count} of {next} intervals are there");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_cut_after_its_checkpointed_part() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let file = Connection::open(&path).unwrap();
        let sql = "PRAGMA journal_mode=wal; PRAGMA wal_autocheckpoint=0; \
                   CREATE TABLE t(a); INSERT INTO t VALUES (1);";
        file.execute_batch(sql).unwrap();
        let read = |name: &str| fs::read(folder.path().join(name)).unwrap();
        assert_eq!(synced(&read("x.db-wal"), &read("x.db")), 0);
        file.execute_batch("PRAGMA wal_checkpoint; INSERT INTO t VALUES (2)")
            .unwrap();
        file.execute_batch("INSERT INTO t VALUES (3)").unwrap();
        // The log started over after the checkpoint.
        assert_eq!(synced(&read("x.db-wal"), &read("x.db")), 0);
        file.execute_batch("PRAGMA wal_checkpoint").unwrap();
        let log = read("x.db-wal");
        let moved = synced(&log, &read("x.db"));
        assert!(moved > 0 && moved <= log.len(), "{moved} of {}", log.len());
    }
}
