//! Values that sessions set for themselves, and that differ from the server's.

use dyno_core::finding::Finding;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass};
use dyno_samples::{Product, assert_begins, assert_has, closed, fact, setting};

use super::unseen::postgres;
use crate::tests::{judged, summary};

/// A run on SQLite that writes: the settings of the target, and those that its sessions set.
fn sqlite(target: [&str; 2], own: &[(&str, &str)]) -> Finding {
    let mut run = closed(&[1000.0; 20], Product::Sqlite);
    summary(&mut run).totals.writes = 500;
    fact(&mut run, "db.file.changed", "yes");
    setting(&mut run, "synchronous", target[0]);
    setting(&mut run, "journal_mode", target[1]);
    for (name, values) in own {
        fact(&mut run, &format!("client.settings[{name}]"), values);
    }
    judged(&run, "durability")
}

#[test]
fn stronger_values_of_sessions_may_not_cover_all_commits() {
    let of = |values: &str, rows: f64, syncs: f64, writes: u64| {
        let mut run = postgres(1000.0, rows, syncs, writes);
        setting(&mut run, "synchronous_commit", "off");
        fact(&mut run, "client.settings[synchronous_commit]", values);
        judged(&run, "durability")
    };
    let unknown = "synchronous_commit = off applies to commits for which sessions did not set it, \
                   and whether there were any is not known.";
    for values in ["on", "local, on", "default, on"] {
        let found = of(values, 1000.0, 300.0, 20_000);
        assert_eq!(found.outcome, NotChecked, "{values}: {}", found.evidence);
        assert_eq!(found.durability, None);
        assert!(found.evidence.ends_with(unknown), "{}", found.evidence);
    }
    // Each commit had a sync, or there was nothing to lose.
    let without_effect = [(1000.0, 1000.0, 20_000), (0.0, 0.0, 0)];
    for (rows, syncs, writes) in without_effect {
        let found = of("on", rows, syncs, writes);
        assert_eq!(found.outcome, Pass, "{}", found.evidence);
        assert_begins(&found.evidence, "Each commit durable:");
        assert_has(
            &found.evidence,
            "for which sessions did not set it, but the",
        );
    }
    // Too few syncs: the server's value was in use.
    let found = of("on", 1000.0, 1.5, 20_000);
    let words = "Lost on process crash because 1,000 transactions per second";
    assert_begins(&found.evidence, words);
    // Some sessions set the server's value.
    let found = of("off, on", 1000.0, 300.0, 20_000);
    let words = "Lost on process crash because synchronous_commit = off and sessions set";
    assert_begins(&found.evidence, words);
}

#[test]
fn stronger_values_on_sqlite_leave_only_doubts() {
    let extra = [("synchronous", "extra")];
    for (target, own) in [
        (["1", "wal"], &extra[..]),
        (["2", "delete"], &extra),
        (["2", "delete"], &[("journal_mode", "wal")]),
    ] {
        let found = sqlite(target, own);
        assert_eq!(found.outcome, NotChecked, "{target:?}: {}", found.evidence);
        assert_has(&found.evidence, "whether there were any is not known");
    }
    // No stronger one.
    let found = sqlite(["1", "wal"], &[("synchronous", "normal")]);
    assert_begins(&found.evidence, "Last commits lost on OS crash because");
    assert_eq!(found.outcome, Pass, "{}", found.evidence);
    let found = sqlite(["0", "wal"], &extra);
    let words = "May be damaged because synchronous = 0 where sessions did not set it:";
    assert_eq!(found.outcome, Doubt, "{}", found.evidence);
    assert_begins(&found.evidence, words);
}

#[test]
fn the_evidence_says_whose_value_it_shows() {
    let mut run = postgres(1000.0, 1000.0, 300.0, 20_000);
    let own = "client.settings[synchronous_commit]";
    fact(&mut run, own, "local, off");
    let found = judged(&run, "durability").evidence;
    assert_begins(
        &found,
        "Lost on process crash because sessions set synchronous_commit = off: ",
    );
    assert_has(&found, "the server's synchronous_commit = on, ");
    assert!(!found.contains("the server's the"), "{found}");
    // Other settings keep their names.
    assert_has(&found, " fsync = on");
    let found = sqlite(["2", "wal"], &[("synchronous", "normal")]);
    assert_has(&found.evidence, "the target's synchronous = 2, ");
}
