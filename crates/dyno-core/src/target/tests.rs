use std::path::Path;

use proptest::prelude::*;

use super::*;

fn bare() -> Environment {
    Environment {
        user: Some("me".to_owned()),
        exists: |_| false,
    }
}

fn parse(url: &str) -> Target {
    Target::parse_in(url, &bare()).unwrap_or_else(|error| panic!("{url}: {error}"))
}

fn refuse(url: &str) -> String {
    Target::parse_in(url, &bare()).unwrap_err().to_string()
}

fn tcp(host: &str, port: u16) -> Endpoint {
    Endpoint::Tcp(host.to_owned(), port)
}

fn unix(path: &str) -> Endpoint {
    Endpoint::Unix(PathBuf::from(path))
}

#[test]
fn everything_at_once() {
    let target = parse(
        "mysql://sb%40x:p%3Aw%2F@h1:3307,[::1]:3308,h2/db%2F1?socket=/a,/b%2Cc\
         &sslmode=VERIFY_IDENTITY\
         &sslrootcert=/ca.pem&sslcert=c&sslkey=k&found_rows=1&connect_timeout=1.5s\
         &max_answer=1G&password_env=PW&defaults_file=/my.cnf",
    );
    assert_eq!(target.family, Family::Mysql);
    assert_eq!(
        target.endpoints,
        [
            tcp("h1", 3307),
            tcp("::1", 3308),
            tcp("h2", 3306),
            unix("/a"),
            unix("/b,c")
        ]
    );
    assert_eq!(target.user, "sb@x");
    assert_eq!(target.password.as_ref().unwrap().expose(), "p:w/");
    assert_eq!(target.database, "db/1");
    assert_eq!(target.tls.mode, TlsMode::VerifyFull);
    assert_eq!(target.tls.ca.as_deref(), Some(Path::new("/ca.pem")));
    assert!(target.found_rows);
    assert_eq!(target.connect_timeout_ms, 1_500);
    assert_eq!(target.max_answer_bytes, 1 << 30);
    assert_eq!(target.sources.env.as_deref(), Some("PW"));
    assert_eq!(
        target.sources.defaults_file.as_deref(),
        Some(Path::new("/my.cnf"))
    );
    assert_eq!(target.implied, Implied::default());
    assert_eq!(
        target.label(),
        "mysql://sb%40x@h1:3307,[::1]:3308,h2:3306/db%2F1?socket=/a,/b%2Cc&sslmode=verify-full\
         &sslrootcert=/ca.pem&sslcert=c&sslkey=k&defaults_file=/my.cnf&password_env=PW\
         &found_rows=1&connect_timeout=1.5s&max_answer=1G"
    );
}

#[test]
fn omitted_url_parts_get_the_clients_defaults() {
    let mysql = parse("mariadb://");
    assert_eq!(mysql.endpoints, [tcp("localhost", 3306)]);
    assert_eq!((mysql.user.as_str(), mysql.database.as_str()), ("me", ""));
    assert!(mysql.implied.user && mysql.implied.host && mysql.implied.port && mysql.implied.socket);
    assert_eq!(mysql.tls.mode, TlsMode::Prefer);
    assert_eq!(mysql.connect_timeout_ms, 10_000);

    let postgres = parse("postgresql:///");
    assert_eq!(postgres.endpoints, [tcp("localhost", 5432)]);
    assert_eq!(
        (postgres.user.as_str(), postgres.database.as_str()),
        ("me", "me")
    );
    assert_eq!(parse("postgres://you@h").database, "you");
    assert_eq!(parse("mysql://:3307").endpoints, [tcp("localhost", 3307)]);
    assert_eq!(parse("mysql://u:@h").password.unwrap().expose(), "");
    assert_eq!(parse("mysql://u@h").password, None);

    let nobody = Environment {
        user: None,
        ..bare()
    };
    let error = Target::parse_in("mysql://h", &nobody).unwrap_err();
    assert!(error.to_string().contains("names no user"), "{error}");
}

