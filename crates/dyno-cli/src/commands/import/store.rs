//! Stores and judges imported runs.

use anyhow::Result;
use dyno_analysis::window::Window;
use dyno_core::catalogue::names;
use dyno_core::factors::Factors;
use dyno_core::finding::{Outcome, Waiver, verdict};
use dyno_core::record::{Fact, RunRecord};
use dyno_core::redact;
use dyno_core::summary::IntervalSummary;
use dyno_import::Identity;
use dyno_results::{Results, ResultsError, Scope};
use dyno_verdict::Context;

/// Maximum length of a path in a run's name.
const PATH_IN_NAME: usize = 80;

/// Facts stored with the runs of a log, in addition to the log.
#[derive(Clone, Debug, Default)]
pub(super) struct Words {
    /// The factors and levels.
    pub factors: Factors,
    /// The user's note.
    pub note: String,
    /// The log's path below the imported folder.
    pub path: Option<String>,
    /// Overrides the log's workload.
    pub workload: Option<String>,
    /// Overrides the log's server.
    pub server: Option<String>,
    /// The window that counts; `None` for the whole run.
    pub window: Option<Window>,
    /// Facts from a configuration file.
    pub configured: Vec<Fact>,
}

impl Words {
    /// Sets the workload and server names that the user gave.
    fn name(&self, run: &mut RunRecord) {
        let summary = run.summary.as_mut();
        let (mut workloads, mut targets) =
            (vec![&mut run.head.workload], vec![&mut run.head.target]);
        if let Some(summary) = summary {
            workloads.push(&mut summary.workload);
            targets.push(&mut summary.target);
        }
        if let Some(name) = &self.workload {
            workloads
                .into_iter()
                .for_each(|own| own.name.clone_from(name));
        }
        if let Some(name) = &self.server {
            // `PostgreSQL 16.4`, `Percona Server 8.0.36`, `prod-db`.
            let version = name
                .rsplit_once(' ')
                .filter(|(_, version)| version.starts_with(|c: char| c.is_ascii_digit()));
            let (product, version) = version.unwrap_or((name, ""));
            for own in targets {
                product.clone_into(&mut own.product);
                version.clone_into(&mut own.version);
            }
        }
        let said = [("workload", &self.workload), ("server", &self.server)];
        let said = said.into_iter().filter_map(|(what, name)| {
            Some(Fact::new(format!("import.{what}"), name.clone()?, BY_USER))
        });
        run.facts.extend(said);
    }

    /// Adds these facts to a run, without secrets.
    pub(super) fn give(&self, run: &mut RunRecord) {
        run.head.factors.clone_from(&self.factors);
        let levels = run.head.factors.values_mut();
        levels.for_each(|level| *level = redact::text(level));
        run.head.note = redact::text(&self.note);
        run.facts.extend(self.configured.iter().cloned());
        self.name(run);
        let Some(path) = &self.path else {
            return;
        };
        let path = redact::text(path);
        if let Some(name) = called(&path, run.fact(names::IMPORT_SHA256).unwrap_or_default()) {
            run.head.name = name;
        }
        run.facts.push(Fact::new(
            names::IMPORT_PATH,
            path,
            "the path below the imported folder",
        ));
    }
}

/// The source of a run's workload and server names.
const BY_USER: &str = "dyno import";

/// A name with the log's path and the usual suffix of imported runs.
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

/// What happened to a run.
#[derive(Debug)]
pub(super) enum StoreOutcome {
    /// It was added; this is the stored record. The log of that other run begins the same.
    New(Box<RunRecord>, Option<i64>),
    /// It already exists, as this run.
    Already(i64),
    /// This run came from a shorter version of the log, and remains.
    Shorter(i64),
}

/// A results file, with the log of each imported run.
pub(super) struct Shelf<'a> {
    results: &'a mut Results,
    /// The hashes of logs, with run numbers.
    logs: Vec<(i64, String)>,
    /// Whether to replace runs from the same log.
    replace: bool,
}

impl<'a> Shelf<'a> {
    /// Reads which logs are already imported.
    ///
    /// # Errors
    /// The file cannot be read.
    pub(super) fn of(results: &'a mut Results, replace: bool) -> Result<Self> {
        Ok(Self {
            logs: results.imported_logs()?,
            results,
            replace,
        })
    }

