//! The data sent to agents: the plan without its secrets, and the script with its modules.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path};

use anyhow::{Context as _, Result, anyhow, bail};
use dyno_core::clock::wall_time;
use dyno_core::plan::{Plan, RecordPlan, Shard};
use dyno_core::redact;
use dyno_fleet::message::MESSAGE_BYTES_MAX;
use dyno_run::Ready;
use dyno_run::scratch::{self, Scratch};
use serde::{Deserialize, Serialize};

use super::load::Conditions;
use crate::usage;

/// Maximum size, to fit in a message.
const BYTES_MAX: usize = MESSAGE_BYTES_MAX / 4 * 3;

/// A run as sent to its agents.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Bundle {
    plan: Plan,
    /// The script's file among `files`; `None` for a built-in workload.
    script: Option<String>,
    /// The script and its modules, by relative path.
    files: BTreeMap<String, String>,
    /// The threads that the user requested for each agent; `None` for one per core.
    workers: Option<u32>,
}

impl Bundle {
    /// The bundle of this run.
    ///
    /// # Errors
    /// Several load generators cannot share the run, or files cannot be read or are too large.
    pub(super) fn of(ready: &Ready, plan: &Plan) -> Result<String> {
        let mut plan = plan.clone();
        plan.agents.clear();
        plan.record = RecordPlan {
            observe: false,
            ledger: dyno_core::plan::Compared::Nothing,
            calibrate: plan.record.calibrate,
            percentiles: plan.record.percentiles.clone(),
            statements: plan.record.statements || !plan.record.explain.is_empty(),
            force: true,
            ..RecordPlan::default()
        };
        let plan = plan.without_secrets();
        let hidden = |value: &dyno_core::plan::OptionValue| {
            serde_json::to_string(value).is_ok_and(|text| text.contains(redact::HIDDEN))
        };
        if let Some((name, _)) = plan.options.iter().find(|(_, value)| hidden(value)) {
            let name = name.replace('_', "-");
            return Err(usage(format!(
                "--agents: the option --{name} holds a secret, which is not sent to agents"
            )));
        }
        let mut bundle = Self {
            workers: ready.job.workers,
            script: None,
            files: BTreeMap::new(),
            plan,
        };
        if let Some(source) = ready
            .job
            .work
            .script()
            .filter(|_| !ready.job.work.is_builtin())
        {
            bundle.pack(&source.path, &source.text)?;
        }
        let text = serde_json::to_string(&bundle)?;
        // In a message it is a string, in which some characters take two bytes.
        let size = serde_json::to_string(&text)?.len();
        match size > BYTES_MAX {
            true => Err(usage(format!(
                "--agents: the script and its modules take {size} bytes in a message, more than \
                 {BYTES_MAX}"
            ))),
            false => Ok(text),
        }
    }

    fn pack(&mut self, path: &str, text: &[u8]) -> Result<()> {
        let path = Path::new(path);
        let folder = path.parent().unwrap_or_else(|| Path::new(""));
        let name = |file: &Path| {
            let within = file.strip_prefix(folder).ok().filter(|path| is_plain(path));
            let own = within.or_else(|| file.file_name().map(Path::new));
            own.map(|own| own.display().to_string())
        };
        let text_of = |path: &Path, bytes: Vec<u8>| {
            String::from_utf8(bytes).map_err(|_| {
                usage(format!(
                    "--agents: {} is not UTF-8, and cannot be sent to agents",
                    path.display()
                ))
            })
        };
        let script = name(path).ok_or_else(|| anyhow!("{} is not a file", path.display()))?;
        self.files
            .insert(script.clone(), text_of(path, text.to_vec())?);
        self.script = Some(script);
        for module in self.plan.modules.keys() {
            let path = Path::new(module);
            let bytes = fs::read(path).with_context(|| format!("cannot read {module}"))?;
            let name = name(path).ok_or_else(|| anyhow!("{module} is not a file"))?;
            self.files.insert(name, text_of(path, bytes)?);
        }
        // On the agent they are other files with the same content.
        self.plan.modules.clear();
        Ok(())
    }

    /// The plan in a bundle.
    ///
    /// # Errors
    /// It is not a bundle.
    pub(super) fn plan_of(text: &str) -> Result<Plan> {
        Ok(Self::read(text)?.plan)
    }

    fn read(text: &str) -> Result<Self> {
        serde_json::from_str(text)
            .map_err(|error| anyhow!("the coordinator sent an invalid plan: {error}"))
    }

    /// The plan of an agent with this part of the run, with the script's files in a folder.
    /// Dropping the folder removes it.
    ///
    /// # Errors
    /// It is not a bundle, or files cannot be written.
    pub(super) fn unpack(
        text: &str,
        share: Shard,
        conditions: Conditions,
    ) -> Result<(Scratch, Plan)> {
        let mut bundle = Self::read(text)?;
        let name = scratch::name(wall_time().as_nanos());
        let folder = Scratch::make(&std::env::temp_dir(), &name)
            .context("cannot create a folder for the plan")?;
        // A script may be confidential.
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700))?;
        for (name, text) in &bundle.files {
            if !is_plain(Path::new(name)) {
                bail!("the coordinator sent a file '{name}', which is not a plain path");
            }
            let path = folder.path().join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))?;
        }
        if let Some(script) = &bundle.script {
            bundle.plan.workload = folder.path().join(script).display().to_string();
        }
        let cores = dyno_run::cores() / conditions.sharing.max(1);
        let workers = bundle.workers.unwrap_or(cores).max(1);
        bundle.plan.drive.workers = workers.min(bundle.plan.drive.sessions);
        bundle.plan.drive.shard = Some(share);
        bundle.plan.record.observe = conditions.observes;
        Ok((folder, bundle.plan))
    }
}

/// Whether a path cannot leave the folder that it is joined to.
fn is_plain(path: &Path) -> bool {
    let mut parts = path.components();
    path.file_name().is_some() && parts.all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_within_their_folder() {
        for plain in ["a.lua", "lib/b.lua"] {
            assert!(is_plain(Path::new(plain)), "{plain}");
        }
        for wrong in [
            "",
            "/etc/passwd",
            "../a.lua",
            "lib/../../a.lua",
            "./a.lua/..",
        ] {
            assert!(!is_plain(Path::new(wrong)), "{wrong}");
        }
    }
}
