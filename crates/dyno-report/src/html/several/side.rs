//! A side: runs that count as repetitions of the same.

use dyno_core::finding::Verdict;
use dyno_core::interval::carries;
use dyno_core::record::RunRecord;
use dyno_verdict::{Comparison, Metric};
use hdrhistogram::Histogram;

use super::super::latency::whole;
use super::super::run::View;

/// Repetitions of the same run, with values that several sections derive from them.
pub(in super::super) struct Side<'v, 'a> {
    /// Its index, from 0; the first is the base.
    pub(super) index: usize,
    /// The index of its colour, and its dash style: 0 is solid.
    pub(super) look: (usize, usize),
    /// Its distinguishing name.
    pub(super) name: String,
    pub(super) views: Vec<&'v View<'a>>,
    /// Whether its runs are repetitions of each other. If not, they have no common figures.
    pub(super) pools: bool,
    /// The comparison with the base; for the base, any comparison that has its figures.
    pub(super) compared: Option<&'a Comparison>,
}

/// The time over which rates of these runs are computed: a log's intervals are seldom seconds.
pub(super) fn bin_word<'v, 'a: 'v>(mut views: impl Iterator<Item = &'v View<'a>>) -> &'static str {
    if views.all(|view| (0.5..1.5).contains(&view.bin_s)) {
        "second"
    } else {
        "interval"
    }
}

impl Side<'_, '_> {
    /// The rates of all whole seconds.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let all = self
            .views
            .iter()
            .flat_map(|view| view.seconds.iter().copied());
        match self.pools {
            true => all.collect(),
            false => Vec::new(),
        }
    }

    /// This side's value of a metric of `compare`.
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        let metric = self.metric(name)?;
        if self.index == 0 {
            metric.base
        } else {
            metric.new
        }
    }

    /// A metric of `compare` against the base.
    pub(super) fn metric(&self, name: &str) -> Option<&Metric> {
        let mut metrics = self.compared?.metrics.iter();
        metrics.find(|metric| metric.is_called(name))
    }

    /// Mean events per second over all runs.
    pub(super) fn mean_per_s(&self) -> Option<f64> {
        let alone = || match self.views.as_slice() {
            [view] => view.rate_per_s(),
            _ => dyno_stats::mean(&self.seconds()),
        };
        self.figure("events").or_else(alone)
    }

    /// The median second.
    pub(super) fn median_per_s(&self) -> Option<f64> {
        dyno_stats::median(&self.seconds())
    }

    /// The variation of the seconds: standard deviation over mean.
    pub(super) fn variation(&self) -> Option<f64> {
        dyno_stats::describe(&self.seconds())?.cv
    }

    /// A percentile over all events: as compared, as its only run printed it, or of the merged
    /// distribution.
    pub(super) fn percentile_ms(&self, percent: f64) -> Option<f64> {
        let printed = || match self.views.as_slice() {
            [view] => view.latency()?.percentile_ms(percent),
            _ => None,
        };
        let merged = || {
            let all = self.distribution()?;
            let at = || all.value_at_quantile(percent / 100.0) as f64 / 1e6;
            carries(all.len(), percent).then(at)
        };
        let compared = self.figure(&format!("latency, p{percent}"));
        compared.or_else(printed).or_else(merged)
    }

    /// The latencies of all events of all runs; `None` if they are unknown or not to be pooled.
    pub(super) fn distribution(&self) -> Option<Histogram<u64>> {
        if !self.pools {
            return None;
        }
        let mut all: Option<Histogram<u64>> = None;
        for view in &self.views {
            let operation = view.run.operations.first()?;
            let own = whole(operation).filter(|own| !own.is_empty())?;
            match &mut all {
                None => all = Some(own),
                Some(all) => {
                    all.auto(true);
                    all.add(own).ok()?;
                }
            }
        }
        all
    }

    /// The number of stalls, and their total length; `None` if unknown for a run.
    pub(super) fn stalls(&self) -> Option<(usize, f64)> {
        let mut sum = (0, 0.0);
        for view in &self.views {
            let found = view.stalls.as_ref().ok()?;
            sum = (sum.0 + found.stalls.len(), sum.1 + found.stalled_s());
        }
        Some(sum)
    }

    /// The worst verdict; `None` if a run was not judged.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let all: Option<Vec<Verdict>> = self.views.iter().map(|view| view.run.verdict).collect();
        all?.into_iter().max()
    }

    /// All errors; `None` if a run has no totals, or a log does not show them.
    pub(super) fn errors(&self) -> Option<u64> {
        let of = |view: &&View<'_>| {
            let seen = view.run.summary.as_ref()?.errors_seen();
            let is_known = seen > 0 || view.run.not_observed("errors").is_none();
            is_known.then_some(seen)
        };
        self.views.iter().map(of).sum()
    }

    pub(super) fn runs(&self) -> Vec<&RunRecord> {
        self.views.iter().map(|view| view.run).collect()
    }
}
