//! Runs one case from start to end: the process, the relay, and the faults at their times.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use anyhow::Result;
use dyno_core::Clock;
use dyno_core::rand::Stream;
use dyno_tests::Client;
use xtask::servers::Kind;

use crate::bed::{Bed, DATABASE, Ledger, USER};
use crate::child::{Ended, Running};
use crate::relay::{Door, Relay, Script};

use super::case::{Blow, Case, From, Harm, SCRATCH, ServerFault, Work};
use super::check;
use super::small_disk::SmallDisk;

/// How long a run may take to start on a busy machine.
const BEGIN_MAX: Duration = Duration::from_secs(60);
/// How much longer than its time limit a run may take: a grace of 1 s, the timeouts of the
/// observers and the ledger, and a busy machine.
pub(super) const SLACK: Duration = Duration::from_secs(40);
/// How long the faults last.
const WINDOW: Duration = Duration::from_secs(2);
/// How long the sessions may take to recover. Connection attempts are at most a second apart; the
/// rest is for a busy machine.
const RECOVERY_MAX: Duration = Duration::from_secs(25);
/// The most attempts of a session during the faults. Pauses start at 10 ms and double up to a
/// second, with jitter.
const ATTEMPTS_MAX: u64 = 20;
/// A hang this long must be noticed: the check needs 5 s.
const HUNG_LONG: Duration = Duration::from_secs(7);
/// How long a load with deadlocked peers may go on before it is interrupted.
const LOAD_WAITS: Duration = Duration::from_secs(5);
/// A session counts as working if it got an answer within this time.
const LIVELY: Duration = Duration::from_secs(2);

/// The outcome of a case: how many faults it had, and what failed.
pub(super) struct Done {
    pub(super) faults: u64,
    pub(super) failures: Vec<String>,
}

/// What was observed of a case, once its process has ended.
pub(super) struct Evidence<'a> {
    pub(super) case: &'a Case,
    pub(super) folder: &'a Path,
    pub(super) ended: Ended,
    /// Whether it printed an interval.
    pub(super) measured: bool,
    /// Sessions that did not reconnect, as counted by the relay, and after what time.
    pub(super) missing: Option<String>,
    /// Connections at the end whose peers could only wait for each other.
    pub(super) hung: usize,
    /// Whether they hung long enough that the run must have noticed.
    pub(super) hung_long: bool,
    pub(super) before: Option<Ledger>,
    pub(super) after: Option<Ledger>,
}

/// Runs a case and checks all conditions.
pub(super) fn run(bed: &mut Bed<'_>, case: &Case, folder: &Path) -> Result<Done> {
    let before = case.keeps_ledger().then(|| bed.ledger()).transpose()?;
    if case.work == Work::Prepare {
        scratch(bed)?;
    }
    let relay = Relay::start(bed.server.port(), script(case))?;
    let port = match case.relayed() {
        true => relay.port(),
        false => bed.server.port(),
    };
    let mut command = case.command(bed, port, folder);
    fs::write(folder.join("command"), format!("{command:?}\n"))?;
    let disk = match case.harm {
        Harm::DiskFull { bytes } => {
            Some(SmallDisk::new(&folder.join("small"), bytes, &mut command)?)
        }
        _ => None,
    };
    if let Harm::Relay { from_start, .. } = case.harm
        && from_start
    {
        relay.open(true);
    }
    let mut running = Running::start(&mut command)?;
    let mut play = Play {
        bed,
        case,
        relay: &relay,
        faults: 0,
        measured: false,
        missing: None,
        hung: 0,
        hung_long: false,
        frozen: false,
    };
    play.act(&mut running)?;
    let limit = Duration::from_secs(case.limit_s.unwrap_or_default()) + SLACK;
    let ended = running.finish(limit)?;
    let (measured, missing) = (play.measured, play.missing.take());
    let (hung, hung_long) = (play.hung, play.hung_long);
    let faults = play.faults + relay.happened();
    if play.frozen {
        bed.server.resume();
    }
    ended.keep(folder)?;
    fs::write(folder.join("relay"), relay.log())?;
    drop(relay);
    if let Some(disk) = disk {
        disk.rescue(folder)?;
    }
    bed.settle()?;
    let after = case.keeps_ledger().then(|| bed.ledger()).transpose()?;
    let seen = Evidence {
        case,
        folder,
        ended,
        measured,
        missing,
        hung,
        hung_long,
        before,
        after,
    };
    let failures = judge(bed, &seen)?;
    Ok(Done { faults, failures })
}

fn judge(bed: &Bed<'_>, seen: &Evidence<'_>) -> Result<Vec<String>> {
    let mut failures = check::check(bed, seen);
    if seen.case.work == Work::Prepare {
        failures.extend(check::prepared(bed));
        bed.execute(None, &format!("DROP DATABASE {SCRATCH}"))?;
    }
    Ok(failures)
}

