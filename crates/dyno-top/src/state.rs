//! The displayed content, independent of drawing.

use std::sync::Arc;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::clock::Nanos;

use crate::figures::{Cell, Values, cell};
use crate::format;
use crate::heat::Strip;
use crate::history::{History, Moment};
use crate::keys::Action;
use crate::poll::{Answered, Snapshot, Update};
use crate::profile::{Figure, Kind, Profile, Screen, Table};
use crate::rates::{Shown, order, shown};
use crate::slow::Slow;
use crate::source::Answer;

/// The intervals that `+` and `-` step through.
const INTERVALS_MS: [u64; 8] = [200, 500, 1_000, 2_000, 5_000, 10_000, 30_000, 60_000];
/// The longest filter.
const FILTER_MAX: usize = 80;

/// The meaning of keys.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Normal.
    #[default]
    Usual,
    /// A filter is typed.
    Filter,
    /// The help is shown.
    Help,
}

/// The effect of an action outside the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Nothing.
    None,
    /// Quit.
    Quit,
    /// Fetch another screen's tables.
    Show(usize),
    /// Another interval.
    Every(Duration),
    /// A snapshot now.
    Refresh,
}

/// A table with its view settings.
#[derive(Clone, Debug, Default)]
pub struct View {
    /// The sort column.
    pub sort: usize,
    /// The smallest first; for text the reverse.
    pub inverted: bool,
    /// Rows above the first visible one.
    pub offset: usize,
    /// Columns before the first visible one.
    pub first_column: usize,
    /// Why better ways to ask were not used.
    pub notes: Vec<String>,
    /// All rows.
    pub shown: Shown,
    /// Whether every way to ask was refused.
    pub refused: bool,
    now: Option<(Nanos, Arc<Answer>)>,
    before: Option<(Nanos, Arc<Answer>)>,
    slow: Slow,
}

/// The displayed content.
#[derive(Clone, Debug)]
pub struct State {
    /// The source's profile.
    pub profile: Profile,
    /// The screen.
    pub screen: usize,
    /// The meaning of keys.
    pub mode: Mode,
    /// Only rows that contain it are shown.
    pub filter: String,
    /// Whether the display is frozen.
    pub frozen: bool,
    /// The interval.
    pub interval: Duration,
    /// Latencies.
    pub strip: Strip,
    /// When the last snapshot was made, seconds since the Unix epoch.
    pub unix_s: f64,
    /// Since when there is no connection, and why.
    pub lost: Option<(Nanos, String)>,
    notes: Vec<String>,
    /// By screen and table.
    views: Vec<Vec<View>>,
    /// The focused table, by screen.
    focus: Vec<usize>,
    now: Option<(Nanos, Arc<Values>)>,
    before: Option<(Nanos, Arc<Values>)>,
    /// Of the visible screen.
    history: History,
}

impl State {
    /// Without any answers yet.
    pub fn new(profile: Profile, interval: Duration) -> Self {
        let mut state = Self {
            screen: 0,
            mode: Mode::Usual,
            filter: String::new(),
            frozen: false,
            interval,
            strip: Strip::default(),
            unix_s: 0.0,
            lost: None,
            notes: Vec::new(),
            views: Vec::new(),
            focus: Vec::new(),
            now: None,
            before: None,
            history: History::default(),
            profile,
        };
        state.begin();
        state
    }

    /// Adds a message. A frozen display changes only for the connection.
    pub fn take(&mut self, update: Update) {
        match update {
            Update::Opened(profile) => {
                self.lost = None;
                if *profile != self.profile {
                    self.profile = *profile;
                    self.begin();
                }
                // Counters of a different server start over.
                (self.now, self.before) = (None, None);
                self.history = History::default();
            }
            Update::Lost(why) => {
                let since = self
                    .lost
                    .as_ref()
                    .map_or_else(|| Clock.now(), |lost| lost.0);
                self.lost = Some((since, why));
            }
            Update::Snapshot(snapshot) => {
                self.lost = None;
                if !self.frozen {
                    self.add(*snapshot);
                }
            }
        }
    }

    fn begin(&mut self) {
        let view = |table: &Table| View {
            sort: table.sort,
            ..View::default()
        };
        let views = |screen: &Screen| screen.tables.iter().map(view).collect();
        self.views = self.profile.screens.iter().map(views).collect();
        self.focus = vec![0; self.views.len()];
        self.screen = self.screen.min(self.views.len().saturating_sub(1));
    }

