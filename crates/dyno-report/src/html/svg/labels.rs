//! Short labels of axes, and the width of texts.

use std::borrow::Cow;

use dyno_core::text::trim_zeros;
use dyno_core::visible;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::super::chart::Axis;
use super::super::figures;
use super::super::time::clock;

const BINARY: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const TIMES: [&str; 4] = ["ns", "µs", "ms", "s"];
const NS_PER_MS: f64 = 1e6;
/// The mean width of a character, as a share of the font's size, in Helvetica and its like.
const CHARACTER: f64 = 0.56;

/// A value on an axis, as `onAxis` in `assets/format.js`.
pub(super) fn on_axis(value: f64, unit: &str) -> String {
    match unit {
        "bytes" | "bytes/s" => stepped(value, 1024.0, &BINARY),
        "kb" => stepped(value * 1024.0, 1024.0, &BINARY),
        "ms" => stepped(value * NS_PER_MS, 1000.0, &TIMES),
        "us" => stepped(value * 1e3, 1000.0, &TIMES),
        "percent" | "s" => figures::value(value, unit),
        _ => match value.abs() {
            size if size >= 1e9 => format!("{} G", short(value / 1e9, 2)),
            size if size >= 1e6 => format!("{} M", short(value / 1e6, 2)),
            size if size >= 1e3 => format!("{} k", short(value / 1e3, 2)),
            _ => figures::significant(value),
        },
    }
}

/// An axis's name, with the unit unless the labels have it.
pub(super) fn axis_name(axis: &Axis) -> String {
    let unit = match axis.unit.as_str() {
        "count/s" | "bytes/s" => "per second",
        "bytes" | "kb" | "ms" | "us" | "s" | "percent" | "ratio" => "",
        "mhz" => "MHz",
        "count" if !axis.name.is_empty() => "",
        other => other,
    };
    match (axis.name.as_str(), unit) {
        (name, unit) if name == unit => unit.to_owned(),
        ("", text) | (text, "") => text.to_owned(),
        (name, unit) => format!("{name}, {unit}"),
    }
}

fn stepped(value: f64, step: f64, units: &[&str]) -> String {
    let (mut size, mut unit) = (value, 0);
    while size.abs() >= step * 0.9995 && unit + 1 < units.len() {
        size /= step;
        unit += 1;
    }
    let decimals = match size.abs() {
        size if size >= 99.95 => 0,
        size if size >= 9.995 => 1,
        _ => 2,
    };
    let unit = match value == 0.0 && units == TIMES {
        true => "ms",
        false => units.get(unit).copied().unwrap_or_default(),
    };
    format!("{} {unit}", short(size, decimals))
}

/// A number with at most this many decimals.
fn short(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let sign = if value < 0.0 { "−" } else { "" };
    format!("{sign}{}", trim_zeros(&text))
}

/// Seconds from the start of the measurement, with tenths if the step has them: `0:00.5`.
pub(super) fn time(at_s: f64, step_s: f64) -> String {
    if step_s >= 1.0 {
        return clock(at_s);
    }
    let tenths = (at_s.abs() * 10.0).round();
    let sign = if at_s < 0.0 && tenths > 0.0 {
        "−"
    } else {
        ""
    };
    let whole = clock((tenths / 10.0).floor());
    match tenths % 10.0 {
        0.0 => format!("{sign}{whole}"),
        tenth => format!("{sign}{whole}.{tenth}"),
    }
}

/// The approximate width of a text in pixels.
pub(super) fn width(text: &str, font_size: f64) -> f64 {
    text.width() as f64 * font_size * CHARACTER
}

/// The text in one line, cut if it is wider than `room`. Hidden characters are visible.
pub(super) fn fitted(text: &str, font_size: f64, room: f64) -> String {
    let line: Cow<'_, str> = match text.contains(['\n', '\t']) {
        true => text.replace(['\n', '\t'], " ").into(),
        false => text.into(),
    };
    let line = visible::text(&line);
    if width(&line, font_size) <= room {
        return line.into_owned();
    }
    let room = room - width("…", font_size);
    let mut used = 0.0;
    let fits = |c: &char| {
        used += c.width().unwrap_or(0) as f64 * font_size * CHARACTER;
        used <= room
    };
    let mut cut: String = line.chars().take_while(fits).collect();
    cut.truncate(cut.trim_end().len());
    cut + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_short_and_have_units() {
        for (value, unit, expected) in [
            (0.0, "ms", "0 ms"),
            (0.05, "ms", "50 µs"),
            (20.0, "ms", "20 ms"),
            (1500.0, "ms", "1.5 s"),
            (250.0, "us", "250 µs"),
            (2_621_440.0, "bytes/s", "2.5 MiB"),
            (0.0, "bytes", "0 B"),
            (2048.0, "kb", "2 MiB"),
            (40.0, "percent", "40 %"),
            (4_500.0, "count/s", "4.5 k"),
            (-2_000_000.0, "count", "−2 M"),
            (0.25, "cores", "0.25"),
        ] {
            assert_eq!(on_axis(value, unit), expected, "{value} {unit}");
        }
    }

    #[test]
    fn names_of_axes_have_the_unit_that_labels_lack() {
        let name = |name, unit| axis_name(&Axis::new(name, unit));
        assert_eq!(name("throughput", "count/s"), "throughput, per second");
        assert_eq!(name("latency", "ms"), "latency");
        assert_eq!(name("CPU", "cores"), "CPU, cores");
        assert_eq!(name("sessions", "count"), "sessions");
        assert_eq!(
            (name("", "count"), name("", "ms")),
            ("count".into(), String::new())
        );
    }

    #[test]
    fn times_have_tenths_only_if_needed() {
        assert_eq!(time(90.0, 30.0), "1:30");
        assert_eq!(time(0.5, 0.5), "0:00.5");
        assert_eq!(time(-0.5, 0.5), "−0:00.5");
        assert_eq!(time(0.0, 0.1), "0:00");
        assert_eq!(time(59.999_999, 0.1), "1:00");
    }

    #[test]
    fn long_texts_are_cut_to_their_room() {
        assert_eq!(fitted("short", 10.0, 100.0), "short");
        let cut = fitted("a rather long sentence", 10.0, 60.0);
        assert_eq!(cut, "a rather…");
        assert!(width(&cut, 10.0) <= 60.0);
        assert_eq!(fitted("a\nb\u{1b}", 10.0, 100.0), "a b\\x1b");
    }
}
