//! Each check of conduct: a run that passes, one that fails, and one that cannot be checked.

use dyno_core::catalogue::names;
use dyno_core::finding::Outcome::{Doubt, NotChecked, Pass, Refuse};
use dyno_core::plan::OptionValue;
use dyno_core::record::EventKind;
use dyno_samples::{
    self as samples, assert_begins, assert_has, assert_lacks, drop_series, fact, series, setting,
    values,
};

use crate::context::{Keeping, SecretScan};
use crate::tests::{check, expect, expect_with, summary};

#[test]
fn a_run_without_agents_is_not_checked_for_them() {
    expect("agents", NotChecked, |_| {});
}

#[test]
fn observers_that_cost_too_much_are_noticed() {
    expect("observer-cost", Pass, |_| {});
    expect("observer-cost", Doubt, |run| {
        series(run, "observer.cpu", &[0.2; 30])
    });
    expect("observer-cost", NotChecked, |run| {
        drop_series(run, "observer.")
    });
    // Metrics exporters are part of the cost.
    expect("observer-cost", Doubt, |run| {
        fact(run, names::OBSERVER_EXPORT_CORES, "0.06")
    });
    expect("observer-cost", Pass, |run| {
        fact(run, names::OBSERVER_EXPORT_CORES, "0.001")
    });
    // The first sample is most of a second.
    expect("observer-cost", NotChecked, |run| {
        series(run, "observer.cpu", &[0.2; 30]);
        run.summary.as_mut().unwrap().measured_s = 1.0;
    });
}

#[test]
fn observers_that_fail_are_noticed() {
    expect("observers", Pass, |_| {});
    expect("observers", Doubt, |run| {
        let text = "the database's observer lost its connection";
        let lost = values::event(9.0, None, EventKind::Observer, text);
        run.events.push(lost);
    });
    let mut late = vec![2.0; 30];
    late[9] = 3100.0;
    expect("observers", Doubt, |run| {
        series(run, "observer.late", &late)
    });
    expect("observers", Doubt, |run| {
        for series in &mut run.series {
            series.points.retain(|(at, _)| *at < 8.0 || *at > 17.0);
        }
    });
    expect("observers", NotChecked, |run| run.series.clear());
}

#[test]
fn a_gap_of_an_observer_is_reported_once_with_its_start_and_length() {
    let event = |at_s, until_s, text| values::event(at_s, until_s, EventKind::Observer, text);
    let found = expect("observers", Doubt, |run| {
        let lost = "the database's observer has no connection: it was killed";
        let again = "the database answers its observer again, after 3.0 s";
        run.events.push(event(2.84, None, lost));
        run.events.push(event(2.84, Some(5.84), again));
        run.events.push(event(9.0, None, "a sample was refused"));
    });
    assert_eq!(
        found.evidence,
        "Observers failed: from 2.84 s for 3 s (the database's observer has no connection: it was \
         killed) and at 9 s (a sample was refused); the latest sample was 3 ms late; no sample is \
         missing."
    );
    // A gap beyond the measurement counts up to its end.
    let found = expect("observers", Doubt, |run| {
        run.events.push(event(-2.0, Some(99.0), "no connection"));
    });
    let expected = "Observers failed: from 0 s for 30 s (no connection);";
    assert_begins(&found.evidence, expected);
}

#[test]
fn samples_that_are_missing_are_counted() {
    let found = expect("observers", Pass, |_| {});
    assert_lacks(&found.evidence, "0 %");
    let found = expect("observers", Pass, |run| {
        for series in &mut run.series {
            series.points.retain(|(at, _)| *at < 8.0 || *at > 10.0);
        }
    });
    let expected = "; 2 samples (6.9 %) are missing.";
    assert!(found.evidence.ends_with(expected), "{}", found.evidence);
}

#[test]
fn a_record_with_a_gap_is_noticed() {
    expect("record", NotChecked, |_| {});
    expect_with("record", Pass, |_, context| {
        context.keeping = Some(Keeping::Whole);
    });
    let found = expect_with("record", Doubt, |_, context| {
        let full = "there is no space left on disk/dyno.db".to_owned();
        context.keeping = Some(Keeping::Lost(full));
    });
    assert_has(&found.evidence, "no space left");
    let found = expect("record", Doubt, |run| {
        run.intervals[3].counters.events -= 31
    });
    assert_has(&found.evidence, "events, the total has");
}

