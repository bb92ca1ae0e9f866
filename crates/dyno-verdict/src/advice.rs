//! What the server's counters during a run say of its settings. No rule claims more than they show:
//! each names the counters, what they did in the measurement, and the setting that bounds what they
//! count, by the words of the server's own documentation.

mod mysql;
mod postgres;

use dyno_core::record::RunRecord;
use dyno_core::summary::DigestSummary;
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
    /// Which statements the server's digests tell of that used no index, or tables on disk;
    /// sentences.
    pub statements: Vec<String>,
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
        statements: digests(run),
        ..Counsel::default()
    };
    for rule in rules.iter().filter(|rule| look.has(rule.setting)) {
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

    /// Whether this server has the setting. Do not advise one that it refuses.
    fn has(&self, setting: &str) -> bool {
        let settings = &self.run.settings;
        settings.is_empty() || settings.iter().any(|one| one.name == setting)
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

/// Statements that read many rows without an index, or had temporary tables on disk.
fn digests(run: &RunRecord) -> Vec<String> {
    /// A scan of fewer rows costs nothing.
    const ROWS_MIN: f64 = 100.0;
    const LISTED_MAX: usize = 5;
    let told = run.summary.as_ref();
    let told = told.and_then(|summary| summary.digests.as_ref());
    let digests = told.map_or(&[][..], |told| &told.digests);
    let often = |count: Option<u64>, of: u64| {
        count.filter(|count| *count as f64 >= SHARE * of as f64 && *count > 0)
    };
    let tell = |one: &DigestSummary| {
        let examined = one.rows_examined? as f64 / (one.count as f64).max(1.0);
        let scans = often(one.no_index, one.count).filter(|_| examined >= ROWS_MIN);
        let scans = scans.map(|scans| {
            format!(
                "{} of {} executions used no index (SUM_NO_INDEX_USED) and {} rows were examined \
                 by each on average (SUM_ROWS_EXAMINED)",
                text::count(scans),
                text::count(one.count),
                text::rate(examined)
            )
        });
        let tables = often(one.disk_tables, one.count).map(|tables| {
            format!(
                "{} temporary tables went to disk (SUM_CREATED_TMP_DISK_TABLES)",
                text::count(tables)
            )
        });
        let both: Vec<String> = scans.into_iter().chain(tables).collect();
        let name = one.shape.as_ref().unwrap_or(&one.text);
        (!both.is_empty()).then(|| format!("{}: {name}", both.join("; ")))
    };
    digests.iter().filter_map(tell).take(LISTED_MAX).collect()
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
