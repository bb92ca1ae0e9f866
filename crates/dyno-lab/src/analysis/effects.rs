//! The effect of each factor, over all levels of the others.

use super::Measured;
use super::ratio::{Pairs, Ratio};
use crate::file::{Experiment, Factor};

/// The effect of a level on a figure, as a ratio to its factor's base.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The level, such as `binlog=1`; both levels of an interaction.
    pub what: String,
    /// The base of the ratio.
    pub base: String,
    /// The ratio with its interval.
    pub ratio: Ratio,
    /// Whether the effect is significant after correcting for the number of effects (Bonferroni).
    pub is_shown: bool,
}

const CONFIDENCE: f64 = 0.95;

/// The level that a factor's other levels are compared with.
pub(crate) fn base_of(experiment: &Experiment, factor: &Factor) -> String {
    let name = factor.name.get_ref();
    let of_design = experiment.design.baseline.get(name);
    let baseline = of_design.and_then(|levels| levels.get_ref().all().first());
    let baseline = baseline.map(ToString::to_string);
    let own = || factor.base.as_ref().map(|base| base.get_ref().clone());
    let first = || {
        let first = factor.levels.get_ref().first();
        first
            .map(|level| level.get_ref().name().to_owned())
            .unwrap_or_default()
    };
    let baseline = baseline.or_else(own);
    let mut levels = factor
        .levels
        .get_ref()
        .iter()
        .map(|level| level.get_ref().name());
    // The same number may be written in different ways.
    let known = baseline.and_then(|baseline| {
        levels
            .find(|level| {
                *level == baseline
                    || level
                        .parse::<f64>()
                        .is_ok_and(|n| Ok(n) == baseline.parse())
            })
            .map(str::to_owned)
    });
    known.unwrap_or_else(first)
}

fn others<'a>(factor: &'a Factor, base: &'a str) -> impl Iterator<Item = &'a str> {
    let levels = factor.levels.get_ref().iter();
    levels
        .map(|level| level.get_ref().name())
        .filter(move |level| *level != base)
}

/// The logarithms of the effects of each level on a figure, per block, from which the experiment
/// decides whether it has enough blocks.
pub(crate) fn block_logs(
    experiment: &Experiment,
    trials: &[Measured],
    figure: &str,
) -> Vec<Vec<f64>> {
    let pairs = alone(experiment, trials, figure).into_iter();
    pairs.map(|(_, _, pairs)| pairs.blocks()).collect()
}

/// The effect of each level of each crossed factor on a figure.
pub fn effects(experiment: &Experiment, trials: &[Measured], figure: &str) -> Vec<Effect> {
    judged(alone(experiment, trials, figure))
}

fn alone(
    experiment: &Experiment,
    trials: &[Measured],
    figure: &str,
) -> Vec<(String, String, Pairs)> {
    let figure = |trial: &Measured| trial.figure(None, figure);
    let mut found = Vec::new();
    for factor in experiment.crossed() {
        let name = factor.name.get_ref().as_str();
        let base = base_of(experiment, factor);
        for level in others(factor, &base) {
            let of = |trial: &Measured| trial.levels.get(name).is_some_and(|own| own == level);
            let to = |trial: &Measured| trial.levels.get(name) == Some(&base);
            let pairs = Pairs::of(trials, (&of, &to), &[name], &figure);
            found.push((format!("{name}={level}"), format!("{name}={base}"), pairs));
        }
    }
    found
}

/// Interactions of each pair of crossed factors: ratios of ratios.
pub fn interactions(experiment: &Experiment, trials: &[Measured], figure: &str) -> Vec<Effect> {
    let figure = |trial: &Measured| trial.figure(None, figure);
    let factors = experiment.crossed();
    let mut found = Vec::new();
    for (place, one) in factors.iter().enumerate() {
        for other in &factors[place + 1..] {
            let (a, b) = (one.name.get_ref().as_str(), other.name.get_ref().as_str());
            let (base_a, base_b) = (base_of(experiment, one), base_of(experiment, other));
            for level_a in others(one, &base_a) {
                for level_b in others(other, &base_b) {
                    let ratio_at = |level_b: &str| {
                        let is = |trial: &Measured, name: &str, level: &str| {
                            trial.levels.get(name).is_some_and(|own| own == level)
                        };
                        let of = |t: &Measured| is(t, a, level_a) && is(t, b, level_b);
                        let to = |t: &Measured| is(t, a, &base_a) && is(t, b, level_b);
                        Pairs::of(trials, (&of, &to), &[a], &figure)
                    };
                    let both = ratio_at(level_b).less(&ratio_at(&base_b));
                    let what = format!("{a}={level_a} × {b}={level_b}");
                    found.push((what, "each alone".to_owned(), both));
                }
            }
        }
    }
    judged(found)
}

