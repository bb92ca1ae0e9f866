//! sysbench's latency histogram: the table of `--histogram`, and the same as a CSV file.
//!
//! It has 1024 values from 0.001 to 100,000 ms, evenly spaced by their logarithm, each 1.8 % above
//! the previous one. They are printed with three decimals, so several of the smallest look alike;
//! if all of those are present, they can be distinguished by their order.

use super::model::Draft;
use super::report;
use crate::text::{self, Line};
use crate::{Log, civil, number};

/// Number of values.
const VALUES: usize = 1024;
/// The first and the last of them, in milliseconds.
const FIRST_MS: f64 = 1e-3;
const LAST_MS: f64 = 1e5;
/// How far apart two of them are, relatively.
const WIDTH: f64 = 0.02;

/// Why a histogram may lack latencies.
const OPEN: &str = "the log ends within the histogram of latencies";
const DAMAGED: &str = "a line of the histogram of latencies is damaged";
/// sysbench clears its histogram at each checkpoint.
const SINCE_CHECKPOINT: &str =
    "the histogram of latencies covers only the time since the last checkpoint";
/// Why it is left out.
pub(crate) const UNTRUE: &str = "the log's histogram of latencies cannot be true";

pub(crate) fn is_title(line: &str) -> bool {
    line.trim_start()
        .starts_with("Latency histogram (values are in")
}

pub(crate) fn is_heading(line: &str) -> bool {
    line.contains("distribution") && line.contains("count") && line.contains("----")
}

/// `       6.318 |*****                                    8`
pub(crate) fn row(line: &str) -> Option<(f64, u64)> {
    let (value, rest) = line.split_once('|')?;
    let count = rest.trim_start_matches([' ', '*']);
    entry(value, count)
}

/// Begins a table.
pub(crate) fn begin(draft: &mut Draft) {
    draft.histogram.clear();
    draft.histogram_lacks = Some(OPEN);
}

/// Takes a line of the table; returns `false` if it is not part of it. An empty line or the
/// statistics end the table. Other programs may also print empty lines.
pub(crate) fn take(draft: &mut Draft, line: &Line) -> bool {
    let (_, text) = line.unstamped();
    if let Some(row) = row(text).filter(|_| !line.cut) {
        draft.histogram.push(row);
        draft.histogram_lacks = draft.histogram_lacks.or(Some(OPEN));
        draft.digest.update(text.as_bytes());
        draft.digest.may_end();
        return true;
    }
    // A line may be empty apart from its time.
    let is_empty = text.trim().is_empty() || civil::moment(text).is_some();
    if is_empty || report::opens(text) {
        draft.histogram_lacks = draft.histogram_lacks.filter(|why| *why != OPEN);
        return is_empty;
    }
    let is_damaged = text.contains('|') && draft.histogram_lacks.is_some();
    if is_damaged {
        draft.histogram_lacks = Some(DAMAGED);
        let text = "a damaged line of the histogram is skipped".to_owned();
        draft.warnings.push((Some(line.number), text));
    }
    is_damaged || is_heading(text)
}

/// A log that consists only of a latency histogram as CSV.
pub(crate) fn file(log: &Log<'_>) -> Option<Draft> {
    let lines = text::lines(log.text);
    let texts: Vec<&str> = lines.iter().map(|line| line.text.as_str()).collect();
    let (rows, bad) = csv(&texts)?;
    let is_cut = lines.last().is_some_and(|line| line.cut);
    let mut draft = Draft {
        file: log.name.to_owned(),
        line: 1,
        histogram: resolve(rows),
        histogram_lacks: match bad.is_empty() {
            false => Some(DAMAGED),
            true => is_cut.then_some(OPEN),
        },
        ..Draft::default()
    };
    for text in texts {
        draft.digest.update(text.as_bytes());
        draft.digest.update(b"\n");
    }
    for number in bad {
        let text = "not a latency and a count; the line is skipped".to_owned();
        draft.warnings.push((Some(number), text));
    }
    Some(draft)
}

/// Latencies in milliseconds with their counts.
type Rows = Vec<(f64, u64)>;

/// `value_ms,count` and rows of two numbers; and the other lines, from 1. No CSV reader fits:
/// lines may differ in their separators, and numbers may contain commas.
fn csv(lines: &[&str]) -> Option<(Rows, Vec<usize>)> {
    let mut rows = Vec::new();
    let mut bad = Vec::new();
    let mut heading = None;
    for (index, line) in lines.iter().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let separator = [';', '\t', ','].into_iter().find(|c| line.contains(*c));
        let fields = separator.and_then(|separator| line.split_once(separator));
        match fields {
            Some((a, b)) if heading.is_none() => {
                let name = a.trim().to_ascii_lowercase();
                let known = matches!(name.as_str(), "value_ms" | "latency_ms" | "ms");
                if !known || !b.trim().eq_ignore_ascii_case("count") {
                    return None;
                }
                heading = Some(());
            }
            Some((value, count)) => match entry(value, count) {
                Some(row) => rows.push(row),
                None => bad.push(index + 1),
            },
            None if heading.is_none() => return None,
            None => bad.push(index + 1),
        }
    }
    heading.map(|()| (rows, bad))
}

