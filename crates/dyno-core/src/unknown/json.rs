//! Null in place of unknown figures in the JSON of a summary.

use serde_json::{Map, Value};

use super::{KINDS_UNKNOWN, Of, TOTALS_UNKNOWN, counters, has_length};
use crate::interval::Counters;
use crate::record::NotObserved;

/// Counters of [`KINDS_UNKNOWN`].
const KINDS: [&str; 3] = ["reads", "writes", "other"];

/// Figures of imported runs that are zero if unknown because their type allows nothing else: the
/// name in `not_observed`, the objects, and their fields.
const ZERO_IF_UNKNOWN: [(&str, &str, &[&str]); 3] = [
    (TOTALS_UNKNOWN, "totals", &Counters::NAMES),
    (TOTALS_UNKNOWN, "rates", &["events_per_s"]),
    ("operations.done_per_s", "operations", &["done_per_s"]),
];

/// Counts of an operation that are zero if the run's retries are unknown.
const RETRIES: [&str; 2] = ["retries", "retried"];

/// The errors by their code, and their name in `not_observed`.
const ERRORS: &str = "errors";

/// A gap: errors are counted, but not by code.
pub const ERRORS_BY_CODE: &str = "errors.by_code";

/// The lengths of a run.
const LENGTHS: [&str; 2] = ["measured_s", "elapsed_s"];

/// The key of the replaced figures that are not zero, by their JSON pointers.
const ASSUMED: &str = "assumed";

/// Replaces the unknown figures of a summary, or of a part of one, by null.
pub fn forget(run: &mut Value, gaps: &[NotObserved]) {
    let unknown = |what: &str| gaps.iter().any(|gap| gap.what == what);
    for (_, object, fields) in ZERO_IF_UNKNOWN.iter().filter(|(what, ..)| unknown(what)) {
        match run.get_mut(object) {
            Some(Value::Array(all)) => all.iter_mut().for_each(|one| zeros_to_null(one, fields)),
            Some(one) => zeros_to_null(one, fields),
            None => {}
        }
    }
    if unknown(TOTALS_UNKNOWN) {
        zeros_to_null(run, &LENGTHS);
    }
    // The summary has an assumed length.
    if !has_length(gaps) {
        for figure in ["/measured_s", "/elapsed_s", "/totals/events"] {
            if let Some(value) = run.pointer_mut(figure) {
                *value = Value::Null;
            }
        }
    }
    if let Some(totals) = run.get_mut("totals") {
        zeros_to_null(totals, &counters(gaps, Of::Run));
        if unknown(KINDS_UNKNOWN) {
            KINDS.iter().for_each(|kind| totals[*kind] = Value::Null);
        }
    }
    if unknown("counters.retries") {
        totals_of_operations(run).for_each(|totals| zeros_to_null(totals, &RETRIES));
    }
    let uncoded = unknown(ERRORS) || unknown(ERRORS_BY_CODE) && has_errors(run);
    if let Some(errors) = run.get_mut(ERRORS)
        && uncoded
        && errors.as_object().is_some_and(Map::is_empty)
    {
        *errors = Value::Null;
    }
    let of_intervals = counters(gaps, Of::Intervals);
    let intervals = run.get_mut("intervals").and_then(Value::as_array_mut);
    for interval in intervals.into_iter().flatten() {
        zeros_to_null(interval, &of_intervals);
        zeros_to_null(&mut interval["counters"], &of_intervals);
    }
}

fn has_errors(run: &Value) -> bool {
    let counts = ["errors", "errors_seen"].map(|name| run["totals"][name].as_u64());
    counts
        .iter()
        .any(|count| count.is_some_and(|count| count > 0))
}

fn totals_of_operations(run: &mut Value) -> impl Iterator<Item = &mut Value> {
    let operations = run.get_mut("operations").and_then(Value::as_array_mut);
    (operations.into_iter().flatten()).filter_map(|operation| operation.get_mut("totals"))
}

fn zeros_to_null(object: &mut Value, fields: &[&str]) {
    for field in fields {
        if let Some(value) = object
            .get_mut(field)
            .filter(|value| value.as_f64() == Some(0.0))
        {
            *value = Value::Null;
        }
    }
}

/// Replaces the unknown figures of a summary by null. Adds an object `assumed` with the nonzero
/// values that Dyno uses in their place: the assumed length and its events, and statements of
/// unknown kinds.
pub fn forget_reversibly(run: &mut Value, gaps: &[NotObserved]) {
    let whole = run.clone();
    forget(run, gaps);
    let mut assumed = Map::new();
    differences("", &whole, run, &mut assumed);
    if let Some(run) = run.as_object_mut().filter(|_| !assumed.is_empty()) {
        run.insert(ASSUMED.to_owned(), assumed.into());
    }
}

