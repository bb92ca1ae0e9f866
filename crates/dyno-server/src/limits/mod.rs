//! Resource limits of a server, by control groups: CPU time, memory, reads and writes of the disk.
//! A server is in its groups from its first instruction; they are removed with it.

mod controllers;

use std::fs::File;
use std::path::{Path, PathBuf};

use dyno_core::units::human_size;
use serde::{Deserialize, Serialize};

use crate::error::{OnPath, Result, failed, usage};
use crate::home::{Folder, Home};
use crate::mounts::disk_of;
use crate::process::ProcessId;
use crate::server::Server;
pub(crate) use controllers::name_of;
use controllers::{Controller, Group};

/// The kernel's default period for CPU quotas in microseconds, also used by containers.
const PERIOD_US: u64 = 100_000;
/// The kernel's minimum is a millisecond per period.
const CPUS_MIN: f64 = 0.01;
/// More CPUs than any host has.
const CPUS_MAX: f64 = 100_000.0;
/// In a server's folder: its groups, and the values read back from the kernel.
const FILE: &str = "limits.json";

/// The limits of a server; missing values are not limited.
///
/// Memory includes the page cache of the server's reads and writes, not only its allocations: a
/// server below its limit may still lack cache, and PostgreSQL, which relies on the page cache, is
/// affected by a limit well above its `shared_buffers`.
///
/// Reads and writes are counted at the disk below the server's data. Version 1 of control groups
/// sees only those that the server waits for (reads, direct writes, `fsync`), not the kernel's
/// later write-back; version 2 counts both on ext4, xfs and btrfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// CPUs: 0.5 is half of one.
    pub cpus: Option<f64>,
    /// Bytes of memory, including the page cache; the server gets no additional swap.
    pub memory: Option<u64>,
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
}

