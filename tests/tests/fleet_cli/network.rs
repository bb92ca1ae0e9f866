//! Agents on separate hosts, whose cables can be unplugged.

use std::net::SocketAddr;
use std::process::Command;
use std::time::Duration;

use dyno_tests::command::{Running, dyno_path};
use dyno_tests::network::{Host, on_own_host};
use dyno_tests::processes::Process;
use dyno_tests::sshd::{Ssh, Sshd};
use dyno_tests::{Database, Kind, PrivateServer, start_private_server_with};

use super::common::{LIMIT, Lab, agents_check, file, has, last, wait_for_end};
use super::ssh::{INSERT, events, far_command};

/// Two hosts, each with an sshd, and a database that is reached through the cable of the second
/// host.
struct Apart {
    lab: Lab,
    ssh: Ssh,
    sshds: Vec<Sshd>,
    hosts: Vec<Host>,
    database: Database,
    script: String,
    // Dropped after its database.
    server: PrivateServer,
}

impl Apart {
    fn new() -> Self {
        let lab = Lab::new();
        let server = start_private_server_with(Kind::Mariadb, &["--bind-address=0.0.0.0"]);
        let database = Database::on(&server.server());
        database.execute("CREATE TABLE done (session INT)");
        database.execute("CREATE USER far@'%'");
        database.execute("GRANT ALL ON *.* TO far@'%'");
        let mut ssh = Ssh::new(&lab);
        let (mut hosts, mut sshds) = (Vec::new(), Vec::new());
        for number in [1, 2] {
            let host = Host::connect(&format!("gen{number}.test"), number);
            let address = SocketAddr::from((host.address(), 2200 + u16::from(number)));
            let start = |command: &mut Command| host.attach(command);
            sshds.push(Sshd::start_at(&ssh, address, start).unwrap());
            ssh.add_host(&format!("gen{number}"), address, &[]);
            hosts.push(host);
        }
        let script = file(&lab, "insert.lua", INSERT);
        Self {
            lab,
            ssh,
            sshds,
            hosts,
            database,
            script,
            server,
        }
    }

    /// Starts a run, and returns once its measurement has begun.
    fn start(&self, events: u64, more: &str) -> Running {
        let (near, port) = (self.hosts[1].near(), self.server.port());
        let line = format!(
            "run {} --target mysql://far@{near}:{port}/{} -c 4 -t 300s --events {events} \
             --rate 300/s --warmup 0 --calibrate never --agents ssh:gen1,ssh:gen2 {more}",
            self.script, self.database.name
        );
        let mut running = Running::start(&mut far_command(&self.lab, &self.ssh, &line));
        running.measuring();
        running
    }

    fn agents(&self) -> Vec<Process> {
        let started = self.sshds.iter();
        started
            .flat_map(|sshd| sshd.started(&dyno_path()))
            .collect()
    }

    fn rows(&self) -> u64 {
        let count = self.database.query_one("SELECT COUNT(*) FROM done");
        count.parse().unwrap()
    }
}

#[test]
fn a_brief_network_failure_loses_nothing() {
    on_own_host(|| {
        let apart = Apart::new();
        let running = apart.start(3600, "");
        apart.hosts[0].plug(false);
        // TCP retransmits after 0.2 s, 0.6 s, 1.4 s, 3 s and 6.2 s, so before 11 s of silence.
        std::thread::sleep(Duration::from_secs(3));
        apart.hosts[0].plug(true);
        let printed = running.finish(LIMIT).success();
        has(
            &printed,
            &["agent gen1 on gen1.test: ", "agent gen2 on gen2.test: "],
        );
        let run = last(&apart.lab);
        assert_eq!(run["end"]["how"], "completed", "{run:#}");
        assert_eq!(events(&run), [1800, 1800]);
        assert_eq!(run["totals"]["events"], 3600);
        assert_eq!(apart.rows(), 3600);
        assert_eq!(run["agents"][0]["lost"], false);
        assert_ne!(agents_check(&run).0, "refuse");
        // The latencies show when it happened.
        let worst = run["response"]["max_ms"].as_f64().unwrap();
        assert!(worst >= 1_000.0, "{worst}");
    });
}

#[test]
fn a_lasting_network_failure_fails_the_run_and_ends_the_agent() {
    on_own_host(|| {
        let apart = Apart::new();
        let running = apart.start(90_000, "--orphan 5s");
        let agents: Vec<i32> = apart.agents().iter().map(|one| one.pid).collect();
        assert_eq!(agents.len(), 2, "{agents:?}");
        apart.hosts[0].plug(false);
        let ended = running.finish(LIMIT).failure(1);
        has(&ended, &["gen1 was lost: no message for"]);
        // The agent at the other end of the cable notices nothing.
        wait_for_end(&agents, Duration::from_secs(60));
        let run = last(&apart.lab);
        assert_eq!(run["verdict"], "refused");
        assert_eq!(run["agents"][0]["lost"], true);
        assert_eq!(run["agents"][1]["lost"], false);
        let findings = run["agent_findings"].to_string();
        assert!(findings.contains("agent-lost"), "{findings}");
        // What gen1 did after the cable was unplugged was never reported; what gen2 did was.
        let counted: u64 = events(&run).iter().sum();
        assert!(counted > 0 && counted <= apart.rows(), "{counted}");
    });
}
