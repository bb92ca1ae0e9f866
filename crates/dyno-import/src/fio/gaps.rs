//! Values missing in fio's JSON.

use dyno_core::record::{NotObserved, RunRecord};

use super::Group;
use super::latency::Merged;
use crate::gaps::gap;

impl Group<'_> {
    /// Values missing in this group. Fields with these names are zero if their type allows nothing
    /// else.
    pub(super) fn gaps(
        &self,
        all: &Merged,
        run: &RunRecord,
        start_known: bool,
    ) -> Vec<NotObserved> {
        let mut gaps: Vec<NotObserved> = [
            ("client", "fio prints CPU per job, kept as a fact"),
            ("server", "there is none"),
            ("db", "there is none"),
            ("data", "fio prints no data sizes"),
            ("observer", "nothing was observed during the run"),
            (
                "host",
                "no log of the host (vmstat, iostat, mpstat, sar) was imported with the run",
            ),
            ("errors", "fio reports one error of a job"),
            ("errors.by_code", "fio reports one error of a job"),
            ("counters.queries", "fio counts I/Os, not statements"),
            ("counters.rows", "fio counts I/Os"),
            ("counters.retries", "fio counts I/Os"),
            (
                "rand",
                "the distribution of offsets is in the options of the jobs",
            ),
            ("fairness", "fio prints the jobs of a group as one"),
            (
                "intervals.max_ms",
                "documents of --status-interval are sums",
            ),
            (
                "intervals.percentiles",
                "documents of --status-interval are sums",
            ),
        ]
        .iter()
        .map(|(what, why)| gap(what, why))
        .collect();
        let mut add = |missing: bool, what: &str, why: &str| {
            if missing {
                gaps.push(gap(what, why));
            }
        };
        let plus = "needs fio's --output-format=json+";
        add(all.latencies.is_none(), "service.buckets", plus);
        add(
            all.latencies.is_none() && all.summary.percentiles.is_empty(),
            "service.percentiles",
            "percentiles across several jobs or directions need fio's --output-format=json+",
        );
        add(
            run.intervals.is_empty(),
            "intervals",
            "fio's JSON is a sum; --status-interval=1 prints one each second",
        );
        add(
            self.is_of_several(),
            "drive",
            "fio prints all jobs of the group as one, with the options of one of them",
        );
        add(
            !start_known,
            "started_unix_s",
            "the JSON does not say when this group began",
        );
        gaps
    }
}
