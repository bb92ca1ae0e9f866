//! Finds missing progress lines.

use dyno_core::text::{number_of, tenths};

use super::counts;
use super::doubts::LINES;
use super::output::Output;
use super::progress::Point;
use super::record::EPOCH_S;
use crate::conservation::{self, BURST, Held};

/// Lines may be missing before one that follows after this many usual distances.
const LONG: f64 = 1.5;
/// Half of the last digit of a line's time in seconds.
const ROUNDING_S: f64 = 0.05;

/// Gives the lines after missing ones the usual length, and says so. If pgbench was frozen, it also
/// prints after a longer time, with the rate of all of it: only the report's count can confirm it.
pub(super) fn shorten(output: &mut Output) {
    let Some(usual_s) = usual_s(&output.points) else {
        return;
    };
    let distances = distances(&output.points, usual_s);
    let is_long = |distance_s: f64| distance_s > LONG * usual_s;
    let long = distances.iter().filter(|distance_s| is_long(**distance_s));
    let missing_s: f64 = long.clone().map(|distance_s| distance_s - usual_s).sum();
    let count = long.count();
    if count == 0 || is_confirmed(output, &distances, missing_s) {
        return;
    }
    let mut first = None;
    for (point, distance_s) in output.points.iter_mut().zip(&distances) {
        if is_long(*distance_s) {
            point.length_s = Some(usual_s);
            first = first.or(Some(point.line));
        }
    }
    let all_s: f64 = distances.iter().sum();
    let what = format!("the progress lines have {}", number_of(count, "gap"));
    let place = match count {
        1 => ", which ends here",
        _ => ", the first of which ends here",
    };
    let covered = (tenths(all_s - missing_s), tenths(all_s));
    let how_much = format!("the lines cover {} of {} s", covered.0, covered.1);
    let text = format!("{what}{place}: {how_much}");
    output.said.push((first, text));
    output.gaps = Some(format!("{what}: {how_much}"));
}

/// The usual distance of lines, of which pgbench takes whole seconds; `None` with fewer than two
/// lines.
fn usual_s(points: &[Point]) -> Option<f64> {
    let mut steps: Vec<f64> = points.windows(2).map(|p| p[1].at_s - p[0].at_s).collect();
    steps.sort_by(f64::total_cmp);
    let usual_s = steps.get(steps.len().saturating_sub(1) / 2)?;
    Some(usual_s.round().max(1.0))
}

/// The distance of each line from the one before it, or from the beginning.
fn distances(points: &[Point], usual_s: f64) -> Vec<f64> {
    let mut before_s = match points.first() {
        Some(first) if first.at_s >= EPOCH_S => first.at_s - usual_s,
        _ => 0.0,
    };
    let distance = |point: &Point| point.at_s - std::mem::replace(&mut before_s, point.at_s);
    points.iter().map(distance).collect()
}

/// Whether the report's count shows that no line is missing: with the distances as lengths, the
/// lines hold as much. In a long run, the uncertainty of their sum may be too large to tell.
fn is_confirmed(output: &Output, distances: &[f64], missing_s: f64) -> bool {
    let Some(processed) = output.processed else {
        return false;
    };
    let rates: Vec<f64> = output.points.iter().map(|point| point.tps).collect();
    let lines = rates.iter().copied().zip(distances.iter().copied());
    let lines: Vec<Held> = lines.collect();
    let sum: f64 = lines.iter().map(|(tps, length_s)| tps * length_s).sum();
    let highest = rates.iter().copied().fold(0.0, f64::max);
    let least = processed as f64;
    let most = counts::most(output, processed) as f64;
    let after_s = (ends_s(output, processed) - distances.iter().sum::<f64>()).max(0.0);
    let slack = conservation::slack(&lines, ROUNDING_S) + most * LINES + 1.0;
    let fits = sum - slack <= most && sum + slack + BURST * highest * after_s >= least;
    let usual = dyno_stats::median(&rates).unwrap_or(0.0);
    fits && slack < usual * missing_s
}

