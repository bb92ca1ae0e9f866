//! The ledger: sums of the work that the server acknowledged, for comparison with the database.

use std::sync::{Mutex, PoisonError};

use mlua::{Table, Value};

use crate::host::Host;

/// The largest sum that a script's numbers represent exactly.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

impl Host {
    /// Receives its sessions' sums when it ends.
    pub fn shared_ledger(&self) -> std::sync::Arc<Ledger> {
        std::sync::Arc::clone(&self.config.ledger)
    }

    /// The result of the script's `ledger()`, which must have been the last call: a table of
    /// numbers, or of tables of numbers, by the names of sums. Returned as (sum, name in the
    /// database, value), by name.
    ///
    /// # Errors
    /// Another result, explained to the script's author.
    pub fn ledger(&self) -> Result<Vec<(String, String, i64)>, String> {
        let answer = self.api.get::<mlua::Function>("answer");
        let answer = answer.and_then(|answer| answer.call::<Value>(0));
        let Ok(Value::Table(sums)) = answer else {
            return Err("ledger() must return a table of sums by name".to_owned());
        };
        let mut read = Vec::new();
        for pair in sums.pairs::<String, Value>() {
            let (sum, value) = pair.map_err(|_| "ledger(): names must be strings".to_owned())?;
            match value {
                Value::Table(several) => entries(&sum, &several, &mut read)?,
                value => read.push((sum.clone(), sum.clone(), whole(&sum, &value)?)),
            }
        }
        read.sort();
        Ok(read)
    }
}

fn entries(sum: &str, several: &Table, out: &mut Vec<(String, String, i64)>) -> Result<(), String> {
    for pair in several.pairs::<String, Value>() {
        let (name, value) = pair.map_err(|_| format!("ledger(): {sum}: names must be strings"))?;
        let value = whole(&name, &value)?;
        out.push((sum.to_owned(), name, value));
    }
    Ok(())
}

/// Converts numbers, and numbers in the server's texts.
fn whole(name: &str, value: &Value) -> Result<i64, String> {
    let number = match value {
        Value::Integer(number) => return Ok(*number),
        Value::Number(number) => Some(*number),
        Value::String(text) => {
            let text = text.to_string_lossy();
            if let Ok(number) = text.parse() {
                return Ok(number);
            }
            text.parse().ok()
        }
        _ => None,
    };
    number
        .filter(|number: &f64| number.fract() == 0.0 && number.abs() <= EXACT_MAX)
        .map(|number| number as i64)
        .ok_or_else(|| format!("ledger(): {name} is not a whole number"))
}

/// One sum over all sessions of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sum {
    /// Acknowledged.
    pub kept: i128,
    /// The sum of the negative amounts for which it is unknown whether the server kept them.
    pub unknown_low: i128,
    /// The sum of the positive amounts for which it is unknown whether the server kept them.
    pub unknown_high: i128,
}

impl Sum {
    /// The smallest and largest change that the database may show.
    pub fn bounds(&self) -> (i128, i128) {
        (self.kept + self.unknown_low, self.kept + self.unknown_high)
    }

    fn merge(&mut self, other: &Self) {
        self.kept += other.kept;
        self.unknown_low += other.unknown_low;
        self.unknown_high += other.unknown_high;
    }
}

/// The sums of a run, to which its sessions add theirs when they end.
#[derive(Debug, Default)]
pub struct Ledger {
    sums: Mutex<Vec<Sum>>,
}

impl Ledger {
    /// The sums in order of declaration; sums without entries may be missing at the end.
    pub fn sums(&self) -> Vec<Sum> {
        self.lock().clone()
    }

    /// Adds other sums, in the same order.
    pub fn add(&self, sums: &[Sum]) {
        let mut all = self.lock();
        if all.len() < sums.len() {
            all.resize(sums.len(), Sum::default());
        }
        for (sum, own) in all.iter_mut().zip(sums) {
            sum.merge(own);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Sum>> {
        self.sums.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fate of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Settled {
    Kept,
    Dropped,
    Unknown,
}

/// A session's entries.
#[derive(Debug, Default)]
pub(crate) struct Entries {
    sums: Vec<Sum>,
    /// Entries of the current operation.
    open: Vec<(usize, i64)>,
    working: bool,
}

impl Entries {
    /// An operation begins, or begins again.
    pub(crate) fn begin(&mut self) {
        self.open.clear();
        self.working = true;
    }

    pub(crate) fn add(&mut self, sum: usize, amount: i64) {
        if self.working {
            self.open.push((sum, amount));
        } else {
            self.sum(sum).kept += i128::from(amount);
        }
    }

    /// Whether the current operation has entries.
    pub(crate) fn are_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// The operation has ended.
    pub(crate) fn settle(&mut self, settled: Settled) {
        self.working = false;
        if settled != Settled::Dropped {
            // Put back below, to reuse its memory for the next operation.
            let open = std::mem::take(&mut self.open);
            for &(number, amount) in &open {
                let amount = i128::from(amount);
                let sum = self.sum(number);
                match settled {
                    Settled::Unknown if amount < 0 => sum.unknown_low += amount,
                    Settled::Unknown => sum.unknown_high += amount,
                    _ => sum.kept += amount,
                }
            }
            self.open = open;
        }
        self.open.clear();
    }

    /// The session has ended, perhaps during an operation, whose fate is then unknown.
    pub(crate) fn close(&mut self, ledger: &Ledger) {
        self.settle(Settled::Unknown);
        if !self.sums.is_empty() {
            ledger.add(&std::mem::take(&mut self.sums));
        }
    }

    fn sum(&mut self, number: usize) -> &mut Sum {
        if self.sums.len() <= number {
            self.sums.resize(number + 1, Sum::default());
        }
        &mut self.sums[number]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rolled_back_entries_vanish_and_unknown_ones_widen_the_bounds() {
        let ledger = Ledger::default();
        let mut entries = Entries::default();
        entries.add(1, 7);
        entries.begin();
        entries.add(0, 100);
        entries.settle(Settled::Kept);
        entries.begin();
        entries.add(0, 1000);
        // A second attempt begins without entries.
        entries.begin();
        entries.add(0, 10);
        entries.settle(Settled::Kept);
        entries.begin();
        entries.add(0, 5);
        entries.settle(Settled::Dropped);
        entries.begin();
        entries.add(0, -3);
        entries.add(0, 4);
        entries.close(&ledger);
        let sums = ledger.sums();
        assert_eq!(sums[0].bounds(), (107, 114));
        assert_eq!(sums[1].bounds(), (7, 7));
    }
}
