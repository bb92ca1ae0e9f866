//! The page that sections write to, and the resulting file.

use std::mem;
use std::sync::OnceLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use super::blocks;
use super::chart::{Chart, Line, Look};
use super::data::{ChartText, CounterSet, Data, RunData};
use super::flame::Flame;
use super::markup::{Text, json};
use super::run::View;
use super::thin::{Keep, Pool, Thin};
use super::time::utc;
use crate::document::Block;

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

/// A report under construction.
#[derive(Default)]
pub(super) struct Page {
    html: String,
    open: Vec<Open>,
    sections: Vec<Entry>,
    data: Data,
    pool: Pool,
}

/// A section that is being written.
struct Open {
    /// The page before the section.
    before: String,
    id: String,
    class: Option<&'static str>,
    heading: Markup,
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
    /// Adds HTML.
    pub(super) fn put(&mut self, markup: Markup) {
        self.html.push_str(&markup.0);
    }

    /// The HTML that `body` adds, for an element around it.
    pub(super) fn within(&mut self, body: impl FnOnce(&mut Self)) -> Markup {
        let before = mem::take(&mut self.html);
        body(self);
        PreEscaped(mem::replace(&mut self.html, before))
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

    /// Begins a section of a run with an entry in the navigation.
    pub(super) fn section(&mut self, view: &View<'_>, id: &str, title: &str) {
        let id = view.id(id);
        let is_named = !view.label.is_empty();
        let heading = html! {
            h2 id={ (id) "-h" } {
                (Text(title))
                @if is_named { " " span class="run-label" { (Text(&view.label)) } }
            }
        };
        self.sections.push(Entry {
            id: id.clone(),
            title: title.to_owned(),
            level: u8::from(is_named),
        });
        self.begin(id, None, heading);
    }

    /// Begins a section that does not belong to a single run, with an entry in the navigation.
    pub(super) fn common_section(&mut self, id: &str, title: &str) {
        self.section_named(id, title, title);
    }

    /// Begins such a common section whose entry in the navigation differs from its title.
    pub(super) fn section_named(&mut self, id: &str, title: &str, entry: &str) {
        self.entry(id, entry);
        let heading = html! { h2 id={ (id) "-h" } { (Text(title)) } };
        self.begin(id.to_owned(), None, heading);
    }

    /// Begins the first section of a run or of a page, whose content has the heading with the ID
    /// `id` + `-h`.
    pub(super) fn overview(&mut self, id: &str, entry: &str) {
        self.entry(id, entry);
        self.begin(id.to_owned(), Some("overview"), Markup::default());
    }

    fn begin(&mut self, id: String, class: Option<&'static str>, heading: Markup) {
        self.open.push(Open {
            before: mem::take(&mut self.html),
            id,
            class,
            heading,
        });
    }

    /// A navigation entry.
    fn entry(&mut self, id: &str, title: &str) {
        self.sections.push(Entry {
            id: id.to_owned(),
            title: title.to_owned(),
            level: 0,
        });
    }

    /// Ends the section that was begun last.
    pub(super) fn end_section(&mut self) {
        let Some(open) = self.open.pop() else {
            return;
        };
        let content = PreEscaped(mem::replace(&mut self.html, open.before));
        self.put(html! {
            section class=[open.class] id=(open.id) aria-labelledby={ (open.id) "-h" } {
                (open.heading) (content)
            }
            "\n"
        });
    }

    /// Says why there is no data.
    pub(super) fn nothing(&mut self, why: &str) {
        self.put(html! { p class="nothing" { (Text(why)) } });
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
            self.put(html! {
                div class="panel" { h3 { (Text(title)) } (blocks::of(blocks)) }
                "\n"
            });
        }
    }

    /// A panel with the blocks of a section.
    pub(super) fn boxed(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.put(html! { div class="panel" { (blocks::of(blocks)) } "\n" });
    }

    /// The blocks of a section.
    pub(super) fn show(&mut self, blocks: impl IntoIterator<Item = Block>) {
        self.put(blocks::of(blocks));
    }

