//! Tables as facts: their definitions, engines and statistics, and the cost of many of them.

use dyno_core::tables::{TableGroup, elements, groups};
use dyno_core::{Target, record::Fact};
use dyno_drivers::Control;
use xtask::servers::Kind;

use crate::observed::Observed;
use crate::server::{PATIENCE, PrivateServer, Server, kinds};

/// A connection to a database on a server.
fn control(url: &str) -> Control {
    let target = Target::parse(url).unwrap();
    let connector = dyno_drivers::connector(&target).unwrap();
    Control::connect(connector.as_ref(), PATIENCE).unwrap()
}

fn url(server: Server, database: &str) -> String {
    let (scheme, user, port) = match server.kind {
        Kind::Postgres => ("postgres", server.user(), server.port),
        _ => ("mysql", server.user(), server.port),
    };
    format!("{scheme}://{user}@127.0.0.1:{port}/{database}")
}

/// A private server with a database in which these statements were run.
fn server_with(kind: Kind, statements: &[&str]) -> (PrivateServer, String) {
    let private = PrivateServer::start(kind, &[]);
    private.server().execute("CREATE DATABASE facts");
    let url = url(private.server(), "facts");
    execute(&url, statements);
    (private, url)
}

fn execute(url: &str, statements: &[&str]) {
    let mut control = control(url);
    for sql in statements {
        let done = control.query(sql, PATIENCE);
        done.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }
    control.close();
}

/// The tables that observers report for this target.
fn tables(url: &str) -> Vec<TableGroup> {
    let mut seen = Observed::start(url);
    seen.until("the tables", |seen| {
        seen.facts.contains_key("db.tables.read") && seen.samples > 1
    });
    seen.stop();
    of(&seen)
}

fn of(seen: &Observed) -> Vec<TableGroup> {
    let fact = |(name, value): (&String, &String)| Fact {
        name: name.clone(),
        value: value.clone(),
        source: String::new(),
    };
    let facts: Vec<Fact> = seen.facts.iter().map(fact).collect();
    groups(&facts)
}

fn group<'a>(groups: &'a [TableGroup], label: &str) -> &'a TableGroup {
    let found = groups.iter().find(|group| group.label == label);
    found.unwrap_or_else(|| panic!("no {label} in {groups:#?}"))
}

fn says(group: &TableGroup, what: &str) -> String {
    let parts = elements(&group.definition);
    let found = parts.into_iter().find(|(name, _)| name == what);
    found.unwrap_or_else(|| panic!("no {what} in {group:#?}")).1
}

#[test]
fn definitions_of_mysql_and_mariadb_are_facts() {
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let mut statements: Vec<String> = (1..=3)
            .map(|n| {
                format!(
                    "CREATE TABLE sbtest{n} (id INT PRIMARY KEY AUTO_INCREMENT, k INT NOT NULL, \
                     KEY k_{n} (k)) ENGINE=InnoDB AUTO_INCREMENT={n}0"
                )
            })
            .collect();
        statements.extend([
            "CREATE TABLE other7 (id INT, k INT) ENGINE=MyISAM".to_owned(),
            "CREATE TABLE volatile_rows (id INT PRIMARY KEY) ENGINE=MEMORY".to_owned(),
            "CREATE TABLE parted (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3"
                .to_owned(),
            "CREATE TRIGGER twice BEFORE INSERT ON parted FOR EACH ROW SET NEW.id = 2 * NEW.id"
                .to_owned(),
            "CREATE TABLE loaded (id INT PRIMARY KEY)".to_owned(),
            "INSERT INTO loaded VALUES (1), (2), (3)".to_owned(),
            "ANALYZE TABLE loaded".to_owned(),
        ]);
        if kind == Kind::Mariadb {
            statements.push("CREATE TABLE crashed (id INT) ENGINE=Aria TRANSACTIONAL=0".to_owned());
            statements.push("CREATE TABLE safe (id INT) ENGINE=Aria".to_owned());
        }
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let (_private, url) = server_with(kind, &statements);
        let found = tables(&url);
        let sbtest = group(&found, "sbtest1..sbtest3");
        assert_eq!(sbtest.names, "sbtest1..sbtest3", "{kind}");
        assert_eq!(sbtest.engine.as_deref(), Some("InnoDB"), "{kind}");
        assert_eq!((sbtest.primary_key, sbtest.indexes), (Some(true), Some(2)));
        assert_eq!(sbtest.sha256.len(), 64);
        assert_eq!(says(sbtest, "index k_1"), "KEY (`k`)", "{kind}");
        assert!(!sbtest.definition.contains("AUTO_INCREMENT="), "{sbtest:?}");
        let other = group(&found, "other7");
        assert_eq!(other.engine.as_deref(), Some("MyISAM"), "{kind}");
        assert_eq!((other.primary_key, other.indexes), (Some(false), Some(0)));
        assert_eq!(
            group(&found, "volatile_rows").engine.as_deref(),
            Some("MEMORY")
        );
        let parted = says(group(&found, "parted"), "partitions");
        assert_eq!(parted, "PARTITION BY HASH (`id`) PARTITIONS 3", "{kind}");
        let trigger = says(group(&found, "parted"), "trigger twice");
        assert_eq!(trigger, "BEFORE INSERT: SET NEW.id = 2 * NEW.id", "{kind}");
        assert_eq!(group(&found, "loaded").analysed, Some(1), "{kind}");
        if kind == Kind::Mariadb {
            let engine = |label: &str| group(&found, label).engine.clone().unwrap();
            assert_eq!(engine("crashed"), "Aria (not transactional)");
            assert_eq!(engine("safe"), "Aria");
        }
        // Another index or collation makes another definition.
        execute(
            &url,
            &[
                "ALTER TABLE sbtest2 DROP KEY k_2",
                "ALTER TABLE sbtest3 DEFAULT COLLATE utf8mb4_bin",
            ],
        );
        let changed = tables(&url);
        let digests = ["sbtest1", "sbtest2", "sbtest3"].map(|label| &group(&changed, label).sha256);
        assert!(digests[0] != digests[1] && digests[1] != digests[2] && digests[0] != digests[2]);
        assert_eq!(digests[0], &sbtest.sha256, "{kind}");
    }
}

