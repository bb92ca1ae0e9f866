//! The five headline figures.

use dyno_core::summary::{LatencySummary, Percentile};
use dyno_core::text::counted;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::number;

/// Writes the five figures.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    put!(page, "<div class=\"headlines\">");
    rate(page, view);
    latency(page, view);
    errors(page, view);
    cpu(page, view);
    stalls(page, view);
    put!(page, "</div>");
}

/// A headline figure.
struct Headline<'a> {
    name: &'a str,
    value: String,
    unit: &'a str,
    detail: String,
    source: &'a str,
    alarm: bool,
}

fn draw(page: &mut Page, headline: &Headline<'_>) {
    let alarm = if headline.alarm { " alarm" } else { "" };
    put!(
        page,
        "<div class=\"headline{alarm}\"><h3>{}</h3><p class=\"value\">{}<small>{}</small></p><p \
            class=\"detail\">{}</p><p class=\"source\">{}</p></div>",
        Text(headline.name),
        Text(&headline.value),
        Text(headline.unit),
        Text(&headline.detail),
        Text(headline.source)
    );
}

fn rate(page: &mut Page, view: &View<'_>) {
    let (name, source) = (
        "Throughput",
        "summary: events that ended in the measurement / its length",
    );
    let value = view
        .rate_per_s()
        .map_or("–".to_owned(), figures::significant);
    let mut detail = Vec::new();
    if let Some(median) = view.median_per_s {
        detail.push(format!(
            "median of seconds {}",
            figures::significant(median)
        ));
    }
    if let Some(summary) = &view.run.summary {
        let queries = summary.rates.queries_per_s;
        if queries > 0.0 || view.run.not_observed("counters.queries").is_none() {
            detail.push(format!("{} queries/s", figures::significant(queries)));
        }
        if let Some(open) = &summary.open_loop {
            detail.push(format!(
                "offered {}/s",
                figures::significant(open.offered_per_s)
            ));
        }
    }
    let detail = detail.join(" · ");
    draw(
        page,
        &Headline {
            name,
            value,
            unit: "events/s",
            detail,
            source,
            alarm: false,
        },
    );
}

fn latency(page: &mut Page, view: &View<'_>) {
    let name = if view.is_open() {
        "Response time"
    } else {
        "Latency"
    };
    let source = if view.is_open() {
        "scheduled to end"
    } else {
        "start to end of each event"
    };
    let Some(latency) = view.latency().filter(|latency| latency.count > 0) else {
        let ended = view
            .run
            .summary
            .as_ref()
            .is_some_and(|run| run.totals.events > 0);
        let detail = if ended { "not known" } else { "no event ended" }.to_owned();
        draw(
            page,
            &Headline {
                name,
                value: "–".into(),
                unit: "",
                detail,
                source,
                alarm: false,
            },
        );
        return;
    };
    // The largest percentile up to the headline's that has enough samples.
    let carried = |p: &&Percentile| p.value_ms.is_some();
    let headline = view.headline_percent().unwrap_or(99.0);
    let best = latency
        .percentiles
        .iter()
        .filter(carried)
        .filter(|p| p.percent <= headline);
    let best = best.max_by(|a, b| a.percent.total_cmp(&b.percent));
    let (unit, ms) = match best {
        Some(p) => (
            format!("p{}", number::plain(p.percent)),
            p.value_ms.unwrap_or(f64::NAN),
        ),
        None => ("mean".to_owned(), latency.mean_ms),
    };
    let value = number::latency(ms);
    let detail = spread(latency, best.map(|p| p.percent));
    draw(
        page,
        &Headline {
            name,
            value,
            unit: &unit,
            detail,
            source,
            alarm: false,
        },
    );
}

fn spread(latency: &LatencySummary, but: Option<f64>) -> String {
    let mut parts: Vec<String> = (latency.percentiles.iter())
        .filter(|p| Some(p.percent) != but)
        .map(|p| {
            let value = p
                .value_ms
                .map_or("too few samples".to_owned(), number::latency);
            format!("p{} {value}", number::plain(p.percent))
        })
        .collect();
    if let Some(ms) = latency.longest_ms() {
        parts.push(format!("max {}", number::latency(ms)));
    }
    parts.join(" · ")
}

