//! Copies of a server's data, made and restored while it is stopped.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::copy::{self, Copied};
use crate::credentials::Password;
use crate::error::{OnPath, Result, failed, usage};
use crate::home::Folder;
use crate::server::Server;

/// The description of a copy.
const RECORD: &str = "snapshot.json";
/// The password of the users in a copy's data.
const PASSWORD: &str = "password";
/// While this file exists, the data are incomplete.
const RESTORING: &str = "restoring";

/// A copy of a server's data.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// The server that wrote the data, in a few words.
    pub server: String,
    /// When it was made, in seconds since 1970.
    pub made_s: u64,
    /// Statistics of the copy; `None` for copies made by a user's executables.
    pub copied: Option<Copied>,
}

impl Server {
    /// Copies the data of the server, which must be stopped, under a name. Calls `progress` with
    /// the bytes so far, and the total.
    ///
    /// # Errors
    /// The server runs, the name is taken, or there is no room.
    pub fn snapshot(&self, name: &str, progress: &dyn Fn(u64, u64)) -> Result<Snapshot> {
        self.can_snapshot(name)?;
        self.must_rest("copy its data")?;
        let folder = self.folder();
        let place = snapshot_path(folder, name);
        // The users in the data have this password, even if the server's changes later.
        let password = self.password()?;
        let copied = match self.copies_by_itself(name, false)? {
            true => {
                fs::create_dir_all(&place).on("make", &place)?;
                None
            }
            false => Some(self.copy_data(&place, progress)?),
        };
        let snapshot = Snapshot {
            name: name.to_owned(),
            server: self.kind().title(),
            made_s: dyno_core::clock::wall_time().as_secs(),
            copied,
        };
        if let Some(password) = password {
            folder.write(
                &format!("snapshots/{name}/{PASSWORD}"),
                password.expose(),
                0o600,
            )?;
        }
        folder.write_json(&format!("snapshots/{name}/{RECORD}"), &snapshot)?;
        Ok(snapshot)
    }

    fn password(&self) -> Result<Option<Password>> {
        match self.kind().installation() {
            Some(_) => Password::of(self.folder()).map(Some),
            None => Ok(None),
        }
    }

    /// Copies another server's snapshot into this server's folder, under its name, so that one
    /// image can be restored in several places. After restoring it, this server's password is that
    /// of the users in it. Both servers may run. Blocks are shared if both folders are on one file
    /// system that supports it.
    ///
    /// # Errors
    /// An unknown snapshot, a name that is taken, servers of different kinds or versions, copies
    /// kept by a user's executables, or no room.
    pub fn adopt_snapshot(&self, from: &Self, name: &str) -> Result<Snapshot> {
        let snapshot = from.find_snapshot(name)?;
        self.can_snapshot(name)?;
        let title = self.kind().title();
        if snapshot.server != title {
            return usage(format!(
                "snapshot '{name}' is of {}, but server '{}' is {title}: only a server of the same \
                 kind and version can use it",
                snapshot.server,
                self.folder().name()
            ));
        }
        if snapshot.copied.is_none() {
            return usage(format!(
                "snapshot '{name}' is kept by the executables of server '{}': only they can use it",
                from.folder().name()
            ));
        }
        let (source, target) = (
            snapshot_path(from.folder(), name),
            snapshot_path(self.folder(), name),
        );
        let beside = target.with_extension("part");
        let _ = fs::remove_dir_all(&beside);
        fs::create_dir_all(&beside).on("make", &beside)?;
        let copy = || {
            must_have_room(&source, &beside, 0)?;
            let identity = self.folder().identity();
            let to = beside.join("data");
            let copied = copy::tree(&source.join("data"), &to, identity, &|_| {})?;
            let password = from.folder().join(&format!("snapshots/{name}/{PASSWORD}"));
            let kept = match password.exists() {
                true => Some(Password::in_file(&password)?),
                // Older copies without a password have that of their server.
                false => from.password()?,
            };
            fs::rename(&beside, &target).on("make", &target)?;
            if let Some(password) = kept {
                let file = format!("snapshots/{name}/{PASSWORD}");
                self.folder().write(&file, password.expose(), 0o600)?;
            }
            Ok(Snapshot {
                copied: Some(copied),
                ..snapshot
            })
        };
        let adopted = copy().inspect_err(|_| drop(fs::remove_dir_all(&beside)))?;
        self.folder()
            .write_json(&format!("snapshots/{name}/{RECORD}"), &adopted)?;
        Ok(adopted)
    }