    /// The results file.
    pub(super) fn results(&self) -> &Results {
        self.results
    }

    /// Stores a run, judges it, and returns the stored record. A run from the same log, or from its
    /// beginning, is replaced or remains unchanged.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub(super) fn keep(&mut self, run: &RunRecord, log: &Identity) -> Result<StoreOutcome> {
        let same = self.same(run, log)?;
        let mut shorter: Vec<i64> = self
            .logs
            .iter()
            .filter(|(id, digest)| !same.contains(id) && log.grew_from(digest))
            .map(|(id, _)| *id)
            .collect();
        let alike = self.alike(run, &same, &shorter)?;
        if alike.is_some() {
            shorter.clear();
        }
        if !self.replace {
            if let Some(id) = same.first() {
                return Ok(StoreOutcome::Already(*id));
            }
            if let Some(id) = shorter.first() {
                return Ok(StoreOutcome::Shorter(*id));
            }
        }
        let others = [same, shorter].concat();
        let (run, waivers) = self.with_words_of(run, &others)?;
        let id = self.results.import_instead(&run, &others)?;
        self.logs.retain(|(id, _)| !others.contains(id));
        let digest = run.fact(names::IMPORT_SHA256).unwrap_or_default();
        self.logs.push((id, digest.to_owned()));
        let record = judged(self.results, id, &waivers)?;
        Ok(StoreOutcome::New(Box::new(record), alike))
    }

    /// The run whose log has most intervals in common with this one, at least those of the
    /// `shorter` runs, without being its beginning: a shorter run may be of that log instead.
    fn alike(&self, run: &RunRecord, same: &[i64], shorter: &[i64]) -> Result<Option<i64>> {
        let intervals = |id: i64| {
            let record = self.results.load(id, &Scope::terminal())?;
            Ok::<_, ResultsError>(record.intervals)
        };
        let mut least = 0;
        for id in shorter {
            least = least.max(intervals(*id)?.len());
        }
        if least == 0 {
            return Ok(None);
        }
        let mut best: Option<(usize, i64)> = None;
        for (id, _) in &self.logs {
            if same.contains(id) || shorter.contains(id) {
                continue;
            }
            let common = in_common(&run.intervals, &intervals(*id)?);
            if common >= least && best.is_none_or(|(most, _)| common > most) {
                best = Some((common, *id));
            }
        }
        Ok(best.map(|(_, id)| id))
    }

    /// The run with the names, note and factors of the runs that it replaces, unless it has its
    /// own, and their waivers.
    fn with_words_of(&self, run: &RunRecord, others: &[i64]) -> Result<(RunRecord, Vec<Waiver>)> {
        let (mut run, mut waivers) = (run.clone(), Vec::new());
        for id in others {
            let other = self.results.load(*id, &Scope::summary())?;
            let kept = |name: &str| match run.fact(name) {
                Some(_) => None,
                None => other.fact(name).map(str::to_owned),
            };
            let said = Words {
                workload: kept(names::IMPORT_WORKLOAD),
                server: kept(names::IMPORT_SERVER),
                ..Words::default()
            };
            said.name(&mut run);
            if run.head.note.is_empty() {
                run.head.note = other.head.note;
            }
            if run.head.factors.is_empty() {
                run.head.factors = other.head.factors;
            }
            waivers.extend(self.results.waivers(*id)?);
        }
        Ok((run, waivers))
    }

    /// The runs from the same log.
    fn same(&self, run: &RunRecord, log: &Identity) -> Result<Vec<i64>> {
        let Some(digest) = run.fact(names::IMPORT_SHA256) else {
            return Ok(Vec::new());
        };
        let mut found = self.results.imported_of(digest)?;
        let former = log.former().map(|digest| self.results.imported_of(digest));
        for id in former.transpose()?.unwrap_or_default() {
            // The same lines can come from a different command line.
            let other = self.results.load(id, &Scope::summary())?;
            if other.head.argv == run.head.argv && !found.contains(&id) {
                found.push(id);
            }
        }
        Ok(found)
    }
}

/// The number of intervals at the beginning with the same rate of events.
fn in_common(one: &[IntervalSummary], other: &[IntervalSummary]) -> usize {
    let rate = |interval: &IntervalSummary| {
        let printed = interval.printed.and_then(|printed| printed.events_per_s);
        printed.unwrap_or(interval.counters.events as f64)
    };
    let pairs = one.iter().zip(other);
    pairs.take_while(|(a, b)| rate(a) == rate(b)).count()
}

