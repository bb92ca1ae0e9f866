//! OpenSSH servers of a test's own, and the client's configuration that finds them by names.

use std::env;
use std::fs::{self, Permissions};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use xtask::servers::process::is_root;
use xtask::servers::programs::find;

use crate::command::{Running, run};
use crate::own_servers::Lab;
use crate::processes::{self, Process};

/// How long a program may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// A port that was free may be taken before a server listens there.
const ATTEMPTS: u32 = 5;
/// What servers are known as, wherever they listen.
const ALIAS: &str = "dyno-test";
/// The keys: the server's, and those of users.
const KEYS: [&str; 4] = ["host", "user", "refused", "narrow"];

/// What a user has: keys, a configuration, and an `ssh` that reads them. The machine's own reads
/// those of the home that the password file names, whatever `HOME` says; so `PATH` leads to a
/// wrapper.
pub struct Ssh {
    folder: PathBuf,
    hosts: String,
}

impl Ssh {
    /// Makes keys in the folder of a test.
    ///
    /// # Panics
    /// OpenSSH's programs are not there.
    pub fn new(lab: &Lab) -> Self {
        let folder = lab.path("ssh");
        fs::create_dir_all(folder.join("bin")).unwrap();
        for key in KEYS {
            let mut keygen = Command::new(program("ssh-keygen"));
            keygen.args(["-q", "-t", "ed25519", "-N", "", "-C", key, "-f"]);
            run(keygen.arg(folder.join(key)), LIMIT).success();
        }
        let public = |key: &str| fs::read_to_string(folder.join(format!("{key}.pub"))).unwrap();
        let known = format!("{ALIAS} {}", public("host"));
        fs::write(folder.join("known_hosts"), known).unwrap();
        let narrow = format!("no-port-forwarding {}", public("narrow"));
        fs::write(folder.join("authorized_keys"), public("user") + &narrow).unwrap();
        let wrapper = folder.join("bin/ssh");
        let (ssh, config) = (program("ssh"), folder.join("config"));
        let script = format!(
            "#!/bin/sh\nexec '{}' -F '{}' \"$@\"\n",
            ssh.display(),
            config.display()
        );
        fs::write(&wrapper, script).unwrap();
        fs::set_permissions(&wrapper, Permissions::from_mode(0o755)).unwrap();
        let hosts = String::new();
        Self { folder, hosts }
    }

    /// Names a host, with more lines of its own: a key in them is instead of the user's, and `DIR`
    /// is the folder of keys.
    pub fn add_host(&mut self, name: &str, address: SocketAddr, more: &[&str]) {
        let (ip, port) = (address.ip(), address.port());
        self.hosts += &format!("Host {name}\n  HostName {ip}\n  Port {port}\n");
        // Keys of several sections would all be tried.
        let has_key = more.iter().any(|line| line.starts_with("IdentityFile"));
        let user = (!has_key).then_some("IdentityFile DIR/user");
        for line in more.iter().copied().chain(user) {
            self.hosts += &format!("  {}\n", line.replace("DIR", &self.dir()));
        }
        let dir = self.dir();
        let all = format!(
            "Host *\n  IdentitiesOnly yes\n  HostKeyAlias {ALIAS}\n  \
             UserKnownHostsFile {dir}/known_hosts\n  GlobalKnownHostsFile /dev/null\n"
        );
        fs::write(self.folder.join("config"), format!("{}{all}", self.hosts)).unwrap();
    }

    /// The search path in which its `ssh` comes first.
    pub fn path(&self) -> String {
        let path = env::var("PATH").unwrap_or_default();
        format!("{}/bin:{path}", self.dir())
    }

    /// The client, as a user calls it.
    pub fn client(&self) -> Command {
        Command::new(self.folder.join("bin/ssh"))
    }

    fn dir(&self) -> String {
        self.folder.display().to_string()
    }
}

/// A server, with its sessions. Dropping it ends all of them.
pub struct Sshd {
    running: Running,
    address: SocketAddr,
}

impl Sshd {
    /// Starts one on the loopback interface.
    ///
    /// # Panics
    /// There is none, or it does not listen.
    pub fn start(ssh: &Ssh) -> Self {
        Self::start_with(ssh, &[])
    }

    /// Starts one on the loopback interface with more options, such as `MaxSessions=1`.
    ///
    /// # Panics
    /// There is none, or it does not listen.
    pub fn start_with(ssh: &Ssh, options: &[&str]) -> Self {
        for _ in 0..ATTEMPTS {
            let free = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            let change = |command: &mut Command| {
                command.args(options.iter().flat_map(|option| ["-o", *option]));
            };
            if let Some(started) = Self::start_at(ssh, address, change) {
                return started;
            }
        }
        panic!("sshd found no port");
    }

