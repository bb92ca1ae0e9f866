//! The five headline figures.

use dyno_core::headline::{HEADLINE_PERCENT, headline_percent};
use dyno_core::summary::{LatencySummary, Percentile};
use dyno_core::text::counted;
use maud::{Markup, html};

use super::figures;
use super::markup::Text;
use super::run::View;
use crate::{document, number};

/// The five figures.
pub(super) fn of(view: &View<'_>) -> Markup {
    let all = [
        rate(view),
        latency(view),
        errors(view),
        cpu(view),
        stalls(view),
    ];
    html! {
        div class="headlines" { @for headline in &all { (one(headline)) } }
    }
}

/// A headline figure.
#[derive(Default)]
struct Headline<'a> {
    name: &'a str,
    /// Shown as a dash if it is empty.
    value: String,
    unit: String,
    detail: String,
    source: &'a str,
    alarm: bool,
}

fn one(headline: &Headline<'_>) -> Markup {
    let value = match headline.value.as_str() {
        "" => "–",
        value => value,
    };
    html! {
        div class={ "headline" @if headline.alarm { " alarm" } } {
            h3 { (Text(headline.name)) }
            p class="value" { (Text(value)) small { (Text(&headline.unit)) } }
            p class="detail" { (Text(&headline.detail)) }
            p class="source" { (Text(headline.source)) }
        }
    }
}

fn rate(view: &View<'_>) -> Headline<'static> {
    let rate = view.rate_per_s().map(figures::significant);
    let mut detail = Vec::new();
    if let Some(median) = view.median_per_s {
        detail.push(format!(
            "median of seconds {}",
            figures::significant(median)
        ));
    }
    if let Some(summary) = &view.run.summary {
        if let Some(queries) = summary.rates.queries_per_s {
            detail.push(format!("{} queries/s", figures::significant(queries)));
        }
        if let Some(open) = &summary.open_loop {
            detail.push(format!(
                "offered {}/s",
                figures::significant(open.offered_per_s)
            ));
        }
    }
    Headline {
        name: "Throughput",
        value: rate.unwrap_or_default(),
        unit: view.event().per_s().to_owned(),
        detail: detail.join(" · "),
        source: "summary: events that ended in the measurement / its length",
        ..Headline::default()
    }
}

fn latency(view: &View<'_>) -> Headline<'static> {
    let (name, source) = match view.is_open() {
        true => ("Response time", "scheduled to end"),
        false => ("Latency", "start to end of each event"),
    };
    let mut headline = Headline {
        name,
        source,
        ..Headline::default()
    };
    let Some(latency) = view.latency().filter(|latency| latency.count > 0) else {
        let summary = view.run.summary.as_ref();
        let ended = summary.is_some_and(|run| run.totals.events > 0);
        headline.detail = if ended { "not known" } else { "no event ended" }.to_owned();
        return headline;
    };
    let known = latency.percentiles.iter().filter(|p| p.value_ms.is_some());
    let most = headline_percent(known.map(|p| p.percent)).unwrap_or(HEADLINE_PERCENT);
    let carried = |p: &&Percentile| p.value_ms.is_some() && p.percent <= most;
    let best = latency.percentiles.iter().filter(carried);
    let best = best.max_by(|a, b| a.percent.total_cmp(&b.percent));
    let shown = match best {
        Some(p) => Some(format!("p{}", number::plain(p.percent))).zip(p.value_ms),
        None => Some("mean".to_owned()).zip(latency.mean_ms),
    };
    if let Some((unit, ms)) = shown {
        headline.value = number::latency(ms);
        headline.unit = unit;
    }
    headline.detail = spread(latency, best.map(|p| p.percent));
    headline
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
    if let Some(ms) = latency.max_ms {
        parts.push(format!("max {}", number::latency(ms)));
    }
    parts.join(" · ")
}

fn errors(view: &View<'_>) -> Headline<'static> {
    let mut headline = Headline {
        name: "Errors",
        source: "summary: errors by code; counters",
        ..Headline::default()
    };
    let Some(summary) = &view.run.summary else {
        let seen: u64 = view.measured().map(|interval| interval.errors_seen).sum();
        headline.value = number::thousands(seen);
        headline.detail = "of all codes, so far".to_owned();
        headline.source = "intervals";
        headline.alarm = seen > 0;
        return headline;
    };
    let seen = summary.errors_seen();
    let totals = &summary.totals;
    if seen == 0 && view.run.not_observed("errors").is_some() {
        headline.detail = "not known".to_owned();
        return headline;
    }
    let attempts = totals.attempts(seen);
    let mut detail = vec![match summary.errors.len() {
        0 if seen == 0 => "none".to_owned(),
        codes => counted(codes as u64, "code"),
    }];
    if totals.errors > 0 && attempts > 0 {
        let share = (totals.errors as f64 / attempts as f64).min(1.0);
        detail.push(format!("ignored: {} of attempts", figures::percent(share)));
    }
    if totals.not_done > 0 {
        let not_done = number::thousands(totals.not_done);
        detail.push(format!("{not_done} events not done"));
    }
    if totals.reconnects > 0 {
        detail.push(counted(totals.reconnects, "reconnect"));
    }
    headline.value = number::thousands(seen);
    headline.detail = detail.join(" · ");
    headline.alarm = seen > 0;
    headline
}

fn cpu<'a>(view: &View<'a>) -> Headline<'a> {
    let server = view.costs.iter().find(|cost| cost.name == "server CPU");
    let client = (view.run.summary.as_ref()).and_then(|summary| summary.client.as_ref());
    let mut detail = match client.map(|client| client.us_per_event) {
        Some(us) if us > 0.0 => format!("Dyno itself {}", figures::value(us, "us")),
        _ => "Dyno itself not known".to_owned(),
    };
    if let Some(what) = server.and_then(document::included) {
        detail = format!("with {what} · {detail}");
    }
    let value = server.and_then(|cost| Some(figures::value(cost.value?, &cost.unit)));
    Headline {
        name: "Server CPU per event",
        value: value.unwrap_or_default(),
        detail,
        source: server.map_or("the server's CPU was not observed", |cost| &cost.source),
        ..Headline::default()
    }
}

fn stalls(view: &View<'_>) -> Headline<'static> {
    let (value, detail) = match &view.stalls {
        Err(why) => (String::new(), why.to_string()),
        Ok(found) if found.stalls.is_empty() => ("0".to_owned(), "none".to_owned()),
        Ok(found) => {
            let detail = format!(
                "{} in all, {} of the time · longest {}",
                number::length(found.stalled_s()),
                found.share().map_or("–".to_owned(), figures::percent),
                number::length(found.longest_s())
            );
            (number::thousands(found.stalls.len() as u64), detail)
        }
    };
    Headline {
        name: "Stalls",
        value,
        detail,
        source: "silences, and seconds at ≤ 5 % of the level",
        alarm: !view.stall_spans().is_empty(),
        ..Headline::default()
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Cause;
    use dyno_samples::full;

    use crate::html::tests::SHORT;
    use crate::html::{ReportInput, report};

    #[test]
    fn the_work_of_other_clients_is_named_next_to_costs() {
        let mut costs = full::costs();
        costs[0].includes = Some(Cause::OtherClients);
        let page = report(&ReportInput {
            runs: &[full::run(SHORT)],
            costs: &[costs],
            sides: &[vec![0]],
            compared: &[],
            pivot: None,
            experiment: None,
            generated_unix_s: 0.0,
            title: "",
        });
        assert!(page.contains("with the work of other clients · Dyno itself"));
        assert!(page.contains(", with the work of other clients"));
    }
}
