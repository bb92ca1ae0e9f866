//! A run in progress or finished, from its results file, which may be written at the same time.

mod screens;

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use dyno_core::record::{Event, Span};
use dyno_core::states::SessionState;
use dyno_core::summary::{IntervalSummary, Percentile};
use dyno_core::units::{human_number, human_seconds, human_size};
use dyno_results::{Progress, ReadPosition, Results, RunHeadline, RunStage, SampleOf};

use crate::profile::Profile;
use crate::source::{Answer, Source, Trouble};
pub(crate) use screens::profile;

/// Maximum number of intervals shown, the latest ones.
const INTERVALS_MAX: usize = 600;
/// Maximum number of events shown, the latest ones.
const EVENTS_MAX: usize = 500;

/// The questions, each for a table built from the file's content.
const RUN: &str = "run";
const LATENCIES: &str = "latencies";
const STATES: &str = "states";
const OPERATIONS: &str = "operations";
const INTERVALS: &str = "intervals";
const EVENTS: &str = "events";
const AGENTS: &str = "agents";
/// Series with names that begin with one of the words after it.
const SERIES: &str = "series ";

/// A run in a results file.
pub struct Run {
    file: PathBuf,
    /// As typed by the user: `last`, a number, the beginning of a name.
    wanted: String,
    open: Option<Open>,
}

struct Open {
    results: Results,
    id: i64,
    place: ReadPosition,
    head: RunHeadline,
    intervals: VecDeque<IntervalSummary>,
    /// The last span of each operation.
    operations: BTreeMap<String, Span>,
    /// Latencies not yet reported.
    latencies: Vec<Span>,
    samples: BTreeMap<String, SampleOf>,
    events: VecDeque<Event>,
}

impl Run {
    /// A run of a results file, which is read only when opened.
    pub fn new(file: PathBuf, wanted: String) -> Self {
        Self {
            file,
            wanted,
            open: None,
        }
    }
}

impl Source for Run {
    fn open(&mut self) -> Result<Profile, Trouble> {
        let lost = |error: dyno_results::ResultsError| Trouble::Lost(error.to_string());
        let results = Results::open_read(&self.file).map_err(lost)?;
        let id = results.find(&self.wanted).map_err(lost)?;
        let mut place = ReadPosition::default();
        let first = results.progress(id, &mut place).map_err(lost)?;
        let mut open = Open {
            results,
            id,
            place,
            head: first.head.clone(),
            intervals: VecDeque::new(),
            operations: BTreeMap::new(),
            latencies: Vec::new(),
            samples: BTreeMap::new(),
            events: VecDeque::new(),
        };
        open.add(first);
        let head = &open.head;
        let sessions = head
            .sessions
            .map_or_else(String::new, |n| format!(" · {n} sessions"));
        let title = format!(
            "run {id} · {}{sessions} · {} · {}",
            head.workload, head.server, head.target
        );
        // `last` stays this run, even if others begin later.
        self.wanted = id.to_string();
        self.open = Some(open);
        Ok(profile(title))
    }

    fn ask(&mut self, question: &str) -> Result<Answer, Trouble> {
        let Some(open) = &mut self.open else {
            return Err(Trouble::Lost("the results file is not open".to_owned()));
        };
        // It is asked first, for each snapshot.
        if question == RUN {
            let progress = open.results.progress(open.id, &mut open.place);
            let progress = progress.map_err(|error| Trouble::Lost(error.to_string()))?;
            open.add(progress);
        }
        Ok(match question {
            RUN => open.run(),
            LATENCIES => open.latencies(),
            STATES => open.states(),
            OPERATIONS => open.operations(),
            INTERVALS => open.intervals(),
            EVENTS => open.events(),
            AGENTS => open.agents(),
            other => open.series(other.strip_prefix(SERIES).unwrap_or_default()),
        })
    }
}

