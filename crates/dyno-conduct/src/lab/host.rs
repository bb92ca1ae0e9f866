//! A cell's `host` settings: the limits of its server, and its file system.

use anyhow::{Result, anyhow};
use dyno_core::suggest::nearest;
use dyno_core::units::{parse_count, parse_size};
use dyno_lab::file::Values;
use dyno_server::{FileSystem, Limits, Place};

/// Default size of a server's file system.
const SIZE: u64 = 4 << 30;
const OF_HOST: [&str; 6] = [
    "cpus",
    "memory",
    "iops",
    "read_iops",
    "write_iops",
    "bandwidth",
];
const OF_PLACE: [&str; 3] = ["fs", "mount", "size"];

/// The limits in `host`.
///
/// # Errors
/// An invalid key or value.
pub(super) fn limits(host: &Values) -> Result<Limits> {
    let mut limits = Limits::default();
    for (name, value) in host {
        let text = value.to_string();
        let wrong = |why: String| anyhow!("host: {name} = {text}: {why}");
        let size = || parse_size(&text).map_err(|error| wrong(error.to_string()));
        let count = || parse_count(&text).map_err(|error| wrong(error.to_string()));
        match name.as_str() {
            "cpus" => {
                let cpus: f64 = text.parse().map_err(|_| {
                    wrong("expected a number of processors, such as 0.5".to_owned())
                })?;
                limits.cpus = Some(cpus);
            }
            "memory" => limits.memory = Some(size()?),
            "iops" => {
                let iops = Some(count()?);
                (limits.read_iops, limits.write_iops) = (iops, iops);
            }
            "read_iops" => limits.read_iops = Some(count()?),
            "write_iops" => limits.write_iops = Some(count()?),
            "bandwidth" => {
                let bytes = Some(size()?);
                (limits.read_bytes_per_s, limits.write_bytes_per_s) = (bytes, bytes);
            }
            other => return Err(unknown("host", other, &OF_HOST)),
        }
    }
    Ok(limits)
}

/// The separate file system of a server, if it has one.
///
/// # Errors
/// An invalid key or value.
pub(super) fn place(place: &Values) -> Result<Option<Place>> {
    if let Some(other) = place.keys().find(|name| !OF_PLACE.contains(&name.as_str())) {
        return Err(unknown("a place", other, &OF_PLACE));
    }
    let Some(kind) = place.get("fs") else {
        // The size belongs to the factor. A level without other keys uses the default file system.
        return match place.keys().find(|name| *name != "size") {
            None => Ok(None),
            Some(name) => Err(anyhow!(
                "{name} needs a file system in its level: fs = \"ext4\", \"xfs\" or \"btrfs\""
            )),
        };
    };
    let size = place.get("size").map(|size| parse_size(&size.to_string()));
    Ok(Some(Place {
        file_system: FileSystem::parse(&kind.to_string())?,
        size: size.transpose()?.unwrap_or(SIZE),
        options: place
            .get("mount")
            .map_or_else(String::new, ToString::to_string),
    }))
}

fn unknown(of: &str, name: &str, known: &[&str]) -> anyhow::Error {
    match nearest(name, known.iter().copied()) {
        Some(near) => anyhow!("{of} has no '{name}'; did you mean '{near}'?"),
        None => anyhow!("{of} has no '{name}'; it has {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use dyno_lab::file::Scalar;

    use super::*;

    fn values(pairs: &[(&str, &str)]) -> Values {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| ((*name).to_owned(), Scalar::Text((*value).to_owned())))
            .collect()
    }

    #[test]
    fn limits_and_places_are_read() {
        let found = limits(&values(&[
            ("cpus", "0.5"),
            ("memory", "1G"),
            ("iops", "600"),
        ]))
        .unwrap();
        assert_eq!(
            (found.cpus, found.memory, found.read_iops, found.write_iops),
            (Some(0.5), Some(1 << 30), Some(600), Some(600))
        );
        assert_eq!(place(&Values::new()).unwrap(), None);
        let found = place(&values(&[
            ("fs", "xfs"),
            ("mount", "noatime"),
            ("size", "2G"),
        ]))
        .unwrap();
        let found = found.unwrap();
        assert_eq!((found.size, found.options.as_str()), (2 << 30, "noatime"));
    }

    #[test]
    fn reports_slips() {
        for (host, why) in [
            (&[("cpu", "1")][..], "did you mean 'cpus'?"),
            (&[("cpus", "many")], "a number of processors"),
            (&[("memory", "much")], "memory = much"),
        ] {
            let error = limits(&values(host)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
        for (of, why) in [
            (&[("mount", "noatime")][..], "fs = \"ext4\""),
            (&[("fs", "fat")], "fat"),
            (&[("disk", "nvme")], "a place has no 'disk'"),
        ] {
            let error = place(&values(of)).unwrap_err().to_string();
            assert!(error.contains(why), "{error}");
        }
    }
}
