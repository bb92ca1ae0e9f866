//! A load that changes over time: `100/s for 30s, 200/s for 30s`, a ramp, a sine.

mod read;

use std::f64::consts::TAU;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::units::format_duration;

/// Maximum number of parts of a schedule: each is judged like a run.
pub const PARTS_MAX: usize = 1000;

/// Maximum number of changes of the session count: each is computed before the run.
const CHANGES_MAX: f64 = 5e6;

/// The quantity that a schedule changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Scheduled {
    /// Arriving events per second.
    Rate,
    /// Active sessions.
    Sessions,
}

/// How the level changes within a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum LoadShape {
    /// No change.
    Constant,
    /// Linear from the first level to the second.
    Ramp,
    /// A sine from the first level to the second and back within each period.
    Sine,
}

/// A part of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadPart {
    /// How the level changes.
    pub shape: LoadShape,
    /// The first level: events per second, or sessions.
    pub from: f64,
    /// The second level; the same as the first for a constant part.
    pub to: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// A sine's period, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub period_s: Option<f64>,
}

/// A load that changes over the measurement, part after part. The warm-up has the first level.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct LoadSchedule {
    /// The scheduled quantity.
    pub of: Scheduled,
    /// The parts in order, without a gap.
    pub parts: Vec<LoadPart>,
}

/// A part with its label and its place in time.
#[derive(Clone, Debug, PartialEq)]
pub struct PlacedPart {
    /// The text of the part, without its length: `100/s`, `1..64`.
    pub label: String,
    /// Its start, in seconds from the start of the measurement.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
    /// The part.
    pub part: LoadPart,
}

impl LoadPart {
    /// The level after `at_s` seconds of the part.
    pub fn level(&self, at_s: f64) -> f64 {
        let (low, span) = (self.from, self.to - self.from);
        match self.shape {
            LoadShape::Constant => low,
            LoadShape::Ramp => low + span * (at_s / self.seconds).clamp(0.0, 1.0),
            LoadShape::Sine => low + span / 2.0 * (1.0 - (self.omega() * at_s).cos()),
        }
    }

    /// The integral of the level over the first `at_s` seconds of the part: the number of events to
    /// arrive.
    pub fn integral(&self, at_s: f64) -> f64 {
        let (low, span) = (self.from, self.to - self.from);
        match self.shape {
            LoadShape::Constant => low * at_s,
            LoadShape::Ramp => low * at_s + span * at_s * at_s / (2.0 * self.seconds),
            LoadShape::Sine => {
                let omega = self.omega();
                low * at_s + span / 2.0 * (at_s - (omega * at_s).sin() / omega)
            }
        }
    }

    /// The mean level.
    pub fn mean(&self) -> f64 {
        self.integral(self.seconds) / self.seconds
    }

    /// The highest level.
    pub fn max(&self) -> f64 {
        self.from.max(self.to)
    }

    /// Whether the level does not change.
    pub fn is_constant(&self) -> bool {
        self.shape == LoadShape::Constant
    }

    fn omega(&self) -> f64 {
        TAU / self.period_s.unwrap_or(self.seconds)
    }

    /// Its text, without its length.
    pub fn label(&self, of: Scheduled) -> String {
        let unit = match of {
            Scheduled::Rate => "/s",
            Scheduled::Sessions => "",
        };
        let (from, to) = (self.from, self.to);
        match self.shape {
            LoadShape::Constant => format!("{from}{unit}"),
            LoadShape::Ramp => format!("{from}{unit}..{to}{unit}"),
            LoadShape::Sine => {
                let period = duration(self.period_s.unwrap_or(self.seconds));
                format!("sine {from}{unit}..{to}{unit} every {period}")
            }
        }
    }
}

impl LoadSchedule {
    /// Whether the text of `--rate` or `--sessions` is a schedule rather than one level.
    pub fn is_one(text: &str) -> bool {
        text.contains(',')
            || text.contains("..")
            || text.split_whitespace().any(|word| word == "for")
            || text.trim_start().starts_with("sine")
    }