fn judged(found: Vec<(String, String, Pairs)>) -> Vec<Effect> {
    let count = found
        .iter()
        .filter(|(_, _, pairs)| pairs.ratio(CONFIDENCE).is_some())
        .count();
    let together = 1.0 - (1.0 - CONFIDENCE) / count.max(1) as f64;
    let effects = found.into_iter().filter_map(|(what, base, pairs)| {
        let wide = pairs.ratio(together)?.bounds;
        Some(Effect {
            what,
            base,
            ratio: pairs.ratio(CONFIDENCE)?,
            is_shown: wide.is_some_and(|bounds| !bounds.contains(1.0)),
        })
    });
    effects.collect()
}

#[cfg(test)]
mod tests {
    use super::super::Source;
    use super::super::samples::{crossed, trials};
    use super::*;

    #[test]
    fn estimates_match_simulated_effects() {
        let experiment = crossed();
        // Engine b is 20 % slower, 2G is 50 % faster, and together they lose another 10 %.
        let all = trials(&experiment, 5, |levels, noise| {
            let slow = levels["engine"] == "b";
            let large = levels["memory"] == "2G";
            let mut rate = 1_000.0 * noise;
            rate *= if slow { 0.8 } else { 1.0 } * if large { 1.5 } else { 1.0 };
            rate * if slow && large { 0.9 } else { 1.0 }
        });
        let found = effects(&experiment, &all, "rate");
        assert_eq!(found.len(), 2);
        assert_eq!(
            (&found[0].what[..], &found[0].base[..]),
            ("engine=b", "engine=a")
        );
        let expected = (0.8_f64 * 0.72).sqrt();
        assert!(
            (found[0].ratio.value / expected - 1.0).abs() < 0.02,
            "{found:?}"
        );
        assert_eq!(found[0].ratio.source, Source::Blocks(5));
        assert!(found.iter().all(|effect| effect.is_shown), "{found:?}");
        let both = interactions(&experiment, &all, "rate");
        assert_eq!(both.len(), 1);
        assert!((both[0].ratio.value / 0.9 - 1.0).abs() < 0.03, "{both:?}");
    }

    #[test]
    fn effects_are_tested_for_equivalence() {
        use dyno_stats::{Equivalence, Margin};
        let experiment = crossed();
        let answer = |slow: f64| {
            let all = trials(&experiment, 8, |levels, noise| {
                1_000.0 * noise * if levels["engine"] == "b" { slow } else { 1.0 }
            });
            let found = effects(&experiment, &all, "rate");
            let tested = found[0].ratio.tested().unwrap();
            assert!(tested.inner.low > tested.interval.low, "{tested:?}");
            assert!(tested.inner.high < tested.interval.high, "{tested:?}");
            Equivalence::of(&tested, Margin::new(0.02).unwrap())
        };
        assert!(matches!(
            answer(1.0),
            Equivalence::Same | Equivalence::SameButMeasurable
        ));
        assert_eq!(answer(0.8), Equivalence::Different);
    }

    #[test]
    fn no_effect_is_seldom_shown() {
        let experiment = crossed();
        let mut shown = 0;
        for seed in 0..200 {
            let mut stream = dyno_core::rand::Stream::new(seed, 7);
            let all = trials(&experiment, 4, |_, _| {
                1_000.0 * (1.0 + 0.05 * (stream.next_f64() - 0.5))
            });
            let found = effects(&experiment, &all, "rate");
            shown += usize::from(found.iter().any(|effect| effect.is_shown));
        }
        // About 5 % of the experiments show one or both effects.
        assert!(shown <= 18, "{shown} of 200");
    }

    #[test]
    fn blocks_go_on_until_ratios_are_precise() {
        let with = |precision: &str| {
            let text = format!(
                "experiment = 1\nquestion = '?'\n[load]\nworkload = 'tpcc'\n\
                 [[factor]]\nname = 'memory'\napplies = 'start'\nsetting = 'm'\n\
                 levels = [1, 2]\n[design]\nprecision = {precision}\nmax_blocks = 12\n"
            );
            Experiment::parse("x.toml", &text, None).unwrap()
        };
        let measured = |experiment: &Experiment, blocks| {
            trials(experiment, blocks, |_, noise| 1_000.0 * noise)
        };
        let coarse = with("'2 %'");
        assert_eq!((coarse.precision(), coarse.blocks()), (Some(0.02), 8));
        assert!(coarse.is_precise(&measured(&coarse, 8)));
        let fine = with("0.0001");
        assert!(!fine.is_precise(&measured(&fine, 8)));
        // There are at most twelve.
        assert!(fine.is_precise(&measured(&fine, 12)));
        assert!(with("0.5").is_precise(&[]));
    }
}
