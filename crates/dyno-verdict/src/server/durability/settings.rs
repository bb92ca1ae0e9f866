//! The promise of each setting for a commit.

use super::Class;

/// The cost of the values of a setting, in lower case.
pub(super) struct Row {
    pub(super) name: &'static str,
    costs: &'static [(Class, &'static [&'static str])],
    /// The only engine that it concerns, in lower case.
    engine: Option<&'static str>,
    /// Another setting, and the values for which this row applies. The row also applies if that
    /// setting is unknown.
    when: Option<(&'static str, &'static [&'static str])>,
}

const fn row(name: &'static str, costs: &'static [(Class, &'static [&'static str])]) -> Row {
    Row {
        name,
        costs,
        engine: None,
        when: None,
    }
}

impl Row {
    const fn of(self, engine: &'static str) -> Self {
        Self {
            engine: Some(engine),
            ..self
        }
    }

    /// The other setting that decides whether this row applies.
    pub(super) fn depends_on(&self) -> Option<&'static str> {
        self.when.map(|(name, _)| name)
    }

    const fn when(self, name: &'static str, values: &'static [&'static str]) -> Self {
        Self {
            when: Some((name, values)),
            ..self
        }
    }
}

const FLUSH: &str = "innodb_flush_log_at_trx_commit";
/// How often InnoDB syncs its log if commits do not, in seconds.
const EVERY_S: &str = "innodb_flush_log_at_timeout";
const ON: &[&str] = &["on", "1", "true"];
const OFF: &[&str] = &["off", "0", "no", "false"];

pub(super) const ROWS: &[Row] = &[
    row(
        FLUSH,
        &[(Class::Process, &["0"]), (Class::LastSecond, &["2"])],
    )
    .of("innodb"),
    row("sync_binlog", &[(Class::LastCommits, &["0"])]).when("log_bin", ON),
    // MariaDB's `fast` replaces the flush method O_DIRECT_NO_FSYNC.
    row(
        "innodb_doublewrite",
        &[
            (Class::LastCommits, &["fast"]),
            (Class::Damaged, &["off", "0", "detect_only"]),
        ],
    ),
    // A status variable of MySQL, set by `ALTER INSTANCE DISABLE INNODB REDO_LOG`.
    row("innodb_redo_log_enabled", &[(Class::Damaged, &["off"])]),
    row(
        "innodb_flush_method",
        &[
            (Class::LastCommits, &["o_direct_no_fsync"]),
            (Class::Damaged, &["nosync", "littlesync"]),
        ],
    ),
    // MyRocks keeps unwritten log records in its own buffer, with 2 for up to a second.
    row(ROCKSDB_FLUSH, &[(Class::Process, &["0", "2"])])
        .of("rocksdb")
        .when("rocksdb_manual_wal_flush", ON),
    row(
        ROCKSDB_FLUSH,
        &[(Class::LastCommits, &["0"]), (Class::LastSecond, &["2"])],
    )
    .of("rocksdb")
    .when("rocksdb_manual_wal_flush", &["off", "0"]),
    row("rocksdb_write_disable_wal", &[(Class::Process, ON)]).of("rocksdb"),
    // Syncs at an interval that another setting defines.
    row("aria_group_commit", &[(Class::LastCommits, &["soft"])]).of("aria"),
    // Commits wait in the server's own buffers for the log writer's next turn.
    row("synchronous_commit", &[(Class::Process, OFF)]),
    row("fsync", &[(Class::Damaged, &["off"])]),
    row("full_page_writes", &[(Class::Damaged, &["off"])]),
    row(
        "synchronous",
        &[
            (Class::LastCommits, &["1", "normal", "on", "yes", "true"]),
            (Class::Damaged, OFF),
        ],
    ),
    // A commit deletes the journal, and only EXTRA then syncs the directory. A journal that
    // reappears after a crash rolls back the last commit.
    row("synchronous", &[(Class::LastCommits, &["2", "full"])]).when("journal_mode", &["delete"]),
    row("journal_mode", &[(Class::Damaged, &["off", "memory"])]),
];
/// Values of session settings that cost no durability. They are as statements write them, which
/// differs from what servers report.
const WITHOUT_COST: [(&str, &[&str]); 4] = [
    (
        "synchronous_commit",
        &[
            "on",
            "1",
            "yes",
            "true",
            "local",
            "remote_write",
            "remote_apply",
        ],
    ),
    ("rocksdb_write_disable_wal", OFF),
    ("synchronous", &["2", "full", "3", "extra"]),
    ("journal_mode", &["delete", "truncate", "persist", "wal"]),
];
const ROCKSDB_FLUSH: &str = "rocksdb_flush_log_at_trx_commit";

/// The cost of this row's setting, and the other setting involved.
pub(super) fn cost<'a>(
    row: &Row,
    value: &str,
    setting: impl Fn(&str) -> Option<&'a str>,
) -> Option<(Class, Option<&'static str>)> {
    let lower = value.trim().to_ascii_lowercase();
    let class = match row
        .costs
        .iter()
        .find(|cost| cost.1.contains(&lower.as_str()))
    {
        Some(cost) => cost.0,
        None if many_groups(row.name, &lower) => Class::LastCommits,
        None => return None,
    };
    if row.name == FLUSH && class == Class::LastSecond && setting(EVERY_S).is_some_and(is_seldom) {
        return Some((Class::LastCommits, Some(EVERY_S)));
    }
    let Some((name, values)) = row.when else {
        return Some((class, None));
    };
    match setting(name).map(|value| value.trim().to_ascii_lowercase()) {
        Some(known) => values
            .contains(&known.as_str())
            .then_some((class, Some(name))),
        None => Some((class, None)),
    }
}

/// The worst class that a session setting may imply if this value is unknown, or not understood.
/// `None` if it is understood.
pub(super) fn may_cost(row: &Row, value: &str) -> Option<Class> {
    let (_, without_cost) = WITHOUT_COST.iter().find(|(name, _)| *name == row.name)?;
    let mut of_setting = ROWS.iter().filter(|other| other.name == row.name);
    let costs = |row: &Row| row.costs.iter().any(|(_, values)| values.contains(&value));
    if without_cost.contains(&value) || of_setting.any(costs) {
        return None;
    }
    row.costs.iter().map(|(class, _)| *class).max()
}

/// Whether a row's setting applies to tables of the `used` engines.
pub(super) fn concerns(row: &Row, used: impl Fn(&str) -> bool) -> bool {
    row.engine.is_none_or(used)
}

/// Whether a setting decides the class.
pub(crate) fn decides(setting: &str) -> bool {
    let with = |row: &Row| row.when.is_some_and(|(name, _)| name == setting);
    setting == EVERY_S || ROWS.iter().any(|row| row.name == setting || with(row))
}

fn is_seldom(seconds: &str) -> bool {
    seconds.trim().parse::<u64>().is_ok_and(|every| every > 1)
}

/// Whether the binary log is synced only after several commits.
fn many_groups(name: &str, value: &str) -> bool {
    name == "sync_binlog" && value.parse::<u64>().is_ok_and(|commits| commits > 1)
}
