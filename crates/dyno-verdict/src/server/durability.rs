//! Check 38: the durability of a commit.
//!
//! Servers name their settings differently, so each run gets a class that defines the cost of a
//! crash. Figures of different classes do not compare servers.
//!
//! Relaxed durability that only loses the last second at a crash is a choice, which is reported. A
//! configuration that may leave an unusable database after a crash is a doubt.
//!
//! Settings do not protect tables without a log, disks in memory, or work that nobody commits, so
//! these are checked too.

mod commits;
mod settings;
mod stored;
mod syncs;
#[cfg(test)]
mod tests;

pub(crate) use dyno_core::finding::DurabilityClass as Class;
use dyno_core::finding::{Cause, Durability, Outcome};
use dyno_core::settings::UNKNOWN;

use crate::check::{Check, CheckResult, advice, doubt_if};
use crate::errors;
use crate::text;
use crate::view::View;
use commits::Commits;
pub(crate) use settings::decides;
pub(crate) use stored::foreign as foreign_tables;

/// The value with which a session restores the server's setting.
const DEFAULT: &str = "default";

pub(super) const DURABILITY: Check = Check {
    number: 38,
    name: "durability",
    title: "What a commit guarantees, and whether there were commits",
    rule: "The class is reported for every run that commits writes. Doubt if a crash may damage \
           the database or empty its tables, the log was synced {1} times as often as the disks \
           wrote, writes were not committed, or {0} % of the transactions were rolled back, as a \
           whole or to a savepoint. Not checked if settings promise durable commits but no table \
           could be examined. Without another doubt, also not checked if statements attached \
           another SQLite file, set an unknown value or only stronger ones than the server's, if \
           part of the work went to other servers, or if the run wrote and named no table that was \
           examined or may have used a foreign table.",
    thresholds: &[commits::ROLLED_BACK, syncs::WITHOUT_WRITES],
    make: durability,
};

/// The durability that a server promises, and the evidence against it.
pub(crate) struct Promise {
    /// The worst of all classes.
    pub(crate) class: Class,
    /// Causes of less than durable commits, with their classes: settings as `name = value`, and
    /// other findings as text.
    pub(crate) weaker: Vec<(Class, String)>,
    /// All relevant settings, and the location of the data.
    pub(crate) evidence: Vec<String>,
    /// Unknown facts, and facts about only part of the work.
    open: Vec<String>,
    /// The worst class that values may imply of which it is unknown whether sessions had them.
    possible: Class,
    /// Whether sessions ended within a transaction.
    left_open: bool,
    /// Whether some of the work was committed although most was not.
    in_part: bool,
}

