//! Sorting, filtering, rates, and keys.

use std::time::Duration;

use proptest::prelude::*;

use super::recorded::{rounds, state};
use crate::figures::Cell;
use crate::keys::Action;
use crate::profile::{Ask, Figure, Latencies, Profile, Screen, Table, Values};
use crate::state::{Effect, Mode, State};

const TABLE: Table = Table {
    title: "Things",
    asks: &[Ask::plain("things")],
    columns: &[
        Figure::text("name", "name"),
        Figure::rate("calls/s", "calls"),
        Figure::mean("mean", "time", "calls", 1e-3),
        Figure::count("gone", "no_such_column"),
        Figure::statement("text", "text"),
    ],
    key: &["name"],
    sort: 1,
    empty: "none",
};

const SCREENS: &[Screen] = &[
    Screen {
        title: "One",
        figures: &[
            Figure::rate("questions/s", "Questions"),
            Figure::hits("hits", "misses", "reads"),
        ],
        heat: false,
        tables: &[TABLE, TABLE],
    },
    Screen {
        title: "Two",
        figures: &[],
        heat: false,
        tables: &[TABLE],
    },
];

const VALUES: &[Values] = &[Values::rows(Ask::plain("status"))];

fn profile() -> Profile {
    Profile {
        title: "a test".to_owned(),
        screens: SCREENS,
        values: VALUES,
        latencies: Latencies::Absent("there are none"),
        line: &[],
        abilities: Vec::new(),
        schema: String::new(),
        remarks: &[],
        notes: Vec::new(),
    }
}

/// Two rounds; `b` is new in the second, and `c` was reset.
const RECORDED: &str = "\
== 0
## status
name\tvalue
questions\t100
misses\t10
reads\t1000
## things
name\tcalls\ttime\ttext
a\t10\t100\tSELECT 1
c\t900\t900\tSELECT 2
== 1
## status
name\tvalue
questions\t300
misses\t15
reads\t1100
## things
name\tcalls\ttime\ttext
a\t30\t400\tSELECT 1
b\t5\t50\tSELECT 'pw'
c\t4\t4\t\\N
";

fn both() -> State {
    state(&rounds(RECORDED), profile(), 0, 10)
}

fn names(state: &State) -> Vec<String> {
    let rows = state.rows(state.focused()).into_iter();
    let name = |row: &[Cell]| match &row[0] {
        Cell::Text(name) => name.clone(),
        other => panic!("{other:?}"),
    };
    rows.map(name).collect()
}

#[test]
fn rates_are_differences_by_key_and_nothing_is_guessed() {
    let state = both();
    let rows = state.rows(0);
    let (a, b, c) = (rows[0], rows[1], rows[2]);
    assert_eq!(names(&state), ["a", "b", "c"]);
    assert_eq!(a[1], Cell::Number(2.0));
    assert_eq!(a[2], Cell::Number(0.015));
    assert_eq!(
        (&b[1], &c[1], &c[2]),
        (&Cell::Absent, &Cell::Absent, &Cell::Absent)
    );
    assert_eq!(a[3], Cell::Absent);
    assert_eq!(b[4], Cell::Text("SELECT ?".to_owned()));
    assert_eq!(state.views()[0].shown.missing, ["gone"]);
    let figures = SCREENS[0].figures;
    assert_eq!(state.figure(&figures[0]), Cell::Number(20.0));
    assert_eq!(state.figure(&figures[1]), Cell::Number(0.95));
}

#[test]
fn indistinguishable_rows_have_no_rates() {
    let hidden = RECORDED.replace("\nc\t", "\na\t");
    let state = state(&rounds(&hidden), profile(), 0, 10);
    assert_eq!(state.rows(0).len(), 3);
    assert!(state.rows(0).iter().all(|row| row[1] == Cell::Absent));
}

#[test]
fn the_first_snapshot_has_no_rates() {
    let first = &rounds(RECORDED)[..1];
    let state = state(first, profile(), 0, 10);
    assert_eq!(state.figure(&SCREENS[0].figures[0]), Cell::Absent);
    assert!(state.rows(0).iter().all(|row| row[1] == Cell::Absent));
}

#[test]
fn rows_are_sorted_and_filtered() {
    let mut state = both();
    state.act(Action::SortLast);
    assert_eq!(names(&state), ["a", "b", "c"]);
    state.act(Action::Invert);
    assert_eq!(names(&state), ["c", "b", "a"]);
    // From the first column back to the last.
    state.act(Action::SortLast);
    assert_eq!(state.views()[0].sort, 4);
    state.act(Action::SortNext);
    assert_eq!(state.views()[0].sort, 0);
    state.act(Action::Filter);
    assert_eq!(state.mode, Mode::Filter);
    for letter in "select".chars() {
        state.act(Action::Type(letter));
    }
    state.act(Action::Accept);
    assert_eq!(names(&state), ["b", "a"]);
    state.act(Action::Filter);
    state.act(Action::Erase);
    assert_eq!(state.filter, "selec");
    state.act(Action::Clear);
    assert_eq!((names(&state).len(), state.mode), (3, Mode::Usual));
}

