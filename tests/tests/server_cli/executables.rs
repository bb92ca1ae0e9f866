//! Server kinds that other executables define.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use dyno_tests::server::variable;

use super::common::{Lab, has};

/// Writes the executables of a server kind that runs PostgreSQL.
fn write_kind(folder: &Path, programs: &[(&str, &str)]) {
    fs::create_dir(folder).unwrap();
    for (name, text) in programs {
        let path = folder.join(name);
        let bin = variable("DYNO_TEST_PG_BIN");
        fs::write(
            &path,
            format!("#!/bin/sh\nset -e\nPATH={bin}:$PATH\n{text}\n"),
        )
        .unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
}

const INSTALL: &str = "initdb -D \"$DYNO_SERVER_DATA\" -U postgres -A trust >/dev/null";
/// The settings arrive on standard input, one per line.
const START: &str = "while IFS= read -r line; do echo \"$line\"; done \
                     > \"$DYNO_SERVER_DATA/extra.conf\"\n\
                     echo \"include 'extra.conf'\" >> \"$DYNO_SERVER_DATA/postgresql.conf\"\n";
const FOREGROUND: &str = "exec postgres -D \"$DYNO_SERVER_DATA\" -p \"$DYNO_SERVER_PORT\" \
                          -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp";
const DAEMON: &str = "pg_ctl -D \"$DYNO_SERVER_DATA\" -w -l /dev/null -o \"-p $DYNO_SERVER_PORT \
                      -c listen_addresses=127.0.0.1 -c unix_socket_directories=/tmp\" start";
const STOP: &str = "pg_ctl -D \"$DYNO_SERVER_DATA\" -m fast -w stop";
const URL: &str = "echo \"postgres://postgres@127.0.0.1:$DYNO_SERVER_PORT/postgres\"";

const LOAD: &str = "oltp_point_select --tables 1 --table-size 100 -q --target server:own";

fn load(lab: &Lab) {
    lab.dyno(&format!("prepare {LOAD}")).success();
    run_again(lab);
}

fn run_again(lab: &Lab) {
    let run = lab
        .dyno(&format!("run {LOAD} -t 1s --warmup 0 --calibrate never"))
        .success();
    has(&run, &["transactions"]);
}

#[test]
fn a_server_in_the_foreground_needs_three_programs() {
    let lab = Lab::new();
    let start = format!("{START}{FOREGROUND}");
    write_kind(
        &lab.path("own"),
        &[("install", INSTALL), ("start", &start), ("url", URL)],
    );
    let up = lab.dyno("server up ./own --set work_mem=8MB").success();
    has(&up, &["own is up"]);
    load(&lab);
    // SQL reads the settings back, and the data folder is copied as for Dyno's own kinds.
    let clamped = lab.dyno("server restart own --set max_wal_size=1 --set work_mem=9MB");
    has(&clamped.failure(1), &["did not start"]);
    lab.dyno("server restart own --set work_mem=9MB").success();
    lab.dyno("server snapshot own one").success();
    lab.dyno("server restore own one").success();
    run_again(&lab);
    lab.dyno("server down own").success();
    lab.wait_for_nobody();
}

#[test]
fn a_daemon_is_stopped_by_its_own_program_even_if_dyno_is_killed() {
    let lab = Lab::new();
    let start = format!("{START}{DAEMON}");
    let kind = lab.path("own");
    write_kind(
        &kind,
        &[
            ("install", INSTALL),
            ("start", &start),
            ("stop", STOP),
            ("url", URL),
        ],
    );
    fs::write(kind.join("data-size"), "#!/bin/sh\necho 4711\n").unwrap();
    fs::set_permissions(kind.join("data-size"), fs::Permissions::from_mode(0o755)).unwrap();
    lab.dyno("server up ./own").success();
    assert_eq!(lab.server("own")["data_bytes"], 4711);
    load(&lab);
    lab.dyno("server down own").success();
    lab.wait_for_nobody();

    let mut dyno = lab.start("server up ./own --foreground");
    dyno.prints("to stop the server and remove its data");
    dyno.signal(libc::SIGKILL);
    lab.wait_for_nobody();
    has(&lab.dyno("server list").success(), &["own", "down"]);
}

#[test]
fn reports_mistakes_of_the_programs() {
    let lab = Lab::new();
    write_kind(&lab.path("a"), &[("start", "exit 0")]);
    has(
        &lab.dyno("server up ./a").failure(2),
        &["./a contains no executable `url`"],
    );
    write_kind(
        &lab.path("b"),
        &[("start", "echo no room >&2; exit 7"), ("url", URL)],
    );
    let up = lab.dyno("server up ./b").failure(1);
    has(
        &up,
        &[
            "server 'b' did not start: it ended with status 7",
            "no room",
        ],
    );
    write_kind(
        &lab.path("c"),
        &[
            ("install", "echo no licence >&2; exit 3"),
            ("start", "true"),
            ("url", URL),
        ],
    );
    has(
        &lab.dyno("server up ./c").failure(1),
        &["`install`", "failed", "no licence"],
    );
    write_kind(&lab.path("d"), &[("start", "exec sleep 600"), ("url", URL)]);
    let up = lab.dyno("server up ./d --start-timeout 1s").failure(1);
    has(&up, &["server 'd' did not answer within 1 s"]);
    let settings = "echo work_mem=4MB";
    let start = format!("{START}{FOREGROUND}");
    write_kind(
        &lab.path("e"),
        &[
            ("install", INSTALL),
            ("start", &start),
            ("url", URL),
            ("settings", settings),
        ],
    );
    let up = lab.dyno("server up ./e --set work_mem=8MB").failure(1);
    has(&up, &["work_mem: asked for 8MB, the server has 4MB"]);
    lab.wait_for_nobody();
    assert_eq!(
        fs::read_dir(lab.servers()).unwrap().count(),
        0,
        "nothing is left"
    );
}

/// The test hosts have no sshd. A program in place of ssh runs the line that ssh would pass to the
/// remote shell.
#[test]
fn executables_on_another_host_are_reached_by_ssh() {
    let lab = Lab::new();
    let kind = lab.path("own");
    let data = lab.path("elsewhere");
    fs::create_dir(&data).unwrap();
    fs::set_permissions(&data, fs::Permissions::from_mode(0o777)).unwrap();
    let there = format!(
        "DYNO_SERVER_DATA={}\n[ \"$(id -u)\" = 0 ] && exec setpriv --reuid=nobody \
         --regid=nogroup --clear-groups \"$0\" \"$@\"\n",
        data.join("data").display()
    );
    let with = |text: &str| format!("{there}{text}");
    write_kind(
        &kind,
        &[
            ("install", &with(INSTALL)),
            ("start", &with(&format!("{START}{DAEMON}"))),
            ("stop", &with(STOP)),
            ("url", URL),
        ],
    );
    let bin = lab.path("bin");
    fs::create_dir(&bin).unwrap();
    // Only the user who starts Dyno may read the keys, even if that user is root.
    let user = fs::metadata(&bin).unwrap().uid();
    let ssh = format!(
        "#!/bin/sh\n[ \"$(id -u)\" = {user} ] || exit 255\nwhile [ \"$1\" = -o ]; do shift 2; \
         done\n[ \"$1\" = db1 ] || exit 255\nshift\nexec sh -c \"$*\"\n"
    );
    fs::write(bin.join("ssh"), ssh).unwrap();
    fs::set_permissions(bin.join("ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let dyno = |line: &str| {
        let mut command = lab.command(line);
        command.env("PATH", &path);
        dyno_tests::command::run(&mut command, std::time::Duration::from_secs(120))
    };
    let place = format!("ssh:db1:{}", kind.display());
    dyno(&format!("server up {place} --set work_mem=8MB")).success();
    dyno(&format!("prepare {LOAD}")).success();
    has(
        &dyno("server snapshot own a").failure(1),
        &["no executable `snapshot`", "on db1"],
    );
    has(&dyno("server down own").success(), &["own is down"]);
    let pid = data.join("data/postmaster.pid");
    assert!(!pid.exists(), "it was stopped over there");
    fs::remove_file(kind.join("stop")).unwrap();
    has(
        &dyno(&format!("server up {place}")).failure(2),
        &["no executable `stop`, which a server on another host needs"],
    );
    let place = format!("ssh:db2:{}", kind.display());
    has(
        &dyno(&format!("server up {place}")).failure(1),
        &["ssh db2 failed"],
    );
}
