//! A PostgreSQL server for these tests.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::thread;
use std::time::Duration;

use dyno_core::db::DbError;
use dyno_drivers::channel::Channel;
use dyno_drivers::postgres::{Postgres, PostgresOptions};
use tempfile::TempDir;

use crate::common::Blocking;

/// How often a starting server is checked before the test fails.
const LOOKS_MAX: u32 = 600;
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// A running server; dropping it stops the server and deletes its files.
pub(super) struct PrivateServer {
    pub port: u16,
    dir: TempDir,
    process: Child,
}

static SHARED: Mutex<Weak<PrivateServer>> = Mutex::new(Weak::new());

/// The server that tests share while any of them uses it; `set_up` runs on a new one.
pub(super) fn shared(access: &str, set_up: impl FnOnce(&mut Blocking)) -> Arc<PrivateServer> {
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(server) = shared.upgrade() {
        return server;
    }
    let server = Arc::new(PrivateServer::start(access, "rsa-sha256"));
    set_up(&mut server.admin());
    *shared = Arc::downgrade(&server);
    server
}

impl PrivateServer {
    /// Starts a server with `access` as its `pg_hba.conf` and a certificate for 127.0.0.1 of the
    /// given kind.
    pub(super) fn start(access: &str, certificate: &str) -> Self {
        let dir = tempfile::Builder::new()
            .prefix("dyno-pg")
            .tempdir()
            .unwrap();
        make_certificates(dir.path(), certificate);
        run(unprivileged(dir.path(), "initdb")
            .arg("--pgdata")
            .arg(dir.path().join("data"))
            .args(["--username=postgres", "--auth=trust", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C"]));
        fs::write(dir.path().join("data/pg_hba.conf"), access).unwrap();
        let (port, process) = spawn(dir.path());
        let mut server = Self { port, dir, process };
        for _ in 0..LOOKS_MAX {
            if server.try_admin().is_ok() {
                return server;
            }
            if server.process.try_wait().unwrap().is_some() {
                // Another process may have taken the port in between.
                let log = server.log();
                assert!(log.contains("could not bind"), "the server ended:\n{log}");
                (server.port, server.process) = spawn(server.dir.path());
            }
            thread::sleep(LOOK_AGAIN);
        }
        panic!("the server does not come up:\n{}", server.log());
    }

    /// The path of one of the server's files.
    pub(super) fn file(&self, name: &str) -> String {
        self.dir.path().join(name).display().to_string()
    }

    /// A connection as the superuser.
    pub(super) fn admin(&self) -> Blocking {
        self.try_admin().unwrap()
    }

    fn try_admin(&self) -> Result<Blocking, DbError> {
        let path = self.file(&format!(".s.PGSQL.{}", self.port));
        let socket = UnixStream::connect(&path)
            .map_err(|error| DbError::new(dyno_core::db::ErrorKind::Lost, error.to_string()))?;
        socket.set_nonblocking(true).unwrap();
        let options = PostgresOptions {
            user: "postgres".to_owned(),
            unix_socket: true,
            ..PostgresOptions::default()
        };
        let protocol = Postgres::new(&options)?;
        let channel = Channel::new(protocol, Box::new(socket), None, 0, path);
        Blocking::connect(Box::new(channel))
    }

    fn log(&self) -> String {
        fs::read_to_string(self.dir.path().join("log")).unwrap()
    }
}

impl Drop for PrivateServer {
    fn drop(&mut self) {
        // SAFETY: the process is our child and was not waited for, so the number is still its own.
        // SIGQUIT is PostgreSQL's immediate shutdown.
        let _ = unsafe { libc::kill(self.process.id() as libc::pid_t, libc::SIGQUIT) };
        let _ = self.process.wait();
    }
}

/// Starts the server of a folder on a port that was free a moment ago.
fn spawn(dir: &Path) -> (u16, Child) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let log = fs::File::create(dir.join("log")).unwrap();
    let settings = [
        format!("port={port}"),
        format!("unix_socket_directories={}", dir.display()),
        "listen_addresses=127.0.0.1".to_owned(),
        "fsync=off".to_owned(),
        "ssl=on".to_owned(),
        format!("ssl_ca_file={}", dir.join("ca.pem").display()),
        format!("ssl_cert_file={}", dir.join("server.pem").display()),
        format!("ssl_key_file={}", dir.join("server.key").display()),
    ];
    let process = unprivileged(dir, "postgres")
        .arg("-D")
        .arg(dir.join("data"))
        .args(settings.iter().flat_map(|setting| ["-c", setting]))
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .spawn()
        .unwrap();
    (port, process)
}

/// A program of PostgreSQL, which refuses to run as root: root runs it as the user `nobody`.
fn unprivileged(dir: &Path, program: &str) -> Command {
    let bin = std::env::var("DYNO_TEST_PG_BIN");
    let bin = bin.unwrap_or_else(|_| "/usr/lib/postgresql/15/bin".to_owned());
    let program = Path::new(&bin).join(program);
    // SAFETY: it only reads a number.
    let mut command = if unsafe { libc::geteuid() } == 0 {
        run(Command::new("chown").args(["-R", "nobody"]).arg(dir));
        let mut command = Command::new("setpriv");
        command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(dir);
    command
}

/// An authority, a server's certificate for 127.0.0.1 with a signature of this kind, and a client's
/// certificate for the user `certain`.
fn make_certificates(dir: &Path, kind: &str) {
    let (key, digest) = match kind {
        "rsa-sha256" => ("rsa:2048", "-sha256"),
        "rsa-sha384" => ("rsa:2048", "-sha384"),
        "ecdsa-sha512" => ("ec -pkeyopt ec_paramgen_curve:P-256", "-sha512"),
        "ed25519" => ("ed25519", "-sha256"),
        other => panic!("no certificates of kind {other}"),
    };
    let make = |args: &str| {
        run(Command::new("openssl")
            .args(args.split_whitespace())
            .current_dir(dir));
    };
    make(&format!(
        "req -x509 -newkey {key} {digest} -nodes -days 2 -subj /CN=authority \
         -keyout ca.key -out ca.pem"
    ));
    for (name, subject) in [("server", "127.0.0.1"), ("client", "certain")] {
        fs::write(dir.join("names"), "subjectAltName=IP:127.0.0.1\n").unwrap();
        make(&format!(
            "req -newkey {key} -nodes -subj /CN={subject} -keyout {name}.key -out {name}.csr"
        ));
        make(&format!(
            "x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial {digest} -days 2 \
             -extfile names -out {name}.pem"
        ));
        let private = fs::Permissions::from_mode(0o600);
        fs::set_permissions(dir.join(format!("{name}.key")), private).unwrap();
    }
}

fn run(command: &mut Command) {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("cannot run {command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{said}");
}
