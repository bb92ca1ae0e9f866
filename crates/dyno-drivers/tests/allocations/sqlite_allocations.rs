//! The steady state of the embedded driver allocates nothing per operation.

use crate::ALLOCATIONS;
use dyno_core::Target;
use dyno_core::db::{OutcomeKind, Param, ParamKind, Row, Scratch};

#[test]
fn a_point_select_allocates_nothing() {
    let directory = tempfile::TempDir::new().unwrap();
    let url = format!("sqlite:{}", directory.path().join("a.db").display());
    let connector = dyno_drivers::connector(&Target::parse(&url).unwrap()).unwrap();
    let mut connection = connector.connect(0).unwrap();
    let mut scratch = Scratch::default();
    for sql in [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, k INT, c TEXT)",
        "INSERT INTO t VALUES(1, 10, 'one'), (2, 20, 'two')",
    ] {
        let _ = connection.query(&mut scratch, sql.as_bytes());
        assert_eq!(connection.outcome().kind, OutcomeKind::Done);
    }
    let sql = b"SELECT id, k, c FROM t WHERE id=? AND c<>?";
    let _ = connection.prepare(&mut scratch, sql, &[]);
    let statement = connection.outcome().statement;
    let mut id = Param::new(ParamKind::Int, 0);
    let text = Param::bytes(b"three");
    let mut row = Row::default();
    let mut before = 0;
    for round in 0..100 {
        if round == 10 {
            before = ALLOCATIONS.get();
        }
        (id.int, id.is_null) = (1 + round % 2, 0);
        let _ = connection.query(&mut scratch, b"BEGIN");
        let _ = connection.execute(&mut scratch, statement, &[&id, &text]);
        assert_eq!(connection.outcome().rows, 1);
        assert!(connection.next_row(&mut row));
        assert_eq!(
            row.field(2),
            Some([&b"one"[..], b"two"][round as usize % 2])
        );
        let _ = connection.query(&mut scratch, b"COMMIT");
        assert_eq!(connection.outcome().kind, OutcomeKind::Done);
    }
    assert_eq!(ALLOCATIONS.get() - before, 0);
    // The counter works.
    drop(std::hint::black_box(Box::new(1)));
    assert!(ALLOCATIONS.get() > before);
}
