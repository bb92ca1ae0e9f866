//! Folders in which a run keeps temporary databases and sockets. If a run is killed, its folder
//! stays, and the next run removes it.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_core::clock::wall_time;
use dyno_core::text::number_of;
use tempfile::TempDir;

/// The lock that a run holds in its folder. The kernel releases it however the run ends.
const LOCK: &str = "lock";

/// A folder younger than this may not have its lock yet.
const YOUNG: Duration = Duration::from_secs(60);

/// A folder of this run, removed on drop.
pub struct Scratch {
    folder: TempDir,
    swept: Swept,
    _lock: File,
}

impl Scratch {
    /// Creates a folder with this name, and removes those of killed runs.
    ///
    /// # Errors
    /// No space, no permission, or the folder already exists.
    pub fn make(parent: &Path, name: &str) -> io::Result<Self> {
        let swept = sweep(parent);
        let folder = tempfile::Builder::new()
            .prefix(name)
            .rand_bytes(0)
            .tempdir_in(parent)?;
        // Lock it before it becomes visible, because an unlocked folder counts as that of a killed
        // run.
        let hidden = folder.path().join("lock.new");
        let lock = File::create_new(&hidden)?;
        lock.lock()?;
        fs::rename(hidden, folder.path().join(LOCK))?;
        Ok(Self {
            folder,
            swept,
            _lock: lock,
        })
    }

    /// What was removed of killed runs.
    pub fn swept(&self) -> Swept {
        self.swept
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// A folder name that is unique to this process and time.
pub fn name(ns: u128) -> String {
    format!("dyno-{}-{ns:x}", std::process::id())
}

/// The folders that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Number of folders.
    pub folders: usize,
    /// The size of the folders in bytes.
    pub bytes: u64,
}

impl Swept {
    /// Describes them in words.
    pub fn text(&self) -> String {
        format!(
            "Removed {} of killed runs ({:.1} MB).",
            number_of(self.folders, "temporary folder"),
            self.bytes as f64 / 1e6
        )
    }
}

/// Removes the folders of this user's runs that have ended.
pub fn sweep(parent: &Path) -> Swept {
    let mut swept = Swept::default();
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let path = entry.path();
        if !is_abandoned(&path).unwrap_or(false) {
            continue;
        }
        let bytes = size(&path);
        if fs::remove_dir_all(&path).is_ok() {
            swept.folders += 1;
            swept.bytes += bytes;
        }
    }
    swept
}

/// Whether the folder belongs to a run of this user that has ended.
fn is_abandoned(path: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let Some(pid) = owner(&name) else {
        return Ok(false);
    };
    // This does not follow a link, which might lead anywhere.
    let about = fs::symlink_metadata(path)?;
    // SAFETY: the call takes no arguments and cannot fail.
    if !about.is_dir() || about.uid() != unsafe { libc::geteuid() } {
        return Ok(false);
    }
    match File::open(path.join(LOCK)) {
        Ok(lock) => match lock.try_lock() {
            Ok(()) => Ok(true),
            Err(TryLockError::WouldBlock) => Ok(false),
            Err(TryLockError::Error(error)) => Err(error),
        },
        // It was killed before it had a lock, or a version without locks created the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let now_s = wall_time().as_secs() as i64;
            let old = now_s - about.mtime() > YOUNG.as_secs() as i64;
            Ok(old && !PathBuf::from(format!("/proc/{pid}")).exists())
        }
        Err(error) => Err(error),
    }
}

/// The process id in the name of a folder, if the folder is Dyno's.
fn owner(name: &str) -> Option<u32> {
    let (pid, ns) = name.strip_prefix("dyno-")?.split_once('-')?;
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    (ns.len() >= 12 && ns.chars().all(hexadecimal)).then(|| pid.parse().ok())?
}

/// The size of the files in a folder.
fn size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok());
    sizes
        .filter(|about| about.is_file())
        .map(|about| about.len())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_that_are_made_at_once_stay() {
        let parent = tempfile::tempdir().unwrap();
        let make = |number: u64| {
            let made = (0..60).map(|turn| {
                let name = format!("dyno-1-18a2b3c4d5{number:02x}{turn:04x}");
                Scratch::make(parent.path(), &name).unwrap()
            });
            let made: Vec<Scratch> = made.collect();
            assert!(
                made.iter()
                    .all(|scratch| scratch.path().join(LOCK).exists())
            );
        };
        std::thread::scope(|scope| {
            for number in 0..4 {
                scope.spawn(move || make(number));
            }
        });
    }

    #[test]
    fn only_folders_of_ended_processes_are_removed() {
        let parent = tempfile::tempdir().unwrap();
        let at = |name: &str| parent.path().join(name);
        let dead = at("dyno-123-18a2b3c4d5e6f708");
        fs::create_dir(&dead).unwrap();
        fs::write(dead.join(LOCK), "").unwrap();
        fs::write(dead.join("temporary.db"), [0; 1000]).unwrap();
        // It has no lock, but is too young to be sure.
        let young = at("dyno-4194999-18a2b3c4d5e6f709");
        fs::create_dir(&young).unwrap();
        // Folders with other names, and a link to somewhere else.
        for name in ["dyno-servers-4753", "dyno-12-x", "other", "dyno-12-12345"] {
            fs::create_dir(at(name)).unwrap();
        }
        fs::create_dir(at("elsewhere")).unwrap();
        fs::write(at("elsewhere").join(LOCK), "").unwrap();
        let link = at("dyno-7-18a2b3c4d5e6f70a");
        std::os::unix::fs::symlink(at("elsewhere"), &link).unwrap();

        let scratch = Scratch::make(parent.path(), "dyno-1-18a2b3c4d5e6f70b").unwrap();
        assert!(!dead.exists() && young.exists() && link.exists());
        assert!(at("elsewhere").join(LOCK).exists());
        let kept = scratch.path().to_owned();
        assert_eq!(sweep(parent.path()), Swept::default());
        assert!(kept.exists() && at("dyno-servers-4753").exists() && at("dyno-12-12345").exists());

        // If it is a day old, a version without locks has left it behind.
        let now = fs::metadata(&young).unwrap().modified().unwrap();
        let day = now - Duration::from_secs(86_400);
        File::open(&young).unwrap().set_modified(day).unwrap();
        assert_eq!(sweep(parent.path()).folders, 1);
        assert!(!young.exists());
        drop(scratch);
        assert!(!kept.exists());
    }
}
