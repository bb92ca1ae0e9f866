//! The host with a fake worker: what scripts see, and what they ask of the worker.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod fake;
mod globals;
mod operations;
mod options;
mod reported;
mod roles;

use std::sync::Arc;

use dyno_core::plan::{OptionValue, RandPlan};
use dyno_core::session::{Counter, Entry, Program, Step};
use dyno_script::{Barrier, Declared, Description, Host, HostConfig, Prints, Source};

use fake::FakePort;

fn config(text: &str) -> HostConfig {
    HostConfig {
        source: Source {
            name: Some("test.lua".to_owned()),
            path: "test.lua".to_owned(),
            text: text.into(),
        },
        builtins: &[(
            "helper",
            "local M = { n = 0 }; function M.inc() M.n = M.n + 1; return M.n end; return M",
        )],
        options: vec![("table-size".to_owned(), OptionValue::Number(10.0))],
        argv: vec!["dyno".to_owned()],
        command: Some("run".to_owned()),
        seed: 1,
        stream_base: 0,
        rand: RandPlan::default(),
        driver_name: Some("mysql"),
        percentile: 95.0,
        ignored_errors: vec!["1213".to_owned()],
        reconnect_lost: false,
        emulate_prepared: false,
        luajit_cmd: None,
        prints: Prints::Output,
        sysbench: false,
        barrier: Arc::new(Barrier::new(1)),
        progress: Arc::default(),
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
        log: |_, _| {},
    }
}

fn host(text: &str) -> Host {
    Host::new(Arc::new(config(text))).unwrap()
}

fn drive(
    host: &mut Host,
    port: &mut FakePort,
    session: usize,
    entry: &Entry,
) -> Result<(), String> {
    host.enter(session, session as u32, entry)?;
    for _ in 0..100_000 {
        match host.resume(port, session) {
            Step::Finished => return Ok(()),
            Step::Failed(message) => return Err(message),
            Step::Waiting | Step::Yielded => {}
        }
    }
    panic!("the session does not end");
}

fn run(text: &str, events: u32) -> (Result<(), String>, FakePort) {
    let mut host = host(text);
    let mut port = FakePort {
        events_left: events,
        ..FakePort::default()
    };
    let result = drive(&mut host, &mut port, 0, &Entry::Init)
        .and_then(|()| drive(&mut host, &mut port, 0, &Entry::Run));
    (result, port)
}

const CONNECT: &str =
    "function thread_init() drv = sysbench.sql.driver(); con = drv:connect() end\n";

#[test]
fn reads_the_declarations_of_a_script() {
    let mut host = host(
        "assert(sysbench.opt == nil)
         sysbench.cmdline.options = { tables = {'how many', 1}, ['no-x'] = {'x', false},
           size = {'s', 5, sysbench.cmdline.ARG_INT}, names = {'n', {'a', 'b'}} }
         local parallel = sysbench.cmdline.PARALLEL_COMMAND
         sysbench.cmdline.commands = { prepare = {function() end, parallel},
           bad = 'no', warm = {function() end} }
         function event() end
         function sysbench.hooks.report_intermediate() end",
    );
    let Description {
        options,
        commands,
        functions,
        declared,
        modules,
        hooks,
    } = host.describe().unwrap();
    let options: Vec<String> = options
        .unwrap()
        .iter()
        .map(|o| format!("{} {:?} {:?}", o.name, o.kind, o.default))
        .collect();
    assert_eq!(
        options,
        [
            "names List Some(\"a,b\")",
            "no-x Bool Some(\"off\")",
            "size Int Some(\"5\")",
            "tables Double Some(\"1\")"
        ]
    );
    assert_eq!(
        commands,
        [("prepare".to_owned(), true), ("warm".to_owned(), false)]
    );
    assert_eq!(functions, ["event"]);
    assert_eq!(hooks, ["report_intermediate"]);
    assert_eq!(declared, Declared::default());
    assert_eq!(modules, []);
}

#[test]
fn events_run_until_the_worker_stops_them() {
    let (result, port) = run("function event() n = (n or 0) + 1 end", 1000);
    assert_eq!(result, Ok(()));
    assert_eq!(port.events, 1000);
}

