//! A target's URL.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| dyno_core::fuzzing::target_url(text));
