//! The spread of each side's seconds: a box plot with every second as a dot.

use dyno_stats::describe;

use super::super::Pivot;
use super::super::chart::{Axis, Chart, Compact, Group, Groups};
use super::super::page::{Caption, Page};
use super::super::run::View;
use super::side::{Side, bin_word};

/// The most dots of a group.
const DOTS_MAX: usize = 600;

/// Writes the section: by the table's rows and columns if there is one, else by side.
pub(super) fn write(
    page: &mut Page,
    sides: &[Side<'_, '_>],
    pivot: Option<&Pivot>,
    views: &[View<'_>],
) {
    page.common_section("spread", "Spread of throughput");
    let groups = match pivot {
        Some(table) => by_cell(table, views),
        None => sides
            .iter()
            .map(|side| group(&side.name, "", side.look.0, &side.seconds()))
            .collect(),
    };
    draw(page, groups, bin_word(views.iter()));
    page.end_section();
}

fn by_cell(table: &Pivot, views: &[View<'_>]) -> Vec<Group> {
    let of = |at: usize| {
        let cell = &table.cells[at];
        let (row, column) = table.levels(cell);
        let name = match column {
            Some(column) => column,
            None => row.clone(),
        };
        let heading = if table.columns.is_some() {
            row
        } else {
            String::new()
        };
        let runs = table.runs[at].iter().filter_map(|run| views.get(*run));
        let seconds: Vec<f64> = runs.flat_map(|view| view.seconds.iter().copied()).collect();
        let colour = if table.columns.is_some() {
            cell.column
        } else {
            cell.row
        };
        group(&name, &heading, colour, &seconds)
    };
    let mut order: Vec<usize> = (0..table.cells.len()).collect();
    order.sort_by_key(|at| (table.cells[*at].row, table.cells[*at].column));
    order.into_iter().map(of).collect()
}

/// A group of seconds, or of other values.
pub(in super::super) fn group(name: &str, heading: &str, colour: usize, seconds: &[f64]) -> Group {
    Group {
        name: name.to_owned(),
        heading: heading.to_owned(),
        colour,
        five: whiskers(seconds).map(Compact),
        dots: some(seconds),
    }
}

fn draw(page: &mut Page, groups: Vec<Group>, word: &str) {
    let longest = groups
        .iter()
        .map(|group| group.dots.len())
        .max()
        .unwrap_or(0);
    if longest == 0 {
        page.nothing("No run has complete recorded intervals.");
        return;
    }
    let title = format!("Every {word} as a dot, with box plots");
    let about = format!(
        "Each dot is the throughput of one {word}, jittered for visibility: dense bands are states \
         of the server, dots near zero are stalls. A box spans the quartiles and marks the median; \
         its whiskers reach the last {word} within 1.5 times its length."
    );
    let source =
        format!("whole {word}s of the measurements; of more than {DOTS_MAX}, a regular subset");
    let caption = Caption {
        id: "seconds",
        title: &title,
        about: &about,
        source: &source,
        size: "",
    };
    let axis = Axis::new("throughput", "count/s");
    let chart = Chart::Groups(Groups { axis, groups });
    page.figure_with_id("seconds".to_owned(), &caption, chart);
}

/// An even sample of the values, to limit their number.
fn some(values: &[f64]) -> Vec<Compact> {
    let step = values.len().div_ceil(DOTS_MAX).max(1);
    values.iter().step_by(step).copied().map(Compact).collect()
}

/// Tukey's five: lower whisker, lower quartile, median, upper quartile, upper whisker.
fn whiskers(values: &[f64]) -> [f64; 5] {
    let Some(d) = describe(values) else {
        return [f64::NAN; 5];
    };
    let (low, high) = (d.q1 - 1.5 * d.iqr, d.q3 + 1.5 * d.iqr);
    let inside = || {
        values
            .iter()
            .copied()
            .filter(|value| (low..=high).contains(value))
    };
    let lowest = inside().fold(d.q1, f64::min);
    let highest = inside().fold(d.q3, f64::max);
    [lowest, d.q1, d.median, d.q3, highest]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whiskers_end_at_samples() {
        let mut values: Vec<f64> = (0..=100).map(f64::from).collect();
        values.push(1000.0);
        let five = whiskers(&values);
        assert_eq!(five[2], 50.5);
        assert_eq!((five[0], five[4]), (0.0, 100.0));
        assert!(whiskers(&[])[0].is_nan());
    }

    #[test]
    fn dots_of_a_long_run_are_thinned_evenly() {
        let values: Vec<f64> = (0..2_000).map(f64::from).collect();
        let dots = some(&values);
        assert!(dots.len() <= DOTS_MAX && dots.len() > DOTS_MAX / 2);
        assert_eq!((dots[0], dots[1]), (Compact(0.0), Compact(4.0)));
    }
}
