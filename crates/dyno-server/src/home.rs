//! The location of a user's servers: one folder each.
//!
//! | in a server's folder | |
//! |---|---|
//! | `server.json` | its kind, program, port and settings; no secrets |
//! | `password`, `client.cnf`, `pgpass`, `url` | credentials, readable only by their owner |
//! | `data/`, `run/`, `tmp/`, `log` | the server's own files |
//! | `snapshots/NAME/` | copies of `data/` |
//! | `supervisor.json`, `ended.json` | the processes that run it; how it ended |
//! | `limits.json` | its control groups |
//!
//! A folder may be a separate file system; then `.NAME.img` next to it is its image, and
//! `.NAME.place` has its mount options.

use std::fs;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use dyno_core::units::human_size;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{OnPath, Result, failed, usage};
use crate::place::{self, Place};
use crate::process::{Identity, effective_uid, give, unprivileged};

/// The environment variable with the folder of servers.
pub const VARIABLE: &str = "DYNO_SERVERS";
/// The limit of a socket's path (unix(7)) minus the longest path below a server's folder.
const SOCKET_BYTES_MAX: usize = 107 - "/run/.s.PGSQL.65535".len();
/// The longest name of a server.
const NAME_BYTES_MAX: usize = 40;

/// The folder with a user's servers.
#[derive(Clone, Debug)]
pub struct Home {
    root: PathBuf,
    identity: Option<Identity>,
}

/// Space for a server without data and a copy of it: MySQL's is the largest.
const ROOM_MIN: u64 = 512 * 1024 * 1024;

fn is_room(there: &Path, free: u64) -> Result<()> {
    match free < ROOM_MIN {
        false => Ok(()),
        true => failed(format!(
            "not enough space for servers and copies of their data: {} are free in {}, at least {} \
             are needed; set {VARIABLE} to another folder",
            human_size(free),
            there.display(),
            human_size(ROOM_MIN)
        )),
    }
}

impl Home {
    /// Checks that the user that servers run as can reach this folder.
    ///
    /// # Errors
    /// A parent folder that other users cannot enter.
    pub fn can_be_entered(&self) -> Result<()> {
        let Some(identity) = crate::process::unprivileged()? else {
            return Ok(());
        };
        for folder in self.root.ancestors() {
            let Ok(found) = fs::metadata(folder) else {
                continue;
            };
            let open = found.permissions().mode() & 0o001 != 0;
            if !open && found.uid() != identity.uid {
                return failed(format!(
                    "servers run as user {}, who may not enter {}: allow it with `chmod o+x`, or \
                     set {VARIABLE} to another folder",
                    identity.uid,
                    folder.display()
                ));
            }
        }
        Ok(())
    }

    /// Checks that there is room for a server without data and a copy of it.
    ///
    /// # Errors
    /// There is too little room, or the free space is unknown.
    pub fn has_room(&self) -> Result<()> {
        let there = self.root.ancestors().find(|path| path.exists());
        let there = there.unwrap_or(Path::new("/"));
        is_room(there, crate::copy::free_bytes(there)?)
    }

