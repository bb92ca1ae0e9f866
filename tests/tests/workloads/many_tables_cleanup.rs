//! Cleaning up drops the workload's own tables and schemas. If it would drop or break anything
//! else, it names it and drops nothing.

use dyno_tests::Kind;

use crate::common::{QUIET, on};
use crate::many_tables::{Tables, all};

/// Something that a user adds, how messages name it, and how to remove it again.
struct Added {
    add: String,
    named: String,
    remove: String,
}

fn added(add: String, named: String, remove: String) -> Added {
    Added { add, named, remove }
}

/// An object that `CREATE KIND NAME…` creates.
fn object(kind: &str, name: &str, rest: &str, named: &str) -> Added {
    let add = format!("CREATE {kind} {name}{rest}");
    added(add, named.to_owned(), format!("DROP {kind} {name}"))
}

fn column(tables: &Tables) -> Added {
    let table = tables.table(3, 1);
    added(
        format!("ALTER TABLE {table} ADD COLUMN mine VARCHAR(20)"),
        format!("column {table}.mine is"),
        format!("ALTER TABLE {table} DROP COLUMN mine"),
    )
}

fn of_postgresql(tables: &Tables) -> Vec<Added> {
    let (schema, table) = (format!("{}1", tables.prefix), tables.table(2, 1));
    let own = |kind: &str, name: &str, rest: &str| {
        let name = format!("{schema}.{name}");
        object(
            kind,
            &name,
            rest,
            &format!("{} {name}", kind.to_lowercase()),
        )
    };
    let rows = format!(" AS SELECT id FROM {table}");
    let key = format!(" (id INT REFERENCES {table} (id))");
    let row = format!(" (whole {table})");
    vec![
        own("TABLE", "precious", " (id INT)"),
        own("TABLE", "t11", " (id INT)"),
        own("TABLE", "t01", " (id INT)"),
        own("VIEW", "v", " AS SELECT 1 AS one"),
        own("FUNCTION", "f()", " RETURNS INT LANGUAGE sql AS 'SELECT 1'"),
        own("SEQUENCE", "s", ""),
        own("TYPE", "e", " AS ENUM ('a')"),
        // Elsewhere.
        object("VIEW", "public.v1", &rows, "view v1 is"),
        object(
            "MATERIALIZED VIEW",
            "public.v2",
            &rows,
            "materialized view v2 is",
        ),
        object("TABLE", "public.child", &key, "on table child is"),
        object("TABLE", "public.users", &row, "column whole of table users"),
        added(
            format!("CREATE RULE mine AS ON DELETE TO {table} DO INSTEAD NOTHING"),
            format!("rule mine on table {table}"),
            format!("DROP RULE mine ON {table}"),
        ),
    ]
}

fn of_mysql(tables: &Tables) -> Vec<Added> {
    let (schema, table) = (format!("{}1", tables.prefix), tables.table(1, 1));
    let own = |kind: &str, name: &str, rest: &str, named: &str| {
        object(
            kind,
            &format!("{schema}.{name}"),
            rest,
            &format!("{named}{schema}.{name}"),
        )
    };
    let each = format!(" BEFORE INSERT ON {table} FOR EACH ROW SET NEW.k = 1");
    let key = format!(" (id INT UNSIGNED, FOREIGN KEY (id) REFERENCES {table} (id))");
    let routine = |kind: &str, rest: &str| {
        let name = format!("{schema}.r");
        added(
            format!("CREATE {kind} {name}() {rest}"),
            format!("{} {name} is", kind.to_lowercase()),
            format!("DROP {kind} {name}"),
        )
    };
    vec![
        own("TABLE", "precious", " (id INT)", ""),
        own("TABLE", "t11", " (id INT)", ""),
        own("VIEW", "v", " AS SELECT 1 AS id", ""),
        routine("PROCEDURE", "SELECT 1"),
        routine("FUNCTION", "RETURNS INT DETERMINISTIC RETURN 1"),
        own(
            "EVENT",
            "e",
            " ON SCHEDULE EVERY 1 YEAR DO SELECT 1",
            "event ",
        ),
        own("TRIGGER", "tr", &each, "trigger "),
        object("TABLE", "child", &key, "foreign key child"),
    ]
}

fn of_sqlite(tables: &Tables) -> Vec<Added> {
    let table = tables.table(1, 1);
    let each = format!(" AFTER INSERT ON {table} BEGIN SELECT 1; END");
    let key = format!(" (id INT REFERENCES {table} (id) ON DELETE CASCADE)");
    vec![
        object("TRIGGER", "tr", &each, "trigger tr is"),
        object("TABLE", "child", &key, "foreign key of child is"),
    ]
}

/// Fails if the first or the last table does not exist.
fn must_exist(tables: &Tables) {
    for table in [tables.table(1, 1), tables.table(12, 10)] {
        assert_eq!(tables.number(&format!("SELECT COUNT(*) FROM {table}")), 0);
    }
}

