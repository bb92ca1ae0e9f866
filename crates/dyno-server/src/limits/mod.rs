//! Limits of what a server may use, by control groups: time of processors, memory, reads and
//! writes of the disk. A server is in its groups from its first instruction, and they go with it.

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

/// The length of the time in which a share of the processors is given out, in microseconds: the
/// kernel's own, which containers have, too.
const PERIOD_US: u64 = 100_000;
/// The kernel gives no less than a millisecond of a period.
const CPUS_MIN: f64 = 0.01;
/// More processors than any host has.
const CPUS_MAX: f64 = 100_000.0;
/// In a server's folder: its groups, and what the kernel was read to have.
const FILE: &str = "limits.json";

/// What a server may use at most; nothing is limited that is not named.
///
/// Memory counts the pages of the page cache that the server's reads and writes brought in, not
/// only what it allocated: a server under its limit may yet be short of cache, and PostgreSQL,
/// which relies on the page cache, feels a limit well above its `shared_buffers`.
///
/// Reads and writes are counted at the disk below the server's data. Version 1 of control groups
/// sees only those that the server itself waits for (reads, direct writes, `fsync`), not what the
/// kernel writes back later on its behalf; version 2 counts both on ext4, xfs and btrfs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// Processors' time per time: 0.5 is half of one.
    pub cpus: Option<f64>,
    /// Bytes of memory, page cache included; the server gets no swap beside it.
    pub memory: Option<u64>,
    /// Reads in a second.
    pub read_iops: Option<u64>,
    /// Writes in a second.
    pub write_iops: Option<u64>,
    /// Bytes read in a second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written in a second.
    pub write_bytes_per_s: Option<u64>,
}

/// The groups of a server that runs.
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

    /// Whether reads or writes of the disk are limited, which a pool of zfs does not permit.
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

    /// Whether they can be set for a server whose data lie at a path, by setting them for none.
    ///
    /// # Errors
    /// A value that makes no sense; or what the kernel or this user's rights do not allow, with
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
        let made = self.make_groups(&trial, there);
        made.map(|groups| remove_all(&groups.paths))
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
                "{cpus} processors are no limit on this host: it has only {there}"
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

    /// Makes the groups of a server that is about to start.
    pub(crate) fn make(&self, folder: &Folder) -> Result<Groups> {
        if self.is_empty() {
            return Ok(Groups::default());
        }
        let name = controllers::name_of(folder);
        let groups = self.make_groups(&name, &folder.data())?;
        folder.write_json(FILE, &groups)?;
        Ok(groups)
    }

    /// On an error none is left.
    fn make_groups(&self, name: &str, data: &Path) -> Result<Groups> {
        let mut groups = Groups::default();
        let mut make = || -> Result<()> {
            let mut group = |controller: Controller| -> Result<(Group, bool)> {
                let place = controller.place()?;
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
        let made = make();
        match made {
            Ok(()) => Ok(groups),
            Err(error) => {
                remove_all(&groups.paths);
                Err(error)
            }
        }
    }

    /// Names in version 2, files of version 1, values.
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
    // From 1,000 on, by the check of values.
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

/// Files by which a process joins groups, opened while there are the rights for it.
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

/// Ends what is left in groups and removes them. Says what the kernel did for want of memory.
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

/// Removes the groups that a folder's server had, if it has any.
pub(crate) fn forget(folder: &Folder) -> Result<()> {
    if let Some(groups) = folder.read_json::<Groups>(FILE)? {
        end(&groups.paths);
        folder.remove(FILE)?;
    }
    Ok(())
}

impl Server {
    /// What the server may use at most, as asked for.
    pub fn limits(&self) -> &Limits {
        &self.record.limits
    }

    /// Changes the limits that the server has from its next start on.
    ///
    /// # Errors
    /// A limit cannot be set: see [`Limits::check`]. Or the server does not run on this host.
    pub fn limit(&mut self, limits: Limits, home: &Home) -> Result<()> {
        limits.check(home)?;
        self.record.kind.must_be_here(&limits)?;
        self.put_limits(limits)
    }

    /// Puts limits that were checked before in the place of those there are.
    ///
    /// # Errors
    /// The file that keeps them cannot be written.
    pub fn put_limits(&mut self, limits: Limits) -> Result<()> {
        self.record.limits = limits;
        self.save()
    }

    /// The limits that the kernel was read to have, in its own words, of a server that runs.
    ///
    /// # Errors
    /// The file that says so cannot be read.
    pub fn limits_seen(&self) -> Result<Vec<String>> {
        let groups: Option<Groups> = self.folder().read_json(FILE)?;
        Ok(groups.unwrap_or_default().seen)
    }
}

impl Home {
    /// Removes control groups that servers left which do not run any more. Says which.
    ///
    /// # Errors
    /// A server's files cannot be read.
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

/// Whether nobody runs, starts or changes a folder's server.
fn is_left(folder: &Folder, home: &Home) -> Result<bool> {
    // Groups are made for servers that are there; one that is not mounted does not run.
    if folder.is_unmounted() || !folder.exists() {
        return Ok(true);
    }
    let Ok(server) = Server::open(home, folder.name()) else {
        return Ok(false);
    };
    // While another command holds it, its groups may be about to be used.
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

    /// Plain files in the place of the kernel's, which say what they were told.
    #[test]
    fn version_2_is_written_as_it_wants() {
        let outer = tempfile::tempdir().expect("a folder");
        let place = controllers::Place::of_files(outer.path());
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
    fn what_is_set_is_read_back() {
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
