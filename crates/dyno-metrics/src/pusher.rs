//! Pushes each interval from a dedicated thread.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{env, io};

use dyno_core::Secret;
use dyno_core::clock::{Clock, Nanos, thread_cpu};
use percent_encoding::percent_decode_str;
use prost::Message as _;
use ureq::Agent;
use ureq::http::{HeaderName, HeaderValue, Uri};
use ureq::tls::{Certificate, RootCerts, TlsConfig};

use crate::family::Family;
use crate::otlp::messages::ExportMetricsServiceResponse;
use crate::otlp::{self, Attributes, Temporality, Window};

/// The longest queue, in batches. Later batches are dropped.
pub const QUEUE_MAX: usize = 60;
/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// The first and the longest pause before a request is retried.
const PAUSES: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(5));
/// The largest response that is read, in bytes.
const ANSWER_MAX: u64 = 64 * 1024;
/// The environment variable for headers of all requests, as OpenTelemetry's own exporters read it:
/// `name=value,name=value`, with URL-encoded values.
pub const HEADERS: &str = "OTEL_EXPORTER_OTLP_HEADERS";

/// Where and how metrics are pushed.
#[derive(Clone, Debug)]
pub struct Destination {
    url: String,
    temporality: Temporality,
    headers: Vec<(String, Secret)>,
}

impl Destination {
    /// Parses the receiver's URL, as in `OTEL_EXPORTER_OTLP_ENDPOINT`; the path `/v1/metrics` is
    /// appended if it is missing. By default, sums are deltas, except for Prometheus' own receiver,
    /// which rejects deltas.
    ///
    /// # Errors
    /// A message without the URL, if it is not a valid URL or contains a password.
    pub fn new(url: &str, temporality: Option<Temporality>) -> Result<Self, String> {
        let expected = "expected the URL of an OTLP/HTTP receiver, such as http://127.0.0.1:4318";
        let rest = url
            .strip_prefix("http://")
            .or_else(|| url.strip_prefix("https://"))
            .ok_or_else(|| expected.to_owned())?;
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if authority.contains('@') {
            return Err(format!(
                "everybody on this host can see a user or password in a URL; put the header into \
                 ${HEADERS}, e.g. Authorization=Basic%20…"
            ));
        }
        let port = authority.rsplit_once(':').map(|(_, port)| port);
        let wrong = port.is_some_and(|port| !port.ends_with(']') && port.parse::<u16>().is_err());
        if authority.is_empty() || wrong || url.parse::<Uri>().is_err() {
            return Err(expected.to_owned());
        }
        let path = path.trim_end_matches('/');
        let path = path
            .strip_suffix("v1/metrics")
            .unwrap_or(path)
            .trim_end_matches('/');
        let scheme = &url[..url.len() - rest.len()];
        let slash = if path.is_empty() { "" } else { "/" };
        let own = match path {
            "api/v1/otlp" => Temporality::Cumulative,
            _ => Temporality::Delta,
        };
        Ok(Self {
            url: format!("{scheme}{authority}{slash}{path}/v1/metrics"),
            temporality: temporality.unwrap_or(own),
            headers: headers(&env::var(HEADERS).unwrap_or_default())?,
        })
    }

    /// The period that sums cover.
    pub fn temporality(&self) -> Temporality {
        self.temporality
    }

