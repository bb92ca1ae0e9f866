//! The server's process, or processes, on this host.

use std::collections::HashMap;
use std::io;

use dyno_core::catalogue::names;
use dyno_core::db::Family;

use super::backends::Backends;
use super::bounds::Bounds;
use super::find::{processes, stat_of};
use super::own::open_files;
use super::switches::Switches;
use super::{Located, PidStat, descriptors_limit};
use crate::host::ticks_per_s;
use crate::sink::{Gauge, Rate, SampleBuffer, Sink};
use crate::text::{ProcFile, named_numbers, names_in, number, of_process, small, whole, words};

/// The number of samples between counts of context switches, and of descriptors if they must be
/// counted one by one.
const SLOW: u64 = 5;
/// Descriptors that the observers need apart from the kept files of the server's processes.
const DESCRIPTORS_SPARE: u64 = 100;
/// Number of files kept open for each process.
const FILES: u64 = 3;
/// Maximum number of processes searched if the kernel does not list children.
const PROCESSES_MAX: usize = 20_000;

pub(crate) struct Server {
    located: Located,
    /// The start time of the process, to detect a reused number.
    start_ticks: u64,
    files: HashMap<i32, Files>,
    /// The number of processes whose files are kept open; the others' are opened for each sample.
    kept_max: usize,
    page: f64,
    samples: u64,
    user: Rate,
    system: Rate,
    user_ticks_max: f64,
    system_ticks_max: f64,
    rss: Gauge,
    private: Gauge,
    threads: Gauge,
    descriptors: Gauge,
    processes: Gauge,
    stopped: Gauge,
    read_bytes: Rate,
    write_bytes: Rate,
    switches: Switches,
    backends: Backends,
    bounds: Bounds,
    cores: Option<f64>,
    io_hidden: bool,
}

/// The kept descriptors of one process.
struct Files {
    stat: ProcFile,
    statm: Option<ProcFile>,
    io: Option<ProcFile>,
}

/// Sums over the processes.
#[derive(Default)]
struct Sums {
    user_ticks: f64,
    system_ticks: f64,
    anonymous_pages: f64,
    shared_pages_max: f64,
    threads: f64,
    stopped: f64,
    read_bytes: Option<f64>,
    write_bytes: Option<f64>,
}

impl Server {
    /// `None` if it is gone already.
    pub(crate) fn new(located: Located, sink: &Sink) -> Option<Self> {
        let start_ticks = stat_of(located.pid)?.start_ticks;
        // SAFETY: a call without pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) }.max(1) as f64;
        let ticks = 1.0 / ticks_per_s();
        let cpu = |name: &str| Rate::scaled(name, "cores", "/proc/PID/stat", ticks);
        let count = |name: &str, source: &str| Gauge::new(name, "count", source);
        let io = |name: &str| Rate::new(name, "bytes/s", "/proc/PID/io");
        let io_hidden = std::fs::read(of_process(located.pid, "io")).is_err();
        if io_hidden {
            let why = "only root and the server's user can read the server's /proc/PID/io and \
                       /proc/PID/fd: run Dyno as one of them";
            sink.gap(names::SERVER_IO, why);
            sink.gap(names::SERVER_DESCRIPTORS, why);
        }
        Some(Self {
            backends: Backends::new(located.backend),
            bounds: Bounds::of(located.pid),
            located,
            start_ticks,
            files: HashMap::new(),
            kept_max: 0,
            page,
            samples: 0,
            user: cpu(names::SERVER_CPU_USER),
            system: cpu(names::SERVER_CPU_SYSTEM),
            user_ticks_max: 0.0,
            system_ticks_max: 0.0,
            rss: Gauge::new(names::SERVER_MEMORY_RSS, "bytes", "/proc/PID/statm"),
            private: Gauge::new(names::SERVER_MEMORY_PRIVATE, "bytes", "/proc/PID/statm"),
            threads: count(names::SERVER_THREADS, "/proc/PID/stat"),
            descriptors: count(names::SERVER_DESCRIPTORS, "/proc/PID/fd"),
            processes: count(names::SERVER_PROCESSES, "/proc"),
            stopped: count(names::SERVER_STOPPED, "/proc/PID/stat"),
            read_bytes: io(names::SERVER_IO_READ_BYTES),
            write_bytes: io(names::SERVER_IO_WRITE_BYTES),
            switches: Switches::new(),
            cores: None,
            io_hidden,
        })
    }