    fn add(&mut self, snapshot: Snapshot) {
        self.unix_s = snapshot.unix_s;
        self.notes = snapshot.notes;
        self.strip.add(&snapshot.latencies);
        let values = Arc::new(snapshot.values);
        self.before = self.now.replace((snapshot.at, values));
        let Some(views) = self.views.get_mut(snapshot.screen) else {
            return;
        };
        let tables = self.profile.screens[snapshot.screen].tables;
        for ((view, table), answered) in views.iter_mut().zip(tables).zip(snapshot.tables) {
            view.add(table, answered);
        }
        if snapshot.screen == self.screen {
            self.history.add(Moment {
                unix_s: self.unix_s,
                now: self.now.clone(),
                before: self.before.clone(),
                shown: views.iter().map(|view| view.shown.clone()).collect(),
            });
        }
    }

    /// Freezes the display at the snapshot before the shown one, or after it.
    fn step(&mut self, back: bool) {
        self.frozen = true;
        let moment = self.history.step(back).cloned();
        self.show(moment);
    }

    fn resume(&mut self) {
        self.frozen = false;
        let moment = self.history.newest().cloned();
        self.show(moment);
    }

    fn show(&mut self, moment: Option<Moment>) {
        let Some(moment) = moment else {
            return;
        };
        (self.unix_s, self.now, self.before) = (moment.unix_s, moment.now, moment.before);
        let views = self.views.get_mut(self.screen).into_iter().flatten();
        for (view, shown) in views.zip(moment.shown) {
            view.shown = shown;
        }
    }

    /// How long before the newest snapshot the shown one was made, in seconds; `None` for the
    /// newest.
    pub fn ago_s(&self) -> Option<f64> {
        self.history.ago_s()
    }

    /// The visible screen.
    pub fn visible_screen(&self) -> Option<&'static Screen> {
        self.profile.screens.get(self.screen)
    }

    /// The tables of the visible screen.
    pub fn views(&self) -> &[View] {
        self.views.get(self.screen).map_or(&[], Vec::as_slice)
    }

    /// The focused table.
    pub fn focused(&self) -> usize {
        self.focus.get(self.screen).copied().unwrap_or(0)
    }

    /// Problems for the user: missing privileges, settings, refused questions.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        let all = self.profile.notes.iter().chain(&self.notes);
        all.map(String::as_str)
    }

    /// The remarks that apply to the visible screen.
    pub fn remarks(&self) -> impl Iterator<Item = String> {
        let title = self.visible_screen().map(|screen| screen.title);
        let remarks = self.profile.remarks.iter();
        let here = remarks.filter(move |remark| Some(remark.screen) == title);
        here.filter_map(|remark| {
            let cell = self.figure(&remark.figure);
            cell.number().filter(|number| *number > 0.0)?;
            let value = format::cell(remark.figure.kind, &cell);
            Some(remark.words.replace("{}", &value))
        })
    }

    /// A figure of the last snapshot.
    pub fn figure(&self, figure: &Figure) -> Cell {
        let Some((at, now)) = &self.now else {
            return Cell::Absent;
        };
        let before = self.before.as_ref();
        let before = before.map(|(earlier, values)| (values.as_ref(), seconds(*earlier, *at)));
        cell(figure, now.as_ref(), before)
    }

    /// The filtered rows of a table of this screen, sorted.
    pub fn rows(&self, table: usize) -> Vec<&[Cell]> {
        let (Some(screen), Some(view)) = (self.visible_screen(), self.views().get(table)) else {
            return Vec::new();
        };
        let columns = screen.tables[table].columns;
        let wanted = self.filter.to_lowercase();
        let fits = |row: &&Vec<Cell>| {
            let mut cells = columns.iter().zip(row.iter());
            let has = |(column, cell): (&Figure, &Cell)| {
                format::cell(column.kind, cell)
                    .to_lowercase()
                    .contains(&wanted)
            };
            wanted.is_empty() || cells.any(has)
        };
        let rows = view.shown.rows.iter().filter(fits);
        let mut rows: Vec<&[Cell]> = rows.map(Vec::as_slice).collect();
        let Some(column) = columns.get(view.sort) else {
            return rows;
        };
        // Numbers descending, text ascending.
        let ascending = (column.kind == Kind::Text) != view.inverted;
        rows.sort_by(|one, other| {
            let order = order(column.kind, &one[view.sort], &other[view.sort]);
            if ascending { order } else { order.reverse() }
        });
        rows
    }

    /// Performs the action of a key.
    pub fn act(&mut self, action: Action) -> Effect {
        match action {
            Action::Quit => return Effect::Quit,
            Action::Screen(screen) => return self.go_to(screen),
            Action::NextScreen => return self.go_to((self.screen + 1) % self.views.len().max(1)),
            Action::LastScreen => {
                let all = self.views.len().max(1);
                return self.go_to((self.screen + all - 1) % all);
            }
            Action::Slower | Action::Faster => {
                self.interval = stepped(self.interval, action == Action::Slower);
                return Effect::Every(self.interval);
            }
            Action::Refresh => {
                self.resume();
                return Effect::Refresh;
            }
            Action::Freeze if self.frozen => self.resume(),
            Action::Freeze => self.frozen = true,
            Action::Earlier | Action::Later => self.step(action == Action::Earlier),
            Action::Help => {
                self.mode = match self.mode {
                    Mode::Help => Mode::Usual,
                    Mode::Usual | Mode::Filter => Mode::Help,
                };
            }
            Action::Filter => self.mode = Mode::Filter,
            Action::Accept => self.mode = Mode::Usual,
            Action::Clear => {
                self.mode = Mode::Usual;
                self.filter.clear();
            }
            Action::Type(c) if self.filter.chars().count() < FILTER_MAX => self.filter.push(c),
            Action::Type(_) => {}
            Action::Erase => drop(self.filter.pop()),
            Action::NextTable => {
                let tables = self.views().len().max(1);
                if let Some(focus) = self.focus.get_mut(self.screen) {
                    *focus = (*focus + 1) % tables;
                }
            }
            other => self.look(other),
        }
        Effect::None
    }

    /// Performs an action on the focused table.
    fn look(&mut self, action: Action) {
        /// The rows of a page.
        const PAGE: isize = 10;
        let focus = self.focused();
        let last = self.rows(focus).len().saturating_sub(1);
        let columns = self
            .visible_screen()
            .and_then(|screen| screen.tables.get(focus));
        let columns = columns.map_or(1, |table| table.columns.len()).max(1);
        let views = self.views.get_mut(self.screen);
        let Some(view) = views.and_then(|views| views.get_mut(focus)) else {
            return;
        };
        match action {
            Action::SortNext => view.sort = (view.sort + 1) % columns,
            Action::SortLast => view.sort = (view.sort + columns - 1) % columns,
            Action::Invert => view.inverted = !view.inverted,
            Action::Rows(by) => view.offset = moved(view.offset, by, last),
            Action::Pages(by) => view.offset = moved(view.offset, by * PAGE, last),
            Action::Top => view.offset = 0,
            Action::Bottom => view.offset = last,
            Action::Columns(by) => view.first_column = moved(view.first_column, by, columns - 1),
            _ => {}
        }
    }

    fn go_to(&mut self, screen: usize) -> Effect {
        if screen >= self.views.len() || screen == self.screen {
            return Effect::None;
        }
        self.screen = screen;
        self.frozen = false;
        self.history = History::default();
        // The last answer of this screen is old, so no interval begins there.
        for view in &mut self.views[screen] {
            view.forget();
        }
        Effect::Show(screen)
    }
}

