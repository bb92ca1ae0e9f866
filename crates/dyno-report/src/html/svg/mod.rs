//! Charts of the page as stand-alone SVG files for slides, wikis and papers.
//!
//! They show the same data with the same axes as the page's script (`assets`), in light colours,
//! and need no script, style sheet or font.

mod axis;
mod curves;
mod distribution;
mod groups;
mod heat;
mod labels;
mod lines;
mod marks;
mod scale;
mod sheet;
#[cfg(test)]
mod tests;

use super::chart::{Chart, Choice};
use super::data::{ChartText, Data};
use super::{ReportInput, written};
use sheet::Texts;

/// The charts of a page.
pub struct Charts {
    data: Data,
    /// The line below each title: the page's title and, if there is only one, the run's name.
    subtitle: String,
    /// The common beginning of the charts' ids on a page of one run, left out in their names.
    prefix: &'static str,
}

impl Charts {
    /// The charts that [`super::report`] would show.
    pub fn of(input: &ReportInput<'_>) -> Self {
        let (page, title) = written(input);
        let (subtitle, prefix) = match input.runs {
            [run] => (format!("{title} · {}", run.head.name), "r1-"),
            _ => (title, ""),
        };
        Self {
            data: page.into_data(),
            subtitle,
            prefix,
        }
    }

    /// The names of the charts that have data, in the order of the page. A chart with alternatives
    /// has a name for each, such as `heat:PAYMENT`; its first also has the name alone.
    pub fn names(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (text, chart) in self.charts() {
            let name = self.name(text);
            if !has_data(chart) {
                continue;
            }
            names.push(name.to_owned());
            let others = alternatives(chart).into_iter().skip(1);
            names.extend(others.map(|other| format!("{name}:{other}")));
        }
        names
    }

    /// The chart of this name; `None` if there is no such chart.
    pub fn svg(&self, name: &str) -> Option<String> {
        let whole = self.charts().find(|(text, _)| self.name(text) == name);
        if let Some((text, chart)) = whole {
            return self.drawn(text, chart, 0);
        }
        let (name, wanted) = name.split_once(':')?;
        let (text, chart) = self.charts().find(|(text, _)| self.name(text) == name)?;
        let alternatives = alternatives(chart);
        let number = alternatives.iter().position(|one| *one == wanted)?;
        self.drawn(text, chart, number)
    }

    fn charts(&self) -> impl Iterator<Item = (&ChartText, &Chart)> {
        let texts = self.data.texts.iter();
        texts.filter_map(|text| Some((text, self.data.charts.get(&text.id)?)))
    }

    fn name<'a>(&self, text: &'a ChartText) -> &'a str {
        text.id.strip_prefix(self.prefix).unwrap_or(&text.id)
    }

    fn drawn(&self, text: &ChartText, chart: &Chart, number: usize) -> Option<String> {
        if !has_data(chart) {
            return None;
        }
        let title = match alternatives(chart).as_slice() {
            [] | [_] => text.title.clone(),
            several => format!("{}: {}", text.title, several.get(number)?),
        };
        let texts = Texts {
            title: &title,
            subtitle: &self.subtitle,
            about: &text.about,
            source: &text.source,
        };
        Some(match chart {
            Chart::Time(time) => lines::draw(&texts, time, &self.data),
            Chart::Heat(maps) => heat::draw(&texts, picked(maps, number)?, &self.data),
            Chart::Distribution(all) => distribution::draw(&texts, picked(all, number)?),
            Chart::Curves(curves) => curves::draw(&texts, curves),
            Chart::Groups(groups) => groups::draw(&texts, groups),
        })
    }
}

fn picked<T>(choice: &Choice<T>, number: usize) -> Option<&T> {
    choice.of.get(number).map(|(_, alternative)| alternative)
}

/// The names of a chart's alternatives.
fn alternatives(chart: &Chart) -> Vec<&str> {
    fn names<T>(choice: &Choice<T>) -> Vec<&str> {
        choice.of.iter().map(|(name, _)| name.as_str()).collect()
    }
    match chart {
        Chart::Heat(maps) => names(maps),
        Chart::Distribution(all) => names(all),
        Chart::Time(_) | Chart::Curves(_) | Chart::Groups(_) => Vec::new(),
    }
}

/// Whether there is something to draw: the reader picks the lines of some charts on the page.
fn has_data(chart: &Chart) -> bool {
    match chart {
        Chart::Time(time) => !time.lines.is_empty(),
        Chart::Heat(maps) => !maps.of.is_empty(),
        Chart::Distribution(all) => !all.of.is_empty(),
        Chart::Curves(curves) => !curves.lines.is_empty(),
        Chart::Groups(groups) => !groups.groups.is_empty(),
    }
}
