//! A worker's state, without the program it drives: [`crate::port`] offers it to sessions, and
//! [`crate::worker`] loops over it.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dyno_core::Clock;
use dyno_core::clock::{Nanos, thread_cpu};
use dyno_core::db::{Connection, Connector, Scratch};
use dyno_core::session::SessionId;

use crate::accounts::Accounts;
use crate::calendar::{Calendar, Closed, Mark};
use crate::connections::Attempt;
use crate::course::Levels;
use crate::duet::{DuetPart, Turns};
use crate::message::{Control, Mailbox, Start};
use crate::outages::Outages;
use crate::poller::Poller;
use crate::quota::Quota;
use crate::recorder::{Class, Recorder, Standing};
use crate::session::{Conn, Lifecycle, Session, Wait};
use crate::silences::{AWAY_NS, OWN_NS, SILENCE_NS, Silences, TimeRange};
use crate::statements::{Literals, Statements};
use crate::stop::{StopLevel, StopSignal};
use crate::tally::Tally;
use crate::timers::Timers;

/// The parameters of a worker.
pub(crate) struct Parts {
    pub(crate) tids: Vec<u32>,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    /// Numbers the connections of the run after each session's first.
    pub(crate) sequence: Arc<AtomicU64>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) recorder: Recorder,
    /// The SQL syntax of values, if figures per statement shape are kept.
    pub(crate) shapes: Option<Literals>,
    /// How long before an arrival to wake up and spin.
    pub(crate) early_ns: Nanos,
    pub(crate) duet: Option<DuetPart>,
}

pub(crate) struct State {
    pub(crate) sessions: Vec<Session>,
    pub(crate) scratch: Scratch,
    pub(crate) poller: Poller,
    pub(crate) timers: Timers,
    /// By session.
    pub(crate) attempts: Box<[Attempt]>,
    /// Sessions that can go on at once.
    pub(crate) ready: VecDeque<u32>,
    pub(crate) recorder: Recorder,
    pub(crate) mailbox: Arc<Mailbox>,
    pub(crate) connector: Option<Arc<dyn Connector>>,
    pub(crate) sequence: Arc<AtomicU64>,
    pub(crate) stop: Arc<StopSignal>,
    pub(crate) calendar: Option<Calendar>,
    /// The run itself is an open loop.
    pub(crate) open: bool,
    /// There are background sessions: the run ends with the others.
    pub(crate) has_background: bool,
    /// Counts each session individually, if there are roles.
    tally: Option<Tally>,
    pub(crate) accounts: Accounts,
    pub(crate) outages: Outages,
    pub(crate) silences: Silences,
    pub(crate) statements: Statements,
    /// Since when no statement has ended, and whether one has ended since the loop began to wait.
    pub(crate) quiet_since: Nanos,
    pub(crate) answered: bool,
    pub(crate) quota: Option<Arc<Quota>>,
    pub(crate) lease: u64,
    /// When to call the calendar next.
    pub(crate) next_mark: Nanos,
    /// When the last session may begin.
    pub(crate) ramp_end: Nanos,
    /// The number of active sessions over time, if it changes.
    pub(crate) levels: Option<Arc<Levels>>,
    duet: Option<DuetPart>,
    /// The turns of a load in a duet, once it runs.
    pub(crate) turns: Option<Box<Turns>>,
    /// Sessions run events rather than a command.
    pub(crate) has_events: bool,
    /// This runs after a measurement that was ended early: only the next, more urgent request stops
    /// it.
    pub(crate) after_end: bool,
    /// No new event begins.
    pub(crate) stopping: bool,
    /// Everything is dropped.
    pub(crate) over: bool,
    /// The deadline of a session that runs alone.
    pub(crate) bound: Nanos,
    /// The end of the event that ended in this turn, where the next one begins; 0 if something
    /// happened since.
    pub(crate) stamp: Nanos,
    pub(crate) turn_events: u32,
    pub(crate) turn_start: Nanos,
    /// Sessions that are not over, that run, that are in an event, that connect.
    pub(crate) live: u32,
    pub(crate) running: u32,
    /// Running foreground sessions.
    pub(crate) foreground: u32,
    pub(crate) in_events: u32,
    pub(crate) connecting: u32,
    pub(crate) begun: u64,
    /// The longest wait of an arrival for a session: from its due time until it was taken up.
    pub(crate) longest_wait: TimeRange,
    /// Events that did not end within the grace period.
    pub(crate) unfinished: u64,
    /// Mail for the loop.
    pub(crate) start: Option<Box<Start>>,
    pub(crate) reports: u32,
    /// Since the start of the measurement: the longest time in which the loop did not serve its
    /// sockets, and the time spent spinning for arrivals.
    pub(crate) stall_ns_max: Nanos,
    /// The sum of the long times away from the sockets.
    pub(crate) away_ns: Nanos,
    pub(crate) spin_ns: Nanos,
    /// How long before an arrival to wake up and spin.
    pub(crate) early_ns: Nanos,
    /// CPU time and instant at the start of the measurement.
    pub(crate) measuring_since: Option<(Nanos, Nanos)>,
}

