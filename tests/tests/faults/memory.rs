//! Counts the copies of a password in the memory of a process that uses it.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Child;
use std::time::Duration;

use dyno_tests::{Database, Kind};

use crate::common::command;

const SECRET: &str = "c4naryWord-0f-Memory";

/// The number of copies in the process's writable memory.
fn copies(pid: u32) -> usize {
    let memory = File::open(format!("/proc/{pid}/mem")).unwrap();
    let maps = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap();
    let mut found = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (from, to) = line
            .split_whitespace()
            .next()
            .unwrap()
            .split_once('-')
            .unwrap();
        let address = |text: &str| u64::from_str_radix(text, 16).unwrap();
        let mut bytes = vec![0; (address(to) - address(from)) as usize];
        // Regions may disappear while the process runs.
        let read = memory.read_at(&mut bytes, address(from)).unwrap_or(0);
        found += bytes[..read]
            .windows(SECRET.len())
            .filter(|part| *part == SECRET.as_bytes())
            .count();
    }
    found
}

/// Waits until the sessions work, which is when the script creates a file.
fn at_work(child: &mut Child, sign: &Path) {
    for _ in 0..600 {
        if sign.exists() {
            return;
        }
        assert!(child.try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("no session came to work");
}

#[test]
fn a_password_is_in_memory_once_and_not_on_the_command_line() {
    for kind in Kind::ALL {
        let database = Database::new(kind);
        let (name, port) = (&database.name, database.server.port);
        let at = match kind {
            Kind::Postgres => "",
            _ => "@'127.0.0.1'",
        };
        database.execute(&match kind {
            Kind::Postgres => format!("CREATE ROLE {name} LOGIN PASSWORD '{SECRET}'"),
            _ => format!("CREATE USER {name}{at} IDENTIFIED BY '{SECRET}'"),
        });
        if kind != Kind::Postgres {
            database.execute(&format!("GRANT ALL ON {name}.* TO {name}{at}"));
        }
        let folder = tempfile::tempdir().unwrap();
        let script = folder.path().join("busy.lua");
        let sign = folder.path().join("sign");
        let text = format!(
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() con:query('SELECT 1') n = (n or 0) + 1\n\
             if n == 200 then io.open('{}', 'w'):close() end end\n",
            sign.display()
        );
        fs::write(&script, text).unwrap();
        let (script, driver, scheme) = (script.display(), kind.driver(), kind.scheme());
        let url = format!("{scheme}://{name}:{SECRET}@127.0.0.1:{port}/{name}");
        let run = format!("run {script} -c 4 -t 60s --warmup 0 -q");
        let sysbench = format!(
            "sysbench {script} --db-driver={driver} --{driver}-host=127.0.0.1 \
             --{driver}-port={port} --{driver}-user={name} --{driver}-db={name} \
             --{driver}-password={SECRET} --threads=4 --time=60 run"
        );
        let by_variable = url.replace(&format!(":{SECRET}"), "") + "?password_env=DYNO_CANARY";
        for (line, environment, bound) in [
            (format!("{run} --target {url}"), false, 1),
            (sysbench, false, 1),
            // The kernel exposes the environment and keeps a copy of it.
            (format!("{run} --target {by_variable}"), true, 2),
        ] {
            let _ = fs::remove_file(&sign);
            let mut command = command(&line);
            if environment {
                command.env("DYNO_CANARY", SECRET);
            }
            command.stdout(std::process::Stdio::null());
            command.stderr(std::process::Stdio::null());
            let mut child = command.spawn().unwrap();
            at_work(&mut child, &sign);
            let shown = fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
            let found = copies(child.id());
            child.kill().unwrap();
            child.wait().unwrap();
            let shown = String::from_utf8_lossy(&shown);
            assert!(
                !shown.contains(SECRET) && shown.contains(name.as_str()),
                "{shown}"
            );
            assert_eq!(found, bound, "{kind}: {line}");
        }
        database
            .server
            .execute(None, &format!("DROP USER {name}{at}"));
    }
}
