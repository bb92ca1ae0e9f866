//! Live metrics: `--metrics` and `--otlp`.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use dyno_core::catalogue::names;
use dyno_core::clock::{Clock, thread_cpu, wall_time};
use dyno_core::interval::Interval;
use dyno_core::record::{RunHead, SeriesKey, SeriesKind};
use dyno_core::summary::RunSummary;
use dyno_core::units::format_duration;
use dyno_load::{StopLevel, StopSignal};
use dyno_metrics::otlp::{Temporality, Window};
use dyno_metrics::{Batch, Destination, Endpoint, Figures, HEADERS, Over, Pusher, Shared, address};
use dyno_run::{IntervalReport, Sink};

use crate::console;
use crate::options::Parsed;
use crate::settings::{self, usage};

/// Timeout for unfinished pushes at the end of the run.
const PATIENCE: Duration = Duration::from_secs(5);
/// Polling interval for the last scrape.
const LOOK: Duration = Duration::from_millis(50);

/// The options' values.
struct Wanted {
    endpoint: Option<SocketAddr>,
    linger: Duration,
    destination: Option<Destination>,
}

impl Wanted {
    fn read(parsed: &Parsed) -> Result<Self> {
        let wrong =
            |option: &str, text: &str, why: String| usage(format!("--{option}: '{text}': {why}"));
        let endpoint = parsed
            .value("metrics")
            .map(|text| address(text).map_err(|why| wrong("metrics", text, why)));
        let endpoint = endpoint.transpose()?;
        if endpoint.is_none() && parsed.has("metrics-linger") {
            return Err(usage("--metrics-linger needs --metrics"));
        }
        let temporality = match parsed.value("otlp-temporality") {
            None => None,
            Some("delta") => Some(Temporality::Delta),
            Some("cumulative") => Some(Temporality::Cumulative),
            Some(other) => {
                let why = "expected delta or cumulative".to_owned();
                return Err(wrong("otlp-temporality", other, why));
            }
        };
        let url = parsed.value("otlp");
        if url.is_none() && temporality.is_some() {
            return Err(usage("--otlp-temporality needs --otlp"));
        }
        let destination = url.map(|url| {
            // Do not repeat the URL: it may contain a password.
            Destination::new(url, temporality).map_err(|why| usage(format!("--otlp: {why}")))
        });
        Ok(Self {
            endpoint,
            linger: settings::duration(parsed, "metrics-linger", Duration::ZERO)?,
            destination: destination.transpose()?,
        })
    }
}

/// A command's endpoint and pusher, for all of its runs.
pub(crate) struct Exports {
    figures: Shared,
    endpoint: Option<Endpoint>,
    linger: Duration,
    push: Option<Push>,
}

#[derive(Clone)]
struct Push {
    pusher: Arc<Mutex<Option<Pusher>>>,
    temporality: Temporality,
    url: String,
    /// End of the last pushed window, in seconds since 1970; 0 before the first push.
    pushed_until: Arc<Mutex<f64>>,
}

impl Exports {
    /// Starts the requested exporters; may be none.
    ///
    /// # Errors
    /// An invalid option, or an address that cannot be bound.
    pub(crate) fn start(parsed: &Parsed) -> Result<Self> {
        let wanted = Wanted::read(parsed)?;
        let figures = Shared::default();
        let endpoint = wanted.endpoint.map(|address| {
            Endpoint::start(address, Arc::clone(&figures))
                .with_context(|| format!("--metrics: cannot listen on {address}; try another port"))
        });
        let endpoint = endpoint.transpose()?;
        if let Some(endpoint) = endpoint.as_ref().filter(|_| !parsed.has("quiet")) {
            console::note(&format!("Metrics at http://{}/metrics", endpoint.address()));
        }
        let push = wanted.destination.map(Push::start).transpose()?;
        Ok(Self {
            figures,
            endpoint,
            linger: wanted.linger,
            push,
        })
    }

    /// A sink for a run's figures; `None` if no exporter was requested.
    pub(crate) fn sink(&self) -> Option<Box<dyn Sink>> {
        if self.endpoint.is_none() && self.push.is_none() {
            return None;
        }
        let mut sink = MetricsSink {
            figures: Arc::clone(&self.figures),
            push: self.push.clone(),
            own_ns: AtomicU64::new(0),
            threads_ns: self.threads_ns(),
            threads_before_ns: 0,
        };
        sink.threads_before_ns = (sink.threads_ns)();
        Some(Box::new(sink))
    }