impl View {
    fn add(&mut self, table: &Table, answered: Answered) {
        self.notes = answered.notes;
        self.refused = answered.answer.is_none();
        let Some(answer) = answered.answer else {
            self.forget();
            return;
        };
        // An answer that was not requested again keeps its rates.
        if self.now.as_ref().is_some_and(|(at, _)| *at == answered.at) {
            return;
        }
        self.before = self.now.replace((answered.at, Arc::clone(&answer)));
        let before = self.before.as_ref();
        let before = before.map(|(at, answer)| (answer.as_ref(), seconds(*at, answered.at)));
        self.shown = shown(table, &answer, before);
        self.slow
            .hold(table, &answer, answered.at, &mut self.shown.rows);
        self.offset = self.offset.min(self.shown.rows.len().saturating_sub(1));
    }

    fn forget(&mut self) {
        (self.now, self.before) = (None, None);
        self.shown = Shown::default();
        self.slow = Slow::default();
    }

    /// Whether an answer has come.
    pub fn is_answered(&self) -> bool {
        self.now.is_some()
    }
}

fn seconds(from: Nanos, to: Nanos) -> f64 {
    to.saturating_sub(from) as f64 / 1e9
}

fn moved(from: usize, by: isize, last: usize) -> usize {
    from.saturating_add_signed(by).min(last)
}

fn stepped(interval: Duration, slower: bool) -> Duration {
    let ms = interval.as_millis() as u64;
    let next = match slower {
        true => INTERVALS_MS.into_iter().find(|step| *step > ms),
        false => INTERVALS_MS.into_iter().rev().find(|step| *step < ms),
    };
    next.map_or(interval, Duration::from_millis)
}
