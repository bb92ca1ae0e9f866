//! The text of `mpstat DELAY` and `sar DELAY` (sysstat 9 to 12): tables one behind the other, each
//! below a heading, and before each row the time of day.

use std::collections::BTreeMap;

use dyno_core::record::SeriesKind::{Gauge, Rate};

use crate::align::HostLog;
use crate::civil::{self, Moment};
use crate::machine::Machine;
use crate::number;
use crate::table::{Collected, Meaning, Shares, column, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Warning};

const KIB: f64 = 1024.0;
/// Of a sector, whatever the device's own is.
const SECTOR: f64 = 512.0;
const DAY_S: f64 = 86_400.0;
/// A time that goes back further than this is of the next day.
const BACK_S: f64 = DAY_S / 2.0;

/// Columns of tables that have a row for each time.
const ALONE: [Meaning; 16] = [
    column("cswch/s", "host.context_switches", "count/s", 1.0, Rate),
    column("runq-sz", "host.run_queue", "count", 1.0, Gauge),
    column("blocked", "host.blocked", "count", 1.0, Gauge),
    column("ldavg-1", "host.load1", "count", 1.0, Gauge),
    column("kbmemfree", "host.memory.free", "bytes", KIB, Gauge),
    column("kbavail", "host.memory.available", "bytes", KIB, Gauge),
    column("kbbuffers", "host.memory.buffers", "bytes", KIB, Gauge),
    column("kbcached", "host.memory.cached", "bytes", KIB, Gauge),
    column("kbdirty", "host.memory.dirty", "bytes", KIB, Gauge),
    // Pages, which are of this size on all machines that are measured so.
    column("pswpin/s", "host.swap.in", "bytes/s", 4.0 * KIB, Rate),
    column("pswpout/s", "host.swap.out", "bytes/s", 4.0 * KIB, Rate),
    column("majflt/s", "host.page_faults.major", "count/s", 1.0, Rate),
    column("rtps", "host.disk[all].reads", "count/s", 1.0, Rate),
    column("wtps", "host.disk[all].writes", "count/s", 1.0, Rate),
    column(
        "bread/s",
        "host.disk[all].read_bytes",
        "bytes/s",
        SECTOR,
        Rate,
    ),
    column(
        "bwrtn/s",
        "host.disk[all].write_bytes",
        "bytes/s",
        SECTOR,
        Rate,
    ),
];

/// The shares of all CPUs together: of `sar -u`, and of `mpstat` and `sar -u ALL`.
const CPU: [Meaning; 11] = [
    column("%user", "host.cpu.user", "percent", 1.0, Rate),
    column("%usr", "host.cpu.user", "percent", 1.0, Rate),
    column("%nice", "host.cpu.nice", "percent", 1.0, Rate),
    column("%system", "host.cpu.system", "percent", 1.0, Rate),
    column("%sys", "host.cpu.system", "percent", 1.0, Rate),
    column("%iowait", "host.cpu.iowait", "percent", 1.0, Rate),
    column("%irq", "host.cpu.irq", "percent", 1.0, Rate),
    column("%soft", "host.cpu.softirq", "percent", 1.0, Rate),
    column("%steal", "host.cpu.steal", "percent", 1.0, Rate),
    column("%guest", "host.cpu.guest", "percent", 1.0, Rate),
    column("%idle", "host.cpu.idle", "percent", 1.0, Rate),
];

/// Columns behind a device's name.
const DEVICE: [Meaning; 7] = [
    column("rkb/s", "read_bytes", "bytes/s", KIB, Rate),
    column("wkb/s", "write_bytes", "bytes/s", KIB, Rate),
    column("rd_sec/s", "read_bytes", "bytes/s", SECTOR, Rate),
    column("wr_sec/s", "write_bytes", "bytes/s", SECTOR, Rate),
    column("aqu-sz", "queue", "count", 1.0, Rate),
    column("avgqu-sz", "queue", "count", 1.0, Rate),
    column("%util", "utilisation", "percent", 1.0, Rate),
];

