//! The tables that the run used, with their definitions.

use dyno_core::tables::{TableGroup, groups};

use super::markup::Text;
use super::page::{Page, put};
use super::run::View;

/// Writes the panel; nothing if no table was recorded.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    let groups = groups(&view.run.facts);
    if groups.is_empty() {
        return;
    }
    put!(page, "<div class=\"panel\"><h3>Tables</h3>");
    page.table(&[
        "tables",
        "storage",
        "#indexes",
        "primary key",
        "analysed",
        "definition",
    ]);
    for group in &groups {
        row(page, group);
    }
    page.end_table();
    put!(
        page,
        "<p class=\"source\">Source: the server's own definitions, before \
            the load.</p></div>\n"
    );
}

fn row(page: &mut Page, group: &TableGroup) {
    let kept: Vec<&str> = [&group.engine, &group.persistence]
        .into_iter()
        .filter_map(Option::as_deref)
        .collect();
    let unused = match group.counts() {
        true => "",
        false => ", which no statement named",
    };
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let primary_key = group
        .primary_key
        .map(|there| if there { "yes" } else { "no" }.to_owned());
    let analysed = group
        .analysed
        .map(|count| format!("{count} of {}", group.tables));
    put!(
        page,
        "<tr><td class=\"key\">{}{unused}</td><td>{}</td><td class=\"n\">{}</td><td>{}</td>\
         <td>{}</td><td><details><summary>SHA-256 {}…</summary><pre>{}</pre></details></td></tr>",
        Text(&group.names),
        Text(or_dash((!kept.is_empty()).then(|| kept.join(", ")))),
        or_dash(group.indexes.map(|count| count.to_string())),
        or_dash(primary_key),
        or_dash(analysed),
        Text(group.sha256.get(..12).unwrap_or_default()),
        Text(&group.definition)
    );
}
