//! A worker: one thread, one readiness loop, many sessions.

mod start;

use std::io;
use std::sync::mpsc::Sender;
use std::time::Duration;

use dyno_core::clock::{Nanos, simulated, thread_cpu};
use dyno_core::db::bound_waits;
use dyno_core::session::{Entry, Program, SessionId, Step};
use dyno_core::states::SessionStates;
use dyno_core::units::format_duration;

use crate::accounts::state_of;
use crate::calendar::{Calendar, Schedule};
use crate::message::{Message, Waits, WorkerEnd, send_message};
use crate::poller::WAKE;
use crate::recorder::Class;
use crate::session::{Lifecycle, Wait};
use crate::state::{Parts, State, now};

/// Answers that are taken before the first of their sessions continues: few, so that it waits only
/// microseconds.
const GROUP: usize = 32;

/// How long ready sessions get turns before sockets are checked again.
const TURNS_NS_MAX: Nanos = 1_000_000;

pub(crate) struct Worker<P> {
    pub(crate) program: P,
    pub(crate) state: State,
    index: usize,
    messages: Sender<Message>,
    entry: Entry,
    ready: u32,
    /// When the loop last returned from waiting.
    woke: Nanos,
    /// All sessions ended by themselves.
    drained: bool,
    /// `BackgroundOnly` was sent.
    background_only: bool,
    /// `DoneBegun` was sent.
    done_begun: bool,
}

impl<P: Program> Worker<P> {
    pub(crate) fn new(
        index: usize,
        program: P,
        parts: Parts,
        messages: Sender<Message>,
        entry: Entry,
    ) -> io::Result<Self> {
        Ok(Self {
            program,
            state: State::new(parts)?,
            index,
            messages,
            entry,
            ready: 0,
            woke: now(),
            drained: false,
            background_only: false,
            done_begun: false,
        })
    }

    pub(crate) fn live(mut self) {
        let connector = self.state.connector.as_ref();
        if connector.is_some_and(|connector| connector.blocks()) {
            bound_waits(self.state.mailbox.patience(&self.state.stop));
        }
        let result = self.initialise().and_then(|()| {
            self.send(Message::Ready);
            self.await_start()?;
            self.measure()
        });
        if let Err(error) = result {
            let message = format!("waiting for sockets failed: {error}");
            self.send(Message::Failed(None, message));
        }
        self.end();
    }

    /// Runs an entry on session 0 until it ends, is stopped, or times out; its connections stay
    /// open.
    pub(crate) fn run_alone(&mut self, entry: &Entry) -> io::Result<()> {
        self.state.sessions[0].stage = Lifecycle::Queued;
        self.state.live = 1;
        self.state.ready.clear();
        self.woke = now();
        self.enter(0, entry, Lifecycle::Init);
        self.turn(0);
        while self.state.sessions[0].stage == Lifecycle::Init && !self.state.over {
            self.poll()?;
            self.state.over |= self.woke >= self.state.bound;
        }
        Ok(())
    }

    /// Runs all sessions until they end, the grace period is over, or the user abandons the run.
    fn measure(&mut self) -> io::Result<()> {
        let Some(start) = self.state.start.take() else {
            return Ok(());
        };
        self.state.running = self.state.live;
        self.state.has_events = self.entry == Entry::Run;
        self.state.recorder.run_begins();
        self.state.begin(*start, now());
        let entry = self.entry.clone();
        for session in 0..self.state.sessions.len() {
            self.enter(session, &entry, Lifecycle::Run);
            if self.state.sessions[session].stage == Lifecycle::Run {
                self.state.ready.push_back(session as u32);
            }
        }
        while self.state.live > 0 && !self.state.over {
            self.poll()?;
            self.check_limits();
        }
        Ok(())
    }

    /// Abandons sessions that ran out of time.
    fn check_limits(&mut self) {
        if self.state.has_background && self.state.foreground == 0 && !self.background_only {
            self.background_only = true;
            self.send(Message::BackgroundOnly);
        }
        self.end_drained();
        let state = &mut self.state;
        if self.woke < state.limit() {
            return;
        }
        if state.running == 0 {
            self.give_up_done();
            return;
        }
        for session in 0..self.state.sessions.len() {
            if self.state.sessions[session].stage == Lifecycle::Run {
                self.abandon(session);
            }
        }
    }

    /// Ends the run when no session is left in it: hands over the results before `thread_done`,
    /// which may never return.
    fn end_drained(&mut self) {
        let state = &mut self.state;
        if state.running == 0 && !state.stopping {
            self.drained = true;
            if let Some(quota) = &state.quota {
                quota.give_back(&mut state.lease);
            }
            state.end_early(now());
        }
    }

