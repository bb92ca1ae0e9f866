//! The values that a claim allows, and whether the claim is valid.

use dyno_core::factors;
use dyno_stats::Bounds;

use super::{Judgement, not_judged, plain};
use crate::file::{Check, Scalar};

/// A bound of a claim: a number, a share such as `60 %`, or a time, converted to milliseconds.
pub(super) fn bound(value: &Scalar) -> Option<f64> {
    let text = value.to_string();
    let text = text.trim();
    if let Some(percent) = text.strip_suffix('%') {
        return Some(percent.trim_end().parse::<f64>().ok()? / 100.0);
    }
    let time = || {
        let time = dyno_core::units::parse_duration(text).ok()?;
        Some(time.as_secs_f64() * 1e3)
    };
    match text.parse::<f64>() {
        Ok(number) => number.is_finite().then_some(number),
        Err(_) if text.ends_with('s') => time(),
        Err(_) => factors::number(text),
    }
}

/// Why a claim's check is invalid regardless of any measurement.
pub(crate) fn senseless(check: &Check) -> Option<String> {
    let subjects = [
        ("ratio", check.ratio.is_some()),
        ("figure", check.figure.is_some()),
        ("spread", check.spread.is_some()),
        ("fairness", check.fairness.is_some()),
        ("first", check.first.is_some()),
        ("stalls", !check.stalls.is_empty()),
    ];
    let named: Vec<&str> = subjects
        .iter()
        .filter(|(_, is_named)| *is_named)
        .map(|(name, _)| *name)
        .collect();
    let is_judged = not_judged(check).is_empty();
    match named.as_slice() {
        [] if is_judged => {
            return Some(
                "it has nothing to check; expected ratio, figure, spread, fairness, first or stalls"
                    .to_owned(),
            );
        }
        [one, other, ..] => {
            return Some(format!(
                "it has both `{one}` and `{other}`; expected one of them"
            ));
        }
        _ => {}
    }
    for (name, value) in [
        ("above", &check.above),
        ("below", &check.below),
        ("within", &check.within),
    ] {
        let value = value
            .as_ref()
            .filter(|value| bound(value).is_none_or(|bound| name == "within" && bound < 0.0));
        if let Some(value) = value {
            return Some(format!(
                "`{name} = {value}` is not a bound; expected a number, a share such as \"60 %\" or \
                 a time such as \"10ms\""
            ));
        }
    }
    if let ["ratio" | "figure" | "spread" | "fairness"] = named.as_slice() {
        let Some(allowed) = Allowed::of(check) else {
            return Some(
                "it has no expected value: between, above, below, or is with within".to_owned(),
            );
        };
        if allowed.low > allowed.high {
            return Some(format!(
                "no value is between {} and {}",
                plain(allowed.low),
                plain(allowed.high)
            ));
        }
    }
    None
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Allowed {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl Allowed {
    pub(super) fn of(check: &Check) -> Option<Self> {
        let number = |value: &Option<Scalar>| value.as_ref().and_then(bound);
        if let Some([low, high]) = check.between {
            return Some(Self { low, high });
        }
        if let (Some(is), within) = (number(&check.is), number(&check.within)) {
            let is_share = |text: String| text.trim_end().ends_with('%');
            let within = match check.within.as_ref().map(ToString::to_string) {
                Some(text) if is_share(text.clone()) => is.abs() * within.unwrap_or(0.0),
                _ => within.unwrap_or(0.0),
            };
            return Some(Self {
                low: is - within,
                high: is + within,
            });
        }
        let (above, below) = (number(&check.above), number(&check.below));
        (above.is_some() || below.is_some()).then_some(Self {
            low: above.unwrap_or(f64::NEG_INFINITY),
            high: below.unwrap_or(f64::INFINITY),
        })
    }

    pub(super) fn judge(self, bounds: Option<Bounds>) -> Judgement {
        match bounds {
            Some(own) if own.low >= self.low && own.high <= self.high => Judgement::Agrees,
            Some(own) if own.high < self.low || own.low > self.high => Judgement::Differs,
            _ => Judgement::CannotTell,
        }
    }

    pub(super) fn words(self) -> String {
        match (self.low.is_finite(), self.high.is_finite()) {
            (true, true) => format!("{} to {}", plain(self.low), plain(self.high)),
            (true, false) => format!("above {}", plain(self.low)),
            (false, _) => format!("below {}", plain(self.high)),
        }
    }
}