#[test]
fn an_event_that_returns_a_value_ends_its_session() {
    let (result, port) = run("function event() n = (n or 0) + 1; return n == 3 end", 1000);
    assert_eq!(result, Ok(()));
    assert_eq!(port.events, 2);
}

#[test]
fn statements_wait_and_answer() {
    let script = format!(
        "{CONNECT}
         function event()
           local rs = con:query('SELECT 1')
           assert(rs.nrows == 1 and rs.nfields == 2)
           local row = rs:fetch_row()
           assert(row[1] == 'SELECT 1' and row[2] == nil and rs:fetch_row() == nil)
           local none = con:query('UPDATE t')
           assert(none == nil and tostring(none) == '<sql_result>')
           assert(not pcall(function() return none.nrows end))
           assert(con:query_row('SELECT x') == 'SELECT x')
           local st = con:prepare('SELECT ? ? ?')
           local a = st:bind_create(sysbench.sql.type.INT)
           local b = st:bind_create(sysbench.sql.type.VARCHAR, 3)
           local c = st:bind_create(sysbench.sql.type.DOUBLE)
           st:bind_param(a, b, c)
           a:set(7.9); b:set('abcdef'); c:set(0.5)
           assert(st:execute():fetch_row()[1] == 'SELECT 7 abc 0.5')
           a:set(nil)
           assert(st:execute():fetch_row()[1] == 'SELECT null abc 0.5')
           st:close()
           assert(not pcall(st.execute, st))
         end"
    );
    let (result, port) = run(&script, 300);
    assert_eq!(result, Ok(()));
    assert_eq!(port.events, 300);
}

#[test]
fn waiting_passes_through_the_scripts_own_coroutines_and_protected_calls() {
    let script = format!(
        "{CONNECT}
         function event()
           local seen = {{}}
           local co = coroutine.wrap(function()
             for i = 1, 3 do coroutine.yield(con:query_row('SELECT ' .. i)) end
           end)
           assert(co() == 'SELECT 1' and co() == 'SELECT 2')
           local ok, value = pcall(function() return con:query_row('SELECT p') end)
           assert(ok and value == 'SELECT p')
           local t = {{2, 1}}
           table.sort(t, function(a, b) con:query('SELECT s') return a < b end)
           assert(t[1] == 1)
         end"
    );
    let (result, port) = run(&script, 50);
    assert_eq!(result, Ok(()));
    assert_eq!(port.events, 50);
    // Only the comparison of `table.sort` blocks the worker.
    assert_eq!(port.stood_still, 50);
}

#[test]
fn ignorable_errors_repeat_the_event() {
    let script = format!(
        "{CONNECT}
         local tries = 0
         function sysbench.hooks.before_restart_event(err) hooked = err.sql_errno end
         function event()
           tries = tries + 1
           if tries % 3 == 0 then con:query('FAIL 1213') end
           if tries > 3 then assert(hooked == 1213) end
         end"
    );
    let (result, port) = run(&script, 20);
    assert_eq!(result, Ok(()));
    assert_eq!(port.events, 20);
    assert_eq!(port.retries, 9);
    assert_eq!(port.counters[Counter::Error as usize], 9);
}

/// The statements sent when an event is repeated after an ignored error.
fn repeated(body: &str, driver: &'static str) -> Vec<String> {
    let mut config = config(&format!("{CONNECT}local tries = 0\n{body}"));
    config.driver_name = Some(driver);
    let mut host = Host::new(Arc::new(config)).unwrap();
    let mut port = FakePort {
        events_left: 1,
        ..FakePort::default()
    };
    drive(&mut host, &mut port, 0, &Entry::Init).unwrap();
    drive(&mut host, &mut port, 0, &Entry::Run).unwrap();
    let sent = port.log.into_iter().map(|(_, text)| text);
    sent.chain([format!("{} recovered", port.recovered)])
        .collect()
}

