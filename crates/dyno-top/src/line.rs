//! One line for each interval, without a terminal.

use std::time::Duration;

use dyno_core::clock::civil;
use dyno_core::visible;
use serde_json::{Map, Value, json};

use crate::app::{TopError, first};
use crate::figures::Cell;
use crate::format;
use crate::poll::{Poller, Update};
use crate::profile::{Figure, Kind, Profile};
use crate::state::State;

/// The header is repeated after this many lines.
const HEADER_EVERY: u64 = 20;
/// Characters of a figure's column, and of the time before the figures.
const WIDTH: usize = 10;
/// How often to check whether the user wants to stop.
const LOOK: Duration = Duration::from_millis(100);

/// How to write lines.
pub struct Lines<'a> {
    /// The interval.
    pub interval: Duration,
    /// Stop after this many; `None` for never.
    pub count: Option<u64>,
    /// One JSON object per line.
    pub json: bool,
    /// Whether the user wants to stop.
    pub stopped: &'a dyn Fn() -> bool,
    /// Writes a line, with its line feed; false if the reader has closed the output.
    pub write: &'a mut dyn FnMut(&str) -> bool,
}

/// Writes lines until their number is reached, or the user wants to stop.
///
/// # Errors
/// There was never a connection.
pub fn lines(poller: &Poller, how: Lines<'_>) -> Result<(), TopError> {
    let Some(profile) = first(poller, how.stopped)? else {
        return Ok(());
    };
    let mut state = State::new(profile, how.interval);
    let mut written = 0;
    // The first snapshot only starts the first interval.
    let mut is_first = true;
    while how.count.is_none_or(|count| written < count) {
        let Some(update) = next(poller, &how)? else {
            return Ok(());
        };
        let silent = match update {
            Some(Update::Snapshot(snapshot)) => {
                state.take(Update::Snapshot(snapshot));
                if std::mem::take(&mut is_first) {
                    continue;
                }
                None
            }
            Some(Update::Opened(profile)) => {
                is_first = true;
                state.take(Update::Opened(profile));
                continue;
            }
            Some(Update::Lost(why)) => Some(why),
            None => {
                let silent = poller.unanswered_for().unwrap_or_default();
                Some(format!("no answer for {:.0} s", silent.as_secs_f64()))
            }
        };
        let text = match how.json {
            true => object(&state, silent.as_deref()),
            false => line(&state, silent.as_deref(), written),
        };
        written += 1;
        if !(how.write)(&text) {
            return Ok(());
        }
    }
    Ok(())
}

/// The next message; `Some(None)` if none came in time; `None` if the user wants to stop.
fn next(poller: &Poller, how: &Lines<'_>) -> Result<Option<Option<Update>>, TopError> {
    // An answer may take as long as an interval before it counts as missing.
    let patience = how.interval.max(Duration::from_secs(1)) * 2;
    let mut waited = Duration::ZERO;
    while waited < patience {
        if (how.stopped)() {
            return Ok(None);
        }
        let update = poller.next(LOOK).ok_or(TopError::Defect)?;
        if update.is_some() {
            return Ok(Some(update));
        }
        waited += LOOK;
    }
    Ok(Some(None))
}

/// The figures of a source's lines.
fn figures(profile: &Profile) -> &'static [Figure] {
    profile.line
}

fn line(state: &State, silent: Option<&str>, written: u64) -> String {
    let figures = figures(&state.profile);
    let mut text = String::new();
    if written.is_multiple_of(HEADER_EVERY) {
        text.push_str(&format!("{:<WIDTH$}", "UTC"));
        for figure in figures {
            text.push_str(&padded(figure.title, figure));
        }
        text.push('\n');
    }
    if let Some(why) = silent {
        text.push_str(&format!(
            "{:<WIDTH$} {}\n",
            clock(now_s()),
            visible::text(why)
        ));
        return text;
    }
    text.push_str(&format!("{:<WIDTH$}", clock(state.unix_s)));
    for figure in figures {
        let value = format::cell(figure.kind, &state.figure(figure));
        text.push_str(&padded(&value, figure));
    }
    text.push('\n');
    text
}

/// Right-aligned in the figure's column, always after a space.
fn padded(text: &str, figure: &Figure) -> String {
    let width = figure.title.chars().count().max(WIDTH);
    format!(" {text:>width$}")
}

fn object(state: &State, silent: Option<&str>) -> String {
    let mut object = Map::new();
    let at_s = if silent.is_some() {
        now_s()
    } else {
        state.unix_s
    };
    object.insert("unix_s".to_owned(), json!(at_s));
    object.insert("source".to_owned(), json!(state.profile.title));
    match silent {
        Some(why) => {
            object.insert("error".to_owned(), json!(why));
        }
        None => {
            let values = figures(&state.profile).iter().map(|figure| {
                let value = match state.figure(figure) {
                    Cell::Absent => Value::Null,
                    Cell::Text(text) => json!(text),
                    Cell::Number(number) => json!(rounded(number)),
                };
                (name(figure), value)
            });
            object.insert("figures".to_owned(), Value::Object(values.collect()));
        }
    }
    let text = Value::Object(object).to_string();
    format!("{}\n", visible::json(&text))
}

/// Six digits: more are noise from dividing by the interval.
pub(crate) fn rounded(number: f64) -> f64 {
    format!("{number:.5e}").parse().unwrap_or(number)
}

/// A figure's name in JSON: its title with its unit.
fn name(figure: &Figure) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let title = figure.title.to_lowercase().replace("/s", " per s");
    let title: String = title.chars().map(plain).collect();
    match figure.kind {
        Kind::Text | Kind::Count => title,
        Kind::Bytes => format!("{title}_bytes"),
        Kind::Seconds => format!("{title}_s"),
        Kind::Share => format!("{title}_share"),
    }
}

/// The time of day in UTC.
pub(crate) fn clock(unix_s: f64) -> String {
    civil(unix_s, "%H:%M:%S")
}

fn now_s() -> f64 {
    dyno_core::clock::wall_time().as_secs_f64()
}
