//! Agents on hosts reached by ssh: a real sshd, a real ssh, keys, and the user's configuration.

use std::fs;
use std::net::TcpStream;
use std::process::Command;
use std::time::Duration;

use dyno_core::Clock;
use dyno_tests::command::{Running, dyno_path, run};
use dyno_tests::processes::{self, Process};
use dyno_tests::sshd::{SlowWay, Ssh, Sshd};
use dyno_tests::{Database, Kind, Output};
use regex::Regex;
use serde_json::Value;

use super::common::{LIMIT, Lab, agents_check, file, has, last, wait_for_end};

/// Each event inserts a row with the number of its session.
pub(super) const INSERT: &str = "\
local con
function thread_init() con = sysbench.sql.driver():connect() end
function event() con:query(string.format('INSERT INTO done VALUES (%d)', sysbench.tid)) end
";

/// A test's folder, hosts reached by ssh, and the server behind all of them.
struct Far {
    lab: Lab,
    ssh: Ssh,
    sshd: Sshd,
}

impl Far {
    fn new() -> Self {
        let lab = Lab::new();
        let mut ssh = Ssh::new(&lab);
        let sshd = Sshd::start(&ssh);
        for name in ["gen1", "gen2"] {
            ssh.add_host(name, sshd.address(), &[]);
        }
        Self { lab, ssh, sshd }
    }

    fn command(&self, line: &str) -> Command {
        far_command(&self.lab, &self.ssh, line)
    }

    fn dyno(&self, line: &str) -> Output {
        run(&mut self.command(line), LIMIT)
    }

    fn start(&self, line: &str) -> Running {
        Running::start(&mut self.command(line))
    }

    /// The agents and other Dyno processes that the run started over ssh.
    fn started(&self) -> Vec<Process> {
        self.sshd.started(&dyno_path())
    }
}

/// A `dyno` command that uses the test's own ssh to start the program under test.
pub(super) fn far_command(lab: &Lab, ssh: &Ssh, line: &str) -> Command {
    let mut command = lab.command(line);
    command.env("PATH", ssh.path());
    if !line.contains("--agent-command") {
        command.arg("--agent-command").arg(dyno_path());
    }
    command
}

/// Prepares the table of `oltp_point_select`.
fn prepare(far: &Far, options: &str) {
    let line = format!("prepare oltp_point_select {options}");
    far.lab.dyno(&line).success();
}

fn pids(processes: &[Process]) -> Vec<i32> {
    processes.iter().map(|one| one.pid).collect()
}

/// The events of each agent.
pub(super) fn events(run: &Value) -> Vec<u64> {
    let agents = run["agents"].as_array().unwrap().iter();
    agents.map(|one| one["events"].as_u64().unwrap()).collect()
}

#[test]
fn agents_over_ssh_run_the_load_and_show_no_secret() {
    let far = Far::new();
    let database = Database::new(Kind::Mariadb);
    database.execute("CREATE TABLE done (session INT)");
    let password = format!("Canary-far-{}", std::process::id());
    database.execute(&format!(
        "CREATE OR REPLACE USER far@'%' IDENTIFIED BY '{password}'"
    ));
    database.execute("GRANT ALL ON *.* TO far@'%'");
    let script = file(&far.lab, "insert.lua", INSERT);
    let mut command = far.command(&format!(
        "run {script} --target mysql://far@127.0.0.1:{}/{}?password_env=DYNO_FAR -c 6 -t 60s \
         --events 900 --rate 300/s --warmup 0 --calibrate never --agents ssh:gen1,ssh:gen2=2",
        database.server.port, database.name
    ));
    let mut running = Running::start(command.env("DYNO_FAR", &password));
    running.measuring();
    let agents = far.started();
    assert_eq!(agents.len(), 2, "{agents:?}");
    secrets_are_not_seen(running.pid(), &far.sshd, &password);
    let printed = running.finish(LIMIT).success();
    wait_for_end(&pids(&agents), Duration::from_secs(20));
    let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
    let host = host.trim();
    has(
        &printed,
        &[
            &format!("agent gen1 on {host}: "),
            &format!("agent gen2 on {host}: "),
            "4 sessions, 200.0 events/s",
        ],
    );
    assert_eq!(database.query_one("SELECT COUNT(*) FROM done"), "900");
    let sessions = "SELECT COUNT(DISTINCT session) FROM done WHERE session < 6";
    assert_eq!(database.query_one(sessions), "6");
    let run = last(&far.lab);
    assert_eq!(run["totals"]["events"], 900);
    assert_eq!(events(&run), [300, 600]);
    assert_ne!(agents_check(&run).0, "refuse", "{run:#}");
    database.execute("DROP USER far@'%'");
}

