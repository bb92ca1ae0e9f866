//! Claims, checked against the measurements.

mod bounds;

use std::collections::BTreeMap;

use dyno_core::factors;
use dyno_core::figures::NamedFigure;
use dyno_core::finding::Verdict;
use dyno_core::text::trim_zeros;

pub(crate) use bounds::senseless;

use bounds::Allowed;

use super::effects::base_of;
use super::ratio::{Pairs, Ratio, Source, over_blocks};
use super::{Figure, Measured};
use crate::file::{Check, Claim, Experiment, OneOrMany, Scalar, Where};

/// The judgement of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The whole confidence interval agrees with the claim.
    Agrees,
    /// No part of the interval agrees with the claim.
    Differs,
    /// Only a part of the interval agrees with the claim, or there is no interval.
    CannotTell,
}

impl Judgement {
    /// As printed in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Agrees => "agrees",
            Self::Differs => "differs",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// A claim and its judgement.
#[derive(Clone, Debug, PartialEq)]
pub struct Answer {
    /// The text of the claim.
    pub text: String,
    /// The judgement.
    pub judgement: Judgement,
    /// The measured and the expected value.
    pub evidence: String,
}

/// The keys of a claim's check that this version does not judge.
pub fn not_judged(check: &Check) -> Vec<&'static str> {
    let known = [
        ("sum", !check.sum.is_empty()),
        ("hold", check.hold.is_some()),
        ("period", check.period.is_some()),
    ];
    known
        .into_iter()
        .filter(|(_, used)| *used)
        .map(|(name, _)| name)
        .collect()
}

const CONFIDENCE: f64 = 0.95;
/// The evidence for a claim about cells without a trial.
const NOTHING: &str = "no valid trial covers it; a smaller --scale may omit those levels";

/// An open loop kept the offered rate if it reached at least this share of it.
const KEPT: f64 = 0.98;
const RATE_ASKED: &str = "its trials are open loops that kept the offered rate: claim a response \
                          time such as p99, late_share or backlog";

/// At most three significant digits.
fn plain(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let digits = 2 - value.abs().log10().floor() as i32;
    trim_zeros(&format!("{value:.*}", digits.clamp(0, 9) as usize)).to_owned()
}

impl Ratio {
    /// As text: 0.77 (0.72 – 0.83, 5 blocks).
    pub fn words(&self) -> String {
        format!("{} ({})", self.value_words(), self.bounds_words())
    }

    /// Only its value.
    pub fn value_words(&self) -> String {
        plain(self.value)
    }

    /// Its interval and the source of that: 0.72 – 0.83, 5 blocks.
    pub fn bounds_words(&self) -> String {
        match self.bounds {
            Some(own) => format!(
                "{} – {}, {}",
                plain(own.low),
                plain(own.high),
                self.source.words()
            ),
            None => Source::Nothing.words(),
        }
    }
}

impl Experiment {
    /// Checks each claim against the trials.
    pub fn judge(&self, trials: &[Measured]) -> Vec<Answer> {
        let claims = self.claims.iter();
        claims.map(|claim| self.answer(claim, trials)).collect()
    }

    fn answer(&self, claim: &Claim, trials: &[Measured]) -> Answer {
        let check = &claim.check;
        let judged = match not_judged(check).first() {
            Some(key) => Err(format!("this version does not judge '{key}'")),
            None if self.rate_was_asked_for(check, trials) => Err(RATE_ASKED.to_owned()),
            None if !check.stalls.is_empty() => self.stalls(check, trials),
            None if check.first.is_some() => self.first(check, trials),
            None => self.measured(check, trials).and_then(|ratio| {
                let allowed = Allowed::of(check)
                    .ok_or("it has no expected value: between, above, below or is".to_owned())?;
                let evidence = format!("{}; claimed {}", ratio.words(), allowed.words());
                Ok((allowed.judge(ratio.bounds), evidence))
            }),
        };
        let (judgement, evidence) = match (judged, self.doubt(check, trials)) {
            (Ok((judgement, evidence)), Some(doubt)) => (judgement, format!("{evidence}; {doubt}")),
            (Ok(judged), None) => judged,
            (Err(why), _) => (Judgement::CannotTell, why),
        };
        Answer {
            text: claim.text.get_ref().clone(),
            judgement,
            evidence,
        }
    }

    /// Whether a claim is about the rate of open-loop trials that all kept the requested rate.
    fn rate_was_asked_for(&self, check: &Check, trials: &[Measured]) -> bool {
        let names = [&check.ratio, &check.figure, &check.spread];
        let names = names.into_iter().flatten();
        let find = |name: &String| NamedFigure::find(name);
        // An open loop prescribes its rate.
        if !names.filter_map(find).any(NamedFigure::is_throughput) {
            return false;
        }
        let step = check.step.as_deref();
        let about = |trial: &&Measured| trial.is_usable() && self.is_of(trial, &check.cells);
        let kept = |trial: &Measured| {
            let figures = trial
                .figure(step, "rate")
                .zip(trial.figure(step, "offered"));
            figures.is_some_and(|(rate, offered)| rate.value >= KEPT * offered.value)
        };
        let mut about = trials.iter().filter(about).peekable();
        about.peek().is_some() && about.all(kept)
    }

