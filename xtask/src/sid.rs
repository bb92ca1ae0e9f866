//! MySQL, which Debian has only in its unstable suite, and the newest PostgreSQL. They are unpacked
//! into a separate tree with every library that they need, including libc. The machine's package
//! database is not touched.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use anyhow::{Context, Result, bail};

use crate::packages::logged;
use crate::servers::process;
use crate::servers::programs::postgres_below;

const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
const PACKAGES: [&str; 3] = ["mysql-server-core", "mysql-client-core", "postgresql"];
const PROGRAMS: [&str; 4] = [
    "usr/sbin/mysqld",
    "usr/bin/mysql",
    "usr/bin/mysqladmin",
    "usr/bin/mysqldump",
];

/// Where the tree is: `folder/root`, with apt's files in `folder`.
pub struct Tree {
    folder: PathBuf,
}

impl Tree {
    /// A tree in this folder, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Whether the tree has a server that runs. The tree cannot be moved, because its programs
    /// contain the paths of its libraries.
    pub fn is_ready(&self) -> bool {
        let runs = |program: PathBuf, arguments: &[&str]| {
            let output = Command::new(program).args(arguments).output();
            output.is_ok_and(|output| output.status.success())
        };
        let postgres = self.postgres().map(|folder| folder.join("postgres"));
        self.folder.join("complete").exists()
            && runs(
                self.root().join(PROGRAMS[0]),
                &["--no-defaults", "--version"],
            )
            && postgres.is_some_and(|program| runs(program, &["--version"]))
    }

    fn postgres(&self) -> Option<PathBuf> {
        postgres_below(&self.root().join("usr/lib/postgresql"))
    }

    /// Downloads and unpacks everything again.
    ///
    /// # Errors
    /// The mirror cannot be reached, or lacks the packages. The error contains apt's output.
    pub fn fetch(&self) -> Result<()> {
        if !Path::new(KEYRING).exists() {
            bail!("{KEYRING} is missing: install the package debian-archive-keyring");
        }
        if self.folder.exists() {
            fs::remove_dir_all(&self.folder).with_context(|| self.failed("remove"))?;
        }
        for name in ["lists/partial", "cache/archives/partial", "state", "root"] {
            fs::create_dir_all(self.folder.join(name)).with_context(|| self.failed("create"))?;
        }
        // With an empty package database, apt fetches every dependency.
        fs::write(self.folder.join("state/status"), "")?;
        let source = format!("deb [signed-by={KEYRING}] {} sid main\n", mirror());
        fs::write(self.folder.join("sources.list"), source)?;
        logged(
            self.apt_get().arg("update"),
            &self.folder.join("update.log"),
        )
        .context("cannot reach Debian sid, the source of MySQL and PostgreSQL")?;
        let mut download = self.apt_get();
        download
            .args(["install", "-y", "--download-only"])
            .args(PACKAGES);
        logged(&mut download, &self.folder.join("download.log"))
            .context("cannot download MySQL and PostgreSQL from Debian sid")?;
        self.unpack()?;
        for name in ["lists", "cache", "state"] {
            fs::remove_dir_all(self.folder.join(name)).with_context(|| self.failed("remove"))?;
        }
        Ok(())
    }

    /// Makes the programs run on this machine with the loader and libraries of the tree. Needs
    /// patchelf.
    ///
    /// # Errors
    /// patchelf fails, or the programs do not run.
    pub fn patch(&self) -> Result<()> {
        let (libraries, loader) = self.loader()?;
        let postgres = self
            .postgres()
            .context("there is no PostgreSQL in Debian sid")?;
        let programs = PROGRAMS.map(|program| self.root().join(program));
        let postgres = ["postgres", "initdb"].map(|program| postgres.join(program));
        for path in programs.into_iter().chain(postgres) {
            let mut patch = Command::new("patchelf");
            patch.arg("--set-interpreter").arg(&loader);
            patch
                .args(["--force-rpath", "--set-rpath"])
                .arg(&libraries)
                .arg(&path);
            logged(&mut patch, &self.folder.join("patch.log"))?;
        }
        fs::write(self.folder.join("complete"), "")?;
        if !self.is_ready() {
            bail!(
                "MySQL and PostgreSQL were unpacked into {} but do not run",
                self.folder.display()
            );
        }
        Ok(())
    }