/// Neither the target's password nor an agent's key appears in a command line of this host, or in
/// the environment of processes started by the run or by sshd.
fn secrets_are_not_seen(run: u32, sshd: &Sshd, password: &str) {
    let key = Regex::new("SU[A-Z2-7]{56}").unwrap();
    assert!(key.is_match("SUAMLK2ZNL35WSMW37E7UD4VZ7ELPKW7DHC3BWBSD2GCZ7IUQQXZIORRBU"));
    let shows = |text: &str| text.contains(password) || key.is_match(text);
    let all = processes::all();
    for process in &all {
        let line = process.file("cmdline");
        assert!(!shows(&line), "{process:?}: {line}");
    }
    let own = all.iter().find(|one| one.pid == run.cast_signed()).unwrap();
    assert!(shows(&own.file("environ")), "it was given to dyno there");
    let mut others = processes::descendants(run);
    assert!(others.iter().any(|one| one.name == "ssh"), "{others:?}");
    others.extend(sshd.processes());
    for process in &others {
        assert!(!shows(&process.file("environ")), "{process:?}");
    }
}

#[test]
fn a_connection_that_is_cut_fails_the_run_and_ends_its_agent() {
    let far = Far::new();
    let database = Database::new(Kind::Postgres);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let mut running = far.start(&format!(
        "run oltp_point_select {options} -c 4 -t 300s --warmup 0 --calibrate never --rate 300/s \
         --orphan 5s --agents ssh:gen1,ssh:gen2"
    ));
    running.measuring();
    let agents = far.started();
    assert_eq!(agents.len(), 2, "{agents:?}");
    far.sshd.kill_session_of(&agents[0]);
    let ended = running.finish(LIMIT).failure(1);
    has(&ended, &["has ended (exit status: 255: ", "was lost"]);
    wait_for_end(&pids(&agents), Duration::from_secs(60));
    let run = last(&far.lab);
    assert!(run["totals"]["events"].as_u64().unwrap() > 0);
    assert_eq!(run["verdict"], "refused");
    let lost = |one: &&Value| one["lost"] == true;
    assert_eq!(
        run["agents"]
            .as_array()
            .unwrap()
            .iter()
            .filter(lost)
            .count(),
        1
    );
}

#[test]
fn a_killed_coordinator_leaves_only_measurements() {
    let far = Far::new();
    let database = Database::new(Kind::Mariadb);
    database.execute("CREATE TABLE done (session INT)");
    let script = file(&far.lab, "insert.lua", INSERT);
    let mut running = far.start(&format!(
        "run {script} --target {} -c 4 -t 300s --warmup 0 --calibrate never --rate 300/s \
         --orphan 3s --agents ssh:gen1,ssh:gen2",
        database.url()
    ));
    running.measuring();
    let mut left = processes::descendants(running.pid());
    left.extend(far.started());
    // Each agent's ssh, the NATS server, and the agents.
    assert!(left.len() >= 5, "{left:?}");
    running.signal(libc::SIGKILL);
    let _ = running.finish(LIMIT);
    wait_for_end(&pids(&left), Duration::from_secs(60));
    // Each agent has kept a file, which is fetched over ssh.
    let printed = far.dyno("fleet collect last").failure(1);
    has(&printed, &["lost contact with the coordinator"]);
    let rows = database.query_one("SELECT COUNT(*) FROM done");
    assert_eq!(last(&far.lab)["totals"]["events"].to_string(), rows);
    let printed = far.dyno("fleet collect last --agent-command no-dyno-here");
    has(
        &printed.failure(1),
        &["no-dyno-here: ", "install Dyno on gen1"],
    );
}

