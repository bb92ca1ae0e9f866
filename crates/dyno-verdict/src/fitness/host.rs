//! The host's settings.

use dyno_core::catalogue::names;
use dyno_core::finding::Finding;

use super::{Known, Rule};

/// Enough descriptors for sessions, workers, observers and the results file.
const DESCRIPTORS_MIN: f64 = 4096.0;
/// Above it the kernel swaps out a server's pages in favour of the page cache.
const SWAPPINESS_MAX: f64 = 10.0;
/// A longer exit latency of an idle state shows in the latency of a single session.
const EXIT_US_MAX: f64 = 10.0;

/// The findings about the host, one per subject, in the order of a manual inspection.
pub fn host(known: &Known<'_>) -> Vec<Finding> {
    let mut findings = vec![
        governor(known),
        turbo(known),
        idle_states(known),
        clock_source(known),
        cpu_limit(known),
        numa(known),
        huge_pages(known),
        swap(known),
        descriptors(known),
    ];
    findings.extend(schedulers(known));
    findings
}

fn governor(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "cpu-governor",
        number: 29,
        rule: "The frequency governor is `performance`, so lightly loaded CPUs do not slow down.",
    };
    match known.fact(names::HOST_CPU_GOVERNOR) {
        None => rule.unknown(known.gap(names::HOST_CPU_GOVERNOR)),
        Some("performance") => rule.pass("The governor is performance.".to_owned()),
        Some(other) => rule.doubt(
            format!("The governor is {other}."),
            "cpupower frequency-set -g performance",
        ),
    }
}

fn turbo(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "cpu-turbo",
        number: 29,
        rule: "Turbo is off where runs are compared: its frequency depends on heat and other load.",
    };
    match known.fact(names::HOST_CPU_TURBO) {
        None => rule.unknown(known.gap(names::HOST_CPU_TURBO)),
        Some(state) if state.starts_with("off") => rule.pass("Turbo is off.".to_owned()),
        Some(state) => rule.doubt(
            format!("Turbo is {state}."),
            "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo, or echo 0 > \
             /sys/devices/system/cpu/cpufreq/boost; or warm the host up and interleave the runs",
        ),
    }
}

fn idle_states(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "idle-states",
        number: 29,
        rule: "Idle CPUs wake within 10 µs. Slower ones give runs with few sessions two latency \
               modes, because only some answers wait for a CPU to wake.",
    };
    let Some(states) = known.fact(names::HOST_CPU_IDLE_STATES) else {
        return rule.unknown(known.gap(names::HOST_CPU_IDLE_STATES));
    };
    let slowest = slowest_exit_us(states);
    let advice = "hold /dev/cpu_dma_latency open with 0 written to it during the runs, boot with \
                  idle=poll, or pin client and server of a one-session run to one core";
    if states.contains("haltpoll") || states.contains("HALT") {
        return rule.doubt(
            format!(
                "Idle virtual CPUs are halted ({states}): waking one involves the hypervisor, \
                 which shows in runs with one session."
            ),
            advice,
        );
    }
    match slowest {
        Some(slowest) if slowest > EXIT_US_MAX => rule.doubt(
            format!("The deepest idle state takes {slowest:.0} µs to leave ({states})."),
            advice,
        ),
        _ => rule.pass(format!("Idle states: {states}.")),
    }
}

/// The largest number before `us` or `µs`.
fn slowest_exit_us(states: &str) -> Option<f64> {
    let bare = states.replace("µs", "us");
    let mut slowest = None::<f64>;
    for (at, _) in bare.match_indices("us") {
        let head = bare.get(..at)?.trim_end();
        let digits = head
            .rfind(|c: char| !c.is_ascii_digit() && c != '.')
            .map_or(head, |i| head.get(i + 1..).unwrap_or_default());
        if let Ok(value) = digits.parse::<f64>() {
            slowest = Some(slowest.map_or(value, |s| s.max(value)));
        }
    }
    slowest
}

fn clock_source(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "clock-source",
        number: 6,
        rule: "The clock is read without a system call: tsc, kvm-clock, hyperv or the ARM counter.",
    };
    const FAST: [&str; 5] = [
        "tsc",
        "kvm-clock",
        "hyperv_clocksource_tsc_page",
        "arch_sys_counter",
        "riscv_clocksource",
    ];
    match known.fact(names::HOST_CLOCK_SOURCE) {
        None => rule.unknown(known.gap(names::HOST_CLOCK_SOURCE)),
        Some(source) if FAST.contains(&source) => {
            rule.pass(format!("The clock source is {source}."))
        }
        Some(source) => rule.doubt(
            format!("The clock source is {source}: each time stamp costs a system call."),
            "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if it \
             is available; the kernel log says why it is not used",
        ),
    }
}

