//! Guards against gradual slowdown: counts the user-space instructions of a point select, which
//! other processes do not affect, with the built-in script and the recorder on.

#![cfg(feature = "servers")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Two lengths of run, so that one-time costs cancel out.
const EVENTS: [u64; 2] = [24_000, 72_000];
const SESSIONS: u64 = 16;

/// The last accepted instructions per point select. Lower these after an improvement.
const RECORDED_MYSQL: f64 = 2_010.0;
const RECORDED_POSTGRES: f64 = 2_050.0;
/// The same for `dyno run`, without observers. Under valgrind a run is so slow that their work once
/// a second would weigh as much as a few thousand events.
const RECORDED_RUN_MYSQL: f64 = 2_130.0;
const RECORDED_RUN_POSTGRES: f64 = 2_130.0;
/// The test fails if the cost has grown by this factor.
const CREEP: f64 = 1.10;
/// The limit, as a share of what sysbench and pgbench take.
const BAR: f64 = 0.40;

/// The socket name that PostgreSQL's clients expect. MySQL's clients get it as an option.
const SOCKET: &str = ".s.PGSQL.5432";

/// A null server that is killed at the end of the test.
struct NullServer {
    child: Child,
    folder: tempfile::TempDir,
}

impl NullServer {
    fn start(protocol: &str) -> Self {
        let folder = tempfile::tempdir().expect("a folder for the socket");
        let program = beside_dyno("null-server");
        let child = Command::new(&program)
            .args(["--protocol", protocol, "--socket"])
            .arg(folder.path().join(SOCKET))
            .stdout(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("cannot start {}: {error}", program.display()));
        let server = Self { child, folder };
        for _ in 0..500 {
            if server.socket().exists() {
                return server;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        panic!("the null server makes no socket");
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join(SOCKET)
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        // If it has already ended, the test has noticed by now.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn variable(name: &str) -> PathBuf {
    match std::env::var_os(name) {
        Some(value) => value.into(),
        None => panic!("{name} is not set: run the tests by `cargo xtask test`"),
    }
}

/// A program from the same build as the binary under test.
fn beside_dyno(name: &str) -> PathBuf {
    variable("DYNO_BIN").with_file_name(name)
}

/// Instructions per event of a command; `arguments` turns the number of events into arguments.
fn per_event(program: &Path, arguments: impl Fn(u64) -> Vec<String>) -> f64 {
    let [less, more] = EVENTS.map(|events| {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .arg(program)
            .args(arguments(events))
            .env("DYNO_RESULTS", "none")
            .output()
            .expect("valgrind runs");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(
            output.status.success(),
            "{} failed:\n{text}",
            program.display()
        );
        let (_, sum) = text
            .rsplit_once("Collected :")
            .expect("callgrind tells a sum");
        let sum = sum.split_whitespace().next().unwrap_or_default();
        sum.parse::<f64>().expect("the sum is a number")
    });
    (more - less) / (EVENTS[1] - EVENTS[0]) as f64
}

fn sysbench(place: &[String], events: u64) -> Vec<String> {
    let mut arguments = vec!["oltp_point_select".to_owned()];
    arguments.extend_from_slice(place);
    arguments.extend([
        format!("--threads={SESSIONS}"),
        format!("--events={events}"),
        "--time=0".to_owned(),
        "--rand-type=uniform".to_owned(),
        "run".to_owned(),
    ]);
    arguments
}

fn dyno(place: &[String], events: u64) -> Vec<String> {
    let mut arguments = vec!["sysbench".to_owned(), "--workers=1".to_owned()];
    arguments.extend(sysbench(place, events));
    arguments
}

/// The same load with `dyno run`. `--force` is needed because null servers have no rows.
fn dyno_run(target: &str, events: u64) -> Vec<String> {
    let line = format!(
        "run oltp_point_select --target {target} -c {SESSIONS} --workers 1 --events {events} \
         -t 0 --warmup 0 --rand-type uniform --observe off --calibrate never \
         --force"
    );
    line.split(' ').map(str::to_owned).collect()
}

fn judge(what: &str, dyno: f64, recorded: f64, peers: &[(&str, f64)]) {
    for (peer, count) in peers {
        let ratio = dyno / count;
        println!("{what}: {dyno:.0} instructions, {peer} {count:.0}, ratio {ratio:.3}");
        assert!(
            ratio <= BAR,
            "{what}: {dyno:.0} is {ratio:.3} of {peer}'s {count:.0}"
        );
    }
    assert!(
        dyno <= recorded * CREEP,
        "{what}: a point select takes {dyno:.0} instructions, {recorded:.0} were recorded"
    );
}

#[test]
fn a_point_select_on_mysqls_protocol() {
    let server = NullServer::start("mysql");
    let place = vec![
        format!("--mysql-socket={}", server.socket().display()),
        "--mysql-user=root".to_owned(),
    ];
    let own = per_event(&variable("DYNO_BIN"), |events| dyno(&place, events));
    let peer = per_event(&variable("DYNO_TEST_SYSBENCH"), |events| {
        sysbench(&place, events)
    });
    judge("MySQL", own, RECORDED_MYSQL, &[("sysbench", peer)]);
    let target = format!("mysql://root@/sbtest?socket={}", server.socket().display());
    let own = per_event(&variable("DYNO_BIN"), |events| dyno_run(&target, events));
    let peers = [("sysbench", peer)];
    judge("MySQL, dyno run", own, RECORDED_RUN_MYSQL, &peers);
}

#[test]
fn a_point_select_on_postgres_protocol() {
    let server = NullServer::start("postgres");
    let host = server.folder.path().display().to_string();
    let place = vec![
        "--db-driver=pgsql".to_owned(),
        format!("--pgsql-host={host}"),
        "--pgsql-user=postgres".to_owned(),
    ];
    let own = per_event(&variable("DYNO_BIN"), |events| dyno(&place, events));
    let peer = per_event(&variable("DYNO_TEST_SYSBENCH"), |events| {
        sysbench(&place, events)
    });
    let script = server.folder.path().join("select.sql");
    std::fs::write(
        &script,
        "\\set id random(1, 10000)\nSELECT c FROM sbtest1 WHERE id = :id;\n",
    )
    .expect("pgbench's script is written");
    let pgbench = per_event(&variable("DYNO_TEST_PG_BIN").join("pgbench"), |events| {
        let words = format!(
            "-n -M prepared -j 1 -c {SESSIONS} -t {} -h {host} -U postgres -f {} db",
            events / SESSIONS,
            script.display()
        );
        words.split(' ').map(str::to_owned).collect()
    });
    let peers = [("sysbench", peer), ("pgbench", pgbench)];
    judge("PostgreSQL", own, RECORDED_POSTGRES, &peers);
    let target = format!("postgresql://postgres@/sbtest?host={host}");
    let own = per_event(&variable("DYNO_BIN"), |events| dyno_run(&target, events));
    judge("PostgreSQL, dyno run", own, RECORDED_RUN_POSTGRES, &peers);
}