    /// Abandons sessions whose `thread_done` takes too long.
    #[cold]
    fn give_up_done(&mut self) {
        for session in 0..self.state.sessions.len() {
            if self.state.sessions[session].stage == Lifecycle::Done {
                let schedule = self.state.calendar.as_ref().map(Calendar::schedule);
                let limit = Duration::from_nanos(schedule.map_or(0, Schedule::done_ns));
                let why = format!(
                    "thread_done() did not end within {} after the grace: {}",
                    format_duration(limit),
                    self.state.sessions[session].awaited()
                );
                self.lose(session, why);
                self.leave(session, false);
            }
        }
        self.state.over = true;
    }

    fn abandon(&mut self, session: SessionId) {
        self.state.unfinished += u64::from(self.state.drop_event(session));
        self.leave(session, false);
    }

    /// One round: ready sockets, due timers, and sessions that yielded.
    pub(crate) fn poll(&mut self) -> io::Result<()> {
        let count = self.wait()?;
        for first in (0..count).step_by(GROUP) {
            self.serve(first, (first + GROUP).min(count));
            // Newly due arrivals do not wait for the whole batch.
            self.fire_timers(self.state.stamp);
        }
        self.state.tick(self.woke);
        if self.state.reports > 0 {
            self.report();
        }
        self.fire_timers(self.woke);
        self.take_turns();
        Ok(())
    }

    /// Takes the answers of some events, then gives the sessions their turns: grouping the same
    /// kind of work keeps Dyno's and the kernel's code in the caches.
    #[inline]
    fn serve(&mut self, first: usize, end: usize) {
        let mut sessions = [0; GROUP];
        let mut count = 0;
        for index in first..end {
            let token = self.state.poller.token(index);
            if token == WAKE {
                continue;
            }
            let last = self.state.poller.is_last(index);
            if let Some(session) = self.state.readiness(token, last) {
                sessions[count] = session as u32;
                count += 1;
            }
        }
        if count > 0 {
            self.state.heard(self.woke);
        }
        for session in &sessions[..count] {
            self.turn(*session as usize);
        }
    }

    /// Waits for readiness, at most until the next due work.
    fn wait(&mut self) -> io::Result<usize> {
        let at = now();
        let state = &mut self.state;
        state.turn_to_sockets(self.woke, at);
        let timer = state.timers.next().unwrap_or(Nanos::MAX);
        let mark = state.next_mark.min(state.limit());
        let mut count = 0;
        if !state.ready.is_empty() || state.mailbox.waker.is_pending() {
            count = state.poller.wait(0, 0)?;
        } else if state.open && timer < mark {
            // Simulated time does not pass while a thread spins.
            let early_ns = if simulated::is_on() {
                0
            } else {
                state.early_ns
            };
            let asleep = timer.saturating_sub(early_ns);
            if asleep > at {
                count = state.poller.wait(at, asleep)?;
            }
            let awake = now();
            let mut spun = awake;
            while count == 0 && spun < timer {
                count = state.poller.wait(0, 0)?;
                spun = now();
            }
            state.spin_ns += spun - awake;
            self.woke = spun;
            return Ok(count);
        } else {
            count += state.poller.wait(at, timer.min(mark))?;
        }
        self.woke = now();
        Ok(count)
    }

    #[inline]
    fn fire_timers(&mut self, at: Nanos) {
        while let Some((due, session)) = self.state.timers.due(at) {
            let record = &self.state.sessions[session];
            // Cancelled timers stay in the heap until they are due.
            let wakes = record.due == due && matches!(record.wait, Wait::Event | Wait::Sleep);
            if wakes || self.state.connect_is_due(session, due) {
                self.turn(session);
            }
        }
    }

    /// Gives turns to sessions that yielded, for a limited time.
    fn take_turns(&mut self) {
        for _ in 0..self.state.ready.len() {
            let Some(session) = self.state.ready.pop_front() else {
                return;
            };
            self.turn(session as usize);
            if now() - self.woke > TURNS_NS_MAX {
                return;
            }
        }
    }

    fn enter(&mut self, session: SessionId, entry: &Entry, stage: Lifecycle) {
        let record = &mut self.state.sessions[session];
        if record.stage == Lifecycle::Ended {
            return;
        }
        record.stage = stage;
        record.wait = Wait::Turn;
        let tid = record.tid;
        if let Err(why) = self.program.enter(session, tid, entry) {
            self.fail(session, why);
        }
    }

    #[inline]
    fn turn(&mut self, session: SessionId) {
        let record = &mut self.state.sessions[session];
        if record.stage.is_between_entries() {
            return;
        }
        record.wait = Wait::Turn;
        let done = record.stage == Lifecycle::Done;
        self.state.stamp = 0;
        self.state.turn_events = 0;
        if done {
            self.state.allow_done(true);
        }
        let step = self.program.resume(&mut self.state, session);
        if done {
            self.state.allow_done(false);
        }
        match step {
            Step::Waiting | Step::Yielded => {
                if self.state.sessions[session].wait == Wait::Turn {
                    self.state.ready.push_back(session as u32);
                }
            }
            Step::Finished => self.finished(session),
            Step::Failed(why) => self.fail(session, why),
        }
    }

