//! The program for workers: a session's events, one after another.

use std::sync::Arc;

use dyno_core::session::{Entry, Next, Port, SessionId, Step};

use crate::plan::{Plan, Shared};

/// The program of one worker's sessions.
pub struct Program {
    plan: Arc<Plan>,
    shared: Arc<Shared>,
    sessions: Vec<Option<Session>>,
}

struct Session {
    entry: Entry,
    work: Box<dyn Work>,
}

/// The work of a test's session.
pub(crate) trait Work {
    /// Runs the session while the run continues.
    fn turn(&mut self, port: &mut dyn Port, session: SessionId) -> Step;

    /// Ends the session's work.
    ///
    /// # Errors
    /// A message for the user.
    fn done(&mut self, _port: &mut dyn Port, _session: SessionId) -> Result<(), String> {
        Ok(())
    }
}

/// Whether a session continues after an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum After {
    /// Continue with the next event.
    Next,
    /// Stop: it was the last event.
    Last,
}

impl Program {
    /// Creates the program of one worker. All workers of a run share `shared`.
    pub fn new(plan: Arc<Plan>, shared: Arc<Shared>) -> Self {
        Self {
            plan,
            shared,
            sessions: Vec::new(),
        }
    }
}

impl dyno_core::session::Program for Program {
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String> {
        if self.sessions.len() <= session {
            self.sessions.resize_with(session + 1, || None);
        }
        match &mut self.sessions[session] {
            Some(known) => known.entry = entry.clone(),
            empty => {
                *empty = Some(Session {
                    entry: entry.clone(),
                    work: self.plan.work(&self.shared, tid)?,
                });
            }
        }
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        let Some(Some(known)) = self.sessions.get_mut(session) else {
            return Step::Failed("a session was resumed before it started".to_owned());
        };
        match known.entry {
            Entry::Run => known.work.turn(port, session),
            Entry::Done => match known.work.done(port, session) {
                Ok(()) => Step::Finished,
                Err(why) => Step::Failed(why),
            },
            // The work was created when the session entered; commands run before there are
            // sessions.
            Entry::Init | Entry::Command(_) | Entry::Call(_) | Entry::Hook(_) => Step::Finished,
        }
    }
}

/// Runs events one after another, each completely within this call.
pub(crate) fn events(
    port: &mut dyn Port,
    session: SessionId,
    mut event: impl FnMut(&mut dyn Port) -> Result<After, String>,
) -> Step {
    loop {
        match port.next_event(session) {
            Next::Go => {}
            Next::Wait => return Step::Waiting,
            Next::Stop => return Step::Finished,
        }
        port.event_start(session);
        match event(port) {
            Ok(After::Next) => port.event_stop(session),
            Ok(After::Last) => {
                port.event_stop(session);
                return Step::Finished;
            }
            Err(why) => return Step::Failed(why),
        }
    }
}
