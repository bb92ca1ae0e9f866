//! Tests the endpoint and the pusher over real sockets.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use dyno_core::Clock;
use dyno_core::interval::Interval;
use dyno_metrics::otlp::{Temporality, Window};
use dyno_metrics::{
    Batch, Destination, Endpoint, Figures, Over, Pusher, QUEUE_MAX, Shared, address,
};
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value;
use prost::Message as _;

fn since(begun: u64) -> Duration {
    Duration::from_nanos(Clock.now().saturating_sub(begun))
}

fn interval(index: u64, events: u64) -> Interval {
    let mut interval = Interval {
        index,
        start: index * 1_000_000_000,
        end: (index + 1) * 1_000_000_000,
        ..Interval::default()
    };
    interval.counters.events = events;
    for event in 0..events {
        interval.latencies.record_service(1_000_000 * (event + 1));
    }
    interval
}

fn figures() -> Figures {
    let head = serde_json::json!({
        "name": "r", "source": "dyno", "profile": "standard", "tool": "dyno 0.1.0",
        "created_unix_s": 1_700_000_000.0, "argv": [], "script_sha256": "",
        "workload": {"name": "oltp_point_select", "command": "run", "options": {}, "changed": []},
        "target": {"url": "mysql://bench@10.0.0.1:3307/sbtest", "family": "mysql",
                   "product": "MariaDB", "version": "10.11.6", "tls": null},
        "drive": null, "percentiles": [], "note": "",
    });
    let mut figures = Figures::new(&serde_json::from_value(head).unwrap());
    figures.start(1_700_000_000.0);
    figures
}

/// A response's head and body.
fn ask(endpoint: &Endpoint, request: &str) -> (String, Vec<u8>) {
    let mut stream = TcpStream::connect(endpoint.address()).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut all = Vec::new();
    stream.read_to_end(&mut all).unwrap();
    let end = all.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    (head, all.split_off(end + 4))
}

fn get(endpoint: &Endpoint, accept: &str) -> (String, Vec<u8>) {
    ask(
        endpoint,
        &format!("GET /metrics HTTP/1.1\r\nHost: x\r\naccept: {accept}\r\n\r\n"),
    )
}

#[test]
fn a_scrape_has_the_sums_of_all_intervals() {
    let shared: Shared = Arc::new(Mutex::new(figures()));
    for index in 0..3 {
        shared.lock().unwrap().interval(&interval(index, 10), &[]);
    }
    let endpoint = Endpoint::start(address("0").unwrap(), Arc::clone(&shared)).unwrap();
    let (head, body) = get(&endpoint, "*/*");
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    assert!(
        head.contains("Content-Type: text/plain; version=0.0.4"),
        "{head}"
    );
    let text = String::from_utf8(body).unwrap();
    for line in [
        "dyno_events_total{run=\"r\"} 30",
        "dyno_measured_seconds_total{run=\"r\"} 3",
        "dyno_service_seconds_count{run=\"r\",operation=\"event\"} 30",
        "dyno_service_seconds_bucket{run=\"r\",operation=\"event\",le=\"0.005\"} 15",
        "dyno_phase{run=\"r\",phase=\"measurement\"} 1",
        "dyno_run_info{run=\"r\",workload=\"oltp_point_select\",\
         target=\"10.0.0.1:3307/sbtest\",server=\"MariaDB 10.11.6\",seed=\"\",\
         version=\"dyno 0.1.0\"} 1",
        "db_client_operation_duration_seconds_count{run=\"r\",db_system_name=\"mariadb\",\
         db_namespace=\"sbtest\",server_address=\"10.0.0.1\",server_port=\"3307\",\
         db_operation_name=\"event\"} 30",
    ] {
        assert!(
            text.contains(&format!("{line}\n")),
            "{line} is not in\n{text}"
        );
    }
    assert_eq!(endpoint.scrapes(), 1);
    assert!(!endpoint.end_seen());
    shared.lock().unwrap().end();
    let accept = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let (head, body) = get(&endpoint, accept);
    assert!(head.contains("application/openmetrics-text"), "{head}");
    assert!(body.ends_with(b"# EOF\n"));
    assert!(endpoint.end_seen());
    let accept = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;\
                  encoding=delimited;q=0.7,text/plain;q=0.3";
    let (head, _) = get(&endpoint, accept);
    assert!(head.contains("application/vnd.google.protobuf"), "{head}");
}

