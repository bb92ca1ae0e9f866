//! The duet whose sides are on the page.

use dyno_core::duet::{DuetMode, DuetSide, DuetSummary};
use dyno_core::record::RunRecord;
use maud::{Markup, html};

use super::markup::Text;
use super::page::Page;
use super::run::View;
use crate::document::{self, Block};

/// The section of a single run that is a side of a duet.
pub(super) fn write(page: &mut Page, view: &View<'_>) {
    // Of several runs, both sides have the same answer.
    let Some(found) = document::duet_of(view.run).filter(|_| view.label.is_empty()) else {
        return;
    };
    page.section(view, "duet", "Duet");
    page.put(html! { p class="lead" { (Text(document::duet_judged(&found))) } });
    show(page, &found);
    page.end_section();
}

/// The names of the page's sides in the duet; `None` if the page has other sides.
pub(super) fn names(found: &DuetSummary, sides: &[Vec<&RunRecord>]) -> Option<Vec<String>> {
    let name = |side: &Vec<&RunRecord>| {
        let [run] = side.as_slice() else {
            return None;
        };
        let is_run = |own: &DuetSide| {
            own.run
                .as_ref()
                .is_some_and(|own| own.name == run.head.name)
        };
        let names = ["A", "B"].into_iter().zip(&found.sides);
        let mut names = names.filter(|(_, own)| is_run(own));
        names.next().map(|(name, _)| name.to_owned())
    };
    sides.iter().map(name).collect()
}

/// The figures of both sides, the sides, and notes.
pub(super) fn show(page: &mut Page, found: &DuetSummary) {
    let figures = Block::Table(document::duet_figures(&found.figures));
    let rows = document::duet_sides(found).into_iter();
    let rows = rows.chain(document::duet_notes(found, true));
    page.boxed(std::iter::once(figures).chain(rows));
}

/// What the table of both runs does not show.
pub(super) fn about_runs(found: &DuetSummary) -> Markup {
    let text = match found.mode {
        DuetMode::Simultaneous => return Markup::default(),
        DuetMode::Alternating => {
            "The figures of the runs include the time in which each side waited while the other \
             worked: their rates are about half of those in its slices."
        }
    };
    html! { p class="lead" { (text) } }
}
