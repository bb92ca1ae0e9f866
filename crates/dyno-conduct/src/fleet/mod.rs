//! Runs whose load comes from several processes, on this host or others: starts the processes,
//! sends each its part, and merges their measurements into one run.

mod agent;
mod bundle;
mod bus;
mod collect;
mod coordinator;
mod launch;
mod load;
mod observer;
mod outcome;
mod part_file;
mod server_agent;
mod sink;
mod specs;
mod ssh;
mod watcher;

pub use agent::{LaunchConfig, Membership, serve};
pub use bus::ExternalBus;
pub use collect::{CollectRequest, Collected, collect};
pub(crate) use coordinator::run_on_agents;
pub use load::Conditions;
pub use observer::observe;
pub use part_file::open_part_file;
pub use server_agent::ServerAgent;
pub use specs::{AgentLocation, Fleet, Spec};
