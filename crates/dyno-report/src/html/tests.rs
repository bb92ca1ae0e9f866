//! Pages of fictitious runs: what they must and must not contain.

mod several;
mod single;

use dyno_core::finding::{Outcome, Stall, Verdict};
use dyno_core::plan::{LoadSchedule, Scheduled};
use dyno_core::record::{EventKind, RunRecord, RunState, Source};
use dyno_core::reported::Better;
use dyno_core::states::SessionStates;
use dyno_core::summary::RunEnd;
use dyno_core::visible;
use dyno_samples::full::{self as samples, Shape, USUAL};
use dyno_samples::values::{event, figure, finding, machine};
use dyno_verdict::Comparison;
use serde_json::Value;

use super::hostile::{HOSTILE, hostile, hostile_costs};
use super::{Pivot, ReportInput, report};
#[cfg(feature = "browser")]
pub(super) use several::by_factors;
pub(super) use several::{Several, several};

/// Two minutes: a page's content does not depend on the length of a run.
pub(super) const SHORT: Shape = Shape {
    seconds: 120,
    warmup: 20,
    counters: 24,
    ..USUAL
};

/// The page of runs without comparisons.
pub(super) fn page_of(runs: &[RunRecord]) -> String {
    let sides: Vec<Vec<usize>> = (0..runs.len()).map(|run| vec![run]).collect();
    written(runs, &sides, &[], None)
}

fn written(
    runs: &[RunRecord],
    sides: &[Vec<usize>],
    compared: &[Result<Comparison, String>],
    pivot: Option<&Pivot>,
) -> String {
    let costs: Vec<_> = runs.iter().map(|_| samples::costs()).collect();
    report(&ReportInput {
        runs,
        costs: &costs,
        sides,
        compared,
        pivot,
        experiment: None,
        generated_unix_s: 1_795_266_134.0,
        title: "",
    })
}

/// A run with a changing load.
pub(super) fn scheduled() -> RunRecord {
    let mut run = samples::run(SHORT);
    let other = dyno_samples::summaries::scheduled();
    run.head.drive.clone_from(&other.drive);
    if let Some(summary) = &mut run.summary {
        summary.drive = other.drive;
        summary.parts = other.parts;
    }
    run
}

#[test]
fn the_headline_has_the_percentile_of_other_places() {
    let page = page_of(&[samples::run(SHORT)]);
    assert!(page.contains("<small>p95</small>"));
    assert!(page.contains("Throughput and p95 latency"));
}

