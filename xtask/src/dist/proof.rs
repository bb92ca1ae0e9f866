//! Checks the packages by unpacking and using them.

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::documents::Catalogue;
use super::package::Packed;
use super::{output, shell};
use crate::repository;

/// Command lines, and some of the suggestions that bash must offer at their ends.
const COMPLETED: [(&str, &str); 9] = [
    ("dyno war", "warmup"),
    ("dyno run tpc", "tpcc"),
    ("dyno run tpcc --sca", "--scale"),
    ("dyno run tpcc --mix=de", "deck"),
    ("dyno run tpcc --arrivals ", "constant"),
    ("dyno sysbench --thre", "--threads="),
    ("dyno show la", "last"),
    ("dyno compare dyno.db:la", "last"),
    ("dyno list runs --where workload=olt", "oltp_read_write"),
];

/// Unpacks the packages and uses what is in them.
///
/// # Errors
/// Something is missing, wrong, or does not work.
pub(super) fn prove(packed: &Packed, catalogue: &Catalogue) -> Result<()> {
    let scratch = tempfile::tempdir().context("cannot create a folder")?;
    let root = scratch.path().join("root");
    owners(packed)?;
    let mut unpack = Command::new("dpkg-deb");
    output(unpack.arg("-x").arg(&packed.deb).arg(&root))?;
    complete_tree(&root, catalogue)?;
    let bin = root.join("usr/bin");
    runs(&bin.join("dyno"), scratch.path())?;
    check_options(&bin.join("dyno"), catalogue)?;
    for page in listed(&root.join("usr/share/man/man1"))? {
        manual(&root.join("usr/share/man/man1").join(page))?;
    }
    let binding = root.join("usr/share/bash-completion/completions/dyno");
    completes(&binding, &bin, scratch.path())?;
    rpm(packed)?;
    unpacked_archive(packed, scratch.path())
}

/// Checks that the RPM package has the program, its manual and its dependencies.
fn rpm(packed: &Packed) -> Result<()> {
    let mut query = Command::new("rpm");
    query.args(["-qp", "--requires", "--list", "-v"]);
    let listing = output(query.arg(&packed.rpm))?;
    for part in [
        "libc.so.6(GLIBC_2.28)(64bit)",
        " /usr/bin/dyno\n",
        " /usr/share/man/man1/dyno-run.1.gz\n",
        " /usr/share/zsh/site-functions/_dyno\n",
    ] {
        ensure!(
            listing.contains(part),
            "the package lacks {part}: {listing}"
        );
    }
    let binary = listing
        .lines()
        .find(|line| line.ends_with(" /usr/bin/dyno"));
    let binary = binary.context("the package has no binary")?;
    ensure!(binary.starts_with("-rwxr-xr-x"), "{binary}");
    ensure!(binary.contains(" root "), "not root's: {binary}");
    Ok(())
}

/// Checks that root owns everything in the package, and that its control file lists the
/// dependencies.
fn owners(packed: &Packed) -> Result<()> {
    let contents = output(Command::new("dpkg-deb").arg("--contents").arg(&packed.deb))?;
    for line in contents.lines() {
        ensure!(line.contains(" root/root "), "not root's: {line}");
    }
    let binary = contents
        .lines()
        .find(|line| line.ends_with(" ./usr/bin/dyno"));
    let binary = binary.context("the package has no binary")?;
    ensure!(binary.starts_with("-rwxr-xr-x "), "{binary}");
    let mut field = Command::new("dpkg-deb");
    let depends = output(field.arg("-f").arg(&packed.deb).arg("Depends"))?;
    ensure!(depends.contains("libc6 (>= 2.28)"), "Depends: {depends}");
    Ok(())
}

/// Checks that no file is missing.
fn complete_tree(root: &Path, catalogue: &Catalogue) -> Result<()> {
    let pages = catalogue
        .commands()
        .map(|name| format!("man/man1/dyno-{name}.1.gz"));
    let others = [
        "man/man1/dyno.1.gz",
        "zsh/vendor-completions/_dyno",
        "fish/vendor_completions.d/dyno.fish",
        "doc/dyno/README.md",
        "doc/dyno/install.md",
        "doc/dyno/copyright",
        "doc/dyno/changelog.gz",
        "doc/dyno/third-party-licences.gz",
        "dyno/workloads/tpcc.lua",
    ];
    for path in pages.chain(others.map(str::to_owned)) {
        let path = root.join("usr/share").join(path);
        let size = fs::metadata(&path).map(|metadata| metadata.len());
        let size = size.with_context(|| format!("the package lacks {}", path.display()))?;
        ensure!(size > 40, "{} is nearly empty", path.display());
    }
    let scripts = listed(&root.join("usr/share/dyno/workloads"))?;
    let own = listed(&repository().join("workloads"))?;
    ensure!(
        scripts == own,
        "the package has other workloads: {scripts:?}"
    );
    Ok(())
}

