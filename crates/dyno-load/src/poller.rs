//! Readiness of many sockets, timeouts in nanoseconds, and wake-ups from other threads: epoll.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::atomic::{AtomicBool, Ordering};

use dyno_core::Clock;
use dyno_core::clock::{Nanos, simulated};

/// The token that a [`Waker`] reports.
pub(crate) const WAKE: u64 = u64::MAX;

/// Maximum number of events that one wait takes.
const BATCH: usize = 512;

pub(crate) struct Poller {
    epoll: OwnedFd,
    events: Vec<libc::epoll_event>,
    /// Whether the kernel has `epoll_pwait2` (Linux 5.11).
    fine: bool,
}

impl Poller {
    /// An empty instance. Sets the calling thread's wake-ups to the best precision of the kernel.
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // Without this the kernel may delay a wake-up by 50 µs to save power. A kernel that
        // refuses only costs precision, which the recorded pacing lag shows.
        // SAFETY: a system call without pointers.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong, 0, 0, 0) };
        Ok(Self {
            // SAFETY: the descriptor is new and owned by nothing else.
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
            events: vec![libc::epoll_event { events: 0, u64: 0 }; BATCH],
            fine: true,
        })
    }

    /// Registers a socket for read readiness, and for write readiness if `write`.
    pub(crate) fn add(&self, fd: RawFd, token: u64, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, write)
    }

    /// Changes whether write readiness is reported.
    pub(crate) fn modify(&self, fd: RawFd, token: u64, write: bool) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, write)
    }

    /// Waits until something is ready, at most until `until`. Returns the number of events.
    #[inline]
    pub(crate) fn wait(&mut self, now: Nanos, until: Nanos) -> io::Result<usize> {
        if simulated::is_on() {
            return self.wait_simulated(until);
        }
        let timeout = until.saturating_sub(now);
        let count = if until == Nanos::MAX {
            self.wait_ms(-1)
        } else if timeout == 0 {
            self.wait_ms(0)
        } else if self.fine {
            self.wait_ns(timeout)
        } else {
            self.wait_coarse(until)
        };
        if count >= 0 {
            return Ok(count as usize);
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            Some(libc::EINTR) => Ok(0),
            // The call is missing, or a sandbox that does not know it forbids it.
            Some(libc::ENOSYS | libc::EPERM) if self.fine => {
                self.fine = false;
                Ok(0)
            }
            _ => Err(error),
        }
    }

    /// The token of event `index` of the last wait.
    #[inline]
    pub(crate) fn token(&self, index: usize) -> u64 {
        self.events[index].u64
    }

    /// Whether the peer of event `index` has closed its side, or the connection broke. No further
    /// event follows.
    #[inline]
    pub(crate) fn is_last(&self, index: usize) -> bool {
        let ends = (libc::EPOLLRDHUP | libc::EPOLLHUP | libc::EPOLLERR) as u32;
        self.events[index].events & ends != 0
    }

    fn control(&self, what: libc::c_int, fd: RawFd, token: u64, write: bool) -> io::Result<()> {
        let mut events = (libc::EPOLLIN | libc::EPOLLRDHUP | libc::EPOLLET) as u32;
        if write {
            // Only while something waits to be written: a UNIX socket reports an edge for each
            // message that its peer takes.
            events |= libc::EPOLLOUT as u32;
        }
        let mut event = libc::epoll_event { events, u64: token };
        // SAFETY: `event` is valid for the call; both descriptors are integers to the kernel.
        match unsafe { libc::epoll_ctl(self.epoll.as_raw_fd(), what, fd, &raw mut event) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    #[inline]
    fn wait_ms(&mut self, timeout_ms: libc::c_int) -> libc::c_int {
        // SAFETY: the pointer and length describe `events`.
        unsafe {
            libc::epoll_wait(
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH as libc::c_int,
                timeout_ms,
            )
        }
    }

    #[inline]
    fn wait_ns(&mut self, timeout: Nanos) -> libc::c_int {
        let timeout = libc::timespec {
            tv_sec: (timeout / 1_000_000_000) as libc::time_t,
            tv_nsec: (timeout % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: the pointer and length describe `events`, `timeout` is a valid timespec, and
        // there is no signal mask. By number, because older C libraries lack the wrapper.
        let count = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.as_raw_fd(),
                self.events.as_mut_ptr(),
                BATCH as libc::c_int,
                &raw const timeout,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        count as libc::c_int
    }

    #[cold]
    fn wait_simulated(&mut self, until: Nanos) -> io::Result<usize> {
        let mut count = 0;
        simulated::wait(until, || {
            count = self.wait_ms(0);
            count != 0
        });
        match count {
            count if count >= 0 => Ok(count as usize),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Sleeps for whole milliseconds and spins for the rest.
    fn wait_coarse(&mut self, until: Nanos) -> libc::c_int {
        loop {
            let left = until.saturating_sub(Clock.now());
            let whole_ms = (left / 1_000_000).min(60_000) as libc::c_int;
            let count = self.wait_ms(whole_ms);
            if count != 0 || left == 0 || whole_ms == 60_000 {
                return count;
            }
        }
    }
}

/// Wakes the thread that waits on a poller, from any other thread.
pub(crate) struct Waker {
    fd: OwnedFd,
    pending: AtomicBool,
}

impl Waker {
    pub(crate) fn new() -> io::Result<Self> {
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            // SAFETY: the descriptor is new and owned by nothing else.
            fd: unsafe { OwnedFd::from_raw_fd(fd) },
            pending: AtomicBool::new(false),
        })
    }

    /// Registers this waker as [`WAKE`].
    pub(crate) fn register(&self, poller: &Poller) -> io::Result<()> {
        poller.add(self.fd.as_raw_fd(), WAKE, false)
    }

    pub(crate) fn wake(&self) {
        self.pending.store(true, Ordering::Release);
        let one = 1u64;
        // A full counter wakes as well, so the result does not matter.
        // SAFETY: the pointer and length describe `one`.
        let _ = unsafe { libc::write(self.fd.as_raw_fd(), (&raw const one).cast(), 8) };
        simulated::stir();
    }

    /// Whether there was a wake-up: one load of a rarely written cache line.
    #[inline]
    pub(crate) fn is_pending(&self) -> bool {
        self.pending.load(Ordering::Relaxed)
    }

    /// Clears wake-ups so far. The caller must check their causes afterwards.
    pub(crate) fn clear(&self) {
        self.drain();
        self.pending.swap(false, Ordering::AcqRel);
    }

    /// Makes the descriptor unreadable until the next wake-up.
    fn drain(&self) {
        let mut count = 0u64;
        // Nothing to read is fine.
        // SAFETY: the pointer and length describe `count`.
        let _ = unsafe { libc::read(self.fd.as_raw_fd(), (&raw mut count).cast(), 8) };
    }
}

impl AsRawFd for Waker {
    fn as_raw_fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }
}

/// Waits for one socket and for a waker without the poller, at most until `until`. True if the
/// socket's peer has closed its side, or the connection broke.
pub(crate) fn wait_for(
    fd: Option<RawFd>,
    write: bool,
    waker: &Waker,
    now: Nanos,
    until: Nanos,
) -> bool {
    if simulated::is_on() && fd.is_none() {
        simulated::wait(until, || waker.is_pending());
        return false;
    }
    let events = libc::POLLIN | libc::POLLRDHUP | if write { libc::POLLOUT } else { 0 };
    // A negative descriptor is ignored by the kernel.
    let mut polled = [
        (waker.as_raw_fd(), libc::POLLIN),
        (fd.unwrap_or(-1), events),
    ]
    .map(|(fd, events)| libc::pollfd {
        fd,
        events,
        revents: 0,
    });
    let left = until.saturating_sub(now).min(60_000_000_000);
    let timeout = libc::timespec {
        tv_sec: (left / 1_000_000_000) as libc::time_t,
        tv_nsec: (left % 1_000_000_000) as libc::c_long,
    };
    // An interrupted or failed wait returns early, which callers expect anyway.
    // SAFETY: two valid pollfds, a valid timespec, no signal mask.
    let count =
        unsafe { libc::ppoll(polled.as_mut_ptr(), 2, &raw const timeout, std::ptr::null()) };
    if count > 0 && polled[0].revents != 0 {
        // A wake-up may be written after it was cleared, and would then end all further waits at
        // once. The waker sets its flag before it writes, so draining misses nothing.
        waker.drain();
    }
    count > 0 && polled[1].revents & ENDS != 0
}

/// Events for a peer that closed its side, or a broken connection.
const ENDS: libc::c_short = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;

/// Whether a socket's peer has closed its side, or the connection broke.
pub(crate) fn is_closed(fd: RawFd) -> bool {
    let (events, revents) = (libc::POLLRDHUP, 0);
    let mut polled = libc::pollfd {
        fd,
        events,
        revents,
    };
    // SAFETY: one valid pollfd, no wait.
    let count = unsafe { libc::poll(&raw mut polled, 1, 0) };
    count > 0 && polled.revents & ENDS != 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_timeout_is_kept_and_a_waker_wakes() {
        let mut poller = Poller::new().unwrap();
        let waker = Waker::new().unwrap();
        waker.register(&poller).unwrap();
        for fine in [true, false] {
            poller.fine = fine;
            let now = Clock.now();
            let until = now + 1_500_000;
            while poller.wait(Clock.now(), until).unwrap() == 0 && Clock.now() < until {}
            assert!(Clock.now() >= until);
        }
        waker.wake();
        assert!(waker.is_pending());
        assert_eq!(poller.wait(0, Nanos::MAX).unwrap(), 1);
        assert_eq!(poller.token(0), WAKE);
        waker.clear();
        assert!(!waker.is_pending());
        assert_eq!(poller.wait(0, 0).unwrap(), 0);
    }

    #[test]
    fn a_wake_up_that_was_written_after_its_clearing_ends_one_wait_only() {
        let waker = Waker::new().unwrap();
        waker.wake();
        waker.pending.store(false, Ordering::Release);
        let until = Clock.now() + 3_600_000_000_000;
        wait_for(None, false, &waker, Clock.now(), until);
        let until = Clock.now() + 2_000_000;
        wait_for(None, false, &waker, Clock.now(), until);
        assert!(Clock.now() >= until);
    }
}
