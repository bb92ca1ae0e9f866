//! SQLite's file locked for longer than its sessions wait.

use dyno_core::db::{ErrorKind, Family};
use dyno_core::finding::Cause;
use dyno_core::interval::ErrorsByCode;

use crate::view::View;

/// <https://www.sqlite.org/rescode.html>: the primary code `SQLITE_BUSY` in the lowest byte, for
/// locks of other connections.
const BUSY: i32 = 5;
/// A read transaction cannot write because another session wrote. No session waits for a lock.
const BUSY_SNAPSHOT: i32 = 517;

pub(super) const ADVICE: &str = "Find who held the lock for longer than busy_timeout: another \
                                 process with the file open (lsof, fuser), such as a backup or a \
                                 shell with a transaction, or one of the run's own long \
                                 transactions. Or use fewer sessions that write, or raise \
                                 busy_timeout in the URL.";

/// The cause if most errors are those of a file that stayed locked.
pub(super) fn cause(view: &View, codes: &ErrorsByCode) -> Option<Cause> {
    if view.family() != Some(Family::Sqlite) {
        return None;
    }
    let is_busy = |code: &str| {
        let code = code.parse::<i32>();
        code.is_ok_and(|code| code & 0xff == BUSY && code != BUSY_SNAPSHOT)
    };
    let (mut busy, mut others) = (0_u64, 0_u64);
    for (code, error) in codes {
        let sum = match error.kind == ErrorKind::Conflict && is_busy(code) {
            true => &mut busy,
            false => &mut others,
        };
        *sum = sum.saturating_add(error.count);
    }
    (busy > others).then_some(Cause::DatabaseLocked)
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use dyno_core::finding::Outcome::{Doubt, NotChecked};
    use dyno_core::record::RunRecord;
    use dyno_samples::{Product, closed, noisy};

    use super::*;
    use crate::context::Context;
    use crate::errors::tests::failing;
    use crate::tests::judge_one;

    fn run(product: Product, errors: &[(&str, u64)]) -> RunRecord {
        let mut rates = noisy(30, 1000.0, 0.04, 1);
        rates[12..16].fill(0.0);
        let mut run = closed(&rates, product);
        for (code, count) in errors {
            failing(&mut run, code, ErrorKind::Conflict, *count);
        }
        run
    }

    /// Repeats events in these seconds.
    fn repeated(mut run: RunRecord, seconds: Range<usize>) -> RunRecord {
        for interval in &mut run.intervals[seconds] {
            interval.counters.retries += 10;
        }
        run
    }

    #[test]
    fn a_file_that_another_process_locked_is_the_cause_of_errors_and_stalls() {
        let busy = [("5", 700), ("517", 20)];
        let locked = repeated(run(Product::Sqlite, &busy), 12..16);
        let errors = judge_one(&locked, &Context::default(), "errors");
        assert_eq!(errors.outcome, Doubt, "{}", errors.evidence);
        assert!(errors.names(Cause::DatabaseLocked), "{errors:?}");
        assert!(errors.advice.contains("another process"), "{errors:?}");
        let stalls = judge_one(&locked, &Context::default(), "stalls");
        assert_eq!(stalls.outcome, NotChecked, "{}", stalls.evidence);
        // Nobody gave up in the stall: it has another cause.
        let elsewhere = repeated(run(Product::Sqlite, &busy), 20..24);
        let stalls = judge_one(&elsewhere, &Context::default(), "stalls");
        assert_eq!(stalls.outcome, Doubt, "{}", stalls.evidence);
        for (product, codes) in [
            // Sessions of the run that wrote at the same time.
            (Product::Sqlite, &[("5", 20), ("517", 700)]),
            (Product::Postgres, &[("5", 700), ("517", 20)]),
        ] {
            let errors = judge_one(&run(product, codes), &Context::default(), "errors");
            assert!(!errors.names(Cause::DatabaseLocked), "{errors:?}");
        }
    }
}
