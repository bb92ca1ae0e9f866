//! sysbench's `run`: the load, and the text around it.
//!
//! The order differs from that of `dyno run` (`crates/dyno-run/src/measure.rs`): the report and
//! `done()` come before the verdict, and the run goes on if it cannot be recorded.

use anyhow::{Result, anyhow};
use dyno_analysis::summarize::{self, SessionTotal};
use dyno_conduct::hint;
use dyno_core::db::ErrorKind;
use dyno_core::interval::Interval;
use dyno_core::summary::RunEnd;
use dyno_core::units::format_duration;
use dyno_host::Plan;
use dyno_load::{LoadError, Progress, RunOutcome};
use dyno_report::sysbench::{self as text, Edition, StartupStep, Stat};

use super::args::Settings;
use super::record::Record;
use super::screen::Screen;
use super::window::Window;
use super::{STATUS_FORCED, host, output};
use crate::{STATUS_DONE, STATUS_FAILED, console};
use dyno_run::{Ready, RunError, disconnected};

/// A shorter interval is the incomplete last one of a run.
const INTERVAL_NS_MIN: u64 = 900_000_000;

/// Runs the test and reports.
pub(super) fn run(settings: &Settings, ready: &mut Ready) -> Result<u8> {
    ready
        .call("init")
        .map_err(|error| anyhow!("`init' function failed: {}", error.chain()))?;
    ready.check_event()?;
    announce(settings);
    if let Some(plan) = ready.plan() {
        host::announce(plan, settings.drive.events);
    }
    let mut record = Record::begin(settings, ready);
    output::notice(&text::stage(StartupStep::Initializing));
    let hooked = |name: &str| ready.description.hooks.iter().any(|hook| hook == name);
    let hooks = hooked("report_intermediate")
        || (hooked("report_cumulative") && !settings.checkpoints_s.is_empty());
    let reporter = hooks.then(|| ready.reporter()).transpose()?;
    let screen = Screen::start(reporter)?;
    let mut reports = Reports {
        settings,
        screen,
        intermediate_hook: hooked("report_intermediate"),
        cumulative_hook: hooked("report_cumulative"),
        interval: Window::default(),
        checkpoint: Window::default(),
        reported: Window::default(),
        checkpoint_s: 0.0,
    };
    let result = {
        let ready = &*ready;
        ready.run(|progress| {
            if let Some(record) = &mut record {
                record.progress(&progress);
            }
            match progress {
                // Before any session begins, so that the scripts' output follows it.
                Progress::Initialized => {
                    output::notice(&text::stage(StartupStep::Started));
                    let warmup_s = settings.drive.warmup.as_secs();
                    if warmup_s > 0 {
                        output::notice(&text::stage(StartupStep::WarmingUp(warmup_s)));
                    }
                }
                Progress::Interval(interval) => reports.interval(interval, ready),
                Progress::Started { .. } | Progress::Agents(_) | Progress::Facts(_) => {}
            }
        })
    };
    let failed = reports.screen.finish(ready.job.call_timeout, &ready.stop);
    let outcome = match result {
        Ok(outcome) => outcome,
        Err(error) => {
            if let Some(record) = record {
                record.abandon(ready, &error);
            }
            advise(&error.chain(), ready);
            return Ok(not_started(&error, settings.edition));
        }
    };
    let status = conclude(ready, &reports, failed, &outcome);
    if let Some(record) = record {
        record.finish(ready, &outcome);
    }
    status
}

fn announce(settings: &Settings) {
    if settings.drive.time.is_none() && settings.drive.events.is_none() {
        output::warning("Both event and time limits are disabled, running an endless test");
    }
    let about = text::Startup {
        banner: &settings.banner(),
        threads: settings.drive.sessions,
        warmup_s: settings.drive.warmup.as_secs(),
        rate: settings.drive.open_loop.map_or(0.0, |open| open.per_second),
        report_interval_s: settings.report_interval_s,
        checkpoints_s: &settings.checkpoints_s,
        debug: settings.debug,
        validate: settings.validate,
        seed: settings.seed,
        forced_shutdown_s: settings.forced_shutdown_s,
    };
    let start = text::start(&about);
    // The banner has been printed already.
    output::notice(
        start
            .strip_prefix(&format!("{}\n\n", settings.banner()))
            .unwrap_or(&start),
    );
}

/// Prints a hint to stderr where sysbench, which fails in the same way, prints none.
fn advise(why: &str, ready: &Ready) {
    if ready.kind_behind(why) == Some(ErrorKind::Prepared)
        && let Some(hint) = hint(why, ready, "")
    {
        console::note(&format!("dyno: {hint}"));
    }
}

/// Prints why nothing ran, in sysbench's words, and returns the exit status.
fn not_started(error: &RunError, edition: Edition) -> u8 {
    match error {
        RunError::Load(LoadError::Init { why, .. }) => {
            output::fatal(&format!("`thread_init' function failed: {why}"));
            output::fatal(match edition {
                Edition::Release => "Thread initialization failed!",
                Edition::Master => "Threads initialization failed!",
            });
            STATUS_FAILED
        }
        RunError::Load(LoadError::InitTimeout { timeout_s, .. }) => {
            output::fatal(&format!(
                "Worker threads failed to initialize within {timeout_s} seconds!"
            ));
            output::fatal(&error.chain());
            STATUS_FORCED
        }
        _ => {
            output::fatal(&error.chain());
            STATUS_FAILED
        }
    }
}