#[test]
fn a_total_that_is_less_than_its_intervals_is_noticed() {
    let found = expect("record", Doubt, |run| summary(run).totals.reads /= 2);
    assert_has(&found.evidence, "of `reads`, and");
    expect("record", NotChecked, |run| summary(run).totals.reads += 7);
}

#[test]
fn passwords_are_found_and_never_shown() {
    const URL: &str = "mysql://root:hunter2@db:3306/x";
    expect("secrets", Pass, |_| {});
    expect("secrets", Pass, |run| {
        run.head.argv.push("mysql://root:***@db/x".to_owned())
    });
    expect("secrets", Pass, |run| {
        setting(run, "wsrep_sst_auth", "(hidden)");
        setting(run, "ssl_key", "/etc/mysql/server-key.pem");
        fact(run, "server.configured.ssl_passphrase", "***");
        let options = "gcache.size=1G;socket.ssl_key_password=***;a.b=c";
        fact(run, "server.configured.wsrep_provider_options", options);
    });
    let shown = [
        expect("secrets", Refuse, |run| {
            run.head.argv.push(format!("--target={URL}"))
        }),
        expect("secrets", Refuse, |run| {
            run.head.note = format!("see {URL}")
        }),
        expect("secrets", Refuse, |run| fact(run, "server.upstream", URL)),
        expect("secrets", Refuse, |run| {
            setting(run, "primary_conninfo", URL)
        }),
        expect("secrets", Refuse, |run| {
            setting(run, "report_password", "hunter2")
        }),
        expect("secrets", Refuse, |run| {
            let options = "gcache.size=1G;socket.ssl_key_password=hunter2";
            fact(run, "server.configured.wsrep_provider_options", options)
        }),
        expect("secrets", Refuse, |run| {
            fact(run, "server.configured.ssl_passphrase", "hunter2")
        }),
        expect("secrets", Refuse, |run| {
            let argv = ["pgbench", "host=db password = 'a hunter2'"];
            run.head.argv.extend(argv.map(str::to_owned))
        }),
        expect("secrets", Refuse, |run| {
            let option = OptionValue::Text("hunter2".to_owned());
            run.head
                .workload
                .options
                .push(("http_pass".to_owned(), option))
        }),
        expect("secrets", Refuse, |run| {
            let text = "exec curl -u user:hunter2 http://x";
            run.events
                .push(values::event(9.0, None, EventKind::Observer, text))
        }),
        expect_with("secrets", Refuse, |_, context| {
            context.secret_scan = Some(SecretScan {
                places: vec!["the server's settings".to_owned()],
                found: vec!["the setting wsrep_sst_auth".to_owned()],
                hidden: Vec::new(),
            });
        }),
    ];
    for finding in shown {
        assert!(!format!("{finding:?}").contains("hunter2"));
    }
}

#[test]
fn a_run_can_be_repeated() {
    expect("provenance", Pass, |_| {});
    expect("provenance", Doubt, |run| run.head.script_sha256.clear());
    expect("provenance", Doubt, |run| {
        run.head.drive = None;
        run.summary = None;
    });
    check(&samples::imported(), "provenance", NotChecked);
}

#[test]
fn a_log_without_its_end_is_doubted() {
    let mut run = samples::imported();
    check(&run, "record", NotChecked);
    fact(&mut run, names::IMPORT_CUT_OFF, "they lack the total time");
    let found = check(&run, "record", Doubt);
    assert_has(&found.evidence, "lack the total time");
}

#[test]
fn a_log_without_some_report_lines_is_doubted() {
    let mut run = samples::imported();
    fact(&mut run, names::IMPORT_GAPS, "the report lines have 1 gap");
    let found = check(&run, "record", Doubt);
    assert_has(&found.evidence, "incomplete: the report lines have 1 gap.");
    assert_has(&found.advice, "unknown for the time of the missing lines");
    fact(&mut run, names::IMPORT_CUT_OFF, "they lack the total time");
    let found = check(&run, "record", Doubt);
    assert_has(
        &found.evidence,
        "lack the total time; the report lines have",
    );
}
