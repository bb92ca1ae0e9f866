//! The machine-readable summary of a run.

use dyno_core::record::NotObserved;
use dyno_core::summary::RunSummary;
use dyno_core::unknown;
use serde::Serialize;
use serde_json::Value;

/// The JSON Schema (2020-12) of [`run`]'s text: `docs/schema/run.json`.
pub const SCHEMA: &str = include_str!("../../../docs/schema/run.json");

/// The run as JSON by [`SCHEMA`], indented, with a line end.
///
/// # Errors
/// None for a summary: its keys are texts and its numbers are numbers.
pub fn run(run: &RunSummary) -> Result<String, serde_json::Error> {
    let mut text = serde_json::to_string_pretty(&with_nulls(run, &run.not_observed)?)?;
    text.push('\n');
    Ok(text)
}

/// Several runs as a JSON array, each by [`SCHEMA`].
///
/// # Errors
/// As [`run`].
pub fn runs(runs: &[RunSummary]) -> Result<String, serde_json::Error> {
    let values = runs.iter().map(|run| with_nulls(run, &run.not_observed));
    let values: Vec<Value> = values.collect::<Result<_, _>>()?;
    let mut text = serde_json::to_string_pretty(&values)?;
    text.push('\n');
    Ok(text)
}

/// Converts a summary, a part of one, or a record to JSON, with null in place of unknown figures.
///
/// # Errors
/// `serde_json` fails.
pub(crate) fn with_nulls<T: Serialize>(
    run: &T,
    gaps: &[NotObserved],
) -> Result<Value, serde_json::Error> {
    let mut value = serde_json::to_value(run)?;
    unknown::forget(&mut value, gaps);
    if let Some(summary) = value.get_mut("summary") {
        unknown::forget(summary, gaps);
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::finding::{Cause, Durability, DurabilityClass, Outcome, Stall};
    use dyno_core::plan::Shard;
    use dyno_core::summary::{
        Access, AgentClock, AgentFinding, AgentSummary, LatencySummary, RunEnd, ServerHost,
        StatementPlan,
    };
    use dyno_core::unknown::{KINDS_UNKNOWN, LENGTH_UNKNOWN, TOTALS_UNKNOWN};
    use dyno_samples::{summaries as samples, values};
    use std::collections::BTreeSet;

    fn gap(what: &str) -> NotObserved {
        values::gap(what, "the log does not contain it")
    }

    #[test]
    fn values_missing_in_a_log_are_null() {
        let mut run = samples::good();
        run.service.min_ms = None;
        let value = json(&run);
        assert_eq!(value["service"]["min_ms"], Value::Null);
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        assert!(validator.is_valid(&value));
    }

    #[test]
    fn counters_that_a_log_does_not_hold_are_null() {
        let mut run = samples::good();
        let unknown = [
            "counters.rows",
            "intervals.errors",
            "errors",
            "counters.queries",
        ];
        run.not_observed.extend(unknown.map(gap));
        run.totals = Default::default();
        run.rates.queries_per_s = None;
        run.intervals.truncate(1);
        let interval = &mut run.intervals[0];
        (interval.counters, interval.errors_seen) = Default::default();
        (interval.max_ms, interval.backlog) = (None, None);
        (interval.sessions, interval.concurrency) = (None, None);
        let value = json(&run);
        let first = &value["intervals"][0];
        let unknown = [
            &value["totals"]["rows"],
            &value["totals"]["reads"],
            &value["totals"]["errors"],
            &value["rates"]["queries_per_s"],
            &first["counters"]["bytes_in"],
            &first["counters"]["errors"],
            &first["errors_seen"],
            &first["max_ms"],
            &first["backlog"],
            &first["sessions"],
            &first["concurrency"],
        ];
        assert_eq!(unknown, [&Value::Null; 11], "{value:#}");
        assert_eq!(
            (&first["counters"]["events"], &value["totals"]["retries"]),
            (&0.into(), &0.into())
        );
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        assert!(validator.is_valid(&value));
    }

    #[test]
    fn figures_of_operations_that_a_log_does_not_hold_are_null() {
        let mut run = samples::good();
        let service = LatencySummary {
            min_ms: None,
            mean_ms: Some(4.5),
            max_ms: None,
            ..run.service.clone()
        };
        run.operations = vec![values::operation("slev", 0.0, service)];
        run.not_observed = vec![gap("operations.done_per_s")];
        let value = json(&run);
        let own = &value["operations"][0];
        assert_eq!(own["done_per_s"], Value::Null);
        assert_eq!(own["service"]["min_ms"], Value::Null);
        assert_eq!(own["service"]["max_ms"], Value::Null);
        assert_eq!(own["service"]["mean_ms"], 4.5);
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        assert!(validator.is_valid(&value));
    }

    #[test]
    fn figures_of_a_log_without_totals_are_null() {
        let mut run = RunSummary {
            not_observed: vec![gap(TOTALS_UNKNOWN)],
            ..samples::good()
        };
        (run.measured_s, run.elapsed_s) = (0.0, 0.0);
        (run.totals, run.rates, run.service) = Default::default();
        let value = json(&run);
        let unknown = [
            &value["measured_s"],
            &value["elapsed_s"],
            &value["totals"]["events"],
            &value["rates"]["events_per_s"],
            &value["service"]["min_ms"],
        ];
        assert_eq!(unknown, [&Value::Null; 5], "{value:#}");
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        assert!(validator.is_valid(&value));

        let mut run = samples::good();
        run.not_observed = vec![gap(LENGTH_UNKNOWN)];
        let value = json(&run);
        let unknown = [
            &value["measured_s"],
            &value["elapsed_s"],
            &value["totals"]["events"],
        ];
        assert_eq!(unknown, [&Value::Null; 3], "{value:#}");
        assert!(value["rates"]["events_per_s"].is_number());
        assert!(validator.is_valid(&value));

        let mut run = samples::good();
        run.not_observed = vec![gap(KINDS_UNKNOWN)];
        (run.totals.reads, run.totals.writes, run.totals.other) = (0, 0, 900);
        let value = json(&run);
        for kind in ["reads", "writes", "other"] {
            assert_eq!(value["totals"][kind], Value::Null);
        }
        assert!(value["rates"]["queries_per_s"].is_number());
        assert!(validator.is_valid(&value));

        let mut run = samples::good();
        run.not_observed = vec![gap(unknown::OTHER_UNKNOWN)];
        (run.totals.reads, run.totals.writes, run.totals.other) = (700, 200, 0);
        run.rates.queries_per_s = None;
        let value = json(&run);
        assert_eq!(value["totals"]["reads"], 700);
        let unknown = [&value["totals"]["other"], &value["rates"]["queries_per_s"]];
        assert_eq!(unknown, [&Value::Null; 2]);
        assert!(validator.is_valid(&value));
    }

    fn schema() -> Value {
        serde_json::from_str(SCHEMA).unwrap()
    }

    fn json(summary: &RunSummary) -> Value {
        serde_json::from_str(&run(summary).unwrap()).unwrap()
    }

    #[test]
    fn summaries_are_valid_by_the_schema() {
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        for sample in samples::all() {
            let errors: Vec<String> = validator
                .iter_errors(&json(&sample))
                .map(|error| format!("{}: {error}", error.instance_path()))
                .collect();
            assert!(errors.is_empty(), "{errors:#?}");
        }
    }

    #[test]
    fn the_schema_is_valid_and_rejects_unknown_fields() {
        assert!(jsonschema::meta::is_valid(&schema()));
        let validator = jsonschema::draft202012::new(&schema()).unwrap();
        let mut unknown = json(&samples::good());
        unknown["rates"]["surprise"] = 1.into();
        assert!(!validator.is_valid(&unknown));
        let mut missing = json(&samples::good());
        missing.as_object_mut().unwrap().remove("totals");
        assert!(!validator.is_valid(&missing));
        let mut negative = json(&samples::good());
        negative["totals"]["events"] = (-1).into();
        assert!(!validator.is_valid(&negative));
    }

    /// Every property in the schema occurs in some run.
    #[test]
    fn every_property_of_the_schema_is_produced_and_described() {
        let schema = schema();
        let mut promised = BTreeSet::new();
        describe(&schema, &schema, "", &mut promised);
        let mut produced = BTreeSet::new();
        let mut all = samples::all();
        // As in an import.
        all[0].intervals[0].printed = Some(Default::default());
        for sample in all {
            walk(&json(&sample), "", &mut produced);
        }
        let mut varied = samples::good();
        varied.factors.insert("memory".into(), "5G".into());
        varied.costs[0].left_out = true;
        varied.costs[1].includes = Some(Cause::OtherClients);
        varied.plans = vec![StatementPlan {
            shape: "SELECT c FROM t WHERE id = ?".into(),
            accesses: vec![Access::default()],
            other_steps: vec!["filesort".into()],
            text: "{}".into(),
            why_not: "the server tells no plan".into(),
        }];
        varied.server_host = Some(ServerHost {
            observer: "ssh:db1".into(),
            cpus: Some(16.0),
            busy_percent: Some(64.0),
            server_percent: Some(52.0),
        });
        divided(&mut varied);
        let mut finding = values::finding("durability", 38, Outcome::Pass, "It is known.");
        finding.durability = Some(Durability {
            class: DurabilityClass::Process,
            because: vec!["synchronous_commit = off".into()],
        });
        varied.findings.push(finding);
        let mut finding = values::finding("stalls", 26, Outcome::Doubt, "It stood still.");
        finding.stalls = Some(vec![Stall {
            from_s: 2.0,
            to_s: 3.5,
            events_per_s: 0.0,
            level_per_s: 900.0,
        }]);
        varied.findings.push(finding);
        let varied = json(&varied);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        assert!(validator.is_valid(&varied));
        walk(&varied, "", &mut produced);
        let missing: Vec<_> = promised.difference(&produced).collect();
        assert!(promised.len() > 80, "{}", promised.len());
        assert!(missing.is_empty(), "{missing:#?}");
    }

    /// Makes a run one of several agents, and also a part of another run.
    fn divided(run: &mut RunSummary) {
        let drive = run.drive.as_mut().unwrap();
        drive.shard = Some(Shard::parse("1/2:1").unwrap());
        drive.begin_unix_s = Some(1_795_000_000.0);
        run.agents = vec![AgentSummary {
            name: "gen1".into(),
            fraction: 0.5,
            clock: Some(AgentClock::default()),
            ..AgentSummary::default()
        }];
        run.agent_findings = vec![AgentFinding {
            kind: "agent-lost".into(),
            outcome: Outcome::Doubt,
            agent: Some("gen1".into()),
            evidence: "gen1 was lost".into(),
        }];
    }

    #[test]
    fn the_end_of_a_run_has_its_reason() {
        let mut sample = samples::good();
        assert_eq!(
            json(&sample)["end"],
            serde_json::json!({"how": "completed"})
        );
        sample.end = RunEnd::Failed("x".into());
        let expected = serde_json::json!({"how": "failed", "why": "x"});
        assert_eq!(json(&sample)["end"], expected);
    }

    /// Collects the paths of all properties, following references. Requires descriptions, closed
    /// objects, and every property to be required unless it may be absent.
    fn describe(root: &Value, node: &Value, path: &str, out: &mut BTreeSet<String>) {
        if let Some(reference) = node["$ref"].as_str() {
            let pointer = reference.strip_prefix('#').unwrap();
            describe(root, root.pointer(pointer).unwrap(), path, out);
        }
        for alternative in node["anyOf"].as_array().into_iter().flatten() {
            describe(root, alternative, path, out);
        }
        if let Some(properties) = node["properties"].as_object() {
            assert_eq!(node["additionalProperties"], false, "{path} is open");
            for (name, property) in properties {
                let path = format!("{path}/{name}");
                let described = property["description"]
                    .as_str()
                    .is_some_and(|d| d.len() > 8);
                assert!(described, "{path} has no description");
                describe(root, property, &path, out);
                out.insert(path);
            }
        }
        if node["items"].is_object() {
            describe(root, &node["items"], &format!("{path}[]"), out);
        }
        if node["additionalProperties"].is_object() {
            describe(
                root,
                &node["additionalProperties"],
                &format!("{path}/*"),
                out,
            );
        }
    }

    fn walk(value: &Value, path: &str, out: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) => {
                for (name, value) in object {
                    for name in [name.as_str(), "*"] {
                        let path = format!("{path}/{name}");
                        walk(value, &path, out);
                        out.insert(path);
                    }
                }
            }
            Value::Array(items) => {
                for item in items {
                    walk(item, &format!("{path}[]"), out);
                }
            }
            _ => {}
        }
    }
}
