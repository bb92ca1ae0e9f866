//! A schema per customer: creation and removal that are interrupted, a ladder of active tables, and
//! the table cache of a small server in two passes.

use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::{Database, Kind, Output, start_private_server_with};

use crate::common::{QUIET, TestDatabase, alone, done, on, sqlite};
use crate::many_tables::{Tables, all};

/// Too many schemas to create all of them during a test, with five tables each.
const MANY: &str = "--schemas 100000 --tables 5";

/// The two numbers of a line such as `12 of 100000 schemas are made, …`.
fn stopped(printed: &str, what: &str) -> (u64, u64) {
    let line = printed
        .lines()
        .find(|line| line.starts_with("stopped after"));
    let line = line.unwrap_or_else(|| panic!("not stopped: {printed}"));
    assert!(line.contains(what), "{line}");
    let words: Vec<&str> = line.split(' ').collect();
    (words[4].parse().unwrap(), words[6].parse().unwrap())
}

#[test]
fn tables_made_before_the_time_limit_can_be_used() {
    for tables in all() {
        let name = tables.place.name();
        let prepared = tables.dyno("prepare", &format!("{MANY} -c 3 --stop-after 1"));
        let (made, asked) = stopped(&prepared.success().stderr, "made");
        assert!((1..100_000).contains(&made) && asked == 100_000, "{name}");
        // The options may give the number that was requested, or the number that exists.
        let there = format!("--schemas {made} --tables 5");
        for options in [MANY, &there] {
            let checked = tables.dyno("check", options).success().stdout;
            let expected = made * 5;
            let line = format!("ok      tables: {expected}, expected {expected}");
            assert!(checked.contains(&line), "{name}: {checked}");
        }
        let result = tables.run(&format!("{MANY} -c 2 --events 200"));
        let touched = done(&result, "first_touch") + done(&result, "touch_again");
        assert_eq!(touched, 200, "{name}");
        // Two tables of the first schema, because there may be no other.
        let result = tables.run(&format!("{MANY} --active 2 -c 2 --events 100"));
        assert_eq!(done(&result, "first_touch"), 2, "{name}");
        let more = format!("{MANY} {QUIET} -t 1s --active_schemas 99999");
        let why = format!("only {made} of 100000 schemas were created");
        tables.refused("run", &more, &why);
        tables.place.dyno("cleanup many_tables").success();
        let left = tables.dyno("check", MANY);
        assert!(
            left.stderr.contains("prepare many_tables"),
            "{name}: {left:?}"
        );
    }
}

#[test]
fn dropping_stops_at_the_time_limit_and_continues_later() {
    for tables in all() {
        let name = tables.place.name();
        // As a phase, whose ledger is compared with the catalogue.
        let create = format!("run {MANY} --phase create -c 2 --stop-after 2 {QUIET}");
        let (command, options) = create.split_once(' ').unwrap();
        let printed = tables.dyno(command, options).success().stderr;
        let (made, _) = stopped(&printed, "made");
        let drop = format!("{MANY} --phase drop -c 2 --keep 1");
        // At least one schema per session is dropped; a fast server may finish.
        let result = tables.run(&format!("{drop} --stop-after 0.01"));
        let first = done(&result, "drop_schema");
        assert!(first >= 1 && first < made, "{name}: {first} of {made}");
        let checked = tables.dyno("check", MANY).success().stdout;
        let line = format!("ok      tables: {}", (made - first) * 5);
        assert!(checked.contains(&line), "{name}: {checked}");
        if first < made - 1 {
            let result = tables.run(&drop);
            assert_eq!(done(&result, "drop_schema"), made - first - 1, "{name}");
        }
        let none = "--keep 1: no more schemas are left to drop";
        tables.refused("run", &format!("{drop} {QUIET}"), none);
        let checked = tables.dyno("check", MANY).success().stdout;
        assert!(checked.contains("ok      tables: 5,"), "{name}: {checked}");
    }
}

/// Runs sysbench's command line, which has a time limit and no phases.
fn sysbench(tables: &Tables, line: &str) -> Output {
    let TestDatabase::Sqlite(folder) = &tables.place else {
        panic!("not a file");
    };
    let mut command = Command::new(dyno_path());
    command.args("sysbench many_tables --db-driver=sqlite --sqlite-db=data.db".split(' '));
    command.args(line.split(' ')).current_dir(folder.path());
    run(&mut command, Duration::from_secs(60))
}

