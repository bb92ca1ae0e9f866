//! A run from its own plan must be the same run.

use std::fs;

use dyno_tests::Kind;
use dyno_tests::command::run;
use dyno_tests::schema::violations;
use serde_json::{Value, json};

use crate::common::{LIMIT, Lab, SHORT, has, prepared, sound};

/// The head of a run without what is unique to each run.
fn head(lab: &Lab, id: u32) -> Value {
    let rows = lab.sql(&format!("SELECT head FROM run WHERE id = {id}"));
    let mut head: Value = serde_json::from_str(&rows[0][0]).unwrap();
    for own in ["name", "created_unix_s", "argv"] {
        head.as_object_mut().unwrap().remove(own).unwrap();
    }
    head
}

#[test]
fn a_run_from_its_own_plan_has_the_same_head() {
    let lab = Lab::new();
    let (_database, server) = prepared(&lab, Kind::Postgres);
    let all = "--rate 300/s --arrivals constant --latency-limit 50ms --ps-mode disable -c 3 \
               --ignore-errors 40001,40P01 --rand-type zipfian --interval 500ms --grace 250ms \
               --claim warm --waive 'stalls=a busy host' --percentiles 90,99.9 --ledger off";
    let lines = [
        format!("{} {SHORT} -c 2", lab.sqlite()),
        format!("{server} {SHORT} {all} --note 'two words'"),
    ];
    for (index, line) in lines.iter().enumerate() {
        let (first, second) = (2 * index as u32 + 1, 2 * index as u32 + 2);
        lab.dyno(&format!("run oltp_point_select {line} -q"))
            .success();
        let plan = lab.dyno(&format!("show {first} --plan")).success().stdout;
        let parsed: Value = serde_json::from_str(&plan).unwrap();
        let errors = violations("plan.json", &parsed).unwrap();
        assert!(errors.is_empty(), "{errors:#?}\n{plan}");
        assert_eq!(head(&lab, first)["plan"], parsed);
        lab.file("p.json", &plan);
        // The plan must override the environment.
        let mut again = lab.command("run --plan p.json -q");
        again
            .env("DYNO_TARGET", "sqlite:/nowhere/x.db")
            .env("DYNO_RESULTS", "no.db");
        sound(run(&mut again, LIMIT)).success();
        assert_eq!(head(&lab, first), head(&lab, second), "{line}");
        // Printing the plan of the plan gives the same plan.
        assert_eq!(lab.json("run --plan p.json --plan"), parsed);
    }
    let beside = lab.json("run --plan p.json -c 7 --table-size 999 --rate 0 --plan");
    assert_eq!(beside["drive"]["sessions"], 7);
    assert_eq!(beside["drive"]["open_loop"], Value::Null);
    assert_eq!(beside["options"]["table_size"], 999);
    assert_eq!(beside["driver"]["prepare_on_server"], false);
}

#[test]
fn the_number_of_workers_follows_sessions_given_with_a_plan() {
    let lab = Lab::new();
    let line = "oltp_point_select --target mysql://u@127.0.0.1:1/d";
    let plan = |line: &str| lab.json(&format!("run {line} --plan"));
    let one = lab
        .dyno(&format!("run {line} -c 1 --plan"))
        .success()
        .stdout;
    lab.file("p.json", &one);
    assert_eq!(
        plan("--plan=p.json -c 64")["drive"]["workers"],
        plan(&format!("{line} -c 64"))["drive"]["workers"]
    );
    let asked = plan("--plan=p.json -c 64 --workers 3");
    assert_eq!(asked["drive"]["workers"], 3);
    let parsed: Value = serde_json::from_str(&one).unwrap();
    assert_eq!(
        plan("--plan=p.json --time 5s")["drive"]["workers"],
        parsed["drive"]["workers"]
    );
    // `prepare` takes the number of sessions that it would take without the plan, not that of a
    // run.
    let many = lab.dyno(&format!("run {line} -c 500 --plan")).success();
    lab.file("p.json", &many.stdout);
    assert_eq!(
        lab.json("prepare --plan=p.json --plan")["drive"]["sessions"],
        lab.json(&format!("prepare {line} --plan"))["drive"]["sessions"]
    );
}

#[test]
fn a_plan_repeats_a_host_test() {
    let lab = Lab::new();
    let line = "run cpu --cpu-max-prime 500 -c 2 --events 40 -t 0 --warmup 0 -q";
    lab.dyno(line).success();
    let plan = lab.dyno("show 1 --plan").success().stdout;
    lab.file("p.json", &plan);
    lab.dyno("run --plan p.json -q").success();
    assert_eq!(head(&lab, 1), head(&lab, 2));
    assert_eq!(lab.json("show 2 --json")["totals"]["events"], 40);
}

