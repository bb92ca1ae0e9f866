//! Advice on causes of a slower run that a longer warm-up or run does not remove.

use dyno_core::finding::Cause;

use super::{backups, idle};
use crate::view::View;

const OTHERS: &str = "Stop the other processes, or give them other CPUs than the server and the \
                      load generator, and run again.";
const ALTERED: &str = "Change tables outside the measurement.";
const LOCKS: &str = "Find who held the lock at that time: a session with an open transaction, LOCK \
                     TABLES, a schema change, a backup. Run again without it.";
const NEIGHBOURS: &str = "Measure where the CPUs keep their speed (no neighbours, a fixed clock), \
                          or repeat the run at other times and compare several runs a side.";
const CHECKPOINTS: &str = "Issue CHECKPOINT before the run, or measure over several checkpoints \
                           (checkpoint_timeout, max_wal_size).";

/// Advice on a cause that a longer run does not remove; without such a cause, `otherwise`.
pub(in crate::time) fn advice<'a>(causes: &[Cause], otherwise: &'a str) -> &'a str {
    outside(causes).unwrap_or(otherwise)
}

/// The same for a beginning that differs from the rest.
pub(in crate::time) fn of_beginning<'a>(
    view: &View,
    causes: &[Cause],
    otherwise: &'a str,
) -> &'a str {
    // InnoDB's checkpoint age reaches its usual value in a longer warm-up.
    let at_checkpoint = view.postgres() && causes.contains(&Cause::Checkpoint);
    let checkpoints = at_checkpoint.then_some(CHECKPOINTS);
    outside(causes).or(checkpoints).unwrap_or(otherwise)
}

fn outside(causes: &[Cause]) -> Option<&'static str> {
    // Sessions hold locks longer while they read pages that a warm cache would contain.
    let is_cold = causes.contains(&Cause::PageReads);
    [
        (Cause::IdleSessions, idle::ADVICE),
        (Cause::Backup, backups::ADVICE),
        (Cause::AlterTable, ALTERED),
        (Cause::OtherProcesses, OTHERS),
        (Cause::LockWaits, LOCKS),
        (Cause::Steal, NEIGHBOURS),
        (Cause::SlowCpus, NEIGHBOURS),
    ]
    .into_iter()
    .filter(|(cause, _)| !(is_cold && *cause == Cause::LockWaits))
    .find_map(|(cause, advice)| causes.contains(&cause).then_some(advice))
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome::Doubt;
    use dyno_core::record::RunRecord;
    use dyno_samples::{Product, assert_has, assert_lacks, closed, noisy, series};

    use super::*;
    use crate::tests::check;

    /// A run whose first four seconds are faster than the rest, with a series that is higher then.
    fn slower(product: Product, name: &str, level: f64) -> RunRecord {
        let mut rates = noisy(30, 1000.0, 0.03, 6);
        rates[..4].iter_mut().for_each(|rate| *rate *= 1.6);
        let mut run = closed(&rates, product);
        series(&mut run, "host.cpu.idle", &[30.0; 30]);
        let mut values = [0.0; 30];
        values[4..].fill(level);
        series(&mut run, name, &values);
        run
    }

    #[test]
    fn the_advice_on_a_beginning_is_about_its_cause() {
        for (product, name, level, words, expected) in [
            (
                Product::Mysql,
                "db.backups",
                1.0,
                "a backup ran from",
                backups::ADVICE,
            ),
            (
                Product::Mysql,
                "db.status.com_alter_table",
                1.0,
                "an ALTER TABLE was executed",
                ALTERED,
            ),
            (
                Product::Mysql,
                "db.status.innodb_row_lock_current_waits",
                9.0,
                "statements waited for row locks",
                LOCKS,
            ),
            (
                Product::Postgres,
                "db.checkpointer.buffers_written",
                900.0,
                "a checkpoint wrote pages",
                CHECKPOINTS,
            ),
        ] {
            let found = check(&slower(product, name, level), "warm-up", Doubt);
            // The summary prints the first sentence.
            let first = found.evidence.split(". ").next().unwrap();
            assert_has(first, "; from then on: ");
            assert_has(first, words);
            assert!(found.advice.starts_with(expected), "{}", found.advice);
            assert_lacks(&found.advice, "--warmup");
        }
        let age = "db.status.innodb_checkpoint_age";
        let found = check(&slower(Product::Mysql, age, 9e7), "warm-up", Doubt);
        assert_has(&found.advice, "--warmup");
    }

    #[test]
    fn lock_waits_of_a_cold_cache_do_not_change_the_advice() {
        let (locks, reads) = (Cause::LockWaits, Cause::PageReads);
        assert_eq!(advice(&[locks], "warm up"), LOCKS);
        assert_eq!(advice(&[locks, reads], "warm up"), "warm up");
        assert_eq!(advice(&[reads, Cause::Backup], "warm up"), backups::ADVICE);
    }
}
