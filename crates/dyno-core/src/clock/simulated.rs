//! Simulated time for tests of whole runs: it stands still while any thread of the run has
//! something to do, and passes to the next instant that somebody waits for when all of them wait.
//! An hour takes as long as its events do. Only with the feature `simulated-clock`; without it
//! nothing of this is in the program.
//!
//! A thread that takes part is a [`Member`]. It waits by [`wait`] alone, and whoever gives another
//! one something to do says so by [`stir`]. Sockets take no part: a peer outside of the process
//! would answer after hours.

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

/// For what nobody here brings about, such as a signal, is looked so often, in real time.
const LOOK: Duration = Duration::from_millis(1);

struct State {
    members: usize,
    /// What those members wait for who found nothing to do in this turn.
    waits_for: Vec<Nanos>,
    /// Time passed, or somebody got something to do: all look again.
    turn: u64,
}

impl State {
    fn turn(&mut self) {
        self.turn += 1;
        self.waits_for.clear();
        TURNED.notify_all();
    }
}

/// Simulated time in place of the clock, for all threads of the process, until it is dropped. There
/// can be one at a time.
#[derive(Debug)]
pub struct Simulation(());

impl Simulation {
    /// Begins at this instant; `None` without the feature, or beside another one.
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

/// A thread without which time does not pass.
#[derive(Debug)]
pub struct Member(());

impl Member {
    /// Another one; `None` where time is not simulated. Threads are entered by who starts them, so
    /// that no time passes before they run.
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

/// Tells that somebody may have got something to do.
#[inline]
pub fn stir() {
    if is_on() {
        state().turn();
    }
}

/// Has a member wait until something is `ready`, at most until `until`. Whether it was ready.
pub fn wait(until: Nanos, mut ready: impl FnMut() -> bool) -> bool {
    let mut turn = state().turn;
    loop {
        // Without the lock: it may take long, and stir.
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

/// Until there is another turn, or it is time to look outside.
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
                        // Told in the same instant, however busy the machine is.
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
