//! A fake worker and a fake server.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;

use dyno_core::db::{
    Connection, DbError, ErrorKind, Outcome, OutcomeKind, Param, ParamKind, ParamValue, Row,
    Scratch, ServerInfo, StatementId, Submitted, TransactionStep,
};

use dyno_core::session::{
    ConnId, Counter, Detached, Next, OperationEnd, OperationId, Port, Request, SessionId,
};

/// Answers every statement after one turn of waiting, as a server would.
#[derive(Default)]
pub(crate) struct FakeConnection {
    outcome: Outcome,
    row: Option<String>,
    info: ServerInfo,
}

fn words(step: TransactionStep) -> &'static str {
    match step {
        TransactionStep::Begin { read_only: false } => "BEGIN",
        TransactionStep::Begin { read_only: true } => "BEGIN READ ONLY",
        TransactionStep::Commit => "COMMIT",
        TransactionStep::Rollback => "ROLLBACK",
    }
}

impl FakeConnection {
    fn answer(&mut self, sql: &str) {
        self.outcome = Outcome::default();
        self.row = None;
        if let Some(code) = sql.strip_prefix("FAIL ") {
            self.outcome.kind = OutcomeKind::Failed;
            let kind = match code {
                "2013" => ErrorKind::Lost,
                "1205" | "1213" => ErrorKind::Conflict,
                "1062" => ErrorKind::Duplicate,
                _ => ErrorKind::Other,
            };
            self.outcome.error = Some(Box::new(DbError {
                code: code.parse().unwrap(),
                sqlstate: "40001".to_owned(),
                ..DbError::new(kind, "as you wished")
            }));
        } else if sql.starts_with("SELECT") {
            self.outcome.kind = OutcomeKind::Rows;
            (self.outcome.rows, self.outcome.columns) = (1, 2);
            self.row = Some(sql.to_owned());
        } else {
            self.outcome.kind = OutcomeKind::Done;
            self.outcome.affected = 1;
        }
    }
}

impl Connection for FakeConnection {
    fn has_ended(&mut self, _scratch: &mut Scratch) -> bool {
        false
    }

    fn advance(&mut self, _: &mut Scratch) -> Submitted {
        Submitted::Ready
    }
    fn query(&mut self, _: &mut Scratch, sql: &[u8]) -> Submitted {
        self.answer(&String::from_utf8_lossy(sql));
        Submitted::Pending
    }
    fn transaction(&mut self, _: &mut Scratch, step: TransactionStep) -> Submitted {
        self.answer(words(step));
        Submitted::Pending
    }
    fn prepare(&mut self, _: &mut Scratch, _: &[u8], _: &[ParamKind]) -> Submitted {
        self.outcome = Outcome {
            kind: OutcomeKind::Prepared,
            statement: 7,
            ..Outcome::default()
        };
        Submitted::Pending
    }
    fn execute(&mut self, _: &mut Scratch, _: StatementId, params: &[&Param]) -> Submitted {
        let values: Vec<String> = params
            .iter()
            .map(|param| match param.value() {
                ParamValue::Null => "null".to_owned(),
                ParamValue::Int(value) => value.to_string(),
                ParamValue::Double(value) => value.to_string(),
                ParamValue::Bytes(value) => String::from_utf8_lossy(value).into_owned(),
            })
            .collect();
        // A statement without values is a step of a transaction.
        match values.is_empty() {
            true => self.answer("DONE"),
            false => self.answer(&format!("SELECT {}", values.join(" "))),
        }
        Submitted::Pending
    }
    fn close_statement(&mut self, _: &mut Scratch, _: StatementId) -> Submitted {
        self.outcome = Outcome {
            kind: OutcomeKind::Done,
            ..Outcome::default()
        };
        Submitted::Ready
    }
    fn bulk_load(&mut self, _: &mut Scratch, mut load: dyno_core::bulk::BulkLoad) -> Submitted {
        let mut rows = Vec::new();
        let format = dyno_core::bulk::BulkFormat::TabText;
        let mut count = 0;
        loop {
            match load.rows.fill(&mut rows, format, 64) {
                0 => break,
                more => count += more,
            }
        }
        self.outcome = Outcome {
            kind: OutcomeKind::Done,
            affected: count,
            ..Outcome::default()
        };
        Submitted::Pending
    }
    fn abort(&mut self, _: &str) {}
    fn next_result(&mut self, _: &mut Scratch) -> Submitted {
        Submitted::Ready
    }
    fn outcome(&self) -> &Outcome {
        &self.outcome
    }
    fn next_row(&mut self, row: &mut Row) -> bool {
        let Some(text) = self.row.take() else {
            return false;
        };
        row.clear();
        row.push(Some(text.as_bytes()));
        row.push(None);
        true
    }
    fn free_result(&mut self) {
        self.row = None;
    }
    fn fd(&self) -> Option<i32> {
        None
    }
    fn wants_write(&self) -> bool {
        false
    }
    fn close(&mut self) {}
    fn server(&self) -> &ServerInfo {
        &self.info
    }
    fn endpoint(&self) -> usize {
        0
    }
}

