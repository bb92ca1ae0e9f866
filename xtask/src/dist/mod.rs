//! `cargo xtask dist`: builds the release. This is a binary that runs on old systems, its manual
//! pages and completions, packages for Debian and for RPM-based systems, and an archive.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub mod build;
mod documents;
mod licences;
pub mod needs;
mod package;
mod proof;
mod rpm;
pub mod shell;

use crate::say;
use crate::servers::programs::target_directory;

/// Builds the binary and packs it.
///
/// # Errors
/// A tool is missing, the build fails, or a package is wrong.
pub fn run() -> Result<()> {
    build::install_tools()?;
    let status = build::command()?.status().context("cannot run cargo")?;
    if !status.success() {
        bail!("dyno could not be built: {status}");
    }
    build::finish()?;
    pack()
}

/// Packs the binary that [`build`] has built, and checks that the packages work.
///
/// # Errors
/// Those of [`run`].
pub fn pack() -> Result<()> {
    let binary = build::binary();
    let needs = needs::enforce(&binary)?;
    let catalogue = documents::Catalogue::of(&binary)?;
    let packed = package::pack(&binary, &catalogue, &needs)?;
    proof::prove(&packed, &catalogue)?;
    for path in [&packed.deb, &packed.rpm, &packed.archive] {
        say(&format!("packed {}", path.display()));
    }
    Ok(())
}

/// The output folder.
fn folder() -> PathBuf {
    target_directory().join("dist")
}

/// Runs a command until it exits and returns its output.
fn output(command: &mut Command) -> Result<String> {
    let what = format!("{command:?}").replace('"', "");
    let output = command
        .output()
        .with_context(|| format!("cannot run {what}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        bail!("{what}\nfailed ({}):\n{}", output.status, stderr.trim_end());
    }
    String::from_utf8(output.stdout).with_context(|| format!("the output of {what} is not UTF-8"))
}

/// Writes a file and creates its parent folders.
fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    let failed = || format!("cannot write {}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(failed)?;
    }
    std::fs::write(path, content).with_context(failed)
}
