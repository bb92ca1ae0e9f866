//! Reads, writes and flushes of files.

mod aio;
mod buffer;
mod claims;
mod content;
mod files;
mod layout;
mod options;
mod queue;
mod queued;
mod requests;
mod sync;
mod uring;

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::program::Work;
use claims::Claims;
use files::Files;
use queued::Queued;
use requests::Requests;

pub use layout::{Progress, size};
pub(crate) use options::TEST;
pub use options::{Content, Engine, FileIo, Flag, Mode};

/// State shared by the sessions of a run.
#[derive(Debug)]
pub struct Shared {
    cursor: Arc<AtomicU64>,
    claims: Arc<Claims>,
}

impl FileIo {
    pub(crate) fn share(&self, sessions: u32) -> Shared {
        let mixed = self.validate && self.mode == Some(Mode::RandomMixed);
        Shared {
            cursor: Arc::default(),
            claims: Arc::new(Claims::new(match mixed {
                true => u64::from(sessions) * u64::from(self.depth),
                false => 0,
            })),
        }
    }

    pub(crate) fn work(&self, shared: &Shared, tid: u32) -> Result<Box<dyn Work>, String> {
        let requests = Requests::new(self, self.run_mode()?, Arc::clone(&shared.cursor), tid);
        let claims = Arc::clone(&shared.claims);
        let (depth, data_only) = (self.depth, self.data_only);
        match self.engine {
            Engine::Sync | Engine::Mmap => {
                let waiting = sync::Waiting::new(self, requests, claims, tid)?;
                Ok(Box::new(waiting))
            }
            Engine::Aio => {
                let queue = |files: &Files, _, _| aio::Aio::new(depth, &files.fds(), data_only);
                Ok(Box::new(Queued::new(self, requests, claims, tid, queue)?))
            }
            Engine::Uring => {
                let queue = |files: &Files, memory, each| {
                    uring::Ring::new(depth, &files.fds(), memory, each, data_only)
                };
                Ok(Box::new(Queued::new(self, requests, claims, tid, queue)?))
            }
        }
    }
}
