//! Control groups of this host, of either version: finding controllers, and creating groups.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::error::{Result, failed};
use crate::home::Home;
use crate::mounts::{Mount, mounts};
use crate::process::{ProcessId, effective_uid, wait_until};

/// How long killed processes may take to leave their group.
const GONE_LIMIT: Duration = Duration::from_secs(5);

/// A resource that control groups can limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Controller {
    Cpu,
    Memory,
    Disk,
}

impl Controller {
    pub(super) const ALL: [Self; 3] = [Self::Cpu, Self::Memory, Self::Disk];

    /// Its name in version 2 and in version 1.
    fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Cpu => ("cpu", "cpu"),
            Self::Memory => ("memory", "memory"),
            Self::Disk => ("io", "blkio"),
        }
    }

    /// Where to create its groups.
    ///
    /// # Errors
    /// The kernel lacks this controller.
    pub(super) fn location(self) -> Result<GroupLocation> {
        let found = self.find(&mounts());
        let (new, old) = self.names();
        match found {
            Some(place) => Ok(place),
            None => failed(format!(
                "this kernel offers no control groups with the controller '{new}' ('{old}' in \
                 version 1): neither a cgroup2 nor a cgroup file system provides it"
            )),
        }
    }

    /// Version 2 if it has the controller, else version 1.
    fn find(self, mounts: &[Mount]) -> Option<GroupLocation> {
        let (new, old) = self.names();
        let has = |folder: &Path| {
            let text = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
            text.split_whitespace().any(|name| name == new)
        };
        let unified = mounts.iter().filter(|mount| mount.kind == "cgroup2");
        let unified = unified
            .map(|mount| own_part(&mount.point))
            .find(|folder| has(folder));
        if let Some(folder) = unified {
            return Some(GroupLocation {
                folder,
                is_unified: true,
                controller: new,
            });
        }
        let with = |mount: &&Mount| {
            mount.kind == "cgroup" && mount.options.split(',').any(|option| option == old)
        };
        let mount = mounts.iter().find(with)?;
        Some(GroupLocation {
            folder: mount.point.clone(),
            is_unified: false,
            controller: old,
        })
    }
}

/// This user's part of a version 2 hierarchy: all of it for root, else the highest group above this
/// process that the user can write to, as systemd delegates them.
fn own_part(mount: &Path) -> PathBuf {
    if effective_uid() == 0 {
        return mount.to_owned();
    }
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups
        .lines()
        .find_map(|line| line.strip_prefix("0::/"))
        .unwrap_or_default();
    let mut folder = mount.to_owned();
    for part in Path::new(own).components() {
        folder.push(part);
        let control = folder.join("cgroup.subtree_control");
        if rustix::fs::access(&control, rustix::fs::Access::WRITE_OK).is_ok() {
            return folder;
        }
    }
    mount.to_owned()
}

/// A location for groups with a controller.
#[derive(Clone, Debug)]
pub(super) struct GroupLocation {
    pub(super) folder: PathBuf,
    pub(super) is_unified: bool,
    controller: &'static str,
}

impl GroupLocation {
    /// Plain files, of version 2.
    #[cfg(test)]
    pub(super) fn of_files(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
            is_unified: true,
            controller: "cpu",
        }
    }

    /// Creates a group in it.
    ///
    /// # Errors
    /// The reason, with the controller's name.
    pub(super) fn make(&self, name: &str) -> Result<Group> {
        let path = self.folder.join(name);
        let refused = |what: &Path, error: &std::io::Error| {
            let hint = match error.kind() {
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    "; limits need root on the host, or a control group delegated to the user"
                }
                ErrorKind::ResourceBusy => {
                    "; the group contains processes, as in a container, so it cannot delegate its \
                     controllers"
                }
                _ => "",
            };
            failed(format!(
                "cannot use the control group controller '{}': {}: {error}{hint}",
                self.controller,
                what.display()
            ))
        };
        if self.is_unified {
            let control = self.folder.join("cgroup.subtree_control");
            let given = fs::read_to_string(&control).unwrap_or_default();
            if !given.split_whitespace().any(|name| name == self.controller)
                && let Err(error) = fs::write(&control, format!("+{}", self.controller))
            {
                return refused(&control, &error);
            }
        }
        match fs::create_dir(&path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => refused(&path, &error),
            _ => Ok(Group {
                path,
                controller: self.controller,
            }),
        }
    }
}

/// A group of a server.
pub(super) struct Group {
    pub(super) path: PathBuf,
    controller: &'static str,
}

impl Group {
    /// Whether it has a file.
    pub(super) fn has(&self, file: &str) -> bool {
        self.path.join(file).exists()
    }

