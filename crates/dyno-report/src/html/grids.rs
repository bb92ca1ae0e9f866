//! A page of tables and small charts.

use maud::html;

use super::blocks;
use super::markup::Text;
use super::page::Page;

/// A page that tables are written to.
pub(crate) struct Grids {
    page: Page,
}

/// A row of a table.
pub(crate) struct GridRow<'a> {
    /// Its heading.
    pub(crate) label: &'a str,
    /// Texts with their classes in the style sheet.
    pub(crate) cells: Vec<(String, &'static str)>,
    /// Whether it begins a group.
    pub(crate) apart: bool,
}

impl Grids {
    /// The page, for content other than tables.
    pub(super) fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// A table in a separate section.
    pub(crate) fn table(
        &mut self,
        (id, title, about): (&str, &str, &str),
        columns: &[String],
        rows: &[GridRow<'_>],
    ) {
        let page = &mut self.page;
        page.common_section(id, title);
        let heads = columns.iter().enumerate();
        let heads = heads.map(|(index, head)| (head.as_str(), index > 0));
        let rows = html! {
            @for row in rows {
                tr class=[row.apart.then_some("apart")] {
                    th scope="row" { (Text(row.label)) }
                    @for (text, class) in &row.cells {
                        td class={ "n " (class) } { (Text(text)) }
                    }
                }
            }
        };
        page.put(html! {
            div class="panel" {
                @if !about.is_empty() {
                    p class="source" { (Text(about)) }
                }
                (blocks::grid(heads, &rows))
            }
        });
        page.end_section();
    }
}

pub(crate) fn tables_page(
    title: &str,
    generated_unix_s: f64,
    write: impl FnOnce(&mut Grids),
) -> String {
    let mut grids = Grids {
        page: Page::default(),
    };
    let page = &mut grids.page;
    page.put(html! { section class="overview" id="top" { h1 { (Text(title)) } } });
    write(&mut grids);
    grids.page.finish(title, generated_unix_s)
}
