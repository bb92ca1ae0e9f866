//! Overlaid curves of all runs: rate and a high percentile over time, distributions.

use dyno_core::headline::HEADLINE_PERCENT;
use dyno_core::summary::LatencySummary;
use hdrhistogram::Histogram;

use super::super::chart::{Axis, Chart, Compact, Curve, Curves, Line, Look, Time};
use super::super::page::{Caption, Page, source_note};
use super::super::run::View;
use super::super::thin::{Keep, Thin, thin};
use super::side::Side;
use crate::number;

/// The most points of a line, to keep the page small.
const POINTS_MAX: usize = 900;
/// The most points of a distribution.
const STEPS_MAX: usize = 300;
const NS_PER_MS: f64 = 1e6;
/// A curve ends at this share of the events: the rest is a few events.
const SHARE_MIN: f64 = 1e-5;

/// Writes the section.
pub(super) fn write(page: &mut Page, views: &[View<'_>], sides: &[Side<'_, '_>]) {
    page.common_section("curves", "Over time");
    let to_s = views.iter().map(|view| view.extent_s.1).fold(0.0, f64::max);
    if views.iter().all(|view| view.rates.is_empty()) {
        page.nothing("No run has recorded intervals, so nothing is known over time.");
    } else {
        let run = page.add_overlay(to_s);
        rates(page, sides, run);
        percentiles(page, sides, run);
    }
    page.end_section();
    page.common_section("ecdf-of-all", "Distribution of latency");
    distributions(page, sides);
    page.end_section();
}

/// Only measurements are drawn: warm-ups have different lengths.
fn measured(points: Vec<(f64, f64)>) -> Thin {
    let within: Vec<(f64, f64)> = points.into_iter().filter(|(at_s, _)| *at_s > 0.0).collect();
    thin(&within, POINTS_MAX, Keep::Extremes)
}

fn rates(page: &mut Page, sides: &[Side<'_, '_>], run: usize) {
    let (lines, note) = lines(page, sides, "intervals of the measurements", |view| {
        Some(view.rates.clone())
    });
    let caption = Caption {
        id: "rate-overlay",
        title: "Throughput",
        about: "Events per second of each run, from the start of its measurement. Click a name to \
                hide its lines.",
        source: &note,
        size: "tall",
    };
    let time = Time {
        run,
        axes: vec![Axis::new("throughput", "count/s")],
        lines,
        slider: false,
    };
    page.figure_with_id("rate-overlay".to_owned(), &caption, Chart::Time(time));
}

fn percentiles(page: &mut Page, sides: &[Side<'_, '_>], run: usize) {
    // A percentile with enough samples in each run's intervals, so that lines are comparable.
    let views = || sides.iter().flat_map(|side| &side.views);
    let percent = views()
        .filter_map(|view| view.headline_percent())
        .min_by(f64::total_cmp)
        .unwrap_or(HEADLINE_PERCENT);
    let (lines, note) = lines(page, sides, "percentiles of each interval", |view| {
        let line = view.percentile_over_time(percent);
        line.iter().any(|(_, ms)| ms.is_finite()).then_some(line)
    });
    if lines.is_empty() {
        page.nothing("There are no percentiles over time: no interval has enough events.");
        return;
    }
    let word = views().next().map_or("latency", |view| view.latency_word());
    let mut axis = Axis::new(word, "ms");
    axis.log = true;
    let title = format!("p{} {word}", number::plain(percent));
    let caption = Caption {
        id: "percentile-overlay",
        title: &title,
        about: "Of each interval, on a logarithmic axis. A gap means that an interval has too few \
                events for the percentile.",
        source: &note,
        size: "tall",
    };
    let time = Time {
        run,
        axes: vec![axis],
        lines,
        slider: false,
    };
    page.figure_with_id("percentile-overlay".to_owned(), &caption, Chart::Time(time));
}

/// A line for each run that has one, in its side's colour and name.
fn lines(
    page: &mut Page,
    sides: &[Side<'_, '_>],
    source: &str,
    of: impl Fn(&View<'_>) -> Option<Vec<(f64, f64)>>,
) -> (Vec<Line>, String) {
    let mut lines = Vec::new();
    let mut note = source.to_owned();
    for side in sides {
        for view in &side.views {
            let Some(points) = of(view) else { continue };
            let points = measured(points);
            let own_note = source_note(source, &points, Keep::Extremes);
            if own_note.len() > note.len() {
                note = own_note;
            }
            let mut line = page.line(&side.name, 0, &points, Look::Line, side.look.0);
            line.dash = side.look.1;
            lines.push(line);
        }
    }
    (lines, note)
}

fn distributions(page: &mut Page, sides: &[Side<'_, '_>]) {
    let curve = |side: &Side<'_, '_>| {
        let points = match side.distribution() {
            Some(histogram) => of_histogram(&histogram),
            None if !side.pools => return None,
            None => of_buckets(side.views.first()?.latency()?),
        };
        (!points.is_empty()).then(|| Curve {
            name: side.name.clone(),
            colour: side.look.0,
            dash: side.look.1,
            points: flat(&points),
            spread: Vec::new(),
        })
    };
    let lines: Vec<Curve> = sides.iter().filter_map(curve).collect();
    if lines.is_empty() {
        page.nothing("No run has a recorded latency distribution.");
        return;
    }
    let mut x = Axis::new("latency", "ms");
    x.log = true;
    let caption = Caption {
        id: "ecdf",
        title: "Cumulative distribution of latency (ECDF)",
        about: "The share of events up to each latency: at 90 %, nine of ten events took at most \
                this long. A curve further left is faster; steps are separate paths, such as cache \
                and disk. The tail shows the share above, on a logarithmic axis: 1 % is the 99th \
                percentile.",
        source: "total histograms of the measurements, summed over the runs of a side",
        size: "tall",
    };
    let chart = Chart::Curves(Curves {
        x,
        y: Axis::new("share of events", "percent"),
        ticks: Vec::new(),
        lines,
        tail: true,
    });
    page.figure_with_id("ecdf".to_owned(), &caption, chart);
}

fn flat(points: &[(f64, f64)]) -> Vec<Compact> {
    points
        .iter()
        .flat_map(|(x, y)| [Compact(*x), Compact(*y)])
        .collect()
}

/// Milliseconds, and the percentage of events that took at most that long.
fn of_histogram(histogram: &Histogram<u64>) -> Vec<(f64, f64)> {
    let mut seen = 0;
    let steps = histogram.iter_recorded().map(|value| {
        seen += value.count_since_last_iteration();
        (value.value_iterated_to() as f64 / NS_PER_MS, seen)
    });
    cumulative(&steps.collect::<Vec<_>>())
}

/// The cumulative steps from a log's buckets.
fn of_buckets(latency: &LatencySummary) -> Vec<(f64, f64)> {
    let mut seen = 0;
    let steps = latency.buckets.iter().map(|bucket| {
        seen += bucket.count;
        (bucket.to_ms, seen)
    });
    cumulative(&steps.collect::<Vec<_>>())
}

/// From values in milliseconds with cumulative counts: shares in percent, from 0 on, without steps
/// too small to be visible.
fn cumulative(steps: &[(f64, u64)]) -> Vec<(f64, f64)> {
    let Some((last_ms, all)) = steps.last().copied().filter(|(_, all)| *all > 0) else {
        return Vec::new();
    };
    let share = |seen: u64| seen as f64 / all as f64;
    let mut points = vec![(steps[0].0, 0.0)];
    // A step is visible in the body by its share, in the tail by the ratio of the remaining shares.
    let (mut body, mut tail) = (0.0, 1.0);
    for (ms, seen) in steps {
        let (now, left) = (share(*seen), 1.0 - share(*seen));
        let moved = now - body >= 1.0 / STEPS_MAX as f64 || left <= tail * 0.95;
        if moved && left >= SHARE_MIN {
            points.push((*ms, now * 100.0));
            (body, tail) = (now, left);
        }
    }
    points.push((last_ms, 100.0));
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_events_that_took_no_longer() {
        let mut histogram = Histogram::<u64>::new(3).unwrap();
        for (ms, count) in [(1, 50), (2, 40), (10, 9), (100, 1)] {
            histogram.record_n(ms * 1_000_000, count).unwrap();
        }
        let points = of_histogram(&histogram);
        let shares: Vec<f64> = points.iter().map(|(_, share)| *share).collect();
        assert_eq!(shares, [0.0, 50.0, 90.0, 99.0, 100.0]);
        for ((ms, _), expected) in points.iter().zip([1.0, 1.0, 2.0, 10.0, 100.0]) {
            assert!(
                (ms - expected).abs() < expected * 0.01,
                "{ms} for {expected}"
            );
        }
        assert_eq!(cumulative(&[]), []);
    }

    #[test]
    fn a_long_distribution_keeps_its_body_and_its_tail_in_few_points() {
        let steps: Vec<(f64, u64)> = (1..=100_000).map(|n| (f64::from(n), n as u64)).collect();
        let points = cumulative(&steps);
        assert!(points.len() < 600, "{}", points.len());
        assert!(points.is_sorted_by(|one, other| one.0 <= other.0 && one.1 <= other.1));
        // The 99.9th percentile is still accurate to a twentieth of the tail.
        let (ms, _) = points.iter().find(|(_, share)| *share >= 99.9).unwrap();
        assert!((99_900.0..=99_910.0).contains(ms), "{ms}");
    }
}
