//! A side: runs that count as repetitions of the same.

use dyno_core::finding::Verdict;
use dyno_core::record::RunRecord;
use dyno_verdict::{Comparison, Metric};
use hdrhistogram::Histogram;

use super::super::latency::whole;
use super::super::run::View;

/// Runs that are repetitions of the same, with what several sections derive from them.
pub(in super::super) struct Side<'v, 'a> {
    /// Its number, from 0; the first is the base.
    pub(super) index: usize,
    /// The number of its colour, and of how its lines are dashed: 0 is not at all.
    pub(super) look: (usize, usize),
    /// What sets it apart from the others.
    pub(super) name: String,
    pub(super) views: Vec<&'v View<'a>>,
    /// Set against the base; of the base, against itself as far as figures go.
    pub(super) compared: Option<&'a Comparison>,
}

/// What a rate of these runs is over: a log's intervals are seldom seconds.
pub(super) fn bin_word<'v, 'a: 'v>(mut views: impl Iterator<Item = &'v View<'a>>) -> &'static str {
    if views.all(|view| (0.5..1.5).contains(&view.bin_s)) {
        "second"
    } else {
        "interval"
    }
}

impl Side<'_, '_> {
    /// The rates of all of its whole seconds.
    pub(super) fn seconds(&self) -> Vec<f64> {
        let all = self
            .views
            .iter()
            .flat_map(|view| view.seconds.iter().copied());
        all.collect()
    }

    /// A metric of `compare` and this side's value of it.
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
        metrics.find(|metric| metric.name == name)
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

    /// How much the seconds vary: standard deviation over mean.
    pub(super) fn variation(&self) -> Option<f64> {
        dyno_stats::describe(&self.seconds())?.cv
    }

    /// A percentile over all of its events: of the merged distribution, else as one run printed it.
    pub(super) fn percentile_ms(&self, percent: f64) -> Option<f64> {
        let printed = || match self.views.as_slice() {
            [view] => {
                let all = &view.latency()?.percentiles;
                all.iter().find(|one| one.percent == percent)?.value_ms
            }
            _ => None,
        };
        let names = [
            format!("latency, p{percent}"),
            format!("response time, p{percent}"),
        ];
        let compared = names.iter().find_map(|name| self.figure(name));
        compared.or_else(printed)
    }

    /// The latencies of all events of all runs.
    pub(super) fn distribution(&self) -> Option<Histogram<u64>> {
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

    /// So many stalls, and how long they were; nothing where that cannot be told of each run.
    pub(super) fn stalls(&self) -> Option<(usize, f64)> {
        let mut sum = (0, 0.0);
        for view in &self.views {
            let found = view.stalls.as_ref().ok()?;
            sum = (sum.0 + found.stalls.len(), sum.1 + found.stalled_s());
        }
        Some(sum)
    }

    /// The worst verdict; nothing where a run was not judged.
    pub(super) fn verdict(&self) -> Option<Verdict> {
        let all: Option<Vec<Verdict>> = self.views.iter().map(|view| view.run.verdict).collect();
        all?.into_iter().max()
    }

    /// Errors of all codes; nothing where a run has no totals.
    pub(super) fn errors(&self) -> Option<u64> {
        let of = |view: &&View<'_>| {
            let summary = view.run.summary.as_ref()?;
            Some(
                summary
                    .errors
                    .values()
                    .map(|error| error.count)
                    .sum::<u64>(),
            )
        };
        self.views.iter().map(of).sum()
    }

    /// Its runs.
    pub(super) fn runs(&self) -> Vec<&RunRecord> {
        self.views.iter().map(|view| view.run).collect()
    }
}