fn cpu_limit(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "cpu-limit",
        number: 30,
        rule: "No control group throttles this process below the CPUs that it may use.",
    };
    let Some(limit) = known.fact(names::HOST_CGROUP_CPU_MAX) else {
        return rule.unknown(known.gap(names::HOST_CGROUP_CPU_MAX));
    };
    let allowed = known.number(names::HOST_CPU_ALLOWED).unwrap_or(1.0);
    match granted(limit) {
        Some(granted) if granted < allowed => rule.doubt(
            format!("The control group grants {granted:.2} of {allowed:.0} CPUs."),
            "raise the group's CPU quota: a throttled client sleeps for most of each 100 ms",
        ),
        Some(granted) => rule.pass(format!("The control group grants {granted:.2} CPUs.")),
        None => rule.pass("No control group limits the CPU time.".to_owned()),
    }
}

/// CPUs by the quota and the period, both in microseconds, as in `cpu.max`: `50000 100000`. `None`
/// without a limit.
fn granted(limit: &str) -> Option<f64> {
    let mut words = limit.split_whitespace();
    let quota = words.next()?.parse::<f64>().ok()?;
    let period = words.next().map_or(Ok(100_000.0), str::parse::<f64>).ok()?;
    (quota > 0.0 && period > 0.0).then(|| quota / period)
}

fn numa(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "numa",
        number: 30,
        rule: "One NUMA node, or client and server placed on purpose.",
    };
    match known.number(names::HOST_NUMA_NODES) {
        None => rule.unknown(known.gap(names::HOST_NUMA_NODES)),
        Some(nodes) if nodes <= 1.0 => rule.pass("There is one NUMA node.".to_owned()),
        Some(nodes) => rule.doubt(
            format!("There are {nodes:.0} NUMA nodes: the placement of threads and memory varies."),
            "numactl --cpunodebind=0 --membind=0 for the server, another node for the client; or \
             numactl --interleave=all for the server",
        ),
    }
}

fn huge_pages(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "transparent-huge-pages",
        number: 30,
        rule: "Transparent huge pages are `madvise` or `never`: `always` lets the kernel stop a \
               server to compact memory.",
    };
    match known.fact(names::HOST_THP) {
        None => rule.unknown(known.gap(names::HOST_THP)),
        Some("always") => rule.doubt(
            "Transparent huge pages are always used.".to_owned(),
            "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        ),
        Some(mode) => rule.pass(format!("Transparent huge pages: {mode}.")),
    }
}

fn swap(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "swappiness",
        number: 30,
        rule: "There is no swap, or vm.swappiness is at most 10.",
    };
    let (total, swappiness) = (
        known.number(names::HOST_SWAP_TOTAL),
        known.number(names::HOST_SWAPPINESS),
    );
    match (total, swappiness) {
        (Some(0.0), _) => rule.pass("There is no swap.".to_owned()),
        (_, Some(value)) if value <= SWAPPINESS_MAX => {
            rule.pass(format!("vm.swappiness is {value:.0}."))
        }
        (Some(_), Some(value)) => rule.doubt(
            format!("vm.swappiness is {value:.0} and there is swap."),
            "sysctl vm.swappiness=1",
        ),
        _ => rule.unknown(known.gap(names::HOST_SWAPPINESS)),
    }
}

fn descriptors(known: &Known<'_>) -> Finding {
    let rule = Rule {
        check: "descriptor-limit",
        number: 2,
        rule: "At least 4,096 descriptors may be open: each session needs one.",
    };
    match known.fact(names::HOST_LIMITS_DESCRIPTORS) {
        None => rule.unknown(known.gap(names::HOST_LIMITS_DESCRIPTORS)),
        Some(text) if text.starts_with("unlimited") => {
            rule.pass("Descriptors are not limited.".to_owned())
        }
        Some(_) => match known.number(names::HOST_LIMITS_DESCRIPTORS) {
            Some(limit) if limit >= DESCRIPTORS_MIN => {
                rule.pass(format!("{limit:.0} descriptors may be open."))
            }
            Some(limit) => rule.doubt(
                format!("Only {limit:.0} descriptors may be open."),
                "ulimit -n 65536, or LimitNOFILE= of the service",
            ),
            None => rule.unknown(known.gap(names::HOST_LIMITS_DESCRIPTORS)),
        },
    }
}