impl State {
    pub(crate) fn new(parts: Parts) -> io::Result<Self> {
        let poller = Poller::new()?;
        parts.mailbox.waker.register(&poller)?;
        let sessions: Vec<Session> = parts.tids.into_iter().map(Session::new).collect();
        let live = sessions.len() as u32;
        Ok(Self {
            ready: VecDeque::with_capacity(sessions.len()),
            timers: Timers::new(sessions.len()),
            attempts: vec![Attempt::default(); sessions.len()].into_boxed_slice(),
            sessions,
            scratch: Scratch::default(),
            poller,
            recorder: parts.recorder,
            mailbox: parts.mailbox,
            connector: parts.connector,
            sequence: parts.sequence,
            stop: parts.stop,
            calendar: None,
            open: false,
            has_background: false,
            foreground: 0,
            tally: None,
            accounts: Accounts::new(live as usize),
            outages: Outages::default(),
            silences: Silences::default(),
            statements: Statements::new(parts.shapes),
            quiet_since: now(),
            answered: false,
            quota: None,
            lease: 0,
            next_mark: Nanos::MAX,
            ramp_end: 0,
            has_events: false,
            after_end: false,
            stopping: false,
            over: false,
            bound: Nanos::MAX,
            stamp: 0,
            turn_events: 0,
            turn_start: 0,
            live,
            running: 0,
            in_events: 0,
            connecting: 0,
            begun: 0,
            longest_wait: TimeRange::default(),
            unfinished: 0,
            start: None,
            levels: None,
            duet: parts.duet,
            turns: None,
            reports: 0,
            stall_ns_max: 0,
            away_ns: 0,
            spin_ns: 0,
            early_ns: parts.early_ns,
            measuring_since: None,
        })
    }

    pub(crate) fn begin(&mut self, start: Start, now: Nanos) {
        let calendar = Calendar::new(start.schedule);
        let (deadline, grace_ns) = (start.schedule.deadline, start.schedule.grace_ns);
        let limit = deadline.map_or(Nanos::MAX, |deadline| deadline.saturating_add(grace_ns));
        self.mailbox.limit.store(limit, Ordering::Relaxed);
        self.mailbox.grace_ns.store(grace_ns, Ordering::Relaxed);
        self.ramp_end = start.schedule.begin + start.schedule.ramp_up_ns;
        self.next_mark = calendar.next();
        self.calendar = Some(calendar);
        self.open = start.cast.is_open();
        self.has_background = start.cast.has_background();
        self.levels = start.cast.levels();
        if let Some(part) = self.duet.as_ref().filter(|_| self.has_events) {
            self.turns = Some(Box::new(Turns::new(part, start.schedule.begin)));
        }
        if self.open {
            self.recorder.keep_lags();
        }
        self.quota = start.quota;
        let counts = start.cast.counts_sessions();
        self.tally = counts.then(|| Tally::new(self.sessions.len(), now));
        for session in &mut self.sessions {
            let seat = start.cast.seat(session.tid);
            session.role = seat.role;
            session.background = seat.background;
            session.pacer = seat.pacer;
            session.class = Class::Warmup;
            let runs = session.stage != Lifecycle::Ended;
            self.foreground += u32::from(runs && !seat.background);
        }
        self.tick(now);
    }

