//! Where a server's files are: the file system, its mount options, and its device.

mod links;

use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::mounts::{self, Mount, is_in_memory};

use crate::host::device_of;
use crate::sink::Sink;
use crate::text::{names_in, of_process, small};

/// Options that locate layers and servers, without affecting how the file system works.
const PLACES: [&str; 5] = ["lowerdir=", "upperdir=", "workdir=", "addr=", "clientaddr="];
/// The depth of the search for devices below a device: partitions in volumes in arrays.
const LAYERS_MAX: usize = 4;

/// A directory or a file of a server.
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
    let table = pid.and_then(|pid| small(of_process(pid, "mountinfo")));
    let Some(table) = table.or_else(|| small("/proc/self/mountinfo")) else {
        sink.gap(names::DATA_FILESYSTEM, "cannot read /proc/self/mountinfo");
        return;
    };
    let mounts = mounts::parse(&table);
    let root = root_of(pid);
    // The directory of an embedded database may contain unrelated files.
    let linked = match pid {
        Some(_) => links::within(&root, places),
        None => Vec::new(),
    };
    let mut first = None;
    let mut found: Vec<(&str, &Mount, PathBuf)> = Vec::new();
    for place in places.iter().chain(&linked) {
        let path = links::resolved(&root, &place.path);
        let Some(mount) = mounts::containing(&mounts, &path) else {
            continue;
        };
        if first == Some(mount) {
            continue;
        }
        first.get_or_insert(mount);
        let one = (place.what.as_str(), mount, links::inside(&root, &path));
        match found.iter_mut().find(|(what, ..)| *what == place.what) {
            None => found.push(one),
            // If any part is in memory, the whole counts as in memory.
            Some(old) if is_in_memory(&mount.kind) && !is_in_memory(&old.1.kind) => *old = one,
            Some(_) => {}
        }
    }
    for (what, mount, path) in found {
        say(sink, what, mount, &path);
    }
}

/// The root of the server's files, as this process sees it.
fn root_of(pid: Option<i32>) -> PathBuf {
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    match pid {
        // A process that Dyno may not inspect is on this host, and rarely in a container.
        Some(pid) if space(&pid.to_string()).is_some_and(|it| Some(it) != space("self")) => {
            PathBuf::from(format!("/proc/{pid}/root"))
        }
        _ => PathBuf::from("/"),
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
    use std::collections::HashMap;

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

    fn reported(places: &[(&str, &Path)]) -> HashMap<String, String> {
        let (sender, seen) = std::sync::mpsc::sync_channel(99);
        let place = |(what, path): &(&str, &Path)| ServerDirectory {
            what: (*what).to_owned(),
            path: path.to_path_buf(),
        };
        let places: Vec<ServerDirectory> = places.iter().map(place).collect();
        let pid = i32::try_from(std::process::id()).ok();
        report(&Sink::new(sender), &places, pid);
        let facts = seen.try_iter().filter_map(|seen| match seen {
            Observation::Fact(fact) => Some((fact.name, fact.value)),
            _ => None,
        });
        facts.collect()
    }

    #[test]
    fn reports_logs_on_another_mount() {
        let (memory, proc) = (Path::new("/dev/shm"), Path::new("/proc"));
        let places = [
            ("data", memory),
            ("data.redo", memory),
            ("data.binlog", proc),
        ];
        let facts = reported(&places);
        assert_eq!(facts["data.filesystem.type"], "tmpfs");
        assert_eq!(facts["data.binlog.filesystem.type"], "proc");
        assert!(
            !facts.contains_key("data.redo.filesystem.type"),
            "{facts:?}"
        );
        // If any part is in memory, it decides.
        let places = [
            ("data", proc),
            ("data.redo", Path::new("/")),
            ("data.redo", memory),
        ];
        assert_eq!(reported(&places)["data.redo.filesystem.type"], "tmpfs");
    }

    #[test]
    fn reports_files_behind_links() {
        let folder = std::env::temp_dir().join(format!("dyno-links-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("base")).unwrap();
        for link in ["base/5", "ib_logfile0", "aria_log_control", "some_database"] {
            std::os::unix::fs::symlink("/proc/sys", folder.join(link)).unwrap();
        }
        let database = folder.join("base/5");
        let places = [
            ("data", folder.as_path()),
            ("data.database", database.as_path()),
        ];
        let facts = reported(&places);
        std::fs::remove_dir_all(&folder).unwrap();
        for part in ["database", "redo", "aria_log"] {
            let name = format!("data.{part}.filesystem.type");
            assert_eq!(facts[&name], "proc", "{name}");
        }
        let types = facts.keys().filter(|name| name.ends_with("system.type"));
        assert_eq!(types.count(), 4, "{facts:?}");
    }
}
