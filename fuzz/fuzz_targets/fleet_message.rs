//! What agents and their coordinator say to each other.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dyno_fleet::fuzzing::message(bytes));
