//! Runs of every kind must survive being written and read.

use crate::common::{finding, head, interval, span, summary};
use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess};
use dyno_core::finding::{Outcome, verdict};
use dyno_core::interval::LATENCY_NS_MAX;
use dyno_core::record::{
    Event, EventDetail, EventKind, Operation, RunRecord, RunState, Series, SeriesKind,
    SessionShare, Setting, Span,
};
use dyno_core::states::{IdleIn, SessionState};
use dyno_core::summary::IntervalSummary;
use dyno_results::{Problem, Results, Scope};
use dyno_samples::values;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use tempfile::TempDir;

fn spans() -> impl Strategy<Value = Vec<Span>> {
    let values = || vec(0..LATENCY_NS_MAX, 0..20);
    let pairs = vec((values(), values()), 0..5);
    pairs.prop_map(|pairs| {
        let numbered = pairs.iter().enumerate();
        numbered
            .map(|(index, (service, response))| {
                let (from_s, to_s) = (index as f64 * 0.1, (index + 1) as f64 * 0.1);
                span(from_s, to_s, service, response)
            })
            .collect()
    })
}

fn operations() -> impl Strategy<Value = Vec<Operation>> {
    btree_map("[A-Z_]{1,8}", (spans(), any::<bool>()), 0..4).prop_map(|named| {
        named
            .into_iter()
            .map(|(name, (spans, total))| Operation {
                name,
                total: spans.first().filter(|_| total).cloned(),
                spans,
            })
            .collect()
    })
}

fn series() -> impl Strategy<Value = Vec<Series>> {
    let kind = prop_oneof![Just(SeriesKind::Gauge), Just(SeriesKind::Rate)];
    let values = vec(-1e12..1e12_f64, 0..20);
    vec(("[a-z.]{1,12}", kind, values, -100.0..100.0_f64), 0..5).prop_map(|all| {
        all.into_iter()
            .map(|(name, kind, all, from_s)| {
                let points: Vec<_> = (0..).map(|n| from_s + f64::from(n)).zip(all).collect();
                values::series(&name, "bytes/s", kind, &points)
            })
            .collect()
    })
}

fn intervals() -> impl Strategy<Value = Vec<IntervalSummary>> {
    let percentile = option::of(0.0..1e6_f64);
    vec((0.01..100.0_f64, any::<u32>(), percentile), 0..10).prop_map(|all| {
        let mut at_s = 0.0;
        all.into_iter()
            .map(|(length_s, events, value_ms)| {
                at_s += length_s;
                let mut interval = interval(1);
                (interval.at_s, interval.length_s) = (at_s, length_s);
                interval.counters.events = u64::from(events);
                interval.percentiles[0].value_ms = value_ms;
                interval
            })
            .collect()
    })
}

fn detail(until_s: Option<f64>) -> EventDetail {
    EventDetail {
        on_server_host: until_s.is_none(),
        kernel_log: until_s.map(|until| until.to_string()),
        setting: None,
        starved: until_s.map(|until| until > 1.0),
    }
}

fn runs() -> impl Strategy<Value = RunRecord> {
    let texts = || btree_map(".{1,10}", (option::of(".*"), option::of(".*")), 0..5);
    let states = prop_oneof![
        Just(RunState::Running),
        Just(RunState::Completed),
        Just(RunState::Interrupted),
        Just(RunState::Failed),
        Just(RunState::Imported),
    ];
    let events = vec((-10.0..1e5_f64, option::of(0.0..1e5_f64), ".*"), 0..4);
    (
        states,
        any::<bool>(),
        intervals(),
        operations(),
        series(),
        texts(),
        texts(),
        events,
    )
        .prop_map(
            |(state, with_summary, intervals, operations, series, texts, pairs, events)| {
                let findings = vec![finding("a", Outcome::Doubt), finding("b", Outcome::Pass)];
                let text = |value: &Option<String>| value.clone().unwrap_or_default();
                let facts = texts
                    .iter()
                    .map(|(name, (value, source))| values::fact(name, &text(value), &text(source)));
                let settings = pairs.iter().map(|(name, (start, end))| Setting {
                    name: name.clone(),
                    start: start.clone(),
                    end: end.clone(),
                });
                let gaps = pairs
                    .iter()
                    .map(|(what, (why, _))| values::gap(what, &text(why)));
                let events = events.into_iter().map(|(at_s, until_s, text)| Event {
                    detail: detail(until_s),
                    ..values::event(at_s, until_s, EventKind::Disturbance, &text)
                });
                let shares = (0..intervals.len() as u32).map(share);
                RunRecord {
                    id: 0,
                    state,
                    head: head("round-trip"),
                    summary: with_summary.then(summary),
                    sessions: shares.collect(),
                    profiles: profiles(intervals.len() as u64),
                    intervals,
                    operations,
                    series,
                    not_observed: gaps.collect(),
                    facts: facts.collect(),
                    settings: settings.collect(),
                    events: events.collect(),
                    verdict: Some(verdict(&findings)),
                    findings,
                }
            },
        )
}

