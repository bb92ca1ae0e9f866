//! The ledger of a run: compares what the server acknowledged with what the database contains.

use std::collections::BTreeMap;

use dyno_core::plan::Compared;
use dyno_core::summary::LedgerEntry;

use crate::job::Ready;
use crate::sink::Sinks;

/// The database's sums before the run.
pub struct Before {
    sums: Vec<(String, String, i64)>,
    whole: bool,
}

impl Before {
    /// Reads the sums. `None` if they are not requested, if the script keeps no ledger, or if they
    /// cannot be read, which is reported.
    pub fn read(ready: &mut Ready, wanted: Compared, sinks: &Sinks) -> Option<Self> {
        let whole = match wanted {
            Compared::Nothing => return None,
            Compared::Quick => false,
            Compared::Whole => true,
        };
        match ready.read_ledger(whole) {
            Ok(read) => read.map(|sums| Self { sums, whole }),
            Err(error) => {
                sinks.warn(error.chain());
                None
            }
        }
    }

    /// Reads the sums again after the run, and compares the changes with the acknowledged sums.
    /// These are not `known` if a worker did not hand over those of its sessions.
    pub fn compare(self, ready: &mut Ready, known: bool, sinks: &Sinks) -> Vec<LedgerEntry> {
        let after = match ready.read_ledger(self.whole) {
            Ok(after) => after.unwrap_or_default(),
            Err(error) => {
                sinks.warn(error.chain());
                Vec::new()
            }
        };
        let after: BTreeMap<(String, String), i64> = after
            .into_iter()
            .map(|(sum, name, value)| ((sum, name), value))
            .collect();
        let names = &ready.description.declared.sums;
        let sums = ready.sums();
        let entry = |(sum, database, before): (String, String, i64)| {
            let number = names.iter().position(|name| *name == sum);
            let kept = number.and_then(|number| sums.get(number).copied());
            let (low, high) = kept.unwrap_or_default().bounds();
            let (low, high) = match known {
                true => (clamped(low), clamped(high)),
                false => LedgerEntry::OPEN,
            };
            let found = after.get(&(sum.clone(), database.clone()));
            LedgerEntry {
                found: found.map(|after| after.wrapping_sub(before)),
                expected_low: low,
                expected_high: high,
                sum,
                database,
            }
        };
        self.sums.into_iter().map(entry).collect()
    }
}

/// A column cannot contain a sum beyond 64 bits.
fn clamped(sum: i128) -> i64 {
    sum.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}
