//! Unusual versions and forms of HammerDB's output.

// Clippy does not treat test helpers as tests.

use crate::common::{one, read, summary};
use dyno_core::catalogue::names;
use dyno_core::record::RunRecord;
use dyno_core::summary::RunEnd;
use dyno_import::Tool;
use dyno_samples::{assert_begins, assert_has};

fn said(run: &RunRecord) -> String {
    summary(run).warnings.join("\n")
}

/// A run of three users over four minutes, with these lines at those minutes of the test; 9 is
/// after its result.
fn hammerdb(lines: &[(u32, &str)]) -> String {
    let at = |minute: u32| -> String {
        let own = lines.iter().filter(|(at, _)| *at == minute);
        own.map(|(_, line)| format!("{line}\n")).collect()
    };
    let minutes = (1..=4).map(|minute| format!("Vuser 1:{minute}  ...,\n{}", at(minute)));
    format!(
        "HammerDB CLI v4.12\nVuser 1:Beginning rampup time of 1 minutes\n\
         Vuser 1:Rampup complete, Taking start Transaction Count.\n\
         Vuser 1:Timing test period of 4 in minutes\n{}{}\
         Vuser 1:Test complete, Taking end Transaction Count.\n\
         Vuser 1:3 Active Virtual Users configured\n\
         Vuser 1:TEST RESULT : System achieved 700 NOPM from 1600 PostgreSQL TPM\n{}\
         ALL VIRTUAL USERS COMPLETE\n",
        at(0),
        minutes.collect::<String>(),
        at(9)
    )
}

#[test]
fn results_of_hammerdb_jobs_as_json() {
    let result = |job: &str, orders: u64| {
        let result = format!("System achieved {orders} NOPM from 16102 MariaDB TPM");
        format!(
            "HAMMERDB RESULT\n[\n  \"{job}\",\n  \"2026-11-25 16:59:58\",\n  \
             \"6 Active Virtual Users configured\",\n  \"TEST RESULT : {result}\"\n]\n"
        )
    };
    let text = format!("{}{}", result("65AF", 7001), result("65B0", 7002));
    let imported = read(Tool::Hammerdb, &text);
    let orders = imported
        .runs
        .iter()
        .map(|run| summary(run).figures[0].value);
    assert_eq!(orders.collect::<Vec<_>>(), [7001.0, 7002.0]);
    for run in &imported.runs {
        assert_eq!(summary(run).drive.as_ref().unwrap().sessions, 6);
        assert!(run.not_observed.iter().any(|gap| gap.what == "measured_s"));
    }
}

#[test]
fn virtual_users_that_failed_count_once() {
    let error = "Error in Virtual User 2: canceling statement due to conflict";
    let twice = [
        (2, error),
        (2, "Vuser 2:FINISHED FAILED"),
        (3, "Vuser 4:FINISHED FAILED"),
    ];
    let run = one(Tool::Hammerdb, &hammerdb(&twice));
    let end = RunEnd::Failed("2 of 3 virtual users failed".to_owned());
    assert_eq!(summary(&run).end, end);
    assert_eq!(summary(&run).warnings.len(), 1, "{}", said(&run));
    assert!(said(&run).contains(error));
    // A failure after the result does not change it, even one of the monitor.
    let late = [
        (
            9,
            "Error in Virtual User 1: key \"msperclick\" not known in dictionary",
        ),
        (9, "Vuser 1:FINISHED FAILED"),
        (9, "Vuser 2:FINISHED SUCCESS"),
    ];
    let run = one(Tool::Hammerdb, &hammerdb(&late));
    assert_eq!(summary(&run).end, RunEnd::Completed);
    assert_has(&said(&run), "1 virtual user failed after the test");
    assert_eq!(run.fact(names::IMPORT_UNSTEADY), None);
}