    fn finished(&mut self, session: SessionId) {
        let in_event = self.state.drop_event(session);
        // A script that cannot yield is stopped within its event.
        let given_up = self.state.over || self.state.mailbox.gave_up();
        self.state.unfinished += u64::from(in_event && given_up);
        match self.state.sessions[session].stage {
            Lifecycle::Init => {
                self.state.sessions[session].stage = Lifecycle::Ready;
                self.ready += 1;
            }
            Lifecycle::Run if self.entry == Entry::Run => {
                self.state.note_connection(session, now());
                self.state.running -= 1;
                let stopping = self.state.stopping;
                let record = &mut self.state.sessions[session];
                self.state.foreground -= u32::from(!record.background);
                record.finished = if stopping { 0 } else { now() };
                record.class = Class::Outside;
                if !std::mem::replace(&mut self.done_begun, true) {
                    self.send(Message::DoneBegun(self.index));
                }
                self.end_drained();
                self.enter(session, &Entry::Done, Lifecycle::Done);
                if self.state.sessions[session].stage == Lifecycle::Done {
                    self.state.ready.push_back(session as u32);
                }
            }
            _ => self.leave(session, true),
        }
    }

    fn fail(&mut self, session: SessionId, why: String) {
        let in_event = self.state.drop_event(session);
        let at = now();
        self.state.tick(at);
        // Work abandoned at the end of the grace period fails for that reason, which is not a
        // separate failure. A blocking operation comes back after it.
        let given_up = self.state.gives_up(at);
        self.state.unfinished += u64::from(in_event && given_up);
        // Work of a session after its events is not cut short by the end of the load, but by its
        // own timeout: that is a failure, unless the user asked for it.
        let after = self.state.sessions[session].stage == Lifecycle::Done && !self.state.over;
        if !given_up || after {
            self.lose(session, why);
        }
        self.leave(session, true);
    }

    fn lose(&mut self, session: SessionId, why: String) {
        let record = &mut self.state.sessions[session];
        record.lost = true;
        let tid = record.tid;
        self.send(Message::Failed(Some(tid), why));
    }

    fn leave(&mut self, session: SessionId, politely: bool) {
        let record = &mut self.state.sessions[session];
        if record.stage == Lifecycle::Ended {
            return;
        }
        let ran = record.stage == Lifecycle::Run;
        if ran {
            self.state.note_connection(session, now());
        }
        let record = &mut self.state.sessions[session];
        record.stage = Lifecycle::Ended;
        record.class = Class::Outside;
        let background = record.background;
        self.state.unfinished += self.state.drop_detached(session);
        self.state.foreground -= u32::from(ran && !background);
        self.state.live -= 1;
        self.state.running -= u32::from(ran);
        self.state.close_connections(session, politely);
    }

    fn report(&mut self) {
        let waits = Waits::of(&self.state.sessions);
        for _ in 0..std::mem::take(&mut self.state.reports) {
            self.send(Message::Waits(waits));
        }
    }

    /// Hands over the rest.
    fn end(mut self) {
        let (at, cpu) = (now(), thread_cpu());
        for session in 0..self.state.sessions.len() {
            if self.state.sessions[session].stage != Lifecycle::Ended {
                self.abandon(session);
            }
        }
        let mut totals = Vec::with_capacity(self.state.sessions.len());
        self.state
            .accounts
            .totals(&self.state.sessions, &mut totals);
        let (cpu_start, start) = self.state.measuring_since.unwrap_or((cpu, at));
        if let Some(calendar) = &self.state.calendar {
            let (index, since) = calendar.running();
            let begun = self.state.begun;
            self.state.recorder.finish(index, since, at, begun);
        }
        if let Some(turns) = self.state.turns.take() {
            turns.finish();
        }
        let stopped = self.state.calendar.as_ref().and_then(|c| c.stopped());
        let mut states = SessionStates::default();
        for session in &self.state.sessions {
            states.add(state_of(session));
        }
        let end = WorkerEnd {
            worker: self.index,
            sessions: totals,
            states,
            outages: self.state.outages.take(),
            silences: self.state.silences.take(at),
            statements: std::mem::take(&mut self.state.statements),
            warmup: self.state.recorder.warmup(),
            outside: self.state.recorder.outside(),
            unfinished: self.state.unfinished,
            longest_wait: self.state.longest_wait,
            last_event_end: self.state.recorder.last_event_end(),
            stopped: if self.drained { None } else { stopped },
            lag: self.state.recorder.take_lag(),
            cpu_ns: cpu.saturating_sub(cpu_start),
            spin_ns: self.state.spin_ns,
            span_ns: at - start,
            stall_ns_max: self.state.stall_ns_max,
            away_ns: self.state.away_ns,
        };
        // Scripts must be gone before the coordinator may consider the run over.
        drop(self.program);
        send_message(&self.messages, Message::Ended(Box::new(end)));
    }

    fn send(&self, message: Message) {
        send_message(&self.messages, message);
    }
}
