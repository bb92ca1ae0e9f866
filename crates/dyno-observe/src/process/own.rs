//! Dyno's own process.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use dyno_core::Clock;
use dyno_core::catalogue::names;
use dyno_core::clock::{Nanos, process_usage};

use super::PidStat;
use super::find::stat_of;
use crate::helpers;
use crate::host::ticks_per_s;
use crate::sink::{Gauge, Rate, SampleBuffer};
use crate::text::{ProcFile, named_numbers};

/// The number of samples between counts of descriptors, if the kernel does not report their number.
const SLOW: u64 = 10;

pub(crate) struct Own {
    stat: Option<ProcFile>,
    status: Option<ProcFile>,
    samples: u64,
    user: Rate,
    system: Rate,
    rss: Gauge,
    threads: Gauge,
    descriptors: Gauge,
    voluntary: Rate,
    involuntary: Rate,
    minor: Rate,
    major: Rate,
    cores: Option<f64>,
    /// CPU time of the helpers in ticks, and when it was read.
    helpers_ticks: HashMap<i32, f64>,
    helpers_at: Nanos,
}

impl Own {
    pub(crate) fn new() -> Self {
        let usage = "getrusage(RUSAGE_SELF)";
        let rate = |name: &str| Rate::new(name, "count/s", usage);
        let cpu = |name: &str| Rate::new(name, "cores", usage);
        Self {
            stat: ProcFile::find("/proc/self/stat"),
            status: ProcFile::find("/proc/self/status"),
            samples: 0,
            user: cpu(names::CLIENT_CPU_USER),
            system: cpu(names::CLIENT_CPU_SYSTEM),
            rss: Gauge::new(names::CLIENT_MEMORY_RSS, "bytes", "/proc/self/status"),
            threads: Gauge::new(names::CLIENT_THREADS, "count", "/proc/self/stat"),
            descriptors: Gauge::new(names::CLIENT_DESCRIPTORS, "count", "/proc/self/task/TID/fd"),
            voluntary: rate(names::CLIENT_CONTEXT_SWITCHES_VOLUNTARY),
            involuntary: rate(names::CLIENT_CONTEXT_SWITCHES_INVOLUNTARY),
            minor: rate(names::CLIENT_PAGE_FAULTS_MINOR),
            major: rate(names::CLIENT_PAGE_FAULTS_MAJOR),
            cores: None,
            helpers_ticks: HashMap::new(),
            helpers_at: 0,
        }
    }

    /// Takes a sample. `workers` are the threads with separate tables of descriptors.
    pub(crate) fn sample(
        &mut self,
        recorder: &mut SampleBuffer,
        buffer: &mut Vec<u8>,
        workers: &[i32],
    ) {
        let usage = process_usage();
        let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
        let user = self.user.put(recorder, seconds(usage.ru_utime));
        let system = self.system.put(recorder, seconds(usage.ru_stime));
        let helpers = self.helpers_cores();
        self.cores = user
            .zip(system)
            .map(|(user, system)| user + system + helpers);
        self.voluntary.put(recorder, usage.ru_nvcsw as f64);
        self.involuntary.put(recorder, usage.ru_nivcsw as f64);
        self.minor.put(recorder, usage.ru_minflt as f64);
        self.major.put(recorder, usage.ru_majflt as f64);
        let stat = self.stat.as_ref().and_then(|file| file.read(buffer).ok());
        let threads = stat.and_then(PidStat::parse).map(|stat| stat.threads);
        self.threads.put_some(recorder, threads);
        if let Some(text) = self.status.as_ref().and_then(|file| file.read(buffer).ok()) {
            let mut named = named_numbers(text);
            let rss = named.find(|(name, _)| *name == b"VmRSS");
            self.rss.put_some(recorder, rss.map(|(_, bytes)| bytes));
        }
        let count = descriptors(workers, self.samples.is_multiple_of(SLOW));
        self.descriptors.put_some(recorder, count);
        self.samples += 1;
    }

    /// CPU time per second of the helpers since the previous sample, without those that started or
    /// ended meanwhile.
    fn helpers_cores(&mut self) -> f64 {
        let now = Clock.now();
        let seconds = now.saturating_sub(self.helpers_at) as f64 / 1e9;
        let ticks = helpers::processes().into_iter().filter_map(|pid| {
            let stat = stat_of(pid)?;
            Some((pid, stat.user_ticks + stat.system_ticks))
        });
        let ticks: HashMap<i32, f64> = ticks.collect();
        let used = |(pid, ticks): (&i32, &f64)| Some(ticks - self.helpers_ticks.get(pid)?);
        let used: f64 = ticks.iter().filter_map(used).sum();
        self.helpers_ticks = ticks;
        self.helpers_at = now;
        match seconds > 0.0 {
            true => used / ticks_per_s() / seconds,
            false => 0.0,
        }
    }

    /// CPU time per second since the previous sample, including the helpers.
    pub(crate) fn cores(&self) -> Option<f64> {
        self.cores
    }
}

/// Descriptors in the tables of the main thread and of each worker. With a blocking connector the
/// workers share the main thread's table, which is then counted once.
fn descriptors(workers: &[i32], may_list: bool) -> Option<f64> {
    let mut sum = open_files("/proc/self/fd", may_list)?;
    for tid in workers {
        let path = format!("/proc/self/task/{tid}/fd");
        if shares_table(*tid) == Some(true) {
            continue;
        }
        sum += open_files(&path, may_list).unwrap_or(0.0);
    }
    Some(sum)
}

/// The number of descriptors in a directory. Since Linux 6.2 it is the directory's size.
pub(super) fn open_files(path: &str, may_list: bool) -> Option<f64> {
    let size = std::fs::metadata(path).ok()?.size();
    if size > 0 {
        return Some(size as f64);
    }
    may_list.then(|| std::fs::read_dir(path).ok().map(|all| all.count() as f64))?
}

/// Whether a thread uses the process's table of descriptors; `None` if the kernel cannot say.
fn shares_table(tid: i32) -> Option<bool> {
    const KCMP_FILES: libc::c_int = 2;
    let pid = std::process::id() as libc::c_long;
    let tid = libc::c_long::from(tid);
    // SAFETY: a system call without pointers.
    let order = unsafe { libc::syscall(libc::SYS_kcmp, pid, tid, KCMP_FILES, 0, 0) };
    (order >= 0).then_some(order == 0)
}
