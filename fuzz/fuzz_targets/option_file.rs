//! An option file such as `~/.my.cnf`.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| dyno_drivers::fuzzing::option_file(text));