    /// Checks that a copy can have this name and that the data are complete, before a server is
    /// stopped for it.
    ///
    /// # Errors
    /// The reason against it.
    pub fn can_snapshot(&self, name: &str) -> Result<()> {
        check_name(name)?;
        let folder = self.folder();
        must_be_whole(folder)?;
        match snapshot_path(folder, name).exists() {
            false => Ok(()),
            true => usage(format!(
                "server '{0}' already has a snapshot '{name}'; restore it with `dyno server \
                 restore {0} {name}`, or choose another name",
                folder.name()
            )),
        }
    }

    fn copy_data(&self, place: &Path, progress: &dyn Fn(u64, u64)) -> Result<Copied> {
        let folder = self.folder();
        let data = folder.data();
        let total = copy::size(&data).length;
        let beside = place.with_extension("part");
        let _ = fs::remove_dir_all(&beside);
        fs::create_dir_all(&beside).on("make", &beside)?;
        let copied = must_have_room(&data, &beside, 0).and_then(|()| {
            copy::tree(&data, &beside.join("data"), folder.identity(), &|bytes| {
                progress(bytes, total);
            })
        });
        match copied {
            Ok(copied) => {
                fs::rename(&beside, place).on("make", place)?;
                Ok(copied)
            }
            Err(error) => {
                let _ = fs::remove_dir_all(&beside);
                Err(error)
            }
        }
    }

    /// Replaces the data of the server, which must be stopped, with a copy. Afterwards exactly the
    /// files of the copy exist, with their lengths.
    ///
    /// # Errors
    /// The server runs, the copy is unknown, or there is no room.
    pub fn restore(&self, name: &str, progress: &dyn Fn(u64, u64)) -> Result<Snapshot> {
        let folder = self.folder();
        let snapshot = self.find_snapshot(name)?;
        self.must_rest("replace its data")?;
        if self.copies_by_itself(name, true)? {
            return Ok(snapshot);
        }
        let (from, to) = (snapshot_path(folder, name).join("data"), folder.data());
        // The old data are removed first: there may be no room for both.
        must_have_room(&from, folder.path(), copy::size(&to).allocated)?;
        folder.write(RESTORING, name, 0o644)?;
        if to.exists() {
            fs::remove_dir_all(&to).on("remove", &to)?;
        }
        fs::create_dir(&to).on("make", &to)?;
        let total = copy::size(&from).length;
        let copied = copy::tree(&from, &to, folder.identity(), &|bytes| {
            progress(bytes, total)
        })?;
        let wanted = snapshot.copied.map(|copied| (copied.files, copied.bytes));
        if let Some((files, bytes)) =
            wanted.filter(|wanted| *wanted != (copied.files, copied.bytes))
        {
            return failed(format!(
                "snapshot '{name}' of server '{}' has changed: {} files with {} bytes instead of \
                 {files} with {bytes}",
                folder.name(),
                copied.files,
                copied.bytes
            ));
        }
        let password = snapshot_path(folder, name).join(PASSWORD);
        if let (true, Some(installation)) = (password.exists(), self.kind().installation()) {
            let password = Password::in_file(&password)?;
            password.keep(folder)?;
            installation.keep_client_file(folder, &password)?;
        }
        folder.remove(RESTORING)?;
        Ok(Snapshot {
            copied: Some(copied),
            ..snapshot
        })
    }

