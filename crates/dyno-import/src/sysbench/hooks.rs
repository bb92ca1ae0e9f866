//! Intermediate reports that scripts print through sysbench's hooks: CSV lines with or without a
//! heading, and JSON objects. They are among other output and may have decimal commas, so each
//! line is split here, not by a CSV reader.

use dyno_core::text::number_of;
use serde_json::Value;

use super::model::{Point, PrintedPercentile};
use crate::{civil, number};

const MS_PER_S: f64 = 1000.0;

/// The content of a CSV column.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Column {
    Time,
    Threads,
    Tps,
    Queries,
    Reads,
    Writes,
    Other,
    /// With its percentile, if the heading has it.
    Latency(Option<f64>),
    Errors,
    Reconnects,
    Unknown,
}

/// The heading of a CSV.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heading {
    separator: char,
    columns: Vec<Column>,
    /// How many of each column's units, if it is a time, are a second.
    per_s: Vec<f64>,
    /// Names of unknown columns.
    pub(crate) unknown: Vec<String>,
}

/// Parses a line as the heading of intermediate reports: it names a time and a rate.
pub(crate) fn heading(line: &str) -> Option<Heading> {
    let separator = [';', '\t', ','].into_iter().find(|c| line.contains(*c))?;
    let names: Vec<&str> = line.split(separator).map(plain).collect();
    let columns: Vec<Column> = names.iter().map(|name| column(name)).collect();
    let has = |wanted: &[Column]| columns.iter().any(|column| wanted.contains(column));
    if !has(&[Column::Time]) || !has(&[Column::Tps, Column::Queries]) {
        return None;
    }
    let unknown = names
        .iter()
        .zip(&columns)
        .filter(|(_, column)| **column == Column::Unknown)
        .map(|(name, _)| (*name).to_owned())
        .collect();
    Some(Heading {
        separator,
        per_s: names.iter().zip(&columns).map(units_per_s).collect(),
        columns,
        unknown,
    })
}

fn plain(field: &str) -> &str {
    field.trim().trim_matches('"').trim()
}

fn column(name: &str) -> Column {
    let name = lower(name);
    let words: Vec<&str> = words(&name)
        .filter(|word| !matches!(*word, "s" | "sec" | "per" | "ms" | "us" | "ns" | "total"))
        .collect();
    match words.as_slice() {
        [] if name == "sec" || name == "s" => Column::Time,
        ["time" | "t" | "seconds" | "second" | "elapsed" | "timestamp" | "at"] => Column::Time,
        ["time", "elapsed"] | ["elapsed", "time"] => Column::Time,
        ["threads" | "thds" | "thread" | "sessions"] => Column::Threads,
        ["tps" | "eps" | "events" | "transactions" | "trx"] => Column::Tps,
        ["qps" | "queries"] => Column::Queries,
        ["reads" | "read" | "r"] | ["qps", "reads"] => Column::Reads,
        ["writes" | "write" | "w"] | ["qps", "writes"] => Column::Writes,
        ["other" | "others" | "o"] | ["qps", "other"] => Column::Other,
        ["errors" | "error" | "err"] => Column::Errors,
        ["reconnects" | "reconnect" | "reconn"] => Column::Reconnects,
        ["latency" | "lat"] | ["response", "time"] => Column::Latency(None),
        words => match words.iter().find_map(|word| percent(word)) {
            Some(percent) if words.len() <= 3 => Column::Latency(Some(percent)),
            _ => Column::Unknown,
        },
    }
}

/// A column's name in lower case, with `us` for microseconds.
fn lower(name: &str) -> String {
    name.to_ascii_lowercase().replace(['µ', 'μ'], "u")
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    let ends = |c: char| !c.is_ascii_alphanumeric() && c != '.';
    name.split(ends).filter(|word| !word.is_empty())
}

/// How many of a column's units are a second. Without a unit, times are in seconds and latencies in
/// milliseconds.
fn units_per_s((name, column): (&&str, &Column)) -> f64 {
    const UNITS: [(&str, f64); 6] = [
        ("ms", MS_PER_S),
        ("us", 1e6),
        ("ns", 1e9),
        ("s", 1.0),
        ("sec", 1.0),
        ("seconds", 1.0),
    ];
    let name = lower(name);
    let named = UNITS
        .iter()
        .find(|(unit, _)| words(&name).any(|word| word == *unit));
    match (named, column) {
        (Some((_, per_s)), _) => *per_s,
        (None, Column::Latency(_)) => MS_PER_S,
        (None, _) => 1.0,
    }
}

