//! Plans as JSON.

use std::collections::BTreeMap;
use std::time::Duration;

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::strategy::ValueTree as _;

use super::*;
use crate::db::Family;
use crate::target::EndpointPlan;

const SCHEMA: &str = include_str!("../../../../docs/schema/plan.json");

prop_compose! {
    fn any_drive()(
        sessions in 1_u32..10_000,
        workers in 1_u32..64,
        time in of(0_u64..10_000_000),
        events in of(1_u64..),
        warmup in 0_u64..100_000,
        open_loop in of(any_open_loop()),
        latency_limit in of(1_u64..100_000),
        seed in 1_u64..,
        schedule in of(any_schedule()),
    ) -> Drive {
        let ms = Duration::from_millis;
        Drive {
            sessions,
            workers,
            time: time.map(ms),
            events,
            warmup: ms(warmup),
            open_loop,
            schedule,
            latency_limit: latency_limit.map(ms),
            seed,
            ..Drive::default()
        }
    }
}

prop_compose! {
    fn any_open_loop()(per_second in 0.001_f64..1e9, poisson in any::<bool>()) -> OpenLoop {
        let arrivals = if poisson { Arrivals::Poisson } else { Arrivals::Constant };
        OpenLoop { per_second, arrivals }
    }
}

prop_compose! {
    fn any_part()(
        (from, to) in (1_u32..1000, 1_u32..1000),
        (length_ms, period_ms) in (1_u32..1_000_000, 1_u32..1_000_000),
        shape in 0..3,
    ) -> LoadPart {
        let shapes = [LoadShape::Constant, LoadShape::Ramp, LoadShape::Sine];
        let shape = shapes[shape as usize];
        let seconds = |ms: u32| Duration::from_millis(ms.into()).as_secs_f64();
        LoadPart {
            shape,
            from: from.into(),
            to: if shape == LoadShape::Constant { from } else { to }.into(),
            seconds: seconds(length_ms),
            period_s: (shape == LoadShape::Sine).then(|| seconds(period_ms)),
        }
    }
}

prop_compose! {
    fn any_schedule()(parts in vec(any_part(), 1..5), rate in any::<bool>()) -> LoadSchedule {
        let of = if rate { Scheduled::Rate } else { Scheduled::Sessions };
        LoadSchedule { of, parts }
    }
}

fn any_options() -> impl Strategy<Value = Vec<(String, OptionValue)>> {
    let value = prop_oneof![
        any::<bool>().prop_map(OptionValue::Bool),
        (-1e300_f64..1e300).prop_map(OptionValue::Number),
        any::<i32>().prop_map(|number| OptionValue::Number(f64::from(number))),
        any::<String>().prop_map(OptionValue::Text),
        vec(any::<String>(), 0..3).prop_map(OptionValue::List),
    ];
    vec(("[a-z_]{1,8}", value), 0..4)
}

prop_compose! {
    fn any_role()(name in any::<String>(), sessions in 1_u32..99, pace in of(any_open_loop()))
        -> Role {
        Role {
            name,
            sessions,
            background: pace.is_some(),
            unit: "rows".to_owned(),
            per_event: 10.0,
            pace: pace.map(|arrivals| Pace { arrivals, each: true, skip_after_s: Some(0.1) }),
        }
    }
}

prop_compose! {
    fn any_phase()(
        name in any::<String>(),
        options in any_options(),
        time in of(1_u64..1_000_000),
        open_loop in of(any_open_loop()),
        roles in vec(any_role(), 0..3),
        before in vec("[a-z]{1,5}", 0..3),
        undo in of("[a-z]{1,5}"),
    ) -> PhasePlan {
        PhasePlan {
            name,
            options,
            time: time.map(Duration::from_millis),
            events: None,
            warmup: Duration::ZERO,
            open_loop,
            roles,
            before,
            undo,
            unit: "events".to_owned(),
            per_event: 1.0,
        }
    }
}

fn any_target() -> impl Strategy<Value = TargetPlan> {
    let endpoint = prop_oneof![
        ("[a-z:]{1,9}", any::<u16>()).prop_map(|(host, port)| EndpointPlan::Tcp { host, port }),
        "[a-z/]{1,9}".prop_map(|socket| EndpointPlan::Unix {
            socket: socket.into()
        }),
    ];
    let server = (vec(endpoint, 1..3), any::<String>(), any::<String>());
    prop_oneof![
        Just(TargetPlan::temporary()),
        server.prop_map(|(endpoints, user, database)| TargetPlan {
            family: Family::Mysql,
            temporary: false,
            endpoints,
            file: None,
            user,
            database,
            parameters: BTreeMap::from([("sslmode".to_owned(), "require".to_owned())]),
        }),
    ]
}

