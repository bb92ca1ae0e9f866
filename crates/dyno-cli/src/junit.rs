//! `--junit`: checks and conditions as a file for build servers.

use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use dyno_report::junit::{Suite, without_result, xml};

use crate::console;
use crate::options::Parsed;
use crate::output::Destination;
use crate::settings::usage;

/// The file of `--junit`, and what it will contain.
pub(crate) struct JUnit {
    destination: Destination,
    suites: Mutex<Vec<Suite>>,
}

impl JUnit {
    /// Reads the option. Checks the file before the run, so that an invalid name fails early; the
    /// file keeps its content until there is a result.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn of(parsed: &Parsed) -> Result<Option<Self>> {
        let path = parsed.value("junit");
        if path.is_some() && path == parsed.value("json") {
            return Err(usage("--junit and --json name the same file"));
        }
        let destination = path.map(Destination::of).transpose()?;
        Ok(destination.map(|destination| Self {
            destination,
            suites: Mutex::default(),
        }))
    }

    /// Adds a run or a comparison.
    pub(crate) fn add(&self, suite: Suite) {
        let mut suites = self.suites.lock().unwrap_or_else(PoisonError::into_inner);
        suites.push(suite);
    }

    /// Writes the file, unless there are no suites.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn write(self) -> Result<()> {
        let suites = self
            .suites
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match suites.is_empty() {
            true => Ok(()),
            false => self.destination.write(xml(&suites).as_bytes()),
        }
    }
}

/// Writes the file, if one is wanted, after the runs of a command. If both failed, returns the
/// error of the runs.
///
/// # Errors
/// The error of the runs, or the file cannot be written.
pub(crate) fn finish<T>(ended: Result<T>, junit: Option<JUnit>) -> Result<T> {
    let written = junit.map_or(Ok(()), JUnit::write);
    let ended = ended?;
    written.map(|()| ended)
}

/// Writes the file of `--junit` for a command that failed before it had a result, so that an
/// earlier file is not taken for this one's. Returns the command's result.
///
/// # Errors
/// The command's error.
pub(crate) fn of_failure<T>(result: Result<T>, path: Option<&str>, name: &str) -> Result<T> {
    if let (Err(error), Some(path)) = (&result, path) {
        let why = dyno_core::redact::text(&format!("{error:#}"));
        let file = xml(&[without_result(name, &why)]);
        let written = Destination::of(path).and_then(|to| to.write(file.as_bytes()));
        if let Err(trouble) = written {
            console::note(&format!("warning: --junit: {trouble:#}"));
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;
    use dyno_core::summary::RunSummary;
    use dyno_report::junit::of_run;

    use super::*;

    fn junit(path: &str) -> Option<JUnit> {
        let parsed = Parsed {
            own: vec![("junit", Some(path.to_owned()))],
            ..Parsed::default()
        };
        JUnit::of(&parsed).unwrap()
    }

    #[test]
    fn the_file_has_every_run_even_if_a_later_one_fails() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dyno.xml").display().to_string();
        let made = junit(&path);
        assert_eq!(finish(Ok(0), made).unwrap(), 0);
        assert!(!std::path::Path::new(&path).exists(), "without a result");
        let made = junit(&path);
        for _ in 0..2 {
            let run = of_run(&RunSummary::default());
            made.as_ref().unwrap().add(run);
        }
        let failed = finish::<()>(Err(anyhow!("the third phase failed")), made);
        assert_eq!(failed.unwrap_err().to_string(), "the third phase failed");
        let file = std::fs::read_to_string(&path).unwrap();
        assert_eq!(file.matches("<testsuite ").count(), 2, "{file}");
        assert!(JUnit::of(&Parsed::default()).unwrap().is_none());
    }
}