/// Ends a run: errors, the report, `done()`.
fn conclude(
    ready: &mut Ready,
    reports: &Reports<'_>,
    hook_failed: bool,
    outcome: &RunOutcome,
) -> Result<u8> {
    let settings = reports.settings;
    let mut status = STATUS_DONE;
    for (_, why) in &outcome.failures {
        output::fatal(&format!("`thread_run' function failed: {why}"));
        advise(why, ready);
        status = STATUS_FAILED;
    }
    if outcome.unfinished > 0 && outcome.end == RunEnd::Completed {
        status = gave_up(ready, settings, outcome.unfinished);
    }
    if let Some(disconnected) = disconnected(outcome) {
        output::fatal(&disconnected);
        status = status.max(STATUS_FAILED);
    }
    let elapsed_s = elapsed_ns(ready, outcome) as f64 / 1e9;
    if outcome.end == RunEnd::Interrupted {
        let of = settings.drive.time;
        let of = of.map_or_else(String::new, |time| format!(" of {}", format_duration(time)));
        console::note(&format!("dyno: interrupted after {elapsed_s:.1}s{of}"));
    }
    let mut rest = Window::of(&outcome.totals);
    rest.subtract(&reports.reported);
    if settings.drive.warmup.is_zero() {
        // The end of a warm-up resets the counters.
        rest.counters.merge(&outcome.before);
        rest.counters.merge(&ready.main_counters());
    }
    rest.counters.merge(&outcome.after);
    let mut stat = Stat::measured(&rest.counters, &rest.latencies, settings.percentile);
    stat.time_total = elapsed_s;
    stat.time_interval = elapsed_s - reports.checkpoint_s;
    if reports.cumulative_hook {
        let stat = script_stat(&stat, true);
        if let Err(why) = ready.report("report_cumulative", &stat) {
            output::fatal(&format!("`report_cumulative' function failed: {why}"));
            status = status.max(STATUS_FAILED);
        }
        if ready.alive().is_ok() {
            ready.finish_report().map_err(|error| anyhow!("{error}"))?;
        }
    } else {
        if settings.histogram {
            output::notice(&text::histogram(&rest.latencies));
        }
        cumulative(ready, &stat, &rest, reports, outcome);
    }
    if hook_failed || ready.script_failed() {
        status = status.max(STATUS_FAILED);
    }
    if outcome.failures.is_empty() && outcome.unfinished == 0 && ready.alive().is_ok() {
        ready
            .call("done")
            .map_err(|error| anyhow!("`done' function failed: {}", error.chain()))?;
    }
    Ok(status)
}

/// Reports events still in flight at the end of the run; returns the exit status.
fn gave_up(ready: &Ready, settings: &Settings, unfinished: u64) -> u8 {
    let status = match settings.forced_shutdown_s {
        Some(_) => {
            output::fatal("The --max-time limit has expired, forcing shutdown...");
            STATUS_FORCED
        }
        None => {
            output::warning(&format!(
                "some events had not ended {} after the time limit: the server does not answer, or \
                 the script repeats them; ending without them",
                format_duration(ready.job.drive.grace)
            ));
            STATUS_FAILED
        }
    };
    output::notice(&format!(
        "Number of unfinished transactions on forced shutdown: {unfinished}\n"
    ));
    status
}

/// The measured time: until new events stopped or, if later, until the last event ended. If events
/// were abandoned, it includes the grace period, as the sums do.
fn elapsed_ns(ready: &Ready, outcome: &RunOutcome) -> u64 {
    let until_stopped = outcome.measured_end.saturating_sub(outcome.measured_start);
    if outcome.unfinished > 0 && outcome.end == RunEnd::Completed {
        return until_stopped + ready.job.drive.grace.as_nanos() as u64;
    }
    outcome.elapsed_ns.max(until_stopped)
}

fn cumulative(
    ready: &Ready,
    stat: &Stat,
    window: &Window,
    reports: &Reports<'_>,
    outcome: &RunOutcome,
) {
    let settings = reports.settings;
    let sessions: Vec<SessionTotal> = outcome
        .sessions
        .iter()
        .map(|session| SessionTotal {
            events: session.events,
            busy_ns: session.busy_ns,
        })
        .collect();
    // Sessions' totals cover the whole run, not the time between checkpoints.
    let is_whole = settings.checkpoints_s.is_empty();
    let fairness = is_whole.then(|| summarize::fairness(&sessions));
    let (mut report, mut debug) = (own_block(settings, ready, stat, window), String::new());
    let (percentile, edition) = (settings.percentile, settings.edition);
    let general = match ready.plan() {
        Some(Plan::FileIo(_)) if edition == Edition::Master => text::file_latency(stat, percentile),
        _ => text::general_block(stat, fairness.as_ref(), percentile, edition),
    };
    report.push_str(&general);
    if settings.debug {
        let threads: Vec<Stat> = outcome.sessions.iter().map(thread_stat).collect();
        debug = text::thread_block(&threads);
    }
    output::notice(&report);
    output::debug(&debug);
}

