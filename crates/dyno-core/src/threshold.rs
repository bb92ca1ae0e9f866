//! Conditions on a run or a comparison: `p99 > 20ms`.

mod parse;

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::figures::{ERRORS, MS, Measurements, NamedFigure};
use crate::summary::{LatencySummary, OperationSummary, RoleSummary, RunSummary};
use crate::units::{format_duration, human_number};

/// A condition under which a run or a comparison fails: `p99 > 20ms`, `new_order.p95 >= 90ms`,
/// `rate < 1000`, `errors > 1%`, `rate < 0.95x`.
#[derive(Clone, Debug, PartialEq)]
pub struct Threshold {
    /// The operation or the role; `None` for the run as a whole.
    of: Option<String>,
    figure: Kind,
    relation: Relation,
    /// In the figure's unit.
    limit: f64,
    unit: Unit,
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Known(NamedFigure),
    /// A figure of the workload, by its name.
    Own(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Below,
    AtMost,
    Above,
    AtLeast,
}

/// The unit of the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// No unit.
    Plain,
    /// Events or statements per second.
    PerSecond,
    /// Milliseconds.
    Ms,
    /// Percent of the attempts.
    Percent,
    /// A ratio to the base.
    Times,
}

impl Unit {
    /// A value in this unit, for display.
    fn format(self, value: f64) -> String {
        let (value, suffix) = match (self, value.abs()) {
            (Self::Ms, under) if under < 1.0 => (value * 1e3, " µs"),
            (Self::Ms, over) if over >= 1000.0 => (value / 1e3, " s"),
            _ => (value, self.suffix()),
        };
        // A latency chooses its own unit.
        let decimals = match value.abs() {
            whole if self == Self::Plain && whole.fract() == 0.0 => 0,
            large if large >= 100.0 => 0,
            usual if usual >= 10.0 => 1,
            _ => 2,
        };
        format!("{}{suffix}", human_number(value, decimals))
    }

    fn suffix(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::PerSecond => "/s",
            Self::Ms => " ms",
            Self::Percent => " %",
            Self::Times => "x",
        }
    }
}

/// Invalid text of a threshold: the problem, and the expected form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{text}' is not a threshold: {why}; write for example 'p99 > 20ms' or 'rate < 1000'")]
pub struct ThresholdError {
    text: String,
    why: String,
}

/// The result of a threshold for a run or a comparison.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// The condition, e.g. `p99 > 20 ms`.
    pub condition: String,
    /// The figure; `None` if it is missing.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: Unit,
    /// The condition holds, or cannot be judged, so the run fails.
    pub failed: bool,
    /// Why there is no figure; else empty.
    pub why: String,
}

impl ThresholdResult {
    /// The result in one line: `p99 > 20 ms: 23.1 ms`.
    pub fn line(&self) -> String {
        match self.value {
            Some(value) => format!("{}: {}", self.condition, self.unit.format(value)),
            None => format!("{}: {}", self.condition, self.why),
        }
    }
}

impl Threshold {
    /// Evaluates it for a run.
    pub fn judge(&self, run: &RunSummary) -> ThresholdResult {
        let found = match self.unit {
            Unit::Times => Err("a ratio is for `dyno compare`".to_owned()),
            _ => self
                .value_of(run)
                .and_then(|value| self.with_open_events(run, value)),
        };
        let (value, why) = match found {
            Ok(value) => (Some(value), String::new()),
            Err(why) => (None, why),
        };
        ThresholdResult {
            condition: self.to_string(),
            value,
            unit: self.unit,
            failed: value.is_none_or(|value| self.relation.holds(value, self.limit)),
            why,
        }
    }