    /// The whole URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn agent(&self) -> Agent {
        let mut config = Agent::config_builder()
            .timeout_global(Some(PATIENCE))
            .max_redirects(0)
            .user_agent(concat!("dyno/", env!("CARGO_PKG_VERSION")));
        if self.url.starts_with("https://") {
            let known = rustls_native_certs::load_native_certs().certs;
            let known: Vec<Certificate<'static>> = known
                .iter()
                .map(|certificate| Certificate::from_der(certificate).to_owned())
                .collect();
            let tls = TlsConfig::builder().root_certs(RootCerts::from(known));
            config = config.tls_config(tls.build());
        }
        config.build().into()
    }

    /// Posts a request once with this timeout; returns the result and the number of data points.
    fn post(&self, agent: &Agent, body: &[u8], patience: Duration) -> Result<Acceptance, Refusal> {
        let mut request = agent
            .post(&self.url)
            .config()
            .timeout_global(Some(patience))
            .build()
            .header("Content-Type", "application/x-protobuf");
        for (name, value) in &self.headers {
            request = request.header(name, value.expose());
        }
        match request.send(body) {
            // Do not follow redirects, because headers may contain secrets.
            Ok(reply) if reply.status().is_redirection() => {
                Err(Refusal::of_status(reply.status().as_u16()))
            }
            Ok(mut reply) => {
                let body = reply
                    .body_mut()
                    .with_config()
                    .limit(ANSWER_MAX)
                    .read_to_vec();
                // Do not retry: the receiver would count the accepted data points twice.
                let refusal = |why: String| Refusal::unanswered(why, false);
                let body = body.map_err(|error| refusal(format!("its answer is cut: {error}")))?;
                let response = ExportMetricsServiceResponse::decode(body.as_slice());
                let response =
                    response.map_err(|_| refusal("its answer is not OTLP".to_owned()))?;
                Ok(Acceptance::of(response))
            }
            Err(ureq::Error::StatusCode(status)) => Err(Refusal::of_status(status)),
            Err(ureq::Error::Timeout(_)) => {
                let why = format!("it did not answer within {:.1} s", patience.as_secs_f64());
                Err(Refusal::unanswered(why, true))
            }
            Err(error) => Err(Refusal::unanswered(error.to_string(), true)),
        }
    }
}

fn headers(text: &str) -> Result<Vec<(String, Secret)>, String> {
    let wrong = || format!("${HEADERS} is not a list of name=value,name=value");
    let one = |pair: &str| {
        let (name, value) = pair.split_once('=').ok_or_else(wrong)?;
        let value = percent_decode_str(value.trim())
            .decode_utf8()
            .map_err(|_| wrong())?;
        let is_header = HeaderName::from_bytes(name.trim().as_bytes()).is_ok();
        if !is_header || HeaderValue::from_str(&value).is_err() {
            return Err(format!(
                "${HEADERS} has a name or a value that is not allowed in a header"
            ));
        }
        Ok((name.trim().to_owned(), Secret::new(value.into_owned())))
    };
    let pairs = text.split(',').filter(|pair| !pair.trim().is_empty());
    pairs.map(one).collect()
}

/// What a receiver accepted.
#[derive(Default)]
struct Acceptance {
    /// Number of rejected data points, and the reason.
    rejected: u64,
    why: String,
}

impl Acceptance {
    fn of(response: ExportMetricsServiceResponse) -> Self {
        response
            .partial_success
            .map_or_else(Self::default, |partial| Self {
                rejected: u64::try_from(partial.rejected_data_points).unwrap_or_default(),
                why: partial.error_message,
            })
    }
}

/// Why a request failed.
struct Refusal {
    why: String,
    /// The HTTP status, if the receiver answered.
    status: Option<u16>,
    /// Whether a retry may help.
    again: bool,
}

impl Refusal {
    fn of_status(status: u16) -> Self {
        Self {
            why: format!("it answered with status {status}"),
            status: Some(status),
            again: matches!(status, 429 | 502 | 503 | 504),
        }
    }

    fn unanswered(why: String, again: bool) -> Self {
        Self {
            why,
            status: None,
            again,
        }
    }
}

/// The metrics of an interval, or of the beginning or end of the run.
#[derive(Debug)]
pub struct Batch {
    /// The metrics.
    pub families: Vec<Family>,
    /// The period that they cover.
    pub window: Window,
}

/// The result of all pushes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pushed {
    /// Batches that the receiver accepted.
    pub sent: u64,
    /// Batches that the receiver did not accept, or did not accept in time.
    pub dropped: u64,
    /// Why the most recent batch was dropped.
    pub trouble: Option<String>,
    /// Data points that the receiver rejected from accepted batches.
    pub rejected: u64,
    /// The receiver's reason.
    pub rejected_why: String,
    /// Whether a push failed and its retry succeeded.
    pub late: bool,
}

#[derive(Default)]
struct State {
    sent: AtomicU64,
    dropped: AtomicU64,
    cpu_ns: AtomicU64,
}

