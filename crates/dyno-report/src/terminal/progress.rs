//! The progress line of loading tables.

use super::live::{Part, clock, join};
use super::look::{Ink, Look, cut};
use crate::number::{percent, rate, thousands};

/// The progress of a load.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Progress<'a> {
    /// The current item, e.g. `sbtest1`.
    pub label: &'a str,
    /// Rows done.
    pub rows_done: u64,
    /// Total rows; 0 if unknown.
    pub rows_total: u64,
    /// The recent rate, in rows per second.
    pub rows_per_s: f64,
    /// Seconds since the start.
    pub elapsed_s: f64,
}

/// One line, without a line end. It includes the remaining time once that can be estimated.
pub fn progress_line(progress: &Progress<'_>, look: &Look) -> String {
    const BAR_WIDTH: u64 = 16;
    let Progress {
        rows_done,
        rows_total,
        rows_per_s,
        ..
    } = *progress;
    let mut parts = vec![Part::spare(1, Ink::Strong, cut(progress.label, 16))];
    if rows_total > 0 {
        let share = (rows_done as f64 / rows_total as f64).min(1.0);
        let filled = (share * BAR_WIDTH as f64) as usize;
        let bar = format!(
            "[{}{}]",
            "=".repeat(filled),
            " ".repeat(BAR_WIDTH as usize - filled)
        );
        parts.push(Part::spare(3, Ink::Good, bar));
        parts.push(Part::needed(Ink::Plain, format!("{:>5}", percent(share))));
        let total = thousands(rows_total);
        let width = total.len();
        let rows = format!("{:>width$}/{total} rows", thousands(rows_done));
        parts.push(Part::spare(2, Ink::Plain, rows));
    } else {
        parts.push(Part::needed(
            Ink::Plain,
            format!("{} rows", thousands(rows_done)),
        ));
    }
    parts.push(Part::spare(
        1,
        Ink::Plain,
        format!("{} rows/s", rate(rows_per_s)),
    ));
    if rows_total > 0 && rows_done >= rows_total {
        let text = format!("done in {}", clock(progress.elapsed_s));
        parts.push(Part::needed(Ink::Faint, text));
    } else if rows_total > 0 && rows_per_s > 0.0 {
        let left_s = (rows_total - rows_done) as f64 / rows_per_s;
        parts.push(Part::needed(
            Ink::Faint,
            format!("{} left", clock(left_s.ceil())),
        ));
    }
    join(parts, look)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(rows_done: u64, rows_total: u64, rows_per_s: f64) -> String {
        let progress = Progress {
            label: "sbtest1",
            rows_done,
            rows_total,
            rows_per_s,
            elapsed_s: 12.34,
        };
        let look = Look {
            columns: 90,
            ..Look::default()
        };
        progress_line(&progress, &look)
    }

    #[test]
    fn lines_are_exact() {
        assert_eq!(
            line(2_500_000, 10_000_000, 123_456.0),
            "sbtest1  [====            ]   25 %   2,500,000/10,000,000 rows  \
             123,456 rows/s  61s left"
        );
        assert_eq!(
            line(1_000, 1_000, 81.0),
            "sbtest1  [================]  100 %  1,000/1,000 rows  81.0 rows/s  done in 12.3s"
        );
        assert_eq!(line(77, 0, 10.0), "sbtest1  77 rows  10.0 rows/s");
    }

    #[test]
    fn does_not_divide_by_zero() {
        assert_eq!(
            line(0, 10, 0.0),
            "sbtest1  [                ]    0 %   0/10 rows  0 rows/s"
        );
        assert!(line(11, 10, f64::NAN).contains("100 %"));
    }
}