    /// The number of doubtful trials that a claim is about, as text.
    fn doubt(&self, check: &Check, trials: &[Measured]) -> Option<String> {
        let to = match check.to.is_empty() {
            true => &self.design.baseline,
            false => &check.to,
        };
        let sides = [&check.of, to];
        let about = |trial: &&Measured| {
            let side = check.of.is_empty() || sides.iter().any(|side| self.is_of(trial, side));
            trial.is_usable() && self.is_of(trial, &check.cells) && side
        };
        let all: Vec<&Measured> = trials.iter().filter(about).collect();
        let doubtful = all
            .iter()
            .filter(|trial| trial.verdict == Some(Verdict::Doubtful))
            .count();
        match doubtful {
            0 => None,
            some if some == all.len() => Some("all its trials are doubtful".to_owned()),
            some => Some(format!("{some} of its {} trials are doubtful", all.len())),
        }
    }

    fn measured(&self, check: &Check, trials: &[Measured]) -> Result<Ratio, String> {
        let step = check.step.as_deref();
        let within = |trial: &Measured| self.is_of(trial, &check.cells);
        let nothing = || NOTHING.to_owned();
        if let (Some(name), Some(over)) = (&check.spread, &check.over) {
            return spread(trials, &within, over, &|t| t.figure(step, name)).ok_or_else(nothing);
        }
        if let Some(step) = &check.fairness {
            let figure = |trial: &Measured| trial.figure(Some(step), "fairness");
            return values(trials, &within, &figure).ok_or_else(nothing);
        }
        let (name, is_ratio) = match (&check.ratio, &check.figure) {
            (Some(name), _) => (name, true),
            (None, Some(name)) => (name, !check.to.is_empty()),
            (None, None) => return Err("it has nothing to check".to_owned()),
        };
        let figure = |trial: &Measured| trial.figure(step, name);
        if !is_ratio {
            let of = |trial: &Measured| within(trial) && self.is_of(trial, &check.of);
            return values(trials, &of, &figure).ok_or_else(nothing);
        }
        let to = if check.to.is_empty() {
            &self.design.baseline
        } else {
            &check.to
        };
        if to.is_empty() {
            return Err(
                "it names no cell to compare with, and the design has no baseline".to_owned(),
            );
        }
        let differing: Vec<&str> = check
            .of
            .keys()
            .chain(to.keys())
            .map(String::as_str)
            .collect();
        let of = |trial: &Measured| within(trial) && self.is_of(trial, &check.of);
        // Factors that `of` does not name have equal levels on both sides.
        let to = |trial: &Measured| within(trial) && self.is_of(trial, to);
        let pairs = Pairs::of(trials, (&of, &to), &differing, &figure);
        pairs.ratio(CONFIDENCE).ok_or_else(nothing)
    }

    /// Whether a trial belongs to these cells; `min` and `max` mean the lowest and the highest
    /// level of a factor.
    pub fn is_of(&self, trial: &Measured, cells: &Where) -> bool {
        cells.iter().all(|(name, levels)| {
            let Some(own) = trial.levels.get(name) else {
                return false;
            };
            levels.get_ref().all().iter().any(|level| {
                let text = level.to_string();
                match text.as_str() {
                    "min" | "max" => self.end_of(name, &text).as_ref() == Some(own),
                    _ => level.names(own),
                }
            })
        })
    }

    fn end_of(&self, name: &str, which: &str) -> Option<String> {
        let factor = self.factor(name)?;
        let levels = factor
            .levels
            .get_ref()
            .iter()
            .map(|level| level.get_ref().name());
        let mut levels: Vec<&str> = levels.collect();
        levels.sort_by(|one, other| factors::order(one, other));
        let end = if which == "min" {
            levels.first()
        } else {
            levels.last()
        };
        end.map(|level| (*level).to_owned())
    }

    fn stalls(&self, check: &Check, trials: &[Measured]) -> Result<(Judgement, String), String> {
        let (mut of_these, mut of_others) = ((0, 0), (0, 0));
        let within = |trial: &&Measured| trial.is_usable() && self.is_of(trial, &check.cells);
        for trial in trials.iter().filter(within) {
            let Some(stalled) = trial.figure(check.step.as_deref(), "stalled_s") else {
                continue;
            };
            let side = match self.is_of(trial, &check.stalls) {
                true => &mut of_these,
                false => &mut of_others,
            };
            side.0 += 1;
            side.1 += usize::from(stalled.value > 0.0);
        }
        let evidence = format!(
            "{} of {} of these trials stalled, {} of {} of the others",
            of_these.1, of_these.0, of_others.1, of_others.0
        );
        let judgement = match (of_these, of_others) {
            ((0, _), _) => {
                return Err("it is unknown whether any of these trials stalled".to_owned());
            }
            ((all, stalled), (_, 0)) if all == stalled && all > 1 => Judgement::Agrees,
            ((all, 0), _) if all > 1 => Judgement::Differs,
            _ => Judgement::CannotTell,
        };
        Ok((judgement, evidence))
    }

