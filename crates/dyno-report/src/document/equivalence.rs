//! The words for a test of equivalence, the same in every output.

use dyno_core::text::counted;
use dyno_stats::Equivalence;
use dyno_verdict::{EquivalenceTest, Needs};

use super::digits;
use crate::number::thousands;

/// The answer, and how much data would decide: `the same within 2 %`, `different`, `undecided,
/// needs about 12 minutes a side`.
pub fn equivalence_words(test: &EquivalenceTest) -> String {
    match test.answer {
        Equivalence::Same => same(test),
        Equivalence::SameButMeasurable => {
            let difference = percent((test.ratio - 1.0).abs());
            format!(
                "{} (a difference of {difference} is measurable)",
                same(test)
            )
        }
        Equivalence::Different => "different".to_owned(),
        Equivalence::Undecided { .. } => match test.needs {
            Some(needs) => format!("undecided, needs about {}", needed(needs)),
            None => "undecided".to_owned(),
        },
    }
}

/// The answer in a word.
pub(crate) fn equivalence_word(test: &EquivalenceTest) -> &'static str {
    match test.answer {
        Equivalence::Same | Equivalence::SameButMeasurable => "same",
        Equivalence::Different => "different",
        Equivalence::Undecided { .. } => "undecided",
    }
}

/// The answer for the cell of a table, such as `undecided: +6 runs`.
pub(crate) fn equivalence_short(test: &EquivalenceTest) -> String {
    let word = equivalence_word(test);
    match test.needs {
        None => word.to_owned(),
        Some(Needs::MoreRunsASide(more)) => format!("{word}: +{}", counted(more, "run")),
        Some(Needs::MoreBlocks(more)) => format!("{word}: +{}", counted(more, "block")),
        Some(Needs::SecondsASide(seconds)) => {
            format!("{word}: {}", time(seconds, ["s", "min", "h"]))
        }
    }
}

/// The rule of the answers.
pub(crate) fn equivalence_rule(margin: f64) -> String {
    let (low, high) = (1.0 / (1.0 + margin), 1.0 + margin);
    format!(
        "The same within {}: the 90 % interval of the ratio is within {low:.3} – {high:.3} (two \
         one-sided tests at 5 %). Different: the 95 % interval excludes 1.",
        percent(margin)
    )
}

fn same(test: &EquivalenceTest) -> String {
    format!("the same within {}", percent(test.margin))
}

fn needed(needs: Needs) -> String {
    match needs {
        Needs::SecondsASide(seconds) => {
            format!("{} a side", time(seconds, ["seconds", "minutes", "hours"]))
        }
        Needs::MoreRunsASide(1) => "1 more run of this length a side".to_owned(),
        Needs::MoreRunsASide(more) => {
            format!("{} more runs of this length a side", thousands(more))
        }
        Needs::MoreBlocks(1) => "1 more block".to_owned(),
        Needs::MoreBlocks(more) => format!("{} more blocks", thousands(more)),
    }
}

/// A rough time, rounded up, in one of these units: at least 2 minutes or 2 hours.
fn time(seconds: f64, [second, minute, hour]: [&str; 3]) -> String {
    let (amount, unit) = match seconds {
        short if short <= 90.0 => (short, second),
        usual if usual <= 5_400.0 => (usual / 60.0, minute),
        long => (long / 3_600.0, hour),
    };
    format!("{} {unit}", thousands(amount.ceil() as u64))
}

/// A share in percent: one decimal, more for small ones.
fn percent(share: f64) -> String {
    let percent = share * 100.0;
    let percent = match percent {
        small if small < 0.1 => small,
        usual => (usual * 10.0).round() / 10.0,
    };
    format!("{} %", digits(percent))
}

#[cfg(test)]
mod tests {
    use dyno_stats::{Bounds, Margin, Tested};
    use dyno_verdict::Amount;

    use super::*;

    fn test(ratio: f64, reach: f64, margin: f64, amount: Amount) -> EquivalenceTest {
        let about = |reach: f64| Bounds {
            low: ratio - reach,
            high: ratio + reach,
        };
        let tested = Tested {
            ratio,
            interval: about(reach * 1.2),
            inner: about(reach),
        };
        EquivalenceTest::of(&tested, Margin::new(margin).unwrap(), amount)
    }

    #[test]
    fn answers_have_words() {
        for (test, words, short) in [
            (
                test(1.0, 0.01, 0.02, Amount::Runs(3)),
                "the same within 2 %",
                "same",
            ),
            (
                test(1.0, 0.001, 0.005, Amount::Runs(3)),
                "the same within 0.5 %",
                "same",
            ),
            (
                test(0.996, 0.002, 0.02, Amount::Runs(3)),
                "the same within 2 % (a difference of 0.4 % is measurable)",
                "same",
            ),
            (
                test(0.9, 0.02, 0.02, Amount::Runs(3)),
                "different",
                "different",
            ),
            (
                test(1.0, 0.04, 0.02, Amount::Runs(3)),
                "undecided, needs about 10 more runs of this length a side",
                "undecided: +10 runs",
            ),
            (
                test(1.0, 0.021, 0.02, Amount::Runs(3)),
                "undecided, needs about 1 more run of this length a side",
                "undecided: +1 run",
            ),
            (
                test(1.0, 0.04, 0.02, Amount::Blocks(5)),
                "undecided, needs about 17 more blocks",
                "undecided: +17 blocks",
            ),
            (
                test(1.0, 0.04, 0.02, Amount::Seconds(10.0)),
                "undecided, needs about 43 seconds a side",
                "undecided: 43 s",
            ),
            (
                test(1.0, 0.04, 0.02, Amount::Seconds(60.0)),
                "undecided, needs about 5 minutes a side",
                "undecided: 5 min",
            ),
            (
                test(1.0, 0.4, 0.02, Amount::Seconds(60.0)),
                "undecided, needs about 12 hours a side",
                "undecided: 12 h",
            ),
            (
                test(1.0, 0.04, 0.02, Amount::Unknown),
                "undecided",
                "undecided",
            ),
        ] {
            assert_eq!(equivalence_words(&test), words);
            assert_eq!(equivalence_short(&test), short);
        }
    }

    #[test]
    fn the_rule_has_its_bounds() {
        let rule = equivalence_rule(0.02);
        assert!(rule.contains("within 0.980 – 1.020"), "{rule}");
    }
}
