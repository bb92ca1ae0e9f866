//! Other hosts that take part in runs.

use anyhow::Result;
use dyno_core::db::Family;
use dyno_run::Ready;

use crate::fleet::{Fleet, ServerAgent};
use crate::usage;

/// Other hosts that take part in the runs of a command.
#[derive(Default)]
pub struct Hosts {
    /// The agents that generate the load; `None` for this process alone.
    pub fleet: Option<Fleet>,
    /// The agent that observes the server from the server's host.
    pub server_agent: Option<ServerAgent>,
}

impl Hosts {
    /// Checks that agents can generate the load, and that the server can be observed.
    pub(crate) fn check(&self, ready: &Ready, is_temporary: bool) -> Result<()> {
        let family = ready.job.target.as_ref().map(|target| target.family);
        if self.server_agent.is_some() && family.is_none_or(Family::is_embedded) {
            return Err(usage("--server-agent: there is no server to observe"));
        }
        let why = match self.fleet {
            None => return Ok(()),
            _ if ready.plan().is_some() => {
                format!("{} tests the host that it runs on", ready.job.work.path())
            }
            _ if is_temporary => {
                "give a --target that the agents can reach, not a temporary database".to_owned()
            }
            _ => return Ok(()),
        };
        Err(usage(format!("--agents: {why}")))
    }
}