impl Promise {
    /// The class by settings, for tables of the engines in use; `None` if no setting is known.
    pub(crate) fn read<'a>(
        setting: impl Fn(&str) -> Option<&'a str>,
        used: impl Fn(&str) -> bool,
    ) -> Option<Self> {
        Self::read_with(setting, used, |promise, _, class, why| {
            promise.weaken(class, why);
        })
    }

    /// The same, where `weaken` decides what a weaker value means.
    fn read_with<'a>(
        setting: impl Fn(&str) -> Option<&'a str>,
        used: impl Fn(&str) -> bool,
        weaken: impl Fn(&mut Self, &settings::Row, Class, String),
    ) -> Option<Self> {
        let mut promise = Self::default();
        for row in settings::ROWS {
            let name = row.name;
            let Some(value) = setting(name).map(str::trim) else {
                continue;
            };
            // Without a binary log there is nothing to sync.
            if name == "sync_binlog" && setting("log_bin").is_some_and(off)
                || !settings::concerns(row, &used)
            {
                continue;
            }
            if let Some((class, why)) = cause(row, &setting) {
                weaken(&mut promise, row, class, why);
            }
            let entry = format!("{name} = {value}");
            if !promise.evidence.contains(&entry) {
                promise.evidence.push(entry);
            }
        }
        (!promise.evidence.is_empty()).then_some(promise)
    }

    /// The class of a server without a run: by its settings and the location of its data.
    pub(crate) fn of_server<'a>(
        setting: impl Fn(&str) -> Option<&'a str>,
        fact: impl Fn(&str) -> Option<&'a str>,
    ) -> Option<Self> {
        let used = |engine: &str| stored::is_usual(engine, setting("default_storage_engine"));
        let mut promise = Self::read(&setting, used)?;
        for (class, why) in stored::places(&fact, used) {
            promise.weaken(class, why);
        }
        Some(promise)
    }

    /// The class of a run; `None` if it is unknown, or may not apply to what was written.
    pub(crate) fn known_class(view: &View) -> Option<Class> {
        let promise = Self::of(view)?;
        let applies = promise.class.is_doubted() || reservation(view, &promise).is_none();
        applies.then_some(promise.class)
    }

    /// The class of a run: by its settings, tables, location of the data, and the server's
    /// counters. `None` if nothing is known.
    fn of(view: &View) -> Option<Self> {
        let engines = stored::Engines::of(view);
        let read = Self::read_with(
            |name| view.setting(name),
            |engine| engines.are_used(engine),
            |promise, row, class, why| promise.set_by_server(view, row, class, why),
        );
        let known = read.is_some();
        let mut promise = read.unwrap_or_default();
        promise.moved(view, &engines);
        promise.set_by_sessions(view, &engines);
        let syncs = syncs::ignored(view).map(|why| (Class::Damaged, why));
        for (class, why) in stored::weaker(view, &engines).into_iter().chain(syncs) {
            promise.weaken(class, why);
        }
        match commits::of(view) {
            Commits::Missing(missing) => {
                promise.left_open = missing.left_open;
                promise.in_part = missing.in_part;
                promise.weaken(Class::Uncommitted, missing.why);
            }
            Commits::Unsynced(why) if promise.class < Class::Process => {
                promise.weaken(Class::Process, why);
            }
            Commits::Unsynced(_) => {}
            Commits::Committed(how) => promise.evidence.extend(how),
            Commits::Unknown => {}
        }
        promise.evidence.extend(stored::file_system(view));
        promise.open.extend(stored::open(view));
        (known || !promise.weaker.is_empty()).then_some(promise)
    }

    /// A value that a setting had for only part of the run counts, too.
    fn moved(&mut self, view: &View, engines: &stored::Engines) {
        let moments = view.later_settings(settings::decides);
        let rows = settings::ROWS.iter();
        for row in rows.filter(|row| settings::concerns(row, |used| engines.are_used(used))) {
            let mut worst = cause(row, |name| view.setting(name)).map(|(class, _)| class);
            for moment in &moments {
                if let Some((class, why)) = cause(row, |name| moment.setting(name))
                    && worst < Some(class)
                {
                    worst = Some(class);
                    let why = format!("{why} {}", moment.when());
                    self.set_by_server(view, row, class, why);
                }
            }
        }
    }

    /// A weaker value of the server counts, unless sessions set only stronger ones: their
    /// statements do not show whether any commit had the server's.
    fn set_by_server(&mut self, view: &View, row: &settings::Row, class: Class, why: String) {
        if !set_only_stronger(view, row, class) {
            self.weaken(class, why);
        } else if class.is_doubted() {
            self.weaken(class, format!("{why} where sessions did not set it"));
        } else {
            let entry = format!("{why} applies to commits for which sessions did not set it");
            let unknown = "and whether there were any is not known";
            self.set_unknown(class, entry, had_no_effect(view, row.name), unknown);
        }
    }

    /// A value that sessions set for themselves counts like a setting of the server.
    fn set_by_sessions(&mut self, view: &View, engines: &stored::Engines) {
        let set = view.set_by_sessions();
        for (name, value) in set.filter(|(_, value)| *value != DEFAULT) {
            self.name_owner(view, name);
            let rows = settings::ROWS.iter().filter(|row| row.name == name);
            let rows = rows.filter(|row| settings::concerns(row, |used| engines.are_used(used)));
            let possible = rows.clone();
            let possible = possible.filter_map(|row| settings::may_cost(row, value));
            let cost = |row| settings::cost(row, value, |name| view.setting_of_sessions(name));
            let entry = match value {
                UNKNOWN => format!("sessions set {name} to a value that their statements hide"),
                _ => format!("sessions set {name} = {value}"),
            };
            if let Some(class) = possible.max() {
                let unknown = "which may promise less";
                self.set_unknown(class, entry, had_no_effect(view, name), unknown);
                continue;
            }
            match rows.filter_map(cost).max_by_key(|(class, _)| *class) {
                Some((class, _)) => match had_no_effect(view, name) {
                    Some(how) => self.open.push(format!("{entry}, but {how}")),
                    None if is_set_back(view, name) => {
                        self.weaken(class, format!("{entry} and at some time set it back"));
                    }
                    None => self.weaken(class, entry),
                },
                None if settings::decides(name) || name == "sql_log_bin" => {
                    self.evidence.push(entry)
                }
                None => {}
            }
        }
    }

    /// Says whose value of a setting the evidence shows, because sessions set their own.
    fn name_owner(&mut self, view: &View, setting: &str) {
        let owner = if view.embedded() { "target" } else { "server" };
        let begin = format!("{setting} = ");
        for entry in &mut self.evidence {
            if entry.starts_with(&begin) {
                *entry = format!("the {owner}'s {entry}");
            }
        }
    }

    /// Notes a class that may apply: that of the worst value if the value is unknown or Dyno does
    /// not understand it, or that of the server's value if sessions may all have overridden it.
    fn set_unknown(
        &mut self,
        worst: Class,
        entry: String,
        without_effect: Option<String>,
        unknown: &str,
    ) {
        let end = match without_effect {
            Some(how) => format!("but {how}"),
            None => {
                self.possible = self.possible.max(worst);
                unknown.to_owned()
            }
        };
        self.open.push(format!("{entry}, {end}"));
    }

    fn weaken(&mut self, class: Class, why: String) {
        self.class = self.class.max(class);
        self.weaker.push((class, why));
    }

    /// The reasons for the class: those of all classes, or only its own if it raises a doubt.
    fn deciding(&self) -> Vec<String> {
        let decides = |class: Class| match self.class.is_doubted() {
            true => class == self.class,
            false => true,
        };
        let deciding = self.weaker.iter().filter(|(class, _)| decides(*class));
        deciding.map(|(_, why)| why.clone()).collect()
    }

    /// The class as a sentence: first the reasons for it, then everything else that applies.
    pub(crate) fn sentence(&self) -> String {
        let by = match self.deciding().as_slice() {
            [] => String::new(),
            deciding => format!(" because {}", text::list(deciding)),
        };
        let name = match self.class {
            Class::Uncommitted if self.in_part => "not committed, for the most part,",
            class => class.name(),
        };
        let evidence = match self.evidence.as_slice() {
            [] => String::new(),
            evidence => format!(": {}", evidence.join(", ")),
        };
        let parts = [vec![format!("{name}{by}{evidence}")], self.open.clone()].concat();
        text::sentence(&parts.join("; "))
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
            evidence: Vec::new(),
            open: Vec::new(),
            possible: Class::Durable,
            left_open: false,
            in_part: false,
        }
    }
}

