//! Agents that cannot work, and secrets that must not leak.

use std::fs;

use dyno_tests::{Database, Kind};

use super::common::{LIMIT, Lab, children, has};

#[test]
fn reports_invalid_agents_before_anything_is_started() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let run = format!("run oltp_point_select --target {}", database.url());
    for (more, expected) in [
        ("--agents gen1", "'gen1' is not an agent"),
        ("--agents local:0", "local:N starts N agents"),
        ("--agents ssh:-oX", "names a host as ssh knows it"),
        ("--agents ssh:gen1;ssh:gen2", "separate agents with commas"),
        ("--agents ssh:me@gen1:2222", "~/.ssh/config"),
        ("--agent local:2", "did you mean --agents?"),
        (
            "--agents local:2 --shard 1/2",
            "--shard cannot be used with --agents",
        ),
        (
            "--agents local:2 --on-agent-loss go",
            "neither fail nor degrade",
        ),
        (
            "--agents local:2 --orphan 1s",
            "--orphan must be 3s or longer",
        ),
        ("--orphan 5s", "needs --agents"),
        ("--agents local:3 -c 2", "would get none of the 2 sessions"),
    ] {
        let output = lab.dyno(&format!("{run} {more} --table-size 10 --force"));
        has(&output.failure(2), &[expected]);
    }
    let output = lab.dyno("run oltp_point_select --agents local:2");
    has(
        &output.failure(2),
        &["give a --target that the agents can reach"],
    );
    let output = lab.dyno("run cpu --agents local:2");
    has(&output.failure(2), &["tests the host that it runs on"]);
    let output = lab.dyno("agent");
    has(&output.failure(2), &["needs --join URL"]);
    let output = lab.dyno("agent --stdin-key");
    has(
        &output.failure(1),
        &["standard input does not contain a configuration"],
    );
}

#[test]
fn reports_why_agents_cannot_begin() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let target = database.url();
    let options = format!("--target {target} --table-size 1000");
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let run = format!("run oltp_point_select {options} -c 4 -t 1s --calibrate never");
    let output = lab.dyno(&format!(
        "{run} --agents local:2 --nats-server /nowhere/nats"
    ));
    has(&output.failure(1), &["cannot start /nowhere/nats"]);
    let output = lab.dyno(&format!("{run} --agents ssh:nowhere.invalid"));
    has(&output.failure(1), &["agent nowhere-invalid has ended"]);
    // The agent's sessions fail at the start.
    let script = "function thread_init() error('no bread') end function event() end";
    fs::write(lab.path("bad.lua"), script).unwrap();
    let output = lab.dyno(&format!(
        "run bad.lua --target {target} -c 4 -t 1s --calibrate never --agents local:2"
    ));
    has(&output.failure(1), &["could not prepare", "no bread"]);
}

#[test]
fn passwords_reach_only_the_agents() {
    let lab = Lab::new();
    let database = Database::new(Kind::Mariadb);
    let password = "Canary-9f31";
    database.execute(&format!(
        "CREATE OR REPLACE USER fleet@'%' IDENTIFIED BY '{password}'"
    ));
    database.execute("GRANT ALL ON *.* TO fleet@'%'");
    let options = format!(
        "--target mysql://fleet:{password}@127.0.0.1:{}/{} --table-size 1000",
        database.server.port, database.name
    );
    lab.dyno(&format!("prepare oltp_point_select {options}"))
        .success();
    let mut run = lab.start(&format!(
        "run oltp_point_select {options} -c 4 -t 4s --warmup 0 --calibrate never \
         --agents local:2"
    ));
    run.measuring();
    let agents = children(run.pid(), "--stdin-key");
    assert_eq!(agents.len(), 2);
    for pid in agents.into_iter().chain(children(run.pid(), "nats-server")) {
        for file in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{pid}/{file}")).unwrap();
            assert!(!String::from_utf8_lossy(&text).contains(password), "{file}");
        }
    }
    for folder in fs::read_dir(std::env::temp_dir()).unwrap().flatten() {
        let name = folder.file_name().to_string_lossy().into_owned();
        if name.starts_with("dyno-") {
            assert!(!holds(&folder.path(), password), "{name}");
        }
    }
    let ended = run.finish(LIMIT).success();
    assert!(!format!("{}{}", ended.stdout, ended.stderr).contains(password));
    assert!(!holds(&lab.path("state"), password));
    let kept = fs::read(lab.path("dyno.db")).unwrap();
    assert!(!String::from_utf8_lossy(&kept).contains(password));
    database.execute("DROP USER fleet@'%'");
}

/// Whether a file below a folder contains a text.
fn holds(path: &std::path::Path, text: &str) -> bool {
    if path.is_dir() {
        let entries = fs::read_dir(path).into_iter().flatten().flatten();
        return entries.into_iter().any(|entry| holds(&entry.path(), text));
    }
    let bytes = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&bytes).contains(text)
}