/// Creates a database for `prepare`.
fn scratch(bed: &Bed<'_>) -> Result<()> {
    bed.execute(None, &format!("CREATE DATABASE {SCRATCH}"))?;
    if bed.kind() == Kind::Postgres {
        return bed.execute(None, &format!("ALTER DATABASE {SCRATCH} OWNER TO {USER}"));
    }
    for host in ["127.0.0.1", "localhost"] {
        let grant = format!("GRANT ALL ON {SCRATCH}.* TO {USER}@'{host}'");
        bed.execute(None, &grant)?;
    }
    Ok(())
}

/// Returns the server to its normal state, whatever happened to it.
pub(super) fn restore(bed: &mut Bed<'_>) -> Result<()> {
    bed.server.resume();
    if bed.query(None, "SELECT 1").is_err() {
        bed.server.kill()?;
        bed.server.start_again()?;
    }
    reset_settings(&mut bed.administrator(None)?);
    bed.settle()?;
    bed.execute(None, &format!("DROP DATABASE IF EXISTS {SCRATCH}"))
}

fn script(case: &Case) -> Script {
    match &case.harm {
        Harm::Relay {
            faults, percent, ..
        } => Script {
            seed: case.seed,
            faults: faults.clone(),
            percent: *percent,
        },
        _ => Script::default(),
    }
}

/// A case with a running process.
struct Play<'a, 'b> {
    bed: &'a mut Bed<'b>,
    case: &'a Case,
    relay: &'a Relay,
    faults: u64,
    measured: bool,
    missing: Option<String>,
    hung: usize,
    hung_long: bool,
    frozen: bool,
}

impl Play<'_, '_> {
    fn act(&mut self, running: &mut Running) -> Result<()> {
        if let Harm::Dyno {
            blow,
            from,
            after_ms,
        } = self.case.harm
        {
            if from == From::Measuring {
                self.measure(running);
            }
            self.strike(running, blow, after_ms);
            return Ok(());
        }
        self.measure(running);
        if matches!(self.case.harm, Harm::DiskFull { .. }) {
            self.faults += 1;
            return Ok(());
        }
        if running.runs() {
            self.disturb(running)?;
        }
        if self.case.work == Work::Prepare {
            self.load(running);
            return Ok(());
        }
        if self.frozen {
            return Ok(());
        }
        if self.measured && running.runs() {
            self.recover(running);
        }
        if self.case.limit_s.is_none() {
            running.signal(libc::SIGINT);
        }
        Ok(())
    }

    /// Waits for the first interval of the run, or for the start of `prepare`.
    fn measure(&mut self, running: &mut Running) {
        if self.case.work == Work::Prepare {
            running.wait_for_text(&["Inserting", "Creating"], BEGIN_MAX);
            return;
        }
        self.measured = running.wait_for_text(&[" tx/s ", "thds: "], BEGIN_MAX);
    }

    fn strike(&mut self, running: &mut Running, blow: Blow, after_ms: u64) {
        if !running.run_for(Duration::from_millis(after_ms)) {
            return;
        }
        self.faults += 1;
        match blow {
            Blow::Kill => running.signal(libc::SIGKILL),
            Blow::Terminate => running.signal(libc::SIGTERM),
            Blow::Interrupt => running.signal(libc::SIGINT),
            Blow::InterruptTwice => {
                running.signal(libc::SIGINT);
                if running.run_for(Duration::from_millis(self.case.seed % 700)) {
                    running.signal(libc::SIGINT);
                }
            }
        }
    }

    fn disturb(&mut self, running: &mut Running) -> Result<()> {
        match self.case.harm {
            Harm::Relay { .. } => {
                self.relay.open(true);
                running.run_for(WINDOW);
                self.relay.open(false);
            }
            Harm::ResetAll => {
                for _ in 0..3 {
                    self.relay.reset_all();
                    running.run_for(WINDOW / 3);
                }
            }
            Harm::Refuse => {
                self.relay.door(match self.case.seed.is_multiple_of(2) {
                    true => Door::Closed,
                    false => Door::Reset,
                });
                self.relay.reset_all();
                running.run_for(WINDOW);
                self.relay.door(Door::Open);
                self.check_attempts();
            }
            Harm::Server(fault) => {
                self.faults += 1;
                self.disturb_server(fault, running)?;
            }
            Harm::Dyno { .. } | Harm::DiskFull { .. } => {}
        }
        Ok(())
    }

    /// Checks that connection attempts back off.
    fn check_attempts(&mut self) {
        let count = self.relay.turned_away();
        let bound = (self.case.sessions + 1) * ATTEMPTS_MAX;
        if self.case.is_run() && count > bound {
            self.missing = Some(format!(
                "{count} attempts to connect within {WINDOW:?}, more than {bound}"
            ));
        }
    }

