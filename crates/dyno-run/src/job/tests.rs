use dyno_core::plan::Edition;
use dyno_script::Stat;

use super::*;

/// The timeout of the functions of these scripts.
const BOUND: Duration = Duration::from_millis(100);

/// A job that runs a script without a database.
fn job(text: &str, sysbench: bool) -> Job {
    let work = Workload::Script(Source {
        name: Some("edge.lua".to_owned()),
        path: "edge.lua".to_owned(),
        text: text.into(),
    });
    Job {
        reconnect_lost: false,
        call_timeout: BOUND,
        sysbench,
        ..Job::of(work)
    }
}

fn ready(text: &str, sysbench: bool) -> Ready {
    let loaded = Loaded::new(job(text, sysbench)).unwrap();
    loaded.ready(Vec::new(), StopSignal::new()).unwrap()
}

#[test]
fn a_hung_report_function_is_abandoned_and_nothing_is_called_after_it() {
    // LuaJIT compiles this loop, and the interpreter's hooks do not run in compiled code.
    let text = "local n = 0\n\
                sysbench.hooks.report_cumulative = function() while true do n = n + 1 end end\n\
                function event() end\n\
                function done() error('called') end\n";
    let mut ready = ready(text, true);
    ready.alive().unwrap();
    let why = ready.report("report_cumulative", &Stat::default());
    let why = why.unwrap_err();
    assert!(
        why.starts_with("report_cumulative() of edge.lua did not return within 100ms"),
        "{why}"
    );
    // sysbench's command line does not have this option.
    assert!(!why.contains("--call-timeout"), "{why}");
    assert_eq!(ready.alive().unwrap_err().to_string(), why);
    let after = ready.call("done").unwrap_err().to_string();
    assert_eq!(after, format!("done() was not called: {why}"));
    ready.finish_report().unwrap_err();
}

#[test]
fn a_script_that_hangs_in_its_top_level_or_a_declaration_is_abandoned() {
    let refused = Loaded::new(job("while true do end", false)).err().unwrap();
    let why = refused.to_string();
    assert!(
        why.starts_with("the top level of edge.lua did not return within 100ms"),
        "{why}"
    );
    assert!(why.ends_with("--call-timeout sets the limit"));
    for function in ["phases", "roles"] {
        let text = format!("function event() end function {function}() repeat until false end");
        let mut loaded = Loaded::new(job(&text, false)).unwrap();
        let refused = match function {
            "phases" => loaded.phases(&[]).map(drop),
            _ => loaded.roles(&[]).map(drop),
        };
        let why = refused.unwrap_err().to_string();
        let start = format!("{function}() of edge.lua did not return within 100ms");
        assert!(why.starts_with(&start), "{why}");
    }
}

#[test]
fn only_an_error_that_a_script_raises_refuses_the_options() {
    for (function, body, is_usage) in [
        ("phases", "error('too few', 0)", true),
        ("phases", "return 7", false),
        ("roles", "error('too few', 0)", true),
        ("roles", "return 7", false),
    ] {
        let text = format!("function event() end function {function}() {body} end");
        let mut loaded = Loaded::new(job(&text, false)).unwrap();
        let refused = match function {
            "phases" => loaded.phases(&[]).map(drop),
            _ => loaded.roles(&[]).map(drop),
        };
        let error = refused.unwrap_err();
        assert_eq!(error.is_usage(), is_usage, "{function}: {error}");
        assert_eq!(error.to_string() == "too few", is_usage, "{error}");
    }
    let text = "function event() end dyno.option.check(function() error('too few', 0) end)";
    let mut loaded = Loaded::new(job(text, false)).unwrap();
    let error = loaded.check_options(&[]).unwrap_err();
    assert!(
        error.is_usage() && error.to_string() == "too few",
        "{error}"
    );
}

