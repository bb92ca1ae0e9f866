//! Checks that the types cannot express: undeclared names, impossible crossings.

use std::collections::BTreeSet;
use std::ops::Range;

use dyno_core::factors::parse_factor;
use toml::Spanned;

use super::{Experiment, Factor, Level, OneOrMany, Order, Where};
use crate::error::{Problems, nearest};
use crate::levels;

pub(crate) fn check(experiment: &Experiment, problems: &mut Problems) {
    let version = *experiment.experiment.get_ref();
    if version != 1 {
        let what = format!("version {version} of the grammar is unknown; expected 1");
        problems.add(Some(experiment.experiment.span()), what);
    }
    if experiment.server.kind.is_some() && experiment.server.url.is_some() {
        problems.add(
            None,
            "[server] has both `kind` and `url`; expected one of them",
        );
    }
    search(experiment, problems);
    let mut names = BTreeSet::new();
    for factor in &experiment.factors {
        if !names.insert(factor.name.get_ref()) {
            let what = format!("the factor '{}' is declared twice", factor.name.get_ref());
            problems.add(Some(factor.name.span()), what);
        }
        one_factor(experiment, factor, problems);
    }
    for claim in &experiment.claims {
        if let Some(why) = crate::analysis::claims::senseless(&claim.check) {
            let what = format!("the claim '{}': {why}", claim.text.get_ref());
            problems.add(Some(claim.text.span()), what);
        }
    }
    super::agents::check(experiment, problems);
    design(experiment, problems);
    super::prices::check(experiment, problems);
    for (cells, special) in wheres(experiment) {
        named(experiment, cells, special, problems);
    }
}

fn search(experiment: &Experiment, problems: &mut Problems) {
    let Some(search) = &experiment.search else {
        return;
    };
    let known = ["max rate with ", "max sessions with "];
    if !known
        .iter()
        .any(|begin| search.get_ref().starts_with(begin))
    {
        let what = "no search; expected for example \"max rate with p99 < 10ms\" or \"max \
                    sessions with p95 < 20ms\"";
        problems.add(Some(search.span()), what);
    }
    let own = if search.get_ref().starts_with("max rate") {
        "rate"
    } else {
        "sessions"
    };
    let factors = experiment.factors.iter().map(|factor| &factor.name);
    for name in factors.filter(|name| name.get_ref() == own) {
        let what = format!("'{own}' is what `search` looks for, so it cannot be a factor");
        problems.add(Some(name.span()), what);
    }
}

fn one_factor(experiment: &Experiment, factor: &Factor, problems: &mut Problems) {
    let name = factor.name.get_ref();
    let levels = factor.levels.get_ref();
    if levels.is_empty() {
        problems.add(
            Some(factor.levels.span()),
            format!("the factor '{name}' has no levels"),
        );
    }
    let mut seen = BTreeSet::new();
    for level in levels {
        let text = level.get_ref().name();
        if let Err(why) = parse_factor(&format!("{name}={text}")) {
            problems.add(Some(level.span()), why);
        }
        if !seen.insert(text) {
            problems.add(
                Some(level.span()),
                format!("'{name}' has the level '{text}' twice"),
            );
        }
        if let (Level::Plain(..), Some(what)) = (level.get_ref(), of_load(name, text)) {
            problems.add(Some(level.span()), what);
        }
        if let Err(why) = levels::likes(factor, level.get_ref()) {
            problems.add(Some(level.span()), why);
        }
        let plain = matches!(level.get_ref(), Level::Plain(..));
        if plain && !levels::has_meaning(factor) {
            let what = format!(
                "the level '{text}' of '{name}' is a plain value; expected `setting` or `set_by`, \
                 which name the setting, or {{ name = \"{text}\", … }}"
            );
            problems.add(Some(level.span()), what);
        }
    }
    if let Some(base) = &factor.base
        && !seen.contains(base.get_ref().as_str())
    {
        let near = nearest(base.get_ref(), seen.iter().copied());
        problems.add(
            Some(base.span()),
            format!("'{name}' has no level '{}'; {near}", base.get_ref()),
        );
    }
    for (other, by_level) in &factor.set_by {
        let span = by_level.span();
        let Some(other) = declared(experiment, other, span.clone(), problems) else {
            continue;
        };
        for level in by_level.get_ref().keys() {
            has_level(other, level, &|text| text == level, span.clone(), problems);
        }
    }
}