#[test]
fn a_load_that_changed_has_its_parts_in_a_table_and_on_the_charts() {
    let page = page_of(&[scheduled()]);
    for text in [
        "Parts of the load",
        "sine 400/s..800/s every 5s",
        "Of 600 events per second that were due, 571 were served.",
        "not measured",
        "Dotted: the start of each part of the load",
        "arrivals at 100/s → 100/s..500/s",
    ] {
        assert!(page.contains(text), "no '{text}'");
    }
    assert!(page.contains(r#""parts":[{"at":10,"text":"2"},{"at":20,"text":"3"}"#));
    assert!(!page_of(&[samples::run(SHORT)]).contains("Parts of the load"));
    // Where a hundredth was requested, a hundredth is not a stall.
    let mut low = scheduled();
    let text = "1000/s for 60s, 10/s for 60s";
    let schedule = LoadSchedule::parse(text, Scheduled::Rate, None).unwrap();
    for interval in &mut low.intervals {
        let level = schedule.level(interval.at_s - interval.length_s / 2.0);
        interval.counters.events = (level * interval.length_s) as u64;
    }
    low.events.clear();
    let drive = low.head.drive.as_mut().unwrap();
    drive.schedule = Some(schedule);
    assert!(page_of(&[low.clone()]).contains(r#""stalls":[]"#));
    low.head.drive.as_mut().unwrap().schedule = None;
    assert!(!page_of(&[low]).contains(r#""stalls":[]"#));
}

/// A run that began, without further data.
pub(super) fn bare() -> RunRecord {
    RunRecord::new(
        samples::run(Shape {
            seconds: 5,
            warmup: 0,
            ..SHORT
        })
        .head,
    )
}

#[test]
fn a_host_test_shows_its_measurements() {
    let mut run = samples::run(SHORT);
    run.head.workload.name = "memory".to_owned();
    (run.head.target.url, run.head.target.product) = Default::default();
    let summary = run.summary.as_mut().unwrap();
    let about = "An event stores to each word of a block <of> 1 MiB.";
    summary.machine = Some(machine(about, "written", 43_937.25, "MiB/s"));
    let page = page_of(&[run]);
    for text in [
        "What was measured",
        "block &lt;of&gt; 1 MiB",
        "43,937 MiB/s",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(page.contains("<title>memory"), "the title names no server");
    let usual = page_of(&[samples::run(SHORT)]);
    assert!(!usual.contains("What was measured"));
}

#[test]
fn figures_of_the_workload_have_a_table() {
    let mut run = samples::run(SHORT);
    let name = "new <orders> committed";
    let orders = figure(name, 41_234.5, "per minute", Some(Better::Higher));
    run.summary.as_mut().unwrap().figures = vec![orders];
    let page = page_of(&[run]);
    let row = "<th scope=\"row\">new &lt;orders&gt; committed</th><td class=\"n\">41,235</td>\
               <td>per minute</td>";
    assert!(page.contains(row));
}

/// The input of the page's script.
fn data_of(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"data\">";
    let (_, rest) = page.split_once(start).unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

/// The page without its scripts and its style.
fn text_of(page: &str) -> String {
    let (_, body) = page.split_once("<body>").unwrap();
    let (text, _) = body
        .split_once("<script type=\"application/json\"")
        .unwrap();
    text.to_owned()
}

#[test]
fn the_first_screen_shows_load_verdict_and_figures() {
    let page = page_of(&[samples::run(SHORT)]);
    let text = text_of(&page);
    for part in [
        "oltp_read_write on MariaDB 10.11.6",
        "64 sessions on 4 workers",
        "<strong>doubtful</strong>",
        "5 of 6 checks ran: 2 doubts, 2 passed, 1 waived",
        "The server stood still 3 times",
        "Throughput",
        "812 µs",
        "kernel: nvme nvme0",
        "TLS is on",
    ] {
        assert!(text.contains(part), "{part}");
    }
}

#[test]
fn every_section_is_there_and_in_the_navigation() {
    let text = text_of(&page_of(&[samples::run(SHORT)]));
    for id in [
        "overview",
        "throughput",
        "latency",
        "distribution",
        "times",
        "costs",
        "shares",
        "errors",
        "cpu",
        "disks",
        "network",
        "memory",
        "generator",
        "database",
        "size",
        "findings",
        "plan",
        "environment",
        "configuration",
        "gaps",
    ] {
        assert!(text.contains(&format!("id=\"r1-{id}\"")), "{id}");
        assert!(text.contains(&format!("href=\"#r1-{id}\"")), "{id}");
    }
}

#[test]
fn every_chart_has_a_place_and_every_place_a_chart() {
    let several = several();
    let page = several.page();
    let (data, text) = (data_of(&page), text_of(&page));
    let charts = data["charts"].as_object().unwrap();
    assert!(charts.len() > 60);
    assert_eq!(text.matches("data-chart=").count(), charts.len());
    for (id, chart) in charts {
        assert!(text.contains(&format!("data-chart=\"{id}\"")), "{id}");
        let lines = chart["lines"].as_array().into_iter().flatten();
        for line in lines.filter(|line| line.get("x").is_some()) {
            let times = &data["times"][line["x"].as_u64().unwrap() as usize];
            let (x, y) = (times.as_array().unwrap(), line["y"].as_array().unwrap());
            assert_eq!(x.len(), y.len(), "{id}");
        }
    }
}

#[test]
fn sessions_that_were_lost_have_a_chart() {
    let mut run = samples::run(SHORT);
    assert!(!page_of(&[run.clone()]).contains("session-states"));
    let states = SessionStates {
        working: 14,
        connecting: 1,
        lost: 1,
        ..SessionStates::default()
    };
    run.intervals[40].states = Some(states);
    let page = page_of(&[run]);
    assert!(page.contains("session-states"));
    assert!(page.contains("State of the sessions at the end of each interval"));
}

#[test]
fn events_are_numbered_in_the_order_of_time() {
    let mut run = samples::run(SHORT);
    run.events = [(50.0, "second"), (9.0, "first")]
        .map(|(at_s, text)| event(at_s, None, EventKind::Note, text))
        .into();
    let page = page_of(&[run]);
    let text = text_of(&page);
    assert!(text.contains("<b>E1</b>0:09 note: first"));
    assert!(text.contains("the events E1 to E2, listed below"));
    assert_eq!(data_of(&page)["runs"][0]["events"][1]["text"], "second");
}

#[test]
fn the_event_of_a_stall_links_to_the_finding_with_its_causes() {
    let mut run = samples::run(SHORT);
    let ranges = [(30.0, 34.0), (50.0, 51.0)];
    run.events = ranges
        .map(|(from_s, to_s)| event(from_s, Some(to_s), EventKind::Stall, "No statement"))
        .into();
    let mut found = finding("stalls", 11, Outcome::Doubt, "1 stall of 4 s.");
    found.stalls = Some(vec![Stall {
        from_s: 29.999,
        to_s: 34.0,
        events_per_s: 0.0,
        level_per_s: 100.0,
    }]);
    run.findings = vec![found];
    let page = page_of(&[run]);
    let link = "No statement; for causes see <a href=\"#r1-finding-stalls\">stalls</a>";
    assert_eq!(page.matches(link).count(), 1);
    assert_eq!(page.matches("for causes see").count(), 1);
}

#[test]
fn factors_are_below_the_title_and_an_open_loop_shows_its_offered_rate() {
    let mut run = samples::run(Shape {
        open: true,
        ..SHORT
    });
    run.head.factors.insert("memory".into(), "<5G>".into());
    let page = page_of(&[run]);
    assert!(text_of(&page).contains("<li>memory <b>&lt;5G&gt;</b></li>"));
    let data = data_of(&page);
    let lines = data["charts"]["r1-over-time"]["lines"].as_array().unwrap();
    let offered = lines
        .iter()
        .find(|line| line["name"] == "offered/s")
        .unwrap();
    assert_eq!(offered["y"][0], offered["y"][1]);
    assert_eq!(offered["dash"], 1);
}

#[test]
fn ids_are_unique() {
    let several = several();
    let text = text_of(&several.page());
    let mut ids: Vec<&str> = text
        .split(" id=\"")
        .skip(1)
        .filter_map(|rest| rest.split('"').next())
        .collect();
    let count = ids.len();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), count);
}

#[test]
fn stalls_are_seconds_next_to_zero() {
    let mut run = samples::run(SHORT);
    for interval in &mut run.intervals {
        interval.counters.events = 1000;
        if matches!(interval.at_s as i64, 31 | 32 | 50) {
            interval.counters.events = 50;
        }
    }
    let data = data_of(&page_of(&[run]));
    let stalls = data["runs"][0]["stalls"].to_string();
    assert_eq!(stalls, "[[30,32],[49,50]]");
}

#[test]
fn missing_parts_are_explained() {
    let text = text_of(&page_of(&[bare()]));
    assert!(text.contains("This run has no recorded end"));
    assert!(text.contains("not judged"));
    assert!(!text.contains("data-chart="));
    // Each section but the first, including those without a chart, says why it is empty.
    assert!(text.matches("class=\"nothing\"").count() >= 19);
    assert!(text.contains("There is no chart over time"));
}

#[test]
fn runs_of_other_shapes_have_pages() {
    let mut imported = samples::run(SHORT);
    imported.state = RunState::Imported;
    imported.head.source = Source::Sysbench;
    imported.head.drive = None;
    imported.series.clear();
    imported.operations.clear();
    let text = text_of(&page_of(&[imported]));
    assert!(text.contains("imported from another tool"));

    let mut single = samples::run(Shape {
        seconds: 1,
        warmup: 0,
        span: 1,
        ..SHORT
    });
    single.verdict = Some(Verdict::Refused);
    assert!(text_of(&page_of(&[single])).contains("<strong>refused</strong>"));

    let mut idle = samples::run(SHORT);
    for interval in &mut idle.intervals {
        interval.counters.events = 0;
        interval
            .percentiles
            .iter_mut()
            .for_each(|p| p.value_ms = None);
    }
    if let Some(summary) = &mut idle.summary {
        summary.service = Default::default();
        summary.end = RunEnd::Failed("session 0: attempt to index a nil value".into());
    }
    let text = text_of(&page_of(&[idle]));
    assert!(text.contains("no event ended"));
    assert!(text.contains("attempt to index a nil value"));

    let open = samples::run(Shape {
        open: true,
        ..SHORT
    });
    let text = text_of(&page_of(&[open]));
    assert!(text.contains("Response time") && text.contains("pacing lag"));
    assert!(text.contains("Queue of the open loop"));

    assert!(page_of(&[]).contains("There are no runs to report."));
}

#[test]
fn hostile_text_stays_text() {
    let clean = several().page();
    let hostile = hostile(HOSTILE);
    let costs: Vec<_> = hostile
        .runs
        .iter()
        .map(|_| hostile_costs(HOSTILE))
        .collect();
    let page = report(&ReportInput {
        runs: &hostile.runs,
        costs: &costs,
        sides: &hostile.sides,
        compared: &hostile.compared,
        pivot: hostile.pivot.as_ref(),
        experiment: None,
        generated_unix_s: 0.0,
        title: HOSTILE,
    });
    let text = text_of(&page);
    if let Some(at) = text.find("<img") {
        panic!("not escaped after: {:?}", text[..at].lines().next_back());
    }
    assert!(!page.contains("alert(1)</script>") && !page.contains("<script>alert"));
    assert_eq!(
        page.matches("<script").count(),
        clean.matches("<script").count()
    );
    assert_eq!(page.matches("</script").count(), 3);
    assert!(!page.contains("<!--"));
    // The data is read as it was written.
    let data = data_of(&page);
    assert_eq!(data["runs"][0]["name"], *visible::text(HOSTILE));
    // Nothing in it controls, hides or reverses text.
    let steering = ['\u{1b}', '\u{7}', '\u{9b}', '\u{202e}', '\u{2066}'];
    assert!(!page.contains(steering));
    assert!(page.contains("&lt;/script&gt;&lt;script&gt;alert(1)"));
}

#[test]
fn a_heat_map_states_how_many_intervals_were_merged() {
    let heat_map = |seconds, span| {
        let page = page_of(&[samples::run(Shape {
            seconds,
            span,
            ..SHORT
        })]);
        let (_, figure) = page.split_once("Latencies as a heat map").unwrap();
        let (figure, _) = figure.split_once("</figure>").unwrap();
        let columns = &data_of(&page)["charts"]["r1-heat"]["of"][0][1]["columns"];
        (figure.to_owned(), columns.as_array().unwrap().len())
    };
    // Its intervals are a second long: unchanged, merged here, or merged when loaded.
    let (figure, columns) = heat_map(120, 1);
    assert!(figure.contains("spans of the run") && !figure.contains("merged"));
    assert_eq!(columns, 120);
    let (figure, columns) = heat_map(480, 1);
    assert!(figure.contains("merged into 240 columns of about 2"));
    assert_eq!(columns, 240);
    let (figure, columns) = heat_map(480, 30);
    assert!(figure.contains("merged into 16 columns of about 30"));
    assert_eq!(columns, 16);
}

#[test]
fn nothing_can_be_loaded() {
    let page = page_of(&[samples::run(SHORT)]);
    let (_, policy) = page
        .split_once("Content-Security-Policy\" content=\"")
        .unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'sha256-"));
    assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'));
    let text = text_of(&page);
    for loads in [
        "src=", "<link", "<iframe", "@import", "url(", " style=", " onclick",
    ] {
        assert!(!text.contains(loads), "{loads}");
    }
    assert!(!text.contains("href=\"http"));
}

#[test]
fn an_hour_fits_into_three_megabytes() {
    let hour = Shape {
        seconds: 3_600,
        warmup: 300,
        counters: 150,
        operations: 5,
        ..USUAL
    };
    let page = page_of(&[samples::run(hour)]);
    let megabytes = page.len() as f64 / 1e6;
    assert!(megabytes < 3.0, "{megabytes}");
    let data = data_of(&page);
    // An hour is drawn completely, except for its warm-up.
    let line = &data["charts"]["r1-over-time"]["lines"][0]["y"];
    assert!(line.as_array().unwrap().len() <= 3_600);
}