    fn disturb_server(&mut self, fault: ServerFault, running: &mut Running) -> Result<()> {
        let kind = self.bed.kind();
        match fault {
            ServerFault::Crash => {
                self.bed.server.kill()?;
                self.bed.server.start_again()?;
            }
            ServerFault::Restart => {
                self.bed.server.stop()?;
                self.bed.server.start_again()?;
            }
            ServerFault::Freeze => {
                self.bed.server.suspend();
                running.run_for(WINDOW);
                self.bed.server.resume();
            }
            ServerFault::KillSessions => {
                let mut administrator = self.bed.administrator(None)?;
                self.kill_sessions(running, 2, &mut administrator)?;
            }
            ServerFault::TooMany => {
                let limit = match kind {
                    Kind::Postgres => format!("ALTER ROLE {USER} CONNECTION LIMIT 1"),
                    _ => "SET GLOBAL max_connections = 10".to_owned(),
                };
                let mut administrator = self.bed.administrator(None)?;
                administrator.execute(&limit)?;
                self.kill_sessions(running, 1, &mut administrator)?;
                running.run_for(WINDOW);
                reset_settings(&mut administrator);
            }
            ServerFault::ReadOnly => {
                let switch = match kind {
                    Kind::Postgres => {
                        format!("ALTER DATABASE {DATABASE} SET default_transaction_read_only = on")
                    }
                    _ => "SET GLOBAL read_only = 1".to_owned(),
                };
                let mut administrator = self.bed.administrator(None)?;
                administrator.execute(&switch)?;
                self.kill_sessions(running, 2, &mut administrator)?;
                running.run_for(WINDOW / 2);
                reset_settings(&mut administrator);
            }
            ServerFault::SilentEnd => {
                let limit = Duration::from_secs(self.case.limit_s.unwrap_or_default());
                // From shortly before the time limit to shortly after it.
                let part = Duration::from_millis(self.case.seed % 900);
                running.run_for(limit.saturating_sub(Duration::from_millis(1300)) + part);
                self.bed.server.suspend();
                self.frozen = true;
            }
        }
        Ok(())
    }

    /// Ends every session, or a share of them, several times.
    fn kill_sessions(
        &mut self,
        running: &mut Running,
        one_in: u64,
        administrator: &mut Client,
    ) -> Result<()> {
        let mut draws = Stream::new(self.case.seed, 1);
        for _ in 0..3 {
            for id in administrator.sessions(USER)? {
                if draws.below(one_in) == 0 {
                    administrator.kill_session(&id);
                    self.faults += 1;
                }
            }
            running.run_for(WINDOW / 3);
        }
        Ok(())
    }

    /// Waits for the end of a load. Interrupts the load if the relay left it hanging, because a
    /// load has no time limit.
    fn load(&mut self, running: &mut Running) {
        let mut hung_since = None;
        while running.runs() {
            let now = Clock.now();
            match self.relay.hung(LIVELY) {
                0 => hung_since = None,
                _ => {
                    let since: u64 = *hung_since.get_or_insert(now);
                    if now - since > LOAD_WAITS.as_nanos() as u64 {
                        running.signal(libc::SIGINT);
                        return;
                    }
                }
            }
            if !running.run_for(Duration::from_millis(200)) {
                return;
            }
        }
    }

    /// Waits until every session works again, except those that were left hanging.
    fn recover(&mut self, running: &mut Running) {
        let began_ns = Clock.now();
        let closed = self.case.rate.is_none() && self.case.relayed();
        thread::sleep(LIVELY / 2);
        let needed = self.case.sessions as usize;
        let mut there = 0;
        while running.runs() {
            self.hung = self.relay.hung(LIVELY);
            there = self.relay.answered(LIVELY) + self.hung;
            let waited_s = (Clock.now() - began_ns) as f64 / 1e9;
            let blocked = self.hung > 0 && self.case.may_block();
            if !closed || blocked || there >= needed {
                break;
            }
            if waited_s > RECOVERY_MAX.as_secs_f64() {
                self.missing = Some(format!(
                    "{waited_s:.0} s after the last fault, only {there} of {needed} sessions \
                     work or were left hanging by the relay"
                ));
                break;
            }
            thread::sleep(Duration::from_millis(50));
        }
        if self.hung > 0 && self.case.limit_s.is_none() {
            self.hung_long = running.run_for(HUNG_LONG);
        } else if there >= needed {
            // Let one interval pass without faults, for the record.
            running.run_for(LIVELY);
        }
    }
}

/// Reverts the administrator's settings.
fn reset_settings(administrator: &mut Client) {
    let statements = match administrator {
        Client::Postgres(_) => vec![
            format!("ALTER ROLE {USER} CONNECTION LIMIT -1"),
            format!("ALTER DATABASE {DATABASE} RESET default_transaction_read_only"),
        ],
        Client::Mysql(_) => vec![
            "SET GLOBAL max_connections = 1000".to_owned(),
            "SET GLOBAL read_only = 0".to_owned(),
        ],
    };
    for sql in statements {
        // A server that is down now loses the setting when it restarts.
        let _ = administrator.execute(&sql);
    }
}