/// Profiles of this size. None for a run without intervals.
fn profiles(size: u64) -> Vec<CpuProfile> {
    let profile = |process: ProfiledProcess| {
        let stack = |number| format!("a thread;main;f{number} (int);tcp_sendmsg_[k] 7\n");
        let folded: String = (0..size).map(stack).collect();
        CpuProfile {
            lost: size,
            cut: (size > 5).then(|| "It ends after 5 s.".to_owned()),
            ..values::profile(process, &folded)
        }
    };
    let all = ProfiledProcess::ALL.into_iter();
    all.filter(|_| size > 0).map(profile).collect()
}

fn share(session: u32) -> SessionShare {
    let idle = values::idle(1.5, 9.25, IdleIn::Connecting, session);
    SessionShare {
        state: Some(SessionState::ALL[session as usize % 5]),
        idle: session.is_multiple_of(3).then_some(idle),
        ..values::share(session, session % 2, 7, 0.25)
    }
}

/// Checks that two records are equal, except for their numbers.
fn same(read: &RunRecord, run: &RunRecord) -> Result<(), TestCaseError> {
    prop_assert_eq!(read.state, run.state);
    prop_assert_eq!(&read.head, &run.head);
    prop_assert_eq!(
        format!("{:?}", read.intervals),
        format!("{:?}", run.intervals)
    );
    prop_assert_eq!(&read.series, &run.series);
    prop_assert_eq!(&read.not_observed, &run.not_observed);
    prop_assert_eq!(&read.facts, &run.facts);
    prop_assert_eq!(&read.settings, &run.settings);
    prop_assert_eq!(&read.events, &run.events);
    prop_assert_eq!(&read.sessions, &run.sessions);
    prop_assert_eq!(&read.profiles, &run.profiles);
    prop_assert_eq!(&read.findings, &run.findings);
    prop_assert_eq!(read.verdict, run.verdict);
    prop_assert_eq!(read.summary.is_some(), run.summary.is_some());
    prop_assert_eq!(read.operations.len(), run.operations.len());
    for (a, b) in read.operations.iter().zip(&run.operations) {
        prop_assert_eq!(&a.name, &b.name);
        prop_assert_eq!(a.spans.len(), b.spans.len());
        prop_assert_eq!(a.total.is_some(), b.total.is_some());
        let spans = a.spans.iter().zip(&b.spans);
        for (a, b) in spans.chain(a.total.iter().zip(&b.total)) {
            let exact = |span: &Span| {
                let (from_s, to_s) = (span.from_s, span.to_s);
                let sum = span.service_ns_sum;
                (
                    from_s,
                    to_s,
                    span.count,
                    sum,
                    span.service_ns_min,
                    span.service_ns_max,
                )
            };
            prop_assert_eq!(exact(a), exact(b));
            prop_assert_eq!(&a.service, &b.service);
            prop_assert_eq!(&a.response, &b.response);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn an_imported_run_survives_a_round_trip(run in runs()) {
        let folder = TempDir::new().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let id = results.import(&run).unwrap();
        let read = results.load(id, &Scope::every()).unwrap();
        same(&read, &run)?;
        // Import the run that was loaded once more.
        let mut again = read;
        again.head.name = "again".to_owned();
        let id = results.import(&again).unwrap();
        same(&results.load(id, &Scope::every()).unwrap(), &again)?;
        let error = results.import(&run).unwrap_err();
        prop_assert!(matches!(error.problem, Problem::NameTaken(_)), "{}", error);
    }

    #[test]
    fn thinned_spans_hold_the_same_events(operations in operations(), held_max in 1..6_usize) {
        let folder = TempDir::new().unwrap();
        let mut results = Results::open(&folder.path().join("dyno.db")).unwrap();
        let mut writer = Results::open(results.path()).unwrap().begin(&head("a")).unwrap();
        writer.flush().unwrap();
        let mut run = results.load(1, &Scope::every()).unwrap();
        run.head.name = "b".to_owned();
        run.operations = operations;
        let id = results.import(&run).unwrap();
        let scope = Scope { spans_held_max: held_max, ..Scope::whole() };
        let read = results.load(id, &scope).unwrap();
        for (a, b) in read.operations.iter().zip(&run.operations) {
            let count = |o: &Operation| o.spans.iter().map(|span| span.count).sum::<u64>();
            let most = |o: &Operation| o.spans.iter().map(|span| span.service_ns_max).max();
            let binned = |o: &Operation| o.spans.iter().map(|s| s.service.len()).sum::<u64>();
            prop_assert_eq!((count(a), binned(a)), (count(b), binned(b)));
            prop_assert_eq!(most(a), most(b));
            prop_assert_eq!(a.spans.first().map(|s| s.from_s), b.spans.first().map(|s| s.from_s));
            prop_assert_eq!(a.spans.last().map(|s| s.to_s), b.spans.last().map(|s| s.to_s));
        }
    }
}
