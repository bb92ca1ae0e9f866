//! The promise of a search: `max rate with p99 < 10ms and errors < 0.1%`.

use std::fmt;
use std::time::Duration;

use dyno_analysis::search::Searched;
use dyno_core::figures::{ERRORS, NamedFigure};
use dyno_core::summary::RunSummary;
use dyno_core::threshold::Threshold;
use dyno_core::units::parse_duration;

/// A promise, and the quantity to maximize.
#[derive(Clone, Debug, PartialEq)]
pub struct Promise {
    /// The varied quantity.
    pub of: Searched,
    /// The limits on latencies, at least one; first the one that allows the fewest late events.
    pub latencies: Vec<LatencyPromise>,
    /// The fraction of errors to stay below, in percent of the attempts.
    pub errors: Option<f64>,
}

/// A latency limit for a percentage of the events.
#[derive(Clone, Debug, PartialEq)]
pub struct LatencyPromise {
    /// The percentage, above 0 and below 100.
    pub percentile: f64,
    /// The limit, including the wait in an open loop.
    pub within: Duration,
}

impl LatencyPromise {
    /// The permitted fraction of late events.
    pub fn loss_ratio(&self) -> f64 {
        // Rounded to decimals, so that 99.9 gives 0.001.
        ((100.0 - self.percentile) * 1e7).round() / 1e9
    }
}

/// Examples of promises.
pub const EXAMPLE: &str = "'p99 < 10ms', 'max rate with p99 < 10ms and errors < 0.1%' or 'max \
                           sessions with p95 < 50ms'";

/// Whether an argument looks like a promise.
pub fn is_meant(word: &str) -> bool {
    let word = word.trim_start().to_lowercase();
    word.contains(['<', '>', '≤', '≥']) || word.starts_with("max ")
}

/// Reads a promise.
///
/// # Errors
/// The mistake, with an example.
pub fn parse(text: &str) -> Result<Promise, String> {
    read(text).map_err(|why| {
        format!(
            "'{}' is not a promise: {why}; write e.g. {EXAMPLE}",
            text.trim()
        )
    })
}

fn read(text: &str) -> Result<Promise, String> {
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let (of, conditions) = match words.as_slice() {
        [] => return Err("it is empty".to_owned()),
        ["max" | "maximum" | "highest", what, rest @ ..] => {
            let of = match *what {
                "rate" => Searched::Rate,
                "sessions" => Searched::Sessions,
                other => {
                    return Err(format!(
                        "'{other}' cannot be searched for, but rate and sessions can"
                    ));
                }
            };
            match rest {
                ["with", rest @ ..] => (of, rest),
                _ => return Err(format!("'max {what}' must be followed by 'with …'")),
            }
        }
        rest => (Searched::Rate, rest),
    };
    let mut promise = Promise {
        of,
        latencies: Vec::new(),
        errors: None,
    };
    for condition in conditions.split(|word| *word == "and") {
        promise.add(&condition.join(" "))?;
    }
    if promise.latencies.is_empty() {
        return Err("it has no limit on a latency percentile".to_owned());
    }
    promise
        .latencies
        .sort_by(|one, other| other.percentile.total_cmp(&one.percentile));
    Ok(promise)
}

impl Promise {
    /// Adds a condition such as `p99 < 10ms`.
    fn add(&mut self, text: &str) -> Result<(), String> {
        if text.is_empty() {
            return Err("a condition is missing".to_owned());
        }
        if text.contains(['>', '≥']) {
            return Err(format!(
                "'{text}' is a lower limit, and a promise needs an upper one"
            ));
        }
        let (figure, limit) = text
            .split_once("<=")
            .or_else(|| text.split_once(['<', '≤']))
            .ok_or_else(|| format!("'{text}' has no '<'"))?;
        let (figure, limit) = (figure.trim(), limit.trim());
        if figure == ERRORS {
            let percent = limit.strip_suffix('%').and_then(|number| {
                let number: Option<f64> = number.trim().parse().ok();
                number.filter(|number| *number > 0.0 && *number <= 100.0)
            });
            let percent = percent
                .ok_or_else(|| format!("'{limit}' is not a share of errors such as 0.1%"))?;
            return match self.errors.replace(percent) {
                None => Ok(()),
                Some(_) => Err("it limits errors twice".to_owned()),
            };
        }
        let percentile = NamedFigure::find(figure).and_then(|found| found.percent);
        let Some(percentile) = percentile.filter(|number| *number > 0.0 && *number < 100.0) else {
            return Err(format!(
                "'{figure}' is neither a percentile, such as p99 or p99.9, nor '{ERRORS}'"
            ));
        };
        if limit.parse::<f64>().is_ok() {
            return Err(format!(
                "'{limit}' has no unit: write {limit}ms, {limit}s or {limit}us"
            ));
        }
        let within = parse_duration(&limit.replace(' ', "")).map_err(|error| error.to_string())?;
        if within.is_zero() {
            return Err(format!("{figure} cannot be below 0"));
        }
        if self
            .latencies
            .iter()
            .any(|own| own.percentile == percentile)
        {
            return Err(format!("it limits {figure} twice"));
        }
        self.latencies.push(LatencyPromise { percentile, within });
        Ok(())
    }

