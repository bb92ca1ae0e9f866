//! The limits that the control group of a process sets, in version 1 or 2.

use std::path::{Component, Path, PathBuf};

use dyno_core::mounts::{self, Mount};

use crate::sink::{Gauge, SampleBuffer};
use crate::text::{ProcFile, named_numbers, small, whole};

/// In version 1, a limit of this many bytes or more means no limit: the kernel reports the largest
/// number of pages.
const LIMIT_BYTES_MAX: u64 = 1 << 60;

/// The directories of the controllers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    /// The directory of version 2, which has all controllers.
    pub unified: Option<PathBuf>,
    /// The directory of the CPU controller in version 1.
    pub cpu: Option<PathBuf>,
    /// The directory of the memory controller in version 1.
    pub memory: Option<PathBuf>,
}

impl Places {
    /// The directories of this process.
    pub(crate) fn find() -> Self {
        let groups = std::fs::read("/proc/self/cgroup").unwrap_or_default();
        Self::of_groups(&groups)
    }

    /// The directories of a process whose `/proc/PID/cgroup` has these contents.
    fn of_groups(groups: &[u8]) -> Self {
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let text = String::from_utf8_lossy;
        let mut places = Self::parse(&text(groups), &text(&mounts));
        for place in [&mut places.unified, &mut places.cpu, &mut places.memory] {
            if place.as_ref().is_some_and(|path| !path.is_dir()) {
                *place = None;
            }
        }
        places
    }

    fn parse(groups: &str, mounts: &str) -> Self {
        let mounts = mounts::parse(mounts);
        let mut places = Self::default();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
                continue;
            };
            let has = |name: &str| controllers.split(',').any(|own| own == name);
            if controllers.is_empty() {
                places.unified = folder(&mounts, None, group);
            } else if has("cpu") {
                places.cpu = folder(&mounts, Some("cpu"), group);
            } else if has("memory") {
                places.memory = folder(&mounts, Some("memory"), group);
            }
        }
        places
    }

    /// The CPU quota in the format of version 2: `MICROSECONDS PERIOD`, or `max`.
    pub(crate) fn cpu_max(&self) -> Option<String> {
        let unified = self.unified.as_deref().map(with_quota);
        let unified = unified.and_then(|path| small(path.join("cpu.max")));
        unified.or_else(|| {
            let path = self.cpu.as_deref().map(with_quota)?;
            let quota = small(path.join("cpu.cfs_quota_us"))?;
            let period = small(path.join("cpu.cfs_period_us"))?;
            Some(match quota.as_str() {
                "-1" => format!("max {period}"),
                quota => format!("{quota} {period}"),
            })
        })
    }
}

/// The directory of a group. `None` as the controller means version 2.
fn folder(mounts: &[Mount], controller: Option<&str>, group: &str) -> Option<PathBuf> {
    let fits = |mount: &&Mount| match controller {
        None => mount.kind == "cgroup2",
        Some(name) => mount.kind == "cgroup" && mount.options.split(',').any(|own| own == name),
    };
    let mount = mounts.iter().find(fits)?;
    // In a container, the root of the mount may be the group itself. The files of a group outside
    // this process's namespace are not visible.
    let below = Path::new(group).strip_prefix(&mount.root).ok()?;
    let is_visible = below.components().all(|part| part != Component::ParentDir);
    is_visible.then(|| mount.point.join(below))
}

/// The group that limits a process's CPU: its own group or the ancestor with the smallest quota,
/// or the nearest of several with that quota.
fn with_quota(place: &Path) -> &Path {
    // Groups above the root of the mount have no such files.
    let groups = place.ancestors();
    let limited = groups.filter_map(|group| Some((cpus(group)?, group)));
    let smallest = limited.min_by(|(one, _), (other, _)| one.total_cmp(other));
    smallest.map_or(place, |(_, group)| group)
}

