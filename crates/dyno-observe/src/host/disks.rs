//! Whole disks: requests, bytes, waits, queues.

use std::collections::HashMap;
use std::path::Path;

use dyno_core::catalogue::{Family, names};
use dyno_core::clock::Nanos;

use crate::sink::{Gauge, Rate, SampleBuffer};
use crate::text::{lines, number, words};

const SOURCE: &str = "/proc/diskstats";
/// The unit of sectors in this file, whatever the disk's own is (block/stat.rst of the kernel).
const SECTOR_BYTES: f64 = 512.0;

/// A line of `/proc/diskstats`, in the order of the kernel's iostats.rst: the first eleven fields,
/// which every kernel since 2.6 has.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counters {
    reads: f64,
    read_sectors: f64,
    read_ms: f64,
    writes: f64,
    write_sectors: f64,
    write_ms: f64,
    queue: f64,
    busy_ms: f64,
}

struct Disk {
    before: Option<(Nanos, Counters)>,
    reads: Rate,
    writes: Rate,
    read_bytes: Rate,
    write_bytes: Rate,
    utilisation: Rate,
    read_await: Gauge,
    write_await: Gauge,
    queue: Gauge,
}

pub(crate) struct Disks {
    /// By name; `None` for anything but a whole physical disk.
    disks: HashMap<Vec<u8>, Option<Disk>>,
    /// Devices that count although they are not physical disks, because they hold the data.
    wanted: Vec<String>,
    is_whole: fn(&str) -> bool,
}

impl Disks {
    /// `wanted`: devices that are always observed.
    pub(crate) fn new(wanted: Vec<String>) -> Self {
        Self {
            disks: HashMap::new(),
            wanted,
            is_whole: is_whole_disk,
        }
    }

    /// Adds a device that is always observed.
    pub(crate) fn watch(&mut self, device: String) {
        if matches!(self.disks.get(device.as_bytes()), Some(None)) {
            self.disks.remove(device.as_bytes());
        }
        self.wanted.push(device);
    }

    pub(crate) fn sample(&mut self, recorder: &mut SampleBuffer, at: Nanos, text: &[u8]) {
        for line in lines(text) {
            let Some((name, counters)) = parse(line) else {
                continue;
            };
            if !self.disks.contains_key(name) {
                let text = String::from_utf8_lossy(name);
                let watched = (self.is_whole)(&text) || self.wanted.iter().any(|w| *w == text);
                let disk = watched.then(|| Disk::new(&text));
                self.disks.insert(name.to_vec(), disk);
            }
            if let Some(Some(disk)) = self.disks.get_mut(name) {
                disk.sample(recorder, at, counters);
            }
        }
    }
}

impl Disk {
    fn new(name: &str) -> Self {
        let rate = |series: Family| Rate::new(&series.of(name), "count/s", SOURCE);
        let scaled = |series: Family, unit: &str, one: f64| {
            Rate::scaled(&series.of(name), unit, SOURCE, one)
        };
        let gauge = |series: Family, unit: &str| Gauge::new(&series.of(name), unit, SOURCE);
        Self {
            before: None,
            reads: rate(names::HOST_DISK_READS),
            writes: rate(names::HOST_DISK_WRITES),
            read_bytes: scaled(names::HOST_DISK_READ_BYTES, "bytes/s", SECTOR_BYTES),
            write_bytes: scaled(names::HOST_DISK_WRITE_BYTES, "bytes/s", SECTOR_BYTES),
            // Milliseconds per second, as percent.
            utilisation: scaled(names::HOST_DISK_UTILISATION, "percent", 0.1),
            read_await: gauge(names::HOST_DISK_READ_AWAIT, "ms"),
            write_await: gauge(names::HOST_DISK_WRITE_AWAIT, "ms"),
            queue: gauge(names::HOST_DISK_QUEUE, "count"),
        }
    }