#[test]
fn bad_requests_are_answered_and_block_no_one() {
    let endpoint = Endpoint::start(address("127.0.0.1:0").unwrap(), Shared::default()).unwrap();
    // There are no metrics before a run begins.
    assert_eq!(get(&endpoint, "*/*").1, b"");
    let status = |request: &str| ask(&endpoint, request).0.lines().next().unwrap().to_owned();
    assert_eq!(status("GET /no HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
    assert_eq!(
        status("POST /metrics HTTP/1.1\r\n\r\n"),
        "HTTP/1.1 405 Method Not Allowed"
    );
    assert_eq!(status("nonsense\r\n\r\n"), "HTTP/1.1 400 Bad Request");
    let (head, body) = ask(&endpoint, "HEAD /metrics HTTP/1.1\r\n\r\n");
    assert!(head.starts_with("HTTP/1.1 200 OK") && body.is_empty());
    let (_, body) = ask(&endpoint, "GET / HTTP/1.0\r\n\r\n");
    assert!(body.windows(8).any(|part| part == b"/metrics"));
    // A silent client is dropped after the timeout, and the next one gets its response.
    let silent = TcpStream::connect(endpoint.address()).unwrap();
    let begun = Clock.now();
    let (head, _) = get(&endpoint, "*/*");
    assert!(head.starts_with("HTTP/1.1 200 OK"));
    assert!(since(begun) < Duration::from_secs(30));
    drop(silent);
    // The same for a client that sends one byte at a time.
    let slow = endpoint.address();
    let dripping = thread::spawn(move || {
        let mut stream = TcpStream::connect(slow).unwrap();
        while stream.write_all(b"x").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    thread::sleep(Duration::from_millis(300));
    let begun = Clock.now();
    assert!(get(&endpoint, "*/*").0.starts_with("HTTP/1.1 200 OK"));
    assert!(since(begun) < Duration::from_secs(30));
    dripping.join().unwrap();
    let many: Vec<TcpStream> = (0..20)
        .map(|_| TcpStream::connect(endpoint.address()).unwrap())
        .collect();
    let begun = Clock.now();
    assert!(get(&endpoint, "*/*").0.starts_with("HTTP/1.1 200 OK"));
    assert!(
        since(begun) < Duration::from_secs(2),
        "clients hold up one another"
    );
    drop(many);
    let taken = Endpoint::start(endpoint.address(), Shared::default());
    assert!(taken.is_err(), "an address was listened at twice");
}

#[test]
fn addresses_are_read_as_people_write_them() {
    let read = |text: &str| address(text).map(|address| address.to_string());
    assert_eq!(read("9464").unwrap(), "127.0.0.1:9464");
    assert_eq!(read(":9464").unwrap(), "127.0.0.1:9464");
    assert_eq!(read("0.0.0.0:1").unwrap(), "0.0.0.0:1");
    assert_eq!(read("127.0.0.1").unwrap(), "127.0.0.1:9464");
    assert_eq!(read("[::1]:80").unwrap(), "[::1]:80");
    assert_eq!(read("::1").unwrap(), "[::1]:9464");
    assert!(read("localhost:9464").unwrap().ends_with(":9464"));
    for wrong in ["", "70000", "no.such.host.invalid:1", "127.0.0.1:x"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

/// A receiver that answers each request with the next of these statuses, and then with 200. It
/// passes on the bodies of the requests that it accepts.
fn receiver(statuses: &'static [u16]) -> (String, std::sync::mpsc::Receiver<Vec<u8>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let (send, bodies) = channel();
    thread::spawn(move || {
        let mut statuses = statuses.iter();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            while let Some(body) = request(&mut stream) {
                let status = statuses.next().copied().unwrap_or(200);
                let reply = format!("HTTP/1.1 {status} x\r\nContent-Length: 0\r\n\r\n");
                stream.write_all(reply.as_bytes()).unwrap();
                if status == 200 && send.send(body).is_err() {
                    return;
                }
            }
        }
    });
    (url, bodies)
}

fn request(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).unwrap();
    assert!(head.starts_with("POST /v1/metrics HTTP/1.1\r\n"), "{head}");
    let length = head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case("content-length")
            .then(|| value.trim().parse().unwrap())
    });
    let mut body = vec![0; length.unwrap()];
    stream.read_exact(&mut body).unwrap();
    Some(body)
}

fn batch(figures: &mut Figures, interval: &Interval) -> Batch {
    figures.interval(interval, &[]);
    Batch {
        families: figures.families(Over::Last, 1_700_000_000.5),
        window: Window {
            from_unix_s: interval.index as f64,
            to_unix_s: interval.index as f64 + 1.0,
        },
    }
}

fn events(body: &[u8]) -> f64 {
    let request = ExportMetricsServiceRequest::decode(body).unwrap();
    let metrics = &request.resource_metrics[0].scope_metrics[0].metrics;
    let metric = metrics
        .iter()
        .find(|metric| metric.name == "dyno.events")
        .unwrap();
    match &metric.data {
        Some(Data::Sum(sum)) => match sum.data_points[0].value {
            Some(Value::AsDouble(value)) => value,
            ref other => panic!("{other:?}"),
        },
        other => panic!("{other:?}"),
    }
}

fn pusher(url: &str, warnings: &Arc<Mutex<Vec<String>>>) -> Pusher {
    let destination = Destination::new(url, Some(Temporality::Delta)).unwrap();
    let warnings = Arc::clone(warnings);
    let on_trouble = move |why: &str, _: Option<u16>| warnings.lock().unwrap().push(why.to_owned());
    Pusher::start(destination, Vec::new(), Box::new(on_trouble)).unwrap()
}

#[test]
fn a_busy_receiver_gets_everything_later_and_in_order() {
    let (url, bodies) = receiver(&[503, 429, 200, 502]);
    let warnings = Arc::default();
    let pusher = pusher(&url, &warnings);
    let mut figures = figures();
    for index in 0..4 {
        assert!(pusher.push(batch(&mut figures, &interval(index, index + 1))));
    }
    let pushed = pusher.finish(Duration::from_secs(60));
    assert_eq!((pushed.sent, pushed.dropped), (4, 0));
    assert_eq!(
        warnings.lock().unwrap().as_slice(),
        ["it answered with status 503"]
    );
    let all: Vec<f64> = bodies.try_iter().map(|body| events(&body)).collect();
    assert_eq!(all, [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn waits_only_once_for_a_receiver_that_hangs() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    // The server accepts connections and never answers.
    let hanging = thread::spawn(move || listener.incoming().take(1).collect::<Vec<_>>());
    let warnings = Arc::default();
    let pusher = pusher(&url, &warnings);
    let mut figures = figures();
    for index in 0..10 {
        assert!(pusher.push(batch(&mut figures, &interval(index, 1))));
    }
    let begun = Clock.now();
    let pushed = pusher.finish(Duration::from_secs(1));
    assert!(since(begun) < Duration::from_secs(15));
    assert_eq!((pushed.sent, pushed.dropped), (0, 10));
    drop(hanging);
}

#[test]
fn refused_batches_are_dropped_and_counted() {
    let (url, bodies) = receiver(&[400]);
    let warnings = Arc::default();
    let pusher = pusher(&url, &warnings);
    let mut figures = figures();
    for index in 0..2 {
        pusher.push(batch(&mut figures, &interval(index, 1)));
    }
    let pushed = pusher.finish(Duration::from_secs(60));
    assert_eq!((pushed.sent, pushed.dropped), (1, 1));
    assert_eq!(
        pushed.trouble.as_deref(),
        Some("it answered with status 400")
    );
    // It hands over a body after its answer.
    assert!(bodies.recv_timeout(Duration::from_secs(10)).is_ok());
    assert!(bodies.try_recv().is_err());
}

#[test]
fn a_missing_receiver_costs_bounded_memory_and_time() {
    // A port that was free just now, so nothing listens on it.
    let url = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}", listener.local_addr().unwrap())
    };
    let warnings = Arc::default();
    let pusher = pusher(&url, &warnings);
    let mut figures = figures();
    let all = QUEUE_MAX as u64 + 20;
    let mut refused = 0;
    figures.dropped(pusher.dropped());
    for index in 0..all {
        if !pusher.push(batch(&mut figures, &interval(index, 1))) {
            refused += 1;
        }
    }
    // Drops are in the metrics of the run, and once in those of the interval.
    figures.dropped(pusher.dropped());
    let mut dropped = |over| {
        let families = figures.families(over, 1_700_000_000.5);
        let family = families
            .into_iter()
            .find(|one| one.name == "dyno.push.dropped");
        family.map(|family| family.samples[0].value.clone())
    };
    let number = |count: u64| Some(dyno_metrics::Value::Number(count as f64));
    assert!(dropped(Over::Run) == number(refused));
    assert!(dropped(Over::Last) == number(refused));
    assert!(dropped(Over::Last) == number(0));
    assert!((19..=20).contains(&refused), "{refused}");
    let begun = Clock.now();
    let pushed = pusher.finish(Duration::from_millis(300));
    assert!(since(begun) < Duration::from_secs(60));
    assert_eq!((pushed.sent, pushed.dropped), (0, all));
    assert_eq!(warnings.lock().unwrap().len(), 1, "one warning is enough");
}
