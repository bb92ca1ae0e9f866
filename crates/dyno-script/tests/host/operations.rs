//! Operations: retried, given up, or with an unknown fate.

use std::sync::Arc;

use dyno_core::session::Entry;
use dyno_script::{Declared, Host, HostConfig};

use crate::fake::FakePort;
use crate::{config, drive};

/// Runs `event` this number of times in a script with an operation `pay` and a connection.
fn worked(event: &str, events: u32) -> (Result<(), String>, FakePort, Host) {
    worked_with(event, events, |_| {})
}

fn worked_with(
    event: &str,
    events: u32,
    change: impl FnOnce(&mut HostConfig),
) -> (Result<(), String>, FakePort, Host) {
    let script = format!(
        "local pay = dyno.operation('pay', {{tries = 3}})
         local look = dyno.operation('look', {{read_only = true}})
         local paid = dyno.sum('paid')
         local con, n
         function thread_init() con = sysbench.sql.driver():connect(); n = 0 end
         function event() n = n + 1 {event} end"
    );
    let mut config = config(&script);
    change(&mut config);
    let mut host = Host::new(Arc::new(config)).unwrap();
    let mut port = FakePort {
        events_left: events,
        ..FakePort::default()
    };
    let result = drive(&mut host, &mut port, 0, &Entry::Init)
        .and_then(|()| drive(&mut host, &mut port, 0, &Entry::Run));
    (result, port, host)
}

fn statements(port: &FakePort) -> Vec<&str> {
    port.log.iter().map(|(_, text)| text.as_str()).collect()
}

#[test]
fn a_transaction_is_repeated_with_the_same_arguments() {
    let (result, port, host) = worked(
        "local tries = 0
         local kept = pay:transaction(con, function(amount)
           tries = tries + 1
           con:query('UPDATE ' .. amount)
           if tries < 3 then con:query('FAIL 1213') end
           paid:add(amount)
         end, 7)
         assert(kept == true)",
        1,
    );
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "retry", "retry", "Done"]);
    assert_eq!(port.stood_still, 0, "other sessions run meanwhile");
    let tried = ["BEGIN", "UPDATE 7", "FAIL 1213"];
    let again = statements(&port);
    assert_eq!(again[..3], tried);
    assert_eq!(again[3..6], tried);
    assert_eq!(again[6..], ["BEGIN", "UPDATE 7", "COMMIT"]);
    assert_eq!(port.events, 1);
    // Earlier attempts left nothing in the ledger.
    let ledger = host_ledger(host);
    assert_eq!(ledger, [(7, 7)]);
}

/// The sums of the host's sessions, which they hand over when they end.
fn host_ledger(host: Host) -> Vec<(i128, i128)> {
    let ledger = host.shared_ledger();
    drop(host);
    ledger.sums().iter().map(dyno_script::Sum::bounds).collect()
}

#[test]
fn work_is_given_up_after_its_last_try() {
    let (result, port, host) = worked(
        "local kept = pay:transaction(con, function() paid:add(1) con:query('FAIL 1205') end)
         assert(kept == nil)",
        2,
    );
    assert_eq!(result, Ok(()));
    let once = ["start 0", "retry", "retry", "GivenUp"];
    assert_eq!(port.work, [once, once].concat());
    assert_eq!(port.events, 2, "the session goes on");
    assert_eq!(host_ledger(host), []);
}

#[test]
fn a_requested_rollback_is_not_an_error() {
    let (result, port, host) = worked(
        "local kept = pay:transaction(con, function() paid:add(1) return dyno.ROLLBACK end)
         assert(kept == false)",
        1,
    );
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "RolledBack"]);
    assert_eq!(statements(&port), ["BEGIN", "ROLLBACK"]);
    assert_eq!(host_ledger(host), []);
}

