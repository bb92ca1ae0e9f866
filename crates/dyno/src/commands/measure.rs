//! One measured run: recorded, observed, judged.

use std::time::Duration;

use anyhow::{Context as _, Error, Result};
use dyno_core::finding::Verdict;
use dyno_core::summary::{IntervalSummary, RunEnd, RunSummary};
use dyno_core::units;
use dyno_load::Progress;
use dyno_report::summarize;
use dyno_report::terminal::{EventWord, Look, live_line};

use super::hints::{hint, with_hint};
use crate::background::Background;
use crate::job::Ready;
use crate::ledger::Before;
use crate::options::Parsed;
use crate::recording::{Recording, Wanted};
use crate::summary::{Asked, Start, summarise};
use crate::{STATUS_DONE, STATUS_FAILED, STATUS_REFUSED, console, told};

/// What the user sees of a run while it goes on and at its end.
pub struct Screen {
    /// Nothing but the result.
    pub quiet: bool,
    /// How the result looks.
    pub look: Look,
}

impl Screen {
    /// What the options say.
    pub fn of(parsed: &Parsed) -> Self {
        Self {
            quiet: parsed.has("quiet"),
            look: Look {
                columns: console::width(),
                colour: console::colors(parsed.has("no-color")),
                ascii: false,
            },
        }
    }
}

/// A run that has ended.
pub struct Measured {
    /// What came of it.
    pub summary: RunSummary,
    /// What went wrong after the measurement; the summary stands all the same.
    trouble: Option<Error>,
    gate: bool,
}

impl Measured {
    /// The exit status, once the summary has been shown.
    ///
    /// # Errors
    /// What went wrong after the measurement.
    pub fn end(self, ready: &Ready, asked: &Asked) -> Result<u8> {
        if let Some(trouble) = self.trouble {
            return Err(trouble);
        }
        let summary = &self.summary;
        if let RunEnd::Failed(why) = &summary.end
            && let Some(hint) = hint(why, ready, &asked.workload)
        {
            console::note(&hint);
        }
        let worthless = matches!(summary.end, RunEnd::Failed(_)) || summary.totals.events == 0;
        Ok(if worthless {
            STATUS_FAILED
        } else if self.gate && summary.verdict == Some(Verdict::Refused) {
            STATUS_REFUSED
        } else {
            STATUS_DONE
        })
    }
}

/// Runs the workload.
///
/// # Errors
/// What keeps it from a result.
pub fn measure(
    ready: &mut Ready,
    asked: &Asked,
    screen: &Screen,
    wanted: Wanted,
) -> Result<Measured> {
    let (gate, ledger) = (wanted.gate, wanted.ledger);
    let recording = Recording::start(wanted, ready, asked, screen.quiet)?;
    if let Err(error) = ready.call("init").context("init() failed") {
        let error = with_hint(error, ready, &asked.workload);
        recording.abandon(&format!("{error:#}"));
        return Err(error);
    }
    let before = Before::read(ready, ledger);
    if !screen.quiet {
        announce(ready);
    }
    let event = match ready.plan() {
        Some(_) => EventWord::Event,
        None => EventWord::Transaction,
    };
    let open = ready.job.drive.open_loop.is_some();
    let mut course = Course {
        asked,
        recording: &recording,
        live: Live::start(screen, event, open),
        start: Start::at(0),
        origin: 0,
        intervals: Vec::new(),
    };
    let outcome = ready.run(|progress| course.take(&progress));
    if let Some(live) = course.live.take() {
        live.finish();
    }
    let (start, intervals) = (course.start, course.intervals);
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => {
            let error = with_hint(error, ready, &asked.workload);
            recording.abandon(&format!("{error:#}"));
            return Err(error);
        }
    };
    let mut summary = summarise(ready, &outcome, &start, asked, intervals);
    let known = !outcome.workers.iter().any(|worker| worker.stuck);
    summary.ledger = before.map_or_else(Vec::new, |before| before.compare(ready, known));
    told::complete(ready, &mut summary);
    let recorded = recording.finish(&mut summary, &outcome);
    let done = match outcome.end {
        RunEnd::Completed => ready.call("done").context("done() failed"),
        _ => Ok(()),
    };
    let recorded =
        recorded.context("the figures above are right, but the run is not kept as it should be");
    Ok(Measured {
        summary,
        trouble: recorded.and(done).err(),
        gate,
    })
}

fn announce(ready: &Ready) {
    let drive = &ready.job.drive;
    let about = match drive.warmup.is_zero() {
        true => String::new(),
        false => format!(
            ", {} of warm-up first",
            units::format_duration(drive.warmup)
        ),
    };
    let doing = match ready.plan() {
        Some(_) => "Starting",
        None => "Connecting",
    };
    console::note(&format!("{doing} {} session(s){about}.", drive.sessions));
}

/// How long the last live lines have to appear when the run is over.
const LIVE_PATIENCE: Duration = Duration::from_secs(1);

/// The live line.
struct Live(Background<IntervalSummary>);

impl Live {
    /// `None` where nobody wants to see it, or where there is no thread for it.
    fn start(screen: &Screen, event: EventWord, open: bool) -> Option<Self> {
        let look = screen.look;
        let show = move |told: Option<IntervalSummary>| {
            if let Some(told) = told {
                console::line(&look, |look| live_line(&told, event, open, look));
            }
        };
        let lines = (!screen.quiet).then(|| Background::start(move || Ok(show)))?;
        lines.ok().map(Self)
    }

    fn give(&mut self, told: IntervalSummary) {
        self.0.give(told);
    }

    fn finish(self) {
        let ended = self.0.finish(LIVE_PATIENCE, || false);
        // Who does not read now would hold up what is to be kept.
        if ended.all_taken && ended.left_out > 0 {
            console::note(&format!(
                "{} live lines were left out: standard error was not read in time.",
                ended.left_out
            ));
        }
    }
}

/// What becomes of a run's progress: a live line where there is a look, the record, the summary.
struct Course<'a> {
    asked: &'a Asked,
    recording: &'a Recording,
    live: Option<Live>,
    start: Start,
    origin: u64,
    intervals: Vec<IntervalSummary>,
}

impl Course<'_> {
    fn take(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Started { measured } => {
                self.start = Start::at(*measured);
                self.origin = *measured;
                self.recording.begins(*measured);
            }
            Progress::Interval(interval) => {
                let told = summarize::interval(interval, self.origin, &self.asked.percentiles);
                self.recording.interval(interval, &told);
                if let Some(live) = &mut self.live {
                    live.give(told.clone());
                }
                self.intervals.push(told);
            }
        }
    }
}
