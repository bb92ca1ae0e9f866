//! The HTML report: one file that needs nothing else and asks nobody for anything.
//!
//! Text and tables are HTML that is read without a script; charts are data that the page's own
//! script draws with Apache ECharts (`assets/build.sh` tells the version). A
//! Content-Security-Policy forbids every load and every script but these two.

use dyno_core::record::{Cost, RunRecord};

#[cfg(test)]
#[cfg(feature = "browser")]
mod browser;
mod chart;
mod compare;
mod database;
mod disks;
mod distribution;
mod figures;
mod findings;
mod grids;
mod headlines;
mod host;
#[cfg(test)]
mod hostile;
mod latency;
mod ledger;
mod loops;
mod machine;
mod markup;
mod network;
mod observed;
mod operations;
mod overview;
mod page;
mod run;
#[cfg(test)]
pub(crate) mod samples;
mod setup;
mod small_multiples;
mod tables;
#[cfg(test)]
mod tests;
mod thin;
mod throughput;
mod time;

pub(crate) use grids::tables_page;
pub use latency::COLUMNS_MAX;
use markup::Text;
use page::{Page, put};
use run::View;
pub(crate) use small_multiples::{Bar, Drawing, Lines, Series, SmallMultiple};

/// What a report shows.
pub struct ReportInput<'a> {
    /// One run or several, the base first.
    pub runs: &'a [RunRecord],
    /// What an event cost, by run in the order of `runs`; a run without an entry shows none.
    pub costs: &'a [Vec<Cost>],
    /// The runs compared, if they were.
    pub comparison: Option<&'a Comparison>,
    /// When the report was made, seconds since the Unix epoch.
    pub generated_unix_s: f64,
    /// The heading of a report on several runs, and the page's title; empty for a made one.
    pub title: &'a str,
}

/// Runs against a base.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// How it was made, in whole sentences: the method, corrections, what the reader should know.
    pub notes: Vec<String>,
    /// The figures.
    pub rows: Vec<ComparisonRow>,
    /// What differs between the runs' environments, plans and settings.
    pub differences: Vec<Difference>,
}

/// One figure of one run against the base.
#[derive(Clone, Debug)]
pub struct ComparisonRow {
    /// The figure, e.g. `events per second`.
    pub metric: String,
    /// Its unit, as in [`SeriesKey::unit`](dyno_core::record::SeriesKey::unit).
    pub unit: String,
    /// The number of the run compared, in [`ReportInput::runs`]; at least 1.
    pub run: usize,
    /// The base's figure; `None` where there is none.
    pub base: Option<f64>,
    /// The run's.
    pub new: Option<f64>,
    /// new / base.
    pub ratio: Option<f64>,
    /// The lower end of the ratio's interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The probability of such a difference if there were none, after correction.
    pub p: Option<f64>,
    /// Whether it is called an effect.
    pub significant: bool,
    /// What else is to be said; perhaps empty.
    pub remark: String,
}

/// Something that is not the same in two runs.
#[derive(Clone, Debug)]
pub struct Difference {
    /// What, e.g. `innodb_buffer_pool_size`.
    pub what: String,
    /// The number of the run compared, in [`ReportInput::runs`]; at least 1.
    pub run: usize,
    /// In the base.
    pub base: String,
    /// In the run.
    pub new: String,
    /// Whether it is what the comparison is about.
    pub intended: bool,
}

/// The page.
pub fn report(input: &ReportInput<'_>) -> String {
    let several = input.runs.len() > 1;
    let views: Vec<View<'_>> = (input.runs.iter().enumerate())
        .map(|(index, run)| {
            let costs = input.costs.get(index).map_or(&[][..], Vec::as_slice);
            View::new(index, several, run, costs)
        })
        .collect();
    let mut page = Page::default();
    for view in &views {
        page.add_run(view);
    }
    let title = heading(input, &views);
    if views.is_empty() {
        page.nothing("There are no runs to report.");
    }
    if several {
        compare::write(&mut page, &views, &title, input.comparison);
    }
    for view in &views {
        one_run(&mut page, view);
    }
    page.finish(&title, input.generated_unix_s)
}

fn one_run(page: &mut Page, view: &View<'_>) {
    if !view.label.is_empty() {
        let open = if view.index == 0 { " open" } else { "" };
        let (label, title) = (Text(&view.label), view.title());
        put!(
            page,
            "<details class=\"run\"{open}><summary>Run {label}: {}</summary>",
            Text(title)
        );
    }
    overview::write(page, view);
    throughput::write(page, view);
    latency::write(page, view);
    distribution::write(page, view);
    loops::write(page, view);
    machine::write(page, view);
    operations::write(page, view);
    ledger::write(page, view);
    host::write(page, view);
    database::write(page, view);
    findings::write(page, view);
    setup::write(page, view);
    if !view.label.is_empty() {
        put!(page, "</details>\n");
    }
}

/// The title asked for, or one that tells the runs.
fn heading(input: &ReportInput<'_>, views: &[View<'_>]) -> String {
    match views {
        _ if !input.title.is_empty() => input.title.to_owned(),
        [] => "No runs".to_owned(),
        [view] => view.title(),
        several => format!("{} runs", several.len()),
    }
}