/// The CPUs that a group may use, if it has a quota.
fn cpus(group: &Path) -> Option<f64> {
    let number = |text: &str| text.parse().ok().filter(|number: &f64| *number > 0.0);
    let (quota, period) = match small(group.join("cpu.max")) {
        Some(max) => {
            let (quota, period) = max.split_once(' ')?;
            (number(quota)?, number(period)?)
        }
        None => {
            let read = |name: &str| number(&small(group.join(name))?);
            (read("cpu.cfs_quota_us")?, read("cpu.cfs_period_us")?)
        }
    };
    Some(quota / period)
}

/// After this many samples, check whether the process has moved to another group.
const SLOW: u64 = 5;

pub(crate) struct Cgroup {
    groups_file: ProcFile,
    groups: Vec<u8>,
    files: Files,
    samples: u64,
    periods_before: Option<Periods>,
    throttled: Gauge,
    current: Gauge,
    limit: Gauge,
}

#[derive(Default)]
struct Files {
    cpu_stat: Option<ProcFile>,
    memory_current: Option<ProcFile>,
    memory_limit: Option<ProcFile>,
}

/// The periods in which the kernel enforces the quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Periods {
    all: f64,
    throttled: f64,
}

impl Files {
    fn find(places: &Places) -> Self {
        let find = |place: Option<&Path>, name: &str| ProcFile::find(place?.join(name));
        let (unified, memory) = (places.unified.as_deref(), places.memory.as_deref());
        let cpu_stat = find(unified.map(with_quota), "cpu.stat").filter(has_periods);
        let old = || find(places.cpu.as_deref().map(with_quota), "cpu.stat");
        Self {
            cpu_stat: cpu_stat.or_else(old),
            memory_current: find(unified, "memory.current")
                .or_else(|| find(memory, "memory.usage_in_bytes")),
            memory_limit: find(unified, "memory.max")
                .or_else(|| find(memory, "memory.limit_in_bytes")),
        }
    }
}

impl Cgroup {
    /// Observes a process (`self`, or its number), and reports names that begin with `scope`.
    /// `None` if no file of any group can be read.
    pub(crate) fn of(process: &str, scope: &str) -> Option<Self> {
        let groups_file = ProcFile::open(format!("/proc/{process}/cgroup")).ok()?;
        let groups = groups_file.read(&mut Vec::new()).ok()?.to_vec();
        let files = Files::find(&Places::of_groups(&groups));
        if files.cpu_stat.is_none() && files.memory_current.is_none() {
            return None;
        }
        let gauge = |name: &str, unit: &str, source: &str| {
            Gauge::new(&format!("{scope}.{name}"), unit, source)
        };
        Some(Self {
            groups_file,
            groups,
            files,
            samples: 0,
            periods_before: None,
            throttled: gauge("cpu_throttled", "percent", "cpu.stat"),
            current: gauge("memory_current", "bytes", "control group"),
            limit: gauge("memory_limit", "bytes", "control group"),
        })
    }

    /// Finds the files of the group to which the process has moved.
    fn follow(&mut self, buffer: &mut Vec<u8>) {
        let groups = self.groups_file.read(buffer).unwrap_or_default();
        if !groups.is_empty() && groups != self.groups {
            self.groups = groups.to_vec();
            self.files = Files::find(&Places::of_groups(groups));
            self.periods_before = None;
        }
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        if self.samples.is_multiple_of(SLOW) {
            self.follow(buffer);
        }
        self.samples += 1;
        let cpu_stat = self.files.cpu_stat.as_ref();
        let text = cpu_stat.and_then(|file| file.read(buffer).ok());
        if let Some(now) = text.and_then(periods)
            && let Some(before) = self.periods_before.replace(now)
        {
            let all = now.all - before.all;
            let throttled = (now.throttled - before.throttled).max(0.0);
            // There are no periods without a quota, or while the process is idle.
            let share = if all > 0.0 { throttled / all } else { 0.0 };
            self.throttled.put(recorder, share * 100.0);
        }
        let number = |file: &Option<ProcFile>, buffer: &mut Vec<u8>| {
            whole(file.as_ref()?.read(buffer).ok()?.trim_ascii())
        };
        let current = number(&self.files.memory_current, buffer);
        self.current
            .put_some(recorder, current.map(|bytes| bytes as f64));
        // `max` is not a number, and means no limit.
        let limit =
            number(&self.files.memory_limit, buffer).filter(|bytes| *bytes < LIMIT_BYTES_MAX);
        self.limit
            .put_some(recorder, limit.map(|bytes| bytes as f64));
    }
}