#[test]
fn a_plan_hides_secrets_in_the_users_text() {
    let lab = Lab::new();
    let plan = lab
        .dyno(
            "run oltp_point_select --target sqlite:x.db --waive stalls=password=c4nary \
             --note password=c4nary --expect sync_binlog=password=c4nary --plan",
        )
        .success()
        .stdout;
    assert!(plan.contains("***") && !plan.contains("c4nary"), "{plan}");
}

#[test]
fn a_plan_has_the_agents_of_its_run() {
    let lab = Lab::new();
    let line = "run oltp_point_select --target sqlite:x.db --agents local:2 --orphan 5s --plan";
    let plan = lab.dyno(line).success().stdout;
    let parsed: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(
        parsed["agents"],
        json!({"agents": "local:2", "orphan": "5s"})
    );
    let errors = violations("plan.json", &parsed).unwrap();
    assert!(errors.is_empty(), "{errors:#?}\n{plan}");
    lab.file("p.json", &plan);
    assert_eq!(
        lab.json("run --plan=p.json --plan")["agents"],
        parsed["agents"]
    );
    let more = lab.json("run --plan=p.json --agents local:3 --plan");
    assert_eq!(more["agents"]["agents"], "local:3");
    let alone = lab.json("run --plan=p.json --agents none --plan");
    assert_eq!(alone["agents"], Value::Null);
    let wrong = plan.replace("\"orphan\"", "\"orphans\"");
    lab.file("p.json", &wrong);
    let output = lab.dyno("run --plan=p.json --plan").failure(2);
    has(
        &output,
        &["agents: 'orphans' is not one of agent-command, agents,"],
    );
}

#[test]
fn a_temporary_database_is_created_again() {
    let lab = Lab::new();
    let plan = lab.dyno(&format!(
        "run oltp_point_select --table-size 100 {SHORT} --plan"
    ));
    let plan = plan.success().stdout;
    let parsed: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(
        parsed["target"],
        json!({"family": "sqlite", "temporary": true})
    );
    lab.file("p.json", &plan);
    let mut again = lab.command("run --plan p.json -q");
    let output = sound(run(again.env("DYNO_TARGET", "sqlite:/nowhere/x.db"), LIMIT)).success();
    has(&output, &["SQLite"]);
    assert_eq!(head(&lab, 1)["plan"], parsed);
}

#[test]
fn an_error_of_a_scripts_phases_or_roles_refuses_the_options() {
    let lab = Lab::new();
    for function in ["phases", "roles"] {
        let script = format!(
            "sysbench.cmdline.options = {{table_size = {{'rows', 1}}}}
            function {function}() error('too few rows: --table_size', 0) end
            function event() end"
        );
        let script = lab.file("few.lua", &script);
        for typed in ["--table-size", "--table_size"] {
            let line = format!("run {script} --target sqlite:few.db {typed} 5 --plan");
            let why = format!("error: too few rows: {typed}");
            has(&lab.dyno(&line).failure(2), &[why.as_str()]);
        }
    }
}

