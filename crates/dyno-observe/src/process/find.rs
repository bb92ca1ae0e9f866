//! Finds the server's process, by evidence of the kernel only.

use std::net::SocketAddr;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::db::Family;

use super::PidStat;
use super::others::Near;
use super::sockets::{Peer, owner_of, peer_of, row_in, row_of};
use super::{descriptors_limit, identity};
use crate::directories::ServerDirectory;
use crate::host::ticks_per_s;
use crate::sink::Sink;
use crate::text::{fraction, names_in, of_process, small, whole, words};

/// The largest difference, in seconds, between the process's age by the kernel and by the server.
const AGE_S_MAX: f64 = 5.0;

/// A server's claims about its process.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    /// The kind of server.
    pub family: Family,
    /// PostgreSQL: the process of the observer's own connection.
    pub backend: Option<i32>,
    /// Uptime of the server, in seconds.
    pub age_s: Option<f64>,
    /// PostgreSQL: the uptime of the processes that all sessions depend on, in seconds: since the
    /// start, or since one of its processes crashed.
    pub sound_s: Option<f64>,
    /// The data directory, as the server sees the path.
    pub data_directory: Option<String>,
    /// Logs, tablespaces and other directories that may be outside it.
    pub elsewhere: Vec<ServerDirectory>,
}

/// The server's process on this host.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Located {
    pub family: Family,
    /// The single process, or the one whose children serve the connections.
    pub pid: i32,
    /// PostgreSQL: the process of the observer's own connection.
    pub backend: Option<i32>,
    /// The data directory, as this process sees the path.
    pub data: Option<PathBuf>,
    /// The data directory, as the server sees the path.
    pub data_directory: Option<String>,
    /// The data directory, and those of logs, tablespaces and so on.
    pub places: Vec<ServerDirectory>,
}

/// Where the server runs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Placed {
    /// On this host, as this process.
    Here(Located),
    /// On another host.
    Elsewhere,
    /// Not determined.
    Unknown(Near),
}

/// Why no process was found.
#[derive(Debug, PartialEq)]
enum Unknown {
    /// It runs elsewhere.
    Elsewhere(String),
    /// It cannot be decided; with the process at the other end, if known.
    Undecided(String, Option<i32>),
}

/// Finds the process at the other end of this socket, and reports the result.
pub(crate) fn locate(claim: &Claim, socket: Option<RawFd>, sink: &Sink) -> Placed {
    let Some(socket) = socket else {
        return Placed::Unknown(Near::default());
    };
    let (pid, evidence) = match find(claim, socket) {
        Ok(found) => found,
        Err(unknown) => {
            let (answer, why, placed) = match unknown {
                Unknown::Elsewhere(why) => ("no", why, Placed::Elsewhere),
                Unknown::Undecided(why, proxy) => {
                    let server = by_name_and_age(claim);
                    (
                        "unknown",
                        why,
                        Placed::Unknown(Near {
                            server,
                            proxy,
                            ..Near::default()
                        }),
                    )
                }
            };
            sink.fact(names::SERVER_SAME_HOST, answer, "the observer's connection");
            for what in [
                names::SERVER_CPU,
                names::SERVER_MEMORY,
                names::SERVER_IO,
                names::SERVER_THREADS,
                "data",
            ] {
                sink.gap(what, why.clone());
            }
            return placed;
        }
    };
    sink.fact(names::SERVER_SAME_HOST, "yes", evidence);
    sink.fact(names::SERVER_PID, pid.to_string(), evidence);
    match std::fs::read_link(of_process(pid, "exe")) {
        Ok(path) => {
            let path = path.to_string_lossy().into_owned();
            sink.fact(names::SERVER_EXECUTABLE, path, "/proc/PID/exe");
        }
        Err(error) => sink.gap(
            names::SERVER_EXECUTABLE,
            format!("cannot read /proc/{pid}/exe: {error}; run as root or as the server's user"),
        ),
    }
    identity::report(sink, pid);
    let limits = small(of_process(pid, "limits")).unwrap_or_default();
    if let Some(soft) = descriptors_limit(&limits) {
        sink.fact(names::SERVER_LIMITS_DESCRIPTORS, soft, "/proc/PID/limits");
    }
    let directory = claim.data_directory.clone();
    let directory = directory.or_else(|| working_directory(claim.family, pid));
    let data = directory.as_deref().and_then(|path| visible(pid, path));
    Placed::Here(Located {
        family: claim.family,
        pid,
        backend: claim.backend,
        data,
        places: places(claim, directory.as_deref()),
        data_directory: directory,
    })
}

