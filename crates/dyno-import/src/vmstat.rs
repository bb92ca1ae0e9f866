//! Reads the log of `vmstat DELAY`, with or without `-t` and `-w`, with old and new columns and
//! repeated or wrapped headings. Memory is in KiB unless `-S` gave another unit, which only the
//! figures reveal.

use dyno_core::catalogue::names;
use dyno_core::record::{NotObserved, SeriesKind::Gauge, SeriesKind::Rate};

use crate::align::HostLog;
use crate::civil::{self, Moment};
use crate::gaps::gap;
use crate::number;
use crate::table::{Collected, Filled, Meaning, Row, Shares, Values, column, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Options, Warning, looks};

const KIB: f64 = 1024.0;

/// From vmstat(8). `bi` and `bo` are KiB per second of all block devices together.
const MEANINGS: [Meaning; 16] = [
    column("r", names::HOST_RUN_QUEUE, "count", 1.0, Gauge),
    column("b", names::HOST_BLOCKED, "count", 1.0, Gauge),
    column("free", names::HOST_MEMORY_FREE, "bytes", KIB, Gauge),
    column("buff", names::HOST_MEMORY_BUFFERS, "bytes", KIB, Gauge),
    column("cache", names::HOST_MEMORY_CACHED, "bytes", KIB, Gauge),
    column("si", names::HOST_SWAP_IN, "bytes/s", KIB, Rate),
    column("so", names::HOST_SWAP_OUT, "bytes/s", KIB, Rate),
    column("bi", names::HOST_DISK_ALL_READ_BYTES, "bytes/s", KIB, Rate),
    column("bo", names::HOST_DISK_ALL_WRITE_BYTES, "bytes/s", KIB, Rate),
    column("in", names::HOST_INTERRUPTS, "count/s", 1.0, Rate),
    column("cs", names::HOST_CONTEXT_SWITCHES, "count/s", 1.0, Rate),
    column("us", names::HOST_CPU_USER, "percent", 1.0, Rate),
    column("sy", names::HOST_CPU_SYSTEM, "percent", 1.0, Rate),
    column("id", names::HOST_CPU_IDLE, "percent", 1.0, Rate),
    column("wa", names::HOST_CPU_IOWAIT, "percent", 1.0, Rate),
    column("st", names::HOST_CPU_STEAL, "percent", 1.0, Rate),
];

/// Known columns that do not become series: swap in use, the two of `-a`, and the share of guests,
/// which the other shares exclude.
const OTHERS: [&str; 4] = ["swpd", "inact", "active", "gu"];

/// Columns from `/proc/meminfo`.
const MEMORY: [&str; 3] = [
    names::HOST_MEMORY_FREE,
    names::HOST_MEMORY_BUFFERS,
    names::HOST_MEMORY_CACHED,
];
/// The kernel counts pages of this size, or larger ones.
const PAGE_KIB: f64 = 4.0;
/// No measured server has this little memory, in KiB.
const LITTLE_KIB: f64 = 65_536.0;
/// If free memory is constant over this many rows, the rows were not measured.
const STILL_ROWS: usize = 3;

/// Shares of the CPU, which add up to 100 % apart from rounding.
const SHARES: [&str; 6] = ["us", "sy", "id", "wa", "st", "gu"];

/// The bytes of a unit of `vmstat -S`; `None` for an unknown unit.
pub fn unit_bytes(name: &str) -> Option<f64> {
    match name {
        "k" => Some(1e3),
        "K" => Some(KIB),
        "m" => Some(1e6),
        "M" => Some(KIB * KIB),
        _ => None,
    }
}

/// Reads a log.
///
/// # Errors
/// It has no heading of vmstat, or no row below it.
pub(crate) fn read(log: &Log<'_>, options: &Options) -> Result<HostLog, ImportError> {
    let mut reader = Reader {
        file: log.name,
        ..Reader::default()
    };
    for line in text::lines(log.text) {
        reader.take(&line);
    }
    reader.end_of_row("the log ends within a row");
    if reader.samples == 0 {
        let what = match reader.columns.is_empty() {
            true => "it has no heading of vmstat (r b swpd free …)".to_owned(),
            false => "it has vmstat's heading but no row of figures".to_owned(),
        };
        return Err(crate::not_recognised(
            log,
            what,
            Looks::Vmstat,
            "give the output of `vmstat 1` or `vmstat -t 1`",
        ));
    }
    Ok(reader.finish(options))
}

