//! Parses the statistics at the end of a run, of sysbench 0.4 to 1.1. Lines are recognised by their
//! labels.

use dyno_core::catalogue::names;

use super::model::{Counted, Report};
use crate::number;

/// Labels that only versions before 1.0 print.
const OLD: [&str; 3] = [
    "OLTP test statistics:",
    "Test execution summary:",
    "read/write requests:",
];

/// Parses a line of statistics; returns `false` if it is not one.
pub(crate) fn take(report: &mut Report, line: &str) -> bool {
    let line = line.trim();
    report.is_old |= OLD.iter().any(|old| line.starts_with(old));
    if let Some(rest) = line.strip_prefix("Operations performed:") {
        return old_memory_operations(report, rest) || old_file_operations(report, rest);
    }
    if let Some(rest) = line.strip_prefix("Read ") {
        return old_file_bytes(report, rest).is_some();
    }
    if let Some((value, rest)) = number::leading(line)
        && transferred(report, value, rest)
    {
        return true;
    }
    let Some((label, value)) = line.split_once(':') else {
        return false;
    };
    let (label, value) = (label.trim().to_ascii_lowercase(), value.trim());
    if value.is_empty() {
        return false;
    }
    for take in [counts, times, files] {
        match take(report, &label, value) {
            Some(true) => return true,
            Some(false) => {}
            None if is_figure(value) => {
                report.unreadable.push(line.to_owned());
                return true;
            }
            None => {}
        }
    }
    false
}

/// Whether a text represents a figure: other texts, as scripts print them, may be anything.
fn is_figure(value: &str) -> bool {
    let digits = value.trim_start_matches(['-', '+']);
    let lower = digits.to_ascii_lowercase();
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        || ["nan", "inf"].iter().any(|word| lower.starts_with(word))
}

/// Whether other text overwrote the end of a figure, as in `total: 84x.sh: line 7`.
pub(crate) fn is_torn(line: &str) -> bool {
    const UNITS: [&str; 3] = ["s", "ms", "sec"];
    let value = line.split_once(':').map_or(line, |(_, value)| value).trim();
    let unit = value.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ','));
    let unit = unit.split(' ').next().unwrap_or("");
    number::is_torn(value) && !UNITS.contains(&unit)
}

/// Whether this line closes a block of statistics.
pub(crate) fn closes(line: &str) -> bool {
    line.trim().starts_with("execution time (avg/stddev):")
}

/// Whether this line opens the statistics of an SQL test.
pub(crate) fn opens_sql(line: &str) -> bool {
    matches!(line.trim(), "SQL statistics:" | "OLTP test statistics:")
}

/// Whether this line opens any block of statistics.
pub(crate) fn opens(line: &str) -> bool {
    const TITLES: [&str; 8] = [
        "SQL statistics:",
        "OLTP test statistics:",
        "General statistics:",
        "Test execution summary:",
        "Throughput:",
        "File operations:",
        "CPU speed:",
        "Latency (ms):",
    ];
    let line = line.trim();
    TITLES.contains(&line)
        || line.starts_with("Operations performed:")
        || line.starts_with("Total operations:")
        // Articles show excerpts.
        || line.starts_with("transactions:") && line.contains("per sec")
}

fn counts(report: &mut Report, label: &str, value: &str) -> Option<bool> {
    let count = || number::leading_count(value).map(|(count, _)| count);
    match label {
        "read" if !value.starts_with("IOPS") => report.reads = Some(count()?),
        "write" if !value.starts_with("IOPS") => report.writes = Some(count()?),
        "other" => report.other = Some(count()?),
        "total" => report.total = Some(count()?),
        "transactions" => report.transactions = Some(counted(value)?),
        "queries" => report.queries = Some(counted(value)?),
        "ignored errors" | "deadlocks" => report.errors = Some(counted(value)?),
        "reconnects" => report.reconnects = Some(counted(value)?),
        // The two of sysbench 0.4 and 0.5 are contained in the counts above.
        "read/write requests" | "other operations" => _ = counted(value)?,
        "total number of events" => report.events = Some(count()?),
        "total operations" => operations(report, counted(value)?),
        "events/s (eps)" | "events per second" => {
            report.events_per_s = Some(number::leading(value)?.0);
        }
        "number of unfinished transactions on forced shutdown" => {
            report.unfinished = Some(count()?);
        }
        "events (avg/stddev)" => report.events_spread = Some(spread(value)?),
        "execution time (avg/stddev)" => report.time_spread = Some(spread(value)?),
        _ => return Some(false),
    }
    Some(true)
}

