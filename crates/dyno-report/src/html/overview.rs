//! The first screen: workload and target, verdict, headline figures, throughput and latency over
//! time.

use dyno_core::catalogue::names;
use dyno_core::finding::{Finding, Stall, Tally, Verdict};
use dyno_core::record::{Event, EventKind, RunState, Source};
use dyno_core::summary::RunEnd;
use dyno_core::unknown;
use maud::{Markup, html};

use super::findings::{self, chip};
use super::headlines;
use super::markup::Text;
use super::page::Page;
use super::run::View;
use super::throughput;
use super::time::{self, utc};
use crate::document::{self, Block};
use crate::number;
use crate::terminal::Ink;

/// Writes the first screen of a run.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let id = view.id("overview");
    let entry = match view.label.as_str() {
        "" => "Overview".to_owned(),
        _ => view.entry(),
    };
    page.overview(&id, &entry);
    page.put(headline(view, &id));
    page.put(state(view));
    page.put(verdict(view));
    page.put(headlines::of(view));
    throughput::over_time(page, view);
    page.put(happened(view));
    page.put(remarks(view));
    page.end_section();
}

fn headline(view: &View<'_>, id: &str) -> Markup {
    let head = &view.run.head;
    let started = match &view.run.summary {
        Some(summary) => summary.started_unix_s,
        None => (head.source == Source::Dyno).then_some(head.created_unix_s),
    };
    let started = started.map_or_else(|| "start not known".to_owned(), utc);
    let (id, title) = (format!("{id}-h"), Text(view.title()));
    html! {
        p class="eyebrow" {
            (view.badge()) (Text(&head.name)) " · run " (view.run.id) " · " (started)
        }
        @if view.label.is_empty() {
            h1 id=(id) { (title) }
        } @else {
            h2 id=(id) { (title) }
        }
        p class="lead" { (Text(lead(view))) }
        @if !head.factors.is_empty() {
            ul class="factors" aria-label="Factors" {
                @for (name, level) in &head.factors {
                    li { (Text(name)) " " b { (Text(level)) } }
                }
            }
        }
        @if !head.note.is_empty() {
            blockquote class="note" { (Text(&head.note)) }
        }
    }
}

/// The drive and the host, in one line.
fn lead(view: &View<'_>) -> String {
    let head = &view.run.head;
    let mut parts = vec![head.target.url.clone()];
    if let Some(drive) = &head.drive {
        parts.push(document::load(drive, view.run.summary.as_ref()));
        if !drive.warmup.is_zero() {
            parts.push(format!(
                "{} warm-up",
                number::length(drive.warmup.as_secs_f64())
            ));
        }
    }
    let has_length = unknown::has_length(&view.run.not_observed);
    if let Some(summary) = view.run.summary.as_ref().filter(|_| has_length) {
        parts.push(format!("{} measured", number::length(summary.measured_s)));
    }
    if let Some(model) = view.run.fact(names::HOST_CPU_MODEL) {
        let threads = view.run.fact(names::HOST_CPU_THREADS);
        parts.push(threads.map_or(model.to_owned(), |n| format!("{n} × {model}")));
    }
    if head.source != Source::Dyno {
        parts.push(format!("imported from {}'s output", head.source.tool()));
    }
    parts.retain(|part| !part.is_empty());
    parts.join(" · ")
}

/// Why a run is incomplete.
fn state(view: &View<'_>) -> Markup {
    let end = view.run.summary.as_ref().map(|summary| &summary.end);
    let text = match (view.run.state, end) {
        (RunState::Running, _) => "This run has no recorded end: it is still running, or its \
                                   process died. The figures cover what was recorded so far."
            .to_owned(),
        (RunState::Interrupted, _) | (_, Some(RunEnd::Interrupted)) => {
            "This run was stopped by its user before its end.".to_owned()
        }
        (_, Some(RunEnd::Failed(why))) => format!("This run failed: {why}"),
        (RunState::Failed, _) => "This run failed; the figures cover what ran before.".to_owned(),
        (RunState::Imported, _) => "This run was imported from another tool's log, which contains \
                                    less than a Dyno run."
            .to_owned(),
        (RunState::Completed, _) => return Markup::default(),
    };
    html! { p class="banner" { (Text(text)) } }
}

