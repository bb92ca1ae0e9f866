//! What speaks against the figures of fio's JSON.

use super::Group;

/// By how much figures that say the same may differ.
const TOLERANCE: f64 = 0.02;

impl Group<'_> {
    /// Figures that cannot all be true: rates that are not those of the counts, latencies out of
    /// order.
    pub(super) fn contradictions(&self) -> Vec<String> {
        let mut all = Vec::new();
        let own = self.jobs.iter().flat_map(|job| {
            let name = crate::text::excerpt(&job.jobname);
            job.directions()
                .map(|(direction, own)| (format!("{name}, {direction}"), own))
        });
        for (name, own) in own.filter(|(_, own)| own.total_ios > 0 && own.runtime > 0) {
            let made = own.total_ios as f64 * 1e3 / own.runtime as f64;
            // The time is rounded to milliseconds.
            let room = TOLERANCE + 1.0 / own.runtime as f64;
            if (made - own.iops).abs() > room * made.max(own.iops) {
                all.push(format!(
                    "{name}: {} I/Os in {} ms are {made:.1} per second, but it says {}",
                    own.total_ios, own.runtime, own.iops
                ));
            }
            let latency = own.latency();
            let ordered = latency.min <= latency.mean && latency.mean <= latency.max;
            if latency.count > 0 && !ordered {
                all.push(format!(
                    "{name}: a mean of {} ns does not lie between {} and {} ns",
                    latency.mean, latency.min, latency.max
                ));
            }
        }
        all
    }

    pub(super) fn said(&self) -> Vec<(Option<usize>, String)> {
        let mut said = Vec::new();
        for job in &self.jobs {
            for (direction, own) in job.directions() {
                let name = crate::text::excerpt(&job.jobname);
                for (count, what) in [(own.short_ios, "short"), (own.drop_ios, "dropped")] {
                    if count > 0 {
                        said.push((None, format!("{name}: {count} {what} I/Os, {direction}")));
                    }
                }
            }
        }
        said
    }
}
