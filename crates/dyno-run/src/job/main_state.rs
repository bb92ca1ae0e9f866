//! The script's main state, on a thread of its own. Nothing can interrupt a loop that LuaJIT has
//! compiled, so that a function which does not return is given up with its thread: the process
//! goes on without them, keeps what it has, and ends with an error.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::Builder;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::db::Connector;
use dyno_core::session::Entry;
use dyno_core::units::format_duration;
use dyno_load::{Single, StopLevel, StopSignal};
use dyno_script::{Description, Host, HostConfig};

use super::alone;
use crate::error::{Context as _, Result, failed};

/// How often is looked whether the user has lost patience.
const LOOK: Duration = Duration::from_millis(50);
/// A call that waits for a database ends by itself at its bound, with a better message.
const SLACK: Duration = Duration::from_secs(1);
/// How long a call may take to end once the user has asked twice for it.
const ABANDON: Duration = Duration::from_millis(500);
/// How long its connections may take to be closed.
const CLOSING: Duration = Duration::from_secs(3);
/// What the main thread has, on which scripts run under other tools.
const STACK_BYTES: usize = 8 << 20;

type Call = Box<dyn FnOnce(&mut Single<Host>) + Send>;

/// A script's state, in which its top level has run.
pub(super) struct MainState {
    thread: Thread,
    /// Where the script was found.
    script: String,
    /// What to try where it takes too long.
    advice: &'static str,
    stop: Arc<StopSignal>,
    /// How long a call of it may take.
    bound: Duration,
    given_up: Option<String>,
    /// The first function of the script that waited for longer than its bound, and how it ended.
    late: Option<String>,
}

struct Thread {
    /// `None` once it is to end.
    calls: Option<Sender<Call>>,
    /// Closed when it has.
    ended: Receiver<()>,
}

impl MainState {
    /// Runs the script's top level, which may take so long, and answers what it declares.
    ///
    /// # Errors
    /// A script that does not compile, raises, or does not return.
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

    /// From now on this signal stops its calls, each of which may take so long.
    pub(super) fn stop_by(&mut self, stop: Arc<StopSignal>, bound: Duration) -> Result<(), String> {
        self.bound = bound;
        self.stop = Arc::clone(&stop);
        self.act("making ready", move |state| {
            state.stop_by(stop);
            state.bound_calls(bound);
        })
    }

    /// Runs an entry to its end: see [`Single::run`]. Commands may take as long as they like.
    ///
    /// # Errors
    /// The script's message, or that the user stopped it, or that it did not return in time.
    pub(super) fn run(&mut self, entry: Entry) -> Result<(), String> {
        let (what, bound) = self.bounds(&entry);
        let begun = Clock.now();
        let ended = self.call(&what, bound, move |state| state.run(&entry))?;
        if let Err(why) = &ended
            && Duration::from_nanos(Clock.now().saturating_sub(begun)) >= bound
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

    /// Does something with the state that takes no longer than a call of the script.
    ///
    /// # Errors
    /// It did not end in time, or the state was given up before.
    pub(super) fn act<R: Send + 'static>(
        &mut self,
        what: &str,
        act: impl FnOnce(&mut Single<Host>) -> R + Send + 'static,
    ) -> Result<R, String> {
        self.call(what, self.bound, act)
    }

    /// Whether no function of the script waited for longer than its bound.
    ///
    /// # Errors
    /// Which one did.
    pub(super) fn in_time(&self) -> Result<()> {
        match &self.late {
            Some(why) => Err(failed(why.as_str())),
            None => Ok(()),
        }
    }

    /// Whether it can be called still.
    ///
    /// # Errors
    /// Why it was given up.
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
        // If nobody takes it, the answer's channel is closed.
        if let Some(calls) = &self.thread.calls {
            let _ = calls.send(call);
        }
        self.wait(&answered, what, bound)
    }

    /// Waits for an answer of the thread, and gives it up where there is none.
    fn wait<R>(
        &mut self,
        answered: &Receiver<R>,
        what: &str,
        bound: Duration,
    ) -> Result<R, String> {
        let begun = Clock.now();
        let since = |at: Nanos| Duration::from_nanos(Clock.now().saturating_sub(at));
        let mut abandoned = None;
        let why = loop {
            match answered.recv_timeout(LOOK) {
                Ok(answer) => return Ok(answer),
                Err(RecvTimeoutError::Disconnected) => {
                    break format!("the thread of {} panicked in {what}", self.script);
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
            if since(begun) >= bound.saturating_add(SLACK) {
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
                if since(from) >= ABANDON {
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
            // Its connections are closed politely before the process may end.
            let _ = self.thread.ended.recv_timeout(CLOSING);
        }
    }
}
