//! Checks 2 and 7: the workers that drive the sessions, and how evenly the work was spread.

use dyno_analysis::stalls::WORKER_STALL_MS;
use dyno_core::finding::Outcome;
use dyno_core::record::SessionShare;
use dyno_core::record::{Event, EventKind};

use crate::check::{Check, Made, Threshold, advice};
use crate::text;
use crate::view::View;

pub(super) const CLIENT_CPU: Check = Check {
    number: 2,
    name: "client-cpu",
    title: "CPU, waits for a CPU, page faults and descriptors of the generator's workers",
    rule: "Doubt if a worker used {0} % of a core or more; if it waited for a CPU {1} % of the \
           time or more, and not merely for the server on the same host; if it was kept from its \
           sockets, or its process stood still, for {2} ms or more; if the generator read pages \
           from disk {3} times a second or more, or had {4} % of its descriptors open.",
    thresholds: &[BUSY, WAITING, STALL_MS, MAJOR_FAULTS, DESCRIPTORS],
    make: client_cpu,
};

pub(super) const FAIRNESS: Check = Check {
    number: 7,
    name: "fairness",
    title: "Operations of each session, worker and endpoint",
    rule: "Doubt if Jain's index over sessions or workers is below {0}, if a session did nothing \
           while the others did {1} events each, or if an endpoint got less than {2} % of its \
           fair share.",
    thresholds: &[JAIN_MIN, EVENTS_FEW, ENDPOINT_SHARE],
    make: fairness,
};

const BUSY: Threshold = Threshold {
    name: "busiest worker",
    value: 90.0,
    unit: "percent of a core",
    why: "a worker that has no time left queues what it sends",
};
const WAITING: Threshold = Threshold {
    name: "longest wait for a CPU",
    value: 50.0,
    unit: "percent of the time",
    why: "a worker that waits as long as it lives measures its host's scheduler. A closed loop \
          that shares all CPUs with its server waits so too, which is no fault of the host: there \
          it counts only if other processes take their part or a cgroup throttles",
};
const STALL_MS: Threshold = Threshold {
    name: "longest time away from the sockets",
    value: WORKER_STALL_MS,
    unit: "ms",
    why: "ten times what a scheduler on a crowded host keeps a thread waiting; scripts that \
          block and frozen machines reach it",
};
const MAJOR_FAULTS: Threshold = Threshold {
    name: "pages read from disk",
    value: 10.0,
    unit: "per second",
    why: "a generator in the steady state needs no page from disk: it is being swapped",
};
const DESCRIPTORS: Threshold = Threshold {
    name: "open descriptors",
    value: 90.0,
    unit: "percent of the limit",
    why: "the next connection may be refused by the generator's own host",
};
const JAIN_MIN: Threshold = Threshold {
    name: "Jain's index",
    value: 0.9,
    unit: "ratio",
    why: "one session in ten did nothing, or the spread is a third of the mean (Jain, Chiu and \
          Hawe, \"A Quantitative Measure of Fairness\")",
};
const EVENTS_FEW: Threshold = Threshold {
    name: "events per session",
    value: 20.0,
    unit: "count",
    why: "with fewer, chance alone brings the index below its bound",
};
const ENDPOINT_SHARE: Threshold = Threshold {
    name: "an endpoint's part of its fair share",
    value: 50.0,
    unit: "percent",
    why: "sessions are spread evenly over endpoints",
};

fn client_cpu(view: &View) -> Made {
    let own = Workers::of(view);
    if own.busiest.is_none() && own.waiting.is_none() {
        return Made::not_checked(match view.imported() {
            true => "The log tells nothing of the generator's own CPU.".to_owned(),
            false => format!("{}.", view.why_not("client.worker")),
        });
    }
    let faults = own.faults(view);
    let (said, try_this): (Vec<String>, Vec<&str>) = faults.into_iter().unzip();
    let made = match said.is_empty() {
        true => Made::pass(own.summary()),
        false => Made::doubt(
            format!("{} {}", text::sentence(&text::list(&said)), own.summary()),
            &try_this.join(" "),
        ),
    };
    made.with_some("busiest worker", own.busiest, "percent of a core")
        .with_some("longest wait for a CPU", own.waiting, "percent of the time")
        .with_some("involuntary switches", own.switches, "per second")
        .with_some("longest time away from the sockets", own.stall_ms, "ms")
        .with_some("pages read from disk", own.major_faults, "per second")
        .with_some("open descriptors", own.descriptors, "percent of the limit")
}

