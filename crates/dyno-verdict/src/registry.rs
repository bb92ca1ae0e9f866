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
        "Refusal if a run that takes part was refused, doubt if one failed, never finished or is \
         doubtful, but for how exactly its figures are known.",
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

#[cfg(test)]
mod tests {
    use super::checks;
    use crate::check::Check;
    use crate::text;

    const GUIDE: &str = include_str!("../../../docs/validity.md");

    /// The guide's row of a check.
    fn row(check: &Check) -> String {
        let reasons: Vec<String> = check
            .thresholds
            .iter()
            .map(|t| format!("{} {} {}: {}", t.name, text::plain(t.value), t.unit, t.why))
            .collect();
        format!(
            "| {} | `{}` | {} | {} | {} |",
            check.number,
            check.name,
            check.title,
            check.rule_text(),
            if reasons.is_empty() {
                "–".to_owned()
            } else {
                reasons.join("; ")
            }
        )
    }

    /// The guide with the rows of these checks in place of its own.
    fn rewritten(expected: &[String]) -> String {
        let name = |row: &str| row.split('`').nth(1).map(str::to_owned);
        let line = |line: &str| match line.starts_with("| ") && line.contains(" | `") {
            true => (expected.iter().find(|row| name(row) == name(line)))
                .map_or_else(|| line.to_owned(), Clone::clone),
            false => line.to_owned(),
        };
        GUIDE.lines().map(|one| line(one) + "\n").collect()
    }

    /// `DYNO_WRITE_GUIDE=1` writes the rows anew.
    #[test]
    fn the_guide_tells_of_every_check_and_of_no_other() {
        let rows: Vec<&str> = GUIDE
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains(" | `"))
            .collect();
        let expected: Vec<String> = checks().iter().map(|check| row(check)).collect();
        if std::env::var_os("DYNO_WRITE_GUIDE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validity.md");
            std::fs::write(path, rewritten(&expected)).unwrap();
            return;
        }
        for row in &expected {
            assert!(
                rows.contains(&row.as_str()),
                "docs/validity.md lacks this row:\n{row}"
            );
        }
        assert_eq!(
            rows.len(),
            expected.len(),
            "docs/validity.md has rows of checks too many"
        );
    }

    #[test]
    fn every_number_has_a_check_and_every_check_a_name_of_its_own() {
        let numbers: Vec<u8> = checks().iter().map(|check| check.number).collect();
        assert!(numbers.is_sorted());
        assert!((1..=54).all(|number| numbers.contains(&number)));
        for check in checks() {
            let same = checks().iter().filter(|other| other.name == check.name);
            assert_eq!(same.count(), 1, "{}", check.name);
            assert!(
                check
                    .name
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c == '-')
            );
            assert!(!check.rule_text().contains('{'), "{}", check.rule_text());
            for threshold in check.thresholds {
                assert!(!threshold.why.is_empty() && !threshold.unit.is_empty());
            }
        }
    }
}