#[test]
fn a_transaction_is_rolled_back_once_before_its_event_is_repeated() {
    const EVENT: &str = "function event() tries = tries + 1; con:query('BEGIN')
        if tries == 1 then con:query('FAIL 1213') end con:query('COMMIT') end";
    let hooked = |hook: &str| {
        let hook = format!("function sysbench.hooks.before_restart_event() {hook} end\n{EVENT}");
        let sent = repeated(&hook, "mysql");
        sent.last().unwrap().clone()
    };
    assert_eq!(hooked(""), "1 recovered");
    assert_eq!(hooked("con:query('SELECT 1')"), "1 recovered");
    assert_eq!(hooked("con:query('rollback to here')"), "1 recovered");
    assert_eq!(hooked("con:query(' Rollback')"), "0 recovered");
    assert_eq!(hooked("con:prepare('ROLLBACK'):execute()"), "0 recovered");
    // A script that catches the error ends its transaction itself.
    let caught = "function event() con:query('BEGIN') pcall(con.query, con, 'FAIL 1213')
        con:query('COMMIT') end";
    let sent = ["BEGIN", "FAIL 1213", "COMMIT", "0 recovered"];
    assert_eq!(repeated(caught, "mysql"), sent);
    // PostgreSQL accepts nothing else before it.
    let sent = repeated(EVENT, "pgsql");
    assert_eq!(sent.last().unwrap(), "1 recovered");
}

#[test]
fn bounds_above_32_bits_are_drawn_from_whole_or_refused() {
    let (result, _) = run(
        "function event()
           local rand = sysbench.rand
           local names = { 'uniform', 'default', 'gaussian', 'special', 'pareto', 'zipfian' }
           for _, name in ipairs(names) do
             local above, most = 0, 0
             for _ = 1, 4000 do
               local drawn = rand[name](1, 34e9)
               assert(drawn >= 1 and drawn <= 34e9 and drawn % 1 == 0, name)
               above = above + (drawn > 2 ^ 32 and 1 or 0)
               most = math.max(most, drawn)
             end
             if name == 'uniform' or name == 'default' then
               assert(above > 3400 and above < 3600, name .. above)
             end
             assert(most > 2 ^ 32, name)
             for _, bad in ipairs { 2 ^ 54, 1 / 0, 0 / 0 } do
               local ok, why = pcall(rand[name], 1, bad)
               assert(not ok and why:find('bounds must be from 0 to 2^53', 1, true), why)
             end
             assert(not pcall(rand[name], -1, 34e9))
           end
           assert(sb_rand_uniform(5e9, 5e9) == 5e9)
           assert(rand.uniform(5000000000ULL, 5000000000ULL) == 5e9)
           assert(rand.uniform(7.9, 4294967295) <= 4294967295)
           assert(not pcall(sb_rand_uniq, 1, 34e9))
           return true
         end",
        1,
    );
    assert_eq!(result, Ok(()));
}

#[test]
fn other_errors_end_the_run_with_the_servers_words() {
    let (result, _) = run(
        &format!("{CONNECT} function event() con:query('FAIL 1064') end"),
        5,
    );
    let message = result.unwrap_err();
    assert!(
        message.contains("errno = 1064") && message.contains("as you wished"),
        "{message}"
    );
    let (result, _) = run("function event() error('mine') end", 5);
    assert_eq!(result.unwrap_err(), "test.lua:1: mine");
    let (result, _) = run("function event() error({}) end", 5);
    assert_eq!(result.unwrap_err(), "(not a string)");
}

#[test]
fn a_hook_can_make_an_error_ignorable() {
    let script = format!(
        "{CONNECT}
         function sysbench.hooks.sql_error_ignorable(err) return err.sql_errno == 1064 end
         function event() n = (n or 0) + 1; if n == 2 then con:query('FAIL 1064') end end"
    );
    let (result, port) = run(&script, 5);
    assert_eq!((result, port.events, port.retries), (Ok(()), 5, 1));
}

