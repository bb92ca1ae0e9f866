//! A schema per customer. Exactly those tables are created, touched and dropped that the server
//! acknowledged; the table cache behaves as calculated; and each condition detects its own
//! violation.

use std::time::Duration;

use dyno_tests::{Database, Kind, start_private_server_with};
use serde_json::Value;

use crate::common::{LOUD, QUIET, TestDatabase, done, everywhere, fails, on, outcome, sqlite};

/// A database with its own prefix for schemas, which are dropped at the end.
pub(crate) struct Tables {
    pub(crate) place: TestDatabase,
    pub(crate) prefix: String,
}

impl Drop for Tables {
    fn drop(&mut self) {
        self.place.dyno("cleanup many_tables");
    }
}

impl Tables {
    pub(crate) fn at(place: TestDatabase) -> Self {
        let prefix = match &place {
            TestDatabase::Server(database) => format!("{}_", database.name),
            TestDatabase::Sqlite(_) => "many_".to_owned(),
        };
        Self { place, prefix }
    }

    /// A command line. By default there are twelve schemas of ten tables.
    fn line(&self, command: &str, options: &str) -> String {
        let prefix = &self.prefix;
        let sizes = "--schemas 12 --tables 10";
        format!("{command} many_tables {sizes} --schema_prefix {prefix} {options}")
    }

    pub(crate) fn dyno(&self, command: &str, options: &str) -> dyno_tests::Output {
        self.place.dyno(&self.line(command, options))
    }

    /// Makes a run whose ledger must match, and returns its result.
    pub(crate) fn run(&self, options: &str) -> Value {
        let results = self.runs(options);
        assert_eq!(results.len(), 1);
        results.into_iter().next().unwrap()
    }

    /// Runs several phases and returns their results.
    pub(crate) fn runs(&self, options: &str) -> Vec<Value> {
        let line = self.line("", options);
        let results = match self.place.result(line.trim_start()) {
            Value::Array(phases) => phases,
            result => vec![result],
        };
        let name = self.place.name();
        for result in &results {
            let found = outcome(result, "consistency");
            assert_eq!(found, "pass", "{name}: {}", result["ledger"]);
        }
        results
    }

    /// The name of a table.
    pub(crate) fn table(&self, schema: u32, number: u32) -> String {
        let dot = match self.place {
            TestDatabase::Server(_) => '.',
            TestDatabase::Sqlite(_) => '_',
        };
        format!("{}{schema}{dot}t{number}", self.prefix)
    }

    /// The number that a query returns.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        match &self.place {
            TestDatabase::Server(database) => database.query_one(sql).parse().unwrap(),
            TestDatabase::Sqlite(folder) => {
                let file = rusqlite::Connection::open(folder.path().join("data.db")).unwrap();
                let answer: i64 = file.query_row(sql, [], |row| row.get(0)).unwrap();
                answer.try_into().unwrap()
            }
        }
    }

    /// The rows that a query on a server returns.
    pub(crate) fn query(&self, sql: &str) -> Vec<Vec<String>> {
        match &self.place {
            TestDatabase::Server(database) => database.query(sql),
            TestDatabase::Sqlite(_) => panic!("a file answers numbers"),
        }
    }

    /// The rows in each table, schema by schema.
    fn rows(&self) -> Vec<Vec<u64>> {
        let of = |s, t| self.number(&format!("SELECT COUNT(*) FROM {}", self.table(s, t)));
        let schema = |s| (1..=10).map(|t| of(s, t)).collect();
        (1..=12).map(schema).collect()
    }

    pub(crate) fn refused(&self, command: &str, options: &str, why: &str) {
        let output = self.dyno(command, options);
        assert!(!output.status.success(), "{options}: {output:?}");
        assert!(output.stderr.contains(why), "{options}: {output:?}");
    }
}

pub(crate) fn all() -> Vec<Tables> {
    everywhere().into_iter().map(Tables::at).collect()
}

