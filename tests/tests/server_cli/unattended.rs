//! Servers whose Dyno or supervisor is killed, interrupted copies, and where passwords are stored.

use std::fs;
use std::os::unix::fs::MetadataExt;

use super::common::{Lab, has};

#[test]
fn a_server_in_the_foreground_ends_with_its_dyno() {
    for signal in [libc::SIGKILL, libc::SIGINT, libc::SIGTERM] {
        let lab = Lab::new();
        let mut dyno = lab.start("server up postgresql --foreground");
        dyno.prints("to stop the server and remove its data");
        let server = lab.server("postgresql");
        assert_eq!(server["state"], "up");
        dyno.signal(signal);
        dyno.finish(std::time::Duration::from_secs(60));
        lab.wait_for_nobody();
        let down = lab.dyno("server down --all").success();
        match signal {
            libc::SIGKILL => has(&down, &["postgresql was not running; its data is removed"]),
            _ => has(&down, &["there are no servers"]),
        }
    }
}

#[test]
fn a_server_in_the_foreground_that_another_command_restarts_is_that_commands() {
    let lab = Lab::new();
    let mut dyno = lab.start("server up postgresql --foreground");
    dyno.prints("to stop the server and remove its data");
    lab.dyno("server restart postgresql --set work_mem=8MB")
        .success();
    let ended = dyno.finish(std::time::Duration::from_secs(60)).success();
    has(
        &ended,
        &["another command stopped postgresql; its data is kept"],
    );
    assert_eq!(lab.server("postgresql")["state"], "up");
    lab.dyno("server down postgresql").success();
}

#[test]
fn a_server_whose_start_is_interrupted_does_not_stay() {
    let lab = Lab::new();
    let dyno = lab.start("server up postgresql --name half");
    // The supervisor learns that the server is to stay only after the server's first answer.
    while !lab.servers().join("half/supervisor.json").exists() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(!lab.servers().join("half/ended.json").exists());
    }
    dyno.signal(libc::SIGKILL);
    let answered = dyno
        .finish(std::time::Duration::from_secs(60))
        .status
        .success();
    if answered {
        // The start was faster than the signal.
        assert_eq!(lab.server("half")["state"], "up");
        return;
    }
    lab.wait_for_nobody();
    has(
        &lab.dyno("server down half").success(),
        &["its data is removed"],
    );
}

#[test]
fn a_server_whose_supervisor_is_killed_dies_and_can_be_started_again() {
    let lab = Lab::new();
    lab.dyno("server up mariadb").success();
    let supervisors = lab.processes();
    let supervisor = supervisors
        .iter()
        .find(|(_, line)| line.contains("server keep"))
        .unwrap();
    // SAFETY: kill has no memory effects; the process belongs to this test.
    unsafe { libc::kill(supervisor.0.cast_signed(), libc::SIGKILL) };
    lab.wait_for_nobody();
    lab.wait_for_state("mariadb", "down");
    has(
        &lab.dyno("server restart mariadb").success(),
        &["mariadb is up"],
    );
}

#[test]
fn reports_a_server_that_ended_by_itself_as_down() {
    let lab = Lab::new();
    lab.dyno("server up mariadb").success();
    let pid = lab.server("mariadb")["pid"].as_i64().unwrap();
    // SAFETY: kill has no memory effects; the process belongs to this test.
    unsafe { libc::kill(pid as libc::pid_t, libc::SIGKILL) };
    lab.wait_for_nobody();
    has(
        &lab.dyno("server list").success(),
        &["down: signal 9 ended it"],
    );
    has(
        &lab.dyno("server restart mariadb").success(),
        &["mariadb is up"],
    );
}

#[test]
fn two_starts_at_once_leave_one_server() {
    let lab = Lab::new();
    lab.dyno("server up postgresql").success();
    lab.dyno("server down postgresql --keep-data").success();
    let starts = [0, 1].map(|_| lab.start("server restart postgresql"));
    let done = starts.map(|start| start.finish(std::time::Duration::from_secs(60)));
    let good = done.iter().filter(|output| output.status.success()).count();
    assert!(good >= 1, "{done:?}");
    let servers = lab.processes();
    let servers = servers
        .iter()
        .filter(|(_, line)| line.contains("config_file="))
        .count();
    assert!(servers <= 1, "{:?}", lab.processes());
    lab.dyno("server down postgresql").success();
    lab.wait_for_nobody();
}

#[test]
fn an_interrupted_restore_does_not_count_as_data() {
    let lab = Lab::new();
    lab.dyno("server up postgresql").success();
    lab.dyno("server snapshot postgresql first").success();
    lab.dyno("server down postgresql --keep-data").success();
    let folder = lab.servers().join("postgresql");
    fs::write(folder.join("restoring"), "first").unwrap();
    fs::remove_file(folder.join("data/PG_VERSION")).unwrap();
    let start = lab.dyno("server restart postgresql").failure(1);
    has(&start, &["restoring snapshot 'first'", "was interrupted"]);
    let copy = lab.dyno("server snapshot postgresql second").failure(1);
    has(&copy, &["was interrupted"]);
    lab.dyno("server restore postgresql first").success();
    has(&lab.dyno("server restart postgresql").success(), &["is up"]);
    // A copy that lacks a file is rejected.
    lab.dyno("server down postgresql --keep-data").success();
    fs::remove_file(folder.join("snapshots/first/data/PG_VERSION")).unwrap();
    let restore = lab.dyno("server restore postgresql first").failure(1);
    has(
        &restore,
        &["snapshot 'first' of server 'postgresql' has changed"],
    );
}

#[test]
fn passwords_are_only_in_files_of_their_owner() {
    for kind in ["mariadb", "mysql", "postgresql"] {
        let lab = Lab::new();
        let mut printed = lab.dyno(&format!("server up {kind}")).success().stdout;
        let folder = lab.servers().join(kind);
        let password = fs::read_to_string(folder.join("password")).unwrap();
        printed += &lab.dyno("server list --json").success().stdout;
        printed += &lab.dyno(&format!("server url {kind}")).success().stdout;
        printed += &lab.dyno(&format!("server logs {kind}")).success().stdout;
        printed += &lab
            .dyno(&format!("server url {kind} --tcp"))
            .success()
            .stdout;
        assert!(!printed.contains(&password), "{kind}: {printed}");
        for (pid, line) in lab.processes() {
            assert!(!line.contains(&password), "{line}");
            let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            assert!(
                !String::from_utf8_lossy(&environment).contains(&password),
                "{line}"
            );
        }
        let mut holders = Vec::new();
        for entry in fs::read_dir(&folder).unwrap().flatten() {
            let data = entry.metadata().unwrap();
            if data.is_file()
                && fs::read_to_string(entry.path())
                    .unwrap()
                    .contains(&password)
            {
                assert_eq!(data.mode() & 0o077, 0, "{:?}", entry.path());
                holders.push(entry.file_name().into_string().unwrap());
            }
        }
        assert_eq!(
            holders.len(),
            2,
            "{holders:?}: the password, and the clients' file"
        );
        assert!(!folder.join("run/first.sql").exists() && !folder.join("run/password").exists());
        // Connections without the password fail.
        let url = lab
            .dyno(&format!("server url {kind} --tcp"))
            .success()
            .stdout;
        let bare = url.split('?').next().unwrap().trim().to_owned();
        let refused = lab.dyno(&format!("doctor --target {bare}"));
        assert!(!refused.status.success(), "{kind}: {refused:?}");
    }
}