/// What the workers' figures are, where they are known. Shares in percent.
struct Workers {
    busiest: Option<f64>,
    waiting: Option<f64>,
    switches: Option<f64>,
    stall_ms: Option<f64>,
    major_faults: Option<f64>,
    descriptors: Option<f64>,
}

impl Workers {
    fn of(view: &View) -> Self {
        let largest = |after: &str| {
            let all = view.devices("client.worker[", after);
            let means = all.iter().filter_map(|(_, series)| view.mean_of(series));
            means.reduce(f64::max)
        };
        let client = view.summary().and_then(|summary| summary.client.as_ref());
        let busiest = client
            .and_then(|client| client.worker_busy.iter().copied().reduce(f64::max))
            .or_else(|| largest("].cpu"));
        let limit: Option<f64> = view
            .run
            .fact("host.limits.descriptors")
            .and_then(|limit| limit.trim().parse().ok())
            .filter(|limit| *limit > 0.0);
        Self {
            busiest: busiest.map(|share| share * 100.0),
            waiting: largest("].run_queue_wait").map(|cores| cores * 100.0),
            switches: largest("].involuntary_switches"),
            stall_ms: client
                .map(|client| client.stall_max_ms)
                .filter(|_| !view.imported()),
            major_faults: view.mean("client.page_faults.major"),
            descriptors: view
                .largest("client.descriptors")
                .zip(limit)
                .map(|(open, limit)| open / limit * 100.0),
        }
    }

    /// Each with what to try against it.
    fn faults(&self, view: &View) -> Vec<(String, &'static str)> {
        // An embedded database works in the worker, and a script without a database is all that
        // is measured: both may use what there is.
        let alone = !view.embedded() && view.family().is_some();
        let shared = view
            .drive()
            .is_some_and(|drive| drive.sessions > drive.workers);
        let reaches =
            |value: Option<f64>, bound: &Threshold| value.is_some_and(|v| v >= bound.value);
        let mut faults = Vec::new();
        if alone && reaches(self.busiest, &BUSY) {
            faults.push((
                "the busiest worker had no CPU time to spare".to_owned(),
                "Give the generator more --workers, or a host with faster or more CPUs.",
            ));
        }
        if alone && reaches(self.waiting, &WAITING) && starved(view) {
            faults.push(("a worker was starved of CPU".to_owned(), NO_CPU));
        }
        match frozen(view) {
            Some(fault) => faults.push((fault, STOOD_STILL)),
            None if alone && shared && reaches(self.stall_ms, &STALL_MS) => {
                let said = "a worker was kept from its sockets, and its sessions with it";
                faults.push((said.to_owned(), kept_from_sockets(view, self.waiting)));
            }
            None => {}
        }
        if reaches(self.major_faults, &MAJOR_FAULTS) {
            let why = "Give the generator's host memory enough for all that runs there.";
            faults.push(("the generator was being swapped".to_owned(), why));
        }
        if reaches(self.descriptors, &DESCRIPTORS) {
            let said = "the generator was running out of descriptors".to_owned();
            faults.push((said, "Raise its limit of open files (ulimit -n)."));
        }
        faults
    }

    fn summary(&self) -> String {
        let mut parts = Vec::new();
        if let Some(busiest) = self.busiest {
            parts.push(format!(
                "the busiest worker used {} % of a core",
                text::plain(busiest)
            ));
        }
        if let Some(waiting) = self.waiting {
            parts.push(format!(
                "waits for a CPU took up to {} % of a worker's time",
                text::plain(waiting)
            ));
        }
        if let Some(switches) = self.switches {
            parts.push(format!(
                "up to {} involuntary switches a second",
                text::plain(switches)
            ));
        }
        if let Some(stall) = self.stall_ms {
            parts.push(format!("at most {} away from the sockets", text::ms(stall)));
        }
        if let Some(major) = self.major_faults.filter(|rate| *rate > 0.0) {
            parts.push(format!(
                "{} pages read from disk a second",
                text::plain(major)
            ));
        }
        if let Some(open) = self.descriptors {
            parts.push(format!("{} % of the descriptors open", text::plain(open)));
        }
        text::sentence(&text::list(&parts))
    }
}

const NO_CPU: &str = "Give the generator CPUs of its own (another host, taskset), and look at \
                      other-processes for what else runs there.";
const STOOD_STILL: &str = "Look for what stopped the process or the machine: a debugger, a \
                           snapshot, the host under a virtual machine.";
