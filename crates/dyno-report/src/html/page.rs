//! The page that sections write to, and the resulting file.

use std::fmt;
use std::sync::OnceLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::chart::{Chart, Line, Look};
use super::data::{ChartText, CounterSet, Data, RunData};
use super::figures;
use super::flame::Flame;
use super::markup::{Text, json, lines};
use super::run::View;
use super::thin::{Keep, Pool, Thin};
use super::time::utc;
use crate::document::{Align, Block, Table};
use crate::terminal::Ink;

const CSS: &str = concat!(
    include_str!("../../assets/report.css"),
    include_str!("../../assets/print.css"),
);
/// The version in the library's first lines, verified by a test.
const ECHARTS_VERSION: &str = "6.1.0";
/// The library, compressed from `assets/echarts.min.js` by `build.rs`.
const ECHARTS_PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/echarts.z"));
const SCRIPT: &str = concat!(
    "'use strict';\n(() => {\n",
    include_str!("../../assets/format.js"),
    include_str!("../../assets/charts.js"),
    include_str!("../../assets/shapes.js"),
    include_str!("../../assets/curves.js"),
    include_str!("../../assets/tables.js"),
    include_str!("../../assets/flame.js"),
    include_str!("../../assets/reach.js"),
    include_str!("../../assets/report.js"),
    "})();\n",
);

/// Writes formatted HTML to a page. All text other than markup goes through [`Text`].
macro_rules! put {
    ($page:expr, $($arguments:tt)*) => { $page.put(format_args!($($arguments)*)) };
}
pub(super) use put;

/// A report under construction.
#[derive(Default)]
pub(super) struct Page {
    html: String,
    sections: Vec<Entry>,
    data: Data,
    pool: Pool,
}

/// An entry of the navigation.
struct Entry {
    id: String,
    title: String,
    level: u8,
}

/// The texts around a chart.
pub(super) struct Caption<'a> {
    /// Unique within the run.
    pub(super) id: &'a str,
    pub(super) title: &'a str,
    /// A description, also for readers who do not see the chart.
    pub(super) about: &'a str,
    /// The source of its figures.
    pub(super) source: &'a str,
    /// `tall`, `short` or empty.
    pub(super) size: &'a str,
}

impl Page {
    /// Writes HTML.
    pub(super) fn put(&mut self, arguments: fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = fmt::Write::write_fmt(&mut self.html, arguments);
    }

    /// Registers a run for its charts.
    pub(super) fn add_run(&mut self, view: &View<'_>) {
        self.data.runs.push(RunData::of(view));
    }

    /// Registers a time range shared by several runs, from the start of their measurements; returns
    /// its number, which is used like a run's.
    pub(super) fn add_overlay(&mut self, to_s: f64) -> usize {
        self.data.runs.push(RunData::overlay(to_s));
        self.data.runs.len() - 1
    }

    /// Begins a section with an entry in the navigation.
    pub(super) fn section(&mut self, view: &View<'_>, id: &str, title: &str) {
        let id = view.id(id);
        put!(
            self,
            "<section id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}",
            Text(title)
        );
        if !view.label.is_empty() {
            put!(
                self,
                " <span class=\"run-label\">{}</span>",
                Text(&view.label)
            );
        }
        put!(self, "</h2>");
        self.sections.push(Entry {
            id,
            title: title.to_owned(),
            level: u8::from(!view.label.is_empty()),
        });
    }

    /// A navigation entry for something other than a section of a run.
    pub(super) fn entry(&mut self, id: &str, title: &str) {
        self.sections.push(Entry {
            id: id.to_owned(),
            title: title.to_owned(),
            level: 0,
        });
    }

    /// Ends a section.
    pub(super) fn end_section(&mut self) {
        put!(self, "</section>\n");
    }

    /// Says why there is no data.
    pub(super) fn nothing(&mut self, why: &str) {
        put!(self, "<p class=\"nothing\">{}</p>", Text(why));
    }

    /// Begins a table; columns with numbers have names that begin with `#`.
    pub(super) fn table(&mut self, columns: &[&str]) {
        self.heads(columns.iter().map(|column| {
            let figures = column.strip_prefix('#');
            (figures.unwrap_or(column), figures.is_some())
        }));
    }