/// The class that a setting costs, and its value, with that of the other setting involved.
fn cause<'a>(
    row: &settings::Row,
    setting: impl Fn(&str) -> Option<&'a str>,
) -> Option<(Class, String)> {
    let value = setting(row.name)?.trim();
    let (class, with) = settings::cost(row, value, &setting)?;
    let entry = format!("{} = {value}", row.name);
    let with = with.filter(|with| *with != "log_bin");
    let with = with.and_then(|with| Some((with, setting(with)?.trim())));
    let why = match with {
        Some((with, value)) => format!("{entry} with {with} = {value}"),
        None => entry,
    };
    Some((class, why))
}

/// Whether the values that sessions set for this row's setting, or for the one that it depends on,
/// all cost less than `class`.
fn set_only_stronger(view: &View, row: &settings::Row, class: Class) -> bool {
    let set_by_sessions = |name: &str| -> Vec<&str> {
        let own = view.set_by_sessions().filter(|(own, _)| *own == name);
        let values = own.map(|(_, value)| value);
        values.filter(|value| *value != DEFAULT).collect()
    };
    let mut values = set_by_sessions(row.name);
    let depends = row.depends_on();
    if values.is_empty() && depends.is_some_and(|name| !set_by_sessions(name).is_empty()) {
        values.extend(view.setting(row.name));
    }
    let is_stronger = |value: &&str| {
        let cost = settings::cost(row, value, |name| view.setting_of_sessions(name));
        let is_known = settings::may_cost(row, value).is_none();
        is_known && cost.is_none_or(|(cost, _)| cost < class)
    };
    !values.is_empty() && values.iter().all(is_stronger)
}

