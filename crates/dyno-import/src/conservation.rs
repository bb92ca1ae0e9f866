//! Checks a log's lines against the total in the same log.

/// A line's count is too large if it exceeds the remaining total by this factor.
const BEYOND: f64 = 1.25;
/// It must also be this many times the usual line. If not, the counts of all lines are too large.
const STANDS_OUT: f64 = 1.5;
/// At most one line in this many may be left out, but at least one. If more counts are too large,
/// the total belongs to another run.
const LINES_EACH: usize = 50;
/// Relative tolerance between a total and the lines of its run.
const AGREE: f64 = 0.02;

/// In the time without a line, the rate may be at most this many times the highest one.
pub(crate) const BURST: f64 = 2.0;

/// A line: its rate, and its length in seconds.
pub(crate) type Held = (f64, f64);

/// A line whose count exceeds the total minus the other lines.
#[derive(Debug, PartialEq)]
pub(crate) struct Wild {
    pub(crate) index: usize,
    /// The count of the line.
    pub(crate) holds: f64,
    /// The total minus the other lines.
    pub(crate) room: f64,
}

/// The lines to leave out so that the others agree with the total, at most one of [`LINES_EACH`].
/// The time of each line's start and end may be off by `rounding_s`, so a line may include some of
/// its neighbours' time.
pub(crate) fn wild(lines: &[Held], total: f64, rounding_s: f64) -> Vec<Wild> {
    let mut found: Vec<Wild> = Vec::new();
    let mut kept: Vec<(usize, Held)> = lines.iter().copied().enumerate().collect();
    loop {
        let sum: f64 = kept.iter().map(|(_, line)| count(line)).sum();
        let held: Vec<Held> = kept.iter().map(|(_, line)| *line).collect();
        let slack = slack(&held, rounding_s);
        if sum - slack <= total * (1.0 + AGREE) + 1.0 && !is_beyond(&kept, total, rounding_s) {
            return found;
        }
        let Some(wild) = largest(&kept, total, rounding_s) else {
            return Vec::new();
        };
        if found.len() >= (lines.len() / LINES_EACH).max(1) {
            return Vec::new();
        }
        kept.retain(|(index, _)| *index != wild.index);
        found.push(wild);
    }
}

/// The amount that the lines hold, if it exceeds the total, or if the rest does not fit into the
/// `rest_s` seconds that no line covers.
pub(crate) fn contradicts(lines: &[Held], total: f64, rest_s: f64, rounding_s: f64) -> Option<f64> {
    let held: f64 = lines.iter().map(count).sum();
    let slack = slack(lines, rounding_s) + 1.0;
    let highest = lines.iter().map(|line| line.0).reduce(f64::max)?;
    let rest = BURST * highest * rest_s;
    let above = held - slack > total * (1.0 + AGREE);
    let below = (held + slack + rest) * (1.0 + AGREE) < total;
    (above || below).then_some(held)
}

fn count((rate, length_s): &Held) -> f64 {
    rate * length_s
}

/// The uncertainty of the sum from the lines' ends, which have independent errors; the first line
/// begins at zero.
pub(crate) fn slack(lines: &[Held], rounding_s: f64) -> f64 {
    let apart = |pair: &[Held]| (pair[1].0 - pair[0].0).powi(2);
    let last = lines.last().map_or(0.0, |line| line.0);
    let between = lines.windows(2).map(apart).sum::<f64>().sqrt();
    rounding_s * (2.0 * between + last)
}

fn is_beyond(lines: &[(usize, Held)], total: f64, rounding_s: f64) -> bool {
    largest(lines, total, rounding_s).is_some()
}

/// The largest line, if its count exceeds the total minus the other lines.
fn largest(lines: &[(usize, Held)], total: f64, rounding_s: f64) -> Option<Wild> {
    let (index, line) = lines
        .iter()
        .max_by(|one, other| count(&one.1).total_cmp(&count(&other.1)))?;
    let without = lines.iter().filter(|(other, _)| other != index);
    let others: Vec<Held> = without.map(|(_, line)| *line).collect();
    let held: f64 = others.iter().map(count).sum();
    let room = (total - held).max(0.0);
    let slack = slack(&others, rounding_s) + 1.0;
    let holds = count(line);
    let usual: Vec<f64> = others.iter().map(count).collect();
    let usual = dyno_stats::median(&usual)?;
    let stands_out = holds > usual * STANDS_OUT;
    (stands_out && holds > (room + slack) * BEYOND).then_some(Wild {
        index: *index,
        holds,
        room,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_add_up_to_the_total() {
        let lines = [(200.0, 1.0); 10];
        for total in [1950.0, 2000.0, 2150.0, 2400.0] {
            assert_eq!(contradicts(&lines, total, 1.0, 0.5), None, "{total}");
        }
        for total in [200.0, 1700.0, 2800.0] {
            assert_eq!(
                contradicts(&lines, total, 1.0, 0.5),
                Some(2000.0),
                "{total}"
            );
        }
        // Missing lines may account for any amount.
        assert_eq!(contradicts(&lines, 9000.0, f64::INFINITY, 0.5), None);
        assert_eq!(contradicts(&[], 9000.0, 0.0, 0.5), None);
    }

    #[test]
    fn a_line_that_breaks_the_total_is_found() {
        let mut lines = vec![(100.0, 1.0); 40];
        assert_eq!(wild(&lines, 4010.0, 0.5), []);
        // A burst that the total includes is legitimate.
        lines[7].0 = 900.0;
        assert_eq!(wild(&lines, 4805.0, 0.5), []);
        let found = wild(&lines, 4010.0, 0.5);
        assert_eq!((found[0].index, found[0].holds.round()), (7, 900.0));
        assert_eq!((found.len(), found[0].room.round()), (1, 110.0));
        lines[9].0 = 1.8e19;
        assert_eq!(wild(&lines, 4010.0, 0.5), [], "two of forty are too many");
        // The total of another run proves nothing about a line.
        assert_eq!(wild(&[(300.0, 1.0); 12], 3385.0, 0.5), []);
        assert_eq!(wild(&[(100.0, 1.0); 40], 900.0, 0.5), []);
        assert_eq!(wild(&[], 5.0, 0.5), []);
    }
}
