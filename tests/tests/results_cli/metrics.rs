//! Live metrics during a run, which Debian's Prometheus scrapes or Dyno pushes.

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::ports::free_port;
use dyno_tests::command::{Running, run};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use prost::Message as _;
use serde_json::Value;

use crate::common::{LIMIT, Lab, has};

/// The time since `begun`.
pub(crate) fn since(begun: u64) -> Duration {
    Duration::from_nanos(Clock.now().saturating_sub(begun))
}

/// The body of the answer, if its status is 200.
pub(crate) fn get(port: u16, path: &str) -> Option<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
    write!(stream, "GET {path} HTTP/1.0\r\nHost: x\r\n\r\n").ok()?;
    let mut all = String::new();
    stream.read_to_string(&mut all).ok()?;
    let (head, body) = all.split_once("\r\n\r\n")?;
    assert!(!head.contains("chunked"), "{head}");
    head.lines()
        .next()?
        .contains(" 200 ")
        .then(|| body.to_owned())
}

/// Debian's Prometheus, which scrapes a port once a second.
struct Prometheus {
    port: u16,
    _server: Running,
}

impl Prometheus {
    fn start(lab: &Lab, scraped: u16, features: &[&str]) -> Self {
        let port = free_port().unwrap();
        let config = format!(
            "global:\n  scrape_interval: 1s\nscrape_configs:\n  - job_name: dyno\n    \
             static_configs:\n      - targets: ['127.0.0.1:{scraped}']\n"
        );
        let config = lab.file("prometheus.yml", &config);
        let mut command = Command::new("prometheus");
        lab.prepare(&mut command);
        command
            .arg(format!("--config.file={config}"))
            .arg(format!(
                "--storage.tsdb.path={}",
                lab.path("tsdb").display()
            ))
            .arg(format!("--web.listen-address=127.0.0.1:{port}"))
            .args(features);
        let server = Running::start(&mut command);
        let begun = Clock.now();
        while get(port, "/-/ready").is_none() {
            assert!(since(begun) < LIMIT, "Prometheus is not ready");
            thread::sleep(Duration::from_millis(100));
        }
        Self {
            port,
            _server: server,
        }
    }

    fn ask(&self, path: &str, query: &str, more: &str) -> Vec<Value> {
        let mut encoded = String::new();
        for byte in query.bytes() {
            match byte {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' => encoded.push(byte.into()),
                other => encoded.push_str(&format!("%{other:02X}")),
            }
        }
        let body = get(self.port, &format!("/api/v1/{path}?query={encoded}{more}"));
        let body = body.unwrap_or_else(|| panic!("Prometheus does not take `{query}`"));
        let answer: Value = serde_json::from_str(&body).unwrap();
        assert_eq!(answer["status"], "success", "{query}: {body}");
        answer["data"]["result"].as_array().unwrap().clone()
    }

    /// The single value of a query at an instant (in seconds since 1970), or now.
    fn value(&self, query: &str, at: Option<f64>) -> f64 {
        let more = at.map_or_else(String::new, |at| format!("&time={at:.3}"));
        let result = self.ask("query", query, &more);
        assert_eq!(result.len(), 1, "{query}: {result:?}");
        result[0]["value"][1].as_str().unwrap().parse().unwrap()
    }
}

/// Makes a run of 16 s in an open loop, which is scraped to its end, and returns its JSON.
fn scraped_run(lab: &Lab, port: u16) -> Value {
    let target = lab.sqlite();
    lab.json(&format!(
        "run oltp_point_select {target} -t 16s --warmup 1s --calibrate never -q --seed 7 \
         --rate 500/s --metrics {port} --metrics-linger 60s --json"
    ))
}

/// The events and the duration of the intervals that end between these seconds.
fn recorded(lab: &Lab, from_s: f64, to_s: f64) -> (f64, f64) {
    let within = format!("FROM interval WHERE at_s > {from_s} AND at_s <= {to_s}");
    (
        lab.number(&format!("SELECT sum(events) {within}")),
        lab.number(&format!("SELECT sum(length_s) {within}")),
    )
}