#[test]
fn a_phase_is_repeated_with_its_preparation() {
    let lab = Lab::new();
    let script = "sysbench.cmdline.options = {n = {'a number', 1}}
        function phases()
           return {
              {name = 'one', events = 4, options = {n = 5}},
              {name = 'two', events = 6, before = 'ready', rate = 900},
              {name = 'three', events = 2, warmup = 0.25},
           }
        end
        function ready() print('ready, n = ' .. sysbench.opt.n) end
        sysbench.cmdline.commands = {ready = {ready}}
        function event() end";
    let script = lab.file("steps.lua", script);
    let usual = "--target sqlite:steps.db --warmup 0 -t 0 --calibrate never -q";
    lab.dyno(&format!("run {script} {usual} --seed 9"))
        .success();
    assert_eq!(lab.number("SELECT count(*) FROM run"), 3.0);
    let plan = lab.dyno("show 2 --plan").success().stdout;
    let parsed: Value = serde_json::from_str(&plan).unwrap();
    assert_eq!(parsed["phases"].as_array().unwrap().len(), 1, "{plan}");
    assert_eq!(parsed["phases"][0]["name"], "two");
    lab.file("p.json", &plan);
    let output = lab.dyno("run --plan p.json -q").success();
    assert!(!output.stdout.contains("one, 1 of"), "{output:?}");
    assert_eq!(lab.number("SELECT count(*) FROM run"), 4.0);
    let (mut first, mut second) = (head(&lab, 2), head(&lab, 4));
    for head in [&mut first, &mut second] {
        // Remove the name of the sequence, and the duration of the earlier phases.
        head.as_object_mut().unwrap().remove("phase").unwrap();
    }
    assert_eq!(first, second);
    assert_eq!(first["drive"]["events"], 6);
    // With another number of sessions, the script defines its phases again, with the warm-up of the
    // plan.
    let warm = lab.dyno(&format!("run {script} {usual} --warmup 125ms --plan"));
    lab.file("p.json", &warm.success().stdout);
    let warmups = |line: &str| {
        let plan = lab.json(&format!("run --plan=p.json {line} --plan"));
        let phases = plan["phases"].as_array().unwrap();
        let warmups: Vec<f64> = phases
            .iter()
            .map(|p| p["warmup_s"].as_f64().unwrap())
            .collect();
        warmups
    };
    assert_eq!(warmups(""), [0.125, 0.125, 0.25]);
    assert_eq!(warmups("-c 2"), [0.125, 0.125, 0.25]);
    assert_eq!(warmups("-c 2 --warmup 1s"), [1.0, 1.0, 0.25]);
    lab.file("p.json", &plan.replace("\"two\"", "\"four\""));
    let refused = lab.dyno("run --plan p.json -c 2").failure(2);
    assert!(refused.stderr.contains("the phase four"), "{refused:?}");
}

#[test]
fn a_plan_that_cannot_be_run_is_refused_by_name() {
    let lab = Lab::new();
    let refused = |plan: &str, words: &[&str]| {
        lab.file("p.json", plan);
        let output = lab.dyno("run --plan p.json").failure(2);
        for word in words {
            assert!(output.stderr.contains(word), "{word}: {output:?}");
        }
    };
    let script = "sysbench.cmdline.options = {api_password = {'a secret', ''}, n = {'n', 1}}
        function event() end";
    let script = lab.file("secret.lua", script);
    let plan = lab.dyno(&format!("run {script} --api-password c4nary --plan"));
    let plan = plan.success().stdout;
    assert!(!plan.contains("c4nary"), "{plan}");
    refused(&plan, &["--api-password", "secret"]);
    lab.dyno("run --plan p.json --api-password c4nary --events 3 -t 0 --warmup 0")
        .success();
    let open = plan.replace("***", "");
    refused(&open.replace("\"n\":", "\"m\":"), &["the option m"]);
    refused(
        &plan.replace("\"grace_s\"", "\"gracious_s\""),
        &["gracious_s", "line"],
    );
    refused("{\"plan_version\": 2}", &["version 2"]);
    refused("SELECT 1", &["p.json", "line 1"]);
    refused(&plan.replace("\"run\"", "\"cleanup\""), &["dyno cleanup"]);
    let target = plan.find("\"target\":").unwrap();
    let end = target + plan[target..].find("\"drive\"").unwrap();
    let homeless = format!("{}\"target\": null, {}", &plan[..target], &plan[end..]);
    refused(&homeless, &["no target"]);
    let to = |target: &str| {
        format!(
            "{}\"target\": {target}, {}",
            &plan[..plan.find("\"target\":").unwrap()],
            &plan[end..]
        )
    };
    let nowhere = to(r#"{"family": "mysql", "endpoints": [], "user": "root"}"#);
    refused(&nowhere, &["target.endpoints", "host and port"]);
    let changed = to(
        r#"{"family": "mysql", "endpoints": [{"host": "h", "port": 1}],
        "parameters": {"password": "c4nary"}}"#,
    );
    refused(&changed, &["target.parameters", "password_env"]);
    let missing = lab.dyno("run --plan oltp_read_write").failure(2);
    assert!(
        missing.stderr.contains("dyno run WORKLOAD --plan"),
        "{missing:?}"
    );
    // If the script has changed, it is another workload.
    fs::write(
        lab.path("secret.lua"),
        format!("{}\n-- more", fs::read_to_string(&script).unwrap()),
    )
    .unwrap();
    lab.file("p.json", &plan);
    let line = "run --plan p.json --api-password c4nary --events 3 -t 0 --warmup 0";
    let warned = lab.dyno(line).success();
    assert!(warned.stderr.contains("has changed since"), "{warned:?}");
}