    /// A latency limit also covers events still open at the end of the run. They have no latency,
    /// but took longer than the time they had, which may already decide the condition.
    fn with_open_events(&self, run: &RunSummary, value: f64) -> Result<f64, String> {
        let is_limit = matches!(self.relation, Relation::Above | Relation::AtLeast);
        if !is_limit || self.unit != Unit::Ms || self.relation.holds(value, self.limit) {
            return Ok(value);
        }
        let grace_ms = run
            .drive
            .as_ref()
            .map_or(0.0, |drive| drive.grace.as_secs_f64() * 1e3);
        let (hung, ended) = (
            run.events_unfinished.unwrap_or(0) as f64,
            run.service.count as f64,
        );
        let open_loop = run
            .open_loop
            .as_ref()
            .filter(|open| open.offered_per_s > 0.0);
        // Sorted by due time: the first has waited for all others.
        let (waiting, waited_ms) = open_loop.map_or((0.0, 0.0), |open| {
            let backlog = open.backlog.unwrap_or(0) as f64;
            (backlog, backlog / open.offered_per_s * 1e3)
        });
        let open = hung + waiting;
        let is_open = match (self.percentile(), self.figure.name().as_str()) {
            (Some(percent), _) if percent < 100.0 => open / (ended + open) > 1.0 - percent / 100.0,
            (Some(_), _) | (None, "max") => {
                hung > 0.0 || self.relation.holds(waited_ms, self.limit)
            }
            (None, "mean") => {
                let sum = value * ended + hung * grace_ms + waiting * waited_ms / 2.0;
                self.relation.holds(sum / (ended + open), self.limit)
            }
            _ => false,
        };
        match is_open && open > 0.0 {
            false => Ok(value),
            true => Err(format!(
                "{} event(s) were unfinished at the end of the run; of the finished events, {}",
                human_number(open, 0),
                self.unit.format(value)
            )),
        }
    }

    /// The percentile in the condition.
    pub fn percentile(&self) -> Option<f64> {
        match self.figure {
            Kind::Known(figure) => figure.percent,
            Kind::Own(_) => None,
        }
    }

    /// Why it cannot apply to any run with the operations and roles of these names.
    pub fn without_subject<'a>(&self, names: impl Iterator<Item = &'a str>) -> Option<String> {
        let of = self.of.as_deref()?;
        let names: Vec<&str> = names.collect();
        let is_there = names.iter().any(|name| name.eq_ignore_ascii_case(of));
        (!is_there).then(|| not_there(of, names.into_iter()))
    }

    /// Whether its limit is a ratio to a base's figure.
    pub fn is_ratio(&self) -> bool {
        self.unit == Unit::Times
    }

    /// The name of its metric in a comparison.
    pub fn metric(&self) -> String {
        let metric = match &self.figure {
            Kind::Known(figure) => figure.metric(),
            Kind::Own(_) => None,
        };
        let name = metric.unwrap_or_else(|| self.figure.name());
        match &self.of {
            Some(of) => format!("{of}, {name}"),
            None => name,
        }
    }

    /// Whether the condition holds for each value between these bounds (`Some(true)`), for no value
    /// (`Some(false)`), or for some (`None`).
    pub fn holds_between(&self, low: f64, high: f64) -> Option<bool> {
        let ends = [low, high].map(|value| self.relation.holds(value, self.limit));
        (ends[0] == ends[1]).then_some(ends[0])
    }

    fn value_of(&self, run: &RunSummary) -> Result<f64, String> {
        let Some(of) = &self.of else {
            return self.whole(run);
        };
        let is_named = |name: &str| name.eq_ignore_ascii_case(of);
        if let Some(operation) = run.operations.iter().find(|one| is_named(&one.name)) {
            return self.of_operation(operation);
        }
        if let Some(role) = run.roles.iter().find(|one| is_named(&one.name)) {
            return self.of_role(role);
        }
        let operations = run.operations.iter().map(|one| one.name.as_str());
        let names = operations.chain(run.roles.iter().map(|one| &*one.name));
        Err(not_there(of, names))
    }

    fn whole(&self, run: &RunSummary) -> Result<f64, String> {
        match self.figure {
            Kind::Known(figure) if figure.row.name == ERRORS => {
                let errors = run.errors_seen();
                let attempts = run.totals.attempts(errors);
                Ok(match self.unit {
                    Unit::Percent if attempts > 0 => {
                        (errors as f64 / attempts as f64 * 100.0).min(100.0)
                    }
                    Unit::Percent => 0.0,
                    _ => errors as f64,
                })
            }
            Kind::Known(figure) if figure.row.unit == MS => of_latency(figure, run.latency()),
            Kind::Known(figure) => match figure.value(&Measurements::of(run)) {
                Some(value) => Ok(value),
                None => own(run, &figure.name()),
            },
            Kind::Own(ref name) => own(run, name),
        }
    }

    fn of_operation(&self, operation: &OperationSummary) -> Result<f64, String> {
        match self.figure {
            Kind::Known(figure) if figure.row.unit == MS => of_latency(figure, operation.latency()),
            _ if self.figure.is_rate() => operation
                .per_s()
                .ok_or_else(|| "the log does not contain the operation's rate".to_owned()),
            _ => Err("an operation has a rate and latencies".to_owned()),
        }
    }

    fn of_role(&self, role: &RoleSummary) -> Result<f64, String> {
        match self.figure.is_rate() {
            true => Ok(role.events_per_s),
            false => Err("a role has a rate".to_owned()),
        }
    }
}

