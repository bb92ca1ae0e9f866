//! Parses conditions.

use super::{Kind, Relation, Threshold, Unit};
use crate::figures::{ERRORS, MS, NamedFigure};
use crate::units::parse_duration;

pub(super) fn parsed(text: &str) -> Result<Threshold, String> {
    let at = text
        .find(['<', '>'])
        .ok_or_else(|| "a relation is missing: <, <=, > or >=".to_owned())?;
    let (figure, rest) = text.split_at(at);
    let (relation, limit) = match rest
        .strip_prefix(">=")
        .map(|rest| (Relation::AtLeast, rest))
    {
        Some(found) => found,
        None => match rest.strip_prefix("<=") {
            Some(rest) => (Relation::AtMost, rest),
            None if rest.starts_with('>') => (Relation::Above, &rest[1..]),
            None => (Relation::Below, &rest[1..]),
        },
    };
    let (of, figure) = figure_of(figure.trim())?;
    let (limit, unit) = limit_of(limit.trim(), &figure)?;
    Ok(Threshold {
        of,
        figure,
        relation,
        limit,
        unit,
    })
}

fn figure_of(text: &str) -> Result<(Option<String>, Kind), String> {
    if text.is_empty() {
        return Err("a figure is missing before the relation".to_owned());
    }
    if let Some(figure) = known(text)? {
        return Ok((None, Kind::Known(figure)));
    }
    if let Some((of, figure)) = text.split_once('.')
        && !of.is_empty()
        && let Some(figure) = known(figure)?
    {
        return Ok((Some(of.to_owned()), Kind::Known(figure)));
    }
    let near = NamedFigure::compared().map(|name| (strsim::osa_distance(name, text), name));
    match near.min() {
        Some((1, name)) => Err(format!("unknown figure '{text}'; did you mean '{name}'?")),
        _ => Ok((None, Kind::Own(text.to_owned()))),
    }
}

/// A figure by its usual name; an error for an invalid percentile.
fn known(text: &str) -> Result<Option<NamedFigure>, String> {
    let found = NamedFigure::find(&text.to_ascii_lowercase());
    let found = found.filter(|figure| figure.metric().is_some());
    match found.and_then(|figure| figure.percent) {
        None => Ok(found),
        Some(percent) if percent > 0.0 && percent <= 100.0 => Ok(found),
        Some(_) => Err(format!(
            "{text} is not a percentile; expected a number above 0, up to 100"
        )),
    }
}

fn limit_of(text: &str, figure: &Kind) -> Result<(f64, Unit), String> {
    let text = &*text.replace(' ', "");
    let number = |text: &str| {
        let value = text
            .trim()
            .parse::<f64>()
            .ok()
            .filter(|value| value.is_finite());
        value.ok_or_else(|| format!("'{text}' is not a number"))
    };
    if let Some(ratio) = text.strip_suffix('x') {
        let ratio = number(ratio)?;
        return match ratio > 0.0 {
            true => Ok((ratio, Unit::Times)),
            false => Err(format!("'{text}': a ratio must be above 0")),
        };
    }
    let Kind::Known(figure) = figure else {
        return Ok((number(text)?, Unit::Plain));
    };
    match figure.row.unit {
        _ if figure.row.name == ERRORS => {
            let (count, unit) = match text.strip_suffix('%') {
                Some(share) => (number(share)?, Unit::Percent),
                None => (number(text)?, Unit::Plain),
            };
            match count < 0.0 {
                true => Err(format!(
                    "an error count cannot be negative, but '{text}' is"
                )),
                false => Ok((count, unit)),
            }
        }
        MS if number(text).is_ok() => Err(format!("'{text}' has no unit: ms, us or s")),
        MS => {
            let length = parse_duration(text).map_err(|error| error.to_string())?;
            Ok((length.as_secs_f64() * 1e3, Unit::Ms))
        }
        _ => {
            let per_s = crate::units::parse_rate(text);
            per_s
                .map(|per_s| (per_s, Unit::PerSecond))
                .map_err(|error| error.to_string())
        }
    }
}
