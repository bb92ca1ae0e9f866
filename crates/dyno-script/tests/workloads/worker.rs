//! A worker whose statements go to a real SQLite file, and a way to run the built-in workloads.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::RawFd;
use std::path::Path;
use std::sync::Arc;

use dyno_core::Target;
use dyno_core::db::{
    Connection, Connector, DbError, OutcomeKind, ParamValue, Scratch, StatementId, Submitted,
    TransactionStep,
};
use dyno_core::plan::{OptionValue, RandPlan};
use dyno_core::session::{
    ConnId, Counter, Detached, Entry, Next, OperationEnd, OperationId, Port, Program, Request,
    SessionId, Step,
};
use dyno_script::{Barrier, Builtins, Host, HostConfig, LoadProgress, Prints, find};

macro_rules! workloads {
    ($($name:literal),*) => {
        &[$(($name, include_str!(concat!("../../../../workloads/", $name, ".lua")))),*]
    };
}

const WORKLOADS: Builtins = workloads![
    "bulk_insert",
    "foreign_keys",
    "insert_benchmark",
    "insert_benchmark_common",
    "insert_benchmark_plans",
    "insert_benchmark_rest",
    "linkbench",
    "linkbench_check",
    "linkbench_common",
    "linkbench_load",
    "linkbench_operations",
    "many_tables",
    "many_tables_common",
    "many_tables_guard",
    "many_tables_ladder",
    "many_tables_law",
    "many_tables_space",
    "many_tables_state",
    "many_tables_steps",
    "oltp_common",
    "oltp_delete",
    "oltp_fair",
    "oltp_insert",
    "oltp_load",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "pgbench_common",
    "pgbench_load",
    "select_random_points",
    "select_random_ranges",
    "tpcb",
    "tpcc",
    "tpcc_check",
    "tpcc_common",
    "tpcc_dataset",
    "tpcc_load",
    "tpcc_purge",
    "tpcc_reference",
    "tpcc_transactions"
];

/// A worker whose statements go to a real SQLite file.
pub(crate) struct SqlitePort {
    connector: Arc<dyn Connector>,
    pub(crate) connections: BTreeMap<(SessionId, ConnId), Box<dyn Connection>>,
    pub(crate) opened: u32,
    scratch: Scratch,
    events_left: u32,
    /// The events left per session, if not counted for all together.
    left: Option<BTreeMap<SessionId, u32>>,
    prepared: BTreeMap<(ConnId, StatementId), String>,
    /// Executed prepared statements: session, text, parameters.
    pub(crate) executed: Vec<(SessionId, String, Vec<String>)>,
    /// Think times, in nanoseconds.
    pub(crate) thoughts: Vec<u64>,
    work: BTreeMap<SessionId, OperationId>,
    /// The operations that ended, and how.
    pub(crate) ends: Vec<(OperationId, OperationEnd)>,
    pub(crate) counters: [u64; Counter::COUNT],
}

impl SqlitePort {
    fn new(file: &Path, events: u32) -> Self {
        let target = Target::parse(&format!("sqlite:{}", file.display())).unwrap();
        Self {
            connector: dyno_drivers::connector(&target).unwrap(),
            connections: BTreeMap::new(),
            opened: 0,
            scratch: Scratch::default(),
            events_left: events,
            left: None,
            prepared: BTreeMap::new(),
            executed: Vec::new(),
            thoughts: Vec::new(),
            work: BTreeMap::new(),
            ends: Vec::new(),
            counters: [0; Counter::COUNT],
        }
    }

    /// Reads, writes and others.
    pub(crate) fn statements(&self) -> [u64; 3] {
        [Counter::Read, Counter::Write, Counter::Other].map(|c| self.counters[c as usize])
    }
}

impl Port for SqlitePort {
    fn connect(&mut self, session: SessionId) -> Result<(ConnId, Submitted), DbError> {
        let mut connection = self.connector.connect(u64::from(self.opened))?;
        assert_eq!(connection.advance(&mut self.scratch), Submitted::Ready);
        let id = self.opened;
        self.opened += 1;
        self.connections.insert((session, id), connection);
        Ok((id, Submitted::Ready))
    }

