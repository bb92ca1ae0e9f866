//! `dyno compare`: runs against a base.

use std::collections::BTreeSet;

use anyhow::Result;
use dyno_core::finding::{Verdict, verdict};
use dyno_core::record::RunRecord;
use dyno_report::terminal::{Look, comparison};
use dyno_results::Scope;
use dyno_verdict::{CompareOptions, Comparison, compare};
use serde_json::{Value, json};

use crate::definitions::COMPARE;
use crate::options::{Grammar, Parsed, Script, help, parse};
use crate::settings::usage;
use crate::{STATUS_DONE, STATUS_REFUSED, console, kept};

/// A factor that matches nothing is answered with so many of the differences there are.
const DIFFERENCES_TOLD: usize = 8;

/// Compares.
///
/// # Errors
/// Runs that there are not, or that must not share a table.
pub fn main(args: &[String]) -> Result<u8> {
    let parsed = parse(args, COMPARE, Script::Declares(&[]), Grammar::Dyno)?;
    if parsed.has("help") {
        console::help(&format!(
            "Usage: dyno compare BASE NEW…\n\n\
             Each is `last`, a run's number or the beginning of its name; FILE:RUN is a run of \
             another results file. Runs with commas between them are repetitions of the same: \
             `dyno compare 1,2,3 4,5,6`.\n{}",
            help(COMPARE, Grammar::Dyno)
        ));
        return Ok(STATUS_DONE);
    }
    let [base, new @ ..] = parsed.words.as_slice() else {
        return Err(usage("dyno compare needs a BASE and at least one NEW run"));
    };
    if new.is_empty() {
        return Err(usage(
            "dyno compare needs a NEW run to set against the base",
        ));
    }
    let options = CompareOptions {
        intended: parsed.values("factor").map(str::to_owned).collect(),
        other_workload: parsed.has("force"),
        ..CompareOptions::default()
    };
    let base = side(&parsed, base)?;
    let base: Vec<&RunRecord> = base.iter().collect();
    let sides: Vec<Vec<RunRecord>> = new
        .iter()
        .map(|word| side(&parsed, word))
        .collect::<Result<_>>()?;
    let mut compared = Vec::new();
    for side in &sides {
        let new: Vec<&RunRecord> = side.iter().collect();
        compared.push(compare(&base, &new, &options)?);
    }
    refuse_unknown(&base, &sides, &options.intended)?;
    let file = parsed
        .value("json")
        .filter(|file| !matches!(*file, "" | "-"));
    if parsed.has("json") {
        let all: Vec<Value> = compared.iter().map(as_json).collect();
        let text = serde_json::to_string_pretty(&all)? + "\n";
        match file {
            None => console::json(&text),
            Some(path) => crate::output::write(path, &text)?,
        }
    }
    if !parsed.has("json") || file.is_some() {
        let look = Look {
            columns: console::width(),
            colour: console::colors(parsed.has("no-color")),
            ascii: false,
        };
        for compared in &compared {
            console::page(&look, |look| comparison(compared, look));
        }
    }
    let refused = |compared: &Comparison| verdict(&compared.findings) == Verdict::Refused;
    Ok(if parsed.has("gate") && compared.iter().any(refused) {
        STATUS_REFUSED
    } else {
        STATUS_DONE
    })
}

/// Refuses factors that match no difference: what was meant would be told as meant by nobody.
fn refuse_unknown(base: &[&RunRecord], sides: &[Vec<RunRecord>], factors: &[String]) -> Result<()> {
    for factor in factors {
        let options = CompareOptions {
            intended: vec![factor.clone()],
            other_workload: true,
            ..CompareOptions::default()
        };
        let mut found = Vec::new();
        for side in sides {
            let new: Vec<&RunRecord> = side.iter().collect();
            found.extend(compare(base, &new, &options)?.differences);
        }
        if found.iter().any(|difference| difference.intended) {
            continue;
        }
        let names: BTreeSet<&str> = found.iter().map(|found| found.what.as_str()).collect();
        let some: Vec<&str> = names.into_iter().take(DIFFERENCES_TOLD).collect();
        return Err(usage(match some.is_empty() {
            true => format!("--factor {factor}: the runs differ in nothing that is recorded"),
            false => format!(
                "--factor {factor}: the runs differ in nothing that begins so; they differ in {}",
                some.join(", ")
            ),
        }));
    }
    Ok(())
}

/// The runs of one side.
fn side(parsed: &Parsed, word: &str) -> Result<Vec<RunRecord>> {
    word.split(',')
        .map(str::trim)
        .filter(|run| !run.is_empty())
        .map(|run| Ok(kept::load(parsed, run, &Scope::whole())?.1))
        .collect()
}

fn as_json(compared: &Comparison) -> Value {
    let side = |side: &dyno_verdict::Side| {
        let runs: Vec<Value> = side
            .runs
            .iter()
            .map(|run| {
                json!({
                    "id": run.id,
                    "name": run.name,
                    "verdict": run.verdict,
                    "waived": run.waived,
                })
            })
            .collect();
        json!({
            "runs": runs,
            "mean_per_s": side.mean_per_s,
            "median_per_s": side.median_per_s,
            "stalls": side.stalls,
            "stalled_s": side.stalled_s,
        })
    };
    let metrics: Vec<Value> = compared
        .metrics
        .iter()
        .map(|metric| {
            json!({
                "name": metric.name,
                "unit": metric.unit,
                "base": metric.base,
                "new": metric.new,
                "ratio": metric.ratio,
                "low": metric.low,
                "high": metric.high,
                "penalty": metric.penalty,
                "p": metric.p,
                "p_corrected": metric.p_corrected,
                "significant": metric.significant,
                "remark": metric.remark,
            })
        })
        .collect();
    let differences: Vec<Value> = compared
        .differences
        .iter()
        .map(|d| json!({"what": d.what, "base": d.base, "new": d.new, "intended": d.intended}))
        .collect();
    json!({
        "base": side(&compared.base),
        "new": side(&compared.new),
        "basis": format!("{:?}", compared.basis),
        "metrics": metrics,
        "differences": differences,
        "findings": compared.findings,
    })
}
