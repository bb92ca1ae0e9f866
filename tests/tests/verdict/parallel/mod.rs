//! Tests of checks that other load on the host does not affect (`common::in_parallel`).

mod counted;
mod durability;
mod replicas;