fn times(report: &mut Report, label: &str, value: &str) -> Option<bool> {
    match label {
        "total time" | "time elapsed" => {
            let (seconds, _) = number::leading(value)?;
            report.total_time_s = Some((seconds >= 0.0).then_some(seconds)?);
        }
        "total time taken by event execution" => {
            let (seconds, _) = number::leading(value)?;
            report.sum_ms.get_or_insert(seconds * 1000.0);
        }
        "min" => report.min_ms = Some(milliseconds(value)?),
        "avg" => report.avg_ms = Some(milliseconds(value)?),
        "max" => report.max_ms = Some(milliseconds(value)?),
        "sum" => report.sum_ms = Some(milliseconds(value)?),
        "percentile stats" => report.percentiles_disabled = true,
        _ => {
            // `95th percentile`, `approx.  95 percentile`.
            let Some(head) = label.strip_suffix("percentile") else {
                return Some(false);
            };
            let (percent, _) = number::leading(head.trim_start_matches("approx.").trim())?;
            let ms = milliseconds(value)?;
            let again = report.percentiles.contains(&(percent, ms));
            if percent > 0.0 && percent <= 100.0 && !again {
                report.percentiles.push((percent, ms));
            }
        }
    }
    Some(true)
}

fn files(report: &mut Report, label: &str, value: &str) -> Option<bool> {
    let mut figure = |name, value, label| report.figures.push((name, value, label));
    match label {
        "read" => {
            let (iops, rest) = number::leading(value.strip_prefix("IOPS=")?)?;
            figure(names::IMPORT_FILEIO_READS_PER_S, iops, "read: IOPS");
            let (mib, _) = number::leading(rest)?;
            figure(names::IMPORT_FILEIO_READ_MIB_PER_S, mib, "read: MiB/s");
        }
        "write" => {
            let (iops, rest) = number::leading(value.strip_prefix("IOPS=")?)?;
            figure(names::IMPORT_FILEIO_WRITES_PER_S, iops, "write: IOPS");
            let (mib, _) = number::leading(rest)?;
            figure(names::IMPORT_FILEIO_WRITTEN_MIB_PER_S, mib, "write: MiB/s");
        }
        "fsync" => {
            let (iops, _) = number::leading(value.strip_prefix("IOPS=")?)?;
            figure(names::IMPORT_FILEIO_FSYNCS_PER_S, iops, "fsync: IOPS");
        }
        _ => {
            let (name, label) = match label {
                "reads/s" => (names::IMPORT_FILEIO_READS_PER_S, "reads/s"),
                "writes/s" => (names::IMPORT_FILEIO_WRITES_PER_S, "writes/s"),
                "fsyncs/s" => (names::IMPORT_FILEIO_FSYNCS_PER_S, "fsyncs/s"),
                "read, mib/s" => (names::IMPORT_FILEIO_READ_MIB_PER_S, "read, MiB/s"),
                "written, mib/s" => (names::IMPORT_FILEIO_WRITTEN_MIB_PER_S, "written, MiB/s"),
                _ => return Some(false),
            };
            figure(name, number::leading(value)?.0, label);
        }
    }
    Some(true)
}

/// The operations of a memory test are its events.
fn operations(report: &mut Report, counted: Counted) {
    report.events.get_or_insert(counted.count);
    report.events_per_s = counted.per_s;
    report.operations = Some(counted);
}