prop_compose! {
    fn any_plan()(
        workload in any::<String>(),
        options in any_options(),
        target in of(any_target()),
        drive in any_drive(),
        ladder in vec(1_u32..99, 0..3),
        roles in vec(any_role(), 0..3),
        phases in vec(any_phase(), 0..3),
        (claim, note, file) in (of(Just(Claim::OnDisk)), any::<String>(), of("[a-z.]{1,9}")),
    ) -> Plan {
        Plan {
            plan_version: PLAN_VERSION,
            edition: Edition::Dyno,
            command: "run".to_owned(),
            workload,
            script_sha256: "0".repeat(64),
            modules: Default::default(),
            options,
            target,
            drive,
            ladder,
            agents: Default::default(),
            roles,
            phases,
            rand: RandPlan::default(),
            driver: DriverPlan {
                prepare_on_server: false,
                ignored_errors: vec!["1213".to_owned()],
                reconnect_lost_connections: true,
                call_timeout: Duration::from_secs(600),
                luajit_cmd: None,
            },
            record: RecordPlan {
                file: file.map(PathBuf::from),
                claim,
                note,
                expected: vec![RequestedSetting { name: "a".to_owned(), value: "1".to_owned() }],
                ..RecordPlan::default()
            },
        }
    }
}

proptest! {
    #[test]
    fn a_schedule_is_read_as_it_was_written(schedule in any_schedule()) {
        // Some generated schedules change the number of sessions too often.
        prop_assume!(schedule.validate().is_ok());
        let text = schedule.to_string();
        let read = LoadSchedule::parse(&text, schedule.of, None).unwrap();
        prop_assert_eq!(&read, &schedule, "{}", text);
        prop_assert!(LoadSchedule::is_one(&text));
        // Any text must give an error, not a panic.
        let _ = LoadSchedule::parse(&text[1..], schedule.of, None);
    }

    #[test]
    fn a_plan_survives_a_round_trip(plan in any_plan()) {
        // Duplicate names would collapse in JSON.
        let mut plan = plan;
        let once = |options: &mut Vec<(String, OptionValue)>| {
            let mut seen = std::collections::BTreeSet::new();
            options.retain(|(name, _)| seen.insert(name.clone()));
        };
        once(&mut plan.options);
        plan.phases.iter_mut().for_each(|phase| once(&mut phase.options));
        let text = serde_json::to_string_pretty(&plan).unwrap();
        prop_assert_eq!(&serde_json::from_str::<Plan>(&text).unwrap(), &plan);
        let schema: serde_json::Value = serde_json::from_str(SCHEMA).unwrap();
        let value = serde_json::to_value(&plan).unwrap();
        let known = schema["properties"].as_object().unwrap();
        for name in value.as_object().unwrap().keys() {
            prop_assert!(known.contains_key(name), "{}", name);
        }
    }
}

#[test]
fn reports_unknown_fields_of_a_plan() {
    let plan = any_plan();
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let mut plan = plan.new_tree(&mut runner).unwrap().current();
    plan.target = Some(TargetPlan::temporary());
    let value = serde_json::to_value(&plan).unwrap();
    for path in ["", "/drive", "/driver", "/record", "/rand", "/target"] {
        let mut wrong = value.clone();
        let part = wrong.pointer_mut(path).unwrap().as_object_mut().unwrap();
        part.insert("sesions".to_owned(), 1.into());
        let error = serde_json::from_value::<Plan>(wrong).unwrap_err();
        assert!(
            error.to_string().contains("unknown field `sesions`"),
            "{path}: {error}"
        );
    }
}

/// `DYNO_WRITE_SCHEMA=1` rewrites the file.
#[test]
fn the_published_schema_is_that_of_the_type() {
    let mut schema = serde_json::to_value(schemars::schema_for!(Plan)).unwrap();
    schema["$id"] = "https://dyno.invalid/schema/plan.json".into();
    schema["title"] = "Dyno's plan of a run".into();
    let text = format!("{schema:#}\n");
    if std::env::var_os("DYNO_WRITE_SCHEMA").is_some() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/plan.json");
        std::fs::write(path, &text).unwrap();
        return;
    }
    assert!(
        text == SCHEMA,
        "docs/schema/plan.json is not that of dyno_core::plan::Plan"
    );
}