/// PostgreSQL's data directory, which is the working directory of its processes. The server shows
/// its setting only to users with the right to read it.
fn working_directory(family: Family, pid: i32) -> Option<String> {
    let directory = of_process(pid, "cwd");
    let is_data = family == Family::Postgres && directory.join("PG_VERSION").exists();
    let path = is_data.then(|| std::fs::read_link(directory))?.ok()?;
    path.into_os_string().into_string().ok()
}

/// The data directory, and other directories that may be outside it.
fn places(claim: &Claim, directory: Option<&str>) -> Vec<ServerDirectory> {
    let Some(data) = directory.map(PathBuf::from) else {
        return Vec::new();
    };
    if !data.is_absolute() {
        return Vec::new();
    }
    let elsewhere = claim.elsewhere.iter().map(|place| ServerDirectory {
        path: data.join(&place.path),
        ..place.clone()
    });
    let own = ServerDirectory {
        what: "data".to_owned(),
        path: data.clone(),
    };
    std::iter::once(own).chain(elsewhere).collect()
}

fn undecided<T>(why: String) -> Result<T, Unknown> {
    Err(Unknown::Undecided(why, None))
}

fn find(claim: &Claim, socket: RawFd) -> Result<(i32, &'static str), Unknown> {
    let peer = match peer_of(socket) {
        Ok(peer) => peer,
        Err(error) => return undecided(format!("cannot query the connection: {error}")),
    };
    match peer {
        Peer::Process(pid) => by_credentials(claim, pid),
        Peer::Address { local, peer } if local.ip() != peer.ip() && !both_loopback(local, peer) => {
            match by_name_and_age(claim).filter(|pid| may_be_in_a_container(*pid)) {
                Some(pid) if serves(pid, local, peer) => Ok((
                    pid,
                    "the server's end of the connection in /proc/PID/net/tcp, and /proc/PID/fd",
                )),
                Some(pid) => undecided(format!(
                    "the server is at {}, which is not this host's own address, but process {pid} \
                     has its name and age: it may be the server, in a container of this host",
                    peer.ip()
                )),
                None => Err(Unknown::Elsewhere(format!(
                    "the server is at {}, which is not this host's own address: a server in a \
                     container or behind a proxy counts as elsewhere",
                    peer.ip()
                ))),
            }
        }
        Peer::Address { local, peer } => by_address(claim, local, peer),
    }
}

/// Whether a process of another network namespace, or a child of it, owns the other end of this
/// connection, so that there is no proxy in between.
fn serves(pid: i32, local: SocketAddr, peer: SocketAddr) -> bool {
    let owner = row_in(&pid.to_string(), peer, local).and_then(|row| owner_of(row.inode));
    owner.is_some_and(|owner| owner == pid || stat_of(owner).is_some_and(|stat| stat.parent == pid))
}

fn both_loopback(local: SocketAddr, peer: SocketAddr) -> bool {
    local.ip().is_loopback() && peer.ip().is_loopback()
}

/// Finds the other end of a UNIX socket by the peer's credentials.
fn by_credentials(claim: &Claim, pid: i32) -> Result<(i32, &'static str), Unknown> {
    let how = "SO_PEERCRED of the observer's UNIX socket";
    if pid == 0 {
        let why = "the server behind the UNIX socket is in another process namespace; run Dyno in \
                   the server's or the host's namespace";
        return undecided(why.to_owned());
    }
    accept(claim, pid).map(|pid| (pid, how))
}

/// Finds the other end of a TCP connection by the owner of the server's socket.
fn by_address(
    claim: &Claim,
    local: SocketAddr,
    peer: SocketAddr,
) -> Result<(i32, &'static str), Unknown> {
    let Some(row) = row_of(peer, local) else {
        return undecided(format!(
            "no socket of this network namespace is the server's end of {local} to {peer}: the \
             server is in a container or the connection is forwarded"
        ));
    };
    if let Some(backend) = claim.backend {
        let uid = uid_of(backend);
        if uid.is_some() && uid == Some(row.uid) {
            let how = "pg_backend_pid(), and the owner of the server's socket in /proc/net/tcp";
            return accept(claim, backend).map(|pid| (pid, how));
        }
        let why = format!(
            "process {backend}, which the server reports as its own, does not own the server's \
             socket: the server is in a container or behind a proxy"
        );
        return Err(Unknown::Undecided(why, owner_of(row.inode)));
    }
    if let Some(pid) = owner_of(row.inode) {
        let how = "the owner of the server's socket, /proc/net/tcp and /proc/PID/fd";
        return accept(claim, pid).map(|pid| (pid, how));
    }
    // An ordinary user cannot see the descriptors of others, but can see names and ages.
    let mut fitting = processes().filter(|pid| uid_of(*pid) == Some(row.uid) && fits(claim, *pid));
    match (fitting.next(), fitting.next()) {
        (Some(pid), None) => Ok((
            pid,
            "the only process with the server's name, age and user, which owns its socket",
        )),
        _ => undecided(
            "cannot read the owner of the server's socket: run Dyno as root or as the server's \
             user, or connect by its UNIX socket"
                .to_owned(),
        ),
    }
}

