//! Detached events: several at a time.

use std::fs::File;
use std::io::Write as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

use crate::common::ms;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::session::{Detached, Entry, Next, OperationEnd, Port, Program, SessionId, Step};
use dyno_core::summary::RunEnd;
use dyno_load::{Progress, Run, RunConfig, RunOutcome, StopSignal};

fn config(drive: Drive) -> RunConfig {
    RunConfig {
        drive,
        connector: None,
        stop: StopSignal::new(),
        entry: Entry::Run,
        operations: 1,
        gate: None,
        shapes: None,
        duet: None,
    }
}

/// Keeps several events in progress, and ends the oldest to make room.
struct Overlapping {
    depth: usize,
    events: Vec<Detached>,
    /// Leaves them in progress when the run ends.
    forgets: bool,
}

impl Overlapping {
    fn end_oldest(&mut self, port: &mut dyn Port, session: SessionId) {
        let event = self.events.remove(0);
        port.event_attach(session, event);
        port.operation_stop(session, OperationEnd::Done);
        port.event_stop(session);
    }
}

impl Program for Overlapping {
    fn enter(&mut self, _: SessionId, _: u32, _: &Entry) -> Result<(), String> {
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        loop {
            if self.events.len() == self.depth {
                self.end_oldest(port, session);
            }
            match port.next_event(session) {
                Next::Go => {}
                Next::Wait => return Step::Waiting,
                Next::Stop => break,
            }
            port.event_start(session);
            port.operation_start(session, 0);
            self.events.push(port.event_detach(session));
        }
        while !self.events.is_empty() && !self.forgets {
            self.end_oldest(port, session);
        }
        Step::Finished
    }
}

fn overlapping(forgets: bool, events: u64) -> (RunOutcome, u32) {
    let drive = Drive {
        sessions: 2,
        workers: 2,
        events: Some(events),
        time: None,
        interval: ms(10),
        ..Drive::default()
    };
    let factory = move |_| {
        Ok(Overlapping {
            depth: 4,
            events: Vec::new(),
            forgets,
        })
    };
    let mut concurrency = 0;
    let outcome = Run::start(config(drive), factory, |progress| {
        if let Progress::Interval(interval) = progress {
            concurrency = concurrency.max(interval.concurrency);
        }
    });
    (outcome.unwrap(), concurrency)
}

#[test]
fn each_counts_once_with_the_time_from_its_own_start() {
    let (outcome, concurrency) = overlapping(false, 200_000);
    assert_eq!(outcome.end, RunEnd::Completed);
    assert_eq!(outcome.totals.counters.events, 200_000);
    assert_eq!(outcome.unfinished, 0);
    let work = &outcome.totals.operations[0];
    assert_eq!(work.counters.done, 200_000);
    assert_eq!(work.latencies.service.len(), 200_000);
    let busy_ns: u64 = outcome.sessions.iter().map(|session| session.busy_ns).sum();
    assert_eq!(busy_ns, outcome.totals.latencies.service_ns_sum);
    // Four at a time add up to more than the elapsed time.
    assert!(busy_ns > 3 * outcome.elapsed_ns, "{busy_ns}");
    // Both sessions may have ended before the first interval did.
    assert!(concurrency <= 8, "{concurrency}");
}

#[test]
fn events_that_are_never_resumed_are_unfinished() {
    let (outcome, _) = overlapping(true, 1000);
    // Each session left its last ones, and no more than it had room for.
    let left = outcome.unfinished;
    assert_eq!(outcome.totals.counters.events + left, 1000);
    assert!((1..=8).contains(&left), "{left}");
}

/// Waits for an arrival that is far away, until its descriptor becomes readable.
struct Watching {
    runs: bool,
    waits: bool,
    fd: OwnedFd,
}

impl Program for Watching {
    fn enter(&mut self, _: SessionId, _: u32, entry: &Entry) -> Result<(), String> {
        self.runs = *entry == Entry::Run;
        Ok(())
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        if !self.runs {
            return Step::Finished;
        }
        let mut next = port.next_event(session);
        if next == Next::Go {
            // The first arrival is due at once.
            port.event_start(session);
            port.event_stop(session);
            next = port.next_event(session);
        }
        match (next, self.waits) {
            (Next::Wait, false) => {}
            (Next::Wait, true) => return Step::Finished,
            (other, _) => return Step::Failed(format!("told {other:?} instead of to wait")),
        }
        self.waits = true;
        if let Err(error) = port.watch(session, self.fd.as_raw_fd()) {
            return Step::Failed(error.to_string());
        }
        let mut file = File::from(self.fd.try_clone().unwrap());
        std::thread::spawn(move || {
            std::thread::sleep(ms(20));
            file.write_all(&1u64.to_ne_bytes()).unwrap();
        });
        Step::Waiting
    }
}

#[test]
fn a_sleeping_session_is_resumed_by_its_watched_descriptor() {
    let drive = Drive {
        sessions: 1,
        workers: 1,
        // Reached only if nothing wakes the session, which then fails.
        time: Some(ms(20_000)),
        open_loop: Some(OpenLoop::new(0.01, Arrivals::Constant)),
        ..Drive::default()
    };
    let factory = |_| {
        // SAFETY: a system call without pointers; the descriptor is new and owned by nothing else.
        let fd = unsafe { OwnedFd::from_raw_fd(libc::eventfd(0, libc::EFD_NONBLOCK)) };
        let (runs, waits) = (false, false);
        Ok(Watching { runs, waits, fd })
    };
    let outcome = Run::start(config(drive), factory, |_| {}).unwrap();
    assert_eq!(outcome.end, RunEnd::Completed, "{:?}", outcome.failures);
}
