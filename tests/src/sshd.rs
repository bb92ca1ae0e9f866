//! OpenSSH servers for one test, and a client configuration with names for them.

use std::env;
use std::fs::{self, Permissions};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::ports::free_port;
use xtask::servers::process::is_root;
use xtask::servers::programs::find;

use crate::command::{Running, run};
use crate::own_servers::Lab;
use crate::processes::{self, Process};

/// How long a program may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// How often to look for a port: another process may take it before the server listens on it.
const ATTEMPTS: u32 = 5;
/// The name in `known_hosts`, the same for all addresses.
const ALIAS: &str = "dyno-test";
/// Names of the server's key and the users' keys.
const KEYS: [&str; 4] = ["host", "user", "refused", "narrow"];

/// A user's keys and configuration, and an `ssh` that reads them. The real `ssh` ignores `HOME` and
/// reads the home folder in the password file, so `PATH` starts with a wrapper.
pub struct Ssh {
    folder: PathBuf,
    hosts: String,
}

impl Ssh {
    /// Creates keys in the folder of a test.
    ///
    /// # Panics
    /// OpenSSH's programs are missing.
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

    /// Adds a host with more configuration lines, in which `DIR` stands for the folder of keys. A
    /// key in these lines replaces the user's key.
    pub fn add_host(&mut self, name: &str, address: SocketAddr, more: &[&str]) {
        let (ip, port) = (address.ip(), address.port());
        self.hosts += &format!("Host {name}\n  HostName {ip}\n  Port {port}\n");
        // ssh would try the keys of all sections that match.
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

    /// A search path on which the wrapper comes first.
    pub fn path(&self) -> String {
        let path = env::var("PATH").unwrap_or_default();
        format!("{}/bin:{path}", self.dir())
    }

    /// An `ssh` command as a user would call it.
    pub fn client(&self) -> Command {
        Command::new(self.folder.join("bin/ssh"))
    }

    fn dir(&self) -> String {
        self.folder.display().to_string()
    }
}

/// An SSH server with its sessions. Dropping it ends all of them.
pub struct Sshd {
    running: Running,
    address: SocketAddr,
}

impl Sshd {
    /// Starts a server on the loopback interface.
    ///
    /// # Panics
    /// The program is missing, or does not listen.
    pub fn start(ssh: &Ssh) -> Self {
        Self::start_with(ssh, &[])
    }

    /// Starts a server on the loopback interface with extra options, such as `MaxSessions=1`.
    ///
    /// # Panics
    /// The program is missing, or does not listen.
    pub fn start_with(ssh: &Ssh, options: &[&str]) -> Self {
        for _ in 0..ATTEMPTS {
            let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
            let change = |command: &mut Command| {
                command.args(options.iter().flat_map(|option| ["-o", *option]));
            };
            if let Some(started) = Self::start_at(ssh, address, change) {
                return started;
            }
        }
        panic!("sshd found no port");
    }

    /// Starts a server at an address, with changes to its command. Returns `None` if the address is
    /// in use.
    ///
    /// # Panics
    /// The program is missing, or does not listen.
    pub fn start_at(
        ssh: &Ssh,
        address: SocketAddr,
        change: impl FnOnce(&mut Command),
    ) -> Option<Self> {
        if is_root() {
            // The processes that handle log-ins need this folder.
            fs::create_dir_all("/run/sshd").unwrap();
        }
        let config = ssh.folder.join(format!("sshd-{}", address.port()));
        fs::write(&config, server_config(&ssh.folder, address)).unwrap();
        // It re-executes itself for each connection, so it needs an absolute path.
        let mut command = Command::new(program("sshd"));
        command.args(["-D", "-e", "-f"]).arg(&config);
        change(&mut command);
        let mut running = Running::start(&mut command);
        if running.prints_or_ends("Server listening on") {
            return Some(Self { running, address });
        }
        let output = running.finish(LIMIT);
        let taken = output.stderr.contains("Address already in use");
        assert!(taken, "sshd does not listen: {}", output.stderr);
        None
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The processes of its sessions and their descendants.
    pub fn processes(&self) -> Vec<Process> {
        processes::descendants(self.running.pid())
    }

    /// The processes of this program in its sessions, but not the shells that started them.
    pub fn started(&self, program: &Path) -> Vec<Process> {
        let program = program.display().to_string();
        let is_it = |one: &Process| one.file("cmdline").starts_with(&program);
        self.processes().into_iter().filter(is_it).collect()
    }

    /// Kills the session in which this process was started, which closes the connection.
    ///
    /// # Panics
    /// The process belongs to no session of this server.
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
        // The sessions are in their own process groups.
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
    // Without PAM, an account with a locked password cannot log in with a key, either.
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

/// Whether root's password is locked, which matters if the server runs as root.
fn is_locked() -> bool {
    let shadow = fs::read_to_string("/etc/shadow").unwrap_or_default();
    is_root() && shadow.lines().any(|line| line.starts_with("root:!"))
}

/// The path of an OpenSSH program.
fn program(name: &str) -> PathBuf {
    let named = env::var_os("DYNO_TEST_SSHD").filter(|_| name == "sshd");
    let found = named.map(PathBuf::from).or_else(|| find(name));
    found.unwrap_or_else(|| {
        panic!("{name} is not installed: apt install openssh-server openssh-client")
    })
}

/// A relay to a server that delays both directions.
pub struct SlowWay {
    address: SocketAddr,
}

impl SlowWay {
    /// Starts a relay, which ends with the process.
    ///
    /// # Panics
    /// No port is free.
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

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

/// Copies from one stream to the other, and delays each piece.
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