fn errors(page: &mut Page, view: &View<'_>) {
    let (name, source) = ("Errors", "summary: errors by code; counters");
    let Some(summary) = &view.run.summary else {
        let seen: u64 = view.measured().map(|interval| interval.errors_seen).sum();
        let detail = "of all codes, so far".to_owned();
        let value = number::thousands(seen);
        let source = "intervals";
        draw(
            page,
            &Headline {
                name,
                value,
                unit: "",
                detail,
                source,
                alarm: seen > 0,
            },
        );
        return;
    };
    let seen = summary.errors_seen();
    let totals = &summary.totals;
    if seen == 0 && view.run.not_observed("errors").is_some() {
        draw(
            page,
            &Headline {
                name,
                value: "–".into(),
                unit: "",
                detail: "not known".into(),
                source,
                alarm: false,
            },
        );
        return;
    }
    let attempts = totals.attempts(seen);
    let mut detail = vec![match summary.errors.len() {
        0 if seen == 0 => "none".to_owned(),
        codes => counted(codes as u64, "code"),
    }];
    if summary.totals.errors > 0 && attempts > 0 {
        let share = (totals.errors as f64 / attempts as f64).min(1.0);
        detail.push(format!("ignored: {} of attempts", figures::percent(share)));
    }
    if summary.totals.not_done > 0 {
        let not_done = number::thousands(summary.totals.not_done);
        detail.push(format!("{not_done} events not done"));
    }
    if summary.totals.reconnects > 0 {
        detail.push(counted(summary.totals.reconnects, "reconnect"));
    }
    let (value, detail) = (number::thousands(seen), detail.join(" · "));
    draw(
        page,
        &Headline {
            name,
            value,
            unit: "",
            detail,
            source,
            alarm: seen > 0,
        },
    );
}

fn cpu(page: &mut Page, view: &View<'_>) {
    let name = "Server CPU per event";
    let server = view.costs.iter().find(|cost| cost.name == "server CPU");
    let client = view
        .run
        .summary
        .as_ref()
        .and_then(|summary| Some(summary.client.as_ref()?.us_per_event));
    let client = match client {
        Some(us) if us > 0.0 => format!("Dyno itself {}", figures::value(us, "us")),
        _ => "Dyno itself not known".to_owned(),
    };
    match server.map(|cost| (cost, cost.value)) {
        Some((cost, Some(value))) => {
            let value = figures::value(value, &cost.unit);
            let source = cost.source.as_str();
            draw(
                page,
                &Headline {
                    name,
                    value,
                    unit: "",
                    detail: client,
                    source,
                    alarm: false,
                },
            );
        }
        other => {
            let why = other.map_or("the server's CPU was not observed", |(cost, _)| {
                &cost.source
            });
            draw(
                page,
                &Headline {
                    name,
                    value: "–".into(),
                    unit: "",
                    detail: client,
                    source: why,
                    alarm: false,
                },
            );
        }
    }
}

fn stalls(page: &mut Page, view: &View<'_>) {
    let name = "Stalls";
    let source = "silences, and seconds at ≤ 5 % of the level";
    let (value, unit, detail) = match &view.stalls {
        Err(why) => ("–".to_owned(), "", why.to_string()),
        Ok(found) if found.stalls.is_empty() => ("0".to_owned(), "", "none".to_owned()),
        Ok(found) => {
            let detail = format!(
                "{} in all, {} of the time · longest {}",
                number::length(found.stalled_s()),
                found.share().map_or("–".to_owned(), figures::percent),
                number::length(found.longest_s())
            );
            (number::thousands(found.stalls.len() as u64), "", detail)
        }
    };
    let alarm = !view.stall_spans().is_empty();
    draw(
        page,
        &Headline {
            name,
            value,
            unit,
            detail,
            source,
            alarm,
        },
    );
}