/// Waits for a CPU of so much of a worker's time, in percent, explain one long wait.
const WAITED: f64 = 5.0;

/// What kept a worker: waits for a CPU, where there were any, or what a script of the user's does.
fn kept_from_sockets(view: &View, waiting: Option<f64>) -> &'static str {
    let others = view.mean("host.others.cpu").zip(view.cpus());
    let busy =
        others.is_some_and(|(cores, cpus)| cores / cpus * 100.0 >= crate::machine::OTHERS.value);
    let plan = view.run.head.plan.as_ref();
    let own = plan.is_none_or(|plan| is_script(&plan.workload));
    match (
        busy || waiting.is_some_and(|percent| percent >= WAITED),
        own,
    ) {
        (true, _) => NO_CPU,
        (false, true) => {
            "If the script blocks (os.execute, FFI calls), give each session a worker: as many \
             --workers as sessions."
        }
        (false, false) => {
            "Nothing else took the host's CPUs as far as it was observed: look at host-resources \
             for what the hypervisor or a quota withheld."
        }
    }
}

/// Whether a workload is a file of the user's; built-in ones have plain names.
fn is_script(workload: &str) -> bool {
    workload.contains(['/', '.'])
}

/// How often, how long and since when the process stood still, if it did for long.
fn frozen(view: &View) -> Option<String> {
    let times = view.events(EventKind::Frozen);
    let length_s = |event: &&Event| event.until_s.unwrap_or(event.at_s) - event.at_s;
    let longest_s = times.iter().map(length_s).fold(0.0, f64::max);
    let first = times.first()?;
    (longest_s * 1e3 >= STALL_MS.value).then(|| {
        format!(
            "the generator itself stood still {} time{} for {} in all, first from {} on, as a \
             process that is stopped or a machine that is paused does",
            times.len(),
            text::plural(times.len() as u64),
            text::seconds(times.iter().map(length_s).sum()),
            text::seconds(first.at_s.max(0.0))
        )
    })
}

/// Whether somebody else than the server on the same host takes the CPUs.
fn starved(view: &View) -> bool {
    let others = view.mean("host.others.cpu").zip(view.cpus());
    let share = others.map_or(0.0, |(cores, cpus)| cores / cpus * 100.0);
    let throttled = view.mean("host.cgroup.cpu_throttled").unwrap_or(0.0);
    view.same_host() == Some(false)
        || share >= crate::machine::OTHERS.value
        || throttled >= crate::machine::THROTTLED.value
}

/// What to try against unfairness, by where it lies.
fn fairness_advice(uneven_workers: bool, weak_endpoint: bool) -> String {
    advice(&[
        (
            !uneven_workers && !weak_endpoint,
            "Look at the sessions' own events: a lock that one session holds, or a script that \
             treats sessions differently.",
        ),
        (
            uneven_workers,
            "Look at client-cpu: a worker that gets less CPU, or that a session's script blocks.",
        ),
        (
            weak_endpoint,
            "Look at that endpoint: a node that is slower, or takes no connections.",
        ),
    ])
}

fn fairness(view: &View) -> Made {
    let Some(spread) = Spread::of(view) else {
        return Made::not_checked("How the work was spread over sessions is not known.");
    };
    if spread.sessions < 2 {
        return Made::not_checked("There was one session: nothing to be shared.");
    }
    if spread.mean < EVENTS_FEW.value {
        return Made::not_checked(format!(
            "{} events per session are too few to tell unfairness from chance; {} are needed.",
            text::plain(spread.mean),
            text::plain(EVENTS_FEW.value)
        ));
    }
    let workers = worker_index(view);
    let endpoint = weakest_endpoint(view);
    let uneven_workers = workers.is_some_and(|index| index < JAIN_MIN.value);
    let weak = endpoint
        .as_ref()
        .is_some_and(|(_, share)| *share < ENDPOINT_SHARE.value);
    let mut faults = Vec::new();
    if spread.index < JAIN_MIN.value {
        faults.push("sessions were served unevenly".to_owned());
    }
    if spread.fewest == 0 {
        faults.push("at least one session did nothing".to_owned());
    }
    if uneven_workers {
        faults.push("one worker's sessions got more than another's".to_owned());
    }
    if let Some((name, share)) = &endpoint
        && *share < ENDPOINT_SHARE.value
    {
        faults.push(format!(
            "{name} got {} % of its fair share",
            text::plain(*share)
        ));
    }
    let facts = format!(
        "{} sessions did {} to {} events, {} on average; Jain's index is {}.",
        spread.sessions,
        text::count(spread.fewest),
        text::count(spread.most),
        text::plain(spread.mean),
        text::plain(spread.index)
    );
    let outcome = if faults.is_empty() {
        Outcome::Pass
    } else {
        Outcome::Doubt
    };
    let evidence = match faults.is_empty() {
        true => facts,
        false => format!("{} {facts}", text::sentence(&text::list(&faults))),
    };
    Made::of(outcome, evidence, &fairness_advice(uneven_workers, weak))
        .with("Jain's index over sessions", spread.index, "ratio")
        .with_some("Jain's index over workers", workers, "ratio")
        .with("fewest events of a session", spread.fewest as f64, "count")
        .with("most events of a session", spread.most as f64, "count")
        .with_some(
            "weakest endpoint",
            endpoint.map(|(_, share)| share),
            "percent of its fair share",
        )
}

