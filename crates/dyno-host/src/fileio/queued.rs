//! Requests that go on while the session makes others.

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

/// After so many blocks that are busy, requests under way are waited for.
const DRAWS_MAX: u32 = 1000;

/// After so many that are done the kernel is told those that follow, so that the device does not
/// run out of requests while the rest is looked at.
const GROUP: usize = 1;

/// A session with requests under way.
pub(super) struct Queued<Q: Queue> {
    test: FileIo,
    queue: Q,
    /// Open as long as the queue.
    _files: Files,
    requests: Requests,
    claims: Arc<Claims>,
    /// The next request, once it is drawn.
    next: Option<Request>,
    slots: Vec<Slot>,
    free: Vec<u32>,
    /// What is done, of which so many have been looked at.
    done: Vec<Done>,
    taken: usize,
    /// The slots' memory, one after another.
    buffer: Buffer,
    each: usize,
    stream: Stream,
    watched: bool,
}

/// Room for a request.
#[derive(Clone, Copy)]
struct Slot {
    request: Request,
    /// What is under way: the request, or the flush that follows it.
    doing: Kind,
    event: Detached,
    /// Bytes moved so far.
    moved: u32,
}

impl<Q: Queue> Queued<Q> {
    /// A session whose queue is made for the files and for the memory of its slots.
    pub(super) fn new(
        test: &FileIo,
        requests: Requests,
        claims: Arc<Claims>,
        tid: u32,
        queue: impl FnOnce(&Files, *mut u8, usize) -> io::Result<Q>,
    ) -> Result<Self, String> {
        let files = Files::open(test)?;
        // Each slot's memory begins on a page, as direct requests need it.
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

    /// The next request whose block nobody works on.
    fn draw(&mut self) -> Option<Request> {
        if self.next.is_none() {
            let drawn = (0..DRAWS_MAX).map(|_| self.requests.next());
            let claims = &self.claims;
            self.next = drawn.into_iter().find(|request| claims.take(request));
        }
        self.next
    }

    /// Makes requests as long as there are slots and events. Answers how the last asking ended.
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

    /// Puts into the slot's memory what is to be written.
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

    /// The session's event begins what its slot is to do, and goes on without it.
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

    /// Asks for what of the request is not done yet.
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
        // SAFETY: the slot's memory is left alone until its request is done, and the buffer is
        // dropped after the last one.
        unsafe { self.queue.push(ask) };
    }

    /// Takes what came of a slot's request.
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

    /// Waits for requests if there is nothing else to wait for, and takes the next few that are
    /// done. Answers whether there were any.
    fn serve(
        &mut self,
        port: &mut dyn Port,
        session: SessionId,
        wait: bool,
    ) -> Result<bool, String> {
        let told = match self.taken < self.done.len() {
            true => self.queue.tell(),
            false => {
                self.taken = 0;
                self.done.clear();
                self.queue.submit(wait, &mut self.done)
            }
        };
        told.map_err(|error| format!("the kernel refused requests: {error}"))?;
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
            // While an event is due later, what completes before must not be waited for here.
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
