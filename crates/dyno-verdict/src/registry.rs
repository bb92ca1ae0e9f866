//! All checks there are.

use std::sync::OnceLock;

use crate::check::{Check, Made};
use crate::{conduct, data, errors, generator, machine, server, time};

/// All checks, in the order of their numbers.
pub fn checks() -> &'static [&'static Check] {
    static ALL: OnceLock<Vec<&'static Check>> = OnceLock::new();
    ALL.get_or_init(|| {
        [
            generator::CHECKS,
            errors::CHECKS,
            data::CHECKS,
            time::CHECKS,
            machine::CHECKS,
            server::CHECKS,
            COMPARISON,
            conduct::CHECKS,
        ]
        .into_iter()
        .flatten()
        .collect()
    })
}

/// Checks that a single run cannot answer: [`compare`](crate::compare()) makes them.
pub(crate) const COMPARISON: &[Check] = &[
    pair(
        42,
        "environments",
        "Differences of the environments besides the intended factor",
        "Doubt if plan, options, configuration, host, server or tool differ in what was not \
         intended.",
    ),
    pair(
        43,
        "order",
        "The order of the runs: interleaved or one side after the other",
        "Doubt if all runs of one side lie before those of the other.",
    ),
    pair(
        44,
        "run-to-run",
        "The variance from run to run, and effects below it",
        "Doubt if there are fewer than three runs a side, so that the variance from run to run is \
         not known.",
    ),
    pair(
        45,
        "autocorrelation",
        "Whether the intervals allow for autocorrelation",
        "Doubt if intervals take correlated seconds for independent ones.",
    ),
    pair(
        46,
        "many-comparisons",
        "Whether significance is corrected for the number of comparisons",
        "Doubt if it is not.",
    ),
    pair(
        47,
        "ratio-interval",
        "Whether each ratio has an interval",
        "Doubt if a ratio stands with a p-value alone or with nothing.",
    ),
    pair(
        48,
        "percentiles",
        "Whether percentiles were averaged",
        "Doubt if a side's percentile is not taken from its merged distribution.",
    ),
    pair(
        49,
        "same-statistic",
        "Whether both sides show the same statistic",
        "Doubt if a best of several runs is compared with a mean of several.",
    ),
    pair(
        50,
        "runs-listed",
        "Runs that were planned, done, refused and deleted",
        "Doubt if a run that takes part was refused, failed or never finished.",
    ),
];

const fn pair(number: u8, name: &'static str, title: &'static str, rule: &'static str) -> Check {
    Check {
        number,
        name,
        title,
        rule,
        thresholds: &[],
        make: |_| Made::not_checked("It needs a comparison with another run."),
    }
}
