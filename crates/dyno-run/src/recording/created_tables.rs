//! Which tables of the database have names that a workload uses, and whether they are the
//! workload's. Dyno never drops other tables or writes to them.

use std::collections::BTreeMap;
use std::time::Duration;

use dyno_core::db::Family;
use dyno_drivers::control::Control;
use dyno_script::CreatedTable;

use crate::error::Result;
use crate::job::Ready;

/// Give up on a server that takes longer than this to list its tables.
const TIMEOUT: Duration = Duration::from_secs(30);
/// How many names to put into one query.
const AT_ONCE: usize = 1000;

/// Why a command must leave the existing tables alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Clash {
    /// `prepare` would create these tables, but the workload's tables already exist.
    Exist(Vec<String>),
    /// A table, view or other object with one of these names is not the workload's. Says which and
    /// why.
    Foreign(String),
}

/// An existing object with a name that the workload uses.
#[derive(Debug, Default, PartialEq, Eq)]
struct ExistingObject {
    is_table: bool,
    /// Whether it is in the schema where new tables are created.
    is_here: bool,
    columns: Vec<String>,
}

/// Why `prepare` or `cleanup` must not run. `None` for other commands, for scripts that do not list
/// the tables they create, and for sysbench's command line, which drops tables as sysbench does.
///
/// # Errors
/// The database does not answer, or the script fails.
pub fn clash(ready: &mut Ready, command: &str) -> Result<Option<Clash>> {
    let makes = command == "prepare";
    if ready.job.sysbench || !(makes || command == "cleanup") {
        return Ok(None);
    }
    let Some(created) = ready.created_tables()? else {
        return Ok(None);
    };
    Ok(judged(&created, &look(ready, &created)?, makes))
}

/// Which of a workload's tables exist.
pub(super) enum Standing {
    /// None of them exists.
    Absent,
    /// All exist.
    Whole,
    /// Only some exist. Names one that does and one that does not.
    Partial(String, String),
    /// One of them is not the workload's.
    Foreign(String),
}

/// Looks up the tables that the workload creates. `None` if the script does not list them.
pub(super) fn standing(ready: &mut Ready) -> Result<Option<Standing>> {
    let Some(created) = ready.created_tables()? else {
        return Ok(None);
    };
    let found = look(ready, &created)?;
    if let Some(Clash::Foreign(why)) = judged(&created, &found, false) {
        return Ok(Some(Standing::Foreign(why)));
    }
    // Tables that may exist already only count if there are no others.
    let all = created.iter().all(|own| own.may_exist);
    let needed = || created.iter().filter(|own| all || !own.may_exist);
    let there = needed().find(|own| found.contains_key(&own.name));
    let missing = needed().find(|own| !found.contains_key(&own.name));
    Ok(Some(match (there, missing) {
        (Some(there), Some(missing)) => Standing::Partial(there.name.clone(), missing.name.clone()),
        (None, Some(_)) => Standing::Absent,
        (_, None) => Standing::Whole,
    }))
}

fn judged(
    created: &[CreatedTable],
    found: &BTreeMap<String, ExistingObject>,
    makes: bool,
) -> Option<Clash> {
    let mut exist = Vec::new();
    for own in created {
        let Some(there) = found.get(&own.name) else {
            continue;
        };
        // A new table would hide it, and creating one drops nothing.
        if makes && !there.is_here {
            continue;
        }
        let why = match there {
            ExistingObject {
                is_table: false, ..
            } => Some("it is not a table".to_owned()),
            ExistingObject { is_here: false, .. } => {
                Some("it is not in the schema where new tables are created".to_owned())
            }
            _ => own.misfit(&there.columns),
        };
        if let Some(why) = why {
            return Some(Clash::Foreign(format!(
                "{} is not the workload's: {why}",
                own.name
            )));
        }
        if !own.may_exist {
            exist.push(own.name.clone());
        }
    }
    (makes && !exist.is_empty()).then_some(Clash::Exist(exist))
}

