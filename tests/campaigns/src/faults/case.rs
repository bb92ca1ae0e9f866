//! The work of a case and its faults, drawn from the campaign's seed.

use std::fmt;
use std::path::Path;
use std::process::Command;

use dyno_core::rand::Stream;
use xtask::servers::Kind;

use crate::bed::{Bed, DATABASE, PASSWORD, TABLES, USER, Way, dyno_command, in_folder};
use crate::relay::fault::Fault;

/// A database in which `prepare` may create and drop anything.
pub(super) const SCRATCH: &str = "campaign_scratch";
/// Longer than any run, because the run is interrupted.
const NEVER: &str = "600s";

/// What a case runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// A sysbench script that writes.
    ReadWrite,
    /// The shortest transaction.
    PointSelect,
    /// A workload that records its commits in a ledger.
    Tpcb,
    /// Another workload with a ledger.
    SimpleUpdate,
    /// sysbench's own command line.
    Sysbench,
    /// Creating tables.
    Prepare,
    /// A run without a target.
    Temporary,
}

/// What can happen to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerFault {
    /// Killed and restarted.
    Crash,
    /// Shut down and restarted.
    Restart,
    /// Stopped (SIGSTOP) for a while.
    Freeze,
    /// The administrator repeatedly ends some sessions.
    KillSessions,
    /// All sessions are ended, and fewer may connect for a while.
    TooMany,
    /// It refuses writes.
    ReadOnly,
    /// It stops answering just before the run ends, and never resumes.
    SilentEnd,
}

/// Signals to Dyno.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blow {
    /// SIGKILL.
    Kill,
    /// SIGTERM.
    Terminate,
    /// SIGINT.
    Interrupt,
    /// SIGINT twice.
    InterruptTwice,
}

/// The event from which the delay of a signal counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// From the start of the process.
    Start,
    /// From the first interval line.
    Measuring,
}

/// What can go wrong in a case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Harm {
    /// The relay injects faults into connections.
    Relay {
        /// The faults to choose from.
        faults: Vec<Fault>,
        /// The percentage of connections.
        percent: u64,
        /// Also inject faults during the log-in.
        from_start: bool,
    },
    /// All connections are reset, several times.
    ResetAll,
    /// All connections are reset, and new ones are refused for a while.
    Refuse,
    /// A fault of the server.
    Server(ServerFault),
    /// A signal to Dyno itself.
    Dyno {
        /// The signal.
        blow: Blow,
        /// The start of the delay.
        from: From,
        /// The delay in milliseconds.
        after_ms: u64,
    },
    /// The results file's disk is full.
    DiskFull {
        /// The space in bytes.
        bytes: u64,
    },
}

/// One run with its faults.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its number in the campaign.
    pub number: u64,
    /// The relay's seed.
    pub seed: u64,
    /// The kind of server.
    pub kind: Kind,
    /// The type of Dyno's connections.
    pub way: Way,
    /// The work.
    pub work: Work,
    /// Simulated users.
    pub sessions: u64,
    /// The rate of an open loop.
    pub rate: Option<u64>,
    /// Whether observers are on.
    pub observe: bool,
    /// The run's time limit in seconds; without one, it is interrupted.
    pub limit_s: Option<u64>,
    /// The faults.
    pub harm: Harm,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            way,
            work,
            sessions,
            harm,
            ..
        } = self;
        write!(f, "{kind} {way:?} {work:?} -c {sessions}, {harm:?}")
    }
}

impl Case {
    /// The case with this number.
    pub fn draw(campaign_seed: u64, number: u64) -> Self {
        let mut draws = Stream::new(campaign_seed, number);
        let kind = Kind::ALL[(number % 3) as usize];
        let harm = harm(&mut draws);
        let limit_s = match harm {
            Harm::Server(ServerFault::SilentEnd) => Some(3),
            Harm::Dyno {
                from: From::Measuring,
                ..
            }
            | Harm::DiskFull { .. } => Some(3),
            Harm::Relay { .. } if draws.below(4) == 0 => Some(8),
            _ => None,
        };
        let work = work(&harm, &mut draws);
        let relayed = matches!(harm, Harm::Relay { .. } | Harm::ResetAll | Harm::Refuse);
        let way = match (work, draws.below(5)) {
            (Work::Sysbench, _) | (_, 0..=1) => Way::Plain,
            (_, 4) if !relayed => Way::Socket,
            _ => Way::Tls,
        };
        Self {
            number,
            seed: draws.next_u64(),
            kind,
            way,
            work,
            sessions: [1, 2, 4, 8, 16, 32, 64][draws.below(7) as usize],
            rate: (draws.below(4) == 0).then(|| 20 + draws.below(300)),
            observe: draws.below(4) == 0,
            limit_s,
            harm,
        }
    }

