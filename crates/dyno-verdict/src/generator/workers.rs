//! Check 2: the workers that drive the sessions.

use dyno_analysis::stalls::WORKER_STALL_MS;
use dyno_core::catalogue::{Family, names};
use dyno_core::finding::Cause;
use dyno_core::record::{Event, EventKind, Series};

use crate::check::{Check, CheckResult, Threshold, thresholds};
use crate::missing::Missing;
use crate::text;
use crate::view::View;

pub(super) const CLIENT_CPU: Check = Check {
    number: 2,
    name: "client-cpu",
    title: "The generator's CPU use, CPU waits, page faults and descriptors",
    rule: "Doubt if a worker used {0} % of a core, waited for a CPU {1} % of the time, or stalled \
           for {2} ms. Doubt if the process read {3} pages per second from disk, had {4} % of its \
           descriptors open, or was stopped for {2} ms at once or {5} % of the time. Doubt if the \
           script blocked a shared worker {6} % of the time, in stalls of at least 1 ms.",
    thresholds: &[
        BUSY,
        WAITING,
        STALL_MS,
        MAJOR_FAULTS,
        DESCRIPTORS,
        FROZEN,
        BLOCKED,
    ],
    make: client_cpu,
};

thresholds! {
    BUSY = 90.0, "percent of a core", "busiest worker": "a saturated worker sends late";
    WAITING = 50.0, "percent of the time", "longest wait for a CPU":
        "latencies then measure the host's scheduler; for a closed loop on the server's host, \
         only waits caused by other processes and throttling count";
    STALL_MS = WORKER_STALL_MS, "ms", "longest stall of a worker":
        "ten times a crowded scheduler's delay; blocking scripts and frozen machines exceed it";
    FROZEN = 5.0, "percent", "time the process was stopped":
        "throughput and latency are off by that share";
    BLOCKED = 20.0, "percent", "time a script blocked its worker":
        "the worker's other sessions wait as long";
    MAJOR_FAULTS = 10.0, "per second", "pages read from disk": "the generator is being swapped";
    DESCRIPTORS = 90.0, "percent of the limit", "open descriptors":
        "the next connection may fail on the generator's host";
}
fn client_cpu(view: &View) -> CheckResult {
    let own = Workers::of(view);
    if own.busiest.is_none() && own.waiting.is_none() {
        return Missing::GeneratorCpu.or(view, format!("{}.", view.why_not(names::CLIENT_WORKER)));
    }
    let (mut causes, mut evidence, mut try_this) = (Vec::new(), Vec::new(), Vec::new());
    for fault in own.faults(view) {
        causes.extend(fault.causes);
        evidence.push(fault.evidence);
        try_this.push(fault.advice);
    }
    let result = match evidence.is_empty() {
        true => CheckResult::pass(own.summary()),
        false => CheckResult::doubt(
            format!(
                "{} {}",
                text::sentence(&text::list(&evidence)),
                own.summary()
            ),
            &try_this.join(" "),
        )
        .naming(causes),
    };
    result
        .with_some("busiest worker", own.busiest, "percent of a core")
        .with_some("longest wait for a CPU", own.waiting, "percent of the time")
        .with_some("involuntary switches", own.switches, "per second")
        .with_some("longest stall of a worker", own.stall_ms, "ms")
        .with_some("pages read from disk", own.major_faults, "per second")
        .with_some("open descriptors", own.descriptors, "percent of the limit")
}

struct Fault {
    causes: &'static [Cause],
    evidence: String,
    advice: &'static str,
}

/// The workers' figures, where known. Shares in percent.
struct Workers {
    busiest: Option<f64>,
    waiting: Option<f64>,
    switches: Option<f64>,
    stall_ms: Option<f64>,
    /// The share of the time in which a worker neither served its sockets (for 1 ms or longer), nor
    /// ran, nor waited for a CPU.
    blocked: Option<f64>,
    major_faults: Option<f64>,
    descriptors: Option<f64>,
}

impl Workers {
    fn of(view: &View) -> Self {
        let largest = |series: Family| {
            let all = view.devices(series);
            let means = all.iter().filter_map(|(_, series)| view.mean_of(series));
            means.reduce(f64::max)
        };
        let client = view.summary().and_then(|summary| summary.client.as_ref());
        let busiest = client
            .and_then(|client| client.worker_busy.iter().copied().reduce(f64::max))
            .or_else(|| largest(names::CLIENT_WORKER_CPU));
        let limit: Option<f64> = view
            .run
            .fact(names::HOST_LIMITS_DESCRIPTORS)
            .and_then(|limit| limit.trim().parse().ok())
            .filter(|limit| *limit > 0.0);
        let waiting = largest(names::CLIENT_WORKER_RUN_QUEUE_WAIT).map(|cores| cores * 100.0);
        let waits = view.devices(names::CLIENT_WORKER_RUN_QUEUE_WAIT);
        let waited = |worker: usize| {
            let mut own = waits.iter().filter(|(name, _)| name.parse() == Ok(worker));
            own.find_map(|(_, series)| view.mean_of(series))
        };
        let away = client.map(|client| client.worker_away.iter().zip(&client.worker_busy));
        let idle = |(worker, (away, busy)): (usize, (&f64, &f64))| {
            (away - busy - waited(worker).unwrap_or(0.0)).max(0.0) * 100.0
        };
        let blocked = away.and_then(|all| all.enumerate().map(idle).reduce(f64::max));
        Self {
            busiest: busiest.map(|share| share * 100.0),
            waiting,
            blocked,
            switches: largest(names::CLIENT_WORKER_INVOLUNTARY_SWITCHES),
            stall_ms: client
                .map(|client| client.stall_max_ms)
                .filter(|_| !view.imported()),
            major_faults: view.mean(names::CLIENT_PAGE_FAULTS_MAJOR),
            descriptors: view
                .largest(names::CLIENT_DESCRIPTORS)
                .zip(limit)
                .map(|(open, limit)| open / limit * 100.0),
        }
    }

