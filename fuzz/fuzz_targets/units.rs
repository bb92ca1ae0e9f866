//! Durations, sizes, counts and rates.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| dyno_core::fuzzing::units(text));
