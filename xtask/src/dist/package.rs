//! Builds the Debian package, and an archive of the same files for other systems. [`super::rpm`]
//! packs the same files.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use clap_complete::Shell;

use super::documents::Catalogue;
use super::needs::Needs;
use super::{folder, licences, output, write};
use crate::repository;

const DOC: &str = "usr/share/doc/dyno";

/// The paths of the packages.
pub(super) struct Packed {
    /// The Debian package.
    pub deb: PathBuf,
    /// The package for RPM-based systems.
    pub rpm: PathBuf,
    /// The archive.
    pub archive: PathBuf,
    /// The name of the top folder in the archive.
    pub top: String,
}

/// Packs the binary with its documents.
///
/// # Errors
/// A file cannot be written, or a program fails.
pub(super) fn pack(binary: &Path, catalogue: &Catalogue, needs: &Needs) -> Result<Packed> {
    let root = folder().join("root");
    if root.exists() {
        fs::remove_dir_all(&root).with_context(|| format!("cannot remove {}", root.display()))?;
    }
    fill(&root, binary, catalogue)?;
    let epoch = epoch()?;
    let version = catalogue.version()?;
    let top = format!("dyno-{version}-{}-linux", env::consts::ARCH);
    let archive = folder().join(format!("{top}.tar.xz"));
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.arg(format!("--mtime=@{epoch}"));
    tar.arg(format!("--transform=s,^\\.,{top},"));
    tar.arg("-cJf")
        .arg(&archive)
        .arg("-C")
        .arg(root.join("usr"))
        .arg(".");
    output(&mut tar)?;
    let rpm = super::rpm::pack(&root, version, &epoch, needs)?;
    let deb = folder().join(format!("dyno_{version}_{}.deb", architecture()?));
    write(
        &root.join("DEBIAN/control"),
        control(version, &root, needs)?,
    )?;
    modes(&root)?;
    let mut build = Command::new("dpkg-deb");
    build.args(["--build", "--root-owner-group", "-Zxz"]);
    build.env("SOURCE_DATE_EPOCH", &epoch);
    output(build.arg(&root).arg(&deb))?;
    Ok(Packed {
        deb,
        rpm,
        archive,
        top,
    })
}

/// The timestamp of the packages, in seconds since 1970. It is the time of the commit, so that the
/// same sources give the same package.
///
/// # Errors
/// The sources have no commit time.
pub(super) fn epoch() -> Result<String> {
    if let Ok(epoch) = env::var("SOURCE_DATE_EPOCH") {
        return Ok(epoch);
    }
    let mut git = Command::new("git");
    git.args(["log", "-1", "--format=%ct"])
        .current_dir(repository());
    let commit = output(&mut git).ok();
    if let Some(epoch) = commit.filter(|_| repository().join(".git").exists()) {
        return Ok(epoch.trim().to_owned());
    }
    let changes = repository().join("CHANGELOG.md");
    let mut stat = Command::new("stat");
    output(stat.args(["-c", "%Y"]).arg(changes)).map(|epoch| epoch.trim().to_owned())
}

fn fill(root: &Path, binary: &Path, catalogue: &Catalogue) -> Result<()> {
    let sources = repository();
    copy(binary, &root.join("usr/bin/dyno"))?;
    for (name, page) in catalogue.pages()? {
        let path = root.join("usr/share/man/man1").join(name);
        write(&path, page)?;
        zip(&path)?;
    }
    for (path, text) in completions(binary, catalogue)? {
        write(&root.join("usr/share").join(path), text)?;
    }
    copy_folder(&sources.join("docs"), &root.join(DOC))?;
    copy_folder(
        &sources.join("workloads"),
        &root.join("usr/share/dyno/workloads"),
    )?;
    let changes = root.join(DOC).join("changelog");
    copy(&sources.join("CHANGELOG.md"), &changes)?;
    zip(&changes)?;
    write(
        &root.join(DOC).join("copyright"),
        licences::copyright(&sources)?,
    )?;
    let others = root.join(DOC).join("third-party-licences");
    write(&others, licences::others()?)?;
    zip(&others)?;
    modes(root)
}

