//! The host's CPU time minus the known processes' CPU time.

use std::collections::HashMap;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::Nanos;

use super::find::{Placed, stat_of};
use super::others::{Near, Others, named};
use super::server::{Server, children};
use crate::host::ticks_per_s;
use crate::sink::{Gauge, Mean, SampleBuffer, Sink};

/// CPU time of processes that belong neither to Dyno nor to the server.
pub(crate) struct Rest {
    others: Others,
    cpu: Mean,
    backups: Gauge,
    is_reported: bool,
    server: ServerLocation,
    /// Servers and proxies of this host at the run's other endpoints.
    further: Used,
}

/// Where the server's CPU time is used.
enum ServerLocation {
    /// In Dyno's process.
    Embedded,
    /// Not yet determined.
    Undetermined,
    /// In a known process of this host.
    Here,
    Elsewhere,
    /// Unknown: it may be one of the others, except those known to be related to it.
    Unknown {
        near: Near,
        used: Used,
    },
}

impl Rest {
    pub(crate) fn new(is_embedded: bool, further: &[i32]) -> Self {
        Self {
            further: Used::of_servers(further),
            others: Others::now(),
            cpu: Mean::new(
                names::HOST_OTHERS_CPU,
                "cores",
                "/proc/stat, /proc/PID/stat",
            ),
            backups: Gauge::new(names::HOST_OTHERS_BACKUPS, "count", "/proc/PID/stat"),
            is_reported: false,
            server: match is_embedded {
                true => ServerLocation::Embedded,
                false => ServerLocation::Undetermined,
            },
        }
    }

    /// Sets where the server runs, as its observer found for this connection.
    pub(crate) fn placed(&mut self, placed: &Placed) {
        self.server = match (placed, &self.server) {
            (Placed::Here(_), _) => ServerLocation::Here,
            // A server that was found has not moved: the connection is new, or is ending.
            (_, ServerLocation::Here) => ServerLocation::Here,
            (Placed::Elsewhere, _) => ServerLocation::Elsewhere,
            (Placed::Unknown(near), _) => ServerLocation::Unknown {
                near: near.clone(),
                used: Used::new(near),
            },
        };
    }

    /// `known`: the cores used on the whole host, and by Dyno's processes.
    pub(crate) fn sample(
        &mut self,
        recorder: &mut SampleBuffer,
        known: Option<(f64, f64)>,
        server: Option<&Server>,
        cpus: usize,
    ) {
        let mut nearest = self.known(server);
        nearest.further.clear();
        let further = self.further.cores(&nearest);
        let cores = match &mut self.server {
            ServerLocation::Embedded | ServerLocation::Elsewhere => Some(0.0),
            ServerLocation::Here => server.and_then(Server::cores),
            ServerLocation::Unknown { used, .. } => used.cores(&Near::default()),
            ServerLocation::Undetermined => None,
        };
        let Some(((busy, own), server_cores)) = known.zip(cores) else {
            return;
        };
        let others = (busy - own - server_cores - further.unwrap_or(0.0)).max(0.0);
        self.cpu.put(recorder, others);
        self.is_reported = true;
        self.others.used(others, cpus, &self.known(server));
        self.backups.put(recorder, self.others.backups() as f64);
    }

    /// The processes that do not count as others.
    fn known(&self, server: Option<&Server>) -> Near {
        let near = match &self.server {
            ServerLocation::Unknown { near, .. } => near.clone(),
            _ => Near {
                server: server.map(|one| one.located().pid),
                ..Near::default()
            },
        };
        let further = self.further.processes.iter().map(|one| one.pid);
        Near {
            further: further.collect(),
            ..near
        }
    }

