//! Tests of checks that other load on the host affects: each waits for its turn (`common::alone`).
//! They sort before the tests that run in parallel, so waiting ones take none of their threads.

mod caches;
mod causes;
mod generator;
mod good;
mod open_loop;
mod relay;
mod server;
mod shapes;
