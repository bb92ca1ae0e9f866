//! Costs per event.

use dyno_samples::{self as samples, Product, closed, series};

use super::*;

/// The written bytes of an event if the kernel charged the server with this much, and the source of
/// the figure.
fn written(charged: f64, change: impl FnOnce(&mut RunRecord)) -> (f64, String) {
    let mut run = closed(&[1_000.0; 20], Product::Mysql);
    let flat = |value: f64| [value; 20];
    series(&mut run, "server.io.write_bytes", &flat(charged));
    series(&mut run, "db.status.innodb_pages_written", &flat(50.0));
    series(
        &mut run,
        "db.status.innodb_dblwr_pages_written",
        &flat(50.0),
    );
    series(&mut run, "db.status.innodb_os_log_written", &flat(1e6));
    samples::setting(&mut run, "log_bin", "OFF");
    // The disks' writes include the write-back of the restore.
    series(&mut run, "host.disk[vda].write_bytes", &flat(charged));
    change(&mut run);
    let costs = costs(&run);
    let cost = costs.iter().find(|one| one.name == "written by the server");
    let cost = cost.unwrap();
    (cost.value.unwrap().round(), cost.source.clone())
}

#[test]
fn the_servers_own_counters_show_its_writes_next_to_a_restore() {
    let own = "the server's counters of pages and logs written".to_owned();
    // 100 pages of 16 KiB and 1 MB of log for 1,000 events.
    assert_eq!(written(1e8, |_| {}), (3.0, own));
    let kernel = "server.io.write_bytes".to_owned();
    assert_eq!(written(4e6, |_| {}), (4.0, kernel.clone()));
    // Many small writes of the log: each is charged as a whole page.
    let small = |run: &mut RunRecord| {
        series(run, "db.status.innodb_log_writes", &[900.0; 20]);
    };
    assert_eq!(written(8e6, small), (8.0, kernel.clone()));
    // A binary log with an unknown number of bytes written.
    let binlog = |run: &mut RunRecord| samples::setting(run, "log_bin", "ON");
    assert_eq!(written(1e8, binlog), (98.0, kernel));
}

#[test]
fn counters_of_one_of_several_nodes_give_no_costs() {
    let mut run = dyno_samples::good();
    let cost = |run: &RunRecord, name: &str| {
        let all = costs(run);
        all.into_iter().find(|cost| cost.name == name).unwrap()
    };
    assert!(cost(&run, "server CPU").value.is_some());
    assert!(cost(&run, "page requests").value.is_some());
    let summary = run.summary.as_mut().unwrap();
    summary.endpoints.push(dyno_core::summary::EndpointSummary {
        name: "127.0.0.1:3307".to_owned(),
        ..summary.endpoints[0].clone()
    });
    for name in [
        "server CPU",
        "read by the server",
        "page requests",
        "redo log",
    ] {
        let left_out = cost(&run, name);
        assert_eq!(left_out.value, None, "{name}");
        assert!(left_out.left_out, "{left_out:?}");
        assert!(left_out.source.contains("2 endpoints"), "{left_out:?}");
    }
    // The resource use of the client and its host covers all endpoints.
    assert!(cost(&run, "client CPU").value.is_some());
    assert!(cost(&run, "received from the server").value.is_some());
}

#[test]
fn counters_of_one_server_behind_a_proxy_give_no_costs() {
    let of = |questions: f64, name: &str| {
        let mut run = dyno_samples::good();
        series(&mut run, "db.status.questions", &[questions; 30]);
        let all = costs(&run);
        all.into_iter().find(|cost| cost.name == name).unwrap()
    };
    for name in ["server CPU", "page requests"] {
        assert!(of(20_000.0, name).value.is_some(), "{name}");
        // The proxy sends two thirds of the statements to other servers.
        let part = of(6_700.0, name);
        assert!(part.value.is_none() && part.left_out, "{part:?}");
        assert!(part.source.contains("`server-counters`"), "{part:?}");
    }
    assert!(of(6_700.0, "client CPU").value.is_some());
    // PostgreSQL does not count transactions that stay open, and without the client's count,
    // several events may be one.
    let mut run = closed(&[1_000.0; 20], Product::Postgres);
    series(&mut run, "db.database.xact_commit", &[300.0; 20]);
    let is_known = |run: &RunRecord| {
        let all = costs(run);
        let cost = all.iter().find(|cost| cost.name == "server CPU").unwrap();
        cost.value.is_some()
    };
    assert!(is_known(&run));
    for (name, count) in [
        ("client.statements.transactions", "20000"),
        ("client.statements.transactions_possible", "0"),
        ("client.statements.completed", "20000"),
    ] {
        samples::fact(&mut run, name, count);
    }
    assert!(!is_known(&run));
    samples::fact(&mut run, "client.sessions.in_transaction", "16 of 16");
    assert!(is_known(&run));
}

