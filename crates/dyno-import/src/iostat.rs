//! Reads the log of `iostat -x DELAY` and variants (`-d`, `-k`, `-m`, `-t`, `-c`, `-z`, `--human`,
//! `--pretty`, `-o JSON`), with old and new columns. Each report begins with a time, the CPU's
//! shares or the device heading.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::catalogue::names;
use dyno_core::record::SeriesKind::Rate;
use dyno_core::text::number_of;

use crate::align::HostLog;
use crate::civil::{self, Moment};
use crate::devices::{DeviceRow, Laws};
use crate::disks::{self, Whole};
use crate::locale;
use crate::machine::Machine;
use crate::sysstat::json;
use crate::table::{Collected, Figure, Filled, Meaning, Row, Shares, column, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Options, Warning};

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
/// The size of a sector, regardless of the device's, and of a block in figures without `-x`.
const SECTOR: f64 = 512.0;

/// From iostat(1) of sysstat 9 to 12. A waiting time without requests is zero.
static DEVICE: [Meaning; 18] = [
    column("r/s", "reads", "count/s", 1.0, Rate),
    column("w/s", "writes", "count/s", 1.0, Rate),
    column("rkb/s", "read_bytes", "bytes/s", KIB, Rate),
    column("wkb/s", "write_bytes", "bytes/s", KIB, Rate),
    column("rmb/s", "read_bytes", "bytes/s", MIB, Rate),
    column("wmb/s", "write_bytes", "bytes/s", MIB, Rate),
    column("rsec/s", "read_bytes", "bytes/s", SECTOR, Rate),
    column("wsec/s", "write_bytes", "bytes/s", SECTOR, Rate),
    column("kb_read/s", "read_bytes", "bytes/s", KIB, Rate),
    column("kb_wrtn/s", "write_bytes", "bytes/s", KIB, Rate),
    column("mb_read/s", "read_bytes", "bytes/s", MIB, Rate),
    column("mb_wrtn/s", "write_bytes", "bytes/s", MIB, Rate),
    column("blk_read/s", "read_bytes", "bytes/s", SECTOR, Rate),
    column("blk_wrtn/s", "write_bytes", "bytes/s", SECTOR, Rate),
    column("r_await", "read_await", "ms", 1.0, Rate),
    column("w_await", "write_await", "ms", 1.0, Rate),
    column("avgqu-sz", "queue", "count", 1.0, Rate),
    column("aqu-sz", "queue", "count", 1.0, Rate),
];
static UTILISATION: Meaning = column("%util", "utilisation", "percent", 1.0, Rate);

const CPU: [Meaning; 6] = [
    column("%user", names::HOST_CPU_USER, "percent", 1.0, Rate),
    column("%nice", names::HOST_CPU_NICE, "percent", 1.0, Rate),
    column("%system", names::HOST_CPU_SYSTEM, "percent", 1.0, Rate),
    column("%iowait", names::HOST_CPU_IOWAIT, "percent", 1.0, Rate),
    column("%steal", names::HOST_CPU_STEAL, "percent", 1.0, Rate),
    column("%idle", names::HOST_CPU_IDLE, "percent", 1.0, Rate),
];

/// Reads a log.
///
/// # Errors
/// It has no heading of iostat, or no row below it.
pub(crate) fn read(log: &Log<'_>, options: &Options) -> Result<HostLog, ImportError> {
    let mut reader = Reader {
        file: log.name,
        ..Reader::default()
    };
    let written = json::text(log.text);
    let lines = text::lines(written.as_ref().map_or(log.text, |written| &written.text));
    reader.prefixed = lines.iter().any(|line| {
        let (stamp, bare) = line.unstamped();
        stamp.is_some() && heading(bare).is_some()
    });
    for line in &lines {
        reader.take(line);
    }
    reader.end_of_row("the log ends within a row");
    if written.is_some_and(|written| written.is_cut) {
        let text = "the JSON is truncated; its complete part is read".to_owned();
        reader.warnings.push(Warning::new(log.name, None, text));
    }
    if reader.collected.all.is_empty() {
        let what = match reader.moments.is_empty() {
            true => "it has no heading of iostat (avg-cpu or Device)".to_owned(),
            false => "it has iostat's headings but no row of figures".to_owned(),
        };
        return Err(crate::not_recognised(
            log,
            what,
            Looks::Iostat,
            "give the output of `iostat -x 1` or `iostat -xt 1`",
        ));
    }
    Ok(reader.finish(options))
}