    /// Writes a value.
    ///
    /// # Errors
    /// The reason, with the controller's name.
    pub(super) fn set(&self, file: &str, value: &str) -> Result<()> {
        let path = self.path.join(file);
        fs::write(&path, value).or_else(|error| {
            failed(format!(
                "the control group controller '{}' does not accept '{value}' in {}: {error}",
                self.controller,
                path.display()
            ))
        })
    }

    /// The kernel's value.
    ///
    /// # Errors
    /// The file is not readable.
    pub(super) fn get(&self, file: &str) -> Result<String> {
        let path = self.path.join(file);
        match fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim().to_owned()),
            Err(error) => failed(format!(
                "the control group controller '{}': {}: {error}",
                self.controller,
                path.display()
            )),
        }
    }
}

/// Kills the processes of a group, and removes it. Returns whether it is gone.
pub(super) fn remove(group: &Path) -> bool {
    wait_until(GONE_LIMIT, || {
        if !group.exists() {
            return true;
        }
        let processes = fs::read_to_string(group.join("cgroup.procs")).unwrap_or_default();
        for pid in processes.lines().filter_map(|pid| pid.parse().ok()) {
            if let Some(process) = ProcessId::of(pid) {
                process.signal(libc::SIGKILL);
            }
        }
        fs::remove_dir(group).is_ok()
    })
}

/// How often the kernel killed a process of a group because of too little memory.
pub(super) fn killed_for_memory(group: &Path) -> u64 {
    let files = ["memory.events", "memory.oom_control"];
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(group.join(file)).ok());
    let counts = texts.filter_map(|text| {
        let count = text
            .lines()
            .find_map(|line| line.strip_prefix("oom_kill "))?;
        count.trim().parse::<u64>().ok()
    });
    counts.max().unwrap_or(0)
}

/// The prefix of a home's groups: homes of one host do not touch each other's.
fn prefix(home: &Path) -> String {
    let bytes = home.as_os_str().as_encoded_bytes();
    // FNV-1a.
    let hash = bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    });
    format!("dyno-{:08x}-", hash >> 32)
}

/// A host-wide unique name for a server's groups or pool.
pub(crate) fn name_of(folder: &crate::home::Folder) -> String {
    let home = folder.path().parent().unwrap_or(Path::new("/"));
    prefix(home) + folder.name()
}

/// The name of groups with which this process tries limits; no server can have it.
pub(super) fn trial_of(home: &Home) -> String {
    format!("{}+{}", prefix(home.path()), std::process::id())
}

/// The process that tries limits with groups of this name, given without the prefix.
pub(super) fn owner_of_trial(name: &str) -> Option<u32> {
    name.strip_prefix('+')?.parse().ok()
}

/// All groups of a home's present and former servers, with the servers' names.
pub(super) fn all_of(home: &Home) -> Vec<(String, PathBuf)> {
    let prefix = prefix(home.path());
    let mounts = mounts();
    let places = Controller::ALL
        .iter()
        .filter_map(|controller| controller.find(&mounts));
    let mut found = Vec::new();
    for place in places {
        for entry in fs::read_dir(&place.folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if let Some(server) = name.strip_prefix(&prefix) {
                found.push((server.to_owned(), entry.path()));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mount(kind: &str, point: &Path, options: &str) -> Mount {
        Mount {
            root: PathBuf::from("/"),
            point: point.to_owned(),
            kind: kind.to_owned(),
            source: kind.to_owned(),
            flags: String::new(),
            options: options.to_owned(),
        }
    }

    #[test]
    fn version_2_is_used_if_it_has_the_controller() {
        let outer = tempfile::tempdir().expect("a folder");
        fs::write(outer.path().join("cgroup.controllers"), "cpuset cpu\n").expect("a file");
        let old = |name: &str| mount("cgroup", Path::new("/old"), &format!("rw,{name}"));
        let mounts = [
            mount("cgroup2", outer.path(), "rw"),
            old("cpu,cpuacct"),
            old("memory"),
            old("blkio"),
        ];
        if effective_uid() == 0 {
            assert!(
                Controller::Cpu
                    .find(&mounts)
                    .expect("it is there")
                    .is_unified
            );
        }
        let memory = Controller::Memory.find(&mounts).expect("it is there");
        assert!(!memory.is_unified && memory.folder == Path::new("/old"));
        assert!(Controller::Disk.find(&mounts[..3]).is_none());
    }

    #[test]
    fn groups_of_homes_differ() {
        assert_ne!(prefix(Path::new("/a/b")), prefix(Path::new("/a/c")));
        assert_eq!(prefix(Path::new("/a")).len(), "dyno-12345678-".len());
        let home = Home::at(Path::new("/a")).expect("it need not be there");
        let trial = trial_of(&home);
        let name = trial
            .strip_prefix(&prefix(Path::new("/a")))
            .expect("the home's");
        assert_eq!(owner_of_trial(name), Some(std::process::id()));
        assert_eq!(owner_of_trial("mariadb"), None);
    }
}