    fn submit(
        &mut self,
        session: SessionId,
        id: ConnId,
        operation: Request<'_>,
    ) -> Option<Submitted> {
        let connection = self.connections.get_mut(&(session, id))?;
        let scratch = &mut self.scratch;
        let prepares = match &operation {
            Request::Prepare(sql, _) => Some(String::from_utf8_lossy(sql).into_owned()),
            Request::Execute(statement, params) => {
                let text = self.prepared.get(&(id, *statement)).cloned();
                let params = params.iter().map(|param| value(param.value())).collect();
                self.executed
                    .push((session, text.unwrap_or_default(), params));
                None
            }
            _ => None,
        };
        let counts = matches!(
            operation,
            Request::Query(_) | Request::Transaction(_) | Request::Execute(..)
        );
        let submitted = match operation {
            Request::Query(sql) => connection.query(scratch, sql),
            Request::Prepare(sql, kinds) => connection.prepare(scratch, sql, kinds),
            Request::Execute(id, params) => connection.execute(scratch, id, params),
            Request::CloseStatement(id) => connection.close_statement(scratch, id),
            Request::BulkLoad(load) => connection.bulk_load(scratch, load),
            Request::Transaction(step) => connection.transaction(scratch, step),
            Request::Recover => connection.transaction(scratch, TransactionStep::Rollback),
            Request::NextResult => connection.next_result(scratch),
            Request::EndPipeline => connection.end_pipeline(scratch),
        };
        let outcome = connection.outcome();
        if let Some(text) = prepares {
            self.prepared.insert((id, outcome.statement), text);
        }
        let counter = match outcome.kind {
            OutcomeKind::Rows => Counter::Read,
            OutcomeKind::Done if outcome.affected > 0 => Counter::Write,
            _ => Counter::Other,
        };
        self.counters[counter as usize] += u64::from(counts);
        Some(submitted)
    }

    fn wait(&mut self, _: SessionId, _: ConnId) {}

    fn connection(&mut self, session: SessionId, id: ConnId) -> Option<&mut dyn Connection> {
        let connection = self.connections.get_mut(&(session, id))?;
        Some(connection.as_mut())
    }

    fn disconnect(&mut self, session: SessionId, id: ConnId) {
        self.connections.remove(&(session, id));
    }

    fn next_event(&mut self, session: SessionId) -> Next {
        if let Some(left) = &mut self.left {
            let left = left.entry(session).or_insert(self.events_left);
            *left = match left.checked_sub(1) {
                Some(left) => left,
                None => return Next::Stop,
            };
            return Next::Go;
        }
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
        self.counters[Counter::Event as usize] += 1;
    }

    fn sleep(&mut self, _: SessionId, _: u64) {}

    fn wait_sleep(&mut self, _: SessionId) -> bool {
        true
    }

    fn count(&mut self, _: SessionId, counter: Counter, amount: u64) {
        self.counters[counter as usize] += amount;
    }

    fn counted(&self, _: SessionId, counter: Counter) -> u64 {
        self.counters[counter as usize]
    }

    fn error_not_ignored(&mut self, _: SessionId) {}

    fn count_retry(&mut self, _: SessionId) {}

    // Scripts have one event at a time.
    fn event_detach(&mut self, _: SessionId) -> Detached {
        Detached::default()
    }

    fn event_attach(&mut self, _: SessionId, _: Detached) {}

    fn watch(&mut self, _: SessionId, _: RawFd) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn operation_start(&mut self, session: SessionId, operation: OperationId) {
        self.work.insert(session, operation);
    }

    fn operation_retry(&mut self, _: SessionId) {}

    fn operation_stop(&mut self, session: SessionId, end: OperationEnd) {
        if let Some(&operation) = self.work.get(&session) {
            self.ends.push((operation, end));
        }
    }

    fn think(&mut self, _: SessionId, duration_ns: u64) {
        self.thoughts.push(duration_ns);
    }

    fn thought(&mut self, _: SessionId) -> bool {
        true
    }
}

fn value(value: ParamValue<'_>) -> String {
    match value {
        ParamValue::Null => "NULL".to_owned(),
        ParamValue::Int(number) => number.to_string(),
        ParamValue::Double(number) => number.to_string(),
        ParamValue::Bytes(text) => String::from_utf8_lossy(text).into_owned(),
    }
}

/// A workload with options, as on a command line.
pub(crate) struct Workload<'a> {
    pub(crate) name: &'a str,
    pub(crate) sessions: u32,
    pub(crate) options: &'a [(&'a str, &'a str)],
}

