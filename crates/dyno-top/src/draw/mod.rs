//! The screens, drawn into a buffer of cells. [`crate::state`] has their content.

mod figures;
mod heat;
mod help;
mod table;

use std::time::Duration;

use dyno_core::clock::Nanos;
use dyno_core::text::shortened;
use dyno_core::units::format_duration;
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use crate::line::clock;
use crate::state::{Mode, State};

/// A question that waits for longer is reported.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of lines of a screen's notes.
const NOTE_LINES_MAX: u16 = 3;
/// Minimum number of lines for the tables, next to figures and latencies.
const TABLE_LINES_MIN: u16 = 6;

/// The look, and data that the state does not have.
pub(crate) struct Look {
    /// Whether to use colours.
    pub colour: bool,
    /// Now.
    pub now: Nanos,
    /// How long a question has been waiting for its answer.
    pub unanswered: Option<Duration>,
}

impl Look {
    /// The style of warnings.
    fn alarm(&self) -> Style {
        self.coloured(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// The style of secondary text.
    fn quiet(&self) -> Style {
        Style::new().add_modifier(Modifier::DIM)
    }

    fn head(&self) -> Style {
        self.coloured(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    fn reversed() -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    fn coloured(&self, colour: Color) -> Style {
        match self.colour {
            true => Style::new().fg(colour),
            false => Style::new(),
        }
    }
}

/// Draws everything.
pub(crate) fn draw(buffer: &mut Buffer, area: Rect, state: &State, look: &Look) {
    if area.height < 4 || area.width < 20 {
        put(
            buffer,
            area.x,
            area.y,
            area.width,
            "too small",
            look.alarm(),
        );
        return;
    }
    head(buffer, area, state, look);
    let footer = Rect {
        y: area.bottom() - 1,
        height: 1,
        ..area
    };
    foot(buffer, footer, state, look);
    let body = Rect {
        y: area.y + 2,
        height: area.height - 3,
        ..area
    };
    if state.mode == Mode::Help {
        help::draw(buffer, body, look);
        return;
    }
    let Some(screen) = state.visible_screen() else {
        return;
    };
    let mut body = notes(buffer, body, state, look);
    let tables = TABLE_LINES_MIN * u16::from(!screen.tables.is_empty());
    let room = |body: Rect| body.height.saturating_sub(tables);
    if !screen.figures.is_empty() {
        let used = figures::draw(
            buffer,
            limited(body, room(body)),
            screen.figures,
            state,
            look,
        );
        body = below(body, used);
    }
    if screen.heat {
        let used = heat::draw(
            buffer,
            limited(body, room(body)),
            &state.strip,
            state.profile.latencies.are_coarse(),
            look,
        );
        body = below(body, used);
    }
    table::draw_all(buffer, body, state, screen, look);
}

/// The source, the interval, and the time; below them the screens' names.
fn head(buffer: &mut Buffer, area: Rect, state: &State, look: &Look) {
    let every = format_duration(state.interval);
    let mut right = format!("every {every}  {} UTC", clock(state.unix_s));
    if state.unix_s == 0.0 {
        right = format!("every {every}");
    }
    let width = right.chars().count() as u16;
    let frozen = match (state.frozen, state.ago_s()) {
        (false, _) => String::new(),
        (true, None) => "FROZEN".to_owned(),
        (true, Some(ago_s)) => format!("{ago_s:.0} s BACK, Space resumes"),
    };
    let used = width + 1 + frozen.len() as u16;
    let room = area.width.saturating_sub(used + 1);
    put(
        buffer,
        area.x,
        area.y,
        room,
        &shortened(&state.profile.title, room.into()),
        look.head(),
    );
    let at = area.right().saturating_sub(width);
    put(buffer, at, area.y, width, &right, look.quiet());
    let at = area.right().saturating_sub(used).max(area.x);
    put(
        buffer,
        at,
        area.y,
        frozen.len() as u16,
        &frozen,
        Look::reversed(),
    );
    let mut x = area.x;
    for (index, screen) in state.profile.screens.iter().enumerate() {
        let style = match index == state.screen {
            true => Look::reversed(),
            false => Style::new(),
        };
        let name = format!(" {} {} ", index + 1, screen.title);
        let room = area.right().saturating_sub(x);
        x = put(buffer, x, area.y + 1, room, &name, style);
    }
}

/// The keys, the filter, or a missing answer.
fn foot(buffer: &mut Buffer, area: Rect, state: &State, look: &Look) {
    let line = |buffer: &mut Buffer, text: &str, style| {
        put(buffer, area.x, area.y, area.width, text, style);
    };
    if state.mode == Mode::Filter {
        let text = format!(
            "Filter: {}▏  Enter keeps it, Esc shows all rows",
            state.filter
        );
        return line(buffer, &text, Style::new());
    }
    if let Some((since, why)) = &state.lost {
        let waits = look.now.saturating_sub(*since) as f64 / 1e9;
        let text = format!("No connection for {waits:.0} s: ");
        // The reason is at the end of the text.
        let room = usize::from(area.width).saturating_sub(text.chars().count());
        let text = match why.chars().count().checked_sub(room) {
            Some(more @ 1..) => text + "…" + &why.chars().skip(more + 1).collect::<String>(),
            _ => text + why,
        };
        return line(buffer, &text, look.alarm());
    }
    if let Some(waits) = look.unanswered.filter(|waits| *waits >= PATIENCE) {
        let text = format!("No answer for {:.0} s", waits.as_secs_f64());
        return line(buffer, &text, look.alarm());
    }
    let mut text =
        "h help  Tab screen  Enter table  < > sort  / filter  Space freeze  + - interval  q quit"
            .to_owned();
    if area.width < 88 {
        text = "h help  Tab screen  Enter table  < > sort  / filter  Space freeze  q quit".into();
    }
    if !state.filter.is_empty() {
        text = format!("Filter: {}  (Esc shows all rows)", state.filter);
    }
    line(buffer, &text, look.quiet());
}

/// Missing privileges, on the first screen, and remarks; returns the rest of the area.
fn notes(buffer: &mut Buffer, area: Rect, state: &State, look: &Look) -> Rect {
    let notes = state.notes().filter(|_| state.screen == 0);
    let mut used = 0;
    for note in notes.map(str::to_owned).chain(state.remarks()) {
        for line in wrapped(&format!("! {note}"), area.width) {
            if used < NOTE_LINES_MAX && used < area.height {
                put(
                    buffer,
                    area.x,
                    area.y + used,
                    area.width,
                    &line,
                    look.coloured(Color::Yellow),
                );
                used += 1;
            }
        }
    }
    below(area, used)
}

/// Writes text, cut at the width, and returns the next position.
fn put(buffer: &mut Buffer, x: u16, y: u16, width: u16, text: &str, style: Style) -> u16 {
    if !buffer.area.contains((x, y).into()) || width == 0 {
        return x;
    }
    buffer.set_stringn(x, y, text, width.into(), style).0
}

/// Text in lines of at most `width` characters, broken at spaces if possible.
fn wrapped(text: &str, width: u16) -> Vec<String> {
    let width = usize::from(width.max(1));
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let mut word: Vec<char> = word.chars().collect();
        while !word.is_empty() {
            let taken = word.len().min(width);
            let part: String = word.drain(..taken).collect();
            match lines.last_mut() {
                Some(line) if line.chars().count() + 1 + taken <= width => {
                    line.push(' ');
                    line.push_str(&part);
                }
                _ => lines.push(part),
            }
        }
    }
    lines
}

fn below(area: Rect, used: u16) -> Rect {
    let used = used.min(area.height);
    Rect {
        y: area.y + used,
        height: area.height - used,
        ..area
    }
}

fn limited(area: Rect, height: u16) -> Rect {
    Rect {
        height: area.height.min(height),
        ..area
    }
}
