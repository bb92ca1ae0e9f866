use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use dyno_core::bulk::{BulkFormat, BulkLoad, RowSource};
use dyno_core::db::{
    ErrorKind, OutcomeKind, Param, ParamKind, Row, Scratch, Submitted, bound_waits,
};
use tempfile::TempDir;

use super::*;
use crate::connector;

mod transactions;

struct Bench {
    connection: Box<dyn Connection>,
    connector: Arc<dyn Connector>,
    scratch: Scratch,
    _directory: TempDir,
}

fn open_with(parameters: &str) -> Bench {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a b.db");
    let url = format!("sqlite:{}{parameters}", file.display()).replace(' ', "%20");
    let connector = connector(&Target::parse(&url).unwrap()).unwrap();
    let connection = connector.connect(0).unwrap();
    let mut bench = Bench {
        connection,
        connector,
        scratch: Scratch::default(),
        _directory: directory,
    };
    assert_eq!(
        bench.connection.advance(&mut bench.scratch),
        Submitted::Ready
    );
    assert_eq!(bench.connection.outcome().kind, OutcomeKind::Connected);
    bench
}

fn open() -> Bench {
    open_with("")
}

impl Bench {
    fn query(&mut self, sql: &str) -> OutcomeKind {
        assert_eq!(
            self.connection.query(&mut self.scratch, sql.as_bytes()),
            Submitted::Ready
        );
        self.connection.outcome().kind
    }

    fn affected(&mut self, sql: &str) -> u64 {
        assert_eq!(
            self.query(sql),
            OutcomeKind::Done,
            "{sql}: {}",
            self.error()
        );
        self.connection.outcome().affected
    }

    fn rows(&mut self, sql: &str) -> Vec<String> {
        assert_eq!(
            self.query(sql),
            OutcomeKind::Rows,
            "{sql}: {}",
            self.error()
        );
        self.fetch()
    }

    /// The rows of the current result, fields joined by `|`.
    fn fetch(&mut self) -> Vec<String> {
        let columns = self.connection.outcome().columns as usize;
        let (mut row, mut rows) = (Row::default(), Vec::new());
        while self.connection.next_row(&mut row) {
            let field = |index| match row.field(index) {
                Some(bytes) => String::from_utf8_lossy(bytes).into_owned(),
                None => "NULL".to_owned(),
            };
            rows.push((0..columns).map(field).collect::<Vec<_>>().join("|"));
        }
        assert_eq!(rows.len() as u64, self.connection.outcome().rows);
        rows
    }

    fn error(&self) -> String {
        let error = self.connection.outcome().error.as_ref();
        error.map(|error| error.to_string()).unwrap_or_default()
    }

    fn code(&mut self, sql: &str) -> i32 {
        self.failure(sql).1
    }

    fn failure(&mut self, sql: &str) -> (ErrorKind, i32) {
        assert_eq!(self.query(sql), OutcomeKind::Failed, "{sql}");
        let error = self.connection.outcome().error.as_ref().unwrap();
        (error.kind, error.code)
    }

    fn prepare(&mut self, sql: &str) -> u32 {
        let _ = self
            .connection
            .prepare(&mut self.scratch, sql.as_bytes(), &[]);
        let outcome = self.connection.outcome();
        assert_eq!(outcome.kind, OutcomeKind::Prepared, "{}", self.error());
        outcome.statement
    }

    fn execute(&mut self, statement: u32, params: &[&Param]) -> OutcomeKind {
        let _ = self
            .connection
            .execute(&mut self.scratch, statement, params);
        self.connection.outcome().kind
    }

    fn another(&self) -> Bench {
        Bench {
            connection: self.connector.connect(1).unwrap(),
            connector: Arc::clone(&self.connector),
            scratch: Scratch::default(),
            _directory: TempDir::new().unwrap(),
        }
    }
}

#[test]
fn values_of_every_type_become_text() {
    let mut bench = open();
    assert_eq!(
        bench.rows("SELECT -9223372036854775808, 1.5, 'ä', x'00ff41', NULL, ''"),
        ["-9223372036854775808|1.5|ä|\0\u{fffd}A|NULL|"]
    );
    assert_eq!(bench.rows("SELECT 1 WHERE 0"), [""; 0]);
    assert_eq!(bench.connection.outcome().columns, 1);
}

