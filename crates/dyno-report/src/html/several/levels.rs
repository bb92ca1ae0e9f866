//! Throughput and latency over a varied number: sessions, or a numeric factor.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::factors;
use dyno_core::factors::EVERYBODYS;
use maud::html;

use super::super::Pivot;
use super::super::chart::{Axis, Chart, Compact, Curve, Curves};
use super::super::page::{Caption, Page};
use super::side::{Side, bin_word};

/// The fewest levels of a curve.
const LEVELS_MIN: usize = 3;
/// The percentiles drawn: the first dashed.
const PERCENTS: [f64; 2] = [50.0, 99.0];

/// The varied dimension, with each side's level.
struct Varied {
    name: String,
    /// Number and text of the level, by side.
    at: Vec<Option<(f64, String)>>,
    /// The line of each side: its other varied dimensions.
    lines: Vec<String>,
    /// The index of the first line's colour.
    colours_from: usize,
}

impl Varied {
    /// Whether it is the number of sessions: a different load, not a different server.
    fn is_load(&self) -> bool {
        self.name == "sessions"
    }
}

/// Writes the section, if there is such a number.
pub(super) fn write(page: &mut Page, sides: &[Side<'_, '_>], pivot: Option<&Pivot>) {
    let dimensions = dimensions(sides);
    let Some(mut varied) = varied(&dimensions) else {
        return;
    };
    // The table's columns have the first colours: lines of something else have others.
    varied.colours_from = match pivot.and_then(|table| table.columns.as_ref()) {
        Some((name, levels)) if *name == varied.name => levels.len(),
        _ => 0,
    };
    page.common_section("over-levels", &format!("By {}", varied.name));
    let charts = page.within(|page| {
        throughput(page, sides, &varied);
        latency(page, sides, &varied);
    });
    page.put(html! { div class="pair" { (charts) } });
    page.end_section();
}

/// The levels of all dimensions in which sides may vary, by side; empty if a side has none.
fn dimensions(sides: &[Side<'_, '_>]) -> BTreeMap<String, Vec<String>> {
    let mut names: BTreeSet<String> = BTreeSet::new();
    let runs = || sides.iter().flat_map(Side::runs);
    names.extend(runs().flat_map(|run| run.head.factors.keys().cloned()));
    names.extend(EVERYBODYS.map(str::to_owned));
    let levels = |name: &String| -> Vec<String> {
        let of = |side: &Side<'_, '_>| {
            let run = side.views.first().map(|view| view.run);
            run.and_then(|run| dyno_verdict::level(run, name))
                .unwrap_or_default()
        };
        sides.iter().map(of).collect()
    };
    names
        .into_iter()
        .map(|name| {
            let all = levels(&name);
            (name, all)
        })
        .collect()
}

/// The dimension with the most numbers; the user's factors come before the sessions.
fn varied(dimensions: &BTreeMap<String, Vec<String>>) -> Option<Varied> {
    let count = |levels: &[String]| {
        let numbers: BTreeSet<&String> = levels
            .iter()
            .filter(|level| factors::number(level).is_some())
            .collect();
        let all = levels.iter().filter(|level| !level.is_empty());
        (all.count()
            == levels
                .iter()
                .filter(|l| factors::number(l).is_some())
                .count())
        .then_some(numbers.len())
    };
    let several = dimensions.iter().filter_map(|(name, levels)| {
        let count = count(levels).filter(|count| *count >= LEVELS_MIN)?;
        Some((count, name != "sessions", name, levels))
    });
    let (_, _, name, levels) = several
        .max_by_key(|(count, own, name, _)| (*count, *own, std::cmp::Reverse((*name).clone())))?;
    let at = levels
        .iter()
        .map(|level| Some((factors::number(level)?, level.clone())));
    Some(Varied {
        name: name.clone(),
        at: at.collect(),
        lines: lines(dimensions, name),
        colours_from: 0,
    })
}

/// The other varied dimensions, by side, except those that follow from the level.
fn lines(dimensions: &BTreeMap<String, Vec<String>>, by: &str) -> Vec<String> {
    let levels = &dimensions[by];
    let follows = |other: &[String]| {
        let mut found: BTreeMap<&String, &String> = BTreeMap::new();
        let pairs = levels.iter().zip(other);
        pairs
            .into_iter()
            .all(|(level, own)| *found.entry(level).or_insert(own) == own)
    };
    let others = dimensions
        .iter()
        .filter(|(name, own)| *name != by && !follows(own));
    let others: Vec<(&String, &Vec<String>)> = others.collect();
    let label = |side: usize| {
        let parts = others.iter().map(|(name, own)| match own[side].as_str() {
            "" => format!("no {name}"),
            level => format!("{name} {level}"),
        });
        parts.collect::<Vec<_>>().join(", ")
    };
    (0..levels.len()).map(label).collect()
}

/// A point of a curve: its position, its value, and the quartiles around it.
type Point = (f64, f64, Option<(f64, f64)>);

