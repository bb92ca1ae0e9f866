//! Charts of fictitious runs: what their files must and must not contain.

use dyno_core::record::RunRecord;
use dyno_samples::full::{self as samples, Shape};

use super::super::hostile::{HOSTILE, hostile};
use super::super::tests::{SHORT, Several, bare, scheduled, several};
use super::*;

fn charts_of(run: &RunRecord) -> Charts {
    Charts::of(&ReportInput {
        runs: std::slice::from_ref(run),
        costs: &[],
        sides: &[vec![0]],
        compared: &[],
        pivot: None,
        experiment: None,
        generated_unix_s: 0.0,
        title: "",
    })
}

fn charts_of_several(several: &Several) -> Charts {
    Charts::of(&ReportInput {
        runs: &several.runs,
        costs: &[],
        sides: &several.sides,
        compared: &several.compared,
        pivot: several.pivot.as_ref(),
        experiment: None,
        generated_unix_s: 0.0,
        title: "",
    })
}

/// Runs and pages of all shapes.
fn all() -> Vec<Charts> {
    let open = Shape {
        open: true,
        ..SHORT
    };
    let mut idle = samples::run(SHORT);
    for interval in &mut idle.intervals {
        interval.counters.events = 0;
        for percentile in &mut interval.percentiles {
            percentile.value_ms = None;
        }
    }
    let second = Shape {
        seconds: 1,
        warmup: 0,
        span: 1,
        ..SHORT
    };
    vec![
        charts_of(&samples::run(SHORT)),
        charts_of(&samples::run(open)),
        charts_of(&samples::run(second)),
        charts_of(&scheduled()),
        charts_of(&idle),
        charts_of_several(&several()),
    ]
}

/// Each chart's name and file.
fn files(charts: &Charts) -> Vec<(String, String)> {
    let names = charts.names().into_iter();
    names
        .map(|name| {
            let svg = charts.svg(&name).unwrap();
            (name, svg)
        })
        .collect()
}

#[test]
fn every_chart_of_the_page_is_well_formed_and_stays_in_its_plot() {
    for charts in all() {
        let files = files(&charts);
        assert!(files.len() > 5, "{}", files.len());
        for (name, svg) in files {
            check(&name, &svg);
            assert!(svg.len() < 600_000, "{name}: {}", svg.len());
        }
    }
}

#[test]
fn hostile_text_stays_text() {
    let hostile = hostile(HOSTILE);
    let single = charts_of(&hostile.runs[0]);
    for charts in [single, charts_of_several(&hostile)] {
        for (name, svg) in files(&charts) {
            check(&name, &svg);
            assert!(!svg.contains("<img") && !svg.contains("<!--"), "{name}");
            assert!(
                svg.contains("&lt;/script&gt;&lt;script&gt;alert(1)"),
                "{name}"
            );
            let steering = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}'];
            assert!(!svg.contains(steering), "{name}");
        }
    }
}

#[test]
fn charts_have_the_names_of_the_page() {
    let charts = charts_of(&samples::run(SHORT));
    let names = charts.names();
    assert_eq!(names[..2], ["over-time", "events"]);
    for name in [
        "percentiles",
        "heat",
        "heat:PAYMENT",
        "distribution",
        "cpu-states",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
    // The reader picks its lines.
    assert!(!names.iter().any(|name| name == "picked"));
    for name in [
        "picked",
        "throughput",
        "r1-heat",
        "heat:",
        "events:PAYMENT",
        "",
    ] {
        assert!(charts.svg(name).is_none(), "{name}");
    }
    assert_eq!(charts.svg("heat:event"), charts.svg("heat"));
    assert_ne!(charts.svg("heat:PAYMENT"), charts.svg("heat"));
    assert!(charts_of(&bare()).names().is_empty());
    let names = charts_of_several(&several()).names();
    for name in [
        "rate-overlay",
        "ecdf",
        "seconds",
        "throughput-by",
        "r2-over-time",
    ] {
        assert!(names.iter().any(|known| known == name), "{name}: {names:?}");
    }
}

#[test]
fn a_chart_has_its_title_and_its_run() {
    let mut run = samples::run(SHORT);
    for interval in &mut run.intervals[60..62] {
        interval.counters.events = 0;
    }
    let charts = charts_of(&run);
    let svg = charts.svg("over-time").unwrap();
    for text in [
        ">Throughput and p95 latency</text>",
        ">oltp_read_write on MariaDB 10.11.6 – doubtful · ",
        ">throughput, per second</text>",
        ">latency</text>",
        ">time, min:s</text>",
        ">tx/s</text>",
        ">warm-up</text>",
        ">stall</text>",
        ">Source: intervals of the run. Dyno ",
        "<desc>Each point is an interval.",
        "<title>E1, 0:48, disturbance: ALTER TABLE",
    ] {
        assert!(svg.contains(text), "no '{text}' in {svg}");
    }
    let svg = charts.svg("heat:PAYMENT").unwrap();
    assert!(svg.contains(">Latencies as a heat map: PAYMENT</text>"));
    assert!(svg.contains(">operations: "));
    let svg = charts.svg("distribution").unwrap();
    for text in [
        ">p99</text>",
        ">events in each bucket</text>",
        ">10 ms</text>",
    ] {
        assert!(svg.contains(text), "no '{text}' in {svg}");
    }
}

/// Checks the properties that every file must have.
fn check(name: &str, svg: &str) {
    assert!(
        svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""),
        "{name}"
    );
    assert!(svg.ends_with("</svg>\n"), "{name}");
    well_formed(name, svg);
    for forbidden in [
        "<script", "<style", " style=", "url(", "href", "@import", " on",
    ] {
        let tags = svg.split('<').filter_map(|tag| tag.split('>').next());
        for tag in tags {
            assert!(
                !format!("<{tag}").contains(forbidden),
                "{name}: {forbidden} in <{tag}>"
            );
        }
    }
    for tag in svg.split('<').filter_map(|tag| tag.split('>').next()) {
        assert!(
            !tag.contains("NaN") && !tag.contains("inf"),
            "{name}: <{tag}>"
        );
    }
    within_plot(name, svg);
}

