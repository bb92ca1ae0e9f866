//! The answers to an experiment's question, in sentences.

use dyno_lab::Effect;
use dyno_report::equivalence_words;
use dyno_stats::{Equivalence, Margin};
use dyno_verdict::EquivalenceTest;
use serde_json::{Value, json};

use super::equivalence::equivalence;
use super::tables;

/// With more effects than this, the answer leaves some out.
const EFFECTS_SHOWN_MAX: usize = 4;

/// An effect as JSON; with a margin, its test of equivalence.
pub(super) fn effect(of: &Effect, margin: Option<Margin>) -> Value {
    let test = margin.and_then(|margin| equivalence(&of.ratio, margin));
    let mut value = json!({
        "level": of.what,
        "base": of.base,
        "ratio": of.ratio.value,
        "low": of.ratio.bounds.map(|own| own.low),
        "high": of.ratio.bounds.map(|own| own.high),
        "interval": of.ratio.source.words(),
        "pairs": of.ratio.pairs,
        "shown": of.is_shown,
    });
    if margin.is_some() {
        value["equivalence"] = json!(test);
    }
    value
}

/// One sentence for the effect of each factor.
pub(super) fn answer(
    effects: &[Effect],
    together: &[Effect],
    subject: &str,
    margin: Option<Margin>,
) -> Vec<String> {
    let figure = tables::subject_words(subject);
    let mut shown: Vec<&Effect> = effects.iter().collect();
    if shown.len() > EFFECTS_SHOWN_MAX {
        let size = |effect: &Effect| effect.ratio.value.ln().abs();
        shown.sort_by(|one, other| size(other).total_cmp(&size(one)));
        shown.truncate(EFFECTS_SHOWN_MAX);
        // The greatest effects, in the order of the file.
        shown = effects
            .iter()
            .filter(|effect| shown.iter().any(|own| std::ptr::eq(*own, *effect)))
            .collect();
    }
    let differs = |effect: &Effect| {
        let own = |other: &&Effect| other.what.split(" × ").any(|what| what == effect.what);
        let shown = together.iter().filter(|other| other.is_shown);
        shown.clone().any(|other| own(&other))
    };
    let left = match effects.len() - shown.len() {
        0 => None,
        1 => Some("One more level is among the effects below".to_owned()),
        left => Some(format!("{left} more levels are among the effects below")),
    };
    let sentences = shown.iter().map(|effect| {
        let sentence = sentence(effect, figure, effects.len(), margin);
        match differs(effect) {
            true => format!(
                "{sentence}; across all levels of the other factors, but it changes with them: see \
                 the tables"
            ),
            false => sentence,
        }
    });
    sentences.chain(left).collect()
}

/// A sentence for an interval that is too wide to tell whether there is a difference, with the
/// number of blocks that would narrow it.
fn undecided(effect: &Effect, figure: &str) -> String {
    let needs = match effect.ratio.blocks_needed() {
        Some(1) => "needs about 1 more block".to_owned(),
        Some(more) => format!("needs about {more} more blocks"),
        None => "more blocks would hardly help".to_owned(),
    };
    format!(
        "{}: undecided, {} times the {figure} of {} ({}), {needs}",
        effect.what,
        effect.ratio.value_words(),
        effect.base,
        effect.ratio.bounds_words()
    )
}

/// The answer for an effect, one of so many.
fn sentence(effect: &Effect, figure: &str, count: usize, margin: Option<Margin>) -> String {
    let (what, base) = (&effect.what, &effect.base);
    let (ratio, bounds) = (effect.ratio.value_words(), effect.ratio.bounds_words());
    if effect.ratio.bounds.is_none() {
        let undecided = margin.map_or("", |_| "undecided, ");
        return format!(
            "{what}: {undecided}{ratio} times the {figure} of {base} in single trials, too few to \
             tell a difference from chance"
        );
    }
    if let Some(test) = margin.and_then(|margin| equivalence(&effect.ratio, margin)) {
        return tested(effect, &test, figure, count);
    }
    let alone = effect.ratio.bounds.is_some_and(|own| !own.contains(1.0));
    match (effect.is_shown, alone) {
        (true, _) => format!("{what}: {ratio} times the {figure} of {base} ({bounds})"),
        (false, true) => format!(
            "{what}: {ratio} times the {figure} of {base} ({bounds}); not significant after \
             correcting for {count} comparisons"
        ),
        (false, false) if effect.ratio.is_undecided() => undecided(effect, figure),
        (false, false) => format!(
            "{what}: no significant difference from {base} ({ratio} times its {figure}; {bounds})"
        ),
    }
}

/// The answer for an effect within a margin.
fn tested(effect: &Effect, test: &EquivalenceTest, figure: &str, count: usize) -> String {
    let alone = match test.answer {
        Equivalence::Different if !effect.is_shown => {
            format!("; not significant after correcting for {count} comparisons")
        }
        _ => String::new(),
    };
    format!(
        "{}: {}, {} times the {figure} of {} ({}){alone}",
        effect.what,
        equivalence_words(test),
        effect.ratio.value_words(),
        effect.base,
        effect.ratio.bounds_words()
    )
}
