//! Logs that hold each line twice, as if two programs had saved the same output.

use crate::text::Line;

/// The warning about such a log.
pub(super) const SAID: &str = "each line of the log occurs twice; each is read once";
/// Fewer lines may be equal by chance.
const LINES_MIN: usize = 8;

/// The lines, and whether each of them occurred twice in a row; then each is in the result once.
/// True outputs have no such lines: their rates and latencies differ from line to line.
pub(super) fn once(lines: Vec<Line>) -> (Vec<Line>, bool) {
    let full: Vec<&Line> = lines.iter().filter(|line| !line.text.is_empty()).collect();
    let pairs = full.chunks(2);
    // The last line of a log that is cut off may be alone.
    let doubled = full.len() >= LINES_MIN
        && pairs
            .filter(|pair| pair.len() == 2)
            .all(|pair| pair[0].text == pair[1].text);
    if !doubled {
        return (lines, false);
    }
    let full = lines.into_iter().filter(|line| !line.text.is_empty());
    (full.step_by(2).collect(), true)
}
