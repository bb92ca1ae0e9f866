//! A script's reports about its run: facts about its data, derived figures, warnings.

use std::sync::{Arc, Mutex, PoisonError};

use dyno_core::record::Fact;
use dyno_core::reported::{Better, Figure, WORKLOAD, WORKLOAD_VARIES};
use dyno_core::summary::RunSummary;
use dyno_core::text::hex;
use dyno_core::{redact, visible};
use mlua::{Lua, Table};
use sha2::{Digest as _, Sha256};

use crate::config::HostConfig;
use crate::host::Host;

/// Maximum number of entries of one kind: they are for people to read.
const MAX: usize = 200;

/// The reports of a run's sessions and other functions. A later report replaces one with the same
/// name.
#[derive(Debug, Default)]
pub struct Reported(Mutex<ScriptReport>);

/// All reports, in order of their first appearance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScriptReport {
    /// Facts, named like other facts of a run.
    pub facts: Vec<Fact>,
    /// Figures.
    pub figures: Vec<Figure>,
    /// Warnings, in whole sentences.
    pub warnings: Vec<String>,
    /// The result was made from it; later reports would be lost.
    complete: bool,
}

impl Reported {
    /// The reports so far.
    pub fn read(&self) -> ScriptReport {
        self.lock().clone()
    }

    /// The reports, to which nothing more can be added.
    pub fn complete(&self) -> ScriptReport {
        let mut report = self.lock();
        report.complete = true;
        report.clone()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ScriptReport> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ScriptReport {
    fn fact(&mut self, name: &str, value: &str, varies: bool) -> Result<(), String> {
        self.in_time()?;
        // It may quote an option.
        let value = redact::text(value);
        let prefix = if varies { WORKLOAD_VARIES } else { WORKLOAD };
        let fact = Fact::new(format!("{prefix}{name}"), value, "the workload");
        put(&mut self.facts, fact, "facts", |one, other| {
            one.name == other.name
        })
    }

    fn figure(&mut self, figure: Figure) -> Result<(), String> {
        self.in_time()?;
        put(&mut self.figures, figure, "figures", |one, other| {
            one.name == other.name
        })
    }

    fn warning(&mut self, text: &str) -> Result<(), String> {
        self.in_time()?;
        put(
            &mut self.warnings,
            redact::text(text),
            "warnings",
            String::eq,
        )
    }

    fn in_time(&self) -> Result<(), String> {
        match self.complete {
            true => Err("the result is complete: report this in figures() or earlier".to_owned()),
            false => Ok(()),
        }
    }
}

/// Replaces an equal entry, or appends.
fn put<T>(
    list: &mut Vec<T>,
    new: T,
    what: &str,
    same: impl Fn(&T, &T) -> bool,
) -> Result<(), String> {
    match list.iter().position(|known| same(known, &new)) {
        Some(place) => list[place] = new,
        None if list.len() >= MAX => return Err(format!("there are {MAX} {what} already")),
        None => list.push(new),
    }
    Ok(())
}

/// The functions behind `dyno.fact`, `dyno.figure`, `dyno.warning` and the fingerprints of
/// datasets. The prelude has checked their arguments; they return errors nevertheless.
pub(crate) fn register(lua: &Lua, api: &Table, config: &Arc<HostConfig>) -> mlua::Result<()> {
    api.set("seed", config.seed.to_string())?;
    let reported = Arc::clone(&config.reported);
    let function =
        lua.create_function(move |_, (name, value, varies): (String, String, bool)| {
            Ok(reported.lock().fact(&name, &value, varies).err())
        })?;
    api.set("tell_fact", function)?;
    let reported = Arc::clone(&config.reported);
    let function = lua.create_function(move |_, figure: (String, f64, String, String)| {
        let (name, value, unit, better) = figure;
        let better = match better.as_str() {
            "higher" => Some(Better::Higher),
            "lower" => Some(Better::Lower),
            _ => None,
        };
        let figure = Figure {
            name: redact::text(&name),
            value,
            unit: redact::text(&unit),
            better,
        };
        Ok(reported.lock().figure(figure).err())
    })?;
    api.set("tell_figure", function)?;
    let reported = Arc::clone(&config.reported);
    let function = lua.create_function(move |_, text: mlua::LuaString| {
        Ok(reported.lock().warning(&text.to_string_lossy()).err())
    })?;
    api.set("tell_warning", function)?;
    // It may quote a server's message.
    let shown = lua.create_function(|_, text: mlua::LuaString| {
        Ok(visible::text(&redact::text(&text.to_string_lossy())).into_owned())
    })?;
    api.set("shown", shown)?;
    let fingerprint = lua.create_function(|_, text: String| Ok(fingerprint(&text)))?;
    api.set("fingerprint", fingerprint)
}

/// The beginning of a text's SHA-256, 16 hexadecimal digits.
fn fingerprint(text: &str) -> String {
    hex(&Sha256::digest(text)[..8])
}

impl Host {
    /// Sets the result of the main state's `dyno.measured()`.
    ///
    /// # Errors
    /// Lua is out of memory.
    pub fn set_measured(&self, summary: &RunSummary) -> Result<(), String> {
        self.measured(summary).map_err(|error| error.to_string())
    }

    fn measured(&self, summary: &RunSummary) -> mlua::Result<()> {
        let operations = self.lua.create_table()?;
        for operation in &summary.operations {
            let totals = &operation.totals;
            let of = self.lua.create_table()?;
            of.set("per_second", operation.done_per_s)?;
            for (name, count) in [
                ("done", totals.done),
                ("rolled_back", totals.rolled_back),
                ("retries", totals.retries),
                ("given_up", totals.given_up),
                ("duplicates", totals.duplicates),
                ("unknown", totals.unknown),
            ] {
                of.set(name, count as f64)?;
            }
            operations.set(operation.name.as_str(), of)?;
        }
        let measured = self.lua.create_table()?;
        measured.set("seconds", summary.measured_s)?;
        measured.set("events", summary.totals.events as f64)?;
        measured.set("per_second", summary.rates.events_per_s)?;
        measured.set("operations", operations)?;
        self.api.set("measured", measured)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replaces_repeated_reports_and_bounds_lists() {
        let mut report = ScriptReport::default();
        report.fact("a", "1", false).unwrap();
        report.fact("b", "2", true).unwrap();
        report.fact("a", "3", false).unwrap();
        let facts = report.facts.iter();
        let facts: Vec<_> = facts.map(|f| (f.name.as_str(), f.value.as_str())).collect();
        assert_eq!(facts, [("workload.a", "3"), ("run.workload.b", "2")]);
        for number in 0..MAX {
            report.warning(&number.to_string()).unwrap();
        }
        report.warning("7").unwrap();
        let why = report.warning("one more").unwrap_err();
        assert_eq!(why, "there are 200 warnings already");
    }

    #[test]
    fn fingerprints_are_the_same_for_ever() {
        // The first digits of the SHA-256 of "abc" (FIPS 180-2, appendix B.1).
        assert_eq!(fingerprint("abc"), "ba7816bf8f01cfea");
    }
}