    /// Reports the names of the other processes, or why they are unknown.
    pub(crate) fn finish(&mut self, sink: &Sink, server: Option<&Server>) {
        let top = self.others.top(&self.known(server));
        let cores = format!("{:.2}", top.cores);
        sink.fact(names::HOST_OTHERS_TOP, top.words, "/proc/PID/stat");
        sink.fact(names::HOST_OTHERS_TOP_CORES, cores, "/proc/PID/stat");
        if let ServerLocation::Unknown { near, used } = &mut self.server {
            for (name, pid) in [
                (names::SERVER_PRESUMED, near.server),
                (names::SERVER_PROXY, near.proxy),
            ] {
                if let Some(cores_used) = pid.and_then(|pid| used.of(pid)) {
                    sink.fact(name, cores_used, "/proc/PID/stat");
                }
            }
        }
        if self.is_reported {
            return;
        }
        let why = match &self.server {
            ServerLocation::Undetermined => {
                "the observer never connected to the database, so the server's process is unknown"
            }
            ServerLocation::Here => "cannot read the CPU time of the server's process",
            ServerLocation::Embedded
            | ServerLocation::Elsewhere
            | ServerLocation::Unknown { .. } => "cannot read the CPU time of the host's processes",
        };
        sink.gap(names::HOST_OTHERS, why);
    }
}

/// CPU time of a few processes.
struct Used {
    processes: Vec<One>,
    at: Nanos,
    since: Nanos,
}

/// A process, and its children if it is a server.
struct One {
    pid: i32,
    with_children: bool,
    name: String,
    start_ticks: u64,
    /// First and last values; the usage of a child that has ended is kept.
    first: HashMap<i32, f64>,
    last: HashMap<i32, f64>,
}

impl Used {
    fn new(near: &Near) -> Self {
        let now = Clock.now();
        let server = near.server.and_then(|pid| One::new(pid, true));
        let proxy = near.proxy.and_then(|pid| One::new(pid, false));
        Self {
            processes: server.into_iter().chain(proxy).collect(),
            at: now,
            since: now,
        }
    }

    fn of_servers(pids: &[i32]) -> Self {
        let now = Clock.now();
        let one = |pid: &i32| One::new(*pid, true);
        Self {
            processes: pids.iter().filter_map(one).collect(),
            at: now,
            since: now,
        }
    }

    /// CPU time per second since the last sample, without the processes that are already known.
    fn cores(&mut self, known: &Near) -> Option<f64> {
        let now = Clock.now();
        let seconds = now.saturating_sub(std::mem::replace(&mut self.at, now)) as f64 / 1e9;
        let ticks = self.processes.iter_mut().map(|one| match one.since_last() {
            _ if known.has(one.pid) => 0.0,
            ticks => ticks,
        });
        let ticks: f64 = ticks.sum();
        (seconds > 0.0).then(|| ticks / ticks_per_s() / seconds)
    }

    /// The usage of one of them since the beginning, as text.
    fn of(&self, pid: i32) -> Option<String> {
        let one = self.processes.iter().find(|one| one.pid == pid)?;
        let seconds = self.at.saturating_sub(self.since) as f64 / 1e9;
        let cores = one.in_all() / ticks_per_s() / seconds;
        Some(match cores.is_finite() {
            true => named(vec![(cores.max(0.01), pid, one.name.clone())]).words,
            false => format!("{} ({pid})", one.name),
        })
    }
}

impl One {
    fn new(pid: i32, with_children: bool) -> Option<Self> {
        let stat = stat_of(pid)?;
        let mut one = Self {
            pid,
            with_children,
            name: stat.name,
            start_ticks: stat.start_ticks,
            first: HashMap::new(),
            last: HashMap::new(),
        };
        one.since_last();
        Some(one)
    }

    /// Ticks since the previous call.
    fn since_last(&mut self) -> f64 {
        // Another process may get its number later.
        if stat_of(self.pid).is_none_or(|stat| stat.start_ticks != self.start_ticks) {
            return 0.0;
        }
        let mut all = vec![self.pid];
        if self.with_children {
            all.extend(children(self.pid).unwrap_or_default());
        }
        let before = self.in_all();
        for pid in all {
            if let Some(stat) = stat_of(pid) {
                let ticks = stat.user_ticks + stat.system_ticks;
                self.first.entry(pid).or_insert(ticks);
                self.last.insert(pid, ticks);
            }
        }
        self.in_all() - before
    }

