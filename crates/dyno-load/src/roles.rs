//! The roles of sessions, and the due times of their events.

use std::sync::{Arc, Mutex, PoisonError};

use dyno_core::clock::Nanos;
use dyno_core::interval::SESSIONS_COUNTED_MAX;
use dyno_core::plan::{Drive, Role};
use dyno_core::session::{Next, SessionId};

use crate::arrivals::{Generator, Span};
use crate::calendar::Schedule;
use crate::course::Levels;
use crate::recorder::Class;
use crate::session::Wait;
use crate::silences::TimeRange;
use crate::state::State;

/// Maximum number of a role's sessions with their own arrivals.
const STREAMS_PER_ROLE: u64 = 1 << 32;

/// A session yields after dropping this many arrivals, because time passes and the run may end.
const SKIPS_MAX: u32 = 1024;

/// Arrivals, and the sessions that wait for them.
#[derive(Debug)]
pub(crate) struct Pacer {
    arrivals: Mutex<Generator>,
    /// Arrivals that cannot start within this time are dropped.
    pub(crate) skip_after: Option<Nanos>,
    /// The run's arrivals, not a role's.
    pub(crate) own: bool,
}

/// What a session of an open loop waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Claim {
    /// The arrival at this instant.
    Arrival(Nanos),
    /// No more arrivals, but the run goes on until its deadline.
    Deadline(Nanos),
    /// Nothing.
    Nothing,
}

impl Pacer {
    pub(crate) fn new(generator: Generator, skip_after: Option<Nanos>, own: bool) -> Arc<Self> {
        Arc::new(Self {
            arrivals: Mutex::new(generator),
            skip_after,
            own,
        })
    }

