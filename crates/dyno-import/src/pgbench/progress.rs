//! Parses progress lines (`--progress`).

use crate::{number, text};

/// One progress line. Rates are per second, times milliseconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Point {
    pub(super) line: usize,
    /// Whether it contradicts the report.
    pub(super) left_out: bool,
    /// Seconds from the start of the run, or since the Unix epoch (`--progress-timestamp`).
    pub(super) at_s: f64,
    /// Its length in seconds, if lines before it are missing.
    pub(super) length_s: Option<f64>,
    pub(super) tps: f64,
    pub(super) latency_ms: Option<f64>,
    pub(super) stddev_ms: Option<f64>,
    pub(super) lag_ms: Option<f64>,
    pub(super) failed: Option<u64>,
    pub(super) skipped: Option<u64>,
    pub(super) retried: Option<u64>,
    pub(super) retries: Option<u64>,
    /// The number of its parts, which is the same in all lines of a run.
    pub(super) parts: usize,
}

/// The parts of a line after its rate.
const PARTS: [&str; 6] = [
    "lat # ms stddev #",
    "# failed",
    "lag # ms",
    "# skipped",
    "# retried",
    LAST,
];
/// The last part of the longest lines.
const LAST: &str = "# retries";

/// `1.0 s, 205.0 tps, lat 0.867 ms stddev 0.252, 0 failed, lag 0.102 ms, 0 skipped, 3 retried, 4
/// retries`
pub(super) fn point(rest: &str) -> Option<Point> {
    // Another line follows the beginning of this one.
    if rest.contains("progress: ") {
        return None;
    }
    let mut point = Point {
        parts: rest.split(", ").count(),
        ..Point::default()
    };
    let mut parts = rest.split(", ");
    let (at_s, unit) = number::leading(parts.next()?)?;
    let (tps, of) = number::leading(parts.next()?)?;
    let sane = at_s >= 0.0 && (0.0..=number::RATE_MAX).contains(&tps);
    if unit.trim() != "s" || of.trim() != "tps" || !sane {
        return None;
    }
    (point.at_s, point.tps) = (at_s, tps);
    for part in parts {
        let words: Vec<&str> = part.split_whitespace().collect();
        let count = words.first().and_then(|word| number::count(word));
        // `lat NaN ms` if no transaction ended.
        match words.as_slice() {
            ["lat", ms, "ms", rest @ ..] => {
                point.latency_ms = time(ms);
                point.stddev_ms = match rest {
                    ["stddev", ms] => time(ms),
                    _ => None,
                };
            }
            ["lag", ms, "ms"] => point.lag_ms = time(ms),
            [_, "failed"] => point.failed = count,
            [_, "skipped"] => point.skipped = count,
            [_, "retried"] => point.retried = count,
            [_, "retries"] => point.retries = count,
            _ => {}
        }
    }
    Some(point)
}

/// Whether a line that is not read begins like one.
pub(super) fn begins(rest: &str) -> bool {
    let is_time = |unit: &str| unit.is_empty() || unit.starts_with(" s");
    number::leading(rest).is_some_and(|(_, unit)| is_time(unit))
}

/// Whether a line is the end of a progress line without its beginning.
pub(super) fn is_end(bare: &str) -> bool {
    const HEAD: [&str; 2] = ["progress: # s", "# tps"];
    let parts: Vec<String> = bare.split(", ").map(text::shape).collect();
    let Some((first, others)) = parts.split_first() else {
        return false;
    };
    let first = first.trim_start_matches('.');
    let is_part = |part: &String| HEAD.iter().chain(&PARTS).any(|whole| whole == part);
    let ends_part = HEAD
        .iter()
        .chain(&PARTS)
        .any(|whole| whole.ends_with(first));
    let is_last = others.is_empty() && first.ends_with("stddev #");
    let is_whole = bare.starts_with("progress: ");
    !is_whole && ends_part && (is_last || !others.is_empty() && others.iter().all(is_part))
}

fn time(word: &str) -> Option<f64> {
    number::decimal(word).filter(|ms| *ms >= 0.0)
}

