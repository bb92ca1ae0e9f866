//! What the test itself observes of the host, to check what Dyno observes; and artificial load.

use std::fs;
use std::process::Command;

use dyno_tests::command::Running;

/// The checks that other load on the host affects. Such load takes CPU from the client, moves the
/// rate, or delays observers. All other checks must pass on a busy host, too.
pub(crate) const LOAD_SENSITIVE: &[&str] = &[
    "arrivals",
    "client-cpu",
    "cpu-frequency",
    "fairness",
    "generator-ceiling",
    "host-resources",
    "latency-modes",
    "length",
    "observers",
    "offered-rate",
    "other-load",
    "other-processes",
    "schedule-lag",
    "stalls",
    "steady-state",
    "unserved",
    "warm-up",
    "whole-cycles",
];

/// If other processes have this share of the host's CPUs, they may have changed a figure. Well
/// below the thresholds of Dyno's checks.
const BUSY: f64 = 0.07;
/// The same for the hypervisor's steal time.
const STOLEN: f64 = 0.03;

/// Who used the host's CPUs during a run, as shares of all CPUs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Host {
    /// Processes other than the run, its server, and the test.
    others: f64,
    stolen: f64,
}

/// An observation in progress.
pub(crate) struct Watch {
    server: Option<u32>,
    before: Reading,
}

impl Host {
    /// Starts to observe. `server` is the process under test; with `None`, its CPU time counts as
    /// other load.
    pub(crate) fn watch(server: Option<u32>) -> Watch {
        Watch {
            server,
            before: Reading::now(server),
        }
    }

    /// Whether other load may be the cause of a finding of a load-sensitive check.
    pub(crate) fn was_busy(&self) -> bool {
        self.others >= BUSY || self.stolen >= STOLEN
    }

    /// Whether there was so much other load that Dyno must report it.
    pub(crate) fn was_crowded(&self) -> bool {
        // Dyno doubts from 15 % on during the measurement, which is about half of the time observed
        // here. The rest is calibration and warm-up.
        self.others >= 0.5
    }
}

impl Watch {
    /// What was observed since the start.
    pub(crate) fn finish(self) -> Host {
        let after = Reading::now(self.server);
        let before = self.before;
        let all = (after.all - before.all).max(1.0);
        let known = after.known - before.known;
        Host {
            others: ((after.busy - before.busy - known) / all).max(0.0),
            stolen: (after.stolen - before.stolen) / all,
        }
    }
}

/// CPU time since the host started, in ticks.
struct Reading {
    all: f64,
    busy: f64,
    stolen: f64,
    /// The ticks of the test, the children it has reaped, and the server.
    known: f64,
}

impl Reading {
    fn now(server: Option<u32>) -> Self {
        let stat = fs::read_to_string("/proc/stat").unwrap();
        let fields: Vec<f64> = stat
            .lines()
            .next()
            .unwrap()
            .split_whitespace()
            .skip(1)
            .map(|field| field.parse().unwrap())
            .collect();
        let (idle, iowait, stolen) = (fields[3], fields[4], fields[7]);
        // Guest time is included in user time.
        let all: f64 = fields[..8].iter().sum();
        let own = ticks("/proc/self/stat").unwrap();
        Self {
            all,
            busy: all - idle - iowait - stolen,
            stolen,
            known: own.itself + own.ended_children + server.map_or(0.0, family_ticks),
        }
    }
}

struct Ticks {
    parent: u32,
    itself: f64,
    ended_children: f64,
}

/// A process and its children, including those that have ended: PostgreSQL has one process per
/// session.
fn family_ticks(pid: u32) -> f64 {
    let Some(own) = ticks(&format!("/proc/{pid}/stat")) else {
        return 0.0;
    };
    let children: f64 = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| ticks(&entry.path().join("stat").to_string_lossy()))
        .filter(|other| other.parent == pid)
        .map(|child| child.itself)
        .sum();
    own.itself + own.ended_children + children
}

/// `None` if the process has ended or does not exist.
fn ticks(path: &str) -> Option<Ticks> {
    let stat = fs::read_to_string(path).ok()?;
    // The name may contain anything, even blanks and parentheses.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let number = |index: usize| -> Option<f64> { fields.get(index)?.parse().ok() };
    Some(Ticks {
        parent: fields.get(1)?.parse().ok()?,
        itself: number(11)? + number(12)?,
        ended_children: number(13)? + number(14)?,
    })
}

/// The last of the CPUs that this test may use.
pub(crate) fn a_cpu() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    list.trim().rsplit([',', '-']).next().unwrap().to_owned()
}

/// The number of CPUs.
pub(crate) fn cpus() -> usize {
    std::thread::available_parallelism().unwrap().get()
}

/// Processes that only use CPU until they are dropped, all on one CPU if it is given.
#[must_use]
pub(crate) fn burners(count: usize, cpu: Option<&str>) -> Vec<Running> {
    let burner = |_| {
        let mut command = match cpu {
            Some(cpu) => {
                let mut command = Command::new("taskset");
                command.args(["-c", cpu, "sh"]);
                command
            }
            None => Command::new("sh"),
        };
        Running::start(command.args(["-c", "while :; do :; done"]))
    };
    (0..count).map(burner).collect()
}
