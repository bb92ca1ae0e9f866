//! Plans as command lines, and back.

use std::time::Duration;

use dyno_core::plan::{
    Arrivals, Calibrate, Claim, Compared, Drive, OpenLoop, RandKind, RandPlan, RecordPlan,
    Scheduled,
};

use super::own::{agents, drive, rand, record};
use super::*;
use crate::commands::drive::drive as drive_of;
use crate::fleet_options::{hosts, of_plan};
use crate::options::{Grammar, Script, parse as parse_line};
use crate::record_options::record_plan;
use crate::settings;

fn parsed(line: &str) -> Parsed {
    let args: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    parse_line(&args, RUN, Script::Declares(&[]), Grammar::Dyno).unwrap()
}

/// Converts a plan to options and parses them again.
fn again<T>(own: &[(&'static str, Option<String>)], read: impl Fn(&Parsed) -> Result<T>) -> T {
    let parsed = Parsed {
        own: own.to_vec(),
        ..Parsed::default()
    };
    read(&parsed).unwrap()
}

#[test]
fn a_drive_comes_back_as_it_was() {
    let lines = [
        "",
        "-c 64 --workers 3 --time 1h30m --seed 18446744073709551615",
        "--events 1234 --warmup 1ms --grace 0 --ramp-up 90s --interval 250ms",
        "--rate 0.3333/s --arrivals constant --latency-limit 1.000000001s",
        "--rate 20k/s --time 0 --init-timeout 1d --spin 75us",
        "--rate 5/s --spin 0",
        "-c 8 --seed 3 --shard 2/4 --begin-at 4102444800.25",
    ];
    for line in lines {
        let plan = drive_of(&parsed(line)).unwrap();
        let mut own = vec![("sessions", Some(plan.sessions.to_string()))];
        drive(&plan, &mut own);
        assert_eq!(again(&own, drive_of), plan, "{line}");
    }
}

#[test]
fn spin_needs_a_rate_and_is_at_most_a_millisecond() {
    let why = |line: &str| drive_of(&parsed(line)).unwrap_err().to_string();
    assert!(why("--spin 10us").contains("add --rate"));
    assert!(why("--rate 5/s --spin 2ms").contains("at most 1ms"));
}

#[test]
fn record_and_random_options_survive_a_round_trip() {
    let plan = RecordPlan {
        statements: true,
        explain: vec!["all".to_owned(), "SELECT 1".to_owned()],
        cpu_profile: true,
        file: Some("a b/dyno.db".into()),
        observe: true,
        ledger: Compared::Whole,
        calibrate: Calibrate::Never,
        claim: Some(Claim::OnDisk),
        expected: vec![dyno_core::plan::RequestedSetting {
            name: "sync_binlog".to_owned(),
            value: "a=b".to_owned(),
        }],
        waivers: vec![dyno_core::finding::Waiver {
            check: "stalls".to_owned(),
            reason: "the backup, at noon = 12".to_owned(),
        }],
        note: "two words".to_owned(),
        factors: [("memory", "5G"), ("sql", "a=b")]
            .map(|(name, level)| (name.to_owned(), level.to_owned()))
            .into(),
        percentiles: vec![50.0, 99.99],
        force: true,
        gate: true,
        fail_if: vec!["p99.99 > 20ms".to_owned(), "rate < 1000/s".to_owned()],
        // A run with a given plan is not a trial.
        trial: None,
        varied: Vec::new(),
    };
    for plan in [plan, RecordPlan::default()] {
        let mut own = Vec::new();
        record(&plan, &mut own);
        assert_eq!(again(&own, record_plan), plan);
    }
    let plan = RandPlan {
        kind: RandKind::Zipfian,
        pareto_h: 0.1,
        zipfian_exp: 1.2,
        spec_iter: 3,
        spec_pct: 4,
        spec_res: 5,
    };
    let mut own = Vec::new();
    rand(&plan, &mut own);
    assert_eq!(again(&own, settings::rand_plan), plan);
}

#[test]
fn a_plan_of_a_search_is_a_run_alone() {
    let factors = |text: &str| RecordPlan {
        factors: text
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, level)| (name.to_owned(), level.to_owned()))
            .collect(),
        ..RecordPlan::default()
    };
    for (recorded, kept) in [
        ("search=a offered=80 size=5G", "size=5G"),
        ("search-climb=a", ""),
        ("offered=80", "offered=80"),
        // The user's own factors.
        ("search=index size=5G", "search=index size=5G"),
        ("search=index offered=often", "search=index offered=often"),
    ] {
        let mut own = Vec::new();
        record(&factors(recorded), &mut own);
        assert_eq!(again(&own, record_plan), factors(kept));
    }
    let trial = RecordPlan {
        trial: Some("a trial".to_owned()),
        ..factors("search=index offered=80 search-climb=b")
    };
    let mut own = Vec::new();
    record(&trial, &mut own);
    assert_eq!(again(&own, record_plan).factors, trial.factors);
}