    /// The folder in `$DYNO_SERVERS`, else `/var/tmp/dyno-servers-UID`, which the servers'
    /// unprivileged user can enter and which survives a reboot. Created on demand.
    ///
    /// # Errors
    /// Another user owns it or can write to it.
    pub fn of_user() -> Result<Self> {
        let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty());
        let root = named.map_or_else(
            || PathBuf::from(format!("/var/tmp/dyno-servers-{}", effective_uid())),
            PathBuf::from,
        );
        Self::at(&root)
    }

    /// The folder at a path.
    ///
    /// # Errors
    /// As [`Home::of_user`].
    pub fn at(root: &Path) -> Result<Self> {
        let root = std::path::absolute(root).on("find", root)?;
        let home = Self {
            root,
            identity: unprivileged()?,
        };
        if let Ok(found) = fs::symlink_metadata(&home.root) {
            home.examine(&found)?;
        }
        Ok(home)
    }

    /// Others must be able to enter it, for the servers' user, but not to write to it.
    fn examine(&self, found: &fs::Metadata) -> Result<()> {
        let path = self.root.display();
        if !found.is_dir() {
            return failed(format!(
                "{path} is not a folder; set ${VARIABLE} to another one"
            ));
        }
        if found.uid() != effective_uid() || found.mode() & 0o022 != 0 {
            return failed(format!(
                "{path} belongs to another user or others can write to it, so it is not safe for \
                 servers and their passwords; set ${VARIABLE} to another folder"
            ));
        }
        Ok(())
    }

    /// The user that servers run as, if it is not this user.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.root
    }

    /// The folder of a server, which may not exist.
    ///
    /// # Errors
    /// An invalid name, or a path that is too long for a socket.
    pub fn folder(&self, name: &str) -> Result<Folder> {
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_.".contains(c);
        let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !begins || !name.chars().all(plain) || name.len() > NAME_BYTES_MAX {
            return usage(format!(
                "'{name}' is not a server name; use up to {NAME_BYTES_MAX} letters (a-z), digits, \
                 '-', '_' and '.', starting with a letter or digit"
            ));
        }
        let path = self.root.join(name);
        if path.as_os_str().len() > SOCKET_BYTES_MAX {
            return usage(format!(
                "{} is too long a path for a server's socket (at most {SOCKET_BYTES_MAX} bytes); \
                 set ${VARIABLE} to a shorter path",
                path.display()
            ));
        }
        Ok(Folder {
            name: name.to_owned(),
            path,
            identity: self.identity,
        })
    }

    /// Creates the home and the folder of a new server.
    ///
    /// # Errors
    /// The name is taken.
    pub fn make(&self, name: &str) -> Result<Folder> {
        self.make_on(name, None)
    }

    /// Creates a server's folder on a separate file system.
    ///
    /// # Errors
    /// The name is taken, or the file system cannot be created.
    pub fn make_on(&self, name: &str, place: Option<&Place>) -> Result<Folder> {
        let folder = self.folder(name)?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o711)
            .create(&self.root)
            .on("make", &self.root)?;
        self.examine(&fs::symlink_metadata(&self.root).on("read", &self.root)?)?;
        if folder.exists() || place::record_of(&folder).exists() {
            return usage(format!(
                "server '{name}' already exists: start it with `dyno server restart {name}`, \
                 remove it with `dyno server down {name}`, or choose another name with --name"
            ));
        }
        fs::DirBuilder::new()
            .mode(0o711)
            .create(&folder.path)
            .on("make", &folder.path)?;
        if let Some(place) = place {
            place.make(&folder)?;
        }
        let mut inner = ["data", "run", "tmp"].into_iter();
        let created = inner.try_for_each(|inner| folder.make_owned(inner).map(drop));
        if created.is_err() {
            let _ = place::discard(&folder);
        }
        created.map(|()| folder)
    }

    /// The folders of all servers, by name.
    ///
    /// # Errors
    /// The home is not readable.
    pub fn folders(&self) -> Result<Vec<Folder>> {
        if !self.root.exists() {
            return Ok(Vec::new());
        }
        let mut folders = Vec::new();
        for entry in fs::read_dir(&self.root).on("read", &self.root)? {
            let name = entry.on("read", &self.root)?.file_name();
            // A server on its own file system also has a record here.
            let name = name
                .to_str()
                .map(|name| place::name_in(name).unwrap_or(name));
            let folder = name.map(|name| self.folder(name));
            if let Some(Ok(folder)) = folder
                && (folder.path.is_dir() || place::record_of(&folder).exists())
            {
                folders.push(folder);
            }
        }
        folders.sort_by(|a, b| a.name.cmp(&b.name));
        folders.dedup_by(|a, b| a.name == b.name);
        Ok(folders)
    }
}

/// The folder of one server.
#[derive(Clone, Debug)]
pub struct Folder {
    name: String,
    path: PathBuf,
    identity: Option<Identity>,
}

impl Folder {
    /// The server's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The user that the server runs as, if it is not this user.
    pub fn identity(&self) -> Option<Identity> {
        self.identity
    }

    /// The path of an entry.
    pub fn join(&self, inner: &str) -> PathBuf {
        self.path.join(inner)
    }

    /// The server's data.
    pub fn data(&self) -> PathBuf {
        self.join("data")
    }

