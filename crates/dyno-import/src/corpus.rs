//! Compares logs of real tools with figures computed by an independent program; see
//! `corpus/README.md`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use dyno_core::catalogue::names;
use dyno_core::record::RunRecord;
use dyno_core::summary::{LatencySummary, RunSummary};
use serde_json::{Map, Value};

use crate::table::Values;
use crate::{Log, Monitor, Options, Tool, import};

type Figures = BTreeMap<String, f64>;

#[test]
fn real_logs_match_independently_computed_figures() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus");
    let expected = fs::read_to_string(corpus.join("expected.json")).unwrap();
    let expected: BTreeMap<String, Value> = serde_json::from_str(&expected).unwrap();
    let files = files(&corpus.join("logs"));
    let known: BTreeSet<&String> = expected.keys().collect();
    let there: BTreeSet<&String> = files.keys().collect();
    let mut wrong: Vec<String> = Vec::new();
    let missing = there.difference(&known);
    wrong.extend(missing.map(|name| format!("{name}: expected.json does not have it")));
    let missing = known.difference(&there);
    wrong.extend(missing.map(|name| format!("{name}: the file is missing")));
    for (name, path) in &files {
        let text = fs::read_to_string(path).unwrap();
        if let Some(entry) = expected.get(name) {
            let all = differences(name, &text, entry);
            wrong.extend(all.into_iter().map(|text| format!("{name}: {text}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The files in the folders of a folder, by `FOLDER/FILE`.
fn files(root: &Path) -> BTreeMap<String, PathBuf> {
    let list = |path: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(path).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let name = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    let all = list(root).into_iter().flat_map(|folder| list(&folder));
    all.map(|path| (name(&path), path)).collect()
}

fn differences(name: &str, text: &str, entry: &Value) -> Vec<String> {
    let (folder, _) = name.split_once('/').unwrap();
    let log = Log { name, text };
    let Some(tool) = Tool::named(folder) else {
        let monitor = Monitor::ALL.into_iter().find(|own| own.name() == folder);
        return of_host(monitor.unwrap(), &log, entry);
    };
    let imported = import(tool, &[log], &[], &Options::default());
    if let Some(what) = entry.get("refused").and_then(Value::as_str) {
        return match imported {
            Err(error) if error.to_string().contains(what) => Vec::new(),
            other => vec![format!("is not refused as {what}: {other:?}")],
        };
    }
    let imported = match imported {
        Ok(imported) => imported,
        Err(error) => return vec![error.to_string()],
    };
    let runs = entry["runs"].as_array().unwrap();
    if runs.len() != imported.runs.len() {
        return vec![format!("{} runs, not {}", imported.runs.len(), runs.len())];
    }
    let pairs = imported.runs.iter().zip(runs);
    let mut wrong: Vec<String> = pairs
        .flat_map(|(run, expected)| compared(expected, &of_run(run)))
        .collect();
    let incomplete = entry.get("incomplete").is_some();
    let cut_off = imported
        .runs
        .iter()
        .filter_map(|run| run.fact(names::IMPORT_CUT_OFF));
    if cut_off.clone().count() > 0 && !incomplete {
        wrong.extend(cut_off.map(str::to_owned));
    } else if cut_off.count() == 0 && incomplete {
        wrong.push("not known to be incomplete".to_owned());
    }
    let contradictions = imported.runs.iter();
    let contradictions = contradictions.filter_map(|run| run.fact(names::IMPORT_CONTRADICTIONS));
    wrong.extend(contradictions.map(str::to_owned));
    wrong
}

fn of_run(run: &RunRecord) -> Figures {
    let mut figures = Figures::new();
    let mut put = |name: &str, value: Option<f64>| {
        figures.extend(value.map(|value| (name.to_owned(), value)));
    };
    let Some(summary) = &run.summary else {
        return figures;
    };
    let totals = &summary.totals;
    put("events", Some(totals.events as f64));
    put("queries", Some(totals.queries() as f64));
    put("errors", Some(totals.errors as f64));
    put("failed", Some(totals.not_done as f64));
    put("retries", Some(totals.retries as f64));
    put("rate", Some(summary.rates.events_per_s));
    let limit = summary.latency_limit.as_ref();
    put("skipped", limit.map(|limit| limit.skipped as f64));
    put("above", limit.map(|limit| limit.above as f64));
    let sessions = summary
        .drive
        .as_ref()
        .map(|drive| f64::from(drive.sessions));
    put("clients", sessions);
    let orders = summary.figures.iter();
    let orders = orders.clone().find(|own| own.name.contains("NOPM"));
    put("orders", orders.map(|own| own.value));
    let known = |latency: &&LatencySummary| latency.count > 0;
    let service = Some(&summary.service).filter(known);
    let response = summary.response.as_ref().filter(known);
    put("mean", service.and_then(|own| own.mean_ms));
    put("response.mean", response.and_then(|own| own.mean_ms));
    for (name, own) in [("service", service), ("response", response)] {
        put(&format!("{name}.min"), own.and_then(|own| own.min_ms));
        put(&format!("{name}.max"), own.and_then(|own| own.max_ms));
    }
    // sysbench prints the percentiles of response times with --rate.
    let only_response = response.filter(|_| service.is_none());
    let own = service.or(only_response).into_iter();
    for own in own.flat_map(|own| &own.percentiles) {
        put(&format!("p{}", own.percent), own.value_ms);
    }
    put("syncs", syncs(summary));
    let rates: Vec<f64> = (run.intervals.iter())
        .map(|interval| interval.events_per_s())
        .collect();
    put("intervals", Some(rates.len() as f64));
    put("intervals.median", dyno_stats::median(&rates));
    for fact in &run.facts {
        let value = fact
            .value
            .strip_suffix(" %")
            .map(|value| value.parse().unwrap());
        put(fact.name.trim_start_matches("import."), value);
    }
    figures
}

fn syncs(summary: &RunSummary) -> Option<f64> {
    let mut all = summary.operations.iter();
    let syncs = all.find(|own| own.name == "sync")?;
    Some(syncs.totals.done as f64)
}

fn of_host(monitor: Monitor, log: &Log<'_>, entry: &Value) -> Vec<String> {
    let unit = entry.get("unit").and_then(Value::as_str);
    let options = Options {
        first_report: entry.get("first_report").is_some(),
        vmstat_unit_bytes: unit.map(|unit| crate::vmstat_unit_bytes(unit).unwrap()),
        ..Options::default()
    };
    let host = match monitor.read(log, &options) {
        Ok(host) => host,
        Err(error) => return vec![error.to_string()],
    };
    let first = usize::from(host.first_since_boot);
    let mean = |own: &Values| {
        let values = own.values.iter().filter(|(sample, _)| *sample >= first);
        let values: Vec<f64> = values.map(|(_, value)| *value).collect();
        values.iter().sum::<f64>() / values.len() as f64
    };
    let all = host.collected.all.iter();
    let mut figures: Figures = all.map(|own| (own.name.clone(), mean(own))).collect();
    let samples = host.moments.len() - first;
    figures.insert("samples".to_owned(), samples as f64);
    let began = host.moments[0].map(|moment| moment.unix_s(0.0));
    figures.extend(began.map(|began| ("began".to_owned(), began)));
    let mut wrong = compared(&entry["host"], &figures);
    let expected = entry.get("warnings").and_then(Value::as_u64).unwrap_or(0);
    if host.warnings.len() as u64 != expected {
        wrong.extend(host.warnings.iter().map(ToString::to_string));
    }
    wrong
}

/// The figures that differ from the expected ones by more than their tolerance.
fn compared(expected: &Value, figures: &Figures) -> Vec<String> {
    let expected: &Map<String, Value> = expected.as_object().unwrap();
    let differs = |(name, own): (&String, &Value)| {
        let found = figures.get(name).copied();
        let fits = match own.as_array() {
            None => found.is_none(),
            Some(own) => {
                let [value, room] = [&own[0], &own[1]].map(|own| own.as_f64().unwrap());
                found.is_some_and(|found| (found - value).abs() <= room)
            }
        };
        (!fits).then(|| format!("{name} is {found:?}, expected {own}"))
    };
    expected.iter().filter_map(differs).collect()
}