/// The text before the general block: SQL statistics of a script, or figures of a test.
fn own_block(settings: &Settings, ready: &Ready, stat: &Stat, window: &Window) -> String {
    match ready.plan() {
        Some(plan) => host::block(plan, stat, window, settings.edition),
        None if ready.driver_used() => text::sql_block(stat),
        None => String::new(),
    }
}

fn thread_stat(session: &dyno_load::SessionTotals) -> Stat {
    let sum = session.busy_ns as f64 / 1e9;
    Stat {
        events: session.events,
        latency_min: session.min_ns as f64 / 1e9,
        latency_max: session.max_ns as f64 / 1e9,
        latency_avg: if session.events > 0 {
            sum / session.events as f64
        } else {
            0.0
        },
        latency_sum: sum,
        ..Stat::default()
    }
}

/// Prints reports during the run.
struct Reports<'a> {
    settings: &'a Settings,
    screen: Screen,
    intermediate_hook: bool,
    cumulative_hook: bool,
    interval: Window,
    checkpoint: Window,
    /// The part that cumulative reports at checkpoints have covered.
    reported: Window,
    checkpoint_s: f64,
}

impl Reports<'_> {
    /// A one-second interval ended.
    fn interval(&mut self, interval: &Interval, ready: &Ready) {
        let at_s = interval.index + 1;
        let every_s = self.settings.report_interval_s;
        if every_s > 0 {
            self.interval.add(interval);
            if at_s.is_multiple_of(every_s) && is_full(interval) {
                self.intermediate(interval, at_s as f64, ready);
                self.interval.clear();
            }
        }
        if !self.settings.checkpoints_s.is_empty() {
            self.checkpoint.add(interval);
            if self
                .settings
                .checkpoints_s
                .iter()
                .any(|point| u64::from(*point) == at_s)
            {
                self.at_checkpoint(at_s as f64, interval.states.running(), ready);
            }
        }
    }

    fn intermediate(&mut self, interval: &Interval, at_s: f64, ready: &Ready) {
        let sql = ready.driver_used();
        let percentile = self.settings.percentile;
        let mut stat = self.stat(&self.interval, at_s, interval.states.running());
        if self.settings.drive.open_loop.is_some() {
            stat.queue_length = interval.backlog;
            stat.concurrency = interval.concurrency;
        }
        if self.intermediate_hook {
            let stat = script_stat(&stat, false);
            self.screen.hook("report_intermediate", stat);
            return;
        }
        let own = ready.plan();
        let own = own.and_then(|plan| host::line(plan, &stat, &self.interval, percentile));
        let mut line = match own {
            Some(line) => line,
            None if sql => text::sql_line(&stat, percentile),
            None => text::event_line(&stat, percentile),
        };
        if self.settings.drive.open_loop.is_some() {
            line.push_str(&text::queue_line(&stat, sql));
        }
        self.screen.text(line);
    }

    fn at_checkpoint(&mut self, at_s: f64, running: u32, ready: &Ready) {
        let stat = self.stat(&self.checkpoint, at_s, running);
        self.screen.text(text::checkpoint(at_s));
        if self.cumulative_hook {
            let stat = script_stat(&stat, true);
            self.screen.hook("report_cumulative", stat);
        } else {
            let mut report = own_block(self.settings, ready, &stat, &self.checkpoint);
            let (percentile, edition) = (self.settings.percentile, self.settings.edition);
            report.push_str(&text::general_block(&stat, None, percentile, edition));
            self.screen.text(report);
        }
        self.reported.merge(&self.checkpoint);
        self.checkpoint.clear();
        self.checkpoint_s = at_s;
    }

    fn stat(&self, window: &Window, at_s: f64, running: u32) -> Stat {
        let mut stat = Stat::measured(
            &window.counters,
            &window.latencies,
            self.settings.percentile,
        );
        stat.threads_running = running;
        stat.time_interval = window.length_s;
        stat.time_total = at_s;
        stat
    }
}

/// Whether the run lasted until the interval's end.
fn is_full(interval: &Interval) -> bool {
    interval.end - interval.start >= INTERVAL_NS_MIN
}

fn script_stat(stat: &Stat, cumulative: bool) -> dyno_script::Stat {
    dyno_script::Stat {
        threads_running: stat.threads_running,
        time_interval: stat.time_interval,
        time_total: stat.time_total,
        latency_pct: stat.latency_pct,
        events: stat.events,
        reads: stat.reads,
        writes: stat.writes,
        other: stat.other,
        errors: stat.errors,
        reconnects: stat.reconnects,
        queue_length: stat.queue_length,
        concurrency: stat.concurrency,
        latency: cumulative.then_some([
            stat.latency_min,
            stat.latency_max,
            stat.latency_avg,
            stat.latency_sum,
        ]),
    }
}
