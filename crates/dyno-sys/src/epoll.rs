//! Edge-triggered readiness.

use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::check;

/// The most events that one wait returns.
pub const BATCH_EVENTS_MAX: usize = 512;

/// The events a descriptor waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// Bytes to read, or the peer's end.
    Read,
    /// As `Read`, and room to write.
    ReadWrite,
}

/// A descriptor that became ready.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Event(libc::epoll_event);

impl Event {
    /// The number registered with the descriptor.
    pub fn token(self) -> u64 {
        self.0.u64
    }

    /// Whether it has room to write.
    pub fn is_writable(self) -> bool {
        self.0.events & libc::EPOLLOUT as u32 != 0
    }
}

/// An epoll instance with its event buffer.
pub struct Epoll {
    fd: OwnedFd,
    events: Vec<Event>,
}

impl Epoll {
    /// Creates an instance.
    ///
    /// # Errors
    /// `epoll_create1` failed.
    pub fn new() -> io::Result<Epoll> {
        // SAFETY: no memory is passed.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        // SAFETY: the descriptor was just made and has no other owner.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        let none = Event(libc::epoll_event { events: 0, u64: 0 });
        let events = vec![none; BATCH_EVENTS_MAX];
        Ok(Epoll { fd, events })
    }

    /// Registers a descriptor, edge-triggered.
    ///
    /// # Errors
    /// `epoll_ctl` failed.
    pub fn add(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_ADD, fd, token, interest)
    }

    /// Changes what a registered descriptor waits for.
    ///
    /// # Errors
    /// `epoll_ctl` failed.
    pub fn modify(&self, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        self.control(libc::EPOLL_CTL_MOD, fd, token, interest)
    }

    /// Waits without a timeout and returns the number of events for [`Epoll::event`], 0 after a
    /// signal.
    ///
    /// # Errors
    /// `epoll_wait` failed.
    pub fn wait(&mut self) -> io::Result<usize> {
        let (buffer, room) = (self.events.as_mut_ptr(), self.events.len() as libc::c_int);
        // SAFETY: Event is transparent over epoll_event and the buffer holds `room` of them.
        let count = unsafe { libc::epoll_wait(self.fd.as_raw_fd(), buffer.cast(), room, -1) };
        match check(count) {
            Ok(count) => Ok(count as usize),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            Err(error) => Err(error),
        }
    }

    /// The event at `index` of the last wait.
    #[inline]
    pub fn event(&self, index: usize) -> Event {
        self.events[index]
    }

    fn control(&self, op: i32, fd: RawFd, token: u64, interest: Interest) -> io::Result<()> {
        let wanted = match interest {
            Interest::Read => libc::EPOLLIN,
            Interest::ReadWrite => libc::EPOLLIN | libc::EPOLLOUT,
        };
        let mut event = libc::epoll_event {
            events: (wanted | libc::EPOLLRDHUP | libc::EPOLLET) as u32,
            u64: token,
        };
        // SAFETY: `event` lives during the call.
        check(unsafe { libc::epoll_ctl(self.fd.as_raw_fd(), op, fd, &mut event) })?;
        Ok(())
    }
}
