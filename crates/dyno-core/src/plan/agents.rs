//! How load generators are named: `local:2`, `ssh:gen1=3`, and those that join over a bus, `gen1`.

use super::AGENTS_MAX;

/// Where load generators run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPlace {
    /// So many on this host.
    Local(usize),
    /// One where the user's own ssh goes by this name.
    Ssh(String),
    /// One that somebody else starts: it joins over the bus by this name.
    Joins(String),
}

/// One item of a list of load generators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentItem {
    /// Where they run.
    pub place: AgentPlace,
    /// How many parts of the load each has where others have one; `None` where that is not said.
    pub weight: Option<u32>,
}

impl AgentItem {
    /// Reads `local:2` or `ssh:me@gen1`, where they `join` a bus `gen1`; each with `=W` behind it.
    ///
    /// # Errors
    /// It is no load generator: why, and what is expected.
    pub fn read(item: &str, join: bool) -> Result<Self, String> {
        if item.contains([' ', ';', ',']) {
            return Err(format!("'{item}': separate agents with commas"));
        }
        let (place, weight) = match item.rsplit_once('=') {
            None => (item, None),
            Some((place, weight)) => {
                let weight = weight.parse().ok().filter(|weight| *weight > 0);
                let why = || format!("'{item}': a weight is a whole number above 0");
                (place, Some(weight.ok_or_else(why)?))
            }
        };
        let place = match place.split_once(':') {
            None if join && !place.is_empty() => AgentPlace::Joins(place.to_owned()),
            _ if join => {
                return Err(format!(
                    "'{item}': agents on a bus start separately; give their names, for example gen1"
                ));
            }
            Some(("local", count)) => {
                let count = count.parse().ok();
                let count = count.filter(|count| (1..=AGENTS_MAX).contains(count));
                let why =
                    || format!("'{item}': local:N starts N agents on this host, 1 to {AGENTS_MAX}");
                AgentPlace::Local(count.ok_or_else(why)?)
            }
            Some(("ssh", host)) => AgentPlace::Ssh(ssh_host(item, host)?),
            _ => {
                return Err(format!(
                    "'{item}' is not an agent: local:N starts N agents on this host, ssh:HOST one \
                     on another host; with a bus, NAME waits for that agent to join; =W sets its \
                     weight"
                ));
            }
        };
        Ok(Self { place, weight })
    }
}

/// A host that may be told to ssh: what begins with a dash would be an option of its.
///
/// # Errors
/// It is none.
pub fn ssh_host(item: &str, host: &str) -> Result<String, String> {
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if host.is_empty() || host.starts_with('-') || host.contains(strange) {
        return Err(format!("'{item}': ssh:HOST names a host as ssh knows it"));
    }
    match host.split_once(':') {
        // An address of IPv6 has more of them.
        Some((_, port)) if port.parse::<u16>().is_ok() => Err(format!(
            "'{item}': a port belongs in ssh's own configuration (~/.ssh/config: Host, Port)"
        )),
        _ => Ok(host.to_owned()),
    }
}
