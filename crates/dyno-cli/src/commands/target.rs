//! Finds a command line's target.

use anyhow::{Context as _, Result};
use dyno_conduct::target::{Password, Temporary, hide_password, of_url};
use dyno_core::{Secret, Target, units};

use crate::notices;
use crate::options::Parsed;
use crate::settings::usage;

/// The target of the options or `$DYNO_TARGET`, with its password; by default a temporary SQLite
/// database.
///
/// # Errors
/// The URL is invalid, or the password is not available.
pub(crate) fn target(parsed: &Parsed, command: &str) -> Result<(Target, Option<Temporary>)> {
    let given = named(parsed);
    let Some(url) = given else {
        if command != "run" && !parsed.has("help") && !parsed.has("plan") {
            return Err(usage(format!("dyno {command} needs a --target URL")));
        }
        let temporary = Temporary::planned();
        let target = Target::parse(&temporary.url());
        return Ok((
            target.map_err(|error| usage(error.to_string()))?,
            Some(temporary),
        ));
    };
    refuse_time(&url)?;
    let mut target = of_url(&resolved(&url)?, &Password::Own, &notices::quiet())?;
    if parsed.has("ask-password") {
        let prompt = format!("Password for {}: ", target.label());
        let password = rpassword::prompt_password(prompt).context("cannot ask for the password")?;
        target.password = Some(Secret::new(password));
    }
    hide_password(&target);
    Ok((target, None))
}

/// Rejects a duration: `-T` is the length of a run in pgbench.
fn refuse_time(url: &str) -> Result<()> {
    match units::parse_duration(url) {
        Ok(_) => Err(usage(format!(
            "--target: '{url}' is not a URL; the length of a run is --time or -t"
        ))),
        Err(_) => Ok(()),
    }
}

/// The URL of a target, which may name one of Dyno's own servers.
fn resolved(target: &str) -> Result<String> {
    dyno_server::url_of(target).map_err(|error| usage(format!("--target {target}: {error}")))
}

/// The URL in the options or `$DYNO_TARGET`.
pub(crate) fn named(parsed: &Parsed) -> Option<String> {
    let variable = || std::env::var("DYNO_TARGET").ok();
    let given = parsed.value("target").map(str::to_owned).or_else(variable);
    given.filter(|url| !url.is_empty())
}