#[test]
fn an_error_that_another_try_does_not_mend_ends_the_session() {
    // Although sysbench's ignored errors would include it.
    let (result, port, _) = worked_with(
        "pay:transaction(con, function() con:query('FAIL 1062') end)",
        1,
        |config| config.ignored_errors.push("1062".to_owned()),
    );
    let message = result.unwrap_err();
    assert!(message.contains("1062"), "{message}");
    assert_eq!(port.work, ["start 0", "GivenUp"]);
    // A script that catches it continues, and the operation still counts as given up.
    let caught =
        "assert(not pcall(pay.transaction, pay, con, function() con:query('FAIL 1146') end))";
    let (result, port, _) = worked(caught, 2);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "GivenUp", "start 0", "GivenUp"]);
    // An individual statement that the server refuses was not committed.
    let refused = "pay:run(con, function() con:query('FAIL 1142') paid:add(3) end)";
    let (result, port, host) = worked(refused, 1);
    result.unwrap_err();
    assert_eq!(port.work, ["start 0", "GivenUp"]);
    assert_eq!(host_ledger(host), []);
    // Earlier individual statements may have been committed.
    let (result, port, host) = worked(
        "pay:run(con, function() paid:add(3) con:query('FAIL 1146') end)",
        1,
    );
    result.unwrap_err();
    assert_eq!(port.work, ["start 0", "Unknown"]);
    assert_eq!(host_ledger(host), [(0, 3)]);
}

#[test]
fn the_declared_policy_handles_duplicate_keys() {
    let work = |policy: &str| {
        format!(
            "work = work or dyno.operation('pay', {{tries = 3, duplicate_key = '{policy}'}})
             local kept = work:transaction(con, function() paid:add(1) con:query('FAIL 1062') end)
             assert(kept == nil)"
        )
    };
    let (result, port, host) = worked(&work("retry"), 1);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "retry", "retry", "GivenUp"]);
    assert_eq!(host_ledger(host), []);
    let (result, port, host) = worked(&work("ignore"), 2);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "Duplicate", "start 0", "Duplicate"]);
    assert_eq!(host_ledger(host), []);
    let (result, port, _) = worked(&work("fail"), 1);
    let message = result.unwrap_err();
    assert!(message.contains("1062"), "{message}");
    assert_eq!(port.work, ["start 0", "GivenUp"]);
    let (result, _, _) = worked(&work("skip"), 1);
    let message = result.unwrap_err();
    assert!(message.contains("fail, retry or ignore"), "{message}");
}

#[test]
fn reports_an_event_that_a_script_repeats() {
    let (result, port, _) = worked("dyno.repeat_event()", 2);
    assert_eq!(result, Ok(()));
    assert_eq!((port.events, port.retries), (2, 2));
}

#[test]
fn work_is_unknown_if_its_connection_is_lost_during_the_commit() {
    let lost = "local kept = pay:run(con, function() paid:add(5) con:query('FAIL 2013') end)
                assert(kept == nil)";
    let (result, port, host) = worked_with(lost, 1, |config| config.reconnect_lost = true);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "Unknown"]);
    assert_eq!(host_ledger(host), [(0, 5)]);

    // A transaction before its commit is certainly lost.
    let before = "pay:transaction(con, function() if n == 1 then n = 2 con:query('FAIL 2013') end \
                  paid:add(5) end)";
    let (result, port, host) = worked_with(before, 1, |config| config.reconnect_lost = true);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 0", "retry", "Done"]);
    assert_eq!(host_ledger(host), [(5, 5)]);

    // Reading again does no harm.
    let reads = "look:run(con, function() if n == 1 then n = 2 con:query('FAIL 2013') end end)";
    let (result, port, _) = worked_with(reads, 1, |config| config.reconnect_lost = true);
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 1", "retry", "Done"]);
}

#[test]
fn read_only_transactions_are_declared_read_only() {
    let (result, port, _) = worked("look:transaction(con, function() end)", 1);
    assert_eq!(result, Ok(()));
    assert_eq!(statements(&port), ["BEGIN READ ONLY", "COMMIT"]);
}

#[test]
fn a_session_that_thinks_at_the_end_does_not_begin() {
    let (result, port, _) = worked("dyno.think(0.25) pay:run(con, function() end)", 3);
    assert_eq!(result, Ok(()));
    assert_eq!(port.slept, [250_000_000; 3]);
    assert_eq!(port.work, ["start 0", "Done", "start 0", "Done"]);
    assert_eq!(port.events, 2);
}

#[test]
fn workers_know_the_names_from_the_main_state() {
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    let (result, port, _) = worked_with("look:run(con, function() end)", 1, |config| {
        config.declared = Some(Declared {
            operations: names(&["pay", "look"]),
            sums: names(&["paid"]),
        });
    });
    assert_eq!(result, Ok(()));
    assert_eq!(port.work, ["start 1", "Done"]);
    let (result, _, _) = worked_with("", 1, |config| {
        config.declared = Some(Declared {
            operations: names(&["pay"]),
            sums: names(&["paid"]),
        });
    });
    let message = result.unwrap_err();
    assert!(
        message.contains("'look' is not always declared"),
        "{message}"
    );
}