/// The objects with one of these names. On PostgreSQL, these are the objects that a name resolves
/// to, and those in the schema where new tables are created.
fn look(ready: &Ready, created: &[CreatedTable]) -> Result<BTreeMap<String, ExistingObject>> {
    let mut found: BTreeMap<String, ExistingObject> = BTreeMap::new();
    let Some(connector) = &ready.connector else {
        return Ok(found);
    };
    let mut control = Control::connect(connector.as_ref(), TIMEOUT)?;
    for names in created.chunks(AT_ONCE) {
        let list: Vec<String> = names.iter().map(|own| format!("'{}'", own.name)).collect();
        for sql in queries(connector.family(), &list.join(", ")) {
            for row in control.query(&sql, TIMEOUT)? {
                take(&mut found, row);
            }
        }
    }
    control.close();
    Ok(found)
}

/// Adds a row: the name, whether it is a table and whether it is here (both empty if the row does
/// not say), and a column.
fn take(found: &mut BTreeMap<String, ExistingObject>, row: Vec<Option<String>>) {
    let mut row = row.into_iter();
    let mut next = || row.next().flatten();
    let (Some(name), is_table, is_here, column) = (next(), next(), next(), next()) else {
        return;
    };
    let own = found.entry(name).or_default();
    own.is_table |= is_table.is_some_and(|text| text == "1");
    own.is_here |= is_here.is_some_and(|text| text == "1");
    own.columns.extend(column);
}

fn queries(family: Family, names: &str) -> Vec<String> {
    match family {
        Family::Mysql => vec![
            format!(
                "SELECT table_name, table_type = 'BASE TABLE', 1, NULL FROM \
                 information_schema.tables WHERE table_schema = DATABASE() AND table_name IN \
                 ({names})"
            ),
            format!(
                "SELECT table_name, NULL, NULL, column_name FROM information_schema.columns WHERE \
                 table_schema = DATABASE() AND table_name IN ({names})"
            ),
        ],
        Family::Postgres => vec![format!(
            "SELECT c.relname::text, CASE WHEN c.relkind IN ('r', 'p') THEN 1 ELSE 0 END, CASE \
             WHEN n.nspname = current_schema() THEN 1 ELSE 0 END, a.attname::text FROM pg_class c \
             JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_attribute a ON a.attrelid \
             = c.oid AND a.attnum > 0 AND NOT a.attisdropped WHERE c.relname IN ({names}) AND \
             pg_table_is_visible(c.oid)"
        )],
        _ => vec![format!(
            "SELECT lower(m.name), m.type = 'table', 1, p.name FROM sqlite_master m LEFT JOIN \
             pragma_table_info(m.name) p WHERE lower(m.name) IN ({names})"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn created(name: &str, may_exist: bool) -> CreatedTable {
        CreatedTable {
            name: name.to_owned(),
            columns: vec!["id".to_owned()],
            may_exist,
            ..CreatedTable::default()
        }
    }

    fn existing(rows: &[[&str; 4]]) -> BTreeMap<String, ExistingObject> {
        let mut found = BTreeMap::new();
        for row in rows {
            let field = |text: &&str| Some((*text).to_owned()).filter(|text| text != "-");
            take(&mut found, row.iter().map(field).collect());
        }
        found
    }

    #[test]
    fn only_own_tables_are_dropped_and_none_is_created_twice() {
        let list = [
            created("a1", false),
            created("a2", false),
            created("kept", true),
        ];
        let of = |rows: &[[&str; 4]], makes| judged(&list, &existing(rows), makes);
        let is_foreign = |clash| matches!(clash, Some(Clash::Foreign(_)));
        assert_eq!(of(&[], true), None);
        // MySQL returns two rows for a table.
        let own = [["a2", "1", "1", "-"], ["a2", "-", "-", "id"]];
        assert_eq!(of(&own, false), None);
        assert_eq!(of(&own, true), Some(Clash::Exist(vec!["a2".to_owned()])));
        assert_eq!(of(&[["kept", "1", "1", "id"]], true), None);
        for makes in [true, false] {
            assert!(is_foreign(of(&[["a1", "1", "1", "mine"]], makes)));
            assert!(is_foreign(of(&[["kept", "1", "1", "mine"]], makes)));
            // A view.
            assert!(is_foreign(of(&[["a1", "0", "1", "id"]], makes)));
        }
        // A table in another schema that the name resolves to: DROP would drop it, and CREATE hides
        // it.
        let elsewhere = [["a1", "1", "0", "id"]];
        assert!(is_foreign(of(&elsewhere, false)));
        assert_eq!(of(&elsewhere, true), None);
    }
}
