//! The kernel's tables for files: names, inodes, open files.

use dyno_core::catalogue::names;

use crate::sink::{Gauge, SampleBuffer};
use crate::text::{ProcFile, number, words};

const DENTRIES: &str = "/proc/sys/fs/dentry-state";
const INODES: &str = "/proc/sys/fs/inode-nr";
const OPEN: &str = "/proc/sys/fs/file-nr";

/// Of all processes and containers.
pub(crate) struct OpenFiles {
    /// The number at the start of a file, and its series.
    counts: Vec<(ProcFile, Gauge)>,
}

impl OpenFiles {
    /// Omits what this kernel does not show.
    pub(crate) fn find() -> Self {
        let files = [
            (names::HOST_FILES_DENTRIES, DENTRIES),
            (names::HOST_FILES_INODES, INODES),
            (names::HOST_FILES_OPEN, OPEN),
        ];
        let found = files.into_iter().filter_map(|(name, path)| {
            let file = ProcFile::find(path)?;
            Some((file, Gauge::new(name, "count", path)))
        });
        Self {
            counts: found.collect(),
        }
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, buffer: &mut Vec<u8>) {
        for (file, gauge) in &mut self.counts {
            let text = file.read(buffer).ok();
            let first = text.and_then(|text| words(text).next()).and_then(number);
            gauge.put_some(recorder, first);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::testing::{recorder, values};

    #[test]
    fn reads_the_kernels_counts() {
        let (mut recorder, seen) = recorder();
        let mut files = OpenFiles::find();
        recorder.begin(1);
        files.sample(&mut recorder, &mut Vec::new());
        recorder.finish();
        let values = values(&seen);
        for name in [
            "host.files.dentries",
            "host.files.inodes",
            "host.files.open",
        ] {
            assert!(values[name][0] > 0.0, "{name}");
        }
    }
}
