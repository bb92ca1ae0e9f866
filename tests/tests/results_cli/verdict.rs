//! What a user can do about a verdict: state expectations and claims, waive findings, and gate on
//! it.

use dyno_tests::Kind;

use crate::common::{Lab, SHORT, finding, has, prepared, worst};

#[test]
fn an_expectation_that_does_not_hold_refuses_the_run() {
    let lab = Lab::new();
    for (kind, held, missed) in [
        (
            Kind::Mariadb,
            "innodb_flush_log_at_trx_commit=1",
            "innodb_flush_log_at_trx_commit=2",
        ),
        (Kind::Postgres, "fsync=on", "fsync=off"),
    ] {
        let (_database, target) = prepared(&lab, kind);
        let run = format!("run oltp_point_select {target} {SHORT} -q");
        let result = lab.json(&format!("{run} --json --expect {held}"));
        assert_eq!(finding(&result, "requested-settings")["outcome"], "pass");
        let runs = lab.json("list runs --json").as_array().unwrap().len();
        let line = format!("{run} --expect {held} --expect {missed} --expect no_such=1");
        // If it is known before the load, it is reported then, and nothing runs.
        let early = lab.dyno(&line).failure(3);
        has(
            &early,
            &["would be refused", "no_such does not exist", "--force"],
        );
        assert_eq!(lab.json("list runs --json").as_array().unwrap().len(), runs);
        let line = format!("{line} --json --force");
        let result = lab.json(&line);
        let refused = finding(&result, "requested-settings");
        assert_eq!(refused["outcome"], "refuse", "{refused}");
        let evidence = refused["evidence"].as_str().unwrap().to_lowercase();
        let name = held.split('=').next().unwrap();
        assert!(evidence.contains(&format!("{name} is ")), "{evidence}");
        assert!(evidence.contains("no_such does not exist"), "{evidence}");
        assert_eq!(result["verdict"], "refused");

        // The exit status reflects the verdict on request.
        lab.dyno(&format!("{run} --expect {missed} --force"))
            .success();
        let gated = lab
            .dyno(&format!("{run} --expect {missed} --gate --force"))
            .failure(3);
        has(&gated, &["✘ refused", "transactions", "requested-settings"]);
        let waived =
            format!("{run} --gate --expect {missed} --waive 'requested-settings=on purpose'");
        let result = lab.json(&format!("{waived} --json"));
        assert_eq!(result["verdict"], worst(&result));
        assert_ne!(result["verdict"], "refused", "{result:#}");
        assert_eq!(
            finding(&result, "requested-settings")["waived"],
            "on purpose"
        );
        lab.dyno(&format!("{run} --gate")).success();
    }
}

#[test]
fn a_finding_is_waived_by_name_with_a_reason() {
    let lab = Lab::new();
    let (_database, target) = prepared(&lab, Kind::Mariadb);
    let run = format!("run oltp_point_select {target} {SHORT} -q --expect sync_binlog=7 --force");
    lab.dyno(&run).success();
    let verdict = || lab.json("list runs --json")[0]["verdict"].clone();
    assert_eq!(verdict(), "refused");

    for (pair, texts) in [
        (
            "requested-setings=why",
            &["no check 'requested-setings'", "'requested-settings'"][..],
        ),
        ("warmup=why", &["did you mean 'warm-up'?"]),
        ("requested-settings", &["is not CHECK=REASON"]),
        ("'requested-settings= '", &["is not CHECK=REASON"]),
        ("secrets=why", &["'secrets' is not a finding against run 1"]),
    ] {
        has(&lab.dyno(&format!("waive 1 {pair}")).failure(2), texts);
    }
    has(&lab.dyno("waive 1").failure(2), &["needs CHECK=REASON"]);
    has(&lab.dyno("waive").failure(2), &["needs a RUN"]);
    has(
        &lab.dyno("waive 9 secrets=why").failure(1),
        &["there is no run `9`"],
    );
    assert_eq!(verdict(), "refused");

    let reason = "the binary log is off on this server";
    let output = lab
        .dyno(&format!("waive last 'requested-settings={reason}'"))
        .success();
    let result = lab.json("show --json");
    assert_eq!(result["verdict"], worst(&result));
    assert_ne!(result["verdict"], "refused");
    assert_eq!(verdict(), result["verdict"]);
    let word = result["verdict"].as_str().unwrap();
    assert_eq!(output.stdout, format!("run 1 is {word}\n"));
    assert_eq!(finding(&result, "requested-settings")["waived"], reason);
    let shown = lab.dyno("show --findings").success();
    has(
        &shown,
        &["waived requested-settings", &format!("Waived: {reason}")],
    );
    let waivers = lab.sql("SELECT check_name, reason FROM waiver");
    assert_eq!(waivers, [["requested-settings", reason]]);

    // Options are checked before a run, too.
    for (pair, expected) in [
        ("nosuch=why", "there is no check"),
        ("stalls", "is not NAME=VALUE"),
    ] {
        has(
            &lab.dyno(&format!("{run} --waive {pair}")).failure(2),
            &[expected],
        );
    }
    assert_eq!(lab.number("SELECT count(*) FROM run"), 1.0);
}

#[test]
fn refuses_meaningless_options_of_record_and_verdict() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for (option, expected) in [
        ("--claim hot", "not one of in-memory, on-disk, cold, warm"),
        ("--expect sync_binlog", "is not NAME=VALUE"),
        ("--expect =1", "is not NAME=VALUE"),
        ("--expect sync_binlog=", "is not NAME=VALUE"),
        ("--observe some", "neither on nor off"),
        ("--calibrate often", "not one of auto, always, never"),
        ("--waive stalls", "is not NAME=VALUE"),
        ("--gate=yes", "--gate"),
        (
            "--expect sync_binlog=1 --observe off",
            "--expect needs the server's settings, which --observe off does not read",
        ),
    ] {
        let output = lab.dyno(&format!("run oltp_point_select {target} {option}"));
        has(&output.failure(2), &[expected]);
    }
    assert!(!lab.path("dyno.db").exists());
    let claimed = lab.json(&format!(
        "run oltp_point_select {target} {SHORT} -q --json --claim warm --observe off"
    ));
    let observers = finding(&claimed, "other-load");
    assert_eq!(observers["outcome"], "not_checked", "{observers}");
    assert_eq!(lab.number("SELECT count(*) FROM sample"), 0.0);
    let claims = lab.sql("SELECT value FROM fact WHERE name = 'run.claim'");
    assert_eq!(claims, [["warm"]]);
}
