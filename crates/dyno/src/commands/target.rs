//! The target that a command line names.

use anyhow::{Context as _, Result};
use dyno_core::Target;

use crate::console;
use crate::options::Parsed;
use crate::settings::usage;

/// The target that the options or `$DYNO_TARGET` name, with its password; a temporary SQLite
/// database where nobody names one.
///
/// # Errors
/// A URL that is none, or a password that cannot be had.
pub fn target(parsed: &Parsed, command: &str) -> Result<(Target, Option<tempfile::TempDir>)> {
    let given = named(parsed);
    let Some(url) = given else {
        if command != "run" && !parsed.has("help") && !parsed.has("plan") {
            return Err(usage(format!("dyno {command} needs a --target URL")));
        }
        let folder = tempfile::Builder::new()
            .prefix("dyno-")
            .tempdir()
            .context("cannot make a folder for a temporary database")?;
        let url = format!("sqlite:{}", folder.path().join("temporary.db").display());
        return Ok((
            Target::parse(&url).map_err(|error| usage(error.to_string()))?,
            Some(folder),
        ));
    };
    let mut target = Target::parse(&url).map_err(|error| usage(error.to_string()))?;
    for warning in dyno_drivers::credentials::complete(&mut target)? {
        console::note(&format!("warning: {warning}"));
    }
    if parsed.has("ask-password") {
        let prompt = format!("Password for {}: ", target.label());
        let password = rpassword::prompt_password(prompt).context("cannot ask for the password")?;
        target.password = Some(dyno_core::Secret::new(password));
    }
    Ok((target, None))
}

/// The URL that the options or `$DYNO_TARGET` name.
pub fn named(parsed: &Parsed) -> Option<String> {
    let variable = || std::env::var("DYNO_TARGET").ok();
    let given = parsed.value("target").map(str::to_owned).or_else(variable);
    given.filter(|url| !url.is_empty())
}
