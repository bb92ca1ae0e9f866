use dyno_core::finding::Cause;
use dyno_samples::full::minute;
use dyno_samples::values;
use dyno_stats::{Bounds, Margin, Tested};
use dyno_verdict::{Amount, CompareOptions, EquivalenceTest, compare};

use super::*;

/// A run compared with one of 0.77 times its speed, with other settings.
pub(in crate::terminal) fn compared(intended: &[&str], settings: usize) -> Comparison {
    let (mut base, mut new) = (minute(1, 1.0), minute(2, 0.77));
    (base.id, new.id) = (3, 4);
    let mut set = |name: &str, of_base: &str, of_new: &str| {
        for (run, value) in [(&mut base, of_base), (&mut new, of_new)] {
            run.settings.push(values::setting(name, value, None));
        }
    };
    for index in 0..settings {
        set(&format!("minor_{index}"), "0", "1");
    }
    set("sync_binlog", "0", "1");
    let options = CompareOptions {
        intended: intended.iter().map(|&name| name.to_owned()).collect(),
        ..CompareOptions::default()
    };
    compare(&[&base], &[&new], &options).unwrap()
}

fn shown(comparison: &Comparison, all: bool, columns: usize) -> String {
    let look = Look {
        columns,
        ..Look::default()
    };
    super::comparison(comparison, all, &look)
}

#[test]
fn the_answer_comes_first() {
    insta::assert_snapshot!(shown(&compared(&["sync_binlog"], 0), false, 80));
}

#[test]
fn narrow_and_wide() {
    let comparison = compared(&[], 40);
    insta::assert_snapshot!("narrow", shown(&comparison, false, 60));
    insta::assert_snapshot!("wide", shown(&comparison, false, 120));
    for columns in [40, 60, 80, 120] {
        for line in shown(&comparison, true, columns).lines() {
            let width = super::super::columns(line);
            assert!(width <= columns.max(80), "{columns}: {line}");
        }
    }
}

