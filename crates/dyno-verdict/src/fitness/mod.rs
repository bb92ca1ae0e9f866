//! Checks of a host and a server before a run, reported by `dyno doctor`. Each run judges the same
//! facts again, together with its figures.

mod host;
mod noise;
mod server;

use dyno_core::finding::{Finding, Number, Outcome};
use dyno_core::record::{Fact, NotObserved, Setting};

pub use host::host;
pub use noise::{Noise, noise};
pub use server::server;

/// The known facts of a host or a server.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Facts of the host or server.
    pub facts: &'a [Fact],
    /// The server's effective settings.
    pub settings: &'a [Setting],
    /// The facts that could not be observed.
    pub not_observed: &'a [NotObserved],
}

impl<'a> Known<'a> {
    fn fact(&self, name: &str) -> Option<&'a str> {
        let fact = self.facts.iter().find(|fact| fact.name == name)?;
        Some(fact.value.as_str())
    }

    fn number(&self, name: &str) -> Option<f64> {
        let text = self.fact(name)?;
        let number = text.split_whitespace().next()?.parse::<f64>().ok()?;
        number.is_finite().then_some(number)
    }

    fn setting(&self, name: &str) -> Option<&'a str> {
        let setting = self
            .settings
            .iter()
            .find(|setting| setting.name.eq_ignore_ascii_case(name))?;
        setting.start.as_deref()
    }

    fn gap(&self, name: &str) -> String {
        let gaps = self.not_observed.iter();
        gaps.filter(|gap| name.starts_with(gap.what.as_str()))
            .max_by_key(|gap| gap.what.len())
            .map_or_else(
                || format!("{name} is not known on this host."),
                |gap| sentence(&gap.why),
            )
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with('.') {
        text.to_owned()
    } else {
        format!("{text}.")
    }
}

/// A rule: the common parts of all findings of one check.
#[derive(Clone, Copy)]
struct Rule {
    check: &'static str,
    number: u8,
    rule: &'static str,
}

impl Rule {
    fn finding(self, outcome: Outcome, evidence: String, advice: &str) -> Finding {
        Finding {
            check: self.check.to_owned(),
            number: self.number,
            outcome,
            evidence,
            rule: self.rule.to_owned(),
            numbers: Vec::new(),
            advice: advice.to_owned(),
            waived: None,
            causes: Vec::new(),
            durability: None,
            stalls: None,
        }
    }

    fn pass(self, evidence: String) -> Finding {
        self.finding(Outcome::Pass, evidence, "")
    }

    fn doubt(self, evidence: String, advice: &str) -> Finding {
        self.finding(Outcome::Doubt, evidence, advice)
    }

    fn refuse(self, evidence: String, advice: &str) -> Finding {
        self.finding(Outcome::Refuse, evidence, advice)
    }

    fn unknown(self, why: String) -> Finding {
        self.finding(Outcome::NotChecked, why, "")
    }
}

fn number(name: &str, value: f64, unit: &str) -> Number {
    Number {
        name: name.to_owned(),
        value: value.is_finite().then_some(value),
        unit: unit.to_owned(),
    }
}
