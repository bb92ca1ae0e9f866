//! Targets with their passwords, temporary ones, and the servers at them.

use std::path::PathBuf;

use anyhow::{Context as _, Error, Result, anyhow};
use dyno_core::clock::wall_time;
use dyno_core::db::ServerInfo;
use dyno_core::target::TargetPlan;
use dyno_core::{Secret, Target, redact};
use dyno_load::StopLevel;
use dyno_run::scratch::{self, Scratch};
use dyno_run::{Notice, Ready, Sinks};

use crate::stage::Stage;
use crate::{hints, usage};

/// The source of a target's password.
#[derive(Clone, Debug)]
pub enum Password {
    /// The URL, and this user's variables and files.
    Own,
    /// The caller, who may have found none.
    Provided(Option<Secret>),
}

/// The target of a plan, with the password from this source.
///
/// # Errors
/// The plan's target is invalid, or its password is not available.
pub(crate) fn of_plan(plan: &TargetPlan, password: &Password, notices: &Sinks) -> Result<Target> {
    let target = of_url(&plan.url().unwrap_or_default(), password, notices)?;
    hide_password(&target);
    Ok(target)
}

/// The target at a URL, with the password from this source.
///
/// # Errors
/// The URL is invalid, or the password is not available.
pub fn of_url(url: &str, password: &Password, notices: &Sinks) -> Result<Target> {
    let mut target = Target::parse(url).map_err(|error| usage(error.to_string()))?;
    match password {
        Password::Own => {
            for warning in dyno_drivers::credentials::complete(&mut target)? {
                notices.warn(warning);
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
    /// A folder that does not exist yet.
    pub fn planned() -> Self {
        Self {
            parent: std::env::temp_dir(),
            name: scratch::name(wall_time().as_nanos()),
        }
    }

    /// The URL of the database in it.
    pub fn url(&self) -> String {
        let file = self.parent.join(&self.name).join("temporary.db");
        format!("sqlite:{}", file.display())
    }

    /// Creates the folder. Dropping the return value removes it.
    ///
    /// # Errors
    /// No space, no permission, or it already exists.
    pub(crate) fn make(self, stage: &mut dyn Stage) -> Result<Scratch> {
        let scratch = Scratch::make(&self.parent, &self.name)
            .context("cannot create a folder for a temporary database")?;
        if scratch.swept().folders > 0 {
            stage.notice(&Notice::Swept(scratch.swept()));
        }
        Ok(scratch)
    }
}

/// Connects once, to learn which server it is.
///
/// # Errors
/// The server cannot be used.
pub(crate) fn server(ready: &Ready) -> Result<ServerInfo> {
    let (Some(connector), Some(target)) = (&ready.connector, &ready.job.target) else {
        return Ok(ServerInfo::default());
    };
    let stopped = || ready.stop.level() != StopLevel::None;
    let probed = dyno_drivers::probe(connector.as_ref(), target.connect_timeout_ms, &stopped);
    probed.map_err(|error| {
        let hint = hints::of_connect(&error, target);
        let error = Error::from(error).context(format!("cannot use the target {target}"));
        match hint {
            None => error,
            Some(hint) => anyhow!("{error:#}; {hint}"),
        }
    })
}
