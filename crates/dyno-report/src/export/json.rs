//! A recorded run as JSON, by `docs/schema/export.json`. Histograms are reduced to percentiles and
//! buckets; the interval log has them in full.

use dyno_core::cpu_profile::{CpuProfile, ProfiledProcess};
use dyno_core::finding::{Finding, Verdict};
use dyno_core::plan::Drive;
use dyno_core::record::{
    Event, Fact, NotObserved, Operation, Profile, RunRecord, RunState, SeriesKind, SessionShare,
    Setting, Source, Span,
};
use dyno_core::summary::{
    IntervalSummary, LatencySummary, RunSummary, TargetSummary, WorkloadSummary,
};
use hdrhistogram::Histogram;
use serde::Serialize;

use dyno_analysis::summarize::{self, Exact};

/// The version of [`SCHEMA`].
pub const SCHEMA_VERSION: u32 = 1;

/// The JSON Schema (2020-12) of [`run`]'s text: `docs/schema/export.json`. It contains
/// [`crate::json::SCHEMA`].
pub const SCHEMA: &str = include_str!("../../../../docs/schema/export.json");

/// Percentiles of histograms, in addition to the requested ones.
const PERCENTS: [f64; 5] = [50.0, 90.0, 95.0, 99.0, 99.9];

/// Never: keys are texts, and numbers are valid.
/// are null.
///
/// # Errors
/// None for a record: its keys are texts and its numbers are numbers.
pub fn run(run: &RunRecord) -> Result<String, serde_json::Error> {
    let value = crate::json::with_nulls(&Exported::of(run), &run.not_observed)?;
    let mut text = serde_json::to_string_pretty(&value)?;
    text.push('\n');
    Ok(text)
}

#[derive(Serialize)]
struct Exported<'a> {
    schema_version: u32,
    id: i64,
    name: &'a str,
    state: RunState,
    source: Source,
    profile: Profile,
    tool: &'a str,
    created_unix_s: f64,
    argv: &'a [String],
    workload: &'a WorkloadSummary,
    script_sha256: &'a str,
    target: &'a TargetSummary,
    drive: Option<&'a Drive>,
    percentiles: &'a [f64],
    note: &'a str,
    verdict: Option<Verdict>,
    findings: &'a [Finding],
    summary: Option<&'a RunSummary>,
    intervals: &'a [IntervalSummary],
    operations: Vec<ExportedOperation<'a>>,
    series: Vec<ExportedSeries<'a>>,
    not_observed: &'a [NotObserved],
    facts: &'a [Fact],
    settings: &'a [Setting],
    events: &'a [Event],
    sessions: &'a [SessionShare],
    cpu_profiles: Vec<ExportedProfile<'a>>,
}

#[derive(Serialize)]
struct ExportedProfile<'a> {
    process: ProfiledProcess,
    frequency_hz: u32,
    samples: u64,
    lost: u64,
    cut: Option<&'a str>,
    stacks: String,
}

#[derive(Serialize)]
struct ExportedOperation<'a> {
    name: &'a str,
    total: Option<ExportedSpan>,
    spans: Vec<ExportedSpan>,
}

#[derive(Serialize)]
struct ExportedSpan {
    from_s: f64,
    to_s: f64,
    service: LatencySummary,
    response: Option<LatencySummary>,
}

#[derive(Serialize)]
struct ExportedSeries<'a> {
    name: &'a str,
    unit: &'a str,
    kind: SeriesKind,
    source: &'a str,
    points: &'a [(f64, f64)],
}

impl<'a> Exported<'a> {
    fn of(run: &'a RunRecord) -> Self {
        let head = &run.head;
        let mut percents = [&PERCENTS[..], &head.percentiles].concat();
        percents.sort_by(f64::total_cmp);
        percents.dedup();
        let series = run.series.iter().map(|series| ExportedSeries {
            name: &series.key.name,
            unit: &series.key.unit,
            kind: series.kind,
            source: &series.key.source,
            points: &series.points,
        });
        let operations = run.operations.iter();
        Self {
            schema_version: SCHEMA_VERSION,
            id: run.id,
            name: &head.name,
            state: run.state,
            source: head.source,
            profile: head.profile,
            tool: &head.tool,
            created_unix_s: head.created_unix_s,
            argv: &head.argv,
            workload: &head.workload,
            script_sha256: &head.script_sha256,
            target: &head.target,
            drive: head.drive.as_ref(),
            percentiles: &head.percentiles,
            note: &head.note,
            verdict: run.verdict,
            findings: &run.findings,
            summary: run.summary.as_ref(),
            intervals: &run.intervals,
            operations: operations.map(|o| operation(o, &percents, run)).collect(),
            series: series.collect(),
            not_observed: &run.not_observed,
            facts: &run.facts,
            settings: &run.settings,
            events: &run.events,
            sessions: &run.sessions,
            cpu_profiles: run.profiles.iter().map(profile).collect(),
        }
    }
}

fn profile(profile: &CpuProfile) -> ExportedProfile<'_> {
    ExportedProfile {
        process: profile.process,
        frequency_hz: profile.frequency_hz,
        samples: profile.samples,
        lost: profile.lost,
        cut: profile.cut.as_deref(),
        stacks: profile.stacks.folded(),
    }
}