/// The server's process, given one that is involved in the connection.
fn accept(claim: &Claim, pid: i32) -> Result<i32, Unknown> {
    let refuse = |why: String| Err(Unknown::Undecided(why, Some(pid)));
    let Some(stat) = stat_of(pid) else {
        return undecided(format!(
            "process {pid} at the other end is not visible in /proc"
        ));
    };
    let pid = match claim.family {
        Family::Postgres => match claim.backend {
            // With TCP, the process of the session. Its parent accepts connections.
            Some(backend) if backend == pid => stat.parent,
            Some(backend) if stat_of(backend).is_some_and(|stat| stat.parent == pid) => pid,
            _ => {
                return refuse(format!(
                    "process {pid} ({}) at the other end is not the parent of the session's: a \
                     pooler or proxy is in between",
                    stat.name
                ));
            }
        },
        _ => pid,
    };
    if !has_name(claim.family, pid) {
        return refuse(format!(
            "process {pid} at the other end does not have the name of a database server: it may be \
             a proxy or a renamed program"
        ));
    }
    let age_s = age_s(pid);
    if let (Some(theirs), Some(ours)) = (claim.age_s, age_s)
        // A process is older than its service by the duration of recovery.
        && theirs > ours + AGE_S_MAX
    {
        return refuse(format!(
            "process {pid} at the other end has run for {ours:.0} s, but the server for \
             {theirs:.0} s: a proxy is in between"
        ));
    }
    Ok(pid)
}

/// Whether a process matches the server by name and age.
fn fits(claim: &Claim, pid: i32) -> bool {
    let ages = claim.age_s.zip(age_s(pid));
    let same_age = ages.is_some_and(|(theirs, ours)| (theirs - ours).abs() <= AGE_S_MAX);
    same_age && has_name(claim.family, pid)
}

/// The only process of this host with the server's name and age, if any. Of several, only those
/// count whose working directory is the server's data directory, as is usual for servers.
fn by_name_and_age(claim: &Claim) -> Option<i32> {
    let fitting: Vec<i32> = processes().filter(|pid| fits(claim, *pid)).collect();
    let is_child = |pid: i32| stat_of(pid).is_some_and(|stat| fitting.contains(&stat.parent));
    let mut first: Vec<i32> = fitting.clone();
    first.retain(|pid| !is_child(*pid));
    if first.len() > 1 {
        let works_there = |pid: &i32| {
            let place = std::fs::read_link(of_process(*pid, "cwd")).ok();
            place.is_some() && place == claim.data_directory.as_ref().map(PathBuf::from)
        };
        first.retain(works_there);
    }
    match first.as_slice() {
        [one] => Some(*one),
        _ => None,
    }
}

/// Whether a process may have a separate network, as far as this process can see.
fn may_be_in_a_container(pid: i32) -> bool {
    let network = |of: PathBuf| std::fs::read_link(of.join("ns/net")).ok();
    let own = network(PathBuf::from("/proc/self"));
    let theirs = network(of_process(pid, ""));
    theirs.is_none() || theirs != own
}

pub(super) fn has_name(family: Family, pid: i32) -> bool {
    let names = family.server_programs();
    let executable = std::fs::read_link(of_process(pid, "exe")).ok();
    let executable = executable.as_deref().and_then(Path::file_name);
    let executable = executable
        .and_then(|name| name.to_str())
        .unwrap_or_default();
    let comm = small(of_process(pid, "comm")).unwrap_or_default();
    names
        .iter()
        .any(|name| comm.starts_with(name) || executable.starts_with(name))
}

pub(super) fn stat_of(pid: i32) -> Option<PidStat> {
    PidStat::parse(&std::fs::read(of_process(pid, "stat")).ok()?)
}

