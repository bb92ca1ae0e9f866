//! Maps columns of sysstat's tables to series.

use dyno_core::catalogue::names;
use dyno_core::record::SeriesKind::{Gauge, Rate};

use crate::table::{Meaning, column, meaning};

const KIB: f64 = 1024.0;
/// The size of a sector, regardless of the device's.
const SECTOR: f64 = 512.0;

/// Columns of tables with one row for each time.
const ALONE: [Meaning; 19] = [
    column(
        "cswch/s",
        names::HOST_CONTEXT_SWITCHES,
        "count/s",
        1.0,
        Rate,
    ),
    column("proc/s", names::HOST_FORKS, "count/s", 1.0, Rate),
    column(
        "retrans/s",
        names::HOST_TCP_RETRANSMITS,
        "count/s",
        1.0,
        Rate,
    ),
    column("oseg/s", names::HOST_TCP_OUT_SEGMENTS, "count/s", 1.0, Rate),
    column("runq-sz", names::HOST_RUN_QUEUE, "count", 1.0, Gauge),
    column("blocked", names::HOST_BLOCKED, "count", 1.0, Gauge),
    column("ldavg-1", names::HOST_LOAD1, "count", 1.0, Gauge),
    column("kbmemfree", names::HOST_MEMORY_FREE, "bytes", KIB, Gauge),
    column("kbavail", names::HOST_MEMORY_AVAILABLE, "bytes", KIB, Gauge),
    column("kbbuffers", names::HOST_MEMORY_BUFFERS, "bytes", KIB, Gauge),
    column("kbcached", names::HOST_MEMORY_CACHED, "bytes", KIB, Gauge),
    column("kbdirty", names::HOST_MEMORY_DIRTY, "bytes", KIB, Gauge),
    // Pages have this size on all usual machines.
    column("pswpin/s", names::HOST_SWAP_IN, "bytes/s", 4.0 * KIB, Rate),
    column(
        "pswpout/s",
        names::HOST_SWAP_OUT,
        "bytes/s",
        4.0 * KIB,
        Rate,
    ),
    column(
        "majflt/s",
        names::HOST_PAGE_FAULTS_MAJOR,
        "count/s",
        1.0,
        Rate,
    ),
    column("rtps", names::HOST_DISK_ALL_READS, "count/s", 1.0, Rate),
    column("wtps", names::HOST_DISK_ALL_WRITES, "count/s", 1.0, Rate),
    column(
        "bread/s",
        names::HOST_DISK_ALL_READ_BYTES,
        "bytes/s",
        SECTOR,
        Rate,
    ),
    column(
        "bwrtn/s",
        names::HOST_DISK_ALL_WRITE_BYTES,
        "bytes/s",
        SECTOR,
        Rate,
    ),
];

/// The shares of all CPUs together: in `sar -u`, and in `mpstat` and `sar -u ALL`.
const CPU: [Meaning; 10] = [
    column("%user", names::HOST_CPU_USER, "percent", 1.0, Rate),
    column("%usr", names::HOST_CPU_USER, "percent", 1.0, Rate),
    column("%nice", names::HOST_CPU_NICE, "percent", 1.0, Rate),
    column("%system", names::HOST_CPU_SYSTEM, "percent", 1.0, Rate),
    column("%sys", names::HOST_CPU_SYSTEM, "percent", 1.0, Rate),
    column("%iowait", names::HOST_CPU_IOWAIT, "percent", 1.0, Rate),
    column("%irq", names::HOST_CPU_IRQ, "percent", 1.0, Rate),
    column("%soft", names::HOST_CPU_SOFTIRQ, "percent", 1.0, Rate),
    column("%steal", names::HOST_CPU_STEAL, "percent", 1.0, Rate),
    column("%idle", names::HOST_CPU_IDLE, "percent", 1.0, Rate),
];

/// Columns after a device's name.
const DEVICE: [Meaning; 7] = [
    column("rkb/s", "read_bytes", "bytes/s", KIB, Rate),
    column("wkb/s", "write_bytes", "bytes/s", KIB, Rate),
    column("rd_sec/s", "read_bytes", "bytes/s", SECTOR, Rate),
    column("wr_sec/s", "write_bytes", "bytes/s", SECTOR, Rate),
    column("aqu-sz", "queue", "count", 1.0, Rate),
    column("avgqu-sz", "queue", "count", 1.0, Rate),
    column("%util", "utilisation", "percent", 1.0, Rate),
];

/// Columns after an interface's name.
const INTERFACE: [Meaning; 6] = [
    column("rxkb/s", "rx_bytes", "bytes/s", KIB, Rate),
    column("txkb/s", "tx_bytes", "bytes/s", KIB, Rate),
    column("rxpck/s", "rx_packets", "count/s", 1.0, Rate),
    column("txpck/s", "tx_packets", "count/s", 1.0, Rate),
    column("rxdrop/s", "rx_drops", "count/s", 1.0, Rate),
    column("txdrop/s", "tx_drops", "count/s", 1.0, Rate),
];

/// The subject of a table's rows.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) enum Of {
    #[default]
    Nothing,
    /// All CPUs together in the row `all`.
    Cpus,
    Devices,
    Interfaces,
    Host,
}

impl Of {
    /// The kind of a table from its columns, and the position of its rows' names. `sar -p` has them
    /// last.
    pub(super) fn heading(columns: &[String]) -> (Self, Option<usize>) {
        let names = [
            ("cpu", Self::Cpus),
            ("dev", Self::Devices),
            ("iface", Self::Interfaces),
        ];
        let place = |name: &str| columns.iter().position(|own| own == name);
        let named = names
            .into_iter()
            .find_map(|(name, of)| Some((of, place(name)?)));
        // NFS also has retransmitted calls.
        let calls = columns.iter().any(|name| name == "call/s");
        let (of, place) = match named {
            Some((of, place)) => (of, Some(place)),
            None if calls => (Self::Nothing, None),
            None => (Self::Host, None),
        };
        // Tables of interrupts, terminals, file systems and the like have no series here.
        let known = |name: &String| meaning(of.meanings(), name).is_some();
        match columns.iter().any(known) {
            true => (of, place),
            false => (Self::Nothing, None),
        }
    }

    /// The series of its columns.
    pub(super) fn meanings(self) -> &'static [Meaning] {
        match self {
            Self::Nothing => &[],
            Self::Cpus => &CPU,
            Self::Devices => &DEVICE,
            Self::Interfaces => &INTERFACE,
            Self::Host => &ALONE,
        }
    }
}
