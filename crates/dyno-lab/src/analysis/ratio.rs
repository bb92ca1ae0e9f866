//! The ratio between two sets of cells.

use std::collections::{BTreeMap, HashMap};

use dyno_stats::intervals::mean_interval;
use dyno_stats::{Bounds, Tested, inner_confidence, mean};

use super::{Figure, Measured, OfDuet};

/// The source of an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The variation between this many blocks.
    Blocks(usize),
    /// The seconds within single trials, which do not show how much another start would vary.
    Within,
    /// No interval.
    Nothing,
}

impl Source {
    /// As printed in reports.
    pub fn words(self) -> String {
        match self {
            Self::Blocks(blocks) => format!("{blocks} blocks"),
            Self::Within => "from within single trials".to_owned(),
            Self::Nothing => "single trials, no interval".to_owned(),
        }
    }
}

/// A ratio, or another figure over trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ratio {
    /// Its value.
    pub value: f64,
    /// Its confidence interval.
    pub bounds: Option<Bounds>,
    /// Of a ratio between trials, the interval at [`inner_confidence`].
    pub inner: Option<Bounds>,
    /// The source of the interval.
    pub source: Source,
    /// The number of pairs of trials.
    pub pairs: usize,
}

/// The largest number of blocks to suggest.
const BLOCKS_NEEDED_MAX: usize = 1_000;

impl Ratio {
    /// The ratio as a test of equivalence needs it; `None` without an interval.
    pub fn tested(&self) -> Option<Tested> {
        Some(Tested {
            ratio: self.value,
            interval: self.bounds?,
            inner: self.inner?,
        })
    }

    /// Whether its interval contains 1 and reaches beyond 10 % on a side: it shows neither a
    /// difference nor its absence.
    pub fn is_undecided(&self) -> bool {
        const SMALL: (f64, f64) = (0.9, 1.1);
        self.bounds
            .is_some_and(|own| own.contains(1.0) && (own.low < SMALL.0 || own.high > SMALL.1))
    }

    /// Roughly the number of further blocks that would show a difference this large, if blocks vary
    /// as before; `None` if unknown, or if no number would suffice.
    pub fn blocks_needed(&self) -> Option<usize> {
        let (Source::Blocks(blocks), Some(bounds)) = (self.source, self.bounds) else {
            return None;
        };
        let (low, high, center) = (bounds.low.ln(), bounds.high.ln(), self.value.ln().abs());
        let half = (high - low) / 2.0;
        let reach = |count: usize| {
            let of = |count: usize| mean_reach(count, CONFIDENCE);
            Some(half * of(count)? / of(blocks)?)
        };
        let needed = (blocks + 1..=BLOCKS_NEEDED_MAX)
            .find(|count| reach(*count).is_some_and(|reach| reach < center))?;
        Some(needed - blocks)
    }
}

/// The half-width of the interval of a mean, in standard deviations of the values.
fn mean_reach(count: usize, confidence: f64) -> Option<f64> {
    // Values of standard deviation 1: equally many of each sign, and a 0 in an odd number.
    let pairs = (count / 2).max(1) as f64;
    let size = ((count as f64 - 1.0) / (2.0 * pairs)).sqrt();
    let values: Vec<f64> = (0..count)
        .map(|at| match (at == count - 1 && count % 2 == 1, at % 2) {
            (true, _) => 0.0,
            (false, 0) => size,
            (false, _) => -size,
        })
        .collect();
    let bounds = mean_interval(&values, confidence)?;
    Some((bounds.high - bounds.low) / 2.0)
}

const CONFIDENCE: f64 = 0.95;

/// The ratio of a figure between neighbours: trials of one block with equal levels of all factors
/// except `differing`. `None` if there are no such pairs.
pub fn between(
    trials: &[Measured],
    (of, to): (Side<'_>, Side<'_>),
    differing: &[&str],
    figure: &str,
) -> Option<Ratio> {
    let figure = |trial: &Measured| trial.figure(None, figure);
    Pairs::of(trials, (of, to), differing, &figure).ratio(CONFIDENCE)
}

/// A block, and the levels common to both sides.
type Key = (usize, Vec<(String, String)>);

/// Selects the trials of one side.
pub type Side<'a> = &'a dyn Fn(&Measured) -> bool;

/// Logarithms of the ratios of a figure, by block and combination of common levels, with the
/// squares of their standard errors.
pub(super) struct Pairs {
    by_block: BTreeMap<usize, Vec<(f64, Option<f64>)>>,
}

