//! Files that cannot be used: Dyno reports them clearly and leaves them unchanged.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{head, interval, latencies, summary};
use dyno_core::record::RunState;
use dyno_results::{APPLICATION_ID, Filter, Problem, Results, ResultsError, SCHEMA_VERSION, Scope};
use rusqlite::Connection;
use tempfile::TempDir;

fn one_run(folder: &Path) -> PathBuf {
    let path = folder.join("dyno.db");
    let mut writer = Results::open(&path).unwrap().begin(&head("a")).unwrap();
    writer
        .interval(&interval(1), &[("event", &latencies(10, 4))])
        .unwrap();
    writer
        .finish(&summary(), RunState::Completed, &[], &[])
        .unwrap();
    path
}

/// Checks that opening the file fails in the same way to read and to write, and leaves it
/// unchanged.
fn refused(path: &Path, fits: impl Fn(&Problem) -> bool, words: &[&str]) {
    let before = fs::read(path).ok();
    let errors: [ResultsError; 2] = [
        Results::open(path).unwrap_err(),
        Results::open_read(path).unwrap_err(),
    ];
    for error in errors {
        assert!(fits(&error.problem), "{error:?}");
        let message = error.to_string();
        assert!(message.contains(&path.display().to_string()), "{message}");
        for word in words {
            assert!(message.contains(word), "`{word}` in: {message}");
        }
    }
    assert_eq!(fs::read(path).ok(), before);
}

#[test]
fn leaves_other_files_unchanged() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("notes.txt");
    fs::write(
        &path,
        "these are my notes, and nobody may overwrite them".repeat(100),
    )
    .unwrap();
    refused(
        &path,
        |p| matches!(p, Problem::NotSqlite),
        &["not an SQLite", "another file"],
    );
    fs::write(&path, "short").unwrap();
    refused(
        &path,
        |p| matches!(p, Problem::NotSqlite),
        &["not an SQLite"],
    );
    refused(
        folder.path(),
        |p| matches!(p, Problem::Directory),
        &["a directory"],
    );
}

#[test]
fn databases_of_others_are_left_alone() {
    let folder = TempDir::new().unwrap();
    for (application_id, wal) in [(0, false), (0, true), (0x4750_4b47, false)] {
        let path = folder
            .path()
            .join(format!("other-{application_id}-{wal}.db"));
        let connection = Connection::open(&path).unwrap();
        if wal {
            connection
                .pragma_update(None, "journal_mode", "wal")
                .unwrap();
        }
        connection
            .execute_batch("CREATE TABLE mine (x); INSERT INTO mine VALUES (1)")
            .unwrap();
        connection
            .pragma_update(None, "application_id", application_id)
            .unwrap();
        drop(connection);
        refused(
            &path,
            |p| matches!(p, Problem::Foreign(_)),
            &["another program"],
        );
    }
}

#[test]
fn a_newer_file_is_left_alone() {
    let folder = TempDir::new().unwrap();
    let path = one_run(folder.path());
    let connection = Connection::open(&path).unwrap();
    connection
        .pragma_update(None, "user_version", SCHEMA_VERSION + 1)
        .unwrap();
    drop(connection);
    refused(
        &path,
        |p| matches!(p, Problem::Newer { .. }),
        &["newer program", "version"],
    );
}

#[test]
fn a_truncated_file_is_damaged() {
    let folder = TempDir::new().unwrap();
    let path = one_run(folder.path());
    let whole = fs::read(&path).unwrap();
    for length in [50, 4000, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        refused(
            &path,
            |p| matches!(p, Problem::Damaged(_)),
            &["damaged", "backup"],
        );
    }
}

#[test]
fn reading_an_overwritten_file_is_an_error() {
    let folder = TempDir::new().unwrap();
    let path = one_run(folder.path());
    let mut bytes = fs::read(&path).unwrap();
    let (page, pages) = (8192, bytes.len() / 8192);
    for number in 2..pages {
        bytes[number * page..number * page + 200].fill(0xaa);
    }
    fs::write(&path, &bytes).unwrap();
    let read = Results::open_read(&path).and_then(|results| results.load(1, &Scope::whole()));
    let error = read.unwrap_err();
    assert!(matches!(error.problem, Problem::Damaged(_)), "{error:?}");
}

#[test]
fn a_missing_file_is_created_only_for_writing() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let error = Results::open_read(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Missing), "{error}");
    assert!(!path.exists());
    fs::write(&path, "").unwrap();
    let error = Results::open_read(&path).unwrap_err();
    assert!(matches!(error.problem, Problem::Empty), "{error}");
    assert_eq!(fs::read(&path).unwrap(), b"");
    drop(Results::open(&path).unwrap());
    assert!(Results::open_read(&path).is_ok());
    let nowhere = folder.path().join("no/such/folder/dyno.db");
    let error = Results::open(&nowhere).unwrap_err();
    assert!(matches!(error.problem, Problem::NoFolder(_)), "{error}");
}