/// Columns behind an interface's name.
const INTERFACE: [Meaning; 8] = [
    column("rxkb/s", "rx_bytes", "bytes/s", KIB, Rate),
    column("txkb/s", "tx_bytes", "bytes/s", KIB, Rate),
    column("rxpck/s", "rx_packets", "count/s", 1.0, Rate),
    column("txpck/s", "tx_packets", "count/s", 1.0, Rate),
    column("rxerr/s", "rx_errors", "count/s", 1.0, Rate),
    column("txerr/s", "tx_errors", "count/s", 1.0, Rate),
    column("rxdrop/s", "rx_drops", "count/s", 1.0, Rate),
    column("txdrop/s", "tx_drops", "count/s", 1.0, Rate),
];

/// What the rows of a table are of.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Of {
    #[default]
    Nothing,
    /// All CPUs together in the row `all`.
    Cpus,
    Devices,
    Interfaces,
    Host,
}

impl Of {
    /// By the table's first column.
    fn heading(first: &str) -> Self {
        match first {
            "cpu" => Self::Cpus,
            "dev" => Self::Devices,
            "iface" => Self::Interfaces,
            _ => Self::Host,
        }
    }

    /// What its columns become.
    fn meanings(self) -> &'static [Meaning] {
        match self {
            Self::Nothing => &[],
            Self::Cpus => &CPU,
            Self::Devices => &DEVICE,
            Self::Interfaces => &INTERFACE,
            Self::Host => &ALONE,
        }
    }

    fn is_named(self) -> bool {
        !matches!(self, Self::Host | Self::Nothing)
    }
}