    /// Begins a table; columns have a name, and numbers or not.
    fn heads<'h>(&mut self, columns: impl Iterator<Item = (&'h str, bool)>) {
        put!(
            self,
            "<div class=\"scroll\"><table class=\"grid\"><thead><tr>"
        );
        for (name, has_numbers) in columns {
            let class = if has_numbers { " class=\"n\"" } else { "" };
            put!(self, "<th scope=\"col\"{class}>{}</th>", Text(name));
        }
        put!(self, "</tr></thead><tbody>");
    }

    /// Ends a table.
    pub(super) fn end_table(&mut self) {
        put!(self, "</tbody></table></div>");
    }

    /// A section with a panel, or with the reason if all blocks are empty; else nothing.
    pub(super) fn panel(
        &mut self,
        view: &View<'_>,
        (id, title): (&str, &str),
        blocks: Vec<Block>,
        why_empty: &str,
    ) {
        let is_empty = blocks.iter().all(Block::is_empty);
        if is_empty && why_empty.is_empty() {
            return;
        }
        self.section(view, id, title);
        match is_empty {
            true => self.nothing(why_empty),
            false => self.boxed(blocks),
        }
        self.end_section();
    }

    /// A panel with a heading; nothing if all blocks are empty.
    pub(super) fn titled(&mut self, title: &str, blocks: Vec<Block>) {
        if !blocks.iter().all(Block::is_empty) {
            put!(self, "<div class=\"panel\"><h3>{}</h3>", Text(title));
            self.show(blocks);
            put!(self, "</div>\n");
        }
    }

    /// A panel with the blocks of a section.
    pub(super) fn boxed(&mut self, blocks: impl IntoIterator<Item = Block>) {
        put!(self, "<div class=\"panel\">");
        self.show(blocks);
        put!(self, "</div>\n");
    }

    /// The blocks of a section: rows as lists of facts, tables with their sources.
    pub(super) fn show(&mut self, blocks: impl IntoIterator<Item = Block>) {
        let mut in_list = false;
        for block in blocks.into_iter().filter(|block| !block.is_empty()) {
            let is_row = matches!(block, Block::Row { .. });
            if is_row != in_list {
                self.html.push_str(match is_row {
                    true => "<dl class=\"facts\">",
                    false => "</dl>",
                });
                in_list = is_row;
            }
            match block {
                Block::Row { label, body, .. } => {
                    put!(self, "<dt>{}</dt><dd>{}</dd>", Text(label), lines(&body));
                }
                Block::Table(table) => self.whole_table(&table),
            }
        }
        if in_list {
            put!(self, "</dl>");
        }
    }

    fn whole_table(&mut self, table: &Table) {
        let heads = table.heads.iter();
        self.heads(heads.map(|head| (head.name.as_str(), head.align == Align::Right)));
        for row in &table.rows {
            let is_notable = row.first().is_some_and(|cell| cell.ink == Ink::Notable);
            put!(self, "<tr{}>", if is_notable { " data-moved" } else { "" });
            for (index, (head, cell)) in table.heads.iter().zip(row).enumerate() {
                let text = figures::cell(&cell.value);
                match (index, head.align) {
                    (0, _) => put!(self, "<th scope=\"row\">{text}</th>"),
                    (_, Align::Right) => put!(self, "<td class=\"n\">{text}</td>"),
                    _ if cell.ink == Ink::Faint => put!(self, "<td class=\"why\">{text}</td>"),
                    _ => put!(self, "<td>{text}</td>"),
                }
            }
            put!(self, "</tr>");
        }
        self.end_table();
        if !table.source.is_empty() {
            put!(self, "<p class=\"source\">Source: {}</p>", table.source);
        }
    }

    /// A chart with its caption and a place for its data as a table.
    pub(super) fn figure(&mut self, view: &View<'_>, caption: &Caption<'_>, chart: Chart) {
        let id = view.id(caption.id);
        self.figure_with_id(id, caption, chart);
    }

    /// A chart that does not belong to a single run.
    pub(super) fn figure_with_id(&mut self, id: String, caption: &Caption<'_>, chart: Chart) {
        let quiet = chart.quiet();
        if let Some(text) = &quiet {
            put!(
                self,
                "<details class=\"panel quiet\"><summary>{}: {}</summary>",
                Text(caption.title),
                Text(text)
            );
        }
        put!(
            self,
            "<figure class=\"chart\"><figcaption><h3 id=\"{id}-t\">{}</h3><div class=\"controls\" \
                data-controls=\"{id}\"></div></figcaption><div class=\"plot {}\" \
                data-chart=\"{id}\" role=\"img\" tabindex=\"0\" aria-label=\"{}: {}\"></div><p \
                class=\"source\">{} <span>Source: {}.</span></p><details class=\"data\" \
                data-table=\"{id}\"><summary>Data</summary></details></figure>\n",
            Text(caption.title),
            caption.size,
            Text(caption.title),
            Text(caption.about),
            Text(caption.about),
            Text(caption.source),
        );
        if quiet.is_some() {
            put!(self, "</details>\n");
        }
        self.data.texts.push(ChartText {
            id: id.clone(),
            title: caption.title.to_owned(),
            about: caption.about.to_owned(),
            source: caption.source.to_owned(),
        });
        self.data.charts.insert(id, chart);
    }

    /// A line of a chart.
    pub(super) fn line(
        &mut self,
        name: &str,
        axis: usize,
        thin: &Thin,
        look: Look,
        colour: usize,
    ) -> Line {
        Line {
            name: name.to_owned(),
            axis,
            x: self.times(thin),
            y: thin.values(),
            look,
            colour,
            dash: 0,
        }
    }

    /// The number of these times in the pool.
    pub(super) fn times(&mut self, thin: &Thin) -> usize {
        self.pool.number(&thin.x)
    }

    /// Adds the counters for the reader to pick from.
    pub(super) fn add_counters(&mut self, set: CounterSet) {
        self.data.counters.push(set);
    }

    /// A place for a flame graph.
    pub(super) fn flame(&mut self, label: &str, flame: Flame) {
        let number = self.data.flames.len();
        put!(
            self,
            "<figure class=\"flame\" data-flame=\"{number}\" tabindex=\"0\" role=\"group\" \
                aria-label=\"{}\"></figure>",
            Text(label)
        );
        self.data.flames.push(flame);
    }

    /// The charts, for drawing them elsewhere.
    pub(super) fn into_data(mut self) -> Data {
        self.data.times = self.pool.times;
        self.data
    }

    /// The whole file.
    pub(super) fn finish(mut self, title: &str, generated_unix_s: f64) -> String {
        self.data.times = std::mem::take(&mut self.pool.times);
        // Compact numbers and strings: JSON can represent all of it.
        let data = json(&self.data).unwrap_or_else(|_| "null".to_owned());
        let policy = format!(
            "default-src 'none'; script-src {} {}; style-src {}; base-uri 'none'; form-action \
                'none'",
            hash(echarts()),
            hash(SCRIPT),
            hash(CSS)
        );
        let title = Text(title);
        let mut out = String::with_capacity(self.html.len() + data.len() + (1 << 20));
        out.push_str(&format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta \
                http-equiv=\"Content-Security-Policy\" content=\"{policy}\">\n<meta \
                name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta \
                name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" \
                content=\"no-referrer\">\n<title>{title} – \
                Dyno</title>\n<style>{CSS}</style>\n</head>\n<body>\n<a class=\"skip\" \
                href=\"#main\">Skip to the report</a>\n<header class=\"bar\"><span class=\"mark\" \
                aria-label=\"Dyno\">{MARK}Dyno</span><span class=\"what\">{title}</span><span \
                class=\"tools\"><button type=\"button\" id=\"reset-zoom\" hidden>Whole \
                time</button><button type=\"button\" \
                id=\"theme\">Dark</button></span></header>\n<div class=\"layout\">\n"
        ));
        out.push_str(&self.navigation());
        out.push_str(
            "<main id=\"main\" tabindex=\"-1\">\n<noscript><p class=\"banner\">Charts are drawn \
                by the script in this file, which your browser does not run. All text and tables \
                are here.</p></noscript>\n",
        );
        out.push_str(&self.html);
        out.push_str(&format!(
            "<footer>Made {} by dyno {}. Charts drawn by Apache ECharts \
             {ECHARTS_VERSION}. Every sample is in the results file; this page loads \
             nothing.</footer>\n</main>\n</div>\n<script type=\"application/json\" id=\"data\">",
            utc(generated_unix_s),
            env!("CARGO_PKG_VERSION"),
        ));
        for part in [
            &data,
            "</script>\n<script>",
            echarts(),
            "</script>\n<script>",
            SCRIPT,
        ] {
            out.push_str(part);
        }
        out.push_str("</script>\n</body>\n</html>\n");
        out
    }

    fn navigation(&self) -> String {
        let mut out = "<nav aria-label=\"Sections\"><details open \
            id=\"contents\"><summary>Contents</summary><ol>"
            .to_owned();
        let mut folded = false;
        for Entry { id, title, level } in &self.sections {
            // The sections of each of several runs would make too long a list.
            let inner = *level > 0;
            if inner && !folded {
                out.push_str("<li class=\"level-1\"><details><summary>sections</summary><ol>");
            } else if folded && !inner {
                out.push_str("</ol></details></li>");
            }
            folded = inner;
            let title = Text(title);
            out.push_str(&format!("<li><a href=\"#{id}\">{title}</a></li>"));
        }
        if folded {
            out.push_str("</ol></details></li>");
        }
        out.push_str("</ol></details></nav>\n");
        out
    }
}

