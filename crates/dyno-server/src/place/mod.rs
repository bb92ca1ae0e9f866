//! A separate file system for a server: an image file next to the servers' folders, mounted by a
//! loop device at the server's folder. It contains all of the server's files, including copies.

mod file_system;

use std::fs::{self, File};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use dyno_core::units::human_size;
use serde::{Deserialize, Serialize};

use crate::copy::free_bytes;
use crate::error::{OnPath, Result, failed, usage};
use crate::home::{Folder, Home};
use crate::mounts::{Mount, mounted_at};
use crate::process::{effective_uid, wait_until};
use crate::server::RECORD;
pub use file_system::FileSystem;
use file_system::{program, run};

/// How long ending processes may keep a file system busy.
const BUSY_LIMIT: Duration = Duration::from_secs(10);
/// `LOOP_SET_DIRECT_IO` of linux/loop.h.
const LOOP_SET_DIRECT_IO: libc::c_ulong = 0x4C08;

/// The file system of a server's folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its kind.
    pub file_system: FileSystem,
    /// Its size in bytes. The image is sparse: only written blocks take space.
    pub size: u64,
    /// Its mount options, as for `mount -o`: `noatime`; for zfs, properties: `atime=off`. May be
    /// empty.
    pub options: String,
}

/// A server's file system, as mounted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Mounted {
    /// Its kind, as the kernel reports it.
    pub file_system: String,
    /// Its device, or its pool.
    pub source: String,
    /// Its mount options, as the kernel reports them.
    pub options: String,
}

impl Place {
    /// Checks that it can be created here.
    ///
    /// # Errors
    /// The missing requirement: a program, with the package that usually contains it, root, a loop
    /// device, room. Or an invalid size or option.
    pub fn check(&self, home: &Home) -> Result<()> {
        let name = self.file_system.name();
        let least = self.file_system.size_min();
        if self.size < least {
            return usage(format!(
                "a server needs at least {} of {name}, not {}",
                human_size(least),
                human_size(self.size)
            ));
        }
        let plain = |c: char| c.is_ascii_alphanumeric() || "_=,.:-".contains(c);
        if !self.options.chars().all(plain) || self.options.split(',').any(|o| o == "ro") {
            return usage(format!(
                "'{}' is not a valid mount option for a server's file system; try noatime",
                self.options
            ));
        }
        if effective_uid() != 0 {
            return failed(format!(
                "mounting a file system of {name} for a server needs root"
            ));
        }
        let (programs, package) = self.file_system.programs();
        for wanted in programs {
            if program(wanted).is_none() {
                let package = if *wanted == "mount" { "mount" } else { package };
                return failed(format!(
                    "creating a {name} file system needs the program {wanted}, which is not on \
                     this machine; it is usually in the package {package}"
                ));
            }
        }
        if self.file_system != FileSystem::Zfs
            && let Err(error) = File::options()
                .read(true)
                .write(true)
                .open("/dev/loop-control")
        {
            return failed(format!(
                "a file system in a file needs a loop device, and /dev/loop-control cannot be \
                 opened: {error}"
            ));
        }
        let mut there = home.path();
        while let (false, Some(above)) = (there.exists(), there.parent()) {
            there = above;
        }
        let free = free_bytes(there)?;
        match self.size <= free {
            true => Ok(()),
            false => failed(format!(
                "not enough space for a file system of {}: {} are free in {}",
                human_size(self.size),
                human_size(free),
                there.display()
            )),
        }
    }

    /// Creates it and mounts it at a server's folder, which exists and is empty. Leaves nothing on
    /// an error.
    pub(crate) fn make(&self, folder: &Folder) -> Result<()> {
        let created = self.try_make(folder);
        if created.is_err() {
            let _ = discard(folder);
        }
        created
    }