#[test]
fn an_agent_does_not_wait_long_for_an_unreachable_one() {
    let mut far = Far::new();
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    far.ssh
        .add_host("silent", silent.local_addr().unwrap(), &[]);
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let running = far.start(&format!(
        "run oltp_point_select {options} -c 2 -t 1s --calibrate never --agents \
         ssh:gen1,ssh:silent"
    ));
    let until = Clock.now() + 60_000_000_000;
    while far.started().is_empty() {
        assert!(Clock.now() < until, "gen1 was not started");
        std::thread::sleep(Duration::from_millis(20));
    }
    let waiting = far.started();
    running.signal(libc::SIGKILL);
    let _ = running.finish(LIMIT);
    // If the coordinator were only silent, the agents would wait a minute.
    wait_for_end(&pids(&waiting), Duration::from_secs(40));
}

#[test]
fn agents_that_a_busy_sshd_rejects_try_again() {
    let mut far = Far::new();
    // Connections that have not logged in yet occupy two slots.
    let narrow = Sshd::start_with(&far.ssh, &["MaxStartups=2:100:2"]);
    for name in ["busy1", "busy2", "busy3", "busy4"] {
        far.ssh.add_host(name, narrow.address(), &[]);
    }
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let line = format!(
        "run oltp_point_select {options} -c 4 -t 1s --warmup 0 --calibrate never \
         --agents ssh:busy1,ssh:busy2,ssh:busy3,ssh:busy4"
    );
    far.dyno(&line).success();
    assert_eq!(last(&far.lab)["end"]["how"], "completed");
}

#[test]
fn reports_ssh_errors_verbatim_with_advice() {
    let mut far = Far::new();
    let address = far.sshd.address();
    let nobody = "127.0.0.1:1".parse().unwrap();
    far.ssh.add_host("away", nobody, &[]);
    far.ssh
        .add_host("closed", address, &["IdentityFile DIR/refused"]);
    far.ssh
        .add_host("strange", address, &["HostKeyAlias strange"]);
    far.ssh
        .add_host("narrow", address, &["IdentityFile DIR/narrow"]);
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let run = format!("run oltp_point_select {options} -c 2 -t 1s --calibrate never");
    let dyno = dyno_path().display().to_string();
    let by_hand = |host: &str| format!("try `ssh -o BatchMode=yes {host} {dyno} --version`");
    for (host, error) in [
        ("away", "Connection refused"),
        ("closed", "Permission denied (publickey)"),
        ("strange", "Host key verification failed"),
    ] {
        let output = far.dyno(&format!("{run} --agents ssh:gen2,ssh:{host}"));
        let ended = format!("agent {host} has ended (exit status: 255: ");
        has(&output.failure(1), &[&ended, error, &by_hand(host)]);
        let output = far.dyno(&format!("{run} --server-agent ssh:{host}"));
        let ended = format!("({host}) did not start: exit status: 255: ");
        has(&output.failure(1), &[&ended, error, &by_hand(host)]);
    }
    let output = far.dyno(&format!("{run} --agents ssh:narrow"));
    let expected = [
        "remote port forwarding failed",
        "the sshd of narrow must permit",
    ];
    has(&output.failure(1), &expected);
    let none = "--agent-command no-dyno-here";
    let install = "install Dyno on gen1 so that its shell finds no-dyno-here, or name";
    let output = far.dyno(&format!("{run} --agents ssh:gen1 {none}"));
    let ended = "agent gen1 has ended (exit status: 127: ";
    has(&output.failure(1), &[ended, "no-dyno-here: ", install]);
    let output = far.dyno(&format!("{run} --server-agent ssh:gen1 {none}"));
    let ended = "(gen1) did not start: exit status: 127: ";
    has(&output.failure(1), &[ended, "no-dyno-here: ", install]);
    // The agent that could start was stopped each time.
    wait_for_end(&pids(&far.started()), Duration::from_secs(60));
}

#[test]
fn does_not_wait_long_for_a_silent_host() {
    let mut far = Far::new();
    // The kernel accepts connections, but nobody ever answers.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    far.ssh
        .add_host("silent", silent.local_addr().unwrap(), &[]);
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let line =
        format!("run oltp_point_select {options} -c 2 -t 1s --calibrate never --agents ssh:silent");
    let output = run(&mut far.command(&line), Duration::from_secs(40));
    let expected = [
        "agent silent has ended (exit status: 255: ",
        "timed out",
        "try `ssh",
    ];
    has(&output.failure(1), &expected);
}

