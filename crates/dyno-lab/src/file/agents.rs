//! Checks of `[agents]` that need only the file.

use dyno_core::plan::AgentItem;

use super::{Agents, Experiment};
use crate::error::Problems;

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

/// The errors: the text, and why it is wrong.
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
        match AgentItem::read(host, agents.bus.is_some()) {
            Err(why) => add(host, why),
            Ok(item) if item.weight.is_some() && agents.by.as_deref() == Some("capacity") => {
                let why = "with by = \"capacity\" the shares are measured; omit =W";
                add(host, format!("'{host}': {why}"));
            }
            Ok(_) => {}
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_agents_from_other_values() {
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