/// Called with the reason when a push fails for the first time.
pub type OnTrouble = Box<dyn FnMut(&str, Option<u16>) + Send>;

/// Pushes batches in order.
pub struct Pusher {
    queue: Option<SyncSender<Batch>>,
    state: Arc<State>,
    thread: JoinHandle<Pushed>,
    /// Receives, at the end of the run, the deadline for the remaining batches.
    deadline: SyncSender<Nanos>,
}

impl Pusher {
    /// Starts pushing. `sender` holds the attributes that identify the sender.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(
        destination: Destination,
        sender: Attributes,
        on_trouble: OnTrouble,
    ) -> io::Result<Self> {
        let (queue, batches) = sync_channel(QUEUE_MAX);
        let (deadline, deadlines) = sync_channel(1);
        let state = Arc::<State>::default();
        let mut work = Work {
            agent: destination.agent(),
            destination,
            sender,
            deadlines,
            deadline: None,
            state: Arc::clone(&state),
            pushed: Pushed::default(),
            has_warned: false,
            on_trouble,
        };
        let run = move || {
            for batch in batches {
                work.push(&batch);
                work.state.cpu_ns.store(thread_cpu(), Ordering::Relaxed);
            }
            work.pushed
        };
        let thread = thread::Builder::new()
            .name("dyno-otlp".to_owned())
            .spawn(run)?;
        Ok(Self {
            queue: Some(queue),
            state,
            thread,
            deadline,
        })
    }

    /// Queues a batch. If the queue is full, drops the batch and returns false.
    pub fn push(&self, batch: Batch) -> bool {
        let Some(queue) = &self.queue else {
            return false;
        };
        let full = match queue.try_send(batch) {
            Ok(()) => return true,
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => &self.state.dropped,
        };
        full.fetch_add(1, Ordering::Relaxed);
        false
    }

    /// How many batches were dropped so far.
    pub fn dropped(&self) -> u64 {
        self.state.dropped.load(Ordering::Relaxed)
    }

    /// The CPU time used so far, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.state.cpu_ns.load(Ordering::Relaxed)
    }

    /// Stops. Pushes the queued batches within this time and drops the rest.
    pub fn finish(mut self, patience: Duration) -> Pushed {
        let patience_ns = u64::try_from(patience.as_nanos()).unwrap_or(u64::MAX);
        let deadline = Clock.now().saturating_add(patience_ns);
        let _ = self.deadline.try_send(deadline);
        drop(self.queue.take());
        // No timeout is needed here, because a request in progress has one.
        let panicked = || Pushed {
            trouble: Some("the thread panicked".to_owned()),
            ..Pushed::default()
        };
        let pushed = self.thread.join().unwrap_or_else(|_| panicked());
        Pushed {
            sent: self.state.sent.load(Ordering::Relaxed),
            dropped: self.state.dropped.load(Ordering::Relaxed),
            ..pushed
        }
    }
}

struct Work {
    destination: Destination,
    agent: Agent,
    sender: Attributes,
    deadlines: Receiver<Nanos>,
    deadline: Option<Nanos>,
    state: Arc<State>,
    pushed: Pushed,
    has_warned: bool,
    on_trouble: OnTrouble,
}

impl Work {
    /// Pushes a batch, with retries where they may help.
    fn push(&mut self, batch: &Batch) {
        let temporality = self.destination.temporality;
        let body = otlp::encode(&batch.families, temporality, batch.window, &self.sender);
        let mut pause = PAUSES.0;
        let mut failed = false;
        loop {
            let Some(patience) = self.left() else {
                self.drop_for("the run is over, and the time limit has passed".to_owned());
                return;
            };
            let refusal = match self.destination.post(&self.agent, &body, patience) {
                Ok(reply) => {
                    self.state.sent.fetch_add(1, Ordering::Relaxed);
                    self.pushed.late |= failed;
                    self.pushed.rejected += reply.rejected;
                    if reply.rejected > 0 {
                        let why =
                            format!("it rejected {} data points: {}", reply.rejected, reply.why);
                        self.warn(&why, None);
                        self.pushed.rejected_why = reply.why;
                    }
                    return;
                }
                Err(refusal) => refusal,
            };
            failed = true;
            self.warn(&refusal.why, refusal.status);
            if !refusal.again || self.is_late(pause) {
                self.drop_for(refusal.why);
                return;
            }
            pause = (pause * 2).min(PAUSES.1);
        }
    }

