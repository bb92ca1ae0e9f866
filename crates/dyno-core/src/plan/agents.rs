//! Names of load generators: `local:2`, `ssh:gen1=3`, and `gen1` for those that join over a bus.

use super::AGENTS_MAX;

/// Where load generators run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentPlace {
    /// This many on this host.
    Local(usize),
    /// One on a host known to the user's ssh by this name.
    Ssh(String),
    /// One that somebody else starts, which joins over the bus under this name.
    Joins(String),
}

/// One item of a list of load generators.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentItem {
    /// Where they run.
    pub place: AgentPlace,
    /// Relative weight of each; `None` if not given.
    pub weight: Option<u32>,
}

impl AgentItem {
    /// Reads `local:2` or `ssh:me@gen1`, or with `join` a bus name such as `gen1`; each may end in
    /// `=W`.
    ///
    /// # Errors
    /// Why it is not a load generator, and the expected form.
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

/// Validates a host for ssh: a leading dash would be read as an option.
///
/// # Errors
/// An invalid host.
pub fn ssh_host(item: &str, host: &str) -> Result<String, String> {
    let strange = |c: char| c.is_whitespace() || c.is_control();
    if host.is_empty() || host.starts_with('-') || host.contains(strange) {
        return Err(format!("'{item}': ssh:HOST names a host as ssh knows it"));
    }
    match host.split_once(':') {
        // An IPv6 address has several colons.
        Some((_, port)) if port.parse::<u16>().is_ok() => Err(format!(
            "'{item}': a port belongs in ssh's own configuration (~/.ssh/config: Host, Port)"
        )),
        _ => Ok(host.to_owned()),
    }
}
