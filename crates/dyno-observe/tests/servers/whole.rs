//! What can be observed of each database.

use std::time::Duration;

use dyno_drivers::Control;
use xtask::servers::Kind;

use crate::observed::Observed;
use crate::server::{PATIENCE, PrivateServer, Server, kinds};

/// For every server on this host.
const EVERYWHERE: [&str; 10] = [
    "db.up",
    "db.round_trip",
    "db.uptime",
    "server.cpu.user",
    "server.memory.rss",
    "host.memory.slab_reclaimable",
    "host.files.dentries",
    "server.io.write_bytes",
    "server.context_switches.voluntary",
    "data.total",
];

fn of_kind(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::Mariadb => &[
            "db.status.threads_connected",
            "db.status.questions",
            "db.innodb.buffer_pool_pages_total",
            "data.redo",
        ],
        Kind::Mysql => &[
            "db.status.threads_connected",
            "db.status.bytes_sent",
            "db.innodb.buffer_pool_pages_total",
            "db.binlog.size",
            "data.undo",
        ],
        Kind::Postgres => &[
            "db.backends",
            "db.database.xact_commit",
            "db.database.size",
            "data.redo",
        ],
    }
}

/// The only connection: the one that found the server ready may take a while to close.
fn alone(server: Server) -> Control {
    let mut own = server.control();
    let sql = match server.kind {
        Kind::Postgres => {
            "SELECT COUNT(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"
        }
        _ => "SHOW GLOBAL STATUS LIKE 'Threads_connected'",
    };
    for _ in 0..200 {
        let rows = own.query(sql, PATIENCE).unwrap();
        if rows[0].last().unwrap().as_deref() == Some("1") {
            return own;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("others stay connected to {}", server.kind);
}

#[test]
fn observes_each_server_without_reporting_secrets() {
    for kind in kinds() {
        let secret = match kind {
            Kind::Postgres => "primary_conninfo=host=nowhere password=sesame",
            _ => "--report-password=sesame",
        };
        let arguments: &[&str] = match kind {
            Kind::Postgres => &["-c", secret],
            _ => &[secret],
        };
        let private = PrivateServer::start(kind, arguments);
        let server = private.server();
        let _other = alone(server);
        let mut seen = Observed::start(&server.url());
        let wanted: Vec<&str> = [&EVERYWHERE, of_kind(kind)].concat();
        seen.until(&format!("{kind}: {wanted:?}"), |seen| {
            wanted.iter().all(|name| seen.values.contains_key(*name))
        });
        // The kernel's evidence leads to the process that the test started.
        assert_eq!(
            seen.facts["server.same_host"],
            "yes",
            "{kind}: {}",
            seen.text()
        );
        assert_eq!(
            seen.facts["server.pid"],
            private.pid().to_string(),
            "{kind}"
        );
        assert_eq!(seen.facts["server.build"], "release", "{kind}");
        assert!(seen.last("server.memory.rss").unwrap() > 1e6, "{kind}");
        assert_eq!(seen.last("db.up"), Some(1.0), "{kind}");
        assert_eq!(seen.facts["server.threads_connected.start"], "1", "{kind}");
        let cost = seen.stop();
        assert_eq!(cost.missed, 0, "{kind}: {cost:?}");
        // Both ends.
        for name in [
            "server.uptime_s.start",
            "server.uptime_s.end",
            "server.commits.end",
        ] {
            assert!(
                seen.facts.contains_key(name),
                "{kind} {name}: {}",
                seen.text()
            );
        }
        let setting = ("max_connections".to_owned(), true);
        assert!(seen.settings.contains_key(&setting), "{kind}");
        assert_eq!(
            seen.facts.get("server.version"),
            version(server).as_ref(),
            "{kind}"
        );
        let hidden = match kind {
            Kind::Postgres => "primary_conninfo",
            _ => "report_password",
        };
        assert_eq!(
            seen.settings[&(hidden.to_owned(), false)],
            "(hidden)",
            "{kind}"
        );
        let everything = format!("{}{:?}", seen.text(), seen.settings);
        assert!(!everything.contains("sesame"), "{kind}");
    }
}

#[test]
fn reports_the_states_of_sessions() {
    for kind in kinds() {
        let private = PrivateServer::start(kind, &[]);
        let server = private.server();
        let (state, sleep) = match kind {
            Kind::Postgres => ("db.sessions[other]", "SELECT pg_sleep(30)"),
            _ => ("db.sessions[user_sleep]", "SELECT SLEEP(30)"),
        };
        let mut seen = Observed::start(&server.url());
        seen.until("the first samples", |seen| seen.count("db.uptime") > 2);
        std::thread::spawn(move || server.control().query(sleep, Duration::from_secs(60)));
        seen.until(state, |seen| seen.last(state) == Some(1.0));
        // Its earlier zeros are reported with it.
        assert_eq!(
            seen.values[state].first().map(|(_, value)| *value),
            Some(0.0)
        );
        if kind == Kind::Postgres {
            let (mean, max) = ("server.memory.session_mean", "server.memory.session_max");
            seen.until(mean, |seen| seen.last(mean).is_some());
            assert!(
                (1e5..1e8).contains(&seen.last(mean).unwrap()),
                "{}",
                seen.text()
            );
            // There is only one, since the observer's own does not count.
            assert_eq!(seen.last(mean), seen.last(max));
        }
        seen.stop();
        if kind != Kind::Postgres {
            let never = &seen.facts["observer.always_zero"];
            assert!(never.contains("db.sessions[opening_tables]"), "{never}");
            // Reading all this does not create any.
            let on_disk = seen.values.get("db.status.created_tmp_disk_tables");
            let mut made = on_disk.into_iter().flatten().map(|(_, made)| *made);
            assert!(made.all(|made| made == 0.0), "{kind} {on_disk:?}");
        }
    }
}

fn version(server: Server) -> Option<String> {
    let sql = match server.kind {
        Kind::Postgres => "SHOW server_version",
        _ => "SELECT @@version",
    };
    server.execute(sql)
}

#[test]
fn rates_match_the_server() {
    for kind in kinds() {
        let server = Server::of(kind);
        let mut seen = Observed::start(&server.url());
        let (name, commits) = match kind {
            Kind::Postgres => ("db.database.tup_returned", 1),
            _ => ("db.status.com_do", 40),
        };
        seen.until("the first samples", |seen| seen.count("db.up") > 2);
        for _ in 0..commits {
            match kind {
                Kind::Postgres => {
                    server.execute("SELECT count(*) FROM generate_series(1, 3), pg_class");
                }
                _ => drop(server.execute("DO 1")),
            }
        }
        seen.until(name, |seen| seen.last(name).is_some());
        // Rates times elapsed time give the work done, including earlier zeros.
        if kind != Kind::Postgres {
            seen.until("40 statements", |seen| {
                let values = &seen.values[name];
                let done: f64 = values
                    .windows(2)
                    .map(|pair| pair[1].1 * (pair[1].0 - pair[0].0) as f64 / 1e9)
                    .sum();
                (39.0..45.0).contains(&done)
            });
        }
        seen.stop();
    }
}

#[test]
fn reports_the_gaps_of_a_user_with_few_rights() {
    for kind in kinds() {
        let server = Server::of(kind);
        let user = format!("few_{}", std::process::id());
        let (create, drop) = match kind {
            Kind::Postgres => (
                format!("CREATE ROLE {user} LOGIN"),
                format!("DROP ROLE {user}"),
            ),
            _ => (
                format!("CREATE USER '{user}'@'127.0.0.1' IDENTIFIED BY ''"),
                format!("DROP USER '{user}'@'127.0.0.1'"),
            ),
        };
        server.execute(&create);
        let mut seen = Observed::start(&server.url_of(&user, ""));
        seen.until("samples", |seen| {
            seen.count("db.up") > 3 && seen.count("db.round_trip") > 3
        });
        seen.stop();
        server.execute(&drop);
        assert_eq!(seen.last("db.up"), Some(1.0), "{kind}: {}", seen.text());
        let missing: &[_] = match kind {
            Kind::Postgres => &[("db.backends", "GRANT pg_monitor")],
            Kind::Mariadb => &[
                ("db.innodb", "GRANT PROCESS"),
                ("server.other_sessions", "GRANT PROCESS"),
            ],
            Kind::Mysql => &[
                ("db.innodb", "GRANT PROCESS"),
                ("server.other_sessions", "GRANT PROCESS"),
                ("db.sessions.threads", "SHOW PROCESSLIST is read instead"),
            ],
        };
        for (gap, needed) in missing {
            let why = seen.gaps.get(*gap);
            assert!(
                why.is_some_and(|why| why.contains(needed)),
                "{kind}: {}",
                seen.text()
            );
        }
        // PostgreSQL does not show this user the data directory, but its processes do.
        let placed = seen.facts.contains_key("data.filesystem.type");
        assert!(placed, "{kind}: {}", seen.text());
        let still = match kind {
            Kind::Postgres => "db.backends",
            _ => "db.status.threads_connected",
        };
        assert!(seen.count(still) > 2, "{kind}: {}", seen.text());
    }
}

#[test]
fn uses_and_reports_tls() {
    for kind in kinds() {
        let server = Server::of(kind);
        let ca = std::env::var("DYNO_TEST_TLS_CA").expect("set DYNO_TEST_TLS_CA");
        let parameters = format!("?sslmode=verify-full&sslrootcert={ca}");
        let mut seen = Observed::start(&server.url_of(server.user(), &parameters));
        seen.until("samples", |seen| seen.count("db.round_trip") > 2);
        seen.stop();
        let tls = &seen.facts["client.tls"];
        assert!(tls.starts_with("TLSv1"), "{kind}: {tls}");
        assert_eq!(seen.facts["server.same_host"], "yes", "{kind}");
    }
}

#[test]
fn an_sqlite_file_is_seen_from_outside() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen.db");
    let url = format!("sqlite:{}", file.display());
    let target = dyno_core::Target::parse(&url).unwrap();
    let connector = dyno_drivers::connector(&target).unwrap();
    let patience = std::time::Duration::from_secs(30);
    let mut control = dyno_drivers::Control::connect(connector.as_ref(), patience).unwrap();
    control
        .query("CREATE TABLE t (a INTEGER)", patience)
        .unwrap();
    control.query("INSERT INTO t VALUES (1)", patience).unwrap();
    let mut seen = Observed::start(&url);
    seen.until("sizes", |seen| seen.count("db.file.size") > 2);
    seen.stop();
    assert!(
        seen.last("db.file.size").unwrap() >= 4_096.0,
        "{}",
        seen.text()
    );
    for at_end in [false, true] {
        let setting = ("journal_mode".to_owned(), at_end);
        assert!(seen.settings.contains_key(&setting), "{}", seen.text());
    }
    assert!(seen.gaps.contains_key("db.page_cache"));
    assert!(
        !seen.values.contains_key("db.up"),
        "an embedded database is not up or down"
    );
}

#[test]
fn sessions_of_others_are_counted_and_named() {
    for kind in kinds() {
        let private = PrivateServer::start(kind, &[]);
        let server = private.server();
        let made = match kind {
            Kind::Postgres => "CREATE ROLE shop LOGIN",
            _ => "CREATE USER shop@'127.0.0.1'",
        };
        server.execute(made);
        // Connections of this process with the observer's own user belong to the run.
        let _own = [server.control(), server.control()];
        let mut seen = Observed::start(&server.url());
        const COUNT: &str = "db.other_sessions";
        seen.until("nobody", |seen| seen.last(COUNT) == Some(0.0));
        let target = dyno_core::Target::parse(&server.url_of("shop", "")).unwrap();
        let connector = dyno_drivers::connector(&target).unwrap();
        let connect = || dyno_drivers::Control::connect(connector.as_ref(), PATIENCE).unwrap();
        let _shop = [connect(), connect()];
        seen.until("two others", |seen| seen.last(COUNT) == Some(2.0));
        seen.stop();
        let sessions = &seen.facts["server.other_sessions"];
        // The server may have resolved the address to a name.
        let from = ["127.0.0.1", "localhost"].map(|name| format!("2 of shop from {name}"));
        assert!(
            from.iter().any(|from| sessions.starts_with(from)),
            "{kind}: {sessions}"
        );
        assert!(!seen.gaps.contains_key("server.other_sessions"), "{kind}");
    }
}

#[test]
fn sessions_that_make_a_backup_are_counted() {
    for kind in kinds() {
        let private = PrivateServer::start(kind, &[]);
        let server = private.server();
        let mut seen = Observed::start(&server.url());
        let statements: &[&str] = match kind {
            Kind::Postgres => &["SET application_name = 'pg_dump'", "SELECT pg_sleep(4)"],
            _ => &["SELECT /*!40001 SQL_NO_CACHE */ SLEEP(4)"],
        };
        let backup = std::thread::spawn(move || {
            let mut session = server.control();
            for sql in statements {
                session.query(sql, PATIENCE).unwrap();
            }
            session.close();
        });
        seen.until("a backup", |seen| seen.last("db.backups") == Some(1.0));
        backup.join().unwrap();
        seen.until("its end", |seen| seen.last("db.backups") == Some(0.0));
        seen.stop();
    }
}
