//! Tests the helpers on real servers, because other tests rely on them.
#![cfg(feature = "servers")]

use std::panic::catch_unwind;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Running, run};
use dyno_tests::log::LoggingServer;
use dyno_tests::server::tls_authority;
use dyno_tests::{Database, Kind, Server, kinds, start_private_server, sysbench};
use mysql::prelude::Queryable;

#[test]
fn a_database_is_fresh_and_dropped() {
    for kind in kinds() {
        let database = Database::new(kind);
        let (server, name) = (database.server.clone(), database.name.clone());
        assert!(database.tables().is_empty());
        database.execute("CREATE TABLE t (a int, b text)");
        database.execute("INSERT INTO t VALUES (7, NULL)");
        assert_eq!(database.query("SELECT a, b FROM t"), [["7", "NULL"]]);
        assert_eq!(database.tables(), ["t"]);
        drop(database);
        let sql = match kind {
            Kind::Mariadb | Kind::Mysql => "SELECT schema_name FROM information_schema.schemata",
            Kind::Postgres => "SELECT datname FROM pg_database",
        };
        let names: Vec<String> = server.query(None, sql).into_iter().flatten().collect();
        assert!(
            names.len() > 2 && !names.contains(&name),
            "{kind}: {names:?}"
        );
    }
}

#[test]
fn a_hung_program_is_killed_with_its_children() {
    let hang = || {
        let mut shell = Command::new("sh");
        run(
            shell.args(["-c", "echo begun; sleep 600 & wait"]),
            Duration::from_millis(500),
        )
    };
    let message = catch_unwind(hang).expect_err("it hangs");
    let message = message.downcast_ref::<String>().expect("a message");
    // The pipe does not end before its last process, so reaching this point shows that `sleep` has
    // also ended.
    assert!(
        message.contains("was not done") && message.contains("begun"),
        "{message}"
    );
}

#[test]
fn a_program_can_be_signalled_while_it_runs() {
    let running = Running::start(Command::new("sleep").arg("600"));
    running.signal(15);
    let output = running.finish(Duration::from_secs(60));
    assert_eq!(output.status.code(), None, "{output:?}");
}

#[test]
fn sysbench_runs_on_every_server() {
    for kind in kinds() {
        let database = Database::new(kind);
        let line = |command: &str| {
            let mut line = database.sysbench_options();
            line.extend(["--table-size=100", "--events=10", "oltp_point_select"].map(String::from));
            line.push(command.to_owned());
            line
        };
        sysbench(line("prepare")).success();
        assert_eq!(database.query_one("SELECT count(*) FROM sbtest1"), "100");
        let output = sysbench(line("run")).success();
        assert!(
            output
                .stdout
                .contains("read:                            10"),
            "{output:?}"
        );
    }
}

#[test]
fn every_server_shows_a_certificate_that_the_authority_signed() {
    for kind in kinds() {
        let (server, protocol) = (Server::of(kind), kind.scheme());
        for (host, status) in [("localhost", 0), ("elsewhere.example", 1)] {
            let mut client = Command::new("openssl");
            client.args(["s_client", "-starttls", protocol, "-verify_return_error"]);
            client.args(["-connect", &format!("127.0.0.1:{}", server.port)]);
            client.args(["-verify_hostname", host, "-CAfile"]);
            client.arg(tls_authority());
            let output = run(&mut client, Duration::from_secs(60));
            assert_eq!(
                output.status.code(),
                Some(status),
                "{kind} {host}: {output:?}"
            );
        }
    }
}

#[test]
fn logs_count_the_statements_of_a_user() {
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let logging = LoggingServer::start(kind);
        let database = Database::on(&logging.server());
        let line = |rest: &[&str]| {
            let mut line = database
                .server
                .sysbench_options(LoggingServer::USER, &database.name);
            let common = ["oltp_point_select", "--table-size=100", "--events=9"];
            line.extend(common.iter().chain(rest).map(|&word| word.to_owned()));
            line
        };
        sysbench(line(&["prepare"])).success();
        let select = "SELECT c FROM sbtest# WHERE id=?";
        let prepared = logging.shapes_of(|| {
            database.query_one("SELECT count(*) FROM sbtest1");
            sysbench(line(&["run"])).success();
        });
        assert_eq!(
            prepared.get(&format!("Execute {select}")),
            Some(&9),
            "{prepared:?}"
        );
        assert!(
            !prepared.keys().any(|key| key.contains("count(*)")),
            "{prepared:?}"
        );
        let text = logging.shapes_of(|| {
            sysbench(line(&["run", "--db-ps-mode=disable"])).success();
        });
        let expected = [(format!("Query {select}"), 9)];
        assert_eq!(text.into_iter().collect::<Vec<_>>(), expected, "{kind}");
    }
}

#[test]
fn a_private_mariadb_can_be_suspended_killed_and_restarted() {
    let mut private = start_private_server(Kind::Mariadb);
    let server = private.server();
    server.execute(None, "CREATE DATABASE d");
    server.execute(Some("d"), "CREATE TABLE t SELECT 5 AS a");

    let options = mysql::OptsBuilder::new()
        .socket(Some(server.socket.to_string_lossy()))
        .user(Some("root"))
        .read_timeout(Some(Duration::from_millis(300)));
    let mut client = mysql::Conn::new(options).expect("it is up");
    private.suspend();
    client
        .query_drop("SELECT 1")
        .expect_err("a suspended server does not answer");
    private.resume();
    assert_eq!(server.query_one(Some("d"), "SELECT a FROM t"), "5");

    let pid = private.pid();
    private.kill().expect("it can be killed");
    std::os::unix::net::UnixStream::connect(&server.socket).expect_err("it is dead");
    private.start_again().expect("it recovers");
    assert_ne!(private.pid(), pid);
    assert_eq!(server.query_one(Some("d"), "SELECT a FROM t"), "5");
    assert_eq!(
        server.query_one(None, "SELECT @@port"),
        server.port.to_string()
    );

    private.stop().expect("it stops");
    private.start_again().expect("it starts");
    assert_eq!(server.query_one(Some("d"), "SELECT a FROM t"), "5");
}

#[test]
fn a_private_postgres_can_be_suspended_killed_and_restarted() {
    let mut private = start_private_server(Kind::Postgres);
    let server = private.server();
    server.execute(None, "CREATE TABLE t AS SELECT 5 AS a");
    let mut client = server.postgres("postgres");

    private.suspend();
    let waiting = std::thread::spawn(move || {
        let rows = client
            .query("SELECT a FROM t", &[])
            .expect("it answers in the end");
        rows[0].get::<_, i32>(0)
    });
    std::thread::sleep(Duration::from_millis(300));
    assert!(!waiting.is_finished(), "a suspended server does not answer");
    private.resume();
    assert_eq!(waiting.join().expect("it does not panic"), 5);

    private.kill().expect("it can be killed");
    private.start_again().expect("it recovers");
    assert_eq!(server.query_one(None, "SELECT a FROM t"), "5");
}
