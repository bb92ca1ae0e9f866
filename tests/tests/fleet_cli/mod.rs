//! Runs with load from several processes: they equal a run of one process, and a clear result
//! follows if an agent, its bus or its network is stopped, killed or cut off.

mod collects;
mod common;
mod joins;
mod losses;
mod mistakes;
mod network;
mod searches;
mod ssh;
mod whole;
