//! Blocking requests: system calls, or mapped files.

use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use dyno_core::rand::Stream;
use dyno_core::session::{Counter, OperationEnd, OperationId, Port, SessionId, Step};

use super::buffer::Buffer;
use super::claims::Claims;
use super::content;
use super::files::Files;
use super::options::{Content, Engine, FileIo};
use super::requests::{Kind, Request, Requests};
use crate::program::{After, Work, events};

/// The test's operations, in the order of their names.
pub(crate) const READ: OperationId = 0;
pub(crate) const WRITE: OperationId = 1;
pub(crate) const FSYNC: OperationId = 2;

/// A session whose thread waits for each request.
pub(crate) struct Waiting {
    test: FileIo,
    files: Files,
    maps: Vec<Map>,
    requests: Requests,
    claims: Arc<Claims>,
    buffer: Buffer,
    stream: Stream,
}

impl Waiting {
    pub(crate) fn new(
        test: &FileIo,
        requests: Requests,
        claims: Arc<Claims>,
        tid: u32,
    ) -> Result<Self, String> {
        let files = Files::open(test)?;
        let maps = match test.engine {
            Engine::Mmap => maps(test, &files)?,
            _ => Vec::new(),
        };
        // Not the stream that draws places.
        let mut stream = Stream::new(!test.seed, u64::from(tid));
        let mut buffer = Buffer::new(test.request_max() as usize)?;
        if test.content == Content::Random {
            content::fill(&mut buffer, &mut stream);
        }
        Ok(Self {
            test: test.clone(),
            files,
            maps,
            requests,
            claims,
            buffer,
            stream,
        })
    }

    fn serve(&mut self, port: &mut dyn Port, session: SessionId) -> Result<(), String> {
        let mut request = self.requests.next();
        while !self.claims.take(&request) {
            request = self.requests.next();
        }
        let result = match request.kind {
            Kind::Read => self.read(port, session, request),
            Kind::Write => self.write(port, session, request),
            Kind::Sync => self.sync(port, session, request.file),
        };
        self.claims.give_back(&request);
        result
    }

    fn read(
        &mut self,
        port: &mut dyn Port,
        session: SessionId,
        request: Request,
    ) -> Result<(), String> {
        let Request {
            file, offset, len, ..
        } = request;
        let bytes = &mut self.buffer[..len as usize];
        port.operation_start(session, READ);
        let result = match self.maps.get(file as usize) {
            Some(map) => map.read(offset, bytes),
            None => self.files.read(file, bytes, offset),
        };
        result.map_err(|error| self.test.error("read", file, &error))?;
        port.operation_stop(session, OperationEnd::Done);
        port.count(session, Counter::BytesRead, u64::from(len));
        if self.test.validate {
            content::check(bytes, self.test.block as usize, file, offset)?;
        }
        Ok(())
    }

    fn write(
        &mut self,
        port: &mut dyn Port,
        session: SessionId,
        request: Request,
    ) -> Result<(), String> {
        let Request {
            file, offset, len, ..
        } = request;
        let bytes = &mut self.buffer[..len as usize];
        if self.test.content == Content::Random {
            content::renew(bytes, &mut self.stream);
        }
        if self.test.validate {
            content::seal(bytes, self.test.block as usize, file, offset);
        }
        port.operation_start(session, WRITE);
        let result = match self.maps.get_mut(file as usize) {
            Some(map) => map.write(offset, bytes),
            None => self.files.write(file, bytes, offset),
        };
        result.map_err(|error| self.test.error("write", file, &error))?;
        port.operation_stop(session, OperationEnd::Done);
        port.count(session, Counter::BytesWritten, u64::from(len));
        match self.test.fsync_all {
            true => self.sync(port, session, file),
            false => Ok(()),
        }
    }

    fn sync(&mut self, port: &mut dyn Port, session: SessionId, file: u32) -> Result<(), String> {
        port.operation_start(session, FSYNC);
        let result = match self.maps.get(file as usize) {
            Some(map) => map.sync(),
            None => self.files.sync(file),
        };
        result.map_err(|error| self.test.error("flush", file, &error))?;
        port.operation_stop(session, OperationEnd::Done);
        Ok(())
    }
}

impl Work for Waiting {
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        events(port, session, |port| {
            self.serve(port, session).map(|()| After::Next)
        })
    }
}

fn maps(test: &FileIo, files: &Files) -> Result<Vec<Map>, String> {
    let map = |number| {
        let writes = test.mode.is_some_and(super::Mode::writes);
        let map = Map::new(files.fd(number), test.file_size(), writes);
        map.map_err(|error| test.error("map", number, &error))
    };
    (0..test.files).map(map).collect()
}

/// A mapped file.
struct Map {
    start: *mut u8,
    len: usize,
}

impl Map {
    /// Maps a file, extended to its length if needed.
    fn new(fd: RawFd, len: u64, writes: bool) -> io::Result<Self> {
        let mut access = libc::PROT_READ;
        if writes {
            access |= libc::PROT_WRITE;
            // SAFETY: a system call without pointers.
            let known = unsafe { libc::lseek64(fd, 0, libc::SEEK_END) };
            // SAFETY: as above.
            if known < len as i64 && unsafe { libc::ftruncate64(fd, len as i64) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        let len = usize::try_from(len).map_err(io::Error::other)?;
        let shared = libc::MAP_SHARED;
        // SAFETY: a new mapping at a place of the kernel's choice, of a file that is that long.
        let start = unsafe { libc::mmap64(std::ptr::null_mut(), len, access, shared, fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            len,
        })
    }

    fn at(&self, offset: u64, len: usize) -> io::Result<*mut u8> {
        let end = offset.checked_add(len as u64);
        match end.is_some_and(|end| end <= self.len as u64) {
            // SAFETY: the place is within the mapping.
            true => Ok(unsafe { self.start.add(offset as usize) }),
            false => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn read(&self, offset: u64, bytes: &mut [u8]) -> io::Result<()> {
        let from = self.at(offset, bytes.len())?;
        // SAFETY: both have this length and do not overlap. Other sessions may write there
        // meanwhile, so the bytes may be a mixture, which is sufficient here.
        unsafe { std::ptr::copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        std::hint::black_box(bytes);
        Ok(())
    }

    fn write(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let to = self.at(offset, bytes.len())?;
        // SAFETY: as above.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        // SAFETY: this owns the mapping.
        match unsafe { libc::msync(self.start.cast(), self.len, libc::MS_SYNC) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Drop for Map {
    fn drop(&mut self) {
        // SAFETY: this owns the mapping, and no pointers into it remain.
        unsafe { libc::munmap(self.start.cast(), self.len) };
    }
}
