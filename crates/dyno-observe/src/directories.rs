//! Where a server's files are: the file system, its mount options, and its device.

use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::mounts::{self, Mount};

use crate::host::device_of;
use crate::sink::Sink;
use crate::text::{names_in, of_process, small};

/// Options that locate layers and servers, without affecting how the file system works.
const PLACES: [&str; 5] = ["lowerdir=", "upperdir=", "workdir=", "addr=", "clientaddr="];
/// The depth of the search for devices below a device: partitions in volumes in arrays.
const LAYERS_MAX: usize = 4;

/// A directory of a server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ServerDirectory {
    /// The prefix of its facts: `data`, `data.redo`, `data.tablespace[fast]`.
    pub what: String,
    /// The path as the server sees it.
    pub path: PathBuf,
}

/// Reports the first directory, and each of the others that is on another mount. `pid`: the
/// server's process; `None` if it is this process.
pub(crate) fn report(sink: &Sink, places: &[ServerDirectory], pid: Option<i32>) {
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let is_own = pid.is_none_or(|pid| {
        let theirs = space(&pid.to_string());
        // A process that may not be inspected is on this host, and rarely in a container.
        theirs.is_none() || theirs == space("self")
    });
    let table = pid.and_then(|pid| small(of_process(pid, "mountinfo")));
    let Some(table) = table.or_else(|| small("/proc/self/mountinfo")) else {
        sink.gap(names::DATA_FILESYSTEM, "cannot read /proc/self/mountinfo");
        return;
    };
    let mounts = mounts::parse(&table);
    let mut first = None;
    for place in places {
        let path = match is_own {
            true => std::fs::canonicalize(&place.path).unwrap_or_else(|_| place.path.clone()),
            false => place.path.clone(),
        };
        let Some(mount) = mounts::containing(&mounts, &path) else {
            continue;
        };
        if first == Some(mount) {
            continue;
        }
        let seen = match (is_own, pid) {
            (false, Some(pid)) => {
                let inner = path.strip_prefix("/").unwrap_or(&path);
                Path::new(&format!("/proc/{pid}/root")).join(inner)
            }
            _ => path,
        };
        say(sink, &place.what, mount, &seen);
        first.get_or_insert(mount);
    }
}

fn say(sink: &Sink, what: &str, mount: &Mount, path: &Path) {
    let say = |name: &str, value: String, source: &str| {
        if !value.is_empty() {
            sink.fact(&format!("{what}.{name}"), value, source);
        }
    };
    let source = "/proc/PID/mountinfo";
    say("filesystem.type", mount.kind.clone(), source);
    say("filesystem.options", options(mount), source);
    say("filesystem.device", mount.source.clone(), source);
    let disk = device_of(path).map(|name| with_devices_below(&name, 0));
    say("disk", disk.unwrap_or_default(), "/sys/dev/block");
}

/// Formats devices as `dm-0 (sda, sdb)`.
fn with_devices_below(name: &str, depth: usize) -> String {
    let below = names_in(format!("/sys/block/{}/slaves", name.replace('/', "!")));
    if below.is_empty() || depth == LAYERS_MAX {
        return name.to_owned();
    }
    let below: Vec<String> = below
        .iter()
        .map(|name| with_devices_below(name, depth + 1))
        .collect();
    format!("{name} ({})", below.join(", "))
}

/// The options of a mount and of its file system, each once.
fn options(mount: &Mount) -> String {
    let mut options: Vec<&str> = Vec::new();
    for option in mount.flags.split(',').chain(mount.options.split(',')) {
        let is_place = PLACES.iter().any(|place| option.starts_with(place));
        if !is_place && !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    options.join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;

    #[test]
    fn options_are_listed_once_without_places() {
        let mounts = mounts::parse(
            "31 22 0:40 / /v rw,noatime - xfs /dev/mapper/vg-data rw,attr2,noatime\n\
             40 22 0:50 / /c rw,relatime - overlay overlay \
             rw,lowerdir=/a:/b,upperdir=/u,workdir=/w,index=off\n",
        );
        let options: Vec<String> = mounts.iter().map(options).collect();
        assert_eq!(options, ["rw,noatime,attr2", "rw,relatime,index=off"]);
    }

    #[test]
    fn reports_logs_on_another_mount() {
        let (sender, seen) = std::sync::mpsc::sync_channel(99);
        let place = |what: &str, path: &str| ServerDirectory {
            what: what.to_owned(),
            path: PathBuf::from(path),
        };
        let places = [
            place("data", "/dev/shm"),
            place("data.redo", "/dev/shm"),
            place("data.binlog", "/proc"),
        ];
        report(&Sink::new(sender), &places, None);
        let facts = seen.try_iter().filter_map(|seen| match seen {
            Observation::Fact(fact) => Some((fact.name, fact.value)),
            _ => None,
        });
        let facts: std::collections::HashMap<String, String> = facts.collect();
        assert_eq!(facts["data.filesystem.type"], "tmpfs");
        assert_eq!(facts["data.binlog.filesystem.type"], "proc");
        assert!(
            !facts.contains_key("data.redo.filesystem.type"),
            "{facts:?}"
        );
    }
}
