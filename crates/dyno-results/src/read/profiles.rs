//! The CPU profiles of a run.

use dyno_core::cpu_profile::{CpuProfile, Stacks};
use rusqlite::Row;
use rusqlite::types::Type;

use super::list::of_word;
use super::load::failure;
use crate::error::ResultsError;
use crate::open::Results;

/// The largest size of a profile's text in bytes, many times more than Dyno ever writes.
const TEXT_MAX: usize = 256 << 20;

/// The stacks are not deflated text.
#[derive(Debug, thiserror::Error)]
#[error("the stacks of a profile are damaged")]
struct Damaged;

impl Results {
    /// The profiles of a run. Empty if the run was not profiled.
    ///
    /// # Errors
    /// The run does not exist, or cannot be read.
    pub fn cpu_profiles(&self, id: i64) -> Result<Vec<CpuProfile>, ResultsError> {
        let doing = "load a profile from";
        self.check_run(id, doing)?;
        self.profiles(id)
            .map_err(|error| self.explain(doing, error))
    }

    pub(super) fn profiles(&self, id: i64) -> rusqlite::Result<Vec<CpuProfile>> {
        let sql = "SELECT process, frequency_hz, samples, lost, cut, stacks FROM cpu_profile
                   WHERE run_id = ?1 ORDER BY process DESC";
        let mut statement = self.connection.prepare_cached(sql)?;
        let rows = statement.query_map([id], profile)?;
        rows.collect()
    }
}

fn profile(row: &Row<'_>) -> rusqlite::Result<CpuProfile> {
    let count = |column| Ok::<_, rusqlite::Error>(row.get::<_, i64>(column)?.max(0) as u64);
    let packed = row.get_ref(5)?.as_blob().map_err(rusqlite::Error::from)?;
    let text = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(packed, TEXT_MAX);
    let text = text.map_err(|_| damaged())?;
    let text = String::from_utf8(text).map_err(|_| damaged())?;
    Ok(CpuProfile {
        process: of_word(row.get(0)?, 0)?,
        frequency_hz: row.get(1)?,
        samples: count(2)?,
        lost: count(3)?,
        cut: row.get(4)?,
        stacks: Stacks::of_folded(&text),
    })
}

fn damaged() -> rusqlite::Error {
    failure(5, Type::Blob, Damaged)
}