    /// The loop, which woke at `woke`, is back at its sockets.
    #[inline]
    pub(crate) fn turn_to_sockets(&mut self, woke: Nanos, at: Nanos) {
        let away_ns = at - woke;
        if self.live > 1 {
            // A single session delays only itself.
            self.stall_ns_max = self.stall_ns_max.max(away_ns);
        }
        if away_ns >= AWAY_NS {
            self.away_ns += away_ns;
        }
        // The loop's own work is not a silence of the target.
        if self.answered || away_ns >= OWN_NS {
            self.answered = false;
            self.quiet_since = at;
        }
    }

    /// A statement has ended at this instant, or the measurement has.
    #[inline]
    pub(crate) fn heard(&mut self, now: Nanos) {
        if !self.answered && now.saturating_sub(self.quiet_since) >= SILENCE_NS {
            self.note_silence(now);
        }
        self.answered = true;
    }

    /// Nothing has ended for a while, which is a silence if a statement was in progress. Statements
    /// of a session that paused began after its pause, those of others when the last statement
    /// ended.
    #[cold]
    fn note_silence(&mut self, now: Nanos) {
        let awaits = |session: &&Session| {
            session.stage == Lifecycle::Run && matches!(session.wait, Wait::Request | Wait::Connect)
        };
        let waiting = self.sessions.iter().filter(awaits);
        let begun = waiting.map(|session| match session.due <= now {
            true => session.due.max(self.quiet_since),
            false => self.quiet_since,
        });
        if let Some(from) = begun.min() {
            self.silences.push(from, now);
        }
    }

    /// Handles due work: interval boundaries, the deadline, mail.
    #[inline]
    pub(crate) fn tick(&mut self, now: Nanos) {
        if now >= self.next_mark {
            self.pass_marks(now);
        }
        if self.mailbox.waker.is_pending() {
            self.read_mail(now);
        }
    }

    #[cold]
    pub(crate) fn pass_marks(&mut self, now: Nanos) {
        while let Some(mark) = self.calendar.as_mut().and_then(|c| c.pass(now)) {
            self.mark(mark, now);
        }
        if now >= self.accounts.next_look() {
            self.look_at_sessions(now);
        }
        self.set_next_mark();
    }

    fn set_next_mark(&mut self) {
        let mark = self.calendar.as_ref().map_or(Nanos::MAX, Calendar::next);
        self.next_mark = mark.min(self.accounts.next_look());
    }

    fn mark(&mut self, mark: Mark, now: Nanos) {
        match mark {
            Mark::Measure => self.measure(now),
            Mark::Interval(closed) => self.close(closed, now),
            Mark::Stop(closed) => {
                if let Some(closed) = closed {
                    self.close(closed, now);
                }
                self.accounts.end();
                self.heard(now);
                self.stopping = true;
                self.allow_done(false);
                self.wake_idle();
            }
        }
        self.set_next_mark();
    }

    fn close(&mut self, closed: Closed, now: Nanos) {
        let standing = Standing {
            states: self.look_at_sessions(now),
            concurrency: self.in_events,
            begun: self.begun,
        };
        let (tally, sessions, accounts) = (&mut self.tally, &self.sessions, &self.accounts);
        self.recorder.close(closed, standing, |counts, totals| {
            if let Some(tally) = tally {
                tally.take(sessions, now, counts);
            }
            accounts.totals(sessions, totals);
        });
    }

