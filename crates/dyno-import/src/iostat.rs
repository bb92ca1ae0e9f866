//! The log of `iostat -x DELAY` and its relatives (`-d`, `-k`, `-m`, `-t`, `-c`), old and new
//! columns. Each report begins with a time, the CPU's shares or the heading of the devices.

use std::collections::BTreeMap;

use dyno_core::record::SeriesKind::Rate;

use crate::align::HostLog;
use crate::civil::{self, Moment};
use crate::machine::Machine;
use crate::number;
use crate::table::{Collected, Filled, Meaning, Row, Shares, column, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Options, Warning};

const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;
/// A sector, whatever the device's own is; and a block of the figures without `-x`.
const SECTOR: f64 = 512.0;

/// iostat(1), of sysstat 9 to 12. A waiting time without requests is zero.
const DEVICE: [Meaning; 18] = [
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
const UTILISATION: Meaning = column("%util", "utilisation", "percent", 1.0, Rate);

const CPU: [Meaning; 6] = [
    column("%user", "host.cpu.user", "percent", 1.0, Rate),
    column("%nice", "host.cpu.nice", "percent", 1.0, Rate),
    column("%system", "host.cpu.system", "percent", 1.0, Rate),
    column("%iowait", "host.cpu.iowait", "percent", 1.0, Rate),
    column("%steal", "host.cpu.steal", "percent", 1.0, Rate),
    column("%idle", "host.cpu.idle", "percent", 1.0, Rate),
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
    for line in text::lines(log.text) {
        reader.take(&line);
    }
    reader.end_of_row("the log ends within a row");
    if reader.collected.all.is_empty() {
        let what = match reader.moments.is_empty() {
            true => "it has no heading of iostat (avg-cpu or Device)".to_owned(),
            false => "it has iostat's headings and no row of figures".to_owned(),
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

/// What the rows below a heading are.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Below {
    #[default]
    Nothing,
    Cpu,
    Devices,
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    below: Below,
    columns: Vec<String>,
    row: Row,
    /// Which parts the current report has had: a second one of a kind begins the next.
    had_cpu: bool,
    had_devices: bool,
    /// A time was printed, and its report has not begun.
    moment: Option<Moment>,
    machine: Machine,
    moments: Vec<Option<Moment>>,
    collected: Collected,
    warnings: Vec<Warning>,
    /// Unknown columns, told once, with the line of the heading.
    unknown: BTreeMap<String, usize>,
    shares: Shares,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        let (stamp, bare) = line.unstamped();
        if let Some(moment) = self.printed_moment(&line.text) {
            self.end_of_row("a row of too few figures");
            self.moment = Some(moment);
            (self.had_cpu, self.had_devices) = (false, false);
            self.below = Below::Nothing;
            return;
        }
        let words: Vec<&str> = bare.split_whitespace().collect();
        let Some(first) = words.first() else {
            self.end_of_row("a row of too few figures");
            return;
        };
        match *first {
            "Linux" => self.machine = Machine::read(bare, "iostat's first line"),
            "avg-cpu:" => {
                self.begins(Below::Cpu, stamp);
                self.columns = words[1..].iter().map(|w| w.to_ascii_lowercase()).collect();
            }
            "Device" | "Device:" => {
                self.begins(Below::Devices, stamp);
                self.columns = words[1..].iter().map(|w| w.to_ascii_lowercase()).collect();
                self.note_unknown(line.number);
            }
            _ => self.row(&words, line.number),
        }
    }

    /// The line of `-t`: a date with a time, or `Time: 13:07:48` of old versions.
    fn printed_moment(&self, text: &str) -> Option<Moment> {
        if let Some(clock) = text.trim().strip_prefix("Time:") {
            let day = self.machine.day_s?;
            let whole = civil::moment(&format!("1970-01-01 {}", clock.trim()))?;
            return Some(Moment {
                seconds: day + whole.seconds,
                ..whole
            });
        }
        civil::moment(text)
    }

    fn begins(&mut self, below: Below, stamp: Option<Moment>) {
        self.end_of_row("a row of too few figures");
        let again = match below {
            Below::Cpu => self.had_cpu || self.had_devices,
            _ => self.had_devices,
        };
        if again || self.moments.is_empty() || self.moment.is_some() {
            self.moments.push(self.moment.take().or(stamp));
            (self.had_cpu, self.had_devices) = (false, false);
        }
        match below {
            Below::Cpu => self.had_cpu = true,
            _ => self.had_devices = true,
        }
        self.below = below;
    }

    fn note_unknown(&mut self, line: usize) {
        // Known to iostat, and no series here.
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
            // The device's name stands before its figures.
            Below::Devices => self.columns.len() + 1,
        };
        match self.row.add(words, columns, line) {
            Filled::Partly => {}
            Filled::TooMany(line, has) => {
                let text = format!("{has} words below {columns} columns; the row is left out");
                self.warn(line, text);
            }
            Filled::Whole(words, line) if self.below == Below::Cpu => self.cpu(&words, line),
            Filled::Whole(words, line) => self.device(&words, line),
        }
    }

    fn cpu(&mut self, words: &[String], line: usize) {
        self.below = Below::Nothing;
        let Some(figures) = self.figures(words, line) else {
            return;
        };
        let sum: f64 = figures.iter().sum();
        self.shares.add(sum, line);
        for (name, value) in self.columns.iter().zip(figures) {
            if let Some(meaning) = meaning(&CPU, name) {
                let source = format!("iostat, column {name}");
                let at = (self.moments.len() - 1, value);
                self.collected.add(meaning.series, meaning, source, at);
            }
        }
    }

    fn device(&mut self, words: &[String], line: usize) {
        let device = words[0].trim_end_matches(':').to_owned();
        let Some(figures) = self.figures(&words[1..], line) else {
            return;
        };
        for (name, value) in self.columns.iter().zip(figures) {
            let found = match name.as_str() {
                "%util" => Some(&UTILISATION),
                name => meaning(&DEVICE, name),
            };
            if let Some(meaning) = found {
                let series = format!("host.disk[{device}].{}", meaning.series);
                let source = format!("iostat, column {name}");
                let at = (self.moments.len() - 1, value);
                self.collected.add(&series, meaning, source, at);
            }
        }
    }

    fn figures(&mut self, words: &[String], line: usize) -> Option<Vec<f64>> {
        let figures: Option<Vec<f64>> = words.iter().map(|word| number::decimal(word)).collect();
        if figures.is_none() {
            self.warn(line, "not a row of figures; it is left out".to_owned());
        }
        figures
    }

    fn end_of_row(&mut self, why: &str) {
        if let Some((line, has)) = self.row.drop_begun() {
            self.warn(line, format!("{why}: {has} words; it is left out"));
        }
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings
            .push(Warning::new(self.file, Some(line), text));
    }

    fn finish(mut self, options: &Options) -> HostLog {
        for (name, line) in std::mem::take(&mut self.unknown) {
            self.warn(line, format!("column '{name}' is not known and not read"));
        }
        if let Some((line, text)) = self.shares.told() {
            self.warn(line, text);
        }
        HostLog {
            file: self.file.to_owned(),
            tool: "iostat",
            first_since_boot: true,
            interval_s: options.iostat_interval_s,
            moments: self.moments,
            collected: self.collected,
            facts: self.machine.facts,
            warnings: self.warnings,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = "\
Linux 6.18.44 (vm) \t11/21/26 \t_x86_64_\t(2 CPU)

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          24.41    0.00    3.07    0.59    1.71   70.22

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
vda             74.72   2705.40    0.70   20.23   2309.35    0.93    0.07   1.82

avg-cpu:  %user   %nice %system %iowait  %steal   %idle
          78.28    0.00   17.68    0.51    0.00    3.54

Device            r/s     rkB/s r_await     w/s     wkB/s w_await  aqu-sz  %util
vda             44.00    700.00    0.16    0.00      0.00    0.00    0.01   0.80
";

    fn parse(text: &str) -> HostLog {
        let log = Log {
            name: "iostat.log",
            text,
        };
        read(&log, &Options::default()).unwrap()
    }

    fn values(log: &HostLog, name: &str) -> Vec<f64> {
        let series = log.collected.all.iter().find(|values| values.name == name);
        series.map_or(Vec::new(), |s| s.values.iter().map(|(_, v)| *v).collect())
    }

    #[test]
    fn devices_and_shares_by_name() {
        let log = parse(LOG);
        assert_eq!(log.moments.len(), 2);
        assert_eq!(values(&log, "host.cpu.iowait"), [0.59, 0.51]);
        assert_eq!(
            values(&log, "host.disk[vda].read_bytes"),
            [2_770_329.6, 716_800.0]
        );
        assert_eq!(values(&log, "host.disk[vda].read_await"), [0.7, 0.16]);
        assert_eq!(values(&log, "host.disk[vda].queue"), [0.07, 0.01]);
        assert_eq!(values(&log, "host.disk[vda].utilisation"), [1.82, 0.8]);
        assert!(log.warnings.is_empty(), "{:?}", log.warnings);
        let facts: Vec<_> = log.facts.iter().map(|f| f.value.as_str()).collect();
        assert_eq!(facts, ["6.18.44", "vm", "2"]);
        let comma: String = LOG
            .lines()
            .map(|line| match line.starts_with("Linux") {
                true => format!("{line}\n"),
                false => format!("{}\n", line.replace('.', ",")),
            })
            .collect();
        assert_eq!(values(&parse(&comma), "host.cpu.user"), [24.41, 78.28]);
    }

    #[test]
    fn old_names_and_times_apart_from_their_day() {
        let heading = "Device:  rrqm/s wrqm/s   r/s   w/s  rsec/s  wsec/s avgrq-sz avgqu-sz \
                       await svctm %util";
        let row = "sda  0.00   1.00  2.00  3.00   16.00   32.00     9.60     0.02  4.00  1.00  0.5";
        let old = format!(
            "Linux 2.6.32 (db1) \t11/21/2026 \t_x86_64_\t(8 CPU)\n\n\
             Time: 01:07:48 PM\n{heading}\n{row}\n\nTime: 01:07:49 PM\n{heading}\n{row}\n"
        );
        let log = parse(&old);
        assert_eq!(log.moments[1].unwrap().seconds, 1_795_266_469.0);
        assert_eq!(values(&log, "host.disk[sda].read_bytes")[1], 8192.0);
        assert_eq!(values(&log, "host.disk[sda].queue")[1], 0.02);
        assert!(log.warnings.is_empty(), "{:?}", log.warnings);
    }

    #[test]
    fn damage_is_told_with_its_line() {
        let cut = &LOG[..LOG.len() - 20];
        let log = parse(cut);
        assert_eq!(values(&log, "host.disk[vda].queue"), [0.07]);
        assert!(
            log.warnings[0]
                .to_string()
                .starts_with("iostat.log:13: the log ends")
        );
        let odd = LOG.replace("78.28", "18.28");
        assert!(parse(&odd).warnings[0].text.contains("40 %"));
        let unknown = LOG.replace("aqu-sz", "aqu-zz");
        assert!(parse(&unknown).warnings[0].text.contains("'aqu-zz'"));
        let log = Log {
            name: "x",
            text: "nothing",
        };
        let error = read(&log, &Options::default()).unwrap_err();
        assert!(error.to_string().contains("no heading of iostat"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(
            text in "(Device|avg-cpu:|Time: |Linux | |[0-9]|\\.|%util|r/s|\n)*", tail in "\\PC*"
        ) {
            let whole = format!("{LOG}{text}\n{tail}");
            let _ = read(&Log { name: "x", text: &whole }, &Options::default());
            let _ = read(&Log { name: "x", text: &text }, &Options::default());
        }
    }
}