fn schedulers(known: &Known<'_>) -> Vec<Finding> {
    let rule = Rule {
        check: "io-scheduler",
        number: 31,
        rule: "Solid-state and virtual disks have the scheduler none, mq-deadline or kyber.",
    };
    let disks = known.facts.iter().filter_map(|fact| {
        let disk = names::HOST_DISK_SCHEDULER.part(&fact.name)?;
        Some((disk, fact.value.as_str()))
    });
    disks
        .map(|(disk, scheduler)| {
            let spins = known.fact(&names::HOST_DISK_ROTATIONAL.of(disk));
            let spins = matches!(spins, Some("1" | "yes"));
            match scheduler {
                "none" | "mq-deadline" | "kyber" | "noop" | "deadline" => {
                    rule.pass(format!("{disk} has the scheduler {scheduler}."))
                }
                other if spins => rule.pass(format!(
                    "{disk} is a spinning disk with the scheduler {other}."
                )),
                other => rule.doubt(
                    format!("{disk} has the scheduler {other}, which is meant for spinning disks."),
                    "echo none > /sys/block/DISK/queue/scheduler",
                ),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_core::finding::Outcome;
    use dyno_samples::values;

    fn judged(facts: &[(&str, &str)]) -> Vec<Finding> {
        let fact = |(name, value): &(&str, &str)| values::fact(name, value, values::SOURCE);
        let facts: Vec<_> = facts.iter().map(fact).collect();
        let gaps = [values::gap("host.cpu.governor", "the hypervisor hides it")];
        host(&Known {
            facts: &facts,
            settings: &[],
            not_observed: &gaps,
        })
    }

    fn outcome(findings: &[Finding], check: &str) -> Outcome {
        findings.iter().find(|f| f.check == check).unwrap().outcome
    }

    #[test]
    fn a_tuned_host_passes() {
        let findings = judged(&[
            ("host.cpu.governor", "performance"),
            ("host.cpu.turbo", "off"),
            ("host.cpu.idle_states", "intel_idle: POLL (0 us), C1 (2 us)"),
            ("host.clock.source", "tsc"),
            ("host.cgroup.cpu_max", "max 100000"),
            ("host.cpu.allowed", "8"),
            ("host.numa.nodes", "1"),
            ("host.thp", "madvise"),
            ("host.swap.total", "0"),
            ("host.swappiness", "60"),
            ("host.limits.descriptors", "1048576"),
            ("host.disk[nvme0n1].scheduler", "none"),
        ]);
        assert_eq!(findings.len(), 10);
        for finding in &findings {
            assert_eq!(finding.outcome, Outcome::Pass, "{finding:?}");
        }
    }

    #[test]
    fn an_untuned_host_gets_advice() {
        let findings = judged(&[
            ("host.cpu.governor", "powersave"),
            ("host.cpu.turbo", "on"),
            (
                "host.cpu.idle_states",
                "intel_idle: POLL (0 µs), C6 (133 µs)",
            ),
            ("host.clock.source", "hpet"),
            ("host.cgroup.cpu_max", "150000 100000"),
            ("host.cpu.allowed", "8"),
            ("host.numa.nodes", "2"),
            ("host.thp", "always"),
            ("host.swap.total", "8589934592"),
            ("host.swappiness", "60"),
            ("host.limits.descriptors", "1024"),
            ("host.disk[sda].scheduler", "bfq"),
            ("host.disk[sda].rotational", "0"),
        ]);
        for finding in &findings {
            assert_eq!(finding.outcome, Outcome::Doubt, "{finding:?}");
            assert!(!finding.advice.is_empty(), "{finding:?}");
        }
        let idle = findings.iter().find(|f| f.check == "idle-states").unwrap();
        assert!(idle.evidence.contains("133 µs"), "{}", idle.evidence);
    }

    #[test]
    fn halted_virtual_cpus_are_named() {
        let findings = judged(&[("host.cpu.idle_states", "haltpoll: POLL, HALT")]);
        assert_eq!(outcome(&findings, "idle-states"), Outcome::Doubt);
    }

    #[test]
    fn unknown_facts_do_not_pass() {
        let findings = judged(&[]);
        for finding in &findings {
            assert_eq!(finding.outcome, Outcome::NotChecked, "{finding:?}");
        }
        assert_eq!(findings[0].evidence, "the hypervisor hides it.");
    }
}
