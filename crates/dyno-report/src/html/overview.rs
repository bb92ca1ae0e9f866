//! The first screen: workload and target, verdict, headline figures, throughput and latency over
//! time.

use dyno_core::catalogue::names;
use dyno_core::finding::{Tally, Verdict};
use dyno_core::record::{RunState, Source};
use dyno_core::summary::RunEnd;
use dyno_core::unknown;

use super::findings::chip;
use super::headlines;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use super::throughput;
use super::time::{self, utc};
use crate::document::{self, Block};
use crate::number;
use crate::terminal::Ink;

/// Writes the first screen of a run.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let id = view.id("overview");
    put!(
        page,
        "<section class=\"overview\" id=\"{id}\" aria-labelledby=\"{id}-h\">"
    );
    page.entry(
        &id,
        &match view.label.as_str() {
            "" => "Overview".to_owned(),
            _ => view.entry(),
        },
    );
    headline(page, view, &id);
    state(page, view);
    verdict(page, view);
    headlines::write(page, view);
    throughput::over_time(page, view);
    happened(page, view);
    remarks(page, view);
    page.end_section();
}

fn headline(page: &mut Page, view: &View<'_>, id: &str) {
    let head = &view.run.head;
    let started = match &view.run.summary {
        Some(summary) => summary.started_unix_s,
        None => (head.source == Source::Dyno).then_some(head.created_unix_s),
    };
    let level = if view.label.is_empty() { "h1" } else { "h2" };
    put!(
        page,
        "<p class=\"eyebrow\">{}{} · run {} · {}</p>",
        view.badge(),
        Text(&head.name),
        view.run.id,
        started.map_or_else(|| "start not known".to_owned(), utc)
    );
    put!(
        page,
        "<{level} id=\"{id}-h\">{}</{level}>",
        Text(view.title())
    );
    put!(page, "<p class=\"lead\">{}</p>", Text(lead(view)));
    if !head.factors.is_empty() {
        put!(page, "<ul class=\"factors\" aria-label=\"Factors\">");
        for (name, level) in &head.factors {
            put!(page, "<li>{} <b>{}</b></li>", Text(name), Text(level));
        }
        put!(page, "</ul>");
    }
    if !head.note.is_empty() {
        put!(
            page,
            "<blockquote class=\"note\">{}</blockquote>",
            Text(&head.note)
        );
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
fn state(page: &mut Page, view: &View<'_>) {
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
        (RunState::Completed, _) => return,
    };
    put!(page, "<p class=\"banner\">{}</p>", Text(text));
}

fn verdict(page: &mut Page, view: &View<'_>) {
    let tally = Tally::of(&view.run.findings);
    let verdict = view.run.verdict;
    let sealed = verdict.filter(|verdict| *verdict != Verdict::Valid || !tally.is_thin());
    let words = |verdict| document::verdict_words(verdict, tally.is_thin());
    put!(
        page,
        "<div class=\"verdict {}\"><div \
            class=\"seal\">{}<div><strong>{}</strong><span>{}</span></div></div>",
        sealed.map_or("unjudged", Verdict::word),
        icon(sealed),
        verdict.map_or("not judged", words),
        Text(tally.words())
    );
    let mut against = document::against(&view.run.findings);
    against.retain(|finding| finding.waived.is_none());
    if against.is_empty() {
        let text = match view.run.verdict {
            None => "This run was not judged yet.",
            Some(_) if view.run.findings.iter().any(|f| f.waived.is_some()) => {
                "No finding casts doubt on these figures, except the waived ones."
            }
            Some(_) => "No finding casts doubt on these figures.",
        };
        put!(page, "<p class=\"against\">{text}</p></div>");
        return;
    }
    put!(page, "<ul class=\"against\">");
    for finding in against {
        put!(
            page,
            "<li>{} <a href=\"#{}-{}\">{}</a> {}</li>",
            chip(finding.outcome),
            view.id("finding"),
            super::markup::slug(&finding.check),
            Text(&finding.check),
            Text(&finding.evidence)
        );
    }
    put!(page, "</ul></div>");
}

/// A distinct shape for each verdict, for readers who do not see colours.
fn icon(verdict: Option<Verdict>) -> &'static str {
    match verdict {
        Some(Verdict::Valid) => {
            "<svg viewBox=\"0 0 40 40\" aria-hidden=\"true\"><circle cx=\"20\" cy=\"20\" \
                r=\"18\"/><path d=\"M12 21l6 6 11-13\"/></svg>"
        }
        Some(Verdict::Doubtful) => {
            "<svg viewBox=\"0 0 40 40\" aria-hidden=\"true\"><path class=\"body\" d=\"M20 3L38 \
                35H2Z\"/><path d=\"M20 15v9M20 29.5v.5\"/></svg>"
        }
        Some(Verdict::Refused) => {
            "<svg viewBox=\"0 0 40 40\" aria-hidden=\"true\"><path class=\"body\" d=\"M12.5 \
                2h15L38 12.500v15L27.500 38h-15L2 27.500v-15Z\"/><path d=\"M13.500 13.500l13 \
                13M26.500 13.500l-13 13\"/></svg>"
        }
        None => {
            "<svg viewBox=\"0 0 40 40\" aria-hidden=\"true\"><rect x=\"3\" y=\"3\" width=\"34\" \
                height=\"34\" rx=\"6\"/><path d=\"M12 20h16\"/></svg>"
        }
    }
}

/// The events that the charts mark by number.
fn happened(page: &mut Page, view: &View<'_>) {
    if view.run.events.is_empty() {
        return;
    }
    put!(page, "<ul class=\"happened\">");
    for (n, (kind, event)) in view.events().enumerate() {
        let until = event
            .until_s
            .map(|at_s| format!(" to {}", time::clock(at_s)));
        put!(
            page,
            "<li><b>E{}</b>{}{} {kind}: {}</li>",
            n + 1,
            time::clock(event.at_s),
            until.unwrap_or_default(),
            Text(&event.text)
        );
    }
    put!(page, "</ul>");
}

fn remarks(page: &mut Page, view: &View<'_>) {
    let Some(summary) = &view.run.summary else {
        return;
    };
    let mut rows = document::thresholds(summary);
    rows.extend(document::remarks(summary));
    if rows.is_empty() {
        return;
    }
    put!(page, "<ul class=\"remarks\">");
    for row in rows {
        if let Block::Row { label, ink, body } = row {
            let class = match ink {
                Ink::Warning | Ink::Error => "warning",
                _ => "limit",
            };
            put!(
                page,
                "<li class=\"{class}\"><b>{label}</b> {}</li>",
                Text(body)
            );
        }
    }
    put!(page, "</ul>");
}
