//! The parts of a load that changed over time.

use dyno_core::summary::RunSummary;

use super::look::Ink;
use super::page::Page;
use crate::document::{self, Align};

/// The width of a table with all percentiles.
const WIDE: usize = 96;
/// The width without the median. Below it there is room only for rates and verdicts.
const USUAL: usize = 80;
/// The most parts in the brief text.
const PARTS_MAX: usize = 16;

/// A line for each part; of very many the first ones, unless `all`.
pub(super) fn section(run: &RunSummary, all: bool, page: &mut Page) {
    if run.parts.is_empty() {
        return;
    }
    let rank = match page.width() {
        WIDE.. => 2,
        USUAL.. => 1,
        _ => 0,
    };
    let mut table = document::parts(run);
    table.retain(|head| head.rank <= rank && head.align != Align::Below);
    if !all {
        table.rows.truncate(PARTS_MAX);
    }
    let rest = run.parts.len() - table.rows.len();
    page.blank();
    page.table(table);
    if rest > 0 {
        let text = format!("{rest} more parts: -v shows them all");
        page.row("", Ink::Faint, &text);
    }
    page.blank();
    for part in run.parts.iter().filter(|_| all) {
        for against in &part.against {
            let text = format!("{}: {}: {}", part.label, against.check, against.evidence);
            page.row("against", Ink::Warning, &text);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::terminal::{Look, full, summary};
    use dyno_samples::summaries as samples;

    #[test]
    fn parts_are_shown_as_a_table() {
        let look = Look::default();
        insta::assert_snapshot!(summary(&samples::scheduled(), &look));
    }

    #[test]
    fn the_full_text_has_the_findings_of_each() {
        let look = Look {
            columns: 120,
            ..Look::default()
        };
        let text = full(&samples::scheduled(), &look);
        let from = text.find("part ").unwrap();
        let lines: Vec<&str> = text[from..].lines().take(7).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