/// Why a plain level of a load factor is wrong.
fn of_load(factor: &str, level: &str) -> Option<String> {
    let is_good = match factor {
        "sessions" | "clients" => level.parse::<u32>().is_ok_and(|count| count > 0),
        "rate" => dyno_core::units::parse_rate(level).is_ok_and(|rate| rate > 0.0),
        _ => true,
    };
    let expected = if factor == "rate" {
        "a rate such as 100/s"
    } else {
        "a whole number of at least 1"
    };
    (!is_good).then(|| format!("the level '{level}' of '{factor}' is not {expected}"))
}

fn declared<'a>(
    experiment: &'a Experiment,
    name: &str,
    span: Range<usize>,
    problems: &mut Problems,
) -> Option<&'a Factor> {
    let found = experiment.factor(name);
    if found.is_none() {
        let names = experiment.factors.iter().map(|f| f.name.get_ref().as_str());
        let near = nearest(name, names);
        problems.add(Some(span), format!("there is no factor '{name}'; {near}"));
    }
    found
}

fn has_level(
    factor: &Factor,
    level: &str,
    is_it: &dyn Fn(&str) -> bool,
    span: Range<usize>,
    problems: &mut Problems,
) {
    let names = || {
        factor
            .levels
            .get_ref()
            .iter()
            .map(|level| level.get_ref().name())
    };
    if !names().any(is_it) {
        let near = nearest(level, names());
        let name = factor.name.get_ref();
        problems.add(
            Some(span),
            format!("'{name}' has no level '{level}'; {near}"),
        );
    }
}

fn wheres(experiment: &Experiment) -> Vec<(&Where, bool)> {
    let design = &experiment.design;
    let mut all = vec![(&design.baseline, false)];
    all.extend(design.list.iter().map(|cells| (cells, false)));
    all.extend(experiment.tables.iter().map(|table| (&table.cells, true)));
    all.extend(experiment.plots.iter().map(|plot| (&plot.cells, true)));
    for claim in &experiment.claims {
        let check = &claim.check;
        all.extend([&check.of, &check.to, &check.cells, &check.stalls].map(|cells| (cells, true)));
    }
    all
}

/// Checks that cells name existing factors and levels. A smaller scale has fewer levels, so reports
/// may refer to levels that only the whole file has.
fn named(experiment: &Experiment, cells: &Where, report: bool, problems: &mut Problems) {
    for (name, levels) in cells {
        let span = levels.span();
        let Some(factor) = declared(experiment, name, span.clone(), problems) else {
            continue;
        };
        let levels: &OneOrMany<_> = levels.get_ref();
        for level in levels.all() {
            let text = level.to_string();
            let special = experiment.is_scaled || matches!(text.as_str(), "min" | "max");
            if !(report && special) {
                has_level(
                    factor,
                    &text,
                    &|name| level.names(name),
                    span.clone(),
                    problems,
                );
            }
        }
    }
}

/// Maximum number of trials; more are assumed to be a mistake.
const TRIALS_MAX: u64 = 100_000;

/// Why there are too many trials to plan in memory.
fn too_many(experiment: &Experiment) -> Option<String> {
    let design = &experiment.design;
    let levels = experiment.crossed().into_iter();
    let levels = levels.map(|factor| factor.levels.get_ref().len() as u64);
    let crossed = levels.fold(1, u64::saturating_mul);
    let cells = match design.list.len() as u64 {
        0 => crossed,
        listed => listed,
    };
    let repeats = design.repeats.as_ref().map_or(1, |own| *own.get_ref());
    let repeats = u64::from(repeats.max(design.max_blocks.unwrap_or(1)));
    let all = cells
        .saturating_mul(repeats)
        .saturating_add(design.aa.into());
    (all > TRIALS_MAX).then(|| {
        format!("{cells} cells in {repeats} blocks are too many trials; at most {TRIALS_MAX}")
    })
}