    /// Whether Dyno connects through the relay.
    pub fn relayed(&self) -> bool {
        self.way != Way::Socket && self.work != Work::Temporary
    }

    /// Whether the run must have a complete result, because none of its faults excuses less.
    pub fn must_succeed(&self) -> bool {
        let disturbed = match &self.harm {
            Harm::Relay {
                faults, from_start, ..
            } => *from_start || faults.iter().any(|fault| fault.alters()),
            Harm::Server(fault) => *fault == ServerFault::ReadOnly,
            Harm::Dyno { .. } | Harm::DiskFull { .. } => true,
            Harm::ResetAll | Harm::Refuse => false,
        };
        self.is_run() && !disturbed
    }

    /// Whether it is a run with a result and a record.
    pub fn is_run(&self) -> bool {
        !matches!(self.work, Work::Sysbench | Work::Prepare)
    }

    /// Whether the workload keeps a ledger of its commits.
    pub fn keeps_ledger(&self) -> bool {
        matches!(self.work, Work::Tpcb | Work::SimpleUpdate)
    }

    /// Whether hanging sessions may hold locks that all other sessions wait for.
    pub fn may_block(&self) -> bool {
        self.work != Work::PointSelect
    }

    /// Whether received bytes may be altered without anybody noticing.
    pub fn is_altered(&self) -> bool {
        match &self.harm {
            Harm::Relay { faults, .. } => {
                self.way == Way::Plain && faults.iter().any(|fault| fault.alters())
            }
            _ => false,
        }
    }

    /// Whether the process is killed without a chance to report.
    pub fn is_killed(&self) -> bool {
        matches!(
            self.harm,
            Harm::Dyno {
                blow: Blow::Kill,
                ..
            }
        )
    }

    /// The command line, which connects to `port` and writes its files to `folder`.
    pub fn command(&self, bed: &Bed<'_>, port: u16, folder: &Path) -> Command {
        let mut command = dyno_command(&bed.dyno);
        in_folder(&mut command, folder);
        let database = match self.work {
            Work::Prepare => SCRATCH,
            _ => DATABASE,
        };
        let url = bed.url(self.way, port, database);
        match self.work {
            Work::Sysbench => self.sysbench(&mut command, port),
            Work::Prepare => {
                command.args(["prepare", "oltp_read_write", "--target", &url]);
                command.args(["--tables", "4", "--table-size", "100000"]);
                command.args(["-c", &self.sessions.min(4).to_string()]);
            }
            _ => self.run(&mut command, &url),
        }
        command
    }

    fn run(&self, command: &mut Command, url: &str) {
        let workload = match self.work {
            Work::ReadWrite => "oltp_read_write",
            Work::Tpcb => "tpcb",
            Work::SimpleUpdate => "simple_update",
            _ => "oltp_point_select",
        };
        command.args(["run", workload]);
        if self.work != Work::Temporary {
            // The URL contains no password in either form.
            match self.seed.is_multiple_of(2) {
                true => command.args(["--target", url]),
                false => command.env("DYNO_TARGET", url),
            };
        }
        if matches!(self.work, Work::ReadWrite | Work::PointSelect) {
            command.args(TABLES);
        }
        let limit = self.limit_s.map(|limit| format!("{limit}s"));
        command.args(["-t", limit.as_deref().unwrap_or(NEVER)]);
        command.args(["-c", &self.sessions.to_string()]);
        // Longer than a connection attempt, so that the attempt ends first.
        command.args(["--warmup", "0", "--call-timeout", "15s"]);
        command.args(["--calibrate", "never", "--results"]);
        command.arg(match self.harm {
            Harm::DiskFull { .. } => "small/dyno.db",
            _ => "dyno.db",
        });
        match self.harm {
            Harm::DiskFull { .. } => command.arg("--json"),
            _ => command.arg("--json=run.json"),
        };
        command.args(["--seed", &(1 + self.seed % 1_000_000).to_string()]);
        if let Some(rate) = self.rate {
            command.args(["--rate", &format!("{rate}/s")]);
        }
        if !self.observe {
            command.args(["--observe", "off"]);
        }
        if self.seed.is_multiple_of(3) {
            command.args(["--interval", "200ms"]);
        }
    }

