//! Check 38: what a commit promises.
//!
//! Servers name their settings differently, so each run is put into one of five classes, which tell
//! what a crash may cost: figures of two classes are no comparison of two servers.
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
    rule: "Always said, with its class; doubt if a crash may leave a damaged database (fsync off, \
           doublewrite or full-page writes off, a flush method without syncs, SQLite without \
           syncs or journal).",
    thresholds: &[],
    make: durability,
};

/// What a crash may cost, from the least to the most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// Nothing that was acknowledged.
    Durable,
    /// What the log was not yet synced with: it is, once a second.
    LastSecond,
    /// As much as the system had not yet written, without a bound of the server's.
    LastCommits,
    /// What the server kept in memory of its own.
    Process,
    /// The database.
    Damaged,
}

impl Class {
    /// Its name, as runs show and compare it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Durable => "each commit durable",
            Self::LastSecond => "last second lost on OS crash",
            Self::LastCommits => "last commits lost on OS crash",
            Self::Process => "lost on process crash",
            Self::Damaged => "may be damaged",
        }
    }
}

/// A setting, and which of its values, in lower case, cost what.
type Row = (&'static str, &'static [(Class, &'static [&'static str])]);

const SETTINGS: &[Row] = &[
    (
        "innodb_flush_log_at_trx_commit",
        &[(Class::Process, &["0"]), (Class::LastSecond, &["2"])],
    ),
    ("sync_binlog", &[(Class::LastCommits, &["0"])]),
    (
        "innodb_doublewrite",
        &[(Class::Damaged, &["off", "0", "detect_only"])],
    ),
    (
        "innodb_flush_method",
        &[
            (Class::LastCommits, &["o_direct_no_fsync"]),
            (Class::Damaged, &["nosync", "littlesync"]),
        ],
    ),
    (
        "rocksdb_flush_log_at_trx_commit",
        &[(Class::LastCommits, &["0"]), (Class::LastSecond, &["2"])],
    ),
    // Commits wait in the server's own buffers for the log writer's next turn.
    ("synchronous_commit", &[(Class::Process, &["off"])]),
    ("fsync", &[(Class::Damaged, &["off"])]),
    ("full_page_writes", &[(Class::Damaged, &["off"])]),
    (
        "synchronous",
        &[
            (Class::LastCommits, &["1", "normal"]),
            (Class::Damaged, &["0", "off"]),
        ],
    ),
    ("journal_mode", &[(Class::Damaged, &["off", "memory"])]),
];

/// What a server's settings promise.
pub(crate) struct Promise {
    /// The worst of its settings' classes.
    pub(crate) class: Class,
    /// Settings that may lose commits, as `name = value`.
    pub(crate) relaxed: Vec<String>,
    /// Settings that may damage the database.
    pub(crate) damaging: Vec<String>,
    /// All settings that count, these among them.
    pub(crate) said: Vec<String>,
}

impl Promise {
    /// Reads it from settings by name; `None` where none of them is known.
    pub(crate) fn read<'a>(setting: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let mut promise = Self {
            class: Class::Durable,
            relaxed: Vec::new(),
            damaging: Vec::new(),
            said: Vec::new(),
        };
        for (name, costs) in SETTINGS {
            let Some(value) = setting(name).map(str::trim) else {
                continue;
            };
            // Without a binary log there is nothing to sync.
            if *name == "sync_binlog" && setting("log_bin").is_some_and(off) {
                continue;
            }
            let lower = value.to_ascii_lowercase();
            let class = match costs.iter().find(|cost| cost.1.contains(&lower.as_str())) {
                Some(cost) => cost.0,
                None if many_groups(name, &lower) => Class::LastCommits,
                None => Class::Durable,
            };
            let entry = format!("{name} = {value}");
            match class {
                Class::Durable => {}
                Class::Damaged => promise.damaging.push(entry.clone()),
                _ => promise.relaxed.push(entry.clone()),
            }
            promise.class = promise.class.max(class);
            promise.said.push(entry);
        }
        (!promise.said.is_empty()).then_some(promise)
    }

    /// The class in a sentence, with the settings that decide it and then all of them.
    pub(crate) fn sentence(&self) -> String {
        let deciding = match self.class {
            Class::Durable => String::new(),
            Class::Damaged => format!(", by {}", text::list(&self.damaging)),
            _ => format!(", by {}", text::list(&self.relaxed)),
        };
        let name = self.class.name();
        text::sentence(&format!("{name}{deciding}: {}", self.said.join(", ")))
    }
}

/// Whether a setting decides the class.
pub(crate) fn decides(setting: &str) -> bool {
    SETTINGS.iter().any(|(name, _)| *name == setting)
}

fn durability(view: &View) -> Made {
    let Some(promise) = Promise::read(|name| view.run.setting(name)) else {
        return Made::not_checked(format!("{}.", view.why_not("settings")));
    };
    let outcome = match promise.class {
        Class::Damaged => Outcome::Doubt,
        _ => Outcome::Pass,
    };
    Made::of(
        outcome,
        promise.sentence(),
        "Turn them on, or waive this with the reason why the data is safe (a file system that \
         writes pages whole, a copy that can be had again) and say it beside the figure.",
    )
    .with("relaxed", promise.relaxed.len() as f64, "settings")
    .with("unsafe", promise.damaging.len() as f64, "settings")
}

fn off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "0")
}

/// Whether the binary log is synced only after several commits.
fn many_groups(name: &str, value: &str) -> bool {
    name == "sync_binlog" && value.parse::<u64>().is_ok_and(|commits| commits > 1)
}
