//! Check 38: what a commit promises.
//!
//! Servers name their settings differently, so each run is put into one class, which tells
//! what a crash may cost: figures of two classes are no comparison of two servers.
//!
//! Relaxed durability loses the last second at a crash and nothing else: a choice, which is said.
//! What may leave a database that cannot be used after a crash is no choice that a figure may keep
//! to itself.
//!
//! Settings promise nothing for a table without a log, for a disk that is memory, nor for work that
//! nobody commits: these are looked at too.

mod commits;
mod stored;
#[cfg(test)]
mod tests;

pub(crate) use dyno_core::finding::DurabilityClass as Class;
use dyno_core::finding::{Cause, Durability, Outcome};
use dyno_core::record::EventKind;

use crate::check::{Check, Made, advice};
use crate::text;
use crate::view::View;
use commits::Commits;

pub(super) const DURABILITY: Check = Check {
    number: 38,
    name: "durability",
    title: "What a commit promises: flush, binary log, doublewrite, full-page writes, the tables' \
            engines, the file system; and whether there were commits",
    rule: "Always said, with its class; doubt if a crash may leave a damaged database (fsync off, \
           doublewrite or full-page writes off, a flush method without syncs, SQLite without syncs \
           or journal, tables of an engine without a log), if it empties tables (UNLOGGED, MEMORY, \
           temporary tables alone, data on tmpfs or ramfs), or if what was written was not \
           committed: next to no COMMIT with autocommit off, or with transactions open at the end, \
           or no changed rows with these on PostgreSQL, {0} % of the transactions rolled back as a \
           whole or to a savepoint, or a file of SQLite's that did not change.",
    thresholds: &[commits::ROLLED_BACK],
    make: durability,
};

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

/// What a server promises, and what speaks against it.
pub(crate) struct Promise {
    /// The worst of all classes.
    pub(crate) class: Class,
    /// What promises less than durable commits, with its class: settings as `name = value`, and
    /// what was found beside them in words.
    pub(crate) weaker: Vec<(Class, String)>,
    /// All settings that count, and where the data lies.
    pub(crate) said: Vec<String>,
    /// Whether sessions ended within a transaction.
    left_open: bool,
}

impl Promise {
    /// Reads it from settings by name; `None` where none of them is known.
    pub(crate) fn read<'a>(setting: impl Fn(&str) -> Option<&'a str>) -> Option<Self> {
        let mut promise = Self::default();
        for (name, costs) in SETTINGS {
            let Some(value) = setting(name).map(str::trim) else {
                continue;
            };
            // Without a binary log there is nothing to sync.
            if *name == "sync_binlog" && setting("log_bin").is_some_and(off) {
                continue;
            }
            let class = class_of(name, costs, value);
            let entry = format!("{name} = {value}");
            if class != Class::Durable {
                promise.weaken(class, entry.clone());
            }
            promise.said.push(entry);
        }
        (!promise.said.is_empty()).then_some(promise)
    }

    /// Reads it from what is known of a server without a run: its settings, and where its data
    /// lies.
    pub(crate) fn of_server<'a>(
        setting: impl Fn(&str) -> Option<&'a str>,
        fact: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Self> {
        let mut promise = Self::read(setting)?;
        for (class, why) in stored::places(fact) {
            promise.weaken(class, why);
        }
        Some(promise)
    }

    /// Reads it from a run: its settings, its tables, where the data lies, and what the server
    /// counted. `None` where nothing of it is known.
    pub(crate) fn of(view: &View) -> Option<Self> {
        let read = Self::read(|name| view.run.setting(name));
        let known = read.is_some();
        let mut promise = read.unwrap_or_default();
        promise.moved(view);
        for (class, why) in stored::weaker(view) {
            promise.weaken(class, why);
        }
        match commits::of(view) {
            Commits::Missing(missing) => {
                promise.left_open = missing.left_open;
                promise.weaken(Class::Uncommitted, missing.why);
            }
            Commits::Unsynced(why) if promise.class < Class::Process => {
                promise.weaken(Class::Process, why);
            }
            Commits::Unsynced(_) => {}
            Commits::Made(how) => promise.said.push(how),
            Commits::Unknown => {}
        }
        promise.said.extend(stored::said(view));
        (known || !promise.weaker.is_empty()).then_some(promise)
    }

    /// What a setting promised for a part of the run counts, too.
    fn moved(&mut self, view: &View) {
        for event in view.events(EventKind::Setting) {
            let parts = event.text.split_once(" went from ");
            let Some((name, (_, value))) =
                parts.and_then(|(name, moved)| Some((name, moved.rsplit_once(" to ")?)))
            else {
                continue;
            };
            let row = SETTINGS.iter().find(|(known, _)| *known == name);
            let class = row.map_or(Class::Durable, |(name, costs)| class_of(name, costs, value));
            if class != Class::Durable {
                let from = text::seconds(event.at_s.max(0.0));
                self.weaken(class, format!("{name} = {value} from {from} on"));
            }
        }
    }

    fn weaken(&mut self, class: Class, why: String) {
        self.class = self.class.max(class);
        self.weaker.push((class, why));
    }

    /// What decides the class: what loses some commits together, what loses more alone.
    fn deciding(&self) -> Vec<String> {
        let decides = |class: Class| match self.class.is_doubted() {
            true => class == self.class,
            false => true,
        };
        let deciding = self.weaker.iter().filter(|(class, _)| decides(*class));
        deciding.map(|(_, why)| why.clone()).collect()
    }

    /// The class in a sentence, with what decides it and then all that counts.
    pub(crate) fn sentence(&self) -> String {
        let by = match self.deciding().as_slice() {
            [] => String::new(),
            deciding => format!(" because {}", text::list(deciding)),
        };
        let name = self.class.name();
        match self.said.as_slice() {
            [] => text::sentence(&format!("{name}{by}")),
            said => text::sentence(&format!("{name}{by}: {}", said.join(", "))),
        }
    }

    fn count(&self, doubted: bool) -> f64 {
        let counted = self.weaker.iter();
        counted
            .filter(|(class, _)| class.is_doubted() == doubted)
            .count() as f64
    }
}

