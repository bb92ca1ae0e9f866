//! The distribution of latencies with its modes.

use std::collections::BTreeMap;

use dyno_core::summary::LatencySummary;
use dyno_stats::modes::{Modes, modes, regrid};
use hdrhistogram::Histogram;
use maud::{Markup, html};

use super::blocks;
use super::chart::{Chart, Choice, Compact, Distribution, Mode};
use super::figures;
use super::latency::whole;
use super::markup::Text;
use super::page::{Caption, Page};
use super::run::View;
use crate::number;

/// Logarithmic buckets per factor of ten.
const PER_DECADE: f64 = 32.0;
/// Linear buckets.
const LINEAR: usize = 120;
/// Linear buckets end at this share of the events.
const LINEAR_SHARE: f64 = 0.998;
const NS_PER_MS: f64 = 1e6;
/// Smaller modes are only in the table.
const MARKED_SHARE: f64 = 0.01;

/// A bucket in milliseconds.
type Bucket = dyno_stats::modes::Bucket;

/// A distribution with its modes.
struct Shape {
    name: String,
    chart: Distribution,
    modes: Vec<dyno_stats::modes::Mode>,
}

/// Writes the section on the distribution.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "distribution", "Distribution of latency");
    let shapes = shapes(view);
    if shapes.is_empty() {
        page.nothing("There is no distribution: no event finished, or none was recorded.");
        page.end_section();
        return;
    }
    let caption = Caption {
        id: "distribution",
        title: if view.is_open() {
            "Response times of the whole run"
        } else {
            "Latencies of the whole run"
        },
        about: "Number of events by latency. Dashed: percentiles. Solid: modes, each with its \
                share of the events (those below 1 % are only in the table).",
        source: "the run's total histogram; modes after smoothing by 1.5 buckets of 1.8 %",
        size: "tall",
    };
    let mut choices = Vec::new();
    let mut modes = Vec::new();
    for shape in shapes {
        choices.push((shape.name.clone(), shape.chart));
        modes.push((shape.name, shape.modes));
    }
    page.figure(view, &caption, Chart::Distribution(Choice { of: choices }));
    page.put(table(&modes));
    page.end_section();
}

fn shapes(view: &View<'_>) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = (view.run.operations.iter())
        .filter_map(|operation| of_histogram(&operation.name, &whole(operation)?))
        .collect();
    if shapes.is_empty() {
        shapes.extend(view.latency().and_then(of_summary));
    }
    shapes
}

fn of_histogram(name: &str, histogram: &Histogram<u64>) -> Option<Shape> {
    if histogram.is_empty() {
        return None;
    }
    let fine: Vec<Bucket> = (histogram.iter_recorded())
        .map(|value| {
            let high = value.value_iterated_to();
            Bucket {
                low: histogram.lowest_equivalent(high) as f64 / NS_PER_MS,
                high: histogram.next_non_equivalent(high) as f64 / NS_PER_MS,
                count: value.count_since_last_iteration(),
            }
        })
        .collect();
    let ms = |share: f64| histogram.value_at_quantile(share) as f64 / NS_PER_MS;
    let high = ms(LINEAR_SHARE).max(histogram.min() as f64 / NS_PER_MS) * 1.02;
    let step = (high / LINEAR as f64).max(1e-6);
    let percentiles = [50.0, 95.0, 99.0].map(|p| (format!("p{p}"), Compact(ms(p / 100.0))));
    let within: Vec<Bucket> = (fine.iter())
        .filter(|bucket| bucket.high <= high)
        .copied()
        .collect();
    let modes = modes(&regrid(&fine), &Modes::default());
    let chart = Distribution {
        logarithmic: rebin(
            &fine,
            |ms| (ms.max(1e-6).log10() * PER_DECADE).floor(),
            |n| 10_f64.powf(n / PER_DECADE),
        ),
        linear: rebin(&within, |ms| (ms / step).floor(), |n| n * step),
        modes: modes
            .iter()
            .filter(|mode| mode.share >= MARKED_SHARE)
            .map(marked)
            .collect(),
        percentiles: percentiles.to_vec(),
    };
    Some(Shape {
        name: name.to_owned(),
        chart,
        modes,
    })
}

