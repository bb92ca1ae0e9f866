//! Axes with their grid.

use super::super::chart::Axis;
use super::labels::{axis_name, fitted, on_axis, time, width};
use super::scale::{Range, Scale, multiples};
use super::sheet::{GRID, LABEL_SIZE, LINE, SOFT, Sheet, WIDTH, put};

/// The side of a value axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Sheet {
    /// A value axis. The grid belongs to the left one.
    pub(super) fn value_axis(&mut self, axis: &Axis, range: &Range, side: Side) -> Scale {
        let labels = range.ticks.iter();
        let labels = labels.map(|value| (*value, on_axis(*value, &axis.unit)));
        self.labelled_axis(&axis_name(axis), range, side, &labels.collect::<Vec<_>>())
    }

    /// A value axis with these labels.
    pub(super) fn labelled_axis(
        &mut self,
        name: &str,
        range: &Range,
        side: Side,
        labels: &[(f64, String)],
    ) -> Scale {
        const BORDER: f64 = 16.0;
        let area = self.area;
        let scale = range.scale(area.bottom, area.top);
        for (value, label) in labels {
            let y = scale.at(*value);
            if side == Side::Left {
                put!(
                    self,
                    "<path d=\"M{:.1} {y:.1}H{:.1}\" stroke=\"{GRID}\"/>\n",
                    area.left,
                    area.right
                );
            }
            let (x, anchor) = match side {
                Side::Left => (area.left - 7.0, "end"),
                Side::Right => (area.right + 7.0, "start"),
            };
            self.label((x, y + 4.0), anchor, SOFT, label);
        }
        let (x, anchor) = match side {
            Side::Left => (BORDER, "start"),
            Side::Right => (WIDTH - BORDER, "end"),
        };
        let name = fitted(name, LABEL_SIZE, WIDTH / 2.0 - BORDER);
        self.label((x, area.top - 10.0), anchor, SOFT, &name);
        scale
    }

    /// The axis below the plot, with labels at positions. Those without room are left out.
    pub(super) fn bottom_axis(&mut self, name: &str, labels: &[(f64, String)], grid: bool) {
        let area = self.area;
        let bottom = area.bottom;
        let mut taken = f64::MIN;
        for (x, label) in labels {
            let room = width(label, LABEL_SIZE);
            let (from, to) = (x - room / 2.0, x + room / 2.0);
            if from < taken || to > WIDTH {
                continue;
            }
            taken = to + 8.0;
            let (y, length, paint) = match grid {
                true => (area.top, bottom - area.top, GRID),
                false => (bottom, 4.0, LINE),
            };
            put!(
                self,
                "<path d=\"M{x:.1} {y:.1}v{length:.1}\" stroke=\"{paint}\"/>\n"
            );
            self.label((*x, bottom + 17.0), "middle", SOFT, label);
        }
        put!(
            self,
            "<path d=\"M{:.1} {bottom:.1}H{:.1}\" stroke=\"{LINE}\"/>\n",
            area.left,
            area.right
        );
        let middle = (area.left + area.right) / 2.0;
        let name = fitted(name, LABEL_SIZE, area.right - area.left);
        self.label((middle, bottom + 34.0), "middle", SOFT, &name);
    }

    /// The axis of a quantity below the plot.
    pub(super) fn bottom_values(&mut self, axis: &Axis, range: &Range, grid: bool) -> Scale {
        let scale = range.scale(self.area.left, self.area.right);
        let ticks = range.ticks.iter();
        let labels = ticks.map(|value| (scale.at(*value), on_axis(*value, &axis.unit)));
        self.bottom_axis(&axis_name(axis), &labels.collect::<Vec<_>>(), grid);
        scale
    }

    /// The axis of time in seconds from the start of the measurement.
    pub(super) fn time_axis(&mut self, from_s: f64, to_s: f64) -> Scale {
        let to_s = to_s.max(from_s + 1e-3);
        let step_s = time_step(to_s - from_s);
        let range = Range {
            from: from_s,
            to: to_s,
            log: false,
            ticks: multiples(step_s, from_s, to_s),
        };
        let scale = range.scale(self.area.left, self.area.right);
        let ticks = range.ticks.iter();
        let labels = ticks.map(|at_s| (scale.at(*at_s), time(*at_s, step_s)));
        let name = match to_s - from_s >= 3600.0 {
            true => "time, h:min:s",
            false => "time, min:s",
        };
        self.bottom_axis(name, &labels.collect::<Vec<_>>(), false);
        scale
    }
}

/// A step in seconds for a handful of round labels, as `timeStep` in `assets/charts.js`.
fn time_step(length_s: f64) -> f64 {
    const LABELS_MAX: f64 = 8.0;
    const DAY_S: f64 = 86_400.0;
    const STEPS_S: [f64; 21] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 900.0, 1800.0,
        3600.0, 7200.0, 10_800.0, 21_600.0, 43_200.0, DAY_S,
    ];
    let fits = |step_s: &&f64| length_s / **step_s <= LABELS_MAX;
    let days = || DAY_S * (length_s / DAY_S / LABELS_MAX).ceil();
    STEPS_S.iter().find(fits).copied().unwrap_or_else(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_round_steps() {
        assert_eq!(time_step(120.0), 15.0);
        assert_eq!(time_step(140.0), 30.0);
        assert_eq!(time_step(0.5), 0.1);
        assert_eq!(time_step(3600.0), 600.0);
        assert_eq!(time_step(10.0 * 86_400.0), 2.0 * 86_400.0);
    }
}
