//! Inconsistencies in fio's JSON.

use serde_json::Value;

use super::Group;
use super::document::{Direction, Job, Latency};

/// Relative tolerance between figures of the same quantity.
const TOLERANCE: f64 = 0.02;
/// I/Os that a job may have in flight when counting begins or ends.
const UNDER_WAY: f64 = 16.0;
/// Bins are up to 1/64 wide, and percentiles are printed as their bounds.
const BIN: f64 = 0.04;
/// The tolerance for Little's law: the clocks of jobs do not start at the same time.
const CROWD: f64 = 0.1;
/// Sizes in options may be in powers of 1000 or 1024.
const SIZE: f64 = 0.12;

/// Options that vary the size of I/Os.
const VARIED: [&str; 6] = [
    "bsrange",
    "blocksize_range",
    "bssplit",
    "bs_unaligned",
    "num_range",
    "group_reporting",
];

impl Group<'_> {
    /// Figures that cannot all be true: rates that do not match counts, bytes that do not match
    /// I/Os, latencies out of order or with a different count.
    pub(super) fn contradictions(&self) -> Vec<String> {
        let mut all: Vec<String> = self.clients().into_iter().collect();
        for job in &self.jobs {
            let name = crate::text::excerpt(&job.jobname);
            let directions = job.directions();
            for (index, (direction, own)) in directions.into_iter().enumerate() {
                let found = [
                    rate(own),
                    bandwidth(own),
                    self.size(job, index, own),
                    latencies(own),
                    own.submission(),
                    percentiles(&own.latency()),
                    counted(own),
                ];
                let doubts = found.into_iter().flatten();
                all.extend(doubts.map(|text| format!("{name}, {direction}: {text}")));
            }
            let crowd = self.crowd(job).filter(|_| !self.may_be_of_several());
            all.extend(crowd.map(|under_way| {
                let depth = self.depth_of(job);
                format!(
                    "{name}: its rates and latencies imply {under_way:.1} I/Os in flight, but its \
                     depth is {depth}"
                )
            }));
        }
        all
    }

    /// Checks that the clients' jobs add up to fio's total for all clients.
    fn clients(&self) -> Option<String> {
        let total = self.last.all_clients?;
        let jobs = self.last.jobs.iter();
        let made = jobs.fold(0_u64, |sum, job| sum.saturating_add(job.ios()));
        (made != total).then(|| {
            format!(
                "the clients' jobs made {made} I/Os, but fio reports {total} for all clients: a \
                 client's job is missing or damaged"
            )
        })
    }

    /// Whether the group is a single entry of the document. With `group_reporting` that entry
    /// covers all its jobs; the document does not show whether the option was given.
    fn may_be_of_several(&self) -> bool {
        self.jobs.len() == 1
    }

    /// Whether the group's single entry certainly covers several different jobs: its I/Os do not
    /// have the size in its options, or exceed the depth of its jobs. Then the options do not apply
    /// to all jobs, and their number is unknown.
    pub(super) fn is_of_several(&self) -> bool {
        let [job] = self.jobs.as_slice() else {
            return false;
        };
        let directions = job.directions();
        let mut sizes = directions.iter().enumerate();
        let differs = sizes.any(|(index, (_, own))| self.other_size(job, index, own).is_some());
        differs || self.crowd(job).is_some()
    }

    /// I/Os in flight by Little's law, if more than the options allow.
    fn crowd(&self, job: &Job) -> Option<f64> {
        const NS_PER_MS: f64 = 1e6;
        // Before version 2.2 fio prints no options.
        if job.options.is_empty() && self.last.options.is_empty() {
            return None;
        }
        let all = job.directions();
        let busy_ns: f64 = all
            .iter()
            .map(|(_, own)| own.latency().mean * own.total_ios as f64)
            .sum();
        let runtime_ms = job.runtime_ms() as f64;
        let under_way = busy_ns / (runtime_ms * NS_PER_MS);
        let jobs = match self.may_be_of_several() {
            true => job.number(self.last, "numjobs").unwrap_or(1).max(1),
            false => 1,
        };
        let most = f64::from(self.depth_of(job)) * jobs as f64;
        // The first and the last I/O of each job may be partly outside.
        let longest = all
            .iter()
            .map(|(_, own)| own.latency().max)
            .fold(0.0, f64::max);
        let edge = 2.0 * longest / (runtime_ms * NS_PER_MS) + 1.0 / runtime_ms;
        (under_way > most * (1.0 + CROWD + edge)).then_some(under_way)
    }

    /// The maximum number of I/Os that one job has in flight.
    pub(super) fn depth_of(&self, job: &Job) -> u32 {
        let depth = job.number(self.last, "iodepth").unwrap_or(1);
        u32::try_from(depth.max(1)).unwrap_or(u32::MAX)
    }

    /// fio's own evidence against a steady state.
    pub(super) fn unsteady(&self) -> Option<String> {
        let found = self.jobs.iter().find_map(|job| {
            let own = job.steadystate.as_ref().filter(|own| own.attained == 0)?;
            Some((job, own))
        });
        found.map(|(job, own)| {
            let criterion = match &own.criterion {
                Value::Null => String::new(),
                Value::String(text) => {
                    format!(": its criterion was {}", crate::text::excerpt(text))
                }
                other => format!(": its criterion was {other}"),
            };
            format!(
                "fio reports that {} did not reach the requested steady state, {}{criterion}",
                crate::text::excerpt(&job.jobname),
                crate::text::excerpt(&own.ss)
            )
        })
    }

    /// Checks that I/Os have the requested size. `index` is that of the direction.
    fn size(&self, job: &Job, index: usize, own: &Direction) -> Option<String> {
        let mean = own.bw_bytes.filter(|_| own.iops > 0.0)? / own.iops;
        if mean < 1.0 {
            return Some(format!(
                "{} bytes per second at {} I/Os per second is less than a byte each",
                own.bw_bytes.unwrap_or_default(),
                own.iops
            ));
        }
        let (mean, asked) = self
            .other_size(job, index, own)
            .filter(|_| !self.may_be_of_several())?;
        Some(format!(
            "{} bytes per second are {mean:.0} bytes for each of {} I/Os per second, but a block \
             has {asked:.0}",
            own.bw_bytes.unwrap_or_default(),
            own.iops
        ))
    }

    /// The mean size of I/Os and the size in the options, if they differ.
    fn other_size(&self, job: &Job, index: usize, own: &Direction) -> Option<(f64, f64)> {
        let mean = own.bw_bytes.filter(|_| own.iops > 0.0)? / own.iops;
        let mut varied = VARIED.iter();
        let varied = varied.any(|name| job.option(self.last, name).is_some());
        let option = job.option(self.last, "bs");
        let option = option.or_else(|| job.option(self.last, "blocksize"))?;
        let asked = bytes(option, index).filter(|_| !varied)?;
        let short = own.short_ios > 0 && mean < asked;
        ((mean - asked).abs() > SIZE * asked && !short).then_some((mean, asked))
    }

    pub(super) fn said(&self) -> Vec<(Option<usize>, String)> {
        let mut said: Vec<(Option<usize>, String)> = Vec::new();
        said.extend(self.unsteady().map(|text| (None, text)));
        let directions = || self.jobs.iter().flat_map(|job| job.directions());
        if directions().any(|(_, own)| own.is_computed) {
            let text = "fio before 2.1.11 does not print the number of I/Os: Dyno computed it from \
                        the rounded rate and the time";
            said.push((None, text.to_owned()));
        }
        if directions().any(|(_, own)| own.with_submission()) {
            let text = "fio printed percentiles only of latencies including submission (lat, not \
                        clat): all latencies are lat";
            said.push((None, text.to_owned()));
        }
        if self.is_of_several() {
            let text = "the group's jobs differ, but fio prints them as one (group_reporting), \
                        with the name of the first and the options of the last: those options are \
                        omitted, and the number of jobs is unknown";
            said.push((None, text.to_owned()));
        }
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

/// Checks the rate against count and time.
fn rate(own: &Direction) -> Option<String> {
    if own.total_ios == 0 {
        return None;
    }
    if own.runtime == 0 {
        return Some(format!(
            "{} I/Os at {} per second in a runtime of 0 ms",
            own.total_ios, own.iops
        ));
    }
    let made = own.total_ios as f64 * 1e3 / own.runtime as f64;
    ((made - own.iops).abs() > room(own) * made.max(own.iops)).then(|| {
        format!(
            "{} I/Os in {} ms are {made:.1} per second, but it says {}",
            own.total_ios, own.runtime, own.iops
        )
    })
}

/// Checks the bandwidth against bytes and time, in both printed units.
fn bandwidth(own: &Direction) -> Option<String> {
    let per_s = own.bw_bytes.filter(|_| own.total_ios > 0)?;
    if (own.bw * 1024.0 - per_s).abs() > 1024.0 + TOLERANCE * per_s.max(own.bw * 1024.0)
        && own.bw > 0.0
    {
        return Some(format!(
            "bw_bytes is {per_s} bytes per second, but bw {} KiB",
            own.bw
        ));
    }
    let all = own.io_bytes.filter(|_| own.runtime > 0)?;
    let made = all * 1e3 / own.runtime as f64;
    ((made - per_s).abs() > 1.0 + room(own) * made.max(per_s)).then(|| {
        format!(
            "{all} bytes in {} ms are {made:.0} per second, but it says {per_s}",
            own.runtime
        )
    })
}

/// Tolerance for a time rounded to milliseconds.
fn room(own: &Direction) -> f64 {
    TOLERANCE + 1.0 / own.runtime.max(1) as f64
}

/// Checks that the mean is between the extremes.
fn latencies(own: &Direction) -> Option<String> {
    let latency = own.latency();
    let ordered = latency.min <= latency.mean && latency.mean <= latency.max;
    (own.total_ios > 0 && latency.count > 0 && !ordered).then(|| {
        format!(
            "a mean of {} ns is not between {} and {} ns",
            latency.mean, latency.min, latency.max
        )
    })
}

impl Direction {
    /// Checks that latencies including submission are not shorter than those without.
    fn submission(&self) -> Option<String> {
        let (with, without) = (self.lat_ns.mean, self.clat_ns.mean);
        let known = self.total_ios > 0 && with > 0.0 && without > 0.0;
        (known && with * (1.0 + TOLERANCE) + 1.0 < without).then(|| {
            format!(
                "a mean lat of {with} ns, which includes the submission, is below a mean clat of \
                     {without} ns"
            )
        })
    }
}

/// Checks that percentiles ascend and do not exceed the maximum.
fn percentiles(latency: &Latency) -> Option<String> {
    let all = latency.percentile.iter();
    let all = all.filter_map(|(percent, ns)| Some((percent.parse::<f64>().ok()?, *ns)));
    let mut all: Vec<(f64, f64)> = all.filter(|(percent, _)| *percent > 0.0).collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0));
    if latency.count == 0 {
        return None;
    }
    if let Some(pair) = all.windows(2).find(|pair| pair[0].1 > pair[1].1) {
        let ((low, low_ns), (high, high_ns)) = (pair[0], pair[1]);
        return Some(format!(
            "p{low}, {low_ns} ns, is above p{high}, {high_ns} ns"
        ));
    }
    let above = all
        .iter()
        .find(|(_, ns)| *ns > latency.max * (1.0 + BIN) + 1.0);
    above.map(|(percent, ns)| {
        format!(
            "p{percent}, {ns} ns, is above the longest, {} ns",
            latency.max
        )
    })
}