/// Checks that the binary prints its version and its workloads, and runs one.
fn runs(binary: &Path, folder: &Path) -> Result<()> {
    let dyno = |arguments: &str| {
        let mut command = Command::new(binary);
        for name in ["DYNO_RESULTS", "DYNO_TARGET", "DYNO_CONFIG"] {
            command.env_remove(name);
        }
        command.current_dir(folder).args(arguments.split(' '));
        output(&mut command)
    };
    let version = dyno("--version")?;
    ensure!(version.contains(", release"), "{version}");
    ensure!(version.contains("glibc 2.28"), "{version}");
    let listed = dyno("list")?;
    ensure!(listed.contains("\ntpcc "), "{listed}");
    let run = dyno("run oltp_read_write -t 1 --warmup 0 -q --json")?;
    let run: Value = serde_json::from_str(&run).context("the result of a run is not JSON")?;
    let events = run["totals"]["events"].as_u64();
    ensure!(events > Some(0), "a run of a second did nothing: {run}");
    Ok(())
}

/// Checks that the catalogue has exactly the options of the help.
fn check_options(binary: &Path, catalogue: &Catalogue) -> Result<()> {
    for name in catalogue.commands().filter(|name| *name != "help") {
        let all = catalogue.options(name).contains(&"help-all");
        let help = if all { "--help-all" } else { "--help" };
        let help = output(Command::new(binary).args([name, help]))?;
        let lines = help.lines().filter_map(|line| {
            let line = line.strip_prefix("  ")?;
            let long = line
                .split_once("--")
                .filter(|(before, _)| before.len() == 4)?
                .1;
            long.split([' ', '=', '[']).next()
        });
        let shown: Vec<&str> = lines.collect();
        let known = catalogue.options(name);
        ensure!(
            shown == known,
            "{name}: help lists {shown:?}, the catalogue {known:?}"
        );
    }
    Ok(())
}

/// Checks that groff accepts a page without warnings.
fn manual(page: &Path) -> Result<()> {
    let text = output(Command::new("gzip").arg("-cd").arg(page))?;
    let mut groff = Command::new("groff");
    groff.args(["-man", "-Tutf8", "-Kutf8", "-ww", "-rLL=100n", "-P-cbou"]);
    groff
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = groff.spawn().context("cannot run groff")?;
    let mut input = child.stdin.take().context("groff reads nothing")?;
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let shown = child.wait_with_output().context("cannot wait for groff")?;
    let written = writer.join();
    ensure!(
        matches!(written, Ok(Ok(()))),
        "groff did not read {}",
        page.display()
    );
    let stderr = String::from_utf8_lossy(&shown.stderr);
    let shows = String::from_utf8_lossy(&shown.stdout);
    if !shown.status.success() || !stderr.is_empty() || !shows.contains("SYNOPSIS") {
        bail!("{}: {}\n{stderr}{shows}", page.display(), shown.status);
    }
    Ok(())
}

/// Checks that bash completes with the installed program, and without it from the static
/// completion.
fn completes(binding: &Path, bin: &Path, folder: &Path) -> Result<()> {
    for (line, expected) in COMPLETED {
        let offered = shell::complete(binding, bin, line, folder)?;
        ensure!(
            offered.iter().any(|word| word == expected),
            "`{line}`: {offered:?}"
        );
    }
    let old = folder.join("old");
    super::write(&old.join("dyno"), "#!/bin/sh\nexit 2\n")?;
    output(Command::new("chmod").arg("755").arg(old.join("dyno")))?;
    let offered = shell::complete(binding, &old, "dyno run --arriv", folder)?;
    ensure!(
        offered == ["--arrivals"],
        "without the program: {offered:?}"
    );
    Ok(())
}

fn unpacked_archive(packed: &Packed, folder: &Path) -> Result<()> {
    let mut tar = Command::new("tar");
    output(tar.arg("-xf").arg(&packed.archive).arg("-C").arg(folder))?;
    let top = folder.join(&packed.top);
    let version = output(Command::new(top.join("bin/dyno")).arg("--version"))?;
    ensure!(version.starts_with("dyno "), "{version}");
    ensure!(
        top.join("share/man/man1/dyno.1.gz").exists(),
        "the archive has no manual"
    );
    Ok(())
}

/// The names in a folder.
fn listed(folder: &Path) -> Result<Vec<String>> {
    let failed = || format!("cannot list {}", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).with_context(failed)? {
        names.push(
            entry
                .with_context(failed)?
                .file_name()
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}
