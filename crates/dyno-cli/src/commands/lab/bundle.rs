//! `dyno lab bundle`: pack an experiment, with everything needed to repeat it, into one archive.

mod archive;
mod readme;
mod scripts;

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};
use dyno_conduct::lab::checks;
use dyno_core::clock::wall_time;
use dyno_core::record::RESULTS_FILE;
use dyno_core::redact;
use dyno_core::text::number_of;
use dyno_core::units::human_size;
use dyno_results::{ExperimentHead, Results, StoredExperiment};
use dyno_run::scratch::{self, Scratch};

use super::notes::as_it_ran;
use super::report::LabResult;
use super::{file_name, status};
use crate::options::Parsed;
use crate::{STATUS_DONE, console, output, run_store};

/// The definition in an archive.
const DEFINITION: &str = "experiment.toml";
/// The page in an archive.
const PAGE: &str = "report.html";
/// The description of an archive.
const README: &str = "README.md";
/// Names that scripts in an archive must not have.
const OWN: [&str; 4] = [DEFINITION, RESULTS_FILE, PAGE, README];

/// Writes the archive.
///
/// # Errors
/// The results file lacks the experiment, it is running, or none of its trials is done; a script is
/// missing, has changed since the trials, or contains a password in a URL; or the archive exists.
pub(super) fn main(parsed: &Parsed, words: &[String]) -> Result<u8> {
    let results = Results::open_read(&run_store::required(parsed)?)?;
    let stored = status::stored(parsed, words, &results)?;
    if let Some(pid) = results.who_runs(stored.id)? {
        let name = &stored.head.name;
        bail!("{name} is running in process {pid}: wait until it is done, or stop it");
    }
    let path = match parsed.value("output") {
        Some(path) => path.to_owned(),
        None => format!("{}.tar.gz", file_name(&stored.head.name)),
    };
    let destination = output::fresh(parsed, &path)?;
    let base = base(words, &stored.head.file);
    let stored = StoredExperiment {
        head: published(&stored.head),
        ..stored
    };
    let experiment = as_it_ran(&stored)?;
    let found = LabResult::load(&results, &stored, &experiment, None)?;
    let mut files = scripts::collect(&experiment, &stored.trials, &base)?;
    checks::hide_passwords(&experiment);
    if !parsed.has("force") {
        scripts::refuse_passwords(&files, &checks::targets(&experiment))?;
    }
    if let Some(place) = scripts::suspect(&files) {
        console::note(&format!(
            "{place}: this line may contain a password; the archive contains the script unchanged"
        ));
    }
    let scripts: Vec<String> = files.keys().cloned().collect();
    let readme = readme::text(&readme::About::of(&stored.head, &scripts, &found));
    let (database, runs) = database(&results, &stored.head)?;
    let definition = stored.head.definition.clone();
    for (name, bytes) in [
        (DEFINITION, definition.into_bytes()),
        (RESULTS_FILE, database),
        (PAGE, found.html().into_bytes()),
        (README, readme.into_bytes()),
    ] {
        files.insert(name.to_owned(), bytes);
    }
    let planned_s = stored.planned_unix_s.max(0.0) as u64;
    let packed = archive::pack(&file_name(&stored.head.name), &files, planned_s)
        .context("cannot pack the archive")?;
    destination.write(&packed)?;
    console::note(&format!(
        "{path}: {}, {DEFINITION}, {}, {RESULTS_FILE} with {}, {PAGE}, {README}",
        human_size(packed.len() as u64),
        number_of(scripts.len(), "script"),
        number_of(runs, "run"),
    ));
    Ok(STATUS_DONE)
}

/// The folder of the experiment's file: the one on the command line, else as given when it ran.
fn base(words: &[String], stored: &str) -> PathBuf {
    let given = words.first().filter(|file| Path::new(file).is_file());
    let folder = Path::new(given.map_or(stored, String::as_str)).parent();
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    folder.map_or_else(|| PathBuf::from("."), Path::to_owned)
}

/// The experiment as the archive contains it: with its file's new name, and without passwords.
fn published(head: &ExperimentHead) -> ExperimentHead {
    ExperimentHead {
        file: DEFINITION.to_owned(),
        question: redact::text(&head.question),
        cite: redact::text(&head.cite),
        definition: redact::text(&head.definition),
        ..head.clone()
    }
}

/// A results file with only this experiment and its runs, and their number.
fn database(results: &Results, head: &ExperimentHead) -> Result<(Vec<u8>, usize)> {
    let name = scratch::name(wall_time().as_nanos());
    let folder = Scratch::make(&std::env::temp_dir(), &name)
        .context("cannot create a folder for a copy of the results")?;
    // At first the copy contains all runs of the file.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
    let path = folder.path().join(RESULTS_FILE);
    let runs = results.extract(head, &path)?;
    let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok((bytes, runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_looked_for_next_to_the_experiments_file() {
        for (stored, folder) in [("", "."), ("a.toml", "."), ("lab/a.toml", "lab")] {
            assert_eq!(base(&[], stored), Path::new(folder), "{stored}");
        }
        // A name without a file does not replace the path.
        let words = ["no-such-file".to_owned()];
        assert_eq!(base(&words, "lab/a.toml"), Path::new("lab"));
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.toml");
        fs::write(&file, "").unwrap();
        assert_eq!(
            base(&[file.display().to_string()], "lab/a.toml"),
            folder.path()
        );
    }

    #[test]
    fn a_published_definition_has_no_password() {
        let head = ExperimentHead {
            name: "a".to_owned(),
            file: "/home/me/a.toml".to_owned(),
            cite: "mysql://me:c4naryWord@db1/x".to_owned(),
            definition: "[server]\nurl = 'mysql://me:c4naryWord@db1/x'\n".to_owned(),
            ..ExperimentHead::default()
        };
        let shown = published(&head);
        assert_eq!(shown.cite, "mysql://me:***@db1/x");
        assert_eq!(shown.definition, "[server]\nurl = 'mysql://me:***@db1/x'\n");
        assert_eq!(
            (shown.name.as_str(), shown.file.as_str()),
            ("a", DEFINITION)
        );
    }
}
