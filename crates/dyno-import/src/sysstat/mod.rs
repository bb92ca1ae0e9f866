//! Reads the text of `mpstat DELAY` and `sar DELAY` (sysstat 9 to 12): consecutive tables, each
//! with a heading. Each row begins with the time of day in the locale's format.

mod columns;
pub(crate) mod json;

use std::collections::{BTreeMap, BTreeSet};

use crate::align::HostLog;
use crate::civil::Moment;
use crate::devices::{DeviceRow, Laws};
use crate::disks::{self, Whole};
use crate::locale;
use crate::machine::Machine;
use crate::number;
use crate::table::{Collected, Figure, Shares, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Warning};
use columns::Of;

const DAY_S: f64 = 86_400.0;
/// A time that goes back further than this is on the next day.
const BACK_S: f64 = DAY_S / 2.0;

/// Reads a log of the tool with this name.
///
/// # Errors
/// It has no table of that tool, or no row with known figures.
pub(crate) fn read(
    tool: &'static str,
    looks: Looks,
    log: &Log<'_>,
) -> Result<HostLog, ImportError> {
    let mut reader = Reader {
        file: log.name,
        ..Reader::default()
    };
    let written = json::text(log.text);
    for line in text::lines(written.as_ref().map_or(log.text, |written| &written.text)) {
        reader.take(&line);
    }
    if written.as_ref().is_some_and(|written| written.is_cut) {
        let text = "the JSON is truncated; its complete part is read".to_owned();
        reader.warnings.push(Warning::new(log.name, None, text));
    }
    reader.utc = written.is_some_and(|written| written.utc);
    if reader.collected.all.is_empty() {
        let what = match reader.headings {
            0 => format!("it has no table of {tool} with the time of day before each row"),
            _ => format!("no table in it has a known row of {tool}'s figures"),
        };
        let advice = format!("give the output of `{tool} 1` as text, with LC_ALL=C");
        return Err(crate::not_recognised(log, what, looks, &advice));
    }
    Ok(reader.finish(tool))
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    machine: Machine,
    of: Of,
    columns: Vec<String>,
    /// The position of the rows' names.
    name: Option<usize>,
    headings: usize,
    /// The time of the first heading, when the first interval begins.
    began: Option<f64>,
    /// The times of all samples, and their positions.
    moments: Vec<Moment>,
    /// Whether the times are UTC.
    utc: bool,
    /// The samples with rows of devices.
    devices: BTreeSet<usize>,
    /// The time of the previous row if it is a device's: another one may follow.
    open: Option<u64>,
    /// The times whose tables of devices lack a row, which is damaged or cut off.
    partial: BTreeSet<u64>,
    places: BTreeMap<u64, usize>,
    /// For each table by its columns: the time of day of its last row, and the number of days
    /// passed. `sar` prints one after the other, or all of them in turn.
    clocks: BTreeMap<Vec<String>, (f64, f64)>,
    collected: Collected,
    shares: Shares,
    laws: Laws,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        let bare = line.text.trim();
        let open = self.open.take();
        if line.cut {
            self.partial.extend(open);
        }
        if bare.starts_with("Linux ") {
            self.machine = Machine::read(bare, "the first line of mpstat or sar");
            self.clocks.clear();
            return;
        }
        let plain = locale::plain(bare);
        let words: Vec<&str> = plain.split_whitespace().collect();
        let clock = locale::time_of_day(&words);
        let clock = clock.and_then(|(time_s, taken)| Some((time_s, words.get(taken..)?)));
        let Some((time_s, words)) = clock else {
            // `Average:` and other rows without a time are not samples.
            match words.is_empty() {
                true => self.of = Of::Nothing,
                false => self.partial.extend(open),
            }
            return;
        };
        let Some(first) = words.first() else {
            return;
        };
        // `LINUX RESTART (4 CPU)`
        if first.eq_ignore_ascii_case("linux") {
            self.of = Of::Nothing;
            return;
        }
        if is_heading(words) {
            self.headings += 1;
            self.columns = words.iter().map(|word| word.to_ascii_lowercase()).collect();
            (self.of, self.name) = Of::heading(&self.columns);
            let began = self.seconds(time_s);
            self.began.get_or_insert(began);
            return;
        }
        match line.cut && self.of != Of::Nothing {
            true => self.warn(line.number, text::ROW_CUT.to_owned()),
            false => self.row(time_s, words, line.number),
        }
    }

    /// A time of the current table, in seconds since 1970 if the day is known.
    fn seconds(&mut self, time_s: f64) -> f64 {
        let clock = self
            .clocks
            .entry(self.columns.clone())
            .or_insert((time_s, 0.0));
        if time_s + BACK_S < clock.0 {
            clock.1 += 1.0;
        }
        clock.0 = time_s;
        self.machine.day_s.unwrap_or(0.0) + clock.1 * DAY_S + time_s
    }

    fn row(&mut self, time_s: f64, words: &[&str], line: usize) {
        if self.of == Of::Nothing {
            return;
        }
        let seconds = self.seconds(time_s);
        if words.len() != self.columns.len() {
            let width = self.columns.len();
            self.skip_row(seconds, line, text::other_width(words.len(), "word", width));
            return;
        }
        let own = |place: &usize| Some(*place) != self.name;
        let places: Vec<usize> = (0..words.len()).filter(own).collect();
        let known = self.of.meanings();
        let figures = places.iter().map(|place| {
            let figure = Figure::read(words[*place])?;
            match meaning(known, &self.columns[*place]) {
                Some(column) => figure.of(column),
                None => Some(figure.plain()),
            }
        });
        let Some(figures) = figures.collect::<Option<Vec<f64>>>() else {
            self.skip_row(
                seconds,
                line,
                "not a row of figures; it is skipped".to_owned(),
            );
            return;
        };
        let names = places.iter().map(|place| self.columns[*place].clone());
        let mut columns: Vec<(String, f64)> = names.zip(figures).collect();
        let name = self.name.map_or("", |place| words[place]);
        let prefix = match self.of {
            // Single CPUs are not imported.
            Of::Cpus if name != "all" && name != "-1" => return,
            Of::Cpus => match self.shares_of(&mut columns, line) {
                true => String::new(),
                false => return,
            },
            Of::Devices => format!("host.disk[{name}]."),
            Of::Interfaces => format!("host.network[{name}]."),
            _ => String::new(),
        };
        let sample = self.sample(seconds);
        if self.of == Of::Devices {
            self.devices.insert(sample);
            self.open = Some(seconds.to_bits());
            let printed = places.iter();
            let printed = printed.map(|place| (self.columns[*place].as_str(), words[*place]));
            self.laws.add(&DeviceRow {
                device: name,
                figures: &printed.collect::<Vec<_>>(),
                sample,
                is_first: false,
                line,
            });
        }
        self.add(&prefix, sample, &columns);
    }

    /// Whether the shares add up to 100 %. Adds the guests' time to that of programs, where the
    /// kernel and the other tools count it.
    fn shares_of(&mut self, columns: &mut [(String, f64)], line: usize) -> bool {
        let shares = columns.iter().filter(|(name, _)| name.starts_with('%'));
        let sum: f64 = shares.clone().map(|(_, value)| value).sum();
        let whole = shares.count() < 4 || self.shares.add(sum, line);
        for (guest, host) in [("%guest", "%usr"), ("%gnice", "%nice")] {
            let found = columns.iter().find(|(name, _)| name == guest);
            let more = found.map_or(0.0, |(_, value)| *value);
            if let Some((_, value)) = columns.iter_mut().find(|(name, _)| name == host) {
                *value += more;
            }
        }
        whole
    }

    /// The position of the sample at a time.
    fn sample(&mut self, seconds: f64) -> usize {
        let moments = &mut self.moments;
        *self.places.entry(seconds.to_bits()).or_insert_with(|| {
            moments.push(Moment {
                seconds,
                utc: false,
                ambiguous: false,
            });
            moments.len() - 1
        })
    }

    fn add(&mut self, prefix: &str, sample: usize, columns: &[(String, f64)]) {
        let known = self.of.meanings();
        for (name, value) in columns {
            if let Some(meaning) = meaning(known, name) {
                let series = format!("{prefix}{}", meaning.series);
                let source = format!("sysstat, column {name}");
                self.collected
                    .add(&series, meaning, source, (sample, *value));
            }
        }
    }

    fn skip_row(&mut self, seconds: f64, line: usize, text: String) {
        if self.of == Of::Devices {
            self.partial.insert(seconds.to_bits());
        }
        self.warn(line, text);
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings
            .push(Warning::new(self.file, Some(line), text));
    }

    fn finish(mut self, tool: &'static str) -> HostLog {
        if let Some((line, text)) = self.shares.warning() {
            self.warn(line, text);
        }
        self.partial.extend(self.open);
        for sample in self.partial.iter().filter_map(|at| self.places.get(at)) {
            self.devices.remove(sample);
        }
        let series = Of::Devices.meanings().iter().map(|own| own.series);
        let whole: Whole = series.map(|name| (name, self.devices.clone())).collect();
        let gaps = disks::settle(&mut self.collected, &whole);
        for (line, text) in std::mem::take(&mut self.laws).settle(&mut self.collected) {
            self.warn(line, text);
        }
        let (ambiguous, utc) = (self.machine.ambiguous, self.utc);
        let dated = self.machine.day_s.is_some();
        let steps: Vec<f64> = (self.moments.windows(2))
            .map(|pair| (pair[1].seconds - pair[0].seconds).abs())
            .collect();
        let first_s = self.began.zip(self.moments.first());
        let first_s = first_s.map(|(began, moment)| moment.seconds - began);
        let moment = |moment: Moment| {
            dated.then_some(Moment {
                ambiguous,
                utc,
                ..moment
            })
        };
        HostLog {
            file: self.file.to_owned(),
            tool,
            first_since_boot: false,
            interval_s: interval_s(&steps, first_s),
            moments: self.moments.into_iter().map(moment).collect(),
            collected: self.collected,
            facts: self.machine.facts,
            gaps,
            warnings: self.warnings,
        }
    }
}

/// The usual interval. With two samples, the time of one may be damaged, so use the first interval
/// if it is shorter.
fn interval_s(steps: &[f64], first_s: Option<f64>) -> f64 {
    let usual = dyno_stats::median(steps)
        .filter(|s| *s > 0.0)
        .unwrap_or(1.0);
    let first_s = first_s.filter(|s| *s > 0.0 && steps.len() == 1);
    first_s.map_or(usual, |first_s| usual.min(first_s))
}

/// Whether a row has the names of columns: none of its words is a figure, and one is typical.
fn is_heading(words: &[&str]) -> bool {
    let figure = |word: &&str| number::decimal(word).is_some();
    let typical = |word: &&str| {
        word.contains('/')
            || word.starts_with('%')
            || word.starts_with("kb")
            || matches!(
                *word,
                "CPU" | "DEV" | "IFACE" | "runq-sz" | "tps" | "INTR" | "TTY"
            )
    };
    !words.iter().any(figure) && words.iter().any(typical)
}

#[cfg(test)]
mod tests;
