//! The identity of a trial: a hash of everything that determines it.

use std::collections::BTreeMap;
use std::fmt::{self, Write};

use dyno_core::text::{hex, number_of};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::design::Trial;
use crate::{Cell, Experiment};

/// A trial's identity: equal for equal trials, regardless of position and time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(String);

impl Identity {
    /// An identity from its recorded text.
    pub fn of_text(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hashes of the scripts and servers that the file names.
#[derive(Clone, Debug, Default)]
pub struct Hashes {
    /// The hash of each workload's script, by the workload's name.
    pub scripts: BTreeMap<String, String>,
    /// The hash of each server's binary, by the server's kind.
    pub servers: BTreeMap<String, String>,
}

/// A planned trial.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// Its identity.
    pub identity: Identity,
    /// The input of the identity, with sorted keys.
    pub made_of: Value,
    /// Its cell and repeat as text.
    pub label: String,
}

/// The identity of a trial of one of the cells.
pub fn identify(experiment: &Experiment, cell: &Cell, trial: &Trial, hashes: &Hashes) -> Planned {
    let effective = &cell.effective;
    let hash = |of: &BTreeMap<String, String>, name: &Option<String>| {
        let name = name.as_ref();
        name.and_then(|name| of.get(name))
            .cloned()
            .map_or(Value::Null, Value::String)
    };
    let json = |value: Result<Value, serde_json::Error>| value.unwrap_or(Value::Null);
    let made_of = serde_json::json!({
        "grammar": experiment.experiment.get_ref(),
        "levels": cell.levels,
        "effective": json(serde_json::to_value(effective)),
        "probes": json(serde_json::to_value(&experiment.probes)),
        "disturbances": json(serde_json::to_value(&experiment.disturbances)),
        "observe": json(serde_json::to_value(&experiment.observe)),
        "search": experiment.search.as_ref().map(|search| search.get_ref()),
        "explain": experiment.explain,
        "repeat": trial.repeat,
        "role": trial.role.word(),
        "script": hash(&hashes.scripts, &effective.load.workload),
        "data_script": hash(&hashes.scripts, &effective.data.workload),
        "server_binary": hash(&hashes.servers, &effective.server.kind),
    });
    let mut made_of = made_of;
    // A changed password does not change the identity.
    if let Some(url) = effective.server.url.as_deref()
        && let Ok(target) = dyno_core::Target::parse(url)
    {
        made_of["effective"]["server"]["url"] = Value::from(target.label());
    }
    let asked: Vec<&String> = experiment.factors.iter().flat_map(|f| &f.verify).collect();
    if !asked.is_empty() {
        made_of["verify"] = serde_json::json!(asked);
    }
    if let Some(factor) = experiment.duet() {
        made_of["duet"] = Value::from(factor.name.get_ref().as_str());
    }
    let mut text = String::new();
    canonical(&made_of, &mut text);
    let identity = hex(Sha256::digest(text));
    let levels = cell
        .levels
        .iter()
        .map(|(name, level)| format!("{name}={level}"));
    let levels = levels.collect::<Vec<_>>().join(" ");
    Planned {
        identity: Identity(identity),
        made_of,
        label: format!("{levels}, {} {}", trial.role.word(), trial.repeat + 1),
    }
}

/// JSON with sorted keys and without whitespace.
fn canonical(value: &Value, into: &mut String) {
    match value {
        Value::Object(entries) => {
            let sorted: BTreeMap<_, _> = entries.iter().collect();
            into.push('{');
            for (key, value) in sorted {
                let _ = write!(into, "{}:", Value::String(key.clone()));
                canonical(value, into);
                into.push(',');
            }
            into.push('}');
        }
        Value::Array(list) => {
            into.push('[');
            for value in list {
                canonical(value, into);
                into.push(',');
            }
            into.push(']');
        }
        plain => {
            let _ = write!(into, "{plain}");
        }
    }
}

/// The changes from one set of planned trials to another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// New trials.
    pub new: Vec<String>,
    /// Removed trials.
    pub gone: Vec<String>,
    /// Keys that differ in trials with the same name: before and after, with the number of trials.
    pub differ: BTreeMap<String, usize>,
}

impl Changes {
    /// Compares two sets.
    pub fn between(before: &[Planned], after: &[Planned]) -> Self {
        let by_label = |all: &[Planned]| -> BTreeMap<String, Planned> {
            all.iter()
                .map(|trial| (trial.label.clone(), trial.clone()))
                .collect()
        };
        let (before, after) = (by_label(before), by_label(after));
        let mut changes = Self::default();
        for (label, old) in &before {
            let Some(new) = after.get(label) else {
                changes.gone.push(label.clone());
                continue;
            };
            if new.identity != old.identity {
                let (mut of_old, mut of_new) = (BTreeMap::new(), BTreeMap::new());
                flatten("", &old.made_of, &mut of_old);
                flatten("", &new.made_of, &mut of_new);
                changes.compare(&of_old, &of_new);
            }
        }
        let new = after.keys().filter(|label| !before.contains_key(*label));
        changes.new = new.cloned().collect();
        changes
    }

    fn compare(&mut self, old: &BTreeMap<String, String>, new: &BTreeMap<String, String>) {
        let mut keys: Vec<&String> = old.keys().chain(new.keys()).collect();
        keys.sort();
        keys.dedup();
        for key in keys {
            let of = |values: &BTreeMap<String, String>| {
                values
                    .get(key)
                    .map_or_else(|| "not set".to_owned(), Clone::clone)
            };
            let (was, is) = (of(old), of(new));
            if was != is {
                let key = key.strip_prefix("effective.").unwrap_or(key);
                *self
                    .differ
                    .entry(format!("{key}: {was} -> {is}"))
                    .or_default() += 1;
            }
        }
    }
}

fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(entries) => {
            for (key, value) in entries {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{key}"), value, into);
            }
        }
        Value::Null => {}
        plain => {
            into.insert(path.to_owned(), plain.to_string());
        }
    }
}

impl fmt::Display for Changes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::default() {
            writeln!(f, "changed: the order of the trials")?;
        }
        for label in &self.new {
            writeln!(f, "new: {label}")?;
        }
        for label in &self.gone {
            writeln!(f, "gone: {label}")?;
        }
        for (what, trials) in &self.differ {
            writeln!(f, "changed in {}: {what}", number_of(*trials, "trial"))?;
        }
        Ok(())
    }
}
