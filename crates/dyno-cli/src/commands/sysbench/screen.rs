//! Live output of sysbench's `run`: text, and the output of report functions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use dyno_core::Clock;
use dyno_core::units::format_duration;
use dyno_load::{StopLevel, StopSignal};
use dyno_script::Stat;

use super::output;
use crate::background::Background;
use dyno_run::{Reporter, RunError};

/// Polling interval for the user's request to stop a report function.
const LOOK: Duration = Duration::from_millis(50);
/// A function that waits for a database ends at its own timeout, with a better message.
const SLACK: Duration = Duration::from_secs(1);

enum Item {
    Text(String),
    /// A report function and its argument.
    Hook(&'static str, Stat),
}

/// A thread that prints and calls report functions one after the other.
pub(super) struct Screen {
    /// `None` after the end.
    items: Option<Background<Item>>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    /// The running function.
    hook: Mutex<Option<&'static str>>,
    failed: AtomicBool,
}

impl State {
    fn enter(&self, hook: Option<&'static str>) {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner) = hook;
    }

    fn hook(&self) -> Option<&'static str> {
        *self.hook.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, message: &str) {
        output::fatal(message);
        self.failed.store(true, Ordering::Relaxed);
    }
}

impl Screen {
    /// Starts it; `reporter` creates the state of the report functions, if the script has any.
    ///
    /// # Errors
    /// The thread cannot be started, or the script's top level raised an error.
    pub(super) fn start<F>(reporter: Option<F>) -> Result<Self>
    where
        F: FnOnce() -> Result<Reporter, RunError> + Send + 'static,
    {
        let state = Arc::new(State::default());
        let own = Arc::clone(&state);
        let items = Background::start(move || {
            let mut reporter = reporter.map(|make| make()).transpose()?;
            Ok(move |item| take(&own, reporter.as_mut(), item))
        })?;
        Ok(Self {
            items: Some(items),
            state,
        })
    }

    /// Prints a notice.
    pub(super) fn text(&mut self, text: String) {
        self.give(Item::Text(text));
    }

    /// Calls a report function.
    pub(super) fn hook(&mut self, name: &'static str, stat: Stat) {
        self.give(Item::Hook(name, stat));
    }

    fn give(&mut self, item: Item) {
        if let Some(items) = &mut self.items {
            items.give(item);
        }
    }

    /// Waits for the queue; at most this long for a report function, unless the user stops it.
    /// Returns whether one failed or did not return.
    pub(super) fn finish(&mut self, bound: Duration, stop: &StopSignal) -> bool {
        let Some(items) = self.items.take() else {
            return false;
        };
        // Wait for a slow reader of text, as the next report would.
        let from = Clock.now();
        let stopped = || stop.level() == StopLevel::Abandon;
        let ended = items.finish(LOOK, || match self.state.hook() {
            Some(_) => Clock.since(from) < bound.saturating_add(SLACK) && !stopped(),
            None => true,
        });
        if let (false, Some(hook)) = (ended.all_taken, self.state.hook()) {
            self.state.fail(&match stopped() {
                true => format!("`{hook}' function failed: it was stopped by the user"),
                false => format!(
                    "`{hook}' function did not return within {} of the end of the run",
                    format_duration(bound)
                ),
            });
        }
        if ended.left_out > 0 {
            output::warning(&format!(
                "{} intermediate reports were left out: standard output was not read, or a report \
                 function did not return in time",
                ended.left_out
            ));
        }
        self.state.failed.load(Ordering::Relaxed)
    }
}

fn take(state: &State, reporter: Option<&mut Reporter>, item: Option<Item>) {
    match (item, reporter) {
        (Some(Item::Text(text)), _) => output::notice(&text),
        (Some(Item::Hook(name, stat)), Some(reporter)) => {
            state.enter(Some(name));
            if let Err(message) = reporter.report(name, &stat) {
                state.fail(&format!("`{name}' function failed: {message}"));
            }
            state.enter(None);
        }
        (None, Some(reporter)) => {
            let _ = reporter.finish();
        }
        (Some(Item::Hook(..)) | None, None) => {}
    }
}