#[test]
fn virtual_users_that_end_before_the_test_does() {
    let early = [
        (1, "Vuser 2:FINISHED SUCCESS"),
        (1, "Vuser 3:FINISHED SUCCESS"),
        (2, "Vuser 4:FINISHED SUCCESS"),
        (9, "Vuser 1:FINISHED SUCCESS"),
    ];
    let run = one(Tool::Hammerdb, &hammerdb(&early));
    let unsteady = run.fact(names::IMPORT_UNSTEADY).unwrap();
    assert_begins(
        unsteady,
        "3 of 3 virtual users had ended after 1 of 4 minutes",
    );
    let some = one(Tool::Hammerdb, &hammerdb(&early[2..]));
    assert_begins(
        some.fact(names::IMPORT_UNSTEADY).unwrap(),
        "1 of 3 virtual users",
    );
    // The test ends with its last minute.
    let ends = early.map(|(at, line)| (at.max(4), line));
    let run = one(Tool::Hammerdb, &hammerdb(&ends));
    assert_eq!(
        (run.fact(names::IMPORT_UNSTEADY), said(&run).as_str()),
        (None, "")
    );
}

#[test]
fn transactions_of_hammerdb_that_failed() {
    let lines = [
        (
            0,
            "Vuser 2:New Order Procedure Error set RAISEERROR for Details",
        ),
        (
            2,
            "Vuser 3:mysqlexec/db server: Deadlock found when trying to get lock",
        ),
        (
            3,
            "Vuser 2:Payment Procedure Error set RAISEERROR for Details",
        ),
        (
            9,
            "Vuser 2:Delivery Procedure Error set RAISEERROR for Details",
        ),
    ];
    let run = one(Tool::Hammerdb, &hammerdb(&lines));
    assert_eq!(
        (summary(&run).totals.errors, &summary(&run).end),
        (3, &RunEnd::Completed)
    );
    assert_has(&said(&run), "4 transactions failed, 3 of them in the test");
    let gap = |run: &RunRecord| run.not_observed.iter().any(|gap| gap.what == "errors");
    assert!(!gap(&run) && gap(&one(Tool::Hammerdb, &hammerdb(&[]))));
}

#[test]
fn a_hammerdb_log_that_appears_twice_is_one_run() {
    let text = hammerdb(&[]);
    for doubled in [
        text.repeat(2),
        text.lines()
            .skip(1)
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .repeat(3),
    ] {
        let imported = read(Tool::Hammerdb, &doubled);
        assert_eq!(imported.runs.len(), 1);
        let warnings = imported.warnings.iter();
        assert!(
            warnings
                .clone()
                .any(|own| own.text.contains("the same run twice"))
        );
    }
    // Two runs of one script; the second has other figures.
    let other = text.replace("700 NOPM", "710 NOPM");
    assert_eq!(
        read(Tool::Hammerdb, &format!("{text}{other}")).runs.len(),
        2
    );
    let result = "Vuser 1:TEST RESULT : System achieved 7 NOPM from 16 PostgreSQL TPM\n";
    let two = format!("{result}{}", result.replace("7 NOPM", "8 NOPM"));
    assert_eq!(read(Tool::Hammerdb, &two).runs.len(), 2);
}

#[test]
fn a_list_of_jobs_is_the_log() {
    let text = hammerdb(&[]);
    let words = text.lines().flat_map(|line| {
        let user = line
            .strip_prefix("Vuser ")
            .and_then(|rest| rest.split_once(':'));
        let (user, said) = user.unwrap_or(("0", line));
        [user.to_owned(), said.to_owned()]
    });
    let list = serde_json::to_string_pretty(&words.collect::<Vec<_>>()).unwrap();
    let (of_list, of_text) = (one(Tool::Hammerdb, &list), one(Tool::Hammerdb, &text));
    assert_eq!(summary(&of_list).figures, summary(&of_text).figures);
    assert_eq!(of_list.head.drive, of_text.head.drive);
}