/// Judges a stored run, and reads it.
fn judged(results: &mut Results, id: i64, waivers: &[Waiver]) -> Result<RunRecord> {
    let record = results.load(id, &Scope::whole())?;
    // With a window, the record contains only that part, so its findings are the part's.
    let mut findings = dyno_run::sorted(dyno_verdict::judge(&record, &Context::default()));
    let mut kept: Vec<Waiver> = Vec::new();
    for finding in &mut findings {
        let is_against = matches!(finding.outcome, Outcome::Doubt | Outcome::Refuse);
        let waiver = waivers.iter().find(|own| own.check == finding.check);
        if let Some(waiver) = waiver.filter(|_| is_against) {
            finding.waived = Some(waiver.reason.clone());
            kept.push(waiver.clone());
        }
    }
    results.judge(id, &findings, verdict(&findings), &kept)?;
    if let Some(mut summary) = record.summary.clone() {
        summary.costs = dyno_verdict::costs(&record);
        results.set_summary(id, &summary)?;
    }
    Ok(results.load(id, &Scope::summary())?)
}

#[cfg(test)]
mod tests {
    use dyno_import::{Log, Options, Tool};

    use super::*;

    const LADDER: &str = include_str!("../../../../dyno-import/fixtures/ladder.out");

    /// The outcome for each run of a log: `new`, or the existing run.
    fn outcomes(shelf: &mut Shelf<'_>, tool: Tool, text: &str) -> Vec<String> {
        let log = Log { name: "log", text };
        let imported = dyno_import::import(tool, &[log], &[], &Options::default()).unwrap();
        let runs = imported.runs.iter().zip(&imported.logs);
        let texts = runs.map(|(run, log)| match shelf.keep(run, log).unwrap() {
            StoreOutcome::New(record, None) => format!("new {}", record.id),
            StoreOutcome::New(record, Some(id)) => format!("new {} like {id}", record.id),
            StoreOutcome::Already(id) => format!("already {id}"),
            StoreOutcome::Shorter(id) => format!("shorter {id}"),
        });
        texts.collect()
    }

