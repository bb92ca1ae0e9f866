//! The parts of a load that changed over time.

use dyno_core::summary::PartSummary;

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::number;

/// Writes the section, if the load changed.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let parts = view.run.summary.as_ref().map_or(&[][..], |run| &run.parts);
    let Some(schedule) = view.schedule() else {
        return;
    };
    page.section(view, "parts", "Parts of the load");
    if parts.is_empty() {
        page.nothing("The run did not end, so its parts were not judged.");
        page.end_section();
        return;
    }
    put!(
        page,
        "<div class=\"panel\"><p>Asked for: {}.</p>",
        Text(&schedule.short())
    );
    let percents: Vec<f64> = parts
        .iter()
        .map(|part| &part.latency.percentiles)
        .max_by_key(|percentiles| percentiles.len())
        .map_or_else(Vec::new, |all| all.iter().map(|one| one.percent).collect());
    let mut head: Vec<String> = ["#no.", "part", "#time", "#offered /s", "#sessions"]
        .map(str::to_owned)
        .into();
    head.extend(["#events /s".to_owned(), "#mean".to_owned()]);
    let named = |percent: &f64| format!("#p{}", number::plain(*percent));
    head.extend(percents.iter().map(named));
    head.extend(["#max", "#errors", "verdict", "against"].map(str::to_owned));
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    page.table(&head);
    for (index, part) in parts.iter().enumerate() {
        row(page, index + 1, part, &percents);
    }
    page.end_table();
    evidence(page, parts);
    put!(
        page,
        "<p class=\"source\">Source: intervals of the run that are entirely within a part, each \
         part judged like a separate run. The run's verdict is the worst of its parts' and of the \
         checks of the whole.</p></div>\n"
    );
    page.end_section();
}

fn row(page: &mut Page, number: usize, part: &PartSummary, percents: &[f64]) {
    let measured = part.is_measured();
    let known = part.latency.count > 0;
    let ms = |value: Option<f64>| figures::maybe(value.filter(|_| known), "ms");
    let nothing = || "–".to_owned();
    let seconds = |s: f64| figures::value(s, "s");
    let mut cells = vec![
        format!("{} – {}", number::plain(part.from_s), seconds(part.to_s)),
        part.offered_per_s
            .map_or_else(nothing, figures::significant),
    ];
    match measured {
        true => cells.extend([
            number::thousands(part.sessions.into()),
            figures::significant(part.rates.events_per_s),
        ]),
        false => cells.extend([nothing(), nothing()]),
    }
    cells.push(ms(Some(part.latency.mean_ms)));
    for percent in percents {
        cells.push(ms(part.latency.percentile_ms(*percent)));
    }
    cells.push(ms(Some(part.latency.max_ms)));
    cells.push(match measured {
        true => number::thousands(part.totals.errors),
        false => nothing(),
    });
    put!(
        page,
        "<tr><td class=\"n\">{number}</td><th scope=\"row\">{}</th>",
        Text(&part.label)
    );
    for cell in cells {
        put!(page, "<td class=\"n\">{}</td>", Text(&cell));
    }
    let against = part.against.iter();
    let against: Vec<&str> = against.map(|against| against.check.as_str()).collect();
    put!(
        page,
        "<td>{}</td><td>{}</td></tr>",
        part.verdict_word(),
        Text(&against.join(", "))
    );
}

/// The findings against each part, in words.
fn evidence(page: &mut Page, parts: &[PartSummary]) {
    if parts.iter().all(|part| part.against.is_empty()) {
        return;
    }
    put!(
        page,
        "<details><summary>What speaks against them</summary><ul>"
    );
    for (index, part) in parts.iter().enumerate() {
        for against in &part.against {
            put!(
                page,
                "<li>{}, {}: <b>{}</b>: {}</li>",
                index + 1,
                Text(&part.label),
                Text(&against.check),
                Text(&against.evidence)
            );
        }
    }
    put!(page, "</ul></details>");
}