    fn try_make(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_string(self).unwrap_or_default();
        let record = record_of(folder);
        fs::write(&record, text).on("write", &record)?;
        let _making = hold(&record)?;
        let image = image_of(folder);
        let file = File::options()
            .write(true)
            .create_new(true)
            .open(&image)
            .on("make", &image)?;
        file.set_permissions(fs::Permissions::from_mode(0o600))
            .on("make", &image)?;
        file.set_len(self.size).on("make", &image)?;
        drop(file);
        let arguments: &[&str] = match self.file_system {
            // Initialise all of it at once: else the kernel would continue during the first trial.
            FileSystem::Ext4 => &["-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
            FileSystem::Xfs | FileSystem::Btrfs => &["-q", "-f"],
            FileSystem::Zfs => return self.make_pool(folder, &image),
        };
        let maker = format!("mkfs.{}", self.file_system.name());
        run(&maker, arguments.iter().copied(), &[&image])?;
        self.mount(folder)
    }

    fn make_pool(&self, folder: &Folder, image: &Path) -> Result<()> {
        let mut arguments = vec!["create", "-f", "-o", "cachefile=none"];
        for option in self.options.split(',').filter(|option| !option.is_empty()) {
            arguments.push("-O");
            arguments.push(if option == "noatime" {
                "atime=off"
            } else {
                option
            });
        }
        let (point, pool) = (folder.path().display().to_string(), pool_of(folder));
        arguments.extend(["-m", &point, &pool]);
        run("zpool", arguments.into_iter(), &[image])?;
        open_to_servers(folder)
    }

    /// Mounts it if it is not mounted.
    pub(crate) fn mount(&self, folder: &Folder) -> Result<()> {
        let path = folder.path();
        if !path.is_dir() {
            fs::create_dir(path).on("make", path)?;
        }
        if self.file_system == FileSystem::Zfs {
            let beside = path.parent().unwrap_or(path).display().to_string();
            let arguments = ["import", "-f", "-o", "cachefile=none", "-d", &beside];
            run(
                "zpool",
                arguments.into_iter(),
                &[Path::new(&pool_of(folder))],
            )?;
            return open_to_servers(folder);
        }
        let options = match self.options.as_str() {
            "" => "loop".to_owned(),
            options => format!("loop,{options}"),
        };
        let arguments = ["-t", self.file_system.name(), "-o", &options];
        run("mount", arguments.into_iter(), &[&image_of(folder), path])?;
        if let Some(mount) = mount(folder) {
            avoid_double_cache(&mount.source);
        }
        open_to_servers(folder)
    }
}

/// The servers' user must be able to enter it.
fn open_to_servers(folder: &Folder) -> Result<()> {
    let path = folder.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o711)).on("write", path)
}

/// Switches a loop device to direct I/O, if possible: else the host caches each page twice, and a
/// server's memory seems larger than it is.
fn avoid_double_cache(device: &str) {
    if let Ok(device) = File::open(device) {
        let one: libc::c_ulong = 1;
        // SAFETY: the call takes a number, no pointer; it leaves the device unchanged on an error.
        unsafe { libc::ioctl(device.as_raw_fd(), LOOP_SET_DIRECT_IO, one) };
    }
}

fn beside(folder: &Folder, ending: &str) -> PathBuf {
    folder
        .path()
        .with_file_name(format!(".{}.{ending}", folder.name()))
}

/// The image file of a folder's file system.
fn image_of(folder: &Folder) -> PathBuf {
    beside(folder, "img")
}

/// The record of a folder's file system, mounted or not.
pub(crate) fn record_of(folder: &Folder) -> PathBuf {
    beside(folder, "place")
}

/// Locks a file system that is being created or removed.
fn hold(record: &Path) -> Result<File> {
    let file = File::options()
        .write(true)
        .open(record)
        .on("open", record)?;
    match rustix::fs::flock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(file),
        Err(_) => failed(format!(
            "another command is creating or changing the server of {}; try again when it is done",
            record.display()
        )),
    }
}

/// The name of the server that a record belongs to.
pub(crate) fn name_in(record: &str) -> Option<&str> {
    record.strip_prefix('.')?.strip_suffix(".place")
}

/// A pool's name begins with a letter and is unique on the machine.
fn pool_of(folder: &Folder) -> String {
    crate::limits::name_of(folder)
}

