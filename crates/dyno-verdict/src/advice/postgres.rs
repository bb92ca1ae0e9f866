//! Counters of PostgreSQL.

use super::Rule;
use crate::text;

pub(super) const RULES: &[Rule] = &[
    Rule {
        setting: "shared_buffers",
        counters: &["database.blks_read", "database.blks_hit"],
        about: "What PostgreSQL keeps of its pages in its own memory; what it reads may come from \
                the system's page cache.",
        finds: |look| {
            let (reads, share) = look.share("db.database.blks_read", &["db.database.blks_hit"])?;
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
        about: "What an operation of a statement may keep in memory before it uses files.",
        finds: |look| {
            let files = look
                .mean("db.database.temp_files")
                .filter(|per_s| *per_s > 0.05)?;
            let bytes = look.mean("db.database.temp_bytes").unwrap_or(0.0);
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
        about: "How much write-ahead log there may be before a checkpoint is due.",
        finds: |look| {
            let requested = look.view.run.series("db.checkpointer.requested")?;
            let (count, covered_s) = look.view.integral(requested);
            (count >= 0.5).then(|| {
                format!(
                    "in {}, {} checkpoint{} requested and not waited for by the clock",
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
        about: "What is kept of the write-ahead log before it is written.",
        finds: |look| {
            let full = look.often("db.wal.buffers_full")?;
            Some(format!(
                "{}/s times the buffers were full and a session had to write them",
                text::rate(full)
            ))
        },
    },
    Rule {
        setting: "bgwriter_lru_maxpages",
        counters: &["bgwriter.maxwritten_clean"],
        about: "How many pages the background writer cleans in a round, so that sessions need not.",
        finds: |look| {
            let stopped = look.often("db.bgwriter.maxwritten_clean")?;
            Some(format!(
                "{}/s rounds of the background writer ended since they had written so many pages",
                text::rate(stopped)
            ))
        },
    },
    Rule {
        setting: "deadlock_timeout",
        counters: &["locks.waiting", "database.deadlocks"],
        about: "How long a session waits for a lock before it looks for a deadlock; that it has to \
                wait is a matter of the statements, their keys and their order.",
        finds: |look| {
            let waiting = look.mean("db.locks.waiting").filter(|mean| *mean >= 0.1);
            let deadlocks = look.often("db.database.deadlocks");
            let waiting = waiting
                .map(|mean| format!("{} sessions waited for locks on average", text::plain(mean)));
            let deadlocks = deadlocks.map(|per_s| format!("{}/s deadlocks", text::rate(per_s)));
            let told: Vec<String> = waiting.into_iter().chain(deadlocks).collect();
            (!told.is_empty()).then(|| told.join(", "))
        },
    },
];
