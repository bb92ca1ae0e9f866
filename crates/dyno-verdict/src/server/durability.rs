//! Check 38: what a commit promises.
//!
//! Relaxed durability loses the last second at a crash and nothing else: a choice, which is said.
//! What may leave a database that cannot be used after a crash is no choice that a figure may keep
//! to itself.

use dyno_core::finding::Outcome;

use crate::check::{Check, Made};
use crate::text;
use crate::view::View;

pub(super) const DURABILITY: Check = Check {
    number: 38,
    name: "durability",
    title: "What a commit promises: flush, binary log, doublewrite, full-page writes",
    rule: "Always said; doubt if a crash may leave a damaged database (fsync off, doublewrite or \
           full-page writes off, a flush method without syncs, SQLite without syncs or journal).",
    thresholds: &[],
    make: durability,
};

/// A setting, the values that relax durability, and those that endanger the data; in lower case.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
);

const SETTINGS: &[Row] = &[
    ("innodb_flush_log_at_trx_commit", &["0", "2", "3"], &[]),
    ("sync_binlog", &["0"], &[]),
    ("innodb_doublewrite", &[], &["off", "0", "detect_only"]),
    (
        "innodb_flush_method",
        &["o_direct_no_fsync"],
        &["nosync", "littlesync"],
    ),
    ("rocksdb_flush_log_at_trx_commit", &["0", "2"], &[]),
    ("synchronous_commit", &["off"], &[]),
    ("fsync", &[], &["off"]),
    ("full_page_writes", &[], &["off"]),
    ("synchronous", &["1", "normal"], &["0", "off"]),
    ("journal_mode", &[], &["off", "memory"]),
];

fn durability(view: &View) -> Made {
    let mut said = Vec::new();
    let (mut relaxed, mut unsafe_ones) = (Vec::new(), Vec::new());
    for (name, relaxing, endangering) in SETTINGS {
        let Some(value) = view.run.setting(name) else {
            continue;
        };
        // Without a binary log there is nothing to sync.
        if *name == "sync_binlog" && off(view.run.setting("log_bin")) {
            continue;
        }
        let value = value.trim();
        let entry = format!("{name} = {value}");
        let lower = value.to_ascii_lowercase();
        if endangering.contains(&lower.as_str()) {
            unsafe_ones.push(entry.clone());
        } else if relaxing.contains(&lower.as_str()) || many_groups(name, &lower) {
            relaxed.push(entry.clone());
        }
        said.push(entry);
    }
    if said.is_empty() {
        return Made::not_checked(format!("{}.", view.why_not("settings")));
    }
    let (outcome, evidence) = if !unsafe_ones.is_empty() {
        let evidence = format!(
            "A crash may leave a damaged database: {}; {}.",
            text::list(&unsafe_ones),
            said.join(", ")
        );
        (Outcome::Doubt, evidence)
    } else if relaxed.is_empty() {
        let evidence = format!(
            "Every commit is on disk when it is answered: {}.",
            said.join(", ")
        );
        (Outcome::Pass, evidence)
    } else {
        let evidence = format!(
            "Durability is relaxed, so that a crash may lose the latest commits: {}; {}.",
            text::list(&relaxed),
            said.join(", ")
        );
        (Outcome::Pass, evidence)
    };
    Made::of(
        outcome,
        evidence,
        "Turn them on, or waive this with the reason why the data is safe (a file system that \
         writes pages whole, a copy that can be had again) and say it beside the figure.",
    )
    .with("relaxed", relaxed.len() as f64, "settings")
    .with("unsafe", unsafe_ones.len() as f64, "settings")
}

fn off(value: Option<&str>) -> bool {
    value.is_some_and(|value| matches!(value.to_ascii_lowercase().as_str(), "off" | "0"))
}

/// Whether the binary log is synced only after several commits.
fn many_groups(name: &str, value: &str) -> bool {
    name == "sync_binlog" && value.parse::<u64>().is_ok_and(|commits| commits > 1)
}
