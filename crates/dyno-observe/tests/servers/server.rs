//! The servers from environment variables, and throw-away ones that tests may damage.

use std::ops::{Deref, DerefMut};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use dyno_core::Target;
use dyno_drivers::Control;
use tempfile::TempDir;
use xtask::servers::{Kind, Options, Server as Process, initialize, programs};

/// The timeout of an answer, for a busy machine.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A server whose administrator has no password, on 127.0.0.1.
#[derive(Clone, Copy)]
pub(crate) struct Server {
    pub kind: Kind,
    pub port: u16,
}

impl Server {
    /// The server from the environment variables.
    pub(crate) fn of(kind: Kind) -> Self {
        let name = format!("DYNO_TEST_{}_TCP", kind.tag().to_uppercase());
        let place = std::env::var(&name).unwrap_or_else(|_| panic!("set {name}"));
        let (_, port) = place.rsplit_once(':').expect("127.0.0.1:PORT");
        let port = port.parse().expect("a port");
        Self { kind, port }
    }

    pub(crate) fn user(self) -> &'static str {
        self.kind.administrator()
    }

    /// The administrator's URL, by TCP.
    pub(crate) fn url(self) -> String {
        self.url_of(self.user(), "")
    }

    /// A user's URL, by TCP, with parameters.
    pub(crate) fn url_of(self, user: &str, parameters: &str) -> String {
        let (scheme, database) = match self.kind {
            Kind::Mariadb | Kind::Mysql => ("mysql", ""),
            Kind::Postgres => ("postgres", "postgres"),
        };
        let port = self.port;
        format!("{scheme}://{user}@127.0.0.1:{port}/{database}{parameters}")
    }

    /// A connection as the administrator.
    pub(crate) fn control(self) -> Control {
        let target = Target::parse(&self.url()).unwrap();
        let connector = dyno_drivers::connector(&target).unwrap();
        Control::connect(connector.as_ref(), PATIENCE).unwrap()
    }

    /// Runs a statement as the administrator and returns the first field of its first row.
    pub(crate) fn execute(self, sql: &str) -> Option<String> {
        let rows = self.control().query(sql, PATIENCE);
        let rows = rows.unwrap_or_else(|error| panic!("{sql}: {error}"));
        rows.into_iter().next()?.into_iter().next()?
    }
}

/// The kinds of servers under test.
pub(crate) fn kinds() -> Vec<Kind> {
    programs::kinds().unwrap()
}

/// Runs a test on all kinds of servers at the same time, which saves time if it mostly waits.
pub(crate) fn on_each(test: impl Fn(Kind) + Sync) {
    let test = &test;
    thread::scope(|scope| {
        for kind in kinds() {
            scope.spawn(move || test(kind));
        }
    });
}

/// A test's private server, deleted with its files at the test's end.
pub(crate) struct PrivateServer {
    process: Process,
    // Dropped after the server, which uses it.
    _files: TempDir,
}

impl PrivateServer {
    /// Starts a server with these arguments.
    pub(crate) fn start(kind: Kind, arguments: &[&str]) -> Self {
        Self::start_below(kind, std::env::temp_dir(), arguments)
    }

    /// Starts one with its files in a folder below this one.
    pub(crate) fn start_below(kind: Kind, place: impl AsRef<Path>, arguments: &[&str]) -> Self {
        let mut builder = tempfile::Builder::new();
        // The server's user must be able to enter; a socket's path must fit.
        let open_to_all = std::fs::Permissions::from_mode(0o755);
        builder.prefix("dyno-").permissions(open_to_all);
        let files = builder.tempdir_in(place).expect("a temporary folder");
        let options = Options {
            arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
            dies_with_thread: true,
            environment: Vec::new(),
            file_size_max: None,
        };
        let process = initialize(kind, &files.path().join(kind.tag()))
            .and_then(|ready| ready.launch(options))
            .unwrap_or_else(|error| panic!("no private {kind}: {error:#}"));
        Self {
            process,
            _files: files,
        }
    }

    pub(crate) fn server(&self) -> Server {
        Server {
            kind: self.kind(),
            port: self.port(),
        }
    }
}

impl Deref for PrivateServer {
    type Target = Process;

    fn deref(&self) -> &Process {
        &self.process
    }
}

impl DerefMut for PrivateServer {
    fn deref_mut(&mut self) -> &mut Process {
        &mut self.process
    }
}