/// The mount of a folder.
fn mount(folder: &Folder) -> Option<Mount> {
    let path = folder.path();
    let real = fs::canonicalize(path.parent()?)
        .ok()?
        .join(path.file_name()?);
    mounted_at(&real)
}

/// Unmounts a folder's file system and removes it, or removes a folder without one. Returns the
/// freed bytes.
pub(crate) fn discard(folder: &Folder) -> Result<u64> {
    let (path, record, image) = (folder.path(), record_of(folder), image_of(folder));
    if !record.exists() {
        let bytes = crate::copy::size(path).allocated;
        fs::remove_dir_all(path).on("remove", path)?;
        return Ok(bytes);
    }
    match mount(folder) {
        Some(mount) => unmount(folder, &mount)?,
        // A pool may exist without being mounted.
        None if folder
            .place()
            .is_some_and(|place| place.file_system == FileSystem::Zfs) =>
        {
            let _ = destroy_pool(folder);
        }
        None => {}
    }
    let bytes = fs::metadata(&image).map_or(0, |data| data.blocks() * 512);
    for file in [&image, &record] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).on("remove", file);
            }
            _ => {}
        }
    }
    if path.exists() {
        fs::remove_dir_all(path).on("remove", path)?;
    }
    Ok(bytes)
}

fn destroy_pool(folder: &Folder) -> Result<()> {
    let pool = pool_of(folder);
    run("zpool", ["destroy", "-f"].into_iter(), &[Path::new(&pool)])
}

fn unmount(folder: &Folder, mount: &Mount) -> Result<()> {
    let path = folder.path();
    if mount.kind.contains("zfs") {
        return destroy_pool(folder);
    }
    let Ok(point) = std::ffi::CString::new(path.as_os_str().as_encoded_bytes()) else {
        return failed("a path with a zero byte");
    };
    let mut last = None;
    let gone = wait_until(BUSY_LIMIT, || {
        // SAFETY: the path is a string that ends with a zero byte and lives until the call ends.
        let done = unsafe { libc::umount2(point.as_ptr(), libc::UMOUNT_NOFOLLOW) } == 0;
        last = Some(std::io::Error::last_os_error());
        done || last.as_ref().and_then(std::io::Error::raw_os_error) != Some(libc::EBUSY)
    });
    match last {
        _ if self::mount(folder).is_none() => Ok(()),
        Some(error) if gone => Err(error).on("unmount", path),
        _ => failed(format!(
            "cannot unmount {0}: a process is using it (list it with `fuser -vm {0}`)",
            path.display()
        )),
    }
}

