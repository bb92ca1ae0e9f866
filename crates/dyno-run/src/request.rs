//! The user's request for a run.

use dyno_core::db::ServerInfo;
use dyno_core::plan::{OptionValue, Plan};
use dyno_core::redact;
use dyno_core::summary::PhaseOf;
use dyno_script::ScriptOption;

use crate::job::Ready;

/// The user's request, as far as it shapes the summary.
#[derive(Clone)]
pub struct RunRequest {
    /// The plan.
    pub plan: Plan,
    /// The script's options in this phase.
    pub options: Vec<(String, OptionValue)>,
    /// The options that differ from their defaults.
    pub changed: Vec<String>,
    /// The server at the target.
    pub server: ServerInfo,
    /// The sequence that the run is a phase of.
    pub phase: Option<PhaseOf>,
}

impl RunRequest {
    /// The request for a single run of a plan, with these options of the script.
    pub fn new(
        plan: Plan,
        own: &[(String, OptionValue)],
        server: ServerInfo,
        ready: &Ready,
    ) -> Self {
        let declared = ready.description.options.as_deref();
        Self {
            plan,
            options: redact::options(own),
            changed: changed(declared.unwrap_or_default(), own),
            server,
            phase: None,
        }
    }
}

/// The names of options with other values than their defaults.
fn changed(declared: &[ScriptOption], values: &[(String, OptionValue)]) -> Vec<String> {
    let is_default = |name: &str, value: &OptionValue| {
        declared
            .iter()
            .find(|option| option.key() == name)
            .is_some_and(|option| option.value(None).is_ok_and(|default| default == *value))
    };
    values
        .iter()
        .filter(|(name, value)| !is_default(name, value))
        .map(|(name, _)| name.clone())
        .collect()
}
