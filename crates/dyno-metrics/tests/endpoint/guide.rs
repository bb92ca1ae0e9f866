//! Checks that the metrics in the guide's table and in the dashboard exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use dyno_metrics::{CATALOGUE, Family, Kind, Metric};

fn docs(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name)
}

/// The name of the metric in queries.
fn queried(metric: &Metric) -> String {
    let family = Family {
        name: metric.name.into(),
        help: "".into(),
        unit: metric.unit,
        kind: metric.kind,
        samples: Vec::new(),
    };
    let suffix = if metric.kind == Kind::Counter {
        "_total"
    } else {
        ""
    };
    family.prometheus_name() + suffix
}

fn row(metric: &Metric) -> String {
    let kind = match metric.kind {
        Kind::Counter => "counter",
        Kind::Gauge => "gauge",
        Kind::Histogram => "histogram",
    };
    let labels: Vec<String> = metric
        .labels
        .split(", ")
        .filter(|label| !label.is_empty())
        .map(|label| format!("`{label}`"))
        .collect();
    format!(
        "| `{}` | {kind} | {} | {} |",
        queried(metric),
        labels.join(", "),
        metric.help
    )
}

#[test]
fn the_guide_lists_all_metrics() {
    let guide = fs::read_to_string(docs("metrics.md")).unwrap();
    let rows: Vec<String> = CATALOGUE.iter().map(row).collect();
    assert!(
        guide.contains(&rows.join("\n")),
        "docs/metrics.md is to have these rows:\n{}",
        rows.join("\n")
    );
}

/// Names of metrics in a query: words with one of our prefixes.
fn names(query: &str) -> impl Iterator<Item = &str> {
    query
        .split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_')
        .filter(|word| word.starts_with("dyno_") || word.starts_with("db_client_"))
}

#[test]
fn the_dashboard_queries_existing_metrics() {
    let text = fs::read_to_string(docs("grafana/dyno.json")).unwrap();
    let board: serde_json::Value = serde_json::from_str(&text).unwrap();
    let mut queries = Vec::new();
    for panel in board["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            queries.push(target["expr"].as_str().unwrap().to_owned());
        }
    }
    for annotation in board["annotations"]["list"].as_array().unwrap() {
        queries.push(annotation["expr"].as_str().unwrap().to_owned());
    }
    for variable in board["templating"]["list"].as_array().unwrap() {
        if let Some(query) = variable["query"]["query"].as_str() {
            queries.push(query.to_owned());
        }
    }
    assert!(queries.len() > 20, "{queries:?}");
    let own: BTreeSet<String> = CATALOGUE.iter().map(queried).collect();
    // The observed series in the dashboard, as the page on observers writes them.
    let observers = fs::read_to_string(docs("observers.md")).unwrap();
    for (metric, series) in [
        ("dyno_host_cpu_user_ratio", "`host.cpu.user`"),
        ("dyno_host_cpu_system_ratio", "`host.cpu.system`"),
        ("dyno_host_cpu_iowait_ratio", "`host.cpu.iowait`"),
        ("dyno_host_cpu_steal_ratio", "`host.cpu.steal`"),
        ("dyno_server_cpu_user_cores", "`server.cpu.user`"),
        ("dyno_server_cpu_system_cores", "`server.cpu.system`"),
        ("dyno_client_cpu_user_cores", "`client.cpu.user`"),
        ("dyno_client_cpu_system_cores", "`client.cpu.system`"),
        (
            "dyno_host_disk_read_bytes_per_second",
            "`host.disk[…].read_bytes`",
        ),
        (
            "dyno_host_disk_write_bytes_per_second",
            "`host.disk[…].write_bytes`",
        ),
    ] {
        assert!(observers.contains(series), "{series}");
        assert!(text.contains(metric), "{metric} is not on the dashboard");
    }
    for query in &queries {
        for name in names(query) {
            let observed = ["dyno_host_", "dyno_server_", "dyno_client_"]
                .iter()
                .any(|scope| name.starts_with(scope));
            let known = ["_bucket", "_sum", "_count", ""].iter().any(|end| {
                name.strip_suffix(end)
                    .is_some_and(|name| own.contains(name))
            });
            assert!(observed || known, "{name} of `{query}` is no metric");
        }
    }
}
