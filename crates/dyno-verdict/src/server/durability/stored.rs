//! Where the data is stored: settings do not protect tables in memory, or of engines without a log.

use dyno_core::catalogue::names;
use dyno_core::mounts::is_in_memory;
use dyno_core::record::{Fact, Setting};
use dyno_core::tables::{
    STORAGE_OF, TableGroup, directory_of, groups, names_in, places as places_of, tablespace_of,
};

use super::{Class, commits};
use crate::view::View;

/// Storage engines, in lower case, that promise less than the settings, and the reason.
const ENGINES: [(&str, Class, &str); 9] = [
    ("memory", Class::Emptied, "keeps rows only in memory"),
    ("blackhole", Class::Emptied, "keeps nothing"),
    (
        "myisam",
        Class::Damaged,
        "has no log, so a crash leaves tables that need repair",
    ),
    (
        "mrg_myisam",
        Class::Damaged,
        "has no log, so a crash leaves tables that need repair",
    ),
    ("csv", Class::Damaged, "has no log"),
    ("archive", Class::Damaged, "has no log"),
    (
        "aria (not transactional)",
        Class::Damaged,
        "has no log with TRANSACTIONAL = 0, so a crash leaves tables that need repair",
    ),
    (
        "aria",
        Class::Statement,
        "survives a crash, but has no transactions, so each statement commits on its own",
    ),
    (
        "federated",
        Class::Statement,
        "leaves durability to another server",
    ),
];

/// File systems with unknown lower layers.
const LAYERED: [&str; 2] = ["overlay", "overlayfs"];

/// A directory: the prefix of its facts, the cost of a host crash if it is in memory, its content,
/// and the only engine that it concerns.
type Directory = (&'static str, Class, &'static str, Option<&'static str>);

const DIRECTORIES: [Directory; 12] = [
    ("data", Class::Host, "the data is", None),
    (names::DATA_REDO, Class::Damaged, "the log is", None),
    (names::DATA_UNDO, Class::Damaged, "the undo log is", None),
    (
        names::DATA_SYSTEM,
        Class::Damaged,
        "InnoDB's system tablespace is",
        None,
    ),
    (
        names::DATA_DOUBLEWRITE,
        Class::Damaged,
        "the doublewrite buffer is",
        None,
    ),
    (
        names::DATA_DATABASE,
        Class::Damaged,
        "the database is",
        None,
    ),
    // PostgreSQL's catalog of all databases, and its record of committed transactions.
    (
        names::DATA_GLOBAL,
        Class::Damaged,
        "the shared catalog is",
        None,
    ),
    (
        names::DATA_TRANSACTIONS,
        Class::Damaged,
        "the transaction status is",
        None,
    ),
    // Recovery rolls back a commit that the binary log does not contain.
    (
        names::DATA_BINLOG,
        Class::LastCommits,
        "the binary log is",
        None,
    ),
    (
        names::DATA_ARIA_LOG,
        Class::Damaged,
        "Aria's log is",
        Some("aria"),
    ),
    (
        names::DATA_ROCKSDB,
        Class::Damaged,
        "MyRocks' data is",
        Some("rocksdb"),
    ),
    (
        names::DATA_ROCKSDB_WAL,
        Class::Damaged,
        "MyRocks' log is",
        Some("rocksdb"),
    ),
];

/// Storage that promises less than the settings, with its class.
pub(super) fn weaker(view: &View, engines: &Engines) -> Vec<(Class, String)> {
    let own = own(view);
    let mut found: Vec<(Class, String)> = own.iter().filter_map(of_table).collect();
    found.extend(elsewhere(view).iter().filter_map(of_table));
    found.extend(moved(view, &own));
    let fact = |name: &str| view.run.fact(name);
    found.extend(places(fact, |engine| engines.are_used(engine)));
    found.extend(own.iter().flat_map(|group| in_memory(group, fact)));
    if view
        .run
        .fact(names::CLIENT_STATEMENTS_CHANGES_TEMPORARY_ONLY)
        == Some("yes")
    {
        let names = temporary(view).unwrap_or_default();
        let why = format!("statements change only temporary tables ({names})");
        found.push((Class::Emptied, why));
    }
    found
}

/// Tables with a different storage at the end than before the load.
fn moved(view: &View, own: &[TableGroup]) -> Vec<(Class, String)> {
    let is_own = |name: &str| {
        own.iter()
            .any(|group| names_in(&group.names).iter().any(|n| n == name))
    };
    let of = |setting: &Setting| {
        let name = setting.name.strip_prefix(STORAGE_OF)?;
        let now = setting.end.clone().filter(|_| is_own(name))?;
        let (class, why) = of_table(&TableGroup {
            label: name.to_owned(),
            engine: Some(now.clone()),
            persistence: Some(now),
            ..TableGroup::default()
        })?;
        Some((class, format!("{why}, since some time during the run")))
    };
    view.run.settings.iter().filter_map(of).collect()
}

/// Names of temporary tables that statements change.
fn temporary<'a>(view: &View<'a>) -> Option<&'a str> {
    view.run.fact(names::CLIENT_STATEMENTS_TEMPORARY_TABLES)
}

