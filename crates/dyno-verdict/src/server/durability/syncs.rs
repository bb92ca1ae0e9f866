//! Syncs that reach no disk: the server requests them, and something in between drops them.

use dyno_core::catalogue::names;

use crate::check::thresholds;
use crate::text;
use crate::view::View;

thresholds! {
    /// A sync of the log follows a write of it, which the disk must do before the sync ends.
    pub(super) WITHOUT_WRITES = 2.0, "times the writes of all disks", "syncs of the log":
        "each log sync waits for a separate disk write";
}
/// Fewer syncs per second than this are too few to compare.
const SYNCS_MIN: f64 = 20.0;
const SYNCS: [&str; 4] = [
    names::DB_WAL_SYNCS,
    names::DB_STATUS_INNODB_OS_LOG_FSYNCS,
    names::DB_INNODB_OS_LOG_FSYNCS,
    names::DB_ROCKSDB_WAL_SYNCED,
];
/// Disks that programs write to without requests, by prefix of their names.
const WITHOUT_REQUESTS: &str = "pmem";

/// Evidence that syncs do nothing.
pub(super) fn ignored(view: &View) -> Option<String> {
    if let Some(library) = view.run.fact(names::SERVER_IGNORES_SYNCS) {
        let who = if view.embedded() {
            "Dyno"
        } else {
            "the server"
        };
        return Some(format!(
            "{who} runs with {library}, which ignores all syncs"
        ));
    }
    // Nothing is known about the disks of another host, file systems without a disk, and network
    // file systems.
    let disk = view.run.fact(names::DATA_DISK)?;
    if view.same_host() != Some(true) || disk.starts_with(WITHOUT_REQUESTS) {
        return None;
    }
    // InnoDB counts its syncs twice, and none for tables of MyRocks.
    let known = SYNCS.iter().filter_map(|name| view.mean(name));
    let syncs = known.reduce(f64::max)?;
    let writes = view.devices_mean(names::HOST_DISK_WRITES)?;
    (syncs >= SYNCS_MIN && syncs > WITHOUT_WRITES.value * writes).then(|| {
        format!(
            "the log was synced {} times per second, and all disks together wrote {} times: \
             something ignores the syncs",
            text::rate(syncs),
            text::rate(writes)
        )
    })
}