fn not_there<'a>(of: &str, names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.is_empty() {
        true => format!("the run has no operation and no role, and no '{of}'"),
        false => format!("the run has no '{of}'; it has {}", names.join(", ")),
    }
}

fn of_latency(figure: NamedFigure, latency: &LatencySummary) -> Result<f64, String> {
    let has = |percent: f64| latency.percentiles.iter().any(|one| one.percent == percent);
    let why = match figure.percent {
        _ if latency.count == 0 => "no latency was recorded",
        Some(percent) if has(percent) => "too few samples for this percentile",
        Some(_) => "it was not recorded; add it to --percentiles",
        None => "the log does not contain it",
    };
    let value = figure.value(&Measurements::of_latency(latency));
    let known = value.filter(|_| latency.count > 0);
    known.ok_or_else(|| why.to_owned())
}

/// A figure that the workload reports.
fn own(run: &RunSummary, name: &str) -> Result<f64, String> {
    let own = run.figures.iter().find(|one| same(&one.name, name));
    own.map(|one| one.value).ok_or_else(|| {
        let own: Vec<&str> = run.figures.iter().map(|one| &*one.name).collect();
        match own.is_empty() {
            true => format!("the workload reports no figure '{name}', nor any other"),
            false => format!(
                "the workload reports no '{name}'; it reports {}",
                own.join(", ")
            ),
        }
    })
}

/// Compares names as people type them: `new_orders` for `new orders`.
fn same(name: &str, typed: &str) -> bool {
    let plain = |text: &str| text.to_ascii_lowercase().replace([' ', '-'], "_");
    plain(name) == plain(typed)
}

impl Kind {
    fn name(&self) -> String {
        match self {
            Self::Known(figure) => figure.name(),
            Self::Own(name) => name.clone(),
        }
    }

    /// Whether it is the rate of events, the only one that operations and roles have.
    fn is_rate(&self) -> bool {
        matches!(self, Self::Known(figure) if figure.metric().as_deref() == Some("events"))
    }
}

impl Relation {
    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Below => value < limit,
            Self::AtMost => value <= limit,
            Self::Above => value > limit,
            Self::AtLeast => value >= limit,
        }
    }

    fn symbol(self) -> &'static str {
        match self {
            Self::Below => "<",
            Self::AtMost => "<=",
            Self::Above => ">",
            Self::AtLeast => ">=",
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(of) = &self.of {
            write!(f, "{of}.")?;
        }
        f.write_str(&self.figure.name())?;
        let (relation, unit) = (self.relation.symbol(), self.unit.suffix());
        match self.unit {
            Unit::Ms => {
                let limit = Duration::from_nanos((self.limit * 1e6).round() as u64);
                write!(f, " {relation} {}", format_duration(limit))
            }
            _ => write!(f, " {relation} {}{unit}", self.limit),
        }
    }
}

impl FromStr for Threshold {
    type Err = ThresholdError;

    fn from_str(text: &str) -> Result<Self, ThresholdError> {
        parse::parsed(text).map_err(|why| ThresholdError {
            text: text.to_owned(),
            why,
        })
    }
}

#[cfg(test)]
mod tests;