#[test]
fn schemas_cut_by_a_time_limit_are_not_reported_as_whole() {
    let tables = Tables::at(sqlite());
    let refused = |line: &str, why: &str| {
        let output = sysbench(&tables, line);
        assert!(!output.status.success(), "{line}: {output:?}");
        // `dyno sysbench` prints everything to standard output.
        assert!(output.stdout.contains(why), "{line}: {output:?}");
        let stop = output.stdout.contains("stopped after");
        assert!(!stop, "{line}: {output:?}");
    };
    // Far more than a second can create, but less than a gigabyte, because a full disk is refused
    // first.
    let many = "--schemas=20000 --tables=5 --phase=create --threads=2 --time=1";
    let cut = "ended before all sessions had finished";
    refused(&format!("{many} run"), cut);
    tables.place.dyno("cleanup many_tables").success();
    refused(&format!("{many} --stop_after=600 run"), cut);
    tables.place.dyno("cleanup many_tables").success();
    let few = "--schemas=12 --tables=5 --threads=2 --time=0";
    for phase in ["ladder", "all"] {
        refused(
            &format!("{few} --phase={phase} run"),
            "which only dyno run makes",
        );
    }
    for phase in ["create", "drop --keep=3"] {
        sysbench(&tables, &format!("{few} --phase={phase} run")).success();
    }
    let none = "--keep 3: no more schemas are left to drop";
    refused(&format!("{few} --phase=drop --keep=3 run"), none);
}

#[test]
fn a_stop_needs_whole_schemas() {
    let tables = Tables::at(sqlite());
    let shuffled = "--order shuffled --stop-after 1";
    tables.refused("prepare", shuffled, "--stop-after needs --order schema");
    tables.refused(
        "prepare",
        "--stop-after -1",
        "--stop-after must be a number from 0",
    );
}

