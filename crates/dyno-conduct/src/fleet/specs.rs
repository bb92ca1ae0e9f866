//! The agents of a run.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use dyno_core::plan::{AGENTS_MAX, AgentItem, AgentPlace, Division, Drive, ssh_host};
use dyno_fleet::coordinator::LossPolicy;
use dyno_fleet::names::{AgentName, NAME_BYTES_MAX};

use super::bus::ExternalBus;
use crate::usage;

/// Where an agent runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AgentLocation {
    /// On this host.
    Local,
    /// On a host, by its name in the user's ssh.
    Ssh(String),
    /// Started by someone else; it joins over the bus.
    Joins,
}

impl AgentLocation {
    /// Reads `local` or `ssh:HOST`.
    ///
    /// # Errors
    /// Any other text.
    pub fn one(text: &str) -> Result<Self, String> {
        match text.split_once(':') {
            None if text == "local" => Ok(Self::Local),
            Some(("ssh", host)) => ssh_host(text, host).map(Self::Ssh),
            _ => Err(format!("'{text}' is neither ssh:HOST nor local")),
        }
    }
}

impl std::fmt::Display for AgentLocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Local => f.write_str("local"),
            Self::Ssh(host) => write!(f, "ssh:{host}"),
            Self::Joins => f.write_str("join"),
        }
    }
}

/// An agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// Its name in the run.
    pub name: AgentName,
    /// Where it runs.
    pub place: AgentLocation,
    /// Its share of the run, relative to the others.
    pub weight: u32,
}

impl Spec {
    /// Reads `local:2,ssh:gen1,ssh:me@gen2=3`, or for agents that join over a bus `gen1,gen2=3`.
    ///
    /// # Errors
    /// An item is invalid, or there are too many.
    pub fn list(text: &str, join: bool) -> Result<Vec<Self>, String> {
        let mut specs = Vec::new();
        for item in text.split(',').map(str::trim) {
            let AgentItem { place, weight } = AgentItem::read(item, join)?;
            let weight = weight.unwrap_or(1);
            match place {
                AgentPlace::Joins(name) => {
                    let name = AgentName::new(name).map_err(|error| error.to_string())?;
                    if specs.iter().any(|spec: &Self| spec.name == name) {
                        return Err(format!("'{name}' is named twice"));
                    }
                    specs.push(Self {
                        name,
                        place: AgentLocation::Joins,
                        weight,
                    });
                }
                AgentPlace::Local(count) => {
                    for _ in 0..count {
                        add(&mut specs, "local", AgentLocation::Local, weight)?;
                    }
                }
                AgentPlace::Ssh(host) => {
                    let name = host.rsplit('@').next().unwrap_or(&host).to_owned();
                    add(&mut specs, &name, AgentLocation::Ssh(host), weight)?;
                }
            }
        }
        match specs.len() > AGENTS_MAX {
            true => Err(format!(
                "{} agents are too many; at most {AGENTS_MAX}",
                specs.len()
            )),
            false => Ok(specs),
        }
    }
}

/// The agents of a command's runs.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// All agents, in the order of their parts.
    pub specs: Vec<Spec>,
    /// The reaction to the loss of an agent.
    pub on_loss: LossPolicy,
    /// Whether to accept other versions of Dyno.
    pub mixed: bool,
    /// The NATS server program; `None` for the one in `PATH`.
    pub nats: Option<PathBuf>,
    /// Time that an agent continues its load without contact.
    pub orphan: Duration,
    /// The program that starts Dyno on other hosts.
    pub program: String,
    /// Whether shares are proportional to the agents' ceilings.
    pub by_capacity: bool,
    /// The bus that agents join; `None` to start one for the run.
    pub bus: Option<ExternalBus>,
    /// The commit that this program was built from.
    pub commit: &'static str,
}

impl Fleet {
    /// Number of agents on this host.
    pub fn local(&self) -> usize {
        let places = self.specs.iter().map(|spec| &spec.place);
        places
            .filter(|place| **place == AgentLocation::Local)
            .count()
    }

    /// Their names, in the order of their parts.
    pub fn names(&self) -> Vec<AgentName> {
        self.specs.iter().map(|spec| spec.name.clone()).collect()
    }

