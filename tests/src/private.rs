//! Throw-away servers that a test can stop, kill and configure.

use std::ops::{Deref, DerefMut};
use std::path::Path;
use std::thread;

use tempfile::TempDir;
use xtask::servers::{Kind, Options, Server as Process, initialize_with};

use crate::Server;

/// A server for one test, which is removed with its files at the end. It also ends when the thread
/// that started it ends.
pub struct PrivateServer {
    process: Process,
    // Dropped after the server, whose files are in it.
    _files: TempDir,
}

/// Starts a private server.
///
/// # Panics
/// The server is missing or does not start; the message has the end of its log.
pub fn start_private_server(kind: Kind) -> PrivateServer {
    start_private_server_with(kind, &[])
}

/// Starts a private server with extra arguments.
///
/// # Panics
/// The server is missing or does not start; the message has the end of its log.
pub fn start_private_server_with(kind: Kind, arguments: &[&str]) -> PrivateServer {
    let options = Options {
        arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        ..Options::default()
    };
    start(kind, None, options)
}

/// Starts a private server from the programs in a folder, with environment variables.
///
/// # Panics
/// The server is missing or does not start; the message has the end of its log.
pub fn start_private_server_of(
    kind: Kind,
    programs: Option<&Path>,
    environment: &[(&str, &str)],
) -> PrivateServer {
    let variables = environment.iter();
    let options = Options {
        environment: variables
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect(),
        ..Options::default()
    };
    start(kind, programs, options)
}

/// Starts a private server with extra arguments and a maximum file size in bytes.
///
/// # Panics
/// The server is missing or does not start; the message has the end of its log.
pub fn start_narrow_server(kind: Kind, arguments: &[&str], bytes: u64) -> PrivateServer {
    let options = Options {
        arguments: arguments.iter().map(|&text| text.to_owned()).collect(),
        file_size_max: Some(bytes),
        ..Options::default()
    };
    start(kind, None, options)
}

/// Runs a test on several servers at the same time. This saves time if the test mostly waits.
///
/// # Panics
/// The test fails on one of the servers.
pub fn at_once<T: Send>(servers: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    let test = &test;
    thread::scope(|scope| {
        for server in servers {
            scope.spawn(move || test(server));
        }
    });
}

fn start(kind: Kind, programs: Option<&Path>, options: Options) -> PrivateServer {
    let mut builder = tempfile::Builder::new();
    // The server's user must be able to enter, and the name must leave room for the path of a
    // socket.
    builder.prefix("dyno-").permissions(open_to_all());
    let files = builder.tempdir().expect("a temporary folder");
    let options = Options {
        dies_with_thread: true,
        ..options
    };
    let process = initialize_with(kind, &files.path().join(kind.tag()), programs)
        .and_then(|ready| ready.launch(options))
        .unwrap_or_else(|error| panic!("no private {kind}: {error:#}"));
    PrivateServer {
        process,
        _files: files,
    }
}

impl PrivateServer {
    /// Its address.
    pub fn server(&self) -> Server {
        Server::from(&self.process)
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

fn open_to_all() -> std::fs::Permissions {
    use std::os::unix::fs::PermissionsExt;
    std::fs::Permissions::from_mode(0o755)
}