    #[test]
    fn a_log_that_has_grown_is_the_same_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let beginning: Vec<&str> = LADDER.lines().take(41).collect();
        let beginning = beginning.join("\n");
        let mut shelf = Shelf::of(&mut results, false).unwrap();
        let mut read = |text: &str| outcomes(&mut shelf, Tool::Sysbench, text);
        assert_eq!(read(&beginning), ["new 1"]);
        assert_eq!(read(LADDER), ["shorter 1", "new 2", "new 3"]);
        assert_eq!(read(&beginning), ["already 1"]);
        let mut shelf = Shelf::of(&mut results, true).unwrap();
        let replaced = outcomes(&mut shelf, Tool::Sysbench, LADDER);
        assert_eq!(replaced, ["new 4", "new 5", "new 6"]);
        let ids = results.imported_logs().unwrap();
        let ids: Vec<i64> = ids.into_iter().map(|(id, _)| id).collect();
        assert_eq!(ids, [4, 5, 6]);
    }

    #[test]
    fn a_changed_copy_of_a_log_is_another_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let whole = include_str!("../../../../dyno-import/fixtures/deadlocks.out");
        let beginning = whole.split("SQL statistics").next().unwrap();
        let changed = whole.replace("16340", "26340");
        assert_ne!(changed, whole);
        for replace in [false, true] {
            let mut shelf = Shelf::of(&mut results, replace).unwrap();
            let mut read = |text: &str| outcomes(&mut shelf, Tool::Sysbench, text);
            let expected = match replace {
                false => ["new 1", "new 2", "new 3 like 1"],
                // The beginning may be that of either.
                true => ["new 4 like 3", "new 5", "new 6 like 4"],
            };
            let found = [whole, beginning, &changed].map(|text| read(text).join(" "));
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn the_command_line_is_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let mut shelf = Shelf::of(&mut results, false).unwrap();
        let log = include_str!("../../../../dyno-import/fixtures/consistent.out");
        let with = |options: &str| format!("+ sysbench x {options} --threads=4 run\n{log}");
        let mut read = |text: &str| outcomes(&mut shelf, Tool::Sysbench, text);
        assert_eq!(read(&with("--mysql-host=a")), ["new 1"]);
        assert_eq!(read(&with("--mysql-host=b")), ["new 2"]);
        assert_eq!(read(log), ["new 3"]);
        assert_eq!(read(&with("--mysql-host=b")), ["already 2"]);
    }

    #[test]
    fn a_group_of_fio_that_is_known_leaves_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let text = include_str!("../../../../dyno-import/fixtures/fio-jsonplus.json");
        let mut first: serde_json::Value = serde_json::from_str(text).unwrap();
        first["jobs"].as_array_mut().unwrap().truncate(1);
        let mut shelf = Shelf::of(&mut results, false).unwrap();
        let mut read = |text: &str| outcomes(&mut shelf, Tool::Fio, text);
        assert_eq!(read(&first.to_string()), ["new 1"]);
        assert_eq!(read(text), ["already 1", "new 2"]);
        // The documents of --status-interval are one growing log.
        let status = include_str!("../../../../dyno-import/fixtures/fio-status.json");
        let end = status.rfind("\n{").unwrap();
        assert_eq!(read(&status[..end]), ["new 3"]);
        assert_eq!(read(status), ["shorter 3"]);
    }

    #[test]
    fn options_supply_names_missing_from_a_log() {
        let log = Log {
            name: "log",
            text: include_str!("../../../../dyno-import/fixtures/stamped.out"),
        };
        let imported = dyno_import::import(Tool::Sysbench, &[log], &[], &Options::default());
        let mut run = imported.unwrap().runs.remove(0);
        let words = Words {
            workload: Some("orders".to_owned()),
            server: Some("Percona Server 8.0.36".to_owned()),
            ..Words::default()
        };
        words.give(&mut run);
        let summary = run.summary.as_ref().unwrap();
        assert_eq!(run.head.workload.name, "orders");
        assert_eq!(summary.workload.name, "orders");
        let target = &summary.target;
        assert_eq!(
            (target.product.as_str(), target.version.as_str()),
            ("Percona Server", "8.0.36")
        );
        assert_eq!(run.fact("import.server"), Some("Percona Server 8.0.36"));
    }

    #[test]
    fn a_replaced_run_keeps_what_the_user_said_about_it() {
        let folder = tempfile::tempdir().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let log = Log {
            name: "log",
            text: include_str!("../../../../dyno-import/fixtures/stamped.out"),
        };
        let imported = dyno_import::import(Tool::Sysbench, &[log], &[], &Options::default());
        let imported = imported.unwrap();
        let keep = |words: Words, results: &mut Results| {
            let mut run = imported.runs[0].clone();
            words.give(&mut run);
            let mut shelf = Shelf::of(results, true).unwrap();
            match shelf.keep(&run, &imported.logs[0]).unwrap() {
                StoreOutcome::New(record, _) => record,
                other => panic!("{other:?}"),
            }
        };
        let factors = |level: &str| Factors::from([("memory".to_owned(), level.to_owned())]);
        let words = Words {
            note: "before the move".to_owned(),
            factors: factors("1G"),
            ..Words::default()
        };
        let first = keep(words, &mut results);
        let waiver = Waiver {
            check: "length".to_owned(),
            reason: "only a trial".to_owned(),
        };
        results.waive(first.id, &waiver).unwrap();
        let words = Words {
            workload: Some("orders".to_owned()),
            ..Words::default()
        };
        let second = keep(words, &mut results);
        assert_eq!(second.head.workload.name, "orders");
        assert_eq!(second.head.note, "before the move");
        assert_eq!(second.head.factors, factors("1G"));
        let waived = second.findings.iter();
        let waived = waived.filter_map(|finding| finding.waived.as_deref());
        assert_eq!(waived.collect::<Vec<_>>(), ["only a trial"]);
        assert_eq!(results.waivers(second.id).unwrap().len(), 1);
        // New words replace the old ones.
        let words = Words {
            note: "after it".to_owned(),
            factors: factors("2G"),
            ..Words::default()
        };
        let third = keep(words, &mut results);
        assert_eq!(third.head.note, "after it");
        assert_eq!(third.head.factors, factors("2G"));
        assert_eq!(third.head.workload.name, "orders");
        assert_eq!(third.fact("import.workload"), Some("orders"));
    }

    #[test]
    fn names_contain_paths() {
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
