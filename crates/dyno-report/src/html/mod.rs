//! The HTML report: one self-contained file without any requests.
//!
//! Text and tables are HTML that is readable without a script; charts are data that the page's own
//! script draws with Apache ECharts (version in `assets/build.sh`). A Content-Security-Policy
//! forbids every load and every script but these two.

use dyno_core::duet::DuetSummary;
use dyno_core::finding::Tally;
use dyno_core::record::{Cost, RunRecord};
use dyno_verdict::Comparison;
use maud::html;

mod agents;
mod blocks;
#[cfg(test)]
#[cfg(feature = "browser")]
mod browser;
mod chart;
mod data;
mod database;
mod disks;
mod distribution;
mod duet;
mod experiment;
mod figures;
mod findings;
mod flame;
mod glance;
mod grids;
mod headlines;
mod host;
#[cfg(test)]
mod hostile;
mod latency;
mod ledger;
mod loops;
mod markup;
mod network;
mod observed;
mod overview;
mod page;
mod parts;
mod plots;
mod profiles;
mod run;
mod server_host;
mod setup;
mod several;
mod small_multiples;
mod statements;
mod svg;
#[cfg(test)]
mod tests;
mod thin;
mod throughput;
mod time;
mod waits;

use crate::document::{self, Pivot};
pub use experiment::Experiment;
pub(crate) use grids::{GridRow, tables_page};
pub use latency::COLUMNS_MAX;
use markup::Text;
pub(crate) use markup::xml_text;
use page::Page;
pub use plots::{Plot, PlotDrawing, PlotGroup, PlotLine};
use run::View;
pub use several::refusals;
pub(crate) use small_multiples::{Bar, Drawing, Lines, Series, SmallMultiple};
pub use svg::Charts;

/// The input of a report.
pub struct ReportInput<'a> {
    /// One run or several, the base first.
    pub runs: &'a [RunRecord],
    /// The cost of an event, by run in the order of `runs`; a run without an entry shows none.
    pub costs: &'a [Vec<Cost>],
    /// Runs, by index in `runs`, that are repetitions of the same, the base first.
    pub sides: &'a [Vec<usize>],
    /// The comparison of each side but the first with the base, or the reason that it failed.
    pub compared: &'a [Result<Comparison, String>],
    /// Factors as rows and columns, if there are any.
    pub pivot: Option<&'a Pivot>,
    /// The experiment to which the runs belong.
    pub experiment: Option<&'a Experiment<'a>>,
    /// When the report was made, seconds since the Unix epoch.
    pub generated_unix_s: f64,
    /// The heading of a report on several runs, and the page's title; if empty, it is generated.
    pub title: &'a str,
}

impl ReportInput<'_> {
    /// The duet whose sides the runs are. Its answer comes from paired slices, and an experiment
    /// has its own.
    pub(crate) fn duet(&self) -> Option<DuetSummary> {
        let found = document::duet_of_both(self.runs);
        found.filter(|_| self.experiment.is_none())
    }
}

/// The page.
pub fn report(input: &ReportInput<'_>) -> String {
    let (page, title) = written(input);
    page.finish(&title, input.generated_unix_s)
}

/// The page with all sections, and its title.
fn written(input: &ReportInput<'_>) -> (Page, String) {
    let several = input.runs.len() > 1;
    let views = views(input);
    let mut page = Page::default();
    for view in &views {
        page.add_run(view);
    }
    let title = heading(input, &views);
    if let Some(of) = input.experiment {
        experiment::write(&mut page, of);
    } else if views.is_empty() {
        page.nothing("There are no runs to report.");
    }
    if several {
        let title = match input.experiment {
            Some(_) => "Runs",
            None => &title,
        };
        several::write(&mut page, input, &views, title);
    }
    for view in &views {
        one_run(&mut page, view);
    }
    (page, judged(title, input, &views))
}

/// The title with the verdict of a single run.
fn judged(title: String, input: &ReportInput<'_>, views: &[View<'_>]) -> String {
    let ([view], None) = (views, input.experiment) else {
        return title;
    };
    let is_thin = Tally::of(&view.run.findings).is_thin();
    match view.run.verdict {
        Some(verdict) => format!("{title} – {}", document::verdict_words(verdict, is_thin)),
        None => title,
    }
}

/// The heading of a report on these runs, and the name of each; a single run has no name.
pub(crate) fn names(input: &ReportInput<'_>) -> (String, Vec<String>) {
    let views = views(input);
    let title = heading(input, &views);
    (title, views.into_iter().map(|view| view.label).collect())
}

fn views<'a>(input: &ReportInput<'a>) -> Vec<View<'a>> {
    let labels = match input.runs.len() > 1 {
        true => several::labels(input),
        false => vec![String::new(); input.runs.len()],
    };
    let runs = input.runs.iter().zip(labels).enumerate();
    runs.map(|(index, (run, label))| {
        let costs = input.costs.get(index).map_or(&[][..], Vec::as_slice);
        View::new((index, input.runs.len()), label, run, costs)
    })
    .collect()
}

fn one_run(page: &mut Page, view: &View<'_>) {
    let sections = page.within(|page| sections(page, view));
    page.put(match view.label.as_str() {
        "" => sections,
        _ => html! {
            details class="run" {
                summary { (Text(format!("{} – {}", view.entry(), view.title()))) }
                (sections)
            }
            "\n"
        },
    });
}

fn sections(page: &mut Page, view: &View<'_>) {
    overview::write(page, view);
    duet::write(page, view);
    throughput::write(page, view);
    parts::write(page, view);
    latency::write(page, view);
    distribution::write(page, view);
    loops::write(page, view);
    if let Some(summary) = &view.run.summary {
        let machine = document::machine(summary);
        page.panel(view, ("machine", "What was measured"), machine, "");
        let work = document::work(summary);
        page.panel(view, ("operations", "Operations"), work, "");
    }
    agents::write(page, view);
    statements::write(page, view);
    ledger::write(page, view);
    host::write(page, view);
    server_host::write(page, view);
    waits::write(page, view);
    profiles::write(page, view);
    database::write(page, view);
    findings::write(page, view);
    setup::write(page, view);
}

/// The requested title, or one derived from the runs; for a comparison with its outcome.
fn heading(input: &ReportInput<'_>, views: &[View<'_>]) -> String {
    let searched = dyno_analysis::search::answer_of(input.runs);
    let in_duet = input.duet();
    let title = match views {
        _ if !input.title.is_empty() => input.title.to_owned(),
        [] => "No runs".to_owned(),
        [view] => view.title(),
        views => match (searched, &in_duet) {
            (Some(answer), _) => answer.to_owned(),
            (None, Some(found)) => document::duet_judged(found),
            (None, None) => several::sentence(&several::sides(input, views)),
        },
    };
    // Experiments, searches and duets have answers of another kind.
    let has_answer = searched.is_some() || input.experiment.is_some() || in_duet.is_some();
    if views.len() < 2 || has_answer {
        return title;
    }
    match several::outcome(&several::sides(input, views)) {
        Some(outcome) => format!("{title} – {outcome}"),
        None => title,
    }
}
