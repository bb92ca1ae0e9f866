//! Faults that checks find in counters, keys, settings, tables and clocks. Other load on the host
//! does not affect these checks, so the tests run in parallel. Most tests use one server for all of
//! their runs.

use std::path::PathBuf;
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_tests::command::run;
use dyno_tests::private::{at_once, start_private_server_with};
use dyno_tests::{Kind, PrivateServer, Server};

use crate::common::{
    Judged, SHAPES, dyno, in_parallel, judge, judged, judged_while, private, shapes, with_database,
};

const LOAD: &str = "-c 4 -t 6s --warmup 0";
/// With pauses, because a workload without them would take CPU from the other tests.
const RARE: &str = "-c 2 --rate 300/s --warmup 0";

/// A private server with the table that the script of shapes uses.
struct ShapesServer {
    private: PrivateServer,
    url: String,
    /// The arguments with which each statement of the script reads a row.
    reads: String,
}

impl ShapesServer {
    fn new(kind: Kind) -> Self {
        let (private, url) = private(kind);
        let reads = shapes(&url);
        Self {
            private,
            url,
            reads,
        }
    }

    fn server(&self) -> Server {
        self.private.server()
    }

    fn run(&self, options: &str) -> Judged {
        judged(&format!("{} {options}", self.reads))
    }

    /// The same, with an action once the observer has read the settings and some intervals have
    /// passed.
    fn run_while(&self, options: &str, act: impl FnOnce()) -> Judged {
        let line = format!("{} {options}", self.reads);
        judged_while(&line, None, |running| {
            running.measuring();
            thread::sleep(Duration::from_millis(2500));
            act();
        })
    }

    /// Executes each statement separately, because some are not allowed in a transaction.
    fn execute(&self, statements: &[&str]) {
        let server = self.server();
        for sql in statements {
            server.execute(Some("verdict"), sql);
        }
    }
}

#[test]
fn reports_each_fault_on_mariadb() {
    let _turn = in_parallel();
    let place = ShapesServer::new(Kind::Mariadb);
    reports_useless_statements(&place);
    let [on, off] = ["ON", "OFF"].map(|value| format!("SET GLOBAL general_log = {value}"));
    reports_logs_of_every_statement(&place, &[&on], &[&off], "general_log = on");
    reports_statements_that_wait_for_the_same_row(&place);
    reports_a_change_of_io_capacity(&place);
    compares_settings_with_expectations(&place);
    a_value_that_an_observer_may_not_read_does_not_pass(&place);
    let alter = "ALTER TABLE shape ENGINE = MEMORY";
    reports_tables_stored_differently(&place, alter, "from innodb to memory");
}

#[test]
fn reports_each_fault_on_mysql() {
    let _turn = in_parallel();
    let place = ShapesServer::new(Kind::Mysql);
    reports_useless_statements(&place);
    reports_logs_of_every_statement(
        &place,
        &[
            "SET GLOBAL slow_query_log = ON",
            "SET GLOBAL long_query_time = 0",
        ],
        &[
            "SET GLOBAL slow_query_log = OFF",
            "SET GLOBAL long_query_time = 10",
        ],
        "slow_query_log = on with long_query_time = 0",
    );
    reports_statements_that_wait_for_the_same_row(&place);
    reports_a_change_of_io_capacity(&place);
}

#[test]
fn reports_each_fault_on_postgresql() {
    let _turn = in_parallel();
    let place = ShapesServer::new(Kind::Postgres);
    reports_useless_statements(&place);
    let reload = "SELECT pg_reload_conf()";
    reports_logs_of_every_statement(
        &place,
        &["ALTER SYSTEM SET log_statement = 'all'", reload],
        &["ALTER SYSTEM RESET log_statement", reload],
        "log_statement = all",
    );
    reports_statements_that_wait_for_the_same_row(&place);
    reports_a_setting_that_moves_and_moves_back(
        &place,
        &["ALTER SYSTEM SET checkpoint_timeout = '7min'", reload],
        &["ALTER SYSTEM RESET checkpoint_timeout", reload],
        "checkpoint_timeout went from 5min to 7min at",
    );
    let alter = "ALTER TABLE shape SET UNLOGGED";
    reports_tables_stored_differently(&place, alter, "from permanent to unlogged");
}

/// Runs statements that touch no table, and statements that always read the same row. The healthy
/// run shows, for all tests in this file, that no check reports anything without a fault.
fn reports_useless_statements(place: &ShapesServer) {
    let healthy = place.run(LOAD);
    for check in ["work-done", "moved-settings", "statement-logs"] {
        healthy.passed(check);
    }
    healthy.nothing_but_load_and(&[]);
    let none = judged(&format!("{SHAPES} --target {} {LOAD}", place.url));
    none.caught("work-done", "doubt", "% of the statements touch no table");
    none.nothing_but_load_and(&["work-done"]);
    let same = place.run(&format!("{LOAD} --same-key=1"));
    same.caught("key-distribution", "doubt", "only 1 differed");
    same.nothing_but_load_and(&["key-distribution"]);
}

