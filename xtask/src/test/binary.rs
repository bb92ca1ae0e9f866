//! Cargo's runner of test binaries: it records each one's time, and in the quick tests starts only
//! what the table of suites says.

use std::env;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result, bail};
use dyno_core::Clock;
use tempfile::NamedTempFile;

use super::Extent;
use super::minutes::Time;
use super::stages::seconds_since;
use super::suites::{self, Quick};
use crate::{complain, say};

/// The command of this program that [`run`] executes.
pub const COMMAND: &str = "test-binary";

const WHOLE: &str = "whole";
const QUICK: &str = "quick";

/// Runs a test binary with the arguments from cargo: `EXTENT RECORDS PROGRAM ARGUMENT…`. Returns
/// its exit status.
///
/// # Errors
/// The binary cannot be started, the table of suites does not match its tests, or its time cannot
/// be recorded.
pub fn run(arguments: &[&str]) -> Result<ExitCode> {
    let &[extent, records, program, ref arguments @ ..] = arguments else {
        bail!("only cargo starts `{COMMAND}`");
    };
    let package = env::var("CARGO_PKG_NAME").context("cargo does not name the package")?;
    let name = name(&package, Path::new(program));
    let suite = match extent {
        QUICK => suites::find(&name),
        WHOLE => None,
        other => bail!("only cargo starts `{COMMAND}`, and not with `{other}`"),
    };
    let start_ns = Clock.now();
    let mut command = Command::new(program);
    command.args(arguments);
    if let Some(suite) = suite {
        if suite.quick == Quick::No {
            say(&format!("left out of the quick tests: {}", suite.why));
            record(Path::new(records), &name, 0.0)?;
            return Ok(ExitCode::SUCCESS);
        }
        let all = list(program)?;
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let chosen = suite.choose(&all)?;
        let (some, of) = (chosen.len(), all.len());
        say(&format!("{some} of {of} are quick tests: {}", suite.why));
        command.arg("--exact").args(chosen);
    }
    let status = command
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    record(Path::new(records), &name, seconds_since(start_ns))?;
    if status.signal().is_some() {
        complain(&format!("{name}: {status}"));
    }
    Ok(exit_code(status))
}

/// The times of test binaries, in a file that [`run`] appends to.
pub(super) struct Records(NamedTempFile);

impl Records {
    pub(super) fn new() -> Result<Self> {
        let file = NamedTempFile::new().context("cannot create a file for the tests' times")?;
        Ok(Self(file))
    }

    /// Cargo's configuration that makes this program the runner, on every target.
    pub(super) fn runner(&self, extent: Extent) -> Result<String> {
        let this = env::current_exe().context("cannot find this program")?;
        let extent = match extent {
            Extent::Whole => WHOLE,
            Extent::Quick => QUICK,
        };
        let text = |path: &Path| path.display().to_string();
        let (this, file) = (text(&this), text(self.0.path()));
        let words: [&str; 4] = [&this, COMMAND, extent, &file];
        // A string in JSON is also one in TOML.
        let words = serde_json::to_string(&words)?;
        Ok(format!("target.'cfg(all())'.runner={words}"))
    }

    pub(super) fn read(&self) -> Result<Vec<Time>> {
        let path = self.0.path();
        let text =
            fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let parsed = text.lines().map(parse);
        parsed
            .collect::<Option<Vec<Time>>>()
            .with_context(|| format!("not the tests' times: {text}"))
    }
}

fn record(records: &Path, name: &str, seconds: f64) -> Result<()> {
    let failed = || format!("cannot write {}", records.display());
    let mut file = OpenOptions::new()
        .append(true)
        .open(records)
        .with_context(failed)?;
    writeln!(file, "{name}\t{seconds}").with_context(failed)
}

fn parse(line: &str) -> Option<Time> {
    let (name, seconds) = line.split_once('\t')?;
    Some(Time {
        name: name.to_owned(),
        seconds: seconds.parse().ok()?,
    })
}

/// `PACKAGE` for the unit tests of its library or program, else `PACKAGE/TARGET`.
fn name(package: &str, program: &Path) -> String {
    let file = program.file_name().unwrap_or_default().to_string_lossy();
    // Cargo appends a hash.
    let target = file.rsplit_once('-').map_or(&*file, |(target, _)| target);
    if target.replace('_', "-") == package {
        package.to_owned()
    } else {
        format!("{package}/{target}")
    }
}

/// The names of a binary's tests.
fn list(program: &str) -> Result<Vec<String>> {
    let output = Command::new(program)
        .args(["--list", "--format", "terse"])
        .output()
        .with_context(|| format!("cannot run {program}"))?;
    if !output.status.success() {
        bail!("{program} does not list its tests: {}", output.status);
    }
    Ok(listed(&String::from_utf8_lossy(&output.stdout)))
}

fn listed(text: &str) -> Vec<String> {
    let tests = text.lines().filter_map(|line| line.strip_suffix(": test"));
    tests.map(ToOwned::to_owned).collect()
}

fn exit_code(status: ExitStatus) -> ExitCode {
    // As a shell reports a signal.
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal));
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_of_packages_and_of_their_integration_tests() {
        let name = |package: &str, program: &str| name(package, Path::new(program));
        assert_eq!(
            name("dyno-core", "/t/deps/dyno_core-0123456789abcdef"),
            "dyno-core"
        );
        assert_eq!(name("dyno", "/t/deps/dyno-0123456789abcdef"), "dyno");
        let faults = name("dyno-tests", "/t/deps/faults-0123456789abcdef");
        assert_eq!(faults, "dyno-tests/faults");
        let own = name("dyno-tests", "/t/deps/own_servers-0123456789abcdef");
        assert_eq!(own, "dyno-tests/own_servers");
    }

    #[test]
    fn times_are_read_as_they_were_recorded() {
        let records = Records::new().unwrap();
        assert!(records.read().unwrap().is_empty());
        record(records.0.path(), "a/b", 1.5).unwrap();
        record(records.0.path(), "c", 0.0).unwrap();
        let times = records.read().unwrap();
        let times: Vec<_> = times
            .iter()
            .map(|time| (&*time.name, time.seconds))
            .collect();
        assert_eq!(times, [("a/b", 1.5), ("c", 0.0)]);
    }

    #[test]
    fn only_tests_are_listed() {
        let text = "a::b: test\nc: test\nd: benchmark\n";
        assert_eq!(listed(text), ["a::b", "c"]);
    }

    #[test]
    fn statuses_are_passed_on() {
        let code = |raw| format!("{:?}", exit_code(ExitStatus::from_raw(raw)));
        let expected = |code: u8| format!("{:?}", ExitCode::from(code));
        assert_eq!(code(0), expected(0));
        assert_eq!(code(101 << 8), expected(101));
        assert_eq!(code(libc::SIGKILL), expected(137));
    }

    #[test]
    fn the_runner_is_an_array_in_cargos_configuration() {
        let records = Records::new().unwrap();
        let runner = records.runner(Extent::Quick).unwrap();
        assert!(
            runner.starts_with("target.'cfg(all())'.runner=[\"/"),
            "{runner}"
        );
        assert!(
            runner.contains("\",\"test-binary\",\"quick\",\"/"),
            "{runner}"
        );
        assert!(runner.ends_with("\"]"), "{runner}");
    }
}