/// A time in seconds. Those since 1970 may be in a smaller unit without saying so.
fn seconds(mut value: f64) -> f64 {
    const EPOCH_MS: f64 = 1e12;
    while value >= EPOCH_MS {
        value /= MS_PER_S;
    }
    value
}

/// `p95`, `95th`, `p99.9`, `p999`, `95`.
fn percent(word: &str) -> Option<f64> {
    let bare = word.strip_prefix("pct").or_else(|| word.strip_prefix('p'));
    let digits = bare.unwrap_or(word);
    let digits = digits.strip_suffix("th").unwrap_or(digits);
    let value = number::decimal(digits)?;
    let whole = !digits.contains('.');
    if value > 100.0 && whole && digits.starts_with("99") {
        // p999 is 99.9.
        return number::decimal(&format!("99.{}", &digits[2..]));
    }
    (1.0..=100.0).contains(&value).then_some(value)
}

impl Heading {
    /// Parses a line below the heading; `Err` says why a line of numbers does not fit, `None` is
    /// another kind of line.
    pub(crate) fn row(&self, line: &str, number: usize) -> Option<Result<(Point, bool), String>> {
        let fields: Vec<&str> = line.split(self.separator).map(plain).collect();
        let digit = |field: &&str| field.starts_with(|c: char| c.is_ascii_digit());
        if fields.len() < 2 || !fields.first().is_some_and(digit) {
            return None;
        }
        if fields.len() != self.columns.len() {
            let (has, wants) = (fields.len(), self.columns.len());
            let has = number_of(has, "field");
            return Some(Err(format!("{has} below a heading of {wants}")));
        }
        Some(self.point(&fields, number))
    }

    fn point(&self, fields: &[&str], number: usize) -> Result<(Point, bool), String> {
        let mut point = Point {
            line: number,
            at_s: f64::NAN,
            ..Point::default()
        };
        let mut absolute = false;
        let columns = self.columns.iter().zip(&self.per_s);
        for ((column, per_s), field) in columns.zip(fields) {
            if field.is_empty() || *column == Column::Unknown {
                continue;
            }
            if *column == Column::Time
                && let Some(moment) = civil::moment(field)
            {
                (point.at_s, absolute) = (moment.seconds, true);
                continue;
            }
            let value = number::decimal(field)
                .filter(|value| *value >= 0.0)
                .ok_or_else(|| format!("'{field}' is not a figure"))?;
            match column {
                Column::Time => point.at_s = seconds(value / per_s),
                Column::Threads => point.threads = Some(value as u32),
                Column::Tps => point.tps = Some(value),
                Column::Queries => point.queries = Some(value),
                Column::Reads => point.reads = Some(value),
                Column::Writes => point.writes = Some(value),
                Column::Other => point.other = Some(value),
                Column::Errors => point.errors = Some(value),
                Column::Reconnects => point.reconnects = Some(value),
                Column::Latency(percent) => point.latencies.push(PrintedPercentile {
                    percent: *percent,
                    ms: value / (per_s / MS_PER_S),
                }),
                Column::Unknown => {}
            }
        }
        if point.at_s.is_nan() {
            return Err("it has no time".to_owned());
        }
        Ok((point, absolute))
    }
}