    /// The longest limit: an event that cannot begin within it meets no limit.
    pub fn longest(&self) -> Duration {
        let limits = self.latencies.iter().map(|own| own.within);
        limits.max().unwrap_or_default()
    }

    /// Whether a run kept it; `None` if there are too few events for one of its percentiles.
    pub(crate) fn kept_by(&self, run: &RunSummary) -> Option<bool> {
        let mut all = self.too_many_errors(run).is_none();
        for own in &self.latencies {
            let value = run.latency().percentile_ms(own.percentile)?;
            all &= value <= own.within.as_secs_f64() * 1e3;
        }
        Some(all)
    }

    /// If a run had too many errors: the condition and the result.
    pub(crate) fn too_many_errors(&self, run: &RunSummary) -> Option<String> {
        let limit: Threshold = format!("{ERRORS} >= {}%", self.errors?).parse().ok()?;
        let held = limit.judge(run);
        held.failed.then(|| match held.value {
            Some(value) => format!("{value:.2} % errors"),
            None => held.why,
        })
    }
}

impl fmt::Display for LatencyPromise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.within.as_secs_f64() * 1e3;
        let (value, unit) = match ms {
            ms if ms < 1.0 => (ms * 1e3, "µs"),
            ms if ms < 1000.0 => (ms, "ms"),
            ms => (ms / 1e3, "s"),
        };
        let value = (value * 1e6).round() / 1e6;
        write!(out, "p{} < {value} {unit}", self.percentile)
    }
}

impl fmt::Display for Promise {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut conditions: Vec<String> = self.latencies.iter().map(ToString::to_string).collect();
        conditions.extend(self.errors.map(|percent| format!("errors < {percent} %")));
        out.write_str(&conditions.join(" and "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_and_prints_promises() {
        for (text, of, printed) in [
            ("p99 < 10ms", Searched::Rate, "p99 < 10 ms"),
            ("p99<10ms", Searched::Rate, "p99 < 10 ms"),
            ("P99.9 <= 1.5 s", Searched::Rate, "p99.9 < 1.5 s"),
            ("max rate with p95 < 250us", Searched::Rate, "p95 < 250 µs"),
            (
                "Max Sessions with p50 < 2ms and p99 < 10ms and errors < 0.1%",
                Searched::Sessions,
                "p99 < 10 ms and p50 < 2 ms and errors < 0.1 %",
            ),
            ("p99 < 20s", Searched::Rate, "p99 < 20 s"),
        ] {
            let promise = parse(text).unwrap();
            assert_eq!(
                (promise.of, promise.to_string().as_str()),
                (of, printed),
                "{text}"
            );
            assert!(is_meant(text), "{text}");
        }
    }

    #[test]
    fn the_share_of_late_events_follows_from_the_percentile() {
        for (text, share) in [("p99", 0.01), ("p99.9", 0.001), ("p95", 0.05), ("p50", 0.5)] {
            let promise = parse(&format!("{text} < 1ms")).unwrap();
            assert_eq!(promise.latencies[0].loss_ratio(), share);
        }
        let two = parse("p50 < 20ms and p99 < 10ms").unwrap();
        assert_eq!(two.latencies[0].percentile, 99.0);
        assert_eq!(two.longest(), Duration::from_millis(20));
    }

    #[test]
    fn rejects_other_texts_with_an_example() {
        for (text, why) in [
            ("", "it is empty"),
            ("p99 > 10ms", "is a lower limit"),
            ("p99 10ms", "'p99 10ms' has no '<'"),
            ("p99 < 10q", "there is no unit 'q'"),
            ("p99 < 0ms", "p99 cannot be below 0"),
            ("p100 < 10ms", "'p100' is neither a percentile"),
            ("mean < 10ms", "'mean' is neither a percentile"),
            (
                "max rate p99 < 10ms",
                "'max rate' must be followed by 'with …'",
            ),
            (
                "max tables with p99 < 10ms",
                "'tables' cannot be searched for",
            ),
            ("p99 < 10ms and", "a condition is missing"),
            ("p99 < 10ms and p99 < 20ms", "it limits p99 twice"),
            ("errors < 1%", "no limit on a latency percentile"),
            ("p99 < 10ms and errors < 5", "'5' is not a share of errors"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(why), "{error}");
            assert!(error.contains("write e.g. 'p99 < 10ms'"), "{error}");
        }
    }
}
