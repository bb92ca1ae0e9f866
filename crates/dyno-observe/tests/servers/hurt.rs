//! Servers that die, return and hang.

use dyno_core::Clock;
use dyno_core::record::EventKind;
use xtask::servers::Kind;

use crate::observed::Observed;
use crate::server::{PrivateServer, on_each};

#[test]
fn a_restart_is_noticed_and_the_new_process_found() {
    on_each(|kind| {
        let mut private = PrivateServer::start(kind, &[]);
        let mut seen = Observed::start(&private.server().url());
        seen.until("the first process", |seen| seen.count("server.threads") > 1);
        let first = seen.facts["server.pid"].clone();
        private.kill().unwrap();
        seen.until("it is down", |seen| seen.last("db.up") == Some(0.0));
        let host = seen.count("host.cpu.idle");
        seen.until("the host goes on", |seen| {
            seen.count("host.cpu.idle") > host + 3
        });
        // Start times are in whole seconds: an immediate restart would look the same.
        std::thread::sleep(std::time::Duration::from_secs(4));
        private.start_again().unwrap();
        seen.until("it is back", |seen| seen.last("db.up") == Some(1.0));
        seen.until("the restart", |seen| {
            seen.has_event(EventKind::Restart, "was restarted")
        });
        seen.until("the loss and the return", |seen| {
            let has = |text| seen.has_event(EventKind::Observer, text);
            has("has no connection") && has("answers its observer again")
        });
        seen.until("the new process", |seen| seen.facts["server.pid"] != first);
        assert_eq!(
            seen.facts["server.pid"],
            private.pid().to_string(),
            "{kind}"
        );
        let threads = seen.count("server.threads");
        seen.until("its figures", |seen| {
            seen.count("server.threads") > threads + 1
        });
        seen.stop();
    });
}

#[test]
fn a_crash_of_one_process_of_postgresql_is_a_restart() {
    let private = PrivateServer::start(Kind::Postgres, &[]);
    std::thread::sleep(std::time::Duration::from_secs(4));
    let mut seen = Observed::start(&private.server().url());
    seen.until("samples", |seen| seen.count("db.round_trip") > 1);
    let backend = private
        .server()
        .execute("SELECT pid FROM pg_stat_activity WHERE backend_type = 'background writer'");
    let pid: i32 = backend.unwrap().parse().unwrap();
    // SAFETY: the process belongs to this test's own server.
    unsafe { libc::kill(pid, libc::SIGKILL) };
    seen.until("the recovery", |seen| {
        seen.has_event(EventKind::Restart, "recovered from a crash")
    });
    seen.stop();
}

#[test]
fn a_server_that_hangs_does_not_stop_the_samples_of_the_host() {
    on_each(|kind| {
        let private = PrivateServer::start(kind, &[]);
        let mut seen = Observed::start(&private.server().url());
        seen.until("samples", |seen| seen.count("db.round_trip") > 1);
        private.suspend();
        seen.until("it is down", |seen| seen.last("db.up") == Some(0.0));
        // Longer than the timeout for one answer: its connection is closed meanwhile.
        let host = seen.count("host.cpu.idle");
        seen.until("the host goes on", |seen| {
            seen.count("host.cpu.idle") > host + 15
        });
        seen.until("it is reported", |seen| {
            seen.has_event(EventKind::Observer, "did not answer within 2.0 s")
        });
        private.resume();
        seen.until("it is up", |seen| seen.last("db.up") == Some(1.0));
        assert!(
            !seen
                .events
                .iter()
                .any(|(kind, _)| *kind == EventKind::Restart)
        );

        // A permanently stopped server does not keep the run from ending.
        private.suspend();
        seen.until("it is down again", |seen| seen.last("db.up") == Some(0.0));
        let began = Clock.now();
        seen.stop();
        let seconds = (Clock.now() - began) as f64 / 1e9;
        // A timeout of one second, plus a busy machine's delays; an answer has longer.
        assert!(seconds < 8.0, "{kind}: {seconds} s");
        assert!(
            seen.gaps.contains_key("settings.end"),
            "{kind}: {}",
            seen.text()
        );
        private.resume();
    });
}