/// Tables that the run used, or may have; empty if its statements are known and name no table.
fn own(view: &View) -> Vec<TableGroup> {
    if names_none(view) {
        return Vec::new();
    }
    let mut groups = groups(&view.run.facts);
    groups.retain(TableGroup::counts);
    groups
}

fn names_none(view: &View) -> bool {
    view.run.fact(names::DB_TABLES_NAMED) == Some("0")
}

fn elsewhere(view: &View) -> Vec<TableGroup> {
    let facts = view.run.facts.iter();
    let group = |fact: &Fact| {
        let kind = names::DB_TABLES_USED_ELSEWHERE_EACH.part(&fact.name)?;
        Some(TableGroup {
            label: fact.value.clone(),
            engine: Some(kind.to_owned()),
            persistence: Some(kind.to_owned()),
            ..TableGroup::default()
        })
    };
    facts.filter_map(group).collect()
}

pub(super) struct Engines<'a> {
    known: Vec<String>,
    are_some_unseen: bool,
    default: Option<&'a str>,
}

impl<'a> Engines<'a> {
    pub(super) fn of(view: &View<'a>) -> Self {
        let groups = own(view).into_iter().chain(elsewhere(view));
        let engines = groups.filter_map(|group| Some(group.engine?.to_ascii_lowercase()));
        // Aria's name may have a suffix: `Aria (not transactional)`.
        let first = |engine: String| engine.split(' ').next().unwrap_or_default().to_owned();
        Self {
            known: engines.map(first).collect(),
            are_some_unseen: view.run.fact(names::DB_TABLES_UNSEEN).is_some(),
            default: view.setting("default_storage_engine"),
        }
    }

    /// Whether tables of this engine were used, as far as known.
    pub(super) fn are_used(&self, engine: &str) -> bool {
        let is_guess = self.known.is_empty() || self.are_some_unseen;
        self.known.iter().any(|known| known == engine) || is_guess && is_usual(engine, self.default)
    }
}

/// Whether to assume this engine if the tables' engines are unknown.
pub(super) fn is_usual(engine: &str, default: Option<&str>) -> bool {
    engine == "innodb" || default.is_some_and(|default| default.eq_ignore_ascii_case(engine))
}

/// Directories in memory, by facts, for tables of the engines in use.
pub(super) fn places<'a>(
    fact: impl Fn(&str) -> Option<&'a str>,
    used: impl Fn(&str) -> bool,
) -> Vec<(Class, String)> {
    let directories = DIRECTORIES
        .iter()
        .filter(|(.., engine)| engine.is_none_or(&used));
    let found = directories.filter_map(|(place, class, what, _)| {
        let kind = memory(place, &fact)?;
        Some((*class, format!("{what} on {kind}, which is memory")))
    });
    found.collect()
}

/// Directories and tablespaces in memory named in tables' definitions.
fn in_memory<'a>(
    group: &TableGroup,
    fact: impl Fn(&str) -> Option<&'a str>,
) -> Vec<(Class, String)> {
    let why = |place: String| {
        let kind = memory(&place, &fact)?;
        let names = &group.label;
        let within = match tablespace_of(&place) {
            Some(name) => format!("in the tablespace {name}"),
            None => format!("in {}", directory_of(&place)?),
        };
        let why = format!("{names} is {within} on {kind}, which is memory");
        Some((Class::Damaged, why))
    };
    places_of(&group.definition)
        .into_iter()
        .filter_map(why)
        .collect()
}

/// The file system of a directory, if it is in memory.
fn memory<'a>(place: &str, fact: impl Fn(&str) -> Option<&'a str>) -> Option<&'a str> {
    fact(&format!("{place}.filesystem.type")).filter(|kind| is_in_memory(kind))
}

