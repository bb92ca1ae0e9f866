//! Device rows in the logs of iostat and sar. Some devices are layered on others in the same log
//! and repeat their reads and writes; some are missing in some reports.

use std::collections::{BTreeMap, BTreeSet};

use dyno_core::record::NotObserved;

use crate::gaps::gap;
use crate::table::Collected;

/// Rounding tolerance: the factor by which a device's bytes may exceed those of the disks below it.
const ROOM: f64 = 1.05;
const BEFORE: &str = "host.disk[";

/// For each series of a device, by its suffix, the reports with all rows.
pub(crate) type Whole = BTreeMap<&'static str, BTreeSet<usize>>;

/// Leaves out devices layered on others. For the rest, a report without their row means no activity
/// (`-z`). Returns what is left out.
pub(crate) fn settle(collected: &mut Collected, whole: &Whole) -> Vec<NotObserved> {
    let layers = layers(collected);
    let layer = |name: &str| device(name).is_some_and(|(own, _)| layers.contains(own));
    collected.all.retain(|values| !layer(&values.name));
    for values in &mut collected.all {
        let Some((_, what)) = device(&values.name) else {
            continue;
        };
        // Without requests there is no waiting time; iostat then prints 0.
        if what.ends_with("_await") {
            values.values.retain(|(_, value)| *value > 0.0);
            continue;
        }
        let known: BTreeSet<usize> = values.values.iter().map(|(sample, _)| *sample).collect();
        let reports = whole.get(what).into_iter().flatten();
        let idle = reports.filter(|sample| !known.contains(*sample));
        values.values.extend(idle.map(|sample| (*sample, 0.0)));
        values.values.sort_by_key(|(sample, _)| *sample);
    }
    let left_out = layers.iter().map(|name| {
        let what = format!("{BEFORE}{}]", crate::text::excerpt(name));
        let why =
            "its underlying disks have their own rows in the log, so its bytes would count twice";
        gap(&what, why)
    });
    left_out.collect()
}

/// The device and the series of a series' name.
fn device(series: &str) -> Option<(&str, &str)> {
    let rest = series.strip_prefix(BEFORE)?;
    rest.rsplit_once("].").filter(|(name, _)| *name != "all")
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Disk,
    /// A mapped device, a RAID, a loop device, or memory.
    Layer,
    /// A number that each system assigns freely to disks and mapped devices: `dev253-0`.
    Dynamic(u32),
    Unknown,
}

/// The devices layered on others.
fn layers(collected: &Collected) -> BTreeSet<String> {
    let mut bytes: BTreeMap<&str, f64> = BTreeMap::new();
    for values in &collected.all {
        let Some((name, what)) = device(&values.name) else {
            continue;
        };
        let own = bytes.entry(name).or_default();
        if what.ends_with("_bytes") {
            *own += values.values.iter().map(|(_, value)| value).sum::<f64>();
        }
    }
    let has = |name: &str| bytes.contains_key(name);
    let is_part = |name: &str| whole_of(name).is_some_and(|disk| has(&disk));
    let (parts, others): (Vec<&str>, Vec<&str>) =
        bytes.keys().copied().partition(|name| is_part(name));
    let total = |names: &[&str]| names.iter().map(|name| bytes[name]).sum::<f64>();
    let of = |kind: Kind| -> Vec<&str> {
        let own = others.iter().filter(|name| self::kind(name) == kind);
        own.copied().collect()
    };
    let mut disks = of(Kind::Disk);
    if disks.is_empty() {
        // A layered device moves no more bytes than the disks below it.
        let majors = others.iter().filter_map(|name| match self::kind(name) {
            Kind::Dynamic(major) => Some(major),
            _ => None,
        });
        let majors: BTreeSet<u32> = majors.collect();
        let largest = majors
            .into_iter()
            .map(|major| of(Kind::Dynamic(major)))
            .max_by(|a, b| total(a).total_cmp(&total(b)));
        disks = largest.unwrap_or_default();
    }
    let below = total(&disks);
    let over = others.iter().filter(|name| {
        let fits = bytes[**name] <= below * ROOM;
        let over = match self::kind(name) {
            Kind::Disk => false,
            Kind::Layer => true,
            Kind::Dynamic(_) | Kind::Unknown => fits,
        };
        over && !disks.is_empty() && !disks.contains(name)
    });
    parts
        .iter()
        .chain(over)
        .map(|name| (*name).to_owned())
        .collect()
}

