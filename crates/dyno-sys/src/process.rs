//! Processes: their cost, placement and end.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::check;

/// CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cpu {
    /// In user mode, microseconds.
    pub user_us: f64,
    /// In the kernel, microseconds.
    pub system_us: f64,
}

impl Cpu {
    /// CPU time of this process so far.
    ///
    /// # Errors
    /// `getrusage` failed.
    pub fn of_self() -> io::Result<Cpu> {
        Cpu::of(libc::RUSAGE_SELF)
    }

    /// CPU time of the children waited for so far, including their own children.
    ///
    /// # Errors
    /// `getrusage` failed.
    pub fn of_children() -> io::Result<Cpu> {
        Cpu::of(libc::RUSAGE_CHILDREN)
    }

    fn of(who: libc::c_int) -> io::Result<Cpu> {
        let mut usage = no_usage();
        // SAFETY: `usage` lives during the call.
        check(unsafe { libc::getrusage(who, &mut usage) })?;
        Ok(cpu_of(&usage))
    }

    /// CPU time since `earlier`.
    pub fn since(self, earlier: Cpu) -> Cpu {
        Cpu {
            user_us: self.user_us - earlier.user_us,
            system_us: self.system_us - earlier.system_us,
        }
    }

    /// User and system time, microseconds.
    pub fn total_us(self) -> f64 {
        self.user_us + self.system_us
    }
}

/// A child that ended, with its resource usage.
#[derive(Clone, Copy, Debug)]
pub struct Finished {
    /// Its exit status.
    pub status: ExitStatus,
    /// Its CPU time, including all threads.
    pub cpu: Cpu,
    /// Its largest resident size in bytes (`VmHWM`).
    pub rss_max_bytes: u64,
}

/// Ticks per second in `/proc/stat`.
pub fn ticks_per_second() -> f64 {
    // SAFETY: no memory is passed.
    unsafe { libc::sysconf(libc::_SC_CLK_TCK) as f64 }
}

/// Waits for a child and returns its resource usage. A child that exceeds `limit` is killed, as its
/// status shows. Read the child's pipes before or meanwhile.
///
/// # Errors
/// `pidfd_open`, `poll` or `wait4` failed.
pub fn wait_with_usage(child: &Child, limit: Duration) -> io::Result<Finished> {
    let pid = child.id() as libc::pid_t;
    if !ends_within(pid, limit)? {
        // SAFETY: the child was not waited for yet, so the number is still its own.
        check(unsafe { libc::kill(pid, libc::SIGKILL) })?;
    }
    let mut usage = no_usage();
    let mut status = 0;
    // SAFETY: `status` and `usage` live during the call.
    check(unsafe { libc::wait4(pid, &mut status, 0, &mut usage) })?;
    Ok(Finished {
        status: ExitStatus::from_raw(status),
        cpu: cpu_of(&usage),
        rss_max_bytes: usage.ru_maxrss as u64 * 1024,
    })
}

fn ends_within(pid: libc::pid_t, limit: Duration) -> io::Result<bool> {
    // SAFETY: no memory is passed.
    let fd = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) } as libc::c_int)?;
    // SAFETY: the descriptor was just made and has no other owner.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    let mut waited = libc::pollfd {
        fd: fd.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    };
    let limit_ms = i32::try_from(limit.as_millis()).unwrap_or(i32::MAX);
    // SAFETY: `waited` lives during the call.
    let ended = check(unsafe { libc::poll(&mut waited, 1, limit_ms) })?;
    Ok(ended == 1)
}

/// Pins the command to one core, and ends it with the process that started it.
pub fn pin(command: &mut Command, core: usize) {
    // SAFETY: between fork and exec only system calls are made, on memory of the closure.
    unsafe {
        command.pre_exec(move || {
            check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            libc::CPU_SET(core, &mut set);
            check(libc::sched_setaffinity(0, size_of_val(&set), &set))?;
            Ok(())
        });
    }
}

/// Raises this process's limit on open files to at least `wanted`, and the hard limit if allowed.
///
/// # Errors
/// The limit is lower and may not be raised.
pub fn raise_open_files(wanted: u64) -> io::Result<()> {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives during the calls.
    check(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) })?;
    if limit.rlim_cur >= wanted {
        return Ok(());
    }
    limit.rlim_cur = wanted;
    limit.rlim_max = limit.rlim_max.max(wanted);
    // SAFETY: as above.
    check(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) })?;
    Ok(())
}

static ALARMED: AtomicBool = AtomicBool::new(false);

/// Sets [`alarmed`] after this number of seconds, so that a loop can end without reading a clock.
pub fn alarm_after(seconds: u32) {
    extern "C" fn note(_: libc::c_int) {
        ALARMED.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(libc::c_int) = note;
    // SAFETY: the handler only stores to an atomic, which is safe in a signal.
    unsafe {
        libc::signal(libc::SIGALRM, handler as libc::sighandler_t);
        libc::alarm(seconds);
    }
}

/// Whether the time of [`alarm_after`] is over.
#[inline]
pub fn alarmed() -> bool {
    ALARMED.load(Ordering::Relaxed)
}

fn no_usage() -> libc::rusage {
    // SAFETY: rusage consists of numbers, for which zero is valid.
    unsafe { std::mem::zeroed() }
}

fn cpu_of(usage: &libc::rusage) -> Cpu {
    let us = |time: libc::timeval| time.tv_sec as f64 * 1e6 + time.tv_usec as f64;
    Cpu {
        user_us: us(usage.ru_utime),
        system_us: us(usage.ru_stime),
    }
}
