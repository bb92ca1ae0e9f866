//! Messages that a server sends while the session is idle.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| dyno_drivers::fuzzing::unasked(script));
