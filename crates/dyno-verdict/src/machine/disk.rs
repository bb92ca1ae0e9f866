//! Check 31: the disks.

use dyno_core::catalogue::names;
use dyno_core::finding::{Cause, Outcome};
use dyno_core::record::Series;

use crate::check::{Check, CheckResult, advice, thresholds};
use crate::context::Keeping;
use crate::text;
use crate::time::causes::backups;
use crate::view::View;

pub(super) const DISK: Check = Check {
    number: 31,
    name: "disk",
    title: "Free space, and the end of a disk's burst",
    rule: "Doubt if less than {0} % of the file system or {1} GiB is free. Doubt if a disk that \
           was {2} % busy lost {3} % of its bytes per second permanently while its waits grew as \
           much. Needs {4} samples.",
    thresholds: &[FREE_SHARE, FREE_GIB, DISK_BUSY, STEP, SAMPLES],
    make: disk,
};

thresholds! {
    FREE_SHARE = 5.0, "percent", "free space, share":
        "nearly full file systems and solid-state disks slow down";
    FREE_GIB = 1.0, "GiB", "free space": "logs, temporary files and growth need as much";
    DISK_BUSY = 50.0, "percent of the time", "utilisation":
        "a mostly idle disk has no burst to lose";
    STEP = 30.0, "percent", "step down":
        "volumes without burst credits fall to a third, disks with a full cache to half";
    SAMPLES = 30.0, "count", "samples": "both plateaus must outlast a checkpoint";
}

const GIB: f64 = 1024.0 * 1024.0 * 1024.0;

const NO_SPACE: &str = "Free some space: nearly full file systems and disks write slower, and a \
                        run that fills them fails.";
const NO_BURST: &str = "Measure longer than the disk's burst lasts, or on a volume without one.";
const IN_MEMORY: &str = "Make room: a larger size (mount -o remount,size=), if the host has the \
                         memory, or files on a disk. Results on it say nothing about a disk.";

fn disk(view: &View) -> CheckResult {
    let free = space(view);
    let in_memory = view.run.fact(names::HOST_FILESYSTEM_TYPE);
    let in_memory = in_memory.filter(|kind| matches!(*kind, "tmpfs" | "ramfs"));
    let watched = view.devices(names::HOST_DISK_UTILISATION);
    let steps = watched
        .iter()
        .filter_map(|(device, busy)| step(view, device, busy));
    let steps: Vec<(String, f64, f64, f64)> = steps.collect();
    let enough = watched
        .iter()
        .any(|(_, series)| view.within(series).len() as f64 >= SAMPLES.value);
    if free.is_none() && !enough {
        return CheckResult::not_checked(match watched.is_empty() {
            true => format!("{}.", view.why_not(names::HOST_DISK)),
            false => {
                "The samples are too few to distinguish a burst from what follows it, and the free \
                 space is not known."
                    .to_owned()
            }
        });
    }
    let mut outcome = Outcome::Pass;
    let mut seen = Vec::new();
    let mut is_full = false;
    if let Some(space) = &free {
        is_full = space.share() < FREE_SHARE.value || space.free < FREE_GIB.value * GIB;
        // `record` reports the effect of a full disk on the results file.
        is_full &= !matches!(view.context.keeping, Some(Keeping::Lost(_)));
        if is_full {
            outcome = Outcome::Doubt;
        }
        let (free, share) = (text::bytes(space.free), text::plain(space.share()));
        let of = in_memory.unwrap_or("the file system");
        seen.push(match space.at_s < 0.0 {
            true => format!("{free} of {of} ({share} %) were free before the measurement"),
            false => format!("{free} of {of} ({share} %) are free at the end"),
        });
    }
    for (device, at_s, before, after) in &steps {
        outcome = Outcome::Doubt;
        seen.push(format!(
            "{device} fell from {} to {} per second at {} and waited longer",
            text::bytes(*before),
            text::bytes(*after),
            text::seconds(*at_s)
        ));
    }
    let backup = (steps.iter()).find_map(|(_, at_s, ..)| backups::at(view, *at_s));
    seen.extend(backup.clone());
    if steps.is_empty() && enough {
        seen.push("no disk slowed down permanently".to_owned());
    }
    seen.extend(schedulers(view));
    CheckResult::of(
        outcome,
        text::sentence(&text::list(&seen)) + &what_memory_means(in_memory),
        &advice(&[
            (is_full && in_memory.is_some(), IN_MEMORY),
            (is_full && in_memory.is_none(), NO_SPACE),
            (!steps.is_empty() && backup.is_none(), NO_BURST),
            (backup.is_some(), backups::ADVICE),
        ]),
    )
    .naming(backup.map(|_| Cause::Backup))
    .with_some("free", free.as_ref().map(|space| space.free / GIB), "GiB")
    .with_some("free, share", free.as_ref().map(Space::share), "percent")
    .with("disks that fell", steps.len() as f64, "count")
}