#[derive(Default)]
struct Reader<'a> {
    file: &'a str,
    columns: Vec<String>,
    /// A heading that continues on the next line.
    heading: Vec<String>,
    /// Whether each line begins with a time that vmstat did not print.
    prefixed: bool,
    utc: bool,
    /// Whether the log ends within the current line.
    cut: bool,
    row: Row,
    samples: usize,
    moments: Vec<Option<Moment>>,
    collected: Collected,
    warnings: Vec<Warning>,
    shares: Shares,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        self.cut = line.cut;
        let (stamp, bare) = line.unstamped();
        let words: Vec<&str> = bare.split_whitespace().collect();
        if words.is_empty() || bare.contains("--memory--") || bare.contains("-io-") {
            return;
        }
        if self.takes_heading(&words, stamp.is_some(), line.number) || self.columns.is_empty() {
            return;
        }
        if self.prefixed {
            self.values(&words, stamp, line.number);
            return;
        }
        let words: Vec<&str> = line.text.split_whitespace().collect();
        let (words, moment) = split_moment(&words);
        self.values(words, moment, line.number);
    }

    fn takes_heading(&mut self, words: &[&str], stamped: bool, number: usize) -> bool {
        let known = |word: &&str| is_column(word);
        let names = words.iter().filter(|word| known(word)).count();
        let begins = words.starts_with(&["r", "b"]) && !looks::is_other_vmstat(words);
        let goes_on = !self.heading.is_empty() && names == words.len();
        if !begins && !goes_on {
            if !self.heading.is_empty() {
                self.heading_ends(number);
            }
            return false;
        }
        if begins {
            self.end_of_row("a row of too few figures");
            self.heading.clear();
        }
        self.prefixed = stamped;
        // The zone is in the heading above the times of -t.
        let zone = words.iter().filter(|word| !is_column(word));
        self.utc |= zone.clone().any(|word| matches!(*word, "UTC" | "GMT"));
        let last_is_zone = zone.count() <= 1 && words.last().is_some_and(|w| !is_column(w));
        let columns = &words[..words.len() - usize::from(last_is_zone)];
        self.heading
            .extend(columns.iter().map(|word| (*word).to_owned()));
        if self.heading.iter().any(|word| word == "id") {
            self.heading_ends(number);
        }
        true
    }

    fn heading_ends(&mut self, number: usize) {
        let heading = std::mem::take(&mut self.heading);
        if self.columns.is_empty() {
            for name in heading.iter().filter(|name| !is_column(name)) {
                let name = text::excerpt(name);
                self.warn(number, format!("unknown column '{name}' is not read"));
            }
            for share in ["us", "sy", "id"] {
                if !heading.iter().any(|name| name == share) {
                    self.warn(number, format!("column '{share}' is missing"));
                }
            }
        }
        self.columns = heading;
    }

    fn values(&mut self, words: &[&str], moment: Option<Moment>, number: usize) {
        if words.iter().any(|word| number::decimal(word).is_none()) {
            if words.iter().any(|word| number::decimal(word).is_some()) {
                self.warn(
                    number,
                    "not a row of figures; the line is skipped".to_owned(),
                );
            }
            self.end_of_row("a row of too few figures");
            return;
        }
        match self.row.add(words, self.columns.len(), number) {
            Filled::Partly if moment.is_some() => self.end_of_row("a row of too few figures"),
            Filled::Partly => {}
            Filled::TooMany(line, has) => {
                self.warn(line, text::other_width(has, "figure", self.columns.len()));
            }
            Filled::Whole(_, line) if self.cut => self.warn(line, text::ROW_CUT.to_owned()),
            Filled::Whole(words, line) => self.sample(&words, moment, line),
        }
    }

    fn sample(&mut self, words: &[String], moment: Option<Moment>, line: usize) {
        let figures = words.iter().filter_map(|word| number::decimal(word));
        let row: Vec<(String, f64)> = self.columns.iter().cloned().zip(figures).collect();
        let shares = row
            .iter()
            .filter(|(name, _)| SHARES.contains(&name.as_str()));
        let sum: f64 = shares.clone().map(|(_, value)| value).sum();
        // An unknown column may be a share, too.
        let known = self.columns.iter().all(|name| is_column(name));
        let checked = shares.count() >= 4 && (known || sum > 100.0);
        let whole = !checked || self.shares.add(sum, line);
        for (name, value) in &row {
            let is_share = SHARES.contains(&name.as_str());
            if let Some(meaning) = meaning(&MEANINGS, name).filter(|_| whole || !is_share) {
                let source = format!("vmstat, column {name}");
                let at = (self.samples, *value);
                self.collected.add(meaning.series, meaning, source, at);
            }
        }
        self.moments.push(moment);
        self.samples += 1;
    }

    fn end_of_row(&mut self, why: &str) {
        if let Some((line, has)) = self.row.drop_begun() {
            let wants = self.columns.len();
            self.warn(line, format!("{why}: {has} of {wants}; it is skipped"));
        }
    }

    fn warn(&mut self, line: usize, text: String) {
        self.warnings
            .push(Warning::new(self.file, Some(line), text));
    }

    /// Converts memory figures from the user's unit, and leaves out those that are invalid or in an
    /// unknown unit. Returns which, and why.
    fn memory(&mut self, unit_bytes: Option<f64>) -> Vec<NotObserved> {
        let printed = |name: &str| -> Vec<f64> {
            let found = self.collected.all.iter().find(|own| own.name == name);
            let values = found.map_or(&[][..], |own| &own.values);
            values.iter().map(|(_, bytes)| bytes / KIB).collect()
        };
        let all: Vec<Vec<f64>> = MEMORY.iter().map(|name| printed(name)).collect();
        let pages = |kib: &f64| kib.rem_euclid(PAGE_KIB) == 0.0;
        let first: f64 = all.iter().filter_map(|own| own.first()).sum();
        let little = all.iter().all(|own| !own.is_empty()) && first < LITTLE_KIB;
        let free = &all[0];
        let still = free.len() >= STILL_ROWS && free.iter().all(|kib| *kib == free[0]);
        if unit_bytes.is_none() && (little || !all.iter().flatten().all(pages)) {
            let text = "memory is not in KiB (-S): free, buff, cache, si and so are skipped; name \
                        the unit with --vmstat-unit";
            self.warnings
                .push(Warning::new(self.file, None, text.to_owned()));
            let why = "the vmstat log has a unit other than KiB (-S) and does not name it; use \
                       --vmstat-unit";
            return vec![
                self.leave_out(names::HOST_MEMORY, why),
                self.leave_out(names::HOST_SWAP, why),
            ];
        }
        if still {
            let why = "vmstat printed the same free memory in all rows, as vmstat of procps 4.0.2 \
                       does: it repeats its first figures";
            return vec![self.leave_out(names::HOST_MEMORY, why)];
        }
        let scale = unit_bytes.unwrap_or(KIB) / KIB;
        let all = self.collected.all.iter_mut();
        let sized = |own: &&mut Values| {
            own.name.starts_with("host.memory.") || own.name.starts_with("host.swap.")
        };
        for (_, value) in all.filter(sized).flat_map(|own| &mut own.values) {
            *value *= scale;
        }
        Vec::new()
    }

    fn leave_out(&mut self, what: &str, why: &str) -> NotObserved {
        self.collected.all.retain(|own| !own.name.starts_with(what));
        gap(what, why)
    }

    fn finish(mut self, options: &Options) -> HostLog {
        if let Some((line, text)) = self.shares.warning() {
            self.warn(line, text);
        }
        let gaps = self.memory(options.vmstat_unit_bytes);
        let utc = self.utc;
        let with_zone = |moment: Moment| Moment {
            utc: moment.utc || utc,
            ..moment
        };
        HostLog {
            file: self.file.to_owned(),
            tool: "vmstat",
            first_since_boot: !options.first_report,
            interval_s: options.vmstat_interval_s,
            moments: self.moments.into_iter().map(|m| m.map(with_zone)).collect(),
            collected: self.collected,
            facts: Vec::new(),
            gaps,
            warnings: self.warnings,
        }
    }
}

