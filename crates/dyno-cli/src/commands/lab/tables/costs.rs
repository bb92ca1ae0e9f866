//! The table of costs.

use dyno_conduct::lab::figures::Done;
use dyno_lab::file::{Experiment, Monthly, Prices};

use super::{LabTable, by_cell, factors_but, mean, sheet, shown};

/// The components of a price, by their columns.
type Component = (&'static str, fn(&Monthly) -> Option<f64>);

/// Separate columns: each component is reduced in a different way.
const COMPONENTS: [Component; 5] = [
    ("servers on demand", |month| month.on_demand),
    ("reserved", |month| month.reserved),
    ("storage", |month| Some(month.storage)),
    ("IOPS", |month| Some(month.iops)),
    ("flat", |month| Some(month.flat)),
];

/// The monthly cost of each cell by component, and per 1,000 events per second.
pub(super) fn costs(experiment: &Experiment, done: &[&Done]) -> LabTable {
    let Some(prices) = experiment.prices() else {
        return LabTable::Missing("a table of costs needs [price]".to_owned());
    };
    let cells = experiment.cells();
    let of = |trials: &[&Done]| -> Option<Monthly> {
        let levels = &trials.first()?.measured.levels;
        let cell = cells.iter().find(|cell| cell.levels == *levels)?;
        Some(prices.monthly(&cell.effective.prices))
    };
    let factors = factors_but(done, &[]);
    let rows: Vec<_> = by_cell(experiment, done, &factors)
        .into_iter()
        .filter_map(|(levels, trials)| {
            let month = of(&trials)?;
            Some((levels, mean(&trials, "rate"), month))
        })
        .collect();
    let is_paid = |(_, of): &&Component| {
        let mut months = rows.iter().map(|(_, _, month)| of(month));
        months.any(|paid| paid.is_some_and(|paid| paid > 0.0))
    };
    let paid: Vec<&Component> = COMPONENTS.iter().filter(is_paid).collect();
    let (on_demand, reserved) = ("1,000/s on demand", "1,000/s reserved");
    let mut columns = vec!["rate"];
    columns.extend(paid.iter().map(|(name, _)| *name));
    let has_reserved = paid.iter().any(|(name, _)| *name == "reserved");
    columns.push(on_demand);
    if has_reserved {
        columns.push(reserved);
    }
    let mut sheet_table = sheet(
        &format!("Cost of a month, {}", prices.currency),
        &about(&prices),
        &factors,
        &columns,
    );
    for (mut row, rate, month) in rows {
        let each = |total: Option<f64>| {
            let thousands = rate.filter(|rate| *rate > 0.0)? / 1e3;
            Some(total? / thousands)
        };
        row.push(shown(rate));
        row.extend(paid.iter().map(|(_, of)| money(of(&month))));
        let [as_used, ahead] = month.totals();
        row.push(money(each(as_used)));
        if has_reserved {
            row.push(money(each(ahead)));
        }
        sheet_table.rows.push(row);
    }
    LabTable::Sheet(sheet_table)
}

fn about(prices: &Prices) -> String {
    let nodes = match prices.nodes {
        1.0 => "one node".to_owned(),
        nodes => format!("{nodes} nodes"),
    };
    format!(
        "Prices of {}, a month of {} hours, {nodes}. 1,000/s: what a month costs for each thousand \
         events per second, all components together.",
        prices.date, prices.hours_per_month
    )
}

fn money(value: Option<f64>) -> String {
    value.map_or_else(
        || "–".to_owned(),
        |value| dyno_core::units::human_number(value, 2),
    )
}