/// The buckets of an imported log, unchanged.
fn of_summary(latency: &LatencySummary) -> Option<Shape> {
    if latency.buckets.is_empty() {
        return None;
    }
    let fine: Vec<Bucket> = (latency.buckets.iter())
        .map(|bucket| Bucket {
            low: bucket.from_ms,
            high: bucket.to_ms,
            count: bucket.count,
        })
        .collect();
    let flat = fine.iter().flat_map(|bucket| {
        [
            Compact(bucket.low),
            Compact(bucket.high),
            Compact(bucket.count as f64),
        ]
    });
    let modes = modes(&regrid(&fine), &Modes::default());
    let known = latency
        .percentiles
        .iter()
        .filter_map(|p| Some((p.percent, p.value_ms?)));
    let chart = Distribution {
        logarithmic: flat.clone().collect(),
        linear: flat.collect(),
        modes: modes
            .iter()
            .filter(|mode| mode.share >= MARKED_SHARE)
            .map(marked)
            .collect(),
        percentiles: known
            .map(|(p, ms)| (format!("p{}", number::plain(p)), Compact(ms)))
            .collect(),
    };
    Some(Shape {
        name: "event".to_owned(),
        chart,
        modes,
    })
}

/// Counts in other buckets, as triples of from, to and count. A bucket's events are spread evenly
/// over it, so that different bounds do not cause false dents.
fn rebin(fine: &[Bucket], number: impl Fn(f64) -> f64, bound: impl Fn(f64) -> f64) -> Vec<Compact> {
    let mut sums: BTreeMap<i64, f64> = BTreeMap::new();
    for bucket in fine {
        let (first, last) = (number(bucket.low), number(bucket.high));
        let width = bucket.high - bucket.low;
        let mut n = first;
        while n <= last {
            let inside = bucket.high.min(bound(n + 1.0)) - bucket.low.max(bound(n));
            let share = if first == last || width <= 0.0 {
                1.0
            } else {
                inside / width
            };
            *sums.entry(n as i64).or_default() += bucket.count as f64 * share.max(0.0);
            n += 1.0;
        }
    }
    sums.iter()
        .filter(|(_, count)| **count >= 0.5)
        .flat_map(|(n, count)| {
            let n = *n as f64;
            [bound(n), bound(n + 1.0), count.round()].map(Compact)
        })
        .collect()
}

fn marked(mode: &dyno_stats::modes::Mode) -> Mode {
    Mode {
        name: format!(
            "{} · {}",
            number::latency(mode.at),
            figures::percent(mode.share)
        ),
        at_ms: Compact(mode.at),
        from_ms: Compact(mode.from),
        to_ms: Compact(mode.to),
    }
}

fn table(modes: &[(String, Vec<dyno_stats::modes::Mode>)]) -> Markup {
    let rows = html! {
        @for (name, modes) in modes {
            @if modes.is_empty() {
                tr {
                    td { (Text(name)) }
                    td class="why" colspan="5" { "no mode of at least 50 events" }
                }
            }
            @for mode in modes {
                tr {
                    td { (Text(name)) }
                    td class="n" { (number::latency(mode.at)) }
                    td class="n" { (number::latency(mode.from)) }
                    td class="n" { (number::latency(mode.to)) }
                    td class="n" { (number::thousands(mode.count)) }
                    td class="n" { (figures::percent(mode.share)) }
                }
            }
        }
    };
    let columns = ["operation", "#peak", "#from", "#to", "#events", "#share"];
    html! {
        div class="panel" {
            h3 { "Modes" }
            (blocks::table(&columns, &rows))
            p class="source" {
                "A mode rises at least 0.15 decades above its neighbouring valleys. Several modes \
                 often mean several paths: from a cache, from memory, from a disk, after a lock. \
                 Source: total histograms of the operations."
            }
        }
        "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_keep_their_number_and_place() {
        let bucket = |low, high, count| Bucket { low, high, count };
        let fine = [
            bucket(0.0, 1.0, 10),
            bucket(1.0, 3.0, 40),
            bucket(5.0, 5.5, 7),
        ];
        let flat = rebin(&fine, |ms| (ms / 2.0).floor(), |n| n * 2.0);
        let flat: Vec<f64> = flat.iter().map(|value| value.0).collect();
        assert_eq!(flat, [0.0, 2.0, 30.0, 2.0, 4.0, 20.0, 4.0, 6.0, 7.0]);
    }
}
