//! The script's operations, and the ledger.

use dyno_core::reported::Figure;
use dyno_core::summary::{LedgerEntry, OperationSummary, RoleSummary};

use super::figures;
use super::markup::Text;
use super::page::{Page, put};
use super::run::View;
use crate::number;

/// Writes the section, if the script has operations.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let Some(summary) = &view.run.summary else {
        return;
    };
    let named =
        !summary.operations.is_empty() || !summary.roles.is_empty() || !summary.figures.is_empty();
    if !named && summary.ledger.is_empty() && summary.latency_limit.is_none() {
        return;
    }
    page.section(view, "operations", "Operations");
    put!(page, "<div class=\"panel\">");
    if !summary.operations.is_empty() {
        operations(page, &summary.operations);
    }
    if !summary.figures.is_empty() {
        figure_table(page, &summary.figures);
    }
    if let Some(limit) = &summary.latency_limit {
        let ended = number::thousands(summary.totals.events);
        put!(
            page,
            "<p>{} of {ended} events took longer than {}; {} were skipped because they could not \
             start in time.</p>",
            number::thousands(limit.above),
            Text(&figures::value(limit.limit_ms, "ms")),
            number::thousands(limit.skipped)
        );
    }
    if !summary.roles.is_empty() {
        roles(page, &summary.roles);
    }
    if !summary.ledger.is_empty() {
        ledger(page, &summary.ledger);
    }
    put!(page, "</div>\n");
    page.end_section();
}

fn operations(page: &mut Page, operations: &[OperationSummary]) {
    let first = operations.first().map(|o| &o.service.percentiles[..]);
    let percents: Vec<f64> = first
        .unwrap_or_default()
        .iter()
        .map(|p| p.percent)
        .collect();
    let mut head = vec![
        "operation".to_owned(),
        "#done /s".to_owned(),
        "#done".to_owned(),
        "#rolled back".to_owned(),
        "#retries".to_owned(),
        "#given up".to_owned(),
        "#duplicate keys".to_owned(),
        "#unknown".to_owned(),
        "#mean".to_owned(),
    ];
    head.extend(
        percents
            .iter()
            .map(|percent| format!("#p{}", number::plain(*percent))),
    );
    head.extend(["#max".to_owned(), "#first tries, mean".to_owned()]);
    let head: Vec<&str> = head.iter().map(String::as_str).collect();
    page.table(&head);
    for operation in operations {
        row(page, operation);
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: summary. Latencies run from the start \
         of the first try to the end (in an open loop, from the scheduled time) and include work \
         that was done or rolled back by design. Work that was given up, ended by a duplicate key \
         or has an unknown outcome is in no rate and no latency. First tries are those of retried \
         work.</p>"
    );
}

fn row(page: &mut Page, operation: &OperationSummary) {
    let totals = &operation.totals;
    let latencies = operation.latency();
    let known = latencies.count > 0;
    let ms = |value: Option<f64>| figures::maybe(value.filter(|_| known), "ms");
    let mut cells = vec![
        operation
            .per_s()
            .map_or_else(|| "–".to_owned(), figures::significant),
        number::thousands(totals.done),
        number::thousands(totals.rolled_back),
        number::thousands(totals.retries),
        number::thousands(totals.given_up),
        number::thousands(totals.duplicates),
        number::thousands(totals.unknown),
        ms(Some(latencies.mean_ms)),
    ];
    cells.extend(latencies.percentiles.iter().map(|p| ms(p.value_ms)));
    cells.push(ms(latencies.longest_ms()));
    let first = operation.first_tries.as_ref().map(|first| first.mean_ms);
    cells.push(figures::maybe(first, "ms"));
    page.figures(&operation.name, &cells);
}

fn figure_table(page: &mut Page, figures: &[Figure]) {
    page.table(&["figure", "#", "of"]);
    for figure in figures {
        put!(
            page,
            "<tr><th scope=\"row\">{}</th><td class=\"n\">{}</td><td>{}</td></tr>",
            Text(&figure.name),
            Text(&number::figure(figure.value)),
            Text(&figure.unit)
        );
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: the workload's own figures.</p>"
    );
}

fn roles(page: &mut Page, roles: &[RoleSummary]) {
    page.table(&[
        "role",
        "#sessions",
        "#events /s",
        "#asked /s",
        "#achieved",
        "#not done",
        "#left out",
        "#fewest per session",
        "#most",
        "#first finished",
        "#last finished",
    ]);
    for role in roles {
        let maybe = |value: Option<f64>, unit| figures::maybe(value, unit);
        let share = role.achieved_share().map(number::percent);
        let name = match role.background {
            true => format!("{} (background)", role.name),
            false => role.name.clone(),
        };
        let cells = [
            number::thousands(u64::from(role.sessions)),
            figures::significant(role.events_per_s),
            role.asked_per_s
                .map_or_else(|| "–".to_owned(), figures::significant),
            share.unwrap_or_else(|| "–".to_owned()),
            number::thousands(role.not_done),
            number::thousands(role.skipped),
            number::thousands(role.events_min),
            number::thousands(role.events_max),
            maybe(role.finished_first_s, "s"),
            maybe(role.finished_last_s, "s"),
        ];
        page.figures(&name, &cells);
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: summary. The run's events exclude those \
         of background roles. Events that could not start in time were dropped. A role is finished \
         when all its sessions have done their work.</p>"
    );
}

fn ledger(page: &mut Page, entries: &[LedgerEntry]) {
    page.table(&[
        "sum in the database",
        "#changed by",
        "#acknowledged",
        "agrees",
    ]);
    for entry in entries {
        let found = entry
            .found
            .map_or_else(|| "–".to_owned(), |f| f.to_string());
        let agrees = match entry.agrees() {
            Some(true) => "yes",
            Some(false) => "no",
            None if entry.is_open() => "not compared",
            None => "could not be read",
        };
        put!(
            page,
            "<tr><th scope=\"row\">{} ({})</th><td class=\"n\">{}</td><td \
                class=\"n\">{}</td><td>{agrees}</td></tr>",
            Text(&entry.database),
            Text(&entry.sum),
            Text(&found),
            Text(&entry.expected())
        );
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: the workload's sums, read before and \
         after the run, compared with what the server acknowledged to the sessions; a range if a \
         connection was lost during a commit.</p>"
    );
}
