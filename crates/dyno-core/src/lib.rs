//! The vocabulary that Dyno's crates share: targets, plans, units, the clock, secrets, and the two
//! contracts of the hot path ([`db::Connection`] between scripts and databases,
//! [`session::Port`] and [`session::Program`] between workers and scripts).

pub mod bulk;
pub mod clock;
pub mod counters;
pub mod cpu_profile;
pub mod db;
pub mod distributions;
pub mod factors;
pub mod finding;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
pub mod interval;
pub mod plan;
pub mod rand;
pub mod record;
pub mod redact;
pub mod reported;
pub mod secret;
pub mod session;
pub mod settings;
pub mod states;
pub mod summary;
mod sums;
pub mod tables;
pub mod target;
pub mod threshold;
pub mod units;
pub mod unknown;
pub mod visible;

pub use clock::Clock;
pub use secret::Secret;
pub use target::Target;