    /// CPU time of the endpoint's and pusher's threads so far, for the sink.
    fn threads_ns(&self) -> Box<dyn Fn() -> u64 + Send> {
        let endpoint = self.endpoint.as_ref().map(Endpoint::cpu);
        let push = self.push.clone();
        Box::new(move || {
            let endpoint = endpoint.as_ref().map_or(0, |cpu| cpu.ns());
            endpoint + push.as_ref().map_or(0, Push::cpu_ns)
        })
    }

    /// Waits for a scrape of the previous run's end, before the next run replaces its figures.
    pub(crate) fn next_run(&self, stop: &StopSignal) {
        let Some(endpoint) = &self.endpoint else {
            return;
        };
        let figures = self.figures.lock();
        if figures.unwrap_or_else(PoisonError::into_inner).is_over() {
            self.wait_for_scrape(endpoint, stop);
        }
        endpoint.begins();
    }

    /// Waits until a scrape has seen the end of the run, at most for the requested time.
    fn wait_for_scrape(&self, endpoint: &Endpoint, stop: &StopSignal) {
        if self.linger.is_zero() || endpoint.end_seen() {
            return;
        }
        console::note(&format!(
            "Waiting up to {} for a scrape of the run's end; press Ctrl-C to stop waiting.",
            format_duration(self.linger)
        ));
        let asked = stop.level();
        let begun = Clock.now();
        let lingers = || Clock.since(begun) < self.linger && stop.level() == asked;
        while !endpoint.end_seen() && lingers() {
            thread::sleep(LOOK);
        }
    }

    /// Waits for the last scrape and push. By then, all results have been shown.
    pub(crate) fn finish(&mut self, stop: &StopSignal) {
        if let Some(push) = self.push.take() {
            push.finish(&self.figures);
        }
        let Some(endpoint) = self.endpoint.take() else {
            return;
        };
        self.wait_for_scrape(&endpoint, stop);
        if endpoint.end_seen() {
            return;
        }
        let what = match endpoint.scrapes() {
            0 => "nobody scraped the metrics",
            _ => "nobody scraped the metrics after the end of the run",
        };
        let advice = match (self.linger, stop.level()) {
            (_, StopLevel::End | StopLevel::Abandon) => String::new(),
            (Duration::ZERO, _) => {
                "; --metrics-linger 15s keeps the endpoint for another scrape".to_owned()
            }
            (linger, _) => format!(" within {}", format_duration(linger)),
        };
        console::note(&format!("warning: {what}{advice}"));
    }
}

