//! Each check of the server: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::plan::Plan;
use dyno_core::record::{Event, EventDetail, EventKind, RunRecord, SettingChange};
use dyno_samples::{
    Product, assert_begins, assert_has, assert_lacks, closed, drop_fact, drop_series, fact, series,
    setting, values,
};

use crate::context::RequestedSetting;
use crate::server::Promise;
use crate::server::durability::Class;
use crate::tests::{check, expect, expect_with, judged, summary};

fn event(kind: EventKind, text: &str) -> Event {
    values::event(7.0, None, kind, text)
}

#[test]
fn debug_builds_are_refused() {
    expect("server-build", Pass, |_| {});
    expect("server-build", Refuse, |run| {
        fact(run, "server.build", "debug")
    });
    expect("server-build", Refuse, |run| {
        fact(run, "server.build", "sanitizer")
    });
    expect("server-build", Refuse, |run| {
        fact(run, "server.version", "9.7.0-debug")
    });
    expect("server-build", Refuse, |run| {
        setting(run, "debug_assertions", "on")
    });
    expect("server-build", NotChecked, |run| {
        drop_fact(run, "server.build")
    });
}

#[test]
fn nodes_that_a_cluster_paused_are_doubted() {
    const PAUSED: &str = "db.status.wsrep_flow_control_paused_ns";
    const DELAYED: &str = "db.status.gr_flow_control_throttle_time_sum";
    expect("flow-control", NotChecked, |_| {});
    expect("flow-control", Pass, |run| series(run, PAUSED, &[0.0; 30]));
    expect("flow-control", Pass, |run| series(run, PAUSED, &[0.04; 30]));
    let paused = expect("flow-control", Doubt, |run| {
        series(run, PAUSED, &[0.6; 30]);
        series(run, "db.status.wsrep_flow_control_sent", &[12.0; 30]);
    });
    let expected = "Flow control of Galera paused writes for 0.6 s of each second";
    assert_begins(&paused.evidence, expected);
    assert_has(&paused.evidence, "itself requested pauses 12");
    let figure = (paused.numbers.iter()).find(|figure| figure.name == "paused");
    assert!((figure.unwrap().value.unwrap() - 60.0).abs() < 1e-6);
    // Group replication counts the sum of all 16 sessions.
    let held = expect("flow-control", Doubt, |run| {
        series(run, DELAYED, &[1.6; 30]);
    });
    let expected = "delayed the transactions of an average session for 0.1 s of each second";
    assert_has(&held.evidence, expected);
    expect("flow-control", Pass, |run| {
        series(run, DELAYED, &[0.16; 30])
    });
    // One side of a duet has half of the sessions.
    expect("flow-control", NotChecked, |run| {
        series(run, DELAYED, &[1.6; 30]);
        fact(run, "duet.one_server", "yes");
    });
    let sqlite = closed(&[1000.0; 20], Product::Sqlite);
    check(&sqlite, "flow-control", NotChecked);
}

