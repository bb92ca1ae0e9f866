//! Linux's older asynchronous I/O (`libaio`), by its system calls. The structures are those of
//! `linux/aio_abi.h`.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};

use super::queue::{Ask, Done, Queue};
use super::requests::Kind;

const READ: u16 = 0;
const WRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;
/// Signal completions on an event descriptor.
const FLAG_EVENTS: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
#[cfg(target_endian = "little")]
struct Block {
    data: u64,
    key: u32,
    flags_of_call: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    address: u64,
    len: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    events: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Event {
    data: u64,
    block: u64,
    result: i64,
    more: i64,
}

/// The I/O context of one thread.
pub(super) struct Aio {
    context: libc::c_ulong,
    events: OwnedFd,
    files: Vec<RawFd>,
    /// One per slot: they must not move while the kernel uses them.
    blocks: Vec<Block>,
    /// Pushed but not yet submitted slots, as pointers to their blocks.
    pending: Vec<*mut Block>,
    completed: Vec<Event>,
    data_only: bool,
    /// The event descriptor is being waited on.
    watched: bool,
}

impl Aio {
    /// Creates a context for at most `depth` requests at a time on these files.
    pub(super) fn new(depth: u32, files: &[RawFd], data_only: bool) -> io::Result<Self> {
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor is new and has no other owner.
        let events = unsafe { OwnedFd::from_raw_fd(fd) };
        let mut context: libc::c_ulong = 0;
        // SAFETY: the pointer refers to the context that the call fills in.
        if unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut context) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            context,
            events,
            files: files.to_vec(),
            blocks: vec![Block::default(); depth as usize],
            pending: Vec::with_capacity(depth as usize),
            completed: vec![Event::default(); depth as usize],
            data_only,
            watched: false,
        })
    }

    /// Takes completed requests, at least `least`.
    fn reap(&mut self, least: usize, done: &mut Vec<Done>) -> io::Result<()> {
        let now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        let timeout = match least {
            0 => &raw const now,
            _ => std::ptr::null(),
        };
        // SAFETY: the events have room for the number passed; the timeout is valid or null.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.context,
                least as libc::c_long,
                self.completed.len() as libc::c_long,
                self.completed.as_mut_ptr(),
                timeout,
            )
        };
        if count < 0 {
            return match io::Error::last_os_error() {
                error if error.kind() == io::ErrorKind::Interrupted => Ok(()),
                error => Err(error),
            };
        }
        let completed = self.completed.iter().take(count as usize);
        done.extend(completed.map(|event| Done {
            slot: event.data as u32,
            result: event.result,
        }));
        Ok(())
    }
}

impl Queue for Aio {
    unsafe fn push(&mut self, ask: Ask) {
        let opcode = match (ask.kind, self.data_only) {
            (Kind::Read, _) => READ,
            (Kind::Write, _) => WRITE,
            (Kind::Sync, false) => FSYNC,
            (Kind::Sync, true) => FDSYNC,
        };
        let flush = ask.kind == Kind::Sync;
        let Some(block) = self.blocks.get_mut(ask.slot as usize) else {
            return;
        };
        *block = Block {
            data: u64::from(ask.slot),
            opcode,
            fd: self.files[ask.file as usize] as u32,
            address: if flush { 0 } else { ask.address as u64 },
            len: if flush { 0 } else { u64::from(ask.len) },
            offset: if flush { 0 } else { ask.offset as i64 },
            flags: if self.watched { FLAG_EVENTS } else { 0 },
            events: self.events.as_raw_fd() as u32,
            ..Block::default()
        };
        self.pending.push(block);
    }

    fn submit_pending(&mut self) -> io::Result<()> {
        while !self.pending.is_empty() {
            // SAFETY: the list is of blocks that stay in place until their requests are done.
            let submitted = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context,
                    self.pending.len() as libc::c_long,
                    self.pending.as_mut_ptr(),
                )
            };
            if submitted > 0 {
                self.pending.drain(..submitted as usize);
                continue;
            }
            let error = io::Error::last_os_error();
            match error.raw_os_error() {
                Some(libc::EINTR) => {}
                // No room until a request completes.
                Some(libc::EAGAIN) => return Ok(()),
                _ => return Err(error),
            }
        }
        Ok(())
    }

    fn submit(&mut self, wait: bool, done: &mut Vec<Done>) -> io::Result<()> {
        let before = done.len();
        loop {
            self.submit_pending()?;
            // Requests that the kernel had no room for mean that others are in flight.
            let waits = wait || !self.pending.is_empty();
            self.reap(usize::from(waits), done)?;
            if self.pending.is_empty() && (!wait || done.len() > before) {
                return Ok(());
            }
        }
    }

    fn fd(&self) -> RawFd {
        self.events.as_raw_fd()
    }

    fn watch(&mut self) {
        self.watched = true;
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        // SAFETY: this owns the context, and it has no requests in flight.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context) };
    }
}