fn has_periods(file: &ProcFile) -> bool {
    file.read(&mut Vec::new()).ok().and_then(periods).is_some()
}

fn periods(text: &[u8]) -> Option<Periods> {
    let find = |wanted: &[u8]| named_numbers(text).find(|(name, _)| *name == wanted);
    let (_, all) = find(b"nr_periods")?;
    let (_, throttled) = find(b"nr_throttled")?;
    Some(Periods { all, throttled })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn both_versions_are_found() {
        let mounts = "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let groups = "4:memory:/docker/ab/child\n1:cpu,cpuacct:/\n0::/user.slice\n";
        let places = Places::parse(groups, mounts);
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(places.unified, path("/sys/fs/cgroup/unified/user.slice"));
        assert_eq!(places.cpu, path("/sys/fs/cgroup/cpu,cpuacct/"));
        assert_eq!(places.memory, path("/sys/fs/cgroup/memory/child"));
        let places = Places::parse("0::/a/b\n", "9 1 0:2 / /sys/fs/cgroup rw - cgroup2 c rw\n");
        assert_eq!(places.unified, path("/sys/fs/cgroup/a/b"));
        assert_eq!((places.cpu, places.memory), (None, None));
    }

    #[test]
    fn a_group_outside_of_the_namespace_is_not_looked_for() {
        let mounts = "9 1 0:2 / /sys/fs/cgroup rw - cgroup2 c rw\n";
        assert_eq!(Places::parse("0::/../beside\n", mounts).unified, None);
    }

    #[test]
    fn the_smallest_quota_of_the_groups_counts() {
        let root = std::env::temp_dir().join(format!("dyno-groups-{}", std::process::id()));
        let inner = root.join("outer/inner");
        std::fs::create_dir_all(&inner).unwrap();
        std::fs::write(inner.join("cpu.max"), "max 100000\n").unwrap();
        assert_eq!(with_quota(&inner), inner);
        std::fs::write(root.join("outer/cpu.max"), "50000 100000\n").unwrap();
        assert_eq!(with_quota(&inner), root.join("outer"));
        std::fs::write(inner.join("cpu.max"), "60000 100000\n").unwrap();
        assert_eq!(with_quota(&inner), root.join("outer"));
        std::fs::write(inner.join("cpu.max"), "40000 100000\n").unwrap();
        assert_eq!(with_quota(&inner), inner);
        let old = root.join("old");
        std::fs::create_dir_all(&old).unwrap();
        std::fs::write(old.join("cpu.cfs_quota_us"), "-1\n").unwrap();
        std::fs::write(old.join("cpu.cfs_period_us"), "100000\n").unwrap();
        assert_eq!(cpus(&old), None);
        std::fs::write(old.join("cpu.cfs_quota_us"), "20000\n").unwrap();
        assert_eq!(cpus(&old), Some(0.2));
        std::fs::remove_dir_all(&root).unwrap();
    }

    #[test]
    fn periods_are_read_of_both_versions() {
        let first = periods(b"nr_periods 9\nnr_throttled 4\nthrottled_time 12\n").unwrap();
        assert_eq!((first.all, first.throttled), (9.0, 4.0));
        let second = b"usage_usec 5\nnr_periods 7\nnr_throttled 0\nthrottled_usec 0\n";
        assert_eq!(periods(second).unwrap().all, 7.0);
        assert_eq!(periods(b"usage_usec 5\n"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(groups in "[ :,/a-z0-9\n-]{0,99}", mounts in "[ :,/a-z0-9\n-]{0,200}") {
            let _ = Places::parse(&groups, &mounts);
            let _ = periods(groups.as_bytes());
        }
    }
}