#[test]
fn affected_rows_are_those_of_the_statement() {
    let mut bench = open();
    assert_eq!(
        bench.affected("CREATE TABLE t(id INTEGER PRIMARY KEY, k INT)"),
        0
    );
    assert_eq!(bench.affected("INSERT INTO t VALUES(1,1),(2,1),(3,2)"), 3);
    assert_eq!(bench.affected("BEGIN"), 0);
    assert_eq!(bench.affected("UPDATE t SET k=5 WHERE k=1"), 2);
    assert_eq!(bench.affected("UPDATE t SET k=5 WHERE k=77"), 0);
    assert_eq!(bench.affected("COMMIT"), 0);
    assert_eq!(
        bench.rows("DELETE FROM t WHERE id<3 RETURNING id"),
        ["1", "2"]
    );
    assert_eq!(bench.connection.outcome().affected, 2);
    assert_eq!(bench.affected("DELETE FROM t"), 1);
}

#[test]
fn texts_with_several_statements_have_several_results() {
    let mut bench = open();
    assert_eq!(
        bench.query("CREATE TABLE t(a); INSERT INTO t VALUES(1); -- x\n SELECT a FROM t;\n;"),
        OutcomeKind::Done
    );
    assert!(bench.connection.outcome().more);
    let _ = bench.connection.next_result(&mut bench.scratch);
    assert_eq!(bench.connection.outcome().affected, 1);
    assert!(bench.connection.outcome().more);
    let _ = bench.connection.next_result(&mut bench.scratch);
    assert_eq!(bench.fetch(), ["1"]);
    assert!(!bench.connection.outcome().more);
    let _ = bench.connection.next_result(&mut bench.scratch);
    assert_eq!(bench.connection.outcome().kind, OutcomeKind::Failed);

    // An error ends the text; earlier statements keep their effect.
    assert_eq!(bench.rows("SELECT 1; SELECT nothing; DELETE FROM t"), ["1"]);
    let _ = bench.connection.next_result(&mut bench.scratch);
    assert!(bench.error().contains("nothing"), "{}", bench.error());
    assert!(!bench.connection.outcome().more);
    assert_eq!(bench.rows("SELECT count(*) FROM t"), ["1"]);
    // Statements whose results nobody fetched have run nevertheless.
    assert_eq!(bench.rows("SELECT 1; DELETE FROM t"), ["1"]);
    assert_eq!(bench.rows("SELECT count(*) FROM t"), ["0"]);
    assert_eq!(bench.query(" ; -- nothing"), OutcomeKind::Done);
}

#[test]
fn prepared_statements_take_every_kind_of_parameter() {
    let mut bench = open();
    bench.query("CREATE TABLE t(id INTEGER PRIMARY KEY, c TEXT, d REAL)");
    let insert = bench.prepare("INSERT INTO t VALUES(?,?,?)");
    let (text, double) = (Param::bytes(b"abc"), Param::double(2.5));
    assert_eq!(
        bench.execute(insert, &[&Param::int(1), &text, &double]),
        OutcomeKind::Done
    );
    assert_eq!(bench.connection.outcome().affected, 1);
    let null = Param::new(ParamKind::Bytes, 1);
    bench.execute(insert, &[&Param::int(2), &Param::bytes(b""), &null]);
    bench.execute(insert, &[&Param::int(3), &Param::bytes(b"\xff\xfe"), &null]);
    assert_eq!(
        bench.rows("SELECT id, typeof(c), c, typeof(d), d FROM t WHERE id<3"),
        ["1|text|abc|real|2.5", "2|text||null|NULL"]
    );
    assert_eq!(
        bench.rows("SELECT typeof(c), length(c) FROM t WHERE id=3"),
        ["blob|2"]
    );

    let select = bench.prepare("SELECT id FROM t WHERE c = ?");
    assert_eq!(bench.connection.outcome().columns, 1);
    for _ in 0..3 {
        assert_eq!(bench.execute(select, &[&text]), OutcomeKind::Rows);
        assert_eq!(bench.fetch(), ["1"]);
    }
    assert_eq!(bench.execute(select, &[]), OutcomeKind::Failed);
    assert!(
        bench.error().contains("1 parameters, but 0"),
        "{}",
        bench.error()
    );
    assert_eq!(bench.execute(99, &[]), OutcomeKind::Failed);

    let _ = bench.connection.close_statement(&mut bench.scratch, select);
    assert_eq!(bench.connection.outcome().kind, OutcomeKind::Done);
    assert_eq!(bench.execute(select, &[&text]), OutcomeKind::Failed);
    let _ = bench.connection.close_statement(&mut bench.scratch, select);
    assert_eq!(bench.connection.outcome().kind, OutcomeKind::Failed);
    for sql in ["", "SELECT 1; SELECT 2", "SELEC"] {
        let _ = bench
            .connection
            .prepare(&mut bench.scratch, sql.as_bytes(), &[]);
        assert_eq!(
            bench.connection.outcome().kind,
            OutcomeKind::Failed,
            "{sql}"
        );
    }
    // A statement survives a change of the schema, with its new columns.
    let all = bench.prepare("SELECT * FROM t WHERE id=1");
    bench.query("ALTER TABLE t ADD COLUMN e DEFAULT 7");
    bench.execute(all, &[]);
    assert_eq!(bench.fetch(), ["1|abc|2.5|7"]);
}