impl Workload<'_> {
    fn config(
        &self,
        options: Vec<(String, OptionValue)>,
        progress: Arc<LoadProgress>,
    ) -> HostConfig {
        HostConfig {
            source: find(self.name, WORKLOADS).unwrap(),
            builtins: WORKLOADS,
            options,
            argv: vec!["dyno".to_owned()],
            command: Some("run".to_owned()),
            seed: 5,
            stream_base: 0,
            rand: RandPlan::default(),
            driver_name: Some("sqlite"),
            percentile: 95.0,
            ignored_errors: Vec::new(),
            reconnect_lost: false,
            emulate_prepared: false,
            luajit_cmd: None,
            prints: Prints::Output,
            sysbench: false,
            barrier: Arc::new(Barrier::new(self.sessions)),
            progress,
            unique: Arc::default(),
            unique_step: 1,
            driver_used: Arc::default(),
            script_failed: Arc::default(),
            database_errors: Arc::default(),
            declared: None,
            plays_roles: false,
            canned: false,
            shared: Arc::default(),
            ledger: Arc::default(),
            reported: Arc::default(),
            // Log messages are in the error as well.
            log: |_, _| {},
        }
    }

    /// The statements of its templates for a family.
    pub(crate) fn statements(&self, family: &str) -> String {
        let mut host = Host::new(Arc::new(self.config(Vec::new(), Arc::default()))).unwrap();
        host.describe().unwrap();
        host.statements(family).unwrap().unwrap()
    }

    fn options(&self) -> Vec<(String, OptionValue)> {
        let mut host = Host::new(Arc::new(self.config(Vec::new(), Arc::default()))).unwrap();
        let declared = host.describe().unwrap().options.unwrap_or_default();
        for (name, _) in self.options {
            assert!(
                declared.iter().any(|option| option.key() == *name),
                "no option {name}"
            );
        }
        let mut values: Vec<(String, OptionValue)> = declared
            .iter()
            .map(|option| {
                let given = self.options.iter().find(|(name, _)| *name == option.key());
                (
                    option.key(),
                    option.value(given.map(|(_, value)| Some(*value))).unwrap(),
                )
            })
            .collect();
        values.push((
            "threads".to_owned(),
            OptionValue::Number(f64::from(self.sessions)),
        ));
        values
    }

    /// Runs the entries one after another, each in this number of concurrent sessions.
    pub(crate) fn enter(
        &self,
        file: &Path,
        events: u32,
        entries: &[Entry],
        sessions: u32,
    ) -> SqlitePort {
        self.try_enter(file, events, entries, sessions, Arc::default())
            .unwrap()
    }

    pub(crate) fn try_enter(
        &self,
        file: &Path,
        events: u32,
        entries: &[Entry],
        sessions: u32,
        progress: Arc<LoadProgress>,
    ) -> Result<SqlitePort, String> {
        let tids: Vec<u32> = (0..sessions).collect();
        let port = SqlitePort::new(file, events);
        self.drive(port, entries, &tids, progress)
    }

    /// Runs this number of events in each of these sessions of the workload.
    pub(crate) fn run_each(&self, file: &Path, events: u32, tids: &[u32]) -> SqlitePort {
        let mut port = SqlitePort::new(file, events);
        port.left = Some(BTreeMap::new());
        let entries = [Entry::Init, Entry::Run, Entry::Done];
        self.drive(port, &entries, tids, Arc::default()).unwrap()
    }

    fn drive(
        &self,
        mut port: SqlitePort,
        entries: &[Entry],
        tids: &[u32],
        progress: Arc<LoadProgress>,
    ) -> Result<SqlitePort, String> {
        let mut config = self.config(self.options(), progress);
        if let Some(Entry::Command(name)) = entries.first() {
            config.command = Some(name.clone());
        }
        let mut host = Host::new(Arc::new(config)).unwrap();
        for entry in entries {
            for (session, &tid) in tids.iter().enumerate() {
                host.enter(session, tid, entry)?;
            }
            let mut running: Vec<usize> = (0..tids.len()).collect();
            while !running.is_empty() {
                for session in std::mem::take(&mut running) {
                    match host.resume(&mut port, session) {
                        Step::Finished => {}
                        Step::Failed(message) => return Err(message),
                        Step::Waiting | Step::Yielded => running.push(session),
                    }
                }
            }
        }
        Ok(port)
    }

    pub(crate) fn command(&self, file: &Path, command: &str) -> SqlitePort {
        self.enter(
            file,
            0,
            &[Entry::Command(command.to_owned())],
            self.sessions,
        )
    }

    pub(crate) fn run(&self, file: &Path, events: u32) -> SqlitePort {
        self.enter(
            file,
            events,
            &[Entry::Init, Entry::Run, Entry::Done],
            self.sessions,
        )
    }

    /// A command that is not parallel runs in one session.
    pub(crate) fn cleanup(&self, file: &Path) -> SqlitePort {
        self.enter(file, 0, &[Entry::Command("cleanup".to_owned())], 1)
    }
}