/// Checks that the number of latencies matches that of I/Os and the sum of bins.
fn counted(own: &Direction) -> Option<String> {
    let latency = own.latency();
    let (ios, count) = (own.total_ios as f64, latency.count as f64);
    if own.total_ios > 0 && count > ios * (1.0 + TOLERANCE) + UNDER_WAY {
        return Some(format!("{count} latencies of {ios} I/Os"));
    }
    let bins = latency.bins.values();
    let bins = bins.fold(0_u64, |sum, one| sum.saturating_add(*one)) as f64;
    let differ = (bins - count).abs() > TOLERANCE * bins.max(count) + 1.0;
    (!latency.bins.is_empty() && differ)
        .then(|| format!("its bins hold {bins} latencies, but it says {count}"))
}

/// The index of all directions combined.
const MIXED: usize = 3;

/// The block size for a direction, from `4k` or `8k,4k,`; `None` for a range.
fn bytes(option: &Value, index: usize) -> Option<f64> {
    let text = match option {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let parts: Vec<&str> = text.split(',').map(str::trim).collect();
    if index == MIXED && parts.len() > 1 {
        return None;
    }
    // A missing size equals the one before it.
    let own = parts
        .iter()
        .take(index + 1)
        .rev()
        .find(|part| !part.is_empty());
    let own = own?.to_ascii_lowercase();
    let digits = own.find(|c: char| !c.is_ascii_digit()).unwrap_or(own.len());
    let number: f64 = own[..digits].parse().ok()?;
    let scale = match own[digits..].trim_end_matches('b').trim_end_matches('i') {
        "" => 1.0,
        "k" => 1024.0,
        "m" => 1_048_576.0,
        "g" => 1_073_741_824.0,
        _ => return None,
    };
    Some(number * scale).filter(|bytes| *bytes > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_blocks_by_direction() {
        let size = |text: &str, index| bytes(&Value::String(text.to_owned()), index);
        assert_eq!(size("4k", 1), Some(4096.0));
        assert_eq!(
            (size("8k,4k", 0), size("8k,4k", 2)),
            (Some(8192.0), Some(4096.0))
        );
        assert_eq!(size(",16KiB", 1), Some(16_384.0));
        assert_eq!(size("512", 0), Some(512.0));
        for text in ["4k-8k", "", "x", ",16k"] {
            assert_eq!(size(text, 0), None, "{text}");
        }
    }
}