/// A sentence about a file system in memory.
fn what_memory_means(kind: Option<&str>) -> String {
    kind.map_or_else(String::new, |kind| {
        format!(
            " Files on {kind} are in memory: syncing them writes nothing, and a restart of the \
             host loses them."
        )
    })
}

/// Free and total space at the last look, which for a short measurement is before it.
fn space(view: &View) -> Option<Space> {
    let last = |name: &str| {
        let points = view.run.series(name)?.points.iter();
        let mut known =
            points.filter(|(at, value)| *at <= view.length_s + 1.0 && value.is_finite());
        known.next_back().copied()
    };
    let (at_s, free) = last(names::HOST_FILESYSTEM_FREE)?;
    let (_, size) = last(names::HOST_FILESYSTEM_SIZE).filter(|(_, size)| *size > 0.0)?;
    Some(Space { free, size, at_s })
}

struct Space {
    free: f64,
    size: f64,
    at_s: f64,
}

impl Space {
    fn share(&self) -> f64 {
        self.free / self.size * 100.0
    }
}

/// When a busy disk's throughput fell permanently, and from which value to which.
fn step(view: &View, device: &str, busy: &Series) -> Option<(String, f64, f64, f64)> {
    if view.mean_of(busy)? < DISK_BUSY.value {
        return None;
    }
    let mut bytes = view.points(&names::HOST_DISK_READ_BYTES.of(device));
    let writes = view.points(&names::HOST_DISK_WRITE_BYTES.of(device));
    if bytes.len() == writes.len() {
        for (sum, write) in bytes.iter_mut().zip(&writes) {
            sum.1 += write.1;
        }
    } else if bytes.is_empty() {
        bytes = writes;
    }
    if (bytes.len() as f64) < SAMPLES.value {
        return None;
    }
    let values: Vec<f64> = bytes.iter().map(|(_, value)| *value).collect();
    let change = *crate::time::changes(&values).last()?;
    let (before, after) = (change.before_mean, change.after_mean);
    let at_s = bytes.get(change.index)?.0;
    let fell = after <= before * (1.0 - STEP.value / 100.0);
    let waits = |from: f64, to: f64| -> Option<f64> {
        let both = [names::HOST_DISK_READ_AWAIT, names::HOST_DISK_WRITE_AWAIT];
        let both = both
            .iter()
            .filter_map(|what| view.run.series(&what.of(device)));
        both.filter_map(|series| series.mean(from, to))
            .reduce(f64::max)
    };
    let longer = waits(at_s, view.length_s)? >= waits(0.0, at_s)? * (1.0 + STEP.value / 100.0);
    (fell && longer).then(|| (device.to_owned(), at_s, before, after))
}

fn schedulers(view: &View) -> Vec<String> {
    let facts = view.run.facts.iter().filter_map(|fact| {
        let device = names::HOST_DISK_SCHEDULER.part(&fact.name)?;
        Some(format!("{device} has the scheduler {}", fact.value.trim()))
    });
    facts.take(3).collect()
}