/// The groups of a running server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Groups {
    pub(crate) paths: Vec<PathBuf>,
    pub(crate) seen: Vec<String>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Whether disk reads or writes are limited, which a zfs pool does not support.
    pub fn are_of_disk(&self) -> bool {
        self.disk_limits().iter().any(|limit| limit.2.is_some())
    }

    /// In words: `0.5 processors`.
    pub fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        words.extend(self.cpus.map(|cpus| format!("{cpus} processors")));
        let sizes = [
            (self.memory, "of memory"),
            (self.read_bytes_per_s, "/s read"),
            (self.write_bytes_per_s, "/s written"),
        ];
        for (bytes, what) in sizes {
            let blank = if what.starts_with('/') { "" } else { " " };
            words.extend(bytes.map(|bytes| format!("{}{blank}{what}", human_size(bytes))));
        }
        words.extend(self.read_iops.map(|count| format!("{count} reads/s")));
        words.extend(self.write_iops.map(|count| format!("{count} writes/s")));
        words
    }

    /// Checks that the limits can be set for a server with data in this home, by setting them on an
    /// empty group.
    ///
    /// # Errors
    /// An invalid value, or a limit that the kernel or this user's privileges do not allow, with
    /// the name of the controller.
    pub fn check(&self, home: &Home) -> Result<()> {
        self.check_values()?;
        if self.is_empty() {
            return Ok(());
        }
        let mut there = home.path();
        while let (false, Some(above)) = (there.exists(), there.parent()) {
            there = above;
        }
        let trial = controllers::trial_of(home);
        let created = self.make_groups(&trial, there);
        created.map(|groups| remove_all(&groups.paths))
    }

    fn check_values(&self) -> Result<()> {
        if let Some(cpus) = self.cpus
            && !(CPUS_MIN..=CPUS_MAX).contains(&cpus)
        {
            return usage(format!(
                "a server needs at least {CPUS_MIN} processors, not {cpus}"
            ));
        }
        let there = std::thread::available_parallelism().map_or(CPUS_MAX, |n| n.get() as f64);
        if let Some(cpus) = self.cpus.filter(|cpus| *cpus > there) {
            return usage(format!(
                "{cpus} processors are not a limit on this host: it has only {there}"
            ));
        }
        let counts = [
            self.memory,
            self.read_iops,
            self.write_iops,
            self.read_bytes_per_s,
            self.write_bytes_per_s,
        ];
        match counts.contains(&Some(0)) {
            true => usage("a limit of 0 would stop the server; 'none' removes the limit"),
            false => Ok(()),
        }
    }

    /// Creates the groups of a server that is about to start.
    pub(crate) fn make(&self, folder: &Folder) -> Result<Groups> {
        if self.is_empty() {
            return Ok(Groups::default());
        }
        let name = controllers::name_of(folder);
        let groups = self.make_groups(&name, &folder.data())?;
        folder.write_json(FILE, &groups)?;
        Ok(groups)
    }

    /// Leaves no group on an error.
    fn make_groups(&self, name: &str, data: &Path) -> Result<Groups> {
        let mut groups = Groups::default();
        let mut make = || -> Result<()> {
            let mut group = |controller: Controller| -> Result<(Group, bool)> {
                let place = controller.location()?;
                let group = place.make(name)?;
                if !groups.paths.contains(&group.path) {
                    groups.paths.push(group.path.clone());
                }
                Ok((group, place.is_unified))
            };
            let mut seen = Vec::new();
            if let Some(cpus) = self.cpus {
                let (group, is_unified) = group(Controller::Cpu)?;
                seen.push(limit_cpus(&group, is_unified, cpus)?);
            }
            if let Some(bytes) = self.memory {
                let (group, is_unified) = group(Controller::Memory)?;
                seen.push(limit_memory(&group, is_unified, bytes)?);
            }
            if self.are_of_disk() {
                let disk = disk_of(data)?;
                let (group, is_unified) = group(Controller::Disk)?;
                for (key, file, limit) in self.disk_limits() {
                    if let Some(limit) = limit {
                        let name = if is_unified { key } else { file };
                        seen.push(limit_disk(&group, is_unified, &disk, name, limit)?);
                    }
                }
            }
            groups.seen = seen;
            Ok(())
        };
        let created = make();
        match created {
            Ok(()) => Ok(groups),
            Err(error) => {
                remove_all(&groups.paths);
                Err(error)
            }
        }
    }

    /// Names in version 2, files in version 1, values.
    fn disk_limits(&self) -> [(&'static str, &'static str, Option<u64>); 4] {
        [
            ("riops", "blkio.throttle.read_iops_device", self.read_iops),
            ("wiops", "blkio.throttle.write_iops_device", self.write_iops),
            (
                "rbps",
                "blkio.throttle.read_bps_device",
                self.read_bytes_per_s,
            ),
            (
                "wbps",
                "blkio.throttle.write_bps_device",
                self.write_bytes_per_s,
            ),
        ]
    }
}

fn limit_cpus(group: &Group, is_unified: bool, cpus: f64) -> Result<String> {
    // At least 1,000, as values are checked.
    let quota = (cpus * PERIOD_US as f64).round() as u64;
    if is_unified {
        let value = format!("{quota} {PERIOD_US}");
        group.set("cpu.max", &value)?;
        return must_be(group, "cpu.max", &value);
    }
    if !group.has("cpu.cfs_quota_us") {
        return failed(
            "this kernel's controller 'cpu' does not support limits (CONFIG_CFS_BANDWIDTH)",
        );
    }
    group.set("cpu.cfs_period_us", &PERIOD_US.to_string())?;
    group.set("cpu.cfs_quota_us", &quota.to_string())?;
    must_be(group, "cpu.cfs_period_us", &PERIOD_US.to_string())?;
    must_be(group, "cpu.cfs_quota_us", &quota.to_string())
}

