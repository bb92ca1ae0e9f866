//! The states of sessions in the server, from its list of sessions.

use dyno_core::catalogue::names;
use dyno_core::record::Series;
use maud::html;

use super::chart::{Axis, Chart, Look, Time};
use super::findings;
use super::markup::Text;
use super::page::{Caption, Page, source_note};
use super::run::View;
use super::thin::{Keep, thin};
use crate::document;

/// The most points of a line.
const POINTS_MAX: usize = 720;
/// The most states with their own colours.
const STATES_MAX: usize = 7;
/// The checks that name the sessions' waits.
const CHECKS: [&str; 2] = ["stalls", "steady-state"];

/// Writes the section; nothing if the server has no list of sessions.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let states = states(view);
    if states.is_empty() {
        return;
    }
    page.section(view, "waits", "What sessions waited for");
    let mut stalled = document::against(&view.run.findings);
    stalled.retain(|finding| CHECKS.contains(&finding.check.as_str()));
    for finding in stalled {
        page.put(html! {
            p class="banner" { (findings::link(view, finding)) " " (Text(&finding.evidence)) }
        });
    }
    draw(page, view, &states);
    page.end_section();
}

/// The states in which a session was ever seen, the most frequent first.
fn states<'a>(view: &View<'a>) -> Vec<(&'a str, &'a Series)> {
    let named = view.run.series.iter().filter_map(|series| {
        let state = names::DB_SESSIONS_EACH.part(&series.key.name)?;
        Some((state, series))
    });
    let sum = |series: &Series| series.points.iter().map(|(_, count)| count).sum::<f64>();
    let mut states: Vec<_> = named.filter(|(_, series)| sum(series) > 0.0).collect();
    states.sort_by(|one, other| sum(other.1).total_cmp(&sum(one.1)));
    states
}

fn draw(page: &mut Page, view: &View<'_>, states: &[(&str, &Series)]) {
    let (shown, rest) = states.split_at(states.len().min(STATES_MAX));
    let mut lines = Vec::new();
    let mut note = String::new();
    for (colour, (state, series)) in shown.iter().enumerate() {
        let points = thin(&series.points, view.points(POINTS_MAX), Keep::Mean);
        let source = format!("the server's list of sessions ({})", series.key.source);
        note = source_note(&source, &points, Keep::Mean);
        // Grey is for the rest.
        let colour = if colour >= 6 { 7 } else { colour };
        lines.push(page.line(&word(state), 0, &points, Look::Stack, colour));
    }
    if !rest.is_empty() {
        let points = thin(&summed(rest), view.points(POINTS_MAX), Keep::Mean);
        let name = format!("{} other states", rest.len());
        lines.push(page.line(&name, 0, &points, Look::Stack, 6));
    }
    let caption = Caption {
        id: "waits",
        title: "Sessions in the server by state",
        about: "Active sessions at each sample, stacked by the state that the server reports. If \
                throughput falls while one colour grows, the sessions waited for that.",
        source: &note,
        size: "",
    };
    let time = Time {
        run: view.index,
        axes: vec![Axis::new("sessions", "count")],
        lines,
        slider: false,
    };
    page.figure(view, &caption, Chart::Time(time));
}

/// The sum of the counts of several states, which were sampled at the same times.
fn summed(states: &[(&str, &Series)]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, f64)> = Vec::new();
    for (_, series) in states {
        for (at_s, count) in &series.points {
            match all.binary_search_by(|(known, _)| known.total_cmp(at_s)) {
                Ok(place) => all[place].1 += count,
                Err(place) => all.insert(place, (*at_s, *count)),
            }
        }
    }
    all
}

/// A state in words.
fn word(state: &str) -> String {
    match state {
        "no_wait" => "at work".to_owned(),
        "lwlock" => "lock within the server".to_owned(),
        "io" => "reads and writes".to_owned(),
        "ipc" => "other processes".to_owned(),
        state => state.replace('_', " "),
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::record::SeriesKind;
    use dyno_samples::{full as samples, values};

    use super::super::tests::{SHORT, page_of};
    use super::*;

    fn state(name: &str, points: &[(f64, f64)]) -> Series {
        let name = names::DB_SESSIONS_EACH.of(name);
        values::series(&name, "count", SeriesKind::Gauge, points)
    }

    #[test]
    fn states_are_stacked_next_to_the_finding_that_names_them() {
        let mut run = samples::run(SHORT);
        assert!(!page_of(&[run.clone()]).contains("r1-waits"));
        run.series
            .push(state("updating", &[(1.0, 3.0), (2.0, 1.0)]));
        run.series.push(state("never", &[(1.0, 0.0), (2.0, 0.0)]));
        run.series
            .push(state("waiting_for_lock", &[(1.0, 9.0), (2.0, 9.0)]));
        let page = page_of(&[run.clone()]);
        assert!(page.contains("What sessions waited for"));
        let lock = page.find("\"waiting for lock\"").unwrap();
        assert!(lock < page.find("\"updating\"").unwrap(), "the most first");
        assert!(!page.contains("\"never\""));
        let against = document::against(&run.findings);
        let stalled = against.iter().any(|one| CHECKS.contains(&&*one.check));
        assert_eq!(
            page.contains("<p class=\"banner\"><a href=\"#r1-finding-"),
            stalled
        );
    }

    #[test]
    fn the_remaining_states_share_one_colour() {
        let (one, other) = (
            state("a", &[(1.0, 1.0), (2.0, 2.0)]),
            state("b", &[(2.0, 5.0)]),
        );
        assert_eq!(
            summed(&[("a", &one), ("b", &other)]),
            [(1.0, 1.0), (2.0, 7.0)]
        );
    }
}