#[test]
fn requested_settings_are_in_effect() {
    let wanted = |name: &str, value: &str| RequestedSetting {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    expect_with("requested-settings", Pass, |_, context| {
        context.requested_settings = vec![
            wanted("innodb_buffer_pool_size", "1G"),
            wanted("innodb_doublewrite", "1"),
        ];
    });
    let one = expect_with("requested-settings", Pass, |_, context| {
        context.requested_settings = vec![wanted("innodb_doublewrite", "1")];
    });
    assert_eq!(one.evidence, "The requested setting is in effect.");
    let wrong = expect_with("requested-settings", Refuse, |_, context| {
        context.requested_settings = vec![
            wanted("innodb_buffer_pool_size", "4G"),
            wanted("innodb_flush_neighbours", "0"),
        ];
    });
    assert_has(&wrong.evidence, "innodb_flush_neighbours does not exist");
    let left = expect_with("requested-settings", Doubt, |run, context| {
        context.requested_settings = vec![wanted("max_connections", "151")];
        let mut settings = run.settings.iter_mut();
        let found = settings.find(|setting| setting.name == "max_connections");
        found.unwrap().end = Some("500".to_owned());
    });
    let expected = "max_connections is 500 instead of 151 at the end.";
    assert_eq!(left.evidence, expected);
    expect("requested-settings", NotChecked, |_| {});
    expect_with("requested-settings", NotChecked, |run, context| {
        context.requested_settings = vec![wanted("a", "1")];
        run.settings.clear();
    });
}

#[test]
fn relaxed_durability_passes_and_possible_damage_is_a_doubt() {
    expect("durability", Pass, |_| {});
    let relaxed = expect("durability", Pass, |run| {
        setting(run, "innodb_flush_log_at_trx_commit", "2");
    });
    assert_begins(
        &relaxed.evidence,
        "Last second lost on OS crash because innodb_flush_log_at_trx_commit = 2:",
    );
    for (name, value) in [
        ("innodb_doublewrite", "OFF"),
        ("innodb_flush_method", "nosync"),
    ] {
        expect("durability", Doubt, |run| setting(run, name, value));
    }
    // Without a binary log there is nothing to sync.
    let unlogged = expect("durability", Pass, |run| {
        setting(run, "log_bin", "OFF");
        setting(run, "sync_binlog", "0");
    });
    assert_begins(&unlogged.evidence, "Each commit durable:");
    expect("durability", NotChecked, |run| run.settings.clear());
    let mut postgres = closed(&[1000.0; 20], Product::Postgres);
    for (name, value, outcome) in [
        ("synchronous_commit", "off", Pass),
        ("full_page_writes", "off", Doubt),
        ("fsync", "off", Doubt),
    ] {
        setting(&mut postgres, name, value);
        assert_eq!(judged(&postgres, "durability").outcome, outcome, "{name}");
    }
    let mut sqlite = closed(&[1000.0; 20], Product::Sqlite);
    check(&sqlite, "durability", Pass);
    setting(&mut sqlite, "synchronous", "0");
    check(&sqlite, "durability", Doubt);
}

#[test]
fn each_setting_has_its_class() {
    let class = |settings: &[(&str, &'static str)]| {
        let value = |name: &str| settings.iter().find(|s| s.0 == name).map(|s| s.1);
        Promise::read(value, |_| true).map(|promise| promise.class)
    };
    let flush = "innodb_flush_log_at_trx_commit";
    assert_eq!(class(&[("port", "3306")]), None);
    assert_eq!(class(&[(flush, "1")]), Some(Class::Durable));
    // MariaDB's third value also syncs at each commit.
    assert_eq!(class(&[(flush, "3")]), Some(Class::Durable));
    assert_eq!(class(&[(flush, "2")]), Some(Class::LastSecond));
    assert_eq!(class(&[(flush, "0")]), Some(Class::Process));
    for (sync, class_of_it) in [
        ("0", Class::LastCommits),
        ("1", Class::Durable),
        ("100", Class::LastCommits),
    ] {
        let settings = [(flush, "1"), ("log_bin", "ON"), ("sync_binlog", sync)];
        assert_eq!(class(&settings), Some(class_of_it), "{sync}");
    }
    let every = |seconds: &'static str| [(flush, "2"), ("innodb_flush_log_at_timeout", seconds)];
    assert_eq!(class(&every("1")), Some(Class::LastSecond));
    assert_eq!(class(&every("60")), Some(Class::LastCommits));
    // The worst counts.
    let settings = [(flush, "2"), ("log_bin", "ON"), ("sync_binlog", "0")];
    assert_eq!(class(&settings), Some(Class::LastCommits));
    let fast = class(&[(flush, "1"), ("innodb_doublewrite", "fast")]);
    assert_eq!(fast, Some(Class::LastCommits));
    let settings = [(flush, "0"), ("innodb_doublewrite", "OFF")];
    assert_eq!(class(&settings), Some(Class::Damaged));
    assert_eq!(
        class(&[("synchronous_commit", "off")]),
        Some(Class::Process)
    );
    assert_eq!(
        class(&[("synchronous_commit", "local")]),
        Some(Class::Durable)
    );
    let settings = [("journal_mode", "wal"), ("synchronous", "1")];
    assert_eq!(class(&settings), Some(Class::LastCommits));
}

#[test]
fn some_settings_decide_only_together() {
    let class = |settings: &[(&str, &'static str)]| {
        let value = |name: &str| settings.iter().find(|s| s.0 == name).map(|s| s.1);
        Promise::read(value, |_| true).map(|promise| promise.class)
    };
    let sqlite = |journal, synchronous| {
        class(&[("journal_mode", journal), ("synchronous", synchronous)]).unwrap()
    };
    for (journal, synchronous, expected) in [
        ("memory", "2", Class::Damaged),
        ("off", "3", Class::Damaged),
        ("wal", "0", Class::Damaged),
        ("wal", "2", Class::Durable),
        ("truncate", "2", Class::Durable),
        ("persist", "2", Class::Durable),
        ("persist", "1", Class::LastCommits),
        // Only EXTRA syncs the directory after the journal is deleted.
        ("delete", "2", Class::LastCommits),
        ("delete", "3", Class::Durable),
    ] {
        assert_eq!(sqlite(journal, synchronous), expected, "{journal}");
    }
    let rocks = |flush, manual| {
        let flush = ("rocksdb_flush_log_at_trx_commit", flush);
        class(&[flush, ("rocksdb_manual_wal_flush", manual)]).unwrap()
    };
    for (flush, manual, expected) in [
        ("1", "ON", Class::Durable),
        ("2", "ON", Class::Process),
        ("0", "ON", Class::Process),
        ("2", "OFF", Class::LastSecond),
        ("0", "OFF", Class::LastCommits),
    ] {
        assert_eq!(rocks(flush, manual), expected, "{flush} {manual}");
    }
    let no_log = class(&[("rocksdb_write_disable_wal", "ON")]);
    assert_eq!(no_log, Some(Class::Process));
    let no_redo = class(&[("innodb_redo_log_enabled", "OFF")]);
    assert_eq!(no_redo, Some(Class::Damaged));
    let soft = class(&[("aria_group_commit", "soft")]);
    assert_eq!(soft, Some(Class::LastCommits));
}

fn plan(run: &mut RunRecord) -> &mut Plan {
    run.head.plan.as_mut().unwrap()
}

#[test]
fn connections_are_as_declared() {
    expect("connection", Pass, |_| {});
    let url = |run: &mut RunRecord, query: &str| {
        let url = format!("mysql://bench@db:3306/bench?{query}");
        plan(run).target = Some(dyno_core::Target::parse(&url).unwrap().plan());
    };
    expect("connection", Doubt, |run| url(run, "sslmode=verify-full"));
    expect("connection", Pass, |run| {
        url(run, "sslmode=verify-full");
        summary(run).target.tls = Some("TLSv1.3".to_owned());
    });
    expect("connection", Doubt, |run| {
        url(run, "sslmode=disable");
        summary(run).target.tls = Some("TLSv1.3".to_owned());
    });
    expect("connection", Doubt, |run| {
        series(run, "db.status.com_stmt_execute", &[0.0; 30]);
    });
    // Most of the server's statements may be the observers'.
    let few = expect("connection", Pass, |run| {
        series(run, "db.status.questions", &[1e5; 30]);
        series(run, "db.status.com_stmt_execute", &[0.5; 30]);
    });
    assert_lacks(&few.evidence, "executions");
    // Others executed prepared statements, too.
    let more = expect("connection", Pass, |run| {
        let own = run.series("db.status.com_stmt_execute").unwrap();
        let twice: Vec<f64> = own.points.iter().map(|(_, own)| 1.7 * own).collect();
        series(run, "db.status.com_stmt_execute", &twice);
    });
    assert_has(&more.evidence, "; 100 % of the server's statements");
    // A proxy sent most of the run's statements to other servers.
    let part = expect("connection", Pass, |run| {
        series(run, "db.status.questions", &[2_000.0; 30]);
        series(run, "db.status.com_stmt_execute", &[0.0; 30]);
    });
    assert_lacks(&part.evidence, "executions");
    // One of several nodes counts only its own part.
    let nodes = expect("connection", Pass, |run| {
        let first = summary(run).endpoints[0].clone();
        summary(run).endpoints.push(first);
        series(run, "db.status.com_stmt_execute", &[0.0; 30]);
    });
    assert_lacks(&nodes.evidence, "executions");
    expect("connection", Doubt, |run| {
        plan(run).driver.prepare_on_server = false;
    });
    expect("connection", Pass, |run| {
        plan(run).driver.prepare_on_server = false;
        series(run, "db.status.com_stmt_execute", &[0.0; 30]);
    });
    let sqlite = closed(&[1000.0; 20], Product::Sqlite);
    check(&sqlite, "connection", NotChecked);
}

#[test]
fn a_restarted_server_is_refused() {
    expect("restarts", Pass, |_| {});
    expect("restarts", Refuse, |run| {
        run.events
            .push(event(EventKind::Restart, "a new server answered"));
    });
    let mut uptimes: Vec<f64> = (0..30).map(|s| 900.0 + f64::from(s)).collect();
    for (second, uptime) in uptimes.iter_mut().enumerate().skip(15) {
        *uptime = second as f64 - 15.0;
    }
    expect("restarts", Refuse, |run| series(run, "db.uptime", &uptimes));
    expect("restarts", Refuse, |run| {
        fact(run, "server.uptime_s.end", "12")
    });
    expect("restarts", Doubt, |run| {
        run.events.push(event(EventKind::Disturbance, "kill -9"));
        run.events
            .push(event(EventKind::Restart, "a new server answered"));
    });
    // Its effects are reported only once.
    let stalls = expect("stalls", NotChecked, |run| {
        run.events
            .push(event(EventKind::Restart, "a new server answered"));
        for interval in &mut run.intervals[10..14] {
            interval.counters.events = 0;
        }
    });
    let expected = "The server was restarted: see `restarts`.";
    assert_begins(&stalls.evidence, expected);
    expect("restarts", Doubt, |run| {
        summary(run).totals.reconnects = 500
    });
    let mut up = vec![1.0; 30];
    up[3..6].fill(0.0);
    expect("restarts", Doubt, |run| series(run, "db.up", &up));
    expect("restarts", NotChecked, |run| {
        drop_series(run, "db.");
        drop_fact(run, "server.uptime_s.end");
    });
}

#[test]
fn a_server_that_ended_sessions_was_not_restarted() {
    let ended = expect("restarts", Doubt, |run| {
        summary(run).totals.reconnects = 500;
    });
    assert_eq!(
        ended.evidence,
        "The server was not restarted: its uptime grew from 4998 s to 5032 s; 500 reconnects."
    );
    assert_lacks(&ended.advice, "why it ended");
    // From the series only.
    let ended = expect("restarts", Doubt, |run| {
        summary(run).totals.reconnects = 500;
        drop_fact(run, "server.uptime_s.end");
    });
    let expected = "The server was not restarted: its uptime grew from";
    assert_begins(&ended.evidence, expected);
    // The server was not observed.
    let unknown = expect("restarts", Doubt, |run| {
        summary(run).totals.reconnects = 500;
        drop_series(run, "db.uptime");
        drop_fact(run, "server.uptime_s.end");
    });
    assert_eq!(unknown.evidence, "500 reconnects.");
    assert_has(&unknown.advice, "log");
}

#[test]
fn replicas_keep_up() {
    let none = expect("replication-lag", Pass, |_| {});
    assert_has(&none.evidence, "not a replica");
    let lag = |run: &mut RunRecord, from: f64, to: f64| {
        fact(run, "server.replication", "replica of 10.0.0.1");
        let lags: Vec<f64> = (0..30)
            .map(|s| (from + (to - from) * f64::from(s) / 29.0).round())
            .collect();
        series(run, "db.replication.lag", &lags);
        series(run, "db.replication.running", &[1.0; 30]);
    };
    expect("replication-lag", Pass, |run| lag(run, 0.0, 1.0));
    let grows = expect("replication-lag", Doubt, |run| lag(run, 0.0, 6.0));
    let expected = "replica of 10.0.0.1; the lag was 0 s at the beginning, at most 6 s (at";
    assert_has(&grows.evidence, expected);
    assert_has(&grows.advice, "--rate");
    let behind = expect("replication-lag", Doubt, |run| lag(run, 40.0, 20.0));
    assert_has(&behind.advice, "caught up");
    let stopped = expect("replication-lag", Doubt, |run| {
        fact(run, "server.replication", "replica of 10.0.0.1");
        series(run, "db.replication.running", &[0.0; 30]);
    });
    assert_has(&stopped.evidence, "stopped receiving");
    let log = expect("replication-lag", Doubt, |run| {
        fact(run, "server.replication", "source of 1 replica");
        series(run, "db.replication.lag", &[0.0; 30]);
        let behind: Vec<f64> = (0..30).map(|s| 5e6 * f64::from(s)).collect();
        series(run, "db.replication.behind", &behind);
    });
    assert_has(&log.evidence, "138 MiB of log");
    let source = expect("replication-lag", NotChecked, |run| {
        fact(run, "server.replication", "source of 2 replicas")
    });
    assert_has(&source.evidence, "source of 2");
    expect("replication-lag", NotChecked, |run| {
        drop_fact(run, "server.replication")
    });
}

#[test]
fn reports_a_connection_for_each_event() {
    let found = expect("restarts", Doubt, |run| {
        series(run, "db.status.connections", &[1_000.0; 30])
    });
    let expected = "The server counted 1,000 new connections per second, 0.98";
    assert_begins(&found.evidence, expected);
    expect("restarts", Pass, |run| {
        series(run, "db.status.connections", &[2.0; 30])
    });
    // All sessions began at once.
    expect("restarts", Pass, |run| {
        let mut begun = [0.0; 30];
        begun[0] = 64_000.0;
        series(run, "db.status.connections", &begun);
    });
}

#[test]
fn reports_settings_that_moved_back() {
    let finding = expect("moved-settings", Doubt, |run| {
        let event = |at_s, from: &str, to: &str| Event {
            detail: EventDetail::of_setting(SettingChange {
                name: "max_connections".to_owned(),
                from: from.to_owned(),
                to: to.to_owned(),
            }),
            ..values::event(at_s, None, EventKind::Setting, "without values")
        };
        run.events
            .extend([event(3.0, "151", "500"), event(5.0, "500", "")]);
        let setting = run.settings.iter_mut();
        let mut setting = setting.filter(|setting| setting.name == "max_connections");
        // The event already shows the end.
        setting.next().unwrap().end = Some("".to_owned());
    });
    let both = "max_connections went from 151 to 500 at 3 s and max_connections went from 500 to \
                '' at 5 s.";
    assert_eq!(finding.evidence, both);
}

#[test]
fn a_setting_that_moved_before_the_measurement_and_back_after_it_is_a_doubt() {
    let event = |at_s, from: &str, to: &str| Event {
        detail: EventDetail::of_setting(SettingChange {
            name: "max_connections".to_owned(),
            from: from.to_owned(),
            to: to.to_owned(),
        }),
        ..values::event(at_s, None, EventKind::Setting, "without values")
    };
    let early = event(-2.0, "151", "500");
    let finding = expect("moved-settings", Doubt, |run| {
        run.events.push(early.clone())
    });
    let expected = "max_connections went from 151 to 500 before the measurement.";
    assert_eq!(finding.evidence, expected);
    expect("moved-settings", Pass, |run| {
        run.events.extend([early, event(-1.0, "500", "151")]);
    });
}

#[test]
fn changed_settings_raise_a_doubt() {
    let moved = |run: &mut RunRecord, name: &str, end: Option<&str>| {
        let found = run.settings.iter_mut().find(|setting| setting.name == name);
        found.unwrap().end = end.map(str::to_owned);
    };
    expect("moved-settings", Pass, |_| {});
    expect("moved-settings", Pass, |run| {
        moved(run, "gtid_binlog_pos", Some("0-1-900"))
    });
    expect("moved-settings", Pass, |run| {
        setting(run, "page_count", "2013");
        moved(run, "page_count", Some("2031"));
    });
    let finding = expect("moved-settings", Doubt, |run| {
        moved(run, "max_connections", Some("500"));
    });
    assert_has(&finding.evidence, "max_connections went from 151 to 500");
    expect("moved-settings", NotChecked, |run| {
        for setting in &mut run.settings {
            setting.end = None;
        }
    });
}
