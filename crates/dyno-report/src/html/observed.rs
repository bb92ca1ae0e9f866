//! Charts of observed series, in declarative form.

use dyno_core::record::Series;
use maud::html;

use super::chart::{Axis, Chart, Line, Look, Time};
use super::page::{Caption, Page, source_note};
use super::run::View;
use super::thin::{Keep, Thin, thin};

/// The most points of an observed line.
const POINTS_MAX: usize = 720;

/// A chart of named series.
pub(super) struct Plot<'a> {
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    pub(super) about: &'a str,
    /// The axis's name; its unit is the first series'.
    pub(super) axis: &'a str,
    /// What the names of the series begin with, such as `server.`; may be empty.
    pub(super) prefix: &'a str,
    /// Name of the series after it, name in the legend, index of the colour.
    pub(super) lines: &'a [(&'a str, &'a str, usize)],
    /// Whether they add up to a whole.
    pub(super) stacked: bool,
    /// The upper end of the axis.
    pub(super) max: Option<f64>,
    pub(super) size: &'a str,
}

/// An empty plot.
pub(super) const PLAIN: Plot<'_> = Plot {
    id: "",
    title: "",
    about: "",
    axis: "",
    prefix: "",
    lines: &[],
    stacked: false,
    max: None,
    size: "",
};

/// Two charts side by side if there is room.
pub(super) fn pair(page: &mut Page, view: &View<'_>, left: &Plot<'_>, right: &Plot<'_>) {
    let charts = page.within(|page| {
        plot(page, view, left);
        plot(page, view, right);
    });
    page.put(html! { div class="pair" { (charts) } });
}

/// Draws the existing series, or says why they are missing. Returns whether there was one.
pub(super) fn plot(page: &mut Page, view: &View<'_>, plot: &Plot<'_>) -> bool {
    let whole = |name: &str| format!("{}{name}", plot.prefix);
    let found: Vec<(&Series, &str, usize)> = (plot.lines.iter())
        .filter_map(|(name, legend, colour)| {
            let series = view.run.series(&whole(name))?;
            (!series.points.is_empty()).then_some((series, *legend, *colour))
        })
        .collect();
    let Some((first, ..)) = found.first() else {
        let what = plot.lines.first().map_or("", |(name, ..)| name);
        page.nothing(&format!("{}. {}", plot.title, view.why_not(&whole(what))));
        return false;
    };
    let keep = if plot.stacked {
        Keep::Mean
    } else {
        Keep::Extremes
    };
    let look = if plot.stacked {
        Look::Stack
    } else {
        Look::Line
    };
    let mut axis = Axis::new(plot.axis, &first.key.unit);
    axis.max = plot.max;
    let points_max = view.points(POINTS_MAX);
    let mut note = None;
    let mut lines = Vec::new();
    for (series, legend, colour) in &found {
        let (thin, line) = line(page, series, (legend, *colour), look, (keep, points_max));
        lines.push(line);
        note.get_or_insert(thin);
    }
    let mut sources: Vec<String> = Vec::new();
    for (series, ..) in &found {
        let source = format!("({})", series.key.source);
        match sources.last_mut() {
            Some(last) if last.ends_with(&source) => {
                let at = last.len() - source.len() - 1;
                last.insert_str(at, &format!(", {}", series.key.name));
            }
            _ => sources.push(format!("{} {source}", series.key.name)),
        }
    }
    let sources = sources.join("; ");
    let source = note.map_or(sources.clone(), |thin| source_note(&sources, &thin, keep));
    let caption = Caption {
        id: plot.id,
        title: plot.title,
        about: plot.about,
        source: &source,
        size: plot.size,
    };
    let time = Time {
        run: view.index,
        axes: vec![axis],
        lines,
        slider: false,
    };
    page.figure(view, &caption, Chart::Time(time));
    true
}

fn line(
    page: &mut Page,
    series: &Series,
    (legend, colour): (&str, usize),
    look: Look,
    (keep, points_max): (Keep, usize),
) -> (Thin, Line) {
    let thin = thin(&series.points, points_max, keep);
    let line = page.line(legend, 0, &thin, look, colour);
    (thin, line)
}

/// The names of the devices with series `prefix[DEVICE].…`, in order, without idle devices.
pub(super) fn devices(view: &View<'_>, prefix: &str) -> Vec<String> {
    let mut devices: Vec<String> = Vec::new();
    for series in &view.run.series {
        let rest = series.key.name.strip_prefix(prefix);
        let device = rest.and_then(|rest| rest.strip_prefix('['));
        let Some((device, _)) = device.and_then(|device| device.split_once(']')) else {
            continue;
        };
        let busy = series.points.iter().any(|(_, value)| *value != 0.0);
        if busy && !devices.iter().any(|known| known == device) {
            devices.push(device.to_owned());
        }
    }
    devices
}