    /// The server's log.
    pub fn log(&self) -> PathBuf {
        self.join("log")
    }

    /// Whether it exists.
    pub fn exists(&self) -> bool {
        fs::symlink_metadata(&self.path).is_ok()
    }

    /// Creates a folder in it that belongs to the server's user.
    pub(crate) fn make_owned(&self, inner: &str) -> Result<PathBuf> {
        let path = self.join(inner);
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&path)
            .on("make", &path)?;
        give(&path, self.identity)?;
        Ok(path)
    }

    /// Replaces a file atomically.
    pub(crate) fn write(&self, inner: &str, text: &str, mode: u32) -> Result<PathBuf> {
        let path = self.join(inner);
        let beside = self.join(&format!("{inner}.new"));
        let _ = fs::remove_file(&beside);
        let mut file = fs::File::options()
            .write(true)
            .create_new(true)
            .mode(mode)
            .open(&beside)
            .on("write", &beside)?;
        file.set_permissions(fs::Permissions::from_mode(mode))
            .and_then(|()| file.write_all(text.as_bytes()))
            .on("write", &beside)?;
        fs::rename(&beside, &path).on("write", &path)?;
        Ok(path)
    }

    /// Writes a value as JSON.
    pub(crate) fn write_json(&self, inner: &str, value: &impl Serialize) -> Result<()> {
        match serde_json::to_string_pretty(value) {
            Ok(text) => self.write(inner, &(text + "\n"), 0o644).map(drop),
            Err(error) => failed(format!("cannot write {inner}: {error}")),
        }
    }

    /// Reads a file of [`Folder::write_json`]; `None` if it is missing.
    pub(crate) fn read_json<T: DeserializeOwned>(&self, inner: &str) -> Result<Option<T>> {
        let path = self.join(inner);
        let text = match fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error).on("read", &path),
        };
        match serde_json::from_str(&text) {
            Ok(value) => Ok(Some(value)),
            Err(error) => failed(format!("{} is damaged: {error}", path.display())),
        }
    }

    /// Removes a file, if it exists.
    pub(crate) fn remove(&self, inner: &str) -> Result<()> {
        let path = self.join(inner);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(error).on("remove", &path)
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_need_room() {
        let there = Path::new("/var/tmp");
        assert!(is_room(there, ROOM_MIN).is_ok());
        let why = is_room(there, 100 * 1024 * 1024)
            .expect_err("no room")
            .to_string();
        assert!(why.contains("100 MiB are free in /var/tmp"), "{why}");
        let home = Home {
            root: PathBuf::from("/var/tmp/not/there/yet"),
            identity: None,
        };
        assert!(home.has_room().is_ok());
    }

    #[test]
    fn names_are_plain() {
        let home = Home::at(Path::new("/nowhere")).expect("a home need not be there");
        for wrong in ["", "-a", "a/b", "..", "A", "a b", "ä", &"a".repeat(41)] {
            assert!(home.folder(wrong).is_err(), "{wrong}");
        }
        assert!(home.folder("mysql-9.7_b").is_ok());
        let long = Home::at(&Path::new("/").join("x".repeat(90))).expect("a home");
        let error = long
            .folder("a")
            .expect_err("no room for a socket")
            .to_string();
        assert!(error.contains("too long"), "{error}");
    }

    #[test]
    fn a_home_that_others_may_write_to_is_refused() {
        let outer = tempfile::tempdir().expect("a folder");
        let root = outer.path().join("home");
        fs::create_dir(&root).expect("a home");
        fs::set_permissions(&root, fs::Permissions::from_mode(0o777)).expect("open to all");
        assert!(Home::at(&root).is_err());
        fs::set_permissions(&root, fs::Permissions::from_mode(0o711)).expect("closed");
        let home = Home::at(&root).expect("a home");
        let folder = home.make("one").expect("a server's folder");
        assert!(home.make("one").expect_err("there is one").is_usage());
        folder.write("secret", "x", 0o600).expect("it is written");
        let mode = fs::metadata(folder.join("secret"))
            .expect("it is there")
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        let names: Vec<String> = home
            .folders()
            .expect("a list")
            .iter()
            .map(|f| f.name.clone())
            .collect();
        assert_eq!(names, ["one"]);
    }
}
