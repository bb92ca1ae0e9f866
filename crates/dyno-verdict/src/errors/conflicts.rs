//! Conflicts between sessions, by what ended them.

use dyno_core::catalogue::names;
use dyno_core::db::ErrorKind;
use dyno_core::interval::ErrorsByCode;

use crate::view::View;

/// Why a server ended one of the conflicting transactions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conflict {
    /// Another transaction has changed a row since this one took its snapshot.
    Serialization,
    /// Each waited for a lock of the other.
    Deadlock,
    /// The wait for a lock was too long, or the server does not say.
    Other,
}

impl Conflict {
    fn of(code: &str) -> Self {
        match code {
            // PostgreSQL, SQLite's `SQLITE_BUSY_SNAPSHOT`, MariaDB's innodb_snapshot_isolation.
            "40001" | "517" | "1020" => Self::Serialization,
            // PostgreSQL; row locks, XA, user-level locks, the locking service.
            "40P01" | "1213" | "1614" | "3058" | "3132" => Self::Deadlock,
            _ => Self::Other,
        }
    }
}

/// Advice on the most frequent kind of conflict.
pub(super) fn advice(view: &View, codes: &ErrorsByCode) -> &'static str {
    // Only standby servers count them, and no session can change their rows.
    if view.mean(names::DB_DATABASE_CONFLICTS) > Some(0.0) {
        return "Recovery on this standby server removed rows or locked tables that statements \
                were reading, and cancelled them. Turn on hot_standby_feedback, raise \
                max_standby_streaming_delay, or use shorter transactions.";
    }
    match most(codes) {
        Conflict::Serialization if view.run.head.workload.name == "tpcc" => {
            "Transactions changed rows that others had changed since they began. Use fewer \
             sessions per warehouse (-c, --scale), or READ COMMITTED (--trx_level RC). If you want \
             to measure conflicts, waive this."
        }
        Conflict::Serialization => {
            "Transactions changed rows that others had changed since they began. Use fewer \
             sessions, more rows, or the isolation level READ COMMITTED if the server has it. If \
             you want to measure conflicts, waive this."
        }
        Conflict::Deadlock => {
            "Use fewer sessions, more rows, or the same lock order in all sessions, so that they \
             do not block each other. If you want to measure conflicts, waive this."
        }
        Conflict::Other => {
            "Use fewer sessions or more rows, so that they do not block each other. If you want to \
             measure conflicts, waive this."
        }
    }
}

fn most(codes: &ErrorsByCode) -> Conflict {
    let conflicts = || (codes.iter()).filter(|(_, error)| error.kind == ErrorKind::Conflict);
    let count = |of: Conflict| -> u64 {
        let own = conflicts().filter(|(code, _)| Conflict::of(code) == of);
        own.fold(0, |sum, (_, error)| sum.saturating_add(error.count))
    };
    let (serialization, deadlocks) = (count(Conflict::Serialization), count(Conflict::Deadlock));
    let others = count(Conflict::Other);
    match serialization.max(deadlocks).max(others) {
        most if most == serialization => Conflict::Serialization,
        most if most == deadlocks => Conflict::Deadlock,
        _ => Conflict::Other,
    }
}

#[cfg(test)]
mod tests {
    use dyno_core::finding::Outcome::Refuse;
    use dyno_samples::{Product, assert_has, assert_lacks, closed, drop_series, series};

    use super::*;
    use crate::errors::tests::failing;
    use crate::tests::check;

    fn advice_on(product: Product, workload: &str, counts: &[(&str, u64)]) -> String {
        let mut run = closed(&[1000.0; 20], product);
        run.head.workload.name = workload.to_owned();
        // Its zeros would mean that the deadlocks are not of row locks.
        drop_series(&mut run, "db.status.innodb_deadlocks");
        for (code, count) in counts {
            failing(&mut run, code, ErrorKind::Conflict, *count);
        }
        check(&run, "errors", Refuse).advice
    }

    #[test]
    fn the_advice_on_conflicts_depends_on_what_they_were() {
        let postgres = |counts: &[_]| advice_on(Product::Postgres, "oltp_read_write", counts);
        let changed = postgres(&[("40001", 30_000), ("40P01", 200)]);
        assert_has(&changed, "READ COMMITTED");
        assert_lacks(&changed, "lock order");
        assert_lacks(&changed, "--trx_level");
        let tpcc = advice_on(Product::Postgres, "tpcc", &[("40001", 30_000)]);
        assert_has(&tpcc, "fewer sessions per warehouse");
        assert_has(&tpcc, "--trx_level RC");
        assert_lacks(&tpcc, "lock order");
        for deadlocks in [
            postgres(&[("40001", 200), ("40P01", 30_000)]),
            advice_on(Product::Mysql, "tpcc", &[("1213", 30_000)]),
        ] {
            assert_has(&deadlocks, "same lock order");
            assert_lacks(&deadlocks, "READ COMMITTED");
        }
        let waited = advice_on(Product::Mysql, "tpcc", &[("1205", 30_000), ("1213", 9)]);
        assert_has(&waited, "Use fewer sessions or more rows");
    }

    #[test]
    fn a_standby_cancels_statements_for_its_recovery() {
        let mut run = closed(&[1000.0; 20], Product::Postgres);
        failing(&mut run, "40001", ErrorKind::Conflict, 30_000);
        series(&mut run, "db.database.conflicts", &[0.0; 20]);
        let advice = check(&run, "errors", Refuse).advice;
        assert_has(&advice, "READ COMMITTED");
        series(&mut run, "db.database.conflicts", &[1_500.0; 20]);
        let advice = check(&run, "errors", Refuse).advice;
        assert_has(&advice, "hot_standby_feedback");
        assert_lacks(&advice, "READ COMMITTED");
    }
}