#[test]
fn tables_are_created_touched_and_dropped_on_every_server() {
    for tables in all() {
        let name = tables.place.name();
        let prepared = tables.dyno("prepare", "-c 3");
        assert!(
            prepared.success().stderr.contains("120 of 120 tables"),
            "{name}"
        );
        tables.dyno("check", "").success();
        let result = tables.run("-c 4 --events 1200");
        assert_eq!(
            done(&result, "first_touch") + done(&result, "touch_again"),
            1200
        );
        let rows = tables.rows().concat();
        assert_eq!(rows.iter().sum::<u64>(), 1200, "{name}");
        let touched = rows.iter().filter(|&&count| count > 0).count();
        assert_eq!(done(&result, "first_touch"), touched as u64, "{name}");
        let checked = tables.dyno("check", "").success();
        assert!(
            checked.stdout.contains("rows: 1200, expected 1200"),
            "{name}"
        );
        // All kinds of work at once.
        let alter = match tables.place {
            TestDatabase::Server(_) => ",alter@1",
            TestDatabase::Sqlite(_) => "",
        };
        let mix = format!("--mix insert@5,select@3,count@1,churn@1{alter} -c 4 --events 400");
        let result = tables.run(&mix);
        for operation in ["create_table", "drop_table", "count_tables"] {
            assert!(done(&result, operation) > 0, "{name}: {operation}");
        }
        tables.dyno("check", "").success();
        let result = tables.run("--phase drop --keep 4 -c 3");
        assert_eq!(done(&result, "drop_schema"), 8, "{name}");
        let checked = tables.dyno("check", "").success();
        assert!(checked.stdout.contains("tables: 40, expected 40"), "{name}");
        tables.refused(
            "run",
            &format!("-t 1s {QUIET}"),
            "only 4 of 12 schemas are left",
        );
        tables
            .place
            .dyno("cleanup many_tables --schemas 0")
            .success();
        tables.place.dyno("cleanup many_tables").success();
        let left = tables.dyno("check", "");
        assert!(
            left.stderr.contains("prepare many_tables"),
            "{name}: {left:?}"
        );
    }
}

#[test]
fn creating_and_dropping_are_measured_as_runs() {
    for tables in all() {
        let name = tables.place.name();
        let result = tables.run("--phase create --order shuffled -c 3");
        assert_eq!(done(&result, "create_table"), 120, "{name}");
        let has_schemas = matches!(tables.place, TestDatabase::Server(_));
        if has_schemas {
            assert_eq!(done(&result, "create_schema"), 12, "{name}");
        }
        tables.dyno("check", "").success();
        let drop = "--phase drop --keep 3 --touchers 2 --touch_rate 400 -c 2";
        let result = tables.run(drop);
        assert_eq!(done(&result, "drop_schema"), 9, "{name}");
        // The other tables are touched meanwhile, which does not count towards the rate.
        assert_eq!(result["totals"]["events"], 9, "{name}");
        tables.dyno("check", "").success();
        tables.place.dyno("cleanup many_tables").success();
        // All phases, one after another.
        let results = tables.runs("--phase all --keep 2 --touchers 1 -c 2 -t 1s");
        let operations = ["create_table", "touch_again", "drop_schema"];
        for (result, operation) in results.iter().zip(operations) {
            assert!(done(result, operation) > 0, "{name}: {operation}");
        }
        assert_eq!(results.len(), 3, "{name}");
        let checked = tables.dyno("check", "").success();
        assert!(checked.stdout.contains("tables: 20, expected 20"), "{name}");
    }
}