    pub(crate) fn claim(&self, deadline: Option<Nanos>) -> Claim {
        // A generator is valid even if a thread panicked.
        let mut arrivals = self.arrivals.lock().unwrap_or_else(PoisonError::into_inner);
        match (arrivals.claim(), deadline) {
            (Some(scheduled), _) => Claim::Arrival(scheduled),
            (None, Some(deadline)) if !arrivals.used_up() => Claim::Deadline(deadline),
            (None, _) => Claim::Nothing,
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct Cast {
    parts: Vec<Part>,
    /// The run's arrivals.
    own: Option<Arc<Pacer>>,
    /// The number of active sessions over time, if it changes.
    levels: Option<Arc<Levels>>,
}

#[derive(Debug)]
struct Part {
    /// The session after its last.
    end: u32,
    first: u32,
    background: bool,
    pacing: Pacing,
}

#[derive(Debug)]
enum Pacing {
    /// The run's pace.
    Run,
    /// As fast as answers come.
    None,
    /// Arrivals shared by all sessions.
    Together(Arc<Pacer>),
    /// Arrivals of each session.
    Each(Vec<Arc<Pacer>>),
}

/// A session's role and pace.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    pub(crate) role: u16,
    pub(crate) background: bool,
    pub(crate) pacer: Option<Arc<Pacer>>,
}

impl Cast {
    /// The roles of this drive; `own` are the run's arrivals.
    pub(crate) fn new(drive: &Drive, schedule: &Schedule, own: Option<Generator>) -> Self {
        let mut first = 0;
        let parts = drive.roles.iter().enumerate().map(|(number, role)| {
            let from = first;
            first += role.sessions;
            Part {
                first: from,
                end: first,
                background: role.background,
                pacing: pacing(drive, schedule, (number as u64, role)),
            }
        });
        let limit = drive.latency_limit.map(|limit| limit.as_nanos() as Nanos);
        Self {
            parts: parts.collect(),
            own: own.map(|generator| Pacer::new(generator, limit, true)),
            levels: drive
                .session_schedule()
                .map(|levels| Arc::new(Levels::new(levels, schedule.measured))),
        }
    }

    /// The number of active sessions over time, if it changes.
    pub(crate) fn levels(&self) -> Option<Arc<Levels>> {
        self.levels.clone()
    }

    /// Whether there are background sessions.
    pub(crate) fn has_background(&self) -> bool {
        self.parts.iter().any(|part| part.background)
    }

    /// Whether sessions have roles and are few enough to be counted individually.
    pub(crate) fn counts_sessions(&self) -> bool {
        let sessions = self.parts.last().map_or(0, |part| part.end);
        (1..=SESSIONS_COUNTED_MAX).contains(&sessions)
    }

    /// Whether the run itself is an open loop.
    pub(crate) fn is_open(&self) -> bool {
        self.own.is_some()
    }

    pub(crate) fn seat(&self, tid: u32) -> Seat {
        let found = self.parts.iter().position(|part| tid < part.end);
        let Some(number) = found else {
            return Seat {
                pacer: self.own.clone(),
                ..Seat::default()
            };
        };
        let part = &self.parts[number];
        Seat {
            role: number as u16,
            background: part.background,
            pacer: match &part.pacing {
                Pacing::Run => self.own.clone(),
                Pacing::None => None,
                Pacing::Together(pacer) => Some(Arc::clone(pacer)),
                Pacing::Each(pacers) => pacers.get((tid - part.first) as usize).cloned(),
            },
        }
    }
}

fn pacing(drive: &Drive, schedule: &Schedule, (number, role): (u64, &Role)) -> Pacing {
    let Some(pace) = &role.pace else {
        return match role.background {
            true => Pacing::None,
            false => Pacing::Run,
        };
    };
    let span = Span {
        begin: schedule.begin,
        measured: schedule.measured,
        end: schedule.deadline,
        limit: None,
    };
    let skip_after = pace.skip_after_s.map(|seconds| (seconds * 1e9) as Nanos);
    let pacer = |member: u64| {
        let stream = 1 + number * STREAMS_PER_ROLE + member;
        let generator = Generator::new(pace.arrivals, (drive.seed, stream), span);
        // Arrivals per session follow the session's number, on any agent.
        let portion = drive.portion().filter(|_| !pace.each);
        Pacer::new(generator.of(portion), skip_after, false)
    };
    match pace.each {
        true => Pacing::Each((0..u64::from(role.sessions)).map(pacer).collect()),
        false => Pacing::Together(pacer(0)),
    }
}

impl State {
    /// The session's next arrival in an open loop. Idle sessions claim arrivals in order and wait
    /// for them: a single queue with as many servers as sessions, without a dispatcher.
    #[inline]
    pub(crate) fn next_arrival(&mut self, session: SessionId, at: Nanos) -> Next {
        for _ in 0..SKIPS_MAX {
            if !self.sessions[session].claimed {
                let scheduled = match self.claim(session) {
                    Claim::Arrival(scheduled) => scheduled,
                    Claim::Deadline(deadline) => return self.pause(session, deadline),
                    Claim::Nothing => return Next::Stop,
                };
                let record = &mut self.sessions[session];
                record.claimed = true;
                record.waited = false;
                record.scheduled = scheduled;
            }
            let scheduled = self.sessions[session].scheduled;
            if scheduled > at {
                self.sessions[session].waited = true;
                return self.pause(session, scheduled);
            }
            if self.takes(session, scheduled, at) {
                return Next::Go;
            }
        }
        Next::Wait
    }

    fn claim(&self, session: SessionId) -> Claim {
        let deadline = self.calendar.as_ref().and_then(|c| c.schedule().deadline);
        match &self.sessions[session].pacer {
            Some(pacer) => pacer.claim(deadline),
            None => Claim::Nothing,
        }
    }

    /// The session takes up a due arrival, unless it is too late for it.
    #[inline]
    fn takes(&mut self, session: SessionId, scheduled: Nanos, at: Nanos) -> bool {
        let measured = self
            .calendar
            .as_ref()
            .is_some_and(|c| c.measures_arrival(scheduled, at));
        let record = &mut self.sessions[session];
        let Some(pacer) = &record.pacer else {
            return true;
        };
        record.claimed = false;
        self.begun += u64::from(pacer.own);
        if measured && pacer.own && at - scheduled > self.longest_wait.length_ns() {
            self.longest_wait = TimeRange {
                from: scheduled,
                to: at,
            };
        }
        if pacer.skip_after.is_some_and(|limit| at - scheduled > limit) {
            self.recorder.role(record.role).skipped += u64::from(measured);
            return false;
        }
        record.class = if measured {
            if record.waited && pacer.own {
                self.recorder.lag(at - scheduled);
            }
            Class::Measured
        } else {
            Class::Warmup
        };
        true
    }

    /// The session is inactive until then.
    #[cold]
    pub(crate) fn park(&mut self, session: SessionId, until: Nanos) -> Next {
        let deadline = self.calendar.as_ref().and_then(|c| c.schedule().deadline);
        // A session with an arrival keeps it: no other session takes it.
        self.pause(
            session,
            deadline.map_or(until, |deadline| deadline.min(until)),
        )
    }

    /// The session's next event may begin at `due`.
    pub(crate) fn pause(&mut self, session: SessionId, due: Nanos) -> Next {
        self.set_timer(session, due, Wait::Event);
        Next::Wait
    }

    pub(crate) fn set_timer(&mut self, session: SessionId, due: Nanos, wait: Wait) {
        let record = &mut self.sessions[session];
        record.wait = wait;
        record.due = due;
        self.timers.arm(due, session);
    }
}
