//! The script host: workloads in Lua, and what they draw on.

pub mod distributions;