/// A line of `sysbench.report_csv`, which prints no heading: time, threads, tps, qps, reads,
/// writes, other, latency, errors, reconnects. The first two are whole; the others have two
/// decimals, after a point or a comma.
pub(crate) fn bare_row(line: &str, number: usize) -> Option<Point> {
    let fields: Vec<&str> = line.trim().split(',').collect();
    let integer = |field: &&str| !field.is_empty() && field.bytes().all(|b| b.is_ascii_digit());
    if !fields.get(..2)?.iter().all(integer) {
        return None;
    }
    let values: Vec<f64> = match fields.len() {
        10 => fields
            .iter()
            .map(|field| number::decimal(field))
            .collect::<Option<_>>()?,
        18 => {
            // Decimal commas: two whole numbers, then pairs.
            let pair = |pair: &[&str]| {
                let fits = pair.iter().all(integer) && pair[1].len() == 2;
                fits.then(|| number::decimal(&pair.join(".")))?
            };
            let first = fields[..2].iter().map(|field| number::decimal(field));
            first
                .chain(fields[2..].chunks_exact(2).map(pair))
                .collect::<Option<_>>()?
        }
        _ => return None,
    };
    Some(Point {
        line: number,
        at_s: values[0],
        threads: Some(values[1] as u32),
        tps: Some(values[2]),
        queries: Some(values[3]),
        reads: Some(values[4]),
        writes: Some(values[5]),
        other: Some(values[6]),
        latencies: vec![PrintedPercentile {
            percent: None,
            ms: values[7],
        }],
        errors: Some(values[8]),
        reconnects: Some(values[9]),
        ..Point::default()
    })
}

/// The objects of `sysbench.report_json` in a text, complete or cut off: each with its line,
/// counted from `first_line`; and the lines of unreadable ones.
pub(crate) fn objects(text: &str, first_line: usize) -> (Vec<Point>, Vec<usize>) {
    let mut points = Vec::new();
    let mut bad = Vec::new();
    let mut at = 0;
    let (mut line, mut counted) = (first_line, 0);
    while let Some(start) = text[at..].find('{').map(|offset| at + offset) {
        line += text[counted..start].matches('\n').count();
        counted = start;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset().max(1);
                match point(&value, line) {
                    Some(point) => points.push(point),
                    None => bad.push(line),
                }
            }
            _ => {
                // Cut off or damaged: an object that begins below may be complete.
                bad.push(line);
                let Some(next) = next_object(&text[start..]) else {
                    break;
                };
                at = start + next;
            }
        }
    }
    (points, bad)
}

/// Where the next line begins that opens an object, alone or in an array.
fn next_object(text: &str) -> Option<usize> {
    let mut ends = text.match_indices('\n').map(|(at, _)| at + 1);
    let opens = |at: &usize| text[*at..].starts_with('{') || text[*at..].starts_with("  {");
    ends.find(opens)
}

/// Opening minus closing brackets in a line. Strings are ignored, because sysbench prints none with
/// brackets.
pub(crate) fn nesting(line: &str) -> i64 {
    line.chars()
        .map(|c| match c {
            '[' | '{' => 1,
            ']' | '}' => -1,
            _ => 0,
        })
        .sum()
}

