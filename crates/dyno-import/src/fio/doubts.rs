//! Inconsistencies in fio's JSON.

use std::collections::BTreeSet;

use serde_json::Value;

use super::Group;
use super::document::{Direction, Job};
use super::laws::{Allows, Broken, Leaves};

/// I/Os that a job may have in flight when counting begins or ends, unless its depth allows more.
const UNDER_WAY: f64 = 16.0;
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
/// Options with which I/Os have no latency: those that fail, and those that verify.
const UNMEASURED: [&str; 4] = [
    "continue_on_error",
    "verify",
    "verify_only",
    "experimental_verify",
];

/// The part of the JSON that a contradiction is about.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    /// All jobs.
    Group,
    /// All directions of this job.
    Job(usize),
    /// The job, and the position of the direction.
    Direction(usize, usize),
    Syncs(usize),
}

/// Figures that cannot all be true, or not be read.
#[derive(Clone, Debug)]
pub(super) struct Doubt {
    place: Place,
    /// Whether it is a contradiction; if not, a figure is missing that others need.
    pub(super) contradicts: bool,
    pub(super) leaves: Leaves,
    pub(super) text: String,
}

impl Doubt {
    /// The contradiction, and what is left out.
    pub(super) fn sentence(&self) -> String {
        match self.leaves.words() {
            Some(left_out) => format!("{}; {left_out}", self.text),
            None => self.text.clone(),
        }
    }
}

impl Group<'_> {
    /// Figures that cannot all be true: rates that do not match counts, bytes that do not match
    /// I/Os, latencies out of order or with a different count.
    pub(super) fn doubts(&self) -> Vec<Doubt> {
        let clients = self.clients().map(|text| Doubt {
            place: Place::Group,
            contradicts: true,
            leaves: Leaves::Rates,
            text,
        });
        let mut all: Vec<Doubt> = clients.into_iter().collect();
        for (at, job) in self.jobs.iter().enumerate() {
            let name = crate::text::excerpt(&job.jobname);
            let allows = self.allows(job);
            for (index, (direction, own)) in job.directions().into_iter().enumerate() {
                let mut found = own.contradictions(allows);
                if !found.iter().any(|(leaves, _)| leaves.is_rate()) {
                    let size = self.size(job, index, own);
                    found.extend(size.map(|text| (Leaves::Bandwidth, text)));
                }
                let latency = own.latency();
                let lacks = latency.lacks().filter(|_| own.total_ios > 0);
                let about = (Place::Direction(at, index), format!("{name}, {direction}"));
                all.extend(of_place(&about, found, lacks));
            }
            let latency = job.sync_latency();
            let found = job.sync.contradictions(&latency, allows);
            let about = (Place::Syncs(at), format!("{name}, sync"));
            all.extend(of_place(&about, found, latency.lacks()));
        }
        all
    }

    /// More I/Os in flight than separate jobs allow. For jobs without other contradictions.
    pub(super) fn crowds(&self) -> Vec<Doubt> {
        let jobs = self.jobs.iter().enumerate();
        let jobs = jobs.filter(|_| !self.may_be_of_several());
        let crowds = jobs.filter_map(|(at, job)| {
            let under_way = self.crowd(job)?;
            let (name, depth) = (crate::text::excerpt(&job.jobname), self.depth_of(job));
            Some(Doubt {
                place: Place::Job(at),
                contradicts: true,
                leaves: Leaves::Latencies,
                text: format!(
                    "{name}: its rates and latencies imply {under_way:.1} I/Os in flight, but its \
                     depth is {depth}"
                ),
            })
        });
        crowds.collect()
    }

    fn allows(&self, job: &Job) -> Allows {
        let jobs = job.number(self.last, "numjobs").unwrap_or(1).max(1) as f64;
        let mut options = UNMEASURED.iter();
        Allows {
            under_way: UNDER_WAY.max(f64::from(self.depth_of(job)) * jobs),
            unmeasured: job.error != 0
                || job.total_err.is_some()
                || options.any(|name| job.option(self.last, name).is_some()),
        }
    }

    /// The jobs without the doubted figures.
    pub(super) fn without(&self, doubts: &[Doubt]) -> Vec<Job> {
        let mut jobs: Vec<Job> = self.jobs.iter().map(|job| (*job).clone()).collect();
        for doubt in doubts {
            let (at, directions, syncs) = match doubt.place {
                Place::Group => continue,
                Place::Job(at) => (at, 0..4, false),
                Place::Direction(at, index) => (at, index..index + 1, false),
                Place::Syncs(at) => (at, 0..0, true),
            };
            let Some(job) = jobs.get_mut(at) else {
                continue;
            };
            let all = [&mut job.read, &mut job.write, &mut job.trim, &mut job.mixed];
            for (_, own) in all
                .into_iter()
                .enumerate()
                .filter(|(index, _)| directions.contains(index))
            {
                own.leave_out(doubt.leaves);
            }
            if syncs {
                job.sync.leave_out(doubt.leaves);
            }
        }
        // The syncs of the other jobs would be only a part of the sum.
        if doubts.iter().any(|doubt| doubt.leaves == Leaves::Syncs) {
            jobs.iter_mut().for_each(|job| job.sync.total_ios = 0);
        }
        jobs
    }

    /// Checks that the clients' jobs add up to fio's total for all clients.
    fn clients(&self) -> Option<String> {
        let total = self.last.all_clients?;
        let jobs = self.last.jobs.iter();
        let issued = jobs.fold(0_u64, |sum, job| sum.saturating_add(job.ios()));
        (issued != total).then(|| {
            format!(
                "the clients' jobs made {issued} I/Os, but fio reports {total} for all clients: a \
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
        let runtime_ms = Some(job.runtime_ms() as f64).filter(|ms| *ms > 0.0)?;
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
        let early = self.ended_early();
        said.extend(early.map(|text| (None, format!("the end of the log is missing: {text}"))));
        let directions = || self.jobs.iter().flat_map(|job| job.directions());
        let computed: BTreeSet<&str> = directions()
            .flat_map(|(_, own)| own.computed.iter().copied())
            .collect();
        said.extend(computed.into_iter().map(|what| {
            let text =
                format!("the log does not print {what}: Dyno computed it from the other figures");
            (None, text)
        }));
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

/// The contradictions in a part, and the figure that it lacks.
fn of_place(
    (place, name): &(Place, String),
    found: Vec<Broken>,
    lacks: Option<&str>,
) -> Vec<Doubt> {
    let contradictions = found.into_iter().map(|(leaves, text)| Doubt {
        place: *place,
        contradicts: true,
        leaves,
        text: format!("{name}: {text}"),
    });
    let lacks = lacks.map(|what| Doubt {
        place: *place,
        contradicts: false,
        leaves: Leaves::Latencies,
        text: format!("{name}: the latencies have no {what}"),
    });
    contradictions.chain(lacks).collect()
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
