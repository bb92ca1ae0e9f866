//! How late an open loop starts its events.

use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::bench::Bench;
use crate::figures::Section;
use crate::tool::{Protocol, Tool};

const PERCENT: f64 = 99.9;

pub(super) fn run(bench: &Bench) -> Result<Section> {
    let mut section = Section::default();
    if bench.tools(&[Tool::Dyno], Protocol::Mysql).is_empty() {
        return Ok(section);
    }
    let server = bench.null_server(Protocol::Mysql)?;
    let target = format!(
        "mysql://root@localhost/sbtest?socket={}",
        server.endpoint().socket.display()
    );
    let (mut lags_us, mut least_us) = (Vec::new(), Vec::new());
    for round in 0..bench.options.rounds {
        let mut command = Command::new(bench.path(Tool::Floor));
        command.args(["--ticks", "20000"]);
        command.args(["--time", &bench.options.seconds.to_string()]);
        let outcome = bench.measure(command)?;
        let least: Value = serde_json::from_str(&outcome.report)
            .with_context(|| format!("`floor --ticks` is not JSON:\n{}", outcome.report))?;
        let late_us = least["p99.9_us"].as_f64();
        least_us.push(late_us.context("`floor --ticks` tells no percentile")?);
        let mut command = Command::new(bench.path(Tool::Dyno));
        command.env("DYNO_RESULTS", "none");
        command.args(["run", "oltp_point_select", "--target", &target]);
        command.args(["-c", "16", "--workers", "1", "--table-size", "1000000"]);
        command.args([
            "--rate",
            "20000/s",
            "--spin",
            "20us",
            "--percentiles",
            "50,99,99.9",
        ]);
        // Without `--force`, Dyno refuses the null server, which does not have the rows that it
        // returns.
        command.args([
            "-t",
            &format!("{}s", bench.options.seconds),
            "--force",
            "--json",
        ]);
        let outcome = bench.measure(command)?;
        let summary: Value = serde_json::from_str(&outcome.report)
            .with_context(|| format!("`dyno run --json` is not JSON:\n{}", outcome.report))?;
        let lag = &summary["open_loop"]["pacing_lag"];
        let lag_us = 1000.0 * percentile_ms(lag)?;
        lags_us.push(lag_us);
        section.samples.push(json!({
            "case": "20000/s", "tool": "dyno", "round": round, "pacing_lag": lag, "floor": least,
            "achieved_per_s": summary["open_loop"]["achieved_per_s"],
        }));
    }
    section.add(
        "floor, a loop that only looks at the clock, p99.9".to_owned(),
        "µs",
        &least_us,
    );
    section.add(
        "dyno, pacing lag at 20000/s, p99.9".to_owned(),
        "µs",
        &lags_us,
    );
    let ratio = "dyno / floor, pacing lag at 20000/s, p99.9";
    section.add_ratio(ratio.to_owned(), &lags_us, &least_us);
    Ok(section)
}

fn percentile_ms(latency: &Value) -> Result<f64> {
    let percentiles = latency["percentiles"].as_array();
    percentiles
        .into_iter()
        .flatten()
        .find(|one| one["percent"] == PERCENT)
        .and_then(|one| one["value_ms"].as_f64())
        .with_context(|| format!("the pacing lag has no percentile {PERCENT}: {latency}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_percentile_is_found() {
        let latency = json!({"percentiles": [
            {"percent": 50.0, "value_ms": 0.01}, {"percent": 99.9, "value_ms": 0.15}]});
        assert_eq!(percentile_ms(&latency).unwrap(), 0.15);
        let thin = json!({"percentiles": [{"percent": 99.9, "value_ms": null}]});
        assert!(percentile_ms(&thin).is_err());
        assert!(percentile_ms(&Value::Null).is_err());
    }
}