#[test]
fn each_table_is_looked_at_in_its_own_way() {
    let mut state = both();
    state.act(Action::Rows(1));
    state.act(Action::NextTable);
    state.act(Action::SortNext);
    state.act(Action::Pages(9));
    state.act(Action::Columns(99));
    let looks: Vec<_> = state
        .views()
        .iter()
        .map(|v| (v.offset, v.sort, v.first_column))
        .collect();
    assert_eq!(looks, [(1, 1, 0), (2, 2, 4)]);
    state.act(Action::Top);
    state.act(Action::Columns(-1));
    assert_eq!(
        (state.views()[1].offset, state.views()[1].first_column),
        (0, 3)
    );
    state.act(Action::NextTable);
    assert_eq!(state.focused(), 0);
}

#[test]
fn a_frozen_screen_stays_until_a_switch_or_a_refresh() {
    let recorded = rounds(RECORDED);
    let mut frozen = state(&recorded[..1], profile(), 0, 10);
    frozen.act(Action::Freeze);
    let mut shot =
        crate::poll::snapshot(Box::new(recorded[1].clone()), &frozen.profile, 0).unwrap();
    shot.at = 99;
    frozen.take(crate::Update::Snapshot(Box::new(shot)));
    assert_eq!(names(&frozen), ["a", "c"]);
    assert_eq!(frozen.act(Action::Refresh), Effect::Refresh);
    assert!(!frozen.frozen);
    frozen.act(Action::Freeze);
    assert_eq!(frozen.act(Action::NextScreen), Effect::Show(1));
    assert!(!frozen.frozen && frozen.rows(0).is_empty());
    assert_eq!(frozen.act(Action::Screen(8)), Effect::None);
    assert_eq!(frozen.act(Action::LastScreen), Effect::Show(0));
}

#[test]
fn steps_back_through_snapshots_and_resumes_at_the_newest() {
    let recorded = rounds(RECORDED);
    let mut state = state(&recorded[..1], profile(), 0, 10);
    let before = names(&state);
    let mut shot = crate::poll::snapshot(Box::new(recorded[1].clone()), &state.profile, 0).unwrap();
    (shot.at, shot.unix_s) = (99_000_000_000, state.unix_s + 7.0);
    state.take(crate::Update::Snapshot(Box::new(shot)));
    let after = names(&state);
    assert_ne!(before, after);
    assert_eq!((state.frozen, state.ago_s()), (false, None));
    for _ in 0..3 {
        state.act(Action::Earlier);
        assert_eq!((names(&state), state.ago_s()), (before.clone(), Some(7.0)));
    }
    assert!(state.frozen);
    state.act(Action::Later);
    assert_eq!((names(&state), state.ago_s()), (after.clone(), None));
    state.act(Action::Earlier);
    state.act(Action::Freeze);
    assert_eq!((names(&state), state.frozen), (after, false));
}

#[test]
fn intervals_go_by_steps_and_have_ends() {
    let mut state = both();
    assert_eq!(
        state.act(Action::Faster),
        Effect::Every(Duration::from_secs(5))
    );
    for _ in 0..20 {
        state.act(Action::Faster);
    }
    assert_eq!(state.interval, Duration::from_millis(200));
    for _ in 0..20 {
        state.act(Action::Slower);
    }
    assert_eq!(state.interval, Duration::from_secs(60));
}

#[test]
fn counters_of_another_server_start_again() {
    let mut state = both();
    state.take(crate::Update::Lost("gone".to_owned()));
    assert!(state.lost.is_some());
    state.take(crate::Update::Opened(Box::new(profile())));
    assert!(state.lost.is_none());
    assert_eq!(state.figure(&SCREENS[0].figures[0]), Cell::Absent);
}

proptest! {
    #[test]
    fn no_keys_in_any_order_break_it(keys in proptest::collection::vec(0_u8..18, 0..60)) {
        let mut state = both();
        for key in keys {
            state.act(match key {
                0 => Action::NextScreen,
                1 => Action::LastScreen,
                2 => Action::NextTable,
                3 => Action::SortNext,
                4 => Action::SortLast,
                5 => Action::Invert,
                6 => Action::Filter,
                7 => Action::Type('a'),
                8 => Action::Erase,
                9 => Action::Clear,
                10 => Action::Freeze,
                11 => Action::Rows(-1),
                12 => Action::Rows(3),
                13 => Action::Pages(1),
                14 => Action::Bottom,
                15 => Action::Columns(2),
                16 => Action::Help,
                _ => Action::Columns(-1),
            });
            for table in 0..state.views().len() {
                let rows = state.rows(table).len();
                prop_assert!(rows <= 3);
                prop_assert!(state.views()[table].first_column < TABLE.columns.len());
            }
        }
    }
}