#[test]
fn starts_an_observer_next_to_the_server_by_ssh() {
    let far = Far::new();
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let observed = |cut: bool| {
        let mut running = far.start(&format!(
            "run oltp_point_select {options} -c 4 -t 4s --warmup 0 --calibrate never \
             --server-agent ssh:gen1"
        ));
        running.measuring();
        let observer = far.started();
        assert_eq!(observer.len(), 1, "{observer:?}");
        if cut {
            far.sshd.kill_session_of(&observer[0]);
        }
        running.finish(LIMIT).success();
        wait_for_end(&pids(&observer), Duration::from_secs(20));
    };
    observed(false);
    let exported = far.lab.dyno("export last --format json").success();
    has(&exported, &["\"server.host.cpu.user\""]);
    let ended = "the observer on the server's host ended before the run";
    assert!(!exported.stdout.contains(ended));
    observed(true);
    let shown = last(&far.lab).to_string();
    let how = format!("{ended}: exit status: 255: ");
    assert!(shown.contains(&how), "{shown}");
}

#[test]
fn a_shared_ssh_connection_frees_the_ports_of_a_run() {
    let mut far = Far::new();
    let shared = [
        "ControlMaster auto",
        "ControlPersist 60",
        "ControlPath DIR/shared",
    ];
    far.ssh.add_host("both1", far.sshd.address(), &shared);
    far.ssh.add_host("both2", far.sshd.address(), &shared);
    let database = Database::new(Kind::Mariadb);
    let options = format!("--target {} --table-size 1000", database.url());
    prepare(&far, &options);
    let mut running = far.start(&format!(
        "run oltp_point_select {options} -c 4 -t 2s --warmup 0 --calibrate never \
         --agents ssh:both1,ssh:both2"
    ));
    running.measuring();
    let forwards = processes::descendants(running.pid())
        .into_iter()
        .filter(|one| one.name == "ssh")
        .map(|one| one.file("cmdline"));
    let ports: Vec<u16> = forwards
        .filter_map(|line| {
            let mut words = line.split('\0').skip_while(|word| *word != "-R");
            words.nth(1)?.split(':').nth(1)?.parse().ok()
        })
        .collect();
    assert_eq!(ports.len(), 2, "{ports:?}");
    let listens = |port: &u16| TcpStream::connect(("127.0.0.1", *port)).is_ok();
    assert!(ports.iter().all(listens), "{ports:?}");
    running.finish(LIMIT).success();
    let mut check = far.ssh.client();
    run(check.args(["-O", "check", "both1"]), LIMIT).success();
    assert!(!ports.iter().any(listens), "{ports:?}");
    run(far.ssh.client().args(["-O", "exit", "both1"]), LIMIT).success();
}

#[test]
fn a_slow_link_to_an_agent_only_raises_doubt_about_its_clock() {
    let mut far = Far::new();
    let way = SlowWay::to(far.sshd.address(), Duration::from_millis(15));
    far.ssh.add_host("distant", way.address(), &[]);
    let database = Database::new(Kind::Mariadb);
    database.execute("CREATE TABLE done (session INT)");
    let script = file(&far.lab, "insert.lua", INSERT);
    far.dyno(&format!(
        "run {script} --target {} -c 4 -t 60s --events 600 --rate 300/s --warmup 0 \
         --calibrate never --agents ssh:gen1,ssh:distant",
        database.url()
    ))
    .success();
    let run = last(&far.lab);
    let bound = |number: usize| run["agents"][number]["clock"]["bound_ms"].as_f64().unwrap();
    // The bound is half of the round-trip time.
    assert!(bound(1) >= 15.0 && bound(0) < bound(1), "{run:#}");
    let (outcome, evidence) = agents_check(&run);
    assert_eq!(outcome, "doubt", "{evidence}");
    assert!(evidence.contains("distant"), "{evidence}");
    assert_eq!(run["end"]["how"], "completed");
    assert_eq!(events(&run), [300, 300]);
    assert_eq!(database.query_one("SELECT COUNT(*) FROM done"), "600");
}
