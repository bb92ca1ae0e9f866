//! Debian packages that the tests need.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

use crate::servers::process;
use crate::servers::programs::{find, library, postgres_bin, testbed};

/// Keeps package scripts from starting services. Its comment distinguishes it from the
/// administrator's own file.
const POLICY: &str = "#!/bin/sh\n# Made by Dyno's `cargo xtask test`; safe to remove.\nexit 101\n";
const POLICY_PATH: &str = "/usr/sbin/policy-rc.d";
/// The tests start the ssh server themselves. Unless it was installed before, it must not listen
/// after the machine's next boot. Debian's unit and script check for this file.
const SSH_SERVER: &str = "openssh-server";
const SSH_STAYS_OFF: &str = "/etc/ssh/sshd_not_to_be_run";
const SSH_STAYS_OFF_TEXT: &str =
    "Made by Dyno's `cargo xtask test`, which installed sshd; remove it to have sshd started.\n";
const PANDAS: &str = "/usr/lib/python3/dist-packages/pandas";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// The packages to install.
pub fn missing() -> Vec<&'static str> {
    let program = |name: &str| find(name).is_some();
    let postgres = if is_available("postgresql-15") {
        "postgresql-15"
    } else {
        "postgresql"
    };
    let needed = [
        (
            program("mariadbd") && program("mariadb-install-db"),
            "mariadb-server",
        ),
        (postgres_bin().is_some(), postgres),
        (
            Path::new("/usr/lib/mysql/plugin/ha_rocksdb.so").exists(),
            "mariadb-plugin-rocksdb",
        ),
        // Makes syncs do nothing.
        (library("libeatmydata.so").is_some(), "libeatmydata1"),
        (program("sysbench"), "sysbench"),
        (program("valgrind"), "valgrind"),
        // Carries messages of several load generators.
        (program("nats-server"), "nats-server"),
        // Starts agents on other hosts, which the tests simulate on this one.
        (program("sshd"), SSH_SERVER),
        (program("ssh") && program("ssh-keygen"), "openssh-client"),
        (program("ip"), "iproute2"),
        (program("patchelf"), "patchelf"),
        (program("openssl"), "openssl"),
        // Renders HTML reports.
        (program("chromium"), "chromium"),
        (Path::new(KEYRING).exists(), "debian-archive-keyring"),
        // Scrapes runs.
        (program("prometheus"), "prometheus"),
        // Samples CPU profiles.
        (program("perf"), "linux-perf"),
        // Fetches the tools that link the release.
        (has_pip(), "python3-pip"),
        // Render the release's manual, pack its archive and a package.
        (program("groff"), "groff-base"),
        (program("xz"), "xz-utils"),
        (program("rpmbuild"), "rpm"),
        // Runs the guide's notebook.
        (Path::new(PANDAS).exists(), "python3-pandas"),
    ];
    let absent = needed.into_iter().filter(|(there, _)| !there);
    absent.map(|(_, package)| package).collect()
}

/// Installs the packages in one transaction, as root or with sudo. Does not start services.
///
/// # Errors
/// This is not Debian, there is no way to become root, or apt-get fails; the error has its output.
pub fn install(log_folder: &Path) -> Result<()> {
    if missing().is_empty() {
        return Ok(());
    }
    if find("apt-get").is_none() {
        bail!(
            "{} must be installed by hand: this machine has no apt-get",
            missing().join(", ")
        );
    }
    if !process::is_root() && find("sudo").is_none() {
        bail!(
            "{} must be installed first: run this once as root, or install sudo",
            missing().join(", ")
        );
    }
    apt_get(log_folder, &["update"])?;
    // The version of PostgreSQL is not known before this point.
    let mut arguments = vec!["install", "-y", "--no-install-recommends"];
    arguments.extend(missing());
    if arguments.contains(&SSH_SERVER) {
        put(SSH_STAYS_OFF, SSH_STAYS_OFF_TEXT, "644", log_folder)?;
    }
    let policy = Policy::enforce(log_folder)?;
    let installed = apt_get(log_folder, &arguments);
    policy.lift()?;
    installed?;
    match missing()[..] {
        [] => Ok(()),
        ref rest => bail!(
            "installed, but still without what these bring: {}",
            rest.join(", ")
        ),
    }
}

/// A command that runs as root.
fn as_root(program: &str) -> Command {
    if process::is_root() {
        return Command::new(program);
    }
    let mut command = Command::new("sudo");
    command.arg(program);
    command
}

fn has_pip() -> bool {
    let output = Command::new("python3")
        .args(["-m", "pip", "--version"])
        .output();
    output.is_ok_and(|output| output.status.success())
}

fn is_available(package: &str) -> bool {
    let output = Command::new("apt-cache").args(["show", package]).output();
    output.is_ok_and(|output| output.status.success() && !output.stdout.is_empty())
}

fn apt_get(log_folder: &Path, arguments: &[&str]) -> Result<()> {
    let mut command = as_root("env");
    command.args(["DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    // Another package manager may be running, for example on a machine that has just booted.
    command.args(["-o", "DPkg::Lock::Timeout=600"]);
    command.args(arguments);
    logged(&mut command, &log_folder.join("apt.log"))
}

/// Runs a command with its output in a file. The error contains the end of that file.
pub(crate) fn logged(command: &mut Command, log: &Path) -> Result<()> {
    let what = format!("{command:?}").replace('"', "");
    let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
    command
        .stdin(Stdio::null())
        .stdout(file.try_clone()?)
        .stderr(file);
    let status = command
        .status()
        .with_context(|| format!("cannot run {what}"))?;
    if status.success() {
        return Ok(());
    }
    let text = fs::read_to_string(log).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let end = lines[lines.len().saturating_sub(10)..].join("\n");
    bail!("{what}\nfailed ({status}):\n{end}")
}

/// Writes a system file by way of a folder that this user may write to.
fn put(path: &str, text: &str, mode: &str, folder: &Path) -> Result<()> {
    let draft: PathBuf = folder.join("draft");
    fs::write(&draft, text).with_context(|| format!("cannot write {}", draft.display()))?;
    let mut install = as_root("install");
    install.args(["-D", "-m", mode]).arg(draft).arg(path);
    run(&mut install)
}

/// The policy file that package scripts read before they start a service.
struct Policy {
    ours: bool,
}

impl Policy {
    fn enforce(folder: &Path) -> Result<Self> {
        let there = Path::new(POLICY_PATH);
        if there.exists() {
            // The file is from an aborted run, or else the administrator's, which must stay.
            let ours = fs::read_to_string(there).is_ok_and(|text| text == POLICY);
            return Ok(Self { ours });
        }
        put(POLICY_PATH, POLICY, "755", folder)?;
        Ok(Self { ours: true })
    }

    fn lift(self) -> Result<()> {
        if self.ours {
            run(as_root("rm").args(["-f", POLICY_PATH]))?;
        }
        Ok(())
    }
}

fn run(command: &mut Command) -> Result<()> {
    logged(command, &testbed().join("command.log"))
}
