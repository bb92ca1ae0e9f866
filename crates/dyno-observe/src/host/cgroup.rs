//! The limits that the control group of this process sets, in either version of them.

use std::path::{Path, PathBuf};

use crate::sink::{Gauge, SampleBuffer};
use crate::text::{KeptFile, lines, named_numbers, small, whole, words};

/// Beyond this a limit of version 1 means none: it is the largest number of pages.
const LIMIT_BYTES_MAX: u64 = 1 << 60;

/// Where the files of a controller are.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Places {
    /// Version 2's, with all controllers.
    pub unified: Option<PathBuf>,
    /// Version 1's.
    pub cpu: Option<PathBuf>,
    /// Version 1's.
    pub memory: Option<PathBuf>,
}

impl Places {
    /// Of this process.
    pub(crate) fn find() -> Self {
        let groups = std::fs::read("/proc/self/cgroup").unwrap_or_default();
        let mounts = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
        let mut places = Self::parse(&groups, &mounts);
        for place in [&mut places.unified, &mut places.cpu, &mut places.memory] {
            if place.as_ref().is_some_and(|path| !path.is_dir()) {
                *place = None;
            }
        }
        places
    }

    fn parse(groups: &[u8], mounts: &[u8]) -> Self {
        let mut places = Self::default();
        for line in lines(groups) {
            let mut parts = line.splitn(3, |byte| *byte == b':').skip(1);
            let (Some(controllers), Some(group)) = (parts.next(), parts.next()) else {
                continue;
            };
            let has = |name: &[u8]| controllers.split(|byte| *byte == b',').any(|c| c == name);
            if controllers.is_empty() {
                places.unified = folder(mounts, None, group);
            } else if has(b"cpu") {
                places.cpu = folder(mounts, Some(b"cpu"), group);
            } else if has(b"memory") {
                places.memory = folder(mounts, Some(b"memory"), group);
            }
        }
        places
    }

    /// The quota of CPU time as version 2 writes it: `MICROSECONDS PERIOD`, or `max`.
    pub(crate) fn cpu_max(&self) -> Option<String> {
        let unified = self
            .unified
            .as_deref()
            .and_then(|path| small(path.join("cpu.max")));
        unified.or_else(|| {
            let path = self.cpu.as_deref()?;
            let quota = small(path.join("cpu.cfs_quota_us"))?;
            let period = small(path.join("cpu.cfs_period_us"))?;
            Some(match quota.as_str() {
                "-1" => format!("max {period}"),
                quota => format!("{quota} {period}"),
            })
        })
    }
}

/// The directory of a group: `None` for a controller means version 2.
fn folder(mounts: &[u8], controller: Option<&[u8]>, group: &[u8]) -> Option<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(String::from_utf8_lossy(bytes).into_owned());
    for line in lines(mounts) {
        let all: Vec<&[u8]> = words(line).collect();
        let dash = all.iter().position(|word| *word == b"-")?;
        let (Some(root), Some(point)) = (all.get(3), all.get(4)) else {
            continue;
        };
        let (kind, options) = (all.get(dash + 1), all.get(dash + 3));
        let fits = match controller {
            None => kind == Some(&&b"cgroup2"[..]),
            Some(name) => {
                kind == Some(&&b"cgroup"[..])
                    && options.is_some_and(|o| o.split(|b| *b == b',').any(|o| o == name))
            }
        };
        if !fits {
            continue;
        }
        // In a container the mount may show the group itself as its root.
        let (root, group) = (path(root), path(group));
        let below = group.strip_prefix(&root).ok()?;
        return Some(path(point).join(below));
    }
    None
}

pub(crate) struct Cgroup {
    cpu_stat: Option<KeptFile>,
    memory_current: Option<KeptFile>,
    memory_limit: Option<KeptFile>,
    periods_before: Option<Periods>,
    throttled: Gauge,
    current: Gauge,
    limit: Gauge,
}

/// Enforcement periods of the quota.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Periods {
    all: f64,
    throttled: f64,
}

impl Cgroup {
    /// `None` where no file of any group can be read.
    pub(crate) fn find(places: &Places) -> Option<Self> {
        let find = |place: &Option<PathBuf>, name: &str| {
            place
                .as_deref()
                .and_then(|path: &Path| KeptFile::find(path.join(name)))
        };
        let cpu_stat = find(&places.unified, "cpu.stat").filter(has_periods);
        let cpu_stat = cpu_stat.or_else(|| find(&places.cpu, "cpu.stat"));
        let memory_current = find(&places.unified, "memory.current");
        let memory_limit = find(&places.unified, "memory.max");
        let memory_current =
            memory_current.or_else(|| find(&places.memory, "memory.usage_in_bytes"));
        let memory_limit = memory_limit.or_else(|| find(&places.memory, "memory.limit_in_bytes"));
        if cpu_stat.is_none() && memory_current.is_none() {
            return None;
        }
        let memory = |name: &str| Gauge::new(name, "bytes", "control group");
        Some(Self {
            cpu_stat,
            memory_current,
            memory_limit,
            periods_before: None,
            throttled: Gauge::new("host.cgroup.cpu_throttled", "percent", "cpu.stat"),
            current: memory("host.cgroup.memory_current"),
            limit: memory("host.cgroup.memory_limit"),
        })
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        let text = self
            .cpu_stat
            .as_ref()
            .and_then(|file| file.read(buffer).ok());
        if let Some(now) = text.and_then(periods)
            && let Some(before) = self.periods_before.replace(now)
        {
            let all = now.all - before.all;
            let throttled = (now.throttled - before.throttled).max(0.0);
            // Without a quota, or while idle, there is no period at all.
            let share = if all > 0.0 { throttled / all } else { 0.0 };
            self.throttled.put(recorder, share * 100.0);
        }
        let number = |file: &Option<KeptFile>, buffer: &mut Vec<u8>| {
            whole(file.as_ref()?.read(buffer).ok()?.trim_ascii())
        };
        let current = number(&self.memory_current, buffer);
        self.current
            .put_some(recorder, current.map(|bytes| bytes as f64));
        // `max`, which is no number, means that there is none.
        let limit = number(&self.memory_limit, buffer).filter(|bytes| *bytes < LIMIT_BYTES_MAX);
        self.limit
            .put_some(recorder, limit.map(|bytes| bytes as f64));
    }
}

fn has_periods(file: &KeptFile) -> bool {
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
        let mounts = b"31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n\
            32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime - cgroup cgroup rw,cpu,cpuacct\n\
            35 31 0:32 /docker/ab /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n";
        let groups = b"4:memory:/docker/ab/child\n1:cpu,cpuacct:/\n0::/user.slice\n";
        let places = Places::parse(groups, mounts);
        let path = |text: &str| Some(PathBuf::from(text));
        assert_eq!(places.unified, path("/sys/fs/cgroup/unified/user.slice"));
        assert_eq!(places.cpu, path("/sys/fs/cgroup/cpu,cpuacct/"));
        assert_eq!(places.memory, path("/sys/fs/cgroup/memory/child"));
        let places = Places::parse(
            b"0::/a/b\n",
            b"9 1 0:2 / /sys/fs/cgroup rw - cgroup2 c rw\n",
        );
        assert_eq!(places.unified, path("/sys/fs/cgroup/a/b"));
        assert_eq!((places.cpu, places.memory), (None, None));
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
            let _ = Places::parse(groups.as_bytes(), mounts.as_bytes());
            let _ = periods(groups.as_bytes());
        }
    }
}