impl Default for Promise {
    fn default() -> Self {
        Self {
            class: Class::Durable,
            weaker: Vec::new(),
            said: Vec::new(),
            left_open: false,
        }
    }
}

/// Whether a setting decides the class.
pub(crate) fn decides(setting: &str) -> bool {
    SETTINGS.iter().any(|(name, _)| *name == setting)
}

fn durability(view: &View) -> Made {
    let Some(promise) = Promise::of(view) else {
        return Made::not_checked(format!("{}.", view.why_not("settings")));
    };
    let outcome = match promise.class.is_doubted() {
        true => Outcome::Doubt,
        false => Outcome::Pass,
    };
    let found = |wanted: &[Class]| {
        promise
            .weaker
            .iter()
            .any(|(class, _)| wanted.contains(class))
    };
    let try_this = advice(&[
        (
            found(&[Class::Uncommitted]),
            "Have the workload commit what it writes: set autocommit, or end its transactions \
             with COMMIT.",
        ),
        (
            found(&[Class::Host, Class::Emptied]),
            "Keep tables that are to last in a logged table of a transactional engine, on a disk.",
        ),
        (
            found(&[Class::Damaged]),
            "Turn on what keeps the database whole.",
        ),
        (
            promise.class.is_doubted(),
            "Or waive this with the reason why it does not matter (a file system that writes \
             pages whole, a copy that can be had again) and say it beside the figure.",
        ),
    ]);
    Made::of(outcome, promise.sentence(), &try_this)
        .classified(Durability {
            class: promise.class,
            because: promise.deciding(),
        })
        .naming(promise.left_open.then_some(Cause::OpenTransactions))
        .with("relaxed", promise.count(false), "count")
        .with("unsafe", promise.count(true), "count")
}

fn off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "0")
}

fn class_of(name: &str, costs: &[(Class, &[&str])], value: &str) -> Class {
    let lower = value.trim().to_ascii_lowercase();
    match costs.iter().find(|cost| cost.1.contains(&lower.as_str())) {
        Some(cost) => cost.0,
        None if many_groups(name, &lower) => Class::LastCommits,
        None => Class::Durable,
    }
}

/// Whether the binary log is synced only after several commits.
fn many_groups(name: &str, value: &str) -> bool {
    name == "sync_binlog" && value.parse::<u64>().is_ok_and(|commits| commits > 1)
}
