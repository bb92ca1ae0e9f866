//! Facts, figures and warnings that a script reports.

use std::sync::Arc;

use dyno_core::interval::OperationCounters;
use dyno_core::reported::Better;
use dyno_core::session::Entry;
use dyno_core::summary::{OperationSummary, RunSummary};
use dyno_script::{Host, ScriptReport};

use crate::fake::FakePort;
use crate::{config, drive};

/// The reports when `figures` has this body, after two operations were measured; or its error.
fn report(body: &str) -> Result<ScriptReport, String> {
    let text = format!(
        "print = function(text) dyno.fact('printed', text) end
         dyno.operation('pay')
         function figures() {body} end"
    );
    let config = Arc::new(config(&text));
    let mut host = Host::new(Arc::clone(&config)).unwrap();
    host.describe().unwrap();
    let mut summary = RunSummary {
        measured_s: 30.0,
        ..RunSummary::default()
    };
    summary.totals.events = 900;
    summary.operations = vec![OperationSummary {
        name: "pay".to_owned(),
        totals: OperationCounters {
            done: 800,
            rolled_back: 8,
            ..OperationCounters::default()
        },
        done_per_s: 26.5,
        service: Default::default(),
        response: None,
        first_tries: None,
    }];
    host.set_measured(&summary).unwrap();
    let call = Entry::Call("figures".to_owned());
    drive(&mut host, &mut FakePort::default(), 0, &call)?;
    Ok(config.reported.read())
}

fn refused(body: &str) -> String {
    report(body).unwrap_err()
}

#[test]
fn figures_are_computed_from_measurements() {
    let report = report(
        "local run = dyno.measured()
         local pay = run.operations.pay
         dyno.figure('paid', pay.per_second * 60, 'per minute')
         dyno.figure('taken back', pay.rolled_back / pay.done, '', 'lower')
         dyno.figure('length', run.seconds + run.events, 's', 'neither')
         dyno.figure('paid', 7, 'per hour')",
    )
    .unwrap();
    let figures = report.figures.iter();
    let figures: Vec<_> = figures
        .map(|f| (f.name.as_str(), f.value, f.unit.as_str(), f.better))
        .collect();
    assert_eq!(
        figures,
        [
            ("paid", 7.0, "per hour", Some(Better::Higher)),
            ("taken back", 0.01, "", Some(Better::Lower)),
            ("length", 930.0, "s", None),
        ]
    );
}

#[test]
fn facts_and_warnings_are_kept_as_people_write_them() {
    let report = report(
        "dyno.fact('scale', 1e6)
         dyno.fact('on', true)
         dyno.fact('share', 0.25)
         dyno.fact('age', 3, true)
         dyno.fact('seed', dyno.seed)
         dyno.warning('It is late.')
         dyno.warning('It is late.')",
    )
    .unwrap();
    let facts = report.facts.iter();
    let facts: Vec<_> = facts.map(|f| (f.name.as_str(), f.value.as_str())).collect();
    assert_eq!(
        facts,
        [
            ("workload.scale", "1000000"),
            ("workload.on", "on"),
            ("workload.share", "0.25"),
            ("run.workload.age", "3"),
            ("workload.seed", "1"),
            ("workload.printed", "warning: It is late."),
        ]
    );
    assert_eq!(report.warnings, ["It is late."]);
}

#[test]
fn hides_passwords_in_reports() {
    let report = report(
        "dyno.fact('options', \"CONNECTION='mysql://u:geheim@h/d'\")
         dyno.warning('password=geheim was tried')",
    )
    .unwrap();
    assert!(!format!("{report:?}").contains("geheim@"), "{report:?}");
    assert!(!report.warnings[0].contains("geheim"), "{report:?}");
}

#[test]
fn refuses_reports_after_the_result_is_complete() {
    let config = Arc::new(config("function figures() dyno.fact('a', 7) end"));
    let mut host = Host::new(Arc::clone(&config)).unwrap();
    let call = Entry::Call("figures".to_owned());
    drive(&mut host, &mut FakePort::default(), 0, &call).unwrap();
    assert_eq!(config.reported.complete().facts.len(), 1);
    let late = drive(&mut host, &mut FakePort::default(), 0, &call).unwrap_err();
    assert!(
        late.contains("report this in figures() or earlier"),
        "{late}"
    );
}

#[test]
fn refuses_invalid_reports_of_a_script() {
    for (body, why) in [
        ("dyno.figure('x', 0 / 0)", "'x' must be a number, not"),
        ("dyno.figure('x', '7')", "'x' must be a number, not 7"),
        ("dyno.figure('', 7)", "at most 60 bytes"),
        ("dyno.figure('x', 7, 's', 'more')", "not 'more'"),
        ("dyno.fact('a b', 7)", "letters, digits and _ . : -"),
        ("dyno.fact('a')", "the value is missing"),
        (
            "for i = 1, 300 do dyno.fact('a' .. i, 7) end",
            "there are 200 facts already",
        ),
        (
            "dyno.dataset.read(nil, 'a b')",
            "'a b' is not a workload's name",
        ),
    ] {
        let error = refused(body);
        assert!(error.contains(why), "{body}: {error}");
    }
}
