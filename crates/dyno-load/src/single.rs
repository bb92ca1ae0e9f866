//! One session on the calling thread: a script's functions of the main state.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::db::{Connector, bound_waits};
use dyno_core::interval::Counters;
use dyno_core::session::{Entry, Program};
use dyno_core::units::format_duration;

use crate::calendar::nanos;
use crate::message::{Mailbox, Message};
use crate::outcome::LoadError;
use crate::recorder::{Recorder, Shape};
use crate::state::{Parts, now};
use crate::stop::{StopLevel, StopSignal};
use crate::worker::Worker;

/// One session that runs one entry after another: `prepare`, `cleanup`, `init`,
/// `done`. Its connections stay open from one entry to the next.
pub struct Single<P> {
    worker: Worker<P>,
    messages: Receiver<Message>,
    stop: Arc<StopSignal>,
    /// The timeout of a call.
    bound: Duration,
}

impl<P: Program> Single<P> {
    /// A session with the number `tid` that has not run anything yet.
    ///
    /// # Errors
    /// The system lacks descriptors.
    pub fn new(
        program: P,
        connector: Option<Arc<dyn Connector>>,
        stop: Arc<StopSignal>,
        tid: u32,
    ) -> Result<Self, LoadError> {
        let refuse = |error| LoadError::Start(format!("cannot wait for sockets: {error}"));
        let (sender, messages) = channel();
        let (_, returned) = channel();
        let shape = Shape {
            endpoints: connector.as_ref().map_or(0, |c| c.endpoints().len()),
            operations: 0,
            roles: 1,
        };
        let parts = Parts {
            tids: vec![tid],
            connector,
            sequence: Arc::new(AtomicU64::new(1)),
            stop: Arc::clone(&stop),
            mailbox: Mailbox::new().map_err(refuse)?,
            recorder: Recorder::new(0, shape, sender.clone(), returned),
            shapes: None,
            early_ns: 0,
            duet: None,
        };
        let entry = Entry::Command(String::new());
        let worker = Worker::new(0, program, parts, sender, entry).map_err(refuse)?;
        Ok(Self {
            worker,
            messages,
            stop,
            bound: Duration::MAX,
        })
    }

    /// Sets the timeout of an [`Entry::Call`] or an [`Entry::Hook`]. Commands have no timeout: a
    /// load may need hours.
    pub fn bound_calls(&mut self, bound: Duration) {
        self.bound = bound;
    }

    /// Runs an entry to its end. A stop signal already at [`StopLevel::End`] does not affect it:
    /// that ended a measurement, and this entry reports on it or cleans up.
    ///
    /// # Errors
    /// The script's message, or a stop by the user.
    pub fn run(&mut self, entry: &Entry) -> Result<(), String> {
        self.run_unless(entry, StopLevel::Abandon)
    }

    /// The same for an entry that an earlier stop signal also stops, such as a load.
    ///
    /// # Errors
    /// The script's message, or a stop by the user.
    pub fn run_unless_stopped(&mut self, entry: &Entry) -> Result<(), String> {
        self.run_unless(entry, StopLevel::End)
    }

    fn run_unless(&mut self, entry: &Entry, level: StopLevel) -> Result<(), String> {
        let mailbox = Arc::clone(&self.worker.state.mailbox);
        let _listening = self.stop.listen(Box::new(move || mailbox.waker.wake()));
        let before = self.stop.level();
        if before >= level {
            return Err("stopped by the user".to_owned());
        }
        let state = &mut self.worker.state;
        state.after_end = before == StopLevel::End;
        // An earlier stopped entry does not affect it either.
        state.over = false;
        state.bound = match entry {
            Entry::Call(_) | Entry::Hook(_) => now().saturating_add(nanos(self.bound)),
            _ => Nanos::MAX,
        };
        state.mailbox.renew(state.bound);
        if self.stop.level() != before {
            state.mailbox.waker.wake();
        }
        if state.connector.as_ref().is_some_and(|own| own.blocks()) {
            bound_waits(state.mailbox.patience(&self.stop));
        }
        let result = self.worker.run_alone(entry);
        let failed = self.messages.try_iter().next();
        // An interrupted operation failed for that reason.
        let gave_up = self.worker.state.mailbox.gave_up();
        if let (Some(Message::Failed(_, why)), false) = (failed, gave_up) {
            return Err(why);
        }
        result.map_err(|error| format!("waiting for sockets failed: {error}"))?;
        self.ended(gave_up)
    }

    /// The end of an entry that did not fail.
    fn ended(&mut self, gave_up: bool) -> Result<(), String> {
        let state = &mut self.worker.state;
        if !state.over && !gave_up {
            return Ok(());
        }
        if now() < state.bound {
            return Err("stopped by the user".to_owned());
        }
        let awaited = match gave_up {
            true => "it was in a statement",
            false => self.worker.state.sessions[0].awaited(),
        };
        // A late answer must not be taken for the answer to the next statement.
        self.worker.state.close_connections(0, false);
        Err(format!(
            "it did not end within {}: {awaited}",
            format_duration(self.bound)
        ))
    }

    /// From now on this signal stops its entries.
    pub fn stop_by(&mut self, stop: Arc<StopSignal>) {
        self.worker.state.stop = Arc::clone(&stop);
        self.stop = stop;
    }

    /// Sums of its entries so far.
    pub fn counters(&self) -> Counters {
        self.worker.state.recorder.outside().1
    }

    /// The program.
    pub fn program(&mut self) -> &mut P {
        &mut self.worker.program
    }
}

impl<P> Drop for Single<P> {
    fn drop(&mut self) {
        self.worker.state.close_connections(0, true);
    }
}
