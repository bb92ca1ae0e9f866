//! Rates and bandwidths of all jobs over the time of the run.

use dyno_core::summary::MachineFigure;

use super::Group;
use super::document::{Direction, Job};
use crate::number;

const MIB: f64 = 1_048_576.0;

/// Jobs that ran for the same time differ by less: each ends with its own last I/O.
const SAME_TIME: f64 = 0.01;

impl Group<'_> {
    /// What a reader of the jobs' own rates needs to know, if the jobs' times differ.
    pub(super) fn uneven(&self) -> Option<String> {
        let longest_ms = self.runtime_ms();
        let shortest_ms = self.shortest_ms().filter(|_| self.is_uneven())?;
        Some(format!(
            "its jobs or directions ran for different times, {:.3} to {:.3} s: all rates are \
             counts divided by the longest, and do not equal the sum of fio's",
            shortest_ms as f64 / 1e3,
            longest_ms as f64 / 1e3
        ))
    }

    /// Reads, for example, per second of the run. fio divides the count of a job by the time of
    /// that job, so these rates may only be added if all jobs ran for the same time.
    pub(super) fn per_s(&self, own: &Direction) -> f64 {
        match self.is_uneven() {
            true => own.total_ios as f64 * 1e3 / self.runtime_ms() as f64,
            false => own.iops,
        }
    }

    fn bytes_per_s(&self, own: &Direction) -> f64 {
        let share = match self.is_uneven() {
            true => own.runtime as f64 / self.runtime_ms() as f64,
            false => 1.0,
        };
        own.bytes_per_s() * share
    }

    pub(super) fn figures(&self, syncs_per_s: f64) -> Vec<MachineFigure> {
        let sum = |of: &dyn Fn(&Job) -> f64| number::sum(self.jobs.iter().map(|job| of(job)));
        let bytes = |of: &dyn Fn(&Job) -> &Direction| sum(&|job| self.bytes_per_s(of(job))) / MIB;
        let ios = |of: &dyn Fn(&Job) -> &Direction| sum(&|job| self.per_s(of(job)));
        [
            ("read", bytes(&|job| &job.read), "MiB/s"),
            ("written", bytes(&|job| &job.write), "MiB/s"),
            ("reads", ios(&|job| &job.read), "per second"),
            ("writes", ios(&|job| &job.write), "per second"),
            ("transferred", bytes(&|job| &job.mixed), "MiB/s"),
            ("I/Os", ios(&|job| &job.mixed), "per second"),
            ("fsyncs", syncs_per_s, "per second"),
        ]
        .into_iter()
        .filter(|(_, value, _)| *value > 0.0 && value.is_finite())
        .map(|(name, value, unit)| MachineFigure {
            name: name.to_owned(),
            value,
            unit: unit.to_owned(),
        })
        .collect()
    }

    fn is_uneven(&self) -> bool {
        let least_ms = self.runtime_ms() as f64 * (1.0 - SAME_TIME);
        self.shortest_ms().is_some_and(|ms| (ms as f64) < least_ms)
    }

    /// The shortest time of a job's reads, writes or trims.
    fn shortest_ms(&self) -> Option<u64> {
        let all = self.jobs.iter().flat_map(|job| job.directions());
        let done = all.filter(|(_, own)| own.total_ios > 0);
        done.map(|(_, own)| own.runtime).min()
    }
}
