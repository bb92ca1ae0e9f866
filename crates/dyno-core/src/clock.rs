//! The only module that reads a clock.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;

pub mod simulated;

/// A monotonic instant in nanoseconds since an arbitrary origin (`CLOCK_MONOTONIC`).
pub type Nanos = u64;

/// The run's clock. A handle without state: unit tests pass instants as [`Nanos`], tests of whole
/// runs use [`simulated`] time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Clock;

impl Clock {
    /// Now, by `CLOCK_MONOTONIC`, which does not step with the wall clock.
    #[inline]
    pub fn now(self) -> Nanos {
        if let Some(at) = simulated::now() {
            return at;
        }
        clock_ns(libc::CLOCK_MONOTONIC)
    }

    /// The time since an instant; zero if it is still to come.
    pub fn since(self, instant: Nanos) -> Duration {
        Duration::from_nanos(self.now().saturating_sub(instant))
    }
}

/// User and system CPU time of the whole process, in nanoseconds.
pub fn process_cpu() -> Nanos {
    clock_ns(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// The resources that the whole process has used.
pub fn process_usage() -> libc::rusage {
    // SAFETY: all-zero is a valid rusage, which the kernel then fills.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut usage);
        usage
    }
}

/// User and system CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu() -> Nanos {
    clock_ns(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The CPU clock of one thread, which other threads can read while it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ThreadClock(libc::clockid_t);

impl ThreadClock {
    /// The clock of the calling thread; `None` if the system has none.
    pub fn own() -> Option<Self> {
        let mut clock = 0;
        // SAFETY: the calling thread exists, and `clock` is valid for writes.
        let failed = unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) };
        (failed == 0).then_some(Self(clock))
    }

    /// As a number that [`ThreadClock::from_raw`] takes.
    pub fn raw(self) -> i32 {
        self.0
    }

    /// The clock with this number.
    pub fn from_raw(clock: i32) -> Self {
        Self(clock)
    }

    /// User and system CPU time of the thread; `None` once it has ended.
    pub fn read(self) -> Option<Nanos> {
        read(self.0)
    }
}

/// The CPU clock of a process of this host, to the nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessClock(libc::clockid_t);

impl ProcessClock {
    /// The clock of the process with this number; `None` without such a process.
    pub fn of(pid: i32) -> Option<Self> {
        let mut clock = 0;
        // SAFETY: `clock` is valid for writes; an unknown process returns an error.
        let failed = unsafe { libc::clock_getcpuclockid(pid, &raw mut clock) };
        (failed == 0).then_some(Self(clock))
    }

    /// User and system CPU time of all its threads; `None` once it has ended.
    pub fn read(self) -> Option<Nanos> {
        read(self.0)
    }
}

/// The time on a clock; `None` if it does not exist.
fn read(clock: libc::clockid_t) -> Option<Nanos> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec; an unknown clock returns an error.
    let failed = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (failed == 0).then(|| time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64)
}

/// Wall-clock time since the Unix epoch; zero if the host's clock is before it.
#[allow(clippy::disallowed_methods)] // the only place allowed to read the clock
pub fn wall_time() -> Duration {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default()
}

/// A seed from the wall clock, above 0: 32 bits differ each time and are easy to type.
pub fn seed() -> u64 {
    u64::from(wall_time().as_nanos() as u32).max(1)
}

/// A time in UTC, given in seconds since the Unix epoch, in a format of `strftime`.
pub fn civil(unix_s: f64, format: &str) -> String {
    let time = Timestamp::from_millisecond((unix_s * 1e3) as i64).unwrap_or(Timestamp::UNIX_EPOCH);
    time.strftime(format).to_string()
}

#[inline]
fn clock_ns(clock: libc::clockid_t) -> Nanos {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid timespec; the clock ids used here exist on every Linux kernel.
    unsafe { libc::clock_gettime(clock, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