fn reports_statements_that_wait_for_the_same_row(place: &ShapesServer) {
    let options = "--reads=0 --writes=1 --same-key=1 --pause=0";
    let locked = place.run(&format!("{LOAD} {options}"));
    locked.caught("key-distribution", "doubt", "only 1 differed");
}

fn reports_logs_of_every_statement(
    place: &ShapesServer,
    on: &[&str],
    off: &[&str],
    expected: &str,
) {
    place.execute(on);
    let logged = place.run("-c 2 -t 3s --warmup 0");
    place.execute(off);
    logged.caught("statement-logs", "doubt", expected);
    logged.nothing_but_load_and(&["statement-logs"]);
}

fn reports_a_change_of_io_capacity(place: &ShapesServer) {
    let name = "innodb_io_capacity";
    let before = of(&place.server(), name);
    let set = |value: &str| format!("SET GLOBAL {name} = {value}");
    let expected = format!("{name} went from {before} to 333 at");
    let (there, back) = (set("333"), set(&before));
    reports_a_setting_that_moves_and_moves_back(place, &[&there], &[&back], &expected);
}

fn reports_a_setting_that_moves_and_moves_back(
    place: &ShapesServer,
    there: &[&str],
    back: &[&str],
    expected: &str,
) {
    let moved = place.run_while("-c 2 -t 9s --warmup 0", || {
        place.execute(there);
        // Once a session has changed a setting, the observer reads the settings every five seconds.
        thread::sleep(Duration::from_secs(4));
        place.execute(back);
    });
    moved.caught("moved-settings", "doubt", expected);
}

/// The durability of the tables, as found before the load, no longer holds.
fn reports_tables_stored_differently(place: &ShapesServer, alter: &str, expected: &str) {
    let altered = place.run_while("-c 2 -t 6s --warmup 0", || place.execute(&[alter]));
    let expected = format!("storage of table shape went {expected}");
    altered.caught("moved-settings", "doubt", &expected);
}

fn compares_settings_with_expectations(place: &ShapesServer) {
    let line = format!("{SHAPES} --target {} -c 2 -t 1s --warmup 0", place.url);
    let name = "innodb_flush_log_at_trx_commit";
    let kept = judged(&format!(
        "{line} --expect {name}=1 --expect max_connections={}",
        of(&place.server(), "max_connections")
    ));
    kept.passed("requested-settings");
    kept.passed("durability");
    let other = judged(&format!(
        "{line} --force --expect {name}=2 --expect no_such_setting=on"
    ));
    other.caught("requested-settings", "refuse", "is 1 instead of 2");
    other.caught(
        "requested-settings",
        "refuse",
        "no_such_setting does not exist",
    );
}

fn of(server: &Server, setting: &str) -> String {
    server.query_one(None, &format!("SELECT @@GLOBAL.{setting}"))
}

fn a_value_that_an_observer_may_not_read_does_not_pass(place: &ShapesServer) {
    place.execute(&[
        "CREATE USER plain@'127.0.0.1'",
        "GRANT ALL ON verdict.* TO plain@'127.0.0.1'",
    ]);
    let plain = place.url.replace("root@", "plain@");
    let run = judged(&format!("{SHAPES} --target {plain} -c 2 -t 4s --warmup 0"));
    let gaps = run.result["not_observed"].as_array().unwrap();
    let gap = gaps.iter().find(|gap| gap["what"] == "db.innodb");
    let why = gap.and_then(|gap| gap["why"].as_str()).unwrap_or_default();
    assert!(why.contains("PROCESS"), "{gaps:?}");
    run.passed("cache");
}

#[test]
fn reports_a_query_cache_that_answers() {
    let _turn = in_parallel();
    // A server that starts with the cache off cannot turn it on later.
    let arguments = ["--query-cache-type=ON", "--query-cache-size=16M"];
    let private = start_private_server_with(Kind::Mariadb, &arguments);
    let url = with_database(&private);
    let line = format!("{} {LOAD}", shapes(&url));
    let cached = judged(&line);
    cached.caught("query-cache", "doubt", "query_cache_type = on");
    cached.nothing_but_load_and(&["query-cache"]);
    let off = "SET GLOBAL query_cache_type = OFF";
    private.server().execute(None, off);
    judged(&line).passed("query-cache");
}

