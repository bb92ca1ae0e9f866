//! Identifies the server's program: its linker's build ID, and its memory allocator.

use std::collections::BTreeSet;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use dyno_core::catalogue::names;
use dyno_core::text::hex;

use crate::sink::Sink;
use crate::text::of_process;

/// Allocators that replace the C library's, by a part of their file names.
const ALLOCATORS: [&str; 6] = [
    "jemalloc", "tcmalloc", "mimalloc", "rpmalloc", "snmalloc", "hoard",
];
/// Libraries that turn syncs into no-ops, by a part of their file names.
const IGNORE_SYNCS: [&str; 3] = ["eatmydata", "nosync", "nofsync"];
/// C libraries, by the beginning of their file names.
const C_LIBRARIES: [(&str, &str); 4] = [
    ("libc.so", "glibc"),
    ("libc-2", "glibc"),
    ("ld-musl", "musl"),
    ("libc.musl", "musl"),
];
/// Maximum number of bytes read of a process's memory map. A line has some hundred bytes, and a
/// library has a few lines.
const MAPS_BYTES_MAX: u64 = 16 << 20;

/// The magic number of ELF files: see elf(5).
const MAGIC: &[u8] = b"\x7fELF";
const CLASS_64: u8 = 2;
const LITTLE_ENDIAN: u8 = 1;
const SEGMENT_NOTE: u32 = 4;
const NOTE_BUILD_ID: u32 = 3;
const SEGMENTS_MAX: u16 = 256;
const NOTES_BYTES_MAX: u64 = 1 << 20;

/// Reports what can be read of the process.
pub(super) fn report(sink: &Sink, pid: i32) {
    let libraries = libraries(pid);
    if let Ok(libraries) = &libraries {
        report_ignored(sink, libraries);
    }
    match libraries.map(|libraries| allocator_of(&libraries)) {
        Ok(Some(name)) => sink.fact(names::SERVER_ALLOCATOR, name, "/proc/PID/maps"),
        Ok(None) => {
            let why = "none of the server's libraries is a known allocator or C library: it is \
                       linked into the program";
            sink.gap(names::SERVER_ALLOCATOR, why);
        }
        Err(error) => sink.gap(
            names::SERVER_ALLOCATOR,
            format!("cannot read /proc/{pid}/maps: {error}; run as root or as the server's user"),
        ),
    }
    // The gap of the executable gives the reason.
    if let Some(id) = build_id(&of_process(pid, "exe")) {
        sink.fact(names::SERVER_BUILD_ID, id, "the executable's GNU build ID");
    }
}

/// Reports which library turns the process's syncs into no-ops, if any.
pub(crate) fn report_ignored_syncs(sink: &Sink, pid: i32) {
    // A missing permission was already reported.
    if let Ok(libraries) = libraries(pid) {
        report_ignored(sink, &libraries);
    }
}

fn report_ignored(sink: &Sink, libraries: &BTreeSet<String>) {
    if let Some(name) = ignores_syncs(libraries) {
        let source = "/proc/PID/maps";
        sink.fact(names::SERVER_IGNORES_SYNCS, name.to_owned(), source);
    }
}

fn ignores_syncs(libraries: &BTreeSet<String>) -> Option<&str> {
    let ignores = |file: &&String| IGNORE_SYNCS.iter().any(|name| file.contains(name));
    libraries.iter().find(ignores).map(String::as_str)
}

/// The file names of the libraries that a process has mapped.
fn libraries(pid: i32) -> std::io::Result<BTreeSet<String>> {
    use std::io::Read;
    let mut text = Vec::new();
    let maps = File::open(of_process(pid, "maps"))?;
    maps.take(MAPS_BYTES_MAX).read_to_end(&mut text)?;
    Ok(libraries_of(&String::from_utf8_lossy(&text)))
}

fn libraries_of(maps: &str) -> BTreeSet<String> {
    let path = |line: &'_ str| -> Option<String> {
        let file = Path::new(line.get(line.find('/')?..)?).file_name()?;
        Some(file.to_string_lossy().into_owned())
    };
    let files = maps.lines().filter_map(path);
    files.filter(|file| file.contains(".so")).collect()
}

/// The library whose `malloc` the process calls, as far as its libraries show.
fn allocator_of(files: &BTreeSet<String>) -> Option<String> {
    for name in ALLOCATORS {
        if files.iter().any(|file| file.contains(name)) {
            return Some(name.to_owned());
        }
    }
    let begins = |beginning: &str| files.iter().any(|file| file.starts_with(beginning));
    let found = C_LIBRARIES.iter().find(|(beginning, _)| begins(beginning));
    found.map(|(_, name)| (*name).to_owned())
}

