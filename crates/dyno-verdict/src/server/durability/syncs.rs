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
/// Logs that may be on other disks than the data.
const LOGS: [&str; 3] = [
    names::DATA_REDO,
    names::DATA_ROCKSDB,
    names::DATA_ROCKSDB_WAL,
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
    if view.same_host() != Some(true) || !are_on_disks(view) {
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

/// Whether the data and the logs are on disks that count their writes. Nothing is known about
/// file systems without a disk, and network file systems.
fn are_on_disks(view: &View) -> bool {
    let counts = |disk: Option<&str>| disk.is_some_and(|disk| !disk.starts_with(WITHOUT_REQUESTS));
    let fact = |place: &str, what: &str| view.run.fact(&format!("{place}.{what}"));
    // Only a place on another file system than the data has facts.
    let mut apart = LOGS
        .iter()
        .filter(|log| fact(log, "filesystem.type").is_some());
    counts(view.run.fact(names::DATA_DISK)) && apart.all(|log| counts(fact(log, "disk")))
}