/// How the events were spread over sessions.
struct Spread {
    sessions: usize,
    mean: f64,
    fewest: u64,
    most: u64,
    index: f64,
}

impl Spread {
    fn of(view: &View) -> Option<Self> {
        let peers = peers(view);
        if !peers.is_empty() {
            let events: Vec<f64> = peers.iter().map(|s| s.events as f64).collect();
            return Some(Self {
                sessions: events.len(),
                mean: events.iter().sum::<f64>() / events.len() as f64,
                fewest: peers.iter().map(|s| s.events).min()?,
                most: peers.iter().map(|s| s.events).max()?,
                index: jain(&events)?,
            });
        }
        // A log gives mean and standard deviation alone, from which the index follows.
        let fairness = view.summary()?.fairness?;
        if fairness.events_mean.is_nan() || fairness.events_mean <= 0.0 {
            return None;
        }
        let variation = fairness.events_stddev / fairness.events_mean;
        let known = fairness.events_max > 0;
        Some(Self {
            sessions: view.drive().map_or(1, |drive| drive.sessions) as usize,
            mean: fairness.events_mean,
            fewest: if known {
                fairness.events_min
            } else {
                fairness.events_mean as u64
            },
            most: if known {
                fairness.events_max
            } else {
                fairness.events_mean as u64
            },
            index: 1.0 / (1.0 + variation * variation),
        })
    }
}

/// The sessions that do the same work: all, or with roles those of the largest in the foreground.
fn peers<'a>(view: &View<'a>) -> Vec<&'a SessionShare> {
    let sessions = view.run.sessions.iter();
    let roles = view.drive().map_or(&[][..], |drive| &drive.roles);
    let mut first = 0;
    let mut largest: Option<(u32, u32)> = None;
    for role in roles {
        let larger = largest.is_none_or(|(_, most)| role.sessions > most);
        if !role.background && larger {
            largest = Some((first, role.sessions));
        }
        first += role.sessions;
    }
    match largest {
        Some((first, count)) => sessions
            .filter(|session| (first..first + count).contains(&session.session))
            .collect(),
        None => sessions.collect(),
    }
}

/// Events per session of each worker, and how even they are.
fn worker_index(view: &View) -> Option<f64> {
    let mut workers: Vec<(u32, f64, f64)> = Vec::new();
    for session in peers(view) {
        match workers
            .iter_mut()
            .find(|(worker, ..)| *worker == session.worker)
        {
            Some((_, events, sessions)) => {
                *events += session.events as f64;
                *sessions += 1.0;
            }
            None => workers.push((session.worker, session.events as f64, 1.0)),
        }
    }
    let means: Vec<f64> = workers.iter().map(|(_, events, n)| events / n).collect();
    if means.len() > 1 { jain(&means) } else { None }
}

/// The endpoint that got least of what it should have got, in percent of that. With few sessions
/// for each endpoint the share is not even by construction.
fn weakest_endpoint(view: &View) -> Option<(String, f64)> {
    let endpoints = &view.summary()?.endpoints;
    let sessions = view.drive()?.sessions as usize;
    let total: u64 = endpoints.iter().map(|endpoint| endpoint.queries).sum();
    if endpoints.len() < 2 || sessions < 2 * endpoints.len() || total == 0 {
        return None;
    }
    let fair = total as f64 / endpoints.len() as f64;
    let weakest = endpoints.iter().min_by_key(|endpoint| endpoint.queries)?;
    Some((weakest.name.clone(), weakest.queries as f64 / fair * 100.0))
}

fn jain(values: &[f64]) -> Option<f64> {
    dyno_stats::laws::fairness(values).and_then(|fairness| fairness.jain)
}