impl Folder {
    /// The folder's own file system, if it has one, mounted or not.
    pub fn place(&self) -> Option<Place> {
        let text = fs::read_to_string(record_of(self)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// How it is mounted; `None` if it has none, or a reboot unmounted it.
    pub fn mounted(&self) -> Option<Mounted> {
        let mount = self.place().and_then(|_| mount(self))?;
        Some(Mounted {
            file_system: mount.kind,
            source: mount.source,
            options: format!("{},{}", mount.flags, mount.options),
        })
    }

    /// Whether it has its own file system, which is not mounted.
    pub fn is_unmounted(&self) -> bool {
        record_of(self).exists() && mount(self).is_none()
    }

    /// Mounts a file system again after a reboot.
    pub(crate) fn mount_again(&self) -> Result<()> {
        if !self.is_unmounted() {
            return Ok(());
        }
        match self.place() {
            Some(place) => place.mount(self),
            None => failed(format!(
                "{} is damaged; `dyno server down {}` removes the server",
                record_of(self).display(),
                self.name()
            )),
        }
    }

    /// Whether it has its own file system without a server in it, because its creation was
    /// interrupted.
    pub fn is_unfinished(&self) -> bool {
        record_of(self).exists() && mount(self).is_some() && !self.join(RECORD).exists()
    }

    /// Removes a server that cannot run: its file system is not mounted, or its creation was
    /// interrupted. Returns the freed bytes.
    ///
    /// # Errors
    /// Neither is the case, another command is creating it, or its files cannot be removed.
    pub fn discard_unmounted(&self) -> Result<u64> {
        if !self.is_unmounted() && !self.is_unfinished() {
            return failed(format!("{} is in use", self.path().display()));
        }
        let _removing = hold(&record_of(self))?;
        discard(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(file_system: FileSystem) -> Place {
        Place {
            file_system,
            size: 400 << 20,
            options: "noatime".to_owned(),
        }
    }

    #[test]
    fn refuses_invalid_places() {
        let outer = tempfile::tempdir().expect("a folder");
        let home = Home::at(&outer.path().join("home")).expect("a home");
        let small = Place {
            size: 1 << 20,
            ..place(FileSystem::Ext4)
        };
        assert!(small.check(&home).expect_err("too small").is_usage());
        for options in ["a b", "ro", "noatime;x", "noatime,ro"] {
            let odd = Place {
                options: options.to_owned(),
                ..place(FileSystem::Ext4)
            };
            assert!(
                odd.check(&home).expect_err("no options").is_usage(),
                "{options}"
            );
        }
        let huge = Place {
            size: 1 << 60,
            ..place(FileSystem::Ext4)
        };
        let error = huge.check(&home).expect_err("no room").to_string();
        let known = [
            "not enough space",
            "needs root",
            "needs the program",
            "loop device",
        ];
        assert!(known.iter().any(|part| error.contains(part)), "{error}");
        assert!(FileSystem::parse("ntfs").expect_err("not made").is_usage());
        assert_eq!(
            FileSystem::parse("btrfs").expect("it is made"),
            FileSystem::Btrfs
        );
    }

    /// If the machine supports it: creates, writes, copies by sharing, unmounts, mounts, removes.
    fn lives(kind: FileSystem, shares: bool) {
        let outer = tempfile::tempdir_in("/var/tmp").expect("a folder");
        let home = Home::at(&outer.path().join("home")).expect("a home");
        if let Err(why) = place(kind).check(&home) {
            eprintln!("not tried: {why}");
            return;
        }
        let folder = match home.make_on("one", Some(&place(kind))) {
            Ok(folder) => folder,
            // A container may refuse loop devices and mounts even to root.
            Err(why) => {
                eprintln!("not tried: {why}");
                assert_eq!(fs::read_dir(home.path()).expect("a home").count(), 0);
                return;
            }
        };
        let mounted = folder.mounted().expect("it is mounted");
        assert_eq!(mounted.file_system, kind.name());
        assert!(mounted.options.contains("noatime"), "{mounted:?}");
        fs::write(folder.data().join("a"), vec![1; 1 << 20]).expect("a file");
        let copied = crate::copy::tree(&folder.data(), &folder.join("b"), None, &|_| {});
        let copied = copied.expect("a copy");
        assert_eq!(copied.shared_bytes == copied.bytes, shares, "{copied:?}");
        let mount = mount(&folder).expect("it is mounted");
        unmount(&folder, &mount).expect("it is unmounted");
        assert!(folder.is_unmounted() && !folder.data().exists());
        let names: Vec<_> = home.folders().expect("folders");
        assert_eq!(names.len(), 1);
        folder.mount_again().expect("it is mounted again");
        assert!(folder.is_unfinished(), "there is no server in it");
        assert!(folder.data().join("a").exists());
        assert!(home.make("one").is_err(), "the name is taken");
        let held = hold(&record_of(&folder)).expect("nobody holds it");
        assert!(folder.discard_unmounted().is_err(), "it is being made");
        drop(held);
        assert!(folder.discard_unmounted().expect("it is removed") > 1 << 20);
        assert_eq!(fs::read_dir(home.path()).expect("a home").count(), 0);
    }

    #[test]
    fn ext4_lives() {
        lives(FileSystem::Ext4, false);
    }

    #[test]
    fn xfs_lives_and_shares_blocks() {
        lives(FileSystem::Xfs, true);
    }

    #[test]
    fn btrfs_lives_and_shares_blocks() {
        lives(FileSystem::Btrfs, true);
    }
}