    /// The minimum number of sessions of a run: each agent needs one.
    ///
    /// # Errors
    /// The weights are too fine.
    pub(crate) fn fewest_sessions(&self) -> Result<u32> {
        let weights: Vec<u32> = self.specs.iter().map(|spec| spec.weight).collect();
        let division = Division::by_weights(&weights);
        let division = division.map_err(|error| usage(format!("--agents: {error}")))?;
        // Shares are not known yet; assume that none is below a quarter of the mean.
        Ok(division.fewest() * if self.by_capacity { 4 } else { 1 })
    }

    /// Divides a run's load.
    ///
    /// # Errors
    /// The weights are too fine, or agents would have no session.
    pub(crate) fn division_of(&self, drive: &Drive) -> Result<Division> {
        let wrong = |error| usage(format!("--agents: {error}"));
        let weights: Vec<u32> = self.specs.iter().map(|spec| spec.weight).collect();
        let division = Division::by_weights(&weights).map_err(wrong)?;
        for number in 1..=division.agents() {
            division.own(drive, number).map_err(wrong)?;
        }
        Ok(division)
    }
}

/// Adds an agent under an unused name.
fn add(specs: &mut Vec<Spec>, like: &str, place: AgentLocation, weight: u32) -> Result<(), String> {
    let plain = |c: char| match c.is_ascii_alphanumeric() || c == '_' {
        true => c,
        false => '-',
    };
    let base: String = like.chars().map(plain).take(NAME_BYTES_MAX - 8).collect();
    let count = specs
        .iter()
        .filter(|spec| spec.name.as_str() == base)
        .count();
    let mut number = if place == AgentLocation::Local { 1 } else { 2 };
    let mut name = match place {
        AgentLocation::Ssh(_) if count == 0 => base.clone(),
        AgentLocation::Ssh(_) => format!("{base}-{number}"),
        _ => format!("{base}{number}"),
    };
    while specs.iter().any(|spec| spec.name.as_str() == name) {
        number += 1;
        name = match place {
            AgentLocation::Ssh(_) => format!("{base}-{number}"),
            _ => format!("{base}{number}"),
        };
    }
    let name = AgentName::new(name).map_err(|error| error.to_string())?;
    specs.push(Spec {
        name,
        place,
        weight,
    });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_named_by_where_they_run() {
        let read = Spec::list(
            "local:2, ssh:gen1,ssh:me@gen1.example.org=3,ssh:gen1,local:1",
            false,
        )
        .unwrap();
        let names: Vec<(String, u32)> = (read.iter())
            .map(|spec| (spec.name.to_string(), spec.weight))
            .collect();
        let names: Vec<(&str, u32)> = names.iter().map(|(name, w)| (name.as_str(), *w)).collect();
        let expected = [
            ("local1", 1),
            ("local2", 1),
            ("gen1", 1),
            ("gen1-example-org", 3),
            ("gen1-2", 1),
            ("local3", 1),
        ];
        assert_eq!(names, expected);
        assert_eq!(
            read[3].place,
            AgentLocation::Ssh("me@gen1.example.org".to_owned())
        );
    }

    #[test]
    fn refuses_invalid_agents() {
        for wrong in [
            "",
            "gen1",
            "local",
            "local:",
            "local:0",
            "local:5000",
            "ssh:",
            "ssh:-oProxyCommand=x",
            "ssh:a b",
            "ssh:gen1 ssh:gen2",
            "ssh:gen1;ssh:gen2",
            "ssh:root@gen1:2222",
            "ssh:gen1=0",
            "ssh:gen1=x",
            "local:1,,local:1",
            "tcp:gen1",
        ] {
            assert!(Spec::list(wrong, false).is_err(), "{wrong}");
        }
        let joined = Spec::list("gen1,gen2=3", true).unwrap();
        assert_eq!(
            (joined[1].weight, &joined[1].place),
            (3, &AgentLocation::Joins)
        );
        for wrong in ["gen1,gen1", "local:2", "a.b", "gen1=0"] {
            assert!(Spec::list(wrong, true).is_err(), "{wrong}");
        }
    }
}
