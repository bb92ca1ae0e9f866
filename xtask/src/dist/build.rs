//! Builds the release binary. zig links it against an old glibc, so this machine's does not matter.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use super::needs::GLIBC;
use super::{folder, output};
use crate::packages::logged;
use crate::repository;
use crate::servers::programs::{find, target_directory};

/// The cargo profile of the packaged binary.
const PROFILE: &str = "dist";
/// The build tools, with versions and hashes.
const TOOLS: &str = include_str!("tools.txt");

/// The stripped binary. The null server of the same build is next to it.
pub fn binary() -> PathBuf {
    folder().join("bin/dyno")
}

/// Fetches the build tools if they are missing.
///
/// # Errors
/// pip is missing, or cannot fetch the tools; the error has its output.
pub fn install_tools() -> Result<()> {
    let tools = tools();
    let complete = tools.join("complete");
    if fs::read_to_string(&complete).is_ok_and(|text| text == TOOLS) {
        return Ok(());
    }
    if tools.exists() {
        fs::remove_dir_all(&tools).with_context(|| format!("cannot remove {}", tools.display()))?;
    }
    let wanted = folder().join("tools.txt");
    super::write(&wanted, TOOLS)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--no-input", "--require-hashes"]);
    pip.args(["--disable-pip-version-check", "--only-binary=:all:"]);
    pip.arg("--requirement").arg(&wanted);
    pip.arg("--target").arg(&tools);
    logged(&mut pip, &folder().join("pip.log")).context(
        "the release binary is linked by zig, which pip fetches from PyPI: this needs python3 \
         with pip (`apt-get install python3-pip`) and the network once",
    )?;
    super::write(&complete, TOOLS)
}

/// The cargo command that builds the binary.
///
/// # Errors
/// There is no target for this machine.
pub fn command() -> Result<Command> {
    let tools = tools();
    let cache = folder().join("cache");
    let mut command = Command::new(tools.join("bin/cargo-zigbuild"));
    command.args([
        "zigbuild",
        "--profile",
        PROFILE,
        "-p",
        "dyno",
        "-p",
        "dyno-null",
    ]);
    command.args([
        "--target",
        &format!("{}.{}.{}", triple()?, GLIBC.0, GLIBC.1),
    ]);
    command.current_dir(repository());
    command.env("CARGO_ZIGBUILD_ZIG_PATH", tools.join("ziglang/zig"));
    command.env("CARGO_ZIGBUILD_CACHE_DIR", &cache);
    command.env("ZIG_GLOBAL_CACHE_DIR", &cache);
    command.env("ZIG_LOCAL_CACHE_DIR", &cache);
    // LuaJIT's own program, a step of the build, does not link the unwinder without this.
    command.env("TARGET_LIBS", "-lunwind");
    command.env("DYNO_BUILD_LIBC", format!("glibc {}.{}", GLIBC.0, GLIBC.1));
    Ok(command)
}

/// Strips the binary. What is removed goes to `dyno.debug`, for debuggers and profilers.
///
/// # Errors
/// A program of binutils fails.
pub fn finish() -> Result<()> {
    let built = target_directory().join(triple()?).join(PROFILE);
    let stripped = binary();
    let debug = folder().join("dyno.debug");
    let bin = folder().join("bin");
    fs::create_dir_all(&bin).with_context(|| format!("cannot create {}", bin.display()))?;
    let part = bin.join("dyno.part");
    let whole = built.join("dyno");
    tool("objcopy", &["--only-keep-debug"], &whole, &debug)?;
    tool("objcopy", &["--strip-all"], &whole, &part)?;
    // The link records only a file name, so run objcopy in the folder of the file.
    let mut link = Command::new("objcopy");
    link.current_dir(folder());
    output(link.arg("--add-gnu-debuglink=dyno.debug").arg(&part))?;
    // A dyno that is running keeps the old file.
    let moved = |from: &Path, to: &Path| {
        fs::rename(from, to).with_context(|| format!("cannot write {}", to.display()))
    };
    moved(&part, &stripped)?;
    let part = bin.join("null-server.part");
    fs::copy(built.join("null-server"), &part).context("cannot copy the null server")?;
    moved(&part, &bin.join("null-server"))
}

fn tool(name: &str, arguments: &[&str], from: &Path, to: &Path) -> Result<()> {
    if find(name).is_none() {
        bail!("{name} is missing: `apt-get install binutils` brings it");
    }
    output(Command::new(name).args(arguments).arg(from).arg(to)).map(|_| ())
}

fn tools() -> PathBuf {
    folder().join("tools")
}

/// The target triple of the release.
///
/// # Errors
/// There is no target for this machine.
pub fn triple() -> Result<&'static str> {
    match env::consts::ARCH {
        "x86_64" => Ok("x86_64-unknown-linux-gnu"),
        "aarch64" => Ok("aarch64-unknown-linux-gnu"),
        other => bail!("there is no release for {other}"),
    }
}
