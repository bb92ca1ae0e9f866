//! Runs the five examples of the guide as printed, on a private server and with shorter times.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::server::variable;
use dyno_tests::{Kind, PrivateServer, start_private_server};

const GUIDE: &str = include_str!("../../../docs/recipes.md");
const LIMIT: Duration = Duration::from_secs(300);

/// The commands of a section, which are the indented lines.
fn commands(heading: &str) -> String {
    let (_, section) = GUIDE.split_once(&format!("\n## {heading}\n")).unwrap();
    let section = section.split("\n## ").next().unwrap();
    let lines = section.lines().filter_map(|line| line.strip_prefix("    "));
    lines.map(|line| format!("{line}\n")).collect()
}

/// Programs that act on the private server instead of one on the host.
fn programs(folder: &Path, server: &PrivateServer) {
    let address = server.server();
    let socket = address.socket.display();
    let dyno = dyno_path();
    let sysbench = variable("DYNO_TEST_SYSBENCH");
    for (name, text) in [
        ("sudo", "exec \"$@\"".to_owned()),
        (
            "mariadb",
            format!("exec /usr/bin/mariadb --no-defaults --socket={socket} --user=root \"$@\""),
        ),
        (
            "sysbench",
            format!("exec {sysbench} --mysql-socket={socket} \"$@\""),
        ),
        (
            "dyno",
            // A busy host may be refused as a place to measure, but no command may fail.
            format!(
                "case $1 in search) set -- \"$@\" --from 50/s -t 700ms --warmup 0 --votes 1 \
                 --width 100%;; esac\n\
                 {} \"$@\" || {{ status=$?; [ $status = 3 ] || exit $status; }}",
                dyno.display()
            ),
        ),
    ] {
        let path = folder.join(name);
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

/// Runs the commands of a section, and returns what they print and their folder.
fn follow(heading: &str, server: &PrivateServer) -> (String, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let bin = folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    programs(&bin, server);
    let address = format!("@127.0.0.1:{}/", server.server().port);
    let mut script = commands(heading);
    assert!(script.lines().count() > 3, "{heading}: {script}");
    for (printed, here) in [
        ("@localhost/", address.as_str()),
        ("bench@localhost", "bench@'%'"),
        ("-t 60s", "-t 1s"),
        ("-t 20s", "-t 1s"),
        ("--time=60", "--time=2"),
    ] {
        script = script.replace(printed, here);
    }
    let path = std::env::var("PATH").unwrap();
    let mut command = Command::new("bash");
    command
        .args(["-euc", &script])
        .current_dir(folder.path())
        .env("PATH", format!("{}:{path}", bin.display()))
        .env_remove("DYNO_TARGET")
        .env("DYNO_RESULTS", "dyno.db");
    (run(&mut command, LIMIT).success().stdout, folder)
}

#[test]
fn the_five_paths_work_as_printed() {
    let server = start_private_server(Kind::Mariadb);
    for (heading, printed, page) in [
        ("1. Benchmark my server", "durability", Some("bench.html")),
        (
            "2. Compare two configurations",
            "innodb_flush_log_at_trx_commit",
            Some("flush.html"),
        ),
        ("3. Import old logs", "threads", None),
        (
            "4. Find the highest rate within an objective",
            "p99 < 50",
            Some("search.html"),
        ),
        (
            "5. Run an experiment",
            "innodb_flush_log_at_trx_commit",
            None,
        ),
    ] {
        let (output, folder) = follow(heading, &server);
        assert!(output.contains(printed), "{heading}: {output}");
        if let Some(page) = page {
            let page = fs::read_to_string(folder.path().join(page)).unwrap();
            assert!(page.contains("<table"), "{heading}");
        }
    }
}
