//! What logs of other tools are read as.

#![allow(clippy::unwrap_used)] // a broken test may well panic

mod common;
mod contradictions;
mod forms;
mod logs;
mod mutations;
mod odd_logs;
mod options;
mod others;
mod pgbench_doubts;
mod without_database;
