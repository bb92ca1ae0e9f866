//! What a server says while nothing is under way.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| dyno_drivers::fuzzing::unasked(script));