#[test]
fn bad_names_and_options_are_refused() {
    for (call, why) in [
        ("dyno.operation('')", "letters, digits"),
        ("dyno.operation('event')", "'event' is reserved"),
        ("dyno.operation('a', {tries = 0})", "must be at least 1"),
        ("dyno.zipf(0, 1)", "at least 1 rank"),
        (
            "dyno.render('oracle', 'SELECT 1')",
            "'mysql', 'postgres' or 'sqlite'",
        ),
        (
            "dyno.render('mysql', 'SELECT {nothing}')",
            "unknown word {nothing}",
        ),
        (
            "dyno.render('sqlite', {mysql = 'SELECT 1'})",
            "no text for sqlite",
        ),
        ("dyno.statement(con, 'SELECT ?', 'x')", "i, d, s or t"),
        (
            "dyno.statement(con, 'SELECT ?', 'ii')",
            "1 parameters, but 2 kinds",
        ),
        (
            "dyno.statement(con, 'SELECT :a', {a = 'word'})",
            "parameter :a must be integer, real, text or long text, not word",
        ),
        (
            "dyno.statement(con, 'SELECT :a', {b = 'text'})",
            "no parameter :b in: SELECT :a",
        ),
        ("dyno.statement(con, 'SELECT :a, ?')", "all :name or all ?"),
        (
            "dyno.statement(con, 'SELECT ?')",
            "1 parameters, but 0 kinds",
        ),
    ] {
        let (result, _, _) = worked(call, 1);
        let message = result.unwrap_err();
        assert!(message.contains(why), "{call}: {message}");
    }
}

#[test]
fn statements_are_rendered_for_each_family() {
    let (result, _, _) = worked(
        "local text = 'SELECT {cents a} FROM t{n} WHERE b = {cents}{first_row}{for_update}'
         local words = {n = '{m}', m = 3}
         assert(dyno.render('mysql', text, words) == 'SELECT CAST(a * 100 AS SIGNED) FROM t3 ' ..
           'WHERE b = (? / 100) LIMIT 1 FOR UPDATE')
         assert(dyno.render('postgres', text, words) == 'SELECT CAST(a * 100 AS BIGINT) FROM t3 ' ..
           'WHERE b = (? / 100.0) LIMIT 1 FOR UPDATE')
         assert(dyno.render(con, text, words) == dyno.render('mysql', text, words))
         assert(dyno.render('sqlite', text, words) == 'SELECT a FROM t3 WHERE b = ? LIMIT 1')",
        1,
    );
    assert_eq!(result, Ok(()));
}

#[test]
fn prepared_statements_take_their_parameters_and_come_back_after_a_lost_connection() {
    let (result, port, _) = worked(
        "local s = dyno.statement(con, 'SELECT ?, ?, ?', 'ids')
         s:execute(1, 2.5, 'three')
         con:reconnect()
         assert(s:row(4, nil, '') == 'SELECT 4 null ')
         assert(s:change(5, 6, 'x') == 0)",
        1,
    );
    assert_eq!(result, Ok(()));
    assert_eq!(port.connections.len(), 2);
}

#[test]
fn named_parameters_are_given_once_in_the_order_of_their_first_places() {
    let (result, _, _) = worked(
        "local s = dyno.statement(con, [[SELECT :b, :a, ':no', a::int, :b, {cents :b}]],
           {a = 'text', b = 'real'})
         assert(s.text == [[SELECT ?, ?, ':no', a::int, ?, (? / 100)]], s.text)
         assert(s.kinds == 'dsdd', s.kinds)
         local row = s:row(2.5, 'x')
         assert(row == 'SELECT 2.5 x 2.5 2.5', row)
         assert(dyno.statement(con, 'SELECT 1').kinds == '')",
        1,
    );
    assert_eq!(result, Ok(()));
}

