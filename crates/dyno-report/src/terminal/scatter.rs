//! A scatter plot in braille characters: two columns and four rows of dots each.

/// The dots of a character by column and row, as bits of its code point.
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];
/// The character without a dot.
const EMPTY: u32 = 0x2800;

/// A scatter plot under construction.
pub(super) struct Scatter {
    width: usize,
    height: usize,
    /// Bits by row and column of characters.
    cells: Vec<u32>,
}

impl Scatter {
    /// A plot of this many characters.
    pub(super) fn new(width: usize, height: usize) -> Self {
        let (width, height) = (width.max(1), height.max(1));
        Self {
            width,
            height,
            cells: vec![0; width * height],
        }
    }

    /// A point at fractions of the width, from the left, and of the height, from below: 0 to 1.
    pub(super) fn point(&mut self, x: f64, y: f64) {
        let (column, row) = (index(x, 2 * self.width), index(1.0 - y, 4 * self.height));
        let cell = row / 4 * self.width + column / 2;
        self.cells[cell] |= DOTS[column % 2][row % 4];
    }

    /// The row of characters for a height, counted from above.
    pub(super) fn row(&self, y: f64) -> usize {
        index(1.0 - y, 4 * self.height) / 4
    }

    /// The column of characters for a position.
    pub(super) fn column(&self, x: f64) -> usize {
        index(x, 2 * self.width) / 2
    }

    /// The lines from above; empty characters of the row `ruled` are drawn as a line.
    pub(super) fn lines(&self, ruled: usize) -> Vec<String> {
        let rows = self.cells.chunks(self.width).enumerate();
        rows.map(|(row, cells)| {
            let drawn = cells.iter().map(|bits| match bits {
                0 if row == ruled => '┄',
                0 => ' ',
                bits => char::from_u32(EMPTY + bits).unwrap_or(' '),
            });
            drawn.collect()
        })
        .collect()
    }
}

/// The index, out of `count`, for a fraction.
fn index(share: f64, count: usize) -> usize {
    let last = count - 1;
    // NaN becomes 0; values beyond an end are clamped.
    ((share * last as f64).round().max(0.0) as usize).min(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_at_their_places() {
        let mut plane = Scatter::new(3, 2);
        plane.point(0.0, 0.0);
        plane.point(1.0, 1.0);
        plane.point(f64::NAN, 2.0);
        assert_eq!(plane.lines(0), ["⠁┄⠈", "⡀  "]);
        assert_eq!((plane.row(1.0), plane.row(0.0)), (0, 1));
        assert_eq!((plane.column(0.0), plane.column(1.0)), (0, 2));
    }
}