/// The age of a process.
fn age_s(pid: i32) -> Option<f64> {
    let uptime = std::fs::read("/proc/uptime").ok()?;
    let uptime_s = words(&uptime).next().and_then(fraction)?;
    Some(uptime_s - stat_of(pid)?.start_ticks as f64 / ticks_per_s())
}

fn uid_of(pid: i32) -> Option<u32> {
    let status = std::fs::read(of_process(pid, "status")).ok()?;
    let line = crate::text::lines(&status).find(|line| line.starts_with(b"Uid:"))?;
    // Real, effective, saved, file system.
    words(line).nth(2).and_then(whole)?.try_into().ok()
}

pub(super) fn processes() -> impl Iterator<Item = i32> {
    let names = names_in("/proc").into_iter();
    names.filter_map(|name| whole(name.as_bytes())?.try_into().ok())
}

/// A server's path as this process sees it, if visible.
fn visible(pid: i32, path: &str) -> Option<PathBuf> {
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let path = Path::new(path);
    if !path.is_absolute() {
        return None;
    }
    let own = space("self");
    let seen = match space(&pid.to_string()) {
        theirs @ Some(_) if theirs == own => path.to_owned(),
        // In a container: through the process's root, which only root may enter.
        _ => Path::new(&format!("/proc/{pid}/root")).join(path.strip_prefix("/").ok()?),
    };
    std::fs::read_dir(&seen).is_ok().then_some(seen)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::mpsc::sync_channel;

    use super::*;

    fn claim(family: Family) -> Claim {
        Claim {
            family,
            backend: None,
            age_s: None,
            sound_s: None,
            data_directory: None,
            elsewhere: Vec::new(),
        }
    }

    #[test]
    fn the_owner_of_the_other_end_of_a_connection_serves_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_served, _) = listener.accept().unwrap();
        let own = i32::try_from(std::process::id()).unwrap();
        let (local, peer) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
        assert!(serves(own, local, peer));
        assert!(!serves(own, local, local), "no such connection");
    }

    #[test]
    fn another_program_is_not_mistaken_for_the_server() {
        // The other end is this test's process, which is not called mysqld.
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let tcp = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (_accepted, _) = listener.accept().unwrap();
        let folder = std::env::temp_dir().join(format!("dyno-find-{}", std::process::id()));
        let listener = UnixListener::bind(&folder).unwrap();
        let unix = UnixStream::connect(&folder).unwrap();
        for socket in [tcp.as_raw_fd(), unix.as_raw_fd()] {
            let (sender, seen) = sync_channel(99);
            let located = locate(&claim(Family::Mysql), Some(socket), &Sink::new(sender));
            let Placed::Unknown(near) = located else {
                panic!("{located:?}");
            };
            assert_eq!(near.server, None);
            assert_eq!(near.proxy, Some(std::process::id() as i32));
            let text = format!("{:?}", seen.try_iter().collect::<Vec<_>>());
            assert!(
                text.contains("\"unknown\"") && text.contains("it may be a proxy"),
                "{text}"
            );
        }
        drop(listener);
        std::fs::remove_file(&folder).unwrap();
    }

    #[test]
    fn a_server_behind_an_intermediary_is_identified_by_name_and_age() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().canonicalize().unwrap();
        let program = place.join("mysqld");
        std::os::unix::fs::symlink("/bin/sh", &program).unwrap();
        let mut server = std::process::Command::new(&program)
            .args(["-c", "read line"])
            .current_dir(&place)
            .stdin(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let pid = server.id() as i32;
        let mut claim = claim(Family::Mysql);
        // Other processes of its age work in other directories.
        claim.data_directory = place.to_str().map(str::to_owned);
        assert_eq!(by_name_and_age(&claim), None);
        claim.age_s = Some(0.0);
        let found = by_name_and_age(&claim);
        claim.age_s = Some(1e9);
        let older = by_name_and_age(&claim);
        assert!(!may_be_in_a_container(pid));
        server.kill().unwrap();
        server.wait().unwrap();
        assert_eq!((found, older), (Some(pid), None));
    }

    #[test]
    fn ages_are_those_of_processes() {
        let own = age_s(std::process::id() as i32).unwrap();
        assert!((-1.0..86_400.0).contains(&own), "{own}");
        // SAFETY: a call without pointers.
        let uid = unsafe { libc::geteuid() };
        assert_eq!(uid_of(std::process::id() as i32), Some(uid));
        assert!(processes().any(|pid| pid == std::process::id() as i32));
    }
}
