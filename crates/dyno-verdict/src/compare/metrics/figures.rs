//! Figures that the workload computes.

use dyno_core::reported::Figure;

use super::{Row, weighted};
use crate::compare::MetricKind;
use crate::compare::estimate::{Estimate, Within};
use crate::view::View;

/// A row for each figure with a better direction that all runs of both sides have.
pub(super) fn rows(base: &[View], new: &[View]) -> Vec<Row> {
    let first = base.first().map_or(&[][..], figures);
    let row = |figure: &Figure| {
        Some(Row {
            name: figure.name.clone(),
            kind: MetricKind::Usual,
            unit: figure.unit.clone(),
            better: figure.better?,
            base: Some(estimate(base, figure)?),
            new: Some(estimate(new, figure)?),
            remark: String::new(),
        })
    };
    first.iter().filter_map(row).collect()
}

fn figures<'a>(view: &View<'a>) -> &'a [Figure] {
    let summary = view.run.summary.as_ref();
    summary.map_or(&[], |summary| &summary.figures)
}

/// The mean of the runs, weighted by their length.
fn estimate(views: &[View], wanted: &Figure) -> Option<Estimate> {
    let of = |view: &View| {
        let own = figures(view).iter();
        let mut same = own.filter(|own| own.name == wanted.name && own.unit == wanted.unit);
        same.next().map(|figure| figure.value)
    };
    let runs = views.iter().map(of).collect::<Option<Vec<f64>>>()?;
    let lengths = views.iter().map(|view| view.length_s);
    weighted(runs, lengths, Within::Nothing)
}
