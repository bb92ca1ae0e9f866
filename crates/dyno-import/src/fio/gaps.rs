//! Values missing in fio's JSON.

use dyno_core::record::{NotObserved, RunRecord};

use super::Group;
use super::doubts::Doubt;
use super::latency::Merged;
use super::laws::Leaves;
use crate::gaps::{Gaps, HOST, OBSERVER};

impl Group<'_> {
    /// Values missing in this group. Fields with these names are zero if their type allows nothing
    /// else.
    pub(super) fn gaps(
        &self,
        all: &Merged,
        run: &RunRecord,
        start_known: bool,
        doubts: &[Doubt],
    ) -> Vec<NotObserved> {
        let mut gaps = Gaps::of(&[
            (
                "client",
                "fio prints CPU use per job, which Dyno records as a fact",
            ),
            ("server", "fio uses no server"),
            ("db", "fio uses no database"),
            ("data", "fio prints no data sizes"),
            OBSERVER,
            HOST,
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
        ]);
        gaps.add(
            doubts.iter().any(|own| own.leaves == Leaves::Latencies),
            "service",
            "latencies in the log contradict each other or are incomplete",
        );
        let plus = "needs fio's --output-format=json+";
        gaps.add(all.latencies.is_none(), "service.buckets", plus);
        gaps.add(
            all.latencies.is_none() && all.summary.percentiles.is_empty(),
            "service.percentiles",
            "percentiles across several jobs or directions need fio's --output-format=json+",
        );
        gaps.add(
            run.intervals.is_empty(),
            "intervals",
            "fio's JSON is a sum; --status-interval=1 prints one each second",
        );
        gaps.add(
            self.is_of_several(),
            "drive",
            "fio prints all jobs of the group as one, with the options of one of them",
        );
        gaps.add(
            !start_known,
            "started_unix_s",
            "the JSON does not say when this group began",
        );
        gaps.all
    }
}