#[test]
fn costs_that_include_other_clients_are_marked() {
    let mut comparison = compared(&["sync_binlog"], 0);
    let before = shown(&comparison, false, 200);
    assert!(!before.contains("other clients"), "{before}");
    for metric in &mut comparison.metrics {
        let new = match metric.name.as_str() {
            "server CPU" => None,
            "written by the server" => Some(Cause::OtherClients),
            _ => continue,
        };
        metric.base_includes = Some(Cause::OtherClients);
        metric.new_includes = new;
        (metric.base, metric.new) = (Some(1.0), Some(2.0));
        metric.remark = "too few".to_owned();
    }
    let text = shown(&comparison, false, 200);
    let printed = crate::markdown::comparison(&comparison, false);
    for part in [
        "server CPU: the base includes the work of other clients; too few",
        "written by the server: both sides include the work of other clients; too few",
    ] {
        assert!(text.contains(part), "{part}: {text}");
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let json = serde_json::to_value(&comparison).unwrap();
    let metrics = json["metrics"].as_array().unwrap();
    let marked = |field: &str| -> Vec<&str> {
        let all = metrics.iter().filter(|metric| metric.get(field).is_some());
        all.filter_map(|metric| metric["name"].as_str()).collect()
    };
    assert_eq!(
        marked("base_includes"),
        ["server CPU", "written by the server"]
    );
    assert_eq!(marked("new_includes"), ["written by the server"]);
}

#[test]
fn important_differences_come_first_and_hidden_ones_are_counted() {
    let comparison = compared(&[], 40);
    let text = shown(&comparison, false, 80);
    let place = |what: &str| {
        text.find(what)
            .unwrap_or_else(|| panic!("{what} in {text}"))
    };
    assert!(place("setting sync_binlog: 0 → 1") < place("setting minor_0: 0 → 1"));
    assert!(text.contains("more: --all shows them"), "{text}");
    let all = shown(&comparison, true, 80);
    assert!(
        all.contains("setting minor_39: 0 → 1") && !all.contains("--all"),
        "{all}"
    );
}

#[test]
fn sides_are_named_by_their_differences() {
    assert_eq!(
        product("MariaDB 10.11.19-MariaDB-0+deb12u1"),
        "MariaDB 10.11.19"
    );
    assert_eq!(
        product("PostgreSQL 15.18 (Debian 15.18-0+deb12u1)"),
        "PostgreSQL 15.18"
    );
    let named = sides(&compared(&["sync_binlog"], 3));
    assert_eq!(
        named,
        ("sync_binlog 0".to_owned(), "sync_binlog 1".to_owned())
    );
    let unnamed = sides(&compared(&[], 3));
    assert_eq!(unnamed, ("run 3".to_owned(), "run 4".to_owned()));
}

#[test]
fn values_that_a_log_does_not_show_name_no_side() {
    let mut comparison = compared(&[], 0);
    let protocol = |intended: bool| Difference {
        what: "option protocol".to_owned(),
        base: "simple".to_owned(),
        new: "(not there)".to_owned(),
        intended,
        unrecorded: true,
    };
    for intended in [false, true] {
        comparison.differences = vec![protocol(intended)];
        let unnamed = sides(&comparison);
        assert_eq!(unnamed, ("run 3".to_owned(), "run 4".to_owned()));
    }
    comparison.differences[0].unrecorded = false;
    assert_eq!(sides(&comparison).1, "no protocol");
}

#[test]
fn servers_with_the_same_short_name_name_no_side() {
    let mut comparison = compared(&[], 0);
    let mut server = Difference {
        what: "server".to_owned(),
        base: "MariaDB 10.11.19".to_owned(),
        new: "MariaDB 11.4.2-MariaDB-log".to_owned(),
        intended: false,
        unrecorded: false,
    };
    comparison.differences.push(server.clone());
    assert_eq!(sides(&comparison).1, "MariaDB 11.4.2");
    server.new = "MariaDB 10.11.19-MariaDB-log".to_owned();
    comparison.differences.pop();
    comparison.differences.push(server);
    let unnamed = sides(&comparison);
    assert_eq!(unnamed, ("run 3".to_owned(), "run 4".to_owned()));
}

#[test]
fn sides_without_a_difference_are_reported() {
    let mut comparison = compared(&["sync_binlog"], 0);
    let rate = comparison.metrics.iter_mut();
    let rate = rate.filter(|metric| metric.name == "events");
    rate.for_each(|metric| {
        (metric.significant, metric.p_corrected) = (false, Some(0.08));
    });
    let text = answer(&comparison);
    assert!(
        text.ends_with("not significant among all figures (p 0.08)"),
        "{text}"
    );
    for metric in &mut comparison.metrics {
        (metric.low, metric.high) = (Some(0.7), Some(1.1));
    }
    let text = answer(&comparison);
    assert!(
        text.starts_with("sync_binlog 1 against sync_binlog 0: undecided"),
        "{text}"
    );
    for metric in &mut comparison.metrics {
        (metric.low, metric.high) = (Some(0.95), Some(1.05));
    }
    let text = answer(&comparison);
    assert!(
        text.starts_with("sync_binlog 1 against sync_binlog 0: no significant difference"),
        "{text}"
    );
}

#[test]
fn changes_during_a_run_come_before_other_settings_and_name_no_side() {
    let mut comparison = compared(&[], 40);
    let change = Difference {
        what: "during the run, setting max_connections".to_owned(),
        base: "unchanged".to_owned(),
        new: "151, then 500".to_owned(),
        intended: false,
        unrecorded: false,
    };
    comparison.differences.push(change.clone());
    let text = shown(&comparison, false, 120);
    let line = "during the run, setting max_connections: unchanged → 151, then 500";
    assert!(text.contains(line), "{text}");
    comparison.differences = vec![change];
    let unnamed = sides(&comparison);
    assert_eq!(unnamed, ("run 3".to_owned(), "run 4".to_owned()));
}

#[test]
fn a_margin_has_three_answers() {
    let (mut base, mut new) = (minute(1, 1.0), minute(2, 0.77));
    (base.id, new.id) = (3, 4);
    let within = |margin: f64| {
        let options = CompareOptions {
            equivalent: Margin::new(margin),
            ..CompareOptions::default()
        };
        compare(&[&base], &[&new], &options).unwrap()
    };
    let has = |text: &str, part: &str| assert!(text.contains(part), "no '{part}' in {text}");
    let different = within(0.02);
    has(
        &answer(&different),
        "different, 0.768× (0.763 – 0.773) the throughput",
    );
    assert_eq!(outcome(&different), "slower");
    let text = shown(&different, false, 80);
    let row = |name: &str, word: &str| {
        let mut lines = text.lines();
        let is_there = lines.any(|line| line.starts_with(name) && line.trim_end().ends_with(word));
        assert!(is_there, "no '{name} … {word}' in {text}");
    };
    row("tx/s", "different");
    row("server CPU", "same");
    let flat: Vec<&str> = text.split_whitespace().collect();
    has(
        &flat.join(" "),
        "margin The same within 2 %: the 90 % interval of the ratio",
    );
    let mut same = within(0.5);
    has(&answer(&same), "the same within 50 % (a difference of 23.");
    assert_eq!(outcome(&same), "same");
    // A minute a side with an interval of twice the margin.
    let about = |reach: f64| Bounds {
        low: 1.0 - reach,
        high: 1.0 + reach,
    };
    let tested = Tested {
        ratio: 1.0,
        interval: about(0.05),
        inner: about(0.04),
    };
    let margin = Margin::new(0.02).unwrap();
    let test = EquivalenceTest::of(&tested, margin, Amount::Seconds(60.0));
    for metric in &mut same.metrics {
        metric.equivalence = Some(test);
    }
    has(
        &answer(&same),
        ": undecided, needs about 5 minutes a side, 0.768×",
    );
    assert_eq!(outcome(&same), "undecided");
    // Without an interval there is nothing to test.
    for metric in &mut same.metrics {
        (metric.low, metric.high, metric.equivalence) = (None, None, None);
    }
    has(
        &answer(&same),
        ": undecided, 0.768× the throughput, too few intervals",
    );
}
