//! Sizes and times from scripts: out-of-range values are errors of the script and never end the
//! process.

use super::*;

/// Runs `line` in an event and returns its error, if any.
fn attempt(line: &str) -> Result<(), String> {
    let script = format!("{CONNECT} function event()\n{line}\nend");
    run(&script, 1).0
}

#[test]
fn lengths_out_of_bounds_are_errors_of_the_script() {
    for line in [
        "dyno.random:text(-5)",
        "dyno.random:text(1e10)",
        "dyno.random:text(1, 1e10)",
        "dyno.random:text(0/0)",
        "dyno.random:text(1, 0/0)",
        "sysbench.rand.varstring(1, 4294967295)",
        "sysbench.rand.varstring(-1, 5)",
        "sysbench.rand.varstring(5, 1)",
        "sysbench.rand.varstring(0/0, 5)",
        "dyno.loader(con, 't', {'a'}):random(dyno.random, 4294967295)",
        "dyno.loader(con, 't', {'a'}):random(dyno.random, 1, 4294967295)",
        "dyno.loader(con, 't', {'a'}):random(dyno.random, -1, 5)",
        "con:prepare('SELECT ?'):bind_create(sysbench.sql.type.CHAR, 1e12)",
        "con:prepare('SELECT ?'):bind_create(sysbench.sql.type.CHAR, -1)",
        "dyno.shared('a', 1e12)",
        "dyno.shared('a', 1e300)",
        "dyno.shared('a', 1 / 0)",
        "dyno.shared('a', 2 ^ 24) dyno.shared('b')",
        "sysbench.histogram.new(1e12, 1, 10)",
        "sysbench.histogram.new(-1, 1, 10)",
        "dyno.deck({{'a', 1e12}})",
        "dyno.deck({{'a', 1 / 0}})",
        "dyno.deck({{'a', 600000}, {'b', 600000}})",
        "dyno.deck({{'a', -1}})",
    ] {
        let error = attempt(line).expect_err(line);
        assert!(error.contains("test.lua:3: "), "{line}: {error}");
    }
}

#[test]
fn c_functions_write_nothing_beyond_a_buffer_whatever_the_length() {
    let guarded = |call: &str| {
        attempt(&format!(
            "local buffer = ffi.new('char[8]', ('.'):rep(8))
             {call}
             assert(ffi.string(buffer, 8) == ('.'):rep(8))"
        ))
    };
    for call in [
        "ffi.C.dyno_stream_text(nil, buffer, -5, 0)",
        "ffi.C.dyno_stream_text(nil, buffer, 1e10, 0)",
        "assert(ffi.C.sb_rand_varstr(buffer, 4294967295, 4294967295) == 0)",
        "assert(ffi.C.sb_rand_varstr(buffer, 4000000000, 5) == 0)",
    ] {
        assert_eq!(guarded(call), Ok(()), "{call}");
    }
}

#[test]
fn lengths_at_their_bounds_are_served() {
    for line in [
        "assert(dyno.random:text(0) == '')",
        "assert(#dyno.random:text(5000) == 5000)",
        "assert(#dyno.random:text(7, 3) == 7)",
        "local n = #sysbench.rand.varstring(0, 3) assert(n <= 3)",
        "assert(#sysbench.rand.varstring(9000, 9000) == 9000)",
        "dyno.loader(con, 't', {'a'}):random(dyno.random, 3, 5)",
        "dyno.shared('a', 2 ^ 24):add(3, 2 ^ 24)",
        "assert(dyno.shared('a', 2):get(2) == 0)",
        "assert(dyno.deck({{'a', 1}})(dyno.random) == 'a')",
        "dyno.random:uniform(-1e300, 1e300)",
        "sysbench.histogram.new(2, 1, 10):update(5)",
    ] {
        assert_eq!(attempt(line), Ok(()), "{line}");
    }
}

#[test]
fn unreferenced_statements_are_closed_on_the_server() {
    let script = format!(
        "{CONNECT}
         function event()
           kept = kept or con:prepare('SELECT 0')
           for _ = 1, 100 do con:prepare('SELECT ?') end
           con:prepare('SELECT 1'):close()
           kept:execute()
         end"
    );
    let (result, port) = run(&script, 100);
    assert_eq!(result, Ok(()));
    assert!((1..1_000).contains(&port.statements), "{}", port.statements);
    assert!(port.statements_max < 1_000, "{}", port.statements_max);
}

#[test]
fn sleeping_where_a_session_cannot_yield_is_the_workers_waiting() {
    // The replacement of `gsub` cannot yield. A sleep not ended by the worker would last years.
    for call in ["dyno.sleep(1e9)", "dyno.think(1e9)", "ffi.C.sleep(1e9)"] {
        let script = format!(
            "ffi.cdef[[unsigned int sleep(unsigned int);]]
             function event() local _ = ('x'):gsub('x', function() {call} end) end"
        );
        let (result, port) = run(&script, 3);
        assert_eq!(result, Ok(()), "{call}");
        assert_eq!(port.slept[0], 1_000_000_000_000_000_000, "{call}");
    }
}

#[test]
fn a_session_that_sleeps_without_yielding_ends_with_the_run() {
    let mut host = host(
        "function event()
           while true do
             local _ = ('x'):gsub('x', function() dyno.sleep(3600) end)
           end
         end",
    );
    let mut port = FakePort {
        events_left: 10,
        over: true,
        ..FakePort::default()
    };
    for entry in [Entry::Init, Entry::Run] {
        assert_eq!(drive(&mut host, &mut port, 0, &entry), Ok(()));
    }
    assert_eq!(port.slept.len(), 1);
}

#[test]
fn a_barrier_does_not_wait_for_sessions_that_are_through() {
    for end in ["return", "dyno.finish()"] {
        let mut config = config(&format!(
            "function prepare() if sysbench.tid == 0 then {end} end dyno.barrier() end
             sysbench.cmdline.commands =
               {{ prepare = {{prepare, sysbench.cmdline.PARALLEL_COMMAND}} }}"
        ));
        config.barrier = Arc::new(Barrier::new(3));
        let mut host = Host::new(Arc::new(config)).unwrap();
        let mut port = FakePort::default();
        let prepare = Entry::Command("prepare".to_owned());
        for session in 0..3 {
            host.enter(session, session as u32, &prepare).unwrap();
        }
        let mut left = vec![0, 1, 2];
        for _ in 0..100 {
            left.retain(|&session| match host.resume(&mut port, session) {
                Step::Finished => false,
                Step::Failed(message) => panic!("{end}: {message}"),
                Step::Waiting | Step::Yielded => true,
            });
        }
        assert!(left.is_empty(), "{end}: {left:?} wait on");
    }
}