#[test]
fn the_local_server_is_reached_by_its_socket() {
    let here = Environment {
        exists: |_| true,
        ..bare()
    };
    let endpoints = |url| Target::parse_in(url, &here).unwrap().endpoints;
    let mysqld = || unix("/run/mysqld/mysqld.sock");
    for (url, expected) in [
        ("mysql://localhost/db", mysqld()),
        ("mysql://", mysqld()),
        ("mysql://localhost:3306", tcp("localhost", 3306)),
        ("mysql://127.0.0.1", tcp("127.0.0.1", 3306)),
        ("mysql://localhost/db?socket=/tmp/s", unix("/tmp/s")),
        ("mysql://u@/db?socket=/tmp/s", unix("/tmp/s")),
        ("mysql:///db?host=localhost&socket=/tmp/s", unix("/tmp/s")),
        ("mysql://?socket=/tmp/s", unix("/tmp/s")),
        ("postgres://", unix("/var/run/postgresql/.s.PGSQL.5432")),
        ("postgres://localhost", tcp("localhost", 5432)),
    ] {
        assert_eq!(endpoints(url), [expected], "{url}");
    }
    assert_eq!(
        endpoints("mysql://localhost,h/db?socket=/a,/b"),
        [tcp("h", 3306), unix("/a"), unix("/b")]
    );
    assert_eq!(
        endpoints("mysql://localhost:3307/db?socket=/a"),
        [tcp("localhost", 3307), unix("/a")]
    );
    let other = unix("/var/run/postgresql/.s.PGSQL.5433");
    assert_eq!(endpoints("postgres://?port=5433"), [other]);
}

#[test]
fn libpq_spellings_of_hosts() {
    let endpoints = |url| parse(url).endpoints;
    for url in [
        "postgres:///db?host=/tmp/pg&port=5433&user=u",
        "postgres://%2Ftmp%2Fpg:5433/db",
    ] {
        assert_eq!(endpoints(url), [unix("/tmp/pg/.s.PGSQL.5433")], "{url}");
    }
    assert_eq!(
        endpoints("postgres:///db?socket=/tmp/pg/.s.PGSQL.1,/tmp/pg"),
        [unix("/tmp/pg/.s.PGSQL.1"), unix("/tmp/pg/.s.PGSQL.5432")]
    );
    let several = endpoints("postgres:///db?host=a,::1&port=1,2");
    assert_eq!(several, [tcp("a", 1), tcp("::1", 2)]);
    let several = endpoints("postgres://a,b/db?port=7");
    assert_eq!(several, [tcp("a", 7), tcp("b", 7)]);
    let target = parse("postgres://h?user=u&password=p%26w&dbname=d");
    assert_eq!((target.user.as_str(), target.database.as_str()), ("u", "d"));
    assert_eq!(target.password.unwrap().expose(), "p&w");
}

#[test]
fn sqlite_files() {
    let file = |url| parse(url).file;
    assert_eq!(file("sqlite:a/b.db"), Path::new("a/b.db"));
    assert_eq!(file("sqlite:/a/b.db"), Path::new("/a/b.db"));
    assert_eq!(file("sqlite:///a/b.db"), Path::new("/a/b.db"));
    assert_eq!(file("sqlite://b.db"), Path::new("b.db"));
    assert_eq!(file("sqlite:a%20b%3F.db"), Path::new("a b?.db"));
    let target = parse("sqlite:x?busy_timeout=250ms&journal_mode=DELETE&synchronous=full");
    assert_eq!(target.sqlite.busy_timeout_ms, 250);
    assert_eq!(target.sqlite.journal_mode, JournalMode::Delete);
    assert_eq!(target.sqlite.synchronous, Synchronous::Full);
    assert_eq!(
        target.label(),
        "sqlite:x?busy_timeout=250ms&journal_mode=delete&synchronous=full"
    );
    assert!(refuse("sqlite::memory:").contains("/dev/shm"));
    assert!(refuse("sqlite:").contains("names no file"));
    assert!(refuse("sqlite:x?synchronous=maybe").contains("off, normal, full, extra"));
    assert!(refuse("sqlite:x?sslmode=disable").contains("no parameter 'sslmode'"));
}