impl Open {
    fn add(&mut self, progress: Progress) {
        self.head = progress.head;
        self.intervals.extend(progress.intervals);
        let old = self.intervals.len().saturating_sub(INTERVALS_MAX);
        self.intervals.drain(..old);
        for (name, span) in progress.spans {
            if name == "event" {
                self.latencies.push(span.clone());
            }
            self.operations.insert(name, span);
        }
        for sample in progress.samples {
            self.samples.insert(sample.name.clone(), sample);
        }
        self.events.extend(progress.events);
        let old = self.events.len().saturating_sub(EVENTS_MAX);
        self.events.drain(..old);
    }

    fn run(&self) -> Answer {
        let mut row = vec![("stage", Some(self.head.stage.word().to_owned()))];
        let Some(last) = self.intervals.back() else {
            return single(row);
        };
        let whole = |count: u64| Some(count.to_string());
        let per_s = |count: u64| fraction(count as f64 / last.length_s);
        row.extend([
            ("at_s", fraction(last.at_s)),
            ("events_per_s", fraction(last.events_per_s())),
            ("queries_per_s", fraction(last.queries_per_s())),
            ("errors_per_s", per_s(last.errors_seen)),
            ("retries_per_s", per_s(last.counters.retries)),
            ("reconnects_per_s", per_s(last.counters.reconnects)),
            ("bytes_in_per_s", per_s(last.counters.bytes_in)),
            ("bytes_out_per_s", per_s(last.counters.bytes_out)),
            ("sessions", last.sessions.and_then(|one| whole(one.into()))),
            ("backlog", last.backlog.and_then(whole)),
            ("max_ms", last.max_ms.and_then(fraction)),
            (
                "working",
                last.states.map(|states| states.working.to_string()),
            ),
        ]);
        for (name, percent) in PERCENTILES {
            let value = Percentile::of(&last.percentiles, percent);
            row.push((name, value.and_then(fraction)));
        }
        if self.head.stage == RunStage::Running
            && let Some(started) = self.head.started_unix_s
        {
            let now_s = dyno_core::clock::wall_time().as_secs_f64();
            let age_s = (now_s - started - last.at_s).max(0.0);
            row.push(("age", Some(format!("{} ago", human_seconds(age_s)))));
        }
        single(row)
    }

    /// The intervals' histograms since the last answer.
    fn latencies(&mut self) -> Answer {
        let mut rows = Vec::new();
        for span in self.latencies.drain(..) {
            let at = Some(span.to_s.to_string());
            // In an open loop, the time that the user waits.
            let histogram = match span.response.is_empty() {
                true => &span.service,
                false => &span.response,
            };
            if histogram.is_empty() {
                rows.push(vec![at, Some("1".to_owned()), Some("0".to_owned())]);
                continue;
            }
            for step in histogram.iter_recorded() {
                let bound_s = step.value_iterated_to() as f64 / 1e9;
                let count = step.count_since_last_iteration();
                rows.push(vec![at.clone(), fraction(bound_s), Some(count.to_string())]);
            }
        }
        table(&["at", "bound", "count"], rows)
    }

    fn states(&self) -> Answer {
        let states = self.intervals.back().and_then(|last| last.states);
        let rows = SessionState::ALL.iter().filter_map(|state| {
            let count = states?.of(*state);
            (count > 0).then(|| vec![Some(state.word().to_owned()), Some(count.to_string())])
        });
        table(&["state", "sessions"], rows.collect())
    }

    fn operations(&self) -> Answer {
        let rows = self.operations.iter().map(|(name, span)| {
            let histogram = match span.response.is_empty() {
                true => &span.service,
                false => &span.response,
            };
            let quantile = |q| match span.count {
                0 => None,
                _ => fraction(histogram.value_at_quantile(q) as f64 / 1e9),
            };
            let seconds = span.to_s - span.from_s;
            vec![
                Some(name.clone()),
                fraction(span.count as f64 / seconds),
                fraction(span.service_ns_sum as f64 / 1e9 / span.count as f64),
                quantile(0.5),
                quantile(0.95),
                quantile(0.99),
                fraction(span.service_ns_max as f64 / 1e9).filter(|_| span.count > 0),
            ]
        });
        let names = ["name", "rate", "mean", "p50", "p95", "p99", "max"];
        table(&names, rows.collect())
    }

