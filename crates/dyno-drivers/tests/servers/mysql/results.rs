//! Several results, long packets, options that change results, lost connections.

use dyno_core::db::{ErrorKind, OutcomeKind, Param, ParamKind};

use super::{MysqlOptions, by_socket, options, root, row, servers, with_packet_limit};

const PROCEDURE: &str = "CREATE PROCEDURE p(n INT) BEGIN SELECT n; \
    SELECT n + 1, 'x' UNION ALL SELECT n + 2, 'y'; END";

#[test]
fn several_statements_in_one_request() {
    for server in servers() {
        let mut connection = root(server, "multi");
        connection
            .query("CREATE TABLE t (id INT PRIMARY KEY)")
            .unwrap();
        let outcome = connection
            .query("INSERT INTO t VALUES (1),(2); SELECT id FROM t; SELECT * FROM none; SELECT 1")
            .unwrap();
        assert_eq!(
            (outcome.kind, outcome.affected, outcome.more),
            (OutcomeKind::Done, 2, true)
        );
        // Nothing else may be sent before the rest is read.
        let error = connection.query("SELECT 1").unwrap_err();
        assert_eq!((error.code, error.kind), (2014, ErrorKind::Misuse));
        assert!(connection.outcome().more);
        let outcome = connection.next_result().unwrap();
        assert_eq!(
            (outcome.kind, outcome.rows, outcome.more),
            (OutcomeKind::Rows, 2, true)
        );
        assert_eq!(connection.rows(), [row(&[Some("1")]), row(&[Some("2")])]);
        assert_eq!(connection.next_result().unwrap_err().code, 1146);
        assert!(!connection.outcome().more);
        assert_eq!(connection.next_result().unwrap_err().code, 2014);
        assert_eq!(connection.single("SELECT 7"), "7");
    }
}

#[test]
fn names_of_columns_are_those_of_the_last_text() {
    for server in servers() {
        let mut connection = root(server, "names");
        connection.keep_names();
        connection.query("SELECT 1 AS one, 2 AS two").unwrap();
        connection.rows();
        let expected = [vec!["one".to_owned(), "two".to_owned()]];
        assert_eq!(connection.names(), expected);
        // Executions have column names too, which were not requested.
        let statement = connection.prepare("SELECT 3 AS three", &[]).unwrap();
        for _ in 0..3 {
            connection.execute(statement, &[]).unwrap();
            connection.rows();
            assert_eq!(connection.names(), expected);
        }
        connection.query("DO 1").unwrap();
        assert!(connection.names().is_empty());
    }
}

#[test]
fn procedures_return_results_by_both_protocols() {
    for server in servers() {
        let mut connection = root(server, "call");
        connection.query(PROCEDURE).unwrap();
        let statement = connection.prepare("CALL p(?)", &[ParamKind::Int]).unwrap();
        for binary in [false, true, true] {
            let outcome = if binary {
                connection.execute(statement, &[&Param::int(5)]).unwrap()
            } else {
                connection.query("CALL p(5)").unwrap()
            };
            assert!(outcome.more);
            assert_eq!(connection.rows(), [row(&[Some("5")])]);
            let outcome = connection.next_result().unwrap();
            assert_eq!((outcome.rows, outcome.columns, outcome.more), (2, 2, true));
            let expected = [row(&[Some("6"), Some("x")]), row(&[Some("7"), Some("y")])];
            assert_eq!(connection.rows(), expected);
            let outcome = connection.next_result().unwrap();
            assert_eq!((outcome.kind, outcome.more), (OutcomeKind::Done, false));
        }
        assert_eq!(connection.single("SELECT 7"), "7");
    }
}

