//! Comma-separated values by RFC 4180: a heading, lines that end in CR LF, quotes where needed.
//! Names end in their units (`_s` seconds, `_ms` milliseconds, `_per_s` per second); counts have
//! none. Missing values are empty fields. A text that a spreadsheet would take for a formula is
//! prefixed with an apostrophe. Control characters other than line ends within quotes are escaped,
//! as `\x1b`.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::rc::Rc;

use dyno_core::interval::Counters;
use dyno_core::plan::{LoadSchedule, PlacedPart, Scheduled};
use dyno_core::record::{RunRecord, SeriesKind};
use dyno_core::states::SessionState;
use dyno_core::summary::{IntervalSummary, Percentile};
use dyno_core::unknown::{self, Of};
use dyno_core::visible;

/// One line per interval. A percentile's column is named after it, e.g. `p99.9_ms`. Only the
/// heading without intervals.
pub fn intervals(run: &RunRecord) -> String {
    let columns = columns(run);
    let unknown = unknown::counters(&run.not_observed, Of::Intervals);
    let names: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let mut out = String::new();
    line(&mut out, &names);
    for interval in &run.intervals {
        let field = |column: &Column<'_>| match unknown.contains(&column.counter) {
            true => String::new(),
            false => (column.field)(interval),
        };
        let fields: Vec<String> = columns.iter().map(field).collect();
        line(&mut out, &fields);
    }
    out
}

/// A column of the intervals.
struct Column<'a> {
    name: String,
    /// The counter without which its fields are empty; empty if there is none.
    counter: &'static str,
    field: Box<dyn Fn(&IntervalSummary) -> String + 'a>,
}

/// A column's name, counter and field.
type Fixed = (&'static str, &'static str, fn(&IntervalSummary) -> String);

const FIRST: [Fixed; 16] = [
    ("at_s", "", |of| number(of.at_s)),
    ("length_s", "", |of| number(of.length_s)),
    ("sessions", "", |of| text(of.sessions)),
    ("events", "events", |of| of.counters.events.to_string()),
    ("events_per_s", "", |of| number(of.events_per_s())),
    ("reads", "reads", |of| of.counters.reads.to_string()),
    ("writes", "writes", |of| of.counters.writes.to_string()),
    ("other", "other", |of| of.counters.other.to_string()),
    ("queries_per_s", "reads", |of| number(of.queries_per_s())),
    ("errors_ignored", "errors", |of| {
        of.counters.errors.to_string()
    }),
    ("errors_seen", "errors_seen", |of| {
        of.errors_seen.to_string()
    }),
    ("reconnects", "reconnects", |of| {
        of.counters.reconnects.to_string()
    }),
    ("retries", "retries", |of| of.counters.retries.to_string()),
    ("rows", "rows", |of| of.counters.rows.to_string()),
    ("bytes_in", "bytes_in", |of| of.counters.bytes_in.to_string()),
    ("bytes_out", "bytes_out", |of| {
        of.counters.bytes_out.to_string()
    }),
];

/// After the percentiles.
const NEXT: [Fixed; 3] = [
    ("max_ms", "", |of| of.max_ms.map_or_else(String::new, number)),
    ("backlog", "", |of| text(of.backlog)),
    ("concurrency", "", |of| text(of.concurrency)),
];

fn columns(run: &RunRecord) -> Vec<Column<'_>> {
    let fixed = |&(name, counter, field): &Fixed| Column {
        name: name.to_owned(),
        counter,
        field: Box::new(field),
    };
    let percentile = |percent: f64| Column {
        name: format!("p{percent}_ms"),
        counter: "",
        field: Box::new(move |of: &IntervalSummary| {
            Percentile::of(&of.percentiles, percent).map_or_else(String::new, number)
        }),
    };
    // Counters added after the first version come last, in the order in which they were added, so
    // that the position of older columns is stable.
    let later = |(index, &counter): (usize, &&'static str)| {
        let is_later = !FIRST.iter().any(|(_, first, _)| *first == counter);
        is_later.then(|| Column {
            name: counter.to_owned(),
            counter,
            field: Box::new(move |of: &IntervalSummary| of.counters.values()[index].to_string()),
        })
    };
    let state = |state: SessionState| Column {
        name: state.word().to_owned(),
        counter: "",
        field: Box::new(move |of: &IntervalSummary| text(of.states.map(|all| all.of(state)))),
    };
    let mut columns: Vec<Column<'_>> = FIRST.iter().map(fixed).collect();
    columns.extend(percents(run).into_iter().map(percentile));
    columns.extend(NEXT.iter().map(fixed));
    columns.extend(Counters::NAMES.iter().enumerate().filter_map(later));
    columns.extend(SessionState::ALL.map(state));
    let drive = run.head.drive.as_ref();
    if let Some(schedule) = drive.and_then(|drive| drive.schedule.as_ref()) {
        let parts = Rc::new(Parts::of(schedule));
        for (index, name) in ["part", parts.level_name()].into_iter().enumerate() {
            let parts = Rc::clone(&parts);
            columns.push(Column {
                name: name.to_owned(),
                counter: "",
                field: Box::new(move |of: &IntervalSummary| parts.fields(of)[index].clone()),
            });
        }
    }
    columns
}

