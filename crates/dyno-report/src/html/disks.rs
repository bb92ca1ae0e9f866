//! The disks that were observed.

use dyno_core::catalogue::names;
use maud::html;

use super::markup::slug;
use super::observed::{PLAIN, Plot, devices, plot};
use super::page::Page;
use super::run::View;

/// A chart of one disk.
struct Chart {
    id: &'static str,
    title: &'static str,
    about: &'static str,
    axis: &'static str,
    /// The suffix of a series' name, its name in the legend, the index of its colour.
    lines: &'static [(&'static str, &'static str, usize)],
    max: Option<f64>,
}

const CHARTS: [Chart; 4] = [
    Chart {
        id: "bytes",
        title: "bytes",
        about: "Bytes read and written.",
        axis: "bytes",
        lines: &[("read_bytes", "read", 0), ("write_bytes", "written", 1)],
        max: None,
    },
    Chart {
        id: "requests",
        title: "requests",
        about: "Requests completed.",
        axis: "requests",
        lines: &[("reads", "reads", 0), ("writes", "writes", 1)],
        max: None,
    },
    Chart {
        id: "await",
        title: "time per request",
        about: "Mean time of a request, including its wait in the queue.",
        axis: "time",
        lines: &[("read_await", "read", 0), ("write_await", "write", 1)],
        max: None,
    },
    Chart {
        id: "queue",
        title: "queue",
        about: "Requests queued or in flight, on average.",
        axis: "requests",
        lines: &[("queue", "queue", 5)],
        max: None,
    },
];

const UTILISATION: Chart = Chart {
    id: "utilisation",
    title: "utilisation",
    about: "Share of the time with a request in flight. A disk that serves many requests at once \
            is not saturated at 100 %.",
    axis: "share of the time",
    lines: &[("utilisation", "utilisation", 3)],
    max: Some(100.0),
};

/// Writes the section on disks.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    page.section(view, "disks", "Disks");
    let disks = devices(view, names::HOST_DISK);
    if disks.is_empty() {
        page.nothing(&match view.observes(names::HOST_DISK) {
            true => "No disk read or wrote anything.".to_owned(),
            false => view.why_not(names::HOST_DISK),
        });
    }
    each(page, view, "");
    page.end_section();
}

/// Draws the host's disks with series of this prefix.
pub(super) fn each(page: &mut Page, view: &View<'_>, prefix: &str) {
    for disk in devices(view, &format!("{prefix}host.disk")) {
        for two in CHARTS.chunks(2) {
            let charts = page.within(|page| {
                for chart in two {
                    draw(page, view, (prefix, &disk), chart);
                }
            });
            page.put(html! { div class="pair" { (charts) } });
        }
        draw(page, view, (prefix, &disk), &UTILISATION);
    }
}

fn draw(page: &mut Page, view: &View<'_>, (prefix, disk): (&str, &str), chart: &Chart) {
    let name = |end: &str| format!("{prefix}host.disk[{disk}].{end}");
    let names: Vec<String> = chart.lines.iter().map(|(end, ..)| name(end)).collect();
    let named = names.iter().zip(chart.lines);
    let lines: Vec<(&str, &str, usize)> = named
        .map(|(name, (_, legend, colour))| (name.as_str(), *legend, *colour))
        .collect();
    let wanted = Plot {
        id: &format!("disk-{}-{}", slug(&format!("{prefix}{disk}")), chart.id),
        title: &format!("{disk}: {}", chart.title),
        about: chart.about,
        axis: chart.axis,
        lines: &lines,
        max: chart.max,
        size: "short",
        ..PLAIN
    };
    plot(page, view, &wanted);
}