    /// The copy with this name.
    ///
    /// # Errors
    /// It does not exist.
    pub fn find_snapshot(&self, name: &str) -> Result<Snapshot> {
        let folder = self.folder();
        let snapshot: Option<Snapshot> = match check_name(name) {
            Ok(()) => folder.read_json(&format!("snapshots/{name}/{RECORD}"))?,
            Err(_) => None,
        };
        let Some(snapshot) = snapshot else {
            let names: Vec<String> = self.snapshots()?.into_iter().map(|s| s.name).collect();
            return usage(format!(
                "server '{}' has no snapshot '{name}'; it has {}",
                folder.name(),
                match names.is_empty() {
                    true => "none".to_owned(),
                    false => names.join(", "),
                }
            ));
        };
        Ok(snapshot)
    }

    /// All copies, by name.
    ///
    /// # Errors
    /// They are not readable.
    pub fn snapshots(&self) -> Result<Vec<Snapshot>> {
        let path = self.folder().join("snapshots");
        let mut found = Vec::new();
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            let inner = format!("snapshots/{}/{RECORD}", entry.file_name().to_string_lossy());
            found.extend(self.folder().read_json::<Snapshot>(&inner)?);
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found)
    }

    fn must_rest(&self, why: &str) -> Result<()> {
        match self.running()? {
            None => Ok(()),
            Some(_) => usage(format!(
                "server '{}' is running; stop it to {why}",
                self.folder().name()
            )),
        }
    }
}

/// Rejects data of an interrupted restore.
pub(crate) fn must_be_whole(folder: &Folder) -> Result<()> {
    match fs::read_to_string(folder.join(RESTORING)) {
        Err(_) => Ok(()),
        Ok(name) => failed(format!(
            "restoring snapshot '{name}' of server '{0}' was interrupted, and its data is \
             incomplete; repeat it with `dyno server restore {0} {name}`",
            folder.name()
        )),
    }
}

fn snapshot_path(folder: &Folder, name: &str) -> PathBuf {
    folder.join("snapshots").join(name)
}

fn check_name(name: &str) -> Result<()> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    match !name.is_empty() && name.len() <= 80 && name.chars().all(plain) {
        true => Ok(()),
        false => usage(format!(
            "'{name}' is not a snapshot name; use letters, digits, '-' and '_'"
        )),
    }
}

/// Rejects a copy that does not fit, given that `freed` bytes will be freed, unless it shares its
/// blocks with the original.
fn must_have_room(from: &Path, to: &Path, freed: u64) -> Result<()> {
    let needed = copy::size(from).allocated;
    let free = copy::free_bytes(to)?.saturating_add(freed);
    if needed <= free || shares(from, to) {
        return Ok(());
    }
    failed(format!(
        "a copy of {} takes {:.1} GB, but {:.1} GB are free in {}; free some space, or use a file \
         system that shares blocks (xfs, btrfs)",
        from.display(),
        needed as f64 / 1e9,
        free as f64 / 1e9,
        to.display()
    ))
}

/// Whether the file system can copy the largest file by sharing its blocks.
fn shares(from: &Path, to: &Path) -> bool {
    let mut largest: Option<(u64, PathBuf)> = None;
    copy::each_file(from, |path, data| {
        if largest.as_ref().is_none_or(|(size, _)| *size < data.size()) {
            largest = Some((data.size(), path.to_owned()));
        }
    });
    let Some((_, source)) = largest else {
        return true;
    };
    let trial = to.join("dyno-shares-blocks");
    let shared = fs::File::open(source).and_then(|source| {
        let target = fs::File::create(&trial)?;
        Ok(rustix::fs::ioctl_ficlone(&target, &source)?)
    });
    let _ = fs::remove_file(&trial);
    shared.is_ok()
}