#[test]
fn the_table_cache_misses_as_calculated() {
    for (kind, cache) in [
        (Kind::Mariadb, "--table-open-cache=100"),
        (Kind::Mysql, "--table-open-cache=100"),
    ] {
        let more = match kind {
            // If not all definitions fit into their cache, the dictionary's tables take space in
            // the table cache.
            Kind::Mysql => vec![
                cache,
                "--table-open-cache-instances=1",
                "--table-definition-cache=2000",
            ],
            // By default it adds instances when sessions collide, and fills them unevenly.
            Kind::Mariadb | Kind::Postgres => vec![cache, "--table-open-cache-instances=1"],
        };
        let private = start_private_server_with(kind, &more);
        let place = TestDatabase::Server(Database::on(&private.server()));
        let tables = Tables::at(place);
        let sizes = "--schemas 20 --tables 25";
        tables.dyno("prepare", &format!("{sizes} -c 4")).success();
        for (active, law) in [
            (
                "--active_schemas 10 --active_tables 5",
                "1 - 100 / 50 says 0.000",
            ),
            ("", "1 - 100 / 500 says 0.800"),
        ] {
            let line = format!("{sizes} {active} -c 4 -t 8s {QUIET} --ledger off");
            let output = tables.dyno("run", &line).success();
            let printed = &output.stderr;
            let found = printed.lines().find(|line| line.contains("table cache"));
            let found = found.unwrap_or_else(|| panic!("{kind}: {printed}"));
            assert!(
                found.contains(law) && found.ends_with("they agree"),
                "{kind}: {found}"
            );
        }
    }
}