/// `104857600 (1746183.75 ops/sec)`, of sysbench 0.4 and 0.5.
fn old_memory_operations(report: &mut Report, text: &str) -> bool {
    let counted = counted(text).filter(|_| text.contains("ops/sec"));
    if let Some(counted) = counted {
        operations(report, counted);
    }
    counted.is_some()
}

/// `93.828Mb  Written 62.422Mb  Total transferred 156.25Mb  (7.8125Mb/sec)`, of sysbench 0.4 and
/// 0.5.
fn old_file_bytes(report: &mut Report, text: &str) -> Option<()> {
    let (read, rest) = text.split_once("Written")?;
    let (written, rest) = rest.split_once("Total transferred")?;
    let (total, per_s) = rest.split_once('(')?;
    (report.read_mib, report.written_mib) = (Some(mib(read)?), Some(mib(written)?));
    report.transferred_mib = Some(mib(total)?);
    report.transferred_mib_per_s = Some(mib(per_s)?);
    Some(())
}

/// `93.828Mb`, `1.5Gb`, `0b` in MiB.
fn mib(text: &str) -> Option<f64> {
    let (value, unit) = number::leading(text)?;
    let scale = match unit.chars().next()? {
        'b' => 1.0 / 1_048_576.0,
        'K' => 1.0 / 1024.0,
        'M' => 1.0,
        'G' => 1024.0,
        'T' => 1_048_576.0,
        _ => return None,
    };
    (value >= 0.0).then_some(value * scale)
}

/// `6000 Read, 4000 Write, 12800 Other = 22800 Total`, of sysbench 0.4 and 0.5.
fn old_file_operations(report: &mut Report, text: &str) -> bool {
    let mut seen = false;
    for part in text.split([',', '=']) {
        let Some((count, name)) = number::leading_count(part) else {
            continue;
        };
        let (fact, label) = match name.trim().to_ascii_lowercase().as_str() {
            "read" | "reads" => (names::IMPORT_FILEIO_READS, "Operations performed: Read"),
            "write" | "writes" => (names::IMPORT_FILEIO_WRITES, "Operations performed: Write"),
            "other" => (names::IMPORT_FILEIO_OTHER, "Operations performed: Other"),
            "total" => {
                report.file_operations = Some(count);
                continue;
            }
            _ => continue,
        };
        report.figures.push((fact, count as f64, label));
        seen = true;
    }
    seen
}

/// `8460.11 MiB transferred (4224.88 MiB/sec)`, `668.53 Requests/sec executed`.
fn transferred(report: &mut Report, value: f64, rest: &str) -> bool {
    let rest = rest.trim_start();
    let rate = rest
        .split_once('(')
        .and_then(|(_, rest)| number::leading(rest));
    if (rest.starts_with("MiB transferred") || rest.starts_with("MB transferred"))
        && let Some((per_s, unit)) = rate
    {
        let name = if unit.trim_start().starts_with("MiB") {
            names::IMPORT_MEMORY_MIB_PER_S
        } else {
            names::IMPORT_MEMORY_MB_PER_S
        };
        report.figures.push((name, per_s, "transferred"));
        // Versions before 1.0 print the same as MB.
        report.transferred_mib = Some(value);
        report.transferred_mib_per_s = Some(per_s);
        return true;
    }
    if rest
        .to_ascii_lowercase()
        .starts_with("requests/sec executed")
    {
        let label = "Requests/sec executed";
        report
            .figures
            .push((names::IMPORT_FILEIO_REQUESTS_PER_S, value, label));
        return true;
    }
    false
}

/// `708    (235.47 per sec.)`
fn counted(text: &str) -> Option<Counted> {
    let (count, rest) = number::leading_count(text)?;
    let Some(rest) = rest.trim_start().strip_prefix('(') else {
        return Some(Counted { count, per_s: None });
    };
    let per_s = number::leading(rest).map(|(per_s, _)| per_s);
    let per_s = per_s.filter(|per_s| *per_s >= 0.0);
    // The text in brackets may not be a rate, but must not be an impossible one.
    (per_s.is_some() || !is_figure(rest)).then_some(Counted { count, per_s })
}

