//! The figures of a run that people name: in conditions (`--fail-if`), tables (`--figure`),
//! promises of searches, and experiment files. A new figure is one row of [`NAMED`]; conditions and
//! tables also need its metric, which `dyno-verdict` estimates.

use crate::reported::Better;
use crate::summary::{LatencySummary, RunSummary};

/// The unit of rates, as of series.
pub const PER_SECOND: &str = "count/s";
/// The unit of latencies.
pub const MS: &str = "ms";
/// The figure that conditions and promises limit as a share of the attempts.
pub const ERRORS: &str = "errors";

/// A figure with a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Its usual name.
    pub name: &'static str,
    /// Other names for it in conditions and tables.
    aliases: &'static [&'static str],
    unit: &'static str,
    better: Option<Better>,
    /// The name of its metric in a comparison, and in conditions and tables its right to be there;
    /// empty without one.
    metric: &'static str,
    /// Its standard error relative to that of the mean second; `None` if unknown.
    spread: Option<f64>,
    value: Value,
}

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

#[derive(Clone, Copy, Debug)]
enum Value {
    Latency(fn(&LatencySummary) -> Option<f64>),
    Run(fn(&Measurements<'_>) -> Option<f64>),
}

/// What figures are computed from: a summary, and what only the record of a run shows.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'a> {
    /// The summary.
    pub summary: &'a RunSummary,
    /// Events per second of the median second.
    pub median_per_s: Option<f64>,
    /// The number of stalls, their total length and the longest, in seconds.
    pub stalls: Option<(usize, f64, f64)>,
    /// The size of the data at the end, in bytes.
    pub size_bytes: Option<f64>,
}

impl<'a> From<&'a RunSummary> for Measurements<'a> {
    fn from(summary: &'a RunSummary) -> Self {
        Self {
            summary,
            median_per_s: None,
            stalls: None,
            size_bytes: None,
        }
    }
}

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// All figures with a name, except percentiles.
pub static NAMED: [Named; 18] = [
    rate("rate", "events", |of| Some(of.summary.rates.events_per_s))
        .also(&["tps", "events", "transactions"]),
    rate("mean_rate", "events", |of| {
        Some(of.summary.rates.events_per_s)
    }),
    // For normal values, the standard error of the median is that of the mean times √(π/2).
    rate("median_rate", "events, median second", |of| of.median_per_s)
        .spread(1.253),
    rate("queries", "statements", |of| {
        Some(of.summary.rates.queries_per_s)
    })
    .also(&["statements", "qps"]),
    run(ERRORS, PER_SECOND, LOWER, |of| {
        Some(of.summary.rates.errors_per_s)
    })
    .compared("errors"),
    latency("mean", "latency, mean", |of| {
        (of.count > 0).then_some(of.mean_ms)
    })
    .also(&["avg"]),
    latency("min", "latency, minimum", LatencySummary::shortest_ms),
    latency("max", "latency, maximum", LatencySummary::longest_ms),
    run("sessions", "count", None, |of| {
        Some(f64::from(of.summary.drive.as_ref()?.sessions))
    }),
    run("offered", PER_SECOND, None, |of| {
        Some(of.summary.open_loop.as_ref()?.offered_per_s)
    }),
    run("backlog", "count", LOWER, |of| {
        Some(of.summary.open_loop.as_ref()?.backlog? as f64)
    }),
    run("backlog_max", "count", LOWER, |of| {
        Some(of.summary.open_loop.as_ref()?.backlog_max? as f64)
    }),
    run("late_share", "ratio", LOWER, |of| {
        let limit = of.summary.latency_limit?;
        let due = of.summary.response.as_ref()?.count + limit.skipped;
        Some((limit.above + limit.skipped) as f64 / due as f64)
    }),
    run("size_mib", "MiB", LOWER, |of| {
        Some(of.size_bytes? / 1_048_576.0)
    }),
    run("stalls", "count", LOWER, |of| Some(of.stalls?.0 as f64)),
    run("stalled_s", "s", LOWER, |of| Some(of.stalls?.1)),
    run("longest_stall_s", "s", LOWER, |of| Some(of.stalls?.2)),
    run("fairness", "ratio", LOWER, |of| {
        let spread = of.summary.fairness?;
        let least = spread.events_min as f64;
        Some((spread.events_max as f64 - least) / least)
    }),
];

