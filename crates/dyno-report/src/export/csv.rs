//! Comma-separated values by RFC 4180: a heading, lines that end in CR LF, quotes where needed.
//! Names end in their units (`_s` seconds, `_ms` milliseconds, `_per_s` per second); counts have
//! none. Missing values are empty fields. A text that a spreadsheet would take for a formula is
//! prefixed with an apostrophe. Control characters other than line ends within quotes are escaped,
//! as `\x1b`.

use std::{io, iter};

use csv::{IntoInnerError, Terminator, WriterBuilder};
use dyno_core::interval::Counters;
use dyno_core::plan::{LoadSchedule, PlacedPart, Scheduled};
use dyno_core::record::{RunRecord, SeriesKind};
use dyno_core::states::SessionState;
use dyno_core::summary::IntervalSummary;
use dyno_core::unknown::{self, Of};
use dyno_core::visible;

/// One line per interval. A percentile's column is named after it, e.g. `p99.9_ms`. Only the
/// heading without intervals.
///
/// # Errors
/// As [`table`].
pub fn intervals(run: &RunRecord) -> io::Result<String> {
    let columns = columns(run);
    let heading: Vec<String> = columns.iter().map(|column| column.name.clone()).collect();
    let rows = run.intervals.iter().map(|interval| {
        let values = columns.iter().map(|column| (column.value)(interval));
        values.collect::<Vec<_>>()
    });
    written(iter::once(heading).chain(rows), Terminator::CRLF)
}

/// All series in long form: one line per value, series after series.
///
/// # Errors
/// As [`table`].
pub fn series(run: &RunRecord) -> io::Result<String> {
    let heading = ["name", "unit", "kind", "source", "at_s", "value"];
    let rows = run.series.iter().flat_map(|series| {
        let kind = match series.kind {
            SeriesKind::Gauge => "gauge",
            SeriesKind::Rate => "rate",
        };
        let key = &series.key;
        let texts = [key.name.as_str(), &key.unit, kind, &key.source].map(str::to_owned);
        let points = series.points.iter();
        points.map(move |&(at_s, value)| {
            let mut row = texts.to_vec();
            row.extend([number(at_s), number(value)]);
            row
        })
    });
    let heading = heading.map(str::to_owned).to_vec();
    written(iter::once(heading).chain(rows), Terminator::CRLF)
}

/// Rows as lines that end in LF.
///
/// # Errors
/// None that are known: the lines are written to memory.
pub fn table(rows: impl IntoIterator<Item = Vec<String>>) -> io::Result<String> {
    written(rows, Terminator::Any(b'\n'))
}

fn written(rows: impl IntoIterator<Item = Vec<String>>, end: Terminator) -> io::Result<String> {
    let mut writer = WriterBuilder::new()
        .terminator(end)
        .flexible(true)
        .from_writer(Vec::new());
    for row in rows {
        writer.write_record(row.iter().map(|field| safe(field)))?;
    }
    let bytes = writer.into_inner().map_err(IntoInnerError::into_error)?;
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// A column of the intervals.
struct Column<'a> {
    name: String,
    /// The counter without which its values are unknown; empty for none.
    counter: &'static str,
    value: Box<dyn Fn(&IntervalSummary) -> String + 'a>,
}

impl<'a> Column<'a> {
    fn new(name: impl Into<String>, value: impl Fn(&IntervalSummary) -> String + 'a) -> Self {
        Self {
            name: name.into(),
            counter: "",
            value: Box::new(value),
        }
    }

    fn counter(counter: &'static str) -> Self {
        let index = Counters::NAMES.iter().position(|name| *name == counter);
        let value = move |of: &IntervalSummary| text(index.map(|at| of.counters.values()[at]));
        Self {
            counter,
            ..Self::new(counter, value)
        }
    }
}

fn columns(run: &RunRecord) -> Vec<Column<'_>> {
    let mut columns = vec![
        Column::new("at_s", |of| number(of.at_s)),
        Column::new("length_s", |of| number(of.length_s)),
        Column::new("sessions", |of| text(of.sessions)),
        Column::counter("events"),
        Column::new("events_per_s", |of| number(of.events_per_s())),
        Column::counter("reads"),
        Column::counter("writes"),
        Column::counter("other"),
        Column {
            // The sum needs all kinds.
            counter: "other",
            ..Column::new("queries_per_s", |of| number(of.queries_per_s()))
        },
        Column {
            name: "errors_ignored".to_owned(),
            ..Column::counter("errors")
        },
        Column {
            counter: "errors_seen",
            ..Column::new("errors_seen", |of| of.errors_seen.to_string())
        },
        Column::counter("reconnects"),
        Column::counter("retries"),
        Column::counter("rows"),
        Column::counter("bytes_in"),
        Column::counter("bytes_out"),
    ];
    // Counters added after the first version come last, in the order in which they were added, so
    // that the position of older columns is stable.
    let later = Counters::NAMES.into_iter();
    let later = later.filter(|name| columns.iter().all(|column| column.counter != *name));
    let later: Vec<_> = later.map(Column::counter).collect();
    columns.extend(percents(run).into_iter().map(|percent| {
        Column::new(format!("p{percent}_ms"), move |of| {
            let found = of.percentiles.iter().find(|one| one.percent == percent);
            maybe(found.and_then(|percentile| percentile.value_ms))
        })
    }));
    columns.extend([
        Column::new("max_ms", |of| maybe(of.max_ms)),
        Column::new("backlog", |of| text(of.backlog)),
        Column::new("concurrency", |of| text(of.concurrency)),
    ]);
    columns.extend(later);
    columns.extend(SessionState::ALL.map(|state| {
        Column::new(state.word(), move |of| {
            text(of.states.map(|states| states.of(state)))
        })
    }));
    let drive = run.head.drive.as_ref();
    if let Some(schedule) = drive.and_then(|drive| drive.schedule.as_ref()) {
        columns.extend(of_schedule(schedule));
    }
    let unknown = unknown::counters(&run.not_observed, Of::Intervals);
    for column in &mut columns {
        if unknown.contains(&column.counter) {
            column.value = Box::new(|_| String::new());
        }
    }
    columns
}

