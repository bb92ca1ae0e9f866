//! Background work of MariaDB and MySQL.

use std::collections::BTreeMap;

use dyno_core::units::human_size;
use dyno_drivers::Control;

use super::{Look, Work, pairs};

/// Pages of the history of old row versions; an idle server keeps some.
const HISTORY_MAX: u64 = 1_000;
/// Bytes of redo log since the last checkpoint.
const CHECKPOINT_AGE_MAX: u64 = 16 << 20;
/// Bytes per second that an idle InnoDB reads or writes.
const IO_MAX: u64 = 1 << 20;
/// The smallest relevant number of dirty pages.
const DIRTY_PAGES_MIN: u64 = 64;

/// Counters of the previous sample, for differences.
#[derive(Default)]
pub(super) struct Counters {
    last: BTreeMap<String, u64>,
    /// The server has no table of its metrics.
    no_metrics: bool,
}

impl Look for Counters {
    fn look(&mut self, control: &mut Control) -> std::result::Result<Vec<Work>, String> {
        let status = pairs(control, "SHOW GLOBAL STATUS")?;
        let mut status: BTreeMap<String, u64> = status
            .into_iter()
            .filter_map(|(name, value)| Some((name, value.parse().ok()?)))
            .collect();
        if !status.contains_key("innodb_history_list_length") && !self.no_metrics {
            let metric = "SELECT 'innodb_history_list_length', `COUNT` FROM \
                          information_schema.INNODB_METRICS WHERE NAME = 'trx_rseg_history_len'";
            match pairs(control, metric) {
                Ok(found) => {
                    let values = found
                        .into_iter()
                        .filter_map(|(n, v)| Some((n, v.parse().ok()?)));
                    status.extend(values);
                }
                Err(_) => self.no_metrics = true,
            }
        }
        let mut work = innodb(&status, &self.last);
        if status.keys().any(|name| name.starts_with("rocksdb_")) {
            let families = "SELECT STAT_TYPE, SUM(VALUE) FROM information_schema.ROCKSDB_CFSTATS \
                            WHERE STAT_TYPE IN ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', \
                            'NUM_IMMUTABLE_MEM_TABLE') GROUP BY STAT_TYPE";
            work.extend(rocksdb(&pairs(control, families)?, &status, &self.last));
        }
        self.last = status;
        Ok(work)
    }
}

/// The increase of a counter since the previous sample.
fn moved(name: &str, now: &BTreeMap<String, u64>, last: &BTreeMap<String, u64>) -> Option<u64> {
    Some(now.get(name)?.saturating_sub(*last.get(name)?))
}

fn innodb(now: &BTreeMap<String, u64>, last: &BTreeMap<String, u64>) -> Vec<Work> {
    let get = |name: &str| now.get(name).copied();
    let mut work = Vec::new();
    if let (Some(dirty), Some(total)) = (
        get("innodb_buffer_pool_pages_dirty"),
        get("innodb_buffer_pool_pages_total"),
    ) {
        let size = human_size(dirty * get("innodb_page_size").unwrap_or(16_384));
        let what = format!("InnoDB has {dirty} dirty pages of {total} ({size})");
        work.push(Work::amount(dirty, DIRTY_PAGES_MIN.max(total / 20), what));
    }
    let between = |from: &str, to: &str| Some(get(to)?.saturating_sub(get(from)?));
    let age = get("innodb_checkpoint_age")
        .or_else(|| {
            between(
                "innodb_redo_log_checkpoint_lsn",
                "innodb_redo_log_current_lsn",
            )
        })
        .or_else(|| between("innodb_lsn_last_checkpoint", "innodb_lsn_current"));
    if let Some(age) = age {
        let what = format!(
            "InnoDB's last checkpoint is {} of redo log old",
            human_size(age)
        );
        work.push(Work::amount(age, CHECKPOINT_AGE_MAX, what));
    }
    if let Some(history) = get("innodb_history_list_length") {
        let what = format!("InnoDB has {history} old transactions to purge");
        work.push(Work::amount(history, HISTORY_MAX, what));
    }
    for (name, does) in [
        ("innodb_data_written", "writes"),
        ("innodb_data_read", "reads"),
    ] {
        if let Some(bytes) = moved(name, now, last) {
            let what = format!("InnoDB {does} {}/s", human_size(bytes));
            work.push(Work::activity(bytes, IO_MAX, what));
        }
    }
    work
}