#[test]
fn errors_carry_the_extended_code_and_sqlites_words() {
    let mut bench = open();
    bench.query("CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE)");
    bench.query("INSERT INTO t VALUES(1,1)");
    let twice = bench.failure("INSERT INTO t VALUES(1,2)");
    assert_eq!(twice, (ErrorKind::Duplicate, 1555));
    assert!(
        bench.error().contains("UNIQUE constraint failed: t.id"),
        "{}",
        bench.error()
    );
    let twice = bench.failure("INSERT INTO t VALUES(2,1)");
    assert_eq!(twice, (ErrorKind::Duplicate, 2067));
    let missing = bench.failure("SELECT * FROM nowhere");
    assert_eq!(missing, (ErrorKind::NoTable, 1));
    assert_eq!(bench.rows("SELECT count(*) FROM t"), ["1"]);
}

#[test]
fn a_lock_is_waited_for_as_long_as_the_thread_may_wait() {
    let mut first = open_with("?busy_timeout=600s");
    assert_eq!(first.affected("BEGIN IMMEDIATE"), 0);
    let connector = Arc::clone(&first.connector);
    let asked = std::thread::spawn(move || {
        let asked = Rc::new(Cell::new(0));
        let counts = Rc::clone(&asked);
        bound_waits(Box::new(move || {
            counts.set(counts.get() + 1);
            counts.get() < 3
        }));
        let mut second = Bench {
            connection: connector.connect(1).unwrap(),
            connector,
            scratch: Scratch::default(),
            _directory: TempDir::new().unwrap(),
        };
        assert_eq!(second.code("BEGIN IMMEDIATE"), 5);
        asked.get()
    });
    assert_eq!(asked.join().unwrap(), 3);
}

#[test]
fn a_statement_computes_as_long_as_the_thread_may_go_on() {
    let first = open();
    let connector = Arc::clone(&first.connector);
    let counts = std::thread::spawn(move || {
        let goes_on = Rc::new(Cell::new(true));
        let asked = Rc::clone(&goes_on);
        bound_waits(Box::new(move || asked.replace(false)));
        let mut second = Bench {
            connection: connector.connect(1).unwrap(),
            connector,
            scratch: Scratch::default(),
            _directory: TempDir::new().unwrap(),
        };
        let numbers = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)";
        // SQLITE_INTERRUPT, after which the connection is still usable.
        assert_eq!(second.code(&format!("{numbers} SELECT max(i) FROM n")), 9);
        goes_on.set(true);
        second.rows("SELECT 1")
    });
    assert_eq!(counts.join().unwrap(), ["1"]);
}

#[test]
fn settings_are_applied() {
    let mut bench = open();
    assert_eq!(bench.rows("PRAGMA journal_mode"), ["wal"]);
    assert_eq!(bench.rows("PRAGMA synchronous"), ["1"]);
    assert_eq!(bench.rows("PRAGMA busy_timeout"), ["5000"]);
    assert_eq!(bench.rows("PRAGMA foreign_keys"), ["1"]);
    let mut bench = open_with("?journal_mode=truncate&synchronous=full&busy_timeout=2s");
    assert_eq!(bench.rows("PRAGMA journal_mode"), ["truncate"]);
    assert_eq!(bench.rows("PRAGMA synchronous"), ["2"]);
    assert_eq!(bench.rows("PRAGMA busy_timeout"), ["2000"]);
    assert_eq!(bench.connection.server().product, "SQLite");
    assert!(bench.connector.blocks() && bench.connection.fd().is_none());
}

#[test]
fn files_that_cannot_be_opened_are_explained() {
    let directory = TempDir::new().unwrap();
    let file = directory.path().join("a").join("b.db");
    let refuse = |path: &Path| {
        let target = Target::parse(&format!("sqlite:{}", path.display())).unwrap();
        connector(&target).err().unwrap()
    };
    let error = refuse(&file);
    assert!(error.message.contains("there is no directory"), "{error}");
    assert_eq!((error.kind, error.code), (ErrorKind::Lost, 14));
    assert!(refuse(directory.path()).message.contains("is a directory"));
    let text = directory.path().join("text");
    std::fs::write(&text, "this is no database, however one looks at it").unwrap();
    assert!(refuse(&text).message.contains("not a database"));
    let mut memory = Target::parse("sqlite:x").unwrap();
    memory.file = PathBuf::from(":memory:");
    assert!(
        connector(&memory)
            .err()
            .unwrap()
            .message
            .contains("a single session")
    );
}

