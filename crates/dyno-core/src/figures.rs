//! The named figures of a run, as used in conditions (`--fail-if`), tables (`--figure`), promises
//! of searches, and experiment files. A new figure is one row of [`NAMED`]; conditions and tables
//! also need its metric, which `dyno-verdict` estimates.

use crate::reported::Better;
use crate::summary::{LatencySummary, RunSummary};

/// The unit of rates, as of series.
pub const PER_SECOND: &str = "count/s";
/// The unit of latencies.
pub const MS: &str = "ms";
/// The figure that conditions and promises limit as a share of the attempts.
pub const ERRORS: &str = "errors";

const HIGHER: Option<Better> = Some(Better::Higher);
const LOWER: Option<Better> = Some(Better::Lower);

/// A figure with a name.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The usual name.
    pub name: &'static str,
    /// The unit, as in series.
    pub unit: &'static str,
    /// Which direction is better; `None` if neither.
    pub better: Option<Better>,
    /// The name of its metric in a comparison; empty if comparisons, conditions and tables do not
    /// have it.
    metric: &'static str,
    value: fn(&Measurements<'_>) -> Option<f64>,
}

/// The data from which figures are computed.
#[derive(Clone, Copy, Debug)]
pub struct Measurements<'a> {
    /// Latencies.
    pub latency: &'a LatencySummary,
    /// The summary; `None` for the latencies of an operation.
    pub summary: Option<&'a RunSummary>,
    /// Events per second of the median second, if the record is known.
    pub median_per_s: Option<f64>,
    /// The number of stalls, their total length and the longest, in seconds, if the record is
    /// known.
    pub stalls: Option<(usize, f64, f64)>,
    /// The size of the data at the end, in bytes, if the record is known.
    pub size_bytes: Option<f64>,
}

macro_rules! named {
    ($($name:expr, $unit:expr, $better:expr, $metric:expr, |$of:ident| $value:expr;)+) => {
        /// All figures with a name, except percentiles.
        pub static NAMED: &[Named] = &[$(Named {
            name: $name,
            unit: $unit,
            better: $better,
            metric: $metric,
            value: |$of| $value,
        }),+];
    };
}

named! {
    "rate", PER_SECOND, HIGHER, "events", |of| Some(of.summary?.rates.events_per_s);
    "mean_rate", PER_SECOND, HIGHER, "events", |of| Some(of.summary?.rates.events_per_s);
    "median_rate", PER_SECOND, HIGHER, "events, median second", |of| of.median_per_s;
    "queries", PER_SECOND, HIGHER, "statements", |of| of.summary?.rates.queries_per_s;
    ERRORS, PER_SECOND, LOWER, "errors", |of| of.summary?.rates.errors_per_s;
    "mean", MS, LOWER, "latency, mean", |of| of.latency.mean_ms;
    "min", MS, LOWER, "latency, minimum", |of| of.latency.min_ms;
    "max", MS, LOWER, "latency, maximum", |of| of.latency.max_ms;
    "sessions", "count", None, "", |of| Some(of.summary?.drive.as_ref()?.sessions.into());
    "offered", PER_SECOND, None, "", |of| Some(of.summary?.open_loop.as_ref()?.offered_per_s);
    "backlog", "count", LOWER, "", |of| Some(of.summary?.open_loop.as_ref()?.backlog? as f64);
    "backlog_max", "count", LOWER, "", |of| {
        Some(of.summary?.open_loop.as_ref()?.backlog_max? as f64)
    };
    "late_share", "ratio", LOWER, "", |of| of.summary?.late_share();
    "size_mib", "MiB", LOWER, "", |of| Some(of.size_bytes? / 1_048_576.0);
    "stalls", "count", LOWER, "", |of| Some(of.stalls?.0 as f64);
    "stalled_s", "s", LOWER, "", |of| Some(of.stalls?.1);
    "longest_stall_s", "s", LOWER, "", |of| Some(of.stalls?.2);
    "fairness", "ratio", LOWER, "", |of| {
        let spread = of.summary?.fairness?;
        let least = spread.events_min? as f64;
        Some((spread.events_max? as f64 - least) / least)
    };
}

