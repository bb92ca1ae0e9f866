//! A worker before its run begins.

use std::io;

use dyno_core::session::{Entry, Program};

use super::Worker;
use crate::session::Lifecycle;
use crate::state::now;

/// Maximum number of sessions of a worker that connect at the same time during initialisation:
/// servers drop connections beyond their listen queue.
const CONNECTING_MAX: u32 = 64;

impl<P: Program> Worker<P> {
    /// Runs all sessions' initialisation, interleaved.
    pub(super) fn initialise(&mut self) -> io::Result<()> {
        let sessions = self.state.sessions.len();
        if self.entry != Entry::Run {
            for session in &mut self.state.sessions {
                session.stage = Lifecycle::Ready;
            }
            self.ready = sessions as u32;
            return Ok(());
        }
        let mut next = 0;
        while (self.ready as usize) < sessions && !self.state.over {
            let may_begin = self.state.connecting < CONNECTING_MAX;
            if next < sessions && may_begin {
                self.enter(next, &Entry::Init, Lifecycle::Init);
                self.turn(next);
                self.state.tick(now());
                next += 1;
            } else {
                self.poll()?;
            }
        }
        Ok(())
    }

    pub(super) fn await_start(&mut self) -> io::Result<()> {
        while self.state.start.is_none() && !self.state.over {
            self.poll()?;
        }
        // A script's own loop does not ask when it may begin.
        let begin = self
            .state
            .start
            .as_ref()
            .map_or(0, |start| start.schedule.begin);
        let bound = self.state.bound;
        while now() < begin && !self.state.over {
            self.state.bound = begin.min(bound);
            self.poll()?;
        }
        self.state.bound = bound;
        Ok(())
    }
}
