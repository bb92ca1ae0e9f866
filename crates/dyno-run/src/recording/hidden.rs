//! Hides secrets in text from other programs before it is stored, and remembers where they were.

use std::sync::{Mutex, PoisonError};

use dyno_core::redact;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_observe::Observation;

/// The places where a secret was hidden.
#[derive(Default)]
pub struct Hidden(Mutex<Vec<&'static str>>);

impl Hidden {
    /// Hides secrets in an observation.
    pub fn clean(&self, observation: &mut Observation) {
        match observation {
            Observation::Fact(fact) => {
                self.setting("facts", &mut fact.name, &mut fact.value);
            }
            Observation::Setting { name, value, .. } => {
                self.setting("settings", name, value);
            }
            Observation::NotObserved(gap) => {
                self.name("what was not observed", &mut gap.what);
                self.text("what was not observed", &mut gap.why);
            }
            Observation::Event { text, detail, .. } => {
                self.text("events", text);
                if let Some(change) = &mut detail.setting {
                    self.name("settings", &mut change.name);
                    self.text("settings", &mut change.from);
                    self.text("settings", &mut change.to);
                }
                if let Some(line) = &mut detail.kernel_log {
                    self.text("events", line);
                }
            }
            Observation::Series { .. } | Observation::Sample { .. } | Observation::Zeros { .. } => {
            }
        }
    }

    /// Hides secrets in what a summary quotes from the server and the script.
    pub fn clean_summary(&self, summary: &mut RunSummary) {
        let errors = summary.errors.values_mut();
        for error in errors.chain(summary.connect_errors.values_mut()) {
            self.text("errors", &mut error.sample);
        }
        if let RunEnd::Failed(why) = &mut summary.end {
            self.text("errors", why);
        }
        for warning in &mut summary.warnings {
            self.text("warnings", warning);
        }
        for fact in &mut summary.facts {
            self.setting("facts", &mut fact.name, &mut fact.value);
        }
        for figure in &mut summary.figures {
            self.text("figures", &mut figure.name);
            self.text("figures", &mut figure.unit);
        }
        for role in &mut summary.roles {
            self.name("roles", &mut role.name);
            self.name("roles", &mut role.unit);
        }
        for entry in &mut summary.ledger {
            self.name("ledger", &mut entry.sum);
            self.name("ledger", &mut entry.database);
        }
    }

    /// The places, without duplicates.
    pub fn places(&self) -> Vec<String> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().map(|place| (*place).to_owned()).collect()
    }

    /// Names also come from the server. Text in a name that only looks like a secret is not one,
    /// unless it is known.
    fn name(&self, place: &'static str, name: &mut String) {
        if let Some(hidden) = redact::known(name) {
            self.remember(place);
            *name = hidden;
        }
    }

    fn setting(&self, place: &'static str, name: &mut String, value: &mut String) {
        self.text(place, value);
        *value = redact::setting(name, value);
        self.name(place, name);
    }

    fn text(&self, place: &'static str, text: &mut String) {
        if redact::known(text).is_some() {
            self.remember(place);
        }
        *text = redact::text(text);
    }

    fn remember(&self, place: &'static str) {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !places.contains(&place) {
            places.push(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::Secret;

    #[test]
    fn a_secret_in_the_name_of_a_setting_is_hidden() {
        redact::learn(&Secret::new("Kq9-canary-name".to_owned()), &[]);
        let hidden = Hidden::default();
        let mut setting = Observation::Setting {
            name: "plugin_Kq9-canary-name_size".to_owned(),
            value: "password_lifetime=3".to_owned(),
            at_end: false,
        };
        hidden.clean(&mut setting);
        let shown = format!("{setting:?}");
        assert!(
            shown.contains("plugin_") && !shown.contains("canary"),
            "{shown}"
        );
        assert_eq!(hidden.places(), ["settings"]);
    }
}
