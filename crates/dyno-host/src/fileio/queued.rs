//! Asynchronous requests: the session submits others meanwhile.

use std::io;
use std::sync::Arc;

use dyno_core::rand::Stream;
use dyno_core::session::{
    Counter, Detached, Next, OperationEnd, OperationId, Port, SessionId, Step,
};

use super::buffer::Buffer;
use super::claims::Claims;
use super::content;
use super::files::Files;
use super::options::{Content, FileIo};
use super::queue::{Ask, Done, Queue};
use super::requests::{Kind, Request, Requests};
use crate::program::Work;

/// After this many busy blocks, wait for requests in flight.
const DRAWS_MAX: u32 = 1000;

/// The number of completions processed before new requests are submitted, so that the device does
/// not run out of requests meanwhile.
const GROUP: usize = 1;

/// A session with asynchronous requests.
pub(super) struct Queued<Q: Queue> {
    test: FileIo,
    queue: Q,
    /// Kept open as long as the queue.
    _files: Files,
    requests: Requests,
    claims: Arc<Claims>,
    /// The next request, if drawn.
    next: Option<Request>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// Completions; the first `taken` were processed.
    done: Vec<Done>,
    taken: usize,
    /// The memory of all slots.
    buffer: Buffer,
    each: usize,
    stream: Stream,
    watched: bool,
}

/// The state of a request.
#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    /// The request in flight, or the flush that follows it.
    doing: Kind,
    event: Detached,
    /// Bytes moved so far.
    moved: u32,
}

impl<Q: Queue> Queued<Q> {
    /// Creates a session whose queue is set up for its files and its slots' memory.
    pub(super) fn new(
        test: &FileIo,
        requests: Requests,
        claims: Arc<Claims>,
        tid: u32,
        queue: impl FnOnce(&Files, *mut u8, usize) -> io::Result<Q>,
    ) -> Result<Self, String> {
        let files = Files::open(test)?;
        // Direct I/O needs each slot's memory to start on a page.
        let each = (test.request_max() as usize).next_multiple_of(4096);
        let depth = test.depth as usize;
        let mut buffer = Buffer::new(each.saturating_mul(depth))?;
        let mut stream = Stream::new(!test.seed, u64::from(tid));
        if test.content == Content::Random {
            content::fill(&mut buffer, &mut stream);
        }
        let queue = queue(&files, buffer.as_mut_ptr(), each).map_err(|error| {
            format!(
                "--file-io-mode: this host does not support it: {error}; try another mode or a \
                 smaller --file-async-backlog"
            )
        })?;
        let idle = Slot {
            request: Request {
                kind: Kind::Sync,
                file: 0,
                offset: 0,
                len: 0,
            },
            doing: Kind::Sync,
            event: Detached::default(),
            moved: 0,
        };
        Ok(Self {
            test: test.clone(),
            queue,
            _files: files,
            requests,
            claims,
            next: None,
            slots: vec![idle; depth],
            free: (0..test.depth).rev().collect(),
            done: Vec::with_capacity(depth),
            taken: 0,
            buffer,
            each,
            stream,
            watched: false,
        })
    }

    fn busy(&self) -> bool {
        self.free.len() < self.slots.len()
    }

    /// Draws the next request on a block that no other request uses.
    fn draw(&mut self) -> Option<Request> {
        if self.next.is_none() {
            let drawn = (0..DRAWS_MAX).map(|_| self.requests.next());
            let claims = &self.claims;
            self.next = drawn.into_iter().find(|request| claims.take(request));
        }
        self.next
    }

    /// Starts requests while there are free slots and events. Returns the port's last answer.
    fn fill(&mut self, port: &mut dyn Port, session: SessionId) -> Next {
        while !self.free.is_empty() {
            let Some(request) = self.draw() else {
                return if self.busy() { Next::Go } else { Next::Wait };
            };
            match port.next_event(session) {
                Next::Go => {}
                other => return other,
            }
            self.next = None;
            let Some(slot) = self.free.pop() else {
                return Next::Go;
            };
            port.event_start(session);
            self.slots[slot as usize] = Slot {
                request,
                doing: request.kind,
                event: Detached::default(),
                moved: 0,
            };
            if request.kind == Kind::Write {
                self.compose(slot);
            }
            self.begin(port, session, slot);
        }
        Next::Go
    }

    /// Fills the slot's memory with the data to write.
    fn compose(&mut self, slot: u32) {
        let request = self.slots[slot as usize].request;
        let start = slot as usize * self.each;
        let bytes = &mut self.buffer[start..start + request.len as usize];
        if self.test.content == Content::Random {
            content::renew(bytes, &mut self.stream);
        }
        if self.test.validate {
            let block = self.test.block as usize;
            content::seal(bytes, block, request.file, request.offset);
        }
    }