    fn root(&self) -> PathBuf {
        self.folder.join("root")
    }

    fn failed(&self, what: &str) -> String {
        format!("cannot {what} {}", self.folder.display())
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        let at = |name: &str| self.folder.join(name).display().to_string();
        let options = [
            format!("Dir::Etc::SourceList={}", at("sources.list")),
            "Dir::Etc::SourceParts=/dev/null".to_owned(),
            "Dir::Etc::Preferences=/dev/null".to_owned(),
            "Dir::Etc::PreferencesParts=/dev/null".to_owned(),
            format!("Dir::State={}", at("state")),
            format!("Dir::State::Lists={}", at("lists")),
            format!("Dir::State::status={}", at("state/status")),
            format!("Dir::Cache={}", at("cache")),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            // The mirror's index of the suite may have expired.
            "Acquire::Check-Valid-Until=false".to_owned(),
            "APT::Install-Recommends=false".to_owned(),
        ];
        for option in options {
            command.args(["-o", &option]);
        }
        if process::is_root() {
            // apt's unprivileged user may not be able to enter this folder.
            command.args(["-o", "APT::Sandbox::User=root"]);
        }
        command
    }

    fn unpack(&self) -> Result<()> {
        let archives = self.folder.join("cache/archives");
        let entries = fs::read_dir(&archives).with_context(|| self.failed("list"))?;
        let debs: Vec<PathBuf> = entries
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "deb"))
            .collect();
        let (first, second) = debs.split_at(debs.len() / 2);
        let extract = |debs: &[PathBuf]| debs.iter().try_for_each(|deb| self.extract(deb));
        thread::scope(|scope| {
            let other = scope.spawn(|| extract(second));
            extract(first)?;
            other.join().unwrap_or_else(|_| bail!("unpacking panicked"))
        })
    }

    fn extract(&self, deb: &Path) -> Result<()> {
        let mut command = Command::new("dpkg-deb");
        command.arg("-x").arg(deb).arg(self.root());
        let output = command.output().context("cannot run dpkg-deb")?;
        if !output.status.success() {
            let stderr = String::from_utf8_lossy(&output.stderr);
            bail!("dpkg-deb cannot unpack {}:\n{stderr}", deb.display());
        }
        Ok(())
    }

    /// The libraries of the tree, and its program loader.
    fn loader(&self) -> Result<(PathBuf, PathBuf)> {
        let (folder, name) = match std::env::consts::ARCH {
            "x86_64" => ("x86_64-linux-gnu", "ld-linux-x86-64.so.2"),
            "aarch64" => ("aarch64-linux-gnu", "ld-linux-aarch64.so.1"),
            other => bail!("cannot run Debian sid's MySQL on {other}"),
        };
        let libraries = self.root().join("usr/lib").join(folder);
        let loader = libraries.join(name);
        if !loader.exists() {
            bail!("{} is not where it was expected", loader.display());
        }
        Ok((libraries, loader))
    }
}

/// The Debian mirror of this machine, or else Debian's own.
fn mirror() -> String {
    let release = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let debian = release.lines().any(|line| line == "ID=debian");
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    let sources = read("/etc/apt/sources.list.d/debian.sources") + &read("/etc/apt/sources.list");
    let found = debian.then(|| first_mirror(&sources)).flatten();
    found.unwrap_or("http://deb.debian.org/debian").to_owned()
}

/// The first mirror in apt's source lists, in either format.
fn first_mirror(sources: &str) -> Option<&str> {
    sources.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        match words.next()? {
            "URIs:" => words.next(),
            "deb" => words.find(|word| word.contains("://")),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_are_found_in_both_formats() {
        let modern = "Types: deb\n# http://no.example\nURIs: http://a.example/debian b\n";
        assert_eq!(first_mirror(modern), Some("http://a.example/debian"));
        let classic = "# deb http://no.example\ndeb [signed-by=/k] https://b.example/d x main\n";
        assert_eq!(first_mirror(classic), Some("https://b.example/d"));
        assert_eq!(first_mirror("deb-src http://c.example x\n"), None);
    }
}
