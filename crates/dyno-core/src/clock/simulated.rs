//! Simulated time for tests of whole runs. It stops while any thread of the run has work, and jumps
//! to the next awaited instant when all threads wait. An hour takes only as long as processing its
//! events. Compiled in only with the feature `simulated-clock`.
//!
//! A participating thread is a [`Member`]. It waits only through [`wait`], and a thread that gives
//! another one work calls [`stir`]. Sockets do not take part: a peer outside the process would
//! appear to answer after hours.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Nanos;

static ON: AtomicBool = AtomicBool::new(false);
static NOW: AtomicU64 = AtomicU64::new(0);
static STATE: Mutex<State> = Mutex::new(State {
    members: 0,
    waits_for: Vec::new(),
    turn: 0,
});
static TURNED: Condvar = Condvar::new();

/// How often, in real time, to check for outside causes such as a signal.
const LOOK: Duration = Duration::from_millis(1);

struct State {
    members: usize,
    /// The deadlines of the members that found nothing to do in this turn.
    waits_for: Vec<Nanos>,
    /// Increases when time passes or a member gets work; then all members check again.
    turn: u64,
}

impl State {
    fn turn(&mut self) {
        self.turn += 1;
        self.waits_for.clear();
        TURNED.notify_all();
    }
}

/// Replaces the clock with simulated time, for all threads of the process, until dropped. At most
/// one exists at a time.
#[derive(Debug)]
pub struct Simulation(());

impl Simulation {
    /// Starts at this instant; `None` without the feature, or if another simulation exists.
    pub fn begin(at: Nanos) -> Option<Self> {
        if !cfg!(feature = "simulated-clock") || ON.swap(true, Ordering::SeqCst) {
            return None;
        }
        NOW.store(at, Ordering::SeqCst);
        Some(Self(()))
    }
}

impl Drop for Simulation {
    fn drop(&mut self) {
        ON.store(false, Ordering::SeqCst);
        state().turn();
    }
}

/// Whether time is simulated.
#[inline]
pub fn is_on() -> bool {
    cfg!(feature = "simulated-clock") && ON.load(Ordering::Relaxed)
}

/// Now, if time is simulated.
#[inline]
pub(super) fn now() -> Option<Nanos> {
    is_on().then(|| NOW.load(Ordering::SeqCst))
}

/// A thread that simulated time waits for.
#[derive(Debug)]
pub struct Member(());

impl Member {
    /// Adds a member; `None` if time is not simulated. Call it before starting the thread, so that
    /// no time passes before the thread runs.
    pub fn enter() -> Option<Self> {
        is_on().then(|| {
            state().members += 1;
            Self(())
        })
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut state = state();
        state.members = state.members.saturating_sub(1);
        // The others may all be waiting.
        state.turn();
    }
}

/// Announces that a member may have work.
#[inline]
pub fn stir() {
    if is_on() {
        state().turn();
    }
}

/// Blocks a member until something is `ready`, at most until `until`. Returns whether it was ready.
pub fn wait(until: Nanos, mut ready: impl FnMut() -> bool) -> bool {
    let mut turn = state().turn;
    loop {
        // Without the lock: `ready` may take long, and may call `stir`.
        if ready() {
            return true;
        }
        if !is_on() || NOW.load(Ordering::SeqCst) >= until {
            return false;
        }
        let mut state = state();
        if state.turn == turn {
            state.waits_for.push(until);
            let next = state.waits_for.iter().min().copied();
            let next = next.filter(|_| state.waits_for.len() >= state.members);
            match next.filter(|next| *next < Nanos::MAX) {
                Some(next) => {
                    NOW.fetch_max(next, Ordering::SeqCst);
                    state.turn();
                }
                None => state = rest(state, turn),
            }
        }
        turn = state.turn;
    }
}

/// Waits for another turn, or until the next check for outside causes.
fn rest(state: MutexGuard<'static, State>, turn: u64) -> MutexGuard<'static, State> {
    let unchanged = |state: &mut State| state.turn == turn;
    let waited = TURNED.wait_timeout_while(state, LOOK, unchanged);
    let (mut state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    if waited.timed_out() && state.turn == turn {
        state.turn();
    }
    state
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(all(test, feature = "simulated-clock"))]
mod tests {
    use std::sync::mpsc::{TryRecvError, channel};

    use super::*;
    use crate::Clock;

    #[test]
    fn time_passes_when_all_wait_and_to_the_next_instant_only() {
        let simulation = Simulation::begin(1000).unwrap();
        assert!(Simulation::begin(0).is_none());
        let (sender, receiver) = channel();
        let [own, other] = [Member::enter(), Member::enter()];
        let ticks = std::thread::spawn(move || {
            let _other = other;
            for tick in 1..=3600_u64 {
                let at = 1000 + tick * 1_000_000_000;
                assert!(!wait(at, || false));
                assert_eq!(Clock.now(), at);
                sender.send(tick).unwrap();
                stir();
            }
        });
        let mut seen = 0;
        let all = wait(Nanos::MAX, || {
            loop {
                match receiver.try_recv() {
                    Ok(tick) => {
                        // Simulated time stays exact, however busy the machine is.
                        assert_eq!(Clock.now(), 1000 + tick * 1_000_000_000);
                        seen = tick;
                    }
                    Err(TryRecvError::Disconnected) => return true,
                    Err(TryRecvError::Empty) => return false,
                }
            }
        });
        assert!(all);
        assert_eq!(seen, 3600);
        ticks.join().unwrap();
        drop((own, simulation));
        assert!(!is_on());
        assert!(Clock.now() > 1000);
    }
}
