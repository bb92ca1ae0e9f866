//! Roles: groups of sessions with a separate behaviour, and numbers that sessions share.

use std::sync::Arc;

use dyno_core::plan::{Arrivals, OpenLoop, OptionValue, Pace, Role};
use dyno_core::session::Entry;
use dyno_script::{Host, Phase};

use crate::fake::FakePort;
use crate::{config, drive};

const SCRIPT: &str = "
    local done = dyno.shared('done', 2)
    local con
    function thread_init()
      con = sysbench.sql.driver():connect()
      local role = dyno.role()
      con:query(('I AM %s %d OF %d'):format(role.name, role.member, role.sessions))
    end
    local function insert()
      con:query('INSERT')
      done:add(5, dyno.role().member + 1)
    end
    local function look()
      con:query('LOOK ' .. done:get(1) .. ' ' .. done:get(2))
      dyno.finish()
      con:query('NEVER')
    end
    function roles()
      return {
        {name = 'insert', sessions = sysbench.opt.table_size / 5, event = insert,
         background = true, rate_per_session = 7.5, skip_after = 1},
        {name = 'nobody', sessions = 0, event = look},
        {name = 'look', sessions = 1, event = look},
      }
    end";

fn described(text: &str) -> Host {
    let mut host = Host::new(Arc::new(config(text))).unwrap();
    host.describe().unwrap();
    host.set_options(&config("").options).unwrap();
    host
}

#[test]
fn roles_are_read_when_the_options_are_known() {
    let mut host = described(SCRIPT);
    let arrivals = OpenLoop::new(7.5, Arrivals::Constant);
    let insert = Role {
        name: "insert".to_owned(),
        sessions: 2,
        background: true,
        unit: "events".to_owned(),
        per_event: 1.0,
        pace: Some(Pace {
            arrivals,
            each: true,
            skip_after_s: Some(1.0),
        }),
    };
    assert_eq!(insert.asked_per_s(), Some(15.0));
    let look = Role {
        name: "look".to_owned(),
        sessions: 1,
        background: false,
        unit: "events".to_owned(),
        per_event: 1.0,
        pace: None,
    };
    assert_eq!(host.roles(), Ok(vec![insert, look]));
    assert_eq!(described("function event() end").roles(), Ok(vec![]));
    assert_eq!(described("function roles() end").roles(), Ok(vec![]));
}

