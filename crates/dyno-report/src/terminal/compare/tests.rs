use dyno_core::finding::Cause;
use dyno_samples::full::minute;
use dyno_samples::values;
use dyno_verdict::{CompareOptions, compare};

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
fn costs_with_the_work_of_other_clients_say_so() {
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
        text.starts_with("sync_binlog 1 against sync_binlog 0: no difference"),
        "{text}"
    );
}