    /// Ticks since the first call.
    fn in_all(&self) -> f64 {
        let first = |pid: &i32| self.first.get(pid).copied().unwrap_or_default();
        let used = self.last.iter().map(|(pid, ticks)| ticks - first(pid));
        used.sum()
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};
    use std::sync::mpsc::sync_channel;

    use super::*;
    use crate::Observation;
    use crate::host::testing::{recorder, values};

    fn busy() -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done"]).spawn().unwrap()
    }

    /// The others' values on a host with two busy cores, none of them used by Dyno, for this number
    /// of samples.
    fn others(rest: &mut Rest, samples: usize) -> Vec<f64> {
        let (mut recorder, seen) = recorder();
        for _ in 0..samples {
            std::thread::sleep(std::time::Duration::from_millis(50));
            recorder.begin(Clock.now());
            rest.sample(&mut recorder, Some((2.0, 0.0)), None, 2);
            recorder.finish();
        }
        values(&seen)
            .remove(names::HOST_OTHERS_CPU)
            .unwrap_or_default()
    }

    /// The facts at the end, and why the series is missing.
    fn end(rest: &mut Rest) -> HashMap<String, String> {
        let (sender, seen) = sync_channel(99);
        rest.finish(&Sink::new(sender), None);
        let facts = seen.try_iter().filter_map(|one| match one {
            Observation::Fact(fact) => Some((fact.name, fact.value)),
            Observation::NotObserved(gap) => Some((gap.what, gap.why)),
            _ => None,
        });
        facts.collect()
    }

    #[test]
    fn an_unknown_server_counts_among_other_processes() {
        let mut rest = Rest::new(false, &[]);
        assert!(others(&mut rest, 2).is_empty());
        rest.placed(&Placed::Unknown(Near::default()));
        assert_eq!(others(&mut rest, 2), [2.0, 2.0]);
        let facts = end(&mut rest);
        assert!(!facts.contains_key("host.others"), "{facts:?}");
        assert!(!facts.contains_key("server.presumed"), "{facts:?}");
    }

    #[test]
    fn a_process_with_the_servers_name_and_age_is_not_another() {
        let mut server = busy();
        let near = Near {
            server: Some(server.id().cast_signed()),
            ..Near::default()
        };
        let mut rest = Rest::new(false, &[]);
        rest.placed(&Placed::Unknown(near));
        let least = others(&mut rest, 40).into_iter().fold(2.0, f64::min);
        let facts = end(&mut rest);
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(least < 1.9, "{least}");
        let presumed = format!("sh ({})", server.id());
        assert!(facts["server.presumed"].starts_with(&presumed), "{facts:?}");
        assert!(!facts["host.others.top"].contains(&presumed), "{facts:?}");
    }

    #[test]
    fn servers_of_other_endpoints_are_not_other_processes() {
        let mut server = busy();
        let pid = server.id().cast_signed();
        let mut rest = Rest::new(false, &[pid]);
        rest.placed(&Placed::Elsewhere);
        let least = others(&mut rest, 40).into_iter().fold(2.0, f64::min);
        let facts = end(&mut rest);
        // A process that also serves the first endpoint counts once.
        let mut both = Used::of_servers(&[pid]);
        let near = Near {
            server: Some(pid),
            ..Near::default()
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        let twice = both.cores(&near);
        server.kill().unwrap();
        server.wait().unwrap();
        assert!(least < 1.9, "{least}");
        assert!(
            !facts["host.others.top"].contains(&format!("sh ({pid})")),
            "{facts:?}"
        );
        assert_eq!(twice, Some(0.0));
    }

    #[test]
    fn reports_why_others_were_not_observed() {
        let mut rest = Rest::new(false, &[]);
        let facts = end(&mut rest);
        assert!(facts["host.others"].contains("never connected"));
        rest.placed(&Placed::Elsewhere);
        assert!(!others(&mut rest, 5).is_empty());
        let facts = end(&mut rest);
        assert!(!facts.contains_key("host.others"), "{facts:?}");
    }
}
