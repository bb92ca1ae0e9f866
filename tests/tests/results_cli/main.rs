//! The commands that record, show, list, compare, import and waive runs, and how they handle
//! results files that cannot be used.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod bad_input;
mod brief;
mod calibrate;
mod common;
mod compare;
mod config;
mod doctor;
mod duet;
mod export;
mod files;
mod full;
mod history;
mod import;
mod imports_of_others;
mod metrics;
mod pandas;
mod plan;
mod profile;
mod promtool;
mod record;
mod remove;
mod schedules;
mod search;
mod secrets;
mod shards;
mod statements;
mod sysbench;
mod table;
mod unfinished;
mod verdict;
mod visible;
