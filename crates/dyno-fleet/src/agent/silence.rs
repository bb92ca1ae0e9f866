//! An agent's reaction to the silence of its coordinator, or the end of its launcher.

use dyno_core::clock::Nanos;

use super::{Agent, Exit};
use crate::message::{End, Stage};

/// Timeout for orders once the launcher has closed the agent's standard input: orders come once a
/// second.
const LAUNCHER_GONE_NS: Nanos = 3_000_000_000;

impl Agent {
    /// The launcher has closed the agent's input, and has most likely ended. If orders still
    /// arrive, the agent continues.
    pub fn launcher_gone(&mut self) {
        self.launcher_gone = true;
    }

    /// While the process was suspended it could not receive anything, so this time does not count
    /// as the coordinator's silence. The coordinator gets half of the timeout to make contact
    /// again.
    pub(super) fn notice_pause(&mut self, now: Nanos) {
        if now.saturating_sub(self.ticked_at) > self.orphan_ns / 2 {
            let half = now.saturating_sub(self.orphan_ns / 2);
            self.heard_at = self.heard_at.max(half);
        }
        self.ticked_at = now;
    }

    pub(super) fn notice_silence(&mut self, now: Nanos) {
        let silence = now.saturating_sub(self.heard_at);
        // When the launcher ends, so does the agent's connection to the bus.
        let limit = match self.launcher_gone {
            true => self.orphan_ns.min(LAUNCHER_GONE_NS),
            false => self.orphan_ns,
        };
        if silence > limit {
            self.orphaned(silence);
        }
    }

    fn orphaned(&mut self, silence: Nanos) {
        let unconfirmed = self.queue.len();
        match self.stage {
            Stage::Waiting if self.serial == 0 => self.exit(Exit::NotJoined),
            Stage::Running => {
                let seconds = silence / 1_000_000_000;
                let why = format!("no message from the coordinator for {seconds} s");
                self.stop(End::Orphaned, why);
            }
            Stage::Ended
                if unconfirmed > 0 && !self.launcher_gone && silence < self.config.linger_ns => {}
            _ => {
                self.disarm();
                self.exit(Exit::Orphaned { unconfirmed });
            }
        }
    }
}
