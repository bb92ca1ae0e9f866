//! Many load generators as one: agents that make a run's load together, and the coordinator that
//! has them begin at one instant, merges what they measure, and says what went wrong.
//!
//! [`agent`] and [`coordinator`] are state machines without I/O; [`message`] is what they say to
//! each other, over a [`bus`]. What [`division`] gives to each agent is what one alone would do;
//! what [`merge`] makes of their intervals is what one alone would have recorded.

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