fn operation<'a>(
    operation: &'a Operation,
    percents: &[f64],
    run: &RunRecord,
) -> ExportedOperation<'a> {
    let mut total = operation.total.as_ref().map(|total| span(total, percents));
    let rounded = total.as_mut().and_then(|total| total.response.as_mut());
    if let Some((rounded, exact)) = rounded.zip(response(run, &operation.name))
        && rounded.count == exact.count
    {
        (rounded.min_ms, rounded.max_ms) = (exact.min_ms, exact.max_ms);
        (rounded.mean_ms, rounded.sum_ms) = (exact.mean_ms, exact.sum_ms);
    }
    ExportedOperation {
        name: &operation.name,
        total,
        spans: operation.spans.iter().map(|s| span(s, percents)).collect(),
    }
}

/// The response times of an operation over the whole run, with exact extremes.
fn response<'a>(run: &'a RunRecord, name: &str) -> Option<&'a LatencySummary> {
    let summary = run.summary.as_ref()?;
    match summary.operations.iter().find(|own| own.name == name) {
        Some(own) => own.response.as_ref(),
        None if name == "event" => summary.response.as_ref(),
        None => None,
    }
}

fn span(span: &Span, percents: &[f64]) -> ExportedSpan {
    let exact = Exact {
        sum: span.service_ns_sum,
        min: span.service_ns_min,
        max: span.service_ns_max,
        clipped: 0,
    };
    let response = &span.response;
    ExportedSpan {
        from_s: span.from_s,
        to_s: span.to_s,
        service: summarize::summary(&span.service, exact, percents),
        response: (!response.is_empty())
            .then(|| summarize::summary(response, rounded(response), percents)),
    }
}

/// Extremes and sum from a histogram, with its precision.
fn rounded(histogram: &Histogram<u64>) -> Exact {
    Exact {
        sum: (histogram.mean() * histogram.len() as f64) as u64,
        min: histogram.min(),
        max: histogram.max(),
        clipped: 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_samples::small as samples;
    use serde_json::Value;
    use std::collections::BTreeSet;

    fn schema() -> Value {
        serde_json::from_str(SCHEMA).unwrap()
    }

    fn json(record: &RunRecord) -> Value {
        serde_json::from_str(&run(record).unwrap()).unwrap()
    }

    fn errors(document: &Value) -> Vec<String> {
        let validator = jsonschema::validator_for(&schema()).unwrap();
        let errors = validator.iter_errors(document);
        errors
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect()
    }

    #[test]
    fn the_schema_contains_that_of_a_summary() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/schema/export.json");
        let summary: Value = serde_json::from_str(crate::json::SCHEMA).unwrap();
        let mut expected = schema();
        expected["$defs"]["run.json"] = summary;
        if std::env::var_os("DYNO_WRITE_GUIDE").is_some() {
            let text = serde_json::to_string_pretty(&expected).unwrap() + "\n";
            std::fs::write(path, text).unwrap();
        }
        assert_eq!(schema(), expected);
    }

    #[test]
    fn records_are_valid_by_the_schema() {
        for record in [samples::record(), samples::bare()] {
            let errors = errors(&json(&record));
            assert!(errors.is_empty(), "{errors:#?}");
        }
    }

    #[test]
    fn the_schema_rejects_unknown_fields() {
        for (pointer, value) in [
            ("/surprise", Value::from(1)),
            ("/operations/0/spans/0/surprise", 1.into()),
            ("/intervals/0/counters/events", (-1).into()),
            ("/series/0/kind", "x".into()),
        ] {
            let mut document = json(&samples::record());
            let (parent, key) = pointer.rsplit_once('/').unwrap();
            let parent = document.pointer_mut(parent).unwrap();
            parent[key] = value;
            assert!(!errors(&document).is_empty(), "{pointer}");
        }
    }

    #[test]
    fn every_property_is_promised_and_described() {
        let schema = schema();
        let properties = schema["properties"].as_object().unwrap();
        let promised: BTreeSet<&str> = properties.keys().map(String::as_str).collect();
        let document = json(&samples::record());
        let produced: BTreeSet<&str> = document
            .as_object()
            .unwrap()
            .keys()
            .map(String::as_str)
            .collect();
        assert_eq!(promised, produced);
        for (name, property) in properties {
            assert!(property["description"].is_string(), "{name}");
        }
    }

    #[test]
    fn response_times_of_the_whole_run_have_exact_extremes() {
        let mut record = samples::record();
        record.summary.as_mut().unwrap().operations.clear();
        let total = record.operations[0].total.as_mut().unwrap();
        total.response = total.service.clone();
        let exact = LatencySummary {
            count: total.response.len(),
            ..record.summary.as_ref().unwrap().service.clone()
        };
        record.summary.as_mut().unwrap().response = Some(exact.clone());
        let response = json(&record)["operations"][0]["total"]["response"].clone();
        assert_eq!(response["min_ms"], serde_json::json!(exact.min_ms));
        assert_eq!(response["max_ms"], serde_json::json!(exact.max_ms));
    }

    #[test]
    fn latencies_are_percentiles_and_buckets() {
        let record = samples::record();
        let document = json(&record);
        let total = &document["operations"][0]["total"]["service"];
        let whole = record.operations[0].total.as_ref().unwrap();
        assert_eq!(total["count"], whole.count);
        let buckets = total["buckets"].as_array().unwrap();
        let sum: u64 = buckets.iter().map(|b| b["count"].as_u64().unwrap()).sum();
        assert_eq!(sum, whole.count);
        assert!(total["percentiles"].as_array().unwrap().len() >= PERCENTS.len());
        assert_eq!(
            document["series"][0]["points"][0],
            serde_json::json!([1.0, 83.0])
        );
    }
}