/// The part, from 1, that contains the middle of an interval, and its level there; empty in the
/// warm-up.
fn of_schedule(schedule: &LoadSchedule) -> [Column<'_>; 2] {
    let middle_s = |of: &IntervalSummary| of.at_s - of.length_s / 2.0;
    let part = move |placed: &[PlacedPart], of: &IntervalSummary| {
        let holds = |part: &PlacedPart| (part.from_s..part.to_s).contains(&middle_s(of));
        placed.iter().position(holds)
    };
    let level = move |of: &IntervalSummary| {
        let level = schedule.level(middle_s(of));
        match schedule.of {
            Scheduled::Rate => number(level),
            Scheduled::Sessions => number(level.round()),
        }
    };
    let level_name = match schedule.of {
        Scheduled::Rate => "offered_per_s",
        Scheduled::Sessions => "sessions_asked",
    };
    let (placed, same) = (schedule.placed(), schedule.placed());
    [
        Column::new("part", move |of| {
            text(part(&placed, of).map(|index| index + 1))
        }),
        Column::new(level_name, move |of| {
            text(part(&same, of).map(|_| level(of)))
        }),
    ]
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

fn maybe(value: Option<f64>) -> String {
    value.map_or_else(String::new, number)
}

/// The shortest text that reads back as the number; empty for NaN and infinities.
fn number(value: f64) -> String {
    text(Some(value).filter(|value| value.is_finite()))
}

/// A text in which possible formulas are marked as text, and the characters that CSV cannot
/// contain, or that are invisible, are escaped.
fn safe(field: &str) -> String {
    let mark = if is_formula(field) { "'" } else { "" };
    // A carriage return belongs to a line end, and stays.
    let lines = field.split('\r');
    let lines: Vec<String> = lines
        .map(|line| visible::text(line).replace('\t', "\\x09"))
        .collect();
    format!("{mark}{}", lines.join("\r"))
}

/// Whether a spreadsheet would evaluate it: names from scripts or servers may begin with any
/// character. Numbers are not formulas.
fn is_formula(field: &str) -> bool {
    field.starts_with(['=', '+', '-', '@', '\t', '\r']) && field.parse::<f64>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::record::NotObserved;
    use dyno_samples::small as samples;

    fn rows(text: &str) -> Vec<Vec<&str>> {
        let lines = text.split_terminator("\r\n");
        lines.map(|line| line.split(',').collect()).collect()
    }

    #[test]
    fn a_line_per_interval_with_the_heads_columns() {
        let run = samples::record();
        let text = intervals(&run).unwrap();
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
    fn unobserved_values_are_empty() {
        let mut run = samples::record();
        for what in ["counters.queries", "intervals.errors"] {
            run.not_observed.push(NotObserved {
                what: what.into(),
                why: "x".into(),
            });
        }
        let first = &mut run.intervals[0];
        (first.backlog, first.concurrency, first.sessions) = (None, None, None);
        first.counters.retries = 3;
        let text = intervals(&run).unwrap();
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
        assert_eq!(intervals(&run).unwrap().matches("\r\n").count(), 1);
    }

    #[test]
    fn without_other_statements_their_sum_is_empty() {
        let mut run = samples::record();
        run.not_observed.push(NotObserved {
            what: unknown::OTHER_OF_INTERVALS_UNKNOWN.to_owned(),
            why: "x".into(),
        });
        let text = intervals(&run).unwrap();
        let rows = rows(&text);
        let cell = |name: &str| rows[1][rows[0].iter().position(|one| *one == name).unwrap()];
        assert_eq!((cell("other"), cell("queries_per_s")), ("", ""));
        assert_ne!(cell("reads"), "");
    }

    #[test]
    fn an_interval_without_events_has_no_longest_one() {
        let mut run = samples::record();
        run.intervals[0].counters.events = 0;
        run.intervals[0].max_ms = None;
        let text = intervals(&run).unwrap();
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
        let text = intervals(&run).unwrap();
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
        let fields = ["a\tb", "c\x1b[31m", "d\re", "\tf", "\u{202e}g"];
        let expected = "a\\x09b,c\\x1b[31m,\"d\re\",'\\x09f,\\u{202e}g\n";
        assert_eq!(
            table([fields.map(str::to_owned).to_vec()]).unwrap(),
            expected
        );
        let formulas = ["=1+1", "@x", "-1.5", "+1", "-a"].map(str::to_owned);
        assert_eq!(
            table([formulas.to_vec()]).unwrap(),
            "'=1+1,'@x,-1.5,+1,'-a\n"
        );
    }

    #[test]
    fn series_in_long_form_are_quoted() {
        let run = samples::record();
        let text = series(&run).unwrap();
        let values: usize = run.series.iter().map(|series| series.points.len()).sum();
        assert_eq!(text.matches("\r\n").count(), values + 1);
        assert!(text.contains("host.cpu.user,percent,rate,\"vmstat, column us\",1,83\r\n"));
    }
}