    fn faults(&self, view: &View) -> Vec<Fault> {
        // An embedded database runs in the worker, and a script without a database is the only
        // thing measured: both may use all CPUs.
        let alone = !view.embedded() && view.family().is_some();
        let shared = view
            .drive()
            .is_some_and(|drive| drive.sessions > drive.workers);
        let reaches =
            |value: Option<f64>, bound: &Threshold| value.is_some_and(|v| v >= bound.value);
        let mut faults = Vec::new();
        let mut add = |causes, evidence: &str, advice| {
            let evidence = evidence.to_owned();
            faults.push(Fault {
                causes,
                evidence,
                advice,
            });
        };
        if alone && reaches(self.busiest, &BUSY) {
            add(
                &[Cause::BusyWorker],
                "the busiest worker had no CPU time to spare",
                "Give the generator more --workers, or a host with faster or more CPUs.",
            );
        }
        if alone && reaches(self.waiting, &WAITING) && starved(view) {
            add(
                &[Cause::StarvedWorker],
                "a worker was starved of CPU",
                NO_CPU,
            );
        }
        match frozen(view) {
            Some((causes, evidence, advice)) => add(causes, &evidence, advice),
            None if alone && shared && reaches(self.stall_ms, &STALL_MS) => add(
                &[Cause::StalledWorker],
                "a worker was stalled, and its sessions with it",
                kept_from_sockets(view, self.waiting),
            ),
            None if alone && shared && reaches(self.blocked, &BLOCKED) => add(
                &[Cause::StalledWorker],
                "the script blocked a worker, and the sessions that share it",
                BLOCKS,
            ),
            None => {}
        }
        if reaches(self.major_faults, &MAJOR_FAULTS) {
            add(
                &[Cause::Swap],
                "the generator was being swapped",
                "Give the generator's host enough memory for everything that runs there.",
            );
        }
        if reaches(self.descriptors, &DESCRIPTORS) {
            add(
                &[Cause::Descriptors],
                "the generator was running out of descriptors",
                "Raise its limit on open files (ulimit -n).",
            );
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
            parts.push(format!("stalled for {} at most", text::ms(stall)));
        }
        if let Some(blocked) = self.blocked.filter(|percent| *percent >= 1.0) {
            parts.push(format!(
                "a script blocked its worker for {} % of the time",
                text::plain(blocked)
            ));
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

const NO_CPU: &str = "Give the generator dedicated CPUs (another host, taskset), and look at \
                      other-processes for what else runs there.";
const STOOD_STILL: &str = "Look for what stopped the process or the machine: a debugger, a \
                           snapshot, the host under a virtual machine.";
const NOT_OBSERVED: &str = "Run it with observers (without --observe off), which distinguish the \
                            two causes. Look for other processes that use the generator's CPUs.";
const BLOCKS: &str = "If the script blocks (os.execute, FFI calls), give each session a worker: \
                      as many --workers as sessions.";
/// Waits for a CPU above this share of a worker's time, in percent, explain one long wait.
const WAITED: f64 = 5.0;

/// The reason why a worker was away: waits for a CPU, or a user's script.
fn kept_from_sockets(view: &View, waiting: Option<f64>) -> &'static str {
    let others = view.mean(names::HOST_OTHERS_CPU).zip(view.cpus());
    let busy =
        others.is_some_and(|(cores, cpus)| cores / cpus * 100.0 >= crate::machine::OTHERS.value);
    let plan = view.run.head.plan.as_ref();
    let own = plan.is_none_or(|plan| is_script(&plan.workload));
    match (
        busy || waiting.is_some_and(|percent| percent >= WAITED),
        own,
    ) {
        (true, _) => NO_CPU,
        (false, true) => BLOCKS,
        (false, false) => {
            "Look at host-resources for CPU time that the hypervisor or a quota withheld: no other \
             process was seen on the host's CPUs."
        }
    }
}

/// Whether a workload is a user's file; built-in ones have plain names.
fn is_script(workload: &str) -> bool {
    workload.contains(['/', '.'])
}

/// The number, length and start of the freezes of the process, if they are significant,
/// with advice.
fn frozen(view: &View) -> Option<(&'static [Cause], String, &'static str)> {
    let times = view.events(EventKind::Frozen);
    let length_s = |event: &&Event| event.until_s.unwrap_or(event.at_s) - event.at_s;
    let longest_s = times.iter().map(length_s).fold(0.0, f64::max);
    let (first, all_s) = (times.first()?, times.iter().map(length_s).sum::<f64>());
    let long = longest_s * 1e3 >= STALL_MS.value;
    if !long && all_s * 100.0 < FROZEN.value * view.length_s {
        return None;
    }
    let starved = starved_meanwhile(view, &times, all_s);
    let causes: &[Cause] = match starved {
        Some(true) => &[Cause::Frozen, Cause::StarvedWorker],
        _ => &[Cause::Frozen],
    };
    let (why, try_this) = match starved {
        Some(true) => ("while its threads waited for a CPU", NO_CPU),
        Some(false) => ("like a stopped process or a paused machine", STOOD_STILL),
        None => (
            "because it had no CPU or because it was stopped: its threads' waits for a CPU were \
             not observed",
            NOT_OBSERVED,
        ),
    };
    // The record has the combined times of all agents.
    let of_agents = view.agents().iter().filter(|agent| agent.frozen_s > 0.0);
    let names: Vec<&str> = of_agents.map(|agent| agent.name.as_str()).collect();
    let who = match names.as_slice() {
        [] if view.agents().is_empty() => "the generator itself".to_owned(),
        [] => "a load generator".to_owned(),
        [one] => format!("the load generator {one}"),
        several => format!("the load generators {}", several.join(" and ")),
    };
    let evidence = format!(
        "{who} paused {} time{} for {} in all, first at {}, {why}",
        times.len(),
        text::plural(times.len() as u64),
        text::seconds(all_s),
        text::seconds(first.at_s.max(0.0))
    );
    Some((causes, evidence, try_this))
}

/// Whether the generator waited for a CPU in most of these times: by its own record, which needs no
/// observer, or by the observation of its workers. `None` if both are unknown.
fn starved_meanwhile(view: &View, times: &[&Event], all_s: f64) -> Option<bool> {
    let own: Option<Vec<f64>> = times
        .iter()
        .map(|event| {
            let length_s = event.until_s.unwrap_or(event.at_s) - event.at_s;
            Some(if event.detail.starved? { length_s } else { 0.0 })
        })
        .collect();
    if let Some(own) = own {
        return Some(own.iter().sum::<f64>() * 2.0 >= all_s);
    }
    if view.devices(names::CLIENT_WORKER_RUN_QUEUE_WAIT).is_empty() {
        return None;
    }
    // A stopped thread does not wait for a CPU; apart from the freezes it waits as much as usual.
    let usual_s = usual_wait(view) * all_s;
    Some((waited_meanwhile_s(view, times) - usual_s) * 2.0 >= all_s)
}

/// The usual share of the time that a worker waits for a CPU, at most.
fn usual_wait(view: &View) -> f64 {
    let all = view.devices(names::CLIENT_WORKER_RUN_QUEUE_WAIT);
    let usual = |series: &Series| {
        let within = view.within(series).into_iter();
        let values: Vec<f64> = within.map(|(_, wait)| wait).collect();
        dyno_stats::median(&values)
    };
    all.iter()
        .filter_map(|(_, series)| usual(series))
        .fold(0.0, f64::max)
}

/// The time that a worker waited for a CPU in the seconds of these events, at most.
fn waited_meanwhile_s(view: &View, times: &[&Event]) -> f64 {
    let meanwhile = |from_s: f64, to_s: f64| {
        let touches = |event: &&Event| {
            from_s < event.until_s.unwrap_or(event.at_s) && event.at_s.max(0.0) < to_s
        };
        times.iter().copied().any(|event| touches(&event))
    };
    let waited = |series: &Series| {
        let points = series.points.windows(2);
        let then = points.filter(|pair| meanwhile(pair[0].0, pair[1].0));
        let waits = then.map(|pair| pair[1].1 * (pair[1].0 - pair[0].0));
        waits.filter(|wait| wait.is_finite()).sum::<f64>()
    };
    let all = view.devices(names::CLIENT_WORKER_RUN_QUEUE_WAIT);
    all.iter()
        .map(|(_, series)| waited(series))
        .fold(0.0, f64::max)
}

/// Whether processes other than the server on the same host use the CPUs.
fn starved(view: &View) -> bool {
    let others = view.mean(names::HOST_OTHERS_CPU).zip(view.cpus());
    let share = others.map_or(0.0, |(cores, cpus)| cores / cpus * 100.0);
    let throttled = view.mean(names::HOST_CGROUP_CPU_THROTTLED).unwrap_or(0.0);
    view.same_host() == Some(false)
        || share >= crate::machine::OTHERS.value
        || throttled >= crate::machine::THROTTLED.value
}
