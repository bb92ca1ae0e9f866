//! `docs/performance.md`: the last results of every section, against the bars.

use std::fmt::Write;

use anyhow::{Context, Result};
use serde_json::Value;

use crate::bars::{BARS, Bar};
use crate::bench::Bench;
use crate::quiet::OTHERS_CORES_MAX;
use crate::results;
use crate::sections::SECTIONS;

const HEAD: &str = "\
# Performance

Made by `cargo run --release -p client-cost`; do not edit. The raw data are in `bench/results/`.

Each load generator is pinned to one core, a null server that answers with canned rows to the
other, with UNIX sockets between them, so that the client is what is measured. Runs alternate,
round after round. A figure is the median over the rounds; a ratio is taken within each round
first. The spread is the smallest and the largest round. CPU time is the user and system time of
the whole process. Instructions are those of user space, counted by callgrind. For point selects a
short run is subtracted from a long one, in CPU time as in instructions, so that starting, compiling
scripts and ending cancel; elsewhere they are included. `floor` is an epoll client without script,
latencies or statistics: the least that a query costs a client.
";

/// Sections that others do not disturb, or whose others are the servers that they load:
/// instructions are the same whatever runs beside.
const STEADY: [&str; 2] = ["instructions", "load-servers"];

/// Writes the document.
pub fn write(bench: &Bench) -> Result<()> {
    let mut found = Vec::new();
    for name in SECTIONS {
        found.push((*name, results::read(bench, name)?));
    }
    let folder = bench.root.join("docs");
    std::fs::create_dir_all(&folder)?;
    let path = folder.join("performance.md");
    std::fs::write(&path, render(&found))
        .with_context(|| format!("cannot write {}", path.display()))
}

fn render(found: &[(&str, Option<Value>)]) -> String {
    let mut text = String::from(HEAD);
    text.push_str("\n## The bars\n\n");
    text.push_str("| section | figure | measured | spread | bar | |\n|---|---|---|---|---|---|\n");
    for bar in BARS {
        let section = found.iter().find(|(name, _)| *name == bar.section);
        let results = section.and_then(|(_, results)| results.as_ref());
        text.push_str(&bar_row(bar, results));
    }
    for (name, results) in found {
        let _ = write!(text, "\n## {name}\n\n");
        match results {
            Some(results) => text.push_str(&section_text(results)),
            None => text.push_str("Not measured.\n"),
        }
    }
    text
}

fn bar_row(bar: &Bar, results: Option<&Value>) -> String {
    let sign = if bar.at_most { "≤" } else { "≥" };
    let (section, name, limit) = (bar.section, bar.name, bar.limit);
    let figures = results.and_then(|results| results["figures"].as_array());
    let figure = figures
        .into_iter()
        .flatten()
        .find(|figure| figure["name"] == name);
    let Some((figure, median)) = figure.and_then(|it| Some((it, it["median"].as_f64()?))) else {
        return format!("| {section} | {name} | – | – | {sign} {limit} | not measured |\n");
    };
    let is_doubtful = results.is_none_or(|results| !is_quiet(results));
    let verdict = match (bar.is_met_by(median), is_doubtful) {
        (true, false) => "met",
        (false, false) => "**missed**",
        (true, true) => "met, doubtful",
        (false, true) => "**missed**, doubtful",
    };
    let unit = unit_of(figure);
    format!(
        "| {section} | {name} | {}{unit} | {} | {sign} {limit}{unit} | {verdict} |\n",
        number(median),
        spread(figure)
    )
}

fn section_text(results: &Value) -> String {
    let word = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Null => "absent".to_owned(),
        other => other.to_string(),
    };
    let mut text = String::new();
    let (machine, versions) = (&results["machine"], &results["versions"]);
    let _ = write!(
        text,
        "`{}`, {}, {} rounds. {} cores of {}, Linux {}. Dyno: {}. sysbench: {}. pgbench: {}.\n\n\
         {}\n\n| figure | median | spread |\n|---|---|---|\n",
        word(&results["command"]),
        word(&results["date"]),
        results["rounds"],
        machine["cores"],
        word(&machine["cpu"]),
        word(&machine["kernel"]),
        word(&versions["dyno"]),
        word(&versions["sysbench"]),
        word(&versions["pgbench"]),
        disturbance(results),
    );
    for figure in results["figures"].as_array().into_iter().flatten() {
        let _ = writeln!(
            text,
            "| {} | {}{} | {} |",
            word(&figure["name"]),
            number(figure["median"].as_f64().unwrap_or(f64::NAN)),
            unit_of(figure),
            spread(figure)
        );
    }
    text
}

fn disturbance(results: &Value) -> String {
    let cores = |name: &str| results["disturbed"][name].as_f64().unwrap_or(f64::NAN);
    let (others, stolen) = (cores("others_cores"), cores("stolen_cores"));
    let measured = format!(
        "Meanwhile other processes used {others:.2} cores and other machines of the host \
         {stolen:.2}."
    );
    if is_quiet(results) {
        return measured;
    }
    format!("**Doubtful: the machine was not idle.** {measured}")
}

fn is_quiet(results: &Value) -> bool {
    if STEADY.iter().any(|name| results["section"] == *name) {
        return true;
    }
    let cores = |name: &str| results["disturbed"][name].as_f64();
    match (cores("others_cores"), cores("stolen_cores")) {
        (Some(others), Some(stolen)) => others + stolen <= OTHERS_CORES_MAX,
        _ => false,
    }
}

fn unit_of(figure: &Value) -> String {
    match figure["unit"].as_str() {
        None | Some("ratio") => String::new(),
        Some(unit) => format!(" {unit}"),
    }
}

fn spread(figure: &Value) -> String {
    match (figure["low"].as_f64(), figure["high"].as_f64()) {
        (Some(low), Some(high)) => format!("{} to {}", number(low), number(high)),
        _ => "–".to_owned(),
    }
}

/// At least three digits that count.
fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bars_are_met_missed_or_not_measured() {
        let name = BARS[0].name;
        let with = |median: f64| {
            json!({"disturbed": {"others_cores": 0.01, "stolen_cores": 0.0},
                   "figures": [{"name": name, "unit": "ratio", "median": median,
                                "low": 1.0, "high": 2.0}]})
        };
        assert!(
            bar_row(&BARS[0], Some(&with(1.2))).ends_with("| 1.000 to 2.000 | ≤ 1.25 | met |\n")
        );
        assert!(bar_row(&BARS[0], Some(&with(1.3))).ends_with("| **missed** |\n"));
        let mut busy = with(1.2);
        busy["disturbed"]["others_cores"] = json!(0.4);
        assert!(bar_row(&BARS[0], Some(&busy)).ends_with("| met, doubtful |\n"));
        busy["section"] = json!("instructions");
        assert!(bar_row(&BARS[0], Some(&busy)).ends_with("| met |\n"));
        busy["section"] = json!("point-select");
        assert!(disturbance(&busy).starts_with("**Doubtful"));
        assert!(bar_row(&BARS[0], None).ends_with("| not measured |\n"));
    }

    #[test]
    fn every_bar_has_a_row_and_every_section_a_heading() {
        let found: Vec<_> = SECTIONS.iter().map(|name| (*name, None)).collect();
        let text = render(&found);
        assert_eq!(text.matches("| not measured |").count(), BARS.len());
        assert_eq!(text.matches("Not measured.").count(), SECTIONS.len());
    }
}
