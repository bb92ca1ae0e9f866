//! Imports logs of other tools and checks the resulting runs.

#![allow(clippy::unwrap_used)] // a broken test may well panic

/// The text of a log in the folder `fixtures`.
macro_rules! text {
    ($name:literal) => {
        include_str!(concat!("../../fixtures/", $name))
    };
}

/// A log in the folder `fixtures`.
macro_rules! fixture {
    ($name:literal) => {
        dyno_import::Log {
            name: $name,
            text: text!($name),
        }
    };
}

mod common;
mod contradictions;
mod fio_doubts;
mod forms;
mod hammerdb_forms;
mod logs;
mod long_events;
mod mutations;
mod odd_logs;
mod options;
mod others;
mod pgbench_doubts;
mod pgbench_ends;
mod pgbench_holes;
mod pgbench_laws;
mod pgbench_logs;
mod pgbench_versions;
mod prefixed;
mod sysbench_host_laws;
mod sysbench_laws;
mod without_database;
mod wrong_logs;
