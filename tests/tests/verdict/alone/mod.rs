//! Tests of checks that other load on the host affects. Each waits until no other test runs
//! (`common::alone`). Their names sort before those of the tests that run in parallel, so that
//! waiting tests do not occupy the threads of those.

mod caches;
mod causes;
mod generator;
mod good;
mod open_loop;
mod relay;
mod server;
mod shapes;
