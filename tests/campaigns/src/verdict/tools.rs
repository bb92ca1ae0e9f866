//! Programs that work on a server or its disk: dump, restore, and write.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use xtask::servers::{Kind, Server, programs};

use super::bed::{Bed, DATABASE};

/// Dumps the database, restores it into an empty one, and restarts the server.
///
/// # Errors
/// A tool is not installed, or fails.
pub(super) fn restored(bed: &mut Bed, folder: &Path) -> Result<()> {
    let server = bed.server.as_ref().context("no server")?;
    let file = folder.join("dump");
    let mut dump = dump(server)?;
    succeed(dump.stdout(File::create(&file)?))?;
    bed.renew()?;
    let mut restore = client(server, "psql", "mariadb")?;
    restore.stdout(Stdio::null()).stdin(File::open(&file)?);
    succeed(&mut restore)?;
    std::fs::remove_file(&file)?;
    let server = bed.server.as_mut().context("no server")?;
    server.stop()?;
    server.start_again()
}

/// Backs up the running server and discards the backup. This is a dump that locks the tables, or a
/// copy of PostgreSQL's files at a limited rate, because others use the disk too.
///
/// # Errors
/// The tool is not installed, or fails.
pub(super) fn backup(bed: &Bed) -> Result<()> {
    let server = bed.server.as_ref().context("no server")?;
    let mut command = match server.kind() {
        Kind::Postgres => {
            let mut command = program("pg_basebackup", server)?;
            command.args(["--format=tar", "--wal-method=fetch", "--checkpoint=fast"]);
            command.args(["--max-rate=16M", "--pgdata=-"]);
            command
        }
        _ => return slowly(&mut dump(server)?),
    };
    succeed(command.stdout(Stdio::null()))
}

/// Reads the output of a command at 16 MB/s, like a network would.
fn slowly(command: &mut Command) -> Result<()> {
    let mut child = command.stdout(Stdio::piped()).spawn()?;
    let mut output = child.stdout.take().context("a dump has no output")?;
    let mut chunk = vec![0; 800_000];
    while output.read_exact(&mut chunk).is_ok() {
        thread::sleep(Duration::from_millis(50));
    }
    std::io::copy(&mut output, &mut std::io::sink())?;
    let status = child.wait()?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

/// Starts a process that writes and syncs the same file over and over.
///
/// # Errors
/// It cannot be started.
pub(super) fn writer(folder: &Path) -> Result<Child> {
    let script = "while :; do dd if=/dev/zero of=\"$0\" bs=1M count=128 oflag=direct,dsync \
                  conv=notrunc 2>/dev/null; done";
    let mut command = Command::new("sh");
    command.args(["-c", script]).arg(folder.join("written"));
    command
        .spawn()
        .context("cannot start a process that writes")
}

fn dump(server: &Server) -> Result<Command> {
    client(server, "pg_dump", "mariadb-dump")
}

/// A command for a PostgreSQL or MariaDB program, connected to the database.
fn client(server: &Server, postgres: &str, mariadb: &str) -> Result<Command> {
    let name = match server.kind() {
        Kind::Postgres => postgres,
        _ => mariadb,
    };
    let mut command = program(name, server)?;
    command.arg(DATABASE);
    Ok(command)
}

/// A command for one of the server's client programs.
fn program(name: &str, server: &Server) -> Result<Command> {
    let path = programs::find(name).with_context(|| format!("{name} is not installed"))?;
    let mut command = Command::new(path);
    let socket = server.socket();
    match server.kind() {
        Kind::Postgres => {
            let folder = socket.parent().context("the socket has no folder")?;
            command.arg("-h").arg(folder);
            command.args(["-U", "postgres", "-p", &server.port().to_string()]);
        }
        _ => {
            command
                .args(["--no-defaults", "-u", "root", "-S"])
                .arg(socket);
        }
    }
    Ok(command)
}

fn succeed(command: &mut Command) -> Result<()> {
    let ended = command.stderr(Stdio::piped()).spawn();
    let ended = ended.and_then(Child::wait_with_output);
    let ended = ended.with_context(|| format!("cannot run {command:?}"))?;
    if !ended.status.success() {
        bail!("{command:?}: {}", String::from_utf8_lossy(&ended.stderr));
    }
    Ok(())
}