/// The parts of a load that changed over time.
struct Parts<'a> {
    schedule: &'a LoadSchedule,
    placed: Vec<PlacedPart>,
}

impl<'a> Parts<'a> {
    fn of(schedule: &'a LoadSchedule) -> Self {
        Self {
            schedule,
            placed: schedule.placed(),
        }
    }

    fn level_name(&self) -> &'static str {
        match self.schedule.of {
            Scheduled::Rate => "offered_per_s",
            Scheduled::Sessions => "sessions_asked",
        }
    }

    /// The part, from 1, that contains the middle of an interval, and its level there; empty in the
    /// warm-up.
    fn fields(&self, interval: &IntervalSummary) -> [String; 2] {
        let middle_s = interval.at_s - interval.length_s / 2.0;
        let holds = |part: &PlacedPart| middle_s >= part.from_s && middle_s < part.to_s;
        match self.placed.iter().position(holds) {
            Some(index) => {
                let level = self.schedule.level(middle_s);
                let level = match self.schedule.of {
                    Scheduled::Rate => level,
                    Scheduled::Sessions => level.round(),
                };
                [(index + 1).to_string(), number(level)]
            }
            None => [String::new(), String::new()],
        }
    }
}

/// All series in long form: one line per value, series after series.
pub fn series(run: &RunRecord) -> String {
    let mut out = String::new();
    let heading = ["name", "unit", "kind", "source", "at_s", "value"];
    line(&mut out, &heading.map(str::to_owned));
    for series in &run.series {
        let kind = match series.kind {
            SeriesKind::Gauge => "gauge",
            SeriesKind::Rate => "rate",
        };
        for &(at_s, value) in &series.points {
            let fields = [
                series.key.name.clone(),
                series.key.unit.clone(),
                kind.to_owned(),
                series.key.source.clone(),
                number(at_s),
                number(value),
            ];
            line(&mut out, &fields);
        }
    }
    out
}

/// The percentiles of all intervals, lowest first.
fn percents(run: &RunRecord) -> Vec<f64> {
    let all = run
        .intervals
        .iter()
        .flat_map(|interval| &interval.percentiles);
    let mut percents: Vec<f64> = all.map(|percentile| percentile.percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    percents
}

fn text(value: Option<impl ToString>) -> String {
    value.map_or_else(String::new, |value| value.to_string())
}

/// The shortest text that reads back as the number; empty for NaN and infinities.
fn number(value: f64) -> String {
    if value.is_finite() {
        value.to_string()
    } else {
        String::new()
    }
}

fn line(out: &mut String, fields: &[String]) {
    out.push_str(&row(fields));
    out.push_str("\r\n");
}

/// Fields as a row, quoted where needed, without a line end. Possible formulas are marked as text.
pub fn row(fields: &[String]) -> String {
    let mut out = String::new();
    for (index, field) in fields.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        let mark = if is_formula(field) { "'" } else { "" };
        let field = written_out(field);
        if !mark.is_empty() || field.contains([',', '"', '\r', '\n']) {
            let _ = write!(out, "\"{mark}{}\"", field.replace('"', "\"\""));
        } else {
            out.push_str(&field);
        }
    }
    out
}

/// A text with the characters that CSV cannot contain, or that are invisible, escaped.
fn written_out(field: &str) -> Cow<'_, str> {
    if !field.contains(['\t', '\r']) {
        return visible::text(field);
    }
    // A carriage return belongs to a line end, and stays.
    let lines = field.split('\r').map(|line| visible::text(line));
    let lines: Vec<String> = lines.map(|line| line.replace('\t', "\\x09")).collect();
    Cow::Owned(lines.join("\r"))
}