    fn sysbench(&self, command: &mut Command, port: u16) {
        let driver = self.kind.driver();
        command.args(["sysbench", "oltp_read_write"]);
        command.arg(format!("--db-driver={driver}"));
        for (name, value) in [
            ("host", "127.0.0.1"),
            ("port", &port.to_string()),
            ("user", USER),
            ("password", PASSWORD),
            ("db", DATABASE),
        ] {
            command.arg(format!("--{driver}-{name}={value}"));
        }
        command.args(["--tables=2", "--table-size=2000", "--report-interval=1"]);
        command.arg(format!("--threads={}", self.sessions));
        command.arg(format!("--time={}", self.limit_s.unwrap_or(600)));
        if let Some(rate) = self.rate {
            command.arg(format!("--rate={rate}"));
        }
        command.arg("run");
    }
}

fn harm(draws: &mut Stream) -> Harm {
    match draws.below(20) {
        0..=8 => {
            let count = 1 + draws.below(3);
            let faults = (0..count).map(|_| Fault::ALL[draws.below(9) as usize]);
            Harm::Relay {
                faults: faults.collect(),
                percent: [30, 60, 100][draws.below(3) as usize],
                from_start: draws.below(5) == 0,
            }
        }
        9 => Harm::ResetAll,
        10 => Harm::Refuse,
        11..=14 => Harm::Server(match draws.below(7) {
            0 => ServerFault::Crash,
            1 => ServerFault::Restart,
            2 => ServerFault::Freeze,
            3 => ServerFault::KillSessions,
            4 => ServerFault::TooMany,
            5 => ServerFault::ReadOnly,
            _ => ServerFault::SilentEnd,
        }),
        15..=18 => {
            let from = match draws.below(3) {
                0 => From::Start,
                _ => From::Measuring,
            };
            Harm::Dyno {
                blow: match draws.below(6) {
                    0..=2 => Blow::Kill,
                    3 => Blow::Terminate,
                    4 => Blow::Interrupt,
                    _ => Blow::InterruptTwice,
                },
                from,
                after_ms: match from {
                    From::Start => draws.below(600),
                    From::Measuring => draws.below(4000),
                },
            }
        }
        _ => Harm::DiskFull {
            bytes: 16_384 << draws.below(6),
        },
    }
}

fn work(harm: &Harm, draws: &mut Stream) -> Work {
    let draw = draws.below(12);
    match (harm, draw) {
        (Harm::Server(ServerFault::SilentEnd), _) => Work::Tpcb,
        (Harm::DiskFull { .. }, 0..=5) => Work::PointSelect,
        (Harm::DiskFull { .. }, _) => Work::ReadWrite,
        (Harm::Dyno { .. }, 10) => Work::Temporary,
        (_, 0..=1) => Work::ReadWrite,
        (_, 2..=3) => Work::PointSelect,
        (_, 4..=6) => Work::Tpcb,
        (_, 7..=8) => Work::SimpleUpdate,
        (_, 9) => Work::Prepare,
        (_, 10) => Work::Sysbench,
        (Harm::Dyno { .. }, _) => Work::Prepare,
        _ => Work::Tpcb,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_seed_repeats_its_cases_and_every_kind_occurs() {
        let cases: Vec<Case> = (0..600).map(|number| Case::draw(5, number)).collect();
        let mut seen = HashSet::new();
        for case in &cases {
            let again = Case::draw(5, case.number);
            assert_eq!(format!("{case:?}"), format!("{again:?}"));
            seen.insert(format!("{:?}", case.work));
            seen.insert(format!("{:?}", case.way));
            let words = format!("{:?}", case.harm);
            let words = words.split(|letter: char| !letter.is_alphanumeric());
            seen.extend(words.map(str::to_owned));
        }
        let wanted = "ReadWrite PointSelect Tpcb SimpleUpdate Sysbench Prepare Temporary Plain Tls \
                      Socket Relay ResetAll Refuse Server Dyno DiskFull Crash Restart Freeze \
                      KillSessions TooMany ReadOnly SilentEnd Kill Terminate Interrupt \
                      InterruptTwice Start Measuring Delay Split CutFin CutReset HalfClose Pause \
                      Stall Corrupt Swallow";
        for word in wanted.split_whitespace() {
            assert!(seen.contains(word), "{word}");
        }
    }
}
