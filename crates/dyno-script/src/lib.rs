//! The script host: workloads in Lua, and what they draw on.

pub mod distributions;
pub mod generate;
pub mod histogram;