/// A worker with one session.
#[derive(Default)]
pub(crate) struct FakePort {
    /// The number of transactions ended for the script.
    pub recovered: u32,
    pub connections: Vec<FakeConnection>,
    pub scratch: Scratch,
    pub events_left: u32,
    /// The run has ended for sessions that sleep without yielding.
    pub over: bool,
    pub events: u32,
    pub retries: u32,
    pub counters: [u64; Counter::COUNT],
    pub slept: VecDeque<u64>,
    /// The number of times that a worker would have blocked on an answer.
    pub stood_still: u32,
    /// The current and largest number of prepared statements on the server.
    pub statements: i32,
    pub statements_max: i32,
    /// A log of operations.
    pub work: Vec<String>,
    /// Parameters of executed statements, and other statements' texts, by session.
    pub log: Vec<(SessionId, String)>,
}

impl Port for FakePort {
    fn connect(&mut self, _: SessionId) -> Result<(ConnId, Submitted), DbError> {
        let mut connection = FakeConnection::default();
        connection.outcome.kind = OutcomeKind::Connected;
        self.connections.push(connection);
        Ok((self.connections.len() as ConnId - 1, Submitted::Pending))
    }
    fn submit(
        &mut self,
        session: SessionId,
        id: ConnId,
        operation: Request<'_>,
    ) -> Option<Submitted> {
        match &operation {
            Request::Query(sql) => {
                let text = String::from_utf8_lossy(sql).into_owned();
                self.log.push((session, text));
            }
            Request::Transaction(step) => self.log.push((session, words(*step).to_owned())),
            Request::Execute(_, params) => {
                let values: Vec<String> =
                    params.iter().map(|p| format!("{:?}", p.value())).collect();
                self.log.push((session, values.join(" ")));
            }
            Request::Prepare(..) => {
                self.statements += 1;
                self.statements_max = self.statements_max.max(self.statements);
            }
            Request::CloseStatement(_) => self.statements -= 1,
            Request::Recover => self.recovered += 1,
            _ => {}
        }
        let Self {
            connections,
            scratch,
            ..
        } = self;
        let connection = connections.get_mut(id as usize)?;
        Some(match operation {
            Request::Query(sql) => connection.query(scratch, sql),
            Request::Prepare(sql, kinds) => connection.prepare(scratch, sql, kinds),
            Request::Execute(id, params) => connection.execute(scratch, id, params),
            Request::CloseStatement(id) => connection.close_statement(scratch, id),
            Request::BulkLoad(load) => connection.bulk_load(scratch, load),
            Request::Transaction(step) => connection.transaction(scratch, step),
            Request::Recover => connection.transaction(scratch, TransactionStep::Rollback),
            Request::NextResult => connection.next_result(scratch),
            Request::EndPipeline => connection.end_pipeline(scratch),
        })
    }
    fn wait(&mut self, _: SessionId, _: ConnId) {
        self.stood_still += 1;
    }
    fn connection(&mut self, _: SessionId, id: ConnId) -> Option<&mut dyn Connection> {
        self.connections
            .get_mut(id as usize)
            .map(|c| c as &mut dyn Connection)
    }
    fn disconnect(&mut self, _: SessionId, _: ConnId) {}
    fn next_event(&mut self, _: SessionId) -> Next {
        if self.events_left == 0 {
            return Next::Stop;
        }
        self.events_left -= 1;
        Next::Go
    }
    fn wait_event(&mut self, session: SessionId) -> Next {
        self.next_event(session)
    }
    fn event_start(&mut self, _: SessionId) {}
    fn event_stop(&mut self, _: SessionId) {
        self.events += 1;
    }
    fn sleep(&mut self, _: SessionId, duration_ns: u64) {
        self.slept.push_back(duration_ns);
    }
    fn wait_sleep(&mut self, _: SessionId) -> bool {
        !self.over
    }
    fn count(&mut self, _: SessionId, counter: Counter, amount: u64) {
        self.counters[counter as usize] += amount;
    }
    fn counted(&self, _: SessionId, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }
    fn error_not_ignored(&mut self, _: SessionId) {}

    fn count_retry(&mut self, _: SessionId) {
        self.retries += 1;
    }
    // Scripts have one event at a time.
    fn event_detach(&mut self, _: SessionId) -> Detached {
        Detached::default()
    }

    fn event_attach(&mut self, _: SessionId, _: Detached) {}

    fn watch(&mut self, _: SessionId, _: RawFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn operation_start(&mut self, _: SessionId, operation: OperationId) {
        self.work.push(format!("start {operation}"));
    }
    fn operation_retry(&mut self, _: SessionId) {
        self.work.push("retry".to_owned());
    }
    fn operation_stop(&mut self, _: SessionId, end: OperationEnd) {
        self.work.push(format!("{end:?}"));
    }
    fn think(&mut self, _: SessionId, duration_ns: u64) {
        self.slept.push_back(duration_ns);
    }
    fn thought(&mut self, _: SessionId) -> bool {
        self.events_left > 0
    }
}
