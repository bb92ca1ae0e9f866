//! Counters of PostgreSQL.

use dyno_core::catalogue::names;

use super::Rule;
use crate::text;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "shared_buffers",
        counters: &["database.blks_read", "database.blks_hit"],
        about: "The size of PostgreSQL's own page cache; its reads may come from the kernel's page \
                cache.",
        finds: |look| {
            let (reads, share) =
                look.share(names::DB_DATABASE_BLKS_READ, &[names::DB_DATABASE_BLKS_HIT])?;
            Some(format!(
                "{}/s pages were not found in it, {} of all",
                text::rate(reads),
                text::percent(share)
            ))
        },
    },
    Rule {
        setting: "work_mem",
        counters: &["database.temp_files", "database.temp_bytes"],
        about: "The memory of each operation of a statement before it uses files.",
        finds: |look| {
            let files = look
                .mean(names::DB_DATABASE_TEMP_FILES)
                .filter(|per_s| *per_s > 0.05)?;
            let bytes = look.mean(names::DB_DATABASE_TEMP_BYTES).unwrap_or(0.0);
            Some(format!(
                "{}/s temporary files were written, {}/s",
                text::rate(files),
                text::bytes(bytes)
            ))
        },
    },
    Rule {
        setting: "max_wal_size",
        counters: &["checkpointer.requested"],
        about: "How much write-ahead log may accumulate before a checkpoint is due.",
        finds: |look| {
            let requested = look.view.run.series(names::DB_CHECKPOINTER_REQUESTED)?;
            let (count, covered_s) = look.view.integral(requested);
            (count >= 0.5).then(|| {
                format!(
                    "in {}, {} checkpoint{} requested before the timeout",
                    text::seconds(covered_s),
                    text::count(count.round() as u64),
                    if count < 1.5 { " was" } else { "s were" }
                )
            })
        },
    },
    Rule {
        setting: "wal_buffers",
        counters: &["wal.buffers_full"],
        about: "The buffer for write-ahead log that is not yet written.",
        finds: |look| {
            let full = look.often(names::DB_WAL_BUFFERS_FULL)?;
            Some(format!(
                "{}/s times a session had to write full buffers",
                text::rate(full)
            ))
        },
    },
    Rule {
        setting: "bgwriter_lru_maxpages",
        counters: &["bgwriter.maxwritten_clean"],
        about: "How many pages the background writer may clean in a round, to spare sessions the \
                work.",
        finds: |look| {
            let stopped = look.often(names::DB_BGWRITER_MAXWRITTEN_CLEAN)?;
            Some(format!(
                "{}/s rounds of the background writer stopped at this limit",
                text::rate(stopped)
            ))
        },
    },
    Rule {
        setting: "lock_timeout",
        counters: &["locks.waiting"],
        about: "How long a session may wait for a lock (0: no limit). Whether it has to wait \
                depends on the statements, their keys and the length of the transactions.",
        finds: |look| {
            let waiting = look
                .mean(names::DB_LOCKS_WAITING)
                .filter(|mean| *mean >= 0.1)?;
            Some(format!(
                "{} sessions waited for locks on average",
                text::plain(waiting)
            ))
        },
    },
    Rule {
        setting: "deadlock_timeout",
        counters: &["database.deadlocks"],
        about: "How long a session waits for a lock before it checks for a deadlock. Whether there \
                are any depends on the statements, their keys and their order.",
        finds: |look| {
            let deadlocks = look.often(names::DB_DATABASE_DEADLOCKS)?;
            Some(format!("{}/s deadlocks", text::rate(deadlocks)))
        },
    },
];