/// Whether a spreadsheet would evaluate it: names from scripts or servers may begin with any
/// character. Numbers are not formulas.
fn is_formula(field: &str) -> bool {
    field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::{small as samples, values};

    fn rows(text: &str) -> Vec<Vec<&str>> {
        let lines = text.split_terminator("\r\n");
        lines.map(|line| line.split(',').collect()).collect()
    }

    #[test]
    fn a_line_per_interval_with_the_heads_columns() {
        let run = samples::record();
        let text = intervals(&run);
        let rows = rows(&text);
        assert_eq!(rows.len(), run.intervals.len() + 1);
        assert!(rows.iter().all(|row| row.len() == rows[0].len()));
        let column = |name: &str| rows[0].iter().position(|n| *n == name).unwrap();
        let first = &run.intervals[0];
        assert_eq!(rows[1][column("events")], first.counters.events.to_string());
        let p99: f64 = rows[1][column("p99_ms")].parse().unwrap();
        assert_eq!(Some(p99), first.percentiles[2].value_ms);
        let rate: f64 = rows[1][column("queries_per_s")].parse().unwrap();
        assert_eq!(rate, first.counters.queries() as f64 / first.length_s);
        assert!(rows[0].contains(&"p99.9_ms"));
    }

    #[test]
    fn what_was_not_observed_is_empty() {
        let mut run = samples::record();
        for what in ["counters.queries", "intervals.errors"] {
            run.not_observed.push(values::gap(what, "x"));
        }
        let first = &mut run.intervals[0];
        (first.backlog, first.concurrency, first.sessions) = (None, None, None);
        first.counters.retries = 3;
        let text = intervals(&run);
        let rows = rows(&text);
        let cell = |name: &str| rows[1][rows[0].iter().position(|one| *one == name).unwrap()];
        let unknown = [
            "sessions",
            "reads",
            "reads_empty",
            "queries_per_s",
            "errors_seen",
        ];
        for name in unknown.into_iter().chain(["backlog", "concurrency"]) {
            assert_eq!(cell(name), "", "{name}");
        }
        assert_eq!((cell("retries"), cell("not_done")), ("3", "0"));
        run.intervals.clear();
        assert_eq!(intervals(&run).matches("\r\n").count(), 1);
    }

    #[test]
    fn an_interval_without_events_has_no_longest_one() {
        let mut run = samples::record();
        run.intervals[0].counters.events = 0;
        run.intervals[0].max_ms = None;
        let text = intervals(&run);
        let rows = rows(&text);
        let max = rows[0].iter().position(|name| *name == "max_ms").unwrap();
        assert_eq!(rows[1][max], "");
        assert_ne!(rows[2][max], "");
    }

    #[test]
    fn intervals_of_a_load_that_changed_know_their_part_and_its_level() {
        use dyno_core::plan::{LoadSchedule, Scheduled};
        let mut run = samples::record();
        let text = "100/s for 2s, 100/s..500/s over 8s";
        let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
        run.head.drive.as_mut().unwrap().schedule = Some(schedule);
        let text = intervals(&run);
        let rows = rows(&text);
        let last = |row: &[&str]| row[row.len() - 2..].join(" ");
        assert_eq!(last(&rows[0]), "part offered_per_s");
        let found: Vec<(f64, String)> = run
            .intervals
            .iter()
            .zip(&rows[1..])
            .map(|(interval, row)| (interval.at_s, last(row)))
            .collect();
        let at = |at_s: f64| &found.iter().find(|one| one.0 == at_s).unwrap().1;
        assert_eq!((at(1.0).as_str(), at(2.0).as_str()), ("1 100", "1 100"));
        assert_eq!((at(3.0).as_str(), at(10.0).as_str()), ("2 125", "2 475"));
    }

    #[test]
    fn characters_that_csv_cannot_hold_are_written_out() {
        let mut out = String::new();
        let fields = ["a\tb", "c\x1b[31m", "d\re", "\tf", "\u{202e}g"];
        line(&mut out, &fields.map(str::to_owned));
        let expected = "a\\x09b,c\\x1b[31m,\"d\re\",\"'\\x09f\",\\u{202e}g\r\n";
        assert_eq!(out, expected);
    }

    #[test]
    fn series_in_long_form_are_quoted() {
        let run = samples::record();
        let text = series(&run);
        let values: usize = run.series.iter().map(|series| series.points.len()).sum();
        assert_eq!(text.matches("\r\n").count(), values + 1);
        assert!(text.contains("host.cpu.user,percent,rate,\"vmstat, column us\",1,83\r\n"));
        let mut out = String::new();
        line(
            &mut out,
            &["a\"b".to_owned(), "c\nd".to_owned(), String::new()],
        );
        assert_eq!(out, "\"a\"\"b\",\"c\nd\",\r\n");
        out.clear();
        line(
            &mut out,
            &["=1+1", "@x", "-1.5", "+1", "-a"].map(str::to_owned),
        );
        assert_eq!(out, "\"'=1+1\",\"'@x\",-1.5,+1,\"'-a\"\r\n");
    }
}