/// `549.0000/5.00`
fn spread(text: &str) -> Option<(f64, f64)> {
    let (mean, stddev) = text.split_once('/')?;
    let (mean, stddev) = (number::decimal(mean)?, number::decimal(stddev)?);
    (mean >= 0.0 && stddev >= 0.0).then_some((mean, stddev))
}

/// A latency; without a unit it is in milliseconds, as in sysbench's titles.
fn milliseconds(text: &str) -> Option<f64> {
    let (value, unit) = number::leading(text)?;
    let ms = match unit.trim() {
        "s" | "sec" => value * 1000.0,
        _ => value,
    };
    (ms >= 0.0).then_some(ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Report {
        let mut report = Report::default();
        for line in text.lines() {
            take(&mut report, line);
        }
        report
    }

    #[test]
    fn derives_the_length_of_a_run_from_its_rate() {
        // "One Million Tables in MySQL 8.0" (Percona): the command shown says 600 s.
        let report = read(
            "    transactions:                        243533 (2029.21 per sec.)\n\
             queries:                             16879188 (140611.72 per sec.)",
        );
        let implied = report.implied_time_s().unwrap();
        assert!((implied - 120.04).abs() < 0.005, "{implied}");
        let transactions = read("transactions: 243,533 (2,029.21 per sec.)");
        assert!((transactions.implied_time_s().unwrap() - 120.01).abs() < 0.005);
    }

    #[test]
    fn labels_of_all_versions() {
        let old = read(
            "    deadlocks:                           3      (0.06 per sec.)\n\
             \x20   total time:                          46.7006s\n\
             \x20   total time taken by event execution: 373.2145\n\
             \x20        min:                                  5.64ms\n\
             \x20        approx.  95 percentile:              58.51ms\n\
             \x20        max:                                  0.2762s",
        );
        assert_eq!(old.errors.unwrap().count, 3);
        assert_eq!(old.total_time_s, Some(46.7006));
        assert_eq!(old.sum_ms, Some(373_214.5));
        assert_eq!((old.min_ms, old.max_ms), (Some(5.64), Some(276.2)));
        assert_eq!(old.percentiles, [(95.0, 58.51)]);
        let new = read(
            "    events/s (eps):                      4538.2300\n\
             \x20   time elapsed:                        2.0278s\n\
             \x20       99th percentile:                       12.30\n\
             \x20        read:  IOPS=7113.16 111.14 MiB/s (116.54 MB/s)",
        );
        assert_eq!(new.events_per_s, Some(4538.23));
        assert_eq!(new.total_time_s, Some(2.0278));
        assert_eq!(new.percentiles, [(99.0, 12.3)]);
        let reads = ("import.fileio.reads_per_s", 7113.16, "read: IOPS");
        assert_eq!(new.figures[0], reads);
        assert_eq!(new.reads, None);
    }

    #[test]
    fn ignores_lines_without_a_figure() {
        let mut report = Report::default();
        for line in [
            "transactions:",
            "transactions: many",
            "note: 5",
            "",
            ":",
            "min: of all",
        ] {
            assert!(!take(&mut report, line), "{line}");
        }
        assert_eq!(report, Report::default());
    }

    #[test]
    fn keeps_impossible_figures_to_report_them() {
        let lines = [
            "total time: -10.0s",
            "transactions: 18446744073709551616 (5.00 per sec.)",
            "queries: 700 (nan per sec.)",
            "avg: -nan",
            "max: -3.0",
        ];
        let report = read(&lines.join("\n"));
        assert_eq!(report.unreadable, lines);
    }

    proptest! {
        #[test]
        fn arbitrary_lines_never_panic(label in "[a-z /()%]{0,30}", value in "\\PC*") {
            take(&mut Report::default(), &value);
            take(&mut Report::default(), &format!("{label}: {value}"));
            take(&mut Report::default(), &format!("Operations performed: {value}"));
        }
    }
}