impl Pairs {
    /// `differing` are the factors in which the sides differ.
    pub(super) fn of(
        trials: &[Measured],
        (of, to): (Side<'_>, Side<'_>),
        differing: &[&str],
        figure: &dyn Fn(&Measured) -> Option<Figure>,
    ) -> Self {
        let usable = || trials.iter().filter(|trial| trial.is_usable());
        let key = |trial: &Measured| -> Vec<(String, String)> {
            let levels = trial.levels.iter();
            let others = levels.filter(|(name, _)| !differing.contains(&name.as_str()));
            others
                .map(|(name, level)| (name.clone(), level.clone()))
                .collect()
        };
        let mut bases: HashMap<Key, Vec<(&Measured, Figure)>> = HashMap::new();
        for other in usable().filter(|trial| to(trial)) {
            if let Some(figure) = figure(other).filter(|figure| figure.value > 0.0) {
                let of_key = bases.entry((other.block, key(other))).or_default();
                of_key.push((other, figure));
            }
        }
        let mut by_block: BTreeMap<usize, Vec<(f64, Option<f64>)>> = BTreeMap::new();
        for one in usable().filter(|trial| of(trial)) {
            let Some(new) = figure(one).filter(|figure| figure.value > 0.0) else {
                continue;
            };
            let there = bases.get(&(one.block, key(one)));
            let there = there.into_iter().flatten();
            let bases: Vec<Figure> = there
                .filter(|(other, _)| other.runs != one.runs)
                .map(|(_, figure)| *figure)
                .collect();
            let logs: Vec<f64> = bases.iter().map(|base| base.value.ln()).collect();
            let Some(base) = mean(&logs) else { continue };
            let error = match (new.duet, &bases[..]) {
                // The ratio comes from the slices of one duet.
                (Some(own), [base]) if base.duet.is_some_and(|base| base.run == own.run) => {
                    Some(own.error * own.error)
                }
                _ => apart(new, &bases),
            };
            let pairs = by_block.entry(one.block).or_default();
            pairs.push((new.value.ln() - base, error));
        }
        Self { by_block }
    }

    /// The ratio of these ratios to others, block by block.
    pub(super) fn less(&self, others: &Self) -> Self {
        let whole = |pairs: &[(f64, Option<f64>)]| {
            let logs: Vec<f64> = pairs.iter().map(|(log, _)| *log).collect();
            let squares: Option<Vec<f64>> = pairs.iter().map(|(_, error)| *error).collect();
            let count = (logs.len() * logs.len()) as f64;
            let error = squares.map(|squares| squares.iter().sum::<f64>() / count);
            Some((mean(&logs)?, error))
        };
        let by_block = self.by_block.iter().filter_map(|(block, pairs)| {
            let (own, own_error) = whole(pairs)?;
            let (other, other_error) = whole(others.by_block.get(block)?)?;
            let error = own_error.zip(other_error).map(|(one, other)| one + other);
            Some((*block, vec![(own - other, error)]))
        });
        Self {
            by_block: by_block.collect(),
        }
    }

    pub(super) fn blocks(&self) -> Vec<f64> {
        let means = self.by_block.values().map(|pairs| {
            let logs: Vec<f64> = pairs.iter().map(|(log, _)| *log).collect();
            mean(&logs)
        });
        means.flatten().collect()
    }

    pub(super) fn ratio(&self, confidence: f64) -> Option<Ratio> {
        let blocks = self.blocks();
        let value = mean(&blocks)?;
        let pairs = self.by_block.values().map(Vec::len).sum();
        let (bounds, source) = self.interval(&blocks, value, confidence);
        let (inner, _) = self.interval(&blocks, value, inner_confidence(confidence));
        let ratio = |logs: Bounds| Bounds {
            low: logs.low.exp(),
            high: logs.high.exp(),
        };
        Some(Ratio {
            value: value.exp(),
            bounds: bounds.map(ratio),
            inner: inner.map(ratio),
            source,
            pairs,
        })
    }

    /// The interval of the mean of these blocks, with its source.
    fn interval(&self, blocks: &[f64], mean: f64, confidence: f64) -> (Option<Bounds>, Source) {
        let between = mean_interval(blocks, confidence).filter(|_| blocks.len() > 1);
        match between {
            Some(bounds) => (Some(bounds), Source::Blocks(blocks.len())),
            None => match self.within(mean, confidence) {
                Some(bounds) => (Some(bounds), Source::Within),
                None => (None, Source::Nothing),
            },
        }
    }

    /// The interval from the standard errors within the trials.
    fn within(&self, center: f64, confidence: f64) -> Option<Bounds> {
        let all: Vec<&(f64, Option<f64>)> = self.by_block.values().flatten().collect();
        let squares: Option<Vec<f64>> = all.iter().map(|(_, error)| *error).collect();
        let error = squares?.iter().sum::<f64>().sqrt() / all.len() as f64;
        let half = normal_quantile(confidence) * error;
        (half > 0.0).then_some(Bounds {
            low: center - half,
            high: center + half,
        })
    }
}