/// The completions by their paths below `usr/share`. They ask the installed dyno, and are static if
/// it is missing.
fn completions(binary: &Path, catalogue: &Catalogue) -> Result<[(&'static str, String); 3]> {
    let binding = |shell| output(Command::new(binary).args(["completions", shell]));
    let bash = catalogue.completion(Shell::Bash)? + "\n" + &binding("bash")?;
    let zsh = catalogue.completion(Shell::Zsh)?;
    // The script ends by registering its function. Register dyno's own instead.
    let Some((zsh, _)) = zsh.rsplit_once("if [ \"$funcstack[1]\" = \"_dyno\" ]") else {
        bail!("clap_complete no longer registers zsh's completion in the same way");
    };
    let zsh = zsh.replace("_dyno() {", "_dyno_static() {");
    let zsh = zsh + &binding("zsh")?.replace("#compdef dyno\n", "");
    let fish = catalogue.completion(Shell::Fish)?;
    let fish = format!(
        "if not dyno __complete -- '' >/dev/null 2>&1\n{fish}end\n{}",
        binding("fish")?
    );
    Ok([
        ("bash-completion/completions/dyno", bash),
        ("zsh/vendor-completions/_dyno", zsh),
        ("fish/vendor_completions.d/dyno.fish", fish),
    ])
}

fn control(version: &str, root: &Path, needs: &Needs) -> Result<String> {
    let mut du = Command::new("du");
    let size = output(du.args(["-sk", "--apparent-size"]).arg(root.join("usr")))?;
    let size = size.split_whitespace().next().unwrap_or("0");
    let architecture = architecture()?;
    let depends = needs.packages()?.join(", ");
    Ok(format!(
        "Package: dyno\n\
         Version: {version}\n\
         Architecture: {architecture}\n\
         Maintainer: The Dyno developers\n\
         Installed-Size: {size}\n\
         Depends: {depends}\n\
         Section: database\n\
         Priority: optional\n\
         Description: dynamometer for databases\n \
         Dyno applies a load to a database server, observes what the server does, and\n \
         says how far the figures can be trusted. It runs sysbench's Lua scripts\n \
         unchanged on MySQL, MariaDB, PostgreSQL and SQLite.\n"
    ))
}

/// What Debian calls the architecture of this machine.
fn architecture() -> Result<&'static str> {
    match env::consts::ARCH {
        "x86_64" => Ok("amd64"),
        "aarch64" => Ok("arm64"),
        other => bail!("Debian's name for {other} is unknown"),
    }
}

/// Compresses a file without recording its name and time.
fn zip(path: &Path) -> Result<()> {
    output(Command::new("gzip").arg("-9nf").arg(path)).map(|_| ())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let content = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
    write(to, content)
}

fn copy_folder(from: &Path, to: &Path) -> Result<()> {
    each(from, &mut |path| {
        let name = path.strip_prefix(from)?;
        match path.is_dir() {
            true => Ok(()),
            false => copy(path, &to.join(name)),
        }
    })
}

/// Sets the mode of every installed file, so that the umask does not matter.
fn modes(root: &Path) -> Result<()> {
    each(root, &mut |path| {
        let runs = path.is_dir() || path.ends_with("usr/bin/dyno");
        let mode = if runs { 0o755 } else { 0o644 };
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .with_context(|| format!("cannot set the mode of {}", path.display()))
    })
}

/// Calls a function for a folder and for everything below it.
///
/// # Errors
/// A folder cannot be listed, or the call fails.
pub(super) fn each(folder: &Path, act: &mut impl FnMut(&Path) -> Result<()>) -> Result<()> {
    act(folder)?;
    let failed = || format!("cannot list {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        match path.is_dir() {
            true => each(&path, act)?,
            false => act(&path)?,
        }
    }
    Ok(())
}