/// A dial, for the corner.
const MARK: &str = "<svg viewBox=\"0 0 24 24\" width=\"20\" height=\"20\" \
    aria-hidden=\"true\"><path d=\"M3.5 17a9 9 0 1 1 17 0\" fill=\"none\" stroke=\"currentColor\" \
    stroke-width=\"2\" stroke-linecap=\"round\"/><path d=\"M12 14l5-6\" stroke=\"currentColor\" \
    stroke-width=\"2\" stroke-linecap=\"round\"/><circle cx=\"12\" cy=\"14\" r=\"1.8\" \
    fill=\"currentColor\"/></svg>";

/// The hash of an element's content for the Content-Security-Policy.
fn hash(content: &str) -> String {
    format!(
        "'sha256-{}'",
        BASE64_STANDARD.encode(Sha256::digest(content))
    )
}

/// The sources of a chart, and the points left out in drawing it.
pub(super) fn source_note(source: &str, thin: &Thin, keep: Keep) -> String {
    match thin.note(keep) {
        Some(note) => format!("{source}; {note}"),
        None => source.to_owned(),
    }
}

/// The charts' library.
fn echarts() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let bytes = miniz_oxide::inflate::decompress_to_vec_zlib(ECHARTS_PACKED);
        // Compressed by this build; a test compares it with the file.
        String::from_utf8(bytes.unwrap_or_default()).unwrap_or_default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Value;

    #[test]
    fn the_library_is_the_file() {
        assert_eq!(echarts(), include_str!("../../assets/echarts.min.js"));
    }

    #[test]
    fn names_of_columns_may_begin_with_a_number_sign() {
        let table = Table::of(&[1.0])
            .text("#1", 0, |_| "a".to_owned())
            .figure("#2", 0, |one| Value::Rate(*one))
            .source("");
        let mut page = Page::default();
        page.show([Block::Table(table)]);
        let heads = "<th scope=\"col\">#1</th><th scope=\"col\" class=\"n\">#2</th>";
        assert!(page.html.contains(heads), "{}", page.html);
    }

    #[test]
    fn scripts_and_styles_cannot_end_their_elements() {
        for part in [echarts(), SCRIPT, CSS] {
            assert!(!part.contains("</script") && !part.contains("</style"));
            assert!(!part.contains("<!--"));
        }
    }

    #[test]
    fn the_version_is_that_of_the_file() {
        let banner = format!("Apache ECharts {ECHARTS_VERSION},");
        assert!(
            echarts()
                .lines()
                .take(3)
                .any(|line| line.starts_with(&banner))
        );
    }

    #[test]
    fn hashes_are_those_of_the_policy() {
        // `printf hello | openssl dgst -sha256 -binary | base64`
        assert_eq!(
            hash("hello"),
            "'sha256-LPJNul+wow4m6DsqxbninhsWHlwfp0JecwQzYpOLmCQ='"
        );
    }
}
