//! The transactions that operations end, against the server's own count.

use std::thread;
use std::time::Duration;

use super::*;

/// Only this test works in it.
const DATABASE: &str = "dyno_drivers_transactions";

/// In this order, since some begin a transaction that others end.
const TEXTS: [&str; 23] = [
    "SELECT 1",
    "",
    ";",
    "SELECT 1; SELECT 2",
    "BEGIN; SELECT 1; COMMIT",
    "SELECT 1; BEGIN; SELECT 2; COMMIT; SELECT 3",
    "SELECT 1; COMMIT; SELECT 1 / 0",
    "BEGIN",
    "SELECT 1",
    "COMMIT",
    "BEGIN",
    "SELECT 1 / 0",
    "COMMIT",
    "BEGIN",
    "ROLLBACK",
    "COMMIT",
    "ROLLBACK",
    "SELECT 1 / 0",
    "SELEC 1",
    "BEGIN",
    "COMMIT AND CHAIN",
    "SELECT 1",
    "COMMIT",
];

fn certain(connection: &Blocking, what: &str) -> u64 {
    let ended = connection.outcome().transactions;
    assert_eq!(ended.possible, 0, "{what}");
    u64::from(ended.certain)
}

/// Works in one session, and returns the transactions that ended according to the driver.
fn work() -> u64 {
    let socket = UnixStream::connect(needed("DYNO_TEST_PG_SOCKET")).unwrap();
    socket.set_nonblocking(true).unwrap();
    let options = PostgresOptions {
        unix_socket: true,
        database: DATABASE.to_owned(),
        ..options()
    };
    let mut connection = on(Box::new(socket), &options).unwrap();
    let mut sum = 0;
    for sql in TEXTS {
        let _ = connection.query(sql);
        sum += certain(&connection, sql);
    }
    let one = connection.prepare("SELECT 1 / ?", &[ParamKind::Int]);
    sum += certain(&connection, "a prepare");
    let id = one.unwrap();
    for value in [1, 0] {
        let _ = connection.execute(id, &[&Param::int(value)]);
        sum += certain(&connection, "an execution");
    }
    connection.close_statement(id).unwrap();
    sum += certain(&connection, "a close");
    connection.prepare("SELECT nothing", &[]).unwrap_err();
    sum += certain(&connection, "a prepare that fails");
    for texts in [
        &["SELECT 1", "SELECT 2"][..],
        &["BEGIN", "SELECT 1", "COMMIT", "SELECT 2"],
        &[],
    ] {
        connection.connection.start_pipeline().unwrap();
        for sql in texts {
            connection.query(sql).unwrap();
        }
        connection.end_pipeline().unwrap();
        sum += certain(&connection, "a pipeline");
    }
    connection.connection.close();
    sum
}

/// The server's count, once all sessions in the database have ended.
fn counted(admin: &mut Blocking) -> u64 {
    let sessions = format!("SELECT count(*) FROM pg_stat_activity WHERE datname = '{DATABASE}'");
    let sum = format!(
        "SELECT xact_commit + xact_rollback FROM pg_stat_database WHERE datname = '{DATABASE}'"
    );
    for _ in 0..1_000 {
        if admin.single(&sessions) == "0" {
            return admin.single(&sum).parse().unwrap();
        }
        thread::sleep(Duration::from_millis(10));
    }
    panic!("the sessions in {DATABASE} do not end");
}

#[test]
fn the_server_counts_the_same_transactions() {
    let mut admin = by_socket("transactions");
    let drop = format!("DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)");
    admin.query(&drop).unwrap();
    admin.query(format!("CREATE DATABASE {DATABASE}")).unwrap();
    // The server's count, without the log-in, and the driver's.
    let mut counts = Vec::new();
    // Autovacuum occasionally has transactions in the database.
    while counts.len() < 3 {
        let before = counted(&mut admin);
        let own = work();
        counts.push((counted(&mut admin) - before - 1, own));
    }
    admin.query(&drop).unwrap();
    assert!(
        counts.iter().any(|(server, own)| server == own),
        "{counts:?}"
    );
}