#[test]
fn a_run_on_tables_without_rows_is_refused() {
    let check = |command: &str, option: &str| {
        let work = Workload::find("oltp_read_write", Edition::Dyno).unwrap();
        let mut job = Job::of(work);
        job.command = Some(command.to_owned());
        let options = ["table_size", "tables"].map(|name| {
            let value = if name == option { 0.0 } else { 2.0 };
            (name.to_owned(), OptionValue::Number(value))
        });
        let checked = Loaded::new(job).unwrap().check_options(&options);
        checked.map_err(|error| (error.is_usage(), error.to_string()))
    };
    let refused = |said: &str| Err((true, said.to_owned()));
    assert_eq!(check("run", ""), Ok(()));
    let rows = refused("--table_size must be a whole number from 1 to 2147483647, not 0");
    assert_eq!(check("run", "table_size"), rows);
    assert_eq!(check("prepare", "table_size"), Ok(()));
    let tables = refused("--tables must be a whole number from 1 to 1000000, not 0");
    assert_eq!(check("run", "tables"), tables);
}

#[test]
fn a_script_says_whether_its_run_creates_the_tables() {
    let many = Workload::find("many_tables", Edition::Dyno).unwrap();
    let creates = |phase: &str| {
        let mut loaded = Loaded::new(Job::of(many.clone())).unwrap();
        let option = ("phase".to_owned(), OptionValue::Text(phase.to_owned()));
        loaded.creates_tables(&[option]).unwrap()
    };
    for (phase, expected) in [
        ("create", true),
        ("all", true),
        ("touch", false),
        ("ladder", false),
        ("drop", false),
    ] {
        assert_eq!(creates(phase), expected, "{phase}");
    }
    let mut silent = Loaded::new(job("function event() end", false)).unwrap();
    assert!(!silent.creates_tables(&[]).unwrap());
    let text = "function event() end function creates_tables() return 'all' end";
    let mut loaded = Loaded::new(job(text, false)).unwrap();
    let error = loaded.creates_tables(&[]).unwrap_err();
    let why = "creates_tables() must return true or false";
    assert_eq!((error.to_string().as_str(), error.is_usage()), (why, false));
}

#[test]
fn a_second_stop_abandons_a_call() {
    let mut job = job(
        "function event() end function done() while true do end end",
        false,
    );
    job.call_timeout = Duration::from_secs(3600);
    let stop = StopSignal::new();
    let loaded = Loaded::new(job).unwrap();
    let mut ready = loaded.ready(Vec::new(), Arc::clone(&stop)).unwrap();
    stop.raise();
    let raising = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        stop.raise();
    });
    let why = ready.call("done").unwrap_err().to_string();
    assert_eq!(why, "done() of edge.lua was stopped by the user");
    raising.join().unwrap();
}

#[test]
fn functions_that_return_in_time_are_not_interrupted() {
    let text = "calls = 0\n\
                function event() end\n\
                function init() calls = calls + 1 end\n\
                function ledger() return {made = calls} end\n";
    let mut ready = ready(text, false);
    for made in 1..=3 {
        ready.call("init").unwrap();
        let ledger = ready.read_ledger(false).unwrap().unwrap();
        assert_eq!(ledger, [("made".to_owned(), "made".to_owned(), made)]);
    }
    ready.call("done").unwrap();
    ready.alive().unwrap();
}

#[test]
fn workers_do_not_spin_on_the_cpus_of_the_server_unless_told_to() {
    let of = |url: Option<&str>, spin: Option<u64>| {
        let mut job = job("", false);
        job.target = url.map(|url| Target::parse(url).unwrap());
        job.drive.spin = spin.map(Duration::from_micros);
        job.spin()
    };
    for shared in ["mysql://root@127.0.0.1/x", "postgres:///x?host=/run/here"] {
        assert_eq!(of(Some(shared), None), Duration::ZERO, "{shared}");
        assert_eq!(of(Some(shared), Some(5)), Duration::from_micros(5));
    }
    assert_eq!(of(Some("mysql://root@db.example.org/x"), None), SPIN);
    assert_eq!(
        of(Some("mysql://root@db.example.org/x"), Some(0)),
        Duration::ZERO
    );
    assert_eq!(of(None, None), SPIN);
}
