//! Proxies: the stand-in for ProxySQL, and HAProxy itself.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::proxysql::ProxySql;
use dyno_tests::{Database, Kind};

use crate::common::{LIMIT, Terminal, objects, output};

#[test]
fn the_stand_in_for_proxysql_is_recognised_and_refuses_nothing() {
    let stand_in = ProxySql::start(0);
    let url = format!("mysql://admin:geheim@127.0.0.1:{}/", stand_in.port);
    let lines = objects(&[
        "--target",
        &url,
        "--interval",
        "100ms",
        "--count",
        "2",
        "--json",
    ]);
    let source = lines[1]["source"].as_str().unwrap();
    assert!(
        source.starts_with("ProxySQL 2.7.3-stand-in · mysql://admin@"),
        "{source}"
    );
    let figures = &lines[1]["figures"];
    assert!(
        figures["queries_per_s"].as_f64().unwrap() > 0.0,
        "{figures}"
    );
    assert_eq!(figures["clients"], 64.0);
    // Visit all screens in a terminal.
    let mut seen = Terminal::start(&["--target", &url, "--proxysql", "--interval", "100ms"]);
    for (key, text) in [
        ("1", "10.0.0.13"),
        ("2", "^SELECT .* FOR UPDATE"),
        ("3", "Client_Connections_created"),
        ("4", "SELECT name FROM customer WHERE card = ? AND id = ?"),
        ("5", "Commands per second by duration"),
    ] {
        seen.press(key);
        seen.shows(text);
    }
    assert_eq!(seen.end("q"), Some(0));
    assert_eq!(stand_in.refused(), [""; 0]);
    for secret in ["geheim", "4111"] {
        assert!(!seen.text().contains(secret), "{secret}");
    }
}

#[test]
fn refuses_a_server_that_is_not_proxysql() {
    let database = Database::new(Kind::Mariadb);
    let url = database.url();
    let refused = output(&["--target", &url, "--proxysql", "--count", "1"]).failure(1);
    assert!(
        refused.stderr.contains("does not answer as ProxySQL"),
        "{}",
        refused.stderr
    );
    assert!(
        refused.stderr.contains("admin interface"),
        "{}",
        refused.stderr
    );
}

/// A HAProxy with an admin socket, in front of a database.
struct HaProxy {
    child: Child,
    folder: tempfile::TempDir,
}

impl HaProxy {
    fn start(program: &Path, port: u16) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("stats.sock");
        let listen = folder.path().join("listen.sock");
        let config = format!(
            "global\n  stats socket {} mode 600 level user\n\
             defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  \
             timeout server 60s\n\
             frontend front\n  bind unix@{}\n  default_backend back\n\
             backend back\n  server db1 127.0.0.1:{port} check\n",
            socket.display(),
            listen.display()
        );
        let file = folder.path().join("haproxy.cfg");
        std::fs::write(&file, config).unwrap();
        let mut command = Command::new(program);
        let command = command.arg("-db").arg("-f").arg(&file);
        let child = command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let started = Self { child, folder };
        let deadline = Clock.now() + LIMIT.as_nanos() as u64;
        while !socket.exists() {
            assert!(Clock.now() < deadline, "HAProxy makes no socket");
            thread::sleep(Duration::from_millis(5));
        }
        started
    }

    fn socket(&self) -> String {
        self.folder.path().join("stats.sock").display().to_string()
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn queries_haproxy_through_its_socket() {
    let nowhere = output(&["--haproxy", "/nowhere/haproxy.sock", "--count", "1"]).failure(1);
    assert!(
        nowhere.stderr.contains("/nowhere/haproxy.sock"),
        "{}",
        nowhere.stderr
    );
    assert!(
        nowhere.stderr.contains("stats socket"),
        "{}",
        nowhere.stderr
    );
    // Without HAProxy, only check the error that says so.
    let program = Path::new("/usr/sbin/haproxy");
    if !program.exists() {
        return;
    }
    let database = Database::new(Kind::Mysql);
    let haproxy = HaProxy::start(program, database.server.port);
    let socket = haproxy.socket();
    let lines = objects(&[
        "--haproxy",
        &socket,
        "--interval",
        "100ms",
        "--count",
        "2",
        "--json",
    ]);
    assert!(lines[1]["figures"]["connected"].is_number(), "{lines:?}");
    let mut seen = Terminal::start(&["--haproxy", &socket, "--interval", "100ms"]);
    for (key, text) in [("1", "db1"), ("2", "Frontends"), ("3", "CumConns")] {
        seen.press(key);
        seen.shows(text);
    }
    assert_eq!(seen.end("q"), Some(0));
}
