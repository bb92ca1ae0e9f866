//! Hosts for a test: network namespaces connected by virtual cables. They disappear with their
//! processes and threads, no matter how the test ends.

use std::fs::File;
use std::io::{self, Write};
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::panic::resume_unwind;
use std::process::Command;
use std::thread;
use std::time::Duration;

use xtask::servers::programs::find;

use crate::command::{Output, run};

/// How long `ip` may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(60);
/// Hides other hosts' network interfaces and names.
const APART: libc::c_int = libc::CLONE_NEWNET | libc::CLONE_NEWUTS;

/// Runs a test on its own host, to which other hosts can be connected. If the machine does not
/// permit this, prints a note on standard error and runs nothing.
///
/// # Panics
/// The test panics.
pub fn on_own_host(test: impl FnOnce() + Send) {
    let name = thread::current().name().unwrap_or_default().to_owned();
    // A thread that has left its network cannot go back.
    let done = thread::scope(|scope| {
        let body = || match permitted() {
            Ok(()) => test(),
            Err(why) => say_not_tested(&name, &why),
        };
        scope.spawn(body).join()
    });
    if let Err(panic) = done {
        resume_unwind(panic);
    }
}

/// Moves this thread into new namespaces, and checks that cables can be created.
fn permitted() -> Result<(), String> {
    set_apart().map_err(|error| format!("a network namespace: {error}"))?;
    let tried = ip(&[
        "link", "add", "try1", "type", "veth", "peer", "name", "try2",
    ]);
    if !tried.status.success() {
        return Err(format!("a pair of virtual interfaces: {}", tried.stderr));
    }
    ip(&["link", "del", "try1"]).success();
    ip(&["link", "set", "lo", "up"]).success();
    Ok(())
}

/// Writes to stderr directly, because the test harness hides `eprintln!` in tests that pass.
fn say_not_tested(name: &str, why: &str) {
    let why = why.trim();
    let loud = format!("\nNOT TESTED: {name}: this machine does not permit {why}\n");
    io::stderr().write_all(loud.as_bytes()).unwrap();
}

/// Another host, which a cable connects to the test's host.
pub struct Host {
    network: File,
    names: File,
    number: u8,
}

impl Host {
    /// Creates a host with a name and a number, and connects it.
    ///
    /// # Panics
    /// It cannot be created.
    pub fn connect(name: &str, number: u8) -> Self {
        let (network, names) = thread::scope(|scope| {
            let made = scope.spawn(|| {
                set_apart().unwrap();
                // SAFETY: the kernel reads `name.len()` bytes of the name.
                let named = unsafe { libc::sethostname(name.as_ptr().cast(), name.len()) };
                assert_eq!(named, 0, "{}", io::Error::last_os_error());
                let own = |what: &str| File::open(format!("/proc/thread-self/ns/{what}")).unwrap();
                (own("net"), own("uts"))
            });
            made.join().unwrap()
        });
        let host = Self {
            network,
            names,
            number,
        };
        let (here, there) = (host.cable(), format!("far{number}"));
        ip(&["link", "add", &here, "type", "veth", "peer", "name", &there]).success();
        let place = format!(
            "/proc/{}/fd/{}",
            std::process::id(),
            host.network.as_raw_fd()
        );
        ip(&["link", "set", &there, "netns", &place]).success();
        let (near, far) = (host.near(), host.address());
        ip(&["address", "add", &format!("{near}/24"), "dev", &here]).success();
        ip(&["link", "set", &here, "up"]).success();
        host.ip(&["link", "set", "lo", "up"]);
        host.ip(&["address", "add", &format!("{far}/24"), "dev", &there]);
        host.ip(&["link", "set", &there, "up"]);
        host.ip(&["route", "add", "default", "via", &near.to_string()]);
        host
    }

    /// Its address.
    pub fn address(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.number, 2)
    }

    /// The address of the test's host at its end of the cable.
    pub fn near(&self) -> Ipv4Addr {
        Ipv4Addr::new(10, 77, self.number, 1)
    }

    /// Makes a command run on this host.
    pub fn attach(&self, command: &mut Command) {
        let files = [self.network.as_raw_fd(), self.names.as_raw_fd()];
        let enter = move || {
            for file in files {
                // SAFETY: a system call without pointers.
                if unsafe { libc::setns(file, 0) } != 0 {
                    return Err(io::Error::last_os_error());
                }
            }
            Ok(())
        };
        // SAFETY: only two system calls run between fork and exec, and they do not allocate; the
        // files are open for as long as the host exists.
        unsafe { command.pre_exec(enter) };
    }

    /// Unplugs the near end of the cable, or plugs it in again.
    ///
    /// # Panics
    /// This fails.
    pub fn plug(&self, is_in: bool) {
        let state = if is_in { "up" } else { "down" };
        ip(&["link", "set", &self.cable(), state]).success();
    }

    fn cable(&self) -> String {
        format!("near{}", self.number)
    }

    fn ip(&self, words: &[&str]) {
        let mut command = ip_command(words);
        self.attach(&mut command);
        run(&mut command, LIMIT).success();
    }
}

fn set_apart() -> io::Result<()> {
    // SAFETY: a system call without pointers, which affects only this thread.
    match unsafe { libc::unshare(APART) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

fn ip(words: &[&str]) -> Output {
    run(&mut ip_command(words), LIMIT)
}

fn ip_command(words: &[&str]) -> Command {
    let program = find("ip").expect("ip is installed: apt install iproute2");
    let mut command = Command::new(program);
    command.args(words);
    command
}
