//! Runs whose load comes from several processes. They must match a run of one process, and end with
//! a clear result if an agent, its bus or its network is stopped, killed or cut off.

mod collects;
mod common;
mod joins;
mod losses;
mod mistakes;
mod network;
mod searches;
mod ssh;
mod whole;
