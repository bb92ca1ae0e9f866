//! Effects of factors, and interactions.

use dyno_conduct::lab::figures::Done;
use dyno_lab::file::Experiment;
use dyno_lab::{Effect, Ratio};
use dyno_report::equivalence_words;
use dyno_report::sheet::Sheet;
use dyno_stats::Margin;

use super::{sheet, subject_words};
use crate::commands::lab::equivalence::equivalence;

/// The effect of each factor, and interactions.
pub(in crate::commands::lab) fn effects(
    experiment: &Experiment,
    done: &[Done],
    (figure, margin): (&str, Option<Margin>),
) -> Option<Sheet> {
    let measured: Vec<dyno_lab::Measured> = done.iter().map(|done| done.measured.clone()).collect();
    let alone = dyno_lab::effects(experiment, &measured, figure);
    let together = match experiment.crossed().len() {
        0 | 1 => Vec::new(),
        _ => dyno_lab::interactions(experiment, &measured, figure),
    };
    if alone.is_empty() {
        return None;
    }
    let mut table = sheet(
        &format!("Effects on the {}", subject_words(figure)),
        "Each level against its factor's base, across all levels of the other factors; of two \
         factors, their joint effect divided by their single effects. An effect is shown if its \
         interval, widened for the number of comparisons, excludes 1.",
        &[],
        &["level", "to", "ratio (95 %)", "shown"],
    );
    table.columns[0].1 = false;
    let row = |effect: &Effect| {
        let mut row = vec![
            effect.what.clone(),
            effect.base.clone(),
            Ratio::words(&effect.ratio),
            if effect.is_shown { "yes" } else { "no" }.to_owned(),
        ];
        let test = |margin| equivalence(&effect.ratio, margin);
        let words = |margin| {
            test(margin)
                .as_ref()
                .map_or_else(String::new, equivalence_words)
        };
        row.extend(margin.map(words));
        row
    };
    table.columns[1].1 = false;
    table
        .columns
        .extend(margin.map(|_| ("answer".to_owned(), false)));
    table.rows = alone.iter().chain(&together).map(row).collect();
    Some(table)
}