const fn run(
    name: &'static str,
    unit: &'static str,
    better: Option<Better>,
    value: fn(&Measurements<'_>) -> Option<f64>,
) -> Named {
    Named {
        name,
        aliases: &[],
        unit,
        better,
        metric: "",
        spread: None,
        value: Value::Run(value),
    }
}

const fn rate(
    name: &'static str,
    metric: &'static str,
    value: fn(&Measurements<'_>) -> Option<f64>,
) -> Named {
    run(name, PER_SECOND, HIGHER, value)
        .compared(metric)
        .spread(1.0)
}

const fn latency(
    name: &'static str,
    metric: &'static str,
    value: fn(&LatencySummary) -> Option<f64>,
) -> Named {
    Named {
        value: Value::Latency(value),
        ..run(name, MS, LOWER, |_| None).compared(metric)
    }
}

impl Named {
    const fn also(mut self, aliases: &'static [&'static str]) -> Self {
        self.aliases = aliases;
        self
    }

    const fn compared(mut self, metric: &'static str) -> Self {
        self.metric = metric;
        self
    }

    const fn spread(mut self, factor: f64) -> Self {
        self.spread = Some(factor);
        self
    }

    fn names(&'static self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// A figure by its name.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamedFigure {
    /// One of [`NAMED`].
    Named(&'static Named),
    /// `p99.9`: a percentile of the latencies, in percent.
    Percentile(f64),
}

impl NamedFigure {
    /// The figure with this name; of a percentile, the number may be out of range.
    pub fn find(name: &str) -> Option<Self> {
        let named = NAMED.iter().find(|one| one.names().any(|own| own == name));
        named.map(Self::Named).or_else(|| {
            let percent = name.strip_prefix('p')?.parse().ok()?;
            Some(Self::Percentile(percent))
        })
    }

    /// All names of figures, except percentiles, that conditions, tables and comparisons have.
    pub fn compared() -> impl Iterator<Item = &'static str> {
        let compared = NAMED.iter().filter(|one| !one.metric.is_empty());
        compared.flat_map(Named::names)
    }

    /// Its usual name.
    pub fn name(self) -> String {
        match self {
            Self::Named(named) => named.name.to_owned(),
            Self::Percentile(percent) => format!("p{percent}"),
        }
    }

    /// Its unit, as of series: `count/s`, `ms`.
    pub fn unit(self) -> &'static str {
        match self {
            Self::Named(named) => named.unit,
            Self::Percentile(_) => MS,
        }
    }

    /// Which direction is better; `None` if neither.
    pub fn better(self) -> Option<Better> {
        match self {
            Self::Named(named) => named.better,
            Self::Percentile(_) => LOWER,
        }
    }

    /// The name of its metric in a comparison; `None` if a comparison does not have it.
    pub fn metric(self) -> Option<String> {
        match self {
            Self::Named(named) => Some(named.metric.to_owned()).filter(|name| !name.is_empty()),
            Self::Percentile(percent) => Some(format!("latency, p{percent}")),
        }
    }

    /// Its standard error relative to that of the mean second; `None` if unknown.
    pub fn spread(self) -> Option<f64> {
        match self {
            Self::Named(named) => named.spread,
            Self::Percentile(_) => None,
        }
    }

    /// Whether it is a rate that a server reaches, and that an open loop therefore prescribes.
    pub fn is_throughput(self) -> bool {
        self.better() == HIGHER && self.metric().is_some()
    }

    /// Its value; `None` if unknown. It may not be finite.
    pub fn value(self, of: &Measurements<'_>) -> Option<f64> {
        match self {
            Self::Named(Named {
                value: Value::Run(value),
                ..
            }) => value(of),
            latency => latency.of_latency(of.summary.latency()),
        }
    }

    /// Its value of these latencies; `None` if unknown, or if it is not a latency.
    pub fn of_latency(self, latency: &LatencySummary) -> Option<f64> {
        match self {
            Self::Named(named) => match named.value {
                Value::Latency(value) => value(latency),
                Value::Run(_) => None,
            },
            Self::Percentile(percent) => latency.percentile_ms(percent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_figures_have_the_same_name() {
        let mut names: Vec<&str> = NAMED.iter().flat_map(Named::names).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn a_figure_is_found_by_any_name() {
        let name = |name: &str| NamedFigure::find(name).map(NamedFigure::name);
        assert_eq!(name("tps").as_deref(), Some("rate"));
        assert_eq!(name("p99.90").as_deref(), Some("p99.9"));
        assert_eq!(name("percentile"), None);
        let median = NamedFigure::find("median_rate").unwrap();
        assert!(median.is_throughput() && !NamedFigure::find("offered").unwrap().is_throughput());
        assert_eq!(median.metric().as_deref(), Some("events, median second"));
    }
}