    /// Starts one at an address, by a command that was changed; `None` if that is in use.
    ///
    /// # Panics
    /// There is none, or it does not listen.
    pub fn start_at(
        ssh: &Ssh,
        address: SocketAddr,
        change: impl FnOnce(&mut Command),
    ) -> Option<Self> {
        if is_root() {
            // Its processes that are not yet logged in live there.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let config = ssh.folder.join(format!("sshd-{}", address.port()));
        fs::write(&config, server_config(&ssh.folder, address)).unwrap();
        // It starts itself again for each connection, and has to know where it is.
        let mut command = Command::new(program("sshd"));
        command.args(["-D", "-e", "-f"]).arg(&config);
        change(&mut command);
        let mut running = Running::start(&mut command);
        if running.tells_or_ends("Server listening on") {
            return Some(Self { running, address });
        }
        let told = running.finish(LIMIT);
        let taken = told.stderr.contains("Address already in use");
        assert!(taken, "sshd does not listen: {}", told.stderr);
        None
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The processes of its sessions, with what they started.
    pub fn processes(&self) -> Vec<Process> {
        processes::descendants(self.running.pid())
    }

    /// The processes of this program that its sessions have started, without the shells that did.
    pub fn started(&self, program: &Path) -> Vec<Process> {
        let program = program.display().to_string();
        let is_it = |one: &Process| one.file("cmdline").starts_with(&program);
        self.processes().into_iter().filter(is_it).collect()
    }

    /// Kills the processes of the session that has started this one: its connection is gone.
    ///
    /// # Panics
    /// It is none of its own.
    pub fn kill_session_of(&self, started: &Process) {
        let all = self.processes();
        let mut doomed = Vec::new();
        let mut parent = started.parent;
        while let Some(process) = all.iter().find(|one| one.pid == parent) {
            doomed.push(process.clone());
            parent = process.parent;
        }
        assert!(
            doomed.iter().any(is_session),
            "{started:?} is of no session"
        );
        for process in doomed.iter().filter(|one| is_session(one)) {
            process.signal(libc::SIGKILL);
        }
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        // They are in process groups of their own.
        for process in self.processes() {
            process.signal(libc::SIGKILL);
        }
    }
}

/// Whether it is one of the server's own processes.
fn is_session(process: &Process) -> bool {
    process.name.starts_with("sshd")
}

fn server_config(folder: &Path, address: SocketAddr) -> String {
    let dir = folder.display();
    // Without PAM an account that has a locked password cannot log in by a key either.
    let pam = if is_locked() { "yes" } else { "no" };
    format!(
        "ListenAddress {address}\n\
         HostKey {dir}/host\n\
         AuthorizedKeysFile {dir}/authorized_keys\n\
         StrictModes no\n\
         UsePAM {pam}\n\
         PidFile none\n\
         PermitRootLogin yes\n\
         PasswordAuthentication no\n\
         KbdInteractiveAuthentication no\n\
         AllowTcpForwarding yes\n\
         SetEnv XDG_STATE_HOME={dir}/state\n"
    )
}

/// Whether the password of root is locked, as far as it is root's server.
fn is_locked() -> bool {
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    is_root() && shadow.lines().any(|line| line.starts_with("root:!"))
}

/// A program of OpenSSH's.
fn program(name: &str) -> PathBuf {
    let named = env::var_os("DYNO_TEST_SSHD").filter(|_| name == "sshd");
    let found = named.map(PathBuf::from).or_else(|| find(name));
    found.unwrap_or_else(|| {
        panic!("{name} is not installed: apt install openssh-server openssh-client")
    })
}

/// A way to a server on which everything takes longer, each way.
pub struct SlowWay {
    address: SocketAddr,
}

impl SlowWay {
    /// Opens one. It ends with the process.
    ///
    /// # Panics
    /// There is no port.
    pub fn to(server: SocketAddr, delay: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let Ok(server) = TcpStream::connect(server) else {
                    continue;
                };
                let both = (client.try_clone().unwrap(), server.try_clone().unwrap());
                delayed(client, server, delay);
                delayed(both.1, both.0, delay);
            }
        });
        Self { address }
    }

    /// Where it begins.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Copies from one to the other, each piece after a time.
fn delayed(mut from: TcpStream, mut to: TcpStream, delay: Duration) {
    use std::io::{Read, Write};
    let (send, pieces) = std::sync::mpsc::channel::<(u64, Vec<u8>)>();
    to.set_nodelay(true).unwrap();
    thread::spawn(move || {
        let mut bytes = [0; 16 << 10];
        while let Ok(count @ 1..) = from.read(&mut bytes) {
            let due = Clock.now() + delay.as_nanos() as u64;
            if send.send((due, bytes[..count].to_vec())).is_err() {
                return;
            }
        }
    });
    thread::spawn(move || {
        while let Ok((due, piece)) = pieces.recv() {
            thread::sleep(Duration::from_nanos(due.saturating_sub(Clock.now())));
            if to.write_all(&piece).is_err() {
                break;
            }
        }
        let _ = to.shutdown(std::net::Shutdown::Both);
    });
}