#[test]
fn each_condition_detects_its_corruption() {
    for tables in all() {
        tables.dyno("prepare", "").success();
        tables.run("-c 2 --events 300");
        let (one, other) = (tables.table(3, 4), tables.table(3, 11));
        let has_schemas = matches!(tables.place, TestDatabase::Server(_));
        let place = &tables.place;
        let fails =
            |conditions: &[&str]| fails(place, tables.line("", "").trim_start(), conditions);
        place.execute(&format!("INSERT INTO {one} (id, k) VALUES (1000000, 1)"));
        fails(&["rows"]);
        place.execute(&format!("DELETE FROM {one} WHERE id = 1000000"));
        tables.dyno("check", "").success();
        place.execute(&format!("CREATE TABLE {other} (id INT PRIMARY KEY)"));
        fails(&["tables"]);
        place.execute(&format!("DROP TABLE {other}"));
        tables.dyno("check", "").success();
        let index = match place.name().as_str() {
            "SQLite" => format!("DROP INDEX {}3_k_4", tables.prefix),
            "PostgreSQL" => format!("DROP INDEX {}3.k_4", tables.prefix),
            _ => format!("DROP INDEX k_1 ON {one}"),
        };
        place.execute(&index);
        fails(&["indexes on k"]);
        place.execute(&format!("DROP TABLE {one}"));
        let with_files = |conditions: &[&'static str]| -> Vec<&'static str> {
            let files = (place.family() == "mysql").then_some("tablespace files");
            conditions.iter().copied().chain(files).collect()
        };
        fails(&with_files(&["tables", "indexes on k"]));
        if has_schemas {
            let cascade = match place.name().as_str() {
                "PostgreSQL" => "CASCADE",
                _ => "",
            };
            place.execute(&format!("DROP SCHEMA {}5 {cascade}", tables.prefix));
            fails(&with_files(&["schemas", "tables", "indexes on k"]));
        }
    }
}

#[test]
fn the_ledger_reports_another_writer() {
    for tables in [Tables::at(on(Kind::Mysql)), Tables::at(on(Kind::Postgres))] {
        tables.dyno("prepare", "").success();
        let line = tables.line("run", &format!("-c 2 -t 4s --gate --json {LOUD}"));
        let mut running = tables.place.start(&line);
        running.measuring();
        let one = tables.table(3, 4);
        tables
            .place
            .execute(&format!("INSERT INTO {one} (id, k) VALUES (1000000, 1)"));
        let output = running.finish(Duration::from_secs(60));
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let result: Value = serde_json::from_str(&output.stdout).unwrap();
        assert_eq!(outcome(&result, "consistency"), "refuse");
    }
}

#[test]
fn the_next_run_repairs_the_leftovers_of_a_killed_client() {
    for tables in all() {
        tables.dyno("prepare", "").success();
        let line = tables.line("run", &format!("--mix insert@1,churn@1 -c 6 -t 60s {LOUD}"));
        let mut running = tables.place.start(&line);
        running.measuring();
        drop(running);
        tables.place.alone_again();
        // How many rows there are is unknown until somebody counts them.
        let checked = tables.dyno("check", "");
        assert!(!checked.stdout.contains("FAILED  rows"), "{checked:?}");
        tables.run("--mix insert@1,churn@1 -c 6 --events 60");
        let checked = tables.dyno("check", "").success();
        assert!(checked.stdout.contains("ok      rows"), "{checked:?}");
    }
}

#[test]
fn tables_are_chosen_as_requested() {
    let seeded = |options: &str, seed: u32| {
        let tables = Tables::at(sqlite());
        tables.dyno("prepare", "").success();
        tables.run(&format!("{options} --events 4000 --seed {seed}"));
        tables.rows()
    };
    let rows_of = |options: &str| seeded(options, 5);
    let total = |rows: &[Vec<u64>]| rows.concat().iter().sum::<u64>() as f64;
    // 4,000 draws of 120 tables. Five standard deviations are 29.
    let uniform = rows_of("");
    assert!(
        uniform.concat().iter().all(|&n| (5..63).contains(&n)),
        "{uniform:?}"
    );
    // Three of twelve schemas get 80 %. Five standard deviations are 127.
    let skewed = rows_of("--skew 80_20");
    assert!((total(&skewed[..3]) - 3200.0).abs() < 127.0, "{skewed:?}");
    // The table that is touched most gets 1 / H(120) = 1 / 5.37 of all touches, and the next one
    // half of that.
    let mut zipf = rows_of("--skew zipf").concat();
    zipf.sort_unstable_by(|a, b| b.cmp(a));
    assert!((zipf[0] as f64 - 745.0).abs() < 123.0, "{zipf:?}");
    assert!((zipf[1] as f64 - 372.0).abs() < 92.0, "{zipf:?}");
    let active = rows_of("--active_schemas 3 --active_tables 2");
    for (s, schema) in active.iter().enumerate() {
        for (t, &rows) in schema.iter().enumerate() {
            assert_eq!(rows > 0, s < 3 && t < 2, "{active:?}");
        }
    }
    assert!(rows_of("") == uniform && seeded("", 6) != uniform);
}

#[test]
fn reports_touches_for_each_table() {
    let tables = Tables::at(sqlite());
    tables.dyno("prepare", "").success();
    for (events, cold) in [(240, true), (600, false)] {
        let result = tables.run(&format!("--events {events}"));
        let figure = |name: &str| {
            let mut figures = result["figures"].as_array().unwrap().iter();
            let found = figures.find(|figure| figure["name"] == name).unwrap();
            (
                found["value"].as_f64().unwrap(),
                found["unit"].as_str().unwrap(),
            )
        };
        let each = f64::from(events / 120);
        assert_eq!(figure("touches"), (each, "for each of 120 active tables"));
        let (touched, of) = figure("tables touched");
        // 240 uniform draws touch 104 tables, plus or minus 3.
        assert!(
            (88.0..=120.0).contains(&touched) && of == "of 120",
            "{touched} {of}"
        );
        let warnings = result["warnings"].to_string();
        assert_eq!(warnings.contains("The tables are cold"), cold, "{warnings}");
    }
}

#[test]
fn tablespaces_are_where_the_server_has_them() {
    let tables = Tables::at(on(Kind::Mysql));
    for (spaces, expected) in [("schema", 12), ("5", 3)] {
        let options = format!("--tablespaces {spaces} -c 4");
        tables.dyno("prepare", &options).success();
        let spaces = format!(
            "SELECT COUNT(*) FROM information_schema.innodb_tablespaces WHERE space_type = \
             'General' AND name LIKE '{}space%'",
            tables.prefix
        );
        assert_eq!(tables.number(&spaces), expected);
        tables.run("-c 2 --events 100");
        tables.dyno("check", "").success();
        let result = tables.run("--phase drop --keep 1 -c 2");
        assert_eq!(done(&result, "drop_schema"), 11);
        tables.dyno("check", "").success();
        tables.place.dyno("cleanup many_tables").success();
        assert_eq!(tables.number(&spaces), 0);
    }
    for place in [on(Kind::Mariadb), on(Kind::Postgres), sqlite()] {
        let tables = Tables::at(place);
        let why = "only MySQL has general tablespaces";
        tables.refused("prepare", "--tablespaces schema", why);
        // Nothing is left behind.
        tables.dyno("prepare", "").success();
    }
}

#[test]
fn ids_on_postgresql_need_no_sequences() {
    let tables = Tables::at(on(Kind::Postgres));
    let sequences = format!(
        "SELECT COUNT(*) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE \
         relkind = 'S' AND nspname LIKE '{}%'",
        tables.prefix
    );
    for (ids, expected) in [("identity", 120), ("int", 0)] {
        tables.dyno("prepare", &format!("--pg_id {ids}")).success();
        assert_eq!(tables.number(&sequences), expected);
        tables.run(&format!("--pg_id {ids} --events 300"));
        tables.place.dyno("cleanup many_tables").success();
    }
}

#[test]
fn existing_schemas_are_kept() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let tables = Tables::at(on(kind));
        let schema = format!("{}7", tables.prefix);
        tables.place.execute(&format!("CREATE SCHEMA {schema}"));
        tables.refused("prepare", "", "that are not this workload's");
        tables.place.dyno("cleanup many_tables").success();
        let there = format!(
            "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = '{schema}'"
        );
        assert_eq!(tables.number(&there), 1);
        tables.place.execute(&format!("DROP SCHEMA {schema}"));
        tables.dyno("prepare", "").success();
    }
}