    /// Parses a schedule. The last part may omit its length if the total `time` is given; else both
    /// must agree.
    ///
    /// # Errors
    /// The wrong part, and the expected form.
    pub fn parse(text: &str, of: Scheduled, time: Option<Duration>) -> Result<Self, String> {
        let texts: Vec<&str> = text.split(',').map(str::trim).collect();
        if texts.len() > PARTS_MAX {
            return Err(format!("it has more than {PARTS_MAX} parts"));
        }
        let last = texts.len() - 1;
        let mut parts: Vec<LoadPart> = Vec::with_capacity(texts.len());
        for (number, own) in texts.iter().enumerate() {
            let before_s: f64 = parts.iter().map(|part| part.seconds).sum();
            let rest = time.filter(|_| number == last);
            let rest = rest.map(|time| time.as_secs_f64() - before_s);
            let read = read::part(own, of, rest).map_err(|why| match texts.len() {
                1 => why,
                _ => format!("part {}: {why}", number + 1),
            })?;
            parts.push(read);
        }
        let schedule = Self { of, parts };
        if of == Scheduled::Sessions && schedule.changes() > CHANGES_MAX {
            let why = "the number of sessions changes more than 5,000,000 times: use a longer \
                       period or smaller differences between levels";
            return Err(why.to_owned());
        }
        if schedule.max() <= 0.0 {
            return Err("no part has a level above 0".to_owned());
        }
        if let Some(time) = time
            && (schedule.seconds() - time.as_secs_f64()).abs() > 1e-6
        {
            return Err(format!(
                "its parts take {}, but --time is {}: omit --time",
                duration(schedule.seconds()),
                format_duration(time)
            ));
        }
        Ok(schedule)
    }

    /// How often the rounded level changes.
    fn changes(&self) -> f64 {
        let of = |part: &LoadPart| {
            let span = (part.to - part.from).abs() + 1.0;
            let periods = part
                .period_s
                .map_or(1.0, |period_s| part.seconds / period_s);
            span * 2.0 * periods.max(1.0)
        };
        self.parts.iter().map(of).sum()
    }

    /// The length of all parts.
    pub fn seconds(&self) -> f64 {
        self.parts.iter().map(|part| part.seconds).sum()
    }

    /// The highest level.
    pub fn max(&self) -> f64 {
        self.parts.iter().map(LoadPart::max).fold(0.0, f64::max)
    }

    /// The lowest level.
    pub fn min(&self) -> f64 {
        let lowest = |part: &LoadPart| part.from.min(part.to);
        self.parts.iter().map(lowest).fold(f64::INFINITY, f64::min)
    }

    /// The levels in short, without lengths: `100/s → 200/s`. Of many parts only the first ones and
    /// the last.
    pub fn short(&self) -> String {
        const LABELS_MAX: usize = 5;
        let label = |part: &LoadPart| part.label(self.of);
        let labels: Vec<String> = self.parts.iter().map(label).collect();
        match labels.as_slice() {
            [first, second, .., last] if labels.len() > LABELS_MAX => {
                format!("{first} → {second} → … → {last} ({} parts)", labels.len())
            }
            all => all.join(" → "),
        }
    }

    /// The mean level over all parts.
    pub fn mean(&self) -> f64 {
        let all: f64 = (self.parts.iter())
            .map(|part| part.integral(part.seconds))
            .sum();
        all / self.seconds()
    }

    /// The section of the schedule within a time of the measurement. A section of a sine keeps its
    /// levels and its period, but not its phase.
    pub fn within(&self, from_s: f64, to_s: f64) -> Self {
        let clipped = |placed: &PlacedPart| {
            let (from, to) = (from_s.max(placed.from_s), to_s.min(placed.to_s));
            let mut part = placed.part;
            part.seconds = to - from;
            if part.shape == LoadShape::Ramp {
                part.from = placed.part.level(from - placed.from_s);
                part.to = placed.part.level(to - placed.from_s);
            }
            (to - from > 1e-6).then_some(part)
        };
        Self {
            of: self.of,
            parts: self.placed().iter().filter_map(clipped).collect(),
        }
    }