#[test]
fn sessions_have_their_own_globals_and_modules() {
    let mut host = host(
        "counter = 0
         local helper = require('helper')
         function event()
           counter = counter + 1
           assert(helper.inc() == counter and require('helper') == helper)
           assert(_G.counter == counter and getfenv(0).counter == counter)
           assert(loadstring('return counter')() == counter)
           sysbench.opt['table_size'] = sysbench.tid
         end
         function thread_done()
           assert(sysbench.opt.table_size == sysbench.tid)
           total = counter
         end",
    );
    let mut port = FakePort::default();
    for session in 0..3 {
        drive(&mut host, &mut port, session, &Entry::Init).unwrap();
    }
    for session in [0, 1, 2, 0, 2] {
        port.events_left = 100;
        drive(&mut host, &mut port, session, &Entry::Run).unwrap();
    }
    for session in 0..3 {
        drive(&mut host, &mut port, session, &Entry::Done).unwrap();
    }
    assert_eq!(port.events, 500);
}

#[test]
fn an_overridden_thread_run_reaches_sysbenchs_c_symbols() {
    let script = "ffi.cdef[[
         typedef enum { SB_CNT_OTHER, SB_CNT_READ, SB_CNT_WRITE, SB_CNT_TRX,
           SB_CNT_ERROR } sb_counter_type;
         void sb_counter_inc(int, sb_counter_type);
         int usleep(unsigned int);
         ]]
         function thread_run(tid)
           while ffi.C.sb_more_events(tid) do
             ffi.C.sb_event_start(tid)
             ffi.C.sb_counter_inc(sysbench.tid, ffi.C.SB_CNT_ERROR)
             ffi.C.usleep(1500)
             ffi.C.sb_event_stop(tid)
           end
         end";
    let (result, port) = run(script, 4);
    assert_eq!((result, port.events), (Ok(()), 4));
    assert_eq!(port.counters[Counter::Error as usize], 4);
    assert_eq!(port.slept, [1_500_000; 4]);
}

#[test]
fn legacy_scripts_run() {
    let script = "function event(thread_id)
           assert(table_size == 10 and test == 'test.lua')
           db_query('SELECT ' .. sb_rand(1, 10))
           local params = { 1, 'x' }
           st = st or db_prepare('SELECT ? ?')
           db_bind_param(st, params)
           params[1] = 5
           assert(db_execute(st):fetch_row()[1] == 'SELECT 5 x')
           assert(#sb_rand_str('##@@') == 4)
         end";
    let (result, port) = run(script, 10);
    assert_eq!((result, port.events), (Ok(()), 10));
}

#[test]
fn random_streams_follow_seed_and_session() {
    let draws = |seed: u64, tid: u32| {
        let mut config =
            config("function thread_init() error(sysbench.rand.uniform(1, 1000000000)) end");
        config.seed = seed;
        let mut host = Host::new(Arc::new(config)).unwrap();
        host.enter(0, tid, &Entry::Init).unwrap();
        match host.resume(&mut FakePort::default(), 0) {
            Step::Failed(message) => message,
            step => panic!("{step:?}"),
        }
    };
    assert_eq!(draws(1, 1), draws(1, 1));
    assert_ne!(draws(1, 1), draws(1, 2));
    assert_ne!(draws(1, 1), draws(2, 1));
}

#[test]
fn bulk_loads_and_bulk_inserts_reach_the_connection() {
    let script = format!(
        "{CONNECT}
         function event()
           local rows = dyno.bulk_load(con, {{ table = 't', columns = {{'id', 'c'}}, rows = 2500,
             generate = {{ {{'sequence'}}, {{'pattern', '###-@@'}} }} }})
           assert(rows == 2500)
           assert(not pcall(dyno.bulk_load, con, {{ table = 't' }}))
           con:bulk_insert_init('INSERT INTO t VALUES')
           for i = 1, 3 do con:bulk_insert_next('(' .. i .. ')') end
           con:bulk_insert_done()
           assert(not pcall(con.bulk_insert_next, con, '(1)'))
         end"
    );
    let (result, port) = run(&script, 3);
    assert_eq!((result, port.events), (Ok(()), 3));
}

#[test]
fn syntax_errors_are_the_users_own() {
    let message = host("function event(\n  end end").describe().unwrap_err();
    assert!(message.starts_with("test.lua:2:"), "{message}");
}
