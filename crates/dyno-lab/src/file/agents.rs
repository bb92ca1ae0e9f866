//! Which load generators there are, as far as the file alone tells.

use dyno_core::plan::AGENTS_MAX;

use super::{Agents, Experiment};
use crate::error::Problems;

/// Adds what is wrong with `[agents]`.
pub(super) fn check(experiment: &Experiment, problems: &mut Problems) {
    let Some(spanned) = &experiment.agents else {
        return;
    };
    let agents = spanned.get_ref();
    for (text, what) in wrong(agents) {
        let at = problems.text_behind(spanned.span(), &text);
        problems.add(Some(at), what);
    }
}

/// What is wrong: the text that is, and why.
fn wrong(agents: &Agents) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let mut add = |text: &str, what: String| wrong.push((text.to_owned(), what));
    let words = [
        ("on_loss", &agents.on_loss, ["fail", "degrade"]),
        ("by", &agents.by, ["weights", "capacity"]),
    ];
    for (name, value, [one, other]) in words {
        if let Some(value) = value
            .as_deref()
            .filter(|value| *value != one && *value != other)
        {
            add(
                value,
                format!("`{name}`: '{value}' is neither {one} nor {other}"),
            );
        }
    }
    if agents.hosts.is_empty() {
        add(
            "",
            "[agents] has no hosts; expected for example hosts = [\"local:2\"]".to_owned(),
        );
    }
    for host in &agents.hosts {
        if let Some(why) = no_agent(host, agents.bus.is_some()) {
            add(host, why);
        } else if host.contains('=') && agents.by.as_deref() == Some("capacity") {
            let why = "with by = \"capacity\" the shares are measured; leave out =W";
            add(host, format!("'{host}': {why}"));
        }
    }
    let of_bus = [("bus_key", &agents.bus_key), ("bus_ca", &agents.bus_ca)];
    match &agents.bus {
        Some(bus) if agents.bus_key.is_none() => {
            add(bus, "[agents] has a `bus`, but no `bus_key`".to_owned());
        }
        Some(_) => {}
        None => {
            for (name, value) in of_bus {
                if let Some(value) = value {
                    add(value, format!("[agents] has a `{name}`, but no `bus`"));
                }
            }
        }
    }
    wrong
}

/// Why a host is no agent, if it is none.
fn no_agent(host: &str, joins: bool) -> Option<String> {
    let (place, weight) = host.rsplit_once('=').unwrap_or((host, "1"));
    if !weight.parse::<u32>().is_ok_and(|weight| weight > 0) {
        return Some(format!("'{host}': a weight is a whole number above 0"));
    }
    let expected = "expected local:N, ssh:HOST, or with `bus` the name of an agent that joins";
    match place.split_once(':') {
        None if joins && !place.is_empty() && !place.contains([' ', ',']) => None,
        Some(("local", count)) if !joins => {
            let is_one = |count: &usize| (1..=AGENTS_MAX).contains(count);
            let wrong = !count.parse().is_ok_and(|count| is_one(&count));
            wrong.then(|| format!("'{host}': local:N has 1 to {AGENTS_MAX} agents"))
        }
        Some(("ssh", name)) if !joins => {
            let strange =
                name.is_empty() || name.starts_with('-') || name.contains([' ', ',', ';']);
            strange.then(|| format!("'{host}': ssh:HOST names one host as ssh knows it"))
        }
        _ if joins => Some(format!(
            "'{host}': agents that join a bus are named: expected gen1"
        )),
        _ => Some(format!("'{host}' is no agent; {expected}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_are_told_from_what_is_none() {
        let of = |hosts: &[&str]| Agents {
            hosts: hosts.iter().map(|&host| host.to_owned()).collect(),
            ..Agents::default()
        };
        assert!(wrong(&of(&["local:2", "ssh:gen1", "ssh:me@gen2=3"])).is_empty());
        for bad in [
            "local2",
            "local:0",
            "ssh:",
            "ssh:gen1=0",
            "gen1",
            "ssh:a,ssh:b",
        ] {
            assert_eq!(wrong(&of(&[bad])).len(), 1, "{bad}");
        }
        let joins = Agents {
            bus: Some("nats://127.0.0.1".to_owned()),
            bus_key: Some("coordinator.nk".to_owned()),
            on_loss: Some("carry".to_owned()),
            ..of(&["gen1", "gen2=2"])
        };
        assert_eq!(wrong(&joins).len(), 1);
        assert_eq!(wrong(&of(&[])).len(), 1);
    }
}