/// The linker's build ID in a program, unique to its build.
fn build_id(path: &Path) -> Option<String> {
    let file = File::open(path).ok()?;
    let mut header = [0; 64];
    file.read_exact_at(&mut header, 0).ok()?;
    if &header[..4] != MAGIC || header[4] != CLASS_64 || header[5] != LITTLE_ENDIAN {
        return None;
    }
    let table = long(&header, 32)?;
    let (size, count) = (short(&header, 54)?, short(&header, 56)?.min(SEGMENTS_MAX));
    for number in 0..count {
        let mut segment = [0; 56];
        let at = table.checked_add(u64::from(number) * u64::from(size))?;
        file.read_exact_at(&mut segment, at).ok()?;
        if word(&segment, 0)? != SEGMENT_NOTE {
            continue;
        }
        let mut notes = vec![0; long(&segment, 32)?.min(NOTES_BYTES_MAX) as usize];
        file.read_exact_at(&mut notes, long(&segment, 8)?).ok()?;
        if let Some(id) = build_id_in(&notes) {
            return Some(id);
        }
    }
    None
}

/// Notes are consecutive, with names and contents padded to four bytes.
fn build_id_in(mut notes: &[u8]) -> Option<String> {
    let filled = |length: u32| (length as usize).checked_next_multiple_of(4);
    loop {
        let (name, content) = (word(notes, 0)?, word(notes, 4)?);
        let kind = word(notes, 8)?;
        let named = filled(name)?.checked_add(12)?;
        let end = named.checked_add(filled(content)?)?;
        let bytes = notes.get(named..named.checked_add(content as usize)?)?;
        if kind == NOTE_BUILD_ID && notes.get(12..16) == Some(b"GNU\0") {
            return Some(hex(bytes));
        }
        notes = notes.get(end..)?;
    }
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn libraries_identify_the_allocator() {
        let maps = |file: &str| {
            format!(
                "7f00-7f01 r-xp 00000000 fe:00 12 /usr/lib/libc.so.6\n7f02-7f03 rw-p 00000000 \
                 00:00 0 \n7f04-7f05 r-xp 00000000 fe:00 13 {file}\n"
            )
        };
        for (file, name) in [
            ("/usr/lib/x86_64-linux-gnu/libjemalloc.so.2", "jemalloc"),
            ("/usr/lib/libtcmalloc_minimal.so.4", "tcmalloc"),
            ("/usr/lib/libmimalloc.so.2.1", "mimalloc"),
            ("/var/lib/jemalloc/data", "glibc"),
        ] {
            let libraries = libraries_of(&maps(file));
            assert_eq!(allocator_of(&libraries).as_deref(), Some(name), "{file}");
            assert_eq!(ignores_syncs(&libraries), None);
        }
        let none = libraries_of("1-2 r-xp 0 0:0 1 /usr/bin/static\n");
        assert_eq!(allocator_of(&none), None);
        let own = libraries(std::process::id() as i32).unwrap();
        assert!(allocator_of(&own).is_some());
        let preloaded = "/usr/lib/x86_64-linux-gnu/libeatmydata.so.1.3.0";
        let preloaded = libraries_of(&maps(preloaded));
        assert_eq!(ignores_syncs(&preloaded), Some("libeatmydata.so.1.3.0"));
    }

    #[test]
    fn the_mark_of_a_build_is_found_among_notes() {
        let mut notes = Vec::new();
        for (kind, content) in [(1_u32, &b"version"[..]), (NOTE_BUILD_ID, b"\x01\xab\x20")] {
            notes.extend(4_u32.to_le_bytes());
            notes.extend((content.len() as u32).to_le_bytes());
            notes.extend(kind.to_le_bytes());
            notes.extend(b"GNU\0");
            notes.extend(content);
            notes.resize(notes.len().next_multiple_of(4), 0);
        }
        assert_eq!(build_id_in(&notes).as_deref(), Some("01ab20"));
        assert_eq!(build_id_in(&notes[..20]), None);
        assert_eq!(build_id(Path::new("/etc/hostname")), None);
    }

    proptest! {
        #[test]
        fn arbitrary_notes_never_panic(notes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = build_id_in(&notes);
        }
    }
}