#[test]
fn reports_bad_input() {
    let tables = Tables::at(sqlite());
    let refused = |options: &str, why: &str| tables.refused("prepare", options, why);
    refused("--schemas 0", "must be a whole number from 1");
    refused("--tables 0", "must be a whole number from 1");
    refused(
        "--schemas 1000000 --tables 1000",
        "must be at most 10000000",
    );
    refused("--active_schemas 13", "must be a whole number from 0 to 12");
    refused("--skew pareto", "must be uniform, 80_20 or zipf");
    refused("--phase make", "must be touch, ladder, create, drop or all");
    refused("--schema_prefix a-b", "--schema_prefix must be of a to z");
    refused("--tablespaces few", "must be none, schema or a number");
    refused("--touchers 1", "--touchers need schemas to --keep");
    refused("--touch_rate 1", "--touch_rate needs --touchers");
    let run = format!("-t 1s {QUIET}");
    tables.refused("run", &run, "prepare many_tables");
    tables.dyno("prepare", "").success();
    tables.refused("prepare", "", "already exists");
    tables.refused(
        "run",
        &format!("{run} --schemas 11"),
        "were prepared with --schemas 12",
    );
    tables.refused("check", "--tables 11", "were prepared with --schemas 12");
    tables.refused(
        "run",
        &format!("{run} --mix sort@1"),
        "must be insert, select, count, alter or churn",
    );
    tables.refused(
        "run",
        &format!("{run} --mix insert@0"),
        "leaves nothing to do",
    );
    tables.refused(
        "run",
        &format!("{run} --mix alter@1"),
        "SQLite cannot alter",
    );
    let some = format!("{run} --phase drop --events 5");
    tables.refused("run", &some, "they have one event per table");
    let beside = format!("{run} --keep 1 --touchers 1");
    tables.refused("run", &beside, "--touchers is for --phase drop");
    tables.dyno("check", "").success();
}