    /// The mean level within a time of the measurement; the overall mean if no part falls into it.
    pub fn mean_within(&self, from_s: f64, to_s: f64) -> f64 {
        let (mut sum, mut covered_s) = (0.0, 0.0);
        for placed in self.placed() {
            let (from, to) = (from_s.max(placed.from_s), to_s.min(placed.to_s));
            if to > from {
                let by = |at_s: f64| placed.part.integral(at_s - placed.from_s);
                sum += by(to) - by(from);
                covered_s += to - from;
            }
        }
        match covered_s > 0.0 {
            true => sum / covered_s,
            false => self.mean(),
        }
    }

    /// The level, if it does not change.
    pub fn constant(&self) -> Option<f64> {
        let first = self.parts.first()?.from;
        let stays = |part: &LoadPart| part.is_constant() && part.from == first;
        self.parts.iter().all(stays).then_some(first)
    }

    /// The level of the warm-up: the first level of the first part.
    pub fn first(&self) -> f64 {
        self.parts.first().map_or(0.0, |part| part.from)
    }

    /// The parts with their places in the measurement.
    pub fn placed(&self) -> Vec<PlacedPart> {
        let mut from_s = 0.0;
        let place = |part: &LoadPart| {
            let start_s = from_s;
            from_s += part.seconds;
            PlacedPart {
                label: part.label(self.of),
                from_s: start_s,
                to_s: from_s,
                part: *part,
            }
        };
        self.parts.iter().map(place).collect()
    }

    /// The level at an instant of the measurement; before it, that of the warm-up.
    pub fn level(&self, at_s: f64) -> f64 {
        let mut left_s = at_s.max(0.0);
        for part in &self.parts {
            if left_s < part.seconds {
                return part.level(left_s);
            }
            left_s -= part.seconds;
        }
        self.parts
            .last()
            .map_or(0.0, |part| part.level(part.seconds))
    }

    /// Checks a schedule that was not read by [`Self::parse`].
    ///
    /// # Errors
    /// An invalid level or length.
    pub fn validate(&self) -> Result<(), String> {
        let read = Self::parse(&self.to_string(), self.of, None)?;
        match read.parts.len() == self.parts.len() {
            true => Ok(()),
            false => Err("the schedule's parts do not match its text".to_owned()),
        }
    }
}

impl fmt::Display for LoadSchedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, part) in self.parts.iter().enumerate() {
            let separator = if number > 0 { ", " } else { "" };
            let length = duration(part.seconds);
            let word = match part.shape {
                LoadShape::Ramp => "over",
                LoadShape::Constant | LoadShape::Sine => "for",
            };
            write!(f, "{separator}{} {word} {length}", part.label(self.of))?;
        }
        Ok(())
    }
}

