//! io_uring, by its system calls. The structures are those of `linux/io_uring.h`.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd, RawFd};
use std::sync::atomic::{AtomicU32, Ordering};

use super::queue::{Ask, Done, Queue};
use super::requests::Kind;

const SETUP_SINGLE_ISSUER: u32 = 1 << 12;
const SETUP_DEFER_TASKRUN: u32 = 1 << 13;
const FEAT_SINGLE_MMAP: u32 = 1;
const ENTER_GETEVENTS: u32 = 1;
const REGISTER_BUFFERS: u32 = 0;
const REGISTER_FILES: u32 = 2;
const OFFSET_RINGS: i64 = 0;
const OFFSET_REQUESTS: i64 = 0x1000_0000;
const REQUEST_FIXED_FILE: u8 = 1;
const OP_FSYNC: u8 = 3;
const OP_READ_FIXED: u8 = 4;
const OP_WRITE_FIXED: u8 = 5;
const OP_READ: u8 = 22;
const OP_WRITE: u8 = 23;
const FSYNC_DATASYNC: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct RequestOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    flags: u32,
    dropped: u32,
    array: u32,
    reserved: u32,
    user_address: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct DoneOffsets {
    head: u32,
    tail: u32,
    ring_mask: u32,
    ring_entries: u32,
    overflow: u32,
    entries: u32,
    flags: u32,
    reserved: u32,
    user_address: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Params {
    request_entries: u32,
    done_entries: u32,
    flags: u32,
    thread_cpu: u32,
    thread_idle: u32,
    features: u32,
    workers: u32,
    reserved: [u32; 3],
    requests: RequestOffsets,
    done: DoneOffsets,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Request {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    offset: u64,
    address: u64,
    len: u32,
    operation_flags: u32,
    user_data: u64,
    buffer: u16,
    personality: u16,
    splice_fd: i32,
    reserved: [u64; 2],
}

#[repr(C)]
#[derive(Clone, Copy)]
struct Completion {
    user_data: u64,
    result: i32,
    flags: u32,
}

/// The ring of one thread.
pub(super) struct Ring {
    fd: OwnedFd,
    rings: Mapping,
    entries: Mapping,
    params: Params,
    /// The number of requests pushed but not submitted.
    pending: u32,
    /// The slots' memory is registered with the kernel.
    known_memory: bool,
    data_only: bool,
}

impl Ring {
    /// Creates a ring for at most `depth` requests at a time on these files. The memory of the
    /// slots starts at `memory`, `each` bytes per slot.
    pub(super) fn new(
        depth: u32,
        files: &[RawFd],
        memory: *mut u8,
        each: usize,
        data_only: bool,
    ) -> io::Result<Self> {
        let (fd, params) = setup(depth)?;
        if params.features & FEAT_SINGLE_MMAP == 0 {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let asks = params.requests.array as usize + params.request_entries as usize * 4;
        let completions =
            params.done.entries as usize + params.done_entries as usize * size_of::<Completion>();
        let rings = Mapping::new(&fd, asks.max(completions), OFFSET_RINGS)?;
        let requests = params.request_entries as usize * size_of::<Request>();
        let entries = Mapping::new(&fd, requests, OFFSET_REQUESTS)?;
        let mut ring = Self {
            fd,
            rings,
            entries,
            params,
            pending: 0,
            known_memory: false,
            data_only,
        };
        for index in 0..params.request_entries {
            ring.word(params.requests.array + index * 4)
                .store(index, Ordering::Relaxed);
        }
        ring.register(REGISTER_FILES, files.as_ptr().cast(), files.len())?;
        let slots: Vec<libc::iovec> = (0..depth as usize)
            .map(|slot| libc::iovec {
                iov_base: memory.wrapping_add(slot * each).cast(),
                iov_len: each,
            })
            .collect();
        // If memory cannot be pinned, the kernel looks it up for each request.
        ring.known_memory = ring
            .register(REGISTER_BUFFERS, slots.as_ptr().cast(), slots.len())
            .is_ok();
        Ok(ring)
    }

    fn register(&self, what: u32, list: *const libc::c_void, len: usize) -> io::Result<()> {
        // SAFETY: the list has this many entries of the kind that `what` expects; the memory they
        // point to outlives the ring, because its owner drops it later.
        let result = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.fd.as_raw_fd(),
                what,
                list,
                len as u32,
            )
        };
        match result {
            0.. => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// Submits pending requests, as far as the kernel has room, with these `flags`.
    fn enter(&mut self, wait: bool, flags: u32) -> io::Result<()> {
        // SAFETY: the descriptor is a ring; there is no signal mask.
        let submitted = unsafe {
            libc::syscall(
                libc::SYS_io_uring_enter,
                self.fd.as_raw_fd(),
                self.pending,
                u32::from(wait),
                flags,
                std::ptr::null::<libc::sigset_t>(),
                0usize,
            )
        };
        if submitted >= 0 {
            self.pending -= (submitted as u32).min(self.pending);
            return Ok(());
        }
        let error = io::Error::last_os_error();
        match error.raw_os_error() {
            // Interrupted, or the kernel needs room first.
            Some(libc::EINTR | libc::EAGAIN | libc::EBUSY) => Ok(()),
            _ => Err(error),
        }
    }

    /// A counter shared with the kernel.
    #[inline]
    fn word(&self, offset: u32) -> &AtomicU32 {
        // SAFETY: the kernel gave the offset of an aligned counter within this mapping.
        unsafe { &*self.rings.start.add(offset as usize).cast::<AtomicU32>() }
    }

    #[inline]
    fn reap(&mut self, done: &mut Vec<Done>) {
        let offsets = self.params.done;
        let mask = self.params.done_entries - 1;
        let head = self.word(offsets.head).load(Ordering::Relaxed);
        let tail = self.word(offsets.tail).load(Ordering::Acquire);
        for index in 0..tail.wrapping_sub(head) {
            let place = (head.wrapping_add(index) & mask) as usize;
            // SAFETY: the kernel has filled the entries before the tail, within this mapping.
            let completion = unsafe {
                let first = self.rings.start.add(offsets.entries as usize);
                first.cast::<Completion>().add(place).read()
            };
            done.push(Done {
                slot: completion.user_data as u32,
                result: i64::from(completion.result),
            });
        }
        self.word(offsets.head).store(tail, Ordering::Release);
    }
}

impl Queue for Ring {
    #[inline]
    unsafe fn push(&mut self, ask: Ask) {
        let (opcode, operation_flags) = match (ask.kind, self.known_memory) {
            (Kind::Read, true) => (OP_READ_FIXED, 0),
            (Kind::Write, true) => (OP_WRITE_FIXED, 0),
            (Kind::Read, false) => (OP_READ, 0),
            (Kind::Write, false) => (OP_WRITE, 0),
            (Kind::Sync, _) => (OP_FSYNC, u32::from(self.data_only) * FSYNC_DATASYNC),
        };
        let flush = ask.kind == Kind::Sync;
        let request = Request {
            opcode,
            flags: REQUEST_FIXED_FILE,
            fd: ask.file as i32,
            offset: if flush { 0 } else { ask.offset },
            address: if flush { 0 } else { ask.address as u64 },
            len: if flush { 0 } else { ask.len },
            operation_flags,
            user_data: u64::from(ask.slot),
            buffer: if flush { 0 } else { ask.slot as u16 },
            ..Request::default()
        };
        let tail = self.word(self.params.requests.tail);
        let at = tail.load(Ordering::Relaxed);
        let place = (at & (self.params.request_entries - 1)) as usize;
        // SAFETY: there are at least as many entries as slots, and each slot has at most one
        // request, so this entry is free.
        unsafe {
            self.entries
                .start
                .cast::<Request>()
                .add(place)
                .write(request);
        }
        tail.store(at.wrapping_add(1), Ordering::Release);
        self.pending += 1;
    }

    fn submit_pending(&mut self) -> io::Result<()> {
        match self.pending {
            0 => Ok(()),
            _ => self.enter(false, 0),
        }
    }

    fn submit(&mut self, wait: bool, done: &mut Vec<Done>) -> io::Result<()> {
        let before = done.len();
        loop {
            self.enter(wait, ENTER_GETEVENTS)?;
            self.reap(done);
            if self.pending == 0 && (!wait || done.len() > before) {
                return Ok(());
            }
        }
    }

    fn fd(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    // A ring always signals completions.
    fn watch(&mut self) {}
}

/// Sets up a ring whose completions are processed by the thread that asks for them, if the kernel
/// supports that (6.1); else an ordinary ring.
fn setup(depth: u32) -> io::Result<(OwnedFd, Params)> {
    let mut error = None;
    for flags in [SETUP_SINGLE_ISSUER | SETUP_DEFER_TASKRUN, 0] {
        let mut params = Params {
            flags,
            ..Params::default()
        };
        // SAFETY: the call reads and fills `params`.
        let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, depth, &raw mut params) };
        if fd >= 0 {
            // SAFETY: the descriptor is new and has no other owner.
            return Ok((unsafe { OwnedFd::from_raw_fd(fd as RawFd) }, params));
        }
        error = Some(io::Error::last_os_error());
    }
    Err(error.unwrap_or_else(|| io::ErrorKind::Unsupported.into()))
}

/// Memory shared with the kernel.
struct Mapping {
    start: *mut u8,
    len: usize,
}

impl Mapping {
    fn new(fd: &OwnedFd, len: usize, offset: i64) -> io::Result<Self> {
        // SAFETY: a new mapping at a place of the kernel's choice.
        let start = unsafe {
            libc::mmap64(
                std::ptr::null_mut(),
                len,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED | libc::MAP_POPULATE,
                fd.as_raw_fd(),
                offset,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            len,
        })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this owns the mapping, and no pointers into it remain.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}
