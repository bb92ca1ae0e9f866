//! Events, counters, time.

use std::ffi::c_int;

use dyno_core::Clock;
use dyno_core::clock::Nanos;
use dyno_core::rand::Stream;
use dyno_core::session::{Counter, Next};

use super::{Address, export};
use crate::context::{Context, with};

export![
    dyno_turn,
    dyno_sleep,
    dyno_reconnect_delay,
    dyno_now,
    sb_more_events,
    sb_event_start,
    sb_event_stop,
    sb_counter_inc,
    sb_counter_add,
    sb_counter_val,
];

pub(super) fn exported() -> usize {
    EXPORTS.len()
}

/// Flag: the last event has ended and counts.
const EVENT_ENDED: c_int = 1;
/// Flag: do not begin the next event; the script does.
const ASK_ONLY: c_int = 2;

/// Ends the last event, if `flags` say so, asks for the next one and begins it. Returns [`Next`] as
/// a number.
#[unsafe(no_mangle)]
extern "C" fn dyno_turn(flags: c_int) -> c_int {
    with(Next::Stop as c_int, |mut cx| {
        if flags & EVENT_ENDED != 0 {
            cx.port.event_stop(cx.session.id);
        }
        let next = ask(&mut cx);
        if next == Next::Go && flags & ASK_ONLY == 0 {
            cx.port.event_start(cx.session.id);
        }
        next as c_int
    })
}

#[inline]
fn ask(cx: &mut Context<'_>) -> Next {
    match cx.port.next_event(cx.session.id) {
        Next::Wait if !cx.can_yield() => cx.port.wait_event(cx.session.id),
        next => next,
    }
}

/// The longest sleep or think time.
const SLEEP_SECONDS_MAX: f64 = 1e9;

/// Converts a script's sleep or think time to nanoseconds; 0 if it is invalid.
pub(super) fn sleep_ns(seconds: f64) -> Nanos {
    match seconds.is_finite() {
        true => (seconds.clamp(0.0, SLEEP_SECONDS_MAX) * 1e9) as Nanos,
        false => 0,
    }
}

/// Sleeps. 0: the session must yield now; 1: it has slept, because it cannot yield here; 2: it has
/// slept until the run ended.
#[unsafe(no_mangle)]
extern "C" fn dyno_sleep(seconds: f64) -> c_int {
    with(1, |cx| {
        let session = cx.session.id;
        cx.port.sleep(session, sleep_ns(seconds));
        match cx.can_yield() {
            true => 0,
            false => slept(cx.port.wait_sleep(session)),
        }
    })
}

/// The longest pause after the first failed attempt to connect, and after any.
const RECONNECT_S: f64 = 0.01;
const RECONNECT_S_MAX: f64 = 1.0;

/// The pause in seconds before another attempt to connect, after this number of consecutive
/// failures.
#[unsafe(no_mangle)]
extern "C" fn dyno_reconnect_delay(failed: f64) -> f64 {
    // The pauses do not affect the run's results, so they need not be reproducible.
    let random = with(0.5, |cx| {
        Stream::new(Clock.now(), cx.session.id as u64).next_f64()
    });
    reconnect_delay_s(failed, random)
}

/// Doubles after each failure, and randomly takes half to all of it, so that sessions that lost
/// their connections together do not return together. `random` is within [0, 1).
fn reconnect_delay_s(failed: f64, random: f64) -> f64 {
    let doublings = (failed - 1.0).clamp(0.0, 30.0);
    let most = (RECONNECT_S * doublings.exp2()).min(RECONNECT_S_MAX);
    most * (0.5 + random / 2.0)
}

/// The result of a sleep without yielding.
pub(super) fn slept(goes_on: bool) -> c_int {
    match goes_on {
        true => 1,
        false => 2,
    }
}

/// Monotonic seconds.
#[unsafe(no_mangle)]
extern "C" fn dyno_now() -> f64 {
    Clock.now() as f64 / 1e9
}

/// sysbench's: whether another event may begin. Waits if necessary, without yielding; scripts that
/// call it through `ffi.C` get a form that yields.
#[unsafe(no_mangle)]
extern "C" fn sb_more_events(_thread_id: c_int) -> bool {
    with(false, |cx| {
        let next = cx.port.next_event(cx.session.id);
        let next = if next == Next::Wait {
            cx.port.wait_event(cx.session.id)
        } else {
            next
        };
        next == Next::Go
    })
}

/// sysbench's: an event begins.
#[unsafe(no_mangle)]
extern "C" fn sb_event_start(_thread_id: c_int) {
    with((), |cx| cx.port.event_start(cx.session.id));
}

/// sysbench's: the event has ended and counts.
#[unsafe(no_mangle)]
extern "C" fn sb_event_stop(_thread_id: c_int) {
    with((), |cx| cx.port.event_stop(cx.session.id));
}

/// sysbench's: adds one to the session's counter.
#[unsafe(no_mangle)]
extern "C" fn sb_counter_inc(thread_id: c_int, counter: c_int) {
    sb_counter_add(thread_id, counter, 1);
}

/// sysbench's: adds to the session's counter.
#[unsafe(no_mangle)]
extern "C" fn sb_counter_add(_thread_id: c_int, counter: c_int, value: u64) {
    if let Some(counter) = Counter::from_index(counter) {
        with((), |cx| cx.port.count(cx.session.id, counter, value));
    }
}

/// sysbench's: the session's total of a counter.
#[unsafe(no_mangle)]
extern "C" fn sb_counter_val(_thread_id: c_int, counter: c_int) -> u64 {
    let Some(counter) = Counter::from_index(counter) else {
        return 0;
    };
    with(0, |cx| cx.port.counted(cx.session.id, counter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_between_attempts_to_connect_double_up_to_a_second() {
        let longest: Vec<f64> = (1..=9)
            .map(|n| reconnect_delay_s(f64::from(n), 1.0))
            .collect();
        assert_eq!(longest[..4], [0.01, 0.02, 0.04, 0.08]);
        assert_eq!(longest[7..], [1.0, 1.0]);
        assert_eq!(reconnect_delay_s(1e9, 0.0), 0.5);
        assert_eq!(reconnect_delay_s(0.0, 0.0), 0.005);
    }
}