    fn drop_for(&mut self, why: String) {
        self.state.dropped.fetch_add(1, Ordering::Relaxed);
        // Keep the reason of an earlier failure: it says more than a missed deadline.
        if self.deadline.is_none() || self.pushed.trouble.is_none() {
            self.pushed.trouble = Some(why);
        }
    }

    /// Reports the first failure only.
    fn warn(&mut self, why: &str, status: Option<u16>) {
        if !self.has_warned {
            self.has_warned = true;
            (self.on_trouble)(why, status);
        }
    }

    /// How long the next request may take. `None` after the deadline.
    fn left(&mut self) -> Option<Duration> {
        if self.deadline.is_none() {
            self.deadline = self.deadlines.try_recv().ok();
        }
        let Some(deadline) = self.deadline else {
            return Some(PATIENCE);
        };
        let left = Duration::from_nanos(deadline.saturating_sub(Clock.now()));
        (!left.is_zero()).then(|| left.min(PATIENCE))
    }

    /// Pauses before a retry; returns whether the deadline has passed.
    fn is_late(&mut self, pause: Duration) -> bool {
        if self.deadline.is_none() {
            match self.deadlines.recv_timeout(pause) {
                Ok(deadline) => self.deadline = Some(deadline),
                Err(RecvTimeoutError::Timeout) => return false,
                // The pusher was dropped.
                Err(RecvTimeoutError::Disconnected) => return true,
            }
            return self.left().is_none();
        }
        match self.left() {
            None => true,
            Some(left) => {
                thread::sleep(pause.min(left));
                self.left().is_none()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Destination, headers};
    use crate::otlp::Temporality;

    #[test]
    fn appends_the_path_if_it_is_missing() {
        let url = |text: &str| Destination::new(text, None).unwrap().url;
        assert_eq!(url("http://a:4318"), "http://a:4318/v1/metrics");
        assert_eq!(url("http://a:4318/"), "http://a:4318/v1/metrics");
        assert_eq!(
            url("https://a/otlp/v1/metrics"),
            "https://a/otlp/v1/metrics"
        );
        assert_eq!(url("https://a/otlp/"), "https://a/otlp/v1/metrics");
        assert_eq!(url("http://a/v1/metrics"), "http://a/v1/metrics");
    }

    #[test]
    fn sums_for_prometheus_are_cumulative() {
        let of = |text: &str, asked| Destination::new(text, asked).unwrap().temporality;
        let prometheus = "http://127.0.0.1:9090/api/v1/otlp";
        assert_eq!(of(prometheus, None), Temporality::Cumulative);
        assert_eq!(of(prometheus, Some(Temporality::Delta)), Temporality::Delta);
        assert_eq!(of("http://127.0.0.1:4318", None), Temporality::Delta);
    }

    #[test]
    fn secrets_of_a_url_are_refused_and_not_repeated() {
        let why = Destination::new("http://me:hunter2@a:4318", None).unwrap_err();
        assert!(why.contains("OTEL_EXPORTER_OTLP_HEADERS") && !why.contains("hunter2"));
        for wrong in [
            "",
            "a:4318",
            "ftp://a",
            "http://",
            "http:///v1/metrics",
            "http://a b",
        ] {
            assert!(Destination::new(wrong, None).is_err(), "{wrong}");
        }
    }

    #[test]
    fn headers_are_decoded() {
        let all = headers("Authorization=Basic%20abc=, x = y").unwrap();
        assert_eq!(
            (all[0].0.as_str(), all[0].1.expose()),
            ("Authorization", "Basic abc=")
        );
        assert_eq!((all[1].0.as_str(), all[1].1.expose()), ("x", "y"));
        assert!(headers("").unwrap().is_empty());
        assert!(headers("nonsense").is_err());
    }
}