/// The curves of one figure, one for each line.
fn curves(
    sides: &[Side<'_, '_>],
    varied: &Varied,
    (more, dash): (&str, usize),
    figure: impl Fn(&Side<'_, '_>) -> Option<(f64, Option<(f64, f64)>)>,
) -> Vec<Curve> {
    // In the order of the sides, which is that of the levels.
    let mut points: Vec<(&String, Vec<Point>)> = Vec::new();
    for (side, (at, line)) in sides.iter().zip(varied.at.iter().zip(&varied.lines)) {
        let (Some((x, _)), Some((y, spread))) = (at, figure(side)) else {
            continue;
        };
        match points.iter_mut().find(|(known, _)| *known == line) {
            Some((_, points)) => points.push((*x, y, spread)),
            None => points.push((line, vec![(*x, y, spread)])),
        }
    }
    let curve = |(colour, (line, mut points)): (usize, (&String, Vec<Point>))| {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let name = [line.as_str(), more]
            .into_iter()
            .filter(|part| !part.is_empty());
        let bounds = |(x, _, spread): &Point| {
            let (low, high) = (*spread)?;
            Some([*x, low, high].map(Compact))
        };
        Curve {
            name: name.collect::<Vec<_>>().join(", "),
            colour: varied.colours_from + colour,
            dash,
            spread: points.iter().filter_map(bounds).flatten().collect(),
            points: points
                .iter()
                .flat_map(|(x, y, _)| [Compact(*x), Compact(*y)])
                .collect(),
        }
    };
    points.into_iter().enumerate().map(curve).collect()
}

fn axis(varied: &Varied) -> (Axis, Vec<(Compact, String)>) {
    let mut ticks: Vec<(f64, String)> = varied.at.iter().flatten().cloned().collect();
    ticks.sort_by(|one, other| one.0.total_cmp(&other.0));
    ticks.dedup_by(|one, other| one.0 == other.0);
    let mut axis = Axis::new(&varied.name, "");
    let (low, high) = (ticks.first(), ticks.last());
    axis.log = low
        .zip(high)
        .is_some_and(|(low, high)| low.0 > 0.0 && high.0 / low.0 >= 6.0);
    (
        axis,
        ticks
            .into_iter()
            .map(|(at, text)| (Compact(at), text))
            .collect(),
    )
}

fn draw(page: &mut Page, varied: &Varied, caption: &Caption<'_>, y: Axis, lines: Vec<Curve>) {
    let (x, ticks) = axis(varied);
    let chart = Chart::Curves(Curves {
        x,
        y,
        ticks,
        lines,
        tail: false,
    });
    page.figure_with_id(caption.id.to_owned(), caption, chart);
}

fn throughput(page: &mut Page, sides: &[Side<'_, '_>], varied: &Varied) {
    let lines = curves(sides, varied, ("", 0), |side| {
        let spread = dyno_stats::describe(&side.seconds()).map(|found| (found.q1, found.q3));
        Some((side.mean_per_s()?, spread))
    });
    let title = format!("Throughput by {}", varied.name);
    let word = bin_word(sides.iter().flat_map(|side| side.views.iter().copied()));
    let more = if varied.is_load() {
        " Where the curve flattens, a resource is saturated."
    } else {
        ""
    };
    let about = format!("Mean events per second; bars hold the middle half of the {word}s.{more}");
    let caption = Caption {
        id: "throughput-by",
        title: &title,
        about: &about,
        source: "intervals of the measurements",
        size: "",
    };
    draw(
        page,
        varied,
        &caption,
        Axis::new("throughput", "count/s"),
        lines,
    );
}

fn latency(page: &mut Page, sides: &[Side<'_, '_>], varied: &Varied) {
    let mut lines = Vec::new();
    for (number, percent) in PERCENTS.into_iter().enumerate() {
        let word = format!("p{percent}");
        lines.extend(curves(
            sides,
            varied,
            (&word, PERCENTS.len() - 1 - number),
            |side| Some((side.percentile_ms(percent)?, None)),
        ));
    }
    if lines.is_empty() {
        page.nothing("No run has latency percentiles.");
        return;
    }
    let title = format!("Latency by {}", varied.name);
    let more = if varied.is_load() {
        " Where throughput is flat and latency rises, events are queueing."
    } else {
        ""
    };
    let about =
        format!("Percentiles of all events on a logarithmic axis; the median is dashed.{more}");
    let caption = Caption {
        id: "latency-by",
        title: &title,
        about: &about,
        source: "total histograms of the measurements",
        size: "",
    };
    let mut y = Axis::new("latency", "ms");
    y.log = true;
    draw(page, varied, &caption, y, lines);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dimensions(all: &[(&str, &[&str])]) -> BTreeMap<String, Vec<String>> {
        let levels = |levels: &[&str]| levels.iter().map(|level| (*level).to_owned()).collect();
        all.iter()
            .map(|(name, own)| ((*name).to_owned(), levels(own)))
            .collect()
    }

    #[test]
    fn the_users_numbers_go_before_the_sessions_that_follow_from_them() {
        let found = varied(&dimensions(&[
            ("clients", &["1", "4", "16", "1", "4", "16"]),
            ("flush", &["0", "0", "0", "1", "1", "1"]),
            ("sessions", &["1", "4", "16", "1", "4", "16"]),
            ("server", &["M 1"; 6]),
        ]))
        .unwrap();
        assert_eq!(found.name, "clients");
        assert_eq!(found.lines[0], "flush 0");
        assert_eq!(found.lines[5], "flush 1");
        assert_eq!(found.at[2].as_ref().unwrap().0, 16.0);
    }

    #[test]
    fn a_ladder_of_sessions_is_one_line_and_two_levels_have_none() {
        let ladder = varied(&dimensions(&[("sessions", &["1", "2", "4"])])).unwrap();
        assert_eq!(
            (ladder.name.as_str(), ladder.lines[0].as_str()),
            ("sessions", "")
        );
        assert!(varied(&dimensions(&[("sessions", &["1", "2", "2"])])).is_none());
        let words = dimensions(&[("fs", &["xfs", "ext4", "zfs"])]);
        assert!(varied(&words).is_none());
        let sizes = varied(&dimensions(&[("memory", &["512M", "1G", "2G"])])).unwrap();
        let (axis, ticks) = axis(&sizes);
        assert!(!axis.log);
        assert_eq!(ticks[1], (Compact(1_073_741_824.0), "1G".to_owned()));
    }
}
