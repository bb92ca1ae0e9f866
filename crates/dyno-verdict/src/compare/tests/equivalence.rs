//! Figures that are the same within a margin.

use dyno_core::record::RunRecord;
use dyno_stats::{Equivalence, Margin};

use super::{metric, run, sides, sides_with};
use crate::compare::{CompareOptions, Comparison, EquivalenceTest, Needs};

fn within(margin: f64, base: &[RunRecord], new: &[RunRecord]) -> Comparison {
    let options = CompareOptions {
        equivalent: Margin::new(margin),
        ..CompareOptions::default()
    };
    sides_with(base, new, &options)
}

fn of_events(comparison: &Comparison) -> EquivalenceTest {
    metric(comparison, "events").equivalence.unwrap()
}

#[test]
fn a_loss_of_a_fifth_is_different_or_within_a_wide_margin() {
    let (base, new) = ([run(1000.0, 1)], [run(800.0, 2)]);
    let narrow = within(0.02, &base, &new);
    assert_eq!(narrow.equivalent_within, Some(0.02));
    let events = of_events(&narrow);
    assert_eq!(events.answer, Equivalence::Different);
    assert_eq!((events.margin, events.needs), (0.02, None));
    // The interval of the tests is inside that of the comparison.
    let shown = metric(&narrow, "events");
    assert!(events.low > shown.low.unwrap(), "{events:?}");
    assert!(events.high < shown.high, "{events:?}");
    assert_eq!(Some(events.ratio), shown.ratio);
    let wide = of_events(&within(0.5, &base, &new));
    assert_eq!(wide.answer, Equivalence::SameButMeasurable);
    // A maximum has no interval.
    assert_eq!(metric(&narrow, "latency, maximum").equivalence, None);
    let plain = sides(&base, &new);
    assert_eq!(plain.equivalent_within, None);
    assert!(plain.metrics.iter().all(|one| one.equivalence.is_none()));
}

#[test]
fn runs_of_the_same_are_the_same_or_need_more_time() {
    let (mut same, mut undecided) = (0, 0);
    for seed in 0..12 {
        let (base, new) = ([run(1000.0, 2 * seed)], [run(1000.0, 2 * seed + 1)]);
        let wide = of_events(&within(0.1, &base, &new));
        same += usize::from(matches!(
            wide.answer,
            Equivalence::Same | Equivalence::SameButMeasurable
        ));
        let narrow = of_events(&within(0.001, &base, &new));
        undecided += usize::from(match narrow.needs {
            // The runs have 60 s.
            Some(Needs::SecondsASide(seconds)) => seconds >= 60.0,
            _ => false,
        });
    }
    assert_eq!(same, 12);
    // One pair in twenty differs measurably.
    assert!(undecided >= 9, "{undecided} of 12");
}

#[test]
fn several_runs_a_side_need_more_runs() {
    let side = |level: f64, seed: u64| -> Vec<RunRecord> {
        (0..4)
            .map(|i| run(level + 60.0 * i as f64, seed + 2 * i))
            .collect()
    };
    let events = of_events(&within(0.02, &side(1000.0, 0), &side(1040.0, 1)));
    assert!(
        matches!(events.answer, Equivalence::Undecided { .. }),
        "{events:?}"
    );
    let Some(Needs::MoreRunsASide(more)) = events.needs else {
        panic!("{events:?}");
    };
    assert!(more >= 4, "{more}");
}