#[test]
fn a_closed_connection_fails_statements_with_its_error() {
    let mut bench = open();
    bench.prepare("SELECT 1");
    bench.connection.close();
    assert_eq!(bench.query("SELECT 1"), OutcomeKind::Failed);
    assert_eq!(bench.error(), "the connection is closed (SQLSTATE 08006)");
    assert_eq!(bench.execute(0, &[]), OutcomeKind::Failed);
}

#[test]
fn sessions_on_many_threads_open_and_write_together() {
    for parameters in ["?busy_timeout=60s", "?busy_timeout=60s&journal_mode=delete"] {
        let mut bench = open_with(parameters);
        bench.query("CREATE TABLE t(a)");
        std::thread::scope(|scope| {
            for _ in 0..8 {
                let mut session = bench.another();
                scope.spawn(move || {
                    for _ in 0..10 {
                        for sql in ["BEGIN IMMEDIATE", "INSERT INTO t VALUES(1)", "COMMIT"] {
                            session.affected(sql);
                        }
                        // Another connection of the same thread opens while others write.
                        assert_eq!(session.another().rows("SELECT 1"), ["1"]);
                    }
                });
            }
        });
        assert_eq!(bench.rows("SELECT count(*) FROM t"), ["80"]);
    }
}

struct Lines {
    lines: Vec<&'static str>,
    next: usize,
}

impl RowSource for Lines {
    fn fill(&mut self, out: &mut Vec<u8>, format: BulkFormat, _max_bytes: usize) -> u64 {
        assert_eq!(format, BulkFormat::TabText);
        let chunk = &self.lines[self.next..(self.next + 2).min(self.lines.len())];
        chunk
            .iter()
            .for_each(|line| out.extend_from_slice(line.as_bytes()));
        self.next += chunk.len();
        chunk.len() as u64
    }

    fn rewind(&mut self) {
        self.next = 0;
    }
}

fn bulk(bench: &mut Bench, lines: &[&'static str]) -> OutcomeKind {
    let load = BulkLoad {
        table: "t".to_owned(),
        columns: vec!["id".to_owned(), "c".to_owned()],
        rows: Box::new(Lines {
            lines: lines.to_vec(),
            next: 0,
        }),
    };
    let _ = bench.connection.bulk_load(&mut bench.scratch, load);
    bench.connection.outcome().kind
}

#[test]
fn a_bulk_load_keeps_types_and_is_all_or_nothing() {
    let mut bench = open();
    bench.query("CREATE TABLE t(id INTEGER PRIMARY KEY, c CHAR(9) NOT NULL)");
    assert_eq!(
        bulk(&mut bench, &["1\ta\\tb\n", "2\t\n", "3\tx\n"]),
        OutcomeKind::Done
    );
    assert_eq!(bench.connection.outcome().affected, 3);
    assert_eq!(
        bench.rows("SELECT id, typeof(id), typeof(c), c FROM t"),
        ["1|integer|text|a\tb", "2|integer|text|", "3|integer|text|x"]
    );
    assert_eq!(
        bulk(&mut bench, &["4\ta\n", "5\tb\n", "6\t\\N\n"]),
        OutcomeKind::Failed
    );
    assert!(bench.error().contains("NOT NULL") && bench.error().contains("row 3"));
    assert_eq!(bulk(&mut bench, &["4\ta\n", "5\n"]), OutcomeKind::Failed);
    assert!(
        bench.error().contains("1 fields for 2 columns"),
        "{}",
        bench.error()
    );
    assert_eq!(bench.rows("SELECT count(*) FROM t"), ["3"]);
    // Within the caller's transaction it is part of that.
    bench.query("BEGIN");
    assert_eq!(bulk(&mut bench, &["4\ta\n"]), OutcomeKind::Done);
    bench.query("ROLLBACK");
    assert_eq!(bench.rows("SELECT count(*) FROM t"), ["3"]);
    bench.query("DROP TABLE t");
    assert_eq!(bulk(&mut bench, &["4\ta\n"]), OutcomeKind::Failed);
}

#[test]
fn an_answer_larger_than_the_bound_is_an_error() {
    let mut bench = open_with("?max_answer=4K");
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    assert_eq!(bench.query(endless), OutcomeKind::Failed);
    let error = bench.connection.outcome().error.as_ref().unwrap();
    assert_eq!(error.kind, ErrorKind::TooLarge);
    assert!(error.message.contains("max_answer"), "{error}");
    // As on other servers the connection ends with it.
    assert_eq!(bench.query("SELECT 1"), OutcomeKind::Failed);
}
