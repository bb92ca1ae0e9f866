//! Each screen as drawn from recorded answers.

use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::recorded::{Round, rounds, state};
use crate::draw::{Look, draw};
use crate::keys::Action;
use crate::profile::Profile;
use crate::source::{Answer, Trouble};
use crate::sources;
use crate::state::{Mode, State};

/// The time between the recorded rounds.
pub(super) const SECONDS: u64 = 10;

/// The text of a screen.
fn drawn(state: &State, width: u16, height: u16) -> String {
    drawn_with(state, width, height, None)
}

fn drawn_with(state: &State, width: u16, height: u16, unanswered: Option<u64>) -> String {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let look = Look {
        colour: false,
        now: 60_000_000_000,
        unanswered: unanswered.map(Duration::from_secs),
    };
    let draw = |frame: &mut ratatui::Frame<'_>| {
        let area = frame.area();
        draw(frame.buffer_mut(), area, state, &look);
    };
    terminal.draw(draw).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let lines = (0..height).map(|y| {
        let cells = (0..width).map(|x| buffer[(x, y)].symbol().to_owned());
        cells.collect::<String>().trim_end().to_owned()
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Answers the questions of opening a source: the first field that fits the question.
pub(super) fn opening<'a>(
    known: &'a [(&'a str, &'a str)],
) -> impl FnMut(&str) -> Result<Answer, Trouble> + 'a {
    move |question| {
        let known = known.iter().find(|(part, _)| question.contains(part));
        match known {
            Some((_, value)) => Ok(Answer {
                names: vec!["value".to_owned()],
                rows: vec![vec![Some((*value).to_owned())]],
            }),
            None => Err(Trouble::Refused("not known".to_owned())),
        }
    }
}

const ALL: (&str, &str) = (
    "SHOW GRANTS",
    "GRANT ALL PRIVILEGES ON *.* TO `root`@`localhost`",
);

fn mysql() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[("@@performance_schema", "1"), ALL]);
    let title = "MySQL 9.7.0 · mysql://root@127.0.0.1:3306/sbtest".to_owned();
    let profile = sources::mysql_profile(&mut asking, title, false, false).unwrap();
    (rounds(include_str!("recorded/mysql.txt")), profile)
}

fn mariadb() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[("@@performance_schema", "0"), ("@@userstat", "0"), ALL]);
    let title = "MariaDB 10.11.14-MariaDB · mysql://root@127.0.0.1:3306/sbtest".to_owned();
    let profile = sources::mysql_profile(&mut asking, title, true, false).unwrap();
    (rounds(include_str!("recorded/mariadb.txt")), profile)
}

fn postgres() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[
        ("server_version_num", "150014"),
        ("pg_stat_statements", "public"),
        ("pg_has_role", "t"),
    ]);
    let title = "PostgreSQL 15.14 · postgres://postgres@127.0.0.1:5432/sbtest".to_owned();
    let profile = sources::postgres_profile(&mut asking, title).unwrap();
    (rounds(include_str!("recorded/postgres.txt")), profile)
}

fn sqlite() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[("page_count", "2000")]);
    let title = "SQLite 3.50.4 · sqlite:bench.db".to_owned();
    let profile = sources::sqlite_profile(&mut asking, title).unwrap();
    (rounds(include_str!("recorded/sqlite.txt")), profile)
}

fn proxysql() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[("admin-version", "2.7.3-stand-in"), ("stats_mysql", "1")]);
    let place = "mysql://admin@127.0.0.1:6032/";
    let profile = sources::proxysql_profile(&mut asking, place).unwrap();
    (rounds(include_str!("recorded/proxysql.txt")), profile)
}

fn pgbouncer() -> (Vec<Round>, Profile) {
    let mut asking = opening(&[("SHOW VERSION", "PgBouncer 1.18.0")]);
    let place = "postgres://postgres@127.0.0.1:6432/pgbouncer";
    let profile = sources::pgbouncer_profile(&mut asking, place).unwrap();
    (rounds(include_str!("recorded/pgbouncer.txt")), profile)
}

fn haproxy() -> (Vec<Round>, Profile) {
    let profile = sources::haproxy_profile("HAProxy 2.6.12 · /run/haproxy.sock".to_owned());
    (rounds(include_str!("recorded/haproxy.txt")), profile)
}

fn run() -> (Vec<Round>, Profile) {
    let title = "run 3 · oltp_read_write · 16 sessions · MySQL 9.7.0 · mysql://root@127.0.0.1/sb";
    let profile = sources::run_profile(title.to_owned());
    (rounds(include_str!("recorded/run.txt")), profile)
}

/// Compares all screens of a source at one size.
fn hold(name: &str, (rounds, profile): (Vec<Round>, Profile), width: u16, height: u16) {
    assert_eq!(rounds.len(), 2, "{name}");
    for screen in 0..profile.screens.len() {
        let state = state(&rounds, profile.clone(), screen, SECONDS);
        let title = profile.screens[screen].title;
        let title = title.to_lowercase().replace([',', ' ', '/'], "");
        insta::assert_snapshot!(
            format!("{name}_{title}_{width}x{height}"),
            drawn(&state, width, height)
        );
    }
}

#[test]
fn servers_on_a_small_terminal() {
    hold("mysql", mysql(), 80, 24);
    hold("mariadb", mariadb(), 80, 24);
    hold("postgres", postgres(), 80, 24);
    hold("sqlite", sqlite(), 80, 24);
}

#[test]
fn servers_on_a_large_terminal() {
    hold("mysql", mysql(), 200, 60);
    hold("postgres", postgres(), 200, 60);
}

