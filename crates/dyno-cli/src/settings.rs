//! Converts option values to settings.

use std::time::Duration;

use anyhow::{Result, bail};
use dyno_core::clock;
use dyno_core::db::ErrorKind;
use dyno_core::plan::{OptionValue, RandKind, RandPlan};
use dyno_core::units;
use dyno_script::ScriptOption;
use dyno_stats::Margin;

pub(crate) use dyno_conduct::usage;

use crate::options::{Parsed, same};

/// A whole number, with an optional multiplier.
pub(crate) fn count(parsed: &Parsed, name: &str, otherwise: u64) -> Result<u64> {
    match parsed.value(name) {
        None => Ok(otherwise),
        Some(text) => units::parse_count(text).map_err(|error| usage(format!("--{name}: {error}"))),
    }
}

/// A duration.
pub(crate) fn duration(parsed: &Parsed, name: &str, otherwise: Duration) -> Result<Duration> {
    match parsed.value(name) {
        None => Ok(otherwise),
        Some(text) => {
            units::parse_duration(text).map_err(|error| usage(format!("--{name}: {error}")))
        }
    }
}

/// A share such as `1%` or `0.01`, above 0 and at most 1; `None` if the option is not given.
pub(crate) fn share(parsed: &Parsed, name: &str) -> Result<Option<f64>> {
    let Some(text) = parsed.value(name) else {
        return Ok(None);
    };
    let number = |text: &str| text.trim().parse::<f64>().ok();
    let share = match text.strip_suffix('%') {
        Some(percent) => number(percent).map(|percent| percent / 100.0),
        None => number(text),
    };
    let share = share.filter(|share| *share > 0.0 && *share <= 1.0);
    let wrong = || usage(format!("--{name}: '{text}' is not a share such as 1%"));
    share.ok_or_else(wrong).map(Some)
}

/// A number with an optional fraction.
pub(crate) fn number(parsed: &Parsed, name: &str, otherwise: f64) -> Result<f64> {
    match parsed.value(name) {
        None => Ok(otherwise),
        Some(text) => text
            .parse::<f64>()
            .ok()
            .filter(|number| number.is_finite())
            .ok_or_else(|| usage(format!("--{name}: '{text}' is not a number"))),
    }
}

/// The margin of `--equivalent`; `None` without the option.
///
/// # Errors
/// It is not a percentage above 0 and below 100.
pub(crate) fn margin(parsed: &Parsed) -> Result<Option<Margin>> {
    let Some(text) = parsed.value("equivalent") else {
        return Ok(None);
    };
    let percent = text.trim().strip_suffix('%').map(str::trim);
    let percent = percent.and_then(|number| number.parse::<f64>().ok());
    match percent.and_then(|percent| Margin::new(percent / 100.0)) {
        Some(margin) => Ok(Some(margin)),
        None => Err(usage(format!(
            "--equivalent: '{text}' is not a percentage above 0 and below 100, such as 2%"
        ))),
    }
}

/// The given seed, or one from the clock.
pub(crate) fn seed(parsed: &Parsed, name: &str) -> Result<u64> {
    match count(parsed, name, 0)? {
        0 => Ok(clock::seed()),
        seed => Ok(seed),
    }
}

/// The distributions' settings, by the names that both command lines share.
pub(crate) fn rand_plan(parsed: &Parsed) -> Result<RandPlan> {
    let mut plan = RandPlan::default();
    if let Some(kind) = parsed.value("rand-type") {
        plan.kind = match kind {
            "uniform" => RandKind::Uniform,
            "gaussian" => RandKind::Gaussian,
            "special" => RandKind::Special,
            "pareto" => RandKind::Pareto,
            "zipfian" => RandKind::Zipfian,
            _ => {
                return Err(usage(format!(
                    "--rand-type: '{kind}' is not one of uniform, gaussian, special, pareto, \
                     zipfian"
                )));
            }
        };
    }
    plan.pareto_h = number(parsed, "rand-pareto-h", plan.pareto_h)?;
    plan.zipfian_exp = number(parsed, "rand-zipfian-exp", plan.zipfian_exp)?;
    let small = |name: &str, otherwise: u32| -> Result<u32> {
        let value = count(parsed, name, u64::from(otherwise))?;
        let most = u32::MAX;
        u32::try_from(value)
            .map_err(|_| usage(format!("--{name}: {value} is too large; at most {most}")))
    };
    plan.spec_iter = small("rand-spec-iter", plan.spec_iter)?;
    plan.spec_pct = small("rand-spec-pct", plan.spec_pct)?;
    plan.spec_res = small("rand-spec-res", plan.spec_res)?;
    if !(plan.pareto_h > 0.0 && plan.pareto_h < 1.0) {
        return Err(usage("--rand-pareto-h must be between 0 and 1"));
    }
    if plan.zipfian_exp < 0.0 {
        return Err(usage("--rand-zipfian-exp must not be negative"));
    }
    if plan.spec_iter == 0 || plan.spec_pct > 100 || plan.spec_res > 100 {
        return Err(usage(
            "--rand-spec-iter must be at least 1, --rand-spec-pct and --rand-spec-res at most 100",
        ));
    }
    Ok(plan)
}

/// Percentiles: numbers above 0 and up to 100.
pub(crate) fn percentiles(text: &str) -> Result<Vec<f64>> {
    let mut percentiles = Vec::new();
    for item in text
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        let percent = item.trim_start_matches('p').parse::<f64>().ok();
        match percent.filter(|percent| *percent > 0.0 && *percent <= 100.0) {
            Some(percent) => percentiles.push(percent),
            None => {
                return Err(usage(format!(
                    "--percentiles: '{item}' is not a percentile (above 0, at most 100)"
                )));
            }
        }
    }
    percentiles.sort_by(f64::total_cmp);
    percentiles.dedup();
    Ok(percentiles)
}

