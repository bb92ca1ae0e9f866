//! Secrets in what others said: hidden before it is kept, and the places remembered.

use std::sync::{Mutex, PoisonError};

use dyno_core::redact;
use dyno_core::summary::{RunEnd, RunSummary};
use dyno_observe::Observation;

/// Where a secret came up and was hidden.
#[derive(Default)]
pub struct Hidden(Mutex<Vec<&'static str>>);

impl Hidden {
    /// What an observer saw, as it may be kept.
    pub fn clean(&self, observation: &mut Observation) {
        match observation {
            Observation::Fact(fact) => self.text("facts", &mut fact.value),
            Observation::Setting { value, .. } => self.text("settings", value),
            Observation::NotObserved(gap) => self.text("what was not observed", &mut gap.why),
            Observation::Event { text, .. } => self.text("events", text),
            Observation::Series { .. } | Observation::Sample { .. } | Observation::Zeros { .. } => {
            }
        }
    }

    /// What a summary quotes of the server and of the script.
    pub fn clean_summary(&self, summary: &mut RunSummary) {
        for error in summary.errors.values_mut() {
            self.text("errors", &mut error.sample);
        }
        if let RunEnd::Failed(why) = &mut summary.end {
            self.text("errors", why);
        }
        for warning in &mut summary.warnings {
            self.text("warnings", warning);
        }
        for fact in &mut summary.facts {
            self.text("facts", &mut fact.value);
        }
    }

    /// The places, each once.
    pub fn places(&self) -> Vec<String> {
        let places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.iter().map(|place| (*place).to_owned()).collect()
    }

    fn text(&self, place: &'static str, text: &mut String) {
        if redact::known(text).is_some() {
            let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            if !places.contains(&place) {
                places.push(place);
            }
        }
        *text = redact::text(text);
    }
}
