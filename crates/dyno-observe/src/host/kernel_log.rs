//! Lines of the kernel's log that may invalidate a measurement.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

use dyno_core::clock::Nanos;
use dyno_core::record::{EventDetail, EventKind};

use crate::Observation;
use crate::sink::Sink;

/// Maximum number of records read in one sample, so that a flood does not delay it.
const RECORDS_MAX: usize = 256;
/// Maximum number of lines reported in one run.
const REPORTED_MAX: usize = 50;
/// The kernel's longest record is 8 KiB.
const RECORD_BYTES: usize = 8_192;

/// Significant phrases, in lower case.
const TELLING: [&str; 24] = [
    "out of memory",
    "oom-kill",
    "invoked oom-killer",
    "i/o error",
    "buffer i/o",
    "medium error",
    "machine check",
    "hardware error",
    "mce:",
    "blocked for more than",
    "soft lockup",
    "hard lockup",
    "rcu: info",
    "page allocation failure",
    "ext4-fs error",
    "btrfs error",
    "corruption",
    "remounting filesystem read-only",
    "segfault",
    "syn flooding",
    "table full, dropping packet",
    "clock throttled",
    "marking clocksource",
    "link is down",
];

/// The log from now on.
pub(crate) struct KernelLog {
    file: File,
    buffer: Vec<u8>,
    reported: usize,
}

impl KernelLog {
    /// `None` if it may not be read.
    pub(crate) fn open() -> Option<Self> {
        let mut options = OpenOptions::new();
        options.read(true).custom_flags(libc::O_NONBLOCK);
        let mut file = options.open("/dev/kmsg").ok()?;
        file.seek(SeekFrom::End(0)).ok()?;
        Some(Self {
            file,
            buffer: vec![0; RECORD_BYTES],
            reported: 0,
        })
    }

    pub(crate) fn sample(&mut self, sink: &Sink, at: Nanos) {
        for _ in 0..RECORDS_MAX {
            let length = match self.file.read(&mut self.buffer) {
                Ok(0) => return,
                Ok(length) => length,
                // Records were overwritten before they were read: continue with the oldest.
                Err(error) if error.raw_os_error() == Some(libc::EPIPE) => continue,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(_) => return,
            };
            if self.reported < REPORTED_MAX
                && let Some(line) = significant(&self.buffer[..length])
            {
                self.reported += 1;
                let detail = EventDetail::of_kernel_log(line);
                sink.send(Observation::detailed(at, EventKind::Note, detail));
            }
        }
    }
}

/// The text of a record (`priority,sequence,time,flags;text`) if it is significant.
fn significant(record: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(record);
    let (_, text) = text.split_once(';')?;
    // Further lines are a device's properties.
    let line = text.lines().next()?.trim();
    let lower = line.to_lowercase();
    let matters = TELLING.iter().any(|part| lower.contains(part));
    matters.then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn reports_significant_lines() {
        let record = b"3,1234,98765,-;Out of memory: Killed process 7 (mysqld)\n SUBSYSTEM=x\n";
        let line = significant(record).unwrap();
        assert_eq!(line, "Out of memory: Killed process 7 (mysqld)");
        let error = b"3,1,2,-;blk_update_request: I/O error, dev sda, sector 1\n";
        assert!(significant(error).is_some());
        assert_eq!(significant(b"6,1,2,-;usb 1-1: new device\n"), None);
        assert_eq!(significant(b"no record"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(record in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = significant(&record);
        }
    }
}