#[test]
fn reports_data_that_does_not_fit_in_memory() {
    let _turn = in_parallel();
    let servers = [
        (Kind::Mariadb, vec!["--innodb-buffer-pool-size=6M"]),
        (Kind::Postgres, vec!["-c", "shared_buffers=1MB"]),
    ];
    at_once(servers, |(kind, small)| {
        let private = start_private_server_with(kind, &small);
        // About 25 MB, of which the caches hold a fraction.
        let target = format!("--table-size 100000 --target {}", with_database(&private));
        dyno(&format!("prepare oltp_point_select {target} -c 1"));
        let line = format!("oltp_point_select {target} {RARE} -t 3s --claim");
        let claimed = |claim: &str| judged(&format!("{line} {claim}"));
        claimed("in-memory").caught("cache", "doubt", "claimed to be in memory");
        claimed("on-disk").passed("cache");
    });
}

#[test]
fn reports_reads_of_missing_keys() {
    let _turn = in_parallel();
    let (private, url) = private(Kind::Postgres);
    let target = format!("--table-size 2000 --target {url}");
    dyno(&format!("prepare oltp_point_select {target}"));
    let line = format!("oltp_point_select {target} {RARE} -t 3s");
    judged(&line).passed("misses");
    let sql = "DELETE FROM sbtest1 WHERE id % 4 = 1";
    private.server().execute(Some("verdict"), sql);
    let gaps = judged(&format!("{line} --force"));
    gaps.caught("misses", "doubt", "found no row");
    gaps.nothing_but_load_and(&["misses", "row-counts"]);
}

#[test]
fn reports_tables_scanned_without_an_index() {
    let _turn = in_parallel();
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let (private, url) = private(kind);
        let target = format!("--table-size 5000 --target {url}");
        dyno(&format!("prepare oltp_point_select {target}"));
        let line = format!("oltp_point_select {target} {RARE} -t 6s");
        judged(&line).passed("statistics");
        let without_index = match kind {
            Kind::Postgres => &[
                "ALTER TABLE sbtest1 DROP CONSTRAINT sbtest1_pkey",
                "DROP INDEX k_1",
            ][..],
            Kind::Mariadb | Kind::Mysql => &[
                "ALTER TABLE sbtest1 MODIFY id INTEGER NOT NULL, DROP PRIMARY KEY, DROP INDEX k_1",
            ],
        };
        for sql in without_index {
            private.server().execute(Some("verdict"), sql);
        }
        let scans = judged(&line);
        scans.caught("statistics", "doubt", "without any index: sbtest1");
        scans.nothing_but_load_and(&["statistics"]);
    });
}

#[test]
fn reports_a_restart_of_the_server() {
    let _turn = in_parallel();
    at_once([Kind::Mariadb, Kind::Postgres], |kind| {
        let (mut private, url) = private(kind);
        // Long enough for a recovery on a busy machine.
        let line = format!("{} -c 4 -t 14s --warmup 0", shapes(&url));
        let restarted = judged_while(&line, None, |running| {
            running.measuring();
            // If the start time moves by less than three seconds, it counts as the same start.
            thread::sleep(Duration::from_millis(4500));
            private.kill().unwrap();
            private.start_again().unwrap();
        });
        restarted.caught("restarts", "refuse", "the server was restarted");
        assert_eq!(restarted.result["verdict"], "refused");
    });
}

/// A library that changes the wall clock of one process.
const STEPPER: &str = r"
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    static time_t first;
    struct timespec monotonic;
    int status = syscall(SYS_clock_gettime, clock, now);
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &monotonic);
    if (!first)
        first = monotonic.tv_sec;
    if (!status && clock == CLOCK_REALTIME && monotonic.tv_sec >= first + 3)
        now->tv_sec += 2;
    return status;
}
";

fn stepper(folder: &std::path::Path) -> PathBuf {
    let (source, library) = (folder.join("step.c"), folder.join("step.so"));
    std::fs::write(&source, STEPPER).unwrap();
    let mut compiler = Command::new("cc");
    compiler
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(&source);
    run(&mut compiler, Duration::from_secs(60)).success();
    library
}

#[test]
fn reports_a_step_of_the_clock() {
    let _turn = in_parallel();
    let folder = tempfile::tempdir().unwrap();
    let library = stepper(folder.path());
    // Without a target, a run uses a temporary SQLite database.
    let line = format!("{SHAPES} -c 1 -t 5s --warmup 0");
    let run = |preload: Option<&PathBuf>| -> Judged {
        let prepare = |command: &mut Command| {
            if let Some(library) = preload {
                command.env("LD_PRELOAD", library);
            }
        };
        judge(&line, None, prepare, |_| {})
    };
    run(None).passed("clock-steps");
    let stepped = run(Some(&library));
    stepped.caught("clock-steps", "doubt", "set by 2000 ms");
}