/// When the run ended, in seconds from its beginning: by its duration, or by its count and rate.
pub(super) fn ends_s(output: &Output, processed: u64) -> f64 {
    let rate = output.tps_with_connecting.or(output.tps);
    let made_s = rate.filter(|rate| *rate > 0.0);
    let made_s = made_s.map_or(0.0, |rate| processed as f64 / rate);
    let connected_s = output.connecting_ms.unwrap_or(0.0) / 1e3;
    (made_s + connected_s).max(output.duration_s.unwrap_or(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths of lines at these times with these rates, and what is said about gaps.
    fn lengths(lines: &[(f64, f64)], processed: Option<u64>) -> (Vec<Option<f64>>, Option<String>) {
        let points = lines.iter().map(|(at_s, tps)| Point {
            at_s: *at_s,
            tps: *tps,
            ..Point::default()
        });
        let mut output = Output {
            points: points.collect(),
            processed,
            tps: processed.map(|count| count as f64 / 8.0),
            ..Output::default()
        };
        shorten(&mut output);
        let lengths = output.points.iter().map(|point| point.length_s);
        (lengths.collect(), output.gaps)
    }

    #[test]
    fn the_first_lines_are_missing() {
        let lines = [(5.0, 1045.0), (6.0, 1789.0), (7.0, 1892.0), (8.0, 1502.0)];
        let expected = "the progress lines have 1 gap: the lines cover 4 of 8 s";
        for processed in [None, Some(9874)] {
            let (lengths, said) = lengths(&lines, processed);
            assert_eq!(lengths, [Some(1.0), None, None, None]);
            assert_eq!(said.as_deref(), Some(expected));
        }
        // pgbench was frozen: its count confirms it.
        assert_eq!(lengths(&lines, Some(10_408)), (vec![None; 4], None));
        let epoch = lines.map(|(at_s, tps)| (at_s + 1.8e9, tps));
        assert_eq!(lengths(&epoch, None), (vec![None; 4], None));
    }

    #[test]
    fn the_usual_distance_may_be_long() {
        for lines in [
            &[(5.0, 100.0)][..],
            &[(5.0, 100.0), (10.0, 100.0), (15.0, 100.0)],
            &[(1.3, 100.0), (2.0, 100.0), (3.0, 100.0)],
            &[],
        ] {
            let none = (vec![None; lines.len()], None);
            assert_eq!(lengths(lines, None), none);
        }
    }

    #[test]
    fn lines_in_the_middle_are_missing() {
        let lines = |late: f64| {
            let before = (1..4).map(|at| (f64::from(at), 1000.0));
            let after = (6..9).map(|at| (f64::from(at), 1000.0));
            before.chain([(5.5, late)]).chain(after).collect::<Vec<_>>()
        };
        let of = |late: f64, processed: u64| lengths(&lines(late), Some(processed)).0[3];
        // pgbench was frozen for 2.5 s, or lines with many transactions are missing.
        assert_eq!(of(0.0, 5500), None);
        assert_eq!(of(400.0, 6500), None);
        assert_eq!(of(400.0, 8000), Some(1.0));
        assert_eq!(of(2500.0, 8000), Some(1.0));
        assert_eq!(lengths(&lines(0.0), None).0[3], Some(1.0));
    }

    #[test]
    fn the_count_of_a_long_run_does_not_tell() {
        let mut lines: Vec<(f64, f64)> = (1..3600)
            .map(|at| (f64::from(at), f64::from(1000 + at % 2 * 300)))
            .collect();
        lines.remove(1000);
        let sum: f64 = lines.iter().map(|(_, tps)| tps).sum();
        assert_eq!(lengths(&lines, Some(sum as u64 + 1000)).0[1000], Some(1.0));
    }
}