/// The names of columns, and the kind of the rows below them. With `--pretty` the device names come
/// last.
fn heading(bare: &str) -> Option<(Below, Vec<String>)> {
    let words: Vec<&str> = bare.split_whitespace().collect();
    let device = |word: &str| matches!(word, "Device" | "Device:");
    let (below, names) = match words.as_slice() {
        ["avg-cpu:", names @ ..] => (Below::Cpu, names),
        [first, names @ ..] if device(first) => (Below::Devices, names),
        [names @ .., last] if device(last) && names.len() > 1 => (Below::NamesLast, names),
        _ => return None,
    };
    Some((
        below,
        names.iter().map(|name| name.to_ascii_lowercase()).collect(),
    ))
}

/// The kind of the rows below a heading.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Below {
    #[default]
    Nothing,
    Cpu,
    Devices,
    /// Devices with their names after their figures.
    NamesLast,
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    below: Below,
    columns: Vec<String>,
    row: Row,
    /// Whether the log ends within the current line.
    cut: bool,
    /// Whether a time was added before each line. A line with only a time is then empty.
    prefixed: bool,
    /// The headings of the current report: a repeated one begins the next report.
    had: BTreeSet<Vec<String>>,
    /// The reports with all their devices.
    whole: Whole,
    /// Whether a row of the current table was skipped.
    is_partial: bool,
    /// The length of the first two reports, from amounts and rates: the report, and seconds.
    lengths_s: Vec<(usize, f64)>,
    /// A printed time whose report has not begun.
    moment: Option<Moment>,
    machine: Machine,
    moments: Vec<Option<Moment>>,
    collected: Collected,
    warnings: Vec<Warning>,
    /// Unknown columns, each reported once, with the line of the heading.
    unknown: BTreeMap<String, usize>,
    shares: Shares,
    laws: Laws,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        self.cut = line.cut;
        let (stamp, bare) = line.unstamped();
        let own = if self.prefixed { bare } else { &line.text };
        let moment = self.printed_moment(own);
        if moment.is_some() && self.prefixed && stamp.is_none() {
            self.ends_table();
            return;
        }
        if let Some(moment) = moment {
            self.ends_table();
            self.moment = Some(moment);
            self.had.clear();
            return;
        }
        let words: Vec<&str> = bare.split_whitespace().collect();
        match (words.first(), heading(bare)) {
            (None, _) => self.ends_table(),
            (_, Some((below, columns))) => {
                self.begins(below, columns, stamp);
                if below != Below::Cpu {
                    self.note_unknown(line.number);
                }
            }
            (Some(&"Linux"), _) => self.machine = Machine::read(bare, "iostat's first line"),
            _ => self.row(&words, line.number),
        }
    }

    /// The line printed by `-t`: a date with a time, or `Time: 13:07:48` in old versions.
    fn printed_moment(&self, text: &str) -> Option<Moment> {
        if let Some(clock) = text.trim().strip_prefix("Time:") {
            let day = self.machine.day_s?;
            let whole = civil::moment(&format!("1970-01-01 {}", clock.trim()))?;
            return Some(Moment {
                seconds: day + whole.seconds,
                ..whole
            });
        }
        civil::moment(&locale::dated(text))
    }

    fn begins(&mut self, below: Below, columns: Vec<String>, stamp: Option<Moment>) {
        self.ends_table();
        // The CPU shares come first.
        let again = match below {
            Below::Cpu => !self.had.is_empty(),
            _ => self.had.contains(&columns),
        };
        if again || self.moments.is_empty() || self.moment.is_some() {
            self.moments.push(self.moment.take().or(stamp));
            self.had.clear();
        }
        self.had.insert(columns.clone());
        (self.below, self.columns) = (below, columns);
    }

    fn ends_table(&mut self) {
        self.end_of_row("a row with too few figures");
        let sample = self.moments.len().checked_sub(1);
        let devices = matches!(self.below, Below::Devices | Below::NamesLast) && !self.is_partial;
        if let Some(sample) = sample.filter(|_| devices) {
            for name in &self.columns {
                if let Some(own) = series(name) {
                    self.whole.entry(own.series).or_default().insert(sample);
                }
            }
        }
        (self.below, self.is_partial) = (Below::Nothing, false);
    }

    fn note_unknown(&mut self, line: usize) {
        // Known columns that do not become series.
        const PASSED: [&str; 26] = [
            "tps", "kb_read", "kb_wrtn", "mb_read", "mb_wrtn", "blk_read", "blk_wrtn", "rrqm/s",
            "wrqm/s", "%rrqm", "%wrqm", "rareq-sz", "wareq-sz", "areq-sz", "avgrq-sz", "await",
            "svctm", "d/s", "drqm/s", "%drqm", "d_await", "dareq-sz", "f/s", "f_await", "%util",
            "kb_dscd",
        ];
        for name in &self.columns {
            let discards = name.starts_with("d") && name.ends_with("/s") || name.contains("dscd");
            let known = meaning(&DEVICE, name).is_some() || PASSED.contains(&name.as_str());
            if !known && !discards {
                self.unknown.entry(text::excerpt(name)).or_insert(line);
            }
        }
    }

    fn row(&mut self, words: &[&str], line: usize) {
        let columns = match self.below {
            Below::Nothing => return,
            Below::Cpu => self.columns.len(),
            // The device's name comes before its figures.
            Below::Devices | Below::NamesLast => self.columns.len() + 1,
        };
        match self.row.add(words, columns, line) {
            Filled::Partly => {}
            Filled::TooMany(line, has) => {
                self.skip_row(line, text::other_width(has, "word", columns));
            }
            Filled::Whole(_, line) if self.cut => self.warn(line, text::ROW_CUT.to_owned()),
            Filled::Whole(words, line) if self.below == Below::Cpu => self.cpu(&words, line),
            Filled::Whole(words, line) => self.device(&words, line),
        }
    }

    fn cpu(&mut self, words: &[String], line: usize) {
        self.below = Below::Nothing;
        let Some(figures) = self.figures(words, line) else {
            return;
        };
        let sum: f64 = figures.iter().map(|own| own.plain()).sum();
        if !self.shares.add(sum, line) {
            return;
        }
        for (name, value) in self.columns.iter().zip(figures) {
            if let Some(meaning) = meaning(&CPU, name) {
                let source = format!("iostat, column {name}");
                let at = (self.moments.len() - 1, value.plain());
                self.collected.add(meaning.series, meaning, source, at);
            }
        }
    }

    fn device(&mut self, words: &[String], line: usize) {
        let (device, figures) = match (self.below, words) {
            (Below::NamesLast, [figures @ .., device]) | (_, [device, figures @ ..]) => {
                (device.trim_end_matches(':').to_owned(), figures)
            }
            _ => return,
        };
        let words = figures;
        let Some(figures) = self.figures(words, line) else {
            return;
        };
        let names = self.columns.iter().map(String::as_str);
        let printed: Vec<(&str, &str)> = names.zip(words.iter().map(String::as_str)).collect();
        let sample = self.moments.len() - 1;
        self.laws.add(&DeviceRow {
            device: &device,
            figures: &printed,
            sample,
            is_first: sample == 0,
            line,
        });
        if self.moments.len() <= 2 {
            self.note_length(&figures);
        }
        for (name, value) in self.columns.iter().zip(figures) {
            let found = series(name).and_then(|own| Some((own, value.of(own)?)));
            if let Some((meaning, value)) = found {
                let series = format!("host.disk[{device}].{}", meaning.series);
                let source = format!("iostat, column {name}");
                self.collected
                    .add(&series, meaning, source, (sample, value));
            }
        }
    }

    /// Whether the first report covers an interval like the second (`-y`), not the time since boot.
    /// Only the columns without `-x` show this, by an amount next to its rate.
    fn first_is_like_others(&self) -> bool {
        let longest = |report: usize| {
            let own = self
                .lengths_s
                .iter()
                .filter(|(sample, _)| *sample == report);
            own.map(|(_, seconds)| *seconds).reduce(f64::max)
        };
        longest(0)
            .zip(longest(1))
            .is_some_and(|(first, second)| first < 2.0 * second)
    }

    /// Notes the length of a report, from an amount and its rate in a row.
    fn note_length(&mut self, figures: &[Figure]) {
        const PAIRS: [(&str, &str); 6] = [
            ("kb_read", "kb_read/s"),
            ("kb_wrtn", "kb_wrtn/s"),
            ("mb_read", "mb_read/s"),
            ("mb_wrtn", "mb_wrtn/s"),
            ("blk_read", "blk_read/s"),
            ("blk_wrtn", "blk_wrtn/s"),
        ];
        // Smaller rates have too few digits.
        const RATE_MIN: f64 = 1.0;
        let of = |name: &str| {
            let at = self.columns.iter().position(|own| own == name)?;
            figures.get(at).map(|own| own.plain())
        };
        let pairs = PAIRS.iter().filter_map(|(all, rate)| of(all).zip(of(rate)));
        let lengths_s = pairs.filter(|(_, rate)| *rate >= RATE_MIN);
        let report = self.moments.len() - 1;
        let lengths_s: Vec<f64> = lengths_s.map(|(all, rate)| all / rate).collect();
        self.lengths_s
            .extend(lengths_s.into_iter().map(|seconds| (report, seconds)));
    }

    fn figures(&mut self, words: &[String], line: usize) -> Option<Vec<Figure>> {
        let figures: Option<Vec<Figure>> = words.iter().map(|word| Figure::read(word)).collect();
        if figures.is_none() {
            self.skip_row(line, "not a row of figures; it is skipped".to_owned());
        }
        figures
    }

    fn end_of_row(&mut self, why: &str) {
        if let Some((line, has)) = self.row.drop_begun() {
            let words = number_of(has, "word");
            self.skip_row(line, format!("{why}: {words}; it is skipped"));
        }
    }

    fn skip_row(&mut self, line: usize, text: String) {
        self.is_partial = true;
        self.warn(line, text);
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings
            .push(Warning::new(self.file, Some(line), text));
    }

    fn finish(mut self, options: &Options) -> HostLog {
        for (name, line) in std::mem::take(&mut self.unknown) {
            self.warn(line, format!("unknown column '{name}' is not read"));
        }
        if let Some((line, text)) = self.shares.warning() {
            self.warn(line, text);
        }
        let first_counts = options.first_report || self.first_is_like_others();
        let gaps = disks::settle(&mut self.collected, &self.whole);
        for (line, text) in std::mem::take(&mut self.laws).settle(&mut self.collected) {
            self.warn(line, text);
        }
        HostLog {
            file: self.file.to_owned(),
            tool: "iostat",
            first_since_boot: !first_counts,
            interval_s: options.iostat_interval_s,
            moments: self.moments,
            collected: self.collected,
            facts: self.machine.facts,
            gaps,
            warnings: self.warnings,
        }
    }
}

/// The series for a device column.
fn series(column: &str) -> Option<&'static Meaning> {
    match column {
        "%util" => Some(&UTILISATION),
        column => meaning(&DEVICE, column),
    }
}

#[cfg(test)]
mod tests;
