//! Reads a server's limits and its file system from options.

use anyhow::Result;
use dyno_core::units::{parse_count, parse_size};
use dyno_server::{FileSystem, Limits, Place};

use crate::options::Parsed;
use crate::settings::usage;

/// Default size of a file system.
const FS_SIZE: u64 = 2 << 30;

/// The server's own file system, if requested.
///
/// # Errors
/// An invalid value, or one without `--fs`.
pub(super) fn place(parsed: &Parsed) -> Result<Option<Place>> {
    let Some(kind) = parsed.value("fs") else {
        return match ["fs-size", "mount"].iter().find(|name| parsed.has(name)) {
            None => Ok(None),
            Some(name) => Err(usage(format!(
                "--{name} needs a dedicated file system: set its kind with --fs"
            ))),
        };
    };
    let size = match parsed.value("fs-size").map(parse_size) {
        None => FS_SIZE,
        Some(Ok(size)) => size,
        Some(Err(error)) => return Err(usage(format!("--fs-size: {error}"))),
    };
    Ok(Some(Place {
        file_system: FileSystem::parse(kind)?,
        size,
        options: parsed.value("mount").unwrap_or_default().to_owned(),
    }))
}

/// The earlier limits, changed by options.
///
/// # Errors
/// An invalid value.
pub(super) fn limits(parsed: &Parsed, before: Limits) -> Result<Limits> {
    let mut limits = before;
    if let Some(cpus) = value(parsed, "cpus", |text| {
        text.parse()
            .map_err(|_| format!("'{text}' is not a number of processors; try 0.5"))
    })? {
        limits.cpus = cpus;
    }
    let size = |text: &str| parse_size(text).map_err(|error| error.to_string());
    let count = |text: &str| parse_count(text).map_err(|error| error.to_string());
    if let Some(bytes) = value(parsed, "memory", size)? {
        limits.memory = bytes;
    }
    if let Some(bytes) = value(parsed, "bandwidth", size)? {
        (limits.read_bytes_per_s, limits.write_bytes_per_s) = (bytes, bytes);
    }
    if let Some(iops) = value(parsed, "iops", count)? {
        (limits.read_iops, limits.write_iops) = (iops, iops);
    }
    if let Some(iops) = value(parsed, "read-iops", count)? {
        limits.read_iops = iops;
    }
    if let Some(iops) = value(parsed, "write-iops", count)? {
        limits.write_iops = iops;
    }
    Ok(limits)
}

/// An option's value: `None` if it is missing, `Some(None)` for the value `none`.
fn value<T>(
    parsed: &Parsed,
    name: &str,
    read: impl Fn(&str) -> std::result::Result<T, String>,
) -> Result<Option<Option<T>>> {
    match parsed.value(name) {
        None => Ok(None),
        Some("none") => Ok(Some(None)),
        Some(text) => match read(text) {
            Ok(value) => Ok(Some(Some(value))),
            Err(why) => Err(usage(format!("--{name}: {why}"))),
        },
    }
}