    /// The level of a factor from which the ratio is below `ratio_below`.
    fn first(&self, check: &Check, trials: &[Measured]) -> Result<(Judgement, String), String> {
        let name = check.first.as_deref().unwrap_or_default();
        let factor = self
            .factor(name)
            .ok_or(format!("there is no factor '{name}'"))?;
        let below = check
            .ratio_below
            .ok_or("it has no ratio_below".to_owned())?;
        let expected = check.is.as_ref().ok_or("it has no `is`".to_owned())?;
        let mut levels: Vec<&str> = factor
            .levels
            .get_ref()
            .iter()
            .map(|level| level.get_ref().name())
            .collect();
        levels.sort_by(|one, other| factors::order(one, other));
        let mut ratios = Vec::new();
        let mut found = None;
        let mut is_open = false;
        for level in levels {
            let one = Where::from([(
                name.to_owned(),
                toml::Spanned::new(0..0, OneOrMany::One(Scalar::Text(level.to_owned()))),
            )]);
            let at = |trial: &Measured| trial.is_of(&one);
            let base = &self.design.baseline;
            let differing: Vec<&str> = check
                .cells
                .keys()
                .chain(base.keys())
                .map(String::as_str)
                .collect();
            let of = |trial: &Measured| at(trial) && self.is_of(trial, &check.cells);
            let to = |trial: &Measured| at(trial) && self.is_of(trial, base);
            let figure = |trial: &Measured| trial.figure(check.step.as_deref(), "rate");
            let pairs = Pairs::of(trials, (&of, &to), &differing, &figure);
            let Some(ratio) = pairs.ratio(CONFIDENCE) else {
                continue;
            };
            ratios.push(format!("{level}: {}", plain(ratio.value)));
            match ratio.bounds {
                Some(own) if own.high < below => {
                    found.get_or_insert_with(|| level.to_owned());
                }
                Some(own) if own.low >= below => {}
                _ => is_open |= found.is_none(),
            }
        }
        if ratios.is_empty() {
            return Err(NOTHING.to_owned());
        }
        let evidence = match &found {
            Some(level) => format!("from {level} on ({})", ratios.join(", ")),
            None => format!("not shown at any level ({})", ratios.join(", ")),
        };
        let judgement = match found {
            Some(level) if expected.names(&level) && !is_open => Judgement::Agrees,
            Some(_) if !is_open => Judgement::Differs,
            _ => Judgement::CannotTell,
        };
        Ok((judgement, format!("{evidence}; claimed {expected}")))
    }

    /// The level that a factor's other levels are compared with.
    pub fn base_level(&self, factor: &str) -> Option<String> {
        self.factor(factor).map(|factor| base_of(self, factor))
    }
}

type Chosen<'a> = &'a dyn Fn(&Measured) -> bool;
type Read<'a> = &'a dyn Fn(&Measured) -> Option<Figure>;

fn values(trials: &[Measured], chosen: Chosen<'_>, figure: Read<'_>) -> Option<Ratio> {
    let mut by_block: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for trial in trials
        .iter()
        .filter(|trial| trial.is_usable() && chosen(trial))
    {
        if let Some(figure) = figure(trial) {
            by_block.entry(trial.block).or_default().push(figure.value);
        }
    }
    let is_positive = by_block.values().flatten().all(|value| *value >= 0.0);
    let mut found = over_blocks(&by_block)?;
    if let Some(bounds) = found.bounds.as_mut().filter(|_| is_positive) {
        bounds.low = bounds.low.max(0.0);
    }
    Some(found)
}

/// The range of a figure over a factor's levels, divided by its mean.
fn spread(trials: &[Measured], chosen: Chosen<'_>, over: &str, figure: Read<'_>) -> Option<Ratio> {
    let mut levels: BTreeMap<usize, BTreeMap<&str, Vec<f64>>> = BTreeMap::new();
    for trial in trials
        .iter()
        .filter(|trial| trial.is_usable() && chosen(trial))
    {
        if let (Some(figure), Some(level)) = (figure(trial), trial.levels.get(over)) {
            let of_block = levels.entry(trial.block).or_default();
            of_block.entry(level).or_default().push(figure.value);
        }
    }
    let by_block = levels.into_iter().filter_map(|(block, levels)| {
        let means: Vec<f64> = levels
            .values()
            .filter_map(|values| dyno_stats::mean(values))
            .collect();
        let low = means.iter().copied().fold(f64::INFINITY, f64::min);
        let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let mean = dyno_stats::mean(&means)?;
        (means.len() > 1 && mean > 0.0).then(|| (block, vec![(high - low) / mean]))
    });
    over_blocks(&by_block.collect())
}

#[cfg(test)]
mod tests;