impl Push {
    fn start(destination: Destination) -> Result<Self> {
        let sender = vec![
            ("service.name", "dyno".to_owned()),
            ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
            (names::HOST_NAME, host_name()),
        ];
        let url = destination.url().to_owned();
        let temporality = destination.temporality();
        let place = url.clone();
        let on_trouble = move |why: &str, status: Option<u16>| {
            let hint = match status {
                Some(401 | 403) => format!("; headers are taken from ${HEADERS}"),
                Some(404) => {
                    "; is the path right? Prometheus needs --web.enable-otlp-receiver (version 3), \
                     and then the URL http://HOST:9090/api/v1/otlp"
                        .to_owned()
                }
                _ => String::new(),
            };
            console::note(&format!(
                "warning: metrics are not pushed to {place}: {why}{hint}"
            ));
        };
        let pusher = Pusher::start(destination, sender, Box::new(on_trouble))
            .context("cannot start the thread that pushes the metrics")?;
        Ok(Self {
            pusher: Arc::new(Mutex::new(Some(pusher))),
            temporality,
            url,
            pushed_until: Arc::default(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, Option<Pusher>> {
        self.pusher.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn cpu_ns(&self) -> u64 {
        self.lock().as_ref().map_or(0, Pusher::cpu_ns)
    }

    /// Pushes the current figures, with the sums of this interval if sums are deltas.
    fn push(&self, figures: &mut Figures, interval: &Interval) {
        let now = wall_time().as_secs_f64();
        let started = figures.started_unix_s().unwrap_or(now).min(now);
        let over = match self.temporality {
            Temporality::Delta => Over::Last,
            Temporality::Cumulative => Over::Run,
        };
        let (mut from_unix_s, mut to_unix_s) = (started, now);
        if interval.end > 0 && interval.start_unix_ns > 0 {
            let start_s = interval.start_unix_ns as f64 / 1e9;
            to_unix_s = start_s + interval.end.saturating_sub(interval.start) as f64 / 1e9;
            if self.temporality == Temporality::Delta {
                from_unix_s = start_s;
            }
        } else if self.temporality == Temporality::Delta {
            // At the end of the run: an empty window after the last one.
            let pushed_until = *self.pushed_until();
            if pushed_until > 0.0 {
                (from_unix_s, to_unix_s) = (pushed_until, now.max(pushed_until));
            }
        }
        *self.pushed_until() = to_unix_s;
        let families = figures.families(over, now);
        let batch = Batch {
            families,
            window: Window {
                from_unix_s,
                to_unix_s,
            },
        };
        if let Some(pusher) = self.lock().as_ref() {
            pusher.push(batch);
            figures.dropped(pusher.dropped());
        }
    }

    fn pushed_until(&self) -> MutexGuard<'_, f64> {
        let pushed = self.pushed_until.lock();
        pushed.unwrap_or_else(PoisonError::into_inner)
    }

    fn finish(self, figures: &Shared) {
        let Some(pusher) = self.lock().take() else {
            return;
        };
        let pushed = pusher.finish(PATIENCE);
        let mut figures = figures.lock().unwrap_or_else(PoisonError::into_inner);
        figures.dropped(pushed.dropped);
        drop(figures);
        if pushed.rejected > 0 {
            console::note(&format!(
                "warning: {} rejected {} data points of the metrics: {}",
                self.url, pushed.rejected, pushed.rejected_why
            ));
        }
        if pushed.dropped == 0 && pushed.late {
            console::note(&format!(
                "All metrics were pushed to {} in the end.",
                self.url
            ));
        }
        if pushed.dropped > 0 {
            let all = pushed.dropped + pushed.sent;
            let why = pushed
                .trouble
                .unwrap_or_else(|| "it was too slow".to_owned());
            console::note(&format!(
                "warning: {} of {all} pushes of metrics to {} were dropped: {why}",
                pushed.dropped, self.url
            ));
        }
    }
}

fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    name.map_or_else(|_| String::new(), |name| name.trim().to_owned())
}

/// Receives the figures of one run.
struct MetricsSink {
    figures: Shared,
    push: Option<Push>,
    /// CPU time of its calls.
    own_ns: AtomicU64,
    threads_ns: Box<dyn Fn() -> u64 + Send>,
    /// CPU time of the threads before this run.
    threads_before_ns: u64,
}

impl MetricsSink {
    /// Updates the figures and counts the CPU time.
    fn take(&self, take: impl FnOnce(&mut Figures, Option<&Push>)) {
        let begun = thread_cpu();
        let mut figures = self.figures.lock().unwrap_or_else(PoisonError::into_inner);
        take(&mut figures, self.push.as_ref());
        drop(figures);
        let took = thread_cpu().saturating_sub(begun);
        self.own_ns.fetch_add(took, Ordering::Relaxed);
    }
}

impl Sink for MetricsSink {
    fn head(&mut self, head: &RunHead) {
        self.take(|figures, push| {
            *figures = Figures::new(head);
            if let Some(push) = push {
                *push.pushed_until() = 0.0;
                push.push(figures, &Interval::default());
            }
        });
    }

    fn started(&mut self, unix_s: f64) {
        self.take(|figures, _| figures.start(unix_s));
    }

    fn interval(&mut self, report: IntervalReport<'_>) {
        self.take(|figures, push| {
            figures.interval(report.interval, report.operations);
            if let Some(push) = push {
                push.push(figures, report.interval);
            }
        });
    }

    fn series(&mut self, number: u32, key: &SeriesKey, _kind: SeriesKind) {
        self.take(|figures, _| figures.series(number, key));
    }

    fn samples(&mut self, _at_s: f64, values: &[(u32, f64)]) {
        self.take(|figures, _| {
            for (number, value) in values {
                figures.sample(*number, *value);
            }
        });
    }

    fn points(&mut self, number: u32, points: &[(f64, f64)]) {
        if let Some((_, value)) = points.last() {
            self.take(|figures, _| figures.sample(number, *value));
        }
    }

    fn end(&mut self, _summary: &RunSummary) {
        self.take(|figures, push| {
            figures.end();
            if let Some(push) = push {
                push.push(figures, &Interval::default());
            }
        });
    }

    fn cpu_s(&self) -> f64 {
        let threads_ns = (self.threads_ns)().saturating_sub(self.threads_before_ns);
        (self.own_ns.load(Ordering::Relaxed) + threads_ns) as f64 / 1e9
    }
}