fn design(experiment: &Experiment, problems: &mut Problems) {
    let design = &experiment.design;
    if experiment
        .load
        .time
        .as_ref()
        .is_some_and(|time| time.value().is_zero())
    {
        problems.add(None, "[load] time is 0; expected a time such as 60s");
    }
    if let Some(why) = too_many(experiment) {
        problems.add(design.repeats.as_ref().map(Spanned::span), why);
    }
    if let Some(repeats) = design
        .repeats
        .as_ref()
        .filter(|repeats| *repeats.get_ref() == 0)
    {
        problems.add(Some(repeats.span()), "repeats is 0; expected 1 or more");
    }
    let crossed = experiment.crossed();
    let mut found = Vec::new();
    for name in design.cross.iter().flatten() {
        if declared(experiment, name.get_ref(), name.span(), problems).is_some()
            && found.contains(&name.get_ref())
        {
            let what = format!("'{}' is crossed with itself", name.get_ref());
            problems.add(Some(name.span()), what);
        }
        found.push(name.get_ref());
    }
    idle(experiment, problems);
    let mut outer: Option<&Factor> = None;
    for name in &design.nest {
        let Some(factor) = declared(experiment, name.get_ref(), name.span(), problems) else {
            continue;
        };
        if let Some(outer) = outer.filter(|outer| factor.applies > outer.applies) {
            problems.add(Some(name.span()), dearer(factor, outer));
        }
        outer = Some(factor);
    }
    let nested = |factor: &Factor| {
        let mut names = design.nest.iter();
        names.any(|name| name.get_ref() == factor.name.get_ref())
    };
    if let (Some(outer), Some(last)) = (outer, design.nest.last()) {
        let inner = crossed.iter().filter(|factor| !nested(factor));
        for factor in inner.filter(|factor| factor.applies > outer.applies) {
            problems.add(Some(last.span()), dearer(factor, outer));
        }
    }
    paired(experiment, problems);
    for (name, levels) in &design.baseline {
        let in_cross = crossed.iter().any(|factor| factor.name.get_ref() == name);
        if !in_cross && experiment.factor(name).is_some() {
            let what = format!("the baseline matches no cell: '{name}' is not in `cross`");
            problems.add(Some(levels.span()), what);
        }
    }
}

/// Reports factors without a level in any trial: neither crossed nor in a listed cell. A smaller
/// scale may leave one out.
fn idle(experiment: &Experiment, problems: &mut Problems) {
    let design = &experiment.design;
    let crossed = experiment.crossed();
    let is_used = |name: &str| {
        crossed.iter().any(|own| own.name.get_ref() == name)
            || design.list.iter().any(|cells| cells.contains_key(name))
            || [&design.pair, &design.duet]
                .into_iter()
                .flatten()
                .any(|pair| pair.get_ref() == name)
    };
    for factor in &experiment.factors {
        let name = factor.name.get_ref();
        if !experiment.is_scaled && !is_used(name) {
            let what = format!("no trial has a level of '{name}': it is not in `cross`");
            problems.add(Some(factor.name.span()), what);
        }
    }
}

fn paired(experiment: &Experiment, problems: &mut Problems) {
    let design = &experiment.design;
    let nested = |factor: &Factor| {
        let mut names = design.nest.iter();
        names.any(|name| name.get_ref() == factor.name.get_ref())
    };
    for (word, pair) in [("pair", &design.pair), ("duet", &design.duet)] {
        let Some(pair) = pair else { continue };
        let name = pair.get_ref();
        let Some(factor) = declared(experiment, name, pair.span(), problems) else {
            continue;
        };
        let count = factor.levels.get_ref().len();
        if count != 2 {
            let what = format!("a {word} needs two levels, but '{name}' has {count}");
            problems.add(Some(pair.span()), what);
        }
        if nested(factor) {
            let what = format!("'{name}' is paired, so it cannot be in `nest`");
            problems.add(Some(pair.span()), what);
        }
    }
    if let Some(duet) = &design.duet {
        for what in not_in_duets(experiment) {
            let what = format!("{what} does not apply to an experiment with `duet`");
            problems.add(Some(duet.span()), what);
        }
    }
}

/// Keys of the file that need single trials.
fn not_in_duets(experiment: &Experiment) -> impl Iterator<Item = &'static str> {
    let design = &experiment.design;
    let keys = [
        ("`pair`", design.pair.is_some()),
        ("`order = \"blocks\"`", design.order == Order::Blocks),
        ("`bracket`", design.bracket),
        ("`aa`", design.aa > 0),
        ("`rerun_best`", design.rerun_best),
        ("`search`", experiment.search.is_some()),
        ("`[agents]`", experiment.agents.is_some()),
        ("`cpu_profile`", experiment.observe.cpu_profile),
    ];
    keys.into_iter().filter(|(_, has)| *has).map(|(key, _)| key)
}

fn dearer(inner: &Factor, outer: &Factor) -> String {
    let (inner_name, outer_name) = (inner.name.get_ref(), outer.name.get_ref());
    format!(
        "'{inner_name}' cannot change within '{outer_name}': its change costs more ({} within {}); \
         put '{inner_name}' before it in `nest`",
        inner.applies.word(),
        outer.applies.word()
    )
}