impl Point {
    /// Whether one of these lines, whose times ascend, is the same.
    pub(super) fn is_among(&self, points: &[Self]) -> bool {
        let at = points.binary_search_by(|own| own.at_s.total_cmp(&self.at_s));
        let same = at.ok().and_then(|at| points.get(at));
        same.is_some_and(|same| {
            let line = self.line;
            *self
                == Self {
                    line,
                    ..same.clone()
                }
        })
    }

    /// Whether this line is cut off, so that missing counts would be read as 0: it ends within a
    /// part, or has fewer parts than the line before it. If a log ends with its only line, that
    /// line is known to be whole only if it has all parts.
    pub(super) fn is_torn(&self, rest: &str, cut: bool, before: Option<&Self>) -> bool {
        let last = text::shape(rest.rsplit(", ").next().unwrap_or(rest));
        let begins = |whole: &&str| **whole != last && whole.starts_with(last.as_str());
        let within = last != "lat # ms" && PARTS.iter().any(begins);
        let fewer = match before {
            Some(before) => self.parts < before.parts,
            None => cut && last != LAST,
        };
        within || fewer || (cut && last.ends_with([',', '#']))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOLE: &str = "4.0 s, 234.8 tps, lat 0.783 ms stddev 0.226, 2 failed, lag 0.100 ms, \
                         1 skipped, 3 retried, 5 retries";

    #[test]
    fn a_progress_line_is_read_completely() {
        let line = point(WHOLE).unwrap();
        assert_eq!((line.at_s, line.tps), (4.0, 234.8));
        assert_eq!((line.failed, line.skipped), (Some(2), Some(1)));
        assert_eq!((line.retried, line.retries), (Some(3), Some(5)));
        assert_eq!(line.lag_ms, Some(0.1));
        let idle = point("1.0 s, 0.0 tps, lat NaN ms stddev NaN, 0 failed").unwrap();
        assert_eq!((idle.tps, idle.latency_ms), (0.0, None));
        assert_eq!(point("1.0 s, nan tps"), None);
        let two = "3.0 s, 787.0 tps, lat 4.9progress: 4.0 s, 978.0 tps, lat 4.189 ms stddev 8.447";
        assert_eq!(point(two), None);
    }

    #[test]
    fn parts_of_a_line_are_recognised() {
        for (rest, expected) in [
            ("3.0 s, 787, lat 4.189 ms stddev 8.447, 0 failed", true),
            ("4.0 s, 9", true),
            ("4", true),
            ("50% of all", false),
            ("begins", false),
        ] {
            assert_eq!(begins(rest), expected, "{rest}");
        }
        for (line, expected) in [
            ("ess: 3.0 s, 787.0 tps, lat 4.189 ms stddev 8.447", true),
            (".0 tps, lat 4.189 ms stddev 8.447, 0 failed", true),
            ("89 ms stddev 8.447", true),
            ("447, 0 failed", true),
            ("latency stddev = 8.447 ms", false),
            ("stddev 8.447 and more, 0 failed", false),
            ("10 passed, 0 failed", false),
            ("0 failed", false),
            ("", false),
        ] {
            assert_eq!(is_end(line), expected, "{line}");
        }
    }

    #[test]
    fn a_line_without_its_end_is_found() {
        let is_torn = |rest: &str, cut: bool, before: Option<&str>| {
            let before = before.and_then(point);
            point(rest).is_none_or(|own| own.is_torn(rest, cut, before.as_ref()))
        };
        let rate = "4.0 s, 234.8 tps".len();
        for length in rate..WHOLE.len() {
            let rest = &WHOLE[..length];
            assert!(is_torn(rest, true, None), "{rest}");
            assert!(is_torn(rest, true, Some(WHOLE)), "{rest}");
        }
        for end in [", 5 retrie", ", 5 r", ", 5", ""] {
            let rest = WHOLE.replace(", 5 retries", end);
            assert!(is_torn(&rest, false, Some(WHOLE)), "{rest}");
        }
        for cut in [false, true] {
            assert!(!is_torn(WHOLE, cut, None) && !is_torn(WHOLE, cut, Some(WHOLE)));
        }
        let short = "4.0 s, 234.8 tps, lat NaN ms stddev NaN, 0 failed";
        assert!(!is_torn(short, false, None) && !is_torn(short, true, Some(short)));
    }
}