fn entry(value: &str, count: &str) -> Option<(f64, u64)> {
    let value = number::decimal(value)?;
    let count = number::count(count)?;
    (0.0..=1e9).contains(&value).then_some((value, count))
}

/// Rows with sysbench's exact values, lowest first.
pub(crate) fn resolve(mut rows: Rows) -> Rows {
    // The sort is stable: rows that look alike keep their order, which is that of the values.
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut out = Vec::with_capacity(rows.len());
    for group in rows.chunk_by(|a, b| a.0 == b.0) {
        let meant = printed_as(group[0].0);
        if meant.len() == group.len() {
            out.extend(meant.into_iter().zip(group.iter().map(|row| row.1)));
        } else {
            out.extend_from_slice(group);
        }
    }
    out
}

/// The run with its exact values. Rows in another order than sysbench prints them are kept for the
/// laws of the report.
pub(crate) fn in_order(mut draft: Draft) -> Draft {
    let rows = std::mem::take(&mut draft.histogram);
    match disorder(&rows) {
        None => draft.histogram = resolve(rows),
        Some(_) if draft.report.is_some() => draft.histogram = rows,
        Some(text) => {
            draft.histogram_left_out = Some(UNTRUE);
            let text = format!("{text}; it is left out");
            draft.warnings.push((Some(draft.line), text));
        }
    }
    draft
}

/// Leaves out a histogram that may have only a part of the run's latencies, with a warning. If the
/// report has the number of events, the laws compare it.
pub(crate) fn leave_out_part(draft: &mut Draft) {
    let events = draft.events();
    let since_checkpoint = !draft.checkpoints.is_empty() && events != Some(count(&draft.histogram));
    let why = match since_checkpoint {
        true => Some(SINCE_CHECKPOINT),
        false => draft.histogram_lacks.filter(|_| events.is_none()),
    };
    let Some(why) = why.filter(|_| !draft.histogram.is_empty()) else {
        return;
    };
    draft.histogram.clear();
    draft.histogram_left_out = Some(why);
    let text = format!("{why}; it is left out");
    draft.warnings.push((Some(draft.line), text));
}

/// What is wrong with rows that do not ascend.
pub(crate) fn disorder(rows: &[(f64, u64)]) -> Option<String> {
    let mut pairs = rows.iter().zip(rows.iter().skip(1));
    let (high, low) = pairs.find(|(first, second)| second.0 < first.0)?;
    Some(format!(
        "the values of the histogram ascend, but {:.3} ms follows {:.3} ms",
        low.0, high.0
    ))
}

pub(crate) fn count(rows: &[(f64, u64)]) -> u64 {
    let counts = rows.iter().map(|row| row.1);
    counts.fold(0, u64::saturating_add)
}

/// The percentile of a histogram of `count` events with ascending rows, by sysbench's rank
/// (`sb_histogram.c`): it rounds half up, so a rank may be below `percent`.
pub(crate) fn percentile(rows: &[(f64, u64)], count: u64, percent: f64) -> Option<f64> {
    let rank = (count as f64 * percent / 100.0 + 0.5).floor();
    if rank < 1.0 {
        return None;
    }
    let mut sum = 0_u64;
    let found = rows.iter().find(|(_, count)| {
        sum = sum.saturating_add(*count);
        sum as f64 >= rank
    });
    found.map(|(ms, _)| *ms)
}

/// What is wrong with rows that do not have this mean.
pub(crate) fn other_mean(rows: &[(f64, u64)], avg_ms: f64, rounding_ms: f64) -> Option<String> {
    let sum: f64 = rows.iter().map(|row| row.0 * row.1 as f64).sum();
    let mean = sum / count(rows) as f64;
    // Shorter latencies count as the first value.
    let room = WIDTH * mean.max(avg_ms) + rounding_ms + FIRST_MS;
    ((mean - avg_ms).abs() > room).then(|| {
        format!(
            "the values of the histogram have a mean of {mean:.2} ms, but the report says \
             {avg_ms:.2} ms"
        )
    })
}

/// Whether an extreme of `ms` may be in the row of `row_ms` or one next to it. The first row has
/// all shorter latencies, also those that overflowed, and the last one all longer ones.
pub(crate) fn may_hold(row_ms: f64, ms: f64, rounding_ms: f64) -> bool {
    // A row reaches half its width to either side of its value.
    let room = 1.5 * WIDTH * row_ms.max(ms) + rounding_ms + FIRST_MS;
    let is_end = row_ms <= FIRST_MS * (1.0 + WIDTH) || row_ms >= LAST_MS * (1.0 - WIDTH);
    is_end || (row_ms - ms).abs() <= room
}