    fn sample(&mut self, recorder: &mut SampleBuffer, at: Nanos, now: Counters) {
        self.reads.put(recorder, now.reads);
        self.writes.put(recorder, now.writes);
        self.read_bytes.put(recorder, now.read_sectors);
        self.write_bytes.put(recorder, now.write_sectors);
        self.utilisation.put(recorder, now.busy_ms);
        self.queue.put(recorder, now.queue);
        let Some((_, before)) = self.before.replace((at, now)) else {
            return;
        };
        // Without requests the mean is missing, not 0.
        let mean = |ms: f64, requests: f64| (requests > 0.0 && ms >= 0.0).then(|| ms / requests);
        let read = mean(now.read_ms - before.read_ms, now.reads - before.reads);
        let write = mean(now.write_ms - before.write_ms, now.writes - before.writes);
        self.read_await.put_some(recorder, read);
        self.write_await.put_some(recorder, write);
    }
}

fn parse(line: &[u8]) -> Option<(&[u8], Counters)> {
    let mut words = words(line).skip(2);
    let name = words.next()?;
    let mut fields = [0.0; 11];
    for field in &mut fields {
        *field = number(words.next()?)?;
    }
    let counters = Counters {
        reads: fields[0],
        read_sectors: fields[2],
        read_ms: fields[3],
        writes: fields[4],
        write_sectors: fields[6],
        write_ms: fields[7],
        queue: fields[8],
        busy_ms: fields[9],
    };
    Some((name, counters))
}

/// Whether a device of `/sys/block` is a real disk: not a partition, and not backed by memory,
/// files or other disks.
pub(crate) fn is_whole_disk(name: &str) -> bool {
    // A slash in a device's name becomes ! there.
    let folder = Path::new("/sys/block").join(name.replace('/', "!"));
    folder.join("device").exists()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::host::testing::{recorder, values};

    #[test]
    fn awaits_are_means_and_loops_do_not_count() {
        let (mut recorder, seen) = recorder();
        let mut disks = Disks::new(Vec::new());
        disks.is_whole = |name| name == "vda";
        let first = "7 0 loop0 1 2 3 4 5 6 7 8 9 10 11\n254 0 vda 10 0 80 20 0 0 0 0 3 500 9 1 2\n";
        let second =
            "7 0 loop0 1 2 3 4 5 6 7 8 9 10 11\n254 0 vda 14 0 96 30 0 0 0 0 1 750 9 1 2\n";
        for (at, text) in [(1_000_000_000, first), (3_000_000_000, second)] {
            recorder.begin(at);
            disks.sample(&mut recorder, at, text.as_bytes());
            recorder.finish();
        }
        let values = values(&seen);
        assert_eq!(values["host.disk[vda].reads"], [2.0]);
        assert_eq!(values["host.disk[vda].read_bytes"], [4_096.0]);
        assert_eq!(values["host.disk[vda].read_await"], [2.5]);
        assert_eq!(values["host.disk[vda].utilisation"], [12.5]);
        assert_eq!(values["host.disk[vda].queue"], [3.0, 1.0]);
        assert!(!values.contains_key("host.disk[vda].write_await"));
        assert!(values.keys().all(|name| !name.contains("loop")));
    }

    #[test]
    fn the_recorded_file_is_understood() {
        let text = include_bytes!("recorded/diskstats-6.18.out");
        let parsed: Vec<_> = lines(text).filter_map(parse).collect();
        assert_eq!(parsed.len(), lines(text).count());
        let (_, vda) = parsed.iter().find(|(name, _)| *name == b"vda").unwrap();
        assert!(vda.reads > 0.0 && vda.write_sectors > 0.0 && vda.busy_ms > 0.0);
        // On old kernels a partition's line has only four fields.
        assert_eq!(parse(b"3 1 hda1 35486 38030 38030 38030"), None);
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[ 0-9a-z\n]{0,200}") {
            let (mut recorder, _seen) = recorder();
            recorder.begin(1);
            Disks::new(Vec::new()).sample(&mut recorder, 1, text.as_bytes());
        }
    }
}
