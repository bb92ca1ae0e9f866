//! Runs with several load generators: agents that share a run's load, and the coordinator that
//! starts them at one instant, merges their measurements, and reports their failures.
//!
//! [`agent`] and [`coordinator`] are state machines without I/O; [`message`] defines what they send
//! each other over a [`bus`]. The parts that [`division`] assigns add up to the load of a single
//! generator, and [`merge`] yields the intervals that a single generator would have recorded.
//!
//! # Where to change what
//!
//! - How a run is divided: `src/division.rs`.
//! - Messages, and when they are rejected: `src/message`.
//! - When a run starts, ends or fails, and with which finding: `src/coordinator`, `src/agent`;
//!   tests: `tests/fleets/schedules.rs`.
//! - The transport: `src/bus`; a NATS server started for a run: `src/server.rs`.
//! - How agents are started, and their files: `crates/dyno-conduct/src/fleet`.

pub mod agent;
pub mod bus;
pub mod clock;
pub mod collect;
pub mod coordinator;
pub mod division;
pub mod finding;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod merge;
pub mod message;
pub mod names;
pub mod pump;
#[cfg(feature = "nats")]
pub mod server;
pub mod simulation;