/// Collects the figures that are null in the second value, by their JSON pointers.
fn differences(place: &str, whole: &Value, run: &Value, out: &mut Map<String, Value>) {
    match (whole, run) {
        (Value::Number(own), Value::Null) if own.as_f64() != Some(0.0) => {
            out.insert(place.to_owned(), whole.clone());
        }
        (Value::Object(whole), Value::Object(_)) => {
            for (name, own) in whole {
                let other = run.get(name).unwrap_or(own);
                differences(&format!("{place}/{name}"), own, other, out);
            }
        }
        (Value::Array(whole), Value::Array(run)) => {
            for (index, (own, other)) in whole.iter().zip(run).enumerate() {
                differences(&format!("{place}/{index}"), own, other, out);
            }
        }
        _ => {}
    }
}

/// Restores the figures of a summary that [`forget_reversibly`] replaced.
pub fn restore(run: &mut Value) {
    let assumed = run.as_object_mut().and_then(|run| run.remove(ASSUMED));
    for (place, value) in assumed
        .as_ref()
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        if let Some(own) = run.pointer_mut(place) {
            *own = value.clone();
        }
    }
    nulls_to_zero(run, &LENGTHS);
    for (_, object, fields) in ZERO_IF_UNKNOWN {
        match run.get_mut(object) {
            Some(Value::Array(all)) => all.iter_mut().for_each(|one| nulls_to_zero(one, fields)),
            Some(one) => nulls_to_zero(one, fields),
            None => {}
        }
    }
    totals_of_operations(run).for_each(|totals| nulls_to_zero(totals, &RETRIES));
    if let Some(errors) = run.get_mut(ERRORS).filter(|errors| errors.is_null()) {
        *errors = Map::new().into();
    }
}

fn nulls_to_zero(object: &mut Value, fields: &[&str]) {
    for field in fields {
        if let Some(value) = object.get_mut(field).filter(|value| value.is_null()) {
            *value = 0.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::unknown::LENGTH_UNKNOWN;

    fn summary() -> Value {
        json!({
            "measured_s": 60.0, "elapsed_s": 60.0,
            "totals": {"events": 900, "reads": 0, "writes": 0, "other": 4500, "rows": 0},
            "rates": {"events_per_s": 15.0, "queries_per_s": null},
            "errors": {},
            "operations": [
                {"name": "a", "done_per_s": 0.0, "totals": {"done": 0, "retries": 0, "retried": 0}},
                {"name": "b", "done_per_s": 2.5, "totals": {"done": 9, "retries": 2, "retried": 1}}
            ],
            "fairness": null
        })
    }

    #[test]
    fn forgotten_figures_are_restored() {
        let all = [
            "counters.rows",
            "counters.retries",
            ERRORS,
            KINDS_UNKNOWN,
            LENGTH_UNKNOWN,
            "operations.done_per_s",
        ];
        let gaps = all.map(|what| NotObserved {
            what: what.to_owned(),
            why: String::new(),
        });
        let mut run = summary();
        forget_reversibly(&mut run, &gaps);
        assert_eq!(
            run["totals"],
            json!({"events": null, "reads": null, "writes": null, "other": null, "rows": null})
        );
        assert_eq!(
            (&run["measured_s"], &run["elapsed_s"]),
            (&Value::Null, &Value::Null)
        );
        assert_eq!(
            run["operations"][0],
            json!({"name": "a", "done_per_s": null,
                   "totals": {"done": 0, "retries": null, "retried": null}})
        );
        assert_eq!(run["errors"], Value::Null);
        assert_eq!(
            run["assumed"],
            json!({"/measured_s": 60.0, "/elapsed_s": 60.0, "/totals/events": 900,
                   "/totals/other": 4500})
        );
        restore(&mut run);
        let zero = json!(0);
        assert_eq!(run["operations"][0]["done_per_s"], zero);
        run["operations"][0]["done_per_s"] = 0.0.into();
        assert_eq!(run, summary());
        // A summary without gaps stays as it is.
        let mut run = summary();
        forget_reversibly(&mut run, &[]);
        assert_eq!(run, summary());
    }

    #[test]
    fn errors_without_their_codes_are_null() {
        let gaps = [NotObserved {
            what: ERRORS_BY_CODE.to_owned(),
            why: String::new(),
        }];
        let mut run = summary();
        forget(&mut run, &gaps);
        assert_eq!(run["errors"], json!({}));
        run["totals"]["errors_seen"] = 3.into();
        forget(&mut run, &gaps);
        assert_eq!(run["errors"], Value::Null);
    }

    #[test]
    fn counters_without_a_figure_are_not_finite() {
        use crate::unknown::known_count;
        let gap = |what: &str| NotObserved {
            what: what.to_owned(),
            why: String::new(),
        };
        let gaps = [gap("counters.retries"), gap(LENGTH_UNKNOWN)];
        assert!(known_count(&gaps, "retries", 0).is_nan());
        assert!(known_count(&gaps, "events", 900).is_nan());
        assert_eq!(known_count(&gaps, "rows", 7), 7.0);
    }
}