/// Whether a device is surely one disk, by its name.
pub(crate) fn is_disk(name: &str) -> bool {
    kind(name) == Kind::Disk
}

fn kind(name: &str) -> Kind {
    const LAYERS: [&str; 8] = ["dm-", "md", "loop", "drbd", "bcache", "zd", "zram", "ram"];
    /// Names followed by letters.
    const LETTERED: [&str; 7] = ["sd", "hd", "vd", "xvd", "dasd", "rssd", "fio"];
    /// Names followed by a number.
    const NUMBERED: [&str; 6] = ["mmcblk", "pmem", "rbd", "nbd", "sr", "nvme"];
    /// Names of `iostat -j ID` and of drivers of RAID controllers.
    const OTHERS: [&str; 8] = [
        "scsi-", "ata-", "wwn-", "nvme-", "virtio-", "usb-", "cciss/", "mmc-",
    ];
    if let Some((major, _)) = numbers(name) {
        return by_number(major);
    }
    let digits = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
    if LAYERS.iter().any(|start| {
        let rest = name.strip_prefix(start);
        rest.is_some_and(|rest| start.ends_with('-') || digits(rest) || rest.starts_with("_d"))
    }) {
        return Kind::Layer;
    }
    let whole = whole_of(name).unwrap_or_else(|| name.to_owned());
    let lettered = LETTERED.iter().any(|start| {
        let rest = whole.strip_prefix(start).unwrap_or_default();
        (1..=3).contains(&rest.len()) && rest.bytes().all(|byte| byte.is_ascii_lowercase())
    });
    let numbered = || {
        NUMBERED
            .iter()
            .any(|own| name.strip_prefix(own).is_some_and(digits))
    };
    match lettered || numbered() || OTHERS.iter().any(|start| name.starts_with(start)) {
        true => Kind::Disk,
        false => Kind::Unknown,
    }
}

/// The two numbers of `dev253-0`, sar's name for a device.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (major, minor) = name.strip_prefix("dev")?.split_once('-')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// From Linux's list of device numbers (`Documentation/admin-guide/devices.txt`).
fn by_number(major: u32) -> Kind {
    match major {
        3 | 8 | 11 | 22 | 43 | 65..=71 | 94 | 128..=135 | 179 | 202 | 259 => Kind::Disk,
        1 | 7 | 9 | 147 => Kind::Layer,
        240..=254 => Kind::Dynamic(major),
        _ => Kind::Unknown,
    }
}