pub(super) fn file_system(view: &View) -> Option<String> {
    let kind = view.run.fact(names::DATA_FILESYSTEM_TYPE)?;
    Some(match LAYERED.contains(&kind) {
        true => format!("data on {kind}, a container's layer"),
        false => format!("data on {kind}"),
    })
}

/// Unknown and temporary tables.
pub(super) fn open(view: &View) -> Vec<String> {
    let mut open = Vec::new();
    if commits::writes(view) {
        open.extend(unknown(view));
    }
    open.extend(temporary(view).map(|names| format!("temporary tables are changed: {names}")));
    open
}

/// Whether the run may have written to something that was not checked, and that may promise less
/// than this class.
pub(super) fn is_out_of_sight(view: &View, class: Class) -> bool {
    let is_unread = class == Class::Durable && refused(view).is_some();
    let is_unknown = is_unread || knows_none(view) || !foreign(view).is_empty();
    commits::writes(view) && (commits::attaches(view) || is_unknown)
}

/// Whether Dyno knows of no table that the run used: a function may use some. Tables of
/// SQLite are all alike.
fn knows_none(view: &View) -> bool {
    names_none(view) && elsewhere(view).is_empty() && !view.embedded()
}

/// Why the tables could not be read, if all were unreadable.
fn refused<'a>(view: &View<'a>) -> Option<&'a str> {
    let gap = view.run.not_observed(names::DB_TABLES);
    gap.filter(|_| groups(&view.run.facts).is_empty())
}

/// Unknown facts about the tables that were written to.
fn unknown(view: &View) -> Vec<String> {
    let mut unknown = Vec::new();
    let is_special =
        |group: &TableGroup| of_table(group).is_some() || foreign_part(group).is_some();
    let is_guess = |group: &TableGroup| group.used.is_none() && is_special(group);
    if let Some(why) = refused(view) {
        unknown.push(format!("no table was examined: {why}"));
    } else if names_none(view) {
        unknown.push("no statement names a table that was examined".to_owned());
    } else if own(view).iter().any(is_guess) {
        unknown.push("which tables the run used is not known".to_owned());
    }
    if commits::attaches(view) {
        unknown.push("statements attached another file, which was not examined".to_owned());
    }
    unknown.extend(foreign(view));
    let unseen = view.run.fact(names::DB_TABLES_UNSEEN);
    unknown.extend(unseen.map(|unseen| format!("not examined: {unseen}")));
    unknown
}

/// Tables of the run with rows on another server, and who decides about them.
pub(crate) fn foreign(view: &View) -> Vec<String> {
    let all = own(view).into_iter().chain(elsewhere(view));
    all.filter_map(|group| foreign_part(&group)).collect()
}

/// The part of these tables that another server keeps, if any. The class of this server does not
/// apply to it: there the table may be UNLOGGED.
fn foreign_part(group: &TableGroup) -> Option<String> {
    let names = &group.label;
    let has = |is: fn(&str) -> bool| group.definition.lines().any(is);
    // MariaDB's Spider keeps all rows on other servers.
    let engine = group.engine.as_deref().unwrap_or_default();
    if group.persistence.as_deref() == Some("foreign")
        || has(|line| line == "kind: foreign table")
        || engine.eq_ignore_ascii_case("spider")
    {
        return Some(format!("foreign table {names}: its server decides"));
    }
    has(|line| line.starts_with("partition ") && line.contains(" FOREIGN TABLE"))
        .then(|| format!("{names} has partitions that are foreign tables: their server decides"))
}

fn of_table(group: &TableGroup) -> Option<(Class, String)> {
    let names = &group.label;
    match group.persistence.as_deref() {
        Some("unlogged") => {
            let of = match has_such_partitions(group) {
                true => "has partitions that are UNLOGGED",
                false => "is UNLOGGED",
            };
            return Some((Class::Emptied, format!("{names} {of}")));
        }
        Some("temporary") => return Some((Class::Emptied, format!("{names} is temporary"))),
        _ => {}
    }
    let engine = group.engine.as_deref()?;
    let known = ENGINES
        .iter()
        .find(|(name, ..)| engine.eq_ignore_ascii_case(name));
    known.map(|(_, class, why)| (*class, format!("the engine {engine} of {names} {why}")))
}

/// Whether only its partitions are UNLOGGED: a partitioned table itself has no rows.
fn has_such_partitions(group: &TableGroup) -> bool {
    let mut lines = group.definition.lines();
    lines.any(|line| line.starts_with("partition ") && line.contains(" UNLOGGED"))
}