fn point(value: &Value, line: usize) -> Option<Point> {
    let figure = |value: &Value| {
        let value = value.as_f64()?;
        (value.is_finite() && value >= 0.0).then_some(value)
    };
    let qps = &value["qps"];
    let point = Point {
        line,
        at_s: figure(&value["time"])?,
        threads: figure(&value["threads"]).map(|threads| threads as u32),
        tps: figure(&value["tps"]),
        queries: figure(qps).or_else(|| figure(&qps["total"])),
        reads: figure(&qps["reads"]),
        writes: figure(&qps["writes"]),
        other: figure(&qps["other"]),
        latencies: figure(&value["latency"])
            .map(|ms| PrintedPercentile { percent: None, ms })
            .into_iter()
            .collect(),
        errors: figure(&value["errors"]),
        reconnects: figure(&value["reconnects"]),
        ..Point::default()
    };
    (point.tps.is_some() || point.queries.is_some()).then_some(point)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn columns_are_found_by_name() {
        let heading = heading("time;threads;errors/s;tps;p99 (ms);lat_95;note").unwrap();
        let (point, _) = heading
            .row("3;8;0,50;1234,25;7,5;4,25;x", 2)
            .unwrap()
            .unwrap();
        assert_eq!((point.at_s, point.threads), (3.0, Some(8)));
        assert_eq!((point.tps, point.errors), (Some(1234.25), Some(0.5)));
        let percents: Vec<_> = point.latencies.iter().map(|l| (l.percent, l.ms)).collect();
        assert_eq!(percents, [(Some(99.0), 7.5), (Some(95.0), 4.25)]);
        assert_eq!(heading.unknown, ["note"]);
        assert!(heading.row("3;8", 2).unwrap().is_err());
        assert!(heading.row("3;8;x;1;1;1;x", 2).unwrap().is_err());
        assert_eq!(heading.row("SQL statistics:", 2), None);
        assert_eq!(super::heading("a,b,c"), None);
        assert_eq!(percent("p999"), Some(99.9));
        assert_eq!(column("max"), Column::Unknown);
    }

    #[test]
    fn absolute_times() {
        let heading = heading("timestamp,tps").unwrap();
        let (point, absolute) = heading.row("2026-11-21 13:07:48,5", 2).unwrap().unwrap();
        assert_eq!((point.at_s, absolute), (1_795_266_468.0, true));
    }

    #[test]
    fn columns_may_name_their_unit() {
        let heading = heading("time_ms,tps,p95_us,p99 (µs),lat (s),p50 (ms)").unwrap();
        let row = heading.row("1500,8,2500,7500,0.25,1.5", 2);
        let (point, _) = row.unwrap().unwrap();
        assert_eq!((point.at_s, point.tps), (1.5, Some(8.0)));
        let ms: Vec<f64> = point.latencies.iter().map(|own| own.ms).collect();
        assert_eq!(ms, [2.5, 7.5, 250.0, 1.5]);
        let heading = super::heading("timestamp,tps").unwrap();
        let (point, _) = heading.row("1795266468500,5", 2).unwrap().unwrap();
        assert_eq!(point.at_s, 1_795_266_468.5);
    }

    #[test]
    fn sysbenchs_own_csv() {
        let line = "3,1,78111.42,78111.42,78111.42,0.00,0.00,0.03,0.00,0.25";
        let point = bare_row(line, 7).unwrap();
        assert_eq!((point.line, point.at_s), (7, 3.0));
        assert_eq!((point.tps, point.reconnects), (Some(78_111.42), Some(0.25)));
        let german = bare_row(&line.replace('.', ","), 7).unwrap();
        assert_eq!(german, point);
        assert_eq!(bare_row("3,1,78111.42", 7), None);
        assert_eq!(bare_row("a,b,c,d,e,f,g,h,i,j", 7), None);
    }

    #[test]
    fn json_whole_and_cut_off() {
        let text = "[\n  {\n    \"time\":    1,\n    \"threads\": 2,\n    \"tps\": 7.25,\n    \
            \"qps\": {\n      \"total\": 14.50,\n      \"reads\": 14.50,\n      \"writes\": 0.00,\
            \n      \"other\": 0.00\n    },\n    \"latency\": 0.03,\n    \"errors\": 0.00,\n    \
            \"reconnects\": 0.00\n  },\n  {\n    \"time\":    2,\n    \"tps\": 8.2";
        let (points, bad) = objects(text, 10);
        assert_eq!(points.len(), 1);
        assert_eq!((points[0].line, points[0].tps), (11, Some(7.25)));
        assert_eq!(
            (points[0].queries, points[0].threads),
            (Some(14.5), Some(2))
        );
        assert_eq!(bad, [25]);
    }

    #[test]
    fn many_objects_take_time_in_proportion_to_their_number() {
        const OBJECTS: usize = 100_000;
        let whole = "{\n  \"time\": 1, \"tps\": 7.25\n}\n".repeat(OBJECTS);
        let (points, bad) = objects(&whole, 5);
        assert_eq!((points.len(), bad.len()), (OBJECTS, 0));
        assert_eq!(points[OBJECTS - 1].line, 5 + 3 * (OBJECTS - 1));
        let (points, bad) = objects(&"{\n".repeat(10 * OBJECTS), 1);
        assert_eq!((points.len(), bad.len()), (0, 10 * OBJECTS));
        assert_eq!(bad.last(), Some(&(10 * OBJECTS)));
    }

    proptest! {
        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*", tail in "[\\[\\]{}\",:0-9a-z\n ]*") {
            let _ = bare_row(&text, 1);
            let _ = objects(&text, 1);
            let _ = objects(&tail, 1);
            let heading = heading("time,tps,p95").unwrap();
            let _ = heading.row(&text, 1);
            let _ = super::heading(&text);
        }
    }
}
