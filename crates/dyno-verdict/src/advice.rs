//! What the server's counters during a run say of its settings. No rule claims more than they show:
//! each names the counters, what they did in the measurement, and the setting that bounds what they
//! count, by the words of the server's own documentation.

mod mysql;
mod postgres;

use dyno_core::record::RunRecord;
use serde::Serialize;

use crate::context::Context;
use crate::text;
use crate::view::View;

/// What counters say of a setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The setting by the server's name for it.
    pub setting: &'static str,
    /// What it was at the run's start, as the server says it; `None` where it was not read.
    pub value: Option<String>,
    /// What the counters did; a sentence.
    pub evidence: String,
    /// What the setting is there for; a sentence.
    pub about: &'static str,
    /// The counters by the server's names for them.
    pub counters: &'static [&'static str],
}

/// What the counters of a run say of its server's settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counsel {
    /// Settings to look at.
    pub settings: Vec<Advice>,
    /// What was looked at and needs none, as the counters' names.
    pub quiet: Vec<&'static str>,
    /// What the disks were asked for; sentences.
    pub disks: Vec<String>,
}

/// Sets the counters against the settings; `None` where the database's counters were not observed.
pub fn advice(run: &RunRecord) -> Option<Counsel> {
    let context = Context::default();
    let view = View::new(run, &context);
    let rules = match (view.mysql(), view.postgres()) {
        (true, _) => mysql::RULES,
        (_, true) => postgres::RULES,
        _ => return None,
    };
    let look = Look { run, view: &view };
    if !rules.iter().any(|rule| look.sees(rule)) {
        return None;
    }
    let mut counsel = Counsel {
        disks: disks(&view),
        ..Counsel::default()
    };
    for rule in rules {
        match (rule.finds)(&look) {
            Some(evidence) => counsel.settings.push(Advice {
                setting: rule.setting,
                value: look.setting(rule.setting),
                evidence: text::sentence(&evidence),
                about: rule.about,
                counters: rule.counters,
            }),
            None => {
                let seen = |name: &&&'static str| look.mean(&series(name)).is_some();
                counsel.quiet.extend(rule.counters.iter().filter(seen));
            }
        }
    }
    counsel.quiet.dedup();
    Some(counsel)
}

/// A rule of the counters.
struct Rule {
    setting: &'static str,
    counters: &'static [&'static str],
    finds: fn(&Look) -> Option<String>,
    about: &'static str,
}

/// The run's counters and settings by the server's names.
struct Look<'a> {
    run: &'a RunRecord,
    view: &'a View<'a>,
}

/// A rate below which something happened by chance or by the run's own beginning, per second.
const OFTEN_PER_S: f64 = 0.5;
/// A share of cases from which a cache or a buffer is too small for what is done, 0 to 1.
const SHARE: f64 = 0.01;
/// How full a bounded room may be at its fullest, 0 to 1.
const FULL: f64 = 0.8;

impl Look<'_> {
    /// The mean rate or state of a counter.
    fn mean(&self, name: &str) -> Option<f64> {
        self.view.mean(name)
    }

    fn sees(&self, rule: &Rule) -> bool {
        rule.counters
            .iter()
            .any(|name| self.mean(&series(name)).is_some())
    }

    fn setting(&self, name: &str) -> Option<String> {
        let found = self.run.settings.iter().find(|one| one.name == name)?;
        found.start.clone()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.setting(name)?.parse().ok()
    }

    /// How often something happened that should not, if that was often.
    fn often(&self, name: &str) -> Option<f64> {
        self.mean(name).filter(|per_s| *per_s >= OFTEN_PER_S)
    }

    /// Of `part` and `rest` together, the share of `part`, where it is more than a few.
    fn share(&self, part: &str, rest: &[&str]) -> Option<(f64, f64)> {
        let part = self.often(part)?;
        let all = part + self.view.mean_sum(rest)?;
        let share = part / all;
        (share >= SHARE).then_some((part, share))
    }
}

/// The series that a counter of the server is recorded as.
fn series(counter: &str) -> String {
    match counter.split_once('.') {
        Some(_) => format!("db.{counter}"),
        None => format!("db.status.{}", counter.to_lowercase()),
    }
}

/// How large the requests to each disk were that was used.
fn disks(view: &View) -> Vec<String> {
    let size = |device: &str, bytes: &str, requests: &str| {
        let mean = |what: &str| view.mean(&format!("host.disk[{device}].{what}"));
        let (bytes, requests) = (mean(bytes)?, mean(requests)?);
        (requests >= 1.0).then(|| {
            format!(
                "{}/s of {}",
                text::rate(requests),
                text::bytes(bytes / requests)
            )
        })
    };
    let mut told = Vec::new();
    for (device, _) in view.devices("host.disk[", "].writes") {
        let reads = size(device, "read_bytes", "reads");
        let writes = size(device, "write_bytes", "writes");
        let each: Vec<String> = [("reads", reads), ("writes", writes)]
            .into_iter()
            .filter_map(|(what, told)| Some(format!("{what}: {}", told?)))
            .collect();
        if !each.is_empty() {
            told.push(format!("{device}, {}", each.join("; ")));
        }
    }
    told
}

#[cfg(test)]
mod tests;
