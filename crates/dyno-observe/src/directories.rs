//! Where a server's files are: the file system, its mount options, and its device.

use std::path::{Path, PathBuf};

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

/// The mount of a path.
#[derive(Debug, PartialEq)]
struct Mount {
    point: String,
    kind: String,
    device: String,
    options: String,
}

/// Reports the first place, and those others that are on another mount. `pid`: the server's
/// process; `None` if it is this one.
pub(crate) fn report(sink: &Sink, places: &[ServerDirectory], pid: Option<i32>) {
    let space = |of: &str| std::fs::read_link(format!("/proc/{of}/ns/mnt")).ok();
    let is_own = pid.is_none_or(|pid| {
        let theirs = space(&pid.to_string());
        // A process that may not be inspected is on this host, and rarely in a container.
        theirs.is_none() || theirs == space("self")
    });
    let table = pid.and_then(|pid| small(of_process(pid, "mountinfo")));
    let Some(table) = table.or_else(|| small("/proc/self/mountinfo")) else {
        sink.gap("data.filesystem", "cannot read /proc/self/mountinfo");
        return;
    };
    let mut first = None;
    for place in places {
        let path = match is_own {
            true => std::fs::canonicalize(&place.path).unwrap_or_else(|_| place.path.clone()),
            false => place.path.clone(),
        };
        let Some(mount) = mount_of(&path, &table) else {
            continue;
        };
        if first.as_ref() == Some(&mount) {
            continue;
        }
        let seen = match (is_own, pid) {
            (false, Some(pid)) => {
                let inner = path.strip_prefix("/").unwrap_or(&path);
                Path::new(&format!("/proc/{pid}/root")).join(inner)
            }
            _ => path,
        };
        say(sink, &place.what, &mount, &seen);
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
    say("filesystem.options", mount.options.clone(), source);
    say("filesystem.device", mount.device.clone(), source);
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

/// The mount of a path: the longest that is a prefix of it, and the last of those, which hides the
/// ones below it.
fn mount_of(path: &Path, table: &str) -> Option<Mount> {
    let mut found: Option<Mount> = None;
    for mount in table.lines().filter_map(parse) {
        let length = found.as_ref().map_or(0, |found| found.point.len());
        if path.starts_with(&mount.point) && mount.point.len() >= length {
            found = Some(mount);
        }
    }
    found
}

/// Parses a line of mountinfo: see proc_pid_mountinfo(5).
fn parse(line: &str) -> Option<Mount> {
    let (own, of_file_system) = line.split_once(" - ")?;
    let mut own = own.split(' ').skip(4);
    let point = plain(own.next()?);
    let own_options = own.next()?;
    let mut rest = of_file_system.split(' ');
    let kind = rest.next()?.to_owned();
    let device = plain(rest.next()?);
    let mut options: Vec<&str> = Vec::new();
    for option in own_options
        .split(',')
        .chain(rest.next().unwrap_or("").split(','))
    {
        let is_place = PLACES.iter().any(|place| option.starts_with(place));
        if !is_place && !option.is_empty() && !options.contains(&option) {
            options.push(option);
        }
    }
    Some(Mount {
        point,
        kind,
        device,
        options: options.join(","),
    })
}

/// Decodes octal escapes of blanks and other characters.
fn plain(text: &str) -> String {
    let escapes = [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ];
    let mut text = text.to_owned();
    for (escape, plain) in escapes {
        text = text.replace(escape, plain);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Observation;

    const TABLE: &str = "\
22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw,discard,errors=remount-ro
30 22 0:26 / /run rw,nosuid shared:5 - tmpfs tmpfs rw,size=402396k
31 22 0:40 / /var/lib/my\\040sql rw,noatime - xfs /dev/mapper/vg-data rw,attr2,noatime
40 22 0:50 / /c rw,relatime - overlay overlay rw,lowerdir=/a:/b,upperdir=/u,workdir=/w,index=off";

    #[test]
    fn a_path_belongs_to_the_longest_mount_that_it_begins_with() {
        let of = |path: &str| mount_of(Path::new(path), TABLE).unwrap();
        assert_eq!(of("/var/lib/mysql").kind, "ext4");
        assert_eq!(of("/run/db").kind, "tmpfs");
        assert_eq!(of("/runner").kind, "ext4");
        let volume = of("/var/lib/my sql/data");
        assert_eq!(
            (volume.kind.as_str(), volume.device.as_str()),
            ("xfs", "/dev/mapper/vg-data")
        );
        assert_eq!(volume.options, "rw,noatime,attr2");
        assert_eq!(of("/c/x").options, "rw,relatime,index=off");
        assert_eq!(parse("nonsense"), None);
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
