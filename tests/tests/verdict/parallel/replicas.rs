//! Replicas: one that keeps up, one that falls behind, and one that stops.

use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_tests::command::run;
use dyno_tests::private::start_private_server_with;
use dyno_tests::{Kind, PrivateServer, Server, start_private_server};
use mysql::prelude::Queryable;

use crate::common::{SHAPES, dyno, in_parallel, judged_while, private};

/// Creates a replica of the source, which applies events with this delay, and waits until it runs.
fn follow(replica: &Server, source: &Server, delay_s: u32) {
    source.execute(
        None,
        "CREATE USER copies@'127.0.0.1' IDENTIFIED BY 'copies'",
    );
    source.execute(None, "GRANT REPLICATION SLAVE ON *.* TO copies@'127.0.0.1'");
    let port = source.port;
    let (change, start, status) = match replica.kind {
        Kind::Mariadb => (
            format!(
                "CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = {port}, MASTER_USER = \
                 'copies', MASTER_PASSWORD = 'copies', MASTER_USE_GTID = slave_pos, MASTER_DELAY = \
                 {delay_s}"
            ),
            "START SLAVE",
            "SHOW SLAVE STATUS",
        ),
        _ => (
            format!(
                "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '127.0.0.1', SOURCE_PORT = {port}, \
                 SOURCE_USER = 'copies', SOURCE_PASSWORD = 'copies', SOURCE_AUTO_POSITION = 1, \
                 GET_SOURCE_PUBLIC_KEY = 1, SOURCE_DELAY = {delay_s}"
            ),
            "START REPLICA",
            "SHOW REPLICA STATUS",
        ),
    };
    replica.execute(None, &change);
    replica.execute(None, start);
    for _ in 0..100 {
        let status = replica.query(None, status);
        if status[0][10] == "Yes" && status[0][11] == "Yes" {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!(
        "the replica does not run: {:?}",
        replica.query(None, status)
    );
}

fn arguments(kind: Kind, id: u32) -> Vec<String> {
    let mut all = vec![format!("--server-id={id}"), "--log-bin=binlog".to_owned()];
    if kind == Kind::Mysql {
        all.extend(["--gtid-mode=ON", "--enforce-gtid-consistency=ON"].map(str::to_owned));
    }
    all
}

/// A load that has just ended may cause a second of lag.
fn follows_closely(evidence: &serde_json::Value) -> bool {
    let text = evidence.as_str().unwrap();
    let lag = text.strip_prefix("The server is a replica of 127.0.0.1; the lag was ");
    lag.is_some_and(|lag| lag.starts_with("0 s at the beginning") || lag.starts_with("1 s at the"))
}

#[test]
fn reports_a_mariadb_replica_that_falls_behind() {
    let _turn = in_parallel();
    reports_a_replica_that_falls_behind(Kind::Mariadb);
}

#[test]
fn reports_a_mysql_replica_that_falls_behind() {
    let _turn = in_parallel();
    reports_a_replica_that_falls_behind(Kind::Mysql);
}

fn reports_a_replica_that_falls_behind(kind: Kind) {
    let start = |id: u32| {
        let arguments = arguments(kind, id);
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        start_private_server_with(kind, &arguments)
    };
    let (source, replica) = (start(1), start(2));
    let (source, replica) = (source.server(), replica.server());
    follow(&replica, &source, 0);
    source.execute(None, "CREATE DATABASE verdict");
    dyno(&format!(
        "prepare {SHAPES} --target {}",
        source.url("verdict")
    ));
    let counted = || replica.query(None, "SELECT COUNT(*) FROM verdict.shape");
    while replica.query(None, "SHOW TABLES FROM verdict").is_empty() || counted()[0][0] != "1000" {
        thread::sleep(Duration::from_millis(100));
    }
    let reads = format!(
        "{SHAPES} --target {} --reads=1 -c 2 -t 8s --warmup 0",
        replica.url("verdict")
    );
    let follows = judged_while(&reads, None, |_| {});
    follows.passed("replication-lag");
    let evidence = &follows.finding("replication-lag")["evidence"];
    assert!(follows_closely(evidence), "{evidence}");
    let of_source = judged_while(
        &format!(
            "{SHAPES} --target {} --reads=1 -c 2 -t 3s --warmup 0",
            source.url("verdict")
        ),
        None,
        |_| {},
    );
    let evidence = &of_source.finding("replication-lag")["evidence"];
    let role = "The server is a source of 1 replica";
    assert!(evidence.as_str().unwrap().starts_with(role), "{evidence}");

    // Lock the rows that the replica has to change.
    let mut holds = replica.mysql(Some("verdict"));
    for sql in ["BEGIN", "SELECT v FROM shape WHERE id = 5 FOR UPDATE"] {
        holds.query_drop(sql).unwrap();
    }
    let behind = judged_while(&reads, None, |running| {
        running.measuring();
        source.execute(Some("verdict"), "UPDATE shape SET v = v + 1 WHERE id = 5");
    });
    drop(holds);
    behind.caught(
        "replication-lag",
        "doubt",
        "replica of 127.0.0.1; the lag was 0 s",
    );

    let stop = match kind {
        Kind::Mariadb => "STOP SLAVE SQL_THREAD",
        _ => "STOP REPLICA SQL_THREAD",
    };
    replica.execute(None, stop);
    let stopped = judged_while(&reads, None, |_| {});
    stopped.caught("replication-lag", "doubt", "stopped receiving or applying");
}

/// Stops both servers, and makes the second a replica with a copy of the first one's data.
fn copy(source: &mut PrivateServer, replica: &mut PrivateServer) {
    let folder = |server: &PrivateServer| server.server().query_one(None, "SHOW data_directory");
    let (from, to) = (folder(source), folder(replica));
    let port = source.server().port;
    source.stop().unwrap();
    replica.stop().unwrap();
    let follow = format!("primary_conninfo = 'host=127.0.0.1 port={port} user=postgres'");
    let script = format!(
        "set -e; rm -r {to}; cp -a {from} {to}; touch {to}/standby.signal; chown \
         --reference={from} {to}/standby.signal; echo \"{follow}\" >> {to}/postgresql.auto.conf"
    );
    let mut shell = Command::new("sh");
    run(shell.args(["-c", &script]), Duration::from_secs(60)).success();
    source.start_again().unwrap();
    replica.start_again().unwrap();
}

#[test]
fn reports_a_standby_that_falls_behind() {
    let _turn = in_parallel();
    let (mut source, source_url) = private(Kind::Postgres);
    dyno(&format!("prepare {SHAPES} --target {source_url}"));
    let mut replica = start_private_server(Kind::Postgres);
    copy(&mut source, &mut replica);
    let (source, replica) = (source.server(), replica.server());
    let sql = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
    while source.query_one(None, sql) != "1" {
        thread::sleep(Duration::from_millis(100));
    }
    let line = |server: &Server, load: &str| {
        format!(
            "{SHAPES} --target {} --reads=1 -c 2 --warmup 0 {load}",
            server.url("verdict")
        )
    };
    let follows = judged_while(&line(&replica, "-t 5s"), None, |_| {});
    follows.passed("replication-lag");
    let evidence = &follows.finding("replication-lag")["evidence"];
    let expected = "The server is a replica; the lag was 0 s at the beginning";
    assert!(
        evidence.as_str().unwrap().starts_with(expected),
        "{evidence}"
    );
    let of_source = judged_while(&line(&source, "-t 5s --reads=0 --writes=1"), None, |_| {});
    of_source.passed("replication-lag");
    let evidence = &of_source.finding("replication-lag")["evidence"];
    let expected = "The server is a source of 1 replica; the lag was";
    assert!(
        evidence.as_str().unwrap().starts_with(expected),
        "{evidence}"
    );

    let behind = judged_while(&line(&replica, "-t 8s"), None, |running| {
        running.measuring();
        replica.query_one(None, "SELECT pg_wal_replay_pause()");
        source.execute(Some("verdict"), "UPDATE shape SET v = v + 1 WHERE id = 5");
    });
    behind.caught(
        "replication-lag",
        "doubt",
        "the server is a replica; the lag was 0 s",
    );
}