#[test]
fn proxies() {
    hold("proxysql", proxysql(), 80, 24);
    hold("pgbouncer", pgbouncer(), 80, 24);
    hold("haproxy", haproxy(), 80, 24);
    hold("proxysql", proxysql(), 200, 60);
}

#[test]
fn a_run() {
    hold("run", run(), 80, 24);
}

#[test]
fn all_columns_are_reached_and_none_is_cut() {
    let (rounds, profile) = haproxy();
    let table = profile.screens[0].tables[0];
    let mut state = state(&rounds, profile, 0, SECONDS);
    let mut seen = Vec::new();
    let mut ends = 0;
    for _ in table.columns {
        let text = drawn(&state, 60, 24);
        let mut lines = text
            .lines()
            .skip_while(|line| !line.starts_with("Servers, 3"));
        let header = lines.nth(1).unwrap();
        ends += usize::from(!header.ends_with('›'));
        let words = header.trim_end_matches('›').replace('▼', "");
        seen.extend(words.split_whitespace().map(str::to_owned));
        state.act(Action::Columns(1));
    }
    assert!(ends > 0);
    for title in table.columns.iter().map(|column| column.title) {
        assert!(seen.iter().any(|word| word == title), "{title}");
    }
    for word in seen {
        assert!(
            table.columns.iter().any(|column| column.title == word),
            "{word}"
        );
    }
}

#[test]
fn shows_galera_and_group_replication_if_enabled() {
    for (is_mariadb, wsrep, figures, tables) in [
        (true, "0", 1, 2),
        (true, "1", 6, 2),
        (false, "1", 6, 2),
        (false, "0", 1, 3),
    ] {
        let known = [("@@performance_schema", "1"), ("@@wsrep_on", wsrep), ALL];
        let mut asking = opening(&known);
        let profile =
            sources::mysql_profile(&mut asking, String::new(), is_mariadb, false).unwrap();
        let screen = profile.screens[4];
        assert_eq!(
            (screen.figures.len(), screen.tables.len()),
            (figures, tables)
        );
        let group = "replication_group_members";
        let asks_for_groups = profile.questions().iter().any(|q| q.contains(group));
        assert_eq!(asks_for_groups, tables == 3);
    }
}

#[test]
fn new_pages_are_named_where_postgresql_counts_them_as_read() {
    let (rounds, _) = postgres();
    for (version, named) in [("150014", true), ("160002", false), ("180000", false)] {
        let known = [
            ("server_version_num", version),
            ("pg_stat_statements", "public"),
            ("pg_has_role", "t"),
        ];
        let mut asking = opening(&known);
        let profile = sources::postgres_profile(&mut asking, String::new()).unwrap();
        for screen in ["Overview", "Tables", "I/O, memory"] {
            let index = profile.screens.iter().position(|one| one.title == screen);
            let state = state(&rounds, profile.clone(), index.unwrap(), SECONDS);
            let seen = drawn(&state, 80, 24).contains("new pages");
            assert_eq!(seen, named, "{screen} of {version}");
        }
    }
}

#[test]
fn no_literal_of_a_statement_is_seen() {
    let recorded = include_str!("recorded/proxysql.txt");
    assert!(recorded.contains("4111"), "the recording has none");
    let (rounds, profile) = proxysql();
    for screen in 0..profile.screens.len() {
        let state = state(&rounds, profile.clone(), screen, SECONDS);
        let text = drawn(&state, 2000, 200);
        assert!(!text.contains("4111"), "{text}");
    }
}

#[test]
fn titles_of_figures_have_room_on_a_small_terminal() {
    let all = [
        mysql(),
        postgres(),
        sqlite(),
        proxysql(),
        pgbouncer(),
        haproxy(),
        run(),
    ];
    for (_, profile) in all {
        for figure in profile.screens.iter().flat_map(|screen| screen.figures) {
            assert!(figure.title.chars().count() <= 13, "{}", figure.title);
        }
        for figure in profile.line {
            assert!(figure.title.chars().count() <= 12, "{}", figure.title);
        }
        for table in profile.screens.iter().flat_map(|screen| screen.tables) {
            assert!(table.sort < table.columns.len(), "{}", table.title);
            assert!(
                !table.asks.is_empty() && !table.empty.is_empty(),
                "{}",
                table.title
            );
        }
    }
}

#[test]
fn help_filter_freeze_and_silence_are_seen() {
    let (rounds, profile) = mysql();
    let mut state = state(&rounds, profile, 5, SECONDS);
    state.frozen = true;
    state.mode = Mode::Filter;
    state.filter = "no such thing".to_owned();
    let filtering = drawn(&state, 80, 24);
    state.mode = Mode::Help;
    let help = drawn(&state, 80, 24);
    state.mode = Mode::Usual;
    let silent = drawn_with(&state, 80, 24, Some(7));
    state.lost = Some((53_000_000_000, "127.0.0.1:3306 did not answer".to_owned()));
    let lost = drawn(&state, 80, 24);
    assert!(filtering.contains("FROZEN") && filtering.contains("Filter: no such thing"));
    assert!(filtering.contains("no row contains 'no such thing'"));
    assert!(silent.contains("No answer for 7 s"), "{silent}");
    assert!(
        lost.contains("No connection for 7 s: 127.0.0.1:3306 did not answer"),
        "{lost}"
    );
    insta::assert_snapshot!("help_80x24", help);
}

#[test]
fn no_size_of_a_terminal_panics() {
    for (rounds, profile) in [mysql(), run()] {
        let state = state(&rounds, profile, 0, SECONDS);
        for width in [1, 5, 19, 20, 33, 79, 500] {
            for height in [1, 2, 3, 4, 5, 7, 9, 12, 100] {
                drawn(&state, width, height);
            }
        }
    }
}
