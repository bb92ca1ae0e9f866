//! Checks device rows in the logs of iostat and sar: bytes must equal requests times their size,
//! the queue must equal the rate of requests times their time, and a disk cannot be busy for more
//! than all the time.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::text::{number_of, verb};

use crate::disks;
use crate::number;
use crate::table::{Collected, Figure};

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
const SECTOR: f64 = 512.0;
const MS_PER_S: f64 = 1000.0;

/// Columns of bytes per second, read and written, and the bytes of their units.
const READ: [(&str, f64); 4] = [
    ("rkb/s", KIB),
    ("rmb/s", MIB),
    ("rsec/s", SECTOR),
    ("rd_sec/s", SECTOR),
];
const WRITTEN: [(&str, f64); 4] = [
    ("wkb/s", KIB),
    ("wmb/s", MIB),
    ("wsec/s", SECTOR),
    ("wr_sec/s", SECTOR),
];
const DISCARDED: [(&str, f64); 2] = [("dkb/s", KIB), ("dmb/s", MIB)];
/// The mean size of all requests.
const SIZE: [(&str, f64); 2] = [("areq-sz", KIB), ("avgrq-sz", SECTOR)];

/// Figures are rounded to their last digit; in the real logs they differ by at most half of it.
const LAST_DIGIT: f64 = 2.0;
/// A disk is busy for at most 100 % of the time between two reports. A report that comes late makes
/// the time look shorter, at most by half.
const UTILISATION_MAX: f64 = 150.0;
/// Tolerance between the printed queue and the one computed from rates and times: as a share of the
/// larger one, and in requests. Linux before 5.0 counts requests when they begin to wait, not when
/// they end, and old versions of sysstat do not print flushes, of which at most two wait.
const QUEUE_ROOM: (f64, f64) = (0.5, 2.0);
/// A queue is left out if it differs in all of at least this many rows.
const QUEUE_ROWS: usize = 2;

/// A printed figure, with the largest error due to rounding.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Rounded {
    value: f64,
    half: f64,
}

impl Rounded {
    /// Reads a figure; plain numbers have this unit.
    fn read(word: &str, unit: f64) -> Option<Self> {
        let figure = Figure::read(word)?;
        let digits = word.trim_end_matches(|c: char| !c.is_ascii_digit());
        let decimals = digits
            .rfind(['.', ','])
            .map_or(0, |at| digits.len() - at - 1);
        let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
        let unit = match figure {
            Figure::Plain(_) => unit,
            Figure::Bytes(bytes) => {
                let printed = number::decimal(digits).filter(|value| *value > 0.0);
                printed.map_or(KIB, |value| bytes / value)
            }
        };
        let value = match figure {
            Figure::Plain(value) => value * unit,
            Figure::Bytes(bytes) => bytes,
        };
        Some(Self {
            value,
            half: half * unit,
        })
    }

    fn plus(self, other: Self) -> Self {
        Self {
            value: self.value + other.value,
            half: self.half + other.half,
        }
    }

    fn times(self, other: Self) -> Self {
        let (a, b) = (self, other);
        Self {
            value: a.value * b.value,
            half: a.value.abs() * b.half + b.value.abs() * a.half + a.half * b.half,
        }
    }

    fn is_apart(self, other: Self) -> bool {
        (self.value - other.value).abs() > LAST_DIGIT * (self.half + other.half)
    }
}

/// A row of a device: its columns in lower case, and its words.
#[derive(Clone, Copy)]
pub(crate) struct DeviceRow<'a> {
    pub(crate) device: &'a str,
    pub(crate) figures: &'a [(&'a str, &'a str)],
    pub(crate) sample: usize,
    /// Whether it may be a mean since boot.
    pub(crate) is_first: bool,
    pub(crate) line: usize,
}

