//! The blocks of a document as HTML.

use maud::{Markup, html};

use super::figures;
use super::markup::{Text, lines};
use crate::document::{Align, Block, Table};
use crate::terminal::Ink;

/// Blocks in their order: rows as lists of facts, tables with their sources.
pub(super) fn of(all: impl IntoIterator<Item = Block>) -> Markup {
    let all: Vec<Block> = (all.into_iter())
        .filter(|block| !block.is_empty())
        .collect();
    let is_row = |block: &Block| matches!(block, Block::Row { .. });
    html! {
        @for group in all.chunk_by(|one, next| is_row(one) == is_row(next)) {
            @if group.iter().all(is_row) {
                dl class="facts" { @for block in group { (one(block)) } }
            } @else {
                @for block in group { (one(block)) }
            }
        }
    }
}

fn one(block: &Block) -> Markup {
    match block {
        Block::Row { label, body, .. } => html! { dt { (Text(label)) } dd { (lines(body)) } },
        Block::Table(table) => whole(table),
    }
}

/// A table with these rows; columns with numbers have names that begin with `#`.
pub(super) fn table(columns: &[&str], rows: &Markup) -> Markup {
    let heads = columns.iter().map(|column| {
        let figures = column.strip_prefix('#');
        (figures.unwrap_or(column), figures.is_some())
    });
    grid(heads, rows)
}

/// A table with these rows; columns have a name, and numbers or not.
pub(super) fn grid<'h>(heads: impl Iterator<Item = (&'h str, bool)>, rows: &Markup) -> Markup {
    let heads = html! {
        @for (name, has_numbers) in heads {
            th scope="col" class=[has_numbers.then_some("n")] { (Text(name)) }
        }
    };
    headed("grid", Some(&heads), rows)
}

/// A table with these cells of the head, if it has one, and these rows.
pub(super) fn headed(class: &str, heads: Option<&Markup>, rows: &Markup) -> Markup {
    html! { div class="scroll" { (bare(class, heads, rows)) } }
}

/// A table without the element that scrolls it.
pub(super) fn bare(class: &str, heads: Option<&Markup>, rows: &Markup) -> Markup {
    html! {
        table class=(class) {
            @if let Some(heads) = heads { thead { tr { (heads) } } }
            tbody { (rows) }
        }
    }
}

fn whole(table: &Table) -> Markup {
    let heads = table.heads.iter();
    let heads = heads.map(|head| (head.name.as_str(), head.align == Align::Right));
    let rows = html! {
        @for row in &table.rows {
            @let is_notable = row.first().is_some_and(|cell| cell.ink == Ink::Notable);
            tr data-moved[is_notable] {
                @for (index, (head, cell)) in table.heads.iter().zip(row).enumerate() {
                    @let value = figures::cell(&cell.value);
                    @match (index, head.align) {
                        (0, _) => { th scope="row" { (value) } }
                        (_, Align::Right) => { td class="n" { (value) } }
                        _ if cell.ink == Ink::Faint => { td class="why" { (value) } }
                        _ => { td { (value) } }
                    }
                }
            }
        }
    };
    html! {
        (grid(heads, &rows))
        @if !table.source.is_empty() {
            p class="source" { "Source: " (table.source) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Value;

    #[test]
    fn names_of_columns_may_begin_with_a_number_sign() {
        let table = Table::of(&[1.0])
            .text("#1", 0, |_| "a".to_owned())
            .figure("#2", 0, |one| Value::Rate(*one))
            .source("");
        let html = of([Block::Table(table)]).into_string();
        let heads = "<th scope=\"col\">#1</th><th scope=\"col\" class=\"n\">#2</th>";
        assert!(html.contains(heads), "{html}");
    }
}