#[test]
fn reports_tables_that_innodb_never_examined() {
    let statements = [
        "CREATE TABLE fresh (id INT PRIMARY KEY) STATS_AUTO_RECALC=0",
        "INSERT INTO fresh VALUES (1), (2), (3)",
        "CREATE TABLE hollow (id INT PRIMARY KEY)",
    ];
    for kind in [Kind::Mariadb, Kind::Mysql] {
        let (_private, url) = server_with(kind, &statements);
        let found = tables(&url);
        assert_eq!(group(&found, "fresh").analysed, Some(0), "{kind}");
        // Nothing is known about it.
        assert_eq!(group(&found, "hollow").analysed, Some(1), "{kind}");
    }
}

#[test]
fn definitions_of_postgresql_are_facts() {
    let (_private, url) = server_with(
        Kind::Postgres,
        &[
            "CREATE TABLE sbtest1 (id SERIAL PRIMARY KEY, k INTEGER DEFAULT 0 NOT NULL)",
            "CREATE INDEX k_1 ON sbtest1 (k)",
            "CREATE TABLE sbtest2 (id SERIAL PRIMARY KEY, k INTEGER DEFAULT 0 NOT NULL)",
            "CREATE INDEX k_2 ON sbtest2 (k)",
            "CREATE UNLOGGED TABLE fleeting (id INTEGER) WITH (fillfactor = 70, \
             autovacuum_enabled = off)",
            "INSERT INTO fleeting SELECT generate_series(1, 100)",
            "CREATE TABLE parted (id INTEGER, t TEXT COLLATE \"C\", g INTEGER GENERATED ALWAYS AS \
             (id * 2) STORED, CHECK (id > 0)) PARTITION BY RANGE (id)",
            "CREATE TABLE parted_low PARTITION OF parted FOR VALUES FROM (1) TO (10)",
            "CREATE STATISTICS together (dependencies) ON id, t FROM parted",
            "CREATE POLICY own ON fleeting FOR SELECT USING (id > 0)",
            "ALTER TABLE fleeting ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY",
            "CREATE TABLE known (id INTEGER PRIMARY KEY)",
            "INSERT INTO known VALUES (1)",
            "ANALYZE known",
            "CREATE SCHEMA hidden",
            "CREATE TABLE hidden.away (id INTEGER)",
        ],
    );
    let found = tables(&url);
    let sbtest = group(&found, "sbtest1..sbtest2");
    assert_eq!(sbtest.persistence.as_deref(), Some("permanent"));
    assert_eq!(sbtest.engine.as_deref(), Some("heap"));
    assert_eq!((sbtest.primary_key, sbtest.indexes), (Some(true), Some(2)));
    assert_eq!(
        says(sbtest, "index k_1"),
        "CREATE INDEX k_1 ON public.sbtest1 USING btree (k)"
    );
    assert_eq!(says(sbtest, "column k"), "integer NOT NULL DEFAULT 0");
    let fleeting = group(&found, "fleeting");
    assert_eq!(fleeting.persistence.as_deref(), Some("unlogged"));
    assert_eq!(fleeting.analysed, Some(0));
    assert_eq!(fleeting.primary_key, Some(false));
    assert_eq!(
        says(fleeting, "storage parameters"),
        "fillfactor=70, autovacuum_enabled=off"
    );
    assert_eq!(says(fleeting, "row security"), "enabled, forced");
    let policy = says(fleeting, "policy own");
    assert_eq!(policy, "PERMISSIVE FOR r USING ((id > 0))");
    let parted = group(&found, "parted");
    assert_eq!(
        says(parted, "statistics together"),
        "CREATE STATISTICS public.together (dependencies) ON id, t FROM parted"
    );
    assert_eq!(says(parted, "partition by"), "RANGE (id)");
    assert_eq!(
        says(parted, "partition parted_low"),
        "FOR VALUES FROM (1) TO (10)"
    );
    assert_eq!(says(parted, "column t"), "text COLLATE \"C\"");
    assert_eq!(
        says(parted, "column g"),
        "integer GENERATED ALWAYS AS ((id * 2))"
    );
    assert!(says(parted, "constraint parted_id_check").contains("CHECK"));
    assert_eq!(group(&found, "known").analysed, Some(1));
    // Names without a schema do not refer to it.
    assert!(
        found.iter().all(|group| !group.label.contains("away")),
        "{found:#?}"
    );
}