fn limit_memory(group: &Group, is_unified: bool, bytes: u64) -> Result<String> {
    // The kernel counts in pages.
    let page = rustix::param::page_size() as u64;
    let bytes = (bytes / page).max(1) * page;
    let (file, swap, swap_bytes) = match is_unified {
        true => ("memory.max", "memory.swap.max", 0),
        // Memory and swap together.
        false => (
            "memory.limit_in_bytes",
            "memory.memsw.limit_in_bytes",
            bytes,
        ),
    };
    group.set(file, &bytes.to_string())?;
    if group.has(swap) {
        group.set(swap, &swap_bytes.to_string())?;
    }
    must_be(group, file, &bytes.to_string())
}

/// Lines are `MAJOR:MINOR VALUE` in version 1 and `MAJOR:MINOR rbps=VALUE wbps=…` in version 2.
fn limit_disk(
    group: &Group,
    is_unified: bool,
    disk: &str,
    name: &str,
    limit: u64,
) -> Result<String> {
    let (file, entry) = match is_unified {
        true => ("io.max", format!("{name}={limit}")),
        false => (name, limit.to_string()),
    };
    group.set(file, &format!("{disk} {entry}"))?;
    let text = group.get(file)?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix(&format!("{disk} ")));
    let has = line.unwrap_or("no limit");
    match has.split(' ').any(|part| part == entry) {
        true => Ok(format!("{file}={disk} {entry}")),
        false => failed(format!(
            "{file} of disk {disk} was set to {entry}, the kernel has {has}"
        )),
    }
}

/// Reads a value back.
fn must_be(group: &Group, file: &str, wanted: &str) -> Result<String> {
    let has = group.get(file)?;
    match has == wanted {
        true => Ok(format!("{file}={has}")),
        false => failed(format!("{file} was set to {wanted}, the kernel has {has}")),
    }
}

/// Files with which a process joins groups, opened while it still has the privileges.
pub(crate) fn doors(groups: &[PathBuf]) -> Result<Vec<File>> {
    let open = |group: &PathBuf| {
        let path = group.join("cgroup.procs");
        File::options().write(true).open(&path).on("open", &path)
    };
    groups.iter().map(open).collect()
}

fn remove_all(groups: &[PathBuf]) {
    for group in groups {
        controllers::remove(group);
    }
}

/// Kills the remaining processes of groups and removes them. Reports kills because of too little
/// memory.
pub(crate) fn end(groups: &[PathBuf]) -> Option<String> {
    let killed = groups
        .iter()
        .map(|group| controllers::killed_for_memory(group))
        .max();
    remove_all(groups);
    killed.filter(|count| *count > 0).map(|count| {
        format!("the kernel killed {count} of its processes because it exceeded its memory limit")
    })
}

/// Removes the groups of a folder's server, if it has any.
pub(crate) fn forget(folder: &Folder) -> Result<()> {
    if let Some(groups) = folder.read_json::<Groups>(FILE)? {
        end(&groups.paths);
        folder.remove(FILE)?;
    }
    Ok(())
}

impl Server {
    /// The requested limits.
    pub fn limits(&self) -> &Limits {
        &self.record.limits
    }

    /// Changes the limits from the server's next start on.
    ///
    /// # Errors
    /// A limit cannot be set (see [`Limits::check`]), or the server runs on another host.
    pub fn limit(&mut self, limits: Limits, home: &Home) -> Result<()> {
        limits.check(home)?;
        self.record.kind.must_be_here(&limits)?;
        self.put_limits(limits)
    }

    /// Replaces the limits with ones that were already checked.
    ///
    /// # Errors
    /// The file is not writable.
    pub fn put_limits(&mut self, limits: Limits) -> Result<()> {
        self.record.limits = limits;
        self.save()
    }

    /// The limits of a running server as read back from the kernel, in its notation.
    ///
    /// # Errors
    /// The file is not readable.
    pub fn limits_seen(&self) -> Result<Vec<String>> {
        let groups: Option<Groups> = self.folder().read_json(FILE)?;
        Ok(groups.unwrap_or_default().seen)
    }
}