    pub(crate) fn located(&self) -> &Located {
        &self.located
    }

    /// CPU time per second since the previous sample.
    pub(crate) fn cores(&self) -> Option<f64> {
        self.cores
    }

    /// False if the process is gone or can no longer be observed, which is reported.
    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) -> bool {
        if self.samples.is_multiple_of(SLOW) {
            // The limit is raised when the load begins.
            self.kept_max = kept_max();
        }
        let (pids, sums) = match self.sums(buffer) {
            Ok(Some(read)) => read,
            Ok(None) => return false,
            Err(error) => {
                report_starved(recorder.sink(), &error);
                return false;
            }
        };
        // A child between its exit and its parent's wait is briefly counted nowhere.
        self.user_ticks_max = self.user_ticks_max.max(sums.user_ticks);
        self.system_ticks_max = self.system_ticks_max.max(sums.system_ticks);
        let user = self.user.put(recorder, self.user_ticks_max);
        let system = self.system.put(recorder, self.system_ticks_max);
        self.cores = user.zip(system).map(|(user, system)| user + system);
        let pages = sums.anonymous_pages + sums.shared_pages_max;
        self.rss.put(recorder, pages * self.page);
        let private = sums.anonymous_pages * self.page;
        self.private.put(recorder, private);
        self.backends.report(recorder, &pids);
        self.bounds.sample(recorder, buffer);
        self.threads.put(recorder, sums.threads);
        self.processes.put(recorder, pids.len() as f64);
        self.stopped.put(recorder, sums.stopped);
        self.read_bytes.put_some(recorder, sums.read_bytes);
        self.write_bytes.put_some(recorder, sums.write_bytes);
        if self.samples.is_multiple_of(SLOW) {
            self.switches.sample(recorder, &pids, buffer);
            if !self.io_hidden {
                let counts = pids
                    .iter()
                    .filter_map(|pid| open_files(&format!("/proc/{pid}/fd"), true));
                self.descriptors.put(recorder, counts.sum());
            }
        }
        self.samples += 1;
        true
    }

    /// The processes and their sums; `None` if the server is gone. A sum without some of them would
    /// be wrong, so running out of descriptors is an error.
    fn sums(&mut self, buffer: &mut Vec<u8>) -> io::Result<Option<(Vec<i32>, Sums)>> {
        let pids = self.pids()?;
        self.files.retain(|pid, _| pids.contains(pid));
        let mut sums = Sums::default();
        // The parent last: the usage of a child that ended meanwhile has moved to it.
        for pid in pids.iter().rev() {
            let alive = self.add(*pid, &mut sums, buffer)?;
            if !alive && *pid == self.located.pid {
                return Ok(None);
            }
        }
        Ok(Some((pids, sums)))
    }

    /// The process first, then its children.
    fn pids(&self) -> io::Result<Vec<i32>> {
        let pid = self.located.pid;
        let mut pids = vec![pid];
        if self.located.family == Family::Postgres {
            pids.extend(children(pid)?);
        }
        Ok(pids)
    }

    /// Adds a process; false if it is gone.
    fn add(&mut self, pid: i32, sums: &mut Sums, buffer: &mut Vec<u8>) -> io::Result<bool> {
        let files = match self.files.remove(&pid) {
            Some(files) => files,
            None => match Files::open(pid) {
                Ok(files) => files,
                Err(error) if is_starved(&error) => return Err(error),
                Err(_) => return Ok(false),
            },
        };
        let alive = self.add_files(pid, &files, sums, buffer);
        if alive && self.files.len() < self.kept_max {
            self.files.insert(pid, files);
        }
        Ok(alive)
    }

    fn add_files(
        &mut self,
        pid: i32,
        files: &Files,
        sums: &mut Sums,
        buffer: &mut Vec<u8>,
    ) -> bool {
        let stat = files.stat.read(buffer).ok().and_then(PidStat::parse);
        let Some(stat) = stat else {
            return false;
        };
        let parent = pid == self.located.pid;
        if parent && stat.start_ticks != self.start_ticks {
            return false;
        }
        sums.user_ticks += stat.user_ticks;
        sums.system_ticks += stat.system_ticks;
        if self.located.family == Family::Postgres {
            sums.user_ticks += stat.children_user_ticks;
            sums.system_ticks += stat.children_system_ticks;
        }
        sums.threads += stat.threads;
        sums.stopped += f64::from(u8::from(stat.is_stopped()));
        if let Some((resident, shared)) = read(&files.statm, buffer).and_then(statm) {
            sums.anonymous_pages += resident - shared;
            if self.located.family == Family::Postgres && !parent {
                self.backends.add(pid, (resident - shared) * self.page);
            }
            sums.shared_pages_max = sums.shared_pages_max.max(shared);
        }
        if let Some(text) = read(&files.io, buffer) {
            for (name, bytes) in named_numbers(text) {
                match name {
                    b"read_bytes" => *sums.read_bytes.get_or_insert(0.0) += bytes,
                    b"write_bytes" => *sums.write_bytes.get_or_insert(0.0) += bytes,
                    _ => {}
                }
            }
        }
        true
    }
}