impl DeviceRow<'_> {
    fn figure(&self, names: &[(&str, f64)]) -> Option<Rounded> {
        names.iter().find_map(|(name, unit)| {
            let (_, word) = self.figures.iter().find(|(own, _)| own == name)?;
            Rounded::read(word, *unit)
        })
    }

    fn plain(&self, name: &str) -> Option<Rounded> {
        self.figure(&[(name, 1.0)])
    }

    /// The bytes that differ from requests times their size: the series, what they are, the
    /// computed and the printed bytes.
    fn sizes(&self) -> Vec<(&'static [&'static str], &'static str, Rounded, Rounded)> {
        let mut apart = Vec::new();
        for (rate, size, bytes, series, what) in [
            ("r/s", "rareq-sz", &READ, &["reads", "read_bytes"], "reads"),
            (
                "w/s",
                "wareq-sz",
                &WRITTEN,
                &["writes", "write_bytes"],
                "writes",
            ),
        ] {
            let size = self.figure(&[(size, KIB)]);
            let implied = self
                .plain(rate)
                .zip(size)
                .map(|(rate, size)| rate.times(size));
            if let Some((implied, bytes)) = implied.zip(self.figure(bytes)) {
                apart.push((series.as_slice(), what, implied, bytes));
            }
        }
        let requests = self.plain("tps").or_else(|| {
            let (reads, writes) = self.plain("r/s").zip(self.plain("w/s"))?;
            Some(reads.plus(writes))
        });
        let implied = requests
            .zip(self.figure(&SIZE))
            .map(|(n, size)| n.times(size));
        let bytes = self.figure(&READ).zip(self.figure(&WRITTEN));
        if let (Some(mut implied), Some((read, written))) = (implied, bytes) {
            let mut bytes = read.plus(written);
            match self.figure(&DISCARDED) {
                Some(discarded) => bytes = bytes.plus(discarded),
                // Some versions count discards and do not print their bytes.
                None if bytes.value < implied.value => implied = bytes,
                None => {}
            }
            let series = &["reads", "writes", "read_bytes", "write_bytes"];
            apart.push((series.as_slice(), "requests", implied, bytes));
        }
        apart.retain(|(.., implied, bytes)| implied.is_apart(*bytes));
        apart
    }

    /// The printed queue, and the one computed from rates and times, if there were requests.
    fn queue(&self) -> Option<(f64, f64)> {
        let queue = self.plain("aqu-sz").or_else(|| self.plain("avgqu-sz"))?;
        let waits = |rate: &str, wait: &str| self.plain(rate).zip(self.plain(wait));
        let product = |(rate, wait): (Rounded, Rounded)| rate.value * wait.value / MS_PER_S;
        let apart = [("r/s", "r_await"), ("w/s", "w_await")];
        let apart: Option<Vec<_>> = apart.iter().map(|(n, wait)| waits(n, wait)).collect();
        let implied = match (apart, self.plain("await")) {
            (Some(apart), _) => {
                let more = [("d/s", "d_await"), ("f/s", "f_await")];
                let more = more.iter().filter_map(|(n, wait)| waits(n, wait));
                apart.into_iter().chain(more).map(product).sum::<f64>()
            }
            (None, Some(wait)) => {
                let both = || Some(self.plain("r/s")?.plus(self.plain("w/s")?));
                product((self.plain("tps").or_else(both)?, wait))
            }
            (None, None) => return None,
        };
        (implied > 0.0).then_some((queue.value, implied))
    }
}

/// The rows of one device with requests: all, and those whose queue is too long or too short; the
/// first such line, and its queues.
#[derive(Debug, Default)]
struct Queue {
    rows: usize,
    long: usize,
    short: usize,
    first: Option<(usize, f64, f64)>,
}

/// Checks the rows of devices.
#[derive(Debug, Default)]
pub(crate) struct Laws {
    left_out: BTreeSet<(String, usize)>,
    /// For each violated rule the number of rows, and the line and words of the first one.
    broken: BTreeMap<&'static str, (usize, usize, String)>,
    queues: BTreeMap<String, Queue>,
}