/// Unread results of a procedure are skipped when it is called again, as in libmysqlclient, and
/// when its statement is closed.
#[test]
fn unread_results_of_a_procedure_do_not_block_its_next_call() {
    for server in servers() {
        let mut connection = root(server, "rest");
        connection.query(PROCEDURE).unwrap();
        let statement = connection.prepare("CALL p(?)", &[ParamKind::Int]).unwrap();
        for value in [5, 50, 500] {
            let outcome = connection
                .execute(statement, &[&Param::int(value)])
                .unwrap();
            assert!(outcome.more);
            assert_eq!(connection.rows(), [row(&[Some(&value.to_string())])]);
        }
        connection.next_result().unwrap();
        let outcome = connection.execute(statement, &[&Param::int(7)]).unwrap();
        assert!(outcome.more && connection.rows() == [row(&[Some("7")])]);
        // Any other request is refused: its answer would be taken for the rest.
        assert_eq!(connection.query("SELECT 1").unwrap_err().code, 2014);
        connection.execute(statement, &[]).unwrap_err();
        connection.close_statement(statement).unwrap();
        assert_eq!(connection.single("SELECT 7"), "7");
        // More than the socket holds.
        connection
            .query("CREATE PROCEDURE q() BEGIN SELECT 1; SELECT REPEAT('x', 1000000); END")
            .unwrap();
        let statement = connection.prepare("CALL q()", &[]).unwrap();
        for _ in 0..5 {
            assert_eq!(connection.execute(statement, &[]).unwrap().rows, 1);
        }
        connection.close_statement(statement).unwrap();
        let statement = connection.prepare("SELECT ?", &[ParamKind::Int]).unwrap();
        assert_eq!(
            connection
                .execute(statement, &[&Param::int(3)])
                .unwrap()
                .rows,
            1
        );
    }
}

/// Many results in one request: they do not fit into one read of the socket.
#[test]
fn results_follow_when_they_are_spread_over_many_readings() {
    for server in servers() {
        let mut connection = root(server, "spread");
        let one = "SELECT REPEAT('x', 30000), 1;";
        let mut outcome = connection.query(one.repeat(40)).unwrap();
        let mut results = 1;
        while outcome.more {
            outcome = connection.next_result().unwrap();
            assert_eq!(outcome.rows, 1);
            results += 1;
        }
        assert_eq!(results, 40);
    }
}

#[test]
fn messages_longer_than_a_packet() {
    for server in servers() {
        let mut connection = root(server, "long");
        let mut connection = with_packet_limit(server, &mut connection, 1 << 26, options("root"));
        let limit = 0xFF_FFFF;
        let overhead = "SELECT ''".len() + 1;
        for len in [
            limit - overhead - 1,
            limit - overhead,
            limit,
            limit + 1,
            2 * limit,
        ] {
            let text = "x".repeat(len);
            let got = connection.single(&format!("SELECT '{text}'"));
            assert!(got == text, "{len} bytes");
        }
        let statement = connection
            .prepare("SELECT ?, 'end'", &[ParamKind::Bytes])
            .unwrap();
        for len in [limit - 30, limit, limit + 7] {
            let value = Param::bytes("y".repeat(len).as_bytes());
            assert_eq!(connection.execute(statement, &[&value]).unwrap().rows, 1);
            let rows = connection.rows();
            assert!(rows[0][0].as_ref().unwrap().as_bytes() == &value.bytes[..]);
            assert_eq!(rows[0][1].as_deref(), Some("end"));
        }
        assert_eq!(connection.single("SELECT 7"), "7");
    }
}

#[test]
fn found_rows_are_counted_when_asked_for() {
    for server in servers() {
        for (found_rows, expected) in [(false, 0), (true, 2)] {
            let mut first = root(server, "found");
            first.query("CREATE TABLE t (id INT)").unwrap();
            first.query("INSERT INTO t VALUES (1),(1)").unwrap();
            let mut connection = by_socket(
                server,
                MysqlOptions {
                    found_rows,
                    database: "dyno_drivers_found".to_owned(),
                    ..options("root")
                },
            )
            .unwrap();
            let outcome = connection.query("UPDATE t SET id = 1").unwrap();
            assert_eq!(outcome.affected, expected);
        }
    }
}

#[test]
fn a_killed_connection_is_lost() {
    for server in servers() {
        let mut connection = root(server, "killed");
        let mut other = by_socket(server, options("root")).unwrap();
        let id = connection.single("SELECT CONNECTION_ID()");
        other.query(format!("KILL {id}")).unwrap();
        // The server may send a reason before it hangs up.
        let mut codes = Vec::new();
        let lost = loop {
            let error = connection.query("SELECT 1").unwrap_err();
            codes.push(error.code);
            if error.kind == ErrorKind::Lost {
                break error;
            }
            assert!(codes.len() < 3, "{codes:?}");
        };
        assert!(matches!(lost.code, 2006 | 2013), "{lost}");
        assert_eq!(lost.sqlstate, "HY000");
        assert_eq!(connection.connection.fd(), None);
        let error = connection.query("SELECT 1").unwrap_err();
        assert_eq!((error.code, error.kind), (2006, ErrorKind::Lost));
    }
}
