//! Check 30: CPU time, memory, and limits by the host or its hypervisor.

use dyno_core::catalogue::names;
use dyno_core::finding::Cause;

use crate::check::{Check, CheckResult, Threshold, advice, doubt_if, thresholds};
use crate::text;
use crate::view::View;

pub(super) const RESOURCES: Check = Check {
    number: 30,
    name: "host-resources",
    title: "Steal, throttling, memory pressure, swap, NUMA, huge pages",
    rule: "Doubt if a hypervisor took {0} % of the CPU time, a cgroup throttled generator or \
           server {1} % of the time, tasks waited for memory {2} % of the time, or swap moved {3} \
           MiB per second.",
    thresholds: &[STEAL, THROTTLED, MEMORY_PRESSURE, SWAP],
    make: resources,
};

thresholds! {
    STEAL = 10.0, "percent", "steal":
        "a few percent are normal on shared hosts; comparisons look for a tenth";
    pub(crate) THROTTLED = 5.0, "percent of the time", "throttled by the cgroup":
        "a throttled period lasts tens of milliseconds, which percentiles show";
    MEMORY_PRESSURE = 10.0, "percent of the time", "pressure on memory":
        "a host with enough memory shows none (Linux kernel documentation, \"PSI: Pressure Stall \
         Information\")";
    SWAP = 1.0, "MiB per second", "swap":
        "idle pages are occasionally swapped out; pages in use are not";
}

const SERVER: &str = "the server throttled by its cgroup";
const OF_TIME: &str = "% of the time";

const MIB: f64 = 1024.0 * 1024.0;

fn resources(view: &View) -> CheckResult {
    let steal = view.mean(names::HOST_CPU_STEAL);
    let throttled = view.mean(names::HOST_CGROUP_CPU_THROTTLED);
    let server = view.mean(names::SERVER_CGROUP_CPU_THROTTLED);
    let pressure = view.mean(names::HOST_PRESSURE_MEMORY_SOME);
    let swap = view
        .mean_sum(&[names::HOST_SWAP_IN, names::HOST_SWAP_OUT])
        .map(|bytes| bytes / MIB);
    let measured = [
        ("steal", steal, "% of the CPU time", &STEAL),
        ("throttled by the cgroup", throttled, OF_TIME, &THROTTLED),
        (SERVER, server, OF_TIME, &THROTTLED),
        ("pressure on memory", pressure, OF_TIME, &MEMORY_PRESSURE),
        ("swap", swap, "MiB per second", &SWAP),
    ];
    if measured.iter().all(|(_, value, ..)| value.is_none()) {
        return CheckResult::not_checked(format!("{}.", view.why_not(names::HOST_CPU_STEAL)));
    }
    let quota = reaches(throttled, &THROTTLED) || reaches(server, &THROTTLED);
    let much = (measured.iter()).any(|(_, value, _, bound)| reaches(*value, bound));
    let outcome = doubt_if(much);
    let line = |(name, value, unit, _): &(&str, Option<f64>, &str, _)| {
        value.map(|value| format!("{name} {} {unit}", text::plain(value)))
    };
    let mut parts: Vec<String> = measured.iter().filter_map(line).collect();
    parts.extend(details(view));
    CheckResult::of(
        outcome,
        text::sentence(&text::list(&parts)),
        &advice(&[
            (
                reaches(steal, &STEAL),
                "Use a virtual machine with dedicated CPUs: its host gave them to others.",
            ),
            (quota, "Give the cgroup a larger CPU quota, or none."),
            (
                reaches(pressure, &MEMORY_PRESSURE) || reaches(swap, &SWAP),
                "Use more memory, or a smaller server cache.",
            ),
        ]),
    )
    .naming(reaches(steal, &STEAL).then_some(Cause::Steal))
    .naming(quota.then_some(Cause::Throttled))
    .naming(reaches(pressure, &MEMORY_PRESSURE).then_some(Cause::MemoryPressure))
    .naming(reaches(swap, &SWAP).then_some(Cause::Swap))
    .with_some("steal", steal, "percent")
    .with_some("throttled by the cgroup", throttled, "percent of the time")
    .with_some(SERVER, server, "percent of the time")
    .with_some("pressure on memory", pressure, "percent of the time")
    .with_some("swap", swap, "MiB per second")
}

fn reaches(value: Option<f64>, bound: &Threshold) -> bool {
    value.is_some_and(|value| value >= bound.value)
}

/// Information without a rule.
fn details(view: &View) -> Vec<String> {
    let mut details = Vec::new();
    let fact = |name: &str| view.run.fact(name).map(str::trim);
    // Without a limit the kernel shows `max`.
    let quota = fact(names::HOST_CGROUP_CPU_MAX).filter(|quota| !quota.starts_with("max"));
    for (name, value) in [("CPU quota", quota), ("huge pages", fact(names::HOST_THP))] {
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            details.push(format!("{name} {value}"));
        }
    }
    let nodes = view.run.fact(names::HOST_NUMA_NODES).map(str::trim);
    if let Some(nodes) = nodes.filter(|nodes| !matches!(*nodes, "" | "0" | "1")) {
        details.push(format!("{nodes} NUMA nodes"));
    }
    if let Some(limit) = view
        .largest(names::HOST_CGROUP_MEMORY_LIMIT)
        .filter(|limit| *limit > 0.0)
    {
        details.push(format!("memory limit {}", text::bytes(limit)));
    }
    details
}
