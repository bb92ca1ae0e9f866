//! The common interface of asynchronous engines.

use std::io;
use std::os::fd::RawFd;

use super::requests::Kind;

/// A request to the kernel for a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    /// Returned with the result.
    pub(super) slot: u32,
    pub(super) kind: Kind,
    /// The file's number.
    pub(super) file: u32,
    pub(super) offset: u64,
    /// The memory to read into or write from.
    pub(super) address: *mut u8,
    pub(super) len: u32,
}

/// The result of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) slot: u32,
    /// Bytes moved, or a negative error number.
    pub(super) result: i64,
}

/// A queue of requests to the kernel, with one entry per slot.
pub(super) trait Queue {
    /// Adds a request to the queue, without submitting it.
    ///
    /// # Safety
    /// The memory must stay valid and unchanged until the request is done.
    unsafe fn push(&mut self, ask: Ask);

    /// Submits the queued requests, as far as the kernel has room.
    fn submit_pending(&mut self) -> io::Result<()>;

    /// Submits, waits for at least one request to complete if `wait`, and appends all completed
    /// ones.
    fn submit(&mut self, wait: bool, done: &mut Vec<Done>) -> io::Result<()>;

    /// Becomes readable when a request is done.
    fn fd(&self) -> RawFd;

    /// Signals completions on that descriptor from now on.
    fn watch(&mut self);
}
