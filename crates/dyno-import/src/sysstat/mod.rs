//! The text of `mpstat DELAY` and `sar DELAY` (sysstat 9 to 12): tables one behind the other, each
//! below a heading, and before each row the time of day.

mod columns;

use std::collections::BTreeMap;

use crate::align::HostLog;
use crate::civil::{self, Moment};
use crate::machine::Machine;
use crate::number;
use crate::table::{Collected, Shares, meaning};
use crate::text::{self, Line};
use crate::{ImportError, Log, Looks, Warning};
use columns::Of;

const DAY_S: f64 = 86_400.0;
/// A time that goes back further than this is of the next day.
const BACK_S: f64 = DAY_S / 2.0;

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
    /// The place of the rows' names.
    name: Option<usize>,
    headings: usize,
    /// The times of all samples, and their places.
    moments: Vec<Moment>,
    places: BTreeMap<u64, usize>,
    /// For each table by its columns: the time of day of its last row, and how many days have gone
    /// by. `sar` shows one behind the other, or all of them in turn.
    clocks: BTreeMap<Vec<String>, (f64, f64)>,
    collected: Collected,
    shares: Shares,
    warnings: Vec<Warning>,
}

impl Reader<'_> {
    fn take(&mut self, line: &Line) {
        let bare = line.text.trim();
        if bare.starts_with("Linux ") {
            self.machine = Machine::read(bare, "the first line of mpstat or sar");
            self.clocks.clear();
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
            (self.of, self.name) = Of::heading(&self.columns);
            self.seconds(time_s);
            return;
        }
        self.row(time_s, words, line.number);
    }

    /// A time of the table that is being read, in seconds since 1970 if the day is known.
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
            let (has, wants) = (words.len(), self.columns.len());
            self.warn(
                line,
                format!("{has} words below {wants} columns; the row is left out"),
            );
            return;
        }
        let own = |place: &usize| Some(*place) != self.name;
        let places: Vec<usize> = (0..words.len()).filter(own).collect();
        let figures = places.iter().map(|place| number::decimal(words[*place]));
        let Some(figures) = figures.collect::<Option<Vec<f64>>>() else {
            self.warn(line, "not a row of figures; it is left out".to_owned());
            return;
        };
        let names = places.iter().map(|place| self.columns[*place].clone());
        let mut columns: Vec<(String, f64)> = names.zip(figures).collect();
        let name = self.name.map_or("", |place| words[place]);
        let prefix = match self.of {
            // Single CPUs are not told.
            Of::Cpus if name != "all" && name != "-1" => return,
            Of::Cpus => {
                self.shares_of(&mut columns, line);
                String::new()
            }
            Of::Devices => format!("host.disk[{name}]."),
            Of::Interfaces => format!("host.network[{name}]."),
            _ => String::new(),
        };
        let sample = self.sample(seconds);
        self.add(&prefix, sample, &columns);
    }

    /// Looks whether the shares make 100 %, and adds the guests' time to that of programs, where
    /// the kernel and so all others have it.
    fn shares_of(&mut self, columns: &mut [(String, f64)], line: usize) {
        let shares = columns.iter().filter(|(name, _)| name.starts_with('%'));
        let sum: f64 = shares.clone().map(|(_, value)| value).sum();
        if shares.count() >= 4 {
            self.shares.add(sum, line);
        }
        for (guest, host) in [("%guest", "%usr"), ("%gnice", "%nice")] {
            let found = columns.iter().find(|(name, _)| name == guest);
            let more = found.map_or(0.0, |(_, value)| *value);
            if let Some((_, value)) = columns.iter_mut().find(|(name, _)| name == host) {
                *value += more;
            }
        }
    }

    /// The place of the sample of a time.
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
        let log = parse(include_str!("../../fixtures/sar.txt"));
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
        let log = parse(include_str!("../../fixtures/mpstat.txt"));
        assert_eq!(values(&log, "host.cpu.user"), [36.36, 1.01]);
        assert_eq!(values(&log, "host.cpu.softirq"), [0.0, 0.0]);
        let odd = include_str!("../../fixtures/mpstat.txt").replace(" 30.48", " 80.48");
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
    fn tables_of_a_whole_day_begin_with_its_first_time() {
        let text = "Linux 5.4 (db1) \t11/25/2026 \t_x86_64_\t(4 CPU)\n\n\
            00:00:01        CPU     %user     %idle\n\
            00:10:01        all      5.00     95.00\n\
            23:50:01        all      6.00     94.00\n\n\
            00:00:01       proc/s   cswch/s\n\
            00:10:01         1.00    351.00\n\
            13:00:01       proc/s   cswch/s\n\
            23:50:01         1.00    353.00\n";
        let log = parse(text);
        assert_eq!(log.moments.len(), 2);
        assert_eq!(values(&log, "host.context_switches"), [351.0, 353.0]);
        assert_eq!(values(&log, "host.forks"), [1.0, 1.0]);
    }

    #[test]
    fn names_of_devices_may_stand_last_and_guests_are_programs() {
        let text = "14:12:57          tps     rkB/s     wkB/s     %util DEV\n\
            14:12:58         1.00      4.00      8.00      2.00 vda\n\
            14:12:57     CPU    %usr   %nice    %sys  %guest  %gnice   %idle\n\
            14:12:58     all    1.00    0.00    2.00   50.00    0.00   47.00\n\
            14:12:57     atmptf/s  estres/s retrans/s isegerr/s   orsts/s\n\
            14:12:58         0.00      0.00      3.00      0.00      0.00\n\
            14:12:57       call/s retrans/s    read/s   write/s\n\
            14:12:58         9.00      9.00      9.00      9.00\n";
        let log = parse(text);
        assert_eq!(values(&log, "host.disk[vda].write_bytes"), [8192.0]);
        assert_eq!(values(&log, "host.cpu.user"), [51.0]);
        assert_eq!(values(&log, "host.tcp.retransmits"), [3.0]);
        assert_eq!(log.warnings, []);
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
            let text = format!("{}{text}\n{tail}", include_str!("../../fixtures/sar.txt"));
            let _ = read("sar", Looks::Sar, &Log { name: "x", text: &text });
        }
    }
}
