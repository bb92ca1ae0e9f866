//! Finds a command line's target.

use std::path::PathBuf;

use anyhow::{Context as _, Result};
use dyno_core::target::TargetPlan;
use dyno_core::{Secret, Target, redact};

use crate::console;
use crate::options::Parsed;
use crate::settings::usage;
use dyno_run::scratch::{self, Scratch};

/// The source of a target's password.
#[derive(Clone, Debug)]
pub enum Password {
    /// The URL, and this user's variables and files.
    Own,
    /// The caller, who may have found none.
    Provided(Option<Secret>),
}

/// The target of the options or `$DYNO_TARGET`, with its password; by default a temporary SQLite
/// database.
///
/// # Errors
/// The URL is invalid, or the password is not available.
pub fn target(parsed: &Parsed, command: &str) -> Result<(Target, Option<Temporary>)> {
    let given = named(parsed);
    let Some(url) = given else {
        if command != "run" && !parsed.has("help") && !parsed.has("plan") {
            return Err(usage(format!("dyno {command} needs a --target URL")));
        }
        let temporary = Temporary::new();
        let target = Target::parse(&temporary.url());
        return Ok((
            target.map_err(|error| usage(error.to_string()))?,
            Some(temporary),
        ));
    };
    let mut target = parsed_url(&resolved(&url)?, &Password::Own)?;
    if parsed.has("ask-password") {
        let prompt = format!("Password for {}: ", target.label());
        let password = rpassword::prompt_password(prompt).context("cannot ask for the password")?;
        target.password = Some(dyno_core::Secret::new(password));
    }
    hide_password(&target);
    Ok((target, None))
}

/// The target of a plan, with the password from this source.
///
/// # Errors
/// The plan's target is invalid, or its password is not available.
pub fn of_plan(plan: &TargetPlan, password: &Password) -> Result<Target> {
    let target = parsed_url(&plan.url().unwrap_or_default(), password)?;
    hide_password(&target);
    Ok(target)
}

fn parsed_url(url: &str, password: &Password) -> Result<Target> {
    let mut target = Target::parse(url).map_err(|error| usage(error.to_string()))?;
    match password {
        Password::Own => {
            for warning in dyno_drivers::credentials::complete(&mut target)? {
                console::note(&format!("warning: {warning}"));
            }
        }
        Password::Provided(password) => target.password.clone_from(password),
    }
    Ok(target)
}

/// Hides the target's password in all later output and records.
pub fn hide_password(target: &Target) {
    let Some(password) = &target.password else {
        return;
    };
    let hosts: Vec<String> = target.endpoints.iter().map(ToString::to_string).collect();
    let mut shown = vec![target.user.as_str(), &target.database];
    shown.extend(
        hosts
            .iter()
            .map(|host| host.split(':').next().unwrap_or(host)),
    );
    redact::learn(password, &shown);
}

/// The folder of a temporary database. It is created later, when signals are already handled, so
/// that no interrupt leaves it behind.
pub struct Temporary {
    parent: PathBuf,
    name: String,
}

impl Temporary {
    fn new() -> Self {
        let ns = dyno_core::clock::wall_time().as_nanos();
        Self {
            parent: std::env::temp_dir(),
            name: scratch::name(ns),
        }
    }

    fn url(&self) -> String {
        let file = self.parent.join(&self.name).join("temporary.db");
        format!("sqlite:{}", file.display())
    }

    /// Creates the folder. Dropping the return value removes it.
    ///
    /// # Errors
    /// No space, no permission, or it already exists.
    pub fn make(self) -> Result<Scratch> {
        let made = Scratch::make(&self.parent, &self.name)
            .context("cannot make a folder for a temporary database")?;
        if made.swept().folders > 0 {
            console::note(&made.swept().text());
        }
        Ok(made)
    }
}

/// The URL of a target, which may name one of Dyno's own servers.
fn resolved(target: &str) -> Result<String> {
    dyno_server::url_of(target).map_err(|error| usage(format!("--target {target}: {error}")))
}

/// The URL in the options or `$DYNO_TARGET`.
pub fn named(parsed: &Parsed) -> Option<String> {
    let variable = || std::env::var("DYNO_TARGET").ok();
    let given = parsed.value("target").map(str::to_owned).or_else(variable);
    given.filter(|url| !url.is_empty())
}
