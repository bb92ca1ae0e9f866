//! What asynchronous engines have in common.

use std::io;
use std::os::fd::RawFd;

use super::requests::Kind;

/// What is asked of the kernel, on behalf of a slot.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ask {
    /// Comes back with what came of it.
    pub(super) slot: u32,
    pub(super) kind: Kind,
    /// The file's number.
    pub(super) file: u32,
    pub(super) offset: u64,
    /// Where the bytes are or go.
    pub(super) address: *mut u8,
    pub(super) len: u32,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    pub(super) slot: u32,
    /// Bytes moved, or an error number below 0.
    pub(super) result: i64,
}

/// A queue of requests to the kernel that holds one for each slot.
pub(super) trait Queue {
    /// Puts a request into the queue; nothing is told to the kernel yet.
    ///
    /// # Safety
    /// The memory that it names stays as it is until the request is done.
    unsafe fn push(&mut self, ask: Ask);

    /// Tells the kernel what is in the queue, as far as it has room now.
    fn tell(&mut self) -> io::Result<()>;

    /// Tells the kernel, waits for at least one request to be done if `wait`, and appends all that
    /// are.
    fn submit(&mut self, wait: bool, done: &mut Vec<Done>) -> io::Result<()>;

    /// Becomes readable when a request is done.
    fn fd(&self) -> RawFd;

    /// Somebody waits on that descriptor from now on.
    fn watch(&mut self);
}
