//! Messages between agents and their coordinator.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| dyno_fleet::fuzzing::message(bytes));
