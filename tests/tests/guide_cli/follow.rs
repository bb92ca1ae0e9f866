//! Runs the commands of pages with programs and files that they can work with.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{dyno_path, run};
use dyno_tests::own_servers::Lab;
use dyno_tests::{Database, Kind, Server, start_private_server};

use super::cases::{ENDINGS, SUBSTITUTIONS, TOLERATED};
use super::commands::source;
use super::commands_to_run;
use super::pages::Page;

/// How long the commands of a page may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(400);

/// Logs in the guide, and the files of `crates/dyno-import/fixtures` that take their place.
const LOGS: &[(&str, &str)] = &[
    ("sysbench.log", "stamped.out"),
    ("vmstat.log", "stamped-vmstat.out"),
    ("out.txt", "pgbench-rate.out"),
    ("pgbench_log.4711", "pgbench_log.18562"),
    ("pgbench_log.4711.1", "pgbench_log.18562.1"),
];

/// The experiments in the guide, and what takes their place.
const EXPERIMENTS: &[&str] = &["binlog-cost.toml", "page-size.toml"];
const EXPERIMENT: &str = "experiment = 1
question = 'How do sessions scale?'
[server]
url = 'sqlite:small.db'
[data]
workload = 'oltp_point_select'
options = { tables = 1, table_size = 100 }
[load]
workload = 'oltp_point_select'
warmup = '0s'
time = '60s'
[[factor]]
name = 'sessions'
applies = 'client'
levels = [1, 2]
[design]
repeats = 1
[scale.laptop]
'load.time' = '0.3s'
";

/// The results file is read with a program that hosts may lack.
const SQLITE3: &str = "#!/usr/bin/python3
import sqlite3, sys
for row in sqlite3.connect(sys.argv[1]).execute(sys.argv[2]):
    print(*row, sep='|')
";

