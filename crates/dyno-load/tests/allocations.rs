//! The steady state does not allocate: neither per operation nor per event.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::{Arc, Mutex};

use common::*;
use dyno_core::plan::{Arrivals, Drive, OpenLoop};
use dyno_core::session::{Entry, Port, Program, SessionId, Step};
use dyno_load::Run;

/// Counts each thread's allocations.
struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // An ending thread has no counter any more, and does not matter.
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: the caller upholds the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the caller upholds the contract.
        unsafe { System.dealloc(block, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Records its thread's number of allocations after a number of turns.
struct Noting {
    inner: Program1,
    turns: u64,
    notes: Arc<Mutex<Vec<u64>>>,
}

const NOTED_TURNS: [u64; 2] = [2_000, 10_000];

impl Program for Noting {
    fn enter(&mut self, session: SessionId, tid: u32, entry: &Entry) -> Result<(), String> {
        self.inner.enter(session, tid, entry)
    }

    fn resume(&mut self, port: &mut dyn Port, session: SessionId) -> Step {
        self.turns += 1;
        if NOTED_TURNS.contains(&self.turns) {
            let count = ALLOCATIONS.with(Cell::get);
            self.notes.lock().unwrap().push(count);
        }
        self.inner.resume(port, session)
    }
}

fn allocations(drive: Drive) -> u64 {
    let notes = Arc::new(Mutex::new(Vec::with_capacity(2)));
    let shared = Arc::clone(&notes);
    let behaviour = Behaviour::of(b"rwo");
    let factory = move |_| {
        Ok(Noting {
            inner: Program1::new(&behaviour),
            turns: 0,
            notes: Arc::clone(&shared),
        })
    };
    Run::start(config(drive, Server::default()), factory, |_| {}).unwrap();
    let notes = notes.lock().unwrap();
    assert_eq!(notes.len(), 2, "the run was too short to be judged");
    assert!(notes[0] > 0, "nothing is counted");
    notes[1] - notes[0]
}

/// 5,000 events of three statements; the interval is longer than the run.
fn drive(open_loop: Option<OpenLoop>) -> Drive {
    Drive {
        sessions: 4,
        time: None,
        events: Some(5_000),
        interval: ms(600_000),
        open_loop,
        ..Drive::default()
    }
}

#[test]
fn a_closed_loop_allocates_nothing() {
    assert_eq!(allocations(drive(None)), 0);
}

#[test]
fn an_open_loop_allocates_nothing() {
    let open = OpenLoop::new(20_000.0, Arrivals::Poisson);
    assert_eq!(allocations(drive(Some(open))), 0);
}