#[test]
fn an_application_id_makes_the_file_known() {
    let folder = TempDir::new().unwrap();
    let connection = Connection::open(one_run(folder.path())).unwrap();
    let number = |sql| {
        connection
            .query_row(sql, [], |row| row.get::<_, i32>(0))
            .unwrap()
    };
    assert_eq!(number("PRAGMA application_id"), APPLICATION_ID);
    assert_eq!(number("PRAGMA user_version"), SCHEMA_VERSION);
    assert_eq!(
        number("SELECT max(version) FROM schema_history"),
        SCHEMA_VERSION
    );
}

/// The folder with the files for the child process.
const CHILD_FOLDER: &str = "DYNO_TEST_CHILD_FOLDER";

/// An unprivileged user: `nobody` on all common systems.
const NOBODY: u32 = 65_534;

/// Not a test itself: permissions do not restrict root, so this part runs as nobody.
#[test]
#[ignore = "the child process of the next test, which starts it"]
fn child_without_rights() {
    let folder = PathBuf::from(std::env::var_os(CHILD_FOLDER).expect("only a test runs this"));
    let readable = folder.join("readable/dyno.db");
    let results = Results::open_read(&readable).unwrap();
    assert_eq!(results.runs(&Filter::default()).unwrap().len(), 1);
    assert_eq!(results.load(1, &Scope::whole()).unwrap().intervals.len(), 1);
    let error = Results::open(&readable).unwrap_err();
    assert!(matches!(error.problem, Problem::ReadOnly(_)), "{error:?}");
    assert!(error.to_string().contains("permissions"), "{error}");
    let error = Results::open(&folder.join("readable/new.db")).unwrap_err();
    assert!(matches!(error.problem, Problem::Denied(_)), "{error:?}");
    for error in [
        Results::open(&folder.join("secret.db")).unwrap_err(),
        Results::open_read(&folder.join("secret.db")).unwrap_err(),
    ] {
        assert!(matches!(error.problem, Problem::Denied(_)), "{error:?}");
    }
    // Its writer was killed, so the data are still in the log next to the file.
    let results = Results::open_read(&folder.join("unfinished/dyno.db")).unwrap();
    assert_eq!(results.load(1, &Scope::whole()).unwrap().intervals.len(), 1);
}

#[test]
fn read_only_files_can_be_read() {
    let folder = TempDir::new().unwrap();
    let mode = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    let (readable, unfinished) = (
        folder.path().join("readable"),
        folder.path().join("unfinished"),
    );
    for path in [&readable, &unfinished] {
        fs::create_dir(path).unwrap();
    }
    fs::copy(one_run(folder.path()), folder.path().join("secret.db")).unwrap();
    let path = one_run(&readable);
    // Copy the file while it is being written, which gives the state that a kill leaves behind.
    let mut writer = Results::open(&folder.path().join("live.db"))
        .unwrap()
        .begin(&head("a"))
        .unwrap();
    writer.interval(&interval(1), &[]).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let to = unfinished.join(format!("dyno.db{suffix}"));
        fs::copy(folder.path().join(format!("live.db{suffix}")), &to).unwrap();
        mode(&to, 0o444);
    }
    let program = folder.path().join("program");
    fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    mode(&program, 0o755);
    mode(&path, 0o444);
    mode(&folder.path().join("secret.db"), 0);
    for folder in [&readable, &unfinished] {
        mode(folder, 0o555);
    }
    mode(folder.path(), 0o755);
    let mut command = Command::new(&program);
    command
        .args([
            "--exact",
            "unfit::child_without_rights",
            "--ignored",
            "--nocapture",
        ])
        .env(CHILD_FOLDER, folder.path())
        .current_dir(folder.path());
    if rustix::process::geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    let output = command.output().unwrap();
    for folder in [&readable, &unfinished] {
        mode(folder, 0o755);
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && printed.contains("1 passed"),
        "{printed}"
    );
}

/// Opening a pipe would block until somebody writes to it.
#[test]
fn refuses_special_files_before_opening_them() {
    let folder = TempDir::new().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let socket = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    for path in [pipe.as_path(), &socket, Path::new("/dev/null")] {
        for error in [
            Results::open(path).unwrap_err(),
            Results::open_read(path).unwrap_err(),
        ] {
            assert!(matches!(error.problem, Problem::Special(_)), "{error:?}");
            assert!(error.to_string().contains("not a regular file"), "{error}");
        }
    }
}

#[test]
fn a_new_file_is_its_owners_alone() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("dyno.db");
    let _writer = Results::open(&path).unwrap().begin(&head("a")).unwrap();
    let mut files = 0;
    for entry in fs::read_dir(folder.path()).unwrap() {
        let mode = entry.unwrap().metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        files += 1;
    }
    assert!(files >= 2, "the file and its log");
}
