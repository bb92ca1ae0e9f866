//! A consumer of observations that waits for what a test expects.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::record::EventKind;
use dyno_core::{Clock, Target};
use dyno_observe::{Config, Cost, Observation, Observers};

/// The timeout of any wait, for a busy machine.
const LIMIT: Duration = Duration::from_secs(90);
/// Shorter than the default, so that tests are quick; no rate depends on it.
const PERIOD: Duration = Duration::from_millis(200);

/// Observers and all their observations.
pub(crate) struct Observed {
    observers: Option<Observers>,
    observations: Receiver<Observation>,
    names: HashMap<u32, String>,
    pub values: HashMap<String, Vec<(Nanos, f64)>>,
    pub facts: HashMap<String, String>,
    pub gaps: HashMap<String, String>,
    pub settings: HashMap<(String, bool), String>,
    pub events: Vec<(EventKind, String)>,
    pub samples: u64,
}

impl Observed {
    /// Starts observers of this target.
    pub(crate) fn start(url: &str) -> Self {
        let target = Target::parse(url).unwrap();
        let connector = dyno_drivers::connector(&target).unwrap();
        let config = Config {
            target: Some(target),
            connector: Some(Arc::clone(&connector)),
            period: PERIOD,
            answer_timeout: Duration::from_secs(2),
            connect_timeout: Duration::from_secs(2),
            ..Config::default()
        };
        let (observers, observations) = Observers::start(config).unwrap();
        Self {
            observers: Some(observers),
            observations,
            names: HashMap::new(),
            values: HashMap::new(),
            facts: HashMap::new(),
            gaps: HashMap::new(),
            settings: HashMap::new(),
            events: Vec::new(),
            samples: 0,
        }
    }

    /// Waits until a condition holds.
    pub(crate) fn until(&mut self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Clock.now() + LIMIT.as_nanos() as Nanos;
        while !is_so(self) {
            let left = deadline.saturating_sub(Clock.now());
            let next = self.observations.recv_timeout(Duration::from_nanos(left));
            let Ok(observation) = next else {
                panic!("{what}: not so after {LIMIT:?}\n{}", self.text());
            };
            self.take(observation);
        }
    }

    /// Stops them and takes the remaining observations.
    pub(crate) fn stop(&mut self) -> Cost {
        let cost = self.observers.take().unwrap().stop().unwrap();
        while let Ok(observation) = self.observations.recv() {
            self.take(observation);
        }
        cost
    }

    /// The last value of a series.
    pub(crate) fn last(&self, name: &str) -> Option<f64> {
        self.values.get(name)?.last().map(|(_, value)| *value)
    }

    /// The number of values of a series.
    pub(crate) fn count(&self, name: &str) -> usize {
        self.values.get(name).map_or(0, Vec::len)
    }

    pub(crate) fn has_event(&self, kind: EventKind, text: &str) -> bool {
        self.events
            .iter()
            .any(|(other, words)| *other == kind && words.contains(text))
    }

    /// Everything except values, for messages.
    pub(crate) fn text(&self) -> String {
        let mut names: Vec<&String> = self.values.keys().collect();
        names.sort();
        let mut text = format!("facts {:#?}\ngaps {:#?}\n", self.facts, self.gaps);
        write!(text, "events {:#?}\nseries {names:?}", self.events).unwrap();
        text
    }

    fn take(&mut self, observation: Observation) {
        match observation {
            Observation::Series { id, key, .. } => drop(self.names.insert(id, key.name)),
            Observation::Sample { at, values } => {
                self.samples += 1;
                for (id, value) in values {
                    let name = self.names[&id].clone();
                    self.values.entry(name).or_default().push((at, value));
                }
            }
            Observation::Zeros { id, at } => {
                let zeros = at.into_iter().map(|at| (at, 0.0));
                let name = self.names[&id].clone();
                self.values.entry(name).or_default().extend(zeros);
            }
            Observation::Fact(fact) => drop(self.facts.insert(fact.name, fact.value)),
            Observation::Setting {
                name,
                value,
                at_end,
            } => drop(self.settings.insert((name, at_end), value)),
            Observation::NotObserved(gap) => drop(self.gaps.insert(gap.what, gap.why)),
            Observation::Event { kind, text, .. } => self.events.push((kind, text)),
        }
    }
}