impl Files {
    fn open(pid: i32) -> io::Result<Self> {
        let find = |name: &str| match ProcFile::open(of_process(pid, name)) {
            Err(error) if is_starved(&error) => Err(error),
            // Another user's process hides it.
            other => Ok(other.ok()),
        };
        Ok(Self {
            stat: ProcFile::open(of_process(pid, "stat"))?,
            statm: find("statm")?,
            io: find("io")?,
        })
    }
}

/// The number of processes whose files can be kept open within this process's limit.
fn kept_max() -> usize {
    let limits = small("/proc/self/limits").unwrap_or_default();
    let limit = descriptors_limit(&limits).and_then(|limit| limit.parse().ok());
    let files: u64 = limit.unwrap_or(u64::MAX);
    usize::try_from(files.saturating_sub(DESCRIPTORS_SPARE) / FILES).unwrap_or(usize::MAX)
}

/// Whether a file could not be opened because too many are open.
fn is_starved(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EMFILE | libc::ENFILE))
}

fn report_starved(sink: &Sink, error: &io::Error) {
    let limits = small("/proc/self/limits").unwrap_or_default();
    let limit = descriptors_limit(&limits).unwrap_or("so many");
    let why = format!(
        "cannot open the files of the server's processes in /proc: {error}; Dyno may open {limit} \
         files, connections included: raise the limit (ulimit -n, ulimit -Hn as root) or use fewer \
         sessions"
    );
    let cpu_and_memory = [names::SERVER_CPU, names::SERVER_MEMORY];
    for what in (cpu_and_memory.iter()).chain(&[names::SERVER_IO, names::SERVER_THREADS]) {
        sink.gap(what, why.clone());
    }
}

fn read<'a>(file: &Option<ProcFile>, buffer: &'a mut Vec<u8>) -> Option<&'a [u8]> {
    file.as_ref()?.read(buffer).ok()
}

/// Resident pages, and the file-backed or shared ones among them.
fn statm(text: &[u8]) -> Option<(f64, f64)> {
    let mut words = words(text).skip(1);
    Some((
        words.next().and_then(number)?,
        words.next().and_then(number)?,
    ))
}

/// The children of a process, as listed by the kernel or found by their parents' numbers.
pub(crate) fn children(pid: i32) -> io::Result<Vec<i32>> {
    let number = |word: &[u8]| -> Option<i32> { whole(word)?.try_into().ok() };
    let list = match std::fs::read(format!("/proc/{pid}/task/{pid}/children")) {
        Err(error) if is_starved(&error) => return Err(error),
        other => other.ok(),
    };
    if let Some(list) = list {
        let mut children: Vec<i32> = words(&list).filter_map(number).collect();
        // The list covers one thread's children.
        for tid in names_in(of_process(pid, "task")) {
            if tid != pid.to_string()
                && let Ok(list) = std::fs::read(format!("/proc/{pid}/task/{tid}/children"))
            {
                children.extend(words(&list).filter_map(number));
            }
        }
        return Ok(children);
    }
    let all = processes().take(PROCESSES_MAX);
    let own = all.filter(|other| stat_of(*other).is_some_and(|stat| stat.parent == pid));
    Ok(own.collect())
}