impl Laws {
    pub(crate) fn add(&mut self, row: &DeviceRow<'_>) {
        for (series, what, implied, bytes) in row.sizes() {
            let text = format!(
                "whose bytes do not match their {what} (the first: {:.0} KiB/s, but the {what} \
                 add up to {:.0}): both",
                bytes.value / KIB,
                implied.value / KIB
            );
            self.leave_out(row, series, (what, text));
        }
        let busy = row.plain("%util").filter(|own| own.value > UTILISATION_MAX);
        if let Some(busy) = busy.filter(|_| disks::is_disk(row.device)) {
            let text = format!(
                "that were busy more than 100 % of the time (the first: {:.0} %): the utilisations",
                busy.value
            );
            self.leave_out(row, &["utilisation"], ("utilisation", text));
        }
        if let Some((queue, implied)) = row.queue().filter(|_| !row.is_first) {
            let own = self.queues.entry(row.device.to_owned()).or_default();
            let (share, requests) = QUEUE_ROOM;
            own.rows += 1;
            if (queue - implied).abs() > share * queue.max(implied) + requests {
                own.long += usize::from(queue > implied);
                own.short += usize::from(queue < implied);
                own.first.get_or_insert((row.line, queue, implied));
            }
        }
    }

    fn leave_out(
        &mut self,
        row: &DeviceRow<'_>,
        series: &[&str],
        (law, text): (&'static str, String),
    ) {
        let names = series
            .iter()
            .map(|own| format!("host.disk[{}].{own}", row.device));
        self.left_out.extend(names.map(|name| (name, row.sample)));
        let (rows, ..) = self.broken.entry(law).or_insert((0, row.line, text));
        *rows += 1;
    }

    /// Leaves out the figures that violate a rule. Returns the warnings, with their lines.
    pub(crate) fn settle(self, collected: &mut Collected) -> Vec<(usize, String)> {
        let broken = self.broken.into_values();
        let mut warnings: Vec<(usize, String)> = broken
            .map(|(rows, line, text)| {
                let are = verb(rows, "is", "are");
                let rows = number_of(rows, "row");
                (line, format!("{rows} of devices {text} {are} left out"))
            })
            .collect();
        for (device, own) in self.queues {
            let apart = own.long.max(own.short);
            let Some((line, queue, implied)) = own.first.filter(|_| apart == own.rows) else {
                continue;
            };
            if own.rows < QUEUE_ROWS {
                continue;
            }
            let begins = format!("host.disk[{device}].");
            collected.all.retain(|values| {
                let what = values.name.strip_prefix(&begins).unwrap_or_default();
                !matches!(what, "queue" | "read_await" | "write_await")
            });
            let device = crate::text::excerpt(&device);
            let text = format!(
                "the queue of {device}, {queue:.2}, does not match its requests and their times, \
                 {implied:.2}, in all rows: queue and times are left out"
            );
            warnings.push((line, text));
        }
        for values in &mut collected.all {
            let name = values.name.clone();
            let is_left = |sample: usize| self.left_out.contains(&(name.clone(), sample));
            values.values.retain(|(sample, _)| !is_left(*sample));
        }
        collected.all.retain(|values| !values.values.is_empty());
        warnings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: &str = "r/s rkb/s r_await rareq-sz w/s wkb/s w_await wareq-sz aqu-sz %util";

    /// The series and the number of their values, after two rows that have these figures at these
    /// columns; and the warnings.
    fn settled(device: &str, changes: &[(&str, &str)]) -> (Vec<String>, Vec<String>) {
        let usual = "100,00 1600,00 1,50 16,00 200,00 3200,00 2,50 16,00 0,65 40,00";
        let mut laws = Laws::default();
        let mut collected = Collected::default();
        let count = crate::table::column("", "", "", 1.0, dyno_core::record::SeriesKind::Rate);
        for sample in 1..3 {
            let figures: Vec<(&str, &str)> = COLUMNS
                .split(' ')
                .zip(usual.split(' '))
                .map(|(name, word)| {
                    let change = changes.iter().find(|(own, _)| *own == name);
                    (name, change.map_or(word, |(_, word)| *word))
                })
                .collect();
            for series in ["reads", "read_bytes", "read_await", "queue", "utilisation"] {
                let name = format!("host.disk[{device}].{series}");
                collected.add(&name, &count, String::new(), (sample, 1.0));
            }
            laws.add(&DeviceRow {
                device,
                figures: &figures,
                sample,
                is_first: false,
                line: sample * 10,
            });
        }
        let warnings = laws.settle(&mut collected).into_iter();
        let warnings = warnings.map(|(line, text)| format!("{line}: {text}"));
        let names = collected.all.iter().filter_map(|own| {
            let (_, name) = own.name.rsplit_once('.')?;
            (own.values.len() == 2).then(|| name.to_owned())
        });
        (names.collect(), warnings.collect())
    }

    #[test]
    fn figures_that_break_a_law_are_left_out() {
        let all = ["reads", "read_bytes", "read_await", "queue", "utilisation"];
        assert_eq!(
            settled("sda", &[]),
            (all.map(str::to_owned).to_vec(), vec![])
        );
        for (name, word, left, expected) in [
            (
                "rkb/s",
                "9600,00",
                &["read_await", "queue", "utilisation"][..],
                "10: 2 rows of devices whose bytes do not match their reads (the first: 9600 \
                 KiB/s, but the reads add up to 1600): both are left out",
            ),
            (
                "%util",
                "400,00",
                &all[..4],
                "10: 2 rows of devices that were busy more than 100 % of the time (the first: 400 \
                 %): the utilisations are left out",
            ),
            (
                "aqu-sz",
                "90,71",
                &["reads", "read_bytes", "utilisation"][..],
                "10: the queue of sda, 90.71, does not match its requests and their times, 0.65, \
                 in all rows: queue and times are left out",
            ),
        ] {
            let (names, warnings) = settled("sda", &[(name, word)]);
            assert_eq!(names, left, "{name}");
            assert_eq!(warnings, [expected]);
        }
        // Rounding, a late report, and a group of disks.
        for (device, name, word) in [
            ("sda", "rkb/s", "1600,99"),
            ("sda", "%util", "120,00"),
            ("all disks", "%util", "400,00"),
            ("sda", "aqu-sz", "2,50"),
        ] {
            assert!(settled(device, &[(name, word)]).1.is_empty(), "{name}");
        }
    }

    fn row_of(columns: &str, words: &str) -> Vec<Rounded> {
        let figures: Vec<(&str, &str)> = columns.split(' ').zip(words.split(' ')).collect();
        let row = DeviceRow {
            device: "sda",
            figures: &figures,
            sample: 1,
            is_first: false,
            line: 1,
        };
        row.sizes().into_iter().map(|(.., bytes)| bytes).collect()
    }

    #[test]
    fn sizes_of_all_requests_and_with_units() {
        let old = "r/s w/s rsec/s wsec/s avgrq-sz";
        assert!(row_of(old, "100.00 200.00 3200.00 6400.00 32.00").is_empty());
        assert_eq!(row_of(old, "100.00 200.00 3200.00 64000.00 32.00").len(), 1);
        let sar = "tps rkb/s wkb/s dkb/s areq-sz";
        assert!(row_of(sar, "300.00 1600.00 3200.00 9600.00 48.00").is_empty());
        assert_eq!(row_of(sar, "300.00 1600.00 3200.00 0.00 160.00").len(), 1);
        // Discards may be counted without their bytes.
        let without = "tps rkb/s wkb/s areq-sz";
        assert!(row_of(without, "300.00 1600.00 3200.00 48.00").is_empty());
        let human = "w/s wkb/s wareq-sz";
        assert!(row_of(human, "1837.00 5.6M 3.1k").is_empty());
        assert_eq!(row_of(human, "1837.00 56.0M 3.1k").len(), 1);
        // Without decimals.
        assert!(row_of(human, "15 23 2").is_empty());
    }
}