#[test]
fn reports_tables_used_by_stored_functions() {
    let mysql = [
        "CREATE TABLE bin (id INT PRIMARY KEY, k INT) ENGINE=MEMORY",
        "CREATE FUNCTION add_row(n INT) RETURNS INT DETERMINISTIC MODIFIES SQL DATA \
         BEGIN UPDATE bin SET k = n; RETURN n; END",
    ];
    let postgres = [
        "CREATE UNLOGGED TABLE bin (id INTEGER, k INTEGER)",
        "CREATE TABLE lasting (id INTEGER)",
        "CREATE FUNCTION add_row(n INTEGER) RETURNS INTEGER LANGUAGE plpgsql AS \
         $$ BEGIN UPDATE bin SET k = n; RETURN n; END $$",
        "CREATE FUNCTION log_it() RETURNS trigger LANGUAGE plpgsql AS \
         $$ BEGIN INSERT INTO bin VALUES (1, 1); RETURN NEW; END $$",
        "CREATE TRIGGER logged BEFORE INSERT ON lasting FOR EACH ROW EXECUTE FUNCTION log_it()",
    ];
    for (kind, statements) in [
        (Kind::Mariadb, &mysql[..]),
        (Kind::Mysql, &mysql[..]),
        (Kind::Postgres, &postgres[..]),
    ] {
        let (_private, url) = server_with(kind, statements);
        let mut seen = Observed::start(&url);
        seen.until("the tables", |seen| {
            seen.facts.contains_key("db.tables.read") && seen.samples > 1
        });
        seen.stop();
        let uses = |name: &str| seen.facts.get(&format!("db.tables.uses[{name}]"));
        assert_eq!(uses("add_row").unwrap(), "bin", "{kind}");
        if kind == Kind::Postgres {
            assert_eq!(uses("log_it").unwrap(), "bin");
            assert_eq!(uses("lasting").unwrap(), "log_it");
        }
    }
}

#[test]
fn definitions_of_sqlite_are_facts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("facts.db");
    let url = format!("sqlite:{}", file.display());
    execute(
        &url,
        &[
            "CREATE TABLE sbtest1 (id INTEGER PRIMARY KEY, k INTEGER)",
            "CREATE INDEX k_1 ON sbtest1(k)",
            "CREATE TABLE sbtest2 (id INTEGER PRIMARY KEY, k INTEGER)",
            "CREATE INDEX k_2 ON sbtest2(k)",
            "INSERT INTO sbtest1 VALUES (1, 1)",
            "CREATE TABLE rows_only (a, b UNIQUE)",
            "ANALYZE sbtest1",
        ],
    );
    let mut seen = Observed::start(&url);
    seen.until("the tables", |seen| {
        seen.facts.contains_key("db.tables.read") && seen.samples > 1
    });
    seen.stop();
    let found = of(&seen);
    let sbtest = group(&found, "sbtest1..sbtest2");
    assert_eq!((sbtest.primary_key, sbtest.indexes), (Some(true), Some(1)));
    assert_eq!(sbtest.analysed, Some(1));
    assert_eq!(says(sbtest, "index k_1"), "CREATE INDEX k_1 ON sbtest1(k)");
    let rows = group(&found, "rows_only");
    assert_eq!((rows.primary_key, rows.indexes), (Some(false), Some(1)));
    // Nothing was written meanwhile: this shows whether anything was committed.
    assert_eq!(seen.facts["db.file.changed"], "no");
    assert!(!seen.facts["data.filesystem.type"].is_empty());
}

