//! Advice on the server's settings from its counters during a run. Each rule names the counters,
//! their values in the measurement, and the setting that limits them according to the server's
//! documentation. No rule claims more than its counters show.

mod mysql;
mod postgres;

use dyno_core::catalogue::{Family, names};
use dyno_core::record::RunRecord;
use dyno_core::summary::DigestSummary;
use serde::Serialize;

use crate::context::Context;
use crate::text;
use crate::view::View;

/// Advice on one setting.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    /// The server's name of the setting.
    pub setting: &'static str,
    /// The setting's value at the start of the run, as the server shows it; `None` if unknown.
    pub value: Option<String>,
    /// The counters' values; a sentence.
    pub evidence: String,
    /// The purpose of the setting; a sentence.
    pub about: &'static str,
    /// The server's names of the counters.
    pub counters: &'static [&'static str],
}

/// The advice on a run's server.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Counsel {
    /// Settings to review.
    pub settings: Vec<Advice>,
    /// Names of counters that were checked and give no reason for advice.
    pub quiet: Vec<&'static str>,
    /// The requests to the disks; sentences.
    pub disks: Vec<String>,
    /// Statements in the server's digests that used no index, or temporary tables on disk;
    /// sentences.
    pub statements: Vec<String>,
}

/// Compares the counters with the settings; `None` if the database's counters were not observed.
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

struct Rule {
    setting: &'static str,
    counters: &'static [&'static str],
    finds: fn(&Look) -> Option<String>,
    about: &'static str,
}

struct Look<'a> {
    run: &'a RunRecord,
    view: &'a View<'a>,
}

/// Below this rate per second, events may be due to chance or to the run's own beginning.
const OFTEN_PER_S: f64 = 0.5;
/// The share of cases from which a cache or buffer is too small, 0 to 1.
const SHARE: f64 = 0.01;
/// The largest fill level of a limited buffer that needs no advice, 0 to 1.
const FULL: f64 = 0.8;

impl Look<'_> {
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

    /// The rate of something undesirable, if it is high.
    fn often(&self, name: &str) -> Option<f64> {
        self.mean(name).filter(|per_s| *per_s >= OFTEN_PER_S)
    }

    /// The share of `part` in the sum of `part` and `rest`, if it is more than a few percent.
    fn share(&self, part: &str, rest: &[&str]) -> Option<(f64, f64)> {
        let part = self.often(part)?;
        let all = part + self.view.mean_sum(rest)?;
        let share = part / all;
        (share >= SHARE).then_some((part, share))
    }
}

fn series(counter: &str) -> String {
    match counter.split_once('.') {
        Some(_) => format!("db.{counter}"),
        None => names::DB_STATUS_EACH.of(counter.to_lowercase()),
    }
}

/// Statements that read many rows without an index, or had temporary tables on disk.
fn digests(run: &RunRecord) -> Vec<String> {
    /// Scans of fewer rows are cheap.
    const ROWS_MIN: f64 = 100.0;
    const LISTED_MAX: usize = 5;
    let summary = run.summary.as_ref();
    let summary = summary.and_then(|summary| summary.digests.as_ref());
    let digests = summary.map_or(&[][..], |summary| &summary.digests);
    let often = |count: Option<u64>, of: u64| {
        count.filter(|count| *count as f64 >= SHARE * of as f64 && *count > 0)
    };
    let line = |one: &DigestSummary| {
        let examined = one.rows_examined? as f64 / (one.count as f64).max(1.0);
        let scans = often(one.no_index, one.count).filter(|_| examined >= ROWS_MIN);
        let scans = scans.map(|scans| {
            format!(
                "{} of {} used no index (SUM_NO_INDEX_USED) and each examined {} rows on average \
                 (SUM_ROWS_EXAMINED)",
                text::count(scans),
                text::counted(one.count, "execution"),
                text::rate(examined)
            )
        });
        let tables = often(one.disk_tables, one.count).map(|tables| {
            format!(
                "{} went to disk (SUM_CREATED_TMP_DISK_TABLES)",
                text::counted(tables, "temporary table")
            )
        });
        let both: Vec<String> = scans.into_iter().chain(tables).collect();
        let name = one.shape.as_ref().unwrap_or(&one.text);
        (!both.is_empty()).then(|| format!("{}: {name}", both.join("; ")))
    };
    digests.iter().filter_map(line).take(LISTED_MAX).collect()
}

fn disks(view: &View) -> Vec<String> {
    let size = |device: &str, bytes: Family, requests: Family| {
        let mean = |what: Family| view.mean(&what.of(device));
        let (bytes, requests) = (mean(bytes)?, mean(requests)?);
        (requests >= 1.0).then(|| {
            format!(
                "{}/s of {}",
                text::rate(requests),
                text::bytes(bytes / requests)
            )
        })
    };
    let mut lines = Vec::new();
    for (device, _) in view.devices(names::HOST_DISK_WRITES) {
        let reads = size(device, names::HOST_DISK_READ_BYTES, names::HOST_DISK_READS);
        let writes = size(
            device,
            names::HOST_DISK_WRITE_BYTES,
            names::HOST_DISK_WRITES,
        );
        let each: Vec<String> = [("reads", reads), ("writes", writes)]
            .into_iter()
            .filter_map(|(what, words)| Some(format!("{what}: {}", words?)))
            .collect();
        if !each.is_empty() {
            lines.push(format!("{device}, {}", each.join("; ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests;