/// The disk of a partition: `sda` for `sda2`, `nvme0n1` for `nvme0n1p3`, `dev8-16` for `dev8-17`.
fn whole_of(name: &str) -> Option<String> {
    if let Some((major, minor)) = numbers(name) {
        let minors = match major {
            8 | 65..=71 | 128..=135 | 202 => 16,
            3 | 22 => 64,
            179 => 8,
            94 => 4,
            _ => return None,
        };
        let first = minor - minor % minors;
        return (first != minor).then(|| format!("dev{major}-{first}"));
    }
    let whole = name.trim_end_matches(|c: char| c.is_ascii_digit());
    if whole.len() == name.len() || whole.is_empty() {
        return None;
    }
    if let Some(disk) = whole.strip_suffix("-part") {
        return Some(disk.to_owned());
    }
    match whole.strip_suffix('p') {
        Some(disk) if disk.ends_with(|c: char| c.is_ascii_digit()) => Some(disk.to_owned()),
        _ if whole.ends_with(|c: char| c.is_ascii_lowercase()) => Some(whole.to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::column;
    use dyno_core::record::SeriesKind::Rate;

    /// Devices with the bytes that they wrote in three reports.
    fn log(devices: &[(&str, f64)]) -> Collected {
        let meaning = column("wkb/s", "write_bytes", "bytes/s", 1.0, Rate);
        let mut collected = Collected::default();
        for (name, bytes) in devices {
            for sample in 0..3 {
                let series = format!("host.disk[{name}].write_bytes");
                collected.add(&series, &meaning, String::new(), (sample, *bytes));
            }
        }
        collected
    }

    fn left(devices: &[(&str, f64)]) -> Vec<String> {
        let mut collected = log(devices);
        settle(&mut collected, &Whole::new());
        let names = collected.all.iter();
        names
            .map(|own| device(&own.name).unwrap().0.to_owned())
            .collect()
    }

    #[test]
    fn devices_on_top_of_disks_are_left_out() {
        for (devices, disks) in [
            (
                &[("sda", 50.0), ("dm-0", 50.0), ("dm-1", 0.0)][..],
                &["sda"][..],
            ),
            (&[("sda", 50.0), ("vg1-pg", 20.0)], &["sda"]),
            (&[("sdb", 50.0), ("sdb1", 10.0), ("sdb12", 40.0)], &["sdb"]),
            (&[("nvme0n1", 5.0), ("nvme0n1p1", 5.0)], &["nvme0n1"]),
            (
                &[("nvme0n1", 5.0), ("nvme10n1", 5.0), ("md127", 5.0)],
                &["nvme0n1", "nvme10n1"],
            ),
            (
                &[("mmcblk0", 5.0), ("mmcblk0p2", 5.0), ("loop3", 1.0)],
                &["mmcblk0"],
            ),
            (
                &[("xvda", 5.0), ("bcache0", 5.0), ("zram0", 9.0)],
                &["xvda"],
            ),
            (
                &[("dev8-0", 5.0), ("dev253-0", 5.0), ("dev8-2", 5.0)],
                &["dev8-0"],
            ),
            (&[("dev252-0", 5.0), ("dev253-0", 4.9)], &["dev252-0"]),
            (
                &[("dev254-0", 5.0), ("dev254-16", 3.0), ("dev253-0", 5.0)],
                &["dev254-0", "dev254-16"],
            ),
            (&[("dev259-0", 5.0), ("dev9-127", 5.0)], &["dev259-0"]),
            (
                &[
                    ("ata-X_1", 5.0),
                    ("ata-X_1-part2", 5.0),
                    ("dm-name-vg", 5.0),
                ],
                &["ata-X_1"],
            ),
            // A device that moves more than the disks is not layered on them.
            (&[("sda", 5.0), ("strange0", 50.0)], &["sda", "strange0"]),
            // If the disks are not in the log, it is the only data.
            (&[("dm-0", 5.0), ("dm-1", 3.0)], &["dm-0", "dm-1"]),
            (&[("sda2", 5.0), ("sdb1", 3.0)], &["sda2", "sdb1"]),
            (&[("md0", 5.0), ("md0p1", 3.0)], &["md0"]),
            (&[("vda", 5.0), ("vdb", 3.0)], &["vda", "vdb"]),
        ] {
            assert_eq!(left(devices), disks, "{devices:?}");
        }
    }

    #[test]
    fn a_report_without_a_row_counts_as_zero() {
        let mut collected = log(&[("sda", 9.0)]);
        let meaning = column("w_await", "write_await", "ms", 1.0, Rate);
        let at = (1, 2.5);
        collected.add("host.disk[sda].write_await", &meaning, String::new(), at);
        collected.all[0].values.remove(1);
        let whole: Whole = ["write_bytes", "write_await"]
            .map(|what| (what, BTreeSet::from([0, 1, 2, 3])))
            .into();
        assert_eq!(settle(&mut collected, &whole), []);
        let values = &collected.all[0].values;
        assert_eq!(values[..], [(0, 9.0), (1, 0.0), (2, 9.0), (3, 0.0)]);
        assert_eq!(collected.all[1].values, [(1, 2.5)]);
    }
}