/// Reads a log of the tool of that name.
///
/// # Errors
/// It has no table of that tool, or no row of figures that is known.
pub(crate) fn read(
    tool: &'static str,
    looks: Looks,
    log: &Log<'_>,
) -> Result<HostLog, ImportError> {
    let mut reader = Reader {
        file: log.name,
        ..Reader::default()
    };
    for line in text::lines(log.text) {
        reader.take(&line);
    }
    if reader.collected.all.is_empty() {
        let what = match reader.headings {
            0 => format!("it has no table of {tool} with the time of day before each row"),
            _ => format!("no table in it has a row of figures of {tool} that is known"),
        };
        let advice = format!("give the output of `{tool} 1` as text");
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
    headings: usize,
    /// The times of all samples, and their places.
    moments: Vec<Moment>,
    places: BTreeMap<u64, usize>,
    /// The time of day of the row before, and how many days have gone by.
    before_s: Option<f64>,
    days: f64,
    collected: Collected,
    shares: Shares,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        let bare = line.text.trim();
        if bare.starts_with("Linux ") {
            self.machine = Machine::read(bare, "the first line of mpstat or sar");
            (self.before_s, self.days) = (None, 0.0);
            return;
        }
        let words: Vec<&str> = bare.split_whitespace().collect();
        let Some((time_s, words)) = time_of_day(&words) else {
            // `Average:` and what else has no time is no sample.
            if words.is_empty() {
                self.of = Of::Nothing;
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
            self.of = Of::heading(&self.columns[0]);
            let known = self.of.meanings();
            // Tables of interrupts, terminals, sockets and such have no series here.
            if !self
                .columns
                .iter()
                .any(|name| meaning(known, name).is_some())
            {
                self.of = Of::Nothing;
            }
            // Each table of sar begins again with the first time.
            (self.before_s, self.days) = (Some(time_s), 0.0);
            if self.starts_again(time_s) {
                self.days = self.days_at(time_s);
            }
            return;
        }
        self.row(time_s, words, line.number);
    }

    /// Whether a heading is repeated within a table that goes on: its time is behind all others.
    fn starts_again(&self, time_s: f64) -> bool {
        let last = self.moments.last().map(|moment| moment.seconds);
        let own = self.machine.day_s.unwrap_or(0.0) + time_s;
        last.is_some_and(|last| own + BACK_S < last)
    }

    /// How many days after the first a time lies that goes on behind the last one.
    fn days_at(&self, time_s: f64) -> f64 {
        let last = self.moments.last().map_or(0.0, |moment| moment.seconds);
        let own = self.machine.day_s.unwrap_or(0.0) + time_s;
        ((last - own) / DAY_S).round().max(0.0)
    }

    fn row(&mut self, time_s: f64, words: &[&str], line: usize) {
        if self.of == Of::Nothing {
            return;
        }
        if self.before_s.is_some_and(|before| time_s + BACK_S < before) {
            self.days += 1.0;
        }
        self.before_s = Some(time_s);
        if words.len() != self.columns.len() {
            let (has, wants) = (words.len(), self.columns.len());
            self.warn(
                line,
                format!("{has} words below {wants} columns; the row is left out"),
            );
            return;
        }
        let named = usize::from(self.of.is_named());
        let figures: Option<Vec<f64>> = words[named..].iter().map(|w| number::decimal(w)).collect();
        let Some(figures) = figures else {
            self.warn(line, "not a row of figures; it is left out".to_owned());
            return;
        };
        let sample = self.sample(time_s);
        let columns: Vec<(String, f64)> =
            self.columns[named..].iter().cloned().zip(figures).collect();
        let known = self.of.meanings();
        match self.of {
            // Single CPUs are not told.
            Of::Cpus if words[0] != "all" && words[0] != "-1" => {}
            Of::Cpus => {
                let shares = columns.iter().filter(|(name, _)| name.starts_with('%'));
                let sum: f64 = shares.clone().map(|(_, value)| value).sum();
                if shares.count() >= 4 {
                    self.shares.add(sum, line);
                }
                self.add(known, "", sample, &columns);
            }
            Of::Devices => self.add(
                known,
                &format!("host.disk[{}].", words[0]),
                sample,
                &columns,
            ),
            Of::Interfaces => {
                let prefix = format!("host.network[{}].", words[0]);
                self.add(known, &prefix, sample, &columns);
            }
            _ => self.add(known, "", sample, &columns),
        }
    }

    /// The place of the sample of a time.
    fn sample(&mut self, time_s: f64) -> usize {
        let seconds = self.machine.day_s.unwrap_or(0.0) + self.days * DAY_S + time_s;
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

    fn add(&mut self, known: &[Meaning], prefix: &str, sample: usize, columns: &[(String, f64)]) {
        for (name, value) in columns {
            if let Some(meaning) = meaning(known, name) {
                let series = format!("{prefix}{}", meaning.series);
                let source = format!("sysstat, column {name}");
                self.collected
                    .add(&series, meaning, source, (sample, *value));
            }
        }
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings
            .push(Warning::new(self.file, Some(line), text));
    }

    fn finish(mut self, tool: &'static str) -> HostLog {
        if let Some((line, text)) = self.shares.told() {
            self.warn(line, text);
        }
        let ambiguous = self.machine.ambiguous;
        let dated = self.machine.day_s.is_some();
        let steps: Vec<f64> = (self.moments.windows(2))
            .map(|pair| (pair[1].seconds - pair[0].seconds).abs())
            .collect();
        let moment = |moment: Moment| {
            dated.then_some(Moment {
                ambiguous,
                ..moment
            })
        };
        HostLog {
            file: self.file.to_owned(),
            tool,
            first_since_boot: false,
            interval_s: dyno_stats::median(&steps)
                .filter(|s| *s > 0.0)
                .unwrap_or(1.0),
            moments: self.moments.into_iter().map(moment).collect(),
            collected: self.collected,
            facts: self.machine.facts,
            warnings: self.warnings,
        }
    }
}

/// The time at the beginning of a row in seconds, `14:12:49` or `02:12:49 PM`, and what follows.
fn time_of_day<'a, 'b>(words: &'b [&'a str]) -> Option<(f64, &'b [&'a str])> {
    let (first, rest) = words.split_first()?;
    if first.matches(':').count() != 2 {
        return None;
    }
    let half = rest.first().filter(|word| matches!(**word, "AM" | "PM"));
    let text = match half {
        Some(half) => format!("1970-01-01 {first} {half}"),
        None => format!("1970-01-01 {first}"),
    };
    let moment = civil::moment(&text)?;
    Some((moment.seconds, &rest[usize::from(half.is_some())..]))
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> HostLog {
        let log = Log {
            name: "sar.log",
            text,
        };
        read("sar", Looks::Sar, &log).unwrap()
    }

    fn values(log: &HostLog, name: &str) -> Vec<f64> {
        let found = log.collected.all.iter().find(|values| values.name == name);
        found.map_or(Vec::new(), |own| own.values.iter().map(|v| v.1).collect())
    }

    #[test]
    fn tables_of_sar_over_the_same_times() {
        let log = parse(include_str!("../fixtures/sar.txt"));
        assert_eq!(log.moments.len(), 5);
        assert_eq!(values(&log, "host.cpu.system"), [1.0, 0.5, 0.5, 0.5, 0.0]);
        assert_eq!(values(&log, "host.context_switches")[0], 352.48);
        assert_eq!(values(&log, "host.memory.dirty")[0], 49_880.0 * 1024.0);
        assert_eq!(values(&log, "host.disk[vda].write_bytes")[1], 4096.0);
        assert_eq!(values(&log, "host.disk[all].write_bytes")[1], 4096.0);
        assert_eq!(values(&log, "host.network[eth0].rx_bytes").len(), 5);
        assert_eq!(values(&log, "host.blocked").len(), 5);
        assert_eq!(log.warnings, []);
        assert_eq!(log.facts[0].value, "6.18.44");
    }

    #[test]
    fn shares_of_mpstat_by_name() {
        let log = parse(include_str!("../fixtures/mpstat.txt"));
        assert_eq!(values(&log, "host.cpu.user"), [36.36, 1.01]);
        assert_eq!(values(&log, "host.cpu.softirq"), [0.0, 0.0]);
        let odd = include_str!("../fixtures/mpstat.txt").replace(" 30.48", " 80.48");
        assert!(
            parse(&odd).warnings[0].text.contains("150 %"),
            "{:?}",
            parse(&odd).warnings
        );
    }

    #[test]
    fn clocks_of_twelve_hours_and_midnight() {
        let text = "Linux 5.4 (db1) \t11/25/2026 \t_x86_64_\t(4 CPU)\n\n\
            11:59:58 PM     CPU     %user     %nice   %system   %iowait    %steal     %idle\n\
            11:59:59 PM     all      5.00      0.00      1.00      0.00      0.00     94.00\n\
            12:00:00 AM     all      6.00      0.00      1.00      0.00      0.00     93.00\n\
            12:00:01 AM     all      7.00      0.00      1.00      0.00      0.00     92.00\n\
            Average:        all      6.00      0.00      1.00      0.00      0.00     93.00\n\n\
            11:59:58 PM       DEV       tps  rd_sec/s  wr_sec/s     %util\n\
            12:00:00 AM    dev8-0      1.00      8.00     16.00      2.00\n";
        let log = parse(text);
        let seconds = log.moments.iter().map(|moment| moment.unwrap().seconds);
        let seconds: Vec<f64> = seconds.collect();
        assert_eq!(seconds[2] - seconds[0], 2.0);
        assert_eq!(seconds.len(), 3);
        assert_eq!(values(&log, "host.disk[dev8-0].read_bytes"), [4096.0]);
    }

    #[test]
    fn tables_without_a_series_are_passed_over() {
        let text = "14:12:57         INTR       all      CPU0\n\
            14:12:58          sum    194.06    117.82\n\
            14:12:57     CPU     %usr     %sys    %idle\n\
            14:12:58     all     1.00     2.00    97.00\n\
            14:12:57          TTY   rcvin/s   xmtin/s\n\
            14:12:58            0      0.00      0.00\n";
        let log = parse(text);
        assert_eq!(log.warnings, []);
        assert_eq!(values(&log, "host.cpu.idle"), [97.0]);
    }

    #[test]
    fn what_is_none_of_it() {
        let error = |text| {
            let log = Log { name: "x", text };
            read("mpstat", Looks::Mpstat, &log).unwrap_err().to_string()
        };
        assert!(error("nothing").contains("no table of mpstat"));
        let heading = "14:12:57     CPU    %usr   %idle\n";
        assert!(error(heading).contains("no table in it has a row of figures"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[0-9:. %/a-zCPUADEVM\n-]*", tail in "\\PC*") {
            let text = format!("{}{text}\n{tail}", include_str!("../fixtures/sar.txt"));
            let _ = read("sar", Looks::Sar, &Log { name: "x", text: &text });
        }
    }
}