/// Runs the commands of pages on a new MariaDB server.
///
/// # Panics
/// Some command fails; the message has the output of each that did.
pub(super) fn follow(pages: &[Page]) {
    let private = start_private_server(Kind::Mariadb);
    let server = private.server();
    let postgres = Database::new(Kind::Postgres);
    let names = [
        ("{url}", server.url("bench")),
        ("{port}", server.port.to_string()),
        ("{socket}", server.socket.display().to_string()),
        ("{postgres}", postgres.url()),
    ];
    let user = "GRANT ALL ON bench.* TO bench@'%' IDENTIFIED BY 'secret'";
    server.execute(None, user);
    let mut failed = Vec::new();
    for page in pages {
        failed.extend(follow_page(page, &server, &names));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

/// A command as a test runs it.
pub(super) fn substituted(command: &str) -> String {
    let all = SUBSTITUTIONS.iter();
    all.fold(command.to_owned(), |text, (printed, here)| {
        text.replace(printed, here)
    })
}

/// Runs the commands of a page in one shell, so that variables and the folder stay. Returns those
/// that failed, with their output.
fn follow_page(page: &Page, server: &Server, names: &[(&str, String)]) -> Vec<String> {
    server.execute(None, "DROP DATABASE IF EXISTS bench");
    server.execute(None, "CREATE DATABASE bench");
    let lab = Lab::new();
    fill(&lab);
    let steps = steps(page, names);
    let mut script = String::new();
    for (i, step) in steps.iter().enumerate() {
        let file = lab.path(&format!("bin/{i}.sh"));
        fs::write(&file, step).unwrap();
        let file = file.display();
        script.push_str(&format!(". {file} >{file}.out 2>&1; echo $?\n"));
    }
    let path = std::env::var("PATH").unwrap();
    let mut bash = Command::new("bash");
    bash.args(["-c", &script])
        .current_dir(lab.path("work"))
        .env("PATH", format!("{}:{path}", lab.path("bin").display()))
        .env("DYNO_SERVERS", lab.servers())
        .env("XDG_CACHE_HOME", lab.path("cache"))
        .env("XDG_STATE_HOME", lab.path("state"))
        .env_remove("DYNO_RESULTS")
        .env_remove("DYNO_TARGET");
    let printed = run(&mut bash, LIMIT).stdout;
    let mut statuses = printed.lines();
    let mut failed = Vec::new();
    for (i, step) in steps.iter().enumerate() {
        let status = statuses.next().unwrap_or("it did not run");
        if status != "0" {
            let output = lab.path(&format!("bin/{i}.sh.out"));
            let output = fs::read_to_string(output).unwrap_or_default();
            failed.push(format!("{}: {step}\n({status})\n{output}", page.path));
        }
    }
    failed
}

/// The shell commands of a page in their order.
fn steps(page: &Page, names: &[(&str, String)]) -> Vec<String> {
    let mut steps = vec![page.before.to_owned()];
    for command in commands_to_run(page.path) {
        let known = page.steps.iter();
        let before = known.filter(|(start, _)| command.starts_with(start));
        steps.extend(before.map(|&(_, step)| step.to_owned()));
        steps.push(substituted(&command));
    }
    let named = |text: String| {
        let all = names.iter();
        all.fold(text, |text, (name, value)| text.replace(name, value))
    };
    steps.into_iter().map(|step| strict(&named(step))).collect()
}

/// A shell's loop succeeds if its last command does, and a list, too. These end with the first
/// failure, except those that set a variable for later commands.
fn strict(step: &str) -> String {
    let loops = step.starts_with("for ");
    if loops || (step.contains('\n') && !step.contains("export ")) {
        return format!("( set -e\n{step}\n)\n");
    }
    format!("{step}\n")
}

/// Creates the folder of the commands, with the files that the guide names, and that of the
/// programs.
fn fill(lab: &Lab) {
    for folder in ["bin", "work", "work/experiments"] {
        fs::create_dir(lab.path(folder)).unwrap();
    }
    let write = |name: &str, text: &str| fs::write(lab.path(&format!("work/{name}")), text);
    for (name, log) in LOGS {
        write(name, &source(&format!("crates/dyno-import/fixtures/{log}"))).unwrap();
    }
    for name in EXPERIMENTS {
        write(&format!("experiments/{name}"), EXPERIMENT).unwrap();
    }
    let page = source("docs/scripting.md");
    write("pay.lua", between(&page, "```lua\n", "```")).unwrap();
    let page = source("docs/workloads/sql-files.md");
    let shown = between(&page, "    $ cat queries.sql\n", "    $ ");
    let lines = shown.lines().map(str::trim_start);
    let queries: String = lines.map(|line| format!("{line}\n")).collect();
    write("queries.sql", &queries).unwrap();
    program(&lab.path("bin/dyno"), &dyno());
    program(&lab.path("bin/sqlite3"), SQLITE3);
}

fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, rest) = text.split_once(start).unwrap();
    rest.split_once(end).unwrap().0
}

fn program(path: &Path, text: &str) {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// A script that runs Dyno with the endings of its command line.
fn dyno() -> String {
    let mut script = "#!/bin/sh\n".to_owned();
    script.push_str("case $1 in sysbench) ;; *)\n");
    for (pattern, except, words) in ENDINGS {
        let except = match *except {
            "" => String::new(),
            except => format!("{except}) ;; "),
        };
        script.push_str(&format!(
            "case \" $* \" in {except}{pattern}) set -- \"$@\" {words};; esac\n"
        ));
    }
    script.push_str(";; esac\n");
    let dyno = dyno_path();
    script.push_str(&format!(
        "timeout 100 {} \"$@\"\nstatus=$?\n",
        dyno.display()
    ));
    for (status, pattern) in TOLERATED {
        script.push_str(&format!(
            "case $status in {status}) case \" $* \" in {pattern}) status=0;; esac;; esac\n"
        ));
    }
    script.push_str("exit $status\n");
    script
}
