//! The terminal is put into raw mode and restored.

use dyno_tests::{Database, Kind};

use crate::common::Terminal;

#[test]
fn shows_a_server_outage_and_its_end() {
    let mut private = dyno_tests::start_private_server(Kind::Mariadb);
    let url = format!("mysql://root@127.0.0.1:{}/", private.server().port);
    let mut seen = Terminal::start(&["--target", &url, "--interval", "200ms"]);
    seen.shows("Sessions by state");
    private.kill().unwrap();
    seen.shows("No connection for");
    assert_eq!(seen.end("q"), Some(0));
}

#[test]
fn restores_the_terminal_however_it_ends() {
    let database = Database::new(Kind::Postgres);
    let url = database.url();
    for end in [End::Key("q"), End::Key("\x03"), End::Signal(libc::SIGTERM)] {
        let mut seen = Terminal::start(&["--target", &url, "--interval", "200ms"]);
        seen.shows("Sessions by wait event");
        let status = match end {
            End::Key(key) => seen.end(key),
            End::Signal(signal) => seen.end_by(signal),
        };
        let expected = if matches!(end, End::Key(_)) { 0 } else { 130 };
        assert_eq!(status, Some(expected));
        let text = seen.text();
        // The alternate screen, and the cursor.
        assert_eq!(text.matches("\x1b[?1049h").count(), 1);
        assert_eq!(text.matches("\x1b[?1049l").count(), 1);
        let shown = text.rfind("\x1b[?25h");
        assert!(shown > text.rfind("\x1b[?25l"), "the cursor stays hidden");
        assert!(seen.is_cooked(), "the terminal stays raw");
    }
}

#[test]
fn ends_when_its_terminal_closes() {
    let database = Database::new(Kind::Mysql);
    for _ in 0..3 {
        let mut seen = Terminal::start(&["--target", &database.url(), "--interval", "200ms"]);
        seen.shows("Sessions by state");
        assert!(seen.hang_up(), "it runs on without a terminal");
    }
}

#[test]
fn no_color_disables_colours() {
    let database = Database::new(Kind::Mysql);
    let url = database.url();
    let mut seen = Terminal::start(&["--target", &url, "--no-color"]);
    seen.shows("Sessions by state");
    assert_eq!(seen.end("q"), Some(0));
    for colour in ["\x1b[38;5;", "\x1b[48;5;", "\x1b[31m", "\x1b[36m"] {
        assert!(!seen.text().contains(colour), "{colour:?}");
    }
}

#[derive(Clone, Copy)]
enum End {
    Key(&'static str),
    Signal(i32),
}