    fn intervals(&self) -> Answer {
        let rows = self.intervals.iter().map(|interval| {
            let percentile =
                |percent| Percentile::of(&interval.percentiles, percent).and_then(fraction);
            vec![
                fraction(interval.at_s),
                fraction(interval.events_per_s()),
                fraction(interval.queries_per_s()),
                percentile(50.0),
                percentile(95.0),
                percentile(99.0),
                interval.max_ms.and_then(fraction),
                Some(interval.errors_seen.to_string()),
                interval.sessions.map(|sessions| sessions.to_string()),
                interval.backlog.map(|backlog| backlog.to_string()),
            ]
        });
        let names = [
            "at", "events", "queries", "p50", "p95", "p99", "max", "errors", "sessions", "backlog",
        ];
        table(&names, rows.collect())
    }

    fn events(&self) -> Answer {
        let rows = self.events.iter().map(|event| {
            let kind = format!("{:?}", event.kind).to_lowercase();
            let length = event.until_s.map(|until_s| until_s - event.at_s);
            vec![
                fraction(event.at_s),
                length.and_then(fraction),
                Some(kind),
                Some(event.text.clone()),
            ]
        });
        table(&["at", "length", "kind", "text"], rows.collect())
    }

    /// Each agent's work in the last interval, from its series.
    fn agents(&self) -> Answer {
        const AGENT_FIGURES: [&str; 3] = ["events", "errors", "service_mean"];
        let mut agents: BTreeMap<&str, [Option<f64>; AGENT_FIGURES.len()]> = BTreeMap::new();
        for sample in self.samples.values() {
            let named = sample.name.strip_prefix("agent[");
            let Some((agent, what)) = named.and_then(|rest| rest.split_once("].")) else {
                continue;
            };
            if let Some(at) = AGENT_FIGURES.iter().position(|name| *name == what) {
                agents.entry(agent).or_default()[at] = Some(sample.value);
            }
        }
        let rows = agents.into_iter().map(|(agent, values)| {
            let values = values.into_iter().map(|value| value.and_then(fraction));
            std::iter::once(Some(agent.to_owned()))
                .chain(values)
                .collect()
        });
        table(&["agent", "events", "errors", "mean"], rows.collect())
    }

    fn series(&self, wanted: &str) -> Answer {
        let is_wanted = |name: &str| wanted.split(' ').any(|start| name.starts_with(start));
        let samples = self
            .samples
            .values()
            .filter(|sample| is_wanted(&sample.name));
        let rows = samples.map(|sample| {
            vec![
                Some(sample.name.clone()),
                Some(observed(sample.value, &sample.unit)),
                fraction(sample.at_s),
            ]
        });
        table(&["name", "value", "at"], rows.collect())
    }
}

/// Percentiles of intervals that are shown.
const PERCENTILES: [(&str, f64); 4] = [
    ("p50_ms", 50.0),
    ("p95_ms", 95.0),
    ("p99_ms", 99.0),
    ("p999_ms", 99.9),
];

fn fraction(value: f64) -> Option<String> {
    value.is_finite().then(|| value.to_string())
}

fn single(row: Vec<(&str, Option<String>)>) -> Answer {
    let (names, row): (Vec<_>, Vec<_>) = row.into_iter().unzip();
    table(&names, vec![row])
}

fn table(names: &[&str], rows: Vec<Vec<Option<String>>>) -> Answer {
    Answer {
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        rows,
    }
}

/// A sample with its unit.
fn observed(value: f64, unit: &str) -> String {
    let size = |value: f64| human_size(value.max(0.0) as u64);
    match unit {
        "bytes" => size(value),
        "bytes/s" => format!("{}/s", size(value)),
        "count" => human_number(value, usize::from(value.fract() != 0.0)),
        "count/s" => format!("{}/s", human_number(value, 1)),
        unit => format!("{} {unit}", human_number(value, 2)),
    }
}
