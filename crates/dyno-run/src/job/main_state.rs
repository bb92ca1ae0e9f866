//! The script's main state on its own thread. A loop that LuaJIT has compiled cannot be
//! interrupted, so a function that does not return is abandoned together with its thread. The
//! process goes on without them, keeps its results, and ends with an error.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::db::Connector;
use dyno_core::session::Entry;
use dyno_core::units::format_duration;
use dyno_load::{Single, StopLevel, StopSignal};
use dyno_script::{Description, Host, HostConfig};

use super::alone;
use crate::error::{Context as _, Result, failed};

/// Polling interval for the user's request to abandon the run.
const LOOK: Duration = Duration::from_millis(50);
/// A call that waits for a database ends at its own timeout, with a better message.
const SLACK: Duration = Duration::from_secs(1);
/// How long a call may go on after the user's second request to stop.
const ABANDON: Duration = Duration::from_millis(500);
/// How long it may take to close its connections.
const CLOSING: Duration = Duration::from_secs(3);
/// The stack size of a main thread, which is where scripts run in other tools.
const STACK_BYTES: usize = 8 << 20;

type Call = Box<dyn FnOnce(&mut Single<Host>) + Send>;

/// The state of a script whose top level has run.
pub(super) struct MainState {
    thread: Thread,
    /// The script's path.
    script: String,
    /// What to try if a call takes too long.
    advice: &'static str,
    stop: Arc<StopSignal>,
    /// The timeout of its calls.
    bound: Duration,
    given_up: Option<String>,
    /// The first function of the script that exceeded its timeout, and how it ended.
    late: Option<String>,
}

struct Thread {
    /// `None` once the thread must end.
    calls: Option<Sender<Call>>,
    /// Closed when the thread has ended.
    ended: Receiver<()>,
}

impl MainState {
    /// Runs the script's top level within `bound`, and returns its declarations.
    ///
    /// # Errors
    /// The script does not compile, raises an error, or does not return.
    pub(super) fn start(
        config: HostConfig,
        connector: Option<Arc<dyn Connector>>,
        bound: Duration,
    ) -> Result<(Self, Description)> {
        let (calls, taken) = channel::<Call>();
        let (end, ended) = channel();
        let (begin, begun) = channel();
        let stop = StopSignal::new();
        let (script, own) = (config.source.path.clone(), Arc::clone(&stop));
        let advice = match config.sysbench {
            true => "",
            false => "; --call-timeout sets the limit",
        };
        let body = move || {
            match alone(config, connector, own, 0, bound) {
                Ok((mut state, description)) => {
                    let _ = begin.send(Ok(description));
                    while let Ok(call) = taken.recv() {
                        call(&mut state);
                    }
                }
                Err(error) => drop(begin.send(Err(error))),
            }
            drop(end);
        };
        Builder::new()
            .name("script".to_owned())
            .stack_size(STACK_BYTES)
            .spawn(body)
            .context("cannot start a thread for the script")?;
        let thread = Thread {
            calls: Some(calls),
            ended,
        };
        let mut state = Self {
            thread,
            script,
            advice,
            stop,
            bound,
            given_up: None,
            late: None,
        };
        let description = state.wait(&begun, "the top level", bound);
        Ok((state, description.map_err(failed)??))
    }

    /// Lets this signal stop its calls from now on. Each of them has the timeout `bound`.
    pub(super) fn stop_by(&mut self, stop: Arc<StopSignal>, bound: Duration) -> Result<(), String> {
        self.bound = bound;
        self.stop = Arc::clone(&stop);
        self.act("making ready", move |state| {
            state.stop_by(stop);
            state.bound_calls(bound);
        })
    }

