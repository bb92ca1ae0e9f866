//! What `fileio` says before its first event.

use std::fmt::Write;

/// What `fileio` is about to do. Sizes are told as sysbench does, e.g. `16Mi`.
#[derive(Clone, Debug, Default)]
pub struct FileMode {
    /// `sync`, `dsync` and `directio`, those that are asked for.
    pub flags: Vec<&'static str>,
    /// Files.
    pub files: u32,
    /// The size of each.
    pub each: String,
    /// The size of all.
    pub total: String,
    /// The size of a block.
    pub block: String,
    /// The size of merged requests, if they are merged.
    pub merged: Option<String>,
    /// Of random modes: the limit of events, 0 for none, and reads for each write.
    pub random: Option<(u64, f64)>,
    /// Requests between two flushes; 0 for none.
    pub fsync_every: u64,
    /// A flush of all files at the end.
    pub fsync_end: bool,
    /// A flush after each write.
    pub fsync_all: bool,
    /// Blocks are checked.
    pub validate: bool,
    /// `synchronous`, `asynchronous`, `fast mmaped`.
    pub engine: &'static str,
    /// `random read`, `sequential rewrite`, …
    pub test: &'static str,
}

/// The flags' line, which `prepare` has too.
pub fn file_flags(flags: &[&str]) -> String {
    let flags = match flags {
        [] => "(none)".to_owned(),
        flags => flags.join(" "),
    };
    format!("Extra file open flags: {flags}\n")
}

/// What `fileio` is about to do.
pub fn file_mode(mode: &FileMode) -> String {
    let mut out = file_flags(&mode.flags);
    let _ = writeln!(out, "{} files, {}B each", mode.files, mode.each);
    let _ = writeln!(out, "{}B total file size", mode.total);
    let _ = writeln!(out, "Block size {}B", mode.block);
    if let Some(merged) = &mode.merged {
        let _ = writeln!(out, "Merging requests up to {merged}B for sequential IO.");
    }
    if let Some((requests, ratio)) = mode.random {
        let _ = writeln!(out, "Number of IO requests: {requests}");
        let _ = writeln!(
            out,
            "Read/Write ratio for combined random IO test: {ratio:2.2}"
        );
    }
    if mode.fsync_every > 0 {
        let every = mode.fsync_every;
        let _ = writeln!(
            out,
            "Periodic FSYNC enabled, calling fsync() each {every} requests."
        );
    }
    if mode.fsync_end {
        out.push_str("Calling fsync() at the end of test, Enabled.\n");
    }
    if mode.fsync_all {
        out.push_str("Calling fsync() after each write operation.\n");
    }
    let _ = writeln!(out, "Using {} I/O mode", mode.engine);
    if mode.validate {
        out.push_str("Using checksums validation.\n");
    }
    let _ = writeln!(out, "Doing {} test", mode.test);
    out
}

/// What `prepare` begins with: sizes in bytes.
pub fn file_prepare(files: u32, each: u64, total: u64, flags: &[&str]) -> String {
    format!(
        "{files} files, {}Kb each, {}Mb total\nCreating files for the test...\n{}",
        each / 1024,
        total / (1 << 20),
        file_flags(flags)
    )
}

/// What `prepare` ends with.
pub fn file_written(bytes: u64, seconds: f64) -> String {
    if bytes == 0 {
        return "No bytes written.\n".to_owned();
    }
    let mib_s = bytes as f64 / (1 << 20) as f64 / seconds.max(1e-9);
    format!("{bytes} bytes written in {seconds:.2} seconds ({mib_s:.2} MiB/sec).\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_text() {
        let mode = FileMode {
            flags: vec!["sync", "directio"],
            files: 4,
            each: "4Mi".into(),
            total: "16Mi".into(),
            block: "16Ki".into(),
            merged: Some("48Ki".into()),
            random: Some((0, 1.5)),
            fsync_every: 100,
            fsync_end: true,
            fsync_all: true,
            validate: true,
            engine: "synchronous",
            test: "random r/w",
        };
        assert_eq!(
            file_mode(&mode),
            "Extra file open flags: sync directio\n4 files, 4MiB each\n16MiB total file size\n\
             Block size 16KiB\nMerging requests up to 48KiB for sequential IO.\n\
             Number of IO requests: 0\nRead/Write ratio for combined random IO test: 1.50\n\
             Periodic FSYNC enabled, calling fsync() each 100 requests.\n\
             Calling fsync() at the end of test, Enabled.\n\
             Calling fsync() after each write operation.\nUsing synchronous I/O mode\n\
             Using checksums validation.\nDoing random r/w test\n"
        );
    }

    #[test]
    fn the_shortest_text() {
        let mode = FileMode {
            files: 1,
            engine: "synchronous",
            test: "sequential read",
            ..FileMode::default()
        };
        assert!(file_mode(&mode).starts_with("Extra file open flags: (none)\n1 files, "));
        assert_eq!(file_mode(&mode).lines().count(), 6);
    }

    #[test]
    fn prepare_tells_what_it_wrote() {
        assert_eq!(
            file_prepare(4, 4 << 20, 16 << 20, &[]),
            "4 files, 4096Kb each, 16Mb total\nCreating files for the test...\n\
             Extra file open flags: (none)\n"
        );
        assert_eq!(
            file_written(1 << 20, 0.5),
            "1048576 bytes written in 0.50 seconds (2.00 MiB/sec).\n"
        );
        assert_eq!(file_written(0, 1.0), "No bytes written.\n");
    }
}