#[test]
fn a_ladder_touches_more_and_more_tables() {
    for tables in all() {
        let name = tables.place.name();
        tables.dyno("prepare", "-c 3").success();
        let results = tables.runs("--phase ladder --rungs 6,24,120 -c 2 --events 480");
        let names: Vec<&str> = results
            .iter()
            .map(|result| result["phase"]["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["active_6", "active_24", "active_120"], "{name}");
        for (result, active) in results.iter().zip([6, 24, 120]) {
            let first = done(result, "first_touch");
            assert_eq!(first + done(result, "touch_again"), 480, "{name}");
            // 480 draws miss one of 24 tables only once in 30 million runs.
            assert!(
                first <= active && (first == active || active == 120),
                "{name}: {first}"
            );
        }
        tables.dyno("check", "").success();
    }
}

#[test]
fn a_ladder_prints_a_table() {
    for kind in [Kind::Mariadb, Kind::Mysql, Kind::Postgres] {
        let tables = Tables::at(on(kind));
        tables.dyno("prepare", "-c 3").success();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("results.db");
        let line = format!(
            "-q --calibrate never --warmup 0 --phase ladder --rungs 12,120 -c 2 -t 3s --results {}",
            file.display()
        );
        let printed = tables.dyno("run", &line).success().stdout;
        let table = printed.split("Active tables").nth(1);
        let table = table.unwrap_or_else(|| panic!("{kind}: no table in {printed}"));
        for head in [
            "trx/s",
            "opens/trx",
            "% opening",
            "RSS GB",
            "fds",
            "touches",
        ] {
            assert!(table.contains(head), "{kind}: {head} in {table}");
        }
        // The table is printed afterwards as well, with all figures.
        let again = format!("phases --results {} --tsv -", file.display());
        let tsv = alone(&again).success().stdout;
        let part = tsv.split("# Active tables\n").nth(1).unwrap();
        let mut lines = part.lines();
        let heads: Vec<&str> = lines.next().unwrap().split('\t').collect();
        let rows: Vec<Vec<&str>> = lines.take(2).map(|row| row.split('\t').collect()).collect();
        let column = |name: &str| {
            let place = heads.iter().position(|head| *head == name).unwrap();
            let values = rows.iter().map(|row| row[place].replace(" missed", ""));
            values
                .map(|text| text.parse().ok())
                .collect::<Vec<Option<f64>>>()
        };
        assert_eq!(column("active tables"), [Some(12.0), Some(120.0)], "{kind}");
        for head in ["trx/s", "p99 ms", "RSS GB", "touches"] {
            assert!(
                column(head).iter().all(|n| n.is_some_and(|n| n > 0.0)),
                "{kind} {head}: {tsv}"
            );
        }
        let is_mysql = kind != Kind::Postgres;
        for head in ["opens/trx", "miss ratio", "% opening", "cache limit"] {
            let known = column(head).iter().all(Option::is_some);
            assert_eq!(known, is_mysql, "{kind} {head}: {tsv}");
        }
        let memory = column("session MiB").iter().all(Option::is_some);
        assert_eq!(memory, !is_mysql, "{kind}: {tsv}");
    }
}

#[test]
fn a_ladder_ends_at_the_existing_tables() {
    let tables = Tables::at(sqlite());
    let prepared = tables.dyno("prepare", &format!("{MANY} --stop-after 1"));
    let (made, _) = stopped(&prepared.success().stderr, "made");
    let ladder = format!("{MANY} --phase ladder --events 10");
    let results = tables.runs(&ladder);
    let last = results.last().unwrap();
    let name = last["phase"]["name"].as_str().unwrap();
    assert_eq!(name, format!("active_{}", made * 5));
    // Reported before the first step, although that step would be possible.
    let above = format!("{ladder} --rungs 2,500000 --calibrate never --results none");
    let output = tables.dyno("run", &above);
    assert!(!output.status.success(), "{output:?}");
    let why = format!("500000 active tables are more than the {} that", made * 5);
    assert!(output.stderr.contains(&why), "{output:?}");
    assert!(!output.stderr.contains("Phase 1"), "{output:?}");
}

#[test]
fn a_step_that_fails_leaves_the_table_of_those_before() {
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("steps.lua");
    let text = "sysbench.cmdline.options = {active = {'Tables', 0}}\n\
        function phases() return {{name = 'active_7', events = 5, options = {active = 7}},\n\
        {name = 'active_8', events = 5, options = {active = 8}}} end\n\
        function init() if sysbench.opt.active == 8 then error('no second step', 0) end end\n\
        function event() end";
    std::fs::write(&script, text).unwrap();
    let results = folder.path().join("results.db");
    let (script, results) = (script.display(), results.display());
    let quiet = "-q --calibrate never --observe off --warmup 0";
    let output = alone(&format!("run {script} {quiet} --results {results}"));
    assert!(!output.status.success(), "{output:?}");
    assert!(output.stderr.contains("no second step"), "{output:?}");
    let table = output.stdout.split("Active tables").nth(1);
    let table = table.unwrap_or_else(|| panic!("no table: {output:?}"));
    let row = |active: &str| table.lines().any(|line| line.contains(active));
    assert!(row(" 7 ") && !row(" 8 "), "{table}");
}

#[test]
fn refuses_impossible_ladders() {
    let tables = Tables::at(sqlite());
    tables.dyno("prepare", "").success();
    let refused = |options: &str, why: &str| {
        tables.refused("run", &format!("{options} -t 1s {QUIET}"), why);
    };
    refused("--rungs 12", "--rungs is for --phase ladder");
    refused(
        "--phase ladder --rungs 12,6",
        "increasing numbers of tables",
    );
    refused(
        "--phase ladder --rungs many",
        "increasing numbers of tables",
    );
    refused(
        "--phase ladder --rungs 121",
        "121 active tables cannot be spread evenly",
    );
    refused(
        "--phase ladder --active_tables 2",
        "takes its active tables from --rungs",
    );
    refused(
        "--phase ladder --touchers 1 --keep 2",
        "--touchers is for --phase drop",
    );
}

/// The acceptance test of the workload, on servers whose cache has room for 100 tables: the miss
/// ratio is 0 for 50 tables, and 1 - 100 / 500 for 500.
#[test]
fn misses_of_a_small_cache_follow_the_law_in_two_passes() {
    let cache = [
        "--table-open-cache=100",
        "--table-open-cache-instances=1",
        // Without this, MySQL reads its dictionary all the time, whose tables take space in the
        // cache.
        "--table-definition-cache=2000",
        // No test kills these servers, so they do not need to wait for the disk.
        "--innodb-flush-log-at-trx-commit=0",
        "--sync-binlog=0",
    ];
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let private = start_private_server_with(kind, &cache);
        let tables = Tables::at(TestDatabase::Server(Database::on(&private.server())));
        let sizes = "--schemas 20 --tables 25";
        tables.dyno("prepare", &format!("{sizes} -c 4")).success();
        let misses = || -> f64 {
            let status = "SHOW GLOBAL STATUS LIKE 'Table_open_cache_misses'";
            tables.query(status)[0][1].parse().unwrap()
        };
        for (active, law) in [("--active_schemas 10 --active_tables 5", 0.0), ("", 0.8)] {
            for pass in 1..=2 {
                let before = misses();
                // One session, because two sessions in the same table need two entries for it.
                let line = format!("{sizes} {active} -c 1 --events 6000 {QUIET} --ledger off");
                tables.dyno("run", &line).success();
                let found = (misses() - before) / 6000.0;
                // In the first pass, MySQL reads the definitions through the same cache.
                let tolerance = if pass == 1 { 0.1 } else { 0.05 };
                assert!(
                    (found - law).abs() <= tolerance,
                    "{kind} pass {pass}: {found}, not {law}"
                );
            }
        }
        let schema = |s: u32| -> u64 {
            let of = |t: u32| format!("(SELECT COUNT(*) FROM {})", tables.table(s, t));
            let all: Vec<String> = (1..=25).map(of).collect();
            tables.number(&format!("SELECT {}", all.join(" + ")))
        };
        assert_eq!((1..=20).map(schema).sum::<u64>(), 24_000, "{kind}");
        let checked = tables.dyno("check", sizes).success().stdout;
        for found in ["schemas: 20, expected 20", "tables: 500, expected 500"] {
            assert!(checked.contains(found), "{kind}: {checked}");
        }
    }
}
