//! A conversation with a server that claims to be PostgreSQL.
#![no_main]

libfuzzer_sys::fuzz_target!(|script: &[u8]| dyno_drivers::fuzzing::postgres(script));