    fn measure(&mut self, now: Nanos) {
        let cpu = thread_cpu();
        self.measuring_since = Some((cpu, now));
        self.mailbox.cpu.measure(cpu, now);
        self.accounts.begin(now);
        self.stall_ns_max = 0;
        self.away_ns = 0;
        self.spin_ns = 0;
        if let Some(tally) = &mut self.tally {
            tally.begin(now);
        }
        for session in &mut self.sessions {
            // An event that began in the warm-up stays there until its end.
            if session.class == Class::Warmup && !session.in_event {
                session.class = Class::Measured;
            }
        }
    }

    /// Wakes sessions that sleep or wait outside events, so that they notice the end of the run.
    fn wake_idle(&mut self) {
        for (index, session) in self.sessions.iter_mut().enumerate() {
            let idle = matches!(session.wait, Wait::Event | Wait::Sleep) && !session.in_event;
            if idle && session.stage == Lifecycle::Run {
                session.wait = Wait::Turn;
                session.due = 0;
                self.ready.push_back(index as u32);
            }
        }
    }

    #[cold]
    fn read_mail(&mut self, now: Nanos) {
        for control in self.mailbox.take() {
            match control {
                Control::Start(start) => self.start = Some(start),
                Control::End => self.end_early(now),
                Control::Abandon => self.over = true,
                Control::Report => self.reports += 1,
            }
        }
        match self.stop.level() {
            StopLevel::None => {}
            StopLevel::End if self.after_end => {}
            StopLevel::End => self.end_early(now),
            StopLevel::Abandon => self.over = true,
        }
    }

    pub(crate) fn end_early(&mut self, now: Nanos) {
        let Some(calendar) = &mut self.calendar else {
            // Nothing began yet.
            self.over = true;
            return;
        };
        if let Some(mark) = calendar.end_early(now) {
            self.mark(mark, now);
        }
    }

    /// When sessions still running are abandoned.
    pub(crate) fn limit(&self) -> Nanos {
        match &self.calendar {
            Some(calendar) if self.stopping && self.running > 0 => calendar.grace_end(),
            Some(calendar) if self.stopping => calendar.done_end(),
            _ => self.bound,
        }
    }

    /// When this session, which blocks the worker's thread, is abandoned.
    pub(crate) fn limit_of(&self, session: SessionId) -> Nanos {
        match (&self.calendar, self.sessions[session].stage) {
            (Some(calendar), Lifecycle::Done) if self.stopping => calendar.done_end(),
            _ => self.limit(),
        }
    }

    /// Sets the limit of blocking operations: with or without the time for `thread_done`.
    #[cold]
    pub(crate) fn allow_done(&self, done: bool) {
        if let Some(calendar) = self.calendar.as_ref().filter(|_| self.stopping) {
            let limit = match done {
                true => calendar.done_end(),
                false => calendar.grace_end(),
            };
            self.mailbox.limit.store(limit, Ordering::Relaxed);
        }
    }

    /// Whether work in progress now is abandoned.
    #[inline]
    pub(crate) fn gives_up(&self, at: Nanos) -> bool {
        self.over || (self.stopping && at >= self.limit()) || self.mailbox.gave_up()
    }

    /// Ends the session's event, if any, without counting it.
    pub(crate) fn drop_event(&mut self, session: SessionId) -> bool {
        let record = &mut self.sessions[session];
        let was = record.in_event;
        record.work = None;
        record.in_event = false;
        self.in_events -= u32::from(was && !record.background);
        was
    }
}

/// The time, for callers without a clock.
#[inline]
pub(crate) fn now() -> Nanos {
    Clock.now()
}

/// A connection as the script sees it.
#[inline]
pub(crate) fn as_connection(conn: &mut Conn) -> &mut dyn Connection {
    conn.connection.as_mut()
}