#[test]
fn prometheus_agrees_with_the_record() {
    let lab = Lab::new();
    let port = free_port().unwrap();
    let prometheus = Prometheus::start(&lab, port, &[]);
    let run = scraped_run(&lab, port);
    let (events, _) = recorded(&lab, 0.0, 1e9);
    assert_eq!(prometheus.value("dyno_events_total", None), events);
    let count = "dyno_service_seconds_count{operation=\"event\"}";
    assert_eq!(prometheus.value(count, None), events);
    let started = run["started_unix_s"].as_f64().unwrap();
    steps_are_intervals(&lab, &prometheus, started);
    // Compare a rate in the middle of the run with the record of the same time. Counters step with
    // each interval, and scrapes are late on a busy host, so a few of a dozen intervals may be
    // missing.
    let rate = prometheus.value("rate(dyno_events_total[12s])", Some(started + 14.0));
    let (some, of_s) = recorded(&lab, 2.0, 14.0);
    assert!(
        (rate / (some / of_s) - 1.0).abs() < 0.35,
        "{rate} events per second, recorded {}",
        some / of_s
    );
    // Quantiles are as exact as their buckets, the widest of which spans a factor of 2.5.
    for percent in [50.0, 99.0] {
        let query = format!(
            "histogram_quantile({}, dyno_service_seconds_bucket{{operation=\"event\"}})",
            percent / 100.0
        );
        let ratio = prometheus.value(&query, None) / service_s(&run, percent);
        assert!(
            (0.4..2.5).contains(&ratio),
            "p{percent} is {ratio} times the record's"
        );
    }
    let workload = prometheus.ask("query", "dyno_run_info", "");
    assert_eq!(workload[0]["metric"]["workload"], "oltp_point_select");
    assert_eq!(workload[0]["metric"]["seed"], "7");
    dashboard(&prometheus, started);
}

/// Each scrape must equal the record at the end of an earlier interval.
fn steps_are_intervals(lab: &Lab, prometheus: &Prometheus, started: f64) {
    let rows = lab.sql("SELECT at_s, events FROM interval ORDER BY at_s");
    let number = |text: &String| text.parse::<f64>().unwrap();
    let mut sum = 0.0;
    let mut sums = vec![(0.0, 0.0)];
    for row in &rows {
        sum += number(&row[1]);
        sums.push((number(&row[0]), sum));
    }
    let more = format!("&time={:.3}", started + 15.0);
    let series = prometheus.ask("query", "dyno_events_total[15s]", &more);
    let samples = series[0]["values"].as_array().unwrap();
    assert!(samples.len() >= 8, "{samples:?}");
    for sample in samples {
        let at_s = sample[0].as_f64().unwrap() - started;
        let value: f64 = sample[1].as_str().unwrap().parse().unwrap();
        let step = sums.iter().find(|(_, sum)| *sum == value);
        let (end_s, _) = step.unwrap_or_else(|| panic!("{value} at {at_s}: {sums:?}"));
        // The page is rebuilt for each interval, at most half an interval after its end.
        assert!(
            (-0.1..2.6).contains(&(at_s - end_s)),
            "{value} at {at_s}: {sums:?}"
        );
    }
}

/// A percentile of the service times of a run, in seconds.
fn service_s(run: &Value, percent: f64) -> f64 {
    let all = run["service"]["percentiles"].as_array().unwrap();
    let one = all.iter().find(|one| one["percent"] == percent).unwrap();
    one["value_ms"].as_f64().unwrap() / 1e3
}

/// Every query of the dashboard must be valid, and nearly all must return data.
fn dashboard(prometheus: &Prometheus, started: f64) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/grafana/dyno.json");
    let board: Value = serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap();
    let more = format!(
        "&start={:.0}&end={:.0}&step=1",
        started + 4.0,
        started + 11.0
    );
    let mut empty = Vec::new();
    for panel in board["panels"].as_array().unwrap() {
        for target in panel["targets"].as_array().unwrap() {
            let query = target["expr"].as_str().unwrap();
            let query = query
                .replace("$run", ".*")
                .replace("$__rate_interval", "5s");
            if prometheus.ask("query_range", &query, &more).is_empty() {
                empty.push(query);
            }
        }
    }
    // There were no errors, and an embedded database has no server.
    let expected = [
        "dyno_errors_total",
        "dyno_connect_errors_total",
        "dyno_server_cpu",
    ];
    empty.retain(|query| !expected.iter().any(|name| query.contains(name)));
    assert!(empty.is_empty(), "nothing to show for {empty:#?}");
}

