//! Check 13: the database contains everything that the server acknowledged.

use dyno_core::summary::LedgerEntry;

use crate::check::{Check, CheckResult};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const CONSISTENCY: Check = Check {
    number: 13,
    name: "consistency",
    title: "Consistency conditions and ledger after the run",
    rule: "Refusal if the database does not contain what the server acknowledged. Doubt if a sum \
           could not be read.",
    thresholds: &[],
    make: consistency,
};

const NAMED_MAX: usize = 4;

fn consistency(view: &View) -> CheckResult {
    let ledger = view.summary().map_or(&[][..], |summary| &summary.ledger);
    if ledger.is_empty() && view.imported() {
        return Missing::Ledger.result();
    }
    if ledger.is_empty() {
        return CheckResult::not_checked(
            "The workload keeps no ledger of acknowledged work, the comparison was turned off, or \
             the tables are so large that only --ledger full reads them.",
        );
    }
    if ledger.iter().any(LedgerEntry::is_open) {
        return CheckResult::not_checked(
            "A worker did not respond at the end of the run: what the server acknowledged to its \
             sessions is not known.",
        );
    }
    let wrong: Vec<&LedgerEntry> = ledger
        .iter()
        .filter(|entry| entry.agrees() == Some(false))
        .collect();
    if !wrong.is_empty() {
        let sums: Vec<String> = wrong.iter().map(|entry| difference(entry)).collect();
        return CheckResult::refuse(
            format!(
                "{} of {} in the database {} from what the server acknowledged: {}.",
                wrong.len(),
                text::number_of(ledger.len(), "sum"),
                text::verb(wrong.len(), "differs", "differ"),
                text::few(&sums, NAMED_MAX)
            ),
            "Find out whether the server lost or duplicated work, or another client wrote to the \
             tables. Do not trust this run before that is known.",
        )
        .with("sums that differ", wrong.len() as f64, "count");
    }
    let unread = ledger.iter().filter(|entry| entry.found.is_none()).count();
    if unread > 0 {
        return CheckResult::doubt(
            format!(
                "{unread} of {} could not be read after the run.",
                text::number_of(ledger.len(), "sum")
            ),
            "Make sure that the server answers after the run, and that the user may read the \
             tables.",
        );
    }
    let unknown = ledger
        .iter()
        .filter(|entry| entry.expected_low != entry.expected_high)
        .count();
    let sums: Vec<String> = ledger.iter().map(agreement).collect();
    let mut evidence = format!(
        "{} of {} in the database changed as the server acknowledged: {}.",
        ledger.len(),
        text::number_of(ledger.len(), "sum"),
        text::few(&sums, NAMED_MAX)
    );
    if unknown > 0 {
        evidence += &format!(
            " For {unknown} of them only bounds are known, because some work may or may not have \
             been committed."
        );
    }
    CheckResult::pass(evidence).with("sums compared", ledger.len() as f64, "count")
}

fn agreement(entry: &LedgerEntry) -> String {
    let found = entry.found.unwrap_or_default();
    format!("{} by {found}", entry.database)
}

fn difference(entry: &LedgerEntry) -> String {
    let found = entry.found.unwrap_or_default();
    format!(
        "{} changed by {found} instead of {}",
        entry.database,
        entry.expected()
    )
}