/// The histogram's values that are printed like this.
fn printed_as(printed: f64) -> Vec<f64> {
    // From half a step of the last decimal below to half a step above, plus a little for rounding.
    let index = |ms: f64| position(ms.max(FIRST_MS)).clamp(0.0, (VALUES - 1) as f64);
    let from = index(printed - 0.000_6).floor() as usize;
    let to = index(printed + 0.000_6).ceil() as usize;
    let same = |ms: &f64| format!("{ms:.3}") == format!("{printed:.3}");
    (from..=to).map(value).filter(same).collect()
}

fn value(index: usize) -> f64 {
    FIRST_MS * (LAST_MS / FIRST_MS).powf(index as f64 / (VALUES - 1) as f64)
}

fn position(ms: f64) -> f64 {
    (ms / FIRST_MS).ln() / (LAST_MS / FIRST_MS).ln() * (VALUES - 1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rows_of_the_table() {
        let line = "       6.318 |*****                                    8";
        assert_eq!(row(line), Some((6.318, 8)));
        assert_eq!(row("       6,318 |* 12"), Some((6.318, 12)));
        let full = format!("   0.069 |{} 36422", "*".repeat(40));
        assert_eq!(row(&full), Some((0.069, 36_422)));
        assert_eq!(row("  0.069 |****"), None);
        assert_eq!(row("a | b"), None);
    }

    #[test]
    fn csv_needs_its_heading() {
        let (rows, bad) = csv(&["value_ms,count", "0.053,54", "0.053,79", "x", ""]).unwrap();
        assert_eq!((rows.len(), bad), (2, vec![4]));
        assert_eq!(csv(&["0.053,54"]), None);
        assert_eq!(csv(&["time,tps", "1,2"]), None);
        let (german, _) = csv(&["value_ms;count", "0,053;54"]).unwrap();
        assert_eq!(german, [(0.053, 54)]);
    }

    #[test]
    fn distinguishes_values_printed_alike_in_a_full_histogram() {
        let twins = printed_as(0.053);
        assert_eq!(twins.len(), 2, "{twins:?}");
        let rows = resolve(vec![(0.053, 54), (0.053, 79), (6.318, 8)]);
        assert_eq!(rows[0], (twins[0], 54));
        assert_eq!(rows[1], (twins[1], 79));
        assert!((rows[2].0 - 6.318).abs() < 0.0005 && rows[2].0 != 6.318);
        assert_eq!(resolve(vec![(0.053, 54)]), [(0.053, 54)]);
        assert_eq!(resolve(vec![(0.0, 1)])[0].1, 1);
    }

    #[test]
    fn rows_that_do_not_ascend_are_left_out() {
        let of = |rows: &[(f64, u64)]| {
            in_order(Draft {
                histogram: rows.to_vec(),
                ..Draft::default()
            })
        };
        let draft = of(&[(2.0, 1), (1.5, 1)]);
        assert!(draft.histogram.is_empty());
        assert_eq!(draft.histogram_left_out, Some(UNTRUE));
        let (_, warning) = &draft.warnings[0];
        assert!(warning.contains("1.500 ms follows 2.000 ms"), "{warning}");
        let draft = of(&[(1.5, 1), (1.5, 1), (2.0, 1)]);
        assert_eq!((draft.histogram.len(), draft.warnings.len()), (3, 0));
    }

    #[test]
    fn a_percentile_has_the_rank_that_sysbench_takes() {
        // 99 % of 1,040 events are 1,029.6, rounded 1,030; of 1,030, 1,019.7 and 1,020; of 1,020,
        // 1,009.8 and 1,010; of 1,025, 1,014.75 and 1,015.
        let rows = [(1.0, 1014), (50.0, 11)];
        assert_eq!(percentile(&rows, 1025, 99.0), Some(50.0));
        // 1,014.3 rounds to 1,014, and the next event is far away.
        let rows = [(1.0, 1013), (50.0, 10)];
        assert_eq!(percentile(&rows, 1023, 99.0), Some(1.0));
        assert_eq!(percentile(&[(1.0, 1)], 1, 10.0), None);
    }

    proptest! {
        #[test]
        fn every_printed_value_is_found(index in 0..VALUES) {
            let meant = value(index);
            let printed: f64 = format!("{meant:.3}").parse().unwrap();
            let found = printed_as(printed);
            prop_assert!(found.contains(&meant), "{meant} not in {found:?}");
        }

        #[test]
        fn counts_are_kept(rows in prop::collection::vec((0.0..200_000.0f64, 0..1000u64), 0..50)) {
            let sum: u64 = rows.iter().map(|row| row.1).sum();
            let resolved = resolve(rows);
            prop_assert!(resolved.is_sorted_by(|a, b| a.0 <= b.0));
            prop_assert_eq!(resolved.iter().map(|row| row.1).sum::<u64>(), sum);
        }

        #[test]
        fn arbitrary_text_never_panics(text in "\\PC*") {
            let _ = row(&text);
            let _ = csv(&["value_ms,count", &text]);
        }
    }
}