/// A run of two minutes with a sample of its transaction counter every ten seconds.
fn counted(samples: &[u64]) -> RunRecord {
    let at = |second: usize| {
        format!(
            "Wed Oct 07 10:{:02}:{:02} UTC 2026",
            second / 60,
            second % 60
        )
    };
    let counter = (1..).zip(samples);
    let counter = counter.map(|(number, tpm)| format!("{tpm} MySQL tpm @ {}\n", at(10 * number)));
    let text = format!(
        "Vuser 1:Beginning rampup time of 1 minutes\nTimestamp 1 @ {}\n\
         Vuser 1:Rampup complete, Taking start Transaction Count.\n\
         Vuser 1:Timing test period of 2 in minutes\n{}Timestamp 1 @ {}\n\
         Vuser 1:Test complete, Taking end Transaction Count.\n\
         Vuser 1:TEST RESULT : System achieved 1300 NOPM from 3000 MySQL TPM\n",
        at(0),
        counter.collect::<String>(),
        at(120)
    );
    one(Tool::Hammerdb, &text)
}

#[test]
fn samples_with_more_transactions_than_the_test_are_left_out() {
    let points = |run: &RunRecord| -> Vec<f64> {
        let mut series = run.series.iter();
        let own = series.find(|own| own.key.name == names::IMPORT_TRANSACTIONS);
        own.map_or_else(Vec::new, |own| {
            own.points.iter().map(|(_, per_s)| *per_s).collect()
        })
    };
    let mut samples = vec![3000; 12];
    let run = counted(&samples);
    assert_eq!((points(&run), said(&run).as_str()), (vec![50.0; 12], ""));
    // In ten seconds, twice as many as in the two minutes at most.
    samples[4] = 30_000_000;
    let run = counted(&samples);
    assert_eq!(points(&run), vec![50.0; 11]);
    assert_has(
        &said(&run),
        "1 sample of the transaction counter has more transactions than the whole test",
    );
    assert_eq!(summary(&run).rates.events_per_s, 50.0);
    assert_eq!(run.fact("import.contradictions"), None);
    // If all samples say so, the result is wrong.
    let run = counted(&[30_000_000; 12]);
    let contradictions = run.fact("import.contradictions").unwrap();
    assert_has(contradictions, "the transaction counter showed 30000000");
}

#[test]
fn the_profile_of_one_virtual_user() {
    let bar = "Vuser 2:+-----------------+--------------+------+--------+--------------+\n";
    let profile = format!(
        "{bar}Vuser 2:|PROCNAME | EXCLUSIVETOT| %| CALLNUM| AVGPERCALL| CUMULTOT|\n{bar}\
         Vuser 2:|slev | 5001500|60.00%| 2000| 2500| 6000000|\n{bar}"
    );
    let run = one(Tool::Hammerdb, &(hammerdb(&[]) + &profile));
    let [own] = summary(&run).operations.as_slice() else {
        panic!("{:?}", summary(&run).operations);
    };
    assert_eq!((own.name.as_str(), own.totals.done), ("slev", 2000));
    assert_eq!((own.service.mean_ms, own.service.max_ms), (Some(2.5), None));
    assert_has(&said(&run), "virtual user 2 alone");
    let unread = hammerdb(&[]) + ">>>>> VIRTUAL USER 2 : ELAPSED TIME : 9000ms\n";
    assert!(said(&one(Tool::Hammerdb, &unread)).contains("it is not read"));
}

#[test]
fn times_of_an_ambiguous_zone_count_from_each_other() {
    let text = text!("written-hammerdb.log");
    let (plain, run) = (
        one(Tool::Hammerdb, text),
        one(Tool::Hammerdb, &text.replace(" UTC ", " BST ")),
    );
    assert!(!plain.series[0].points.is_empty());
    assert_eq!(run.series[0].points, plain.series[0].points);
    assert!(summary(&plain).started_unix_s.is_some());
    assert_eq!(summary(&run).started_unix_s, None);
    assert!(run.not_observed("started_unix_s").is_some());
}
