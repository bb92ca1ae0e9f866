//! The workloads with consistency checks, on every server. The data are consistent after runs,
//! deadlocks and kills, and each condition detects its own violation.
#![cfg(feature = "servers")]
#![allow(clippy::unwrap_used, clippy::panic)]

mod acceptance;
mod bad_input;
mod committed;
mod common;
mod datasets;
mod full;
mod host;
mod insert_benchmark;
mod insert_benchmark_checks;
mod insert_benchmark_indexes;
mod insert_benchmark_rest;
mod insert_benchmark_shapes;
mod linkbench;
mod many_tables;
mod many_tables_cleanup;
mod many_tables_ladder;
mod many_tables_space;
mod oltp_fair;
mod operations;
mod pgbench;
mod pipelines;
mod programs;
mod rows;
mod sql_file;
mod tpcc;
mod tpcc_check;
mod tpcc_load;
