//! The registry of all checks.

use std::sync::OnceLock;

use crate::check::{Check, CheckResult};
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

/// Checks that need more than one run: [`compare`](crate::compare()) makes them.
pub(crate) const COMPARISON: &[Check] = &[
    pair(
        42,
        "environments",
        "Environment differences besides the intended factor",
        "Doubt if anything else differs: plan, options, configuration, host, server or tool.",
    ),
    pair(
        43,
        "order",
        "Order of the runs",
        "Doubt if all runs of one side precede those of the other.",
    ),
    pair(
        44,
        "run-to-run",
        "Run-to-run variance",
        "Doubt with fewer than three runs a side: the variance is then unknown.",
    ),
    pair(
        45,
        "autocorrelation",
        "Whether intervals account for autocorrelation",
        "Doubt if intervals treat correlated seconds as independent.",
    ),
    pair(
        46,
        "many-comparisons",
        "Correction for the number of comparisons",
        "Doubt if significance is not corrected.",
    ),
    pair(
        47,
        "ratio-interval",
        "Whether each ratio has an interval",
        "Doubt if a ratio has only a p-value, or neither.",
    ),
    pair(
        48,
        "percentiles",
        "Whether percentiles were averaged",
        "Doubt if a side's percentile does not come from its merged distribution.",
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
        "Runs planned, done, refused and deleted",
        "Refusal if a compared run was refused. Doubt if one failed, never finished, or is \
         doubtful for more than the precision of its figures.",
    ),
];

const fn pair(number: u8, name: &'static str, title: &'static str, rule: &'static str) -> Check {
    Check {
        number,
        name,
        title,
        rule,
        thresholds: &[],
        make: |_| CheckResult::not_checked("It needs a comparison with another run."),
    }
}

#[cfg(test)]
mod tests {
    use super::checks;
    use crate::check::Check;
    use crate::text;

    const GUIDE: &str = include_str!("../../../docs/validity.md");

    fn row(check: &Check) -> String {
        let name = check.name;
        format!(
            "| {} | [`{name}`](#{name}) | {} |",
            check.number, check.title
        )
    }

    fn heading(name: &str) -> String {
        format!("#### `{name}`\n")
    }

    fn paragraph(check: &Check) -> String {
        let mut text = format!(
            "{}\n{}. {}\n",
            heading(check.name),
            check.title,
            check.rule_text()
        );
        for t in check.thresholds {
            let value = text::plain(t.value);
            text += &format!("\n- {}, {value} {}: {}.", t.name, t.unit, t.why);
        }
        text.trim_end().to_owned() + "\n\n"
    }

    /// The guide with these paragraphs in place of its old ones.
    fn rewritten() -> String {
        let mut guide = GUIDE.to_owned();
        for check in checks() {
            let at = guide.find(&heading(check.name)).unwrap();
            let after = at + heading(check.name).len();
            let end = guide[after..]
                .find("\n#")
                .map_or(guide.len(), |end| after + end + 1);
            guide.replace_range(at..end, &paragraph(check));
        }
        guide
    }

    /// `DYNO_WRITE_GUIDE=1` rewrites the paragraphs.
    #[test]
    fn the_guide_describes_every_check_and_no_other() {
        if std::env::var_os("DYNO_WRITE_GUIDE").is_some() {
            let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/validity.md");
            std::fs::write(path, rewritten()).unwrap();
            return;
        }
        let rows: Vec<&str> = GUIDE
            .lines()
            .filter(|line| line.starts_with("| ") && line.contains(" | [`"))
            .collect();
        let expected: Vec<String> = checks().iter().map(|check| row(check)).collect();
        assert_eq!(rows, expected, "the index of docs/validity.md");
        for check in checks() {
            let text = paragraph(check);
            assert!(
                GUIDE.contains(&text),
                "docs/validity.md lacks this paragraph (DYNO_WRITE_GUIDE=1 writes it):\n{text}"
            );
        }
        let paragraphs = GUIDE.lines().filter(|line| line.starts_with("#### `"));
        assert_eq!(
            paragraphs.count(),
            expected.len(),
            "paragraphs on checks too many"
        );
    }

    /// The number of all checks in the output that the guide shows: `43 of 64 checks ran`.
    #[test]
    fn the_guide_shows_the_number_of_checks() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
        let pages = std::fs::read_dir(format!("{root}/docs")).unwrap();
        let pages = pages.map(|page| page.unwrap().path());
        let mut paths: Vec<_> = pages.filter(|path| path.is_file()).collect();
        paths.push(format!("{root}/README.md").into());
        let counts = [checks().len(), super::COMPARISON.len()].map(|count| count.to_string());
        let mut shown = 0;
        for path in paths {
            let text = std::fs::read_to_string(&path).unwrap();
            let parts: Vec<&str> = text.split(" checks ran").collect();
            for before in parts.iter().rev().skip(1) {
                let count = before.rsplit(' ').next().unwrap();
                if count.parse::<usize>().is_err() {
                    continue;
                }
                assert!(
                    counts.iter().any(|own| own == count),
                    "{}: {count} checks instead of {counts:?}",
                    path.display()
                );
                shown += 1;
            }
        }
        assert!(shown > 3, "{shown}");
    }

    #[test]
    fn every_number_has_a_check_and_every_check_a_unique_name() {
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