#[test]
fn the_agents_of_a_plan_come_back() {
    let line = "--agents local:2=3 --on-agent-loss degrade --allow-mixed-versions --orphan 20s \
                --agents-by weights --server-agent local --nats-server /opt/nats-server";
    let plan = of_plan(&parsed(line));
    assert_eq!(plan.len(), 7, "{plan:?}");
    let mut own = Vec::new();
    agents(&plan, &mut own);
    let back = again(&own, |parsed| Ok(of_plan(parsed)));
    assert_eq!(back, plan);
    assert!(again(&own, hosts).fleet.is_some());
    // An option of the command line comes later.
    own.push(("agents", Some("none".to_owned())));
    let without = again(&own, hosts);
    assert!(without.fleet.is_none() && without.server_agent.is_some());
    let kept = again(&own, |parsed| Ok(of_plan(parsed)));
    assert_eq!(kept.into_keys().collect::<Vec<_>>(), ["server-agent"]);
}

#[test]
fn options_next_to_a_plan_count() {
    let mut own = vec![("sessions", Some("4".to_owned()))];
    let plan = Drive {
        open_loop: Some(OpenLoop::new(10.0, Arrivals::Constant)),
        warmup: Duration::from_secs(7),
        ..Drive::default()
    };
    drive(&plan, &mut own);
    let mut beside = parsed("-c 8 --rate 0");
    beside.own.splice(0..0, own);
    let drive = drive_of(&beside).unwrap();
    assert_eq!((drive.sessions, drive.open_loop), (8, None));
    assert_eq!(drive.warmup, Duration::from_secs(7));
}

#[test]
fn a_plan_repeats_its_schedule() {
    for (text, of) in [
        ("100/s for 30s, 200/s..50/s over 1m", Scheduled::Rate),
        ("sine 10/s..90/s every 10s for 1m", Scheduled::Rate),
        ("4 for 30s, 1..64 over 5m", Scheduled::Sessions),
    ] {
        let schedule = LoadSchedule::parse(text, of, None).unwrap();
        let plan = Drive {
            sessions: match of {
                Scheduled::Rate => 7,
                Scheduled::Sessions => 64,
            },
            workers: 1,
            time: Some(Duration::from_secs_f64(schedule.seconds())),
            open_loop: (of == Scheduled::Rate)
                .then(|| OpenLoop::new(schedule.mean(), Arrivals::Constant)),
            schedule: Some(schedule.clone()),
            seed: 5,
            ..Drive::default()
        };
        let mut own = vec![];
        if of == Scheduled::Rate {
            own.push(("sessions", Some("7".to_owned())));
        } else {
            own.push(("sessions", Some(schedule.to_string())));
        }
        drive(&plan, &mut own);
        assert_eq!(again(&own, drive_of), plan, "{text}");
        // The last part may have the rest of the time.
        let mut beside = parsed("-t 90s");
        let open = text.replace(" over 1m", "").replace(" over 5m", "");
        let name = if of == Scheduled::Rate {
            "rate"
        } else {
            "sessions"
        };
        beside.own.push((name, Some(open)));
        let read = drive_of(&beside);
        assert_eq!(read.is_ok(), !text.starts_with("sine"), "{read:?}");
    }
}

#[test]
fn a_word_after_plan_is_its_file_only_without_a_workload_before_it() {
    let of = |line: &str| {
        let parsed = parsed(line);
        let file = parsed.values("plan").last().map(str::to_owned);
        (parsed.words.len(), file, is_wanted(&parsed))
    };
    let file = |name: &str| Some(name.to_owned());
    assert_eq!(of("oltp_read_write --plan"), (1, None, true));
    assert_eq!(of("oltp_read_write --plan --time 5"), (1, None, true));
    assert_eq!(of("--plan p.json"), (0, file("p.json"), false));
    assert_eq!(of("-c 4 --plan - --time 5"), (0, file("-"), false));
    assert_eq!(of("--plan=p.json --plan"), (0, file("p.json"), true));
}

#[test]
fn reports_an_invalid_plan() {
    let why = |text: &str| parse(text).unwrap_err();
    assert!(why("{").contains("line 1"), "{}", why("{"));
    assert!(why("{}").contains("no plan_version"));
    assert!(why(r#"{"plan_version": 9}"#).contains("version 9"));
    let unknown = why(r#"{"plan_version": 1, "sesions": 4}"#);
    assert!(unknown.contains("unknown field `sesions`"), "{unknown}");
    assert!(unknown.contains("line 1"), "{unknown}");
}

/// Hand-written plans must have the right types.
#[test]
fn options_of_a_plan_have_the_type_that_the_workload_declares() {
    let text = |text: &str| OptionValue::Text(text.to_owned());
    let list = || OptionValue::List(Vec::new());
    for (kind, value) in [
        (OptionKind::Bool, text("")),
        (OptionKind::Bool, list()),
        (OptionKind::Bool, OptionValue::Number(2.0)),
        (OptionKind::Int, text("")),
        (OptionKind::Int, text("many")),
        (OptionKind::Size, OptionValue::Bool(true)),
        (OptionKind::Double, list()),
        (OptionKind::String, OptionValue::Bool(true)),
    ] {
        assert!(unlike(kind, &value).is_some(), "{kind:?} {value:?}");
    }
    for (kind, value) in [
        (OptionKind::Bool, text("off")),
        (OptionKind::Int, text("10")),
        (OptionKind::Size, text("1G")),
        (OptionKind::String, OptionValue::Number(7.0)),
        (OptionKind::String, text("")),
        (OptionKind::List, text("a,b")),
    ] {
        assert_eq!(unlike(kind, &value), None, "{kind:?} {value:?}");
    }
}
