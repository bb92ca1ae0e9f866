//! Builds the package for RPM-based systems, with the same files as the Debian package.

use std::env;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::needs::Needs;
use super::package::each;
use super::{folder, output, write};

/// The folder for zsh functions on Debian, and that on Fedora, RHEL and openSUSE.
const ZSH: [&str; 2] = ["zsh/vendor-completions", "zsh/site-functions"];

/// Packs everything below `root`, and returns the path of the package.
///
/// # Errors
/// `rpmbuild` is not installed, or fails.
pub(super) fn pack(root: &Path, version: &str, epoch: &str, needs: &Needs) -> Result<PathBuf> {
    let top = folder().join("rpm");
    let spec = top.join("dyno.spec");
    write(&spec, specification(root, version, needs)?)?;
    let mut build = Command::new("rpmbuild");
    build.arg("-bb").arg("--quiet").arg("--define");
    build.arg(format!("_topdir {}", top.display()));
    for define in [
        "_buildhost dyno",
        "_build_id_links none",
        "_binary_payload w6.xzdio",
        "debug_package %{nil}",
        "__os_install_post %{nil}",
        "use_source_date_epoch_as_buildtime 1",
        "clamp_mtime_to_source_date_epoch 1",
    ] {
        build.args(["--define", define]);
    }
    build.env("SOURCE_DATE_EPOCH", epoch);
    output(build.arg(&spec))?;
    let arch = env::consts::ARCH;
    let made = top.join(format!("RPMS/{arch}/dyno-{version}-1.{arch}.rpm"));
    let package = folder().join(format!("dyno-{version}-1.{arch}.rpm"));
    std::fs::rename(&made, &package)
        .with_context(|| format!("rpmbuild did not write {}", made.display()))?;
    Ok(package)
}

fn specification(root: &Path, version: &str, needs: &Needs) -> Result<String> {
    let mut files = String::new();
    let share = root.join("usr");
    each(&share, &mut |path| {
        if path.is_file() {
            let path = path.strip_prefix(root)?.display().to_string();
            let mode = if path == "usr/bin/dyno" {
                "0755"
            } else {
                "0644"
            };
            let path = path.replace(ZSH[0], ZSH[1]);
            // Writing to a string does not fail.
            let _ = writeln!(files, "%attr({mode}, root, root) \"/{path}\"");
        }
        Ok(())
    })?;
    let symbols = needs
        .versions
        .iter()
        .filter(|name| name.starts_with("GLIBC_"));
    let requires: String = symbols
        .map(|name| format!("Requires: libc.so.6({name})(64bit)\n"))
        .collect();
    let [debian, own] = ZSH;
    Ok(format!(
        "Name: dyno\n\
         Version: {version}\n\
         Release: 1\n\
         Summary: Dynamometer for databases\n\
         License: Apache-2.0 OR MIT\n\
         AutoReqProv: no\n\
         {requires}\n\
         %description\n\
         Dyno applies a load to a database server, observes what the server does, and\n\
         says how far the figures can be trusted. It runs sysbench's Lua scripts\n\
         unchanged on MySQL, MariaDB, PostgreSQL and SQLite.\n\n\
         %install\n\
         mkdir -p %{{buildroot}}\n\
         cp -a {root}/usr %{{buildroot}}/\n\
         mkdir -p %{{buildroot}}/usr/share/{own}\n\
         mv %{{buildroot}}/usr/share/{debian}/_dyno %{{buildroot}}/usr/share/{own}/\n\
         rmdir %{{buildroot}}/usr/share/{debian}\n\n\
         %files\n\
         {files}",
        root = root.display()
    ))
}