#[test]
fn bad_urls_are_explained() {
    for (url, expected) in [
        ("", "mysql://user@host"),
        ("oracle://x", "must start with mysql:"),
        ("mysql:db", "followed by '//'"),
        ("mysql://h:99999", "not a port"),
        ("mysql://h:0", "not a port"),
        ("mysql://h:+1", "not a port"),
        ("mysql://a,,b", "host in the list is empty"),
        ("mysql://[::1", "no matching ]"),
        ("mysql://[zz]", "not an IPv6 address"),
        ("mysql://[::1]x", "after ]"),
        ("mysql://::1", "in brackets"),
        (
            "mysql://h?conect_timeout=1s",
            "did you mean 'connect_timeout'",
        ),
        ("mysql://h?ssl-mod=require", "did you mean 'sslmode'"),
        ("mysql://h?zzzzzzzzzz=1", "there are host, port"),
        ("mysql://h?passfile=/x", "no parameter 'passfile'"),
        ("postgres://h?found_rows=1", "no parameter 'found_rows'"),
        ("mysql://h?connect_timeout=0", "at least 1ms"),
        ("mysql://h?connect_timeout=10x", "no unit 'x'"),
        ("mysql://h?max_answer=1K", "at least 4K"),
        ("sqlite:x.db?max_answer=all", "max_answer"),
        ("mysql://h?connect_timeout=1us", "whole milliseconds"),
        ("mysql://h?found_rows=maybe", "must be 1 or 0"),
        ("mysql://h?found_rows", "has no value"),
        ("mysql://h?sslmode=strict", "verify-full"),
        ("mysql://h?sslmode=require&sslrootcert=x", "no effect"),
        ("mysql://h?sslcert=x", "must be given together"),
        ("mysql://h?sslmode=disable&sslcert=x&sslkey=y", "no effect"),
        ("mysql://h?port=1&port=2", "given twice"),
        ("mysql://h:1?port=2", "given twice"),
        ("mysql://u@h?user=v", "given twice"),
        ("mysql://a,b,c?port=1,2", "2 ports for 3 hosts"),
        ("mysql://h?socket=/a,,/b", "empty part"),
        ("mysql://h/%zz", "the database contains a %"),
        ("mysql://h/%00", "zero byte"),
        ("mysql://h/%ff", "not UTF-8"),
        ("mysql://h?host=a:b", "colon"),
    ] {
        let error = refuse(url);
        assert!(error.contains(expected), "{url}: {error}");
    }
}

#[test]
fn a_password_is_never_shown_in_any_spelling() {
    let secret = "hunter2";
    for url in [
        "mysql://u:hunter2/x@h",
        "mysql://u:hunter2?x@h",
        "mysql://u:x/hunter2@h",
        "mysql://u:x?hunter2@h/db",
        "mysql://u:x@y/hunter2@h/db",
        "mysql://u:hunter2%@h",
        "mysql://u:hunter2%ff@h",
        "mysql://u:hunter2@h:x",
        "mysql://u:hunter2",
        "u:hunter2@h",
        "hunter2:x@h",
        "hunter2",
        "mysql:u:hunter2@h",
        "mysql://h?password=x&hunter2",
        "mysql://h?password=hunter2&bad=1",
        "mysql://h?password=hunter2%",
        "mysql://u:hunter2@h?password=hunter2",
        "mysql://h?passwort=hunter2",
    ] {
        let error = refuse(url);
        assert!(!error.contains(secret), "{url}: {error}");
    }
    let target = parse("mysql://u:hunter2@h/db?password_env=E");
    for text in [target.label(), target.to_string(), format!("{target:?}")] {
        assert!(!text.contains(secret), "{text}");
    }
}