#[test]
fn many_tables_are_read_in_part_and_soon() {
    let many = |n: u32| match n {
        0 => "DO $$ BEGIN FOR n IN 1..1500 LOOP EXECUTE 'CREATE TABLE t' || n || ' (id INTEGER)'; \
              END LOOP; END $$"
            .to_owned(),
        n => format!("CREATE TABLE t{n} (id INT) ENGINE=MEMORY"),
    };
    for kind in [Kind::Mariadb, Kind::Postgres] {
        let statements: Vec<String> = match kind {
            Kind::Postgres => vec![many(0)],
            _ => (1..=1_200).map(many).collect(),
        };
        let statements: Vec<&str> = statements.iter().map(String::as_str).collect();
        let (_private, url) = server_with(kind, &statements);
        let mut seen = Observed::start(&url);
        seen.until("the tables", |seen| {
            seen.facts.contains_key("db.tables.read")
        });
        seen.stop();
        assert_eq!(seen.facts["db.tables"], "1000 or more", "{kind}");
        let read: u32 = seen.facts["db.tables.read"].parse().unwrap();
        assert!((1..=300).contains(&read), "{kind}: {read}");
        // They are all the same.
        assert_eq!(of(&seen).len(), 1, "{kind}");
    }
}

#[test]
fn a_locked_table_does_not_block_observers() {
    for kind in kinds() {
        let (_private, url) = server_with(
            kind,
            &[
                "CREATE TABLE held (id INT PRIMARY KEY)",
                "CREATE TABLE open_one (id INT)",
            ],
        );
        let mut holder = control(&url);
        let lock: &[&str] = match kind {
            Kind::Postgres => &["BEGIN", "LOCK TABLE held IN ACCESS EXCLUSIVE MODE"],
            _ => &["LOCK TABLE held WRITE"],
        };
        for sql in lock {
            holder.query(sql, PATIENCE).unwrap();
        }
        let mut seen = Observed::start(&url);
        seen.until("tables and samples", |seen| {
            seen.facts.contains_key("db.tables.read") && seen.count("db.uptime") > 1
        });
        seen.stop();
        assert!(
            of(&seen).iter().any(|group| group.label == "open_one"),
            "{kind}"
        );
        holder.close();
    }
}

#[test]
fn an_index_dropped_under_load_is_reported() {
    for kind in kinds() {
        let (_private, url) = server_with(
            kind,
            &[
                "CREATE TABLE moved (id INT PRIMARY KEY, k INT)",
                "CREATE INDEX k_1 ON moved (k)",
                "CREATE TABLE same (id INT PRIMARY KEY)",
            ],
        );
        let mut seen = Observed::start(&url);
        seen.until("tables and samples", |seen| {
            seen.facts.contains_key("db.tables.read") && seen.count("db.uptime") > 1
        });
        let sql = match kind {
            Kind::Postgres => "DROP INDEX k_1",
            _ => "DROP INDEX k_1 ON moved",
        };
        execute(&url, &[sql]);
        seen.stop();
        let changed = |table: &str| seen.facts.get(&format!("db.tables.changed[{table}]"));
        assert_eq!(seen.facts["db.tables.compared"], "2", "{kind}");
        let expected = "index k_1 was dropped".to_owned();
        assert_eq!(changed("moved"), Some(&expected), "{kind}");
        assert_eq!(changed("same"), None, "{kind}");
    }
}

#[test]
fn reports_a_target_without_a_database() {
    let server = Server::of(Kind::Mysql);
    let mut seen = Observed::start(&server.url());
    seen.until("a gap", |seen| seen.gaps.contains_key("db.tables"));
    seen.stop();
    assert!(of(&seen).is_empty());
}

#[test]
fn the_build_and_the_location_of_a_server_are_facts() {
    for kind in kinds() {
        let private = PrivateServer::start(kind, &[]);
        let mut seen = Observed::start(&private.server().url());
        seen.until("its place", |seen| {
            seen.facts.contains_key("data.filesystem.type")
        });
        seen.stop();
        let facts = &seen.facts;
        assert!(
            facts.contains_key("server.allocator"),
            "{kind}: {}",
            seen.text()
        );
        let id = &facts["server.build_id"];
        assert!(
            id.len() >= 16 && id.chars().all(|c| c.is_ascii_hexdigit()),
            "{kind}: {id}"
        );
        assert!(facts["data.filesystem.options"].contains("rw"), "{kind}");
        assert!(!facts.contains_key("data.redo.filesystem.type"), "{kind}");
    }
}

#[test]
fn reports_data_in_memory() {
    let private = PrivateServer::start_below(Kind::Postgres, "/dev/shm", &[]);
    let mut seen = Observed::start(&private.server().url());
    seen.until("its place", |seen| {
        seen.facts.contains_key("data.filesystem.type")
    });
    seen.stop();
    assert_eq!(seen.facts["data.filesystem.type"], "tmpfs");
}