/// Why the class may not apply to everything that was written.
fn reservation(view: &View, promise: &Promise) -> Option<String> {
    if let Some(nodes) = view.several_endpoints() {
        return Some(format!(
            "Only the first of {nodes} endpoints was observed. For that endpoint"
        ));
    }
    let reasons = [
        (
            errors::did_work_elsewhere(view),
            "Part of the work did not reach the observed server. For that server",
        ),
        // Settings promise durability only of tables with a log, and of the file that was checked.
        (
            stored::is_out_of_sight(view, promise.class),
            "The settings promise this, but it may not apply to what was written",
        ),
        (
            promise.possible > promise.class,
            "Some values that sessions had are unknown. By the known ones",
        ),
    ];
    let first = reasons.into_iter().find(|(holds, _)| *holds);
    first.map(|(_, why)| why.to_owned())
}

fn durability(view: &View) -> CheckResult {
    let Some(promise) = Promise::of(view) else {
        return CheckResult::not_checked(format!("{}.", view.why_not("settings")));
    };
    let outcome = doubt_if(promise.class.is_doubted());
    if outcome == Outcome::Pass
        && let Some(why) = reservation(view, &promise)
    {
        return CheckResult::not_checked(format!("{why}: {}", promise.sentence()));
    }
    if outcome == Outcome::Pass && commits::committed_nothing(view) {
        return unclaimed(&promise);
    }
    let any_of = |wanted: &[Class]| {
        promise
            .weaker
            .iter()
            .any(|(class, _)| wanted.contains(class))
    };
    let try_this = advice(&[
        (
            any_of(&[Class::Uncommitted]),
            "Have the workload commit what it writes: set autocommit, or end its transactions \
             with COMMIT.",
        ),
        (
            any_of(&[Class::Host, Class::Emptied]),
            "Keep lasting data in logged tables of a transactional engine, on a disk.",
        ),
        (
            any_of(&[Class::Damaged]),
            "Turn on the settings that protect the database from damage.",
        ),
        (
            any_of(&[Class::Damaged]),
            "Or waive this with the reason why it does not matter (a file system that writes whole \
             pages, a copy that can be restored), and state it with the figures.",
        ),
        (
            promise.class.is_doubted() && !any_of(&[Class::Damaged]),
            "Or waive this with the reason why it does not matter, and state it with the figures.",
        ),
    ]);
    CheckResult::of(outcome, promise.sentence(), &try_this)
        .classified(Durability {
            class: promise.class,
            because: promise.deciding(),
        })
        .naming(promise.left_open.then_some(Cause::OpenTransactions))
        .with("relaxed", promise.count(false), "count")
        .with("unsafe", promise.count(true), "count")
}

/// A run without commits has no class: a crash cannot lose what nobody wrote.
fn unclaimed(promise: &Promise) -> CheckResult {
    CheckResult::pass(match promise.class {
        Class::Durable => promise.sentence(),
        _ => format!(
            "The run committed no writes, so a crash could lose nothing. For writes the settings \
             mean: {}",
            promise.sentence()
        ),
    })
}

/// Why a weaker value that sessions set had no effect on their writes.
fn had_no_effect(view: &View, setting: &str) -> Option<String> {
    if commits::changed_nothing(view) {
        return Some("the run changed no rows".to_owned());
    }
    commits::synced_each(view).filter(|_| setting == "synchronous_commit")
}

/// Whether sessions also restored the server's value.
fn is_set_back(view: &View, setting: &str) -> bool {
    let mut set = view.set_by_sessions();
    set.any(|(name, value)| name == setting && value == DEFAULT)
}

fn off(value: &str) -> bool {
    matches!(value.to_ascii_lowercase().as_str(), "off" | "0")
}