fn verdict(view: &View<'_>) -> Markup {
    let tally = Tally::of(&view.run.findings);
    let verdict = view.run.verdict;
    let sealed = verdict.filter(|verdict| *verdict != Verdict::Valid || !tally.is_thin());
    let words = |verdict| document::verdict_words(verdict, tally.is_thin());
    let mut against = document::against(&view.run.findings);
    against.retain(|finding| finding.waived.is_none());
    let nothing = match verdict {
        None => "This run was not judged yet.",
        Some(_) if view.run.findings.iter().any(|f| f.waived.is_some()) => {
            "No finding casts doubt on these figures, except the waived ones."
        }
        Some(_) => "No finding casts doubt on these figures.",
    };
    html! {
        div class={ "verdict " (sealed.map_or("unjudged", Verdict::word)) } {
            div class="seal" {
                (icon(sealed))
                div {
                    strong { (verdict.map_or("not judged", words)) }
                    span { (Text(tally.words())) }
                }
            }
            @if against.is_empty() {
                p class="against" { (nothing) }
            } @else {
                ul class="against" {
                    @for finding in against {
                        li {
                            (chip(finding.outcome)) " " (findings::link(view, finding)) " "
                            (Text(&finding.evidence))
                        }
                    }
                }
            }
        }
    }
}

/// A distinct shape for each verdict, for readers who do not see colours.
fn icon(verdict: Option<Verdict>) -> Markup {
    html! {
        svg viewBox="0 0 40 40" aria-hidden="true" {
            @match verdict {
                Some(Verdict::Valid) => {
                    circle cx="20" cy="20" r="18" {}
                    path d="M12 21l6 6 11-13" {}
                }
                Some(Verdict::Doubtful) => {
                    path class="body" d="M20 3L38 35H2Z" {}
                    path d="M20 15v9M20 29.5v.5" {}
                }
                Some(Verdict::Refused) => {
                    path class="body" d="M12.5 2h15L38 12.500v15L27.500 38h-15L2 27.500v-15Z" {}
                    path d="M13.500 13.500l13 13M26.500 13.500l-13 13" {}
                }
                None => {
                    rect x="3" y="3" width="34" height="34" rx="6" {}
                    path d="M12 20h16" {}
                }
            }
        }
    }
}

/// The events that the charts mark by number.
fn happened(view: &View<'_>) -> Markup {
    if view.run.events.is_empty() {
        return Markup::default();
    }
    html! {
        ul class="happened" {
            @for (n, (kind, event)) in view.events().enumerate() {
                li {
                    b { "E" (n + 1) }
                    (time::span(event.at_s, event.until_s))
                    " " (kind) ": " (Text(&event.text))
                    @if let Some(finding) = of_stall(view, event) {
                        "; for causes see " (findings::link(view, finding))
                    }
                }
            }
        }
    }
}

/// The finding about a stall, which names its causes.
fn of_stall<'a>(view: &View<'a>, event: &Event) -> Option<&'a Finding> {
    let to_s = event.until_s.filter(|_| event.kind == EventKind::Stall)?;
    let overlaps = |stall: &Stall| stall.from_s < to_s && event.at_s < stall.to_s;
    let mut all = view.run.findings.iter();
    all.find(|finding| finding.stalls.iter().flatten().any(overlaps))
}

fn remarks(view: &View<'_>) -> Markup {
    let Some(summary) = &view.run.summary else {
        return Markup::default();
    };
    let mut rows = document::thresholds(summary);
    rows.extend(document::remarks(summary));
    if rows.is_empty() {
        return Markup::default();
    }
    let class = |ink: &Ink| match ink {
        Ink::Warning | Ink::Error => "warning",
        _ => "limit",
    };
    html! {
        ul class="remarks" {
            @for row in &rows {
                @if let Block::Row { label, ink, body } = row {
                    li class=(class(ink)) { b { (label) } " " (Text(body)) }
                }
            }
        }
    }
}
