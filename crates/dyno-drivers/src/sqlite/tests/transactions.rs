//! Transactions and what blocks them.

use dyno_core::db::TransactionStep;

use super::*;

impl Bench {
    fn step(&mut self, step: TransactionStep) -> OutcomeKind {
        let submitted = self.connection.transaction(&mut self.scratch, step);
        assert_eq!(submitted, Submitted::Ready);
        self.connection.outcome().kind
    }
}

#[test]
fn a_transaction_is_committed_or_rolled_back() {
    let mut bench = open();
    bench.query("CREATE TABLE t(a)");
    for (read_only, end, rows) in [
        (false, TransactionStep::Rollback, "0"),
        (false, TransactionStep::Commit, "1"),
        (true, TransactionStep::Commit, "2"),
    ] {
        let begin = TransactionStep::Begin { read_only };
        assert_eq!(bench.step(begin), OutcomeKind::Done);
        bench.query("INSERT INTO t VALUES(1)");
        assert_eq!(bench.step(end), OutcomeKind::Done);
        assert_eq!(bench.rows("SELECT count(*) FROM t"), [rows]);
    }
    // No transaction is open.
    assert_eq!(bench.step(TransactionStep::Rollback), OutcomeKind::Done);
    assert_eq!(bench.step(TransactionStep::Commit), OutcomeKind::Failed);
}

/// While another session writes, one that intends to write fails at its beginning.
#[test]
fn a_writing_transaction_takes_its_lock_at_the_beginning() {
    let mut first = open_with("?busy_timeout=1ms");
    let mut second = first.another();
    let begin = |read_only| TransactionStep::Begin { read_only };
    assert_eq!(first.step(begin(false)), OutcomeKind::Done);
    assert_eq!(second.step(begin(true)), OutcomeKind::Done);
    assert_eq!(second.step(TransactionStep::Rollback), OutcomeKind::Done);
    assert_eq!(second.step(begin(false)), OutcomeKind::Failed);
    let error = second.connection.outcome().error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::Conflict);
}

#[test]
fn a_lock_is_waited_for_and_then_an_error() {
    let mut first = open_with("?busy_timeout=1ms");
    first.query("CREATE TABLE t(a)");
    let mut second = first.another();
    assert_eq!(first.affected("BEGIN IMMEDIATE"), 0);
    assert_eq!(second.failure("BEGIN IMMEDIATE"), (ErrorKind::Conflict, 5));
    assert_eq!(
        second.rows("SELECT count(*) FROM t"),
        ["0"],
        "readers do not wait"
    );
    first.query("INSERT INTO t VALUES(1)");
    // A transaction that has read cannot write once another has written.
    second.query("BEGIN");
    second.rows("SELECT count(*) FROM t");
    first.query("COMMIT");
    let late = second.failure("INSERT INTO t VALUES(2)");
    assert_eq!(late, (ErrorKind::Conflict, 517));
    second.query("ROLLBACK");
    assert_eq!(second.affected("INSERT INTO t VALUES(2)"), 1);
}
