//! Box plots with every sample as a dot, one below the other.

use super::super::chart::{Compact, Group, Groups};
use super::labels::{fitted, width};
use super::scale::{Range, Scale};
use super::sheet::{INK, LABEL_SIZE, LINE, RIGHT, SOFT, Sheet, Texts, colour, put};

/// The height of a group.
const ROW: f64 = 36.0;
/// The share of this height over which dots are scattered.
const SCATTER: f64 = 0.8;
/// Half the height of a box and of the end of a whisker.
const BOX_HALF: f64 = 8.0;
const END_HALF: f64 = 4.0;
/// The room for names.
const NAMES_MIN: f64 = 96.0;
const NAMES_MAX: f64 = 300.0;

/// The chart as a file.
pub(super) fn draw(texts: &Texts<'_>, chart: &Groups) -> String {
    let names = chart
        .groups
        .iter()
        .flat_map(|group| [&group.name, &group.heading]);
    let widest = names
        .map(|name| width(name, LABEL_SIZE))
        .fold(0.0, f64::max);
    let left = (widest + 30.0).clamp(NAMES_MIN, NAMES_MAX);
    let height = ROW * chart.groups.len() as f64;
    let mut sheet = Sheet::new(texts, &[], (left, RIGHT), Some(height));
    let values = chart.groups.iter().flat_map(|group| {
        let ends = group.five.iter().chain(&group.dots);
        ends.map(|value| value.0)
    });
    let range = Range::linear(values, None, &chart.axis.unit);
    let x = sheet.bottom_values(&chart.axis, &range, true);
    let mut heading = "";
    for (row, group) in chart.groups.iter().enumerate() {
        let top = sheet.area.top + ROW * row as f64;
        let begins = group.heading != heading;
        heading = &group.heading;
        if begins && row > 0 {
            let right = sheet.area.right;
            put!(
                sheet,
                "<path d=\"M16 {top:.1}H{right:.1}\" stroke=\"{LINE}\"/>\n"
            );
        }
        name(&mut sheet, group, begins, top + ROW / 2.0);
    }
    put!(sheet, "<g class=\"data\">\n");
    for (row, group) in chart.groups.iter().enumerate() {
        let middle = sheet.area.top + ROW * (row as f64 + 0.5);
        dots(&mut sheet, group, &x, middle);
        box_plot(&mut sheet, group, &x, middle);
    }
    put!(sheet, "</g>\n");
    sheet.finish()
}

/// The name of a group; the first of several with a heading has it above.
fn name(sheet: &mut Sheet, group: &Group, begins: bool, middle: f64) {
    let right = sheet.area.left - 10.0;
    let room = right - 16.0;
    let own = fitted(&group.name, LABEL_SIZE, room);
    if begins && !group.heading.is_empty() {
        let heading = fitted(&group.heading, LABEL_SIZE, room);
        sheet.label((right, middle - 3.0), "end", SOFT, &heading);
        sheet.label((right, middle + 10.0), "end", INK, &own);
    } else {
        sheet.label((right, middle + 4.0), "end", INK, &own);
    }
}

fn dots(sheet: &mut Sheet, group: &Group, x: &Scale, middle: f64) {
    let paint = colour(group.colour);
    for (number, Compact(value)) in group.dots.iter().enumerate() {
        if x.has(*value) {
            let y = middle + (scattered(number) - 0.5) * SCATTER * ROW;
            put!(
                sheet,
                "<circle cx=\"{:.1}\" cy=\"{y:.1}\" r=\"1.8\" fill=\"{paint}\" \
                    fill-opacity=\"0.35\"/>\n",
                x.at(*value)
            );
        }
    }
}

/// A random-looking number from 0 to 1 that depends only on the index, as in `assets/curves.js`.
fn scattered(index: usize) -> f64 {
    const GOLDEN: f64 = 0.618_033_988_749_894_9;
    ((index + 1) as f64 * GOLDEN).fract()
}

fn box_plot(sheet: &mut Sheet, group: &Group, x: &Scale, middle: f64) {
    if !group.five.iter().all(|value| x.has(value.0)) {
        return;
    }
    let [low, q1, median, q3, high] = group.five.map(|value| x.at(value.0));
    let paint = colour(group.colour);
    let (end_top, end_bottom) = (middle - END_HALF, middle + END_HALF);
    let (top, bottom) = (middle - BOX_HALF, middle + BOX_HALF);
    let q3 = q3.max(q1 + 1.0).min(sheet.area.right);
    put!(
        sheet,
        "<path d=\"M{low:.1} {middle:.1}H{q1:.1}M{q3:.1} {middle:.1}H{high:.1}M{low:.1} \
            {end_top:.1}V{end_bottom:.1}M{high:.1} {end_top:.1}V{end_bottom:.1}\" fill=\"none\" \
            stroke=\"{paint}\" stroke-width=\"1.5\"/>\n\
            <path d=\"M{q1:.1} {top:.1}H{q3:.1}V{bottom:.1}H{q1:.1}Z\" fill=\"#5a6978\" \
            fill-opacity=\"0.13\" stroke=\"{paint}\" stroke-width=\"1.5\"/>\n\
            <path d=\"M{median:.1} {top:.1}V{bottom:.1}\" fill=\"none\" stroke=\"{paint}\" \
            stroke-width=\"3\"/>\n"
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_spread_evenly_and_always_the_same_way() {
        let all: Vec<f64> = (0..100).map(scattered).collect();
        let upper = all.iter().filter(|share| **share > 0.5).count();
        assert!((45..=55).contains(&upper), "{upper}");
        assert_eq!(scattered(7), scattered(7));
    }
}
