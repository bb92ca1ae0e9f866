//! Packs files into a compressed tar archive. Equal files give equal archives, byte for byte.

use std::collections::BTreeMap;
use std::io;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

/// An archive of these files, by their relative paths, within this folder.
///
/// # Errors
/// A path cannot be in an archive.
pub(super) fn pack(
    folder: &str,
    files: &BTreeMap<String, Vec<u8>>,
    modified_unix_s: u64,
) -> io::Result<Vec<u8>> {
    let mut archive = Builder::new(GzEncoder::new(Vec::new(), Compression::default()));
    for (name, bytes) in files {
        let mut header = Header::new_gnu();
        header.set_entry_type(EntryType::Regular);
        header.set_mode(0o644);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(modified_unix_s);
        header.set_size(bytes.len() as u64);
        archive.append_data(&mut header, format!("{folder}/{name}"), bytes.as_slice())?;
    }
    archive.into_inner()?.finish()
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::GzDecoder;

    use super::*;
    use crate::commands::lab::file_name;

    #[test]
    fn an_archive_unpacks_to_one_folder() {
        for (name, own) in [
            ("binlog-cost-laptop", "binlog-cost-laptop"),
            ("a/../b c", "a-..-b-c"),
            ("../../etc", "etc"),
            ("..", "experiment"),
            ("", "experiment"),
        ] {
            assert_eq!(file_name(name), own, "{name}");
        }
    }

    #[test]
    fn the_same_files_are_the_same_archive() {
        let long = format!("{}/a.lua", "lib".repeat(60));
        let files = BTreeMap::from([
            ("README.md".to_owned(), b"# ?\n".to_vec()),
            (long.clone(), b"return 1\n".to_vec()),
            ("empty.lua".to_owned(), Vec::new()),
        ]);
        let packed = pack("x", &files, 1_795_000_000).unwrap();
        assert_eq!(packed, pack("x", &files, 1_795_000_000).unwrap());
        let mut archive = tar::Archive::new(GzDecoder::new(packed.as_slice()));
        let mut found = BTreeMap::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let header = entry.header();
            assert_eq!(header.mtime().unwrap(), 1_795_000_000);
            assert_eq!((header.uid().unwrap(), header.mode().unwrap()), (0, 0o644));
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            found.insert(path.strip_prefix("x/").unwrap().to_owned(), bytes);
        }
        assert_eq!(found, files);
        let outside = BTreeMap::from([("../a".to_owned(), Vec::new())]);
        assert!(pack("x", &outside, 0).is_err());
    }
}