fn duration(seconds: f64) -> String {
    format_duration(Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(text: &str) -> Result<LoadSchedule, String> {
        LoadSchedule::parse(text, Scheduled::Rate, None)
    }

    #[test]
    fn a_parsed_schedule_prints_in_canonical_form() {
        for (text, written) in [
            ("100/s for 30s, 200/s for 30s", ""),
            ("100/s..1000/s for 5m", "100/s..1000/s over 5m"),
            ("sine 100/s..500/s every 1m for 10m", ""),
            (
                "0/s..2k/s over 10s,1k for 1s",
                "0/s..2000/s over 10s, 1000/s for 1s",
            ),
        ] {
            let read = rate(text).unwrap();
            let written = if written.is_empty() { text } else { written };
            assert_eq!(read.to_string(), written);
            assert_eq!(rate(written).unwrap(), read);
            assert!(LoadSchedule::is_one(text) && read.validate().is_ok());
        }
        let sessions = LoadSchedule::parse("4 for 2s, 8..1 over 3s", Scheduled::Sessions, None);
        assert_eq!(sessions.unwrap().to_string(), "4 for 2s, 8..1 over 3s");
        for level in ["100/s", "16", "1k"] {
            assert!(!LoadSchedule::is_one(level));
        }
    }

    #[test]
    fn the_last_part_gets_the_remaining_time() {
        let whole = Some(Duration::from_secs(60));
        let of = Scheduled::Rate;
        let read = LoadSchedule::parse("1/s for 20s, 2/s..4/s", of, whole).unwrap();
        assert_eq!(read.parts[1].seconds, 40.0);
        let alone = LoadSchedule::parse("1/s..3/s", of, whole).unwrap();
        assert_eq!((alone.seconds(), alone.mean()), (60.0, 2.0));
        let why = LoadSchedule::parse("1/s for 20s, 2/s for 20s", of, whole).unwrap_err();
        assert!(
            why.contains("its parts take 40s, but --time is 1m"),
            "{why}"
        );
        let why = LoadSchedule::parse("1/s for 60s, 2/s", of, whole).unwrap_err();
        assert!(why.contains("no time is left (--time)"), "{why}");
    }

    #[test]
    fn errors_name_the_wrong_part() {
        for (text, message) in [
            ("100/s for 30s, 200/s", "part 2: '200/s' has no length"),
            ("100/s for 30s, fast for 3s", "part 2: "),
            ("100/s for", "'100/s for' is not a part of a schedule"),
            ("sine 100/s every 3s for 9s", "is not a part of a schedule"),
            ("sine 100/s..200/s for 9s", "is not a part of a schedule"),
            ("1/s..2/s every 3s for 9s", "is not a part of a schedule"),
            ("1/s for 3s,", "part 2: '' is not a part"),
            ("0/s for 3s, 0/s for 4s", "no part has a level above 0"),
            ("1/s for 0s", "must be longer than 0"),
        ] {
            let why = rate(text).unwrap_err();
            assert!(why.contains(message), "{text}: {why}");
        }
        let fast = "sine 1..10000 every 1ms for 1h";
        let why = LoadSchedule::parse(fast, Scheduled::Sessions, None).unwrap_err();
        assert!(why.contains("changes more than 5,000,000 times"), "{why}");
        let why = LoadSchedule::parse("1.5 for 3s", Scheduled::Sessions, None).unwrap_err();
        assert!(why.contains("1.5"), "{why}");
    }

    #[test]
    fn the_integral_is_the_level_summed_up() {
        let texts = ["7/s for 9s", "2/s..11/s over 9s", "11/s..0/s over 9s"];
        let sine = "sine 3/s..12/s every 4s for 9s";
        for text in texts.into_iter().chain([sine]) {
            let part = rate(text).unwrap().parts[0];
            let steps = 90_000;
            let mut sum = 0.0;
            for step in 0..steps {
                let at_s = (f64::from(step) + 0.5) * 9.0 / f64::from(steps);
                sum += part.level(at_s) * 9.0 / f64::from(steps);
            }
            assert!((part.integral(9.0) - sum).abs() < 1e-6, "{text}");
        }
        let both = rate("1/s for 2s, 3/s..5/s over 2s").unwrap();
        assert_eq!(both.level(-1.0), 1.0);
        assert_eq!(
            (both.level(1.9), both.level(3.0), both.level(9.0)),
            (1.0, 4.0, 5.0)
        );
        assert_eq!(both.placed()[1].label, "3/s..5/s");
        assert_eq!((both.min(), both.short()), (1.0, "1/s → 3/s..5/s".into()));
        let many = rate("1/s for 1s, 2/s for 1s, 3/s for 1s, 4/s for 1s, 5/s for 1s, 6/s for 1s");
        assert_eq!(many.unwrap().short(), "1/s → 2/s → … → 6/s (6 parts)");
        let inner = both.within(1.0, 3.0);
        assert_eq!(inner.to_string(), "1/s for 1s, 3/s..4/s over 1s");
        assert!((both.mean_within(1.0, 3.0) - inner.mean()).abs() < 1e-12);
        assert_eq!(
            (inner.constant(), both.within(0.0, 2.0).constant()),
            (None, Some(1.0))
        );
    }
}
