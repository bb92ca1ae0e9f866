//! The output of `fileio` before its first event.

use std::fmt::Write;

/// The parameters of `fileio`. Sizes are in sysbench's notation, e.g. `16Mi`.
#[derive(Clone, Debug, Default)]
pub struct FileMode {
    /// Which of `sync`, `dsync` and `directio` were requested.
    pub flags: Vec<&'static str>,
    /// Number of files.
    pub files: u32,
    /// The size of each file.
    pub each: String,
    /// The total size.
    pub total: String,
    /// The block size.
    pub block: String,
    /// The size of merged requests, if they are merged.
    pub merged: Option<String>,
    /// In random modes: the event limit, 0 for none, and the ratio of reads to writes.
    pub random: Option<(u64, f64)>,
    /// Requests between two flushes; 0 for none.
    pub fsync_every: u64,
    /// Flush all files at the end.
    pub fsync_end: bool,
    /// Flush after each write.
    pub fsync_all: bool,
    /// Verify blocks.
    pub validate: bool,
    /// `synchronous`, `asynchronous`, `fast mmaped`.
    pub engine: &'static str,
    /// `random read`, `sequential rewrite`, …
    pub test: &'static str,
}

/// The line with the flags, also used by `prepare`.
fn file_flags(flags: &[&str]) -> String {
    let flags = match flags {
        [] => "(none)".to_owned(),
        flags => flags.join(" "),
    };
    format!("Extra file open flags: {flags}\n")
}

/// The description of `fileio`'s parameters.
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

/// The start of `prepare`'s output: sizes in bytes.
pub fn file_prepare(files: u32, each: u64, total: u64, flags: &[&str]) -> String {
    format!(
        "{files} files, {}Kb each, {}Mb total\nCreating files for the test...\n{}",
        each / 1024,
        total / (1 << 20),
        file_flags(flags)
    )
}

/// The end of `prepare`'s output.
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
    fn prepare_prints_files_and_bytes() {
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