/// A percentile, whose value and names depend on its number.
static PERCENTILE: Named = Named {
    name: "p",
    unit: MS,
    better: LOWER,
    metric: "latency, p",
    value: |_| None,
};

/// Other names of figures in conditions and tables.
const ALIASES: [(&str, &str); 6] = [
    ("tps", "rate"),
    ("events", "rate"),
    ("transactions", "rate"),
    ("statements", "queries"),
    ("qps", "queries"),
    ("avg", "mean"),
];

impl PartialEq for Named {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl<'a> Measurements<'a> {
    /// Measurements that consist of latencies only.
    pub(crate) fn of_latency(latency: &'a LatencySummary) -> Self {
        Self {
            latency,
            summary: None,
            median_per_s: None,
            stalls: None,
            size_bytes: None,
        }
    }

    /// Of a summary, without a record.
    pub fn of(summary: &'a RunSummary) -> Self {
        Self {
            summary: Some(summary),
            ..Self::of_latency(summary.latency())
        }
    }
}

/// A figure by its name: one of [`NAMED`], or a percentile of the latencies, such as `p99.9`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NamedFigure {
    /// The table's row that describes the figure.
    pub row: &'static Named,
    /// The percentile, in percent; `None` for other figures.
    pub percent: Option<f64>,
}

impl NamedFigure {
    /// The figure with this name; the number of a percentile may be out of range.
    pub fn find(name: &str) -> Option<Self> {
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        let name = alias.map_or(name, |(_, usual)| *usual);
        match NAMED.iter().find(|row| row.name == name) {
            Some(row) => Some(Self { row, percent: None }),
            None => Some(Self::percentile(name.strip_prefix('p')?.parse().ok()?)),
        }
    }

    /// A percentile of the latencies.
    pub fn percentile(percent: f64) -> Self {
        Self {
            row: &PERCENTILE,
            percent: Some(percent),
        }
    }

    /// All names, except of percentiles, that conditions and tables may use.
    pub fn compared() -> impl Iterator<Item = &'static str> {
        let compared = NAMED.iter().filter(|row| !row.metric.is_empty());
        let aliases = ALIASES.iter().map(|(alias, _)| *alias);
        compared.map(|row| row.name).chain(aliases)
    }

    /// The usual name of the figure.
    pub fn name(self) -> String {
        let number = self.percent.map(|percent| percent.to_string());
        self.row.name.to_owned() + &number.unwrap_or_default()
    }

    /// The name of its metric in a comparison; `None` if a comparison does not have it.
    pub fn metric(self) -> Option<String> {
        let number = self.percent.map(|percent| percent.to_string());
        let name = self.row.metric.to_owned() + &number.unwrap_or_default();
        (!name.is_empty()).then_some(name)
    }

    /// Whether it is a rate that a server reaches, and that an open loop therefore prescribes.
    pub fn is_throughput(self) -> bool {
        self.row.better == HIGHER
    }

    /// The value of the figure; `None` if unknown. It may not be finite.
    pub fn value(self, of: &Measurements<'_>) -> Option<f64> {
        match self.percent {
            Some(percent) => of.latency.percentile_ms(percent),
            None => (self.row.value)(of),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_is_found_by_any_name() {
        let name = |name: &str| NamedFigure::find(name).map(NamedFigure::name);
        assert_eq!(name("tps").as_deref(), Some("rate"));
        assert_eq!(name("p99.90").as_deref(), Some("p99.9"));
        assert_eq!(name("percentile"), None);
        let mut names: Vec<&str> = NamedFigure::compared().collect();
        assert!(names.iter().all(|name| NamedFigure::find(name).is_some()));
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "no two figures have the same name");
    }
}