#[test]
fn streams_depend_on_their_keys_alone() {
    let (result, _, _) = worked(
        "local function draws(...)
           local s, drawn = dyno.stream(...), {}
           for i = 1, 5 do drawn[i] = s:uniform(1, 1000000) end
           drawn[6] = s:text(5, 20, 0.5)
           drawn[7] = s:pattern('##-@@')
           drawn[8] = s:nurand(255, 0, 999, 123)
           drawn[9] = s:zipf(dyno.zipf(100, 0.8))
           return table.concat(drawn, ' ')
         end
         assert(draws('a', 1) == draws('a', 1))
         assert(draws('a', 1) ~= draws('a', 2) and draws('a', 1) ~= draws('a1'))
         local deck = dyno.deck({{'x', 3}, {'y', 1}})
         for round = 1, 5 do
           local x = 0
           for i = 1, 4 do x = x + (deck(dyno.random) == 'x' and 1 or 0) end
           assert(x == 3)
         end
         local x = 0
         local choice = dyno.choice({{'x', 3}, {'y', 1}})
         for i = 1, 10000 do x = x + (choice(dyno.random) == 'x' and 1 or 0) end
         assert(math.abs(x - 7500) < 200, x)",
        1,
    );
    assert_eq!(result, Ok(()));
}

#[test]
fn the_hottest_keys_get_the_specifications_share_and_lose_it_without_a_constant() {
    // The share of the hottest hundredth in 400,000 draws, also with a constant that is redrawn
    // each time. With few draws per value, the hottest values found are hotter than the true ones,
    // by the deviation of a count.
    let (result, _, _) = worked(
        "local function shares(a, low, high, draws)
           local function share(constant)
             local stream, counts = dyno.stream('shares', a), {}
             for key = low, high do counts[key - low + 1] = 0 end
             for _ = 1, draws do
               local key = stream:nurand(a, low, high, constant or stream:uniform(0, a))
               counts[key - low + 1] = counts[key - low + 1] + 1
             end
             table.sort(counts, function(x, y) return x > y end)
             local sum = 0
             for i = 1, (high - low + 1) / 100 do sum = sum + counts[i] end
             return sum / draws
           end
           return share(a / 3 - a / 3 % 1), share(nil)
         end
         local function near(found, expected, room)
           assert(math.abs(found - expected) < room, found .. ' instead of ' .. expected)
         end
         local fixed, drawn = shares(8191, 1, 100000, 400000)
         near(fixed, 0.306, 0.01)
         assert(drawn < 0.035, drawn)
         fixed, drawn = shares(1023, 1, 3000, 400000)
         near(fixed, 0.222, 0.01)
         near(drawn, 0.015, 0.003)
         fixed, drawn = shares(255, 0, 999, 400000)
         near(fixed, 0.147, 0.01)
         near(drawn, 0.013, 0.003)",
        1,
    );
    assert_eq!(result, Ok(()));
}

#[test]
fn the_ledgers_answer_is_read_as_whole_numbers() {
    let read = |answer: &str| {
        let script = format!("function ledger() return {answer} end");
        let mut host = Host::new(Arc::new(config(&script))).unwrap();
        host.describe().unwrap();
        let mut port = FakePort::default();
        drive(&mut host, &mut port, 0, &Entry::Call("ledger".to_owned())).unwrap();
        host.ledger()
    };
    let entry = |sum: &str, name: &str, value| (sum.to_owned(), name.to_owned(), value);
    assert_eq!(
        read("{money = {a = '-12', b = 3}, rows = '9007199254740993'}").unwrap(),
        [
            entry("money", "a", -12),
            entry("money", "b", 3),
            entry("rows", "rows", 9_007_199_254_740_993)
        ]
    );
    for (answer, why) in [
        ("nil", "a table"),
        ("{money = 1.5}", "money is not a whole number"),
        ("{money = {a = 'x'}}", "a is not a whole number"),
    ] {
        let message = read(answer).unwrap_err();
        assert!(message.contains(why), "{message}");
    }
}

#[test]
fn only_events_of_a_run_reopen_connections() {
    let script = "function prepare()
                    con = sysbench.sql.driver():connect()
                    con:query('FAIL 2013')
                  end
                  function thread_init() prepare() end
                  function event() prepare() end";
    let connections = |entries: &[Entry]| {
        let mut config = config(script);
        config.reconnect_lost = true;
        let mut host = Host::new(Arc::new(config)).unwrap();
        let mut port = FakePort {
            events_left: 1,
            ..FakePort::default()
        };
        let result = entries
            .iter()
            .try_for_each(|entry| drive(&mut host, &mut port, 0, entry));
        (result, port.connections.len())
    };
    let outside = [
        Entry::Command("prepare".to_owned()),
        Entry::Call("prepare".to_owned()),
        Entry::Init,
    ];
    for entry in outside {
        let (result, made) = connections(std::slice::from_ref(&entry));
        let why = result.unwrap_err();
        assert!(why.contains("as you wished"), "{entry:?}: {why}");
        assert_eq!(made, 1, "{entry:?}");
    }
}
