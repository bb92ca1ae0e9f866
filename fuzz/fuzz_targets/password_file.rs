//! A password file such as `~/.pgpass`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| dyno_drivers::fuzzing::password_file(text));