#[test]
fn each_counted_cost_is_in_the_table_of_counters() {
    for (name, series) in MYSQL.iter().chain(POSTGRES) {
        assert!(counters::of(series).is_some(), "{name}: {series}");
    }
}

#[test]
fn a_single_sample_in_a_pause_covers_all_seconds_before_it() {
    let rates = [
        1_000.0, 1_000.0, 1_000.0, 0.0, 0.0, 1_000.0, 1_000.0, 1_000.0,
    ];
    let mut run = closed(&rates, Product::Mysql);
    for name in ["voluntary", "involuntary"] {
        let name = format!("server.context_switches.{name}");
        series(&mut run, &name, &[600.0]);
        run.series.last_mut().unwrap().points[0].0 = 4.99;
    }
    let costs = costs(&run);
    let switches = costs
        .iter()
        .find(|cost| cost.name == "server context switches");
    let switches = switches
        .map(|cost| cost.value.ok_or(&cost.source))
        .unwrap()
        .unwrap();
    // 1,200 a second over five seconds; 1,000 events ended in each of three.
    assert!((switches - 2.0).abs() < 0.1, "{switches}");
}

#[test]
fn costs_with_the_work_of_other_clients_are_marked() {
    let mut run = dyno_samples::good();
    let marked = |run: &RunRecord| -> Vec<String> {
        let all = costs(run).into_iter();
        let marked = all.filter(|cost| cost.includes == Some(Cause::OtherClients));
        marked.map(|cost| cost.name).collect()
    };
    assert_eq!(marked(&run), [] as [&str; 0]);
    series(&mut run, "db.other_sessions_active", &[1.0; 5]);
    let names = marked(&run);
    let is_marked = |name: &str| names.iter().any(|one| one == name);
    for name in ["server CPU", "host CPU", "page requests", "redo log"] {
        assert!(is_marked(name), "{name}: {names:?}");
    }
    for name in ["client CPU", "received from the server"] {
        assert!(!is_marked(name), "{name}");
    }
    // The host is that of the load generator, and nothing of the server runs there.
    samples::fact(&mut run, "server.same_host", "no");
    let elsewhere = marked(&run);
    assert!(elsewhere.contains(&"server CPU".to_owned()));
    assert!(!elsewhere.contains(&"host CPU".to_owned()), "{elsewhere:?}");
    // A cost without a value includes nothing.
    let summary = run.summary.as_mut().unwrap();
    summary.endpoints.push(dyno_core::summary::EndpointSummary {
        name: "127.0.0.1:3307".to_owned(),
        ..summary.endpoints[0].clone()
    });
    assert_eq!(marked(&run), [] as [&str; 0]);
}

#[test]
fn costs_include_the_work_of_clients_that_only_the_counters_show() {
    // The other client has the run's own user and place, so it is not listed.
    let mut run = dyno_samples::good();
    let marked = |run: &RunRecord| {
        let mut all = costs(run).into_iter();
        let cpu = all.find(|cost| cost.name == "server CPU").unwrap();
        cpu.includes == Some(Cause::OtherClients)
    };
    for (per_s, expected) in [(20_040.0, false), (60_000.0, true)] {
        series(&mut run, "db.status.questions", &[per_s; 30]);
        assert_eq!(marked(&run), expected, "{per_s}");
    }
    samples::drop_series(&mut run, "db.other_sessions");
    samples::drop_fact(&mut run, "server.other_sessions");
    assert!(marked(&run));
}