fn rocksdb(
    families: &BTreeMap<String, String>,
    now: &BTreeMap<String, u64>,
    last: &BTreeMap<String, u64>,
) -> Vec<Work> {
    let mut work = Vec::new();
    for (name, is) in [
        ("compaction_pending", "column families awaiting compaction"),
        (
            "mem_table_flush_pending",
            "column families awaiting a flush",
        ),
        ("num_immutable_mem_table", "memtables to flush"),
    ] {
        // A sum is a decimal number on some servers.
        let count = families
            .get(name)
            .and_then(|value| value.parse::<f64>().ok());
        if let Some(count) = count {
            // Sums of small counts.
            let count = count.max(0.0) as u64;
            work.push(Work::amount(count, 0, format!("RocksDB: {is}: {count}")));
        }
    }
    for (name, does) in [
        ("rocksdb_compact_write_bytes", "compaction writes"),
        ("rocksdb_compact_read_bytes", "compaction reads"),
        ("rocksdb_flush_write_bytes", "flushing writes"),
    ] {
        if let Some(bytes) = moved(name, now, last) {
            let what = format!("RocksDB's {does} {}/s", human_size(bytes));
            work.push(Work::activity(bytes, 0, what));
        }
    }
    work
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
        pairs.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect()
    }

    fn busy(work: &[Work]) -> Vec<&str> {
        work.iter()
            .filter(|work| work.busy)
            .map(|work| work.what.as_str())
            .collect()
    }

    #[test]
    fn reports_innodbs_remaining_work_with_numbers() {
        let before = status(&[("innodb_data_written", 1_000_000)]);
        let now = status(&[
            ("innodb_buffer_pool_pages_dirty", 4_303),
            ("innodb_buffer_pool_pages_total", 8_112),
            ("innodb_page_size", 16_384),
            ("innodb_redo_log_checkpoint_lsn", 1_000),
            ("innodb_redo_log_current_lsn", 70_001_000),
            ("innodb_history_list_length", 90),
            ("innodb_data_written", 9_000_000),
        ]);
        let work = innodb(&now, &before);
        let said = busy(&work);
        assert_eq!(said.len(), 3, "{said:?}");
        assert!(
            said[0].contains("4303 dirty pages of 8112 (67.2 MiB)"),
            "{}",
            said[0]
        );
        assert!(said[1].contains("66.8 MiB of redo log"), "{}", said[1]);
        assert!(said[2].starts_with("InnoDB writes 7.6"), "{}", said[2]);
        let rest = status(&[
            ("innodb_buffer_pool_pages_dirty", 12),
            ("innodb_buffer_pool_pages_total", 8_112),
            ("innodb_checkpoint_age", 356),
        ]);
        assert!(busy(&innodb(&rest, &before)).is_empty());
    }

    #[test]
    fn reports_rocksdbs_remaining_work() {
        let families = BTreeMap::from([
            ("compaction_pending".to_owned(), "1".to_owned()),
            ("mem_table_flush_pending".to_owned(), "0".to_owned()),
        ]);
        let before = status(&[("rocksdb_compact_write_bytes", 10)]);
        let now = status(&[("rocksdb_compact_write_bytes", 1_034)]);
        let work = rocksdb(&families, &now, &before);
        let said = busy(&work);
        assert_eq!(said[0], "RocksDB: column families awaiting compaction: 1");
        assert_eq!(said[1], "RocksDB's compaction writes 1.00 KiB/s");
        assert!(busy(&rocksdb(&BTreeMap::new(), &now, &now)).is_empty());
    }
}