#[cfg(test)]
mod tests {
    use std::process::{Child, Command};

    use super::*;
    use crate::host::testing::{recorder, values};

    /// This process as a server, with a child.
    fn own_server(recorder: &SampleBuffer) -> (Server, Child) {
        let server = server(Family::Postgres, std::process::id(), recorder);
        (server, sleep())
    }

    fn sleep() -> Child {
        Command::new("sleep").arg("60").spawn().unwrap()
    }

    fn server(family: Family, pid: u32, recorder: &SampleBuffer) -> Server {
        let located = Located {
            family,
            pid: pid as i32,
            backend: None,
            data: None,
            data_directory: None,
            places: Vec::new(),
        };
        Server::new(located, recorder.sink()).unwrap()
    }

    fn end(mut child: Child) {
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_and_its_children_are_summed() {
        let (mut recorder, seen) = recorder();
        let (mut server, child) = own_server(&recorder);
        for at in [1_000_000_000, 2_000_000_000] {
            recorder.begin(at);
            assert!(server.sample(&mut recorder, &mut Vec::new()));
            recorder.finish();
        }
        end(child);
        let values = values(&seen);
        assert!(values["server.processes"][0] >= 2.0, "{values:?}");
        assert!(values["server.memory.rss"][0] > 0.0);
        assert!(values["server.threads"][1] >= 2.0);
        assert_eq!(values["server.cpu.user"].len(), 1);
        assert!(values["server.descriptors"][0] >= 3.0);
    }

    #[test]
    fn a_stopped_process_is_noticed() {
        let (mut recorder, seen) = recorder();
        let child = sleep();
        let pid = child.id() as i32;
        let mut server = server(Family::Mysql, child.id(), &recorder);
        recorder.begin(1_000_000_000);
        assert!(server.sample(&mut recorder, &mut Vec::new()));
        recorder.finish();
        // SAFETY: a call without pointers, for a child that has not been waited for.
        assert_eq!(unsafe { libc::kill(pid, libc::SIGSTOP) }, 0);
        let until = dyno_core::Clock.now() + 20_000_000_000;
        while !stat_of(pid).unwrap().is_stopped() && dyno_core::Clock.now() < until {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        recorder.begin(2_000_000_000);
        assert!(server.sample(&mut recorder, &mut Vec::new()));
        recorder.finish();
        end(child);
        assert_eq!(values(&seen)["server.stopped"], [0.0, 1.0]);
    }

    #[test]
    fn processes_beyond_the_limit_of_open_files_are_read_all_the_same() {
        let (mut recorder, seen) = recorder();
        let (mut server, child) = own_server(&recorder);
        (server.kept_max, server.samples) = (1, 1);
        for at in [1_000_000_000, 2_000_000_000] {
            recorder.begin(at);
            assert!(server.sample(&mut recorder, &mut Vec::new()));
            recorder.finish();
            assert_eq!(server.files.len(), 1);
        }
        end(child);
        let values = values(&seen);
        assert!(values["server.processes"][1] >= 2.0, "{values:?}");
        assert_eq!(values["server.cpu.user"].len(), 1);
    }

    #[test]
    fn reports_why_a_server_cannot_be_read_without_descriptors() {
        let (sender, seen) = std::sync::mpsc::sync_channel(9);
        let error = io::Error::from_raw_os_error(libc::EMFILE);
        assert!(is_starved(&error));
        assert!(!is_starved(&io::Error::from_raw_os_error(libc::ENOENT)));
        report_starved(&Sink::new(sender), &error);
        let observations = format!("{:?}", seen.try_iter().collect::<Vec<_>>());
        assert!(
            observations.contains("server.cpu") && observations.contains("ulimit -n"),
            "{observations}"
        );
    }

    #[test]
    fn a_process_that_ended_is_gone() {
        let (mut recorder, _seen) = recorder();
        let child = sleep();
        let mut server = server(Family::Mysql, child.id(), &recorder);
        recorder.begin(1);
        assert!(server.sample(&mut recorder, &mut Vec::new()));
        end(child);
        recorder.begin(2);
        assert!(!server.sample(&mut recorder, &mut Vec::new()));
    }
}