    /// Runs an entry to its end, see [`Single::run`]. Commands have no timeout.
    ///
    /// # Errors
    /// The message of the script, a stop by the user, or a timeout.
    pub(super) fn run(&mut self, entry: Entry) -> Result<(), String> {
        let (what, bound) = self.bounds(&entry);
        let begun = Clock.now();
        let ended = self.call(&what, bound, move |state| state.run(&entry))?;
        if let Err(why) = &ended
            && Clock.since(begun) >= bound
        {
            self.late
                .get_or_insert_with(|| format!("{what} failed: {why}"));
        }
        ended
    }

    /// See [`Single::run_unless_stopped`].
    ///
    /// # Errors
    /// As [`MainState::run`].
    pub(super) fn run_unless_stopped(&mut self, entry: Entry) -> Result<(), String> {
        let (what, bound) = self.bounds(&entry);
        self.call(&what, bound, move |state| state.run_unless_stopped(&entry))?
    }

    /// Runs a function on the state. It must not take longer than a call of the script.
    ///
    /// # Errors
    /// A timeout, or the state was abandoned earlier.
    pub(super) fn act<R: Send + 'static>(
        &mut self,
        what: &str,
        act: impl FnOnce(&mut Single<Host>) -> R + Send + 'static,
    ) -> Result<R, String> {
        self.call(what, self.bound, act)
    }

    /// Whether every function of the script ended within its timeout.
    ///
    /// # Errors
    /// The function that did not.
    pub(super) fn in_time(&self) -> Result<()> {
        match &self.late {
            Some(why) => Err(failed(why.as_str())),
            None => Ok(()),
        }
    }

    /// Whether the state can still be called.
    ///
    /// # Errors
    /// Why the state was abandoned.
    pub(super) fn alive(&self) -> Result<()> {
        match &self.given_up {
            Some(why) => Err(failed(why.as_str())),
            None => Ok(()),
        }
    }

    fn bounds(&self, entry: &Entry) -> (String, Duration) {
        match entry {
            Entry::Call(name) | Entry::Hook(name) => (format!("{name}()"), self.bound),
            Entry::Command(name) => (format!("{name}()"), Duration::MAX),
            Entry::Init | Entry::Run | Entry::Done => ("the script".to_owned(), self.bound),
        }
    }

    fn call<R: Send + 'static>(
        &mut self,
        what: &str,
        bound: Duration,
        act: impl FnOnce(&mut Single<Host>) -> R + Send + 'static,
    ) -> Result<R, String> {
        if let Some(why) = &self.given_up {
            return Err(format!("{what} was not called: {why}"));
        }
        let (answer, answered) = channel();
        let call: Call = Box::new(move |state| drop(answer.send(act(state))));
        // If the thread has ended, the channel for the answer is closed.
        if let Some(calls) = &self.thread.calls {
            let _ = calls.send(call);
        }
        self.wait(&answered, what, bound)
    }

    /// Waits for the thread to answer, and abandons the thread if it does not.
    fn wait<R>(
        &mut self,
        answered: &Receiver<R>,
        what: &str,
        bound: Duration,
    ) -> Result<R, String> {
        let begun = Clock.now();
        let mut abandoned = None;
        let why = loop {
            match answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    break format!("the thread of {} panicked in {what}", self.script);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if Clock.since(begun) >= bound.saturating_add(SLACK) {
                break format!(
                    "{what} of {} did not return within {} and was abandoned: a running script \
                     cannot be interrupted{}",
                    self.script,
                    format_duration(bound),
                    self.advice
                );
            }
            if self.stop.level() == StopLevel::Abandon {
                let from = *abandoned.get_or_insert_with(|| Clock.now());
                if Clock.since(from) >= ABANDON {
                    break format!("{what} of {} was stopped by the user", self.script);
                }
            }
        };
        self.given_up = Some(why.clone());
        Err(why)
    }
}

impl Drop for MainState {
    fn drop(&mut self) {
        self.thread.calls = None;
        if self.given_up.is_none() {
            // Let it close its connections before the process may end.
            let _ = self.thread.ended.recv_timeout(CLOSING);
        }
    }
}