/// Asserts that elements are balanced, attributes quoted, and text has no raw markup.
fn well_formed(name: &str, svg: &str) {
    let mut open: Vec<&str> = Vec::new();
    for part in svg.split('<').skip(1) {
        let (tag, text) = part.split_once('>').unwrap();
        for rest in text.split('&').skip(1).chain(tag.split('&').skip(1)) {
            let (entity, _) = rest.split_once(';').unwrap();
            let known = ["amp", "lt", "gt", "quot", "#39"];
            assert!(known.contains(&entity), "{name}: &{entity}");
        }
        if let Some(closed) = tag.strip_prefix('/') {
            assert_eq!(open.pop(), Some(closed), "{name}");
            continue;
        }
        assert_eq!(tag.matches('"').count() % 2, 0, "{name}: <{tag}>");
        let outside: String = tag.split('"').step_by(2).collect();
        let attributes = outside.matches('=').count();
        assert_eq!(tag.matches('"').count(), 2 * attributes, "{name}: <{tag}>");
        if !tag.ends_with('/') {
            open.push(tag.split(' ').next().unwrap());
        }
    }
    assert!(open.is_empty(), "{name}: {open:?}");
}

/// Asserts that all data is in the rectangle of the plot.
fn within_plot(name: &str, svg: &str) {
    const ROUNDING: f64 = 0.06;
    let (_, plot) = svg.split_once("<rect class=\"plot\"").unwrap();
    let [x, y, width, height] =
        ["x", "y", "width", "height"].map(|which| attribute(plot, which).parse::<f64>().unwrap());
    let across = x - ROUNDING..=x + width + ROUNDING;
    let down = y - ROUNDING..=y + height + ROUNDING;
    let (_, data) = svg.split_once("<g class=\"data\"").unwrap();
    let (data, _) = data.split_once("</g>").unwrap();
    let mut points = 0;
    for element in data.split('<').skip(1) {
        let (mut xs, mut ys) = (Vec::new(), Vec::new());
        match element.split(' ').next() {
            Some("circle") => {
                xs.push(attribute(element, "cx").parse::<f64>().unwrap());
                ys.push(attribute(element, "cy").parse::<f64>().unwrap());
            }
            Some("path") => (xs, ys) = coordinates(attribute(element, "d")),
            other => panic!("{name}: {other:?}"),
        }
        points += xs.len();
        assert!(xs.iter().all(|x| across.contains(x)), "{name}: {element}");
        assert!(ys.iter().all(|y| down.contains(y)), "{name}: {element}");
    }
    assert!(points > 0 || name.contains("percentiles"), "{name}");
}

fn attribute<'a>(element: &'a str, name: &str) -> &'a str {
    let (_, rest) = element.split_once(&format!(" {name}=\"")).unwrap();
    rest.split('"').next().unwrap()
}

/// The coordinates of a path with absolute commands.
fn coordinates(path: &str) -> (Vec<f64>, Vec<f64>) {
    let (mut xs, mut ys) = (Vec::new(), Vec::new());
    let mut rest = path;
    while let Some(command) = rest.chars().next() {
        let end = rest[1..].find(|c: char| c.is_ascii_alphabetic());
        let (own, tail) = rest.split_at(end.map_or(rest.len(), |end| end + 1));
        let numbers = own[1..].split(' ').filter(|number| !number.is_empty());
        let numbers: Vec<f64> = numbers.map(|number| number.parse().unwrap()).collect();
        match (command, numbers.as_slice()) {
            ('M' | 'L', [x, y]) => {
                xs.push(*x);
                ys.push(*y);
            }
            ('H', [x]) => xs.push(*x),
            ('V', [y]) => ys.push(*y),
            ('Z', []) => {}
            other => panic!("{other:?} in {path}"),
        }
        rest = tail;
    }
    (xs, ys)
}