#[test]
fn callbacks_are_functions_of_one_table_and_else_globals() {
    let filled = "function dyno.callbacks.roles()
           return {{name = 'one', sessions = 1, event = function() end}} end
         function roles() error('no callback') end
         function phases() error('no callback') end";
    let mut host = described(filled);
    let description = host.description().unwrap();
    assert!(description.functions.contains(&"roles".to_owned()));
    assert!(!description.functions.contains(&"phases".to_owned()));
    assert_eq!(host.roles().unwrap()[0].name, "one");
    for (text, why) in [
        (
            "function dyno.callbacks.role() end",
            "unknown callback dyno.callbacks.role; expected one of: roles, phases",
        ),
        (
            "dyno.callbacks.ledger = 7",
            "dyno.callbacks.ledger must be a function, not number",
        ),
    ] {
        let mut host = Host::new(Arc::new(config(text))).unwrap();
        let message = host.describe().unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn each_session_runs_its_roles_events_and_sees_shared_values() {
    let mut config = config(SCRIPT);
    config.plays_roles = true;
    let mut host = Host::new(Arc::new(config)).unwrap();
    let mut log = Vec::new();
    for (session, events) in [(0, 1), (1, 2), (2, 9)] {
        let mut port = FakePort {
            events_left: events,
            ..FakePort::default()
        };
        for entry in [Entry::Init, Entry::Run] {
            drive(&mut host, &mut port, session, &entry).unwrap();
        }
        log.extend(port.log.into_iter().map(|(_, text)| text));
    }
    let expected = [
        "I AM insert 0 OF 2",
        "INSERT",
        "I AM insert 1 OF 2",
        "INSERT",
        "INSERT",
        "I AM look 0 OF 1",
        "LOOK 5 10",
    ];
    assert_eq!(log, expected);
}

#[test]
fn phases_are_read_with_their_changes() {
    let mut host = described(
        "function phases() return {
           {name = 'load', events = 30, unit = 'rows', per_event = 100,
            options = {['table-size'] = sysbench.opt.table_size * 2, step = 'i0', fast = true}},
           {name = 'rest', time = 2.5, warmup = 1, rate = 0, before = 'settle'},
           {name = 'read', rate = 7.5, before = {'vacuum', 'settle'}, undo = 'mend'}} end",
    );
    let option = |name: &str, value| (name.to_owned(), value);
    let load = Phase {
        name: "load".to_owned(),
        options: vec![
            option("fast", OptionValue::Bool(true)),
            option("step", OptionValue::Text("i0".to_owned())),
            option("table_size", OptionValue::Number(20.0)),
        ],
        events: Some(30),
        unit: "rows".to_owned(),
        per_event: 100.0,
        ..Phase::default()
    };
    let rest = Phase {
        name: "rest".to_owned(),
        time_s: Some(2.5),
        warmup_s: Some(1.0),
        rate_per_s: Some(0.0),
        before: vec!["settle".to_owned()],
        unit: "events".to_owned(),
        per_event: 1.0,
        ..Phase::default()
    };
    let read = Phase {
        name: "read".to_owned(),
        rate_per_s: Some(7.5),
        before: vec!["vacuum".to_owned(), "settle".to_owned()],
        undo: Some("mend".to_owned()),
        time_s: None,
        warmup_s: None,
        ..rest.clone()
    };
    assert_eq!(host.phases(), Ok(vec![load, rest, read]));
    assert_eq!(described("function event() end").phases(), Ok(vec![]));
    let error = |phase: &str| {
        let text = format!("function phases() return {{{phase}}} end");
        described(&text).phases().unwrap_err().to_string()
    };
    let cases = [
        ("", "must return a list"),
        ("1", "phase 1 is not a table"),
        ("{}", "the name may contain only letters"),
        ("{name = 'a', tim = 1}", "'a': there is no field 'tim'"),
        ("{name = 'a', events = 1.5}", "'events' (a whole number)"),
        ("{name = 'a', options = {x = {}}}", "'options' must map"),
        ("{name = 'a', undo = 'b'}", "'undo' needs a command"),
        (
            "{name = 'a', before = {1}}",
            "'before' must be a command's name",
        ),
        ("{name = 'a', rate = -1}", "'rate' must be from 0"),
        ("{name = 'a'}, {name = 'a'}", "there are two 'a'"),
    ];
    for (phase, words) in cases {
        let message = error(phase);
        assert!(message.contains(words), "{phase}: {message}");
    }
}

#[test]
fn reports_bad_roles_by_name() {
    let error = |role: &str| {
        let text = format!("local function f() end function roles() return {{{role}}} end");
        described(&text).roles().unwrap_err().to_string()
    };
    let cases = [
        ("3", "role 1 is not a table"),
        (
            "{sessions = 1, event = f}",
            "the name may contain only letters",
        ),
        (
            "{name = 'a', sessions = 1.5, event = f}",
            "'a': 'sessions' must be a whole number",
        ),
        (
            "{name = 'a', sessions = 1}",
            "'a': 'event' must be a function",
        ),
        (
            "{name = 'a', sessions = 1, event = f, rat = 1}",
            "there is no field 'rat'",
        ),
        (
            "{name = 'a', sessions = 1, event = f, rate = 0}",
            "the rate must be above 0",
        ),
        (
            "{name = 'a', sessions = 1, event = f, skip_after = 1}",
            "need a rate",
        ),
        (
            "{name = 'a', sessions = 0, event = f}",
            "no role has sessions",
        ),
        (
            "{name = 'a', sessions = 1, event = f}, {name = 'a', sessions = 1, event = f}",
            "there are two 'a'",
        ),
    ];
    for (role, words) in cases {
        let message = error(role);
        assert!(message.contains(words), "{role}: {message}");
        assert!(!message.contains("traceback"), "{message}");
    }
}

#[test]
fn bounds_the_memory_that_a_script_requests() {
    for (call, expected) in [
        (
            "dyno.shared('a', 1e12)",
            "no room for 'a' of 1000000000000 numbers",
        ),
        (
            "dyno.shared('a', 10e6) dyno.shared('b', 10e6)",
            "no room for 'b'",
        ),
        ("dyno.deck({{'x', 1e12}})", "at most 1000000 cards"),
        (
            "dyno.random:text(1e12)",
            "the length must be from 0 to 268435456",
        ),
        ("sysbench.rand.varstring(1, 4e9)", "0 < max <= 268435456"),
        (
            "dyno.loader({}, 't', {'a'}):random(dyno.random, 1, 4e9)",
            "at most",
        ),
    ] {
        let (result, _) = crate::run(&format!("function event() {call} end"), 1);
        let why = result.unwrap_err();
        assert!(why.contains(expected), "{call}: {why}");
    }
}
