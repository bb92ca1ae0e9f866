//! Marks of a run in its charts over time: warm-up, stalls, events and parts of the load.

use super::super::data::RunData;
use super::super::markup::xml_text;
use super::labels::time;
use super::scale::Scale;
use super::sheet::{Key, SOFT, Sheet, Swatch, put};

/// The colours of `assets/report.css`, without alpha for old viewers.
const WARMUP: &str = "fill=\"#5a6978\" fill-opacity=\"0.13\"";
const STALL: &str = "fill=\"#c83c28\" fill-opacity=\"0.3\"";
const EVENT: &str = "fill=\"none\" stroke=\"#7a3b86\" stroke-dasharray=\"4 3\"";
const EVENT_AREA: &str = "fill=\"#7a3b86\" fill-opacity=\"0.1\"";
/// A narrower stall would not be visible.
const STALL_WIDTH_MIN: f64 = 2.0;

/// Their entries in the legend.
pub(super) fn keys(run: &RunData) -> Vec<Key> {
    let key = |name: &str, swatch| Key {
        name: name.to_owned(),
        swatch,
    };
    let mut keys = Vec::new();
    if run.warmup.is_some() {
        keys.push(key("warm-up", Swatch::Area(WARMUP.to_owned())));
    }
    if !run.stalls.is_empty() {
        keys.push(key("stall", Swatch::Area(STALL.to_owned())));
    }
    if !run.parts.is_empty() {
        keys.push(key("part of the load", Swatch::Upright(part_look())));
    }
    let mut kinds: Vec<&str> = Vec::new();
    for event in &run.events {
        if !kinds.contains(&event.kind) {
            kinds.push(event.kind);
        }
    }
    if !kinds.is_empty() {
        let name = kinds.join(", ");
        keys.push(key(&name, Swatch::Upright(EVENT.to_owned())));
    }
    keys
}

fn part_look() -> String {
    format!("fill=\"none\" stroke=\"{SOFT}\" stroke-dasharray=\"1 3\"")
}

/// Draws the areas, which belong below the data.
pub(super) fn areas(sheet: &mut Sheet, run: &RunData, x: &Scale) {
    if let Some((from, to)) = run.warmup {
        area(sheet, x.at(from.0), x.at(to.0), WARMUP);
    }
    for (from, to) in &run.stalls {
        let (from, to) = (x.at(from.0), x.at(to.0));
        let more = (STALL_WIDTH_MIN - (to - from)).max(0.0) / 2.0;
        let from = (from - more).max(sheet.area.left);
        let to = (to + more).min(sheet.area.right);
        area(sheet, from, to, STALL);
    }
    for event in &run.events {
        if let Some(until) = event.until {
            area(sheet, x.at(event.at.0), x.at(until.0), EVENT_AREA);
        }
    }
}

fn area(sheet: &mut Sheet, from: f64, to: f64, look: &str) {
    let area = sheet.area;
    put!(
        sheet,
        "<rect x=\"{from:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" {look}/>\n",
        area.top,
        (to - from).max(0.0),
        area.bottom - area.top
    );
}

/// Draws the lines, which belong above the data.
pub(super) fn lines(sheet: &mut Sheet, run: &RunData, x: &Scale) {
    let within = |at_s: f64| at_s >= run.from.0 && at_s <= run.to.0;
    for part in run.parts.iter().filter(|part| within(part.at.0)) {
        let text = format!("part {}", part.text);
        line(sheet, x.at(part.at.0), &part_look(), &text);
    }
    let events = run.events.iter().enumerate();
    for (number, event) in events.filter(|(_, event)| within(event.at.0)) {
        let at = time(event.at.0, 1.0);
        // With the number that the chart's description has.
        let text = format!("E{}, {at}, {}: {}", number + 1, event.kind, event.text);
        line(sheet, x.at(event.at.0), EVENT, &text);
    }
}

/// A vertical line with a text that viewers show on request.
fn line(sheet: &mut Sheet, x: f64, look: &str, text: &str) {
    let area = sheet.area;
    put!(
        sheet,
        "<path d=\"M{x:.1} {:.1}V{:.1}\" {look}><title>{}</title></path>\n",
        area.top,
        area.bottom,
        xml_text(text)
    );
}