fn host() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z][a-z0-9.-]{0,12}",
        any::<std::net::Ipv4Addr>().prop_map(|address| address.to_string()),
        any::<std::net::Ipv6Addr>().prop_map(|address| address.to_string()),
    ]
}

fn any_endpoint() -> impl Strategy<Value = Endpoint> {
    prop_oneof![
        3 => (host(), 1..=u16::MAX).prop_map(|(host, port)| Endpoint::Tcp(host, port)),
        1 => "/[ -~]{1,12}/[.]s[.]PGSQL[.]1".prop_map(|path| Endpoint::Unix(path.into())),
    ]
}

prop_compose! {
    fn any_target()(
        postgres in any::<bool>(),
        endpoints in prop::collection::vec(any_endpoint(), 1..5),
        user in "[^\0]{1,12}",
        database in "[^\0]{1,12}",
        ca in prop::option::of("[ -~]{1,9}"),
        env in prop::option::of("[A-Z]{1,9}"),
        allowed in any::<bool>(),
        key in prop::option::of("[ -~]{1,9}"),
        timeout_ms in 1u64..100_000,
        max_answer in 4096u64..=u64::MAX,
    ) -> Target {
        let mut target = parse(if postgres { "postgres://" } else { "mysql://" });
        target.implied = Implied::default();
        target.endpoints = endpoints;
        target.user = user;
        target.database = database;
        target.tls.mode = if ca.is_some() { TlsMode::VerifyFull } else { TlsMode::Require };
        target.tls.ca = ca.map(PathBuf::from);
        target.sources.env = env;
        target.allow_cleartext_password = allowed;
        target.server_public_key = key.map(PathBuf::from).filter(|_| !postgres);
        target.connect_timeout_ms = timeout_ms;
        target.max_answer_bytes = max_answer;
        target
    }
}

#[test]
fn a_path_of_two_slashes_keeps_them() {
    let target = parse("sqlite:////srv/a.db");
    assert_eq!(target.file, PathBuf::from("//srv/a.db"));
    assert_eq!(target.label(), "sqlite:////srv/a.db");
}

#[test]
fn a_relative_socket_behind_a_mixed_list_stays_a_socket() {
    let label = "mysql://me@%2Fa,h:3306/?socket=b,/c";
    let target = parse("mysql://me@%2Fa,h/?socket=b,/c");
    assert_eq!(
        target.endpoints,
        [unix("/a"), tcp("h", 3306), unix("b"), unix("/c")]
    );
    assert_eq!(target.label(), label);
    assert_eq!(parse(label).endpoints, target.endpoints);
}

proptest! {
    #[test]
    fn a_label_parses_back_to_its_target(target in any_target()) {
        let mut again = Target::parse_in(&target.label(), &bare()).unwrap();
        // The label of a single socket in the path has no port to imply.
        again.implied = Implied::default();
        prop_assert_eq!(again, target);
    }

    #[test]
    fn any_password_survives_encoding_and_stays_secret(password in "[^\0]{0,24}") {
        let encoded = url::encode(&password);
        let target = parse(&format!("mysql://u:{encoded}@h/db"));
        prop_assert_eq!(target.password.as_ref().map(Secret::expose), Some(password.as_str()));
        prop_assert_eq!(target.label(), "mysql://u@h:3306/db");
    }

    #[test]
    fn any_text_is_refused_or_has_a_label_that_means_the_same(text in "\\PC{0,40}", tail in "[a-z0-9:@/?&=%,\\[\\]. _-]{0,60}") {
        for scheme in ["", "mysql://", "postgres://", "sqlite:"] {
            crate::fuzzing::target_url(&format!("{scheme}{text}"));
            crate::fuzzing::target_url(&format!("{scheme}{tail}"));
        }
    }
}
