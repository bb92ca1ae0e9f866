//! A folder of `dyno server` servers for one test.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use xtask::servers::Kind;

use crate::Output;
use crate::command::{Running, dyno_path, run};
use crate::server::{kinds, variable};

/// How long a command may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(180);

/// The folder. Dropping it stops any server that a failed test left running.
pub struct Lab {
    folder: TempDir,
}

impl Default for Lab {
    fn default() -> Self {
        Self::new()
    }
}

impl Lab {
    /// Creates an empty folder that the servers' unprivileged user can enter.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("ds")
            .tempdir_in("/tmp")
            .unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o711)).unwrap();
        Self { folder }
    }

    /// The folder of all servers.
    pub fn servers(&self) -> PathBuf {
        self.path("servers")
    }

    /// A path in the folder.
    pub fn path(&self, inner: &str) -> PathBuf {
        self.folder.path().join(inner)
    }

    /// A `dyno` command; blanks separate its arguments.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(dyno_path());
        command.args(line.split(' ').filter(|word| !word.is_empty()));
        command
            .current_dir(self.folder.path())
            .env("DYNO_SERVERS", self.servers())
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("XDG_STATE_HOME", self.path("state"))
            .env_remove("DYNO_RESULTS")
            .env_remove("DYNO_TARGET");
        if kinds().contains(&Kind::Mysql) {
            command.env("DYNO_SERVER_PATH", mysql_tree());
        }
        command
    }

    /// Runs `dyno` until it exits.
    pub fn dyno(&self, line: &str) -> Output {
        run(&mut self.command(line), LIMIT)
    }

    /// Starts `dyno`.
    pub fn start(&self, line: &str) -> Running {
        Running::start(&mut self.command(line))
    }

    /// The entry of a server in `dyno server list`.
    pub fn server(&self, name: &str) -> Value {
        let listed = self.dyno("server list --json").success();
        let listed: Value = serde_json::from_str(&listed.stdout).unwrap();
        let servers = listed["servers"].as_array().unwrap();
        servers
            .iter()
            .find(|server| server["name"] == name)
            .cloned()
            .unwrap_or_default()
    }

    /// The processes whose command line contains the folder.
    pub fn processes(&self) -> Vec<(u32, String)> {
        let folder = self.servers().display().to_string();
        let mut found = Vec::new();
        for entry in fs::read_dir("/proc").unwrap().flatten() {
            let Ok(pid) = entry.file_name().to_string_lossy().parse::<u32>() else {
                continue;
            };
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            if line.contains(&folder) {
                found.push((pid, line));
            }
        }
        found
    }

    /// Waits until a server is in a state, because a process that ends loses its command line
    /// before it disappears.
    pub fn wait_for_state(&self, name: &str, state: &str) {
        for _ in 0..250 {
            if self.server(name)["state"] == state {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        assert_eq!(self.server(name)["state"], state);
    }

    /// Waits until no process has the folder in its command line.
    pub fn wait_for_nobody(&self) {
        for _ in 0..1_500 {
            if self.processes().is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        panic!("still there: {:?}", self.processes());
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.command("server down --all").output();
        for (pid, _) in self.processes() {
            // SAFETY: kill has no memory effects; the process belongs to this test.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
    }
}

/// The installation folder of the tests' MySQL.
fn mysql_tree() -> PathBuf {
    let program = PathBuf::from(variable("DYNO_TEST_MYSQLD"));
    let tree = program.ancestors().nth(3).map(Path::to_owned);
    tree.unwrap_or_else(|| panic!("{program:?} is not in usr/sbin of a tree"))
}
