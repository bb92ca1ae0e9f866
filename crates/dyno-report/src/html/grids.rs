//! A page of tables and small charts.

use super::markup::Text;
use super::page::{Page, put};

/// A page that tables are written to.
pub(crate) struct Grids {
    page: Page,
}

impl Grids {
    /// The page, for content other than tables.
    pub(super) fn page(&mut self) -> &mut Page {
        &mut self.page
    }

    /// Begins a table in a separate section.
    pub(crate) fn begin(&mut self, id: &str, title: &str, about: &str, columns: &[String]) {
        let page = &mut self.page;
        put!(
            page,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}</h2><div \
                class=\"panel\">",
            Text(title)
        );
        page.entry(id, title);
        if !about.is_empty() {
            put!(page, "<p class=\"source\">{}</p>", Text(about));
        }
        let heads: Vec<String> = (columns.iter().enumerate())
            .map(|(index, head)| match index {
                0 => head.clone(),
                _ => format!("#{head}"),
            })
            .collect();
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        page.table(&heads);
    }

    /// A row: its label, then texts with their marks, and whether it begins a group.
    pub(crate) fn row(
        &mut self,
        label: &str,
        cells: impl Iterator<Item = (String, &'static str)>,
        apart: bool,
    ) {
        let page = &mut self.page;
        let class = if apart { " class=\"apart\"" } else { "" };
        put!(page, "<tr{class}><th scope=\"row\">{}</th>", Text(label));
        for (text, class) in cells {
            put!(page, "<td class=\"n {class}\">{}</td>", Text(&text));
        }
        put!(page, "</tr>");
    }

    /// Ends the table.
    pub(crate) fn end(&mut self) {
        self.page.end_table();
        put!(self.page, "</div>");
        self.page.end_section();
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
    put!(
        page,
        "<section class=\"overview\" id=\"top\"><h1>{}</h1></section>",
        Text(title)
    );
    write(&mut grids);
    grids.page.finish(title, generated_unix_s)
}