/// The square of the standard error of the logarithm of a ratio to the mean of other figures.
fn apart(new: Figure, bases: &[Figure]) -> Option<f64> {
    let errors: Option<Vec<f64>> = bases.iter().map(|base| base.error).collect();
    let errors = errors?;
    let squares: f64 = errors.iter().map(|error| error * error).sum();
    Some(new.error? * new.error? + squares / (errors.len() * errors.len()) as f64)
}

impl OfDuet {
    /// From the 95 % interval of the ratio.
    pub fn within(run: i64, low: f64, high: f64) -> Self {
        let error = (high / low).ln() / 2.0 / normal_quantile(CONFIDENCE);
        Self { run, error }
    }
}

/// The two-sided normal quantile of this confidence; a coarse table is enough, because the errors
/// are from within one run.
fn normal_quantile(confidence: f64) -> f64 {
    match confidence {
        c if c <= 0.9 => 1.644_854,
        c if c <= 0.95 => 1.959_964,
        c if c <= 0.99 => 2.575_829,
        c if c <= 0.999 => 3.290_527,
        _ => 3.890_592,
    }
}

/// A figure over trials, with the variation between blocks.
pub(super) fn over_blocks(by_block: &BTreeMap<usize, Vec<f64>>) -> Option<Ratio> {
    let means: Vec<f64> = by_block
        .values()
        .filter_map(|values| mean(values))
        .collect();
    let value = mean(&means)?;
    let bounds = mean_interval(&means, 0.95).filter(|_| means.len() > 1);
    Some(Ratio {
        value,
        bounds,
        inner: None,
        source: match bounds {
            Some(_) => Source::Blocks(means.len()),
            None => Source::Nothing,
        },
        pairs: by_block.values().map(Vec::len).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(value: f64, low: f64, high: f64, blocks: usize) -> Ratio {
        Ratio {
            value,
            bounds: Some(Bounds { low, high }),
            inner: None,
            source: Source::Blocks(blocks),
            pairs: blocks,
        }
    }

    #[test]
    fn wide_intervals_are_undecided_and_need_more_blocks() {
        let wide = ratio(3.05, 0.44, 20.9, 3);
        assert!(wide.is_undecided());
        // It reaches 1.93 with 3 blocks, 1.24 with 4 and 0.96 with 5; its logarithm is 1.12.
        assert_eq!(wide.blocks_needed(), Some(2));
        assert!(!ratio(1.01, 0.97, 1.05, 5).is_undecided());
        assert!(!ratio(2.0, 1.5, 2.6, 5).is_undecided());
        // Almost no difference: no number of blocks shows one.
        assert_eq!(ratio(1.0, 0.5, 2.0, 4).blocks_needed(), None);
        assert!(
            ratio(1.1, 0.7, 1.7, 4)
                .blocks_needed()
                .is_some_and(|more| more > 20)
        );
    }

    #[test]
    fn the_sides_of_a_duet_have_its_error_and_others_have_none() {
        let trial = |flush: &str, run: i64, of: i64, value: f64| {
            let figure = Figure {
                value,
                error: None,
                includes: None,
                duet: Some(OfDuet {
                    run: of,
                    error: 0.01,
                }),
            };
            Measured {
                levels: BTreeMap::from([("flush".to_owned(), flush.to_owned())]),
                runs: vec![run],
                steps: BTreeMap::from([(
                    String::new(),
                    BTreeMap::from([("rate".to_owned(), figure)]),
                )]),
                ..Measured::default()
            }
        };
        let ratio = |trials: &[Measured]| {
            let is = |level: &'static str| move |trial: &Measured| trial.levels["flush"] == level;
            between(trials, (&is("1"), &is("0")), &["flush"], "rate").unwrap()
        };
        let found = ratio(&[trial("0", 1, 1, 1_000.0), trial("1", 2, 1, 980.0)]);
        assert_eq!(found.source, Source::Within);
        let bounds = found.bounds.unwrap();
        assert!((bounds.low / 0.961 - 1.0).abs() < 1e-3, "{bounds:?}");
        assert!((bounds.high / 0.9994 - 1.0).abs() < 1e-3, "{bounds:?}");
        let apart = ratio(&[trial("0", 1, 1, 1_000.0), trial("1", 4, 3, 980.0)]);
        assert_eq!(apart.source, Source::Nothing);
    }

    #[test]
    fn the_half_width_of_a_mean_is_students() {
        // t(0.975, 2) / sqrt(3) and t(0.975, 9) / sqrt(10).
        for (count, reach) in [(3, 2.4841), (10, 0.7154)] {
            assert!(
                (mean_reach(count, 0.95).unwrap() - reach).abs() < 1e-3,
                "{count}"
            );
        }
    }
}
