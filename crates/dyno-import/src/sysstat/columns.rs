//! Maps columns of sysstat's tables to series.

use dyno_core::record::SeriesKind::{Gauge, Rate};

use crate::table::{Meaning, column, meaning};

const KIB: f64 = 1024.0;
/// The size of a sector, regardless of the device's.
const SECTOR: f64 = 512.0;

/// Columns of tables with one row for each time.
const ALONE: [Meaning; 19] = [
    column("cswch/s", "host.context_switches", "count/s", 1.0, Rate),
    column("proc/s", "host.forks", "count/s", 1.0, Rate),
    column("retrans/s", "host.tcp.retransmits", "count/s", 1.0, Rate),
    column("oseg/s", "host.tcp.out_segments", "count/s", 1.0, Rate),
    column("runq-sz", "host.run_queue", "count", 1.0, Gauge),
    column("blocked", "host.blocked", "count", 1.0, Gauge),
    column("ldavg-1", "host.load1", "count", 1.0, Gauge),
    column("kbmemfree", "host.memory.free", "bytes", KIB, Gauge),
    column("kbavail", "host.memory.available", "bytes", KIB, Gauge),
    column("kbbuffers", "host.memory.buffers", "bytes", KIB, Gauge),
    column("kbcached", "host.memory.cached", "bytes", KIB, Gauge),
    column("kbdirty", "host.memory.dirty", "bytes", KIB, Gauge),
    // Pages have this size on all usual machines.
    column("pswpin/s", "host.swap.in", "bytes/s", 4.0 * KIB, Rate),
    column("pswpout/s", "host.swap.out", "bytes/s", 4.0 * KIB, Rate),
    column("majflt/s", "host.page_faults.major", "count/s", 1.0, Rate),
    column("rtps", "host.disk[all].reads", "count/s", 1.0, Rate),
    column("wtps", "host.disk[all].writes", "count/s", 1.0, Rate),
    column(
        "bread/s",
        "host.disk[all].read_bytes",
        "bytes/s",
        SECTOR,
        Rate,
    ),
    column(
        "bwrtn/s",
        "host.disk[all].write_bytes",
        "bytes/s",
        SECTOR,
        Rate,
    ),
];

/// The shares of all CPUs together: in `sar -u`, and in `mpstat` and `sar -u ALL`.
const CPU: [Meaning; 10] = [
    column("%user", "host.cpu.user", "percent", 1.0, Rate),
    column("%usr", "host.cpu.user", "percent", 1.0, Rate),
    column("%nice", "host.cpu.nice", "percent", 1.0, Rate),
    column("%system", "host.cpu.system", "percent", 1.0, Rate),
    column("%sys", "host.cpu.system", "percent", 1.0, Rate),
    column("%iowait", "host.cpu.iowait", "percent", 1.0, Rate),
    column("%irq", "host.cpu.irq", "percent", 1.0, Rate),
    column("%soft", "host.cpu.softirq", "percent", 1.0, Rate),
    column("%steal", "host.cpu.steal", "percent", 1.0, Rate),
    column("%idle", "host.cpu.idle", "percent", 1.0, Rate),
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
