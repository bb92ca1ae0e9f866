//! Live output of a run: on a terminal one line that is redrawn, elsewhere one line for each
//! interval.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Thread};
use std::time::Duration;

use dyno_core::clock::wall_time;
use dyno_core::plan::{Drive, LoadSchedule};
use dyno_core::summary::IntervalSummary;
use dyno_report::terminal::{EventWord, Look, live_line, scheduled_line, warmup_line};
use dyno_run::{IntervalReport, Sink};

use crate::background::Background;
use crate::console;

/// Interval between redraws.
const REDRAW: Duration = Duration::from_millis(200);
/// Timeout for the last lines after the run.
const PATIENCE: Duration = Duration::from_secs(1);

/// The parts of a line apart from its interval.
struct LineFormat {
    look: Look,
    event: EventWord,
    open: bool,
    /// The measurement's length, if known.
    total_s: Option<f64>,
    warmup_s: f64,
    schedule: Option<LoadSchedule>,
}

impl LineFormat {
    fn line(&self, interval: &IntervalSummary, look: &Look) -> String {
        match &self.schedule {
            Some(schedule) => scheduled_line(interval, self.event, schedule, self.total_s, look),
            None => live_line(interval, self.event, self.open, self.total_s, look),
        }
    }
}

/// The live output of a run.
pub(crate) enum Live {
    /// One line, redrawn.
    View(View),
    /// Line by line.
    Lines(Background<IntervalSummary>),
}

impl Live {
    /// `None` if the thread cannot be started.
    pub(crate) fn start(look: Look, event: EventWord, drive: &Drive) -> Option<Self> {
        let in_place = console::draws();
        let total_s = drive.time.map(|time| time.as_secs_f64());
        let format = LineFormat {
            look,
            event,
            open: drive.open_loop.is_some(),
            // Only a redrawn line shows progress.
            total_s: total_s.filter(|_| in_place),
            warmup_s: drive.warmup.as_secs_f64(),
            schedule: drive.own().schedule,
        };
        if in_place {
            return View::start(format).map(Self::View);
        }
        let show = move |summary: Option<IntervalSummary>| {
            if let Some(summary) = summary {
                console::line(&format.look, |look| format.line(&summary, look));
            }
        };
        Background::start(move || Ok(show)).ok().map(Self::Lines)
    }

    /// Ends it and clears the redrawn line.
    pub(crate) fn finish(self) {
        let lines = match self {
            Self::View(view) => return view.finish(),
            Self::Lines(lines) => lines,
        };
        let ended = lines.finish(PATIENCE, || false);
        // A warning would block if the reader is still slow.
        if ended.all_taken && ended.left_out > 0 {
            console::note(&format!(
                "{} live lines were dropped: standard error was not read in time.",
                ended.left_out
            ));
        }
    }
}

/// A view's content.
#[derive(Default)]
struct ViewState {
    /// The start of the measurement, in seconds since the Unix epoch.
    begins_unix_s: Option<f64>,
    last: Option<IntervalSummary>,
    over: bool,
}

/// A line that is redrawn.
pub(crate) struct View {
    seen: Arc<Mutex<ViewState>>,
    thread: Thread,
    ended: Receiver<()>,
}

impl View {
    fn start(format: LineFormat) -> Option<Self> {
        let seen = Arc::new(Mutex::new(ViewState::default()));
        let (end, ended) = channel();
        let watched = Arc::clone(&seen);
        let draw = move || {
            let mut shown = String::new();
            loop {
                thread::park_timeout(REDRAW);
                let seen = watched.lock().unwrap_or_else(PoisonError::into_inner);
                if seen.over {
                    break;
                }
                let line = text(&seen, &format);
                drop(seen);
                if line != shown {
                    console::progress(&line);
                    shown = line;
                }
            }
            console::progress("");
            drop(end);
        };
        let thread = thread::Builder::new().name("screen".to_owned()).spawn(draw);
        Some(Self {
            seen,
            thread: thread.ok()?.thread().clone(),
            ended,
        })
    }

    fn change(&self, change: impl FnOnce(&mut ViewState)) {
        change(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner));
    }

    fn finish(self) {
        self.change(|seen| seen.over = true);
        self.thread.unpark();
        // A stopped terminal (Ctrl-S) accepts no output.
        let _ = self.ended.recv_timeout(PATIENCE);
    }
}

/// The current text; empty before the load begins.
fn text(seen: &ViewState, format: &LineFormat) -> String {
    if let Some(last) = &seen.last {
        return format.line(last, &format.look);
    }
    let ahead_s = seen
        .begins_unix_s
        .map(|begins| begins - wall_time().as_secs_f64());
    match ahead_s {
        Some(ahead_s) if ahead_s > 0.0 && ahead_s <= format.warmup_s => {
            warmup_line(format.warmup_s - ahead_s, format.warmup_s, &format.look)
        }
        _ => String::new(),
    }
}

/// Shows a run's progress until the measurement ends.
pub(crate) struct LiveSink(pub Arc<Mutex<Option<Live>>>);

impl LiveSink {
    fn with(&self, give: impl FnOnce(&mut Live)) {
        let mut live = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(live) = live.as_mut() {
            give(live);
        }
    }
}

impl Sink for LiveSink {
    fn started(&mut self, unix_s: f64) {
        self.with(|live| {
            if let Live::View(view) = live {
                view.change(|seen| seen.begins_unix_s = Some(unix_s));
            }
        });
    }

    fn interval(&mut self, report: IntervalReport<'_>) {
        let summary = report.summary.clone();
        self.with(|live| match live {
            Live::View(view) => view.change(|seen| seen.last = Some(summary)),
            Live::Lines(lines) => lines.give(summary),
        });
    }
}