/// The errors after which an event is retried, from `--ignore-errors`.
///
/// # Errors
/// An entry that does not match any error.
pub(crate) fn ignored_errors(list: &str) -> Result<Vec<String>> {
    let mut entries = Vec::new();
    for entry in list.split(',').map(str::trim) {
        let is_errno = entry.bytes().all(|byte| byte.is_ascii_digit());
        let is_state = entry.len() == 5
            && (entry.bytes()).all(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
        match entry {
            "" | "none" => {}
            _ if entry == "all" || is_errno || is_state => entries.push(entry.to_owned()),
            _ if ErrorKind::of_name(entry).is_some() => entries.push(entry.to_owned()),
            _ => {
                let kinds = ErrorKind::ALL.map(ErrorKind::name).join(", ");
                bail!(usage(format!(
                    "--ignore-errors: '{entry}' is not a kind of error, an error number, an \
                     SQLSTATE, 'all' or 'none'; kinds are {kinds}"
                )));
            }
        }
    }
    Ok(entries)
}

/// The requested number of worker threads; the maximum for `sessions`.
///
/// # Errors
/// Neither a number above 0 nor `sessions`.
pub(crate) fn workers(parsed: &Parsed) -> Result<Option<u32>> {
    match parsed.value("workers") {
        None => Ok(None),
        Some("sessions") => Ok(Some(u32::MAX)),
        Some(text) => match text.parse::<u64>() {
            // A session never has two workers.
            Ok(workers) if workers > 0 => Ok(Some(u32::try_from(workers).unwrap_or(u32::MAX))),
            _ => Err(usage(format!(
                "--workers: '{text}' is neither a number above 0 nor 'sessions'"
            ))),
        },
    }
}

/// The values of a script's options: those given, by their names on a command line or in a plan,
/// and defaults for the rest.
pub(crate) fn script_options(
    declared: &[ScriptOption],
    given: &[(String, Option<String>)],
) -> Result<Vec<(String, OptionValue)>> {
    declared
        .iter()
        .map(|option| {
            let text = given
                .iter()
                .rev()
                .find(|(name, _)| *name == option.name || *name == option.key())
                .map(|(_, value)| value.as_deref());
            let value = option
                .value(text)
                .map_err(|error| usage(error.to_string()))?;
            Ok((option.key(), value))
        })
        .collect()
}

/// The names of options in a command line, as typed.
pub(crate) fn names_typed(args: &[String]) -> Vec<String> {
    let typed = args.iter().filter_map(|arg| arg.strip_prefix("--"));
    let names = typed.map(|typed| typed.split('=').next().unwrap_or_default());
    names.map(str::to_owned).collect()
}

/// A script's message, with the names of options as the user typed them, or else with dashes.
pub(crate) fn spelled(message: &str, typed: &[String]) -> String {
    let ends_name = |c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-';
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (name, rest) = part.split_at(part.find(ends_name).unwrap_or(part.len()));
        let own = typed.iter().find(|typed| same(typed, name));
        text.push_str("--");
        text.push_str(&own.cloned().unwrap_or_else(|| name.replace('_', "-")));
        text.push_str(rest);
    }
    text
}

/// `on` or `off`; a switch without a value is on.
pub(crate) fn switch(parsed: &Parsed, name: &str) -> Result<bool> {
    if !parsed.has(name) {
        return Ok(false);
    }
    match parsed.value(name) {
        None | Some("" | "on" | "true" | "1") => Ok(true),
        Some("off" | "false" | "0") => Ok(false),
        Some(other) => Err(usage(format!("--{name}: '{other}' is neither on nor off"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_spelled_as_the_user_typed_them() {
        let line = ["run", "tpcc", "--table_size=5", "--pg-id", "x"].map(str::to_owned);
        let typed = names_typed(&line);
        for (message, expected) in [
            ("--table_size must be even", "--table_size must be even"),
            ("a -- b: --pg_id", "a -- b: --pg-id"),
            (
                "--pg_id: --stop_after, not 5",
                "--pg-id: --stop-after, not 5",
            ),
            ("no option", "no option"),
        ] {
            assert_eq!(spelled(message, &typed), expected);
        }
    }

    #[test]
    fn ignored_errors_are_kinds_codes_and_words() {
        let listed = ignored_errors("conflict, 1213,40P01,all").unwrap();
        assert_eq!(listed, ["conflict", "1213", "40P01", "all"]);
        assert_eq!(ignored_errors("none").unwrap(), Vec::<String>::new());
        assert_eq!(ignored_errors("").unwrap(), Vec::<String>::new());
        for wrong in ["deadlocks", "12x", "40p01", "1213;1205"] {
            let error = ignored_errors(wrong).unwrap_err().to_string();
            assert!(
                error.contains(wrong) && error.contains("conflict"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_margin_is_a_percentage() {
        let given = |text: &str| Parsed {
            own: vec![("equivalent", Some(text.to_owned()))],
            ..Parsed::default()
        };
        for (text, share) in [("2%", 0.02), (" 0.5 %", 0.005), ("50%", 0.5)] {
            let found = margin(&given(text)).unwrap().map(Margin::share);
            assert_eq!(found, Some(share), "{text}");
        }
        assert_eq!(margin(&Parsed::default()).unwrap(), None);
        for wrong in ["", "2", "0.02", "0%", "-2%", "100%", "two%", "nan%"] {
            let error = margin(&given(wrong)).unwrap_err().to_string();
            assert!(error.contains("such as 2%"), "{wrong}: {error}");
        }
    }
}