    /// Detaches the session's event to the slot and starts its request.
    fn begin(&mut self, port: &mut dyn Port, session: SessionId, slot: u32) {
        let operation: OperationId = match self.slots[slot as usize].doing {
            Kind::Read => super::sync::READ,
            Kind::Write => super::sync::WRITE,
            Kind::Sync => super::sync::FSYNC,
        };
        port.operation_start(session, operation);
        self.slots[slot as usize].event = port.event_detach(session);
        self.push(slot);
    }

    /// Queues the remaining part of the request.
    fn push(&mut self, slot: u32) {
        let Slot {
            request,
            doing,
            moved,
            ..
        } = self.slots[slot as usize];
        let start = slot as usize * self.each + moved as usize;
        let ask = Ask {
            slot,
            kind: doing,
            file: request.file,
            offset: request.offset + u64::from(moved),
            address: self.buffer[start..].as_mut_ptr(),
            len: request.len - moved,
        };
        // SAFETY: the slot's memory is not touched until its request is done, and the buffer is
        // dropped after the last one.
        unsafe { self.queue.push(ask) };
    }

    /// Processes the result of a slot's request.
    fn complete(
        &mut self,
        port: &mut dyn Port,
        session: SessionId,
        done: Done,
    ) -> Result<(), String> {
        let slot = done.slot as usize;
        let Slot { request, doing, .. } = self.slots[slot];
        let failed = |error: io::Error| {
            let what = match doing {
                Kind::Read => "read",
                Kind::Write => "write",
                Kind::Sync => "flush",
            };
            self.test.error(what, request.file, &error)
        };
        match (doing, done.result) {
            (_, result) if result == -i64::from(libc::EINTR) => {
                self.push(done.slot);
                return Ok(());
            }
            (_, result) if result < 0 => {
                self.free.push(done.slot);
                let error = io::Error::from_raw_os_error(-result as i32);
                return Err(failed(error));
            }
            (Kind::Sync, _) => {}
            (_, 0) => {
                let ends = io::Error::new(io::ErrorKind::UnexpectedEof, "the file ends before");
                self.free.push(done.slot);
                return Err(failed(ends));
            }
            (_, count) => {
                self.slots[slot].moved += count as u32;
                if self.slots[slot].moved < request.len {
                    self.push(done.slot);
                    return Ok(());
                }
            }
        }
        port.event_attach(session, self.slots[slot].event);
        port.operation_stop(session, OperationEnd::Done);
        match doing {
            Kind::Read => port.count(session, Counter::BytesRead, u64::from(request.len)),
            Kind::Write => port.count(session, Counter::BytesWritten, u64::from(request.len)),
            Kind::Sync => {}
        }
        if doing == Kind::Write && self.test.fsync_all {
            self.slots[slot].doing = Kind::Sync;
            self.begin(port, session, done.slot);
            return Ok(());
        }
        port.event_stop(session);
        self.claims.give_back(&request);
        self.free.push(done.slot);
        if doing == Kind::Read && self.test.validate {
            let start = slot * self.each;
            let bytes = &self.buffer[start..start + request.len as usize];
            let block = self.test.block as usize;
            content::check(bytes, block, request.file, request.offset)?;
        }
        Ok(())
    }

    /// Waits for requests if nothing else is pending, and processes the next few completed ones.
    /// Returns whether there were any.
    fn serve(
        &mut self,
        port: &mut dyn Port,
        session: SessionId,
        wait: bool,
    ) -> Result<bool, String> {
        let submitted = match self.taken < self.done.len() {
            true => self.queue.submit_pending(),
            false => {
                self.taken = 0;
                self.done.clear();
                self.queue.submit(wait, &mut self.done)
            }
        };
        submitted.map_err(|error| format!("the kernel refused requests: {error}"))?;
        let from = self.taken;
        while let Some(done) = self.done.get(self.taken).copied() {
            self.taken += 1;
            self.complete(port, session, done)?;
            if self.taken - from == GROUP {
                break;
            }
        }
        Ok(self.taken > from)
    }
}

impl<Q: Queue> Work for Queued<Q> {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        loop {
            let next = self.fill(port, session);
            if !self.busy() {
                match next {
                    Next::Stop => return Step::Finished,
                    _ => return Step::Waiting,
                }
            }
            // While an event is due later, do not block on completions.
            let idle = next == Next::Wait;
            if idle && !self.watched {
                if let Err(error) = port.watch(session, self.queue.fd()) {
                    return Step::Failed(format!("cannot wait for requests: {error}"));
                }
                self.queue.watch();
                self.watched = true;
            }
            match self.serve(port, session, !idle) {
                Ok(false) if idle => return Step::Waiting,
                Ok(_) => {}
                Err(why) => return Step::Failed(why),
            }
        }
    }
}

impl<Q: Queue> Drop for Queued<Q> {
    fn drop(&mut self) {
        // The kernel still writes to the slots' memory.
        loop {
            for done in self.done.drain(self.taken..) {
                self.free.push(done.slot);
            }
            self.taken = 0;
            self.done.clear();
            if !self.busy() || self.queue.submit(true, &mut self.done).is_err() {
                return;
            }
        }
    }
}