#[test]
fn native_histograms_are_as_fine_as_their_buckets() {
    let lab = Lab::new();
    let port = free_port().unwrap();
    let features = ["--enable-feature=native-histograms"];
    let prometheus = Prometheus::start(&lab, port, &features);
    let run = scraped_run(&lab, port);
    let (events, _) = recorded(&lab, 0.0, 1e9);
    let count = "histogram_count(dyno_service_seconds{operation=\"event\"})";
    assert_eq!(prometheus.value(count, None), events);
    // The empty histograms of the warm-up must not be classic ones.
    let classic = prometheus.ask(
        "query",
        "count_over_time(dyno_service_seconds_count[5m])",
        "",
    );
    assert!(classic.is_empty(), "{classic:?}");
    for percent in [50.0, 95.0, 99.0] {
        let query = format!(
            "histogram_quantile({}, dyno_service_seconds{{operation=\"event\"}})",
            percent / 100.0
        );
        let ratio = prometheus.value(&query, None) / service_s(&run, percent);
        assert!(
            (ratio - 1.0).abs() < 0.03,
            "p{percent} is {ratio} times the record's"
        );
    }
}

#[test]
fn a_recorded_run_becomes_blocks_of_prometheus() {
    let lab = Lab::new();
    let target = lab.sqlite();
    lab.dyno(&format!(
        "run oltp_read_write {target} -t 4s --warmup 0 --calibrate never -q"
    ))
    .success();
    lab.dyno("export --format openmetrics -o run.om").success();
    let text = fs::read_to_string(lab.path("run.om")).unwrap();
    let events = lab.number("SELECT sum(events) FROM interval");
    let last = text
        .lines()
        .rfind(|line| line.starts_with("dyno_events_total"))
        .unwrap();
    assert_eq!(
        last.split(' ').nth(1).unwrap().parse(),
        Ok(events),
        "{last}"
    );
    let mut promtool = Command::new("promtool");
    lab.prepare(&mut promtool);
    promtool.args([
        "tsdb",
        "create-blocks-from",
        "openmetrics",
        "run.om",
        "blocks",
    ]);
    let made = run(&mut promtool, LIMIT).success();
    assert!(
        fs::read_dir(lab.path("blocks")).unwrap().count() > 0,
        "{made:?}"
    );
}

/// A stand-in for an OTLP receiver, which answers the first requests with status 503 and forwards
/// the rest.
fn receiver(refusals: usize) -> (u16, Receiver<ExportMetricsServiceRequest>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (send, requests) = channel();
    thread::spawn(move || {
        let mut refusals = refusals;
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some((head, body)) = request(&mut stream) {
                assert!(head.starts_with("POST /v1/metrics "), "{head}");
                assert!(head.contains("authorization: Bearer abc"), "{head}");
                let refused = refusals > 0;
                refusals = refusals.saturating_sub(1);
                let status = if refused { 503 } else { 200 };
                write!(stream, "HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n").unwrap();
                let request = ExportMetricsServiceRequest::decode(body.as_slice()).unwrap();
                if !refused && send.send(request).is_err() {
                    return;
                }
            }
        }
    });
    (port, requests)
}

fn request(stream: &mut TcpStream) -> Option<(String, Vec<u8>)> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.parse().unwrap())
    });
    let mut body = vec![0; length?];
    stream.read_exact(&mut body).ok()?;
    Some((head, body))
}

/// The sum of a counter's points, the number of events in its latency histogram, and the time that
/// both cover.
fn pushed(request: &ExportMetricsServiceRequest) -> (f64, u64, [u64; 2]) {
    let (mut events, mut latencies, mut window) = (0.0, 0, [0; 2]);
    for metric in &request.resource_metrics[0].scope_metrics[0].metrics {
        match (metric.name.as_str(), &metric.data) {
            ("dyno.events", Some(Data::Sum(sum))) => {
                for point in &sum.data_points {
                    window = [point.start_time_unix_nano, point.time_unix_nano];
                    if let Some(Number::AsDouble(value)) = point.value {
                        events += value;
                    }
                }
            }
            ("dyno.service", Some(Data::ExponentialHistogram(histogram))) => {
                for point in &histogram.data_points {
                    latencies += point.count;
                    let buckets = &point.positive.as_ref().unwrap().bucket_counts;
                    assert_eq!(buckets.iter().sum::<u64>(), point.count);
                }
            }
            _ => {}
        }
    }
    (events, latencies, window)
}

