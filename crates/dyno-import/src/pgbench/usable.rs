//! The parts of a log that agree with themselves and with the report.

use super::Logged;
use super::output::Output;
use super::single::Single;
use super::sums::Sums;
use super::transactions::{Sum, Transaction};
use super::{single_laws, sum_laws};

/// What a log of transactions or of sums adds to a run.
pub(super) struct Usable<'a> {
    pub(super) single: Option<Single<'a>>,
    pub(super) sums: Sums,
    /// Why a log without a report is not used.
    pub(super) contradictions: Vec<String>,
}

impl<'a> Usable<'a> {
    /// Leaves out a log that cannot be true, and says so.
    pub(super) fn of(
        logged: Option<&'a Logged>,
        output: &Output,
        said: &mut Vec<(Option<usize>, String)>,
    ) -> Self {
        let transactions: &[Transaction] = logged.map_or(&[][..], |log| log.log.all.as_slice());
        let sums: &[Sum] = logged.map_or(&[][..], |log| log.log.sums.as_slice());
        let wrong_single = single_laws::contradiction(transactions, output);
        let wrong_sums = sum_laws::contradiction(sums, output);
        let single = match wrong_single.is_some() || transactions.is_empty() {
            true => None,
            false => Single::of(transactions, output, said),
        };
        let sums = match wrong_sums {
            Some(_) => Sums::of(&[]),
            None => Sums::of(sums),
        };
        let wrong = wrong_single.into_iter().chain(wrong_sums);
        let wrong = wrong.map(|text| format!("{text}: this log of transactions is not used"));
        let mut contradictions = Vec::new();
        match output.file.is_empty() {
            true => contradictions.extend(wrong),
            // The report is used without it.
            false => said.extend(wrong.map(|text| (None, text))),
        }
        Self {
            single,
            sums,
            contradictions,
        }
    }

    /// The longest transaction of a log with exactly those of the report.
    pub(super) fn longest_ms(&self, output: &Output) -> Option<f64> {
        let processed = output.processed?;
        let single = self.single.as_ref();
        let of_single = single.and_then(|single| single.longest_ms(processed));
        of_single.or_else(|| self.sums.longest_ms(processed))
    }
}
