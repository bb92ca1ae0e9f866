//! Runs as they are kept and judged.

use anyhow::{Result, bail};
use dyno_analysis::window::Window;
use dyno_core::factors::Factors;
use dyno_core::finding::verdict;
use dyno_core::record::{Fact, LOG_DIGEST, RunRecord};
use dyno_core::redact;
use dyno_results::{Results, Scope};
use dyno_verdict::Context;

/// So much of a path is in a run's name.
const PATH_IN_NAME: usize = 80;

/// What is kept with the runs of a log, besides what the log says.
#[derive(Clone, Debug, Default)]
pub struct Words {
    /// What varies.
    pub factors: Factors,
    /// What to remember.
    pub note: String,
    /// The log's path below the folder that is imported.
    pub path: Option<String>,
    /// Which part of the runs counts; `None` for all.
    pub window: Option<Window>,
    /// What a configuration file beside it says.
    pub configured: Vec<Fact>,
}

impl Words {
    /// Gives a run its words, without secrets.
    pub fn give(&self, run: &mut RunRecord) {
        run.head.factors.clone_from(&self.factors);
        let levels = run.head.factors.values_mut();
        levels.for_each(|level| *level = redact::text(level));
        run.head.note = redact::text(&self.note);
        run.facts.extend(self.configured.iter().cloned());
        let Some(path) = &self.path else {
            return;
        };
        let path = redact::text(path);
        if let Some(name) = called(&path, run.fact(LOG_DIGEST).unwrap_or_default()) {
            run.head.name = name;
        }
        run.facts.push(Fact {
            name: "import.path".to_owned(),
            value: path,
            source: "the path below the imported folder".to_owned(),
        });
    }
}

/// A name that tells the log's path, and ends as all names of imported runs do.
fn called(path: &str, digest: &str) -> Option<String> {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || "._".contains(c) {
            c
        } else {
            '-'
        }
    };
    let path: Vec<char> = path.chars().map(plain).collect();
    let path: String = path[path.len().saturating_sub(PATH_IN_NAME)..]
        .iter()
        .collect();
    let digest = digest.get(..8)?;
    Some(format!(
        "imported-{}-{digest}",
        path.trim_matches(['-', '.'])
    ))
}

/// Keeps a run, judges it as it is kept, and gives it back as it can be read. One that was made of
/// the same log before is replaced; or left as it is, which gives `None`.
pub fn keep(results: &mut Results, run: &RunRecord, replace: bool) -> Result<Option<RunRecord>> {
    let same = already(results, run)?;
    if !replace && !same.is_empty() {
        return Ok(None);
    }
    let id = results.import_instead(run, &same)?;
    let record = results.load(id, &Scope::whole())?;
    // A window's findings are those of a part, which is what the record holds.
    let findings = dyno_run::sorted(dyno_verdict::judge(&record, &Context::default()));
    results.judge(id, &findings, verdict(&findings), &[])?;
    if let Some(mut summary) = record.summary.clone() {
        summary.costs = dyno_verdict::costs(&record);
        results.set_summary(id, &summary)?;
    }
    Ok(Some(results.load(id, &Scope::summary())?))
}

/// The runs that were made of the same log.
fn already(results: &Results, run: &RunRecord) -> Result<Vec<i64>> {
    match run.fact(LOG_DIGEST) {
        Some(digest) => Ok(results.imported_of(digest)?),
        None => Ok(Vec::new()),
    }
}

/// Refuses logs that are there already, before anything is written.
///
/// # Errors
/// One of them is there.
pub fn refuse_known(results: &Results, runs: &[RunRecord]) -> Result<()> {
    for run in runs {
        if let Some(id) = already(results, run)?.first() {
            bail!(
                "{} is in {} already, as run {id}: --replace imports it anew in its place",
                run.fact("import.source").unwrap_or("the log"),
                results.path().display()
            );
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_paths() {
        let digest = "0123456789abcdef";
        let name = |path: &str| called(path, digest).unwrap();
        assert_eq!(
            name("ext4-on/BP 5/res.txt"),
            "imported-ext4-on-BP-5-res.txt-01234567"
        );
        let long = format!("{}/res.txt", "x".repeat(200));
        assert_eq!(name(&long).len(), "imported--01234567".len() + PATH_IN_NAME);
        assert_eq!(called("a", "12"), None);
    }
}