#[test]
fn nothing_is_dropped_if_anything_else_would_be() {
    for tables in all() {
        tables.dyno("prepare", "").success();
        let mut list = match tables.place.family() {
            "postgres" => of_postgresql(&tables),
            "mysql" => of_mysql(&tables),
            _ => of_sqlite(&tables),
        };
        list.push(column(&tables));
        for Added { add, named, remove } in list {
            tables.place.execute(&add);
            let output = tables.place.dyno("cleanup many_tables");
            assert_eq!(output.status.code(), Some(1), "{add}: {output:?}");
            for text in [named.as_str(), "not this workload's", "Nothing was dropped"] {
                assert!(output.stderr.contains(text), "{add}: {output:?}");
            }
            must_exist(&tables);
            // Fails if it was dropped.
            tables.place.execute(&remove);
        }
        let Added { add, named, remove } = column(&tables);
        tables.place.execute(&add);
        let run = format!("--phase drop --keep 2 {QUIET}");
        tables.refused("run", &run, &named);
        must_exist(&tables);
        tables.place.execute(&remove);
        tables.place.dyno("cleanup many_tables").success();
        tables.dyno("prepare", "").success();
    }
}

#[test]
fn several_others_are_named_together() {
    for tables in all() {
        if tables.place.family() == "sqlite" {
            continue;
        }
        tables.dyno("prepare", "").success();
        let names: Vec<String> = (1..=4)
            .map(|n| format!("{}2.mine{n}", tables.prefix))
            .collect();
        for name in &names {
            tables
                .place
                .execute(&format!("CREATE TABLE {name} (id INT)"));
        }
        let output = tables.place.dyno("cleanup many_tables");
        assert!(
            output.stderr.contains("… are not this workload's"),
            "{output:?}"
        );
        for name in &names {
            tables.place.execute(&format!("DROP TABLE {name}"));
        }
    }
}

#[test]
fn similar_names_are_kept() {
    for tables in all() {
        tables.dyno("prepare", "").success();
        let prefix = &tables.prefix;
        let is_sqlite = tables.place.family() == "sqlite";
        let kept: Vec<String> = if is_sqlite {
            let ends = [
                "2_t9_archive",
                "3_t2024_invoices",
                "1_t11",
                "1_t01",
                "01_t1",
                "13_t1",
            ];
            ends.iter().map(|end| format!("{prefix}{end}")).collect()
        } else {
            let schemas = ["13", "01", "1a"].map(|end| format!("{prefix}{end}"));
            for schema in &schemas {
                tables.place.execute(&format!("CREATE SCHEMA {schema}"));
            }
            schemas.map(|schema| format!("{schema}.t1")).to_vec()
        };
        for name in &kept {
            tables
                .place
                .execute(&format!("CREATE TABLE {name} (id INT)"));
        }
        tables.place.dyno("cleanup many_tables").success();
        for name in &kept {
            // Fails if it was dropped.
            tables.place.execute(&format!("DROP TABLE {name}"));
            if let Some((schema, _)) = name.split_once('.') {
                tables.place.execute(&format!("DROP SCHEMA {schema}"));
            }
        }
        // Nothing of the workload's is left.
        tables.dyno("prepare", "").success();
    }
}

#[test]
fn what_a_killed_command_left_is_dropped() {
    for tables in all() {
        tables.dyno("prepare", "").success();
        let (missing, first) = (tables.table(2, 3), tables.table(1, 1));
        let (churned, mine) = (tables.table(1, 14), tables.table(1, 15));
        // As a killed run leaves it.
        let unknown = "UPDATE many_tables_settings SET row_count = NULL";
        tables.place.execute(unknown);
        tables.place.execute(&format!("DROP TABLE {missing}"));
        tables
            .place
            .execute(&format!("CREATE TABLE {churned} AS SELECT * FROM {first}"));
        tables
            .place
            .execute(&format!("CREATE TABLE {mine} (id INT)"));
        let output = tables.place.dyno("cleanup many_tables");
        let is_sqlite = tables.place.family() == "sqlite";
        assert_eq!(output.status.success(), is_sqlite, "{output:?}");
        assert!(is_sqlite || output.stderr.contains(&mine), "{output:?}");
        tables.place.execute(&format!("DROP TABLE {mine}"));
        tables.place.dyno("cleanup many_tables").success();
        tables.dyno("prepare", "").success();
    }
}

#[test]
fn a_tablespace_with_other_tables_is_kept() {
    let tables = Tables::at(on(Kind::Mysql));
    tables.dyno("prepare", "--tablespaces 5").success();
    let create = format!(
        "CREATE TABLE mine (id INT) TABLESPACE {}space_1",
        tables.prefix
    );
    tables.place.execute(&create);
    let output = tables.place.dyno("cleanup many_tables");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(
        output.stderr.contains(".mine is not this workload's"),
        "{output:?}"
    );
    must_exist(&tables);
    tables.place.execute("DROP TABLE mine");
    tables.place.dyno("cleanup many_tables").success();
}