fn is_column(word: &str) -> bool {
    meaning(&MEANINGS, word).is_some() || OTHERS.contains(&word)
}

/// The date and time that `-t` prints after the figures.
fn split_moment<'a, 'b>(words: &'a [&'b str]) -> (&'a [&'b str], Option<Moment>) {
    let Some(at) = words.len().checked_sub(2) else {
        return (words, None);
    };
    let (figures, stamp) = words.split_at(at);
    match civil::moment(&stamp.join(" ")) {
        Some(moment) => (figures, Some(moment)),
        None => (words, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LOG: &str = "\
procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----
 r  b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa st
 9  0      0 21359772  19700 2410296    0    0  1345  1148  253  389 24  3 70  1  2
 3  1      0 21359772  19700 2410296    0    0   700     4 1028 1562 78 18  3  1  0
";

    fn parse(text: &str) -> HostLog {
        let log = Log::new("vmstat.log", text);
        read(&log, &Options::default()).unwrap()
    }

    fn value(log: &HostLog, name: &str, sample: usize) -> Option<f64> {
        let series = log
            .collected
            .all
            .iter()
            .find(|values| values.name == name)?;
        let found = series.values.iter().find(|(at, _)| *at == sample);
        found.map(|(_, value)| *value)
    }

    #[test]
    fn columns_are_found_by_name() {
        let log = parse(LOG);
        assert_eq!(value(&log, "host.cpu.user", 1), Some(78.0));
        assert_eq!(value(&log, "host.cpu.iowait", 1), Some(1.0));
        assert_eq!(value(&log, "host.disk[all].read_bytes", 1), Some(716_800.0));
        assert_eq!(value(&log, "host.blocked", 1), Some(1.0));
        // The last two columns swapped, as in a table of an article.
        let swapped = LOG.replace("us sy id wa st", "us sy wa id st");
        assert_eq!(value(&parse(&swapped), "host.cpu.iowait", 1), Some(3.0));
        assert!(log.warnings.is_empty(), "{:?}", log.warnings);
    }

    /// Rows with these figures of free, buff and cache.
    fn rows(all: &[[u64; 3]]) -> HostLog {
        let row = |[free, buff, cache]: &[u64; 3]| {
            format!("1 0 0 {free} {buff} {cache} 0 0 8 16 500 900 20 5 75 0 0\n")
        };
        let heading = "r b swpd free buff cache si so bi bo in cs us sy id wa st\n";
        let rows: String = all.iter().map(row).collect();
        parse(&format!("{heading}{rows}"))
    }

    #[test]
    fn memory_that_never_moves_or_has_another_unit_is_left_out() {
        let moves = rows(&[
            [900_000, 400, 70_000],
            [900_000, 400, 70_000],
            [899_996, 400, 70_000],
        ]);
        assert_eq!(value(&moves, "host.memory.free", 2), Some(899_996.0 * KIB));
        assert_eq!(value(&moves, "host.memory.buffers", 1), Some(400.0 * KIB));
        assert!(moves.warnings.is_empty(), "{:?}", moves.warnings);
        let still = rows(&[[900_000, 400, 70_000]; 3]);
        assert_eq!(value(&still, "host.memory.free", 0), None);
        assert_eq!(value(&still, "host.memory.cached", 1), None);
        assert_eq!(value(&still, "host.swap.in", 1), Some(0.0));
        assert_eq!(
            value(&still, "host.disk[all].write_bytes", 1),
            Some(16.0 * KIB)
        );
        assert_eq!(
            (&still.gaps[0].what[..], still.gaps.len()),
            ("host.memory", 1)
        );
        assert!(still.gaps[0].why.contains("procps 4.0.2") && still.warnings.is_empty());
        // -S m, -S m of a large host, -S k
        for scaled in [
            [[21_184, 48, 3304], [21_180, 48, 3304]],
            [[518_114, 48, 3304], [518_110, 48, 3304]],
            [[21_692_416, 52, 3_384_320], [21_692_411, 52, 3_384_320]],
        ] {
            let log = rows(&scaled);
            assert_eq!(value(&log, "host.memory.free", 1), None, "{scaled:?}");
            assert_eq!(value(&log, "host.swap.out", 1), None, "{scaled:?}");
            assert_eq!(value(&log, "host.cpu.user", 1), Some(20.0));
            assert!(log.warnings[0].text.contains("(-S)"), "{:?}", log.warnings);
            let gaps: Vec<&str> = log.gaps.iter().map(|gap| gap.what.as_str()).collect();
            assert_eq!(gaps, ["host.memory", "host.swap"]);
        }
    }

    #[test]
    fn the_user_can_give_the_unit_and_keep_the_first_report() {
        let text = "r b swpd free buff cache si so bi bo in cs us sy id wa st\n\
                    1 0 0 21184 48 3304 2 0 8 16 500 900 20 5 75 0 0\n\
                    1 0 0 21180 48 3304 2 0 8 16 500 900 20 5 75 0 0\n";
        for (unit, bytes) in [("k", 1e3), ("K", KIB), ("m", 1e6), ("M", KIB * KIB)] {
            let options = Options {
                vmstat_unit_bytes: unit_bytes(unit),
                first_report: true,
                ..Options::default()
            };
            let log = read(&Log { name: "x", text }, &options).unwrap();
            assert_eq!(value(&log, "host.memory.free", 1), Some(21_180.0 * bytes));
            assert_eq!(value(&log, "host.swap.in", 1), Some(2.0 * bytes));
            // Blocks are 1 KiB in every unit.
            assert_eq!(value(&log, "host.disk[all].read_bytes", 1), Some(8.0 * KIB));
            assert!(log.warnings.is_empty() && log.gaps.is_empty() && !log.first_since_boot);
        }
        assert_eq!(unit_bytes("g"), None);
    }

    #[test]
    fn reports_shares_that_do_not_add_up() {
        let odd = LOG.replace("78 18  3", "78 18 33");
        let warning = parse(&odd).warnings[0].to_string();
        assert!(
            warning.starts_with("vmstat.log:4: 1 row whose"),
            "{warning}"
        );
        assert!(warning.contains("130 %"), "{warning}");
    }

    #[test]
    fn wrapped_repeated_and_cut_off() {
        let wrapped = LOG
            .replace("   in   cs us", "\n in cs us")
            .replace(" 1028", "\n1028");
        let wrapped = wrapped.replace("  253", "\n  253");
        let log = parse(&format!("{wrapped}{LOG} 3 0 0 21359"));
        assert_eq!(log.moments.len(), 4);
        assert_eq!(value(&log, "host.interrupts", 1), Some(1028.0));
        assert_eq!(log.warnings.len(), 1, "{:?}", log.warnings);
        assert!(log.warnings[0].text.contains("the log ends within a row"));
        // The last figure, possibly a 10, may be incomplete.
        let cut = parse(LOG.trim_end());
        assert_eq!((cut.moments.len(), cut.warnings.len()), (1, 1));
    }

    #[test]
    fn times_may_come_before_or_after_a_row() {
        let wide = LOG.replace(" st\n", " st                 CET\n");
        let wide = wide.replace(" 2\n", " 2 2026-11-21 13:07:48\n");
        let log = parse(&wide);
        let moment = log.moments[0].unwrap();
        assert_eq!((moment.seconds, moment.utc), (1_795_266_468.0, false));
        let stamped: String = LOG
            .lines()
            .map(|line| format!("1795266468 {line}\n"))
            .collect();
        let log = parse(&stamped);
        assert_eq!(log.moments[1].unwrap().seconds, 1_795_266_468.0);
        assert_eq!(value(&log, "host.cpu.idle", 1), Some(3.0));
    }

    #[test]
    fn reports_missing_and_new_columns() {
        let without = "r b us sy cz id wa\n1 0 10 5 3 80 2\n1 0 10 5 3 80 2\n";
        let log = parse(without);
        assert_eq!(value(&log, "host.cpu.idle", 1), Some(80.0));
        assert!(log.warnings[0].text.contains("'cz'"), "{:?}", log.warnings);
        let error = |text| {
            let log = Log { name: "x", text };
            read(&log, &Options::default()).unwrap_err().to_string()
        };
        assert!(error("nothing").contains("no heading of vmstat"));
        assert!(error("r b us sy id wa\n").contains("no row of figures"));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "[ 0-9rbusyidwa.:\n-]*", tail in "\\PC*") {
            let text = format!("{LOG}{text}\n{tail}");
            let _ = read(&Log { name: "x", text: &text }, &Options::default());
        }
    }
}