#[test]
fn pushed_metrics_add_up_to_the_record() {
    let lab = Lab::new();
    let target = lab.sqlite();
    for (refusals, temporality) in [(3, "delta"), (0, "cumulative")] {
        let (port, requests) = receiver(refusals);
        let mut command = lab.command(&format!(
            "run oltp_point_select {target} -t 3s --warmup 0 --calibrate never -q \
             --otlp http://127.0.0.1:{port} --otlp-temporality {temporality} \
             --results {temporality}.db"
        ));
        command.env("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20abc");
        let output = run(&mut command, LIMIT).success();
        assert_eq!(
            output.stderr.contains("status 503"),
            refusals > 0,
            "{output:?}"
        );
        let all: Vec<_> = requests.try_iter().map(|one| pushed(&one)).collect();
        // One request at each end of the run, and one for each interval.
        assert!((5..=6).contains(&all.len()), "{all:?}");
        let (events, latencies) = match temporality {
            "delta" => {
                let follows = |pair: &[(f64, u64, [u64; 2])]| pair[1].2[0] >= pair[0].2[1];
                assert!(all.windows(2).all(follows), "{all:?}");
                let add = |sum: (f64, u64), one: &(f64, u64, _)| (sum.0 + one.0, sum.1 + one.1);
                all.iter().fold((0.0, 0), add)
            }
            _ => all.last().map(|one| (one.0, one.1)).unwrap(),
        };
        let file = lab.path(&format!("{temporality}.db"));
        let recorded = &crate::common::query(&file, "SELECT sum(events) FROM interval")[0][0];
        assert_eq!(events.to_string(), *recorded);
        assert_eq!(latencies.to_string(), *recorded);
    }
}

#[test]
fn reports_a_missing_receiver_at_no_cost_to_the_run() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let port = free_port().unwrap();
    let output = lab
        .dyno(&format!(
            "run oltp_point_select {target} -t 2s --warmup 0 --calibrate never \
             --otlp http://127.0.0.1:{port}"
        ))
        .success();
    has(&output, &["metrics are not pushed to", "were dropped"]);
    let events = lab.number("SELECT sum(events) FROM interval");
    assert!(events > 0.0);
}

#[test]
fn refuses_invalid_options_before_the_load() {
    let lab = Lab::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let run = |options: &str| lab.dyno(&format!("run oltp_point_select {options}"));
    has(
        &run(&format!("--metrics {port}")).failure(1),
        &["cannot listen on", "another port"],
    );
    has(
        &run("--metrics 99999").failure(2),
        &["--metrics: '99999'", "PORT"],
    );
    has(
        &run("--metrics-linger 5s").failure(2),
        &["--metrics-linger", "--metrics"],
    );
    has(
        &run("--otlp 127.0.0.1:4318").failure(2),
        &["--otlp:", "http://127.0.0.1:4318"],
    );
    has(
        &run("--otlp-temporality delta").failure(2),
        &["--otlp-temporality needs --otlp"],
    );
    has(
        &run("--otlp http://a:1 --otlp-temporality sum").failure(2),
        &["expected delta or cumulative"],
    );
    let output = run("--otlp http://me:hunter2@127.0.0.1:1").failure(2);
    has(&output, &["OTEL_EXPORTER_OTLP_HEADERS"]);
    assert!(!output.stderr.contains("hunter2"), "{}", output.stderr);
    assert!(!lab.path("dyno.db").exists());
}

#[test]
fn reports_a_run_whose_end_was_not_scraped() {
    let lab = Lab::new();
    let target = lab.sqlite();
    let port = free_port().unwrap();
    let run = format!(
        "run oltp_point_select {target} -t 1s --warmup 0 --calibrate never --metrics {port}"
    );
    let output = lab.dyno(&run).success();
    has(
        &output,
        &[
            &format!("Metrics at http://127.0.0.1:{port}/metrics"),
            "nobody scraped the metrics; --metrics-linger 15s",
        ],
    );
    // The command keeps the page until it is scraped, and then ends immediately.
    let mut running = lab.start(&format!("{run} --metrics-linger 60s"));
    running.measuring();
    let begun = Clock.now();
    loop {
        if let Some(page) = get(port, "/metrics")
            && page.contains("phase=\"ended\"} 1")
        {
            break;
        }
        assert!(since(begun) < LIMIT, "the end is not reported");
        thread::sleep(Duration::from_millis(100));
    }
    let output = running.finish(Duration::from_secs(30)).success();
    assert!(!output.stderr.contains("nobody scraped"), "{output:?}");
    has(&output, &["Waiting up to 1m for a scrape"]);
}