impl Home {
    /// Removes control groups of servers that no longer run. Returns their names.
    ///
    /// # Errors
    /// A server's files are not readable.
    pub fn sweep(&self) -> Result<Vec<String>> {
        let mut swept = Vec::new();
        for (name, group) in controllers::all_of(self) {
            if let Some(owner) = controllers::owner_of_trial(&name) {
                if ProcessId::of(owner).is_none() {
                    controllers::remove(&group);
                }
                continue;
            }
            let folder = self.folder(&name)?;
            if is_left(&folder, self)? {
                controllers::remove(&group);
                let gone = !group.exists();
                swept.extend(gone.then(|| format!("{} of server '{name}'", group.display())));
            }
        }
        Ok(swept)
    }
}

/// Whether no process runs, starts or changes a folder's server.
fn is_left(folder: &Folder, home: &Home) -> Result<bool> {
    // Groups exist only for existing servers; one that is not mounted does not run.
    if folder.is_unmounted() || !folder.exists() {
        return Ok(true);
    }
    let Ok(server) = Server::open(home, folder.name()) else {
        return Ok(false);
    };
    // While another command has the lock, its groups may be about to be used.
    Ok(server.running()?.is_none() && server.hold().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_words_and_checked() {
        let limits = Limits {
            cpus: Some(0.5),
            memory: Some(512 << 20),
            write_iops: Some(600),
            read_bytes_per_s: Some(8 << 20),
            ..Limits::default()
        };
        assert_eq!(
            limits.words().join(", "),
            "0.5 processors, 512 MiB of memory, 8.00 MiB/s read, 600 writes/s"
        );
        assert!(limits.check_values().is_ok() && !limits.is_empty());
        for wrong in [
            Limits {
                cpus: Some(0.0),
                ..limits
            },
            Limits {
                cpus: Some(f64::NAN),
                ..limits
            },
            Limits {
                memory: Some(0),
                ..limits
            },
        ] {
            assert!(
                wrong.check_values().expect_err("no limit").is_usage(),
                "{wrong:?}"
            );
        }
        let kept = serde_json::to_string(&limits).expect("JSON");
        assert_eq!(
            serde_json::from_str::<Limits>(&kept).expect("limits"),
            limits
        );
    }

    /// Plain files instead of the kernel's, which keep the written values.
    #[test]
    fn limits_use_the_format_of_version_2() {
        let outer = tempfile::tempdir().expect("a folder");
        let place = controllers::GroupLocation::of_files(outer.path());
        let group = place.make("one").expect("a group");
        let given = std::fs::read_to_string(outer.path().join("cgroup.subtree_control"));
        assert_eq!(given.expect("it is given on"), "+cpu");
        assert_eq!(
            limit_cpus(&group, true, 1.5).expect("a limit"),
            "cpu.max=150000 100000"
        );
        group.set("memory.swap.max", "max").expect("a file");
        assert_eq!(
            limit_memory(&group, true, (64 << 20) + 5).expect("a limit"),
            "memory.max=67108864"
        );
        assert_eq!(group.get("memory.swap.max").expect("a file"), "0");
        assert_eq!(
            limit_disk(&group, true, "8:0", "wiops", 600).expect("a limit"),
            "io.max=8:0 wiops=600"
        );
        assert_eq!(controllers::killed_for_memory(&group.path), 0);
        group
            .set("memory.events", "oom 2\noom_kill 2\n")
            .expect("a file");
        assert_eq!(controllers::killed_for_memory(&group.path), 2);
    }

    #[test]
    fn limits_are_read_back() {
        let outer = tempfile::tempdir().expect("a folder");
        let home = Home::at(&outer.path().join("home")).expect("a home");
        let limits = Limits {
            cpus: Some(0.5),
            memory: Some(64 << 20),
            ..Limits::default()
        };
        match limits.check(&home) {
            Ok(()) => {}
            // As an unprivileged user, or in a container.
            Err(error) => assert!(error.to_string().contains("controller '"), "{error}"),
        }
    }
}