    /// A chart with its caption and a place for its data as a table.
    pub(super) fn figure(&mut self, view: &View<'_>, caption: &Caption<'_>, chart: Chart) {
        let id = view.id(caption.id);
        self.figure_with_id(id, caption, chart);
    }

    /// A chart that does not belong to a single run.
    pub(super) fn figure_with_id(&mut self, id: String, caption: &Caption<'_>, chart: Chart) {
        let (title, about) = (Text(caption.title), Text(caption.about));
        let figure = html! {
            figure class="chart" {
                figcaption {
                    h3 id={ (id) "-t" } { (title) }
                    div class="controls" data-controls=(id) {}
                }
                div class={ "plot " (caption.size) } data-chart=(id) role="img" tabindex="0"
                    aria-label={ (title) ": " (about) } {}
                p class="source" {
                    (about) " " span { "Source: " (Text(caption.source)) "." }
                }
                details class="data" data-table=(id) { summary { "Data" } }
            }
            "\n"
        };
        self.put(match chart.quiet() {
            Some(text) => html! {
                details class="panel quiet" {
                    summary { (title) ": " (Text(text)) }
                    (figure)
                }
                "\n"
            },
            None => figure,
        });
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
        self.put(html! {
            figure class="flame" data-flame=(number) tabindex="0" role="group"
                aria-label=(Text(label)) {}
        });
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
        let made = utc(generated_unix_s);
        let page = html! {
            (PreEscaped("<!doctype html>\n"))
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta http-equiv="Content-Security-Policy" content=(policy);
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    meta name="referrer" content="no-referrer";
                    title { (title) " – Dyno" }
                    style { (PreEscaped(CSS)) }
                }
                body {
                    a class="skip" href="#main" { "Skip to the report" }
                    (bar(&title))
                    div class="layout" {
                        (self.navigation())
                        main id="main" tabindex="-1" {
                            noscript {
                                p class="banner" {
                                    "Charts are drawn by the script in this file, which your \
                                     browser does not run. All text and tables are here."
                                }
                            }
                            (PreEscaped(&self.html))
                            footer {
                                "Made " (made) " by dyno " (env!("CARGO_PKG_VERSION")) ". Charts \
                                 drawn by Apache ECharts " (ECHARTS_VERSION) ". Every sample is in \
                                 the results file; this page loads nothing."
                            }
                        }
                    }
                    "\n"
                    script type="application/json" id="data" { (PreEscaped(data)) }
                    "\n"
                    script { (PreEscaped(echarts())) }
                    "\n"
                    script { (PreEscaped(SCRIPT)) }
                }
            }
            "\n"
        };
        page.into_string()
    }

    fn navigation(&self) -> Markup {
        // The sections of each of several runs would make too long a list.
        let groups = self.sections.chunk_by(|one, next| one.level == next.level);
        html! {
            nav aria-label="Sections" {
                details open id="contents" {
                    summary { "Contents" }
                    ol {
                        @for group in groups {
                            @if group.iter().all(|entry| entry.level > 0) {
                                li class="level-1" {
                                    details { summary { "sections" } ol { (entries(group)) } }
                                }
                            } @else {
                                (entries(group))
                            }
                        }
                    }
                }
            }
            "\n"
        }
    }
}

fn entries(all: &[Entry]) -> Markup {
    html! {
        @for Entry { id, title, .. } in all {
            li { a href={ "#" (id) } { (Text(title)) } }
        }
    }
}

/// The bar at the top of the page.
fn bar(title: &Text<&str>) -> Markup {
    html! {
        header class="bar" {
            span class="mark" aria-label="Dyno" { (PreEscaped(MARK)) "Dyno" }
            span class="what" { (title) }
            span class="tools" {
                button type="button" id="reset-zoom" hidden { "Whole time" }
                button type="button" id="theme" { "Dark" }
            }
        }
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

    #[test]
    fn the_library_is_the_file() {
        assert_eq!(echarts(), include_str!("../../assets/echarts.min.js"));
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
